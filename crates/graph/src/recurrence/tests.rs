//! Recurrences against loops written by hand, and gradients against differences.

use super::Carried;
use crate::graph::{Bindings, DimId, Graph, NodeId};
use crate::op::{Binary, Unary};
use crate::{evaluate, gradient};

fn bin(g: &mut Graph, op: Binary, a: NodeId, b: NodeId) -> NodeId {
    g.binary(op, a, b).expect("dims combine")
}

/// Slopes of `y` at `params` against differences; the value.
#[track_caller]
fn check_gradient(g: &mut Graph, bindings: &Bindings, params: &[f64], y: NodeId) -> f64 {
    let partials = gradient(g, y);
    let mut slopes = vec![0.0; params.len()];
    let nodes: Vec<NodeId> = partials.iter().map(|p| p.adjoint).collect();
    let found = evaluate(g, bindings, params, &nodes);
    for (partial, found) in partials.iter().zip(found) {
        let crate::Op::Param { offset } = g.node(partial.param).op else {
            panic!("a parameter")
        };
        slopes[offset..offset + found.len()]
            .iter_mut()
            .zip(found)
            .for_each(|(s, x)| *s += x);
    }
    let at = |params: &[f64]| evaluate(g, bindings, params, &[y])[0][0];
    for (k, slope) in slopes.iter().enumerate() {
        let h = 1e-5 * params[k].abs().max(1.0);
        let side = |h: f64| {
            let mut p = params.to_vec();
            p[k] += h;
            at(&p)
        };
        let wanted = (8.0 * (side(h) - side(-h)) - (side(2.0 * h) - side(-2.0 * h))) / (12.0 * h);
        let scale = wanted.abs().max(1.0);
        assert!(
            (slope - wanted).abs() < 1e-8 * scale,
            "{k}: {slope} {wanted}"
        );
    }
    at(params)
}

/// h(t) = a + b h(t − 1) + z(t), in either direction: value and slopes.
#[test]
fn an_autoregression_is_the_loop_and_its_slopes_are_those_of_the_loop() {
    for reverse in [false, true] {
        let mut g = Graph::new();
        let time = g.dim("time", 5);
        let (a, b, z) = (g.param(0, &[]), g.param(1, &[]), g.param(2, &[time]));
        let start = g.param(7, &[]);
        let before = g.hole(&[time]);
        let product = bin(&mut g, Binary::Mul, b, before);
        let sum = bin(&mut g, Binary::Add, a, product);
        let after = bin(&mut g, Binary::Add, sum, z);
        let state = Carried {
            before,
            start,
            after,
        };
        let ran = g.recur(time, reverse, &[state]).expect("a recurrence")[0];
        let params = [0.3, 0.7, 1.0, -0.4, 0.2, 0.9, -1.1, 0.5];
        let found = evaluate(&g, &Bindings::default(), &params, &[ran.after, ran.before]);
        let (mut h, mut wanted) = (0.5, [vec![0.0; 5], vec![0.0; 5]]);
        for k in 0..5 {
            let t = if reverse { 4 - k } else { k };
            wanted[1][t] = h;
            h = 0.3 + 0.7 * h + params[2 + t];
            wanted[0][t] = h;
        }
        assert!(
            found[0]
                .iter()
                .zip(&wanted[0])
                .all(|(x, y)| (x - y).abs() < 1e-15)
        );
        assert!(
            found[1]
                .iter()
                .zip(&wanted[1])
                .all(|(x, y)| (x - y).abs() < 1e-15)
        );
        let square = bin(&mut g, Binary::Mul, ran.after, ran.before);
        let wave = g.unary(Unary::Sin, square);
        let y = g.sum_all(wave);
        check_gradient(&mut g, &Bindings::default(), &params, y);
    }
}

/// A hidden Markov chain of three states for two subjects, a matrix product in its step; and two
/// states that read each other.
#[test]
fn vectors_lanes_products_and_pairs_of_states_have_their_slopes() {
    let mut g = Graph::new();
    let (time, who, k) = (g.dim("time", 4), g.dim("who", 2), g.dim("k", 3));
    let twin = g.twin(k);
    let weights = g.param(0, &[k, twin]);
    let logits = g.param(9, &[who, time, k]);
    let start = g.param(33, &[k]);
    let dims = [who, time, k];
    let before = g.hole(&dims);
    let moved = g.contract(before, weights, &[k]).expect("k is common");
    let moved = g.relabel(moved, &[who, time, k]);
    let seen = g.unary(Unary::InvLogit, logits);
    let joint = bin(&mut g, Binary::Mul, moved, seen);
    let total = g.sum(joint, &[k]);
    let after = bin(&mut g, Binary::Div, joint, total);
    let starts = g.broadcast(start, &[who, k]);
    let state = Carried {
        before,
        start: starts,
        after,
    };
    let ran = g.recur(time, false, &[state]).expect("a recurrence")[0];
    let totals = g.substitute(&[total], &[(before, ran.before)].into())[0];
    let logs = g.unary(Unary::Log, totals);
    let y = g.sum_all(logs);
    let params: Vec<f64> = (0..36)
        .map(|i| 0.3 + ((7 * i) % 11) as f64 / 10.0)
        .collect();
    let value = check_gradient(&mut g, &Bindings::default(), &params, y);
    let mut wanted = 0.0;
    for w in 0..2 {
        let mut p: Vec<f64> = params[33..].to_vec();
        for t in 0..4 {
            let seen = |k: usize| 1.0 / (1.0 + (-params[9 + (w * 4 + t) * 3 + k]).exp());
            let moved = |k: usize| (0..3).map(|j| p[j] * params[j * 3 + k]).sum::<f64>();
            let joint: Vec<f64> = (0..3).map(|k| moved(k) * seen(k)).collect();
            let total: f64 = joint.iter().sum();
            wanted += total.ln();
            p = joint.iter().map(|x| x / total).collect();
        }
    }
    assert!((value - wanted).abs() < 1e-13 * wanted.abs());
}

fn predator_and_prey(g: &mut Graph, time: DimId, dims: &[DimId]) -> NodeId {
    let (prey, predator) = (g.hole(dims), g.hole(dims));
    let rate = |g: &mut Graph, k| g.param(k, &[]);
    let (a, b) = (rate(g, 0), rate(g, 1));
    let meet = bin(g, Binary::Mul, prey, predator);
    let lost = bin(g, Binary::Mul, b, meet);
    let born = bin(g, Binary::Mul, a, prey);
    let change = bin(g, Binary::Sub, born, lost);
    let prey_after = bin(g, Binary::Add, prey, change);
    let predator_after = bin(g, Binary::Add, predator, lost);
    let (x, y) = (g.param(2, &[]), g.param(3, &[]));
    let carried = [
        Carried {
            before: prey,
            start: x,
            after: prey_after,
        },
        Carried {
            before: predator,
            start: y,
            after: predator_after,
        },
    ];
    let ran = g.recur(time, false, &carried).expect("a recurrence");
    let product = bin(g, Binary::Mul, ran[0].after, ran[1].after);
    g.sum_all(product)
}

#[test]
fn two_states_that_read_each_other() {
    let mut g = Graph::new();
    let time = g.dim("time", 6);
    let y = predator_and_prey(&mut g, time, &[time]);
    let params = [0.1, 0.2, 1.5, 0.5];
    let value = check_gradient(&mut g, &Bindings::default(), &params, y);
    let (mut prey, mut predator, mut wanted) = (1.5, 0.5, 0.0);
    for _ in 0..6 {
        let lost = 0.2 * prey * predator;
        (prey, predator) = (prey + 0.1 * prey - lost, predator + lost);
        wanted += prey * predator;
    }
    assert!((value - wanted).abs() < 1e-13);
}

#[test]
fn a_step_that_reads_other_steps_is_refused_in_words() {
    let mut g = Graph::new();
    let time = g.dim("time", 6);
    let before = g.hole(&[time]);
    let after = g.cum_sum(before, time, false);
    let start = g.lit(0.0);
    let error = g
        .recur(
            time,
            false,
            &[Carried {
                before,
                start,
                after,
            }],
        )
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "a step of a recurrence over `time` cannot read other steps"
    );
}
