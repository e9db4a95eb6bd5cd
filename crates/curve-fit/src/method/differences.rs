//! Jacobians by differences, with steps that suit the function.
//!
//! A step relative to the size of a parameter is too long where the function changes within a small part of that: a
//! resonance of width 10⁴ at 10⁹. The slopes on both sides of θ then differ, which costs nothing to see.

use super::Bounds;
use super::foreign::Fill;
use fitzroy::Result;

/// Steps relative to the size of a parameter, the first one first: it is best for smooth functions of exact values,
/// whose relative error is then 10⁻¹⁰. Shorter ones are for narrow functions, longer ones for noisy ones.
const STEPS: [f64; 7] = [6e-6, 3e-7, 1.5e-8, 1e-9, 5e-11, 2e-4, 5e-3];
/// The most that slopes on both sides may differ, of their size. That of a smooth function in the middle between
/// them is then exact to the square of it, over six.
const DIFFERENT: f64 = 3e-4;
/// Slopes that differ by less than this of what they did at another step are those of rounded numbers.
const ROUNDED: f64 = 1e-3;
/// Slopes that differ by more than this are not those of a step that suits the function.
const POOR: f64 = 0.01;
/// How many times as different slopes become before steps are looked for again.
const AGAIN: f64 = 10.0;

/// The step of each parameter.
pub(super) struct Steps {
    relative: Vec<f64>,
    /// How much slopes on both sides differ at the steps that were chosen.
    different: Vec<f64>,
    /// Residuals on both sides of θ.
    beside: [Vec<f64>; 2],
    /// Slopes by a step that is tried.
    tried: Vec<f64>,
}

impl Steps {
    /// Steps for n residuals of p parameters.
    pub(super) fn new(n: usize, p: usize) -> Self {
        Steps {
            relative: vec![STEPS[0]; p],
            different: vec![DIFFERENT / AGAIN; p],
            beside: [vec![0.0; n], vec![0.0; n]],
            tried: vec![0.0; n],
        }
    }

    /// ∂r_i/∂θ_k at i·p + k of `out`; `here` are the residuals at θ.
    pub(super) fn jacobian(
        &mut self,
        residuals: &mut Fill<'_>,
        theta: &[f64],
        bounds: &Bounds,
        here: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        let p = theta.len();
        for k in 0..p {
            let different = self.slopes(residuals, theta, bounds, here, k, self.relative[k])?;
            put(&self.tried, out, k, p);
            if different <= AGAIN * self.different[k] {
                continue;
            }
            let (mut least, mut best) = (different, self.relative[k]);
            for relative in STEPS {
                if relative == self.relative[k] {
                    continue;
                }
                let different = self.slopes(residuals, theta, bounds, here, k, relative)?;
                // Differences of a few bits can be as good as equal, and are worth nothing.
                if different < least && different > ROUNDED * least {
                    (least, best) = (different, relative);
                    put(&self.tried, out, k, p);
                }
                if least <= DIFFERENT {
                    break;
                }
            }
            self.relative[k] = best;
            // Where no step is good, the best of them says nothing about the next place.
            self.different[k] = least.clamp(DIFFERENT / AGAIN, POOR);
        }
        Ok(())
    }

    /// Slopes by central differences, or one-sided ones of the same order beside a bound: those of the parabola through
    /// three points. Gives how much its slopes at the ends differ from that, of its size.
    fn slopes(
        &mut self,
        residuals: &mut Fill<'_>,
        theta: &[f64],
        bounds: &Bounds,
        here: &[f64],
        k: usize,
        relative: f64,
    ) -> Result<f64> {
        let size = if theta[k] == 0.0 { 1.0 } else { theta[k].abs() };
        let (low, high) = (bounds.lower[k], bounds.upper[k]);
        let room = (theta[k] - low).max(high - theta[k]);
        let step = (relative * size).min(0.5 * room);
        let offsets = match (theta[k] - step >= low, theta[k] + step <= high) {
            (true, true) => [-step, step],
            (false, _) => [step, 2.0 * step],
            (true, false) => [-step, -2.0 * step],
        };
        // What was added, after rounding.
        let mut steps = [0.0; 2];
        let mut moved = theta.to_vec();
        for side in 0..2 {
            moved[k] = theta[k] + offsets[side];
            steps[side] = moved[k] - theta[k];
            residuals(&moved, &mut self.beside[side])?;
        }
        let [a, b] = steps;
        let (wa, wb) = (b / (a * (b - a)), -a / (b * (b - a)));
        let [left, right] = &self.beside;
        let (mut squares, mut bend) = (0.0, 0.0);
        for (i, r) in here.iter().enumerate() {
            let (left, right) = (left[i] - r, right[i] - r);
            let slope = wa * left + wb * right;
            self.tried[i] = slope;
            squares += slope * slope;
            bend += (right / b - left / a).powi(2);
        }
        let different = (bend / squares).sqrt();
        Ok(match bend == 0.0 {
            true => 0.0,
            // Without a slope, or where the function has no value.
            false if different.is_nan() => f64::INFINITY,
            false => different,
        })
    }
}

fn put(column: &[f64], out: &mut [f64], k: usize, p: usize) {
    for (i, slope) in column.iter().enumerate() {
        out[i * p + k] = *slope;
    }
}
