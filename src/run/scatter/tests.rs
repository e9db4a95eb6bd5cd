//! Intervals of starts, against the modes and curvatures that formulas give.

use super::*;
use crate::data::Dataset;
use crate::draws::Column;
use crate::model::Model;
use crate::model::joint::{Chosen, Coordinates};
use crate::run::compiled::Terms;
use crate::run::tests::short;
use crate::run::{Caller, bind, run};
use fitzroy_device::cpu::Engine;

/// The intervals of a model without data, with plates as written.
fn intervals(text: &str) -> Vec<Scatter> {
    let model = Model::parse(text).unwrap();
    let joint = bind(&model, &Dataset::new(), &short()).unwrap();
    let written = vec![Coordinates::Centred; joint.plates().len()];
    let chosen = Chosen::from(&written[..]);
    let compiled = Compiled::new(&joint, &chosen, Terms::All, Engine::Interpreter).unwrap();
    scatter(&joint, &compiled)
}

/// Asserts that the only interval of `prior` is around the mode of its coordinate.
fn moved(prior: &str, mode: f64, sd: f64) {
    let found = intervals(&format!("x ~ {prior}\n"));
    let [Scatter { centre, half_width }] = found[..] else {
        panic!("{prior}: {found:?}")
    };
    assert!(
        (centre - mode).abs() < 0.2 * sd,
        "{prior}: {centre} for {mode}"
    );
    let ratio = half_width / sd.min(1.0);
    assert!(
        (0.8..1.2).contains(&ratio),
        "{prior}: {half_width} for {sd}"
    );
}

/// Mode and standard deviation in x or ln x. Catches: starts where the prior has no mass.
#[test]
fn a_prior_far_from_0_moves_the_starts() {
    moved("Normal(1e6, 1e-3)", 1e6, 1e-3);
    moved("Normal(2455000, 0.5)", 2_455_000.0, 0.5);
    moved("Normal(-3e5, 1e4)", -3e5, 1e4);
    moved("Normal(0, 1e-3)", 0.0, 1e-3);
    moved("Normal(5e-7, 1e-9)", 5e-7, 1e-9);
    moved("StudentT(4, 1e6, 0.1)", 1e6, 0.1 * (4.0f64 / 5.0).sqrt());
    moved("Logistic(-1e5, 2)", -1e5, 2.0 * 2f64.sqrt());
    moved("LogNormal(30, 0.1)", 30.0, 0.1);
    moved("Gamma(1e6, 1)", 1e6f64.ln(), 1e-3);
    moved("Exponential(1e-30)", 1e30f64.ln(), 1.0);
    moved("Cauchy(1e6, 2)", 1e6, 2f64.sqrt());
    moved(
        "Beta(1e6, 1e3)",
        1e3f64.ln(),
        (1e6f64 + 1e3).sqrt() / 1e9f64.sqrt(),
    );
    moved("Normal(1e6, 1) truncated(0, inf)", 1e6f64.ln(), 1e-6);
}

/// Exact. Catches: starts that move without need, or to the ends of priors that are vague.
#[test]
fn other_priors_leave_the_starts_within_1_of_0() {
    for prior in [
        "Normal(0, 1)",
        "Normal(5, 1)",
        "Normal(0, 1e6)",
        "Normal(1000, 1000)",
        "Cauchy(0, 25)",
        "HalfCauchy(25)",
        "HalfNormal(1e6)",
        "Gamma(0.001, 0.001)",
        "InverseGamma(0.001, 0.001)",
        "Exponential(1)",
        "Exponential(1e-6)",
        "Uniform(1e6, 1e6 + 1)",
        "Uniform(0, 1e9)",
        "Beta(0.5, 0.5)",
        "VonMises(3, 2)",
    ] {
        let found = intervals(&format!("x ~ {prior}\n"));
        assert_eq!(found, [Scatter::default()], "{prior}");
    }
}

/// Formulas. Catches: elements that move together, children that ignore where their parent is, and
/// walks, whose steps depend on each other, taken for independent.
#[test]
fn every_element_has_its_own_interval_given_its_parents() {
    let text = "mu ~ Normal(1e6, 10)\ntau ~ HalfNormal(1)\ndim n = 3\nx[n] ~ Normal(mu, tau)\n";
    let found = intervals(text);
    assert_eq!(found.len(), 5);
    assert!((found[0].centre - 1e6).abs() < 2.0);
    assert_eq!(found[1], Scatter::default());
    for s in &found[2..] {
        assert!(
            (s.centre - found[0].centre).abs() < 0.5 && s.half_width == 1.0,
            "{s:?}"
        );
    }
}

/// Exact. Catches: a walk, whose elements depend on each other, taken for independent.
#[test]
fn a_walk_starts_within_1_of_0() {
    let text = "dim time = 30\nlevel[time] ~ Normal(lag(level, 1e6), 1)\n";
    assert_eq!(intervals(text), [Scatter::default(); 30]);
}

/// The time of a dip, to four of its errors, 0.7 · 0.1/√(Σ slope²) < 0.03. Catches: chains that
/// start where the curve is 0 at every time of the data, and never find it.
#[test]
fn the_time_of_an_event_is_found_among_julian_dates() {
    let text = "data t[obs], y[obs]\nt0 ~ Normal(2455004, 0.5)\nw ~ HalfNormal(1)\n\
                depth ~ HalfNormal(5)\ny ~ Normal(depth * exp(-0.5 * ((t - t0) / w)^2), 0.1)\n";
    let mut rng = Rng::new(1, 0, 0, 0, Purpose::Test);
    let times: Vec<f64> = (0..60).map(|i| 2_455_000.0 + f64::from(i) / 6.0).collect();
    let dip = |t: f64| 3.0 * (-0.5 * ((t - 2_455_004.3) / 0.7).powi(2)).exp();
    let seen: Vec<f64> = times.iter().map(|t| dip(*t) + 0.1 * rng.normal()).collect();
    let mut data = Dataset::new();
    data.insert_real("t", &[60], times);
    data.insert_real("y", &[60], seen);
    let settings = short();
    let joint = bind(&Model::parse(text).unwrap(), &data, &settings).unwrap();
    let outcome = run(&joint, &settings, &Caller::silent()).unwrap();
    let posterior = outcome.trace.group("posterior").unwrap();
    let t0 = posterior.variables.iter().find(|v| v.name == "t0").unwrap();
    let Column::Real(numbers) = &t0.values else {
        panic!("t0 is a number")
    };
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    assert!((mean - 2_455_004.3).abs() < 0.12, "{mean}");
}
