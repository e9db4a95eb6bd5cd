//! Distributions made of others: truncated, Censored, Mixture.

use super::formula::{ln_sub_exp, unless};
use super::sampling::Rng;
use super::vector_transform::log_sum_exp;
use super::{Real, Scalar};

/// Draws that are tried before the distribution function is inverted instead.
const REJECTIONS: usize = 200;

impl Scalar {
    /// ln P(lower ≤ Y ≤ upper), the term that `truncated(lower, upper)` subtracts; `None` where no
    /// closed form exists. A missing bound is `None`.
    ///
    /// A difference is taken between lower tails below the median and between upper tails above,
    /// where it does not cancel.
    ///
    /// # Panics
    /// If `args` has not the length of [`Scalar::args`].
    #[track_caller]
    pub fn log_mass<R: Real>(self, lower: Option<R>, upper: Option<R>, args: &[R]) -> Option<R> {
        // Whole numbers: Y ≥ lower is Y > ⌈lower⌉ − 1.
        let lower = match lower {
            Some(x) if self.support().is_discrete() => Some(-(-x).floor() - R::lit(1.0)),
            other => other,
        };
        match (lower, upper) {
            (None, None) => Some(R::lit(0.0)),
            (Some(lower), None) => self.log_ccdf(lower, args),
            (None, Some(upper)) => self.log_cdf(upper, args),
            (Some(lower), Some(upper)) => {
                let (below_l, above_l) = (self.log_cdf(lower, args)?, self.log_ccdf(lower, args)?);
                let (below_u, above_u) = (self.log_cdf(upper, args)?, self.log_ccdf(upper, args)?);
                let upper_side = above_l.lt(below_l);
                let more = upper_side.select(above_l, below_u);
                let less = upper_side.select(above_u, below_l);
                Some(ln_sub_exp(more, less))
            }
        }
    }

    /// Censored(dist, lower, upper): what lies beyond a bound is recorded as the bound.
    ///
    /// ln P(Y ≤ lower) at y = lower, ln P(Y ≥ upper) at y = upper, the log density between, −∞
    /// outside. `None` where the share beyond a given bound has no closed form.
    ///
    /// # Panics
    /// If `args` has not the length of [`Scalar::args`].
    #[track_caller]
    pub fn censored_log_density<R: Real>(
        self,
        y: R,
        args: &[R],
        lower: Option<R>,
        upper: Option<R>,
    ) -> Option<R> {
        let mut value = self.log_density(y, args);
        if let Some(lower) = lower {
            let share = self.log_cdf(lower, args)?;
            value = unless(y.lt(lower), y.equals(lower).select(share, value));
        }
        if let Some(upper) = upper {
            let share = self.log_mass(Some(upper), None, args)?;
            value = unless(upper.lt(y), y.equals(upper).select(share, value));
        }
        Some(value)
    }

    /// A draw given lower ≤ Y ≤ upper (either may be infinite): by rejection, and where that fails
    /// too often by inverting the distribution function. NaN where there is no mass between, or
    /// where it is too far in the upper tail for the distribution function to tell.
    ///
    /// # Panics
    /// If `args` has not the length of [`Scalar::args`].
    #[track_caller]
    pub fn sample_truncated(self, rng: &mut Rng, args: &[f64], lower: f64, upper: f64) -> f64 {
        for _ in 0..REJECTIONS {
            let y = self.sample(rng, args);
            if y.is_nan() || (lower <= y && y <= upper) {
                return y;
            }
        }
        let whole = self.support().is_discrete();
        let below = |y: f64| self.cdf(y, args).unwrap_or(f64::NAN);
        let start = below(if whole { lower.ceil() - 1.0 } else { lower });
        let target = start + (below(upper) - start) * rng.uniform();
        if !(start < target && target < 1.0) {
            return f64::NAN;
        }
        let (mut low, mut high) = (lower.max(-f64::MAX), upper.min(f64::MAX));
        if whole {
            low = low.ceil() - 1.0;
        }
        // Halving the order of the numbers, not their distance, serves any magnitude.
        while let Some(middle) = between(low, high, whole) {
            if below(middle) < target {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// A number strictly between, or none; whole if asked for.
fn between(low: f64, high: f64, whole: bool) -> Option<f64> {
    let middle = if low < 0.0 && high > 0.0 {
        0.0
    } else if low.abs().max(high.abs()) > 4.0 * low.abs().min(high.abs()).max(1e-300) {
        let (a, b) = (low.abs().max(1e-300), high.abs().max(1e-300));
        (a.sqrt() * b.sqrt()).copysign(if low < 0.0 { low } else { high })
    } else {
        low + 0.5 * (high - low)
    };
    let middle = if whole { middle.floor() } else { middle };
    let inside = low < middle && middle < high;
    match (inside, whole) {
        (true, _) => Some(middle),
        (false, true) if high - low > 1.0 => Some(low + 1.0),
        _ => None,
    }
}

/// Mixture(w, ...): ln Σ w\[k] p_k(y), of the weights and the log densities of the components.
///
/// Requires w ≥ 0 of sum 1.
pub fn mixture<R: Real>(weights: &[R], log_densities: &[R]) -> R {
    let term = |(&w, &value): (&R, &R)| w.ln() + value;
    log_sum_exp(
        &weights
            .iter()
            .zip(log_densities)
            .map(term)
            .collect::<Vec<R>>(),
    )
}
