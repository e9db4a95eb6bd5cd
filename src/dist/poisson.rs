//! Counts without an upper end: Poisson, NegativeBinomial, ZeroInflatedPoisson,
//! HurdlePoisson.

use super::formula::{
    count_ln, is_probability, ln_1m_exp, ln_sub_exp, non_negative, not_count, positive,
    probability, require, unless,
};
use super::sampling::{Rng, gamma_draw, poisson_draw};
use super::tails::{ln_beta_shares, ln_gamma_shares};
use super::{Arg, Real, Support, Univariate};
use fitzroy_graph::special::{beta_inc, gamma_q};

/// y ln mu − ln y!, with 0 ln 0 = 0.
fn poisson_kernel<R: Real>(y: R, mu: R) -> R {
    count_ln(y, mu) - (y + R::lit(1.0)).lgamma()
}

/// The count after y ≥ 0, as a shape; an infinite y counts as 1e15, beyond which there is nothing.
fn after<R: Real>(y: R) -> R {
    y.max(R::lit(0.0)).min(R::lit(1e15)).floor() + R::lit(1.0)
}

/// Poisson(mu): counts of mean mu.
///
/// ln P(y) = y ln mu − mu − ln y!. Requires mu ≥ 0.
/// Source: Johnson, Kemp and Kotz, *Univariate Discrete Distributions*, chapter 4.
pub struct Poisson;

impl Univariate<1> for Poisson {
    const ARGS: [Arg; 1] = [Arg::needed("mu")];
    const SUPPORT: Support = Support::NonNegativeInteger;

    fn log_density<R: Real>(y: R, [mu]: [R; 1]) -> R {
        unless(not_count(y, 0.0), poisson_kernel(y, mu)) - non_negative(mu)
    }

    fn log_cdf<R: Real>(y: R, [mu]: [R; 1]) -> Option<R> {
        let share = ln_gamma_shares(after(y), mu).1;
        let share = unless(y.lt(R::lit(0.0)), share);
        Some(require(R::lit(0.0).le(mu), share))
    }

    fn log_ccdf<R: Real>(y: R, [mu]: [R; 1]) -> Option<R> {
        let share = ln_gamma_shares(after(y), mu).0;
        let share = y.lt(R::lit(0.0)).select(R::lit(0.0), share);
        Some(require(R::lit(0.0).le(mu), share))
    }

    fn cdf(y: f64, [mu]: [f64; 1]) -> Option<f64> {
        let mu = non_negative(mu);
        Some(if y < 0.0 {
            0.0 * mu
        } else {
            gamma_q(y.floor() + 1.0, mu)
        })
    }

    fn sample(rng: &mut Rng, [mu]: [f64; 1]) -> f64 {
        poisson_draw(rng, mu)
    }
}

/// NegativeBinomial(mu, alpha): Poisson counts whose rate is Gamma(alpha, alpha/mu), of mean mu
/// and variance mu + mu²/alpha; or (keywords `n`, `p`) the failures before the n-th success:
/// alpha = n, mu = n(1 − p)/p.
///
/// ln P(y) = ln Γ(y + alpha) − ln Γ(alpha) − ln y! − alpha ln(1 + mu/alpha) + y ln(mu/(mu + alpha)).
///
/// Requires mu ≥ 0, alpha > 0. The difference of ln Γ costs about 1e-16·alpha ln alpha.
/// Source: Johnson, Kemp and Kotz, *Univariate Discrete Distributions*, chapter 5.
pub struct NegativeBinomial;

impl NegativeBinomial {
    pub(super) fn from_trials<R: Real>([n, p]: [R; 2]) -> [R; 2] {
        let p = probability(p);
        [n * (R::lit(1.0) - p) / p, n]
    }

    /// Whether the arguments are valid.
    fn accepts<R: Real>([mu, alpha]: [R; 2]) -> R {
        R::lit(0.0).le(mu) * R::lit(0.0).lt(alpha)
    }

    /// ln P(Y ≤ y) and ln P(Y > y) for y ≥ 0.
    fn ln_shares<R: Real>(y: R, [mu, alpha]: [R; 2]) -> (R, R) {
        let total = mu + alpha;
        ln_beta_shares(alpha, after(y), alpha / total, mu / total)
    }
}

impl Univariate<2> for NegativeBinomial {
    const ARGS: [Arg; 2] = [Arg::needed("mu"), Arg::needed("alpha")];
    const SUPPORT: Support = Support::NonNegativeInteger;

    fn log_density<R: Real>(y: R, [mu, alpha]: [R; 2]) -> R {
        let kernel =
            (y + alpha).lgamma() - (y + R::lit(1.0)).lgamma() + count_ln(y, mu / (mu + alpha));
        let mu = non_negative(mu);
        let norm = positive(alpha).lgamma() + alpha * (mu / alpha).ln_1p();
        unless(not_count(y, 0.0), kernel) - norm
    }

    fn log_cdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        let share = unless(y.lt(R::lit(0.0)), NegativeBinomial::ln_shares(y, args).0);
        Some(require(NegativeBinomial::accepts(args), share))
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 2]) -> Option<R> {
        let share = NegativeBinomial::ln_shares(y, args).1;
        let share = y.lt(R::lit(0.0)).select(R::lit(0.0), share);
        Some(require(NegativeBinomial::accepts(args), share))
    }

    fn cdf(y: f64, [mu, alpha]: [f64; 2]) -> Option<f64> {
        let (mu, alpha) = (non_negative(mu), positive(alpha));
        let total = mu + alpha;
        Some(if y < 0.0 {
            0.0 * total
        } else {
            beta_inc(alpha, y.floor() + 1.0, alpha / total, mu / total)
        })
    }

    fn sample(rng: &mut Rng, [mu, alpha]: [f64; 2]) -> f64 {
        let rate = gamma_draw(rng, alpha) * (mu / alpha);
        poisson_draw(rng, rate)
    }
}

/// ZeroInflatedPoisson(psi, mu): Poisson(mu) with probability psi, else 0.
///
/// ln P(0) = ln(1 − psi + psi e^−mu); ln P(y) = ln psi + ln Poisson(y | mu) for y ≥ 1.
///
/// Requires 0 ≤ psi ≤ 1, mu ≥ 0.
/// Source: Lambert, Technometrics 34 (1992), 1–14.
pub struct ZeroInflatedPoisson;

impl Univariate<2> for ZeroInflatedPoisson {
    const ARGS: [Arg; 2] = [Arg::needed("psi"), Arg::needed("mu")];
    const SUPPORT: Support = Support::NonNegativeInteger;

    fn log_density<R: Real>(y: R, [psi, mu]: [R; 2]) -> R {
        let count = psi.ln() - mu;
        let at_zero = (-psi).ln_1p().log_add_exp(count);
        let value = y
            .equals(R::lit(0.0))
            .select(at_zero, poisson_kernel(y, mu) + count);
        let valid = is_probability(psi) * R::lit(0.0).le(mu);
        require(valid, unless(not_count(y, 0.0), value))
    }

    fn log_cdf<R: Real>(y: R, [psi, mu]: [R; 2]) -> Option<R> {
        let counted = psi.ln() + Poisson::log_cdf(y, [mu])?;
        let share = (-psi).ln_1p().log_add_exp(counted);
        let valid = is_probability(psi) * R::lit(0.0).le(mu);
        Some(require(valid, unless(y.lt(R::lit(0.0)), share)))
    }

    fn log_ccdf<R: Real>(y: R, [psi, mu]: [R; 2]) -> Option<R> {
        let counted = psi.ln() + Poisson::log_ccdf(y, [mu])?;
        let share = y.lt(R::lit(0.0)).select(R::lit(0.0), counted);
        Some(require(is_probability(psi) * R::lit(0.0).le(mu), share))
    }

    fn cdf(y: f64, [psi, mu]: [f64; 2]) -> Option<f64> {
        let psi = probability(psi);
        let count = Poisson::cdf(y, [mu])?;
        Some(if y < 0.0 {
            psi * count
        } else {
            1.0 - psi + psi * count
        })
    }

    fn sample(rng: &mut Rng, [psi, mu]: [f64; 2]) -> f64 {
        if rng.uniform() < psi {
            poisson_draw(rng, mu)
        } else {
            0.0
        }
    }
}

/// HurdlePoisson(psi, mu): with probability psi a Poisson(mu) count that is not 0, else 0.
///
/// ln P(0) = ln(1 − psi); ln P(y) = ln psi + ln Poisson(y | mu) − ln(1 − e^−mu) for y ≥ 1.
///
/// Requires 0 ≤ psi ≤ 1, mu > 0.
/// Source: Mullahy, Journal of Econometrics 33 (1986), 341–365.
pub struct HurdlePoisson;

impl HurdlePoisson {
    fn accepts<R: Real>([psi, mu]: [R; 2]) -> R {
        is_probability(psi) * R::lit(0.0).lt(mu)
    }

    /// ln of the share psi over that of counts above 0.
    fn ln_counted<R: Real>([psi, mu]: [R; 2]) -> R {
        psi.ln() - ln_1m_exp(-mu)
    }
}

impl Univariate<2> for HurdlePoisson {
    const ARGS: [Arg; 2] = [Arg::needed("psi"), Arg::needed("mu")];
    const SUPPORT: Support = Support::NonNegativeInteger;

    fn log_density<R: Real>(y: R, [psi, mu]: [R; 2]) -> R {
        let count = poisson_kernel(y, mu) - mu + HurdlePoisson::ln_counted([psi, mu]);
        let value = y.equals(R::lit(0.0)).select((-psi).ln_1p(), count);
        let valid = HurdlePoisson::accepts([psi, mu]);
        require(valid, unless(not_count(y, 0.0), value))
    }

    fn log_cdf<R: Real>(y: R, [psi, mu]: [R; 2]) -> Option<R> {
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let none = (-psi).ln_1p();
        let ln_counted = HurdlePoisson::ln_counted([psi, mu]);
        // Counts from 1 to y; or all without those above y, where those are the fewer.
        let counts = ln_sub_exp(Poisson::log_cdf(y.max(one), [mu])?, -mu);
        let above = ln_counted + Poisson::log_ccdf(y.max(one), [mu])?;
        let few_above = above.lt(R::lit(-std::f64::consts::LN_2));
        let share = few_above.select(ln_1m_exp(above), none.log_add_exp(ln_counted + counts));
        let share = y.lt(one).select(none, share);
        let valid = HurdlePoisson::accepts([psi, mu]);
        Some(require(valid, unless(y.lt(zero), share)))
    }

    fn log_ccdf<R: Real>(y: R, [psi, mu]: [R; 2]) -> Option<R> {
        let above = HurdlePoisson::ln_counted([psi, mu]) + Poisson::log_ccdf(y, [mu])?;
        let share = y.lt(R::lit(1.0)).select(psi.ln(), above);
        let share = y.lt(R::lit(0.0)).select(R::lit(0.0), share);
        Some(require(HurdlePoisson::accepts([psi, mu]), share))
    }

    fn cdf(y: f64, [psi, mu]: [f64; 2]) -> Option<f64> {
        Some(HurdlePoisson::log_cdf(y, [psi, mu])?.exp())
    }

    /// The first of the arrivals in a time mu, given that there is one, and those after it.
    fn sample(rng: &mut Rng, [psi, mu]: [f64; 2]) -> f64 {
        if rng.uniform() < psi {
            let first = -libm::log1p(rng.uniform() * libm::expm1(-mu));
            1.0 + poisson_draw(rng, (mu - first).max(0.0))
        } else {
            0.0
        }
    }
}
