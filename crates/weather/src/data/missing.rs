//! What is done about values that are missing.

use super::archive::Archive;
use super::check::is_number;
use fitzroy::{Error, Named, Result};

/// What is done about values that are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// Nothing: they are an error.
    #[default]
    Refuse,
    /// Times at which a value is missing are left out. Places without any value are filled.
    LeaveOut,
    /// They are filled: between the times around at the same place, before the first and behind the
    /// last by these. Places without any value get the mean of the channel, and are not scored.
    Fill,
    /// Losses, scores and scales leave them out. What a network reads there is the last value
    /// before at the same place, or the first one. Places without any value are held at the mean.
    Mask,
}

impl Named for Missing {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("refuse", Missing::Refuse),
        ("leave-out", Missing::LeaveOut),
        ("fill", Missing::Fill),
        ("mask", Missing::Mask),
    ];
}

/// What was missing in a channel.
#[derive(Clone, Default)]
struct Holes {
    /// Places without any value.
    absent: Vec<bool>,
    /// Missing values at other places, and the most in a row.
    gaps: (usize, usize),
}

/// Fill values of a channel, which stand for missing values.
type Fills = Vec<f32>;

impl Archive {
    /// Treats missing values, fill values that the files do not declare among them; what it did.
    ///
    /// # Errors
    /// A channel has no values at all, or no times are left.
    pub(crate) fn mend(&mut self, missing: Missing) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        if missing == Missing::Refuse {
            return Ok(notes);
        }
        let seen = self.sweep();
        let fills: Vec<Fills> = seen.iter().map(|s| s.fills().collect()).collect();
        let of_channels = seen.iter().zip(&fills);
        let has_holes = of_channels.map(|(s, fills)| s.n_finite < s.n || !fills.is_empty());
        let has_holes: Vec<bool> = has_holes.collect();
        if !has_holes.contains(&true) {
            return Ok(notes);
        }
        let means = self.without_fills(&fills, &has_holes)?;
        let mut incomplete = vec![false; self.times.len()];
        let holes = self.close_gaps(missing, &has_holes, &mut incomplete)?;
        if holes.iter().any(|holes| holes.absent.contains(&true)) {
            self.set_absent(missing, &holes, &means)?;
        }
        self.absent = vec![Vec::new(); holes.len()];
        for (channel, holes) in holes.into_iter().enumerate() {
            let label = self.channels[channel].label();
            let taken = |fill| format!("{label}: {fill:e} is taken for a missing value");
            notes.extend(fills[channel].iter().map(taken));
            if has_holes[channel] {
                notes.push(holes.note(&label, missing));
            }
            if holes.absent.contains(&true) {
                self.absent[channel] = holes.absent;
            }
        }
        if missing == Missing::LeaveOut {
            notes.extend(self.leave_out(&incomplete)?);
        }
        Ok(notes)
    }

    /// Makes missing values of fill values; the means of channels that have holes.
    fn without_fills(&mut self, fills: &[Fills], has_holes: &[bool]) -> Result<Vec<f32>> {
        let (n, len) = (fills.len(), self.record_len());
        let mut sums = vec![(0.0, 0.0); n];
        self.values.change(len, |_, record| {
            for (at, x) in record
                .iter_mut()
                .enumerate()
                .filter(|(at, _)| has_holes[at % n])
            {
                if fills[at % n].contains(x) || !is_number(*x) {
                    *x = f32::NAN;
                    continue;
                }
                let (sum, count) = &mut sums[at % n];
                *sum += f64::from(*x);
                *count += 1.0;
            }
        })?;
        let mean = |(channel, (sum, count)): (usize, (f64, f64))| {
            if has_holes[channel] && count == 0.0 {
                let label = self.channels[channel].label();
                let message = format!("{label} has no values at all; leave it out of ⟨variables⟩");
                return Err(Error::data(message));
            }
            Ok((sum / count) as f32)
        };
        sums.into_iter().enumerate().map(mean).collect()
    }

    /// Goes through the records in order, and closes the gaps of each place as they end. `incomplete`
    /// becomes true for the times at which a value is missing.
    fn close_gaps(
        &mut self,
        missing: Missing,
        has_holes: &[bool],
        incomplete: &mut [bool],
    ) -> Result<Vec<Holes>> {
        let (n, len, n_times) = (has_holes.len(), self.record_len(), self.times.len());
        let mut holes = vec![Holes::default(); n];
        // The last time at which each number of a record is known.
        let mut last: Vec<Option<usize>> = vec![None; len];
        let with_holes: Vec<usize> = (0..len).filter(|at| has_holes[at % n]).collect();
        let block = self.values.records_at_once(len);
        for t in 0..=n_times {
            if t % block == 0 || t == n_times {
                self.values.settle(0..t * len)?;
            }
            for &at in &with_holes {
                if t < n_times && self.values[t * len + at].is_nan() {
                    continue;
                }
                let before = if t < n_times {
                    last[at].replace(t)
                } else {
                    last[at]
                };
                let first = before.map_or(0, |before| before + 1);
                let after = Some(t).filter(|&t| t < n_times);
                if first == t || before.is_none() && after.is_none() {
                    continue;
                }
                incomplete[first..t].fill(true);
                let gaps = &mut holes[at % n].gaps;
                *gaps = (gaps.0 + t - first, gaps.1.max(t - first));
                self.close(missing, at, (before, after));
            }
        }
        for (at, last) in last.iter().enumerate().filter(|(at, _)| has_holes[at % n]) {
            holes[at % n].absent.push(last.is_none());
        }
        Ok(holes)
    }

    /// Closes the gap of number `at` between the times `before` and `after`, at which it is known.
    fn close(&mut self, missing: Missing, at: usize, known: (Option<usize>, Option<usize>)) {
        let len = self.record_len();
        let (before, after) = known;
        let value = |of: Option<usize>| of.map(|t| self.values[t * len + at]);
        let (a, b) = (value(before), value(after));
        let outer = a.or(b).unwrap_or(f32::NAN);
        for t in before.map_or(0, |t| t + 1)..after.unwrap_or(self.times.len()) {
            let filled = match missing {
                Missing::Refuse | Missing::LeaveOut => continue,
                // No state knows of later ones.
                Missing::Mask => outer,
                Missing::Fill => match (before.zip(a), after.zip(b)) {
                    (Some((before, a)), Some((after, b))) => {
                        let seconds = |t: usize| self.times[t].0 as f64;
                        let span = seconds(after) - seconds(before);
                        let share = (seconds(t) - seconds(before)) / span;
                        let (a, b) = (f64::from(a), f64::from(b));
                        (a + share * (b - a)) as f32
                    }
                    _ => outer,
                },
            };
            self.values[t * len + at] = filled;
            if missing == Missing::Mask {
                self.set_missing(t * len + at);
            }
        }
    }

    /// Gives places without any value the mean of their channel.
    fn set_absent(&mut self, missing: Missing, holes: &[Holes], means: &[f32]) -> Result<()> {
        let (n, len) = (holes.len(), self.record_len());
        let is_absent = |at: &usize| holes[at % n].absent.get(at / n) == Some(&true);
        let absent: Vec<usize> = (0..len).filter(is_absent).collect();
        let set = |record: &mut [f32]| absent.iter().for_each(|&at| record[at] = means[at % n]);
        self.values.change(len, |_, record| set(record))?;
        if missing == Missing::Mask {
            for t in 0..self.times.len() {
                absent.iter().for_each(|&at| self.set_missing(t * len + at));
            }
        }
        Ok(())
    }

    /// Keeps the records of some times, which ascend.
    ///
    /// # Errors
    /// The file of the numbers cannot be written.
    pub(super) fn keep(&mut self, kept: &[usize]) -> Result<()> {
        let len = self.record_len();
        self.values.keep(len, kept)?;
        self.times = kept.iter().map(|&t| self.times[t]).collect();
        Ok(())
    }

    fn leave_out(&mut self, incomplete: &[bool]) -> Result<Option<String>> {
        let n_out = incomplete.iter().filter(|&&out| out).count();
        if n_out == 0 {
            return Ok(None);
        }
        if incomplete.len() - n_out < 4 {
            return Err(Error::data(format!(
                "⟨missing leave-out⟩: a value is missing at {n_out} of {} times, and too few are \
                 left; ⟨missing fill⟩ fills them, or use fewer ⟨variables⟩",
                incomplete.len()
            )));
        }
        let kept: Vec<usize> = (0..incomplete.len()).filter(|&t| !incomplete[t]).collect();
        self.keep(&kept)?;
        Ok(Some(format!(
            "{n_out} of {} times are left out because a value is missing then",
            incomplete.len()
        )))
    }
}

impl Holes {
    fn note(&self, label: &str, missing: Missing) -> String {
        let n_absent = self.absent.iter().filter(|&&absent| absent).count();
        let mut said = Vec::new();
        if n_absent > 0 {
            let done = match missing {
                Missing::Mask => "held at its mean, and neither learnt nor scored",
                _ => "filled by its mean and not scored",
            };
            said.push(format!(
                "{n_absent} of {} places have no values: they are {done}",
                self.absent.len()
            ));
        }
        let (count, most) = self.gaps;
        if count > 0 {
            let done = match missing {
                Missing::Fill => ", filled from the times around",
                Missing::Mask => ", left out of losses and scores",
                Missing::Refuse | Missing::LeaveOut => "",
            };
            said.push(format!(
                "{count} values are missing elsewhere, at most {most} times in a row{done}"
            ));
        }
        format!("{label}: {}", said.join("; "))
    }
}
