//! How fast steps shrink, and when the next one will be too small to matter.

/// How fast accepted steps shrink.
pub(super) struct Pace {
    /// The changes of the last two.
    last: [f64; 2],
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            last: [f64::NAN; 2],
        }
    }
}

impl Pace {
    /// Steps that shrink by less than this part may do so by chance.
    pub(super) const STEADY: f64 = 0.1;

    /// What the step after one of `change` would change: by the slower of the last two ratios, ∞
    /// where these are not small.
    pub(super) fn next(&mut self, change: f64) -> f64 {
        let ratio = (change / self.last[1]).max(self.last[1] / self.last[0]);
        let known = self.last.iter().all(|x| *x > 0.0);
        self.last = [self.last[1], change];
        match known && ratio < Self::STEADY {
            true => ratio * change,
            false => f64::INFINITY,
        }
    }
}
