//! Exponential tails: Exponential, Laplace, Logistic, ExGaussian.

use super::formula::{ln_1m_exp, ln_sub_exp, positive, unless};
use super::sampling::Rng;
use super::{Arg, Normal, Real, Support, Univariate};
use std::f64::consts::LN_2;

/// Exponential(lam) by rate, or by scale = 1/lam (keyword `scale`).
///
/// ln p(y) = ln lam − lam·y, for y ≥ 0. Requires lam > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, chapter 19.
pub struct Exponential;

impl Univariate<1> for Exponential {
    const ARGS: [Arg; 1] = [Arg::with_default("lam", 1.0)];
    const SUPPORT: Support = Support::POSITIVE;
    const REACHES_ZERO: bool = true;

    fn log_density<R: Real>(y: R, [lam]: [R; 1]) -> R {
        unless(y.lt(R::lit(0.0)), -lam * y) + positive(lam).ln()
    }

    fn log_cdf<R: Real>(y: R, [lam]: [R; 1]) -> Option<R> {
        Some(ln_1m_exp(-positive(lam) * y.max(R::lit(0.0))))
    }

    fn log_ccdf<R: Real>(y: R, [lam]: [R; 1]) -> Option<R> {
        Some(-positive(lam) * y.max(R::lit(0.0)))
    }

    fn sample(rng: &mut Rng, [lam]: [f64; 1]) -> f64 {
        rng.exponential() / lam
    }
}

/// Laplace(mu, b): median mu, mean absolute deviation b.
///
/// ln p(y) = −|y − mu|/b − ln 2b. Support: the real line. Requires b > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 2, chapter 24.
pub struct Laplace;

/// ln P(Z ≤ z) of the standard Laplace distribution.
fn ln_laplace<R: Real>(z: R) -> R {
    let zero = R::lit(0.0);
    let right = (R::lit(-0.5) * (-z.max(zero)).exp()).ln_1p();
    z.lt(zero).select(z - R::lit(LN_2), right)
}

impl Univariate<2> for Laplace {
    const ARGS: [Arg; 2] = [Arg::needed("mu"), Arg::needed("b")];
    const SUPPORT: Support = Support::Real;
    const LOCATION_SCALE: Option<[usize; 2]> = Some([0, 1]);
    const SYMMETRIC: bool = true;

    fn log_density<R: Real>(y: R, [mu, b]: [R; 2]) -> R {
        -(y - mu).abs() / b - (R::lit(2.0) * positive(b)).ln()
    }

    fn log_cdf<R: Real>(y: R, [mu, b]: [R; 2]) -> Option<R> {
        Some(ln_laplace((y - mu) / positive(b)))
    }

    fn log_ccdf<R: Real>(y: R, [mu, b]: [R; 2]) -> Option<R> {
        Some(ln_laplace((mu - y) / positive(b)))
    }

    fn sample(rng: &mut Rng, [mu, b]: [f64; 2]) -> f64 {
        let magnitude = b * rng.exponential();
        if rng.coin() {
            mu + magnitude
        } else {
            mu - magnitude
        }
    }
}

/// Logistic(mu, s): location mu, scale s; the standard deviation is s·π/√3.
///
/// ln p(y) = z − 2 ln(1 + eᶻ) − ln s, with z = (y − mu)/s. Support: the real line. Requires s > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 2, chapter 23.
pub struct Logistic;

impl Univariate<2> for Logistic {
    const ARGS: [Arg; 2] = [Arg::with_default("mu", 0.0), Arg::with_default("s", 1.0)];
    const SUPPORT: Support = Support::Real;
    const LOCATION_SCALE: Option<[usize; 2]> = Some([0, 1]);
    const SYMMETRIC: bool = true;

    fn log_density<R: Real>(y: R, [mu, s]: [R; 2]) -> R {
        let z = (y - mu) / s;
        z - R::lit(2.0) * z.softplus() - positive(s).ln()
    }

    fn log_cdf<R: Real>(y: R, [mu, s]: [R; 2]) -> Option<R> {
        Some(-((mu - y) / positive(s)).softplus())
    }

    fn log_ccdf<R: Real>(y: R, [mu, s]: [R; 2]) -> Option<R> {
        Some(-((y - mu) / positive(s)).softplus())
    }

    fn sample(rng: &mut Rng, [mu, s]: [f64; 2]) -> f64 {
        let u = rng.uniform();
        mu + s * (libm::log(u) - libm::log1p(-u))
    }
}

/// ExGaussian(mu, sigma, nu): the sum of Normal(mu, sigma) and an exponential of mean nu.
///
/// ln p(y) = −ln nu − (y − mu)/nu + ½ r² + ln Φ(z − r), with r = sigma/nu, z = (y − mu)/sigma.
///
/// Support: the real line. Requires sigma > 0, nu > 0. The terms cancel as nu becomes small
/// against sigma: the error is about 1e-16·(z − r)². The left tail of the distribution function
/// is a difference too.
/// Source: Luce, *Response Times* (1986), section 3.2.
pub struct ExGaussian;

impl ExGaussian {
    /// z and ln\[exp(−(y − mu)/nu + ½ r²) Φ(z − r)].
    fn parts<R: Real>(y: R, [mu, sigma, nu]: [R; 3]) -> (R, R) {
        let ratio = sigma / nu;
        let z = (y - mu) / sigma;
        let front = R::lit(0.5) * ratio * ratio - (y - mu) / nu;
        (z, front + (z - ratio).log_ndtr())
    }
}

impl Univariate<3> for ExGaussian {
    const ARGS: [Arg; 3] = [
        Arg::with_default("mu", 0.0),
        Arg::with_default("sigma", 1.0),
        Arg::needed("nu"),
    ];
    const SUPPORT: Support = Support::Real;

    fn log_density<R: Real>(y: R, [mu, sigma, nu]: [R; 3]) -> R {
        ExGaussian::parts(y, [mu, positive(sigma), nu]).1 - positive(nu).ln()
    }

    fn log_cdf<R: Real>(y: R, [mu, sigma, nu]: [R; 3]) -> Option<R> {
        let (z, tail) = ExGaussian::parts(y, [mu, positive(sigma), positive(nu)]);
        Some(ln_sub_exp(z.log_ndtr(), tail))
    }

    fn log_ccdf<R: Real>(y: R, [mu, sigma, nu]: [R; 3]) -> Option<R> {
        let (z, tail) = ExGaussian::parts(y, [mu, positive(sigma), positive(nu)]);
        Some((-z).log_ndtr().log_add_exp(tail))
    }

    fn sample(rng: &mut Rng, [mu, sigma, nu]: [f64; 3]) -> f64 {
        Normal::sample(rng, [mu, sigma]) + nu * rng.exponential()
    }
}
