//! The simulator against exact integration, and the behaviour it must reproduce.
#![allow(clippy::unwrap_used)]

use fitzroy::rng::{Purpose, Rng};
use fitzroy_stop_signal::config::{Config, DEFAULT};
use fitzroy_stop_signal::data::{Options, Row, parse};
use fitzroy_stop_signal::loglik::log_likelihood;
use fitzroy_stop_signal::model::Spec;
use fitzroy_stop_signal::params::Params;
use fitzroy_stop_signal::simulate::{Trial, outcome, simulate};

const N: u32 = 40_000;

fn typical() -> Params {
    let config = Config::parse(DEFAULT).unwrap();
    Params {
        kind: config.kind,
        values: config.population,
    }
}

/// Share of responses, share of right ones among them, their mean time.
fn simulated(ssd: f64) -> [f64; 3] {
    let mut rng = Rng::new(5, 0, 0, 0, Purpose::Test);
    let (mut n, mut right, mut time) = (0.0, 0.0, 0.0);
    for _ in 0..N {
        let (choice, rt) = outcome(&typical(), ssd, [0.05; 2], f64::INFINITY, &mut rng);
        if choice > 0 {
            n += 1.0;
            right += f64::from(u8::from(choice == 1));
            time += rt;
        }
    }
    [n / f64::from(N), right / n, time / n]
}

/// By exact integration elsewhere: SSD, P(respond), accuracy, mean signal-respond RT.
const EXACT: [[f64; 4]; 8] = [
    [0.0, 0.0882, 0.5000, 0.4287],
    [0.05, 0.1465, 0.5557, 0.3897],
    [0.10, 0.2497, 0.6098, 0.3770],
    [0.15, 0.3855, 0.6590, 0.3824],
    [0.20, 0.5286, 0.7031, 0.3949],
    [0.30, 0.7276, 0.7508, 0.4269],
    [0.40, 0.8382, 0.7918, 0.4548],
    [0.60, 0.9286, 0.8661, 0.4932],
];

/// Bound: 4 standard errors of 40,000 trials (of the responses among them). Catches: t0 added to
/// the stop time (P(respond) up by 0.2), a rate that does not move with the delay, trigger failure
/// left out.
#[test]
fn simulated_behaviour_is_that_of_exact_integration() {
    for [ssd, respond, accuracy, time] in EXACT {
        let [p, a, t] = simulated(ssd);
        let error = |p: f64, n: f64| 4.0 * (p * (1.0 - p) / n).sqrt();
        let n = f64::from(N) * respond;
        assert!(
            (p - respond).abs() < error(respond, f64::from(N)),
            "{ssd}: {p} {respond}"
        );
        assert!(
            (a - accuracy).abs() < error(accuracy, n),
            "{ssd}: {a} {accuracy}"
        );
        assert!(
            (t - time).abs() < 4.0 * 0.19 / n.sqrt(),
            "{ssd}: {t} {time}"
        );
    }
    let [p, a, t] = simulated(f64::INFINITY);
    assert!((p - 0.97).abs() < 0.004 && (a - 0.9011).abs() < 0.007 && (t - 0.5216).abs() < 0.004);
}

/// The likelihood says the same as exact integration: 1 − P(respond) to the digits printed.
#[test]
fn the_likelihood_of_no_response_agrees_too() {
    for [ssd, respond, ..] in EXACT {
        let trial = Trial {
            stimulus: 0,
            response: 0,
            rt: f64::NAN,
            ssd,
        };
        let row = Row {
            subject: 0,
            trial,
            row: 1,
        };
        let found = log_likelihood(&Spec::default(), &[row], &typical().values).unwrap();
        let respond_found = 1.0 - found.values[0].exp();
        assert!(
            (respond_found - respond).abs() < 6e-5,
            "{ssd}: {respond_found} {respond}"
        );
    }
}

/// Slow responses are the ones that get stopped: within nearly every subject those that come
/// through are faster than go responses. In 300 exact staircases 98 % of subjects; 40 of 40 or 39
/// here.
#[test]
fn signal_respond_times_lie_below_go_times_within_subjects() {
    let made = simulate(&Config::parse(DEFAULT).unwrap(), 40, 7);
    let study = parse(made.csv().as_bytes(), "simulated", &Options::default()).unwrap();
    let below = (0..40).filter(|&k| {
        let mean = |stop: bool| {
            let of = study
                .rows
                .iter()
                .filter(|r| r.subject == k && r.is_stop() == stop);
            let times: Vec<f64> = of.map(|r| r.trial.rt).filter(|t| t.is_finite()).collect();
            times.iter().sum::<f64>() / times.len() as f64
        };
        mean(true) < mean(false)
    });
    assert!(below.count() >= 38);
}
