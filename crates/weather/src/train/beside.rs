//! A trained network beside its start: whether training made its forecasts better, lead by lead.

use super::checkpoint::Progress;
use super::model::{Predictor, untrained};
use super::problem::Problem;
use crate::data::{FORCINGS, Split, forcings};
use fitzroy::{Named, Result};
use fitzroy_device::nn::{Pool, Recompute};

/// Validation forecasts that are compared, at most.
const STARTS_MAX: usize = 24;

/// The network beside what it started from, at one lead.
#[derive(Clone, Debug, PartialEq)]
pub struct BesideStart {
    /// Hours ahead.
    pub lead_hours: f64,
    /// Geometric mean over channels of RMSE over the start's.
    pub ratio: f64,
    /// Channels whose RMSE is below the start's, and channels.
    pub ahead: (usize, usize),
}

/// What of a validation says which checkpoint is the best, and when to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Monitor {
    /// The losses one step ahead and many steps ahead, beside those of the start.
    #[default]
    Losses,
    /// The root mean square errors of all variables at the longest lead, beside those of the start.
    Rmse,
}

impl Named for Monitor {
    const NAMES: &'static [(&'static str, Self)] =
        &[("losses", Monitor::Losses), ("rmse", Monitor::Rmse)];
}

/// What a validation found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Losses {
    /// Loss one step ahead.
    pub(super) near: f64,
    /// Loss many steps ahead.
    pub(super) far: f64,
    /// Root mean square error of each output channel at the last of these, in normalised units; none on a
    /// GPU.
    pub(super) rmse: Vec<f64>,
}

impl Losses {
    /// Beside those of the start: the geometric mean of the ratios.
    pub(super) fn beside(&self, start: &Progress, monitor: Monitor) -> f64 {
        if monitor == Monitor::Rmse && start.start_rmse.len() == self.rmse.len() {
            let pairs = self.rmse.iter().zip(&start.start_rmse);
            let logs: f64 = pairs.map(|(own, start)| log_ratio(*own, *start)).sum();
            return (logs / self.rmse.len() as f64).exp();
        }
        let (near, far) = start.start_losses.unwrap_or((1.0, 1.0));
        (0.5 * (log_ratio(self.near, near) + log_ratio(self.far, far))).exp()
    }

    /// Names and numbers for the logs; errors in the units of their channels.
    pub(super) fn lines(&self, problem: &Problem, steps: usize, ratio: f64) -> Vec<(String, f64)> {
        let hours = steps as f64 * problem.archive.step_s as f64 / 3600.0;
        let mut lines = vec![
            ("validation/loss".to_string(), self.near),
            ("validation/long_loss".to_string(), self.far),
            ("validation/ratio".to_string(), ratio),
            ("validation/lead_hours".to_string(), hours),
        ];
        for (rmse, &channel) in self.rmse.iter().zip(problem.targets_in_order()) {
            let label = problem.archive.channels[channel].label();
            let rmse = rmse * problem.normaliser.sd[channel];
            lines.push((format!("validation/rmse/{label}"), rmse));
        }
        lines
    }
}

/// The longest forecasts, of `wanted` steps at most, for which the validation records have room,
/// and some of their windows, evenly spread.
pub(super) fn trials(problem: &Problem, wanted: usize, most: usize) -> (Vec<u32>, usize) {
    let wanted = if problem.is_forecast() { wanted } else { 1 };
    let windows = |steps: &usize| problem.windows(Split::Validation, *steps).0;
    let steps = (1..=wanted).rev().find(|k| !windows(k).is_empty());
    let steps = steps.unwrap_or(1);
    let all = windows(&steps);
    let every = all.len().div_ceil(most.max(1)).max(1);
    (all.into_iter().step_by(every).collect(), steps)
}

/// Compares forecasts of up to `leads` steps from validation records, in the normalised units of
/// each channel, inside of the boundary. `flops` are the operations of one step of one forecast,
/// `budget` how many may be spent.
///
/// # Errors
/// The graph is wrong.
pub(super) fn beside_start(
    problem: &Problem,
    parameters: &[f32],
    pool: &mut Pool,
    leads: usize,
    (flops, budget): (f64, f64),
) -> Result<Vec<BesideStart>> {
    let affordable = (budget / (flops * leads as f64)) as usize;
    let (starts, steps) = trials(problem, leads, affordable.clamp(2, STARTS_MAX));
    let archive = &problem.archive;
    let targets = problem.targets_in_order();
    let mut squares = vec![vec![(0.0, 0.0); targets.len()]; steps];
    let mut predictor = Predictor::new(problem, pool, 1, 1, Recompute::Mlp)?;
    predictor.embed(pool, parameters);
    for &t in &starts {
        let t = t as usize;
        let known = |t: usize| {
            let mut out = vec![0.0; archive.n_nodes() * FORCINGS];
            forcings(archive.times[t], archive, &mut out);
            out
        };
        predictor.start(archive.record(t - 1), archive.record(t));
        let mut start = (archive.record(t - 1).to_vec(), archive.record(t).to_vec());
        for (lead, squares) in squares.iter_mut().enumerate() {
            let truth = archive.record(t + lead + 1);
            let sun = [0, 1, 2].map(|k| known(t + lead + k - 1));
            let sun = [&sun[0][..], &sun[1][..], &sun[2][..]];
            predictor.step(problem, pool, parameters, (lead, 0), sun, Some(truth));
            let next = untrained(problem, &start.0, &start.1, Some(truth));
            start = (start.1, next);
            let own = predictor.state(lead + 2);
            for (&node, &weight) in problem.outputs().iter().zip(&problem.node_weights) {
                let at = node as usize * archive.channels.len();
                for (sums, &channel) in squares.iter_mut().zip(targets) {
                    let i = at + channel;
                    if archive.is_missing(t + lead + 1, i) {
                        continue;
                    }
                    let square = |x: f32| f64::from(weight) * f64::from(x - truth[i]).powi(2);
                    sums.0 += square(own[i]);
                    sums.1 += square(start.1[i]);
                }
            }
        }
    }
    let hours = archive.step_s as f64 / 3600.0;
    let one = |(lead, squares): (usize, &Vec<(f64, f64)>)| {
        let logs: f64 = squares
            .iter()
            .map(|(own, start)| log_ratio(*own, *start))
            .sum();
        BesideStart {
            lead_hours: (lead + 1) as f64 * hours,
            ratio: (0.5 * logs / squares.len() as f64).exp(),
            ahead: (
                squares.iter().filter(|(own, start)| own < start).count(),
                squares.len(),
            ),
        }
    };
    Ok(squares.iter().enumerate().map(one).collect())
}

/// ln(own / start); 0 where both are the same, 0 included.
pub(super) fn log_ratio(own: f64, start: f64) -> f64 {
    if own == start {
        0.0
    } else {
        (own / start).ln()
    }
}
