//! Laws that hold without a reference: invariances and known answers.

use crate::diagnose::*;
use crate::rng::{Purpose, Rng};

/// Autoregressive chains x_i = rho x_{i−1} + sqrt(1 − rho²) e_i with variance 1.
fn autoregressive(seed: u64, n_chains: u32, n_draws: usize, rho: f64) -> Vec<f64> {
    let chain = |c: u32| {
        let mut rng = Rng::new(seed, 0, c, 0, Purpose::Test);
        let mut x = rng.normal();
        (0..n_draws)
            .map(|_| {
                x = rho * x + (1.0 - rho * rho).sqrt() * rng.normal();
                x
            })
            .collect::<Vec<f64>>()
    };
    (0..n_chains).flat_map(chain).collect()
}

/// ESS/S of an AR(1) chain is (1 − rho)/(1 + rho). Bound: 15 %, about four standard errors of the
/// estimate with 40,000 draws. Catches: a missing factor 2 in the sum over lags.
#[test]
fn ess_of_an_autoregression_is_the_known_one() {
    for rho in [-0.3, 0.0, 0.5, 0.9] {
        let values = autoregressive(5, 4, 10_000, rho);
        let share = ess(Chains::new(&values, 4, 10_000), Ess::Mean) / 40_000.0;
        let known = (1.0 - rho) / (1.0 + rho);
        assert!(
            (share / known - 1.0).abs() < 0.15,
            "rho {rho}: {share} {known}"
        );
    }
}

#[test]
fn bulk_ess_depends_on_ranks_alone() {
    let values = autoregressive(6, 4, 301, 0.6);
    let cubes: Vec<f64> = values.iter().map(|v| (2.0 * v).exp()).collect();
    let (x, y) = (Chains::new(&values, 4, 301), Chains::new(&cubes, 4, 301));
    assert_eq!(ess(x, Ess::Bulk), ess(y, Ess::Bulk));
}

/// Bound: rounding, for sums over chains run in another order.
#[test]
fn the_order_of_chains_does_not_matter() {
    let values = autoregressive(7, 3, 200, 0.5);
    let rows: Vec<&[f64]> = values.chunks_exact(200).collect();
    let swapped = [rows[2], rows[0], rows[1]].concat();
    let (x, y) = (Chains::new(&values, 3, 200), Chains::new(&swapped, 3, 200));
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * a.abs(), "{a} {b}");
    close(rhat(x), rhat(y));
    for kind in [Ess::Bulk, Ess::Mean, Ess::Sd, Ess::Tail(TailEss::Classic)] {
        close(ess(x, kind), ess(y, kind));
    }
    close(mcse(x, Mcse::Sd), mcse(y, Mcse::Sd));
}

#[test]
fn nested_rhat_refuses_superchains_of_different_size() {
    let values = autoregressive(8, 3, 20, 0.0);
    let x = Chains::new(&values, 3, 20);
    let error = rhat_nested(x, &[0, 0, 1]).expect_err("sizes differ");
    assert!(error.to_string().contains("got 2 and 1 chains"), "{error}");
    let error = rhat_nested(x, &[0, 1]).expect_err("too few");
    assert!(
        error
            .to_string()
            .contains("2 superchain numbers for 3 chains"),
        "{error}"
    );
}

/// 256 chains are taken as 16 superchains, 255 are not.
#[test]
fn many_chains_have_a_nested_rhat_of_sixteen_superchains() {
    let of = |n_chains: usize| {
        let values = autoregressive(10, n_chains as u32, 12, 0.6);
        let x = Chains::new(&values, n_chains, 12);
        let superchain: Vec<usize> = (0..n_chains).map(|c| c % 16).collect();
        let all = element_statistics(x, &Scores::of(&x), StatisticsOptions::default());
        (all, rhat_nested(x, &superchain))
    };
    let (found, nested) = of(256);
    assert_eq!(found.r_hat_nested, nested.expect("equal sizes"));
    // Chains of twelve correlated draws are too short for the classic one, and enough of them.
    assert!(found.r_hat > 1.05 && found.r_hat_nested < 1.01, "{found:?}");
    assert_eq!(found.judged_r_hat(), found.r_hat_nested);
    let (few, _) = of(255);
    assert!(few.r_hat_nested.is_nan() && few.judged_r_hat() == few.r_hat);
}

/// Superchains that stayed where they began: nested R-hat sees what many chains do not hide.
#[test]
fn superchains_that_stayed_apart_show() {
    let mut values = autoregressive(11, 256, 40, 0.3);
    for (c, chain) in values.chunks_exact_mut(40).enumerate() {
        let own = if c % 16 == 3 { 3.0 } else { 0.0 };
        chain.iter_mut().for_each(|x| *x += own);
    }
    let x = Chains::new(&values, 256, 40);
    let found = element_statistics(x, &Scores::of(&x), StatisticsOptions::default());
    assert!(found.r_hat_nested > 1.1, "{found:?}");
}

#[test]
fn nothing_and_impossible_probabilities_give_nan() {
    let empty = Chains::new(&[], 0, 0);
    assert!(rhat(empty).is_nan() && ess(empty, Ess::Bulk).is_nan());
    assert!(mean(&[]).is_nan() && quantile(&[], 0.5).is_nan() && hdi(&[], 0.5).0.is_nan());
    assert!(bfmi(empty).is_empty() && autocorrelation(&[], 3).is_empty());
    let values = autoregressive(9, 2, 20, 0.0);
    let x = Chains::new(&values, 2, 20);
    assert!(ess(x, Ess::Quantile(1.5)).is_nan() && ess(x, Ess::Local(-0.1, 0.5)).is_nan());
    assert!(mcse(x, Mcse::Quantile(f64::NAN)).is_nan() && hdi(&values, 2.0).0.is_nan());
}
