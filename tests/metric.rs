//! `MetricKind::Auto` against scales alone, on posteriors with a narrow ridge, with and without a
//! neck beside it.
//!
//! `FITZROY_SEEDS` says how many seeds are tried (default 6, some seconds).
#![allow(clippy::unwrap_used)]

use fitzroy::data::Dataset;
use fitzroy::fit::sample::MetricKind;
use fitzroy::model::Model;
use fitzroy::run::{Caller, Outcome, Settings, bind, run};

/// A ridge of width 0.03, and five numbers without scale of their own.
const RIDGE: &str = "dim k = 5
a ~ Normal(0, 1)
b ~ Normal(a, 0.03) @ centred
x[k] ~ Normal(0, 1)
";

/// The same ridge, and five numbers whose scale has a prior: Neal's funnel.
const RIDGE_AND_NECK: &str = "dim k = 5
a ~ Normal(0, 1)
b ~ Normal(a, 0.03) @ centred
v ~ Normal(0, 2)
x[k] ~ Normal(0, exp(v / 2)) @ centred
";

fn sampled(text: &str, metric: MetricKind, seed: u64) -> Outcome {
    sampled_with(text, &Dataset::new(), metric, seed)
}

fn sampled_with(text: &str, data: &Dataset, metric: MetricKind, seed: u64) -> Outcome {
    let mut settings = Settings::default();
    settings.sampler.metric = metric;
    settings.sampler.seed = seed;
    settings.sampler.threads = 2;
    let joint = bind(&Model::parse(text).unwrap(), data, &settings).unwrap();
    run(&joint, &settings, &Caller::silent()).unwrap()
}

fn seeds() -> std::ops::Range<u64> {
    let n = std::env::var("FITZROY_SEEDS");
    1..1 + n.map_or(12, |n| n.parse().unwrap())
}

/// Of 50 seeds all passed. Catches: a limit that transients of the step size reach.
#[test]
fn a_ridge_alone_has_a_dense_metric() {
    for seed in seeds() {
        let outcome = sampled(RIDGE, MetricKind::Auto, seed);
        assert_eq!(outcome.run.metrics[0], MetricKind::Dense, "seed {seed}");
        assert_eq!(outcome.run.stricter, None, "seed {seed}");
    }
}

/// Of 40 seeds auto diverged 214 times, dense 3,425 and scales alone 46 times; what is left are runs in
/// whose warm-up nothing diverged while steps were held.
/// Catches: steps that are judged while they are being found, or not made much shorter (2,111).
#[test]
fn beside_a_neck_auto_diverges_a_fifth_as_often_as_a_dense_metric() {
    let over_all = |metric| -> usize {
        let runs = seeds().map(|seed| sampled(RIDGE_AND_NECK, metric, seed).run);
        runs.map(|run| run.n_divergences()).sum()
    };
    let [auto, dense] = [MetricKind::Auto, MetricKind::Dense].map(over_all);
    eprintln!("{auto} transitions diverged, {dense} with a dense metric");
    assert!(5 * auto < dense, "{auto} against {dense}");
}

/// Two rates along a ridge, which scales alone take ten times as many gradients for: no draw diverges, and
/// what does while a step is being found does not count. Of 40 seeds one was questioned.
#[test]
fn divergences_while_a_step_is_found_do_not_question_a_metric() {
    let text = "data t[obs], rate[obs]\nK ~ LogNormal(1, 1.5)\nV ~ LogNormal(1, 1.5)\n\
                s ~ HalfNormal(0.2)\nrate ~ LogNormal(log(V * t / (K + t)), s)";
    let mut data = Dataset::new();
    let t: Vec<f64> = (1..=15).map(|i| 0.06 * f64::from(i)).collect();
    let off = |i: usize| 0.1 * ((i * 37 % 23) as f64 / 11.0 - 1.0);
    let rate = t.iter().enumerate();
    let rate = rate
        .map(|(i, t)| 5.0 * t / (5.0 + t) * off(i).exp())
        .collect();
    data.insert_real("t", &[15], t);
    data.insert_real("rate", &[15], rate);
    let mut questioned = 0;
    for seed in seeds() {
        let outcome = sampled_with(text, &data, MetricKind::Auto, seed);
        assert_eq!(outcome.run.metrics[0], MetricKind::Dense, "seed {seed}");
        questioned += usize::from(outcome.run.stricter.is_some());
    }
    assert!(questioned <= 1, "{questioned}");
}
