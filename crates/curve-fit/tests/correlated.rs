//! Fits with a full covariance matrix of the errors against SciPy's `curve_fit` (`golden/correlated.py`), and what
//! such a matrix must not be.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::fit::{correlated, quality};
use fitzroy_curve_fit::method::{Next, Progress};
use fitzroy_curve_fit::{CurveFit, Data, Options, Sigma};
use serde_json::Value;

fn numbers(of: &Value) -> Vec<f64> {
    let all = of.as_array().unwrap().iter();
    all.map(|v| v.as_f64().unwrap()).collect()
}

fn golden() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/correlated.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all.as_array().unwrap().clone()
}

/// Bounds: values to 1e-7, covariances to 1e-6, χ² to 1e-9 of SciPy's.
#[test]
fn values_and_covariance_are_those_of_scipy() {
    for case in golden() {
        let (x, y, matrix) = (
            numbers(&case["x"]),
            numbers(&case["y"]),
            numbers(&case["matrix"]),
        );
        let data = Data::new(&y).with("x", &x);
        let fitter = CurveFit::compile(case["formula"].as_str().unwrap()).unwrap();
        let absolute_sigma = case["absolute"].as_bool().unwrap();
        let options = Options {
            absolute_sigma,
            ..Options::default()
        };
        let plan = fitter.plan(&data, &options).unwrap();
        let plain = fitter.fit(&data, &options).unwrap();
        let watch = &mut |_: &Progress<'_>| Next::Continue;
        let found = correlated(&plan, &data, &matrix, &options, &plain, watch).unwrap();
        let e = &found.estimate;
        assert!(e.converged());
        for (got, want) in e.popt.iter().zip(numbers(&case["popt"])) {
            assert!((got / want - 1.0).abs() < 1e-7, "{got} {want}");
        }
        for (got, want) in e.pcov.iter().zip(numbers(&case["pcov"])) {
            assert!((got / want - 1.0).abs() < 1e-6, "{got} {want}");
        }
        let chi2 = case["chi2"].as_f64().unwrap();
        assert!((e.chi2 / chi2 - 1.0).abs() < 1e-9);
        assert!((found.log_det - case["log_det"].as_f64().unwrap()).abs() < 1e-9);
        let squares: f64 = found.residuals.iter().map(|r| r * r).sum();
        assert!((squares / chi2 - 1.0).abs() < 1e-9);
    }
}

/// A diagonal matrix is what σ of its own in every row are.
#[test]
fn a_diagonal_matrix_is_a_column_of_sigma() {
    let case = &golden()[0];
    let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
    let n = x.len();
    let sigma: Vec<f64> = (0..n).map(|i| 0.1 + 0.01 * i as f64).collect();
    let mut matrix = vec![0.0; n * n];
    (0..n).for_each(|i| matrix[i * n + i] = sigma[i] * sigma[i]);
    for absolute_sigma in [false, true] {
        let options = Options {
            absolute_sigma,
            ..Options::default()
        };
        let fitter = CurveFit::compile("a*exp(-b*x)+c").unwrap();
        let data = Data::new(&y).with("x", &x);
        let plan = fitter.plan(&data, &options).unwrap();
        let plain = fitter.fit(&data, &options).unwrap();
        let watch = &mut |_: &Progress<'_>| Next::Continue;
        let found = correlated(&plan, &data, &matrix, &options, &plain, watch).unwrap();
        let own = Data::new(&y)
            .with("x", &x)
            .with_sigma(Sigma::Each(sigma.clone().into()));
        let want = fitter.fit(&own, &options).unwrap();
        for (got, want) in found.estimate.popt.iter().zip(&want.popt) {
            assert!((got / want - 1.0).abs() < 1e-8);
        }
        for (got, want) in found.estimate.pcov.iter().zip(&want.pcov) {
            assert!((got / want - 1.0).abs() < 1e-7);
        }
        let measured = |data: &Data<'_>, e| {
            let plan = fitter.plan(data, &options).unwrap();
            quality(&plan, &data.table(&plan.roles.predictors).unwrap(), e).unwrap()
        };
        let (got, want) = (
            found.quality(&measured(&data, &plain)),
            measured(&own, &want),
        );
        assert!((got.aic - want.aic).abs() < 1e-7 && (got.bic - want.bic).abs() < 1e-7);
        assert!(!absolute_sigma || (got.chi2_p - want.chi2_p).abs() < 1e-9);
    }
}

#[test]
fn matrices_that_are_no_covariances_are_refused_with_what_is_wrong() {
    let x = [0.0, 1.0, 2.0];
    let data = Data::new(&[1.0, 2.1, 2.9]).with("x", &x);
    let fitter = CurveFit::compile("a*x+b").unwrap();
    let options = Options::default();
    let plan = fitter.plan(&data, &options).unwrap();
    let plain = fitter.fit(&data, &options).unwrap();
    let refused = |matrix: &[f64]| {
        let watch = &mut |_: &Progress<'_>| Next::Continue;
        let found = correlated(&plan, &data, matrix, &options, &plain, watch);
        found.unwrap_err().to_string()
    };
    let two = refused(&[1.0, 0.0, 0.0, 1.0]);
    assert!(two.contains("2 × 2") && two.contains("3 rows"), "{two}");
    let skew = refused(&[1.0, 0.5, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0, 1.0]);
    assert!(skew.contains("row 2, column 1 is 0.4"), "{skew}");
    let beyond = refused(&[1.0, 2.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    assert!(beyond.contains("not positive definite"), "{beyond}");
    let nan = refused(&[f64::NAN, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    assert!(
        nan.contains("symmetric") || nan.contains("definite"),
        "{nan}"
    );
}
