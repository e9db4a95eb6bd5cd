//! What is done about values that are missing.

use super::archive::Archive;
use super::check::{Numbers, is_number};
use super::mask::Mask;
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
#[derive(Default)]
struct Holes {
    /// Places without any value.
    absent: Vec<bool>,
    /// Missing values at other places, and the most in a row.
    gaps: (usize, usize),
}

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
        let (n, n_channels) = (self.n_nodes(), self.channels.len());
        let mut incomplete = vec![false; self.times.len()];
        let mut all_absent = vec![Vec::new(); n_channels];
        for channel in 0..n_channels {
            while let Some(fill) = self.numbers(channel).undeclared() {
                let label = self.channels[channel].label();
                notes.push(format!("{label}: {fill:e} is taken for a missing value"));
                let own = self.values[channel..].iter_mut().step_by(n_channels);
                own.filter(|x| **x == fill).for_each(|x| *x = f32::NAN);
            }
            if self.numbers(channel).all().all(f32::is_finite) {
                continue;
            }
            let mean = self.mean(channel)?;
            let mut holes = Holes::default();
            for node in 0..n {
                let place = |t: usize| (t * n + node) * n_channels + channel;
                let known: Vec<usize> = (0..self.times.len())
                    .filter(|&t| self.values[place(t)].is_finite())
                    .collect();
                holes.absent.push(known.is_empty());
                for t in 0..self.times.len() {
                    if known.is_empty() {
                        self.values[place(t)] = mean;
                    } else if !self.values[place(t)].is_finite() {
                        incomplete[t] = true;
                        holes.gaps.0 += 1;
                    }
                    if missing == Missing::Mask && known.binary_search(&t).is_err() {
                        let len = self.values.len();
                        self.mask
                            .get_or_insert_with(|| Mask::new(len))
                            .set(place(t));
                    }
                }
                if known.len() < self.times.len() && !known.is_empty() {
                    holes.gaps.1 = holes.gaps.1.max(longest(&known, self.times.len()));
                    match missing {
                        Missing::Fill => self.fill_between(&known, &place),
                        Missing::Mask => self.carry_on(&known, &place),
                        Missing::Refuse | Missing::LeaveOut => {}
                    }
                }
            }
            notes.push(holes.note(&self.channels[channel].label(), missing));
            if holes.absent.contains(&true) {
                all_absent[channel] = holes.absent;
            }
        }
        self.absent = all_absent;
        if missing == Missing::LeaveOut {
            notes.extend(self.leave_out(&incomplete)?);
        }
        Ok(notes)
    }

    /// The numbers of a channel.
    pub(super) fn numbers(&self, channel: usize) -> Numbers<'_> {
        Numbers {
            channel: &self.channels[channel],
            values: &self.values,
            first: channel,
            stride: self.channels.len(),
            archive: self,
        }
    }

    fn mean(&self, channel: usize) -> Result<f32> {
        let (mut sum, mut count) = (0.0, 0.0);
        for x in self.numbers(channel).all().filter(|x| is_number(*x)) {
            sum += f64::from(x);
            count += 1.0;
        }
        if count == 0.0 {
            let label = self.channels[channel].label();
            let message = format!("{label} has no values at all; leave it out of ⟨variables⟩");
            return Err(Error::data(message));
        }
        Ok((sum / count) as f32)
    }

    /// Fills what lies between the `known` times of a place, in proportion to time.
    fn fill_between(&mut self, known: &[usize], place: &dyn Fn(usize) -> usize) {
        let mut next = 0;
        for t in 0..self.times.len() {
            while next < known.len() && known[next] < t {
                next += 1;
            }
            let (before, after) = (next.checked_sub(1).map(|k| known[k]), known.get(next));
            let value = |t: usize| f64::from(self.values[place(t)]);
            let filled = match (before, after) {
                (_, Some(&after)) if after == t => continue,
                (Some(a), Some(&b)) => {
                    let seconds = |t: usize| self.times[t].0 as f64;
                    let share = (seconds(t) - seconds(a)) / (seconds(b) - seconds(a));
                    value(a) + share * (value(b) - value(a))
                }
                (Some(a), None) => value(a),
                (None, Some(&b)) => value(b),
                (None, None) => continue,
            };
            self.values[place(t)] = filled as f32;
        }
    }

    /// Fills what lies behind each of the `known` times of a place with its value, and what lies
    /// before the first with that: no state knows of later ones.
    fn carry_on(&mut self, known: &[usize], place: &dyn Fn(usize) -> usize) {
        let mut last = self.values[place(known[0])];
        for t in 0..self.times.len() {
            match known.binary_search(&t) {
                Ok(_) => last = self.values[place(t)],
                Err(_) => self.values[place(t)] = last,
            }
        }
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
        let len = self.record_len();
        let kept = (0..incomplete.len()).filter(|&t| !incomplete[t]);
        let mut values = Vec::with_capacity(len * (incomplete.len() - n_out));
        let mut times = Vec::new();
        for t in kept {
            values.extend_from_slice(self.record(t));
            times.push(self.times[t]);
        }
        (self.values, self.times) = (values, times);
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

/// The most times in a row that are not known.
fn longest(known: &[usize], n: usize) -> usize {
    let ends = known.first().copied().zip(known.last());
    let outer = ends.map_or(n, |(first, last)| first.max(n - 1 - last));
    let inner = known.windows(2).map(|pair| pair[1] - pair[0] - 1).max();
    outer.max(inner.unwrap_or(0))
}
