//! Solutions and their slopes against closed forms.

use super::{Equation, Method, Tolerance};
use crate::{Binary, Bindings, Carried, Graph, Unary, evaluate};

/// y′ = −θ y at two tolerances.
fn decay(method: Method, relative: f64) -> (f64, usize) {
    let mut g = Graph::new();
    let times = g.dim("times", 3);
    let at = g.data("times", &[times]);
    let theta = g.param(0, &[]);
    let (y, time) = (g.hole(&[]), g.hole(&[]));
    let product = g.binary(Binary::Mul, theta, y).unwrap();
    let minus = g.unary(Unary::Neg, product);
    let push = g.unary(Unary::Sin, time);
    let rate = g.binary(Binary::Add, minus, push).unwrap();
    let (start, from) = (g.lit(2.0), g.lit(0.0));
    let states = vec![Carried {
        before: y,
        start,
        after: rate,
    }];
    let tolerance = Tolerance {
        relative,
        absolute: relative,
        most_steps: 100_000,
    };
    let y = g
        .solve(Equation {
            states,
            time,
            from,
            at,
            times,
            kicks: None,
            method,
            tolerance,
        })
        .unwrap();
    let all = crate::NodeId(y[0].0 - 2);
    let bindings = Bindings {
        data: vec![vec![0.7, 2.2, 5.0]],
        indices: vec![],
    };
    let theta = 0.8;
    let found = evaluate(&g, &bindings, &[theta], &[y[0], all]);
    // y = c e^(−θt) + (θ sin t − cos t)/(1 + θ²)
    let exact = |t: f64| {
        let forced = |t: f64| (theta * t.sin() - t.cos()) / (1.0 + theta * theta);
        (2.0 - forced(0.0)) * (-theta * t).exp() + forced(t)
    };
    let error = [0.7, 2.2, 5.0]
        .iter()
        .zip(&found[0])
        .map(|(t, y)| (y - exact(*t)).abs())
        .fold(0.0, f64::max);
    (error, found[1][3] as usize)
}

#[test]
fn errors_follow_the_tolerance() {
    for method in [Method::Explicit, Method::Stiff] {
        for exponent in 4..11 {
            let relative = 10f64.powi(-exponent);
            let (error, steps) = decay(method, relative);
            println!("{method:?} {relative:e}: {error:e} {steps}");
            assert!(error < 20.0 * relative, "{method:?} at {relative}: {error}");
        }
    }
}
