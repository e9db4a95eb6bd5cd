//! One posterior, however it is sampled: metrics, coordinates, and kernels in f32.
//!
//! Means and standard deviations of two runs with other seeds must lie within [`BOUND`] combined
//! Monte Carlo standard errors. There are some 200 comparisons; were errors normal, chance would
//! fail one seed in 8,000.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::fit::sample::{Init, MetricKind};
use fitzroy::model::Model;
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::run::{Caller, Device, Settings, bind, run};
use fitzroy_device::gpu::host::{HostLibrary, HostMachine};
use fitzroy_device::gpu::text::Precision;
use fitzroy_stop_signal::config::{Config, DEFAULT};
use fitzroy_stop_signal::data::{Options, Study, parse};
use fitzroy_stop_signal::model::{Pooling, Spec};
use fitzroy_stop_signal::simulate::simulate;
use fitzroy_stop_signal::start::{points, suit};

const BOUND: f64 = 5.0;

fn study(n: usize) -> Study {
    let csv = simulate(&Config::parse(DEFAULT).unwrap(), n, 4).csv();
    parse(csv.as_bytes(), "simulated", &Options::default()).unwrap()
}

/// Two chains of 300 + 400 draws that start where a fit does.
fn settings(seed: u64) -> Settings {
    let mut settings = Settings {
        rewrites: Rewrites::NONE,
        ..Settings::default()
    };
    let sampler = &mut settings.sampler;
    (sampler.chains, sampler.tune, sampler.draws) = (2, 300, 400);
    (sampler.threads, sampler.seed) = (2, seed);
    settings
}

fn fit(spec: &Spec, study: &Study, settings: &Settings) -> Diagnosis {
    let mut settings = settings.clone();
    let joint: Joint = bind(
        &Model::parse(&spec.text()).unwrap(),
        &spec.data(study),
        &settings,
    )
    .unwrap();
    let seed = settings.sampler.seed;
    let starts = points(spec, study, &joint, &study.subjects, 2, seed);
    settings.sampler.init = Init::Points(starts);
    let outcome = run(&joint, &settings, &Caller::silent()).unwrap();
    assert_eq!(outcome.precision, settings.precision);
    outcome.diagnose(&SummaryOptions::default()).unwrap()
}

#[track_caller]
fn assert_agree(one: &Diagnosis, other: &Diagnosis, what: &str) {
    let mut compared = 0;
    for x in &one.summary.rows {
        let named = |y: &&fitzroy::diagnose::Row| y.label() == x.label();
        let Some(y) = other.summary.rows.iter().find(named) else {
            continue;
        };
        let (a, b) = (&x.statistics, &y.statistics);
        let mean = (a.mean - b.mean).abs() / a.mcse_mean.hypot(b.mcse_mean);
        let sd = (a.sd - b.sd).abs() / a.mcse_sd.hypot(b.mcse_sd);
        assert!(
            mean < BOUND && sd < BOUND,
            "{what}: {} {mean:.1} {sd:.1}",
            x.label()
        );
        compared += 1;
    }
    assert!(compared > 20, "{what}: {compared}");
}

/// Catches: a metric whose momentum has another covariance, a Jacobian left out of a change of
/// coordinates, a short trajectory that is not weighted as it should.
#[test]
fn metrics_and_coordinates_do_not_change_the_posterior() {
    let study = study(3);
    let mut own = settings(1);
    suit(&Spec::default(), &mut own.sampler);
    assert_eq!(own.sampler.metric, MetricKind::Blocks);
    let usual = fit(&Spec::default(), &study, &own);
    let mut plain = settings(2);
    plain.sampler.metric = MetricKind::Diagonal;
    let all = Spec::default().names();
    let names = |which: &[&str]| which.iter().map(ToString::to_string).collect();
    let mixed = Spec {
        noncentred: names(&all[..5]),
        centred: names(&["pgf", "ptf"]),
        ..Spec::default()
    };
    assert_agree(
        &usual,
        &fit(&mixed, &study, &plain),
        "diagonal, non-centred",
    );
}

/// The kernel for a GPU, compiled as C++ and run here. Catches: a formula that loses its digits in
/// f32, such as the slope in stop_sigma taken from its value.
#[test]
fn the_posterior_in_f32_is_that_of_f64() {
    let found = HostLibrary::has_compiler();
    assert!(
        found || std::env::var_os("FITZROY_REQUIRE_GXX").is_none(),
        "FITZROY_REQUIRE_GXX is set and there is no g++"
    );
    if !found {
        eprintln!("skipped: there is no g++");
        return;
    }
    let spec = Spec {
        pooling: Pooling::None,
        ..Spec::default()
    };
    let study = study(2);
    let mut exact = settings(3);
    suit(&spec, &mut exact.sampler);
    let mut single = exact.clone();
    single.sampler.seed = 4;
    single.device = Device::machine(HostMachine::new(1, 3));
    single.precision = Precision::F32;
    let exact = fit(&spec, &study, &exact);
    assert_agree(&exact, &fit(&spec, &study, &single), "f32");
}
