//! What a forecast must beat: the average of the hour, and a linear model of the neighbourhood.

use crate::data::{Archive, windows};
use std::collections::BTreeMap;
use std::ops::Range;

/// Mean state of each hour of the day, and of each month where there are two years, over the
/// training records; normalised units.
pub struct Climatology {
    means: BTreeMap<i64, Vec<f32>>,
    overall: Vec<f32>,
    by_month: bool,
}

impl Climatology {
    /// Averages records `range`.
    pub fn new(archive: &Archive, range: &Range<usize>) -> Self {
        let times = &archive.times[range.clone()];
        let by_month = times
            .last()
            .zip(times.first())
            .is_some_and(|(b, a)| b.0 - a.0 >= 730 * 86_400);
        let mut sums: BTreeMap<i64, (Vec<f64>, f64)> = BTreeMap::new();
        let mut overall = vec![0.0_f64; archive.record_len()];
        for t in range.clone() {
            let entry = sums.entry(key(archive, t, by_month));
            let (sum, n) = entry.or_insert_with(|| (vec![0.0; archive.record_len()], 0.0));
            *n += 1.0;
            for ((sum, all), &x) in sum.iter_mut().zip(&mut overall).zip(archive.record(t)) {
                *sum += f64::from(x);
                *all += f64::from(x);
            }
        }
        let mean = |sum: &[f64], n: f64| sum.iter().map(|s| (s / n) as f32).collect::<Vec<f32>>();
        Climatology {
            means: sums
                .iter()
                .map(|(k, (sum, n))| (*k, mean(sum, *n)))
                .collect(),
            overall: mean(&overall, range.len() as f64),
            by_month,
        }
    }

    /// The usual state at record `t`.
    pub fn at(&self, archive: &Archive, t: usize) -> &[f32] {
        self.means
            .get(&key(archive, t, self.by_month))
            .unwrap_or(&self.overall)
    }
}

fn key(archive: &Archive, t: usize, by_month: bool) -> i64 {
    let time = archive.times[t];
    let month = if by_month { time.month() } else { 0 };
    month * 100_000 + time.0.rem_euclid(86_400)
}

/// Ridge regression of the change of each channel on its own 3 × 3 neighbourhood and the other
/// channels' values of two states; one model for all places.
pub struct Linear {
    /// (channel, predictor).
    weights: Vec<Vec<f64>>,
    n_channels: usize,
    shape: (usize, usize),
}

/// Penalty on normalised predictors, per observation.
const RIDGE: f64 = 1e-4;
/// Windows that are used, at most, evenly spread.
const WINDOWS_MAX: usize = 150;
/// Every how many places are used.
const STRIDE: usize = 3;

impl Linear {
    fn n_predictors(&self) -> usize {
        18 * self.n_channels + 1
    }

    /// Fits records `range`.
    pub fn new(archive: &Archive, range: &Range<usize>) -> Self {
        let n_channels = archive.channels.len();
        let shape = (archive.lat.len(), archive.lon.len());
        let mut linear = Linear {
            weights: Vec::new(),
            n_channels,
            shape,
        };
        let p = linear.n_predictors();
        let (mut normal, mut moments) = (vec![0.0; p * p], vec![0.0; p * n_channels]);
        let starts = windows(archive, range, 1).0;
        let every = starts.len().div_ceil(WINDOWS_MAX).max(1);
        let (mut row, mut n) = (vec![0.0; p], 0.0);
        for (count, &t) in starts.iter().step_by(every).enumerate() {
            let t = t as usize;
            let (before, now, next) = (
                archive.record(t - 1),
                archive.record(t),
                archive.record(t + 1),
            );
            for y in 1..shape.0 - 1 {
                for x in (1 + (count + y) % STRIDE..shape.1 - 1).step_by(STRIDE) {
                    linear.predictors(before, now, y, x, &mut row);
                    n += 1.0;
                    for (i, a) in row.iter().enumerate() {
                        let line = &mut normal[i * p..i * p + i + 1];
                        line.iter_mut().zip(&row).for_each(|(to, b)| *to += a * b);
                    }
                    let at = (y * shape.1 + x) * n_channels;
                    for (i, a) in row.iter().enumerate() {
                        for c in 0..n_channels {
                            let change = f64::from(next[at + c] - now[at + c]);
                            moments[i * n_channels + c] += a * change;
                        }
                    }
                }
            }
        }
        for i in 0..p {
            normal[i * p + i] += RIDGE * n + 1e-9;
        }
        linear.weights = solve(&mut normal, &moments, p, n_channels);
        linear
    }

    fn predictors(&self, before: &[f32], now: &[f32], y: usize, x: usize, row: &mut [f64]) {
        let mut k = 0;
        for state in [before, now] {
            for dy in 0..3 {
                for dx in 0..3 {
                    let at = ((y + dy - 1) * self.shape.1 + x + dx - 1) * self.n_channels;
                    for &value in &state[at..at + self.n_channels] {
                        row[k] = f64::from(value);
                        k += 1;
                    }
                }
            }
        }
        row[k] = 1.0;
    }

    /// The next state, on the inside of the grid; elsewhere `next` stays.
    pub fn step(&self, before: &[f32], now: &[f32], next: &mut [f32]) {
        let mut row = vec![0.0; self.n_predictors()];
        for y in 1..self.shape.0 - 1 {
            for x in 1..self.shape.1 - 1 {
                self.predictors(before, now, y, x, &mut row);
                let at = (y * self.shape.1 + x) * self.n_channels;
                for (c, weights) in self.weights.iter().enumerate() {
                    let change: f64 = weights.iter().zip(&row).map(|(w, r)| w * r).sum();
                    next[at + c] = now[at + c] + change as f32;
                }
            }
        }
    }
}

/// Solves A X = B for a symmetric positive A, of which the lower half is given, by Cholesky;
/// column by column of X.
fn solve(a: &mut [f64], b: &[f64], p: usize, n: usize) -> Vec<Vec<f64>> {
    for i in 0..p {
        for j in 0..=i {
            let (head, tail) = a.split_at(i * p);
            let other = if i == j {
                &tail[..j]
            } else {
                &head[j * p..j * p + j]
            };
            let sum: f64 = tail[..j].iter().zip(other).map(|(x, y)| x * y).sum();
            let value = a[i * p + j] - sum;
            a[i * p + j] = if i == j {
                value.max(1e-300).sqrt()
            } else {
                value / a[j * p + j]
            };
        }
    }
    let column = |c: usize| {
        let mut x: Vec<f64> = (0..p).map(|i| b[i * n + c]).collect();
        for i in 0..p {
            let sum: f64 = (0..i).map(|j| a[i * p + j] * x[j]).sum();
            x[i] = (x[i] - sum) / a[i * p + i];
        }
        for i in (0..p).rev() {
            let sum: f64 = (i + 1..p).map(|j| a[j * p + i] * x[j]).sum();
            x[i] = (x[i] - sum) / a[i * p + i];
        }
        x
    };
    (0..n).map(column).collect()
}
