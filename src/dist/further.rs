//! Further distributions, most with closed forms of their own: LogitNormal, Moyal,
//! AsymmetricLaplace, ChiSquared, DiscreteWeibull.

use super::formula::{HALF_LN_TWO_PI, ln_1m_exp, ln_sub_exp, not_count, positive, require, unless};
use super::sampling::Rng;
use super::{Arg, Gamma, Normal, Real, Support, Univariate};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

/// LogitNormal(mu, sigma): ln(y/(1 − y)) is Normal(mu, sigma); or by precision tau = sigma⁻² of it.
///
/// ln p(y) = −½ z² − ln sigma − ½ ln 2π − ln y − ln(1 − y), with z = (ln(y/(1 − y)) − mu)/sigma,
/// for 0 < y < 1.
///
/// Requires sigma > 0 (tau > 0).
/// Source: Aitchison and Shen, Biometrika 67 (1980), 261–272.
pub struct LogitNormal;

/// ln(y/(1 − y)), infinite at and beyond the ends.
fn log_odds<R: Real>(y: R) -> R {
    let y = y.max(R::lit(0.0)).min(R::lit(1.0));
    y.ln() - (-y).ln_1p()
}

impl Univariate<2> for LogitNormal {
    const ARGS: [Arg; 2] = Normal::ARGS;
    const SUPPORT: Support = Support::UNIT;
    const OPEN: bool = true;

    fn log_density<R: Real>(y: R, [mu, sigma]: [R; 2]) -> R {
        // At the ends, where rounding may put y, the square is what counts.
        let finite = |x: R| x.max(R::lit(-1e300));
        let (ln_y, ln_rest) = (finite(y.ln()), finite((-y).ln_1p()));
        let z = (ln_y - ln_rest - mu) / sigma;
        let outside = y.le(R::lit(0.0)).max(R::lit(1.0).le(y));
        let kernel = unless(outside, R::lit(-0.5) * z * z - ln_y - ln_rest);
        kernel - (positive(sigma).ln() + R::lit(HALF_LN_TWO_PI))
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Normal::log_cdf(log_odds(y), args)
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Normal::log_ccdf(log_odds(y), args)
    }

    fn sample(rng: &mut Rng, args: [f64; 2]) -> f64 {
        Real::inv_logit(Normal::sample(rng, args))
    }
}

/// Moyal(mu, sigma): location mu, scale sigma; mu − sigma ln x² of a standard normal x.
///
/// ln p(y) = −½ (z + e⁻ᶻ) − ln sigma − ½ ln 2π, with z = (y − mu)/sigma. Support: the real line.
/// Requires sigma > 0.
/// Source: Moyal, Philosophical Magazine 46 (1955), 263–280.
pub struct Moyal;

impl Moyal {
    /// The x > 0 with z = −ln x².
    fn root<R: Real>(y: R, [mu, sigma]: [R; 2]) -> R {
        ((mu - y) / (R::lit(2.0) * positive(sigma))).exp()
    }
}

impl Univariate<2> for Moyal {
    const ARGS: [Arg; 2] = Normal::ARGS;
    const SUPPORT: Support = Support::Real;
    const LOCATION_SCALE: Option<[usize; 2]> = Some([0, 1]);

    fn log_density<R: Real>(y: R, [mu, sigma]: [R; 2]) -> R {
        let z = (y - mu) / sigma;
        R::lit(-0.5) * (z + (-z).exp()) - (positive(sigma).ln() + R::lit(HALF_LN_TWO_PI))
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some((-Moyal::root(y, args)).log_ndtr() + R::lit(LN_2))
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some((Moyal::root(y, args) * R::lit(FRAC_1_SQRT_2)).erf().ln())
    }

    fn sample(rng: &mut Rng, [mu, sigma]: [f64; 2]) -> f64 {
        mu - 2.0 * sigma * libm::log(rng.normal().abs())
    }
}

/// AsymmetricLaplace(kappa, mu, b): exponential on both sides of mu, at the rate b·kappa above and
/// b/kappa below.
///
/// ln p(y) = ln b − ln(kappa + 1/kappa) − b·kappa (y − mu) for y ≥ mu, and with − (b/kappa)(mu − y)
/// below. Support: the real line. Requires kappa > 0, b > 0.
/// Source: Kozubowski and Podgórski, Mathematical and Computer Modelling 31 (2000), 225–234.
pub struct AsymmetricLaplace;

impl AsymmetricLaplace {
    /// The exponents below and above mu, of which one is 0, and the logarithms of the shares there.
    fn sides<R: Real>(y: R, [kappa, mu, b]: [R; 3]) -> ([R; 2], [R; 2]) {
        let (zero, kappa) = (R::lit(0.0), positive(kappa));
        let z = (y - mu) * positive(b);
        let square = kappa * kappa;
        let above = -square.ln_1p();
        let below = R::lit(2.0) * kappa.ln() + above;
        let exponents = [z.min(zero) / kappa, -(z.max(zero) * kappa)];
        (exponents, [below, above])
    }
}

impl Univariate<3> for AsymmetricLaplace {
    const ARGS: [Arg; 3] = [Arg::needed("kappa"), Arg::needed("mu"), Arg::needed("b")];
    const SUPPORT: Support = Support::Real;

    fn log_density<R: Real>(y: R, [kappa, mu, b]: [R; 3]) -> R {
        let ([low, high], _) = AsymmetricLaplace::sides(y, [kappa, mu, b]);
        let k = positive(kappa);
        low + high + (positive(b).ln() - (k + R::lit(1.0) / k).ln())
    }

    fn log_cdf<R: Real>(y: R, args: [R; 3]) -> Option<R> {
        let ([low, high], [below, above]) = AsymmetricLaplace::sides(y, args);
        let is_below = (y - args[1]).lt(R::lit(0.0));
        Some(is_below.select(below + low, ln_1m_exp(above + high)))
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 3]) -> Option<R> {
        let ([low, high], [below, above]) = AsymmetricLaplace::sides(y, args);
        let is_below = (y - args[1]).lt(R::lit(0.0));
        Some(is_below.select(ln_1m_exp(below + low), above + high))
    }

    fn sample(rng: &mut Rng, [kappa, mu, b]: [f64; 3]) -> f64 {
        let step = rng.exponential() / b;
        if rng.uniform() * (1.0 + kappa * kappa) < kappa * kappa {
            mu - step * kappa
        } else {
            mu + step / kappa
        }
    }
}

/// ChiSquared(nu), the sum of the squares of nu standard normal numbers: Gamma(nu/2, 1/2).
///
/// ln p(y) = (nu/2 − 1) ln y − y/2 − (nu/2) ln 2 − ln Γ(nu/2), for y > 0. Requires nu > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, chapter 18.
pub struct ChiSquared;

impl ChiSquared {
    /// Shape and rate.
    pub(super) fn as_gamma<R: Real>([nu]: [R; 1]) -> [R; 2] {
        [nu * R::lit(0.5), R::lit(0.5)]
    }
}

impl Univariate<1> for ChiSquared {
    const ARGS: [Arg; 1] = [Arg::needed("nu")];
    const SUPPORT: Support = Gamma::SUPPORT;
    const OPEN: bool = Gamma::OPEN;

    fn log_density<R: Real>(y: R, args: [R; 1]) -> R {
        Gamma::log_density(y, ChiSquared::as_gamma(args))
    }

    fn log_cdf<R: Real>(y: R, args: [R; 1]) -> Option<R> {
        Gamma::log_cdf(y, ChiSquared::as_gamma(args))
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 1]) -> Option<R> {
        Gamma::log_ccdf(y, ChiSquared::as_gamma(args))
    }

    fn cdf(y: f64, args: [f64; 1]) -> Option<f64> {
        Gamma::cdf(y, ChiSquared::as_gamma(args))
    }

    fn sample(rng: &mut Rng, args: [f64; 1]) -> f64 {
        Gamma::sample(rng, ChiSquared::as_gamma(args))
    }
}

/// DiscreteWeibull(q, beta): counts with P(Y ≥ y) = q^(y^beta).
///
/// ln P(y) = ln(q^(y^beta) − q^((y + 1)^beta)), for y = 0, 1, 2, … Requires 0 < q < 1, beta > 0.
/// Source: Nakagawa and Osaki, IEEE Transactions on Reliability 24 (1975), 300–301.
pub struct DiscreteWeibull;

impl DiscreteWeibull {
    /// ln P(Y ≥ y), of y ≥ 0.
    fn ln_from<R: Real>(y: R, [q, beta]: [R; 2]) -> R {
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let valid = zero.lt(q) * q.lt(one);
        let power = (positive(beta) * y.max(one).ln()).exp();
        require(valid, y.lt(one).select(zero, power) * q.ln())
    }
}

impl Univariate<2> for DiscreteWeibull {
    const ARGS: [Arg; 2] = [Arg::needed("q"), Arg::needed("beta")];
    const SUPPORT: Support = Support::NonNegativeInteger;

    fn log_density<R: Real>(y: R, args: [R; 2]) -> R {
        let from = DiscreteWeibull::ln_from(y, args);
        let after = DiscreteWeibull::ln_from(y.max(R::lit(0.0)) + R::lit(1.0), args);
        let valid = after.equals(after);
        require(valid, unless(not_count(y, 0.0), ln_sub_exp(from, after)))
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        let after = y.max(R::lit(0.0)).floor() + R::lit(1.0);
        let after = DiscreteWeibull::ln_from(after, args);
        let share = unless(y.lt(R::lit(0.0)), ln_1m_exp(after));
        Some(require(after.equals(after), share))
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        let after = y.max(R::lit(0.0)).floor() + R::lit(1.0);
        let after = DiscreteWeibull::ln_from(after, args);
        let share = y.lt(R::lit(0.0)).select(R::lit(0.0), after);
        Some(require(after.equals(after), share))
    }

    /// The greatest y that P(Y ≥ y) leaves to a uniform number.
    fn sample(rng: &mut Rng, [q, beta]: [f64; 2]) -> f64 {
        let power = -rng.exponential() / libm::log(q);
        libm::pow(power.abs(), 1.0 / beta).floor()
    }
}
