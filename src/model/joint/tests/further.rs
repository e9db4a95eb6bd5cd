//! Distributions with zeros apart, of categories between normal cutpoints, of counts and vectors that
//! spread more than others: observed, as parameters, and what is refused.

use super::observed::check;
use super::priors::{check_prior, each};
use super::{Reals, error, joint};
use crate::dist::*;

const Y: [f64; 6] = [0.0, 2.0, 1.0, 1.0, 2.0, 2.0];
const X: [f64; 6] = [0.3, -1.0, 2.0, 0.5, 0.0, -0.7];
const GROUP: [f64; 6] = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0];

#[test]
fn categories_between_normal_cutpoints_by_row_by_group_and_alone() {
    let head = "data y[obs] : int, x[obs], group[obs] in groups\ndim cuts = 2\ndim groups = 2\n\
                b ~ Normal(0, 1)\ns ~ HalfNormal(1)\n";
    let data: &Reals<'_> = &[("y", &[6], &Y), ("x", &[6], &X), ("group", &[6], &GROUP)];
    let shared = "c[cuts] ~ Normal(0, 3) ordered\ny[obs] ~ OrderedProbit(b * x, c, s)";
    check(&format!("{head}{shared}"), data, |read| {
        let (b, s) = (read("b")[0], read("s")[0]);
        let row = |i: usize| ordered_probit(Y[i] as usize, b * X[i], &read("c"), s);
        (0..6).map(row).collect()
    });
    let grouped = "c[groups, cuts] ~ Normal(0, 3) ordered\n\
                   y[obs] ~ OrderedProbit(b, c[group], sigma=exp(s * x))";
    check(&format!("{head}{grouped}"), data, |read| {
        let cuts = |i: usize| read("c")[2 * GROUP[i] as usize..][..2].to_vec();
        let s = read("s")[0];
        let row = |i: usize| {
            let sigma = (s * X[i]).exp();
            ordered_probit(Y[i] as usize, read("b")[0], &cuts(i), sigma)
        };
        (0..6).map(row).collect()
    });
    let one = "dim single = 1\nc[single] ~ Normal(0, 3) ordered\ny[:3] ~ OrderedProbit(b, c)\n\
               target += -s";
    let binary: &Reals<'_> = &[
        ("y", &[6], &[0.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
        data[1],
        data[2],
    ];
    check(&format!("{head}{one}"), binary, |read| {
        let row = |y: usize| ordered_probit(y, read("b")[0], &read("c"), 1.0);
        vec![row(0), row(1), row(1)]
    });
}

/// Categories far out, where nearly all of the mass lies beyond: catches 1 − 1 in place of a share.
#[test]
fn categories_far_from_the_cutpoints_keep_value_and_slope() {
    let text = "data y[obs] : int, far[obs]\nb ~ Normal(0, 1)\n\
                y[obs] ~ OrderedProbit(b + far, [-1, 0, 1.5], 0.5)";
    let (y, far) = ([0.0, 1.0, 2.0, 3.0, 1.0], [9.0, 12.0, -9.0, -15.0, -20.0]);
    check(text, &[("y", &[5], &y), ("far", &[5], &far)], |read| {
        let b = read("b")[0];
        let row =
            |(y, far): (&f64, &f64)| ordered_probit(*y as usize, b + far, &[-1.0, 0.0, 1.5], 0.5);
        y.iter().zip(&far).map(row).collect()
    });
}

#[test]
fn counts_of_a_mixture_of_probabilities_share_or_have_their_own_concentrations() {
    let n = [3.0, 0.0, 2.0, 1.0, 4.0, 5.0];
    let data: &Reals<'_> = &[("y", &[2, 3], &n), ("total", &[2], &[5.0, 10.0])];
    let head = "data y[obs, k], total[obs]\n";
    let shared = format!("{head}a[k] ~ Gamma(2, 1)\ny ~ DirichletMultinomial(total, a)");
    check(&shared, data, |read| {
        let of = |y: &[f64]| dirichlet_multinomial(y, &read("a"));
        n.chunks(3).map(of).collect()
    });
    let own = format!(
        "{head}a[obs, k] ~ Gamma(2, 1)\ny[obs, k] ~ DirichletMultinomial(sum(y, axis=k), a)"
    );
    check(&own, data, |read| {
        let a = read("a");
        let rows = n.chunks(3).zip(a.chunks(3));
        rows.map(|(y, a)| dirichlet_multinomial(y, a)).collect()
    });
    let alone = "data y[k]\na ~ Gamma(2, 1)\ny ~ DirichletMultinomial(5, a)";
    check(alone, &[("y", &[3], &n[..3])], |read| {
        vec![dirichlet_multinomial(&n[..3], &[read("a")[0]; 3])]
    });
}

#[test]
fn vectors_with_heavy_tails_share_or_have_their_own_locations() {
    let y = [1.0, 0.5, -0.3, 2.0, 0.1, 1.5, -1.0, 0.4, 0.6, 0.7];
    let data: &Reals<'_> = &[("y", &[5, 2], &y), ("x", &[5], &X[..5])];
    let head = "data y[obs, k], x[obs]\nL[k, k] ~ LKJCholeskyCov(2, HalfNormal(1))\n\
                nu ~ Gamma(2, 0.5)\nmu[k] ~ Normal(0, 1)\n";
    let shared = format!("{head}y ~ MvStudentT(nu=nu, mu=mu, chol=L)");
    check(&shared, data, |read| {
        let of = |y: &[f64]| mv_student_cholesky(y, read("nu")[0], &read("mu"), &read("L"));
        y.chunks(2).map(of).collect()
    });
    let own = format!(
        "{head}let wide[obs, k] = x\nm[obs, k] = mu * wide\nfree[obs] = nu * exp(x)\n\
         C[k, k] = L @ transpose(L)\ny ~ MvStudentT(free, m, C)"
    );
    check(&own, data, |read| {
        let (nu, m) = (read("free"), read("m"));
        let of = |i: usize| mv_student(&y[2 * i..][..2], nu[i], &m[2 * i..][..2], &read("C"));
        (0..5).map(of).collect()
    });
    let chol = "[[1.2, 0, 0], [-0.4, 0.8, 0], [0.3, 0.5, 2]]";
    let factor = [1.2, 0.0, 0.0, -0.4, 0.8, 0.0, 0.3, 0.5, 2.0];
    for how in ["", " @ centred", " @ noncentred"] {
        let text = format!(
            "dim g = 2\ndim k = 3\nx[g, k] ~ MvStudentT(nu=[2.5, 7], mu=[1, -2, 0.5], chol={chol}){how}"
        );
        check_prior(&text, &each(6), |x| {
            let of =
                |(x, nu): (&[f64], f64)| mv_student_cholesky(x, nu, &[1.0, -2.0, 0.5], &factor);
            x.chunks(3).zip([2.5, 7.0]).map(of).sum()
        });
    }
}

#[test]
fn vectors_are_from_one_of_several_distributions() {
    let y = [1.0, 0.5, -0.3, 2.0, 0.1, 1.5, -1.0, 0.4, 0.6, 0.7];
    let head = "data y[obs, k], group[obs] in groups\nmu[k] ~ Normal(0, 1)\nnu ~ Gamma(2, 0.5)\n\
                L[k, k] ~ LKJCholeskyCov(2, HalfNormal(1))\ndim parts = 2\n";
    let data: &Reals<'_> = &[("y", &[5, 2], &y), ("group", &[5], &GROUP[..5])];
    let law = "MvNormal(mu, chol=L), MvStudentT(nu, -1, [[2, 0.5], [0.5, 1]]))";
    let parts = |y: &[f64], read: &dyn Fn(&str) -> Vec<f64>| {
        let normal = mv_normal_cholesky(y, &read("mu"), &read("L"));
        let scale = [2.0, 0.5, 0.5, 1.0];
        [normal, mv_student(y, read("nu")[0], &[-1.0; 2], &scale)]
    };
    let list = format!("{head}p ~ Beta(2, 2)\ny ~ Mixture([p, 1 - p], {law}");
    check(&list, data, |read| {
        let p = read("p")[0];
        let of = |y: &[f64]| mixture(&[p, 1.0 - p], &parts(y, read));
        y.chunks(2).map(of).collect()
    });
    let vector = format!("{head}w[parts] ~ Dirichlet([1, 2])\ny ~ Mixture(w, {law}");
    check(&vector, data, |read| {
        y.chunks(2)
            .map(|y| mixture(&read("w"), &parts(y, read)))
            .collect()
    });
    let group = format!("{head}w[groups, parts] ~ Dirichlet([1, 2])\ny ~ Mixture(w[group], {law}");
    check(&group, data, |read| {
        let w = read("w");
        let of = |i: usize| {
            mixture(
                &w[2 * GROUP[i] as usize..][..2],
                &parts(&y[2 * i..][..2], read),
            )
        };
        (0..5).map(of).collect()
    });
    let three = "dim g = 2\ndim k = 2\n\
                 x[g, k] ~ Mixture([0.2, 0.5, 0.3], MvNormal(0, [[1, 0], [0, 1]]), \
                 MvNormal([3, 1], [[2, 0.6], [0.6, 1]]), MvStudentT(4, -2, chol=[[1, 0], [0.5, 2]]))";
    check_prior(three, &each(4), |x| {
        let of = |x: &[f64]| {
            let normal = mv_normal(x, &[0.0; 2], &[1.0, 0.0, 0.0, 1.0]);
            let other = mv_normal(x, &[3.0, 1.0], &[2.0, 0.6, 0.6, 1.0]);
            let heavy = mv_student_cholesky(x, 4.0, &[-2.0; 2], &[1.0, 0.0, 0.5, 2.0]);
            mixture(&[0.2, 0.5, 0.3], &[normal, other, heavy])
        };
        x.chunks(2).map(of).sum()
    });
    let refused = |components: &str, expected: &str| {
        let text = format!("data y[obs, k]\ny ~ Mixture([0.3, 0.7], {components})");
        let message = error(&text, &data[..1]);
        assert!(message.contains(expected), "{message}");
    };
    let normal = "MvNormal(0, [[1, 0], [0, 1]])";
    let neither = "vectors are mixed of `MvNormal` and `MvStudentT`, and `Dirichlet` is neither";
    refused(&format!("{normal}, Dirichlet([1, 1])"), neither);
    refused(
        &format!("{normal}, Normal(0, 1)"),
        "and `Normal` is neither",
    );
    refused(
        &format!("Normal(0, 1), {normal}"),
        "`MvNormal` does not give single numbers",
    );
    refused(normal, "2 weights for 1 components");
    refused(
        &format!("{normal}, MvNormal([0, 0, 0], [[1, 0], [0, 1]])"),
        "`mu` of `MvNormal`",
    );
}

#[test]
fn broken_sticks_have_their_density_observed_and_as_parameters() {
    for k in [2, 3, 5] {
        let text = format!("dim k = {k}\nx[k] ~ StickBreakingWeights(1.7)");
        check_prior(&text, &each(k - 1), |x| {
            assert!((x.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            stick_breaking_weights(x, 1.7)
        });
    }
    let rows = "dim g = 2\ndim k = 3\nx[g, k] ~ StickBreakingWeights([0.5, 4])";
    check_prior(rows, &[0, 1, 3, 4], |x| {
        stick_breaking_weights(&x[..3], 0.5) + stick_breaking_weights(&x[3..], 4.0)
    });
    let y = [0.2, 0.3, 0.5, 0.6, 0.3, 0.1];
    let text = "data y[obs, k]\na ~ Gamma(2, 1)\ny ~ StickBreakingWeights(a)";
    check(text, &[("y", &[2, 3], &y)], |read| {
        let of = |y: &[f64]| stick_breaking_weights(y, read("a")[0]);
        y.chunks(3).map(of).collect()
    });
}

#[test]
fn amounts_of_which_some_are_zero() {
    let y = [0.0, 1.3, 0.2, 0.0];
    let text = "data y[obs]\np ~ Beta(2, 2)\na ~ HalfNormal(1)\ny ~ HurdleGamma(p, a, 2)";
    check(text, &[("y", &[4], &y)], |read| {
        let args = [read("p")[0], read("a")[0], 2.0];
        y.iter()
            .map(|&y| HurdleGamma::log_density(y, args))
            .collect()
    });
    let mixed = "data y[obs]\np ~ Beta(2, 2)\n\
                 y ~ Mixture([0.3, 0.7], HurdleGamma(p, 2, 1), HurdleLogNormal(p, 0, 1))";
    check(mixed, &[("y", &[4], &y)], |read| {
        let p = read("p")[0];
        let row = |&y: &f64| {
            let gamma = HurdleGamma::log_density(y, [p, 2.0, 1.0]);
            let log_normal = HurdleLogNormal::log_density(y, [p, 0.0, 1.0]);
            mixture(&[0.3, 0.7], &[gamma, log_normal])
        };
        y.iter().map(row).collect()
    });
}

/// A number that is summed out may come from an urn, whose ends are known by all three arguments.
#[test]
fn draws_from_an_urn_are_summed_out_between_their_ends() {
    let text = "data y\ns ~ HalfNormal(1)\nz ~ HyperGeometric(10, 7, 6)\ny ~ Normal(z, s)";
    let tested = super::Tested::new(text, &[("y", &[], &[4.4])]);
    for u in tested.points() {
        let s = tested.recorded("s", &u)[0];
        let term = |z: u32| {
            let z = f64::from(z);
            let mass = HyperGeometric::log_density(z, [10.0, 7.0, 6.0]);
            (mass + Normal::log_density(4.4, [z, s])).exp()
        };
        let prior = HalfNormal::log_density(s, [1.0]) + u[0];
        let expected = (3..=6).map(term).sum::<f64>().ln() + prior;
        assert!((tested.density(&u) - expected).abs() < 1e-10);
    }
}

#[track_caller]
fn refused(text: &str, data: &Reals<'_>, expected: &str) {
    assert_eq!(error(text, data), expected, "{text}");
}

#[test]
fn amounts_with_zeros_are_no_parameters_and_mix_with_their_like() {
    let message = error("x ~ HurdleGamma(0.5, 1, 1)", &[]);
    assert!(
        message.starts_with(
            "line 1, column 5: `HurdleGamma` is for observed data and predictions: a parameter that is \
             exactly 0 in some cases and positive in others cannot be sampled"
        ),
        "{message}"
    );
    let data: &Reals<'_> = &[("y", &[2], &[0.0, 1.5])];
    let mixed = "data y[obs]\ny ~ Mixture([0.5, 0.5], HurdleGamma(0.5, 1, 1), Normal(0, 1))";
    assert!(
        error(mixed, data).contains(
            "`HurdleGamma` and `Normal` cannot be mixed: of one 0 has a probability, of the other a density"
        )
    );
    let cut = "data y[obs]\ny ~ HurdleGamma(0.5, 1, 1) truncated(upper=3)";
    assert!(error(cut, data).contains("has no closed distribution function"));
    refused(
        "data y[obs]\ny ~ HurdleGamma(0.5, 1, 1)",
        &[("y", &[2], &[0.0, -1.5])],
        "`y`, row 2: -1.5 cannot come from HurdleGamma, which gives 0 and numbers above",
    );
    let missing = error(
        "data y[obs]\ny ~ HurdleGamma(0.5, 1, 1)",
        &[("y", &[2], &[0.0, f64::NAN])],
    );
    assert!(missing.contains("missing"), "{missing}");
}

#[test]
fn values_that_cannot_be_are_refused_with_their_place() {
    refused(
        "data y[obs]\ny ~ HyperGeometric(10, 7, 6)",
        &[("y", &[2], &[4.0, 2.0])],
        "`y`, row 2: 2 cannot come from HyperGeometric, which gives whole numbers from 3 to 6",
    );
    refused(
        "data y[obs]\ny ~ OrderedProbit(0, [-1, 1])",
        &[("y", &[2], &[0.0, 3.0])],
        "`y`, row 2: 3 is no category: there are 3, counted from 0 to 2",
    );
    refused(
        "data y[obs, k]\ny ~ DirichletMultinomial(5, 1)",
        &[("y", &[2, 2], &[2.0, 3.0, 2.0, 2.0])],
        "`y`, row 2: these counts sum to 4, but `n` is 5",
    );
    refused(
        "data y[obs, k]\ny ~ StickBreakingWeights(2)",
        &[("y", &[2, 2], &[0.5, 0.5, 0.5, 0.4])],
        "`y`, row 2: these shares sum to 0.9, not to 1; divide each row by its sum",
    );
    // Rounded, as shares are published.
    joint(
        "data y[obs, k]\ny ~ Dirichlet(2)",
        &[("y", &[1, 3], &[0.333, 0.333, 0.333])],
    );
    let scale = error("dim k = 2\nx[k] ~ MvStudentT(3, 0, [[1, 2], [2, 1]])", &[]);
    assert!(scale.contains("the scale"), "{scale}");
    let unknown = error(
        "data y[obs, k]\nm ~ HalfNormal(1)\ny ~ DirichletMultinomial(m, 1)",
        &[("y", &[1, 2], &[2.0, 3.0])],
    );
    assert!(unknown.contains("`n` of `DirichletMultinomial` must be known"));
    let discrete = crate::model::Model::parse("data x[obs]\nz[obs] ~ OrderedProbit(x, [0, 1])");
    let discrete = discrete.expect_err("it is no prior").to_string();
    assert!(discrete.contains("give its probabilities to `Categorical`"));
}
