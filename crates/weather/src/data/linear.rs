//! A linear model of the neighbourhood: what a forecast can go on from, and what it must beat.

use super::archive::Archive;
use super::regression::Sums;
use super::split::windows;
use fitzroy::{Error, ErrorKind, Result};
use serde_json::{Value, json};
use std::ops::Range;

/// Ridge regression of the change of each channel on all channels of two states at a place and its
/// eight neighbours; one model for all places. Beyond the grid stand the values of its edge.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// (predictor, channel), lines of [`Linear::stride`] numbers. Predictors are ordered by state
    /// (before, now), neighbour from north-west to south-east as the grid counts, and channel; the
    /// last is 1.
    pub weights: Vec<f32>,
    /// Channels.
    pub n_channels: usize,
    /// Rows and columns of the grid.
    pub shape: (usize, usize),
}

/// Penalties on normalised predictors, per observation, of the model that forecasts go on from. Next to collinear channels a small one costs
/// nothing at one step, and lets errors grow two- and threefold with every further one.
const RIDGES: [f64; 5] = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2];
/// Steps for which it must stay below persistence, and forecasts that are tried.
const STEADY: (usize, usize) = (16, 24);
/// Multiply-adds of a fit, about: some seconds.
const WORK: f64 = 2e10;
/// Windows that are used at least, evenly spread.
const WINDOWS_MIN: usize = 150;
/// Every how many places are used.
const PLACES: usize = 3;
/// Channels of a block, which stay in registers.
const BLOCK: usize = 16;
/// Neighbours, a place itself among them.
pub const NEIGHBOURS: usize = 9;

impl Linear {
    /// Numbers of a line of weights: the channels, filled up with zeros.
    pub fn stride(&self) -> usize {
        self.n_channels.next_multiple_of(BLOCK)
    }

    /// Predictors of a place.
    pub fn n_predictors(&self) -> usize {
        2 * NEIGHBOURS * self.n_channels + 1
    }

    /// The node that stands for neighbour `k` of a node.
    pub fn neighbour(&self, node: usize, k: usize) -> usize {
        let (rows, columns) = self.shape;
        let moved = |at: usize, by: usize, n: usize| (at + by).saturating_sub(1).min(n - 1);
        let y = moved(node / columns, k / 3, rows);
        y * columns + moved(node % columns, k % 3, columns)
    }

    /// Penalties among which a validation can choose, from one that all but interpolates to one
    /// that all but persists.
    pub const PENALTIES: [f64; 10] = [1e-7, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1];

    /// Fits the changes of records `range` of a normalised archive with each of
    /// [`Linear::PENALTIES`].
    pub fn candidates(archive: &Archive, range: &Range<usize>) -> Vec<(f64, Self)> {
        let linear = Self::empty(archive);
        let sums = linear.sums(archive, range);
        let fits = Self::PENALTIES.map(|penalty| (penalty, linear.with(&sums, penalty)));
        fits.into()
    }

    /// Fits the changes of records `range` with the smallest penalty with which forecasts of many
    /// steps stay below persistence over records `trial`; with the largest where none does.
    pub fn steady(archive: &Archive, range: &Range<usize>, trial: &Range<usize>) -> Self {
        let linear = Self::empty(archive);
        let sums = linear.sums(archive, range);
        let [first @ .., last] = RIDGES;
        let found = first.into_iter().map(|ridge| linear.with(&sums, ridge));
        let mut found = found.filter(|model| model.is_steady(archive, trial));
        found.next().unwrap_or_else(|| linear.with(&sums, last))
    }

    fn empty(archive: &Archive) -> Self {
        Linear {
            weights: Vec::new(),
            n_channels: archive.channels.len(),
            shape: archive.shape(),
        }
    }

    /// Whether its forecasts are better than persistence after many steps, in every channel.
    fn is_steady(&self, archive: &Archive, trial: &Range<usize>) -> bool {
        let (steps, most) = STEADY;
        let mut starts = windows(archive, trial, steps).0;
        let every = starts.len().div_ceil(most).max(1);
        starts = starts.into_iter().step_by(every).collect();
        let c = self.n_channels;
        let mut errors = vec![(0.0_f64, 0.0_f64); c];
        let mut change = vec![0.0; archive.record_len()];
        for t in starts {
            let t = t as usize;
            let mut before = archive.record(t - 1).to_vec();
            let mut now = archive.record(t).to_vec();
            for _ in 0..steps {
                self.change(&before, &now, &mut change);
                before.copy_from_slice(&now);
                now.iter_mut().zip(&change).for_each(|(x, d)| *x += d);
                archive.hold(&before, &mut now);
            }
            let truth = archive.record(t + steps);
            for (k, (a, b)) in now.iter().zip(truth).enumerate() {
                if archive.is_missing(t + steps, k) {
                    continue;
                }
                let own = f64::from(a - b);
                let stays = f64::from(archive.record(t)[k] - b);
                errors[k % c].0 += own * own;
                errors[k % c].1 += stays * stays;
            }
        }
        errors.iter().all(|(own, stays)| own <= stays)
    }

    /// Sums of the records `range`, for channels that are always known together and for each of
    /// the others, whose places without values at either time are left out, by itself.
    fn sums(&self, archive: &Archive, range: &Range<usize>) -> Vec<Sums> {
        let (linear, shape, n_channels) = (self, self.shape, self.n_channels);
        let p = linear.n_predictors();
        let starts = windows(archive, range, 1).0;
        let groups = archive.groups(range);
        let whole = (groups.len() * p * p / 2 * archive.n_nodes() / PLACES) as f64;
        let most = ((WORK / whole) as usize).max(WINDOWS_MIN);
        let every = starts.len().div_ceil(most).max(1);
        let edge = usize::from(shape.0 >= 3 && shape.1 >= 3);
        let mut all: Vec<Sums> = (groups.into_iter())
            .map(|channels| Sums::new(p, channels))
            .collect();
        for (count, &t) in starts.iter().step_by(every).enumerate() {
            let t = t as usize;
            let [before, now, next] = [t - 1, t, t + 1].map(|t| archive.record(t));
            for y in edge..shape.0 - edge {
                for x in (edge + (count + y) % PLACES..shape.1 - edge).step_by(PLACES) {
                    let node = y * shape.1 + x;
                    for sums in &mut all {
                        let at = node * n_channels + sums.channels[0];
                        if archive.is_missing(t, at) || archive.is_missing(t + 1, at) {
                            continue;
                        }
                        let (row, change, channels) = sums.line();
                        linear.predictors(before, now, node, row);
                        for (to, channel) in change.iter_mut().zip(channels) {
                            let at = node * n_channels + channel;
                            *to = f64::from(next[at] - now[at]);
                        }
                    }
                }
            }
        }
        all.iter_mut().for_each(Sums::add);
        all
    }

    /// The model that follows from sums and a penalty.
    fn with(&self, sums: &[Sums], ridge: f64) -> Self {
        let stride = self.stride();
        let mut weights = vec![0.0; self.n_predictors() * stride];
        for sums in sums {
            for (&c, column) in sums.channels.iter().zip(&sums.solve(ridge)) {
                for (k, &w) in column.iter().enumerate() {
                    weights[k * stride + c] = w as f32;
                }
            }
        }
        Linear {
            weights,
            ..self.clone()
        }
    }

    fn predictors(&self, before: &[f32], now: &[f32], node: usize, row: &mut [f64]) {
        let mut to = row.iter_mut();
        for state in [before, now] {
            for k in 0..NEIGHBOURS {
                let at = self.neighbour(node, k) * self.n_channels;
                // The numbers first: whoever ends a zip has taken one of the other side.
                let numbers = &state[at..at + self.n_channels];
                for (&x, to) in numbers.iter().zip(to.by_ref()) {
                    *to = f64::from(x);
                }
            }
        }
        if let Some(to) = to.next() {
            *to = 1.0;
        }
    }

    /// The change that follows two states (node, channel), at every node.
    pub fn change(&self, before: &[f32], now: &[f32], change: &mut [f32]) {
        let (c, stride) = (self.n_channels, self.stride());
        let constant = &self.weights[(self.n_predictors() - 1) * stride..];
        for (node, to) in change.chunks_exact_mut(c).enumerate() {
            for block in (0..c).step_by(BLOCK) {
                let mut sum = [0.0_f32; BLOCK];
                sum.copy_from_slice(&constant[block..block + BLOCK]);
                let mut line = block;
                for state in [before, now] {
                    for k in 0..NEIGHBOURS {
                        let at = self.neighbour(node, k) * c;
                        for &x in &state[at..at + c] {
                            let weights = &self.weights[line..line + BLOCK];
                            sum.iter_mut().zip(weights).for_each(|(s, w)| *s += x * w);
                            line += stride;
                        }
                    }
                }
                let n = BLOCK.min(c - block);
                to[block..block + n].copy_from_slice(&sum[..n]);
            }
        }
    }

    /// Adds to the slopes by two states what the slope by their change makes of them.
    pub fn slope(&self, by_change: &[f32], before: &mut [f32], now: &mut [f32]) {
        let (c, stride) = (self.n_channels, self.stride());
        for (node, slope) in by_change.chunks_exact(c).enumerate() {
            // Forced nodes have none.
            if slope.iter().all(|&g| g == 0.0) {
                continue;
            }
            let mut lines = self.weights.chunks_exact(stride);
            for state in [&mut *before, &mut *now] {
                for k in 0..NEIGHBOURS {
                    let at = self.neighbour(node, k) * c;
                    for (to, line) in state[at..at + c].iter_mut().zip(lines.by_ref()) {
                        *to += line.iter().zip(slope).map(|(w, g)| w * g).sum::<f32>();
                    }
                }
            }
        }
    }

    /// The same model among more channels, `from` being their numbers here: it reads none of the
    /// new ones, whose changes are those of `new`, a model of all of them.
    pub fn carried(
        &self,
        from: &[Option<usize>],
        new: Option<&Self>,
        shape: (usize, usize),
    ) -> Self {
        let mut all = Linear {
            weights: Vec::new(),
            n_channels: from.len(),
            shape,
        };
        let (stride, n) = (all.stride(), all.n_predictors());
        all.weights = vec![0.0; n * stride];
        let theirs = |k: usize| match (k + 1 == n, k / from.len(), from[k % from.len()]) {
            (true, ..) => Some(self.n_predictors() - 1),
            (false, place, Some(channel)) => Some(place * self.n_channels + channel),
            (false, _, None) => None,
        };
        for (k, line) in all.weights.chunks_exact_mut(stride).enumerate() {
            for (channel, weight) in line.iter_mut().enumerate().take(from.len()) {
                *weight = match (from[channel], theirs(k), new) {
                    (Some(old), Some(row), _) => self.weights[row * self.stride() + old],
                    (None, _, Some(new)) => new.weights[k * stride + channel],
                    _ => 0.0,
                };
            }
        }
        all
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({"channels": self.n_channels, "shape": [self.shape.0, self.shape.1],
               "weights": self.weights})
    }

    /// From JSON.
    ///
    /// # Errors
    /// A field is missing, or the weights are not as many as the channels need.
    pub fn from_json(value: &Value) -> Result<Self> {
        let wrong = || {
            let message = "the linear model of the checkpoint is incomplete";
            Error::new(ErrorKind::Data, message)
        };
        let count = |value: &Value| value.as_u64().map(|n| n as usize).ok_or_else(wrong);
        let weights = value["weights"].as_array().ok_or_else(wrong)?;
        let weights = weights.iter().map(|w| w.as_f64().map(|w| w as f32));
        let linear = Linear {
            weights: weights.collect::<Option<_>>().ok_or_else(wrong)?,
            n_channels: count(&value["channels"])?,
            shape: (count(&value["shape"][0])?, count(&value["shape"][1])?),
        };
        match linear.weights.len() == linear.n_predictors() * linear.stride() {
            true => Ok(linear),
            false => Err(wrong()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::data::Channel;
    use crate::time::Time;

    fn wave(n_times: usize) -> Archive {
        let (n_lat, n_lon) = (8, 9);
        let mut values = Vec::new();
        for t in 0..n_times {
            for k in 0..n_lat * n_lon {
                let (y, x) = ((k / n_lon) as f64, (k % n_lon) as f64);
                values.push((0.7 * x - 0.4 * t as f64 + 0.3 * y).sin() as f32);
            }
        }
        let channel = Channel {
            variable: "U".into(),
            level: None,
            units: String::new(),
        };
        Archive {
            times: (0..n_times).map(|k| Time(21_600 * k as i64)).collect(),
            step_s: 21_600,
            lat: (0..n_lat).map(|k| 40.0 + k as f64).collect(),
            lon: (0..n_lon).map(|k| k as f64).collect(),
            channels: vec![channel],
            absent: Vec::new(),
            mask: None,
            curved: None,
            statics: Vec::new(),
            values: values.into(),
        }
    }

    /// A travelling sine obeys x(t+1) = 2 cos(ω) x(t) − x(t−1), which two states hold exactly. The
    /// bound is what the small penalty costs.
    #[test]
    fn the_linear_model_finds_a_linear_law() {
        let archive = wave(120);
        let closest = Linear::candidates(&archive, &(0..60)).remove(3).1;
        for linear in [closest, Linear::steady(&archive, &(0..60), &(60..100))] {
            let truth = archive.record(71);
            let mut change = vec![0.0; truth.len()];
            linear.change(archive.record(69), archive.record(70), &mut change);
            let worst = (change.iter().zip(archive.record(70)).zip(truth))
                .map(|((d, now), truth)| (now + d - truth).abs())
                .fold(0.0, f32::max);
            // At the edge neighbours are missing.
            assert!(worst < 0.4, "{worst}");
            let at = 3 * 9 + 4;
            let inside = (archive.record(70)[at] + change[at] - truth[at]).abs();
            assert!(inside < 0.01, "{inside}");
            let again = Linear::from_json(&linear.to_json());
            assert!(again.is_ok_and(|again| again == linear));
        }
        let short = json!({"channels": 2, "shape": [8, 9], "weights": [1.0, 2.0]});
        let error = Linear::from_json(&short).unwrap_err().to_string();
        assert!(error.contains("incomplete"), "{error}");
    }

    /// ⟨g, L(a, b)⟩ − ⟨g, L(0, 0)⟩ = ⟨slope by a, a⟩ + ⟨slope by b, b⟩ for any numbers.
    #[test]
    fn slopes_are_the_transpose_of_changes() {
        let archive = wave(80);
        let linear = Linear::candidates(&archive, &(0..60)).remove(3).1;
        let n = archive.record_len();
        let some = |k: usize| -> Vec<f32> {
            (0..n)
                .map(|i| ((i * 31 + k * 17) % 23) as f32 / 11.0 - 1.0)
                .collect()
        };
        let (a, b, g) = (some(1), some(2), some(3));
        let zero = vec![0.0; n];
        let (mut change, mut none) = (zero.clone(), zero.clone());
        linear.change(&a, &b, &mut change);
        linear.change(&zero, &zero, &mut none);
        let (mut by_a, mut by_b) = (zero.clone(), zero.clone());
        linear.slope(&g, &mut by_a, &mut by_b);
        let dot =
            |x: &[f32], y: &[f32]| -> f64 { x.iter().zip(y).map(|(x, y)| f64::from(x * y)).sum() };
        let left = dot(&g, &change) - dot(&g, &none);
        let right = dot(&by_a, &a) + dot(&by_b, &b);
        assert!(
            (left - right).abs() < 1e-4 * left.abs().max(1.0),
            "{left} {right}"
        );
    }
}
