//! Gradients against central differences, op by op and through the moves of the builder.

#![allow(clippy::unwrap_used)]

use fitzroy_graph::{
    Binary, Bindings, Expr, Graph, NodeId, Op, Real, Scope, Unary, evaluate, gradient,
};

/// Bound: central differences at step 1e-5 of functions with third derivatives of order 10 are
/// good to about 1e-8; 1e-6 leaves room and still catches any wrong rule.
#[track_caller]
fn check_gradient(graph: &mut Graph, y: NodeId, bindings: &Bindings, at: &[f64]) {
    let partials = gradient(graph, y);
    let mut exact = vec![0.0; at.len()];
    for p in &partials {
        let Op::Param { offset } = graph.node(p.param).op else {
            panic!("a leaf")
        };
        let value = &evaluate(graph, bindings, at, &[p.adjoint])[0];
        for (k, v) in value.iter().enumerate() {
            exact[offset + k] += v;
        }
    }
    for k in 0..at.len() {
        let mut moved = at.to_vec();
        let h = 1e-5;
        moved[k] = at[k] + h;
        let up = evaluate(graph, bindings, &moved, &[y])[0][0];
        moved[k] = at[k] - h;
        let down = evaluate(graph, bindings, &moved, &[y])[0][0];
        let rough = (up - down) / (2.0 * h);
        let error = (exact[k] - rough).abs() / (1.0 + rough.abs());
        assert!(
            error < 1e-6,
            "parameter {k}: gradient {} but slope {rough}\n{graph}",
            exact[k]
        );
    }
}

#[test]
fn every_unary_has_its_derivative() {
    for op in Unary::ALL {
        if op == Unary::Trigamma {
            continue; // the last of its chain
        }
        for x in [0.3, 0.7] {
            let mut g = Graph::new();
            let k = g.dim("k", 2);
            let p = g.param(0, &[k]);
            let f = g.unary(op, p);
            let square = g.binary(Binary::Mul, f, f).unwrap();
            let both = g.binary(Binary::Add, square, f).unwrap();
            let y = g.sum_all(both);
            check_gradient(&mut g, y, &Bindings::default(), &[x, x + 0.1]);
        }
    }
}

#[test]
fn every_binary_has_its_derivatives() {
    for op in Binary::ALL {
        let mut g = Graph::new();
        let k = g.dim("k", 3);
        let a = g.param(0, &[k]);
        let b = g.param(3, &[k]);
        let f = g.binary(op, a, b).unwrap();
        let e = g.unary(Unary::Exp, f);
        let y = g.sum_all(e);
        check_gradient(
            &mut g,
            y,
            &Bindings::default(),
            &[0.5, 1.2, 0.8, 0.9, 0.4, 1.1],
        );
    }
}

fn normal<'g>(y: Expr<'g>, mu: Expr<'g>, sigma: Expr<'g>) -> Expr<'g> {
    let z = (y - mu) / sigma;
    Expr::lit(-0.5) * z * z - sigma.ln() - Expr::lit(0.918_938_533_204_672_7)
}

fn grouped() -> (Graph, NodeId, Bindings) {
    let scope = Scope::new();
    let (obs, groups) = (scope.dim("obs", 7), scope.dim("groups", 3));
    let y = scope.data("y", &[obs]);
    let group = scope.index("group", obs, groups);
    let (mu, sigma) = (scope.param(0, &[]), scope.param(1, &[]).exp());
    let z = scope.param(2, &[groups]);
    let s = scope.param(5, &[]).exp();
    let effect = mu + sigma * z;
    let prior = normal(z, Expr::lit(0.0), Expr::lit(1.0)).sum_all();
    let total = prior
        + normal(y, effect.gather(group), s).sum_all()
        + normal(mu, Expr::lit(1.0), Expr::lit(3.0));
    let node = scope.node(total);
    let bindings = Bindings {
        data: vec![vec![0.3, 1.0, -0.5, 2.0, 2.5, 0.1, -1.0]],
        indices: vec![vec![0, 2, 1, 1, 0, 2, 2]],
    };
    (scope.finish(), node, bindings)
}

#[test]
fn a_grouped_normal_has_its_gradient() {
    let (mut g, y, bindings) = grouped();
    check_gradient(&mut g, y, &bindings, &[0.4, -0.3, 0.5, -0.2, 0.9, 0.2]);
}

#[test]
fn work_on_groups_leaves_the_row_loop() {
    let (mut g, y, _) = grouped();
    let partials = gradient(&mut g, y);
    let outputs: Vec<NodeId> = partials.iter().map(|p| p.adjoint).chain([y]).collect();
    let needed = g.needed(&outputs);
    let rows = g.nodes().iter().zip(needed).filter(|(n, needed)| {
        let over_rows = n.dims.iter().any(|&d| g.dim_info(d).name == "obs");
        *needed && over_rows && matches!(n.op, Op::Unary(_) | Op::Binary(_))
    });
    assert_eq!(rows.count(), 2, "y − μ and its square\n{g}");
}

#[test]
fn the_branch_not_taken_does_not_leak() {
    let scope = Scope::new();
    let x = scope.param(0, &[]);
    let zero = Expr::lit(0.0);
    let y = scope.node(zero.lt(x).select(x.ln(), zero));
    let mut g = scope.finish();
    let slope = gradient(&mut g, y)[0].adjoint;
    assert_eq!(
        evaluate(&g, &Bindings::default(), &[0.0], &[slope]),
        [[0.0]]
    );
    assert_eq!(
        evaluate(&g, &Bindings::default(), &[2.0], &[slope]),
        [[0.5]]
    );
}

#[test]
fn running_sums_slices_and_maxima_have_their_gradients() {
    let mut g = Graph::new();
    let (k, m) = (g.dim("k", 5), g.dim("m", 2));
    let p = g.param(0, &[m, k]);
    let walk = g.cum_sum(p, k, false);
    let (late, early) = (
        g.slice(walk, k, 1, 4).unwrap(),
        g.slice(p, k, 0, 4).unwrap(),
    );
    let product = g.binary(Binary::Mul, late, early).unwrap();
    let largest = g.max_over(product, &[m]);
    let e = g.unary(Unary::Tanh, largest);
    let one = g.element(p, k, 3).unwrap();
    let (s, t) = (g.sum_all(e), g.sum_all(one));
    let y = g.binary(Binary::Mul, s, t).unwrap();
    let at: Vec<f64> = (0..10)
        .map(|i| ((i * 7) % 10) as f64 * 0.13 - 0.4)
        .collect();
    check_gradient(&mut g, y, &Bindings::default(), &at);
}

#[test]
fn products_and_triangular_solves_have_their_gradients() {
    let mut g = Graph::new();
    let (k, m) = (g.dim("k", 3), g.dim("m", 2));
    let t = g.twin(k);
    let raw = g.param(0, &[k, t]);
    let twin = g.relabel(raw, &[t, k]);
    // A positive definite matrix: R Rᵀ + 2 I.
    let j = g.dim("j", 3);
    let left = g.relabel(raw, &[k, j]);
    let right = g.relabel(twin, &[t, j]);
    let square = g.contract(left, right, &[j]).unwrap();
    let two = g.lit(2.0);
    let twos = g.broadcast(two, &[k]);
    let shift = g.from_diagonal(twos);
    let shift = g.relabel(shift, &[k, t]);
    let a = g.binary(Binary::Add, square, shift).unwrap();
    let l = g.cholesky(a);
    let b = g.param(9, &[k, m]);
    let x = g.tri_solve(l, b, false);
    let w = g.tri_solve(l, x, true);
    let v = g.param(15, &[m]);
    let mixed = g.contract(w, v, &[m]).unwrap();
    let log_diagonal = g.diagonal(l);
    let log_diagonal = g.unary(Unary::Log, log_diagonal);
    let both = g.binary(Binary::Mul, mixed, log_diagonal).unwrap();
    let y = g.sum_all(both);
    let at: Vec<f64> = (0..17)
        .map(|i| ((i * 5) % 17) as f64 * 0.11 - 0.7)
        .collect();
    check_gradient(&mut g, y, &Bindings::default(), &at);
}

#[test]
fn a_data_matrix_times_coefficients_is_one_contraction() {
    let scope = Scope::new();
    let (obs, feature) = (scope.dim("obs", 4), scope.dim("feature", 2));
    let x = scope.data("x", &[obs, feature]);
    let beta = scope.param(0, &[feature]);
    let eta = (x * beta).sum_over(&[feature]);
    let y = scope.node((eta.softplus() * eta).sum_all());
    let mut g = scope.finish();
    let contractions = |g: &Graph| {
        g.nodes()
            .iter()
            .filter(|n| matches!(n.op, Op::Contract { .. }))
            .count()
    };
    assert_eq!(contractions(&g), 1, "{g}");
    let bindings = Bindings {
        data: vec![vec![1.0, 0.5, -0.3, 2.0, 0.7, 0.1, 1.5, -1.0]],
        indices: vec![],
    };
    check_gradient(&mut g, y, &bindings, &[0.3, -0.4]);
    assert_eq!(contractions(&g), 2, "{g}");
}

#[test]
fn dims_that_do_not_combine_are_an_error_that_names_both() {
    let mut g = Graph::new();
    let (a, b) = (g.dim("groups", 100), g.dim("obs", 1000));
    let (x, y) = (g.param(0, &[a]), g.param(100, &[b]));
    let error = g.binary(Binary::Add, x, y).unwrap_err();
    assert_eq!(
        error.to_string(),
        "dims [groups=100] and [obs=1000] do not combine"
    );
}

#[test]
fn the_same_model_is_the_same_graph() {
    let text = |(g, _, _): (Graph, NodeId, Bindings)| g.to_string();
    assert_eq!(text(grouped()), text(grouped()));
}

/// Sums by group of what is repeated along the rows, with and without weights of rows, against loops:
/// neither the values nor the counts of the groups have the dims of the other.
#[test]
fn sums_by_group_of_what_rows_repeat_have_all_dims() {
    let mut graph = Graph::new();
    let (a, b) = (graph.dim("a", 2), graph.dim("b", 2));
    let (rows, groups) = (graph.dim("rows", 3), graph.dim("groups", 2));
    let index = graph.index("index", rows, groups);
    let weights = graph.data("weights", &[rows]);
    let bindings = Bindings {
        data: vec![vec![0.5, 2.0, -1.0]],
        indices: vec![vec![1, 0, 1]],
    };
    let x = graph.param(0, &[a, b]);
    let repeated = graph.broadcast(x, &[a, b, rows]);
    let weighted = graph.binary(Binary::Mul, repeated, weights).unwrap();
    let at = [0.3, -0.2, 0.9, 1.4];
    for (node, by_group) in [(repeated, [1.0, 2.0]), (weighted, [2.0, -0.5])] {
        let sums = graph.segment_sum(node, index);
        let all = graph.broadcast(sums, &[a, b, groups]);
        let want = at.iter().flat_map(|x| by_group.map(|w| w * x));
        let got = &evaluate(&graph, &bindings, &at, &[all])[0];
        assert_eq!(*got, want.collect::<Vec<f64>>());
    }
}
