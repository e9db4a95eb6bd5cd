//! Whole runs with missing values, read from files, against a posterior that is known in closed form.
//!
//! m ~ Normal(0, 1), xᵢ ~ Normal(m, 1), yᵢ ~ Normal(2 xᵢ, 1/2) is jointly normal. Of m, rows with
//! a known x say what x says (precision 1), rows with y alone what y says (mean 2 m, variance 4 +
//! 1/4). Given m, a missing x with a known y has precision 1 + 16 and mean (m + 8 y)/17.
//!
//! Bound: 5 Monte Carlo standard errors of 24 estimates for each of three ways to sample; seeds are
//! fixed. Catches: a missing value without its prior or without the term it stands in, a value put
//! in another row.
#![allow(clippy::unwrap_used)]

use fitzroy::data::{Dataset, read_file};
use fitzroy::diagnose::{Chains, Mcse, mcse, mean, sd};
use fitzroy::draws::{Column, Labels, Variable};
use fitzroy::model::Model;
use fitzroy::model::joint::Rewrites;
use fitzroy::run::{Caller, CoordinateChoice, Outcome, Settings, bind, run};
use std::path::Path;

const MODEL: &str = "data x[obs], y[obs]
    m ~ Normal(0, 1)
    x ~ Normal(m, 1)
    y ~ Normal(2 * x, 0.5)";

/// Row 1 lacks x, row 2 lacks y, row 3 lacks both.
const CSV: &str = "x,y\n0.4,1.1\n,2.5\n-0.3,NA\nNaN,\n1.2,2.2\n";
const JSON: &str = r#"{"x": [0.4, null, -0.3, "NaN", 1.2], "y": [1.1, 2.5, null, null, 2.2]}"#;

fn sampled(text: &str, file: &str, content: &str, settings: &Settings) -> Outcome {
    ran(text, file, content, settings).unwrap()
}

fn ran(text: &str, file: &str, content: &str, settings: &Settings) -> fitzroy::Result<Outcome> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    std::fs::write(&path, content).unwrap();
    let mut data = Dataset::new();
    read_file(&path)
        .unwrap()
        .into_iter()
        .for_each(|a| data.insert(a));
    let joint = bind(&Model::parse(text).unwrap(), &data, settings).unwrap();
    run(&joint, settings, &Caller::silent())
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.sampler.draws = 2000;
    settings.sampler.threads = 2;
    settings
}

fn variable<'a>(outcome: &'a Outcome, group: &str, name: &str) -> &'a Variable {
    let group = outcome.trace.group(group).unwrap();
    group.variables.iter().find(|v| v.name == name).unwrap()
}

fn reals(variable: &Variable) -> &[f64] {
    match &variable.values {
        Column::Real(values) => values,
        _ => panic!("real numbers"),
    }
}

/// Mean and standard deviation of every element of `name`.
#[track_caller]
fn check(outcome: &Outcome, name: &str, expected: &[[f64; 2]]) {
    let found = variable(outcome, "posterior", name);
    let values = reals(found);
    assert_eq!(
        values.len(),
        found.shape[0] * found.shape[1] * expected.len()
    );
    for (k, &[m, s]) in expected.iter().enumerate() {
        let own = values.iter().skip(k).step_by(expected.len());
        let own: Vec<f64> = own.copied().collect();
        let error = |kind| mcse(Chains::new(&own, found.shape[0], found.shape[1]), kind);
        for (got, wanted, error) in [
            (mean(&own), m, error(Mcse::Mean)),
            (sd(&own), s, error(Mcse::Sd)),
        ] {
            let z = (got - wanted) / error;
            assert!(
                z.abs() < 5.0,
                "{name}[{k}]: {got}, expected {wanted}, {z} errors off"
            );
        }
    }
}

#[test]
fn the_posterior_of_missing_values_is_that_of_the_formula() {
    // Known x: 0.4, −0.3, 1.2; known y of a missing x: 2.5.
    let precision = 1.0 + 3.0 + 4.0 / 4.25;
    let m = (0.4 - 0.3 + 1.2 + 2.0 * 2.5 / 4.25) / precision;
    let v: f64 = 1.0 / precision;
    let x = [
        [
            (m + 8.0 * 2.5) / 17.0,
            (1.0 / 17.0 + v / 17.0f64.powi(2)).sqrt(),
        ],
        [m, (1.0 + v).sqrt()],
    ];
    let y = [[-0.6, 0.5], [2.0 * m, (4.0 * (1.0 + v) + 0.25).sqrt()]];
    let as_written = Settings {
        rewrites: Rewrites::NONE,
        coordinates: CoordinateChoice::AsWritten,
        ..settings()
    };
    let unwritten = Settings {
        rewrites: Rewrites::NONE,
        ..settings()
    };
    for (file, content, settings) in [
        ("missing-1.csv", CSV, settings()),
        ("missing-2.json", JSON, unwritten),
        ("missing-3.csv", CSV, as_written),
    ] {
        let outcome = sampled(MODEL, file, content, &settings);
        check(&outcome, "m", &[[m, v.sqrt()]]);
        check(&outcome, "x_missing", &x);
        check(&outcome, "y_missing", &y);
    }
}

#[test]
fn the_trace_says_where_values_were_missing() {
    let mut settings = settings();
    settings.sampler.draws = 50;
    settings.predictive = true;
    settings.log_likelihood = true;
    let text = format!("{MODEL}\ndim obs = [\"a\", \"b\", \"c\", \"d\", \"e\"]");
    let outcome = sampled(&text, "missing-4.csv", CSV, &settings);
    let labels = |dim: &str| match &outcome.trace.coords[dim] {
        Labels::Text(v) => v.join(" "),
        Labels::Integers(v) => format!("{v:?}"),
    };
    assert_eq!(labels("x_missing_at"), "b d");
    assert_eq!(labels("x_observed_at"), "a c e");
    assert_eq!(labels("y_missing_at"), "c d");
    for group in ["log_likelihood", "posterior_predictive"] {
        let x = variable(&outcome, group, "x");
        assert_eq!(x.dims[2..], ["x_observed_at"], "{group}");
    }
    let seen = variable(&outcome, "observed_data", "y");
    assert_eq!(seen.dims, ["y_observed_at"]);
    assert_eq!(reals(seen), [1.1, 2.5, 2.2]);
    let whole = variable(&outcome, "constant_data", "y");
    assert_eq!(whole.dims, ["obs"]);
    let gone: Vec<bool> = reals(whole).iter().map(|v| v.is_nan()).collect();
    assert_eq!(gone, [false, false, true, true, false]);
}

/// p ~ Beta(2, 2), xᵢ ~ Bernoulli(p), yᵢ ~ Normal(2 xᵢ, 1), kᵢ ~ Poisson(3): one x and two counts are
/// missing. Known x: 1, 0; with x = 1 in the gap p has a Beta(4, 3), with 0 a Beta(3, 4).
#[test]
fn missing_whole_numbers_are_summed_out_and_drawn() {
    let text = "data x[obs]: int, y[obs], k[obs]: int
        p ~ Beta(2, 2)
        x ~ Bernoulli(p)
        y ~ Normal(2 * x, 1)
        k ~ Poisson(3)";
    let csv = "x,y,k\n1,1.4,\nNA,1.2,2\n0,-0.3,\n";
    let outcome = sampled(text, "missing-7.csv", csv, &settings());
    let likelihood = |x: f64| (-0.5 * (1.2 - 2.0 * x).powi(2)).exp();
    let share = likelihood(1.0) / (likelihood(0.0) + likelihood(1.0));
    let mean_of_p = share * 4.0 / 7.0 + (1.0 - share) * 3.0 / 7.0;
    let within = 12.0 / 7.0 / 7.0 / 8.0;
    let square = within + share * (4.0f64 / 7.0).powi(2) + (1.0 - share) * (3.0f64 / 7.0).powi(2);
    check(
        &outcome,
        "p",
        &[[mean_of_p, (square - mean_of_p * mean_of_p).sqrt()]],
    );
    let whole = |name: &str| {
        let found = variable(&outcome, "posterior", name);
        let Column::Integer(values) = &found.values else {
            panic!("{name} holds whole numbers")
        };
        let per_draw = values.len() / 8000;
        let n = values.len() as f64;
        (per_draw, values.iter().sum::<i64>() as f64 / n, n)
    };
    let (gaps, got, n) = whole("x_missing");
    assert_eq!(gaps, 1);
    // Draws are independent given p, which barely moves their share: 6 errors leave room for that.
    let error = (share * (1.0 - share) / n).sqrt();
    assert!((got - share).abs() < 6.0 * error, "{got} for {share}");
    let (gaps, got, n) = whole("k_missing");
    assert_eq!(gaps, 2);
    assert!((got - 3.0).abs() < 5.0 * (3.0 / n).sqrt(), "{got} for 3");
}

#[test]
fn draws_of_the_prior_hold_the_missing_values() {
    let mut settings = settings();
    settings.prior_only = true;
    let outcome = sampled(MODEL, "missing-5.json", JSON, &settings);
    let found = variable_in_prior(&outcome, "x_missing");
    let s = sd(reals(found));
    // Var x = Var m + 1 = 2; some thousand effective draws know an sd to 2 %.
    assert!((s - 2f64.sqrt()).abs() < 0.1, "{s}");
    let text = MODEL.replace("x ~ Normal(m, 1)", "x ~ Flat()");
    let error = ran(&text, "missing-6.json", JSON, &settings).err().unwrap();
    assert_eq!(
        error.to_string(),
        "`x_missing` has the improper prior Flat(), so there is no prior to draw from; give it a \
         proper one"
    );
}

fn variable_in_prior<'a>(outcome: &'a Outcome, name: &str) -> &'a Variable {
    variable(outcome, outcome.group, name)
}

/// Catches: a division by the number of coordinates before the settings are checked.
#[test]
fn data_without_gaps_and_parameters_leave_nothing_to_sample() {
    let text = "data y[obs]\ny ~ Normal(0, 1)";
    let error = ran(text, "whole.csv", "y\n0.5\n1.5\n", &settings())
        .err()
        .unwrap();
    assert!(error.to_string().contains("nothing to sample"), "{error}");
    let known = ran(text, "gap.csv", "y\n0.5\nNA\n", &settings()).unwrap();
    assert_eq!(
        reals(variable(&known, "posterior", "y_missing")).len(),
        4 * 2000
    );
}
