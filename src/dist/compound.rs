//! Distributions made of others: truncated, Censored, Mixture.

use super::formula::{ln_sub_exp, unless};
use super::sampling::Rng;
use super::vector_transform::log_sum_exp;
use super::{Real, Scalar};

/// Draws that are tried before the distribution function is inverted instead.
const REJECTIONS: usize = 200;

impl Scalar {
    /// ln P(lower ≤ Y ≤ upper), the term that `truncated(lower, upper)` subtracts; `None` where no
    /// distribution function is known. A missing bound is `None`.
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
    /// outside. Refused if the share beyond a given bound is not known.
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

    /// Interval(dist, upper): what was observed is that the number lies between y and `upper`.
    ///
    /// The log density where y = upper, else ln P(y ≤ Y ≤ upper). y may be −∞ and `upper` ∞: censored
    /// from the left or the right. Refused if the share between is not known.
    ///
    /// # Panics
    /// If `args` has not the length of [`Scalar::args`].
    #[track_caller]
    pub fn interval_log_density<R: Real>(self, y: R, args: &[R], upper: R) -> Option<R> {
        let share = self.log_mass(Some(y), Some(upper), args)?;
        Some(y.equals(upper).select(self.log_density(y, args), share))
    }

    /// A draw given lower ≤ Y ≤ upper (either may be infinite): by rejection, and where that fails
    /// too often by inverting the distribution function, from the side where less mass is. NaN
    /// where there is no mass between; of the forms that know no logarithm of the share above also
    /// where `lower` is so far out that the distribution function is 1 there.
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
        let before = if whole { lower.ceil() - 1.0 } else { lower };
        let reached = self.quantile(rng, args, before, upper);
        let (mut low, mut high) = (before.max(-f64::MAX), upper.min(f64::MAX));
        // Halving the order of the numbers, not their distance, serves any magnitude.
        while let Some(middle) = between(low, high, whole) {
            let Some(is_reached) = reached(middle) else {
                return f64::NAN;
            };
            if !is_reached {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// Whether a random share of what lies between `lower` and `upper` lies at or below a number;
    /// none where the shares cannot be told.
    fn quantile(
        self,
        rng: &mut Rng,
        args: &[f64],
        lower: f64,
        upper: f64,
    ) -> impl Fn(f64) -> Option<bool> {
        let ends = |x: f64| Some((self.log_cdf(x, args)?, self.log_ccdf(x, args)?));
        let u = rng.uniform();
        // By logarithms of the shares below, or above where there is less, so that neither a thin
        // tail nor what is left to 1 is lost; else by the shares themselves.
        let by_logs =
            ends(lower)
                .zip(ends(upper))
                .map(|((below_l, above_l), (below_u, above_u))| {
                    let from_above = above_l < below_l;
                    let (more, less) = if from_above {
                        (above_l, above_u)
                    } else {
                        (below_u, below_l)
                    };
                    let share = if from_above { 1.0 - u } else { u };
                    (from_above, mixed_log(more, less, share))
                });
        let below = move |y: f64| self.cdf(y, args).unwrap_or(f64::NAN);
        let start = below(lower);
        let target = start + (below(upper) - start) * u;
        move |y: f64| match by_logs {
            Some((true, goal)) => goal
                .is_finite()
                .then(|| self.log_ccdf(y, args) <= Some(goal)),
            Some((false, goal)) => goal
                .is_finite()
                .then(|| self.log_cdf(y, args) >= Some(goal)),
            None => (start < target && target < 1.0).then(|| below(y) >= target),
        }
    }
}

/// ln(eˡ + share·(eᵐ − eˡ)) for the logarithms m ≥ l of two numbers.
fn mixed_log(more: f64, less: f64, share: f64) -> f64 {
    more + libm::log(share + (1.0 - share) * libm::exp(less - more))
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
