//! Log densities, written out.

use super::*;

pub(super) fn normal(x: f64, m: f64, s: f64) -> f64 {
    -0.5 * ((x - m) / s).powi(2) - s.ln() - 0.5 * (2.0 * PI).ln()
}

pub(super) fn inv_logit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// ln of p where `yes`, else of 1 − p.
pub(super) fn bernoulli(yes: bool, p: f64) -> f64 {
    if yes { p.ln() } else { (1.0 - p).ln() }
}

pub(super) fn ln_factorial(n: i64) -> f64 {
    (1..=n).map(|i| (i as f64).ln()).sum()
}

pub(super) fn poisson(k: i64, rate: f64) -> f64 {
    k as f64 * rate.ln() - rate - ln_factorial(k)
}

pub(super) fn binomial(k: i64, n: i64, p: f64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
        + k as f64 * p.ln()
        + (n - k) as f64 * (1.0 - p).ln()
}

/// ln of the share of one of some weights that are given as logarithms.
pub(super) fn ln_share(logits: &[f64], k: usize) -> f64 {
    logits[k] - logits.iter().map(|x| x.exp()).sum::<f64>().ln()
}

pub(super) fn feature(i: usize, k: usize) -> f64 {
    ((i + 1) * (k + 2) % 5) as f64 - 2.0
}
