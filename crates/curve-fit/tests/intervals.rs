//! Simulated coverage of intervals.
#![allow(clippy::unwrap_used)]

use fitzroy::rng::{Purpose, Rng};
use fitzroy_curve_fit::{CovarianceKind, CurveFit, Data, Loss, Options, Scale, values};

const SIMULATIONS: u32 = 2000;

/// Share of 95 % intervals that hold the truth, for each of a, b, c.
fn coverage(
    seed: u64,
    n: usize,
    options: &Options,
    draw: impl Fn(&mut Rng, f64) -> f64,
) -> [f64; 3] {
    let truth = [2.0, 0.7, 0.4];
    let x: Vec<f64> = (0..n).map(|i| i as f64 * 5.0 / n as f64).collect();
    let fitter = CurveFit::compile("a*exp(-b*x)+c").unwrap();
    let options = Options {
        p0: values([("a", 2.0), ("b", 0.7), ("c", 0.4)]),
        ..options.clone()
    };
    let mut held = [0.0; 3];
    for k in 0..SIMULATIONS {
        let mut rng = Rng::new(seed, 0, 0, k, Purpose::Test);
        let mean = |x: f64| truth[0] * (-truth[1] * x).exp() + truth[2];
        let y: Vec<f64> = x.iter().map(|&x| draw(&mut rng, mean(x))).collect();
        let found = fitter.fit(&Data::new(&y).with("x", &x), &options).unwrap();
        assert!(found.converged(), "{:?}", found.status);
        for (held, (p, truth)) in held.iter_mut().zip(found.parameters.iter().zip(truth)) {
            *held += f64::from(u8::from(p.ci_lower <= truth && truth <= p.ci_upper));
        }
    }
    held.map(|h| h / f64::from(SIMULATIONS))
}

/// Bound: 93 to 97 %, more than 4 standard errors (0.49 %) around 95 %.
fn check_honest(found: [f64; 3]) {
    assert!(found.iter().all(|c| (0.93..=0.97).contains(c)), "{found:?}");
}

#[test]
fn intervals_of_least_squares_hold_the_truth_as_often_as_they_say() {
    let options = Options::default();
    check_honest(coverage(1, 60, &options, |rng, m| m + 0.1 * rng.normal()));
}

fn with_outliers(rng: &mut Rng, m: f64) -> f64 {
    let wild = rng.uniform() < 0.1;
    m + if wild { 1.0 } else { 0.1 } * rng.normal()
}

#[test]
fn intervals_of_a_huber_fit_with_outliers_hold_the_truth_as_often_as_they_say() {
    let options = Options {
        loss: Loss::Huber,
        f_scale: Scale::Fixed(0.1345),
        ..Options::default()
    };
    check_honest(coverage(2, 200, &options, with_outliers));
    // The fault this catches: the classic covariance of a robust fit, scaled by the raw χ².
    let classic = Options {
        covariance: CovarianceKind::Classic,
        ..options
    };
    let wide = coverage(2, 200, &classic, with_outliers);
    assert!(wide.iter().all(|&c| c > 0.98), "{wide:?}");
}

/// The scales are those at which each loss is 95 % efficient for normal errors, times 0.1.
#[test]
fn intervals_of_every_robust_loss_hold_the_truth_as_often_as_they_say() {
    for (seed, loss, scale) in [
        (12, Loss::SoftL1, 0.1345),
        (13, Loss::Cauchy, 0.2385),
        (14, Loss::Arctan, 0.2385),
        (15, Loss::Tukey, 0.4685),
    ] {
        let options = Options {
            loss,
            f_scale: Scale::Fixed(scale),
            ..Options::default()
        };
        let found = coverage(seed, 200, &options, with_outliers);
        let honest = found.iter().all(|c| (0.93..=0.97).contains(c));
        assert!(honest, "{loss:?}: {found:?}");
    }
}

#[test]
fn intervals_of_counts_hold_the_truth_as_often_as_they_say() {
    let options = Options {
        loss: Loss::Poisson,
        ..Options::default()
    };
    // Knuth's method: means here are at most 24.
    let draw = |rng: &mut Rng, m: f64| {
        let (limit, mut product, mut k) = ((-10.0 * m).exp(), rng.uniform(), 0.0);
        while product > limit {
            product *= rng.uniform();
            k += 1.0;
        }
        k
    };
    let truth = [20.0, 0.7, 4.0];
    let n = 100;
    let x: Vec<f64> = (0..n).map(|i| f64::from(i) * 0.05).collect();
    let fitter = CurveFit::compile("a*exp(-b*x)+c").unwrap();
    let options = Options {
        p0: values([("a", 20.0), ("b", 0.7), ("c", 4.0)]),
        ..options
    };
    let mut held = [0.0; 3];
    for k in 0..SIMULATIONS {
        let mut rng = Rng::new(3, 0, 0, k, Purpose::Test);
        let mean = |x: f64| 2.0 * (-0.7 * x).exp() + 0.4;
        let y: Vec<f64> = x.iter().map(|&x| draw(&mut rng, mean(x))).collect();
        let found = fitter.fit(&Data::new(&y).with("x", &x), &options).unwrap();
        assert!(found.converged(), "{:?}", found.status);
        for (held, (p, truth)) in held.iter_mut().zip(found.parameters.iter().zip(truth)) {
            *held += f64::from(u8::from(p.ci_lower <= truth && truth <= p.ci_upper));
        }
    }
    check_honest(held.map(|h| h / f64::from(SIMULATIONS)));
}
