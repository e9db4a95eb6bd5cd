//! What a forecast must beat besides persistence and the linear model: the average of the hour.

use crate::data::Archive;
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
