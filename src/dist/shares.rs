//! Shares and counts of several categories: Dirichlet, StickBreakingWeights, Multinomial and
//! DirichletMultinomial.

use super::Real;
use super::formula::{count_ln, ln_rising, positive};
use super::sampling::{Rng, beta_draw, binomial_draw, ln_gamma_draw};
use super::vector_transform::sum;

/// Dirichlet(a): shares y of sum 1 with concentrations a.
///
/// ln p(y) = ln Γ(Σa) + Σ [(a − 1) ln y − ln Γ(a)]. Requires a > 0.
/// Source: Kotz, Balakrishnan and Johnson, *Continuous Multivariate Distributions* 1, chapter 49.
pub fn dirichlet<R: Real>(y: &[R], a: &[R]) -> R {
    let kernel = y.iter().zip(a).map(|(&y, &a)| (a - R::lit(1.0)) * y.ln());
    let norm: Vec<R> = a.iter().map(|&a| positive(a).lgamma()).collect();
    sum(&kernel.collect::<Vec<R>>()) - (sum(&norm) - sum(a).lgamma())
}

/// A draw of [`dirichlet`]; formed from logarithms, so that small concentrations do not give 0/0.
pub fn draw_dirichlet(rng: &mut Rng, a: &[f64]) -> Vec<f64> {
    let logs: Vec<f64> = a.iter().map(|&a| ln_gamma_draw(rng, a)).collect();
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|v| libm::exp(v - most)).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

/// Multinomial(n, p): counts y of n independent categories with probabilities p.
///
/// ln P(y) = ln n! + Σ [y ln p − ln y!], with n = Σy. Requires p ≥ 0 of sum 1.
/// Source: Johnson, Kotz and Balakrishnan, *Discrete Multivariate Distributions*, chapter 35.
pub fn multinomial<R: Real>(y: &[R], p: &[R]) -> R {
    let one = R::lit(1.0);
    let term = |(&y, &p): (&R, &R)| count_ln(y, p) - (y + one).lgamma();
    let terms: Vec<R> = y.iter().zip(p).map(term).collect();
    sum(&terms) + (sum(y) + one).lgamma()
}

/// A draw of [`multinomial`]: a binomial for each category among what is left.
pub fn draw_multinomial(rng: &mut Rng, n: f64, p: &[f64]) -> Vec<f64> {
    let mut counts_left = n;
    let mut share_left: f64 = p.iter().sum();
    let mut counts = Vec::with_capacity(p.len());
    for (k, &share) in p.iter().enumerate() {
        let last = k + 1 == p.len();
        let chance = if last {
            1.0
        } else {
            (share / share_left).clamp(0.0, 1.0)
        };
        let chance = if counts_left == 0.0 { 0.0 } else { chance };
        let count = binomial_draw(rng, counts_left, chance);
        counts.push(count);
        counts_left -= count;
        share_left -= share;
    }
    counts
}

/// DirichletMultinomial(n, a): Multinomial(n, p) counts y with p from Dirichlet(a).
///
/// ln P(y) = ln n! + ln Γ(A) − ln Γ(n + A) + Σ [ln Γ(y + a) − ln Γ(a) − ln y!], with n = Σy and A = Σa.
///
/// Requires a > 0.
/// Source: Johnson, Kotz and Balakrishnan, *Discrete Multivariate Distributions*, section 35.13.
pub fn dirichlet_multinomial<R: Real>(y: &[R], a: &[R]) -> R {
    let one = R::lit(1.0);
    let term = |(&y, &a): (&R, &R)| ln_rising(positive(a), y) - (y + one).lgamma();
    let terms: Vec<R> = y.iter().zip(a).map(term).collect();
    let (n, total) = (sum(y), sum(a));
    sum(&terms) + ((n + one).lgamma() - ln_rising(total, n))
}

/// A draw of [`dirichlet_multinomial`].
pub fn draw_dirichlet_multinomial(rng: &mut Rng, n: f64, a: &[f64]) -> Vec<f64> {
    let p = draw_dirichlet(rng, a);
    draw_multinomial(rng, n, &p)
}

/// StickBreakingWeights(alpha): shares y of sum 1, broken off a stick one after the other, each time
/// Beta(1, alpha) of what is left; the last is what is left then.
///
/// ln p(y) = (K − 1) ln alpha + (alpha − 1) ln y\[K − 1] − Σ ln r, with K the number of shares and
/// r = y\[i] + … + y\[K − 1] the lengths of the stick that are broken. K is one more than PyMC's.
///
/// Requires alpha > 0. Source: Ishwaran and James, Journal of the American Statistical Association
/// 96 (2001), 161–173.
pub fn stick_breaking_weights<R: Real>(y: &[R], alpha: R) -> R {
    let last = y.len() - 1;
    let logs: Vec<R> = (0..last).map(|i| sum(&y[i..]).ln()).collect();
    let kernel = (alpha - R::lit(1.0)) * y[last].ln() - sum(&logs);
    kernel + R::lit(last as f64) * positive(alpha).ln()
}

/// A draw of [`stick_breaking_weights`].
pub fn draw_stick_breaking_weights(rng: &mut Rng, k: usize, alpha: f64) -> Vec<f64> {
    let mut left = 1.0;
    let mut weights: Vec<f64> = Vec::with_capacity(k);
    for _ in 1..k {
        let (broken, rest) = beta_draw(rng, 1.0, alpha);
        weights.push(left * broken);
        left *= rest;
    }
    weights.push(left);
    weights
}
