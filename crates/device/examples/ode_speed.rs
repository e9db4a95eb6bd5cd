//! Speed of differential equations: value and gradient of hunters and hunted at twenty times, and of
//! chemistry of very different speeds, whose answers are compared with those of the reference
//! interpreter.
#![allow(clippy::print_stdout)]

use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::lanes::Level;
use fitzroy_graph::ode::{Equation, Method, Tolerance};
use fitzroy_graph::{Bindings, Carried, Graph, NodeId, Real, Result, Scope, evaluate, gradient};
use std::time::Instant;

/// Σ ln² of the states at all times; the parameters are the logarithms of four rates and of two starts.
fn log_density(method: Method, times: usize) -> Result<(Graph, Vec<NodeId>)> {
    let scope = Scope::new();
    let time = scope.dim("time", times);
    let at = scope.data("at", &[time]);
    let theta: Vec<_> = (0..6).map(|k| scope.param(k, &[]).exp()).collect();
    let [x, y, clock] = [0, 1, 2].map(|_| scope.expr(scope.with(|g| g.hole(&[]))));
    let rates = match method {
        Method::Explicit => [(theta[0] - theta[1] * y) * x, (theta[3] * x - theta[2]) * y],
        Method::Stiff => [
            theta[0] * y - theta[1] * x * Real::lit(1e3),
            theta[1] * x * Real::lit(1e3) - (theta[0] + theta[3]) * y,
        ],
    };
    let states = [(x, theta[4], rates[0]), (y, theta[5], rates[1])];
    let states = states.map(|(before, start, after)| Carried {
        before: scope.node(before),
        start: scope.node(start),
        after: scope.node(after),
    });
    let equation = Equation {
        states: states.to_vec(),
        time: scope.node(clock),
        from: scope.with(|g| g.lit(0.0)),
        at: scope.node(at),
        times: time,
        kicks: None,
        method,
        tolerance: Tolerance::default(),
    };
    let solved = scope.with(|g| g.solve(equation))?;
    let logs = solved.iter().map(|&s| scope.expr(s).ln());
    let squares = logs.map(|ln| (ln * ln).sum_all());
    let total = scope.node(squares.fold(Real::lit(0.0), |a, b| a + b));
    let mut g = scope.finish();
    let slopes = gradient(&mut g, total);
    let outputs = std::iter::once(total).chain(slopes.iter().map(|p| p.adjoint));
    let outputs = outputs.collect();
    Ok((g, outputs))
}

fn main() -> Result<()> {
    for (method, times) in [
        (Method::Explicit, 20),
        (Method::Explicit, 200),
        (Method::Stiff, 20),
    ] {
        let (graph, outputs) = log_density(method, times)?;
        let bindings = Bindings {
            data: vec![
                (0..times)
                    .map(|i| 20.0 * (i + 1) as f64 / times as f64)
                    .collect(),
            ],
            indices: vec![],
        };
        let function =
            Function::compile_for(Level::detect(), Engine::Auto, &graph, &bindings, &outputs)?;
        let mut workspace = function.workspace();
        let point = [0.55, 0.028, 0.8, 0.024, 33.0, 6.0].map(|x: f64| x.ln());
        let mut seconds: Vec<f64> = (0..2_000)
            .map(|_| {
                let start = Instant::now();
                function.run(&mut workspace, &point);
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        let wanted = evaluate(&graph, &bindings, &point, &outputs);
        for (k, wanted) in wanted.iter().enumerate() {
            for (got, wanted) in function.output(&workspace, k).iter().zip(wanted) {
                let error = (got - wanted).abs() / (1.0 + wanted.abs());
                assert!(error < 1e-7, "{got} instead of {wanted}");
            }
        }
        println!(
            "{method:?}, {times} times: {:.1} us a gradient (median; fastest {:.1})",
            1e6 * seconds[seconds.len() / 2],
            1e6 * seconds[0]
        );
    }
    Ok(())
}
