//! Archives with missing values: losses, scales and gradients leave them out.

use super::super::engine::add_squares;
use super::super::*;
use super::{Folder, archive, last, problem_from, run, settings};
use crate::data::{Archive, Climatology, Linear, Missing, Normaliser};
use fitzroy::rng::{Purpose, Rng};
use fitzroy_device::nn::{Pool, Recompute};

/// The archive of the tests with land in its second channel and gaps in the first and the third.
pub(crate) fn with_gaps(seed: u64) -> Archive {
    let mut raw = archive(60);
    let mut rng = Rng::new(seed, 7, 0, 0, Purpose::Data);
    let land: Vec<bool> = (0..90).map(|k| k % 10 > 6 || rng.uniform() < 0.1).collect();
    for (at, x) in raw.values.iter_mut().enumerate() {
        let (node, channel) = (at / 3 % 90, at % 3);
        let gap = [0.2, 0.0, 0.05][channel];
        if rng.uniform() < gap || channel == 1 && land[node] {
            *x = f32::NAN;
        }
    }
    raw
}

fn masked(raw: &Archive) -> Archive {
    let mut own = raw.clone();
    own.mend(Missing::Mask).unwrap();
    own
}

pub(crate) fn problem(raw: &Archive, baseline: Baseline) -> Problem {
    let task = Task::Forecast { boundary_width: 1 };
    problem_from(masked(raw), task, GraphKind::Flat, baseline)
}

fn inside(node: usize) -> bool {
    (1..8).contains(&(node / 10)) && (1..9).contains(&(node % 10))
}

/// Losses and square errors of random archives beside loops in f64 over the lists with gaps: a loss
/// is the sum over what is known, divided by all there is and the share that the training records
/// know.
#[test]
fn losses_of_gaps_are_those_of_plain_loops() {
    for seed in 0..6 {
        let raw = with_gaps(seed);
        let mut problem = problem(&raw, Baseline::Linear);
        problem.weighting.loss = [LossKind::Mse, LossKind::Mae, LossKind::Huber][seed as usize % 3];
        let mut pool = Pool::new(1);
        let mut learner = Learner::new(&problem, &pool, 3, 2, Recompute::None).unwrap();
        let theta = initial(&problem, &learner.predictor.network, seed);
        let mut batch = Batch::default();
        let starts = [5, 17, 20];
        batch.fill(&problem, &starts, 2);
        learner.predictor.embed(&mut pool, &theta);
        let loss = learner.forecast(&problem, &mut pool, &theta, &batch, 3, false);
        let cos = |node: usize| raw.lat[node / 10].to_radians().cos();
        let nodes: Vec<usize> = (0..90).filter(|&node| inside(node)).collect();
        let area = nodes.iter().map(|&node| cos(node)).sum::<f64>();
        let known = |t: usize, node: usize, c: usize| !raw.record(t)[3 * node + c].is_nan();
        let (mut total, mut squares) = (0.0, [(0.0, 0.0); 3]);
        for c in 0..3 {
            let held = |t: usize| nodes.iter().filter(move |&&node| known(t, node, c));
            let of = |t: usize| held(t).map(|&node| cos(node)).sum::<f64>();
            let share = problem.splits.train.clone().map(of).sum::<f64>()
                / (area * problem.splits.train.len() as f64);
            for step in 1..=2 {
                let state = learner.predictor.state(step + 1);
                for (sample, &start) in starts.iter().enumerate() {
                    for &node in held(start as usize + step) {
                        let truth = f64::from(raw.record(start as usize + step)[3 * node + c]);
                        let truth = (truth - problem.normaliser.mean[c]) / problem.normaliser.sd[c];
                        let error = f64::from(state[sample * 270 + 3 * node + c]) - truth;
                        let r = error / problem.normaliser.rest_sd[c];
                        let penalty = match problem.weighting.loss {
                            LossKind::Mse => r * r,
                            LossKind::Mae => r.abs(),
                            LossKind::Huber if r.abs() <= 1.0 => 0.5 * r * r,
                            LossKind::Huber => r.abs() - 0.5,
                        };
                        total += cos(node) / area * penalty / share / 3.0 / 3.0 / 2.0;
                        if step == 2 {
                            squares[c].0 += cos(node) / area * error * error;
                        }
                    }
                    if step == 2 {
                        squares[c].1 += 1.0 - of(start as usize + 2) / area;
                    }
                }
            }
        }
        assert!((loss / total - 1.0).abs() < 1e-4, "{seed}: {loss} {total}");
        let mut own = vec![(0.0, 0.0); 3];
        let state = learner.predictor.state(3);
        add_squares(&problem, state, (&batch, 3), 3, &mut own);
        for (own, plain) in own.iter().zip(squares) {
            assert!((own.0 / plain.0 - 1.0).abs() < 1e-4 && (own.1 - plain.1).abs() < 1e-6);
        }
    }
}

/// Means, deviations, changes and averages of the hour beside loops over what is known.
#[test]
fn scales_and_averages_are_those_of_what_is_known() {
    let raw = with_gaps(11);
    let own = masked(&raw);
    let train = 0..36;
    let scales = Normaliser::new(&own, &train);
    let usual = Climatology::new(&own, &train);
    let value = |t: usize, at: usize| f64::from(raw.record(t)[at]);
    for c in 0..3 {
        let places = || (0..90).map(move |node| 3 * node + c);
        let all = train
            .clone()
            .flat_map(|t| places().map(move |at| value(t, at)));
        let all: Vec<f64> = all.filter(|x| !x.is_nan()).collect();
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let sd = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        assert!((scales.mean[c] - mean).abs() < 1e-9 * mean.abs().max(1.0));
        assert!(
            (scales.sd[c] / sd - 1.0).abs() < 1e-7,
            "{} {sd}",
            scales.sd[c]
        );
        let changes = (1..35).flat_map(|t| {
            places().filter_map(move |at| {
                let [a, b, c] = [t - 1, t, t + 1].map(|t| value(t, at));
                (!(a + b + c).is_nan()).then_some((c - b) / sd)
            })
        });
        let changes: Vec<f64> = changes.collect();
        let mean = changes.iter().sum::<f64>() / changes.len() as f64;
        assert!((scales.change_mean[c] - mean).abs() < 1e-9);
        for t in [40, 41] {
            for at in places() {
                let hours = train.clone().filter(|s| s % 4 == t % 4);
                let hours: Vec<f64> = hours.map(|s| value(s, at)).collect();
                let known: Vec<f64> = hours.into_iter().filter(|x| !x.is_nan()).collect();
                if !known.is_empty() {
                    let mean = known.iter().sum::<f64>() / known.len() as f64;
                    let found = f64::from(usual.at(&own, t)[at]);
                    assert!((found - mean).abs() < 1e-4, "{found} {mean}");
                }
            }
        }
    }
    let again = Normaliser::from_json(&scales.to_json()).unwrap();
    assert!(again == scales && scales.absent[1].contains(&true));
}

/// A channel with gaps has a regression of its own, and the others have the one they had: bit for
/// bit. Rows without values enter none: garbage there changes nothing.
#[test]
fn linear_models_leave_out_what_is_missing() {
    let raw = with_gaps(5);
    let mut own = masked(&raw);
    let scales = Normaliser::new(&own, &(0..36));
    scales.apply(&mut own).unwrap();
    let fit = |archive: &Archive| Linear::candidates(archive, &(0..36)).remove(4).1;
    let found = fit(&own);
    let mut one = own.clone();
    // Gaps of one channel alone: those of the second never change, so it has the others' rows too.
    let mut mask = crate::data::Mask::new(one.values.len());
    for at in (0..one.values.len()).filter(|at| at % 3 == 1 && own.is_missing(at / 270, at % 270)) {
        mask.set(at);
    }
    one.mask = Some(mask);
    let alone = fit(&one);
    one.mask = None;
    let whole = fit(&one);
    let column = |model: &Linear, c: usize| -> Vec<f32> {
        let lines = model.weights.chunks_exact(model.stride());
        lines.map(|line| line[c]).collect()
    };
    assert!(column(&alone, 1) == column(&found, 1));
    assert!(column(&whole, 1) != column(&found, 1));
    for c in [0, 2] {
        assert!(column(&alone, c) == column(&whole, c));
        assert!(column(&found, c) != column(&whole, c));
    }
}

/// The loss of a forecast over gaps and land against central differences along its gradient; and
/// whatever stands in the place of a missing truth, loss and gradient are the same bits.
#[test]
fn gradients_leave_out_what_is_missing() {
    for baseline in [Baseline::Momentum, Baseline::Linear] {
        let problem = problem(&with_gaps(3), baseline);
        let mut pool = Pool::new(1);
        let mut learner = Learner::new(&problem, &pool, 2, 3, Recompute::None).unwrap();
        let mut theta = initial(&problem, &learner.predictor.network, 1);
        let mut rng = Rng::new(9, 1, 0, 0, Purpose::Init);
        theta
            .iter_mut()
            .for_each(|x| *x += 0.05 * rng.normal() as f32);
        let mut batch = Batch::default();
        batch.fill(&problem, &[5, 9], 3);
        let mut learn = |batch: &Batch, theta: &[f32]| {
            let mut gradient = vec![0.0; theta.len()];
            learner.predictor.embed(&mut pool, theta);
            let loss = learner.learn(&problem, &mut pool, theta, batch, &mut gradient);
            (loss, gradient)
        };
        let (loss, gradient) = learn(&batch, &theta);
        let mut spoiled = batch.clone();
        let mut n_spoiled = 0;
        for offset in 2..5 {
            for sample in 0..2 {
                let time = batch.time(sample, offset);
                for at in
                    (0..270).filter(|at| inside(at / 3) && problem.archive.is_missing(time, *at))
                {
                    spoiled.states[(offset * 2 + sample) * 270 + at] = 1e30;
                    n_spoiled += 1;
                }
            }
        }
        assert!(n_spoiled > 100);
        assert!(learn(&spoiled, &theta) == (loss, gradient.clone()));
        let squares = gradient.iter().map(|g| f64::from(g * g));
        let length = squares.sum::<f64>().sqrt();
        let h = 1e-3 * loss / length;
        let mut moved = |sign: f64| {
            let step = (sign * h / length) as f32;
            let theta: Vec<f32> = theta
                .iter()
                .zip(&gradient)
                .map(|(x, g)| x + step * g)
                .collect();
            learn(&batch, &theta).0
        };
        let slope = (moved(1.0) - moved(-1.0)) / (2.0 * h);
        assert!(
            (slope / length - 1.0).abs() < 5e-3,
            "{baseline:?}: {slope} and {length}"
        );
        // Land stays as it is, whatever the network says.
        let held: Vec<usize> = (0..270).filter(|at| problem.archive.is_held(*at)).collect();
        assert!(held.len() > 20 && held.iter().all(|at| at % 3 == 1));
        let state = learner.predictor.state(4);
        assert!(held.iter().all(|&at| state[at] == 0.0));
    }
}

/// Without gaps nothing is another number than where missing values are refused; with gaps a run
/// that goes on over other files holds the places that the training held.
#[test]
fn masks_are_remembered_and_no_gaps_are_no_mask() {
    let raw = archive(60);
    let whole = masked(&raw);
    assert!(whole.mask.is_none() && *whole.values == *raw.values);
    let task = Task::Forecast { boundary_width: 1 };
    let files = |archive: Archive, name: &str| {
        let problem = problem_from(archive, task.clone(), GraphKind::Flat, Baseline::Linear);
        let folder = Folder::new(name);
        run(&problem, &settings(), None, &folder.0);
        let newest = newest(&folder.0).remove(0);
        std::fs::read(newest).unwrap()
    };
    assert!(files(raw, "refused") == files(whole, "no-gaps"));
    let raw = with_gaps(4);
    let problem = problem(&raw, Baseline::Linear);
    let folder = Folder::new("masked");
    let outcome = run(&problem, &settings(), None, &folder.0);
    assert!(outcome.last_loss.is_finite() && outcome.last_loss > 0.0);
    let checkpoint = last(&folder.0);
    // Three records, in which more places have no value than in the training.
    let mut later = raw.clone();
    later.values = later.values[57 * 270..].to_vec().into();
    later.times.drain(..57);
    (0..3).for_each(|t| later.values[t * 270 + 3 * 44] = f32::NAN);
    later.mend(Missing::Mask).unwrap();
    assert!(later.absent[0][44]);
    let splits = crate::data::Splits::whole(&later);
    let restored = Problem::restore(later, splits, &checkpoint).unwrap();
    for at in 0..270 {
        assert_eq!(restored.archive.is_held(at), problem.archive.is_held(at));
        if problem.archive.is_held(at) {
            assert!(restored.archive.record(1)[at] == 0.0 && problem.archive.record(1)[at] == 0.0);
        }
    }
    let usual = checkpoint.climatology.unwrap();
    assert_eq!(restored.archive.record(2)[3 * 44], usual.overall()[3 * 44]);
}
