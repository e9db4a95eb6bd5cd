//! Rain that files add up over time: its changes are what each step brought.

use super::archive::Archive;
use super::check::is_number;
use super::times::usual_step;
use fitzroy::{Named, Result};

/// What the numbers of rain in files are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accumulation {
    /// Totals if they never fall at any place, or only at the same hour of each day; else the rain
    /// of each step.
    #[default]
    Auto,
    /// The rain of each step.
    Step,
    /// Totals since the first time, or since the time at which they last fell.
    Total,
}

impl Named for Accumulation {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Accumulation::Auto),
        ("step", Accumulation::Step),
        ("total", Accumulation::Total),
    ];
}

/// Times from which on rain that never falls is taken for a total: rain of steps that grew at every
/// place for so long has not been seen.
const TIMES_MIN: usize = 8;
/// Days after which rain that falls at the same hour of each alone is taken for totals of a day.
const DAYS_MIN: usize = 4;
/// Seconds of a day.
const DAY_S: i64 = 86_400;
/// A total falls if it does so by more than this share of it; less is rounding.
const ROUNDING: f64 = 1e-5;

impl Archive {
    /// Takes the changes of totals of rain. What came before the first time, and what a gap holds,
    /// is not known: these times are left out, but for those of a forecast, which `begins` at its
    /// first. What it did, if it did something.
    ///
    /// # Errors
    /// The file of the numbers cannot be written.
    pub(super) fn take_changes(
        &mut self,
        kind: Accumulation,
        begins: bool,
    ) -> Result<Option<String>> {
        let n = self.channels.len();
        let of_rain = (0..n).filter(|&k| self.channels[k].is_rain());
        let channels: Vec<usize> = match kind {
            Accumulation::Step => return Ok(None),
            Accumulation::Total => of_rain.collect(),
            Accumulation::Auto if begins => return Ok(None),
            Accumulation::Auto => of_rain.filter(|&k| self.is_total(k)).collect(),
        };
        if channels.is_empty() || self.times.is_empty() {
            return Ok(None);
        }
        let (len, n_times) = (self.record_len(), self.times.len());
        let block = self.values.records_at_once(len);
        let mut n_resets = 0;
        for &channel in &channels {
            let mut settled = n_times;
            for t in (1..n_times).rev() {
                n_resets += usize::from(!self.take_change(channel, t));
                if settled - t >= block || t == 1 {
                    self.values.settle(t * len..settled * len)?;
                    settled = t;
                }
            }
        }
        let n_out = if begins { 0 } else { self.leave_out_first()? };
        let label = self.channels[channels[0]].label();
        let anew = match n_resets {
            0 => String::new(),
            n => format!(", which begins anew {n} times"),
        };
        let how = match kind {
            Accumulation::Total => "is read as a total",
            _ if n_resets == 0 => "never falls, so it is taken for a total",
            _ => "falls at the same hour of each day alone, so it is taken for a total",
        };
        Ok(Some(format!(
            "{label} {how}{anew}: the changes are used; {n_out} times are left out because what they brought \
             is not known (⟨accumulation step⟩ takes the numbers as they stand)"
        )))
    }

    /// Makes of a channel's totals at time `t` what was added since the time before; false where they
    /// fell and stay as they are: what fell has begun anew, at every place.
    fn take_change(&mut self, channel: usize, t: usize) -> bool {
        if self.falls(channel, t) {
            return false;
        }
        let (n, len) = (self.channels.len(), self.record_len());
        for at in (channel..len).step_by(n) {
            let before = self.values[(t - 1) * len + at];
            let now = &mut self.values[t * len + at];
            // Rounding makes no rain, and less than none.
            *now = match is_number(before) && is_number(*now) {
                true => (*now - before).max(0.0),
                false => f32::NAN,
            };
        }
        true
    }

    /// Leaves out the first time and those behind gaps; how many.
    fn leave_out_first(&mut self) -> Result<usize> {
        let step_s = usual_step(&self.times);
        let follows = |t: usize| t > 0 && self.times[t].0 - self.times[t - 1].0 == step_s;
        let kept: Vec<usize> = (0..self.times.len()).filter(|&t| follows(t)).collect();
        let n_out = self.times.len() - kept.len();
        self.keep(&kept)?;
        Ok(n_out)
    }

    /// Whether a channel grows somewhere and never falls, but at the same hour of every day.
    fn is_total(&self, channel: usize) -> bool {
        let n = self.times.len();
        let len = self.record_len();
        let ends = |at: usize| [0, n - 1].map(|t| self.values[t * len + at]);
        let grows = |at: usize| {
            let [first, last] = ends(at);
            is_number(first) && is_number(last) && last > first
        };
        if n < TIMES_MIN {
            return false;
        }
        let falls: Vec<usize> = (1..n).filter(|&t| self.falls(channel, t)).collect();
        match falls.first() {
            None => (channel..len).step_by(self.channels.len()).any(grows),
            Some(&first) => self.is_daily(&falls, self.times[first].0.rem_euclid(DAY_S)),
        }
    }

    /// Whether times at which rain falls are those at one second of each day, of several steps.
    fn is_daily(&self, falls: &[usize], second: i64) -> bool {
        let is_new = |t: &usize| self.times[*t].0.rem_euclid(DAY_S) == second;
        let days: Vec<usize> = (1..self.times.len()).filter(is_new).collect();
        let steps = (self.times.len() - 1) / days.len().max(1);
        // Nothing falls after a dry day.
        steps >= 3
            && falls.len() >= DAYS_MIN
            && falls.len() * 2 > days.len()
            && falls.iter().all(is_new)
    }

    /// Whether a channel is less at a time than at the one before, at any place.
    fn falls(&self, channel: usize, t: usize) -> bool {
        let (before, now) = (self.record(t - 1), self.record(t));
        let pairs = before.iter().zip(now).skip(channel);
        let mut pairs = pairs.step_by(self.channels.len());
        pairs.any(|(&before, &now)| {
            let slack = ROUNDING * f64::from(before.abs());
            is_number(before) && is_number(now) && f64::from(before - now) > slack
        })
    }
}
