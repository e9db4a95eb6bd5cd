//! The average of the hour: what a forecast that knows nothing of today would say.

use super::archive::Archive;
use std::collections::BTreeMap;
use std::ops::Range;

/// Mean state of each hour of the day, and of each month where there are two years, over the
/// training records; normalised units.
#[derive(Clone, Debug, PartialEq)]
pub struct Climatology {
    means: BTreeMap<i64, Vec<f32>>,
    overall: Vec<f32>,
    by_month: bool,
}

impl Climatology {
    /// Averages records `range`.
    pub fn new(archive: &Archive, range: &Range<usize>) -> Self {
        let by_month = is_by_month(archive, range);
        let mut sums: BTreeMap<i64, Sums> = BTreeMap::new();
        let mut overall = Sums::new(archive);
        for t in range.clone() {
            let entry = sums.entry(key(archive, t, by_month));
            entry.or_insert_with(|| Sums::new(archive)).add(archive, t);
            overall.add(archive, t);
        }
        // Where nothing is known at all stands the mean.
        let overall = overall.means(|_| 0.0);
        let hour = |(k, sums): (&i64, &Sums)| (*k, sums.means(|at| overall[at]));
        Climatology {
            means: sums.iter().map(hour).collect(),
            overall,
            by_month,
        }
    }

    /// Bytes of one for an archive, at most.
    pub fn bytes(archive: &Archive, range: &Range<usize>) -> u64 {
        let by_month = is_by_month(archive, range);
        let hours = (86_400 / archive.step_s.max(1)).clamp(1, 86_400) as u64;
        let states = hours * if by_month { 12 } else { 1 } + 1;
        states.min(range.len() as u64 + 1) * archive.record_len() as u64 * 4
    }

    /// Its states (node, channel): the hours, and months, by number; without one, the average of
    /// all.
    pub fn states(&self) -> Vec<(Option<i64>, &[f32])> {
        let hours = self.means.iter().map(|(k, mean)| (Some(*k), &mean[..]));
        hours.chain([(None, &self.overall[..])]).collect()
    }

    /// One of its states again, if they are of one length, and the average of all is there.
    pub fn from_states(states: Vec<(Option<i64>, Vec<f32>)>, by_month: bool) -> Option<Self> {
        let (mut means, mut overall) = (BTreeMap::new(), None);
        for (key, state) in states {
            match key {
                Some(key) => _ = means.insert(key, state),
                None => overall = Some(state),
            }
        }
        let overall: Vec<f32> = overall?;
        let even = means.values().all(|state| state.len() == overall.len());
        even.then_some(Climatology {
            means,
            overall,
            by_month,
        })
    }

    /// The average of all.
    pub fn overall(&self) -> &[f32] {
        &self.overall
    }

    /// Numbers of a state.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.overall.len()
    }

    /// Whether months have averages of their own.
    pub fn by_month(&self) -> bool {
        self.by_month
    }

    /// The usual state at record `t`.
    pub fn at(&self, archive: &Archive, t: usize) -> &[f32] {
        self.means
            .get(&key(archive, t, self.by_month))
            .unwrap_or(&self.overall)
    }
}

/// Sums of states.
struct Sums {
    sum: Vec<f64>,
    n: f64,
    /// States of which a number is missing; empty where none ever is.
    missing: Vec<f64>,
}

impl Sums {
    fn new(archive: &Archive) -> Self {
        let n = archive.record_len();
        Sums {
            sum: vec![0.0; n],
            n: 0.0,
            missing: vec![0.0; if archive.mask.is_some() { n } else { 0 }],
        }
    }

    fn add(&mut self, archive: &Archive, t: usize) {
        self.n += 1.0;
        for (at, (sum, &x)) in self.sum.iter_mut().zip(archive.record(t)).enumerate() {
            match archive.is_missing(t, at) {
                false => *sum += f64::from(x),
                true => self.missing[at] += 1.0,
            }
        }
    }

    /// Means of what is known; `otherwise` where nothing is.
    fn means(&self, otherwise: impl Fn(usize) -> f32) -> Vec<f32> {
        let mean = |(at, sum): (usize, &f64)| {
            let n = self.n - self.missing.get(at).unwrap_or(&0.0);
            if n > 0.0 {
                (sum / n) as f32
            } else {
                otherwise(at)
            }
        };
        self.sum.iter().enumerate().map(mean).collect()
    }
}

/// Whether records last for two years, so that months can have averages of their own.
fn is_by_month(archive: &Archive, range: &Range<usize>) -> bool {
    let times = &archive.times[range.clone()];
    let ends = times.last().zip(times.first());
    ends.is_some_and(|(b, a)| b.0 - a.0 >= 730 * 86_400)
}

fn key(archive: &Archive, t: usize, by_month: bool) -> i64 {
    let time = archive.times[t];
    let month = if by_month { time.month() } else { 0 };
    month * 100_000 + time.0.rem_euclid(86_400)
}
