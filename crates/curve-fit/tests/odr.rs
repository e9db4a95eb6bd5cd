//! Errors in both variables, against ODRPACK (`golden/odr.py`) and a closed form.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::fit::{Orthogonal, Plan, fit_table, orthogonal};
use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::{Data, Formula, Loss, Options, Sigma};
use serde_json::Value;

fn numbers(of: &Value) -> Vec<f64> {
    let all = of.as_array().unwrap().iter();
    all.map(|v| v.as_f64().unwrap()).collect()
}

fn fitted(
    model: &str,
    data: &Data<'_>,
    x_sigma: &[(String, Sigma<'_>)],
    options: &Options,
) -> fitzroy::Result<Orthogonal> {
    let formula = Formula::parse(model)?;
    let roles = formula.roles(&data.names(), &[])?;
    let plan = Plan::new(&formula, roles, data.has_sigma(), options)?;
    let table = data.table(&plan.roles.predictors)?;
    let first = fit_table(&plan, &table, options, &mut |_| Next::Continue)?;
    orthogonal(&plan, data, x_sigma, options, &first, &mut |_| {
        Next::Continue
    })
}

/// ODRPACK stops at a relative change of 1e-15 of its sum, of which values are the square root: 3e-7 of an error.
#[test]
fn values_errors_and_shifts_are_those_of_odrpack() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/odr.json");
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for (model, case) in golden.as_object().unwrap() {
        let of = |key: &str| numbers(&case[key]);
        let sigma = Sigma::Each(of("sigma_y").into());
        let data = Data::new(of("y")).with("x", of("x")).with_sigma(sigma);
        let x_sigma = [("x".to_string(), Sigma::Each(of("sigma_x").into()))];
        let found = fitted(model, &data, &x_sigma, &Options::default()).unwrap();
        let e = &found.estimate;
        assert!(e.converged(), "{model}: {:?}", e.status);
        let (beta, errors) = (of("beta"), of("sd_beta"));
        let sum = case["sum_square"].as_f64().unwrap();
        assert!(
            (e.chi2 / sum - 1.0).abs() < 1e-10,
            "{model}: {} {sum}",
            e.chi2
        );
        for (k, (value, se)) in e.popt.iter().zip(e.se()).enumerate() {
            assert!(
                (value - beta[k]).abs() < 1e-5 * errors[k],
                "{model} {k}: {value} {}",
                beta[k]
            );
            assert!(
                (se / errors[k] - 1.0).abs() < 1e-5,
                "{model} {k}: {se} {}",
                errors[k]
            );
        }
        for (got, want) in found.shifts[0].iter().zip(of("delta")) {
            assert!((got - want).abs() < 1e-6, "{model}: {got} {want}");
        }
    }
}

/// A line with one ratio of errors: Deming's slope in closed form. Without noise of x it is least squares.
#[test]
fn a_line_is_demings() {
    let x: Vec<f64> = (0..30)
        .map(|i| f64::from(i) + 0.3 * f64::from((i * 7) % 5 - 2))
        .collect();
    let y: Vec<f64> = (0..30)
        .map(|i| 2.0 * f64::from(i) + 1.0 + 0.4 * f64::from((i * 3) % 7 - 3))
        .collect();
    let n = x.len() as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let moment = |u: &[f64], mu: f64, v: &[f64], mv: f64| {
        u.iter()
            .zip(v)
            .map(|(a, b)| (a - mu) * (b - mv))
            .sum::<f64>()
    };
    let (xx, xy, yy) = (
        moment(&x, mx, &x, mx),
        moment(&x, mx, &y, my),
        moment(&y, my, &y, my),
    );
    let (sx, sy) = (0.4, 0.9);
    let ratio = sy * sy / (sx * sx);
    let half = yy - ratio * xx;
    let slope = (half + (half * half + 4.0 * ratio * xy * xy).sqrt()) / (2.0 * xy);
    let data = Data::new(y).with("x", x).with_sigma(Sigma::Same(sy));
    let found = fitted(
        "a*x + b",
        &data,
        &[("x".into(), Sigma::Same(sx))],
        &Options::default(),
    )
    .unwrap();
    assert!((found.estimate.popt[0] - slope).abs() < 1e-10);
    assert!((found.estimate.popt[1] - (my - slope * mx)).abs() < 1e-9);
    let found = fitted(
        "a*x + b",
        &data,
        &[("x".into(), Sigma::Same(1e-9))],
        &Options::default(),
    )
    .unwrap();
    assert!((found.estimate.popt[0] - xy / xx).abs() < 1e-9);
}

#[test]
fn bounds_hold_and_what_makes_no_sense_is_refused() {
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * x + 0.5 * (x * 1.7).sin()).collect();
    let plain = Data::new(y.clone()).with("x", x.clone());
    let data = plain.clone().with_sigma(Sigma::Same(0.3));
    let of_x = |s: f64| [("x".to_string(), Sigma::Same(s))];
    let bounded = Options {
        bounds: vec![("a".into(), 0.0, 1.9)],
        ..Options::default()
    };
    let found = fitted("a*x + b", &data, &of_x(0.2), &bounded)
        .unwrap()
        .estimate;
    let a = found.parameter("a").unwrap();
    assert!(
        a.at_bound && a.value == 1.9 && a.se.is_nan() && found.parameter("b").unwrap().se > 0.0
    );
    let robust = Options {
        loss: Loss::Huber,
        ..Options::default()
    };
    let none = Options::default();
    for (data, x_sigma, options, holds) in [
        (&plain, &of_x(0.2), &none, "those of the response"),
        (&data, &of_x(-1.0), &none, "needs a positive number"),
        (
            &data,
            &[("z".to_string(), Sigma::Same(1.0))],
            &none,
            "is no predictor",
        ),
        (&data, &of_x(0.2), &robust, "least squares"),
    ] {
        let error = fitted("a*x + b", data, x_sigma, options)
            .unwrap_err()
            .to_string();
        assert!(error.contains(holds), "{error}");
    }
}
