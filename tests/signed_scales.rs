//! Scales that may have a sign against the density as written, on both sides of 0.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::model::joint::{Joint, Rewrites};
use support::rewritten::{BOUND, point, sampled, values};
use support::{EXAMPLES, example_joint, joint, signed};

/// With every scale signed: ½ p(|s|) f(w) against p(τ) f(z) τ of ln τ, where everything recorded is
/// the same; and (s, w) against (−s, −w).
#[track_caller]
fn check_signs(rewritten: &Joint, what: &str) {
    let chosen = signed(rewritten);
    let (new, plain) = (
        rewritten.graphs_of(&chosen),
        rewritten.plain_graphs(&chosen.plates),
    );
    let scale = |k: &usize| {
        let parameter = &rewritten.parameters()[*k];
        parameter.offset..parameter.offset + parameter.len
    };
    let scales: Vec<usize> = rewritten.scales().iter().flat_map(scale).collect();
    let signs = |u: &[f64]| -> Vec<(usize, f64)> {
        let plates = rewritten.plates().iter().zip(&new.signs);
        let own = plates.filter_map(|(plate, node)| {
            let offset = rewritten.parameters()[plate.parameter].offset;
            let signs = values(&new, u, &[(*node)?]).remove(0);
            Some(
                signs
                    .into_iter()
                    .enumerate()
                    .map(move |(j, s)| (offset + j, s)),
            )
        });
        own.flatten().collect()
    };
    let (mut compared, mut mirrored) = (0, 0);
    for number in 0..6 {
        let u = point(rewritten, number);
        let mut nodes = vec![new.density];
        nodes.extend(new.conditional);
        let total = |u: &[f64]| -> f64 { values(&new, u, &nodes).concat().iter().sum() };
        let mut x = u.clone();
        signs(&u).iter().for_each(|(at, sign)| x[*at] *= sign);
        let mut jacobian = 0.0;
        for &at in &scales {
            x[at] = u[at].abs().ln();
            jacobian += x[at] + std::f64::consts::LN_2;
        }
        for &(k, node) in &new.restored {
            let parameter = &rewritten.parameters()[k];
            let own = values(&new, &u, &[node]).remove(0);
            x[parameter.offset..parameter.offset + parameter.len].copy_from_slice(&own);
        }
        let written = values(&plain, &x, &[plain.density])[0][0];
        if !written.is_finite() {
            continue;
        }
        compared += 1;
        let got = total(&u) + jacobian;
        assert!(
            (got - written).abs() <= BOUND * (1.0 + written.abs()),
            "{what}: {got} with signs, {written} as written"
        );
        // The other side of 0, where the effects have the other sign.
        let mut other = u.clone();
        scales.iter().for_each(|&at| other[at] = -u[at]);
        for ((at, before), (_, after)) in signs(&u).iter().zip(&signs(&other)) {
            other[*at] *= before * after;
        }
        mirrored += usize::from(other != u);
        let mirror = total(&other) + jacobian;
        assert!(
            (mirror - got).abs() <= BOUND * (1.0 + got.abs()),
            "{what}: {mirror} and {got}"
        );
        for (a, b) in new.recorded.iter().zip(&plain.recorded) {
            let want = values(&plain, &x, &[b.node]).remove(0);
            for u in [&u, &other] {
                let got = values(&new, u, &[a.node]).remove(0);
                for (got, want) in got.iter().zip(&want) {
                    let same = got == want || (got - want).abs() <= BOUND * (1.0 + want.abs());
                    assert!(same, "{what}, {}: {got} and {want}", a.name);
                }
            }
        }
    }
    assert!(compared > 0, "{what}: nothing could be compared");
    assert_eq!(mirrored > 0, !scales.is_empty(), "{what}");
}

/// Catches: a sign at the wrong element or plate, a half that is lost, a sign of effects that are
/// not symmetric, of a scale that is a root or in a denominator, or of effects that are integrated
/// out.
#[test]
fn a_scale_and_its_effects_have_the_same_density_on_both_sides_of_0() {
    let head = "dim items = 2\n\
                data y[obs]: int, g[obs] in groups, h[obs] in items, \
                i[groups] in items\nm ~ Normal(0, 1)\n";
    let cases = [
        (
            "t ~ HalfNormal(1)\na[groups] ~ Normal(m, t)\ny[obs] ~ Poisson(exp(a[g]))",
            "t",
        ),
        (
            "t ~ HalfCauchy(1)\na[groups] ~ StudentT(4, m, 2 * t)\ny[obs] ~ Poisson(exp(a[g]))",
            "t",
        ),
        (
            "t ~ Exponential(2)\na[groups] ~ Laplace(m, t / 2)\ny[obs] ~ Poisson(exp(a[g]))",
            "t",
        ),
        (
            "t ~ HalfStudentT(3, 1)\nz[groups] ~ Normal(0, 1)\na[groups] = m + t * z\n\
          y[obs] ~ Poisson(exp(a[g]))",
            "t",
        ),
        (
            "t ~ Normal(0, 1) truncated(0, inf)\na[groups] ~ Logistic(m, t)\n\
          y[obs] ~ Poisson(exp(a[g] + t))",
            "t",
        ),
        (
            "t ~ Cauchy(1, 2) bounded(0, inf)\na[groups] ~ Normal(m, t)\n\
          y[obs] ~ Poisson(exp(a[g]) + t)",
            "t",
        ),
        // One scale of two plates, two scales of one plate, a scale that depends on another.
        (
            "t ~ HalfNormal(1)\na[groups] ~ Normal(m, t)\nb[items] ~ Normal(0, t * t)\n\
          y[obs] ~ Poisson(exp(a[g] + b[h]))",
            "t",
        ),
        (
            "t ~ HalfNormal(1)\nl[groups] ~ HalfCauchy(1)\na[groups] ~ Normal(0, t * l)\n\
          y[obs] ~ Poisson(exp(a[g]))",
            "t l",
        ),
        (
            "w ~ HalfNormal(1)\nt ~ HalfNormal(w)\nb[items] ~ Normal(m, w)\n\
          a[groups] ~ Normal(b[i], t)\ny[obs] ~ Poisson(exp(a[g]))",
            "w t",
        ),
        // One for each element, looked up.
        (
            "t[items] ~ HalfNormal(1)\na[groups] ~ Normal(m, t[i])\ny[obs] ~ Poisson(exp(a[g]))",
            "t",
        ),
        // Effects that are integrated out.
        (
            "t ~ HalfNormal(1)\na[groups] ~ Normal(m, t)\ns ~ HalfNormal(1)\ny[obs] ~ Normal(a[g], s)",
            "t",
        ),
        (
            "t ~ HalfNormal(1)\nz[groups] ~ Normal(0, 1)\ny[obs] ~ Normal(m + t * z[g], 1 + t)",
            "t",
        ),
        // A scale by row is none of the effects'; not symmetric; not at 0; not a factor; no effects at all.
        (
            "t[items] ~ HalfNormal(1)\nz[groups] ~ Normal(0, 1)\n\
          y[obs] ~ Poisson(exp(m + t[h] * z[g]))",
            "",
        ),
        (
            "t ~ HalfNormal(1)\na[groups] ~ Gumbel(m, t)\ny[obs] ~ Poisson(exp(a[g]))",
            "",
        ),
        (
            "t ~ Gamma(2, 1)\na[groups] ~ Normal(m, t)\ny[obs] ~ Poisson(exp(a[g]))",
            "",
        ),
        (
            "t ~ LogNormal(0, 1)\na[groups] ~ Normal(m, t)\ny[obs] ~ Poisson(exp(a[g]))",
            "",
        ),
        (
            "t ~ Normal(0, 1) truncated(0, 2)\na[groups] ~ Normal(m, t)\ny[obs] ~ Poisson(exp(a[g]))",
            "",
        ),
        (
            "t ~ Normal(1, 1) truncated(0.5, inf)\na[groups] ~ Normal(m, t)\ny[obs] ~ Poisson(exp(a[g]))",
            "",
        ),
        (
            "t ~ HalfNormal(1)\na[groups] ~ Normal(m, sqrt(t))\ny[obs] ~ Poisson(exp(a[g]))",
            "",
        ),
        (
            "t ~ HalfNormal(1)\na[groups] ~ Normal(m, 1 / t)\ny[obs] ~ Poisson(exp(a[g]))",
            "",
        ),
        (
            "t ~ HalfNormal(1)\na[groups] ~ Normal(m, 1 + t)\ny[obs] ~ Poisson(exp(a[g]))",
            "",
        ),
        (
            "t ~ HalfNormal(1)\na[groups] ~ Normal(t + m, 1)\ny[obs] ~ Poisson(exp(a[g]))",
            "",
        ),
    ];
    let mut data = Dataset::new();
    data.insert_real("y", &[6], vec![1.0, 4.0, 8.0, 2.0, 9.0, 5.0]);
    data.insert_real("g", &[6], vec![0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
    data.insert_real("h", &[6], vec![0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
    data.insert_real("i", &[3], vec![0.0, 1.0, 0.0]);
    for (text, names) in cases {
        let text = format!("{head}{text}");
        let plain = joint(&text, &data);
        for rewritten in [
            plain.rewritten(Rewrites::ALL),
            plain.rewritten(Rewrites::NONE),
        ] {
            let name = |k: &usize| rewritten.parameters()[*k].name.as_str();
            let found: Vec<&str> = rewritten.scales().iter().map(name).collect();
            // Nothing is recognised where nothing may be.
            if rewritten.rewrites() == Rewrites::ALL || text.contains("a[groups] ~") {
                assert_eq!(found.join(" "), names, "{text}");
            }
            check_signs(&rewritten, &text);
        }
    }
    for (name, file, _) in EXAMPLES {
        if let Some(plain) = example_joint(name, file) {
            check_signs(&plain.rewritten(Rewrites::ALL), name);
        }
    }
}

/// A scale that may be 0 gets a sign in the warm-up, its trace says so, and a change of the sign
/// shows in nothing that is recorded.
#[test]
fn a_scale_near_0_is_sampled_with_a_sign_where_that_is_asked_for() {
    let plain = example_joint("eight-schools", "eight-schools.csv").unwrap();
    let said = |rewrites: &str| -> Vec<&'static str> {
        let outcome = sampled(&plain, rewrites.parse().unwrap());
        let tau = outcome
            .trace
            .group("posterior")
            .unwrap()
            .variable("tau")
            .unwrap();
        let fitzroy::draws::Column::Real(tau) = &tau.values else {
            panic!("tau is a number")
        };
        assert!(tau.iter().all(|t| *t > 0.0));
        assert!(outcome.findings.is_empty());
        outcome.rewrites.iter().map(|r| r.kind).collect()
    };
    let all = Rewrites::NAMES.join(",");
    assert_eq!(said(&all), ["collapse", "signed"]);
    assert_eq!(said("auto"), ["collapse"]);
    assert_eq!(said("signed"), ["signed"]);
    assert!(said("off").is_empty());
}
