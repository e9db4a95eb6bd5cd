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

/// One of two arrays, constant or computed, and the dims it has of five.
struct Side {
    varies: bool,
    dims: Vec<usize>,
}

/// Contractions over any dims of any two arrays, in any order of their dims: the bits of the
/// reference at every level.
#[test]
fn contractions_made_by_chance_have_the_bits_of_the_reference() {
    let mut state = 20_261_126_u64;
    let mut below = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let mut kinds = [0; 3];
    for trial in 0..400 {
        let sizes: Vec<usize> = (0..5)
            .map(|_| [1, 2, 3, 4, 5, 7, 9, 18][below(8)])
            .collect();
        let mut side = |varies: bool| {
            let mut dims: Vec<usize> = (0..5).filter(|_| below(5) < 3).collect();
            for k in (1..dims.len()).rev() {
                dims.swap(k, below(k + 1));
            }
            Side { varies, dims }
        };
        let first = side(true);
        let sides = [side(trial % 3 == 0), first];
        let shared: Vec<usize> = (0..5)
            .filter(|d| sides.iter().all(|s| s.dims.contains(d)))
            .collect();
        let over: Vec<usize> = shared.into_iter().filter(|_| below(3) > 0).collect();
        if over.is_empty() {
            continue;
        }
        let scope = Scope::new();
        let dims: Vec<_> = sizes
            .iter()
            .enumerate()
            .map(|(k, &n)| scope.dim(&format!("d{k}"), n))
            .collect();
        let (mut data, mut n_params) = (vec![], 0);
        let arrays = sides.each_ref().map(|side| {
            let own: Vec<_> = side.dims.iter().map(|&d| dims[d]).collect();
            let len: usize = side.dims.iter().map(|&d| sizes[d]).product();
            if side.varies {
                n_params += len;
                scope.node(scope.param(n_params - len, &own).sin())
            } else {
                data.push((0..len).map(|k| libm::cos(1.7 * k as f64)).collect());
                scope.node(scope.data(&format!("x{}", data.len()), &own))
            }
        });
        let over: Vec<_> = over.iter().map(|&d| dims[d]).collect();
        let product = scope.with(|g| g.contract(arrays[0], arrays[1], &over));
        let product = product.expect("both have these dims");
        let graph = scope.finish();
        kinds[graph.dims(product).len().min(2)] += 1;
        let bindings = Bindings {
            data,
            indices: vec![],
        };
        let params: Vec<f64> = (0..n_params).map(|k| libm::sin(0.9 * k as f64)).collect();
        let wanted = evaluate(&graph, &bindings, &params, &[product]);
        for level in Level::available() {
            let engine = Engine::Interpreter;
            let function =
                Function::compile_for(level, engine, &graph, &bindings, &[product]).unwrap();
            let mut workspace = function.workspace();
            function.run(&mut workspace, &params);
            function.run(&mut workspace, &params);
            for (k, (got, wanted)) in function
                .output(&workspace, 0)
                .iter()
                .zip(&wanted[0])
                .enumerate()
            {
                // Products of a constant matrix with a vector run in loops that round otherwise.
                let bound = 1e-14 * (1.0 + wanted.abs());
                assert!(
                    (got - wanted).abs() <= bound,
                    "{level:?}, trial {trial}, {k}"
                );
            }
        }
    }
    assert!(kinds.iter().all(|&n| n > 5), "{kinds:?}");
}
