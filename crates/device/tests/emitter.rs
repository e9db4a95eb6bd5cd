//! Machine code against the interpreter on programs made by chance, bit by bit.
#![allow(clippy::unwrap_used)]

use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::lanes::Level;
use fitzroy_graph::{Bindings, Expr, Graph, NodeId, Real, Scope, gradient};

/// Numbers in (0, 1) that look random, the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }
    fn vec(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| 3.0 * self.next() - 1.5).collect()
    }
}

/// Rows of the programs: one, parts of registers, several blocks.
const LENGTHS: [usize; 9] = [1, 3, 8, 19, 32, 100, 257, 1024, 1500];
/// Values alive at once: more than AVX-512 has registers.
const WIDTH: usize = 45;

/// A program in which `WIDTH` values stay alive to the end, and its gradient.
fn program(seed: u64, n: usize, numbers: &mut Numbers) -> (Graph, Bindings, Vec<NodeId>) {
    let scope = Scope::new();
    let rows = scope.dim("rows", n);
    let (x, p) = (scope.data("x", &[rows]), scope.param(0, &[rows]));
    let s: Vec<Expr<'_>> = (0..3).map(|k| scope.param(n + k, &[])).collect();
    let mut alive = vec![x + s[0], p * s[1], x * p, p - x];
    while alive.len() < WIDTH {
        let (a, b) = (
            alive[numbers.below(alive.len())],
            alive[numbers.below(alive.len())],
        );
        let c = s[numbers.below(3)];
        alive.push(match numbers.below(12) {
            0 => a + b * c,
            1 => a * b - c,
            2 => c - a * b,
            3 => (a * c).tanh(),
            4 => a.lt(b).select(a * c, b),
            5 => a.max(b) + a.min(c),
            6 => (a.sin() + b.cos()) * c,
            7 => a / (Expr::lit(1.5) + b * b),
            8 => (a * a + Expr::lit(0.1)).ln(),
            9 => (a.tanh() * b).exp(),
            10 => a.log_add_exp(b),
            _ => (a * b + c * c).sqrt(),
        });
    }
    // Backwards, so that the first value is needed last.
    let mut total = Expr::lit(0.0);
    for (k, &value) in alive.iter().rev().enumerate() {
        total = if k % 3 == 0 {
            total + value
        } else {
            total * value.tanh() + value
        };
    }
    let mut outputs = vec![scope.node(total.sum_all()), scope.node(total)];
    let product = if seed.is_multiple_of(2) {
        total * x
    } else {
        x * x
    };
    outputs.push(scope.node(product.sum_all()));
    let mut graph = scope.finish();
    outputs.extend(gradient(&mut graph, outputs[0]).iter().map(|p| p.adjoint));
    let bindings = Bindings {
        data: vec![numbers.vec(n)],
        indices: vec![],
    };
    (graph, bindings, outputs)
}

fn bits(function: &Function, outputs: usize, params: &[f64]) -> Vec<u64> {
    let mut workspace = function.workspace();
    let mut all = Vec::new();
    for _ in 0..2 {
        function.run(&mut workspace, params);
    }
    for k in 0..outputs {
        let output = function.output(&workspace, k).iter();
        // The payload of a NaN is not part of the promise.
        all.extend(output.map(|x| if x.is_nan() { 0 } else { x.to_bits() }));
    }
    all
}

#[test]
fn programs_with_more_values_than_registers_give_the_bits_of_the_interpreter() {
    let levels = Level::available();
    for seed in 0..36 {
        let mut numbers = Numbers(seed * 7919 + 3);
        let n = LENGTHS[seed as usize % LENGTHS.len()];
        let (graph, bindings, outputs) = program(seed, n, &mut numbers);
        let compile = |level, engine| {
            Function::compile_for(level, engine, &graph, &bindings, &outputs).unwrap()
        };
        for &level in levels.iter().filter(|&&l| l != Level::Scalar) {
            let plain = compile(level, Engine::Interpreter);
            let emitted = compile(level, Engine::Emitter);
            if cfg!(all(unix, target_arch = "x86_64")) {
                let note = emitted.engine_note();
                assert_eq!(emitted.engine(), Engine::Emitter, "seed {seed}: {note:?}");
            }
            for scale in [1.0, 30.0, f64::INFINITY] {
                let params: Vec<f64> = numbers.vec(n + 3).iter().map(|x| scale * x).collect();
                let (a, b) = (
                    bits(&plain, outputs.len(), &params),
                    bits(&emitted, outputs.len(), &params),
                );
                assert_eq!(a, b, "seed {seed}, {n} rows, {level:?}, scale {scale}");
            }
        }
    }
}

/// Exact. Catches: a total that is joined in another order where the code makes it itself, partial sums
/// that are left behind for the next run, the sign of a sum of zeros.
#[test]
fn totals_of_short_loops_have_the_bits_of_the_interpreter_at_every_length() {
    let levels = Level::available();
    for n in 1..=34 {
        let mut numbers = Numbers(n as u64);
        let scope = Scope::new();
        let rows = scope.dim("rows", n);
        let (x, p) = (scope.data("x", &[rows]), scope.param(0, &[rows]));
        let sums = [p.sum_all(), (x * p).sum_all(), (p * p).exp().sum_all()];
        let mut outputs: Vec<NodeId> = sums.iter().map(|&sum| scope.node(sum)).collect();
        let all = sums[1] * sums[0] + sums[2];
        outputs.push(scope.node(all));
        let mut graph = scope.finish();
        outputs.extend(gradient(&mut graph, outputs[3]).iter().map(|p| p.adjoint));
        let bindings = Bindings {
            data: vec![numbers.vec(n)],
            indices: vec![],
        };
        let compile = |level, engine| {
            Function::compile_for(level, engine, &graph, &bindings, &outputs).unwrap()
        };
        for &level in levels.iter().filter(|&&l| l != Level::Scalar) {
            let plain = compile(level, Engine::Interpreter);
            let emitted = compile(level, Engine::Emitter);
            let points = [numbers.vec(n), vec![-0.0; n], vec![f64::INFINITY; n]];
            for params in points {
                let (a, b) = (
                    bits(&plain, outputs.len(), &params),
                    bits(&emitted, outputs.len(), &params),
                );
                assert_eq!(a, b, "{n} rows at {level:?}");
            }
        }
    }
}
