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
pub(super) fn seeds(few: u64) -> std::ops::Range<u64> {
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

/// Runs the seeds and fails, with the rate, if any z-score reaches `bound`.
pub(super) fn check_moments(posterior: &Known, settings: &Settings, tau: f64, bound: f64) {
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
    let failed = all.iter().filter(|z| z.is_nan() || **z >= bound).count();
    let worst = all.iter().copied().fold(0.0, f64::max);
    assert_eq!(
        failed,
        0,
        "{failed} of {} seeds beyond {bound}; worst z {worst}",
        all.len()
    );
}

fn short() -> Settings {
    Settings {
        tune: 300,
        draws: 500,
        ..Settings::default()
    }
}

/// Moments of the exact eigen-coordinates. Bound: 5 standard errors, 2 draws counted as one.
/// Passes on 1000 of 1000 seeds (worst 4.5). Catches: an energy of 0.6 p² at one end, a density
/// whose slope or coordinates a metric maps wrongly.
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

/// Variance 100 along one direction of 100 coordinates, sampled with a low-rank metric: its
/// momenta, kicks and drifts. Bound: 5 standard errors, 2 draws counted as one. Catches: a weight
/// of √λ in place of √λ − 1, a direction that is not scaled back.
#[test]
fn a_low_rank_metric_keeps_moments() {
    let target = Known::Waves {
        dim: 100,
        count: 1,
        sd: 10.0,
    };
    let settings = Settings {
        metric: MetricKind::LowRank,
        ..short()
    };
    let kinds = run(&target, &settings).metrics;
    assert_eq!(kinds, [MetricKind::LowRank; 4]);
    check_moments(&target, &settings, 2.0, 5.0);
}

/// A correlation of up to 0.99 in 20 pairs, sampled with a metric of blocks: its momenta, kicks and
/// drifts. Bound: 5 standard errors, 2 draws counted as one. Catches: a factor used where its
/// transpose should be, blocks of the wrong coordinates.
#[test]
fn a_metric_of_blocks_keeps_moments() {
    let target = Known::Pairs {
        dim: 40,
        most: 0.99,
    };
    let settings = Settings {
        metric: MetricKind::Blocks,
        ..short()
    };
    let kinds = run(&target, &settings).metrics;
    assert_eq!(kinds, [MetricKind::Blocks; 4]);
    check_moments(&target, &settings, 2.0, 5.0);
}

/// Where half of all proposals are rejected the weights carry the result. Bound: 5 standard errors,
/// 2.5 draws counted as one. Passes on 1000 of 1000 seeds (worst 4.5). Catches: leaves accepted
/// without their weights, subtrees always accepted, kinetic energy left out at the start.
#[test]
fn a_coarse_step_is_still_exact() {
    let settings = Settings {
        target_accept: 0.5,
        metric: MetricKind::Diagonal,
        ..short()
    };
    check_moments(&Known::normal(5, 10.0, false), &settings, 2.5, 5.0);
}

/// Moments of the distribution function at the draws, which is uniform. Bound: 5 standard errors,
/// 2 draws counted as one. Passes on 1000 of 1000 seeds (worst 4.8). Catches: an energy of 0.6 p²
/// at one end.
#[test]
fn heavy_tails_have_their_moments() {
    check_moments(&Known::StudentT { dim: 4 }, &short(), 2.0, 5.0);
}

/// A scale that changes fourfold. Bound: 5 standard errors, 3 draws counted as one. Passes on 1000
/// of 1000 seeds (worst 3.1). Catches: an energy of 0.6 p² at one end.
#[test]
fn a_mild_funnel_has_its_moments() {
    let settings = Settings {
        target_accept: 0.9,
        draws: 1000,
        ..short()
    };
    check_moments(&Known::Funnel { dim: 4 }, &settings, 3.0, 5.0);
}

/// Bound: 5 standard errors, 3 draws counted as one. Passes on 1000 of 1000 seeds (worst 2.9).
/// Catches: subtrees always accepted.
#[test]
fn one_dimension_and_one_chain_work() {
    let settings = Settings {
        chains: 1,
        draws: 2000,
        ..short()
    };
    check_moments(&Known::normal(1, 1.0, false), &settings, 3.0, 5.0);
}

/// Everything in a run that must not depend on threads.
fn fingerprint(run: &Run) -> Vec<u64> {
    let mut bits = Vec::new();
    for draws in run.chains.iter().chain(run.warmup.iter().flatten()) {
        bits.extend(draws.positions.iter().map(|x| x.to_bits()));
        bits.extend(draws.statistics.energy.iter().map(|x| x.to_bits()));
        bits.extend(draws.statistics.n_steps.iter().map(|&n| n as u64));
    }
    bits.extend(run.step_sizes.iter().map(|x| x.to_bits()));
    bits.push(run.gradients);
    bits
}

/// Exact. Catches: a sum over chains in order of arrival, a random counter shared by chains.
#[test]
fn draws_are_the_same_for_any_number_of_threads() {
    for adapt in [Adapt::Pooled, Adapt::PerChain] {
        let settings = |threads, seed| Settings {
            chains: 5,
            tune: 150,
            draws: 60,
            keep_warmup: true,
            adapt,
            threads,
            seed,
            ..Settings::default()
        };
        let target = Known::normal(4, 100.0, true);
        let one = fingerprint(&run(&target, &settings(1, 7)));
        for threads in [2, 7] {
            assert!(one == fingerprint(&run(&target, &settings(threads, 7))));
        }
        assert!(one != fingerprint(&run(&target, &settings(1, 8))));
    }
}

#[test]
fn a_chain_that_adapts_alone_ignores_the_other_chains() {
    let settings = |chains, first_chain| Settings {
        chains,
        first_chain,
        adapt: Adapt::PerChain,
        ..short()
    };
    let target = Known::normal(3, 10.0, true);
    let four = run(&target, &settings(4, 0));
    let last_two = run(&target, &settings(2, 2));
    assert_eq!(four.chains[2..], last_two.chains[..]);
}

#[test]
fn chains_and_replicates_draw_different_numbers() {
    let target = Known::normal(2, 1.0, false);
    let a = run(&target, &short());
    let b = run(
        &target,
        &Settings {
            stream: 1,
            ..short()
        },
    );
    assert_ne!(a.chains[0].positions, a.chains[1].positions);
    assert_ne!(a.chains[0].positions, b.chains[0].positions);
}

/// Stops after so many events.
struct StopAfter<'a> {
    left: AtomicUsize,
    stop: &'a AtomicBool,
}

impl Observer for StopAfter<'_> {
    fn event(&self, event: &Event<'_>) {
        assert!(event.done >= 1 && event.done <= event.total);
        assert_eq!(event.position.len(), 3);
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// The draws kept are those of the run that was not stopped.
#[test]
fn an_interrupted_run_keeps_the_same_number_of_draws_of_every_chain() {
    let target = Known::normal(3, 10.0, false);
    let whole = run(&target, &short());
    for threads in [1, 2, 4] {
        let settings = Settings { threads, ..short() };
        let stop = AtomicBool::new(false);
        let observer = StopAfter {
            left: AtomicUsize::new(4 * 300 + 500),
            stop: &stop,
        };
        let run = sample(&mut target.clone(), &settings, &observer, &stop).expect("it starts");
        let n = run.n_draws();
        // Chains take turns, so on one thread all get far; on more, who gets how far is chance.
        assert!(run.interrupted && n < 500, "{n}");
        assert!(threads > 1 || n > 100, "{n}");
        for (cut, whole) in run.chains.iter().zip(&whole.chains) {
            assert_eq!(cut.len(), n);
            assert_eq!(cut.statistics.diverging.len(), n);
            assert_eq!(cut.positions[..], whole.positions[..3 * n]);
        }
    }
}

#[test]
fn a_run_stopped_in_warm_up_has_no_draws() {
    let stop = AtomicBool::new(false);
    let observer = StopAfter {
        left: AtomicUsize::new(100),
        stop: &stop,
    };
    let settings = Settings {
        keep_warmup: true,
        ..short()
    };
    let mut target = Known::normal(3, 10.0, false);
    let run = sample(&mut target, &settings, &observer, &stop).expect("it starts");
    assert!(run.interrupted);
    assert_eq!(run.n_draws(), 0);
    let warmup = run.warmup.expect("it was to be kept");
    assert!(
        warmup
            .iter()
            .all(|w| w.len() == warmup[0].len() && w.len() < 300)
    );
}

#[test]
fn short_warm_ups_and_none_at_all_work() {
    for (tune, draws) in [(0, 50), (1, 50), (3, 10), (10, 10), (20, 0), (0, 0)] {
        for adapt in [Adapt::Pooled, Adapt::PerChain] {
            let settings = Settings {
                tune,
                draws,
                adapt,
                ..Settings::default()
            };
            let run = run(&Known::normal(3, 4.0, false), &settings);
            assert_eq!(run.n_draws(), draws);
            assert!(!run.interrupted);
            assert!(run.step_sizes.iter().all(|s| *s > 0.01 && *s < 10.0));
        }
    }
}

/// Early, with the moments and on any threads the draws of the others, whether the posterior is normal
/// or a funnel; after as many transitions as it says. Bound: 5 standard errors, 2 draws counted as one.
/// Catches: draws whose random numbers depend on where the warm-up ended.
#[test]
fn a_warm_up_that_has_settled_may_end() {
    let settings = |threads| Settings {
        tune: 1000,
        end_warmup_early: true,
        keep_warmup: true,
        threads,
        ..short()
    };
    for target in [Known::normal(4, 100.0, true), Known::normal(30, 1e4, false)] {
        let one = run(&target, &settings(1));
        let n = one.warmup_transitions;
        assert!((150..500).contains(&n), "{n}");
        assert!(one.warmup.iter().flatten().all(|chain| chain.len() == n));
        assert_eq!(one.n_draws(), 500);
        assert!(worst_z(&target, &one, 2.0) < 5.0);
        assert!(fingerprint(&one) == fingerprint(&run(&target, &settings(3))));
    }
    // Not where it was not asked for, where there are few transitions, and where chains stay apart.
    let full = |settings: Settings, n: usize| {
        assert_eq!(
            run(&Known::normal(4, 100.0, true), &settings).warmup_transitions,
            n
        );
    };
    full(short(), 300);
    full(
        Settings {
            tune: 60,
            ..settings(1)
        },
        60,
    );
    full(
        Settings {
            tune: 0,
            ..settings(1)
        },
        0,
    );
    full(
        Settings {
            chains: 1,
            tune: 200,
            ..settings(1)
        },
        200,
    );
}

/// Two modes that no chain leaves: their warm-up is never over.
#[test]
fn a_warm_up_goes_on_while_its_chains_are_apart() {
    let points = (0..4).map(|k| vec![if k < 2 { -20.0 } else { 20.0 }, 0.1]);
    let settings = Settings {
        init: Init::Points(points.collect()),
        end_warmup_early: true,
        ..short()
    };
    let run = sample(&mut Modes, &settings, &Silent, &AtomicBool::new(false)).expect("it starts");
    assert_eq!(run.warmup_transitions, 300);
}

#[test]
fn a_density_that_is_finite_nowhere_is_an_error() {
    let stop = AtomicBool::new(false);
    let error = sample(&mut Known::Nowhere, &short(), &Silent, &stop).expect_err("nowhere");
    assert_eq!(error.kind(), ErrorKind::Numerics);
    assert!(
        error.to_string().contains("not finite at 100 points"),
        "{error}"
    );
}

#[test]
fn settings_out_of_range_are_usage_errors() {
    let until = |ess, rhat| Settings {
        until: Some(Until { ess, rhat }),
        ..short()
    };
    let bad = [
        until(Some(0.0), None),
        until(Some(f64::NAN), None),
        until(None, Some(1.0)),
        Settings {
            chains: 1,
            ..until(None, Some(1.01))
        },
        Settings {
            chains: 0,
            ..short()
        },
        Settings {
            threads: 0,
            ..short()
        },
        Settings {
            target_accept: 1.0,
            ..short()
        },
        Settings {
            target_accept: f64::NAN,
            ..short()
        },
        Settings {
            max_treedepth: 0,
            ..short()
        },
        Settings {
            end_warmup_early: true,
            adapt: Adapt::PerChain,
            ..short()
        },
        Settings {
            end_warmup_early: true,
            sampler: Sampler::Chees,
            ..short()
        },
        Settings {
            init: Init::Points(vec![vec![0.0; 3]]),
            ..short()
        },
        Settings {
            init: Init::Points(vec![vec![0.0; 2]; 4]),
            ..short()
        },
    ];
    for settings in bad {
        let stop = AtomicBool::new(false);
        let error = sample(&mut Known::normal(3, 1.0, false), &settings, &Silent, &stop);
        assert_eq!(error.expect_err("out of range").kind(), ErrorKind::Usage);
    }
}

#[test]
fn chains_start_at_the_given_points() {
    let points: Vec<Vec<f64>> = (0..4).map(|c| vec![f64::from(c), 0.5]).collect();
    let settings = Settings {
        tune: 0,
        draws: 1,
        init: Init::Points(points.clone()),
        ..Settings::default()
    };
    let target = Known::normal(2, 1.0, false);
    let run = run(&target, &settings);
    for (chain, start) in run.chains.iter().zip(&points) {
        // H at the start is H at the draw minus the error, and the start's lp bounds it below.
        let s = &chain.statistics;
        let start_lp = -0.5 * (start[0] * start[0] + start[1] * start[1]);
        assert!(s.energy[0] - s.energy_error[0] > -start_lp);
    }
    let outside = Settings {
        init: Init::Points(vec![vec![2.0, 0.0]; 4]),
        ..settings
    };
    let stop = AtomicBool::new(false);
    let error = sample(&mut Known::Cliff { dim: 2 }, &outside, &Silent, &stop);
    assert_eq!(error.expect_err("NaN there").kind(), ErrorKind::Numerics);
}

#[test]
fn a_region_without_a_density_is_counted_as_divergences_and_never_entered() {
    let run = run(&Known::Cliff { dim: 2 }, &short());
    assert!(run.n_divergences() > 20);
    assert_eq!(run.n_nonfinite(), run.n_divergences());
    for chain in &run.chains {
        assert!(chain.positions.chunks_exact(2).all(|q| q[0] <= 1.0));
        let s = &chain.statistics;
        for i in 0..chain.len() {
            assert!(!s.diverging[i] || s.max_energy_error[i] == f64::INFINITY);
            assert!(s.lp[i].is_finite() && s.energy[i].is_finite());
        }
    }
}

#[test]
fn statistics_agree_with_one_another() {
    let settings = Settings {
        max_treedepth: 2,
        keep_warmup: true,
        integrator: Integrator::Leapfrog,
        ..short()
    };
    let run = run(&Known::normal(6, 1e4, true), &settings);
    assert!(run.n_max_treedepth() > 0);
    let kept = run.warmup.as_ref().expect("it was to be kept");
    assert!(
        kept.iter()
            .all(|w| w.len() == 300 && w.positions.len() == 300 * 6)
    );
    for chain in &run.chains {
        let s = &chain.statistics;
        for i in 0..chain.len() {
            let n = s.n_steps[i];
            assert!(n >= 1 && n < 1 << s.tree_depth[i] && s.tree_depth[i] <= 2);
            assert!(s.index_in_trajectory[i].abs() <= n);
            assert!(!s.reached_max_treedepth[i] || n == 3);
            assert!(s.energy_error[i].abs() <= s.max_energy_error[i].abs());
            assert!(s.acceptance_rate[i] > 0.0 && s.acceptance_rate[i] <= 1.0);
            assert!(s.energy[i] >= -s.lp[i]);
            assert_eq!(s.step_size[i], s.step_size_bar[i]);
        }
    }
    let steps: i64 = run.chains.iter().flat_map(|c| &c.statistics.n_steps).sum();
    assert_eq!(run.gradients - run.warmup_gradients, steps as u64);
}

/// Dual averaging steers the acceptance of a step size that still moves; the averaged one is
/// accepted a little more often. Bound: from 0.05 below to 0.2 above what was asked for Passes
/// on 1000 of 1000 seeds. Catches: a drift 1.3 times too long, kinetic energy left out at one end.
#[test]
fn the_step_size_gives_about_the_wanted_acceptance() {
    for target_accept in [0.6, 0.8, 0.95] {
        for seed in seeds(3) {
            let settings = Settings {
                target_accept,
                seed,
                integrator: Integrator::Leapfrog,
                ..short()
            };
            let got = run(&Known::normal(20, 100.0, false), &settings).mean_acceptance();
            let above = got - target_accept;
            assert!(
                above > -0.05 && above < 0.2,
                "seed {seed}: {got}, not {target_accept}"
            );
        }
    }
}

/// A normal with sd 100 in every direction that is rescaled to sd 1 at the last chance.
struct Rescaled {
    sd: f64,
    offers: usize,
}

impl Posterior for Rescaled {
    type Target = Known;
    fn dim(&self) -> usize {
        3
    }
    fn target(&self) -> Known {
        Known::Normal {
            sd: vec![self.sd; 3],
            mirror: vec![0.0; 3],
        }
    }
    fn recoordinate(&mut self, q: &[f64], g: &[f64], last: bool) -> Option<CoordinateMap> {
        self.offers += 1;
        assert_eq!(q.len(), g.len());
        let old = self.sd;
        // The slopes offered belong to the positions.
        assert!(
            q.iter()
                .zip(g)
                .all(|(q, g)| (g + q / (old * old)).abs() < 1e-9)
        );
        self.sd = if last { 1.0 } else { old / 2.0 };
        let factor = self.sd / old;
        Some(Box::new(move |q| q.iter_mut().for_each(|q| *q *= factor)))
    }
}

/// Catches: draws of a window that keep their old slopes, kept positions that are not mapped.
#[test]
fn new_coordinates_are_used_for_everything_that_was_stored() {
    let settings = Settings {
        tune: 500,
        keep_warmup: true,
        threads: 2,
        ..short()
    };
    let mut posterior = Rescaled {
        sd: 100.0,
        offers: 0,
    };
    let run = sample(&mut posterior, &settings, &Silent, &AtomicBool::new(false));
    let run = run.expect("it starts");
    assert_eq!(posterior.offers, 13);
    assert!(worst_z(&posterior.target(), &run, 2.0) < 5.0);
    // Late warm-up draws, made before the change, lie on the new scale.
    for warmup in run.warmup.iter().flatten() {
        let before = &warmup.positions[100 * 3..160 * 3];
        let square = before.iter().map(|q| q * q).sum::<f64>() / before.len() as f64;
        assert!(square > 0.3 && square < 3.0, "{square}");
    }
    // The metric knows the new scale.
    assert!(run.variances[0].iter().all(|v| (v - 1.0).abs() < 1e-6));
}

/// A normal at 0 and, 400 below it, a narrow one at 1000 that cannot be left.
#[derive(Clone)]
struct Trap;

impl Target for Trap {
    fn dim(&self) -> usize {
        2
    }
    fn value_and_gradient(&mut self, q: &[f64], g: &mut [f64]) -> f64 {
        let (centre, precision, level) = if q[0] > 900.0 {
            (1000.0, 100.0, -400.0)
        } else {
            (0.0, 1.0, 0.0)
        };
        let r = [q[0] - centre, q[1]];
        g[0] = -precision * r[0];
        g[1] = -precision * r[1];
        level - 0.5 * precision * (r[0] * r[0] + r[1] * r[1])
    }
}

impl Posterior for Trap {
    type Target = Trap;
    fn dim(&self) -> usize {
        2
    }
    fn target(&self) -> Trap {
        Trap
    }
}

/// Two standard normals 40 apart.
#[derive(Clone)]
struct Modes;

impl Target for Modes {
    fn dim(&self) -> usize {
        2
    }
    fn value_and_gradient(&mut self, q: &[f64], g: &mut [f64]) -> f64 {
        let centre = if q[0] < 0.0 { -20.0 } else { 20.0 };
        let r = [q[0] - centre, q[1]];
        g.copy_from_slice(&r.map(|r| -r));
        -0.5 * (r[0] * r[0] + r[1] * r[1])
    }
}

impl Posterior for Modes {
    type Target = Modes;
    fn dim(&self) -> usize {
        2
    }
    fn target(&self) -> Modes {
        Modes
    }
}

#[test]
fn a_stuck_chain_is_moved_once_and_reported() {
    let mut points = vec![vec![0.0, 0.1]; 4];
    points[2] = vec![1000.0, 0.1];
    let settings = Settings {
        init: Init::Points(points),
        ..short()
    };
    let run = sample(&mut Trap, &settings, &Silent, &AtomicBool::new(false)).expect("it starts");
    assert_eq!(run.restarts.len(), 1);
    assert_eq!(run.restarts[0].chain, 2);
    assert!(run.restarts[0].gap > 300.0);
    assert!(
        run.chains[2]
            .positions
            .chunks_exact(2)
            .all(|q| q[0] < 900.0)
    );
    assert!(worst_z(&Known::normal(2, 1.0, false), &run, 2.0) < 5.0);
}

#[test]
fn trajectories_are_short_early_in_the_warm_up_alone() {
    let settings = Settings {
        early_treedepth: 2,
        keep_warmup: true,
        ..short()
    };
    let run = run(&Known::normal(6, 1e4, true), &settings);
    for chain in run.warmup.as_ref().expect("it was to be kept") {
        // 8 % of 300.
        let (early, late) = chain.statistics.tree_depth.split_at(24);
        assert!(early.iter().all(|d| *d <= 2) && late.iter().any(|d| *d > 2));
    }
}
