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
    let mut settings = Settings::default();
    settings.sampler.metric = metric;
    settings.sampler.seed = seed;
    settings.sampler.threads = 2;
    let joint = bind(&Model::parse(text).unwrap(), &Dataset::new(), &settings).unwrap();
    run(&joint, &settings, &Caller::silent()).unwrap()
}

fn seeds() -> std::ops::Range<u64> {
    let n = std::env::var("FITZROY_SEEDS");
    1..1 + n.map_or(6, |n| n.parse().unwrap())
}

/// Of 50 seeds all passed. Catches: a limit that transients of the step size reach.
#[test]
fn a_ridge_alone_has_a_dense_metric() {
    for seed in seeds() {
        let outcome = sampled(RIDGE, MetricKind::Auto, seed);
        assert_eq!(outcome.run.metrics[0], MetricKind::Dense, "seed {seed}");
    }
}

/// Bound: over 20 seeds a dense metric diverges in 2 % of the transitions and scales alone in 0.03 %.
/// A neck that no chain enters during the last windows is not seen, so auto is not quite as good
/// as scales alone; half of the dense one's share is not reached. Catches: no trial, one that is
/// decided by chance.
#[test]
fn beside_a_neck_the_metric_diverges_far_less_than_a_dense_one() {
    let over_all = |metric: MetricKind| -> usize {
        let all = seeds().map(|seed| sampled(RIDGE_AND_NECK, metric, seed));
        all.map(|outcome| outcome.run.n_divergences()).sum()
    };
    let [auto, scales, dense] =
        [MetricKind::Auto, MetricKind::Diagonal, MetricKind::Dense].map(over_all);
    eprintln!("auto {auto}, scales {scales}, dense {dense}");
    assert!(2 * auto <= dense, "{auto} against {dense}");
    assert!(scales <= dense, "{scales} against {dense}");
}
