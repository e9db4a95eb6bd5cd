//! Speed of a recurrence: value and gradient of a hidden Markov model, whose answer is compared with
//! that of the reference interpreter.
#![allow(clippy::print_stdout)]

use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::lanes::Level;
use fitzroy_graph::{Binary, Bindings, Carried, Graph, NodeId, Result, Unary, evaluate, gradient};
use std::time::Instant;

/// ln p of normal data given hidden states, by the forward recursion with a sum in each step; its
/// parameters are logarithms of transitions, to and from, and the place of each state.
fn log_density(states: usize, steps: usize) -> Result<(Graph, Vec<NodeId>)> {
    let mut g = Graph::new();
    let (time, to) = (g.dim("time", steps), g.dim("state", states));
    let from = g.twin(to);
    let place = g.param(states * states, &[to]);
    let y = g.data("y", &[time]);
    let transitions = g.param(0, &[to, from]);
    let transitions = g.unary(Unary::Exp, transitions);
    let y = g.broadcast(y, &[to, time]);
    let distance = g.binary(Binary::Sub, y, place)?;
    let square = g.binary(Binary::Mul, distance, distance)?;
    let half = g.lit(-0.5);
    let logarithm = g.binary(Binary::Mul, square, half)?;
    let density = g.unary(Unary::Exp, logarithm);
    let before = g.hole(&[to, time]);
    let left = g.relabel(before, &[from, time]);
    let moved = g.contract(transitions, left, &[from])?;
    let both = g.binary(Binary::Mul, moved, density)?;
    let sum = g.sum(both, &[to]);
    let after = g.binary(Binary::Div, both, sum)?;
    let (start, zero, unread) = (g.lit(1.0 / states as f64), g.lit(0.0), g.hole(&[time]));
    let carried = [(before, start, after), (unread, zero, sum)];
    let carried = carried.map(|(before, start, after)| Carried {
        before,
        start,
        after,
    });
    let ran = g.recur(time, false, &carried)?;
    let logarithms = g.unary(Unary::Log, ran[1].after);
    let total = g.sum_all(logarithms);
    let slopes = gradient(&mut g, total);
    let outputs = std::iter::once(total).chain(slopes.iter().map(|p| p.adjoint));
    let outputs = outputs.collect();
    Ok((g, outputs))
}

fn main() -> Result<()> {
    for (states, steps) in [(2, 10_000), (3, 1_000), (4, 1_000)] {
        let (graph, outputs) = log_density(states, steps)?;
        let bindings = Bindings {
            data: vec![(0..steps).map(|i| (0.1 * i as f64).sin()).collect()],
            indices: vec![],
        };
        let function =
            Function::compile_for(Level::detect(), Engine::Auto, &graph, &bindings, &outputs)?;
        let mut workspace = function.workspace();
        let n = states * states + states;
        let point: Vec<f64> = (0..n).map(|i| -0.7 + 0.1 * i as f64).collect();
        let mut times: Vec<f64> = (0..300)
            .map(|_| {
                let start = Instant::now();
                function.run(&mut workspace, &point);
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let wanted = evaluate(&graph, &bindings, &point, &outputs);
        for (k, wanted) in wanted.iter().enumerate() {
            for (got, wanted) in function.output(&workspace, k).iter().zip(wanted) {
                let error = (got - wanted).abs() / (1.0 + wanted.abs());
                assert!(error < 1e-9, "{got} instead of {wanted}");
            }
        }
        println!(
            "{states} states, {steps} steps: {:.0} us a gradient (median; fastest {:.0})",
            1e6 * times[times.len() / 2],
            1e6 * times[0]
        );
    }
    Ok(())
}
