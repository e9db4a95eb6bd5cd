//! Factors of matrices and triangular solves: every level gives the bits of the reference
//! interpreter, whatever the number of rows and columns; factors are compared with what they make.

use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::lanes::Level;
use fitzroy_graph::{Bindings, Graph, NodeId, evaluate, gradient};

/// Numbers in (−1, 1) that look like chance.
fn numbers(seed: usize, n: usize) -> Vec<f64> {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Parameters that are a positive definite matrix, its lower triangle alone to be trusted, and
/// `m` columns.
fn point(n: usize, m: usize) -> Vec<f64> {
    let mut values = numbers(31 * n + m, n * n + n * m);
    for i in 0..n {
        values[i * n + i] += n as f64;
    }
    values
}

/// The factor L, L⁻¹b, L⁻ᵀb, a number made of all of them, and its slopes.
fn graph(n: usize, m: usize) -> (Graph, Vec<NodeId>) {
    let mut g = Graph::new();
    let row = g.dim("row", n);
    let (twin, column) = (g.twin(row), g.dim("column", m));
    let a = g.param(0, &[row, twin]);
    let b = g.param(n * n, &[row, column]);
    let l = g.cholesky(a);
    let (down, up) = (g.tri_solve(l, b, false), g.tri_solve(l, b, true));
    let both = g
        .binary(fitzroy_graph::Binary::Mul, down, up)
        .expect("alike");
    let (sum, factor) = (g.sum_all(both), g.sum_all(l));
    let total = g
        .binary(fitzroy_graph::Binary::Mul, sum, factor)
        .expect("alike");
    let slopes = gradient(&mut g, total);
    let outputs = [l, down, up, total].into_iter();
    let outputs = outputs.chain(slopes.iter().map(|p| p.adjoint)).collect();
    (g, outputs)
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn every_level_has_the_bits_of_the_reference() {
    let bindings = Bindings::default();
    for n in [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 31, 40, 67] {
        for m in [1, 2, 9, 33] {
            let (graph, outputs) = graph(n, m);
            let point = point(n, m);
            let wanted = evaluate(&graph, &bindings, &point, &outputs);
            for level in Level::available() {
                let engine = Engine::Interpreter;
                let function = Function::compile_for(level, engine, &graph, &bindings, &outputs)
                    .expect("no data");
                let mut workspace = function.workspace();
                // A second run finds what the first one left.
                function.run(&mut workspace, &point);
                function.run(&mut workspace, &point);
                for (k, wanted) in wanted.iter().enumerate().take(3) {
                    let got = function.output(&workspace, k);
                    assert_eq!(bits(got), bits(wanted), "{level:?}, {n} x {m}, output {k}");
                }
                for (k, wanted) in wanted.iter().enumerate().skip(3) {
                    // Sums over all elements are in another order.
                    let largest = wanted.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
                    let got = function.output(&workspace, k);
                    for (got, wanted) in got.iter().zip(wanted) {
                        let close = (got - wanted).abs() <= 1e-11 * largest;
                        assert!(close, "{level:?}, {n} x {m}: {got} instead of {wanted}");
                    }
                }
            }
        }
    }
}

/// Elements above the diagonal of what is factored are not looked at; A = L Lᵀ, L x = b, Lᵀ x = b.
#[test]
fn factors_and_solutions_give_back_what_they_are_of() {
    for n in [1, 6, 33] {
        let m = 3;
        let (graph, outputs) = graph(n, m);
        let point = point(n, m);
        let values = evaluate(&graph, &Bindings::default(), &point, &outputs[..3]);
        let [l, down, up] = &values[..] else {
            panic!("three outputs")
        };
        for i in 0..n {
            for j in 0..=i {
                let product: f64 = (0..n).map(|k| l[i * n + k] * l[j * n + k]).sum();
                assert!((product - point[i * n + j]).abs() < 1e-12 * n as f64);
            }
            for c in 0..m {
                let b = point[n * n + i * m + c];
                let first: f64 = (0..n).map(|k| l[i * n + k] * down[k * m + c]).sum();
                let second: f64 = (0..n).map(|k| l[k * n + i] * up[k * m + c]).sum();
                assert!((first - b).abs() < 1e-13 && (second - b).abs() < 1e-13);
            }
        }
    }
}

/// From the first pivot that is not positive on, nothing is a number, at every level.
#[test]
fn a_matrix_that_is_not_positive_definite_gives_no_numbers() {
    let n = 21;
    let (graph, outputs) = graph(n, 1);
    let mut point = point(n, 1);
    point[9 * n + 9] = -1.0;
    for level in Level::available() {
        let bindings = Bindings::default();
        let function =
            Function::compile_for(level, Engine::Interpreter, &graph, &bindings, &outputs)
                .expect("no data");
        let mut workspace = function.workspace();
        function.run(&mut workspace, &point);
        let l = function.output(&workspace, 0);
        for i in 0..n {
            for j in 0..=i {
                let lost = if i < 9 { false } else { j >= 9 };
                assert_eq!(
                    l[i * n + j].is_nan(),
                    lost,
                    "{level:?}: row {i}, column {j}"
                );
            }
        }
        assert!(function.output(&workspace, 3)[0].is_nan());
    }
}
