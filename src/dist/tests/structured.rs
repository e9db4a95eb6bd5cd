//! Distributions of vectors and matrices against golden values.

use crate::dist::*;
use crate::rng::{Purpose, Rng};

/// The log density of distribution `name` at the inputs of a golden row.
fn evaluate(name: &str, x: &[Vec<f64>]) -> f64 {
    let category = || x[0][0] as usize;
    let ends = |i: usize| (Some(x[i][0]), Some(x[i][1]));
    let known = "a closed distribution function";
    match name {
        "categorical" => categorical(category(), &x[1]),
        "categorical_logit" => categorical_logit(category(), &x[1]),
        "ordered_logistic" => ordered_logistic(category(), x[1][0], &x[2]),
        "ordered_probit" => ordered_probit(category(), x[1][0], &x[2], x[3][0]),
        "dirichlet_multinomial" => dirichlet_multinomial(&x[0], &x[1]),
        "stick_breaking_weights" => stick_breaking_weights(&x[0], x[1][0]),
        "mv_student" => mv_student(&x[0], x[1][0], &x[2], &x[3]),
        "mv_student_cholesky" => mv_student_cholesky(&x[0], x[1][0], &x[2], &x[3]),
        "dirichlet" => dirichlet(&x[0], &x[1]),
        "multinomial" => multinomial(&x[0], &x[1]),
        "mv_normal" => mv_normal(&x[0], &x[1], &x[2]),
        "mv_normal_cholesky" => mv_normal_cholesky(&x[0], &x[1], &x[2]),
        "zero_sum_normal" => zero_sum_normal(&x[0], x[1][0]),
        "lkj_correlation" => lkj_correlation(&x[0], size(&x[0]), x[1][0]),
        "lkj_cholesky_covariance" => {
            let of_sd = |sd: f64| Gamma::log_density(sd, [2.0, 1.5]);
            lkj_cholesky_covariance(&x[0], size(&x[0]), x[1][0], of_sd)
        }
        "random_walk" => {
            Normal::log_density(x[0][0], [0.0, 2.0]) + random_walk_steps(&x[0], x[1][0], x[2][0])
        }
        "autoregressive" => {
            let start = x[0][..2]
                .iter()
                .map(|&y| Normal::log_density(y, [0.0, 2.0]));
            start.sum::<f64>() + autoregressive_steps(&x[0], x[1][0], &x[2], x[3][0])
        }
        "censored" | "censored_geometric" => {
            let form = if name == "censored" {
                Scalar::Normal
            } else {
                Scalar::Geometric
            };
            let (lower, upper) = ends(2);
            form.censored_log_density(x[0][0], &x[1], lower, upper)
                .expect(known)
        }
        "truncated" | "truncated_geometric" => {
            let form = if name == "truncated" {
                Scalar::Logistic
            } else {
                Scalar::Geometric
            };
            let (lower, upper) = ends(2);
            form.log_density(x[0][0], &x[1]) - form.log_mass(lower, upper, &x[1]).expect(known)
        }
        "mixture" => {
            let y = x[0][0];
            let parts = [
                Normal::log_density(y, [-1.1, 0.6]),
                Laplace::log_density(y, [1.2, 2.1]),
            ];
            mixture(&x[1], &parts)
        }
        _ => panic!("no distribution {name}"),
    }
}

fn size(matrix: &[f64]) -> usize {
    (matrix.len() as f64).sqrt() as usize
}

/// Bound: 1e-11 of the value or absolutely below 1. PyMC and SciPy factor matrices too; their
/// rounding and ours grow with the condition number, up to about 1e3 here.
#[test]
fn structured_log_densities_agree_with_scipy_and_pymc() {
    let table = include_str!("../../../tests/golden/dist/structured.csv");
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('|').collect();
        let numbers = |cell: &&str| -> Vec<f64> {
            cell.split_whitespace()
                .map(|v| v.parse().expect("a number"))
                .collect()
        };
        let inputs: Vec<Vec<f64>> = cells[1..cells.len() - 1].iter().map(numbers).collect();
        let expected = numbers(&cells[cells.len() - 1])[0];
        let got = evaluate(cells[0], &inputs);
        let bound = 1e-11 * expected.abs().max(1.0);
        assert!((got - expected).abs() <= bound, "{line}\ngives {got}");
    }
}

const N: usize = 20_000;

/// Means of the rows of `N` draws, each checked against (mean, standard deviation) of a draw.
///
/// Bound: five standard errors of N independent draws; about 1 in 2 million fails by chance.
#[track_caller]
fn check_means(mut draw: impl FnMut(&mut Rng) -> Vec<f64>, expected: &[(f64, f64)]) {
    let mut rng = Rng::new(5, 0, 0, 0, Purpose::Test);
    let mut sums = vec![0.0; expected.len()];
    for _ in 0..N {
        let row = draw(&mut rng);
        assert_eq!(row.len(), expected.len());
        sums.iter_mut()
            .zip(&row)
            .for_each(|(s, v)| *s += v / N as f64);
    }
    for (i, (mean, (exact, sd))) in sums.iter().zip(expected).enumerate() {
        let bound = 5.0 * sd / (N as f64).sqrt();
        assert!(
            (mean - exact).abs() <= bound,
            "element {i}: {mean}, not {exact} ± {bound}"
        );
    }
}

#[test]
fn draws_of_categories_have_their_shares() {
    let shares = [(0.2, 0.4), (0.5, 0.5), (0.3, 0.46)];
    let hot = |k: usize| (0..3).map(|i| f64::from(i == k)).collect::<Vec<f64>>();
    check_means(
        |r| hot(draw_categorical(r, &[2.0, 5.0, 3.0]).expect("weights")),
        &shares,
    );
    let exact = |k: usize| ordered_logistic(k, 0.4, &[-1.0, 1.0]).exp();
    let expected: Vec<_> = (0..3).map(|k| (exact(k), 0.5)).collect();
    check_means(
        |r| hot(draw_ordered_logistic(r, 0.4, &[-1.0, 1.0])),
        &expected,
    );
    let exact = |k: usize| ordered_probit(k, 0.4, &[-1.0, 1.0], 1.7).exp();
    let expected: Vec<_> = (0..3).map(|k| (exact(k), 0.5)).collect();
    check_means(
        |r| hot(draw_ordered_probit(r, 0.4, &[-1.0, 1.0], 1.7)),
        &expected,
    );
    let mut rng = Rng::new(1, 0, 0, 0, Purpose::Test);
    assert_eq!(draw_categorical(&mut rng, &[0.0, 0.0]), None);
    assert_eq!(draw_categorical(&mut rng, &[0.0, 1.0]), Some(1));
}

#[test]
fn draws_of_shares_and_counts_have_their_means() {
    let dirichlet_mean = [(0.1, 0.2), (0.9, 0.2)];
    check_means(
        |r| draw_dirichlet(r, &[0.02, 0.18]),
        &[(0.1, 0.3), (0.9, 0.3)],
    );
    check_means(|r| draw_dirichlet(r, &[1.0, 9.0]), &dirichlet_mean);
    let expected = [(4.0, 1.8), (10.0, 2.3), (6.0, 2.1), (0.0, 0.0)];
    check_means(
        |r| draw_multinomial(r, 20.0, &[0.2, 0.5, 0.3, 0.0]),
        &expected,
    );
}

/// Counts of mean n a/A and variance n p(1 − p)(n + A)/(1 + A), with p = a/A; weights of mean
/// (alpha/(1 + alpha))^i/(1 + alpha), the last what is left.
#[test]
fn draws_of_mixed_counts_and_broken_sticks_have_their_means() {
    let a = [1.0, 2.0, 5.0];
    let variance = |p: f64| 20.0 * p * (1.0 - p) * 28.0 / 9.0;
    let row = |v: Vec<f64>| vec![v[0], v[1], v[2], (v[1] - 5.0).powi(2)];
    check_means(
        |r| row(draw_dirichlet_multinomial(r, 20.0, &a)),
        &[
            (2.5, variance(0.125).sqrt()),
            (5.0, variance(0.25).sqrt()),
            (12.5, variance(0.625).sqrt()),
            (variance(0.25), 17.0),
        ],
    );
    check_means(
        |r| draw_stick_breaking_weights(r, 3, 2.0),
        &[(1.0 / 3.0, 0.24), (2.0 / 9.0, 0.2), (4.0 / 9.0, 0.24)],
    );
}

/// Second moments too, as products of elements.
#[test]
fn draws_of_normal_vectors_have_their_covariance() {
    let chol = [1.0, 0.0, 0.6, 0.8];
    let with_product = |v: Vec<f64>| vec![v[0], v[1], (v[0] - 3.0) * (v[1] + 1.0)];
    check_means(
        |r| with_product(draw_mv_normal_cholesky(r, &[3.0, -1.0], &chol)),
        &[(3.0, 1.0), (-1.0, 1.0), (0.6, 1.2)],
    );
    // Covariance: scale · nu/(nu − 2), and for the fourth moment nu > 4.
    check_means(
        |r| with_product(draw_mv_student_cholesky(r, 12.0, &[3.0, -1.0], &chol)),
        &[(3.0, 1.1), (-1.0, 1.1), (0.72, 1.7)],
    );
    check_means(
        |r| {
            let v = draw_zero_sum_normal(r, 4, 2.0);
            assert!(v.iter().sum::<f64>().abs() < 1e-14);
            vec![v[0], v[1] * v[1], v[2] * v[3]]
        },
        &[(0.0, 1.8), (3.0, 4.3), (-1.0, 3.2)],
    );
    // Var of the third element of y[t] = 1 + 0.5 y[t−1] + e from 2: 1 + 1/4.
    check_means(
        |r| {
            let y = draw_autoregressive(r, &[2.0], 3, 1.0, &[0.5], 1.0);
            vec![y[1], y[2], (y[2] - 2.0).powi(2)]
        },
        &[(2.0, 1.0), (2.0, 1.2), (1.25, 1.8)],
    );
}

/// Each correlation r of LKJ(eta) at size k has (r + 1)/2 from Beta(eta − 1 + k/2, same), so
/// E r² = 1/(2 eta + k − 1). Catches: a row's Beta with the wrong row in it.
#[test]
fn draws_of_correlations_have_their_variance() {
    for eta in [0.7, 3.0] {
        let k = 4;
        let squares = |f: Vec<f64>| {
            let dot = |a: usize, b: usize| (0..k).map(|c| f[a * k + c] * f[b * k + c]).sum::<f64>();
            let pairs = [(1, 0), (2, 1), (3, 0), (3, 2)];
            pairs
                .iter()
                .map(|&(a, b)| dot(a, b).powi(2))
                .collect::<Vec<f64>>()
        };
        let exact = 1.0 / (2.0 * eta + k as f64 - 1.0);
        check_means(
            |r| squares(draw_lkj_cholesky(r, k, eta)),
            &[(exact, 0.3); 4],
        );
    }
}

/// A share far out, where rejection cannot reach, is drawn by inversion.
#[test]
fn truncated_draws_lie_between_the_bounds_with_their_mean() {
    let far = |r: &mut Rng| vec![Scalar::Gamma.sample_truncated(r, &[2.0, 1.0], 0.0, 1e-3)];
    // Density ∝ y on so short a stretch: mean 2/3 of it.
    check_means(far, &[(2e-3 / 3.0, 2.4e-4)]);
    let tail = |r: &mut Rng| vec![Scalar::Poisson.sample_truncated(r, &[3.0], 12.0, 13.0)];
    // P(12) : P(13) = 13 : 3.
    check_means(tail, &[(12.0 + 3.0 / 16.0, 0.4)]);
    let near = |r: &mut Rng| vec![Scalar::Normal.sample_truncated(r, &[0.0, 1.0], -1.0, 1.0)];
    check_means(near, &[(0.0, 0.54)]);
    let left = |r: &mut Rng| vec![Scalar::Normal.sample_truncated(r, &[0.0, 1.0], -12.0, -8.0)];
    check_means(left, &[(-8.121318, 0.12)]);
    let mut rng = Rng::new(3, 0, 0, 0, Purpose::Test);
    assert!(
        Scalar::Gamma
            .sample_truncated(&mut rng, &[2.0, 1.0], -3.0, -1.0)
            .is_nan()
    );
}

#[test]
fn the_table_has_every_distribution_once() {
    let entries = entries();
    let mut names: Vec<&str> = entries.iter().map(|e| e.name).collect();
    assert_eq!(names.len(), 68);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 68, "a name stands apart from its other forms");
    let beta = entry("Beta").expect("it is in the table");
    assert_eq!(beta.forms.len(), 4);
    assert!(entry("Norml").is_none());
}
