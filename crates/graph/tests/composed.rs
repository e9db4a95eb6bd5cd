//! Functions put together from operations: values and slopes against 50-digit ones.
#![allow(clippy::unwrap_used)]

use fitzroy_graph::{Bindings, Expr, Op, Scope, composed, evaluate, gradient};

/// The value of a function at `x`, and its slopes, by a graph.
fn graphed(name: &str, x: &[f64]) -> (f64, Vec<f64>) {
    let scope = Scope::new();
    let value = {
        let own: Vec<Expr<'_>> = (0..x.len()).map(|k| scope.param(k, &[])).collect();
        let value = match own[..] {
            [a] => composed::of_one(name, a),
            [a, b] => composed::of_two(name, a, b),
            [a, b, c] => composed::of_three(name, a, b, c),
            _ => None,
        };
        scope.node(value.expect("a function of that name"))
    };
    let mut graph = scope.finish();
    let partials = gradient(&mut graph, value);
    let mut slopes = vec![0.0; x.len()];
    for p in &partials {
        let Op::Param { offset } = graph.node(p.param).op else {
            panic!("a parameter")
        };
        slopes[offset] += evaluate(&graph, &Bindings::default(), x, &[p.adjoint])[0][0];
    }
    let value = evaluate(&graph, &Bindings::default(), x, &[value])[0][0];
    (value, slopes)
}

/// Bounds: 4e-15 relative for values, 1e-12 for slopes (those of quantiles are of an approximation whose values are good
/// to 1e-16); absolute beside, 1e-16. Tails of erfc, of w and of I₀ carry the rounding of x², and of log I₀, up to 600;
/// Bessel functions near their zeros carry that of the terms that cancel there, and slopes that of the greatest one.
#[test]
fn composed_functions_and_their_slopes_agree_with_50_digit_values() {
    let table = include_str!("golden/composed/composed.csv");
    let mut bad = Vec::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let numbers =
            |cell: &str| -> Vec<f64> { cell.split(' ').map(|v| v.parse().unwrap()).collect() };
        let (x, expected, slopes) = (numbers(cells[1]), numbers(cells[2])[0], numbers(cells[3]));
        let (value, own) = graphed(cells[0], &x);
        let relative = match cells[0] {
            "ndtr" | "i0" | "i0e" | "i1" | "i1e" => 3e-13,
            "wofz_real" | "wofz_imag" | "voigt_profile" => 1e-13,
            "gamma" => 2e-14,
            _ => 4e-15,
        };
        let least: f64 = match cells[0] {
            "j0" | "j1" | "y0" | "y1" => 2e-15,
            // A tail is as right as the middle.
            "wofz_real" | "wofz_imag" | "voigt_profile" => 1e-300,
            _ => 1e-16,
        };
        let off =
            |a: f64, b: f64, relative: f64, least: f64| (a - b).abs() > relative * b.abs() + least;
        let wrong = off(value, expected, relative, least) || value.is_nan();
        let steepest = slopes.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        let slope = own
            .iter()
            .zip(&slopes)
            .any(|(a, b)| a.is_nan() || off(*a, *b, 1e-12, least + 1e-13 * steepest));
        if wrong || slope {
            bad.push(format!("{line}: {value}, {own:?}"));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Numbers and nodes are one formula; ends and what lies beyond have the limits.
#[test]
fn ends_have_their_limits() {
    assert_eq!(
        (composed::probit(0.0), composed::probit(1.0)),
        (f64::NEG_INFINITY, f64::INFINITY)
    );
    assert_eq!(composed::erfinv(-1.0), f64::NEG_INFINITY);
    assert!(composed::probit(1.1).is_nan() && composed::acosh(0.5).is_nan());
    assert_eq!(composed::atanh(1.0), f64::INFINITY);
    assert_eq!(composed::log1m_exp(0.0), f64::NEG_INFINITY);
    assert!(composed::log_diff_exp(0.0, 1.0).is_nan());
    let pi = std::f64::consts::PI;
    assert_eq!(
        (composed::atan2(0.0, 0.0), composed::atan2(0.0, -1.0)),
        (0.0, pi)
    );
    for (x, whole) in [
        (0.5, 0.0),
        (1.5, 2.0),
        (2.5, 2.0),
        (-0.5, 0.0),
        (-1.5, -2.0),
        (1e300, 1e300),
    ] {
        assert_eq!(composed::round(x), whole, "{x}");
    }
    for (a, b) in [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0)] {
        let python = a - b * f64::floor(a / b);
        assert_eq!(composed::modulo(a, b), python);
    }
}
