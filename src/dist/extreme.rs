//! Extremes and power laws: Weibull, Gumbel, Pareto, Wald.

use super::formula::{HALF_LN_TWO_PI, ln_1m_exp, ln_sub_exp, positive, require, unless};
use super::sampling::Rng;
use super::{Arg, Bound, Real, Support, Univariate};

/// Weibull(alpha, beta): shape alpha, scale beta.
///
/// ln p(y) = ln alpha − ln beta + (alpha − 1) t − e^(alpha·t), with t = ln(y/beta), for y > 0.
///
/// Requires alpha > 0, beta > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, chapter 21.
pub struct Weibull;

impl Weibull {
    /// (y/beta)^alpha.
    fn hazard<R: Real>(y: R, [alpha, beta]: [R; 2]) -> R {
        (positive(alpha) * (y.max(R::lit(0.0)).ln() - positive(beta).ln())).exp()
    }
}

impl Univariate<2> for Weibull {
    const ARGS: [Arg; 2] = [Arg::needed("alpha"), Arg::needed("beta")];
    const SUPPORT: Support = Support::POSITIVE;
    const OPEN: bool = true;

    fn log_density<R: Real>(y: R, [alpha, beta]: [R; 2]) -> R {
        let (ln_alpha, ln_beta) = (positive(alpha).ln(), positive(beta).ln());
        let t = y.ln() - ln_beta;
        let kernel = (alpha - R::lit(1.0)) * t - (alpha * t).exp();
        unless(y.le(R::lit(0.0)), kernel) + (ln_alpha - ln_beta)
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some(ln_1m_exp(-Weibull::hazard(y, args)))
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some(-Weibull::hazard(y, args))
    }

    fn sample(rng: &mut Rng, [alpha, beta]: [f64; 2]) -> f64 {
        beta * libm::pow(rng.exponential(), 1.0 / alpha)
    }
}

/// Gumbel(mu, beta), of maxima: mode mu, scale beta.
///
/// ln p(y) = −z − e⁻ᶻ − ln beta, with z = (y − mu)/beta. Support: the real line.
/// Requires beta > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 2, chapter 22.
pub struct Gumbel;

impl Univariate<2> for Gumbel {
    const ARGS: [Arg; 2] = [Arg::needed("mu"), Arg::needed("beta")];
    const SUPPORT: Support = Support::Real;
    const LOCATION_SCALE: Option<[usize; 2]> = Some([0, 1]);

    fn log_density<R: Real>(y: R, [mu, beta]: [R; 2]) -> R {
        let z = (y - mu) / beta;
        -(z + (-z).exp()) - positive(beta).ln()
    }

    fn log_cdf<R: Real>(y: R, [mu, beta]: [R; 2]) -> Option<R> {
        Some(-((mu - y) / positive(beta)).exp())
    }

    fn log_ccdf<R: Real>(y: R, [mu, beta]: [R; 2]) -> Option<R> {
        Some(ln_1m_exp(-((mu - y) / positive(beta)).exp()))
    }

    fn sample(rng: &mut Rng, [mu, beta]: [f64; 2]) -> f64 {
        mu - beta * libm::log(rng.exponential())
    }
}

/// Pareto(alpha, m): tail index alpha, smallest value m.
///
/// ln p(y) = ln alpha + alpha ln m − (alpha + 1) ln y, for y ≥ m. Requires alpha > 0, m > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, chapter 20.
pub struct Pareto;

impl Univariate<2> for Pareto {
    const ARGS: [Arg; 2] = [Arg::needed("alpha"), Arg::needed("m")];
    const SUPPORT: Support = Support::LowerBounded(Bound::Arg(1));

    fn log_density<R: Real>(y: R, [alpha, m]: [R; 2]) -> R {
        let kernel = -(alpha + R::lit(1.0)) * y.ln();
        unless(y.lt(m), kernel) + (positive(alpha).ln() + alpha * positive(m).ln())
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Pareto::log_ccdf(y, args).map(ln_1m_exp)
    }

    fn log_ccdf<R: Real>(y: R, [alpha, m]: [R; 2]) -> Option<R> {
        let m = positive(m);
        Some(positive(alpha) * (m / y.max(m)).ln())
    }

    fn sample(rng: &mut Rng, [alpha, m]: [f64; 2]) -> f64 {
        m * libm::exp(rng.exponential() / alpha)
    }
}

/// Wald(mu, lam, alpha), the inverse Gaussian: mean mu and shape lam, shifted by alpha.
///
/// ln p(y) = ½ ln(lam/2π) − (3/2) ln x − lam (x − mu)²/(2 mu² x), with x = y − alpha, for x > 0.
///
/// The first passage of a diffusion with drift v and unit noise through the threshold b has
/// mu = b/v and lam = b². Requires mu > 0, lam > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, chapter 15.
pub struct Wald;

impl Wald {
    /// √(lam·x)/mu and √(lam/x), with x clamped to x ≥ 0.
    fn roots<R: Real>(y: R, [mu, lam, alpha]: [R; 3]) -> (R, R) {
        let x = (y - alpha).max(R::lit(0.0));
        let lam = positive(lam);
        ((lam * x).sqrt() / positive(mu), (lam / x).sqrt())
    }
}

impl Univariate<3> for Wald {
    const ARGS: [Arg; 3] = [
        Arg::needed("mu"),
        Arg::needed("lam"),
        Arg::with_default("alpha", 0.0),
    ];
    const SUPPORT: Support = Support::LowerBounded(Bound::Arg(2));
    const OPEN: bool = true;

    fn log_density<R: Real>(y: R, [mu, lam, alpha]: [R; 3]) -> R {
        let x = y - alpha;
        let z = x / mu - R::lit(1.0);
        let kernel = R::lit(-1.5) * x.ln() - R::lit(0.5) * lam * (z * z / x);
        let norm = R::lit(HALF_LN_TWO_PI) - R::lit(0.5) * positive(lam).ln();
        // −∞ as a product: at x = 0 it must hold also where the support is taken on trust, because
        // a sum alpha + x may round onto alpha.
        let outside = x.le(R::lit(0.0));
        let kernel = outside.select(outside * R::lit(f64::NEG_INFINITY), kernel);
        kernel - require(R::lit(0.0).lt(mu), norm)
    }

    fn log_cdf<R: Real>(y: R, args: [R; 3]) -> Option<R> {
        let (rise, fall) = Wald::roots(y, args);
        let second = (-(rise + fall)).log_ndtr() + R::lit(2.0) * args[1] / args[0];
        Some((rise - fall).log_ndtr().log_add_exp(second))
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 3]) -> Option<R> {
        let (rise, fall) = Wald::roots(y, args);
        let second = (-(rise + fall)).log_ndtr() + R::lit(2.0) * args[1] / args[0];
        Some(ln_sub_exp((fall - rise).log_ndtr(), second))
    }

    /// Reference: Michael, Schucany and Haas, The American Statistician 30 (1976), 88–90.
    fn sample(rng: &mut Rng, [mu, lam, alpha]: [f64; 3]) -> f64 {
        let z = rng.normal();
        let w = mu * z * z / (2.0 * lam);
        // The smaller root mu (1 + w − √(w² + 2w)), without its cancellation.
        let x = mu / (1.0 + w + (w * (w + 2.0)).sqrt());
        alpha
            + if rng.uniform() * (mu + x) <= mu {
                x
            } else {
                mu * (mu / x)
            }
    }
}
