//! Counts that are always 0 in some share of cases: ZeroInflatedBinomial,
//! ZeroInflatedNegativeBinomial.

use super::formula::{is_probability, probability, require, unless};
use super::sampling::Rng;
use super::{
    Arg, Binomial, BinomialLogit, Bound, NegativeBinomial, NegativeBinomialTrials, Real, Support,
    Univariate,
};

/// ln of the mass at y, `counted` where the count is counted and `none` its mass at 0.
fn inflated<R: Real>(y: R, psi: R, counted: R, none: R) -> R {
    let at_zero = (-psi).ln_1p().log_add_exp(psi.ln() + none);
    let value = y.equals(R::lit(0.0)).select(at_zero, psi.ln() + counted);
    require(is_probability(psi), value)
}

/// `$name` is with probability psi a count from `$base`, which has the other arguments.
macro_rules! zero_inflated {
    ($name:ident [$n:literal]: $base:ident, $support:expr, [$($arg:ident),*]) => {
        impl Univariate<$n> for $name {
            const ARGS: [Arg; $n] = [Arg::needed("psi"), $(Arg::needed(stringify!($arg))),*];
            const SUPPORT: Support = $support;

            fn log_density<R: Real>(y: R, [psi, $($arg),*]: [R; $n]) -> R {
                let counted = $base::log_density(y, [$($arg),*]);
                inflated(y, psi, counted, $base::log_density(R::lit(0.0), [$($arg),*]))
            }

            fn log_cdf<R: Real>(y: R, [psi, $($arg),*]: [R; $n]) -> Option<R> {
                let counted = psi.ln() + $base::log_cdf(y.max(R::lit(0.0)), [$($arg),*])?;
                let share = (-psi).ln_1p().log_add_exp(counted);
                let valid = is_probability(psi) * counted.equals(counted);
                Some(require(valid, unless(y.lt(R::lit(0.0)), share)))
            }

            fn log_ccdf<R: Real>(y: R, [psi, $($arg),*]: [R; $n]) -> Option<R> {
                let counted = psi.ln() + $base::log_ccdf(y.max(R::lit(0.0)), [$($arg),*])?;
                let share = y.lt(R::lit(0.0)).select(R::lit(0.0), counted);
                let valid = is_probability(psi) * counted.equals(counted);
                Some(require(valid, share))
            }

            fn cdf(y: f64, [psi, $($arg),*]: [f64; $n]) -> Option<f64> {
                let psi = probability(psi);
                let count = $base::cdf(y.max(0.0), [$($arg),*])?;
                Some(if y < 0.0 { 0.0 * psi * count } else { 1.0 - psi + psi * count })
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

/// The whole numbers from 0 to the trials, the second argument.
const UP_TO_TRIALS: Support = Support::IntegerRange(Bound::At(0.0), Bound::Arg(1));

/// ZeroInflatedBinomial(psi, n, p): Binomial(n, p) with probability psi, else 0.
///
/// ln P(0) = ln(1 − psi + psi (1 − p)ⁿ); ln P(y) = ln psi + ln Binomial(y | n, p) for y ≥ 1.
///
/// Requires 0 ≤ psi ≤ 1, n whole and ≥ 0, 0 ≤ p ≤ 1.
/// Source: Hall, Biometrics 56 (2000), 1030–1039.
pub struct ZeroInflatedBinomial;
zero_inflated!(ZeroInflatedBinomial[3]: Binomial, UP_TO_TRIALS, [n, p]);

/// ZeroInflatedBinomial by the log odds of Binomial.
pub struct ZeroInflatedBinomialLogit;
zero_inflated!(ZeroInflatedBinomialLogit[3]: BinomialLogit, UP_TO_TRIALS, [n, logit_p]);

/// ZeroInflatedNegativeBinomial(psi, mu, alpha): NegativeBinomial(mu, alpha) with probability psi,
/// else 0.
///
/// ln P(0) = ln(1 − psi + psi (1 + mu/alpha)^−alpha);
/// ln P(y) = ln psi + ln NegativeBinomial(y | mu, alpha) for y ≥ 1.
///
/// Requires 0 ≤ psi ≤ 1, mu ≥ 0, alpha > 0.
/// Source: Greene, Working Paper EC-94-10, New York University (1994).
pub struct ZeroInflatedNegativeBinomial;
zero_inflated!(
    ZeroInflatedNegativeBinomial[3]: NegativeBinomial, Support::NonNegativeInteger, [mu, alpha]
);

/// ZeroInflatedNegativeBinomial by the number of successes n and their probability p.
pub struct ZeroInflatedNegativeBinomialTrials;
zero_inflated!(
    ZeroInflatedNegativeBinomialTrials[3]: NegativeBinomialTrials, Support::NonNegativeInteger,
    [n, p]
);
