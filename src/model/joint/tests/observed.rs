//! Observed values: each element of the likelihood is the formula over numbers.

use super::{Reals, Tested, assert_near, error};
use crate::dist::*;

/// Checks gradient and sums, and the elements of the likelihood of `y` against `expected`, given
/// a way to read recorded values.
#[track_caller]
pub(super) fn check(
    text: &str,
    data: &Reals<'_>,
    expected: impl Fn(&dyn Fn(&str) -> Vec<f64>) -> Vec<f64>,
) -> Tested {
    let tested = Tested::new(text, data);
    tested.check_gradient();
    for u in tested.points() {
        let read = |name: &str| tested.recorded(name, &u);
        let (got, expected) = (tested.term("y", &u), expected(&read));
        assert_eq!(got.len(), expected.len(), "{text}");
        got.iter()
            .zip(&expected)
            .for_each(|(g, e)| assert_near(*g, *e));
    }
    tested
}

const Y: [f64; 6] = [0.0, 2.0, 1.0, 1.0, 2.0, 2.0];

#[test]
fn categories_by_shares_and_by_logits() {
    let head = "data y[obs] : int\ndim k = 3\n";
    let dirichlet = format!("{head}p[k] ~ Dirichlet([1, 2, 3])\ny[obs] ~ Categorical(p)");
    let data: &Reals<'_> = &[("y", &[6], &Y)];
    check(&dirichlet, data, |read| {
        Y.iter()
            .map(|&y| categorical(y as usize, &read("p")))
            .collect()
    });
    let logits = format!("{head}z[k] ~ Normal(0, 1)\ny[obs] ~ Categorical(logit_p=z)");
    check(&logits, data, |read| {
        Y.iter()
            .map(|&y| categorical_logit(y as usize, &read("z")))
            .collect()
    });
    let weights = format!("{head}w[k] ~ Gamma(2, 1)\ny[obs] ~ Categorical(w)");
    check(&weights, data, |read| {
        Y.iter()
            .map(|&y| categorical(y as usize, &read("w")))
            .collect()
    });
}

/// A weight of 0 has the logarithm −∞ and an infinite slope; where it is not the observed one
/// neither must be seen. Catches: 0 · −∞ in the value, 0 · ∞ in the gradient.
#[test]
fn what_cannot_be_and_was_not_observed_leaves_value_and_gradient_finite() {
    let mask = [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0];
    let masked =
        |w: &[f64], i: usize| -> Vec<f64> { (0..3).map(|j| w[j] * mask[3 * i + j]).collect() };
    let row = "data y[obs] in kinds, m[obs, kinds]\ndim kinds = 3\nw[kinds] ~ Gamma(2, 1)\n\
               p[obs, kinds] = w * m\ny[obs] ~ Categorical(p)";
    let y = [0.0, 1.0, 2.0];
    let data: &Reals<'_> = &[("y", &[3], &y), ("m", &[3, 3], &mask)];
    check(row, data, |read| {
        let one = |i: usize| categorical(y[i] as usize, &masked(&read("w"), i));
        (0..3).map(one).collect()
    });
    let counts = "data y[obs, kinds], m[obs, kinds]\ndim kinds = 3\nw[kinds] ~ Gamma(2, 1)\n\
                  p[obs, kinds] = w * m\ny[obs, kinds] ~ Multinomial(4, p)";
    let y = [3.0, 0.0, 1.0, 2.0, 2.0, 0.0, 0.0, 4.0, 0.0];
    let data: &Reals<'_> = &[("y", &[3, 3], &y), ("m", &[3, 3], &mask)];
    check(counts, data, |read| {
        let one = |i: usize| {
            let (p, y) = (masked(&read("w"), i), &y[3 * i..3 * i + 3]);
            let total: f64 = p.iter().sum();
            let kept: Vec<usize> = (0..3).filter(|&j| p[j] > 0.0).collect();
            let shares: Vec<f64> = kept.iter().map(|&j| p[j] / total).collect();
            let counts: Vec<f64> = kept.iter().map(|&j| y[j]).collect();
            multinomial(&counts, &shares)
        };
        (0..3).map(one).collect()
    });
}

const X: [f64; 6] = [0.3, -1.0, 2.0, 0.5, 0.0, -0.7];
const GROUP: [f64; 6] = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0];

#[test]
fn categories_by_row_and_by_group() {
    let row = "data y[obs] in kinds, x[obs]\ndim kinds = 3\nb[kinds] ~ Normal(0, 1)\n\
               a ~ Normal(0, 1)\neta[obs, kinds] = a + x * b\ny[obs] ~ Categorical(logit_p=eta)";
    let data: &Reals<'_> = &[("y", &[6], &Y), ("x", &[6], &X)];
    // `x * b` has neither the dims of the other, so it is spread first.
    let spread = row.replace(
        "eta[obs, kinds] = a + x * b",
        "let wide[obs, kinds] = x\neta[obs, kinds] = a + wide * b",
    );
    check(&spread, data, |read| {
        let eta = read("eta");
        let row = |(i, &y): (usize, &f64)| categorical_logit(y as usize, &eta[3 * i..3 * i + 3]);
        Y.iter().enumerate().map(row).collect()
    });
    let group = "data y[obs] in kinds, group[obs] in groups\ndim kinds = 3\ndim groups = 2\n\
                 p[groups, kinds] ~ Dirichlet([1, 2, 3])\ny[obs] ~ Categorical(p[group])";
    let data: &Reals<'_> = &[("y", &[6], &Y), ("group", &[6], &GROUP)];
    check(group, data, |read| {
        let p = read("p");
        let row = |(y, g): (&f64, &f64)| categorical(*y as usize, &p[3 * *g as usize..][..3]);
        Y.iter().zip(&GROUP).map(row).collect()
    });
}

#[test]
fn ordered_categories_by_row_by_group_and_alone() {
    let head = "data y[obs] : int, x[obs], group[obs] in groups\ndim cuts = 2\ndim groups = 2\n\
                b ~ Normal(0, 1)\n";
    let data: &Reals<'_> = &[("y", &[6], &Y), ("x", &[6], &X), ("group", &[6], &GROUP)];
    let shared = "c[cuts] ~ Normal(0, 3) ordered\ny[obs] ~ OrderedLogistic(b * x, c)";
    check(&format!("{head}{shared}"), data, |read| {
        let row = |i: usize| ordered_logistic(Y[i] as usize, read("b")[0] * X[i], &read("c"));
        (0..6).map(row).collect()
    });
    let constant = "c[cuts] ~ Normal(0, 3) ordered\ny[obs] ~ OrderedLogistic(b, c)";
    check(&format!("{head}{constant}"), data, |read| {
        let row = |i: usize| ordered_logistic(Y[i] as usize, read("b")[0], &read("c"));
        (0..6).map(row).collect()
    });
    let grouped = "c[groups, cuts] ~ Normal(0, 3) ordered\n\
                   y[obs] ~ OrderedLogistic(b * x, c[group])";
    check(&format!("{head}{grouped}"), data, |read| {
        let cuts = |i: usize| read("c")[2 * GROUP[i] as usize..][..2].to_vec();
        let row = |i: usize| ordered_logistic(Y[i] as usize, read("b")[0] * X[i], &cuts(i));
        (0..6).map(row).collect()
    });
    let one = "dim single = 1\nc[single] ~ Normal(0, 3) ordered\ny[:3] ~ OrderedLogistic(b, c)";
    let binary: &Reals<'_> = &[
        ("y", &[6], &[0.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
        data[1],
        data[2],
    ];
    check(&format!("{head}{one}"), binary, |read| {
        let row = |y: usize| ordered_logistic(y, read("b")[0], &read("c"));
        vec![row(0), row(1), row(1)]
    });
}

#[test]
fn shares_and_counts_share_or_have_their_own_arguments() {
    let y = [0.2, 0.3, 0.5, 0.6, 0.3, 0.1];
    let data: &Reals<'_> = &[("y", &[2, 3], &y)];
    let head = "data y[obs, k]\n";
    let shared = format!("{head}a[k] ~ Gamma(2, 1)\ny[obs, k] ~ Dirichlet(a)");
    check(&shared, data, |read| {
        y.chunks(3).map(|y| dirichlet(y, &read("a"))).collect()
    });
    let own = format!("{head}a[obs, k] ~ Gamma(2, 1)\ny[obs, k] ~ Dirichlet(a)");
    check(&own, data, |read| {
        y.chunks(3)
            .zip(read("a").chunks(3))
            .map(|(y, a)| dirichlet(y, a))
            .collect()
    });
    let alone = "data y[k]\na ~ Gamma(2, 1)\ny[k] ~ Dirichlet(a)";
    check(alone, &[("y", &[3], &y[..3])], |read| {
        vec![dirichlet(&y[..3], &[read("a")[0]; 3])]
    });
    let n = [3.0, 0.0, 2.0, 1.0, 4.0, 5.0];
    let data: &Reals<'_> = &[("y", &[2, 3], &n), ("total", &[2], &[5.0, 10.0])];
    let head = "data y[obs, k], total[obs]\n";
    let shared = format!("{head}p[k] ~ Dirichlet([1, 1, 1])\ny[obs, k] ~ Multinomial(total, p)");
    check(&shared, data, |read| {
        n.chunks(3).map(|y| multinomial(y, &read("p"))).collect()
    });
    let own = format!(
        "{head}z[obs, k] ~ Normal(0, 1)\np[obs, k] = softmax(z, axis=k)\n\
         y[obs, k] ~ Multinomial(sum(y, axis=k), p)"
    );
    check(&own, data, |read| {
        n.chunks(3)
            .zip(read("p").chunks(3))
            .map(|(y, p)| multinomial(y, p))
            .collect()
    });
}

#[test]
fn normal_vectors_share_or_have_their_own_means() {
    let y = [1.0, 0.5, -0.3, 2.0, 0.1, 1.5, -1.0, 0.4, 0.6, 0.7];
    let data: &Reals<'_> = &[("y", &[5, 2], &y), ("x", &[5], &X[..5])];
    let head = "data y[obs, k], x[obs]\nL[k, k] ~ LKJCholeskyCov(2, HalfNormal(1))\n\
                mu[k] ~ Normal(0, 1)\n";
    let shared = format!("{head}y[obs, k] ~ MvNormal(mu, chol=L)");
    check(&shared, data, |read| {
        let of = |y: &[f64]| mv_normal_cholesky(y, &read("mu"), &read("L"));
        y.chunks(2).map(of).collect()
    });
    let own = format!(
        "{head}let wide[obs, k] = x\nm[obs, k] = mu * wide\ny[obs, k] ~ MvNormal(m, chol=L)"
    );
    check(&own, data, |read| {
        let of = |(y, m): (&[f64], &[f64])| mv_normal_cholesky(y, m, &read("L"));
        y.chunks(2).zip(read("m").chunks(2)).map(of).collect()
    });
    let corr = "data y[obs, k]\nR[k, k] ~ LKJCorr(2)\ns ~ HalfNormal(1)\nC[k, k] = s * R\n\
                y[obs, k] ~ MvNormal(0, C)";
    check(corr, &data[..1], |read| {
        y.chunks(2)
            .map(|y| mv_normal(y, &[0.0; 2], &read("C")))
            .collect()
    });
    let alone = "data y[k]\nR[k, k] ~ LKJCorr(2)\nm ~ Normal(0, 1)\ny ~ MvNormal(m, R)";
    check(alone, &[("y", &[3], &y[..3])], |read| {
        vec![mv_normal(&y[..3], &[read("m")[0]; 3], &read("R"))]
    });
    let zero = [0.4, -0.1, -0.3, 1.0, 0.5, -1.5];
    let text = "data y[obs, k]\ns[obs] ~ HalfNormal(1)\ny[obs, k] ~ ZeroSumNormal(s)";
    check(text, &[("y", &[2, 3], &zero)], |read| {
        zero.chunks(3)
            .zip(&read("s"))
            .map(|(y, s)| zero_sum_normal(y, *s))
            .collect()
    });
}

#[test]
fn series_have_the_density_of_their_steps() {
    let y = [1.0, 0.5, -0.3, 2.0, 0.1, 1.5];
    let data: &Reals<'_> = &[("y", &[6], &y)];
    let walk = "data y[t]\nm ~ Normal(0, 1)\ns ~ HalfNormal(1)\n\
                y[t] ~ GaussianRandomWalk(m, s, init_dist=Normal(m, 2))";
    check(walk, data, |read| {
        let (m, s) = (read("m")[0], read("s")[0]);
        vec![Normal::log_density(y[0], [m, 2.0]) + random_walk_steps(&y, m, s)]
    });
    let ar = "data y[t]\ndim lag = 2\nrho[lag] ~ Normal(0, 0.5)\ns ~ HalfNormal(1)\n\
              y[t] ~ AR(rho, s, init_dist=Normal(0, 3))";
    check(ar, data, |read| {
        let start = y[..2].iter().map(|&y| Normal::log_density(y, [0.0, 3.0]));
        let steps = autoregressive_steps(&y, 0.0, &read("rho"), read("s")[0]);
        vec![start.sum::<f64>() + steps]
    });
    let rows = "data y[g, t]\ndim lag = 1\nrho[g, lag] ~ Normal(0, 0.5)\ny[g, t] ~ AR(rho, 1)";
    check(rows, &[("y", &[2, 3], &y)], |read| {
        let rho = read("rho");
        let of = |(i, y): (usize, &[f64])| {
            Normal::log_density(y[0], [0.0, 100.0]) + autoregressive_steps(y, 0.0, &rho[i..=i], 1.0)
        };
        y.chunks(3).enumerate().map(of).collect()
    });
}

#[test]
fn mixtures_take_weights_from_lists_vectors_and_groups() {
    let head = "data y[obs], group[obs] in groups\ndim parts = 2\ndim groups = 2\n\
                m ~ Normal(0, 1)\ns ~ HalfNormal(1)\n";
    let data: &Reals<'_> = &[("y", &[6], &X), ("group", &[6], &GROUP)];
    let law = "Normal(m, s), StudentT(4, 2, 1))";
    let parts = |y: f64, read: &dyn Fn(&str) -> Vec<f64>| {
        let (m, s) = (read("m")[0], read("s")[0]);
        [
            Normal::log_density(y, [m, s]),
            StudentT::log_density(y, [4.0, 2.0, 1.0]),
        ]
    };
    let list = format!("{head}w ~ Beta(2, 2)\ny[obs] ~ Mixture([w, 1 - w], {law}");
    check(&list, data, |read| {
        let w = [read("w")[0], 1.0 - read("w")[0]];
        X.iter().map(|&y| mixture(&w, &parts(y, read))).collect()
    });
    let vector = format!("{head}w[parts] ~ Dirichlet([1, 2])\ny[obs] ~ Mixture(w, {law}");
    check(&vector, data, |read| {
        X.iter()
            .map(|&y| mixture(&read("w"), &parts(y, read)))
            .collect()
    });
    let group = format!("{head}w[groups, parts] ~ Dirichlet([1, 2])\ny ~ Mixture(w[group], {law}");
    check(&group, data, |read| {
        let w = read("w");
        let row = |i: usize| mixture(&w[2 * GROUP[i] as usize..][..2], &parts(X[i], read));
        (0..6).map(row).collect()
    });
}

/// A row outside the support of one part belongs to the other. Catches: a support check that is
/// dropped as if the data had been checked.
#[test]
fn a_mixture_keeps_the_support_of_its_parts() {
    let text = "data y[obs]\nw ~ Beta(2, 2)\nr ~ HalfNormal(1)\n\
                y[obs] ~ Mixture([w, 1 - w], Exponential(r), Normal(0, 1))";
    check(text, &[("y", &[6], &X)], |read| {
        let (w, r) = (read("w")[0], read("r")[0]);
        let row = |&y: &f64| {
            let parts = [
                Exponential::log_density(y, [r]),
                Normal::log_density(y, [0.0, 1.0]),
            ];
            mixture(&[w, 1.0 - w], &parts)
        };
        X.iter().map(row).collect()
    });
    let zeros = [0.0, 3.0, 0.0, 1.0];
    let counts = "data y[obs] : int\npsi ~ Beta(2, 2)\nmu ~ HalfNormal(3)\n\
                  y[obs] ~ Mixture([psi, 1 - psi], Poisson(mu), DiscreteUniform(0, 0))";
    check(counts, &[("y", &[4], &zeros)], |read| {
        let (psi, mu) = (read("psi")[0], read("mu")[0]);
        let row = |&y: &f64| ZeroInflatedPoisson::log_density(y, [psi, mu]);
        zeros.iter().map(row).collect()
    });
}

/// Distribution functions without a closed form: by row and for all rows, of numbers and counts,
/// with known bounds and with one that is estimated; through the CPU engine as well.
#[test]
fn truncated_values_have_their_share_where_it_is_an_incomplete_integral() {
    let y = [0.7, 1.3, 2.9, 0.9];
    let share = |scalar: Scalar, lower: Option<f64>, upper: Option<f64>, args: &[f64]| {
        scalar.log_mass(lower, upper, args).expect("it is known")
    };
    let text = "data y[obs], low[obs]\na ~ HalfNormal(3)\nb ~ HalfNormal(1)\n\
                y[obs] ~ Gamma(a, b * low) truncated(low, 4)";
    let low = [0.2, 1.1, 0.5, 0.8];
    check(text, &[("y", &[4], &y), ("low", &[4], &low)], |read| {
        let row = |i: usize| {
            let args = [read("a")[0], read("b")[0] * low[i]];
            let mass = share(Scalar::Gamma, Some(low[i]), Some(4.0), &args);
            Gamma::log_density(y[i], args) - mass
        };
        (0..4).map(row).collect()
    });
    let text = "data y[obs]\nnu ~ Gamma(2, 0.5)\nm ~ Normal(0, 1)\nend ~ Normal(0.2, 0.1)\n\
                y[obs] ~ StudentT(nu, m, 1.5) truncated(lower=end)";
    // Above every limit that is tried.
    let y = y.map(|y| y + 1.0);
    check(text, &[("y", &[4], &y)], |read| {
        let args = [read("nu")[0], read("m")[0], 1.5];
        let end = read("end")[0];
        let mass = share(Scalar::StudentT, Some(end), None, &args);
        let row = |&y: &f64| StudentT::log_density(y, args) - mass;
        y.iter().map(row).collect()
    });
    let n = [3.0, 5.0, 4.0];
    for (text, form, args) in [
        (
            "NegativeBinomial(m, 2) truncated(lower=3)",
            Scalar::NegativeBinomial,
            vec![2.0],
        ),
        ("Poisson(m) truncated(3, 5000)", Scalar::Poisson, vec![]),
        (
            "ZeroInflatedPoisson(0.5, m) truncated(lower=1)",
            Scalar::ZeroInflatedPoisson,
            vec![0.5],
        ),
    ] {
        let text = format!("data y[obs] : int\nm ~ HalfNormal(3)\ny[obs] ~ {text}");
        check(&text, &[("y", &[3], &n)], |read| {
            let m = read("m")[0];
            let (args, bounds) = match form {
                Scalar::Poisson => (vec![m], [3.0, 5000.0]),
                Scalar::ZeroInflatedPoisson => (vec![args[0], m], [1.0, f64::INFINITY]),
                _ => (vec![m, args[0]], [3.0, f64::INFINITY]),
            };
            let upper = Some(bounds[1]).filter(|u| u.is_finite());
            let mass = share(form, Some(bounds[0]), upper, &args);
            n.iter()
                .map(|y| form.log_density(*y, &args) - mass)
                .collect()
        });
    }
}

#[test]
fn censored_values_at_a_bound_have_the_share_beyond_it() {
    let y = [-1.0, 0.3, 2.0, 2.0, 1.1];
    let text = "data y[obs]\nm ~ Normal(0, 1)\ns ~ HalfNormal(1)\n\
                y[obs] ~ Censored(Normal(m, s), -1, 2)";
    check(text, &[("y", &[5], &y)], |read| {
        let args = [read("m")[0], read("s")[0]];
        let row = |&y: &f64| Scalar::Normal.censored_log_density(y, &args, Some(-1.0), Some(2.0));
        y.iter().map(|y| row(y).expect("closed")).collect()
    });
    let ends = [2.0, 1.0, 2.0, 4.0, 3.0];
    let text = "data y[obs], last[obs]\na ~ HalfNormal(1)\n\
                y[obs] ~ Censored(Weibull(a, 2), upper=last)";
    let times = [2.0, 0.3, 2.0, 2.0, 1.1];
    check(
        text,
        &[("y", &[5], &times), ("last", &[5], &ends)],
        |read| {
            let args = [read("a")[0], 2.0];
            let row = |(&y, &end): (&f64, &f64)| {
                Scalar::Weibull
                    .censored_log_density(y, &args, None, Some(end))
                    .expect("closed")
            };
            times.iter().zip(&ends).map(row).collect()
        },
    );
    let counts = "data y[obs] : int\nmu ~ HalfNormal(3)\ny ~ Censored(Poisson(mu), upper=3)";
    let n = [0.0, 3.0, 2.0];
    check(counts, &[("y", &[3], &n)], |read| {
        let args = [read("mu")[0]];
        let beyond = (1.0 - Scalar::Poisson.cdf(2.0, &args).expect("it has one")).ln();
        let row = |&y: &f64| match y < 3.0 {
            true => Poisson::log_density(y, args),
            false => beyond,
        };
        n.iter().map(row).collect()
    });
}

/// Catches: a check that is made of declared data alone.
#[test]
fn computed_data_are_checked_like_data() {
    let text = "data y[obs]\nlet z = log(y)\ns ~ HalfNormal(1)\nz ~ HalfNormal(s)";
    let message = error(text, &[("y", &[3], &[2.0, 3.0, 0.5])]);
    assert_eq!(
        message,
        "`z`, row 3: -0.6931471805599453 cannot come from HalfNormal, which gives numbers from 0 on"
    );
}

/// The cost of one gradient does not grow with the rows where all share their arguments. Catches:
/// a sum over rows of what does not differ between them.
#[test]
fn rows_that_share_their_arguments_cost_nothing_each() {
    let of_rows =
        |f: &dyn Fn(f64) -> f64, n: usize| -> Vec<f64> { (0..n).map(|i| f(i as f64)).collect() };
    let shares = of_rows(&|i| (0.3 + 0.01 * i) % 1.0, 30);
    let shares: Vec<f64> = shares
        .iter()
        .flat_map(|p| [0.5 * p, 0.5 * p, 1.0 - p])
        .collect();
    let counts = of_rows(&|i| i % 7.0, 90);
    let scattered = of_rows(&|i| (i * i) % 11.0, 90);
    let (kinds, group) = (of_rows(&|i| i % 3.0, 30), of_rows(&|i| i % 2.0, 30));
    let vectors = "data y[obs, k]\n";
    let categories = "data y[obs] in k, group[obs] in groups\ndim k = 3\ndim groups = 2\n";
    let factor = "L[k, k] ~ LKJCholeskyCov(2, HalfNormal(1))";
    let cases = [
        (vectors, "a[k] ~ Gamma(2, 1)\ny ~ Dirichlet(a)", &shares),
        (
            vectors,
            "p[k] ~ Dirichlet(2)\ny ~ Multinomial(sum(y, axis=k), p)",
            &counts,
        ),
        (
            vectors,
            &format!("m[k] ~ Normal(0, 1)\n{factor}\ny ~ MvNormal(m, chol=L)"),
            &scattered,
        ),
        (
            categories,
            "p[k] ~ Dirichlet(2)\ny ~ Categorical(p)",
            &kinds,
        ),
        (
            categories,
            "p[groups, k] ~ Dirichlet(2)\ny ~ Categorical(p[group])",
            &kinds,
        ),
        (
            categories,
            "z[groups, k] ~ Normal(0, 1)\ny ~ Categorical(logit_p=z[group])",
            &kinds,
        ),
    ];
    for (head, text, y) in cases {
        let shape: &[usize] = if y.len() == 90 { &[30, 3] } else { &[30] };
        let data: &Reals<'_> = &[("y", shape, y), ("group", &[30], &group)];
        let tested = Tested::new(&format!("{head}{text}"), data);
        let g = &tested.graphs;
        let mut outputs = vec![g.density];
        outputs.extend(g.gradient.iter().map(|p| p.adjoint));
        let needed = g.graph.needed(&outputs);
        let by_row = |id: &fitzroy_graph::NodeId| {
            let mut names = g.graph.dims(*id).iter().map(|&d| &g.graph.dim_info(d).name);
            needed[id.index()] && g.graph.varies(*id) && names.any(|n| n == "obs")
        };
        assert_eq!(g.graph.node_ids().filter(by_row).count(), 0, "{text}");
        tested.check_gradient();
    }
}
