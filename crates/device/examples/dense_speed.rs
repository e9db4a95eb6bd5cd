//! Speed of dense matrices: value and gradient of the density of a Gaussian process, beside the
//! multiplications and additions that a factor, its adjoint and the solutions take.
#![allow(clippy::print_stdout)]

use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::lanes::Level;
use fitzroy_graph::{Binary, Bindings, Graph, NodeId, Result, Unary, evaluate, gradient};
use std::time::Instant;

/// ln p of data with covariance exp(a − d²·exp(b)) + exp(c) on the diagonal, and its slopes.
fn log_density(n: usize) -> Result<(Graph, Vec<NodeId>)> {
    let mut g = Graph::new();
    let row = g.dim("row", n);
    let twin = g.twin(row);
    let (x, y) = (g.data("x", &[row]), g.data("y", &[row]));
    let other = g.relabel(x, &[twin]);
    let [height, rate, noise] = [0, 1, 2].map(|at| g.param(at, &[]));
    let (x, other) = (
        g.broadcast(x, &[row, twin]),
        g.broadcast(other, &[row, twin]),
    );
    let distance = g.binary(Binary::Sub, x, other)?;
    let square = g.binary(Binary::Mul, distance, distance)?;
    let rate = g.unary(Unary::Exp, rate);
    let scaled = g.binary(Binary::Mul, square, rate)?;
    let exponent = g.binary(Binary::Sub, height, scaled)?;
    let smooth = g.unary(Unary::Exp, exponent);
    let noise = g.unary(Unary::Exp, noise);
    let noise = g.broadcast(noise, &[row]);
    let noise = g.from_diagonal(noise);
    let noise = g.relabel(noise, &[row, twin]);
    let covariance = g.binary(Binary::Add, smooth, noise)?;
    let l = g.cholesky(covariance);
    let z = g.tri_solve(l, y, false);
    let z = g.binary(Binary::Mul, z, z)?;
    let diagonal = g.diagonal(l);
    let logarithms = g.unary(Unary::Log, diagonal);
    let (z, logarithms, half) = (g.sum_all(z), g.sum_all(logarithms), g.lit(-0.5));
    let z = g.binary(Binary::Mul, z, half)?;
    let total = g.binary(Binary::Sub, z, logarithms)?;
    let slopes = gradient(&mut g, total);
    let outputs = std::iter::once(total).chain(slopes.iter().map(|p| p.adjoint));
    Ok((g, outputs.collect()))
}

fn main() -> Result<()> {
    for (n, runs) in [(20, 3000), (80, 1000), (500, 40), (1500, 5)] {
        let (graph, outputs) = log_density(n)?;
        let x: Vec<f64> = (0..n).map(|i| i as f64 / n as f64).collect();
        let y = x.iter().map(|x| (9.0 * x).sin() + 0.1 * (70.0 * x).cos());
        let bindings = Bindings {
            data: vec![x.clone(), y.collect()],
            indices: vec![],
        };
        let point = [0.1, 3.0, -3.0];
        let level = Level::detect();
        let function = Function::compile_for(level, Engine::Auto, &graph, &bindings, &outputs)?;
        let mut workspace = function.workspace();
        let mut times: Vec<f64> = (0..runs)
            .map(|_| {
                let start = Instant::now();
                function.run(&mut workspace, &point);
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        if n <= 500 {
            let wanted = evaluate(&graph, &bindings, &point, &outputs);
            for (k, wanted) in wanted.iter().enumerate() {
                let (got, wanted) = (function.output(&workspace, k)[0], wanted[0]);
                let error = (got - wanted).abs() / (1.0 + wanted.abs());
                assert!(error < 1e-7, "{got} instead of {wanted}");
            }
        }
        // n³/3 for the factor, twice that for its adjoint.
        let billions = (n as f64).powi(3) / times[runs / 2] / 1e9;
        println!(
            "{n} points: {:.1} us a gradient (median; fastest {:.1}), {billions:.1} GFLOP/s",
            1e6 * times[runs / 2],
            1e6 * times[0]
        );
    }
    Ok(())
}
