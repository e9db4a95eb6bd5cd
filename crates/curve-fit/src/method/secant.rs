//! Second derivatives of the residuals, learned from how the gradient changes.

use super::Moments;

/// The part of Newton's matrix that Gauss and Newton leave out, from changes of the gradient: symmetric
/// updates of rank one along steps so short that the normal matrix changes little (Dennis, Gay and Welsch
/// 1981 keep such a part from the start, and size it). Without it steps shrink by the noise alone.
pub(super) struct Secant {
    pub(super) part: Vec<f64>,
    /// Step, and what the gradient changed by beyond the normal matrix, of the last step.
    pub(super) step: Vec<f64>,
    beyond: Vec<f64>,
    pub(super) known: bool,
}

impl Secant {
    /// Longest and shortest steps that teach anything, relative to the parameters.
    const SHORT: f64 = 1e-2;
    const ROUNDED: f64 = 1e-9;

    pub(super) fn new(p: usize) -> Self {
        Secant {
            part: vec![0.0; p * p],
            step: vec![0.0; p],
            beyond: vec![0.0; p],
            known: false,
        }
    }

    pub(super) fn forget(&mut self) {
        self.part.fill(0.0);
        self.known = false;
    }

    /// Learns from a step by which the parameters changed by `change`, between `before` and `after`.
    pub(super) fn learn(
        &mut self,
        change: f64,
        step: &[f64],
        before: &Moments,
        after: &Moments,
        d: &[f64],
    ) {
        let p = step.len();
        if change > Self::SHORT {
            return self.forget();
        }
        if change < Self::ROUNDED {
            return;
        }
        let (mut inner, mut own, mut long) = (0.0, 0.0, 0.0);
        for i in 0..p {
            let mut curved = 0.0;
            for (k, s) in step.iter().enumerate() {
                let at = i * p + k;
                let mean = 0.5 * (before.normal[at] + after.normal[at]);
                curved += (mean + self.part[at]) * s;
            }
            let beyond = after.gradient[i] - before.gradient[i] - curved;
            self.beyond[i] = beyond;
            inner += beyond * step[i];
            own += (beyond / d[i]).powi(2);
            long += (step[i] * d[i]).powi(2);
        }
        // Nearly at right angles the update would be large by chance.
        if inner.abs() < 1e-3 * (own * long).sqrt() || inner == 0.0 {
            return;
        }
        for i in 0..p {
            for k in 0..p {
                self.part[i * p + k] += self.beyond[i] * self.beyond[k] / inner;
            }
        }
        self.known = true;
    }
}
