//! Distributions of a category: Categorical, OrderedLogistic and OrderedProbit.

use super::Real;
use super::formula::{ln_1m_exp, positive};
use super::sampling::Rng;
use super::vector_transform::{log_sum_exp, sum};

/// Categorical(p): category y = 0 … K − 1 with probability p\[y].
///
/// ln P(y) = ln p\[y] − ln Σp, so that p need only be positive weights.
pub fn categorical<R: Real>(y: usize, p: &[R]) -> R {
    p[y].ln() - positive(sum(p)).ln()
}

/// Categorical(logit_p): ln P(y) = logit_p\[y] − ln Σ e^logit_p.
pub fn categorical_logit<R: Real>(y: usize, logit_p: &[R]) -> R {
    logit_p[y] - log_sum_exp(logit_p)
}

/// A draw from weights p; `None` unless they are ≥ 0 with a positive, finite sum.
pub fn draw_categorical(rng: &mut Rng, p: &[f64]) -> Option<usize> {
    let total: f64 = p.iter().sum();
    if !(total > 0.0 && total.is_finite()) || p.iter().any(|w| *w < 0.0) {
        return None;
    }
    let mut left = rng.uniform() * total;
    for (k, weight) in p.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return Some(k);
        }
    }
    p.iter().rposition(|w| *w > 0.0) // rounding alone leads here
}

/// OrderedLogistic(eta, cutpoints): the category among increasing cutpoints c in which a logistic
/// variable around eta falls, y = 0 … K with K cutpoints.
///
/// P(y) = F(c\[y] − eta) − F(c\[y − 1] − eta) with F(x) = 1/(1 + e⁻ˣ); inside,
/// ln P = −ln(1 + e⁻ᵃ) − ln(1 + eᵇ) + ln(1 − e^(b − a)) for a = c\[y] − eta, b = c\[y − 1] − eta.
///
/// NaN where the cutpoints decrease.
/// Source: McCullagh, Journal of the Royal Statistical Society B 42 (1980), 109–142.
pub fn ordered_logistic<R: Real>(y: usize, eta: R, cutpoints: &[R]) -> R {
    let below_upper = |k: usize| -(eta - cutpoints[k]).softplus();
    let above_lower = |k: usize| -(cutpoints[k] - eta).softplus();
    match (y > 0, y < cutpoints.len()) {
        (false, false) => R::lit(0.0),
        (false, true) => below_upper(y),
        (true, false) => above_lower(y - 1),
        (true, true) => {
            let gap = ln_1m_exp(cutpoints[y - 1] - cutpoints[y]);
            below_upper(y) + above_lower(y - 1) + gap
        }
    }
}

/// A draw of [`ordered_logistic`].
pub fn draw_ordered_logistic(rng: &mut Rng, eta: f64, cutpoints: &[f64]) -> usize {
    let u = rng.uniform();
    let latent = eta + libm::log(u) - libm::log1p(-u);
    cutpoints.iter().take_while(|c| **c < latent).count()
}

/// ln(Φ(upper) − Φ(lower)), Φ the standard normal distribution function; NaN where upper < lower.
///
/// Taken on the side of 0 where the shares are small, where it does not cancel.
pub(crate) fn ln_normal_between<R: Real>(lower: R, upper: R) -> R {
    let right = R::lit(0.0).lt(lower + upper);
    let more = right.select(-lower, upper);
    let less = right.select(-upper, lower).max(R::lit(-1e100));
    let more = more.log_ndtr();
    more + ln_1m_exp(less.log_ndtr() - more)
}

/// OrderedProbit(eta, cutpoints, sigma): the category among increasing cutpoints c in which a
/// normal variable with mean eta and standard deviation sigma falls, y = 0 … K with K cutpoints.
///
/// P(y) = Φ((c\[y] − eta)/sigma) − Φ((c\[y − 1] − eta)/sigma); the first category lacks the second
/// term, and the last has 1 in place of the first.
///
/// Requires sigma > 0. NaN where the cutpoints decrease.
/// Source: McKelvey and Zavoina, Journal of Mathematical Sociology 4 (1975), 103–120.
pub fn ordered_probit<R: Real>(y: usize, eta: R, cutpoints: &[R], sigma: R) -> R {
    let z = |k: usize| (cutpoints[k] - eta) / positive(sigma);
    match (y > 0, y < cutpoints.len()) {
        (false, false) => R::lit(0.0),
        (false, true) => z(y).log_ndtr(),
        (true, false) => (-z(y - 1)).log_ndtr(),
        (true, true) => ln_normal_between(z(y - 1), z(y)),
    }
}

/// A draw of [`ordered_probit`].
pub fn draw_ordered_probit(rng: &mut Rng, eta: f64, cutpoints: &[f64], sigma: f64) -> usize {
    let latent = eta + sigma * rng.normal();
    cutpoints.iter().take_while(|c| **c < latent).count()
}
