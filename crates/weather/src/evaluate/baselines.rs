//! What a forecast is compared with: a ridge regression whose penalty the validation records chose.

use super::run::advance;
use crate::data::{Linear, Split};
use crate::train::Problem;

/// Validation forecasts with which penalties are compared, at most.
const TRIALS_MAX: usize = 24;

/// Ridge regressions of the change, one for each lead: that of all penalties of
/// [`Linear::PENALTIES`] whose forecasts of so many steps have the smallest error on the validation
/// records, as geometric mean over channels. A small penalty is best at one step and explodes when
/// it is applied again and again; no single one is a fair rival at every lead.
pub(super) struct Ridges {
    models: Vec<Linear>,
    penalties: Vec<f64>,
    /// Number of the model of each lead.
    chosen: Vec<usize>,
}

impl Ridges {
    /// Fits them to the training records, and chooses for leads of up to `leads` steps; where the
    /// validation records allow fewer, the longest that they allow chooses for the rest.
    pub(super) fn tuned(problem: &Problem, leads: usize) -> Self {
        let all = Linear::candidates(&problem.archive, &problem.splits.train);
        let windows = |k: &usize| problem.windows(Split::Validation, *k).0;
        let steps = (1..=leads).rev().find(|k| !windows(k).is_empty());
        let steps = steps.unwrap_or(0);
        let mut starts = windows(&steps);
        let every = starts.len().div_ceil(TRIALS_MAX).max(1);
        starts = starts.into_iter().step_by(every).collect();
        let trial = |model: &Linear| trial(problem, model, &starts, steps);
        let errors: Vec<Vec<f64>> = all.iter().map(|(_, model)| trial(model)).collect();
        let least = |lead: usize| {
            let best = (0..all.len()).min_by(|&a, &b| errors[a][lead].total_cmp(&errors[b][lead]));
            best.unwrap_or(0)
        };
        let mut wanted: Vec<usize> = (0..steps).map(least).collect();
        wanted.resize(leads, wanted.last().copied().unwrap_or(all.len() - 1));
        let mut used = wanted.clone();
        used.sort_unstable();
        used.dedup();
        let place = |k: &usize| used.iter().position(|u| u == k).unwrap_or(0);
        let chosen = wanted.iter().map(place).collect();
        let kept = all.into_iter().enumerate();
        let kept = kept.filter(|(k, _)| used.contains(k)).map(|(_, one)| one);
        let (penalties, models) = kept.unzip();
        Ridges {
            models,
            penalties,
            chosen,
        }
    }

    /// Those that some lead has chosen.
    pub(super) fn models(&self) -> &[Linear] {
        &self.models
    }

    /// The one of a lead, by its place among [`Ridges::models`].
    pub(super) fn of_lead(&self, lead: usize) -> usize {
        self.chosen[lead]
    }

    /// Its penalty.
    pub(super) fn penalty(&self, lead: usize) -> f64 {
        self.penalties[self.chosen[lead]]
    }
}

/// Mean over channels of the logarithm of the mean square error, lead by lead.
fn trial(problem: &Problem, model: &Linear, starts: &[u32], steps: usize) -> Vec<f64> {
    let archive = &problem.archive;
    let c = archive.channels.len();
    let mut squares = vec![vec![0.0_f64; c]; steps];
    for &t in starts {
        let t = t as usize;
        let mut states = (archive.record(t - 1).to_vec(), archive.record(t).to_vec());
        for (lead, squares) in squares.iter_mut().enumerate() {
            let truth = archive.record(t + lead + 1);
            advance(problem, model, &mut states, truth);
            for (&node, &weight) in problem.outputs().iter().zip(&problem.node_weights) {
                let at = node as usize * c;
                let pairs = states.1[at..at + c].iter().zip(&truth[at..]);
                for (k, (sum, (a, b))) in squares.iter_mut().zip(pairs).enumerate() {
                    if archive.is_missing(t + lead + 1, at + k) {
                        continue;
                    }
                    *sum += f64::from(weight) * f64::from(a - b).powi(2);
                }
            }
        }
    }
    let log = |x: &f64| {
        if x.is_finite() {
            x.max(1e-300).ln()
        } else {
            f64::INFINITY
        }
    };
    squares.iter().map(|s| s.iter().map(log).sum()).collect()
}
