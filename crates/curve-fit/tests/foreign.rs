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
        loss: None,
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

/// A resonance of width 10⁻⁴ to 10⁻⁷ of its place, by differences and by exact slopes.
///
/// Catches: steps that are a fixed part of a parameter, which are longer than the resonance is wide; a step that was
/// chosen at a place where none is good, and is kept.
#[test]
fn differences_suit_functions_that_are_narrow_beside_their_parameters() {
    for (k, narrow) in (0..60).map(|k| (k, [1e-4, 1e-6, 1e-7][k % 3])) {
        let mut rng = Rng::new(k as u64, 1, 0, 0, Purpose::Test);
        let place = 1e3 * (1.0 + rng.uniform());
        let width = narrow * place;
        let x: Vec<f64> = (0..80).map(|i| f64::from(i - 40) * 0.1 * width).collect();
        let shape = |x: f64, theta: &[f64]| {
            let u = (place - theta[0] + x) / theta[1];
            (u, theta[2] / (1.0 + u * u))
        };
        let truth = [place, width, 2.0];
        let noisy = |&x: &f64| shape(x, &truth).1 + 0.02 * (rng.uniform() - 0.5);
        let y: Vec<f64> = x.iter().map(noisy).collect();
        let mut residuals = |theta: &[f64], out: &mut [f64]| {
            for ((r, &x), y) in out.iter_mut().zip(&x).zip(&y) {
                *r = shape(x, theta).1 - y;
            }
            Ok(())
        };
        let mut jacobian = |theta: &[f64], out: &mut [f64]| {
            for (row, &x) in out.chunks_mut(3).zip(&x) {
                let (u, value) = shape(x, theta);
                let by_u = -2.0 * u * value / (1.0 + u * u);
                row.copy_from_slice(&[-by_u / theta[1], -by_u * u / theta[1], value / theta[2]]);
            }
            Ok(())
        };
        let start = [place + 0.5 * width, 1.5 * width, 1.5];
        let mut run = |exact: bool| {
            let foreign = Foreign {
                n: x.len(),
                residuals: &mut residuals,
                jacobian: exact.then_some(&mut jacobian as &mut Fill<'_>),
                loss: None,
            };
            let limits = Limits {
                xtol: 1e-12,
                ftol: 1e-14,
                gtol: 1e-9,
                ..Limits::default()
            };
            let watch = &mut |_: &Progress<'_>| Next::Continue;
            let bounds = Bounds::none(3);
            least_squares(foreign, &start, &bounds, &limits, lm::minimise, watch).expect("no error")
        };
        let (want, got) = (run(true), run(false));
        assert!(got.minimum.status.converged(), "{:?}", got.minimum.status);
        close(
            &[(got.minimum.theta[0] - place) / width],
            &[(want.minimum.theta[0] - place) / width],
            1e-3,
        );
        close(&got.minimum.theta[1..], &want.minimum.theta[1..], 1e-5);
        let (got, want) = (
            got.covariance.expect("rank"),
            want.covariance.expect("rank"),
        );
        for k in [0, 4, 8] {
            assert!(
                (got[k] / want[k] - 1.0).abs() < 1e-3,
                "{narrow}: {} {}",
                got[k],
                want[k]
            );
        }
    }
}

/// Catches: weights of the loss in the sums but not in the cost, or the other way round.
#[test]
fn a_loss_weighs_residuals_as_that_of_a_formula_does() {
    for k in 0..10 {
        let (x, mut y) = problem(k);
        y[7] += 3.0;
        y[31] -= 2.0;
        let options = Options {
            loss: fitzroy_curve_fit::Loss::SoftL1,
            f_scale: fitzroy_curve_fit::Scale::Fixed(0.05),
            ..Options::default()
        };
        let want = by_formula(&x, &y, options);
        let mut residuals = |theta: &[f64], out: &mut [f64]| {
            for ((r, &x), y) in out.iter_mut().zip(&x).zip(&y) {
                *r = decay(x, theta) - y;
            }
            Ok(())
        };
        let mut loss = |r: &[f64], out: &mut [f64]| {
            let (adds, weights) = out.split_at_mut(r.len());
            for ((r, add), weight) in r.iter().zip(adds).zip(weights) {
                let root = (1.0 + (r / 0.05).powi(2)).sqrt();
                (*add, *weight) = (0.05 * 0.05 * 2.0 * (root - 1.0), 1.0 / root);
            }
            Ok(())
        };
        let foreign = Foreign {
            n: x.len(),
            residuals: &mut residuals,
            jacobian: None,
            loss: Some(&mut loss),
        };
        let limits = Limits {
            ftol: 1e-16,
            ..Limits::default()
        };
        let watch = &mut |_: &Progress<'_>| Next::Continue;
        let bounds = Bounds::none(3);
        let start = [1.5, 0.8, 0.0];
        let got = least_squares(foreign, &start, &bounds, &limits, lm::minimise, watch)
            .expect("no callback fails");
        close(&got.minimum.theta, &want.popt, 1e-6);
        close(&[got.minimum.moments.cost], &[want.cost], 1e-9);
    }
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
            loss: None,
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
