//! Plain closures as curves: the same answers as the formulas that they are.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::{ClosureFit, CurveFit, Data, Options, Sigma, values};

fn decay() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let ripple = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
    let y = x
        .iter()
        .enumerate()
        .map(|(i, x)| 2.0 * (-0.7 * x).exp() + 0.4 + 0.1 * ripple(i));
    let sigma = x.iter().map(|x| 0.05 + 0.01 * x);
    (x.clone(), y.collect(), sigma.collect())
}

#[test]
fn a_closure_fits_as_its_formula_does_with_differences_and_with_derivatives() {
    let (x, y, sigma) = decay();
    let columns = [&x[..]];
    let start = [1.0, 1.0, 0.0];
    let curve = |x: &[f64], p: &[f64]| p[0] * (-p[1] * x[0]).exp() + p[2];
    let slopes = |x: &[f64], p: &[f64], out: &mut [f64]| {
        let e = (-p[1] * x[0]).exp();
        out.copy_from_slice(&[e, -p[0] * x[0] * e, 1.0]);
    };
    for absolute in [None, Some(false), Some(true)] {
        let mut data = Data::new(&y).with("x", &x);
        let own = || {
            let fit = ClosureFit::new(curve, &columns, &y);
            match absolute {
                Some(absolute) => fit.sigma(&sigma, absolute),
                None => fit,
            }
        };
        if absolute.is_some() {
            data = data.with_sigma(Sigma::Each(sigma.clone().into()));
        }
        let options = Options {
            absolute_sigma: absolute == Some(true),
            p0: values([("a", 1.0), ("b", 1.0), ("c", 0.0)]),
            ..Options::default()
        };
        let want = CurveFit::compile("a*exp(-b*x)+c")
            .unwrap()
            .fit(&data, &options)
            .unwrap();
        for (found, bound) in [
            (own().run(&start).unwrap(), 1e-6),
            (own().derivatives(slopes).run(&start).unwrap(), 1e-9),
        ] {
            assert!(found.converged && found.dof == want.dof);
            for (got, want) in found.popt.iter().zip(&want.popt) {
                assert!((got / want - 1.0).abs() < bound, "{got} {want}");
            }
            for (got, want) in found.se.iter().zip(want.se()) {
                assert!((got / want - 1.0).abs() < 1e-5, "{got} {want}");
            }
            assert!((found.chi2 / want.chi2 - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn bounds_hold_and_a_parameter_at_one_has_no_error() {
    let (x, y, _) = decay();
    let columns = [&x[..]];
    let fit = ClosureFit::new(|x, p| p[0] * (-p[1] * x[0]).exp() + p[2], &columns, &y);
    let fit = fit.bounds(&[0.0, 0.0, 0.0], &[1.8, 5.0, 1.0]);
    let found = fit.run(&[1.0, 1.0, 0.5]).unwrap();
    assert!(found.converged && found.popt[0] == 1.8);
    assert!(found.se[0].is_nan() && found.se[1] > 0.0);
    let options = Options {
        bounds: vec![("a".into(), 0.0, 1.8)],
        ..Options::default()
    };
    let want = CurveFit::compile("a*exp(-b*x)+c").unwrap();
    let want = want.fit(&Data::new(&y).with("x", &x), &options).unwrap();
    assert!((found.chi2 / want.chi2 - 1.0).abs() < 1e-9);
    assert!((found.se[1] / want.se()[1] - 1.0).abs() < 1e-4);
}

#[test]
fn what_cannot_be_fitted_is_refused_with_what_is_wrong() {
    let (x, y, sigma) = decay();
    let short = [&x[..5]];
    let refused = |fit: ClosureFit<'_>, p0: &[f64]| fit.run(p0).unwrap_err().to_string();
    let line = |x: &[f64], p: &[f64]| p[0] * x[0];
    assert!(refused(ClosureFit::new(line, &short, &y), &[1.0]).contains("5 rows, y has 60"));
    let columns = [&x[..]];
    let fit = || ClosureFit::new(line, &columns, &y);
    assert!(refused(fit(), &[]).contains("at least one parameter"));
    assert!(refused(fit().bounds(&[2.0], &[3.0]), &[1.0]).contains("outside its bounds"));
    assert!(refused(fit().sigma(&sigma[..3], true), &[1.0]).contains("sigma has 3 rows"));
    let zero = vec![0.0; 60];
    assert!(refused(fit().sigma(&zero, true), &[1.0]).contains("row 1"));
    let log = ClosureFit::new(|x, p| p[0] * x[0].ln(), &columns, &y);
    assert!(refused(log, &[1.0]).contains("row 1"), "ln 0");
}

#[test]
fn a_closure_that_misses_something_is_in_doubt() {
    let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| (2.0 * x).sin()).collect();
    let columns = [&x[..]];
    let line = |x: &[f64], p: &[f64]| p[0] + p[1] * x[0];
    let found = ClosureFit::new(line, &columns, &y)
        .run(&[0.0, 0.0])
        .unwrap();
    assert!(found.converged);
    assert_eq!(
        found.doubts.words().unwrap(),
        "the residuals are patterned and the curve tells little of the response"
    );
    let wave = |x: &[f64], p: &[f64]| p[0] * (p[1] * x[0]).sin();
    let found = ClosureFit::new(wave, &columns, &y)
        .run(&[0.9, 1.9])
        .unwrap();
    assert!(found.converged && found.doubts.is_empty());
}
