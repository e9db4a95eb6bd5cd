//! Parameters: over the coordinates, their density is that of the prior with the volume of the
//! transform, taken here by differences.

use super::{Tested, assert_near};
use crate::dist::*;

/// ln √det(JᵀJ), J the slopes of the elements `free` of the parameter along each coordinate.
fn log_volume(tested: &Tested, name: &str, u: &[f64], free: &[usize]) -> f64 {
    let at = |k: usize, h: f64| {
        let mut moved = u.to_vec();
        moved[k] += h;
        tested.recorded(name, &moved)
    };
    let slope = |k: usize| {
        let (up, down) = (at(k, 1e-5), at(k, -1e-5));
        free.iter()
            .map(|&i| (up[i] - down[i]) / 2e-5)
            .collect::<Vec<f64>>()
    };
    let n = u.len();
    let columns: Vec<Vec<f64>> = (0..n).map(slope).collect();
    let dot = |a: usize, b: usize| columns[a].iter().zip(&columns[b]).map(|(x, y)| x * y).sum();
    let gram: Vec<f64> = (0..n * n).map(|c| dot(c / n, c % n)).collect();
    let factor = cholesky(&gram, n);
    (0..n).map(|i| factor[i * n + i].ln()).sum()
}

/// Checks the density of the one parameter `x` of `text` against `log_prior` of its value.
///
/// Bound: slopes by central differences are good to about 1e-9 of values of order 1.
#[track_caller]
pub(super) fn check_prior(text: &str, free: &[usize], log_prior: impl Fn(&[f64]) -> f64) {
    let tested = Tested::new(text, &[]);
    tested.check_gradient();
    for u in tested.points() {
        let x = tested.recorded("x", &u);
        let expected = log_prior(&x) + log_volume(&tested, "x", &u, free);
        let got = tested.density(&u);
        assert!(
            (got - expected).abs() < 1e-6,
            "{text}: {got}, not {expected} at {x:?}"
        );
    }
}

pub(super) fn each(n: usize) -> Vec<usize> {
    (0..n).collect()
}

#[test]
fn shares_have_the_density_of_dirichlet() {
    for k in [2, 3, 5] {
        let a: Vec<f64> = (0..k).map(|i| 0.7 + i as f64).collect();
        let text = format!("dim k = {k}\nx[k] ~ Dirichlet({a:?})");
        check_prior(&text, &each(k - 1), |x| {
            assert_near(x.iter().sum(), 1.0);
            dirichlet(x, &a)
        });
    }
    let rows = "dim g = 2\ndim k = 3\nx[g, k] ~ Dirichlet([1, 2, 3])";
    check_prior(rows, &[0, 1, 3, 4], |x| {
        x.chunks(3).map(|x| dirichlet(x, &[1.0, 2.0, 3.0])).sum()
    });
}

const CHOL: [f64; 9] = [1.2, 0.0, 0.0, -0.4, 0.8, 0.0, 0.3, 0.5, 2.0];

#[test]
fn normal_vectors_have_their_density_in_both_coordinates() {
    let mean = [1.0, -2.0, 0.5];
    for how in ["", " @ centred", " @ noncentred"] {
        let chol = "[[1.2, 0, 0], [-0.4, 0.8, 0], [0.3, 0.5, 2]]";
        let text = format!("dim k = 3\nx[k] ~ MvNormal([1, -2, 0.5], chol={chol}){how}");
        check_prior(&text, &each(3), |x| mv_normal_cholesky(x, &mean, &CHOL));
        let rows = format!("dim g = 2\ndim k = 3\nx[g, k] ~ MvNormal(0, chol={chol}){how}");
        let of_row = |x: &[f64]| mv_normal_cholesky(x, &[0.0; 3], &CHOL);
        check_prior(&rows, &each(6), |x| x.chunks(3).map(of_row).sum());
    }
    let cov = [2.0, 0.6, 0.6, 1.0];
    let text = "dim k = 2\nx[k] ~ MvNormal(0, [[2, 0.6], [0.6, 1]])";
    check_prior(text, &each(2), |x| mv_normal(x, &[0.0; 2], &cov));
    let three = "dim a = 2\ndim g = 2\ndim k = 2\nx[a, g, k] ~ MvNormal(0, [[2, 0.6], [0.6, 1]])";
    for how in ["", " @ centred"] {
        check_prior(&format!("{three}{how}"), &each(8), |x| {
            x.chunks(2).map(|x| mv_normal(x, &[0.0; 2], &cov)).sum()
        });
    }
}

#[test]
fn zero_sums_have_their_density_in_both_coordinates() {
    for how in ["", " @ centred"] {
        let text = format!("dim k = 4\nx[k] ~ ZeroSumNormal(1.5){how}");
        check_prior(&text, &each(4), |x| {
            assert!(x.iter().sum::<f64>().abs() < 1e-12);
            zero_sum_normal(x, 1.5)
        });
    }
}

fn lower(k: usize, diagonal: bool) -> Vec<usize> {
    let inside = |c: &usize| c % k < c / k || (diagonal && c % k == c / k);
    (0..k * k).filter(inside).collect()
}

#[test]
fn correlation_matrices_have_the_density_of_lkj() {
    for (k, eta) in [(2, 0.7), (3, 2.0), (4, 1.0)] {
        let text = format!("dim k = {k}\nx[k, k] ~ LKJCorr({eta})");
        check_prior(&text, &lower(k, false), |x| lkj_correlation(x, k, eta));
    }
}

#[test]
fn covariance_factors_have_the_density_of_lkj_and_their_deviations() {
    for k in [1, 2, 3, 4] {
        let text = format!("dim k = {k}\nx[k, k] ~ LKJCholeskyCov(1.5, Gamma(2, 1.5))");
        let of_sd = |sd: f64| Gamma::log_density(sd, [2.0, 1.5]);
        check_prior(&text, &lower(k, true), |x| {
            lkj_cholesky_covariance(x, k, 1.5, of_sd)
        });
    }
}

#[test]
fn correlations_and_deviations_are_recorded_beside_a_covariance_factor() {
    let tested = Tested::new("dim k = 3\nx[k, k] ~ LKJCholeskyCov(2, HalfNormal(1))", &[]);
    let u = &tested.points()[0];
    let (l, corr, sd) = (
        tested.recorded("x", u),
        tested.recorded("x_corr", u),
        tested.recorded("x_stds", u),
    );
    for c in 0..9 {
        let (i, j) = (c / 3, c % 3);
        let cov: f64 = (0..3).map(|m| l[i * 3 + m] * l[j * 3 + m]).sum();
        assert_near(cov, corr[c] * sd[i] * sd[j]);
    }
    let dims: Vec<&[String]> = tested.graphs.recorded.iter().map(|r| &r.dims[..]).collect();
    assert_eq!(dims, [&["k", "k'"][..], &["k", "k'"], &["k"]]);
}

#[test]
fn walks_have_their_density_in_both_coordinates() {
    let of = |x: &[f64]| Normal::log_density(x[0], [1.0, 2.0]) + random_walk_steps(x, 0.3, 0.5);
    for how in ["", " @ centred"] {
        let law = format!("GaussianRandomWalk(0.3, 0.5, init_dist=Normal(1, 2)){how}");
        check_prior(&format!("dim t = 4\nx[t] ~ {law}"), &each(4), of);
        let rows = format!("dim g = 2\ndim t = 3\nx[g, t] ~ {law}");
        check_prior(&rows, &each(6), |x| x.chunks(3).map(of).sum());
    }
    let positive = "dim t = 3\nx[t] ~ GaussianRandomWalk(sigma=[0.5, 2], init_dist=Gamma(2, 1))";
    check_prior(positive, &each(3), |x| {
        Gamma::log_density(x[0], [2.0, 1.0])
            + Normal::log_density(x[1] - x[0], [0.0, 0.5])
            + Normal::log_density(x[2] - x[1], [0.0, 2.0])
    });
    let default = "dim t = 2\nx[t] ~ GaussianRandomWalk()";
    check_prior(default, &each(2), |x| {
        Normal::log_density(x[0], [0.0, 100.0]) + random_walk_steps(x, 0.0, 1.0)
    });
}

#[test]
fn autoregressions_have_their_density() {
    let text = "dim t = 5\nx[t] ~ AR([0.5, -0.2], 0.7, init_dist=Normal(0, 2))";
    check_prior(text, &each(5), |x| {
        let start = x[..2].iter().map(|&x| Normal::log_density(x, [0.0, 2.0]));
        start.sum::<f64>() + autoregressive_steps(x, 0.0, &[0.5, -0.2], 0.7)
    });
    let one = "dim t = 3\nx[t] ~ AR(0.9, 2)";
    check_prior(one, &each(3), |x| {
        Normal::log_density(x[0], [0.0, 100.0]) + autoregressive_steps(x, 0.0, &[0.9], 2.0)
    });
}

#[test]
fn mixtures_have_their_density_over_the_union_of_supports() {
    let parts = |x: f64| {
        let (a, b) = (
            Normal::log_density(x, [-1.0, 0.5]),
            Laplace::log_density(x, [1.0, 2.0]),
        );
        mixture(&[0.3, 0.7], &[a, b])
    };
    let text = "dim k = 2\nx[k] ~ Mixture([0.3, 0.7], Normal(-1, 0.5), Laplace(1, 2))";
    check_prior(text, &each(2), |x| x.iter().map(|&x| parts(x)).sum());
    let three = "x ~ Mixture([0.2, 0.3, 0.5], Gamma(2, 1), Exponential(3), Uniform(0, 2))";
    check_prior(three, &each(1), |x| {
        let uniform = Uniform::log_density(x[0], [0.0, 2.0]);
        let parts = [
            Gamma::log_density(x[0], [2.0, 1.0]),
            Exponential::log_density(x[0], [3.0]),
            uniform,
        ];
        mixture(&[0.2, 0.3, 0.5], &parts)
    });
    let cut = "x ~ Mixture([0.5, 0.5], Normal(-1, 1), Normal(2, 1)) truncated(0, inf)";
    check_prior(cut, &each(1), |x| {
        let half = 0.5f64.ln();
        let mass = |mu: f64| half + Normal::log_ccdf(0.0, [mu, 1.0]).expect("closed");
        let part = |mu: f64| half + Normal::log_density(x[0], [mu, 1.0]);
        part(-1.0).log_add_exp(part(2.0)) - mass(-1.0).log_add_exp(mass(2.0))
    });
}

#[test]
fn ordered_parameters_increase_and_have_the_density_of_each_element() {
    let text = "dim g = 2\ndim k = 3\nx[g, k] ~ Normal([-1, 0, 1], 2) ordered";
    check_prior(text, &each(6), |x| {
        assert!(x.chunks(3).all(|row| row[0] < row[1] && row[1] < row[2]));
        let place = |i: usize| Normal::log_density(x[i], [i as f64 % 3.0 - 1.0, 2.0]);
        (0..6).map(place).sum()
    });
    check_prior("dim k = 3\nx[k] ~ Gamma(2, 1) ordered", &each(3), |x| {
        assert!(0.0 < x[0] && x[0] < x[1] && x[1] < x[2]);
        x.iter().map(|&x| Gamma::log_density(x, [2.0, 1.0])).sum()
    });
}

#[test]
fn ordered_parameters_stay_within_their_limits() {
    let check = |law: &str, [low, high]: [f64; 2], log_density: &dyn Fn(f64) -> f64| {
        for k in [1, 2, 4] {
            let text = format!("dim k = {k}\nx[k] ~ {law} ordered");
            check_prior(&text, &each(k), |x| {
                assert!(low < x[0] && x[k - 1] < high && x.is_sorted());
                x.iter().map(|&x| log_density(x)).sum()
            });
        }
    };
    let normal = |x: f64| Normal::log_density(x, [0.5, 2.0]);
    let infinite = f64::INFINITY;
    let mass = |low: f64, high: f64| {
        let share = |x: f64| Normal::cdf(x, [0.5, 2.0]).expect("closed");
        (share(high) - share(low)).ln()
    };
    check(
        "Normal(0.5, 2) bounded(lower=-1)",
        [-1.0, infinite],
        &normal,
    );
    check("Normal(0.5, 2) bounded(upper=3)", [-infinite, 3.0], &normal);
    check("Normal(0.5, 2) truncated(-1, 3)", [-1.0, 3.0], &|x| {
        normal(x) - mass(-1.0, 3.0)
    });
    check("Uniform(0, 2)", [0.0, 2.0], &|_| -2f64.ln());
    check("Gamma(2, 1) bounded(upper=5)", [0.0, 5.0], &|x| {
        Gamma::log_density(x, [2.0, 1.0])
    });
    let rows = "dim g = 2\ndim k = 3\nx[g, k] ~ Normal(0.5, 2) bounded([-1, 0], 3) ordered";
    check_prior(rows, &each(6), |x| {
        assert!(x[0] > -1.0 && x[3] > 0.0 && x[2] < 3.0 && x[5] < 3.0);
        x.iter().map(|&x| normal(x)).sum()
    });
    let message = super::error(
        "dim k = 2\nx[k] ~ Normal(0, 1) bounded([0, 1], 3) ordered",
        &[],
    );
    assert!(
        message.contains("their ends must be the same for all of them"),
        "{message}"
    );
}

#[test]
fn precision_is_another_way_to_give_a_scale() {
    let text = "dim k = 2\nx[k] ~ Normal(1, tau=4) @ noncentred";
    check_prior(text, &each(2), |x| {
        x.iter().map(|&x| Normal::log_density(x, [1.0, 0.5])).sum()
    });
    check_prior("x ~ StudentT(4, 1, lam=0.25)", &each(1), |x| {
        StudentT::log_density(x[0], [4.0, 1.0, 2.0])
    });
}

#[test]
fn names_with_an_underscore_are_parameters_that_are_not_recorded() {
    let text = "_s ~ Normal(0, 2)\nmu ~ Normal(0, 1)\n_twice = 2 * _s\ntau = abs(_s)\n";
    let tested = Tested::new(text, &[]);
    let names: Vec<&str> = tested.graphs.recorded.iter().map(|r| &*r.name).collect();
    assert_eq!(names, ["mu", "tau"]);
    assert_eq!(tested.recorded("tau", &[-0.5, 0.1]), [0.5]);
    tested.check_gradient();
}
