//! Rain that files add up over time: its changes are what each step brought.

use super::archive::Archive;
use super::check::is_number;
use super::times::usual_step;
use fitzroy::Named;

/// What the numbers of rain in files are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accumulation {
    /// Totals if they never fall at any place, else the rain of each step.
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
/// A total falls if it does so by more than this share of it; less is rounding.
const ROUNDING: f64 = 1e-5;

impl Archive {
    /// Takes the changes of totals of rain. What came before the first time, and what a gap holds,
    /// is not known: these times are left out, but for those of a forecast, which `begins` at its
    /// first. What it did, if it did something.
    pub(super) fn take_changes(&mut self, kind: Accumulation, begins: bool) -> Option<String> {
        let n = self.channels.len();
        let of_rain = (0..n).filter(|&k| self.channels[k].is_rain());
        let channels: Vec<usize> = match kind {
            Accumulation::Step => return None,
            Accumulation::Total => of_rain.collect(),
            Accumulation::Auto if begins => return None,
            Accumulation::Auto => of_rain.filter(|&k| self.is_total(k)).collect(),
        };
        if channels.is_empty() || self.times.is_empty() {
            return None;
        }
        let len = self.record_len();
        let mut n_resets = 0;
        for &channel in &channels {
            for t in (1..self.times.len()).rev() {
                // What fell has begun anew, at every place.
                if self.falls(channel, t) {
                    n_resets += 1;
                    continue;
                }
                for at in (channel..len).step_by(n) {
                    let before = self.values[(t - 1) * len + at];
                    let now = &mut self.values[t * len + at];
                    // Rounding makes no rain, and less than none.
                    *now = match is_number(before) && is_number(*now) {
                        true => (*now - before).max(0.0),
                        false => f32::NAN,
                    };
                }
            }
        }
        let n_out = if begins { 0 } else { self.leave_out_first() };
        let label = self.channels[channels[0]].label();
        let anew = match n_resets {
            0 => String::new(),
            n => format!(", which begins anew {n} times"),
        };
        let how = match kind {
            Accumulation::Total => "is read as a total",
            _ => "never falls, so it is taken for a total",
        };
        Some(format!(
            "{label} {how}{anew}: the changes are used; {n_out} times are left out because what they brought \
             is not known (⟨accumulation step⟩ takes the numbers as they stand)"
        ))
    }

    /// Leaves out the first time and those behind gaps; how many.
    fn leave_out_first(&mut self) -> usize {
        let step_s = usual_step(&self.times);
        let follows = |t: usize| t > 0 && self.times[t].0 - self.times[t - 1].0 == step_s;
        let kept: Vec<usize> = (0..self.times.len()).filter(|&t| follows(t)).collect();
        let n_out = self.times.len() - kept.len();
        self.keep(&kept);
        n_out
    }

    /// Whether a channel grows somewhere and never falls.
    fn is_total(&self, channel: usize) -> bool {
        let n = self.times.len();
        let len = self.record_len();
        let ends = |at: usize| [0, n - 1].map(|t| self.values[t * len + at]);
        let grows = |at: usize| {
            let [first, last] = ends(at);
            is_number(first) && is_number(last) && last > first
        };
        n >= TIMES_MIN
            && (channel..len).step_by(self.channels.len()).any(grows)
            && !(1..n).any(|t| self.falls(channel, t))
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
