//! Zeros apart from all else: HurdleNegativeBinomial, HurdleGamma, HurdleLogNormal.

use super::formula::{is_probability, ln_1m_exp, ln_sub_exp, probability, require, unless};
use super::sampling::Rng;
use super::{Arg, Gamma, LogNormal, NegativeBinomial, Real, Scalar, Support, Univariate};
use std::f64::consts::LN_2;

/// HurdleNegativeBinomial(psi, mu, alpha): with probability psi a NegativeBinomial(mu, alpha) count
/// that is not 0, else 0; or by the number of successes n and their probability p.
///
/// ln P(0) = ln(1 − psi); ln P(y) = ln psi + ln NegativeBinomial(y | mu, alpha) −
/// ln(1 − (1 + mu/alpha)^−alpha) for y ≥ 1.
///
/// Requires 0 ≤ psi ≤ 1, mu > 0, alpha > 0.
/// Source: Mullahy, Journal of Econometrics 33 (1986), 341–365.
pub struct HurdleNegativeBinomial;

impl HurdleNegativeBinomial {
    fn accepts<R: Real>([psi, mu, alpha]: [R; 3]) -> R {
        let zero = R::lit(0.0);
        is_probability(psi) * zero.lt(mu) * zero.lt(alpha)
    }

    /// ln of the share of zeros of the counts.
    fn ln_none<R: Real>([_, mu, alpha]: [R; 3]) -> R {
        -(alpha * (mu / alpha).ln_1p())
    }

    /// ln of the share psi over that of counts above 0.
    fn ln_counted<R: Real>(args: [R; 3]) -> R {
        args[0].ln() - ln_1m_exp(HurdleNegativeBinomial::ln_none(args))
    }
}

impl Univariate<3> for HurdleNegativeBinomial {
    const ARGS: [Arg; 3] = [Arg::needed("psi"), Arg::needed("mu"), Arg::needed("alpha")];
    const SUPPORT: Support = Support::NonNegativeInteger;

    fn log_density<R: Real>(y: R, args: [R; 3]) -> R {
        let [psi, mu, alpha] = args;
        let counted = NegativeBinomial::log_density(y, [mu, alpha]);
        let counted = counted + HurdleNegativeBinomial::ln_counted(args);
        let value = y.equals(R::lit(0.0)).select((-psi).ln_1p(), counted);
        require(HurdleNegativeBinomial::accepts(args), value)
    }

    fn log_cdf<R: Real>(y: R, args: [R; 3]) -> Option<R> {
        let [psi, mu, alpha] = args;
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let none = (-psi).ln_1p();
        let ln_counted = HurdleNegativeBinomial::ln_counted(args);
        // Counts from 1 to y; or all without those above y, where those are the fewer.
        let up_to = NegativeBinomial::log_cdf(y.max(one), [mu, alpha])?;
        let counts = ln_sub_exp(up_to, HurdleNegativeBinomial::ln_none(args));
        let above = ln_counted + NegativeBinomial::log_ccdf(y.max(one), [mu, alpha])?;
        let few_above = above.lt(R::lit(-LN_2));
        let share = few_above.select(ln_1m_exp(above), none.log_add_exp(ln_counted + counts));
        let share = y.lt(one).select(none, share);
        let valid = HurdleNegativeBinomial::accepts(args);
        Some(require(valid, unless(y.lt(zero), share)))
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 3]) -> Option<R> {
        let [psi, mu, alpha] = args;
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let above = NegativeBinomial::log_ccdf(y.max(one), [mu, alpha])?;
        let above = above + HurdleNegativeBinomial::ln_counted(args);
        let share = y.lt(one).select(psi.ln(), above);
        let share = y.lt(zero).select(zero, share);
        Some(require(HurdleNegativeBinomial::accepts(args), share))
    }

    fn sample(rng: &mut Rng, [psi, mu, alpha]: [f64; 3]) -> f64 {
        if rng.uniform() < psi {
            Scalar::NegativeBinomial.sample_truncated(rng, &[mu, alpha], 1.0, f64::INFINITY)
        } else {
            0.0
        }
    }
}

/// `$name` is with probability psi a positive number from `$base`, which has the other arguments.
macro_rules! hurdle {
    ($name:ident [$n:literal]: $base:ident, [$($arg:ident = $how:expr),*],
     positive: [$($above:ident),*]) => {
        impl Univariate<$n> for $name {
            const ARGS: [Arg; $n] = [Arg::needed("psi"), $($how),*];
            const SUPPORT: Support = Support::ZeroOrPositive;

            fn log_density<R: Real>(y: R, [psi, $($arg),*]: [R; $n]) -> R {
                let none = y.equals(R::lit(0.0));
                let positive = $base::log_density(y, [$($arg),*]);
                let value = none.select((-psi).ln_1p(), psi.ln() + positive);
                let valid = is_probability(psi) $(* R::lit(0.0).lt($above))*;
                require(valid, unless(y.lt(R::lit(0.0)), value))
            }

            fn cdf(y: f64, [psi, $($arg),*]: [f64; $n]) -> Option<f64> {
                let psi = probability(psi);
                let positive = $base::cdf(y.max(0.0), [$($arg),*])?;
                Some(if y < 0.0 { 0.0 * psi * positive } else { 1.0 - psi + psi * positive })
            }

            fn sample(rng: &mut Rng, [psi, $($arg),*]: [f64; $n]) -> f64 {
                if rng.uniform() < psi {
                    $base::sample(rng, [$($arg),*])
                } else {
                    0.0
                }
            }
        }
    };
}

/// HurdleGamma(psi, alpha, beta): with probability psi a number from Gamma(alpha, beta), else 0;
/// or by the mean mu and the standard deviation sigma of the Gamma.
///
/// ln P(0) = ln(1 − psi), a probability; ln p(y) = ln psi + ln Gamma(y | alpha, beta) for y > 0,
/// a density. For observed data and predictions, not for parameters.
///
/// Requires 0 ≤ psi ≤ 1, alpha > 0, beta > 0.
/// Source: Duan, Manning, Morris and Newhouse, Journal of Business & Economic Statistics 1 (1983),
/// 115–126.
pub struct HurdleGamma;
hurdle!(
    HurdleGamma [3]: Gamma, [alpha = Arg::needed("alpha"), beta = Arg::needed("beta")],
    positive: [alpha, beta]
);

/// HurdleLogNormal(psi, mu, sigma): with probability psi a number from LogNormal(mu, sigma), else
/// 0; or by precision tau = sigma⁻² of the logarithm.
///
/// ln P(0) = ln(1 − psi), a probability; ln p(y) = ln psi + ln LogNormal(y | mu, sigma) for y > 0,
/// a density. For observed data and predictions, not for parameters.
///
/// Requires 0 ≤ psi ≤ 1, sigma > 0 (tau > 0).
/// Source: Aitchison, Journal of the American Statistical Association 50 (1955), 901–908.
pub struct HurdleLogNormal;
hurdle!(
    HurdleLogNormal [3]: LogNormal,
    [mu = Arg::with_default("mu", 0.0), sigma = Arg::with_default("sigma", 1.0)],
    positive: [sigma]
);
