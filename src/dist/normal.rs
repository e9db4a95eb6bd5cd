//! The normal family: Normal, HalfNormal, LogNormal, TruncatedNormal, SkewNormal.

use super::formula::{HALF_LN_TWO_PI, ln_sub_exp, positive, require, unless};
use super::sampling::Rng;
use super::tails::ln_skew_normal_shares;
use super::{Arg, Bound, Real, Support, Univariate};
use fitzroy_graph::special::{ndtr, ndtri, owens_t};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

/// Normal(mu, sigma) by standard deviation, or Normal(mu, tau) by precision tau = sigma⁻².
///
/// ln p(y) = −½ z² − ln sigma − ½ ln 2π, with z = (y − mu)/sigma.
///
/// Support: the real line. Requires sigma > 0 (tau > 0).
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, chapter 13.
pub struct Normal;

impl Univariate<2> for Normal {
    const ARGS: [Arg; 2] = [
        Arg::with_default("mu", 0.0),
        Arg::with_default("sigma", 1.0),
    ];
    const SUPPORT: Support = Support::Real;
    const LOCATION_SCALE: Option<[usize; 2]> = Some([0, 1]);
    const SYMMETRIC: bool = true;

    fn log_density<R: Real>(y: R, [mu, sigma]: [R; 2]) -> R {
        let z = (y - mu) / sigma;
        R::lit(-0.5) * z * z - (sigma.ln() + R::lit(HALF_LN_TWO_PI))
    }

    fn log_cdf<R: Real>(y: R, [mu, sigma]: [R; 2]) -> Option<R> {
        Some(((y - mu) / positive(sigma)).log_ndtr())
    }

    fn log_ccdf<R: Real>(y: R, [mu, sigma]: [R; 2]) -> Option<R> {
        Some(((mu - y) / positive(sigma)).log_ndtr())
    }

    fn sample(rng: &mut Rng, [mu, sigma]: [f64; 2]) -> f64 {
        mu + sigma * rng.normal()
    }
}

/// HalfNormal(sigma), the absolute value of Normal(0, sigma); or by precision tau = sigma⁻².
///
/// ln p(y) = −½ (y/sigma)² − ln sigma + ½ ln(2/π), for y ≥ 0.
///
/// Requires sigma > 0 (tau > 0). sigma is the scale of the normal, not the standard deviation.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, chapter 13.
pub struct HalfNormal;

impl Univariate<1> for HalfNormal {
    const ARGS: [Arg; 1] = [Arg::with_default("sigma", 1.0)];
    const SUPPORT: Support = Support::POSITIVE;
    const REACHES_ZERO: bool = true;

    fn log_density<R: Real>(y: R, [sigma]: [R; 1]) -> R {
        let z = y / sigma;
        let kernel = unless(y.lt(R::lit(0.0)), R::lit(-0.5) * z * z);
        kernel - (sigma.ln() + R::lit(HALF_LN_TWO_PI - LN_2))
    }

    fn log_cdf<R: Real>(y: R, [sigma]: [R; 1]) -> Option<R> {
        let z = y.max(R::lit(0.0)) / positive(sigma);
        Some((z * R::lit(FRAC_1_SQRT_2)).erf().ln())
    }

    fn log_ccdf<R: Real>(y: R, [sigma]: [R; 1]) -> Option<R> {
        let z = y.max(R::lit(0.0)) / positive(sigma);
        Some((-z).log_ndtr() + R::lit(LN_2))
    }

    fn sample(rng: &mut Rng, [sigma]: [f64; 1]) -> f64 {
        (sigma * rng.normal()).abs()
    }
}

/// LogNormal(mu, sigma): ln y is Normal(mu, sigma); or by precision tau = sigma⁻² of ln y.
///
/// ln p(y) = −½ z² − ln y − ln sigma − ½ ln 2π, with z = (ln y − mu)/sigma, for y > 0.
///
/// Requires sigma > 0 (tau > 0).
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, chapter 14.
pub struct LogNormal;

impl Univariate<2> for LogNormal {
    const ARGS: [Arg; 2] = [
        Arg::with_default("mu", 0.0),
        Arg::with_default("sigma", 1.0),
    ];
    const SUPPORT: Support = Support::POSITIVE;
    const OPEN: bool = true;

    fn log_density<R: Real>(y: R, [mu, sigma]: [R; 2]) -> R {
        let ln_y = y.ln();
        let z = (ln_y - mu) / sigma;
        let kernel = unless(y.le(R::lit(0.0)), R::lit(-0.5) * z * z - ln_y);
        kernel - (sigma.ln() + R::lit(HALF_LN_TWO_PI))
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Normal::log_cdf(y.max(R::lit(0.0)).ln(), args)
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Normal::log_ccdf(y.max(R::lit(0.0)).ln(), args)
    }

    fn sample(rng: &mut Rng, args: [f64; 2]) -> f64 {
        libm::exp(Normal::sample(rng, args))
    }
}

/// TruncatedNormal(mu, sigma, lower, upper): Normal(mu, sigma) given lower ≤ y ≤ upper.
///
/// ln p(y) = ln Normal(y | mu, sigma) − ln(Φ(b) − Φ(a)), with a = (lower − mu)/sigma and
/// b = (upper − mu)/sigma; the difference is taken in the tail where it does not cancel.
///
/// Requires sigma > 0 and lower < upper; either may be infinite, which is the default.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, section 13.10.
pub struct TruncatedNormal;

/// (x − mu)/sigma where an infinite x has no derivative to mu and sigma instead of a NaN one, and
/// gives ±1e300, which Φ cannot tell from ∞.
fn standardise<R: Real>(x: R, mu: R, sigma: R) -> R {
    let infinite = R::lit(f64::MAX).lt(x.abs());
    let finite_x = infinite.select(R::lit(0.0), x);
    let far = x.max(R::lit(-1e300)).min(R::lit(1e300));
    infinite.select(far, (finite_x - mu) / sigma)
}

/// ln(Φ(b) − Φ(a)) for a < b.
fn ln_normal_interval<R: Real>(a: R, b: R) -> R {
    let upper_side = R::lit(0.0).lt(a);
    let (high, low) = (upper_side.select(-a, b), upper_side.select(-b, a));
    ln_sub_exp(high.log_ndtr(), low.log_ndtr())
}

impl TruncatedNormal {
    /// ln P(a < Z ≤ b) with the ends clamped to order and `sigma` checked.
    fn ln_share<R: Real>(from: R, to: R, [mu, sigma, lower, upper]: [R; 4]) -> R {
        let ok = R::lit(0.0).lt(sigma) * lower.lt(upper);
        let [a, b, whole_a, whole_b] = [from, to, lower, upper].map(|x| standardise(x, mu, sigma));
        require(
            ok,
            ln_normal_interval(a, b) - ln_normal_interval(whole_a, whole_b),
        )
    }
}

impl Univariate<4> for TruncatedNormal {
    const ARGS: [Arg; 4] = [
        Arg::with_default("mu", 0.0),
        Arg::with_default("sigma", 1.0),
        Arg::with_default("lower", f64::NEG_INFINITY),
        Arg::with_default("upper", f64::INFINITY),
    ];
    const SUPPORT: Support = Support::Interval(Bound::Arg(2), Bound::Arg(3));

    fn log_density<R: Real>(y: R, [mu, sigma, lower, upper]: [R; 4]) -> R {
        let z = (y - mu) / sigma;
        let kernel = unless(y.lt(lower).max(upper.lt(y)), R::lit(-0.5) * z * z);
        let (a, b) = (standardise(lower, mu, sigma), standardise(upper, mu, sigma));
        let norm = sigma.ln() + ln_normal_interval(a, b) + R::lit(HALF_LN_TWO_PI);
        kernel - require(R::lit(0.0).lt(sigma) * lower.lt(upper), norm)
    }

    fn log_cdf<R: Real>(y: R, args: [R; 4]) -> Option<R> {
        let y = y.max(args[2]).min(args[3]);
        Some(TruncatedNormal::ln_share(args[2], y, args))
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 4]) -> Option<R> {
        let y = y.max(args[2]).min(args[3]);
        Some(TruncatedNormal::ln_share(y, args[3], args))
    }

    fn sample(rng: &mut Rng, [mu, sigma, lower, upper]: [f64; 4]) -> f64 {
        let (a, b) = ((lower - mu) / sigma, (upper - mu) / sigma);
        // Mirrored so that the nearer end lies on the right of the mode.
        let z = if a + b < 0.0 {
            -truncated_standard(rng, -b, -a)
        } else {
            truncated_standard(rng, a, b)
        };
        (mu + sigma * z).clamp(lower, upper)
    }
}

/// A standard normal draw in [a, b], b the end farther from 0.
///
/// By inverse of the upper tail; far out by exponential proposals (Robert, "Simulation of
/// truncated normal variables", Statistics and Computing 5, 1995).
fn truncated_standard(rng: &mut Rng, a: f64, b: f64) -> f64 {
    if a < 5.0 {
        let (tail_a, tail_b) = (ndtr(-a), ndtr(-b));
        return -ndtri(tail_b + (tail_a - tail_b) * rng.uniform());
    }
    let rate = 0.5 * (a + (a * a + 4.0).sqrt());
    let full = -libm::expm1(-rate * (b - a));
    loop {
        let x = a - libm::log1p(-rng.uniform() * full) / rate;
        if libm::log(rng.uniform()) <= -0.5 * (x - rate) * (x - rate) {
            return x;
        }
    }
}

/// SkewNormal(mu, sigma, alpha): location mu, scale sigma, shape alpha (0 is Normal).
///
/// ln p(y) = ln 2 − ½ z² − ln sigma − ½ ln 2π + ln Φ(alpha·z), with z = (y − mu)/sigma.
///
/// Support: the real line. Requires sigma > 0.
/// Source: Azzalini, Scandinavian Journal of Statistics 12 (1985), 171–178.
pub struct SkewNormal;

impl Univariate<3> for SkewNormal {
    const ARGS: [Arg; 3] = [
        Arg::with_default("mu", 0.0),
        Arg::with_default("sigma", 1.0),
        Arg::with_default("alpha", 1.0),
    ];
    const SUPPORT: Support = Support::Real;
    const LOCATION_SCALE: Option<[usize; 2]> = Some([0, 1]);

    fn log_density<R: Real>(y: R, [mu, sigma, alpha]: [R; 3]) -> R {
        let z = (y - mu) / sigma;
        R::lit(-0.5) * z * z + (alpha * z).log_ndtr() - (sigma.ln() + R::lit(HALF_LN_TWO_PI - LN_2))
    }

    fn log_cdf<R: Real>(y: R, [mu, sigma, alpha]: [R; 3]) -> Option<R> {
        Some(ln_skew_normal_shares((y - mu) / positive(sigma), alpha).0)
    }

    fn log_ccdf<R: Real>(y: R, [mu, sigma, alpha]: [R; 3]) -> Option<R> {
        Some(ln_skew_normal_shares((y - mu) / positive(sigma), alpha).1)
    }

    fn cdf(y: f64, [mu, sigma, alpha]: [f64; 3]) -> Option<f64> {
        let z = (y - mu) / positive(sigma);
        Some((ndtr(z) - 2.0 * owens_t(z, alpha)).clamp(0.0, 1.0))
    }

    fn sample(rng: &mut Rng, [mu, sigma, alpha]: [f64; 3]) -> f64 {
        let delta = alpha / (1.0 + alpha * alpha).sqrt();
        let (u, v) = (rng.normal(), rng.normal());
        mu + sigma * (delta * u.abs() + (1.0 - delta * delta).max(0.0).sqrt() * v)
    }
}
