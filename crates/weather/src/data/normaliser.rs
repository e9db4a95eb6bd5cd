//! Means and deviations of the training records, of their changes, and of what a forecast goes on
//! from leaves.

use super::archive::Archive;
use super::linear::Linear;
use super::split::windows;
use fitzroy::{Error, ErrorKind, Result};
use serde_json::{Value, json};
use std::ops::Range;

/// Scales of every channel, from the training records alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Normaliser {
    /// Means.
    pub mean: Vec<f64>,
    /// Standard deviations; 1 where a channel never changes.
    pub sd: Vec<f64>,
    /// Means of one-step changes, in units of `sd`.
    pub change_mean: Vec<f64>,
    /// Standard deviations of one-step changes, in units of `sd`; 1 where there are none.
    pub change_sd: Vec<f64>,
    /// How much of a change goes on in the next one: a of Δ(t+1) ≈ aΔ(t), by least squares.
    ///
    /// A forecast is X(t) + a (X(t) − X(t−1)) + μ + σ·out. With a = 0 the losses of fields that
    /// hardly change course (heights, winds) were all but gone beside that of rain, and those
    /// fields stayed worse than a linear model's; what momentum leaves is about as hard to
    /// foretell for every variable.
    pub momentum: Vec<f64>,
    /// Means μ of what momentum, or the linear model, leaves, in units of `sd`.
    pub rest_mean: Vec<f64>,
    /// Standard deviations σ of what it leaves, in units of `sd`; 1 where there are none.
    pub rest_sd: Vec<f64>,
    /// What a forecast goes on from in place of momentum: X(t) + L(X(t), X(t−1)) + μ + σ·out.
    pub linear: Option<Linear>,
    /// For each channel the places at which it has no values, where missing values are left out;
    /// else empty. Forecasts hold them.
    pub absent: Vec<Vec<bool>>,
}

/// The largest momentum: with 1 a forecast would never come to rest.
const MOMENTUM_MAX: f64 = 0.98;

/// Mean and deviation from a count, a sum and a sum of squares about a shift.
fn moments(n: f64, sum: f64, squares: f64) -> (f64, f64) {
    let mean = sum / n;
    let variance = (squares / n - mean * mean).max(0.0);
    (mean, variance.sqrt())
}

/// Changes of one channel, in units of its deviation.
struct Changes {
    mean: f64,
    sd: f64,
    momentum: f64,
    rest: (f64, f64),
}

fn changes(archive: &Archive, range: &Range<usize>, sd: &[f64]) -> Vec<Changes> {
    let n_channels = sd.len();
    // Count, then sums of a, b, a², b², ab for neighbouring changes a, b.
    let mut sums = vec![[0.0; 6]; n_channels];
    for &t in &windows(archive, range, 1).0 {
        let [before, now, next] = [0, 1, 2].map(|k| archive.record(t as usize + k - 1));
        for (k, ((before, now), next)) in before.iter().zip(now).zip(next).enumerate() {
            if [t - 1, t, t + 1]
                .iter()
                .any(|&t| archive.is_missing(t as usize, k))
            {
                continue;
            }
            let scale = sd[k % n_channels];
            let a = (f64::from(*now) - f64::from(*before)) / scale;
            let b = (f64::from(*next) - f64::from(*now)) / scale;
            let terms = [1.0, a, b, a * a, b * b, a * b];
            let sums = &mut sums[k % n_channels];
            sums.iter_mut().zip(terms).for_each(|(s, x)| *s += x);
        }
    }
    let positive = |d: f64| if d > 1e-9 { d } else { 1.0 };
    let one = |[n, a, b, aa, bb, ab]: &[f64; 6]| {
        let n = n.max(1.0);
        let ((mean_a, sd_a), (mean, sd)) = (moments(n, *a, *aa), moments(n, *b, *bb));
        let covariance = ab / n - mean_a * mean;
        let slope = if sd_a > 1e-9 {
            covariance / (sd_a * sd_a)
        } else {
            0.0
        };
        let momentum = slope.clamp(0.0, MOMENTUM_MAX);
        let left = sd * sd - 2.0 * momentum * covariance + momentum * momentum * sd_a * sd_a;
        Changes {
            mean,
            sd: positive(sd),
            momentum,
            rest: (mean - momentum * mean_a, positive(left.max(0.0).sqrt())),
        }
    };
    sums.iter().map(one).collect()
}

impl Normaliser {
    /// The scales of an archive's records `range`.
    pub fn new(archive: &Archive, range: &Range<usize>) -> Self {
        let n_channels = archive.channels.len();
        let first = archive.record(range.start);
        let sums = |each: &mut dyn FnMut(&mut dyn FnMut(usize, f64))| {
            let mut sums = vec![(0.0, 0.0, 0.0); n_channels];
            each(&mut |channel, x| {
                let s = &mut sums[channel];
                *s = (s.0 + 1.0, s.1 + x, s.2 + x * x);
            });
            sums
        };
        let levels = sums(&mut |add| {
            for t in range.clone() {
                for (k, &x) in archive.record(t).iter().enumerate() {
                    if archive.is_missing(t, k) {
                        continue;
                    }
                    let channel = k % n_channels;
                    add(channel, f64::from(x) - f64::from(first[channel]));
                }
            }
        });
        let (mut mean, mut sd) = (Vec::new(), Vec::new());
        for (channel, s) in levels.iter().enumerate() {
            let (m, d) = moments(s.0, s.1, s.2);
            mean.push(m + f64::from(first[channel]));
            sd.push(if d > 1e-9 * m.abs() && d > 0.0 {
                d
            } else {
                1.0
            });
        }
        let changes = changes(archive, range, &sd);
        Normaliser {
            mean,
            sd,
            change_mean: changes.iter().map(|c| c.mean).collect(),
            change_sd: changes.iter().map(|c| c.sd).collect(),
            momentum: changes.iter().map(|c| c.momentum).collect(),
            rest_mean: changes.iter().map(|c| c.rest.0).collect(),
            rest_sd: changes.iter().map(|c| c.rest.1).collect(),
            linear: None,
            absent: archive
                .mask
                .as_ref()
                .map_or(Vec::new(), |_| archive.absent.clone()),
        }
    }

    /// From now on forecasts go on from a linear model of the neighbourhood, fitted to records
    /// `train` of the archive, which is normalised; `trial` are records to try its steadiness on.
    pub fn go_on_linearly(
        &mut self,
        archive: &Archive,
        train: &Range<usize>,
        trial: &Range<usize>,
    ) {
        let linear = Linear::steady(archive, train, trial);
        let n_channels = self.mean.len();
        let mut sums = vec![(0.0, 0.0, 0.0); n_channels];
        let mut change = vec![0.0; archive.record_len()];
        for &t in &windows(archive, train, 1).0 {
            let [before, now, next] = [0, 1, 2].map(|k| archive.record(t as usize + k - 1));
            linear.change(before, now, &mut change);
            for (k, ((now, next), change)) in now.iter().zip(next).zip(&change).enumerate() {
                // What a loss counts, though the state before it may be an older one.
                if archive.is_missing(t as usize + 1, k) {
                    continue;
                }
                let rest = f64::from(next - now - change);
                let s = &mut sums[k % n_channels];
                *s = (s.0 + 1.0, s.1 + rest, s.2 + rest * rest);
            }
        }
        for (channel, (n, sum, squares)) in sums.into_iter().enumerate() {
            let (mean, sd) = moments(f64::max(n, 1.0), sum, squares);
            self.rest_mean[channel] = mean;
            self.rest_sd[channel] = if sd > 1e-9 { sd } else { 1.0 };
        }
        self.linear = Some(linear);
    }

    /// Takes over means, deviations and changes of the channels that `saved` has: `from` is their
    /// number there.
    pub fn take_over(&mut self, saved: &Normaliser, from: &[Option<usize>]) {
        let lists = [
            (&mut self.mean, &saved.mean),
            (&mut self.sd, &saved.sd),
            (&mut self.change_mean, &saved.change_mean),
            (&mut self.change_sd, &saved.change_sd),
            (&mut self.momentum, &saved.momentum),
            (&mut self.rest_mean, &saved.rest_mean),
            (&mut self.rest_sd, &saved.rest_sd),
        ];
        for (own, theirs) in lists {
            take(own, theirs, from);
        }
    }

    /// Takes over what these channels go on from, and what that leaves, on a grid of `shape`.
    pub fn take_over_rest(
        &mut self,
        saved: &Normaliser,
        from: &[Option<usize>],
        shape: (usize, usize),
    ) {
        take(&mut self.rest_mean, &saved.rest_mean, from);
        take(&mut self.rest_sd, &saved.rest_sd, from);
        if let Some(linear) = &saved.linear {
            let new = self.linear.take();
            self.linear = Some(linear.carried(from, new.as_ref(), shape));
        }
    }

    /// Brings an archive's values to mean 0 and deviation 1.
    ///
    /// # Errors
    /// The file in which they lie cannot be written.
    pub fn apply(&self, archive: &mut Archive) -> Result<()> {
        let (n_channels, len) = (self.mean.len(), archive.record_len());
        archive.values.change(len, |_, record| {
            for (k, x) in record.iter_mut().enumerate() {
                let channel = k % n_channels;
                *x = ((f64::from(*x) - self.mean[channel]) / self.sd[channel]) as f32;
            }
        })
    }

    /// A value in the channel's units.
    pub fn restore(&self, channel: usize, x: f32) -> f64 {
        f64::from(x) * self.sd[channel] + self.mean[channel]
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        let linear = self.linear.as_ref().map(Linear::to_json);
        let mut all = json!({"mean": self.mean, "sd": self.sd,
               "change_mean": self.change_mean, "change_sd": self.change_sd,
               "momentum": self.momentum, "rest_mean": self.rest_mean, "rest_sd": self.rest_sd,
               "linear": linear});
        if !self.absent.is_empty() {
            let runs = self.absent.iter().map(|absent| runs(absent));
            all["absent"] = json!(runs.collect::<Vec<_>>());
        }
        all
    }

    /// From JSON.
    ///
    /// # Errors
    /// A list is missing.
    pub fn from_json(value: &Value) -> Result<Self> {
        let list = |name: &str| -> Result<Vec<f64>> {
            let numbers = value[name]
                .as_array()
                .map(|list| list.iter().map(Value::as_f64));
            let numbers = numbers.and_then(|list| list.collect::<Option<Vec<f64>>>());
            numbers.ok_or_else(|| {
                Error::new(
                    ErrorKind::Data,
                    format!("the normaliser has no list `{name}`"),
                )
            })
        };
        Ok(Normaliser {
            mean: list("mean")?,
            sd: list("sd")?,
            change_mean: list("change_mean")?,
            change_sd: list("change_sd")?,
            momentum: list("momentum")?,
            rest_mean: list("rest_mean")?,
            rest_sd: list("rest_sd")?,
            linear: match &value["linear"] {
                Value::Null => None,
                linear => Some(Linear::from_json(linear)?),
            },
            absent: match value["absent"].as_array() {
                Some(all) => all.iter().map(from_runs).collect(),
                None => Vec::new(),
            },
        })
    }
}

/// Truths as the lengths of runs of equal ones, the first of which is false.
fn runs(all: &[bool]) -> Vec<usize> {
    let (mut lengths, mut last) = (vec![0], false);
    for &x in all {
        if x != last {
            lengths.push(0);
        }
        last = x;
        let end = lengths.len() - 1;
        lengths[end] += 1;
    }
    lengths
}

/// Truths again from lengths of runs.
fn from_runs(lengths: &Value) -> Vec<bool> {
    let lengths = lengths.as_array().into_iter().flatten().enumerate();
    let run = |(k, n): (usize, &Value)| vec![k % 2 == 1; n.as_u64().unwrap_or(0) as usize];
    lengths.flat_map(run).collect()
}

/// Takes over the numbers of `theirs` that `from` says.
fn take(own: &mut [f64], theirs: &[f64], from: &[Option<usize>]) {
    for (x, from) in own.iter_mut().zip(from) {
        *x = from.map_or(*x, |k| theirs[k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Channel;
    use crate::time::Time;

    /// Changes that go on by seven tenths and a jolt without a pattern, as a recursion makes them:
    /// momentum and jolts are found again. Catches: a change taken the wrong way round, units that
    /// are mixed up.
    #[test]
    fn momentum_and_what_it_leaves_are_found_again() {
        let n = 4000;
        let (mut change, mut x) = (0.0_f64, 10.0_f64);
        let mut values = Vec::new();
        let mut state = 1_u64;
        for _ in 0..n {
            values.push(x as f32);
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let jolt = (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5;
            change = 0.7 * change + jolt - 0.02 * x;
            x += change;
        }
        let channel = Channel {
            variable: "X".into(),
            level: None,
            units: String::new(),
        };
        let archive = Archive {
            times: (0..n).map(|k| Time(3600 * k)).collect(),
            step_s: 3600,
            lat: vec![0.0],
            lon: vec![0.0],
            channels: vec![channel],
            absent: Vec::new(),
            mask: None,
            curved: None,
            statics: Vec::new(),
            values: values.into(),
        };
        let mut found = Normaliser::new(&archive, &(0..n as usize));
        found.absent = vec![vec![], vec![true, false, false, true], vec![false, true]];
        let momentum = found.momentum[0];
        assert!((momentum - 0.7).abs() < 0.05, "{momentum}");
        // Uniform jolts of width 1, in units of the deviation; the pull towards 0 adds little.
        let expected = (1.0_f64 / 12.0).sqrt() / found.sd[0];
        let ratio = found.rest_sd[0] / expected;
        assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
        assert!(found.rest_sd[0] < found.change_sd[0]);
        let again = Normaliser::from_json(&found.to_json());
        assert!(again.is_ok_and(|again| again == found));
    }
}
