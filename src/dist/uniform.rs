//! Flat and bounded shapes: Uniform, Triangular, Flat, HalfFlat, VonMises, DiscreteUniform.

use super::formula::{not_count, positive, require, unless};
use super::sampling::Rng;
use super::{Arg, Bound, Real, Support, Univariate};

/// Uniform(lower, upper).
///
/// ln p(y) = −ln(upper − lower), for lower ≤ y ≤ upper. Requires lower < upper.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 2, chapter 26.
pub struct Uniform;

impl Univariate<2> for Uniform {
    const ARGS: [Arg; 2] = [
        Arg::with_default("lower", 0.0),
        Arg::with_default("upper", 1.0),
    ];
    const SUPPORT: Support = Support::Interval(Bound::Arg(0), Bound::Arg(1));

    fn log_density<R: Real>(y: R, [lower, upper]: [R; 2]) -> R {
        let outside = y.lt(lower).max(upper.lt(y));
        unless(outside, R::lit(0.0)) - positive(upper - lower).ln()
    }

    fn log_cdf<R: Real>(y: R, [lower, upper]: [R; 2]) -> Option<R> {
        Some(((y.max(lower).min(upper) - lower) / positive(upper - lower)).ln())
    }

    fn log_ccdf<R: Real>(y: R, [lower, upper]: [R; 2]) -> Option<R> {
        Some(((upper - y.max(lower).min(upper)) / positive(upper - lower)).ln())
    }

    fn sample(rng: &mut Rng, [lower, upper]: [f64; 2]) -> f64 {
        lower + (upper - lower) * rng.uniform()
    }
}

/// Triangular(lower, upper, c): a density that rises to its mode c and falls.
///
/// ln p(y) = ln 2 − ln(upper − lower) + ln((y − lower)/(c − lower)) up to c, and
/// ln((upper − y)/(upper − c)) in its place beyond.
///
/// Support: lower ≤ y ≤ upper. Requires lower ≤ c ≤ upper and lower < upper.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 2, section 26.9.
pub struct Triangular;

impl Triangular {
    /// upper − lower where the arguments are valid, else NaN.
    fn width<R: Real>([lower, upper, c]: [R; 3]) -> R {
        require(lower.le(c) * c.le(upper), positive(upper - lower))
    }

    /// P(Y ≤ y) and P(Y > y).
    fn shares<R: Real>(y: R, [lower, upper, c]: [R; 3]) -> (R, R) {
        let one = R::lit(1.0);
        let width = Triangular::width([lower, upper, c]);
        let y = y.max(lower).min(upper);
        let (left, right) = (y - lower, upper - y);
        let rising = y.lt(c);
        let p = left * left / (width * (c - lower));
        let q = right * right / (width * (upper - c));
        // At y = c = upper both 0/0 forms mean 0 to the right.
        let q = y.equals(upper).select(R::lit(0.0) * width, q);
        (rising.select(p, one - q), rising.select(one - p, q))
    }
}

impl Univariate<3> for Triangular {
    const ARGS: [Arg; 3] = [
        Arg::with_default("lower", 0.0),
        Arg::with_default("upper", 1.0),
        Arg::with_default("c", 0.5),
    ];
    const SUPPORT: Support = Support::Interval(Bound::Arg(0), Bound::Arg(1));

    fn log_density<R: Real>(y: R, [lower, upper, c]: [R; 3]) -> R {
        let rising = y.lt(c);
        let share = rising.select(y - lower, upper - y) / rising.select(c - lower, upper - c);
        let kernel = y.equals(c).select(R::lit(0.0), share.ln());
        let outside = y.lt(lower).max(upper.lt(y));
        unless(outside, kernel) - (R::lit(0.5) * Triangular::width([lower, upper, c])).ln()
    }

    fn log_cdf<R: Real>(y: R, args: [R; 3]) -> Option<R> {
        Some(Triangular::shares(y, args).0.ln())
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 3]) -> Option<R> {
        Some(Triangular::shares(y, args).1.ln())
    }

    fn sample(rng: &mut Rng, [lower, upper, c]: [f64; 3]) -> f64 {
        let (u, width) = (rng.uniform(), upper - lower);
        if u * width < c - lower {
            lower + (u * width * (c - lower)).sqrt()
        } else {
            upper - ((1.0 - u) * width * (upper - c)).sqrt()
        }
    }
}

/// Flat(): ln p(y) = 0 on the real line. Improper: it has no distribution function and no draws
/// (a draw is NaN).
pub struct Flat;

impl Univariate<0> for Flat {
    const ARGS: [Arg; 0] = [];
    const SUPPORT: Support = Support::Real;
    const IMPROPER: bool = true;

    fn log_density<R: Real>(_y: R, []: [R; 0]) -> R {
        R::lit(0.0)
    }

    fn cdf(_y: f64, []: [f64; 0]) -> Option<f64> {
        None
    }

    fn sample(_rng: &mut Rng, []: [f64; 0]) -> f64 {
        f64::NAN
    }
}

/// HalfFlat(): ln p(y) = 0 for y ≥ 0. Improper, like [`Flat`].
pub struct HalfFlat;

impl Univariate<0> for HalfFlat {
    const ARGS: [Arg; 0] = [];
    const SUPPORT: Support = Support::POSITIVE;
    const IMPROPER: bool = true;

    fn log_density<R: Real>(y: R, []: [R; 0]) -> R {
        unless(y.lt(R::lit(0.0)), R::lit(0.0))
    }

    fn cdf(_y: f64, []: [f64; 0]) -> Option<f64> {
        None
    }

    fn sample(_rng: &mut Rng, []: [f64; 0]) -> f64 {
        f64::NAN
    }
}

/// DiscreteUniform(lower, upper): whole numbers from lower to upper, both included.
///
/// ln p(y) = −ln(upper − lower + 1). Requires lower ≤ upper, both whole.
/// Source: Johnson, Kemp and Kotz, *Univariate Discrete Distributions*, section 6.10.1.
pub struct DiscreteUniform;

impl DiscreteUniform {
    /// upper − lower + 1 where the arguments are valid, else NaN.
    fn count<R: Real>([lower, upper]: [R; 2]) -> R {
        let whole = lower.floor().equals(lower) * upper.floor().equals(upper);
        require(whole * lower.le(upper), upper - lower + R::lit(1.0))
    }
}

impl Univariate<2> for DiscreteUniform {
    const ARGS: [Arg; 2] = [Arg::needed("lower"), Arg::needed("upper")];
    const SUPPORT: Support = Support::IntegerRange(Bound::Arg(0), Bound::Arg(1));

    fn log_density<R: Real>(y: R, [lower, upper]: [R; 2]) -> R {
        let outside = y
            .lt(lower)
            .max(upper.lt(y))
            .max(not_count(y, f64::NEG_INFINITY));
        unless(outside, R::lit(0.0)) - DiscreteUniform::count([lower, upper]).ln()
    }

    fn log_cdf<R: Real>(y: R, [lower, upper]: [R; 2]) -> Option<R> {
        let one = R::lit(1.0);
        let below = y.floor().max(lower - one).min(upper) - lower + one;
        Some((below / DiscreteUniform::count([lower, upper])).ln())
    }

    fn log_ccdf<R: Real>(y: R, [lower, upper]: [R; 2]) -> Option<R> {
        let above = upper - y.floor().max(lower - R::lit(1.0)).min(upper);
        Some((above / DiscreteUniform::count([lower, upper])).ln())
    }

    fn sample(rng: &mut Rng, [lower, upper]: [f64; 2]) -> f64 {
        (lower + ((upper - lower + 1.0) * rng.uniform()).floor()).min(upper)
    }
}
