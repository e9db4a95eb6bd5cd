//! Known targets, lengths that are learned, and runs that stop, fail or use other threads.

use super::super::targets::Known;
use super::super::tests::check_moments;
use super::super::{Adapt, Run, Settings, Silent, sample};
use super::*;
use std::sync::atomic::AtomicBool;

const BOTH: [Sampler; 2] = [Sampler::Mams, Sampler::Chees];

fn settings(sampler: Sampler) -> Settings {
    Settings {
        tune: 400,
        draws: 500,
        sampler,
        ..Settings::default()
    }
}

fn run(target: &Known, settings: &Settings) -> Run {
    let stop = AtomicBool::new(false);
    sample(&mut target.clone(), settings, &Silent, &stop).expect("it starts")
}

/// Bound: 5 standard errors, 4 draws counted as one. Catches: an acceptance without the energy of
/// kicks, a proposal that is taken whatever its acceptance.
#[test]
fn known_targets_keep_their_moments() {
    for sampler in BOTH {
        let settings = settings(sampler);
        for condition in [1.0, 100.0, 1e4] {
            check_moments(&Known::normal(5, condition, true), &settings, 4.0, 5.0);
        }
        check_moments(&Known::normal(1, 1.0, false), &settings, 4.0, 5.0);
        check_moments(&Known::normal(2, 1.0, false), &settings, 4.0, 5.0);
        check_moments(&Known::StudentT { dim: 4 }, &settings, 6.0, 5.0);
        let longer = Settings {
            draws: 1000,
            target_accept: 0.9,
            ..settings.clone()
        };
        check_moments(&Known::Funnel { dim: 4 }, &longer, 10.0, 5.0);
    }
}

/// Where about half of all flights are refused, acceptance carries the result. Bound: 5 standard
/// errors, 8 draws counted as one. Catches: kicks that turn too far, energies without their share.
#[test]
fn coarse_flights_are_still_exact() {
    for sampler in BOTH {
        let settings = Settings {
            target_accept: 0.5,
            draws: 2000,
            ..settings(sampler)
        };
        check_moments(&Known::normal(3, 4.0, false), &settings, 8.0, 5.0);
    }
}

/// A normal with two directions a hundred times as wide as the rest under a metric that does not
/// know: flights must become several times longer than at the start. Bound: twice. Catches: a slope
/// of the criterion with its sign turned round.
#[test]
fn flights_grow_where_the_metric_is_short() {
    let wide = Known::Waves {
        dim: 40,
        count: 2,
        sd: 10.0,
    };
    for sampler in BOTH {
        let settings = Settings {
            tune: 1000,
            draws: 50,
            metric: super::super::MetricKind::Diagonal,
            ..settings(sampler)
        };
        let run = run(&wide, &settings);
        let time = run.mean_steps() * run.step_sizes[0];
        assert!(time > std::f64::consts::PI, "{sampler:?}: {time}");
    }
}

/// Exact. Catches: sums of slopes in order of arrival, one chain's random numbers for all.
#[test]
fn threads_and_other_chains_do_not_change_flights() {
    for sampler in BOTH {
        let draws = |threads, chains, first_chain, adapt| {
            let settings = Settings {
                threads,
                chains,
                first_chain,
                adapt,
                tune: 150,
                draws: 60,
                ..settings(sampler)
            };
            run(&Known::normal(4, 100.0, true), &settings).chains
        };
        assert!(draws(1, 4, 0, Adapt::Pooled) == draws(3, 4, 0, Adapt::Pooled));
        assert!(draws(1, 4, 0, Adapt::PerChain)[2..] == draws(1, 2, 2, Adapt::PerChain)[..]);
    }
}

/// Without any warm-up, with one that is too short for windows, and where the density ends.
#[test]
fn flights_are_made_without_a_warmup_and_stop_at_a_cliff() {
    for sampler in BOTH {
        for tune in [0, 3, 30] {
            let short = Settings {
                tune,
                draws: 200,
                ..settings(sampler)
            };
            let run = run(&Known::normal(2, 1.0, false), &short);
            assert!(
                run.chains
                    .iter()
                    .all(|c| c.positions[0] != c.positions[2 * 199])
            );
        }
        let run = run(&Known::Cliff { dim: 3 }, &settings(sampler));
        assert!(run.n_divergences() > 0 && run.n_divergences() == run.n_nonfinite());
        let inside = |c: &super::super::Draws| c.positions.iter().step_by(3).all(|x| *x <= 1.0);
        assert!(run.chains.iter().all(inside));
    }
}

#[test]
fn steps_fill_the_time_evenly_and_never_stay_or_exceed_the_limit() {
    let flights = Flights::new(Dynamics::Hamiltonian, 2);
    let steps: Vec<u32> = (0..1024).map(|i| flights.n_steps(i, 0.1, 1023).0).collect();
    // Twice a quarter of a period, in steps of a tenth.
    assert!(steps.iter().all(|&n| (1..=32).contains(&n)));
    let mean = steps.iter().sum::<u32>() as f64 / 1024.0;
    assert!((mean - 16.2).abs() < 0.1, "{mean}");
    assert_eq!(flights.n_steps(1023, 1e-6, 1023), (1023, true));
    let again = Length::from_numbers(flights.length.numbers());
    assert_eq!(again, flights.length);
}
