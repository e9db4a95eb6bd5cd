//! The ex-Gaussian race of a study: its simulator against its likelihood, and a known population
//! found again.
#![allow(clippy::unwrap_used)]

use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::draws::Trace;
use fitzroy::fit::sample::Init;
use fitzroy::model::Model;
use fitzroy::model::joint::Rewrites;
use fitzroy::rng::{Purpose, Rng};
use fitzroy::run::{Caller, Settings, bind, run};
use fitzroy_stop_signal::check::{State, recovery};
use fitzroy_stop_signal::config::{Config, default_of};
use fitzroy_stop_signal::data::{Options, Row, parse};
use fitzroy_stop_signal::loglik::log_likelihood;
use fitzroy_stop_signal::model::{Kind, Spec};
use fitzroy_stop_signal::params::Params;
use fitzroy_stop_signal::simulate::{Trial, outcome, simulate};
use fitzroy_stop_signal::start::{points, suit};

const RACES: [Kind; 2] = [Kind::ExGaussian, Kind::ExGaussianSingle];

fn row(response: u8, rt: f64, ssd: f64) -> Row {
    let trial = Trial {
        stimulus: 0,
        response,
        rt,
        ssd,
    };
    Row {
        subject: 0,
        trial,
        row: 1,
    }
}

/// Probabilities of no response and of the right one by the likelihood, the latter by Simpson's rule
/// over rt.
fn exact(spec: &Spec, p: &Params, ssd: f64, end: f64) -> [f64; 2] {
    let n = 3000;
    let step = (end - spec.go_lb) / f64::from(n);
    let times = (0..=n).map(|k| spec.go_lb + step * f64::from(k) + 1e-12);
    let rows: Vec<Row> = times.map(|t| row(1, t.min(end), ssd)).collect();
    let found = log_likelihood(spec, &rows, &p.values).unwrap().values;
    let weight = |k: usize| match k {
        0 => 1.0,
        k if k == n as usize => 1.0,
        k => 2.0 + 2.0 * (k % 2) as f64,
    };
    let right = found.iter().enumerate();
    let right: f64 = right.map(|(k, l)| weight(k) * l.exp()).sum();
    let none = log_likelihood(spec, &[row(0, f64::NAN, ssd)], &p.values).unwrap();
    [none.values[0].exp(), right * step / 3.0]
}

/// Shares of 20,000 simulated trials at random parameters against the likelihood, with a deadline and
/// without. Bound: 4.5 standard errors; 48 comparisons, so that chance fails one seed in 3,000.
///
/// Catches: a runner that is drawn from other parameters than the likelihood has, a lower end that one
/// of them lacks, trigger failure left out.
#[test]
fn simulated_shares_are_those_of_the_likelihood() {
    let n = 20_000;
    let mut rng = Rng::new(8, 0, 0, 0, Purpose::Test);
    for case in 0..24 {
        let config = Config::parse(default_of(RACES[case % 2])).unwrap();
        let values = config.kind.parameters().iter().zip(&config.population);
        let values = values.map(|(p, x)| p.unscaled(p.scaled(*x) + 0.3 * rng.normal()));
        let p = Params {
            kind: config.kind,
            values: values.collect(),
        };
        let ssd = [f64::INFINITY, 0.1, 0.3][case % 3];
        let mut spec = config.spec();
        (spec.stop_lb, spec.go_lb) = (0.15, 0.2);
        let end = if case % 4 < 2 { 0.9 } else { 6.0 };
        spec.deadline = if case % 4 < 2 { end } else { f64::INFINITY };
        let mut seen = [0.0; 2];
        for _ in 0..n {
            let ends = [spec.stop_lb, spec.go_lb];
            let (choice, _) = outcome(&p, ssd, ends, spec.deadline, &mut rng);
            if choice < 2 {
                seen[usize::from(choice)] += 1.0 / f64::from(n);
            }
        }
        for (found, wanted) in seen.into_iter().zip(exact(&spec, &p, ssd, end)) {
            let error = (wanted * (1.0 - wanted) / f64::from(n)).sqrt();
            assert!(
                (found - wanted).abs() < 4.5 * error,
                "{}, ssd {ssd}: {found} {wanted} ± {error}",
                config.kind.name()
            );
        }
    }
}

fn fit(spec: &Spec, csv: &str) -> (Trace, Diagnosis) {
    let study = parse(csv.as_bytes(), "simulated", &Options::default()).unwrap();
    let mut settings = Settings {
        rewrites: Rewrites::NONE,
        ..Settings::default()
    };
    let sampler = &mut settings.sampler;
    (sampler.chains, sampler.tune, sampler.draws) = (2, 300, 300);
    (sampler.threads, sampler.seed) = (2, 5);
    suit(spec, sampler);
    let model = Model::parse(&spec.text()).unwrap();
    let joint = bind(&model, &spec.data(&study), &settings).unwrap();
    let starts = points(spec, &study, &joint, &study.subjects, 2, 5);
    settings.sampler.init = Init::Points(starts);
    let outcome = run(&joint, &settings, &Caller::silent()).unwrap();
    let found = outcome.diagnose(&SummaryOptions::default()).unwrap();
    (outcome.trace, found)
}

/// Eight children each. Bounds: those of the checks; of some ten medians of the population in 89 %
/// intervals two may miss, and the children's values are in 90 % intervals as often as these say, with
/// 4 standard errors.
#[test]
fn a_known_population_is_found_again() {
    for kind in RACES {
        let config = Config::parse(default_of(kind)).unwrap();
        let made = simulate(&config, 8, 2);
        let (trace, found) = fit(&config.spec(), &made.csv());
        assert!(found.max_r_hat < 1.1, "{}", found.max_r_hat);
        let checks = recovery(&trace, kind, &made.truth(&config, 2)).unwrap();
        assert_eq!(checks.len(), kind.parameters().len() + 1);
        let missed: Vec<_> = checks.iter().filter(|c| c.state != State::Pass).collect();
        assert!(missed.len() <= 2, "{}: {missed:#?}", kind.name());
        assert_eq!(checks.last().unwrap().state, State::Pass, "{checks:#?}");
    }
}

/// One go time has no word on which key it presses: responses of both are one outcome.
#[test]
fn right_and_wrong_responses_are_one_to_a_single_go_time() {
    let spec = Spec::new(Kind::ExGaussianSingle);
    let (right, wrong) = (row(1, 0.5, 0.2), row(2, 0.5, 0.2));
    assert_eq!((spec.outcome(&right), spec.outcome(&wrong)), (1, 1));
    let p = Config::parse(default_of(spec.kind)).unwrap().population;
    let found = log_likelihood(&spec, &[right, wrong], &p).unwrap().values;
    assert_eq!(found[0], found[1]);
}
