//! The text of three small densities, as it stands in `tests/kernels/`. A change of it must be
//! looked at: write the files anew with `FITZROY_BLESS=1 cargo test`, and read the difference.
#![allow(clippy::unwrap_used)]

use fitzroy_device::gpu::text::emit;
use fitzroy_graph::{Bindings, DimId, Expr, Graph, NodeId, Op, Real, Scope, gradient};
use std::path::Path;

/// The density and its gradient as text.
fn text(mut graph: Graph, bindings: &Bindings, value: NodeId) -> String {
    let partials = gradient(&mut graph, value);
    let slopes: Vec<(usize, NodeId)> = partials
        .iter()
        .map(|p| match graph.node(p.param).op {
            Op::Param { offset } => (offset, p.adjoint),
            _ => panic!("a gradient is with respect to a parameter"),
        })
        .collect();
    let source = emit(&graph, bindings, value, &slopes, graph.n_params()).unwrap();
    // The functions of `maths` are tested by what they compute.
    let from = source.text.find("/* The log density").unwrap();
    source.text[from..].to_string()
}

#[track_caller]
fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/kernels/{name}.c"));
    if std::env::var_os("FITZROY_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{}", path.display());
}

fn normal<'g>(x: Expr<'g>, mean: Expr<'g>, log_scale: Expr<'g>) -> Expr<'g> {
    let z = (x - mean) * (-log_scale).exp();
    z * z * Expr::lit(-0.5) - log_scale
}

#[test]
fn two_numbers() {
    let scope = Scope::new();
    let (a, b) = (scope.param(0, &[]), scope.param(1, &[]));
    let value = scope.node(normal(a, b, b));
    compare(
        "two-numbers",
        &text(scope.finish(), &Bindings::default(), value),
    );
}

fn groups(rows_of: &[u32], n_groups: usize) -> String {
    let scope = Scope::new();
    let obs: DimId = scope.dim("obs", rows_of.len());
    let group = scope.dim("group", n_groups);
    let by = scope.index("by", obs, group);
    let y = scope.data("y", &[obs]);
    let effect = scope.param(1, &[group]);
    let scale = scope.param(0, &[]);
    let seen = effect.gather(by);
    let likelihood = normal(y, seen, scale);
    let prior = effect * effect * Expr::lit(-0.5);
    let value = scope.node(likelihood.sum_all() + prior.sum_all());
    let bindings = Bindings {
        data: vec![(0..rows_of.len()).map(|i| (i as f64).sin()).collect()],
        indices: vec![rows_of.to_vec()],
    };
    text(scope.finish(), &bindings, value)
}

#[test]
fn groups_of_equal_size() {
    let rows: Vec<u32> = (0..1200).map(|i| i / 12).collect();
    compare("equal-groups", &groups(&rows, 100));
}

#[test]
fn groups_of_any_size() {
    let rows: Vec<u32> = (0..300u32).map(|i| (i * i + 3 * i) % 17).collect();
    compare("any-groups", &groups(&rows, 17));
}
