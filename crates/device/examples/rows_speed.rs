//! Speed of a row program: one pass over `a·exp(−b·x) + c` with its products.
#![allow(clippy::print_stdout)]

use fitzroy_device::cpu::RowProgram;
use fitzroy_graph::{Real, Scope};
use std::time::Instant;

fn main() {
    let n = 1 << 20;
    let scope = Scope::new();
    let rows = scope.dim("rows", 1);
    let (x, y) = (scope.data("x", &[rows]), scope.data("y", &[rows]));
    let [a, b, c] = [0, 1, 2].map(|k| scope.param(k, &[]));
    let e = (-(b * x)).exp();
    let one = fitzroy_graph::Expr::lit(1.0).broadcast(&scope, &[rows]);
    let nodes = [e, x * e, one, a * e + c - y].map(|v| scope.node(v));
    let program = RowProgram::compile(&scope.finish(), rows, &nodes, &[]);
    let mut workspace = program.workspace();
    let x: Vec<f64> = (0..n).map(|i| i as f64 * 5e-6).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3).collect();
    for len in [1000, 100_000, n] {
        let repeats = 20 * n / len;
        let mut best = f64::INFINITY;
        let mut total = 0.0;
        for _ in 0..5 {
            let start = Instant::now();
            for _ in 0..repeats {
                program.set_parameters(&mut workspace, &[2.0, 0.5, 0.3]);
                program.accumulate(&mut workspace, &[&x[..len], &y[..len]], &mut |s| {
                    total += s[0]
                });
            }
            best = best.min(start.elapsed().as_secs_f64() / repeats as f64);
        }
        let ns = best * 1e9 / len as f64;
        println!(
            "{len} rows: {:.1} us a pass, {ns:.3} ns a row (check {total:.3e})",
            best * 1e6
        );
    }
}
