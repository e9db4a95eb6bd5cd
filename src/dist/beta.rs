//! Distributions of a share between 0 and 1: Beta and Kumaraswamy.

use super::formula::{ln_1m_exp, ln_beta, positive, require, unless};
use super::sampling::{Rng, beta_draw};
use super::tails::ln_beta_shares;
use super::{Arg, Real, Support, Univariate};
use fitzroy_graph::special::beta_inc;

/// Whether y lies outside (0, 1).
fn not_share<R: Real>(y: R) -> R {
    y.le(R::lit(0.0)).max(R::lit(1.0).le(y))
}

/// Beta(alpha, beta); or by mean mu and concentration kappa (also called nu): alpha = mu·kappa,
/// beta = (1 − mu)·kappa; or by mean mu and standard deviation sigma: kappa = mu(1 − mu)/sigma² − 1.
///
/// ln p(y) = (alpha − 1) ln y + (beta − 1) ln(1 − y) − ln B(alpha, beta), for 0 < y < 1.
///
/// Requires alpha > 0, beta > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Continuous Univariate Distributions* 2, chapter 25.
pub struct Beta;

impl Beta {
    pub(super) fn from_mean<R: Real>([mu, kappa]: [R; 2]) -> [R; 2] {
        [mu * kappa, (R::lit(1.0) - mu) * kappa]
    }

    pub(super) fn from_moments<R: Real>([mu, sigma]: [R; 2]) -> [R; 2] {
        let one = R::lit(1.0);
        let sigma = positive(sigma);
        Beta::from_mean([mu, mu * (one - mu) / (sigma * sigma) - one])
    }

    /// ln P(Y ≤ y) and ln P(Y > y).
    fn ln_shares<R: Real>(y: R, [alpha, beta]: [R; 2]) -> (R, R) {
        let y = y.max(R::lit(0.0)).min(R::lit(1.0));
        ln_beta_shares(positive(alpha), positive(beta), y, R::lit(1.0) - y)
    }
}

impl Univariate<2> for Beta {
    const ARGS: [Arg; 2] = [Arg::needed("alpha"), Arg::needed("beta")];
    const SUPPORT: Support = Support::UNIT;
    const OPEN: bool = true;

    fn log_density<R: Real>(y: R, [alpha, beta]: [R; 2]) -> R {
        let one = R::lit(1.0);
        let kernel = (alpha - one) * y.ln() + (beta - one) * (-y).ln_1p();
        unless(not_share(y), kernel) - ln_beta(positive(alpha), positive(beta))
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some(Beta::ln_shares(y, args).0)
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        Some(Beta::ln_shares(y, args).1)
    }

    fn cdf(y: f64, [alpha, beta]: [f64; 2]) -> Option<f64> {
        let y = y.clamp(0.0, 1.0);
        Some(beta_inc(alpha, beta, y, 1.0 - y))
    }

    fn sample(rng: &mut Rng, [alpha, beta]: [f64; 2]) -> f64 {
        beta_draw(rng, alpha, beta).0
    }
}

/// Kumaraswamy(a, b), with the closed distribution function 1 − (1 − yᵃ)ᵇ.
///
/// ln p(y) = ln a + ln b + (a − 1) ln y + (b − 1) ln(1 − yᵃ), for 0 < y < 1.
///
/// Requires a > 0, b > 0. Source: Jones, Statistical Methodology 6 (2009), 70–81.
pub struct Kumaraswamy;

impl Kumaraswamy {
    /// ln(1 − yᵃ), with y clamped to [0, 1].
    fn ln_rest<R: Real>(y: R, a: R) -> R {
        ln_1m_exp(a * y.max(R::lit(0.0)).min(R::lit(1.0)).ln())
    }
}

impl Univariate<2> for Kumaraswamy {
    const ARGS: [Arg; 2] = [Arg::needed("a"), Arg::needed("b")];
    const SUPPORT: Support = Support::UNIT;
    const OPEN: bool = true;

    fn log_density<R: Real>(y: R, [a, b]: [R; 2]) -> R {
        let one = R::lit(1.0);
        let ln_y = y.ln();
        let kernel = (a - one) * ln_y + (b - one) * ln_1m_exp(a * ln_y);
        unless(not_share(y), kernel) + positive(a).ln() + positive(b).ln()
    }

    fn log_cdf<R: Real>(y: R, [a, b]: [R; 2]) -> Option<R> {
        Some(ln_1m_exp(
            positive(b) * Kumaraswamy::ln_rest(y, positive(a)),
        ))
    }

    fn log_ccdf<R: Real>(y: R, [a, b]: [R; 2]) -> Option<R> {
        let ok = R::lit(0.0).lt(a) * R::lit(0.0).lt(b);
        Some(require(ok, b * Kumaraswamy::ln_rest(y, a)))
    }

    fn sample(rng: &mut Rng, [a, b]: [f64; 2]) -> f64 {
        // y = (1 − u^(1/b))^(1/a).
        libm::exp(ln_1m_exp(-rng.exponential() / b) / a)
    }
}
