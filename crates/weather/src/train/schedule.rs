//! Rates and lengths of forecasts over a training run.

use fitzroy::{Error, ErrorKind, Result};

/// Linear warm-up from 0, then half a cosine down to a tenth; step t counts from 0.
///
/// rate = peak·t/w for t < w, then end + (peak − end)·½(1 + cos(π·min(1, (t−w)/(D−w)))).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// Highest rate.
    pub peak: f64,
    /// Steps of warm-up, w.
    pub warmup: u64,
    /// Step at which the lowest rate is reached, D.
    pub decay: u64,
}

impl Schedule {
    /// A schedule over `planned` steps. Without a wish the warm-up is the smaller of 1000 and a
    /// tenth of the decay.
    ///
    /// # Errors
    /// The warm-up is as long as the decay, or the rate is not positive.
    pub fn new(peak: f64, warmup: Option<u64>, decay: Option<u64>, planned: u64) -> Result<Self> {
        let decay = decay.unwrap_or(planned).max(1);
        let warmup_steps = warmup.unwrap_or((decay / 10).min(1000));
        if warmup_steps >= decay {
            let message = format!(
                "⟨warmup_steps {warmup_steps}⟩: must be below the {decay} steps until the end of \
                 the decay; leave it out for a tenth of them"
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
        if !(peak > 0.0 && peak.is_finite()) {
            let message = format!("⟨learning_rate {peak}⟩: must be above 0");
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(Schedule {
            peak,
            warmup: warmup_steps,
            decay,
        })
    }

    /// The rate of step `t`.
    pub fn rate(&self, t: u64) -> f64 {
        if t < self.warmup {
            return self.peak * t as f64 / self.warmup as f64;
        }
        let end = 0.1 * self.peak;
        let share = (t - self.warmup) as f64 / (self.decay - self.warmup) as f64;
        let wave = 0.5 * (1.0 + libm::cos(std::f64::consts::PI * share.min(1.0)));
        end + (self.peak - end) * wave
    }
}

/// How many steps forecasts of training have, epoch by epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollouts(Vec<(usize, u64)>);

impl Rollouts {
    /// Reads `1,2,4` (equal parts of the epochs) or `1:20,2:5,4:5`.
    ///
    /// # Errors
    /// A part is no number from 1 to 40, or forms are mixed.
    pub fn parse(text: &str, n_epochs: u64) -> Result<Self> {
        let wrong = || {
            let message = format!(
                "⟨rollout_steps {text}⟩: write lengths from 1 to 40, as 1,2,4 or with epochs as \
                 1:20,2:5,4:5"
            );
            Error::new(ErrorKind::Usage, message)
        };
        let parts: Vec<&str> = text.split(',').collect();
        let mut plan = Vec::new();
        let n = parts.len() as u64;
        for (k, part) in parts.iter().enumerate() {
            let (steps, epochs) = match part.split_once(':') {
                Some((steps, epochs)) => (steps, epochs.trim().parse().map_err(|_| wrong())?),
                None => {
                    let k = k as u64;
                    (*part, n_epochs * (k + 1) / n - n_epochs * k / n)
                }
            };
            let steps: usize = steps.trim().parse().map_err(|_| wrong())?;
            if !(1..=40).contains(&steps) {
                return Err(wrong());
            }
            plan.push((steps, epochs));
        }
        let timed = parts.iter().filter(|p| p.contains(':')).count();
        if timed != 0 && timed != parts.len() {
            return Err(wrong());
        }
        Ok(Rollouts(plan))
    }

    /// Steps in an epoch; the last length holds on.
    pub fn steps(&self, epoch: u64) -> usize {
        let mut left = epoch;
        for &(steps, epochs) in &self.0 {
            if left < epochs {
                return steps;
            }
            left -= epochs;
        }
        self.0.last().map_or(1, |last| last.0)
    }

    /// The most steps of any epoch.
    pub fn longest(&self) -> usize {
        self.0.iter().map(|part| part.0).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of optax.warmup_cosine_decay_schedule(0, 1e-3, 10, 110, 1e-4).
    #[test]
    fn rates_are_those_of_optax() {
        let schedule = Schedule::new(1e-3, Some(10), Some(110), 500).unwrap();
        for (t, rate) in [
            (0, 0.0),
            (5, 5e-4),
            (10, 1e-3),
            (60, 5.5e-4),
            (110, 1e-4),
            (400, 1e-4),
        ] {
            assert!(
                (schedule.rate(t) - rate).abs() < 1e-12,
                "{t}: {}",
                schedule.rate(t)
            );
        }
    }

    #[test]
    fn a_warmup_as_long_as_the_run_is_refused() {
        assert!(Schedule::new(1e-3, Some(100), None, 100).is_err());
        assert_eq!(Schedule::new(1e-3, None, None, 100).unwrap().warmup, 10);
        assert_eq!(
            Schedule::new(1e-3, None, None, 100_000).unwrap().warmup,
            1000
        );
        assert!(Schedule::new(-1.0, None, None, 100).is_err());
    }

    #[test]
    fn forecasts_grow_longer_by_parts_or_by_epochs() {
        let equal = Rollouts::parse("1,2,4", 9).unwrap();
        let steps: Vec<usize> = (0..10).map(|e| equal.steps(e)).collect();
        assert_eq!(steps, [1, 1, 1, 2, 2, 2, 4, 4, 4, 4]);
        let given = Rollouts::parse("1:1, 3:2", 9).unwrap();
        assert_eq!((given.steps(0), given.steps(1), given.longest()), (1, 3, 3));
        for text in ["", "0", "1,x", "1:2,3", "99"] {
            assert!(Rollouts::parse(text, 9).is_err(), "{text}");
        }
    }
}
