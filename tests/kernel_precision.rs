//! Kernels in a lower precision, compiled as C++ and run here: their posteriors are those of f64,
//! and where f32 is not enough the run notices and goes on in f64.
//!
//! A mean must lie within [`BOUND`] combined Monte Carlo standard errors of that of the CPU in f64
//! with another seed, and a standard deviation as near. There are 500 comparisons; were errors
//! normal, chance would fail one seed in 3,500. Catches: a sum that is taken twice where f32 terms
//! are moved to f64 (a standard deviation 30 or more off), a slope without its sign.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod support;

use fitzroy::data::Dataset;
use fitzroy::diagnose::{Diagnosis, FindingKind, SummaryOptions};
use fitzroy::draws::Column;
use fitzroy::fit::sample::MetricKind;
use fitzroy::model::Model;
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::run::{Caller, Device, Outcome, Settings, bind, run};
use fitzroy_device::gpu::host::HostMachine;
use fitzroy_device::gpu::text::Precision;
use support::has_compiler;

const BOUND: f64 = 5.0;

/// The settings of a kernel with `threads` threads to a chain.
fn on_kernel(settings: &Settings, precision: Precision, threads: usize) -> Settings {
    let mut settings = settings.clone();
    settings.device = Device::machine(HostMachine::new(threads, 3));
    settings.precision = precision;
    settings
}

fn sampled(joint: &Joint, settings: &Settings) -> Outcome {
    run(joint, settings, &Caller::silent()).unwrap()
}

fn diagnosed(outcome: &Outcome) -> Diagnosis {
    outcome.diagnose(&SummaryOptions::default()).unwrap()
}

/// Every mean and standard deviation of two runs of one posterior.
#[track_caller]
fn assert_agree(one: &Outcome, other: &Outcome, what: &str) -> usize {
    let (a, b) = (diagnosed(one), diagnosed(other));
    let mut n = 0;
    for (x, y) in a.summary.rows.iter().zip(&b.summary.rows) {
        let (sx, sy) = (&x.statistics, &y.statistics);
        let mean = (sx.mean - sy.mean).abs() / sx.mcse_mean.hypot(sy.mcse_mean);
        let sd = (sx.sd - sy.sd).abs() / sx.mcse_sd.hypot(sy.mcse_sd);
        assert!(
            mean < BOUND && sd < BOUND,
            "{what}: {} {mean:.1} {sd:.1}",
            x.label()
        );
        n += 1;
    }
    n
}

#[test]
fn posteriors_in_mixed_and_in_f32_are_those_of_f64() {
    if !has_compiler() {
        return;
    }
    let mut settings = Settings::default();
    settings.sampler.tune = 300;
    settings.sampler.draws = 400;
    settings.sampler.threads = 2;
    settings.sampler.seed = 5;
    let mut compared = 0;
    for (name, file, rewrites) in [
        ("hierarchical", "hierarchical.csv", Rewrites::default()),
        ("hierarchical", "hierarchical.csv", Rewrites::NONE),
        ("logistic", "logistic.csv", Rewrites::default()),
        ("negative-binomial", "counts.csv", Rewrites::default()),
        ("mixture", "mixture.csv", Rewrites::default()),
    ] {
        let joint = support::example_joint(name, file).unwrap();
        settings.rewrites = rewrites;
        let exact = sampled(&joint, &settings);
        let mut other = settings.clone();
        other.sampler.seed = 6;
        for precision in [Precision::Mixed, Precision::F32] {
            let found = sampled(&joint, &on_kernel(&other, precision, 1));
            let what = format!("{name}, {}", precision.name());
            assert_eq!(found.precision, precision, "{what}: {:?}", found.findings);
            compared += assert_agree(&exact, &found, &what);
        }
    }
    assert!(compared > 400, "{compared}");
}

/// All real numbers of the posterior, as bits.
fn bits(outcome: &Outcome) -> Vec<u64> {
    let group = outcome.trace.group("posterior").unwrap();
    let numbers = group.variables.iter().flat_map(|v| match &v.values {
        Column::Real(x) => x.iter().map(|x| x.to_bits()).collect(),
        _ => Vec::new(),
    });
    numbers.collect()
}

/// Teams share f32 numbers through barriers of their own.
#[test]
fn a_lower_precision_gives_the_same_draws_with_one_thread_and_with_many() {
    if !has_compiler() {
        return;
    }
    let joint = support::example_joint("artists", "artists.json").unwrap();
    let mut settings = Settings {
        rewrites: Rewrites::NONE,
        ..Settings::default()
    };
    settings.sampler.chains = 2;
    settings.sampler.tune = 10;
    settings.sampler.draws = 2;
    settings.sampler.max_treedepth = 4;
    for (metric, precision, threads) in [
        (MetricKind::Diagonal, Precision::Mixed, 64),
        (MetricKind::Dense, Precision::F32, 32),
    ] {
        settings.sampler.metric = metric;
        let alone = sampled(&joint, &on_kernel(&settings, precision, 1));
        let team = sampled(&joint, &on_kernel(&settings, precision, threads));
        assert_eq!(
            bits(&alone),
            bits(&team),
            "{precision:?}, {threads} threads"
        );
    }
}

/// Numbers around 100,000 that differ in the thousandths: f32 has no digits left for them.
#[test]
fn where_f32_is_not_enough_the_run_goes_on_in_f64_and_says_so() {
    if !has_compiler() {
        return;
    }
    let text = "data y[obs]\n mu ~ Normal(100000, 1)\n sigma ~ HalfNormal(0.1)\n\
                y[obs] ~ Normal(mu, sigma)";
    let mut data = Dataset::new();
    let y: Vec<f64> = (0..200)
        .map(|i| 1e5 + 0.01 * f64::from(i * 37 % 101 - 50) / 50.0)
        .collect();
    data.insert_real("y", &[200], y);
    let mut settings = Settings {
        rewrites: Rewrites::NONE,
        ..Settings::default()
    };
    // Chains start 250 million posterior standard deviations away.
    settings.sampler.tune = 1000;
    settings.sampler.draws = 300;
    let joint = bind(&Model::parse(text).unwrap(), &data, &settings).unwrap();
    let exact = sampled(&joint, &settings);
    settings.sampler.seed = 9;
    for precision in [Precision::Mixed, Precision::F32] {
        let found = sampled(&joint, &on_kernel(&settings, precision, 1));
        assert_eq!(found.precision, Precision::F64, "{precision:?}");
        let finding = found
            .findings
            .iter()
            .find(|f| f.kind == FindingKind::PrecisionRaised);
        let said = finding.unwrap().to_string();
        assert!(
            said.contains(precision.name()) && said.contains("nats"),
            "{said}"
        );
        assert_agree(&exact, &found, precision.name());
    }
}
