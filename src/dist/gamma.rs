//! The gamma family: Gamma and InverseGamma.

use super::formula::{positive, unless};
use super::sampling::{Rng, gamma_draw, ln_gamma_draw};
use super::tails::ln_gamma_shares;
use super::{Arg, Real, Support, Univariate};
use fitzroy_graph::special::{gamma_p, gamma_q};

/// Gamma(alpha, beta) by shape and rate, or Gamma(mu, sigma) by mean and standard deviation:
/// alpha = mu²/sigma², beta = mu/sigma².
///
/// ln p(y) = alpha ln beta − ln Γ(alpha) + (alpha − 1) ln y − beta·y, for y > 0.
///
/// Requires alpha > 0, beta > 0 (mu > 0, sigma > 0).
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 1, chapter 17.
pub struct Gamma;

impl Gamma {
    pub(super) fn from_moments<R: Real>([mu, sigma]: [R; 2]) -> [R; 2] {
        let sigma = positive(sigma);
        let beta = mu / (sigma * sigma);
        [mu * beta, beta]
    }

    /// ln P(Y ≤ y) and ln P(Y > y).
    fn ln_shares<R: Real>(y: R, [alpha, beta]: [R; 2]) -> (R, R) {
        ln_gamma_shares(positive(alpha), positive(beta) * y.max(R::lit(0.0)))
    }
}

impl Univariate<2> for Gamma {
    const ARGS: [Arg; 2] = [Arg::needed("alpha"), Arg::needed("beta")];
    const SUPPORT: Support = Support::POSITIVE;
    const OPEN: bool = true;

    fn log_density<R: Real>(y: R, [alpha, beta]: [R; 2]) -> R {
        let kernel = (alpha - R::lit(1.0)) * y.ln() - beta * y;
        let norm = positive(alpha).lgamma() - alpha * positive(beta).ln();
        unless(y.le(R::lit(0.0)), kernel) - norm
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some(Gamma::ln_shares(y, args).0)
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some(Gamma::ln_shares(y, args).1)
    }

    fn cdf(y: f64, [alpha, beta]: [f64; 2]) -> Option<f64> {
        Some(gamma_p(alpha, positive(beta) * y.max(0.0)))
    }

    fn sample(rng: &mut Rng, [alpha, beta]: [f64; 2]) -> f64 {
        gamma_draw(rng, alpha) / beta
    }
}

/// InverseGamma(alpha, beta): 1/y is Gamma(alpha, beta); or by mean mu (> 0) and standard
/// deviation sigma: alpha = mu²/sigma² + 2, beta = mu (mu²/sigma² + 1).
///
/// ln p(y) = alpha ln beta − ln Γ(alpha) − (alpha + 1) ln y − beta/y, for y > 0.
///
/// Requires alpha > 0, beta > 0. Source: Gelman and others, *Bayesian Data Analysis*, appendix A.
pub struct InverseGamma;

impl InverseGamma {
    pub(super) fn from_moments<R: Real>([mu, sigma]: [R; 2]) -> [R; 2] {
        let ratio = mu / positive(sigma);
        let square = ratio * ratio;
        [square + R::lit(2.0), mu * (square + R::lit(1.0))]
    }

    /// ln P(Y ≤ y) and ln P(Y > y).
    fn ln_shares<R: Real>(y: R, [alpha, beta]: [R; 2]) -> (R, R) {
        let x = positive(beta) / y.max(R::lit(0.0));
        let (above, below) = ln_gamma_shares(positive(alpha), x);
        (below, above)
    }
}

impl Univariate<2> for InverseGamma {
    const ARGS: [Arg; 2] = [Arg::needed("alpha"), Arg::with_default("beta", 1.0)];
    const SUPPORT: Support = Support::POSITIVE;
    const OPEN: bool = true;

    fn log_density<R: Real>(y: R, [alpha, beta]: [R; 2]) -> R {
        let kernel = -(alpha + R::lit(1.0)) * y.ln() - beta / y;
        let norm = positive(alpha).lgamma() - alpha * positive(beta).ln();
        unless(y.le(R::lit(0.0)), kernel) - norm
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some(InverseGamma::ln_shares(y, args).0)
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some(InverseGamma::ln_shares(y, args).1)
    }

    fn cdf(y: f64, [alpha, beta]: [f64; 2]) -> Option<f64> {
        Some(gamma_q(alpha, positive(beta) / y.max(0.0)))
    }

    fn sample(rng: &mut Rng, [alpha, beta]: [f64; 2]) -> f64 {
        libm::exp(libm::log(beta) - ln_gamma_draw(rng, alpha))
    }
}
