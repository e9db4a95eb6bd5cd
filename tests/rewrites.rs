//! Rewrites of the density against the density as written: on every example, on models that only
//! look as if they could be rewritten, and in every choice of coordinates.
//!
//! The identity that is tested: ln p(what stays) + ln p(what was integrated out | what stays) is
//! the log density as written, constants included. Bound: 1e-9 relative; sums over rows cancel a
//! few digits of the 16.
//!
//! Catches: a wrong power of a scale, a lost Jacobian of a coefficient, rows of another group, a
//! prior counted twice, a pattern that matches what it should not.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::diagnose::FindingKind;
use fitzroy::model::joint::{Coordinates, Joint, Rewrites};
use fitzroy::rng::{Purpose, Rng};
use fitzroy::run::Outcome;
use support::rewritten::{
    BOUND, HEAD, at_start, check_identity, data, integrated, point, sampled, values,
};
use support::{EXAMPLES, example_joint, joint};

fn kinds(joint: &Joint) -> Vec<&'static str> {
    let graphs = joint.graphs(&at_start(joint));
    graphs.done.iter().map(|r| r.kind).collect()
}

#[test]
fn every_example_keeps_its_density_under_every_kind_of_rewrite() {
    for (name, file, _) in EXAMPLES {
        let Some(plain) = example_joint(name, file) else {
            continue;
        };
        for kinds in ["auto", "sufficient", "collapse", "recognise", "dedup"] {
            let rewritten = plain.rewritten(kinds.parse().unwrap());
            check_identity(&rewritten, &format!("{name} with {kinds}"));
        }
    }
}

#[test]
fn the_examples_are_rewritten_as_the_documentation_says() {
    let rewritten = |name: &str| {
        let (_, file, _) = EXAMPLES.iter().find(|e| e.0 == name).unwrap();
        example_joint(name, file).unwrap().rewritten(Rewrites::ALL)
    };
    let expected: [(&str, usize, &[&str]); 10] = [
        ("linear", 1, &["intercept", "slope"]),
        ("hierarchical", 2, &["mu_pop", "mu_group"]),
        ("hierarchical-noncentred", 2, &["mu_pop", "z"]),
        ("eight-schools", 2, &["theta"]),
        ("eight-schools-noncentred", 2, &["z"]),
        ("artists", 2, &["mu", "effect", "beta"]),
        ("radon", 2, &["gamma_0", "gamma_1", "alpha", "beta_floor"]),
        ("random-walk", 2, &["start", "step"]),
        ("logistic", 5, &[]),
        ("seeds", 26, &[]),
    ];
    for (name, sampled, gone) in expected {
        let joint = rewritten(name);
        assert_eq!(integrated(&joint), gone, "{name}");
        assert_eq!(joint.n_sampled(), sampled, "{name}");
    }
    // Its coordinate is free, so there is nothing to recognise; nor is anything repeated.
    assert_eq!(kinds(&rewritten("seeds")), Vec::<&str>::new());
    assert_eq!(kinds(&rewritten("autoregression")), Vec::<&str>::new());
}

/// One way to write a part of the model, and whether the effects may then be integrated out.
type Choice = (&'static str, bool);

/// Every combination of priors, likelihoods and other uses: 5 × 9 × 10 models.
#[test]
fn effects_are_integrated_out_exactly_where_the_model_is_linear_and_normal() {
    let effects: [Choice; 5] = [
        ("t ~ HalfNormal(2)\nu[groups] ~ Normal(m, t)", true),
        (
            "t ~ HalfNormal(2)\nz[groups] ~ Normal(0, 1)\nu[groups] = m + t * z",
            true,
        ),
        ("t ~ HalfNormal(2)\nu[groups] ~ StudentT(4, m, t)", false),
        (
            "t ~ HalfNormal(2)\nu[groups] ~ Normal(m, t) bounded(-9, inf)",
            false,
        ),
        (
            "t ~ HalfNormal(2)\nu[groups] ~ Normal(m, t) @ centred",
            false,
        ),
    ];
    let likelihoods: [Choice; 9] = [
        ("s ~ HalfNormal(1)\ny[obs] ~ Normal(u[g], s)", true),
        (
            "s ~ Exponential(1)\ny[obs] ~ Normal(3 - 2 * u[g] * x, s * w)",
            true,
        ),
        (
            "b ~ Normal(0, 2)\nk ~ Flat()\ny[obs] ~ Normal(u[g] + b * x + k * w, w)",
            true,
        ),
        ("y[obs] ~ StudentT(5, u[g], 1)", false),
        ("y[obs] ~ Normal(u[g], 1) truncated(-20, 20)", false),
        ("y[obs] ~ Normal(u[g], exp(0.1 * u[g]))", false),
        ("k ~ Normal(0, 1)\ny[obs] ~ Normal(k * u[g], 1)", false),
        ("y[obs] ~ Normal(exp(0.1 * u[g]), 1)", false),
        ("y[obs] ~ Normal(u[g] + 0.1 * u[g] ^ 2, 1)", false),
    ];
    let uses: [Choice; 10] = [
        ("", true),
        ("twice[groups] = 2 * u", true),
        ("predict next[groups] ~ Normal(u, 1)", true),
        ("a ~ Normal(m, 1)", true),
        ("target += 0.1 * t", true),
        ("target += -0.1 * u[0] ^ 2", false),
        ("more[groups] ~ Normal(u, 1)", false),
        ("a ~ Normal(sum(u), 1)", false),
        ("a ~ HalfNormal(exp(0.1 * u[1]))", false),
        ("a ~ Normal(0, 1) bounded(-inf, 30 + u[2])", false),
    ];
    for (effect, plain_prior) in effects {
        for (likelihood, linear) in likelihoods {
            for (other, free) in uses {
                let text = format!("{HEAD}{effect}\n{likelihood}\n{other}");
                let plain = joint(&text, &data());
                let rewritten = plain.rewritten(Rewrites::ALL);
                let gone = integrated(&rewritten);
                let expected = plain_prior && linear && free;
                let got = gone.iter().any(|n| matches!(*n, "u" | "z"));
                assert_eq!(got, expected, "{text}\nintegrated out: {gone:?}");
                check_identity(&rewritten, &text);
            }
        }
    }
}

/// What else may look linear and normal, or be it in an unusual way: the model, and what is
/// integrated out.
#[test]
fn coefficients_are_integrated_out_only_where_that_is_right() {
    let cases: [(&str, &[&str]); 18] = [
        // A predictor that is a parameter: given its factor it is an effect of each row. Not with
        // a prior that is not normal.
        (
            "p[obs] ~ Laplace(0, 1)\nb ~ Normal(0, 1)\ny[obs] ~ Normal(m + b * p, 1)",
            &[],
        ),
        (
            "p[obs] ~ Normal(0, 1)\nb ~ Normal(0, 1)\ny[obs] ~ Normal(m + b * p, 1)",
            &["p"],
        ),
        // Many columns, most of which stay.
        (
            "dim four = 4\nk[four] ~ Laplace(0, 1)\n\
             y[obs] ~ Normal(m + k[0] * x + k[1] * w + k[2] * x ^ 2 + k[3] * w ^ 2, 1)",
            &["m"],
        ),
        // z in two forms, and twice in one.
        (
            "s ~ HalfNormal(1)\nz ~ Normal(0, 1)\ny[obs] ~ Normal(m + s * z + z ^ 2, 1)",
            &["m"],
        ),
        (
            "s ~ HalfNormal(1)\nz ~ Normal(0, 1)\ny[obs] ~ Normal(s * z + exp(m) * z, 1)",
            &[],
        ),
        (
            "s ~ HalfNormal(1)\nz ~ Normal(0, 1)\ny[obs] ~ Normal(m + s * z + x * (s * z), s)",
            &["m", "z"],
        ),
        // One scale for the effects and for the noise: it does not stay alone.
        (
            "s ~ HalfNormal(1)\nu[groups] ~ Normal(m, s)\ny[obs] ~ Normal(u[g], s)",
            &["u"],
        ),
        // The scale of one effect is another.
        (
            "h ~ Normal(0, 1)\nu[groups] ~ Normal(m, exp(h))\ny[obs] ~ Normal(u[g] + h * x, 1)",
            &["u"],
        ),
        // A common mean of coefficients, and coefficients that share a variable.
        (
            "s ~ HalfNormal(1)\nb ~ Normal(m, s)\nc ~ Normal(m, s)\ny[obs] ~ Normal(b * x + c * w, 1)",
            &["m", "b", "c"],
        ),
        (
            "b ~ Normal(0, 2)\ns ~ HalfNormal(1)\ny[obs] ~ Normal((m + b) * x + b * w, s)",
            &["m", "b"],
        ),
        // Weights that differ by group, and a prior that does.
        (
            "s ~ HalfNormal(1)\nu[groups] ~ Normal(m, s * [1, 2, 3, 4])\ny[obs] ~ Normal(u[g], s)",
            &["u"],
        ),
        (
            "s ~ HalfNormal(1)\nu[groups] ~ Normal(more, 2)\ny[obs] ~ Normal(u[g] + m, s)",
            &["u"],
        ),
        // A location that stays, and one that is not linear.
        (
            "k ~ StudentT(3, 0, 1)\ns ~ HalfNormal(1)\nu[groups] ~ Normal(k, s)\ny[obs] ~ Normal(u[g], s)",
            &["u"],
        ),
        (
            "s ~ HalfNormal(1)\nu[groups] ~ Normal(exp(m), s)\ny[obs] ~ Normal(u[g], s)",
            &["u"],
        ),
        // Noise by group.
        ("s[groups] ~ HalfNormal(1)\ny[obs] ~ Normal(m, s[g])", &[]),
        // A vector by element, and by slice.
        (
            "dim two = 2\nb[two] ~ Normal(0, 2)\ns ~ HalfNormal(1)\ny[obs] ~ Normal(b[0] * x + b[1] * w, s)",
            &["b"],
        ),
        // Two likelihoods with coefficients of their own.
        (
            "s ~ HalfNormal(1)\nb ~ Normal(0, 1)\ny[obs] ~ Normal(m * x, s)\nmore[groups] ~ Normal(b, s)",
            &["m", "b"],
        ),
        // Truncated and ordered ones are no normal coordinates.
        (
            "s ~ HalfNormal(1)\nb ~ Normal(0, 1) truncated(0, inf)\ny[obs] ~ Normal(m + b * x, s)",
            &["m"],
        ),
    ];
    for (text, expected) in cases {
        let text = format!("{HEAD}{text}");
        let rewritten = joint(&text, &data()).rewritten(Rewrites::ALL);
        assert_eq!(integrated(&rewritten), expected, "{text}");
        check_identity(&rewritten, &text);
    }
}

/// Coefficients in front of which stands a matrix that parameters make, or whose noise they make row by row:
/// the model, and what is integrated out.
#[test]
fn coefficients_of_matrices_that_parameters_make_are_integrated_out() {
    let gauss = "l ~ HalfNormal(1)\nz[obs] ~ Normal(0, 1)\nlet d[obs, obs] = x[obs] - x[obs']\n\
                 let L = cholesky(exp_quad(d, 0.1 + l) + 0.1 * identity(obs))\n";
    let spline = "dim knots = 3\nlet p[knots] = positions(knots)\nlet B[obs, knots] = (x[obs] + p[knots])^2 / 9\n\
                  t ~ HalfNormal(1)\nz[knots] ~ Normal(0, 1)\n";
    let noise = "h[groups] ~ Normal(0, 1)\n";
    let cases: [(String, &[&str]); 16] = [
        (format!("{gauss}y ~ Normal(m + L @ z, 0.5)"), &["z"]),
        (format!("{gauss}s ~ HalfNormal(1)\ny ~ Normal(m - l * (L @ z) / s, s * w)"), &["m", "z"]),
        (format!("{gauss}{noise}y ~ Normal(x * (L @ z), exp(h[g]))"), &["z"]),
        // Other coefficients beside it, with known priors.
        (
            format!("{gauss}dim two = 2\nb[two] ~ Normal([1, -1], [2, 0.5])\n{noise}\
                     let p[two] = positions(two)\nlet c[obs, two] = x[obs] * (0.3 + p[two])\ny ~ Normal(c @ b + L @ z, exp(h[g]))"),
            &["z", "b"],
        ),
        // Rows of a density at fewer places.
        (
            "l ~ HalfNormal(1)\nz[groups] ~ Normal(0, 1)\nlet d[groups, groups] = more[groups] - more[groups']\n\
             let f = cholesky(matern32(d, 0.1 + l) + 0.1 * identity(groups)) @ z\ny ~ Normal(m + f[g], 1)".into(),
            &["z"],
        ),
        // A basis with factors that parameters make: sums as long as the noise is one number.
        (format!("{spline}s ~ HalfNormal(1)\ny ~ Normal(m + B @ (t * exp(-t * positions(knots)) * z), s)"), &["m", "z"]),
        (format!("{spline}{noise}y ~ Normal(m + B @ (t * exp(-t * positions(knots)) * z), exp(h[g]))"), &[]),
        (format!("{spline}{noise}y ~ Normal(m + t * (B @ z) - B @ z, exp(h[g]))"), &[]),
        // What is not linear, stands elsewhere, or has no normal prior.
        (format!("{gauss}y ~ Normal(m + exp(L @ z), 0.5)"), &[]),
        (format!("{gauss}y ~ Normal(m + (L @ z) * z, 0.5)"), &[]),
        (format!("{gauss}y ~ Normal(L @ z, exp(z))"), &[]),
        (format!("{gauss}y ~ Normal(L @ z, 0.5)\nmore ~ Normal(z[0], 1)"), &[]),
        (format!("{gauss}y ~ Normal(L @ z, 0.5)\ntarget += -z[1]^4"), &[]),
        (format!("{gauss}y ~ StudentT(4, L @ z, 0.5)"), &[]),
        (
            "l ~ HalfNormal(1)\nz[obs] ~ Normal(0, 1) bounded(-9, 9)\nlet d[obs, obs] = x[obs] - x[obs']\n\
             y ~ Normal(exp_quad(d, l) @ z, 0.5)".into(),
            &[],
        ),
        // Of two that multiply each other the first.
        (format!("{gauss}p[obs] ~ Normal(0, 1)\n{noise}y ~ Normal((L @ z) * (L @ p), exp(h[g]))"), &["z"]),
    ];
    for (text, expected) in cases {
        let text = format!("{HEAD}{text}");
        let rewritten = joint(&text, &data()).rewritten(Rewrites::ALL);
        assert_eq!(integrated(&rewritten), expected, "{text}");
        check_identity(&rewritten, &text);
    }
}

/// Nothing is left to sample: one parameter has to stay.
#[test]
fn something_is_always_sampled() {
    let plain = joint(&format!("{HEAD}y[obs] ~ Normal(m, 1)"), &data());
    let rewritten = plain.rewritten(Rewrites::ALL);
    assert_eq!(rewritten.n_sampled(), 1);
    check_identity(&rewritten, "a mean with known noise");
}

/// Catches: sums whose digits a large offset eats. The data lie 1e6 from the prior's centre, the
/// column 2e3 from 0.
#[test]
fn offsets_cost_no_digits() {
    let text = "data y[obs], year[obs], g[obs] in groups\n\
                a ~ Normal(0, 1e7)\nb ~ Normal(0, 100)\nt ~ HalfNormal(5)\ns ~ HalfNormal(5)\n\
                u[groups] ~ Normal(a, t)\ny[obs] ~ Normal(u[g] + b * year, s)";
    let mut rng = Rng::new(6, 0, 0, 0, Purpose::Test);
    let mut data = Dataset::new();
    let y: Vec<f64> = (0..90).map(|_| 1e6 + rng.normal()).collect();
    data.insert_real("y", &[90], y);
    data.insert_real(
        "year",
        &[90],
        (0..90).map(|i| 2000.0 + f64::from(i % 20)).collect(),
    );
    data.insert_real("g", &[90], (0..90).map(|i| f64::from(i % 9)).collect());
    let rewritten = joint(text, &data).rewritten(Rewrites::ALL);
    assert_eq!(integrated(&rewritten), ["a", "b", "u"]);
    check_identity(&rewritten, "offsets");
}

/// Effects of groups, alone and behind a matrix, a sum and factors that are taken out of them.
const STANDARDISED: [&str; 5] = [
    "u[groups] = m + s * z\ny[obs] ~ Binomial(n, logit_p=u[g])",
    "y[obs] ~ Binomial(n, logit_p=m + X @ (s * z))",
    "u[groups] = exp(-s * d) * z\ny[obs] ~ Binomial(n, logit_p=m + s * (X @ u))",
    "y[obs] ~ Binomial(n, logit_p=m + s * (d @ z))",
    "y[obs] ~ Binomial(n, logit_p=m + X @ (d * (s * z)))",
];

/// z recognised: with any c the density is that of z with the Jacobian −c ln b.
#[test]
fn a_recognised_effect_has_the_same_density_in_any_coordinates() {
    let mut data = Dataset::new();
    data.insert_real("n", &[6], vec![9.0; 6]);
    data.insert_real("y", &[6], vec![1.0, 4.0, 8.0, 2.0, 9.0, 5.0]);
    data.insert_real("g", &[6], vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    data.insert_real("d", &[3], vec![0.5, 1.2, 0.9]);
    let columns = (0..18).map(|k| (0.7 * f64::from(k)).sin());
    data.insert_real("X", &[6, 3], columns.collect());
    for rest in STANDARDISED {
        let text = format!(
            "data n[obs]: int, y[obs]: int, g[obs] in groups, d[groups], X[obs, groups]\n\
             m ~ Normal(0, 1)\ns ~ HalfNormal(1)\nz[groups] ~ Normal(0, 1)\n{rest}"
        );
        check_standardised(&joint(&text, &data).rewritten(Rewrites::ALL));
    }
}

fn check_standardised(rewritten: &Joint) {
    assert_eq!(kinds(rewritten), ["recognise"]);
    assert_eq!(rewritten.plates().len(), 1);
    assert!(rewritten.plates()[0].standardised);
    let plain = rewritten.graphs(&[Coordinates::NonCentred]);
    let c = [0.0, 0.4, 1.0];
    for chosen in [Coordinates::Centred, Coordinates::Partial(c.to_vec())] {
        let new = rewritten.graphs(std::slice::from_ref(&chosen));
        for number in 0..4 {
            let u = point(rewritten, number);
            let frame = values(&plain, &u, &[plain.plates[0].0, plain.plates[0].1]);
            let (mut w, mut jacobian) = (u.clone(), 0.0);
            let at = rewritten
                .parameters()
                .iter()
                .find(|p| p.name == "z")
                .unwrap()
                .offset;
            for j in 0..3 {
                let c = if chosen == Coordinates::Centred {
                    1.0
                } else {
                    c[j]
                };
                let (a, b) = (frame[0][j], frame[1][j]);
                w[at + j] = c * a + b.powf(c) * u[at + j];
                jacobian += c * b.ln();
            }
            let before = values(&plain, &u, &[plain.density])[0][0];
            let after = values(&new, &w, &[new.density])[0][0];
            let error = (after + jacobian - before).abs();
            assert!(error <= BOUND * (1.0 + before.abs()), "{chosen:?}: {error}");
            for (a, b) in new.recorded.iter().zip(&plain.recorded) {
                let pair = [values(&new, &w, &[a.node]), values(&plain, &u, &[b.node])].concat();
                for (a, b) in pair[0].iter().zip(&pair[1]) {
                    assert!((a - b).abs() <= BOUND * (1.0 + b.abs()), "{a} {b}");
                }
            }
        }
    }
}

#[test]
fn only_a_standard_normal_in_one_form_is_recognised() {
    let head = "data y[obs]: int, g[obs] in groups\nm ~ Normal(0, 1)\ns ~ HalfNormal(1)\n";
    let cases = [
        (
            "z[groups] ~ Normal(0, 1)\ny[obs] ~ Poisson(exp(m + (s * z)[g]))",
            1,
        ),
        (
            "z[groups] ~ Normal(0, 1)\ny[obs] ~ Poisson(exp(m + s * z[g]))",
            1,
        ),
        (
            "z[groups] ~ Normal(0, 1)\nlet u = s * z\ny[obs] ~ Poisson(exp(m + u[g]) + exp(u[g]))",
            1,
        ),
        (
            "z[groups] ~ Normal(0, 1)\ny[obs] ~ Poisson(exp(m + s * z[g] + z[g] ^ 2))",
            0,
        ),
        (
            "z[groups] ~ Normal(0, 1)\ny[obs] ~ Poisson(exp(m + m * z[g]))",
            0,
        ),
        (
            "z[groups] ~ Normal(0, 1)\ny[obs] ~ Poisson(exp(m + 2 * z[g]))",
            0,
        ),
        (
            "z[groups] ~ Normal(0, 2)\ny[obs] ~ Poisson(exp(m + s * z[g]))",
            0,
        ),
        (
            "z[groups] ~ Normal(0, 1) @ noncentred\ny[obs] ~ Poisson(exp(m + s * z[g]))",
            0,
        ),
        (
            "z[groups] ~ StudentT(3, 0, 1)\ny[obs] ~ Poisson(exp(m + s * z[g]))",
            0,
        ),
    ];
    let mut data = Dataset::new();
    data.insert_real("y", &[6], vec![1.0, 4.0, 8.0, 2.0, 9.0, 5.0]);
    data.insert_real("g", &[6], vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    for (text, n) in cases {
        let text = format!("{head}{text}");
        let rewritten = joint(&text, &data).rewritten(Rewrites::ALL);
        let recognised = rewritten.plates().iter().filter(|p| p.standardised);
        assert_eq!(recognised.count(), n, "{text}");
        check_identity(&rewritten, &text);
    }
}

#[test]
fn repeated_rows_of_any_likelihood_are_counted() {
    let cases = [
        ("y[obs] ~ Bernoulli(logit_p=a + b * x)", 60, true),
        ("y[obs] ~ Binomial(3, logit_p=a + b * x + c[g])", 60, true),
        ("y[obs] ~ Poisson(exp(a + b * x))", 60, true),
        ("y[obs] ~ Normal(exp(a) * x, exp(b))", 60, true),
        // Rows that depend on their place.
        ("y[obs] ~ Poisson(exp(a + 0.1 * cumsum(b * x)))", 60, false),
        (
            "p[obs] ~ Normal(0, 1)\ny[obs] ~ Poisson(exp(a + b * p))",
            60,
            false,
        ),
        // Too few copies.
        ("y[obs] ~ Poisson(exp(a + b * x))", 9, false),
    ];
    for (text, n, counted) in cases {
        let text = format!(
            "data y[obs]: int, x[obs], g[obs] in groups\na ~ Normal(0, 1)\nb ~ Normal(0, 1)\n\
             c[groups] ~ Normal(0, 1)\n{text}"
        );
        let mut data = Dataset::new();
        let column = |f: fn(u32) -> u32| (0..n).map(|i| f64::from(f(i))).collect::<Vec<_>>();
        data.insert_real("y", &[n as usize], column(|i| i % 2));
        data.insert_real("x", &[n as usize], column(|i| i % 3));
        data.insert_real("g", &[n as usize], column(|i| (i / 3) % 2));
        let rewritten = joint(&text, &data).rewritten("dedup".parse().unwrap());
        let expected = if counted { vec!["dedup"] } else { vec![] };
        assert_eq!(kinds(&rewritten), expected, "{text}");
        check_identity(&rewritten, &text);
    }
}

#[test]
fn kinds_can_be_switched_off_one_by_one() {
    let plain = example_joint("hierarchical", "hierarchical.csv").unwrap();
    let n = |kinds: &str| plain.rewritten(kinds.parse().unwrap()).n_sampled();
    assert_eq!(
        [n("off"), n("sufficient,recognise,dedup"), n("collapse")],
        [103, 103, 2]
    );
    assert_eq!(
        kinds(&plain.rewritten("sufficient".parse().unwrap())),
        ["sufficient"]
    );
    assert_eq!(
        kinds(&plain.rewritten("off".parse().unwrap())),
        Vec::<&str>::new()
    );
}

/// Names, dims and shapes of all groups.
fn layout(outcome: &Outcome) -> Vec<(String, String, Vec<String>, Vec<usize>)> {
    let groups = outcome.trace.groups.iter();
    let of = |g: &fitzroy::draws::Group| {
        let one = |v: &fitzroy::draws::Variable| {
            let dims = v.dims.clone();
            (g.name.clone(), v.name.clone(), dims, v.shape.clone())
        };
        g.variables.iter().map(one).collect::<Vec<_>>()
    };
    groups.flat_map(of).collect()
}

#[test]
fn a_trace_has_the_same_variables_whatever_was_rewritten() {
    for (name, file) in [
        ("hierarchical-noncentred", "hierarchical.csv"),
        ("radon", "radon.json"),
    ] {
        let plain = example_joint(name, file).unwrap();
        let (on, off) = (
            sampled(&plain, Rewrites::ALL),
            sampled(&plain, Rewrites::NONE),
        );
        assert_eq!(layout(&on), layout(&off), "{name}");
        let kinds: Vec<&str> = on.rewrites.iter().map(|r| r.kind).collect();
        assert!(
            kinds == ["collapse"] || kinds == ["collapse", "signed"],
            "{name}: {kinds:?}"
        );
        assert!(on.findings.is_empty() && off.rewrites.is_empty(), "{name}");
        let said = on
            .trace
            .attributes
            .iter()
            .find(|a| a.0 == "fitzroy_rewrites");
        assert!(
            format!("{:?}", said.unwrap().1).contains("collapse"),
            "{name}"
        );
    }
}

/// The scale of the effects is negative for half of its prior, where the model as written has no
/// density and the one with the effects integrated out has.
#[test]
fn a_density_that_is_another_is_taken_back_with_a_finding() {
    let text =
        format!("{HEAD}t ~ Normal(0, 1)\nu[groups] ~ Normal(m, t)\ny[obs] ~ Normal(u[g], 1)");
    let plain = joint(&text, &data());
    assert_eq!(integrated(&plain.rewritten(Rewrites::ALL)), ["u"]);
    let outcome = sampled(&plain, Rewrites::ALL);
    assert_eq!(outcome.findings[0].kind, FindingKind::RewriteUndone);
    assert!(outcome.rewrites.is_empty());
}

/// A scale over a dim of one place is one number. Catches: its dim in what has none.
#[test]
fn dims_of_one_place_are_no_dims() {
    let head = "data y[obs, unit], x[obs, column]\n";
    let texts = [
        "b[unit, column] ~ Normal(0, 50)\nlet t[column, unit] = b\n\
         s[unit] ~ HalfNormal(1)\ny[obs, unit] ~ Normal(x @ t, s)",
        "b[unit] ~ Normal(1, 2)\ns[unit] ~ HalfNormal(1)\ny[obs, unit] ~ Normal(b, s)",
        "m[unit] ~ Normal(0, 1)\nb[unit] ~ Normal(m, 2)\ns[unit] ~ HalfNormal(1)\n\
         y[obs, unit] ~ Normal(b, s)",
        "k[unit] ~ HalfNormal(1)\nb[column, unit] ~ Normal(0, k)\ns[unit] ~ HalfNormal(1)\n\
         y[obs, unit] ~ Normal(x @ b, s)",
    ];
    for text in texts {
        for units in [1, 2] {
            let numbers = |n: usize| (0..n).map(|i| (0.7 * i as f64).sin()).collect::<Vec<f64>>();
            let mut data = Dataset::new();
            data.insert_real("y", &[6, units], numbers(6 * units));
            data.insert_real("x", &[6, 3], numbers(18));
            let plain = joint(&format!("{head}{text}"), &data);
            check_identity(&plain.rewritten(Rewrites::ALL), &format!("{units}: {text}"));
        }
    }
}
