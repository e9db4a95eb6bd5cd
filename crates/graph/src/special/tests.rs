//! Special functions against high-precision values.

use super::*;

/// The value of function `name` at `x`.
fn evaluate(name: &str, x: &[f64]) -> f64 {
    match name {
        "erfcx" => erfcx(x[0]),
        "log_ndtr" => log_ndtr(x[0]),
        "log_ndtr_slope" => log_ndtr_slope(x[0]),
        "ndtr" => ndtr(x[0]),
        "ndtri" => ndtri(x[0]),
        "owens_t" => owens_t(x[0], x[1]),
        "digamma" => digamma(x[0]),
        "trigamma" => trigamma(x[0]),
        "log_i0" => log_i0(x[0]),
        "i1_over_i0" => i1_over_i0(x[0]),
        "gamma_p" => gamma_p(x[0], x[1]),
        "gamma_q" => gamma_q(x[0], x[1]),
        "beta_inc" => beta_inc(x[0], x[1], x[2], 1.0 - x[2]),
        _ => panic!("no function {name}"),
    }
}

/// Bounds: 2e-15 relative where a function has a direct formula; 1e-15 absolute besides for
/// those with a zero (digamma, `ndtri`); the incomplete functions sum up to hundreds of terms and
/// exponentiate a deviance of up to some hundreds, each a few 1e-16 of itself: 3e-13 relative.
#[test]
fn special_functions_agree_with_50_digit_values() {
    let table = include_str!("../../tests/golden/special/special.csv");
    let mut worst: Vec<(String, f64, String)> = Vec::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let x: Vec<f64> = cells[1]
            .split(' ')
            .map(|v| v.parse().expect("a number"))
            .collect();
        let expected: f64 = cells[2].parse().expect("a number");
        let got = evaluate(cells[0], &x);
        let (relative, absolute) = match cells[0] {
            "gamma_p" | "gamma_q" | "beta_inc" => (3e-13, 0.0),
            "owens_t" => (1e-13, 1e-16),
            "digamma" | "ndtri" => (2e-15, 1e-15),
            _ => (2e-15, 0.0),
        };
        let share = (got - expected).abs() / (relative * expected.abs() + absolute + 1e-308);
        match worst.iter_mut().find(|w| w.0 == cells[0]) {
            Some(w) if w.1 >= share => {}
            Some(w) => (w.1, w.2) = (share, line.to_string()),
            None => worst.push((cells[0].to_string(), share, line.to_string())),
        }
        if got.is_nan() {
            panic!("{line}: NaN");
        }
    }
    let bad: Vec<_> = worst.iter().filter(|w| w.1.is_nan() || w.1 > 1.0).collect();
    assert!(bad.is_empty(), "error as a share of its bound: {bad:#?}");
}

#[test]
fn edges_are_limits_and_nonsense_is_nan() {
    assert_eq!(log_ndtr(f64::INFINITY), 0.0);
    assert_eq!(log_ndtr(f64::NEG_INFINITY), f64::NEG_INFINITY);
    assert_eq!(ndtri(0.0), f64::NEG_INFINITY);
    assert_eq!(ndtri(1.0), f64::INFINITY);
    assert!(ndtri(1.5).is_nan() && ndtri(f64::NAN).is_nan());
    assert_eq!((gamma_p(2.0, 0.0), gamma_p(2.0, f64::INFINITY)), (0.0, 1.0));
    assert_eq!(
        (beta_inc(2.0, 3.0, 0.0, 1.0), beta_inc(2.0, 3.0, 1.0, 0.0)),
        (0.0, 1.0)
    );
    assert!(gamma_p(-1.0, 1.0).is_nan() && beta_inc(0.0, 1.0, 0.5, 0.5).is_nan());
    assert!(digamma(-2.0).is_nan() && trigamma(0.0).is_nan());
}

#[test]
fn quadrature_is_exact_to_rounding() {
    assert!((integrate(libm::exp, 0.0, 1.0) - (1f64.exp() - 1.0)).abs() < 1e-15);
    let root = integrate(|x: f64| x.powf(-0.5), 0.0, 1.0);
    assert!((root - 2.0).abs() < 1e-8, "a singular end: {root}");
}

/// Reference: scipy.stats.beta.ppf, SciPy 1.18.1. Bound: 1e-11 relative, far below one rank.
/// Catches: a bisection step taken when Newton's has become smaller than rounding.
#[test]
fn the_inverse_of_the_incomplete_beta_function_agrees_with_scipy() {
    for (p, a, b, x) in BETA {
        let got = beta_inc_inv(p, a, b);
        assert!((got - x).abs() <= 1e-11 * x, "{p} {a} {b}: {got} {x}");
    }
    assert!(beta_inc_inv(0.2, f64::NAN, 2.0).is_nan());
}

const BETA: [(f64, f64, f64, f64); 14] = [
    (0.1586553, 1.0, 1.0, 0.1586553),
    (0.1586553, 1.5, 30.0, 0.013689673399477293),
    (0.8413447, 201.0, 3801.0, 0.05367494675545149),
    (0.1586553, 2001.0, 2001.0, 0.49209628309855247),
    (0.8413447, 95001.0, 5001.0, 0.9506802347399049),
    (0.8413447, 3.25, 1.75, 0.8562441629412822),
    (0.1586553, 1.15, 3.8499999999999996, 0.059185857624531435),
    (0.1586553, 1.385, 8.315, 0.04096257319633527),
    (0.1586553, 1.9500000000000002, 19.05, 0.034120243194004016),
    (
        0.1586553,
        6.550000000000001,
        106.44999999999999,
        0.036472035804063746,
    ),
    (0.8413447, 1.15, 3.8499999999999996, 0.41088058901303104),
    (0.8413447, 1.385, 8.315, 0.24826267817019407),
    (0.8413447, 1.9500000000000002, 19.05, 0.1525742261073254),
    (
        0.8413447,
        6.550000000000001,
        106.44999999999999,
        0.07950013767980142,
    ),
];
