//! Residuals from outside: the same fits as by formula, on the same terms.

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::fit::{CovarianceStatus, pointwise};
use fitzroy_curve_fit::method::foreign::{Fill, Foreign, Solved, least_squares};
use fitzroy_curve_fit::method::{Bounds, Limits, Next, Progress, Status, lm, trf};
use fitzroy_curve_fit::{CovarianceKind, CurveFit, Data, Options, values};

fn decay(x: f64, theta: &[f64]) -> f64 {
    theta[0] * (-theta[1] * x).exp() + theta[2]
}

/// A decay with noise; problem `k` of a random series.
fn problem(k: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = Rng::new(k, 0, 0, 0, Purpose::Test);
    let x: Vec<f64> = (0..60).map(|i| f64::from(i) * 0.07).collect();
    let theta = [
        1.0 + 2.0 * rng.uniform(),
        0.5 + rng.uniform(),
        rng.uniform(),
    ];
    let y = x
        .iter()
        .map(|&x| decay(x, &theta) + 0.05 * (rng.uniform() - 0.5));
    let y = y.collect();
    (x, y)
}

fn solve(x: &[f64], y: &[f64], exact: bool, bounds: &Bounds, by_trf: bool) -> Solved {
    let mut residuals = |theta: &[f64], out: &mut [f64]| {
        for ((r, &x), y) in out.iter_mut().zip(x).zip(y) {
            *r = decay(x, theta) - y;
        }
        Ok(())
    };
    let mut jacobian = |theta: &[f64], out: &mut [f64]| {
        for (row, &x) in out.chunks_mut(3).zip(x) {
            let e = (-theta[1] * x).exp();
            row.copy_from_slice(&[e, -theta[0] * x * e, 1.0]);
        }
        Ok(())
    };
    let foreign = Foreign {
        n: x.len(),
        residuals: &mut residuals,
        jacobian: exact.then_some(&mut jacobian as &mut Fill<'_>),
    };
    let method = if by_trf { trf::minimise } else { lm::minimise };
    let watch = &mut |_: &Progress<'_>| Next::Continue;
    let limits = Limits {
        xtol: 1e-9,
        ftol: 1e-14,
        gtol: 1e-9,
        ..Limits::default()
    };
    least_squares(foreign, &[1.5, 0.8, 0.0], bounds, &limits, method, watch)
        .expect("no callback fails")
}

fn by_formula(x: &[f64], y: &[f64], options: Options) -> fitzroy_curve_fit::Estimate {
    let options = Options {
        p0: values([("a", 1.5), ("b", 0.8), ("c", 0.0)]),
        absolute_sigma: true,
        finish: fitzroy_curve_fit::Finish::Exact,
        ..options
    };
    let fitter = CurveFit::compile("a*exp(-b*x)+c").expect("a formula");
    let data = Data::new(y)
        .with("x", x)
        .with_sigma(fitzroy_curve_fit::Sigma::Same(1.0));
    fitter.fit(&data, &options).expect("good data")
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    for (a, b) in a.iter().zip(b) {
        assert!(
            (a - b).abs() <= tolerance * b.abs().max(1e-3),
            "{a} and {b}"
        );
    }
}

/// Catches: differences of one side only, whose errors are 10⁴ times as large; a covariance of
/// another scale.
#[test]
fn residuals_from_outside_end_where_their_formula_does() {
    for k in 0..20 {
        let (x, y) = problem(k);
        let want = by_formula(&x, &y, Options::default());
        for exact in [true, false] {
            for by_trf in [true, false] {
                let got = solve(&x, &y, exact, &Bounds::none(3), by_trf);
                assert!(got.minimum.status.converged(), "{:?}", got.minimum.status);
                close(&got.minimum.theta, &want.popt, 1e-7);
                close(&got.covariance.expect("full rank"), &want.pcov, 1e-5);
            }
        }
    }
}

/// Catches: steps of differences that leave the bounds; the covariance of the free parameters only.
#[test]
fn at_a_bound_the_covariance_is_that_without_bounds() {
    let (x, y) = problem(3);
    let free = by_formula(&x, &y, Options::default());
    let upper = free.popt[2] - 0.05;
    let bounds = Bounds {
        lower: vec![f64::NEG_INFINITY; 3],
        upper: vec![f64::INFINITY, f64::INFINITY, upper],
    };
    let got = solve(&x, &y, false, &bounds, false);
    let options = Options {
        bounds: vec![("c".into(), f64::NEG_INFINITY, upper)],
        covariance: CovarianceKind::Boundless,
        ..Options::default()
    };
    let want = by_formula(&x, &y, options.clone());
    assert_eq!(want.covariance_status, CovarianceStatus::Ok);
    assert_eq!(want.covariance_kind, "boundless");
    assert_eq!(got.minimum.theta[2], upper);
    close(&got.minimum.theta, &want.popt, 1e-6);
    close(&got.covariance.expect("full rank"), &want.pcov, 1e-4);
    let usual = Options {
        covariance: CovarianceKind::Auto,
        ..options
    };
    assert!(by_formula(&x, &y, usual).pcov[8].is_nan());
}

#[test]
fn values_and_partial_derivatives_are_those_of_the_curve() {
    let fitter = CurveFit::compile("a*exp(-b*x)+c").expect("a formula");
    let x = [0.1, 0.5, 2.0];
    let data = Data::new(&[][..]).with("x", &x[..]);
    let plan = fitter.plan(&data, &Options::default()).expect("a plan");
    let theta = [2.0, 0.7, 0.1];
    let (value, partials) = pointwise(&plan, &theta, &[&x]).expect("columns in memory");
    for (i, &x) in x.iter().enumerate() {
        let e = (-0.7 * x).exp();
        close(&[value[i]], &[decay(x, &theta)], 1e-15);
        close(&partials[3 * i..3 * i + 3], &[e, -2.0 * x * e, 1.0], 1e-14);
    }
}

#[test]
fn what_a_callback_raises_is_handed_up_and_no_value_is_a_status() {
    let mut nothing = |_: &[f64], out: &mut [f64]| {
        out.fill(f64::NAN);
        Ok(())
    };
    let mut raises = |_: &[f64], _: &mut [f64]| {
        Err(fitzroy::Error::new(
            fitzroy::ErrorKind::Data,
            "no such file",
        ))
    };
    let run = |residuals: &mut Fill<'_>| {
        let foreign = Foreign {
            n: 4,
            residuals,
            jacobian: None,
        };
        let watch = &mut |_: &Progress<'_>| Next::Continue;
        let bounds = Bounds::none(1);
        least_squares(
            foreign,
            &[1.0],
            &bounds,
            &Limits::default(),
            lm::minimise,
            watch,
        )
    };
    let solved = run(&mut nothing).expect("NaN is no error");
    assert_eq!(solved.minimum.status, Status::NonFinite);
    assert!(solved.covariance.is_none());
    assert!(run(&mut raises).is_err());
}
