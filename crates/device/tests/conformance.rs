//! The CPU engine against the reference interpreter, at every level, interpreted and emitted.
#![allow(clippy::unwrap_used)]

use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::lanes::Level;
use fitzroy_graph::{
    Binary, Bindings, Carried, Expr, Graph, NodeId, Op, Real, Scope, Unary, evaluate, gradient,
};

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
    fn vec(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.next()).collect()
    }
    fn pick<'g>(&mut self, from: &[Expr<'g>]) -> Expr<'g> {
        from[(self.next() * from.len() as f64) as usize]
    }
    fn indices(&mut self, n: usize, below: usize) -> Vec<u32> {
        (0..n)
            .map(|_| (self.next() * below as f64) as u32)
            .collect()
    }
}

/// Bound: elementwise functions are good to 8 units in the last place and sums of n terms to
/// n·2⁻⁵³ of the sum of magnitudes; 1e-11 of 1 + |value| covers the sizes used here.
#[track_caller]
fn check(graph: &Graph, bindings: &Bindings, params: &[f64], outputs: &[NodeId]) {
    let expected = evaluate(graph, bindings, params, outputs);
    let mut first: Option<Vec<Vec<f64>>> = None;
    let engines = [Engine::Interpreter, Engine::Emitter];
    let all = Level::available()
        .into_iter()
        .flat_map(|l| engines.map(|e| (l, e)));
    for (level, engine) in all {
        let function = Function::compile_for(level, engine, graph, bindings, outputs).unwrap();
        let emits = cfg!(all(unix, target_arch = "x86_64")) && level != Level::Scalar;
        if engine == Engine::Emitter && emits {
            assert_eq!(function.engine(), engine, "{:?}", function.engine_note());
        }
        let mut workspace = function.workspace();
        for _ in 0..2 {
            function.run(&mut workspace, params);
        }
        let got: Vec<Vec<f64>> = (0..outputs.len())
            .map(|k| function.output(&workspace, k).to_vec())
            .collect();
        for (k, (got, want)) in got.iter().zip(&expected).enumerate() {
            for (i, (g, w)) in got.iter().zip(want).enumerate() {
                let near = (g - w).abs() <= 1e-11 * (1.0 + w.abs())
                    || g == w
                    || (g.is_nan() && w.is_nan());
                assert!(
                    near,
                    "{level:?} {engine:?}: output {k}, element {i}: {g} but reference {w}\n{graph}"
                );
            }
        }
        match &first {
            None => first = Some(got),
            Some(first) => {
                let bits = |v: &Vec<Vec<f64>>| -> Vec<u64> {
                    v.iter()
                        .flatten()
                        .map(|x| if x.is_nan() { 0 } else { x.to_bits() })
                        .collect()
                };
                assert_eq!(
                    bits(first),
                    bits(&got),
                    "{level:?} {engine:?} differs from scalar"
                );
            }
        }
    }
}

const LENGTHS: [usize; 13] = [0, 1, 7, 8, 9, 31, 33, 255, 256, 257, 1000, 1025, 5000];

#[test]
fn sums_and_products_of_every_length_agree() {
    for n in LENGTHS {
        let mut numbers = Numbers(n as u64);
        let scope = Scope::new();
        let obs = scope.dim("obs", n);
        let y = scope.data("y", &[obs]);
        let a = scope.param(0, &[]);
        let z = (y - a) * y;
        let outputs: Vec<NodeId> = [z.sum_all(), (z.exp() * y).sum_all(), z]
            .map(|e| scope.node(e))
            .to_vec();
        let graph = scope.finish();
        let bindings = Bindings {
            data: vec![numbers.vec(n)],
            indices: vec![],
        };
        check(&graph, &bindings, &[0.3], &outputs);
    }
}

#[test]
fn lookups_and_group_sums_agree_for_all_run_lengths() {
    for (n, groups) in [
        (0, 2),
        (1, 1),
        (7, 3),
        (33, 2),
        (257, 5),
        (1000, 100),
        (1000, 3),
        (5000, 7),
        (1000, 101),
        (300, 300),
    ] {
        for order in ["random", "sorted", "dealt", "dealt with gaps"] {
            let mut numbers = Numbers(n as u64 + groups as u64);
            let mut index = numbers.indices(n, groups);
            match order {
                "sorted" => index.sort_unstable(),
                "dealt" => index = (0..n).map(|row| (row % groups) as u32).collect(),
                "dealt with gaps" => {
                    let late = |row: usize| row > n / 2 && row % groups % 37 == 5;
                    let group = |row: usize| if late(row) { 0 } else { row % groups };
                    index = (0..n).map(|row| group(row) as u32).collect();
                }
                _ => {}
            }
            let scope = Scope::new();
            let (obs, group) = (scope.dim("obs", n), scope.dim("groups", groups));
            let crossed = scope.dim("items", 4);
            let y = scope.data("y", &[obs]);
            let by = scope.index("group", obs, group);
            let item = scope.index("item", obs, crossed);
            let (mu, tau) = (scope.param(0, &[group]), scope.param(groups, &[crossed]));
            let z = ((y - mu.gather(by)) * tau.gather(item)).exp();
            let total = scope.node(z.sum_all());
            let rows = scope.node(z);
            let by_group = scope.with(|g| g.segment_sum(rows, by));
            let mut graph = scope.finish();
            let partials = gradient(&mut graph, total);
            let mut outputs = vec![total, rows, by_group];
            outputs.extend(partials.iter().map(|p| p.adjoint));
            let bindings = Bindings {
                data: vec![numbers.vec(n)],
                indices: vec![index, numbers.indices(n, 4)],
            };
            check(&graph, &bindings, &numbers.vec(groups + 4), &outputs);
        }
    }
}

/// Blocks that end where runs do: short runs among long ones, runs longer than a block, a second
/// index inside the first, and arrays that repeat along one dim of two.
#[test]
fn loops_that_are_cut_into_runs_agree() {
    let sizes: [&[usize]; 5] = [
        &[300, 300],
        &[1, 15, 700, 16, 8, 9, 1100, 7, 2],
        &[24; 50],
        &[257, 0, 31, 33, 64, 5],
        &[1024, 1024, 3],
    ];
    for sizes in sizes {
        let mut numbers = Numbers(sizes.iter().sum::<usize>() as u64);
        let of_group = |(g, &len): (usize, &usize)| vec![g as u32; len];
        let index: Vec<u32> = sizes.iter().enumerate().flat_map(of_group).collect();
        let n = index.len();
        let nested: Vec<u32> = (0..n as u32).map(|row| row / 5).collect();
        let n_nested = n.div_ceil(5);
        let scope = Scope::new();
        let (obs, group) = (scope.dim("obs", n), scope.dim("groups", sizes.len()));
        let (inner, crossed) = (scope.dim("nested", n_nested), scope.dim("items", 4));
        let (x, y) = (scope.data("x", &[obs]), scope.data("y", &[obs]));
        let (by, of) = (
            scope.index("group", obs, group),
            scope.index("nested", obs, inner),
        );
        let item = scope.index("item", obs, crossed);
        let mut next = 0;
        let mut param = |len: usize, dim| {
            next += len;
            scope.param(next - len, &[dim])
        };
        let (mu, rate) = (param(sizes.len(), group), param(sizes.len(), group));
        let (u, v) = (param(n_nested, inner), param(4, crossed));
        let z = ((y - mu.gather(by)) * rate.gather(by) + u.gather(of) * v.gather(item)).tanh();
        let total = z.sum_all() + (z * x).sum_all() + mu.gather(by).sum_all();
        let rows = scope.node(z);
        let sums = [by, of, item].map(|index| scope.with(|g| g.segment_sum(rows, index)));
        let total = scope.node(total);
        let mut graph = scope.finish();
        let mut outputs = vec![total, rows];
        outputs.extend(sums);
        outputs.extend(gradient(&mut graph, total).iter().map(|p| p.adjoint));
        let bindings = Bindings {
            data: vec![numbers.vec(n), numbers.vec(n)],
            indices: vec![index, nested, numbers.indices(n, 4)],
        };
        let params = numbers.vec(2 * sizes.len() + n_nested + 4);
        check(&graph, &bindings, &params, &outputs);
    }
    for (long, wide) in [(48, 33), (7, 300), (3, 1030), (40, 8)] {
        let mut numbers = Numbers((long * wide) as u64);
        let scope = Scope::new();
        let (a, b) = (scope.dim("a", long), scope.dim("b", wide));
        let (u, v) = (scope.param(0, &[a]), scope.param(long, &[b]));
        let w = scope.param(long + wide, &[b]);
        let cell = (scope.data("table", &[a, b]) * v + w).tanh();
        let both = cell * (u * scope.data("more", &[a, b]) - v).exp();
        let total = (both.sum_over(&[a]) * v).sum_all() + cell.sum_all();
        let outputs = [total, both.sum_over(&[a]), both.sum_over(&[b]), cell];
        let mut outputs = outputs.map(|e| scope.node(e)).to_vec();
        let mut graph = scope.finish();
        outputs.extend(gradient(&mut graph, outputs[0]).iter().map(|p| p.adjoint));
        let bindings = Bindings {
            data: vec![numbers.vec(long * wide), numbers.vec(long * wide)],
            indices: vec![],
        };
        check(&graph, &bindings, &numbers.vec(long + 2 * wide), &outputs);
    }
}

#[test]
fn every_elementwise_operation_agrees() {
    let n = 300;
    for op in Unary::ALL {
        let mut g = Graph::new();
        let k = g.dim("k", n);
        let p = g.param(0, &[k]);
        let y = g.unary(op, p);
        check(&g, &Bindings::default(), &Numbers(7).vec(n), &[y]);
    }
    for op in Binary::ALL {
        let mut g = Graph::new();
        let k = g.dim("k", n);
        let (p, q, s) = (g.param(0, &[k]), g.param(n, &[k]), g.param(2 * n, &[]));
        let outputs = [(p, q), (p, s), (s, q)].map(|(a, b)| g.binary(op, a, b).unwrap());
        check(
            &g,
            &Bindings::default(),
            &Numbers(8).vec(2 * n + 1),
            &outputs,
        );
    }
}

#[test]
fn fused_and_paired_instructions_agree() {
    let n = 400;
    let mut g = Graph::new();
    let k = g.dim("k", n);
    let (a, b, c) = (g.param(0, &[k]), g.param(n, &[k]), g.param(2 * n, &[k]));
    let ab = g.binary(Binary::Mul, a, b).unwrap();
    let bc = g.binary(Binary::Mul, b, c).unwrap();
    let ac = g.binary(Binary::Mul, a, c).unwrap();
    let outputs = vec![
        g.binary(Binary::Add, ab, c).unwrap(),
        g.binary(Binary::Sub, a, bc).unwrap(),
        g.binary(Binary::Sub, ac, b).unwrap(),
    ];
    check(&g, &Bindings::default(), &Numbers(3).vec(3 * n), &outputs);
    for op in [Unary::LogNdtr, Unary::Softplus, Unary::Lgamma, Unary::Sin] {
        let mut g = Graph::new();
        let k = g.dim("k", n);
        let a = g.param(0, &[k]);
        let y = g.unary(op, a);
        let total = g.sum_all(y);
        let slope = gradient(&mut g, total)[0].adjoint;
        check(
            &g,
            &Bindings::default(),
            &Numbers(4).vec(n),
            &[total, slope, y],
        );
    }
    let scope = Scope::new();
    let k = scope.dim("k", n);
    let (a, b) = (scope.param(0, &[k]), scope.param(n, &[k]));
    let total = scope.node((a.sin()).log_add_exp(b.exp()).sum_all());
    let mut g = scope.finish();
    let mut outputs = vec![total];
    outputs.extend(gradient(&mut g, total).iter().map(|p| p.adjoint));
    check(&g, &Bindings::default(), &Numbers(5).vec(2 * n), &outputs);
}

#[test]
fn matrices_slices_and_whole_array_steps_agree() {
    let (n, f) = (700, 5);
    let mut numbers = Numbers(9);
    let scope = Scope::new();
    let (obs, feature) = (scope.dim("obs", n), scope.dim("feature", f));
    let x = scope.data("x", &[obs, feature]);
    let beta = scope.param(0, &[feature]);
    let eta = (x * beta).sum_over(&[feature]);
    let walk = scope.node(beta);
    let walk = scope.with(|g| {
        let late = g.slice(walk, feature, 1, 4).unwrap();
        let early = g.slice(walk, feature, 0, 4).unwrap();
        let steps = g.binary(Binary::Sub, late, early).unwrap();
        let square = g.binary(Binary::Mul, steps, steps).unwrap();
        let sums = g.cum_sum(square, g.dims(square)[0], true);
        let over = g.dims(sums).to_vec();
        let top = g.max_over(sums, &over);
        let all = g.sum_all(sums);
        g.binary(Binary::Mul, top, all).unwrap()
    });
    let total = eta.softplus().sum_all() + scope.expr(walk);
    let node = scope.node(total);
    let rows = scope.node(eta);
    let mut graph = scope.finish();
    let mut outputs = vec![node, rows];
    outputs.extend(gradient(&mut graph, node).iter().map(|p| p.adjoint));
    let bindings = Bindings {
        data: vec![numbers.vec(n * f)],
        indices: vec![],
    };
    check(&graph, &bindings, &numbers.vec(f), &outputs);
    assert!(
        graph
            .nodes()
            .iter()
            .any(|n| matches!(n.op, Op::Contract { .. }))
    );
}

#[test]
fn arrays_over_two_dims_agree() {
    let mut numbers = Numbers(11);
    let scope = Scope::new();
    let (a, b, rows) = (
        scope.dim("a", 30),
        scope.dim("b", 11),
        scope.dim("rows", 90),
    );
    let index = scope.index("which", rows, a);
    let (u, v) = (scope.param(0, &[a]), scope.param(30, &[b]));
    let table = scope.data("table", &[a, b]);
    let cell = (table * u + v).tanh();
    let picked = cell.gather(index);
    let weights = scope.data("w", &[rows]);
    let both = picked * weights;
    let total =
        both.sum_all() + cell.sum_over(&[a]).exp().sum_all() + cell.sum_over(&[b]).exp().sum_all();
    let outputs = [total, cell.sum_over(&[a]), cell.sum_over(&[b]), both].map(|e| scope.node(e));
    let mut graph = scope.finish();
    let mut outputs = outputs.to_vec();
    outputs.extend(gradient(&mut graph, outputs[0]).iter().map(|p| p.adjoint));
    let bindings = Bindings {
        data: vec![numbers.vec(330), numbers.vec(90)],
        indices: vec![numbers.indices(90, 30)],
    };
    check(&graph, &bindings, &numbers.vec(41), &outputs);
}

/// Three binomial stages with group effects: sums whose terms come from several stages.
#[test]
fn sums_that_wait_for_later_stages_agree() {
    let mut numbers = Numbers(13);
    let scope = Scope::new();
    let (rows, groups) = (scope.dim("rows", 48), scope.dim("groups", 12));
    let by = scope.index("group", rows, groups);
    let mut total = Expr::lit(0.0);
    for stage in 0..3 {
        let (mu, sigma) = (
            scope.param(stage * 14, &[]),
            scope.param(stage * 14 + 1, &[]).exp(),
        );
        let z = scope.param(stage * 14 + 2, &[groups]);
        let eta = mu + sigma * z;
        let (n, k) = (
            scope.data(&format!("n{stage}"), &[rows]),
            scope.data(&format!("k{stage}"), &[rows]),
        );
        let likelihood = k * eta.gather(by) - n * eta.softplus().gather(by);
        total = total + (z * z).sum_all() + likelihood.sum_all() - sigma * sigma;
    }
    let node = scope.node(total);
    let mut graph = scope.finish();
    let mut outputs = vec![node];
    outputs.extend(gradient(&mut graph, node).iter().map(|p| p.adjoint));
    let bindings = Bindings {
        data: (0..6).map(|_| numbers.vec(48)).collect(),
        indices: vec![numbers.indices(48, 12)],
    };
    check(&graph, &bindings, &numbers.vec(42), &outputs);
}

#[test]
fn constants_and_repeated_scalars_can_be_outputs() {
    let mut g = Graph::new();
    let k = g.dim("k", 20);
    let s = g.param(0, &[]);
    let many = g.broadcast(s, &[k]);
    let two = g.lit(2.0);
    let twos = g.broadcast(two, &[k]);
    check(&g, &Bindings::default(), &[0.7], &[many, two, twos, s]);
}

/// Random graphs of elementwise operations, lookups and sums.
#[test]
fn random_graphs_agree() {
    for seed in 0..60 {
        let mut numbers = Numbers(seed * 77 + 5);
        let scope = Scope::new();
        let (obs, groups) = (scope.dim("obs", 70), scope.dim("groups", 6));
        let by = scope.index("by", obs, groups);
        let mut rows = vec![scope.data("x", &[obs]), scope.data("y", &[obs])];
        let mut tops = vec![scope.param(0, &[groups]), scope.param(6, &[groups])];
        let mut ones: Vec<Expr<'_>> = vec![scope.param(12, &[]), scope.param(13, &[])];
        for _ in 0..25 {
            let (a, b) = (numbers.pick(&rows), numbers.pick(&rows));
            let (t, u) = (numbers.pick(&tops), numbers.pick(&tops));
            let (s, r) = (numbers.pick(&ones), numbers.pick(&ones));
            match (numbers.next() * 9.0) as usize {
                0 => rows.push((a - t.gather(by)).tanh()),
                1 => rows.push(a * b + s),
                2 => rows.push(a * t.gather(by) * u.gather(by)),
                3 => tops.push((t + u * s).sin()),
                4 => tops.push(t.tanh() / (Expr::lit(2.0) + u.cos())),
                5 => ones.push((a * b).sum_all().tanh()),
                6 => ones.push((t * u).sum_all().tanh() + s * r),
                7 => {
                    let a = scope.node(a);
                    let sum = scope.with(|g| g.segment_sum(a, by));
                    tops.push(scope.expr(sum).tanh());
                }
                _ => rows.push(a.lt(b).select(a.exp().tanh(), b * s)),
            }
        }
        let total = rows
            .iter()
            .map(|r| r.sum_all())
            .chain(tops.iter().map(|t| t.sum_all()))
            .fold(Expr::lit(0.0), |a, b| a + b)
            + ones.iter().copied().fold(Expr::lit(0.0), |a, b| a + b);
        let mut outputs = vec![scope.node(total)];
        outputs.extend(rows.iter().chain(&tops).map(|e| scope.node(*e)));
        let mut graph = scope.finish();
        outputs.extend(gradient(&mut graph, outputs[0]).iter().map(|p| p.adjoint));
        let bindings = Bindings {
            data: vec![numbers.vec(70), numbers.vec(70)],
            indices: vec![numbers.indices(70, 6)],
        };
        check(&graph, &bindings, &numbers.vec(14), &outputs);
    }
}

/// States over steps: of one lane, of several, more than a register holds; in both directions; of
/// vectors with a product of a matrix in the step, and of pairs that read each other.
#[test]
fn recurrences_and_their_slopes_agree() {
    for (steps, lanes) in [
        (1, 1),
        (2, 3),
        (40, 1),
        (33, 8),
        (17, 13),
        (5, 40),
        (900, 1),
        (1, 0),
    ] {
        for reverse in [false, true] {
            let mut numbers = Numbers((steps * 100 + lanes) as u64);
            let mut g = Graph::new();
            let (time, who, k) = (g.dim("time", steps), g.dim("who", lanes), g.dim("k", 3));
            let twin = g.twin(k);
            let weights = g.param(0, &[k, twin]);
            let (pull, start) = (g.param(9, &[who]), g.param(9 + lanes, &[who]));
            let y = g.data("y", &[who, time]);
            let dims = [who, time, k];
            let (vector, number) = (g.hole(&dims), g.hole(&[who, time]));
            let moved = g.contract(vector, weights, &[k]).unwrap();
            let moved = g.relabel(moved, &dims);
            let moved = g.unary(Unary::Tanh, moved);
            let vector_after = g.binary(Binary::Add, moved, number).unwrap();
            let all = g.sum(vector, &[k]);
            let product = g.binary(Binary::Mul, all, pull).unwrap();
            let sum = g.binary(Binary::Add, product, y).unwrap();
            let wave = g.unary(Unary::Sin, sum);
            let number_after = g.binary(Binary::LogAddExp, wave, number).unwrap();
            let zero = g.lit(0.2);
            let carried = [
                Carried {
                    before: vector,
                    start: zero,
                    after: vector_after,
                },
                Carried {
                    before: number,
                    start,
                    after: number_after,
                },
            ];
            let ran = g.recur(time, reverse, &carried).unwrap();
            let per_number = g.sum(ran[0].after, &[k]);
            let weighted = g.binary(Binary::Mul, per_number, ran[1].before).unwrap();
            let total = g.sum_all(weighted);
            let mut outputs = vec![total, ran[0].after, ran[1].after];
            outputs.extend(gradient(&mut g, total).iter().map(|p| p.adjoint));
            let bindings = Bindings {
                data: vec![numbers.vec(lanes * steps)],
                indices: vec![],
            };
            let params: Vec<f64> = numbers.vec(9 + 2 * lanes).iter().map(|x| x - 0.5).collect();
            check(&g, &bindings, &params, &outputs);
        }
    }
}
