//! Whole runs: exact moments, seeds, and what may go wrong.

use super::targets::Known;
use super::*;
use crate::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn run(posterior: &Known, settings: &Settings) -> Run {
    sample(
        &mut posterior.clone(),
        settings,
        &Silent,
        &AtomicBool::new(false),
    )
    .expect("it starts")
}

/// Seeds to run: the first few, or 0 to n − 1 for `FITZROY_TEST_SEEDS=n`, which is how the pass
/// rates in the tests' docs were found.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("FITZROY_TEST_SEEDS").ok();
    0..asked.and_then(|n| n.parse().ok()).unwrap_or(few)
}

/// The largest z-score of the first and second moments of the standardised draws, a draw
/// counting as 1/`tau` of an independent one.
fn worst_z(posterior: &Known, run: &Run, tau: f64) -> f64 {
    let n = (run.chains.len() * run.n_draws()) as f64;
    let mut sums = vec![[0.0; 2]; run.dim];
    for chain in &run.chains {
        for q in chain.positions.chunks_exact(run.dim) {
            for (sums, z) in sums.iter_mut().zip(posterior.standardise(q)) {
                sums[0] += z / n;
                sums[1] += (z * z - 1.0) / n;
            }
        }
    }
    let mean_error = (tau / n).sqrt();
    let square_error = mean_error * (posterior.fourth_moment() - 1.0).sqrt();
    let z = |s: &[f64; 2]| (s[0].abs() / mean_error).max(s[1].abs() / square_error);
    sums.iter().map(z).fold(0.0, f64::max)
}

/// Runs the seeds and fails if any z-score exceeds `bound`; prints the rate first.
fn check_moments(posterior: &Known, settings: &Settings, tau: f64, bound: f64) {
    let seeds = seeds(3);
    let all: Vec<f64> = seeds
        .map(|seed| {
            let settings = Settings {
                seed,
                ..settings.clone()
            };
            worst_z(posterior, &run(posterior, &settings), tau)
        })
        .collect();
    let failed = all.iter().filter(|z| !(**z < bound)).count();
    let worst = all.iter().copied().fold(0.0, f64::max);
    assert_eq!(
        failed,
        0,
        "{failed} of {} seeds beyond {bound}; worst z {worst}",
        all.len()
    );
    eprintln!("worst z {worst} of {} seeds", all.len());
}

fn short() -> Settings {
    Settings {
        tune: 300,
        draws: 500,
        ..Settings::default()
    }
}

#[test]
fn normals_of_any_condition_have_their_moments() {
    for (condition, metric) in [
        (1.0, MetricKind::Diagonal),
        (100.0, MetricKind::Diagonal),
        (1e4, MetricKind::Dense),
        (1e4, MetricKind::Auto),
    ] {
        let settings = Settings { metric, ..short() };
        check_moments(&Known::normal(5, condition, true), &settings, 2.0, 5.0);
    }
}

#[test]
fn a_coarse_step_is_still_exact() {
    let settings = Settings {
        target_accept: 0.5,
        metric: MetricKind::Diagonal,
        ..short()
    };
    check_moments(&Known::normal(5, 10.0, false), &settings, 6.0, 5.0);
}

#[test]
fn heavy_tails_have_their_moments() {
    check_moments(&Known::StudentT { dim: 4 }, &short(), 2.0, 5.0);
}

#[test]
fn a_mild_funnel_has_its_moments() {
    let settings = Settings {
        target_accept: 0.9,
        draws: 1000,
        ..short()
    };
    check_moments(&Known::Funnel { dim: 4 }, &settings, 8.0, 5.0);
}

#[test]
fn one_dimension_and_one_chain_work() {
    let settings = Settings {
        chains: 1,
        draws: 2000,
        ..short()
    };
    check_moments(&Known::normal(1, 1.0, false), &settings, 3.0, 5.0);
}
