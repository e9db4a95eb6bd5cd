//! Means and deviations of the training records, and of their changes.

use super::archive::Archive;
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
}

/// Mean and deviation from a count, a sum and a sum of squares about a shift.
fn moments(n: f64, sum: f64, squares: f64) -> (f64, f64) {
    let mean = sum / n;
    let variance = (squares / n - mean * mean).max(0.0);
    (mean, variance.sqrt())
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
        let starts = windows(archive, range, 1).0;
        let changes = sums(&mut |add| {
            for &t in &starts {
                let (now, next) = (archive.record(t as usize), archive.record(t as usize + 1));
                for (k, (a, b)) in now.iter().zip(next).enumerate() {
                    add(
                        k % n_channels,
                        (f64::from(*b) - f64::from(*a)) / sd[k % n_channels],
                    );
                }
            }
        });
        let (change_mean, change_sd) = changes
            .iter()
            .map(|s| {
                let (m, d) = moments(s.0.max(1.0), s.1, s.2);
                (m, if d > 1e-9 { d } else { 1.0 })
            })
            .unzip();
        Normaliser {
            mean,
            sd,
            change_mean,
            change_sd,
        }
    }

    /// Brings an archive's values to mean 0 and deviation 1.
    pub fn apply(&self, archive: &mut Archive) {
        let n_channels = self.mean.len();
        for (k, x) in archive.values.iter_mut().enumerate() {
            let channel = k % n_channels;
            *x = ((f64::from(*x) - self.mean[channel]) / self.sd[channel]) as f32;
        }
    }

    /// A value in the channel's units.
    pub fn restore(&self, channel: usize, x: f32) -> f64 {
        f64::from(x) * self.sd[channel] + self.mean[channel]
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({"mean": self.mean, "sd": self.sd,
               "change_mean": self.change_mean, "change_sd": self.change_sd})
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
        })
    }
}
