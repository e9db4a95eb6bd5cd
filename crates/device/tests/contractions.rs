//! Contractions of a vector with a constant, which run in whole registers of results.

use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::lanes::Level;
use fitzroy_graph::reference::evaluate;
use fitzroy_graph::{Bindings, Real, Scope};

/// w_c B_cij summed over c, and its slopes in w: the first grows over registers of results, the
/// second over few results of many terms. Catches a term or a result in the wrong place.
#[test]
fn a_vector_times_a_constant_agrees_with_the_reference_and_among_levels() {
    for (classes, rows) in [(1, 1), (2, 3), (15, 11), (3, 33)] {
        let scope = Scope::new();
        let class = scope.dim("class", classes);
        let (i, j) = (scope.dim("i", rows), scope.dim("j", rows));
        let table = scope.node(scope.data("table", &[class, i, j]));
        let weights = scope.node(scope.param(0, &[class]).exp());
        let product = scope.with(|g| g.contract(weights, table, &[class]));
        let product = product.expect("both have the dim");
        let total = scope.node((scope.expr(product) * scope.expr(product)).sum_all());
        let mut graph = scope.finish();
        let slopes = fitzroy_graph::gradient(&mut graph, total);
        let mut outputs = vec![product, total];
        outputs.extend(slopes.iter().map(|s| s.adjoint));
        let value = |k: usize| libm::sin(0.37 * k as f64) - 0.1;
        let n = classes * rows * rows;
        let bindings = Bindings {
            data: vec![(0..n).map(value).collect()],
            indices: vec![],
        };
        let params: Vec<f64> = (0..classes).map(|k| 0.2 * value(k + 5)).collect();
        let wanted = evaluate(&graph, &bindings, &params, &outputs);
        let mut bits: Option<Vec<u64>> = None;
        for level in Level::available() {
            let engine = Engine::Auto;
            let function =
                Function::compile_for(level, engine, &graph, &bindings, &outputs).unwrap();
            let mut workspace = function.workspace();
            function.run(&mut workspace, &params);
            let mut own = Vec::new();
            for (k, wanted) in wanted.iter().enumerate() {
                let got = function.output(&workspace, k);
                own.extend(got.iter().map(|x| x.to_bits()));
                for (got, wanted) in got.iter().zip(wanted) {
                    // Rounding of n terms, each of about 1.
                    let bound = 1e-15 * n as f64 * (1.0 + wanted.abs());
                    assert!(
                        (got - wanted).abs() < bound,
                        "{level:?} {classes} {rows} {k}"
                    );
                }
            }
            assert_eq!(bits.get_or_insert_with(|| own.clone()), &own, "{level:?}");
        }
    }
}
