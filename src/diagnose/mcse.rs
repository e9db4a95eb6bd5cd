//! Monte Carlo standard errors: how far an estimate may be off because draws are finitely many.
//!
//! Reference: Vehtari et al., Bayesian Analysis 16 (2021), section 4.

use super::chains::{Chains, mean, sd, sum};
use super::ess::{ess_mean, ess_quantile, squared_deviations};
use super::ranks::Ordered;
use fitzroy_graph::special::beta_inc_inv;

/// The estimate whose Monte Carlo standard error is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mcse {
    /// The mean.
    Mean,
    /// The standard deviation.
    Sd,
    /// The median.
    Median,
    /// The quantile at a probability in [0, 1].
    Quantile(f64),
}

/// Monte Carlo standard error of an estimate from `x`, in the units of `x`.
///
/// NaN for any NaN, fewer than four draws, or a probability outside [0, 1].
pub fn mcse(x: Chains, kind: Mcse) -> f64 {
    if !x.usable() {
        return f64::NAN;
    }
    match kind {
        Mcse::Mean => mcse_mean(&x),
        Mcse::Sd => mcse_sd(&x),
        Mcse::Median => mcse_quantile(&Ordered::new(x), 0.5),
        Mcse::Quantile(p) => mcse_quantile(&Ordered::new(x), p),
    }
}

/// sqrt(variance / ESS of the mean).
pub(crate) fn mcse_mean(x: &Chains) -> f64 {
    sd(x.values()) / ess_mean(x.values(), x).sqrt()
}

/// With u = (x − mean)² and E its ESS: sqrt((mean(u²) − mean(u)²) / E / mean(u) / 4). NaN for a
/// constant.
pub(crate) fn mcse_sd(x: &Chains) -> f64 {
    let u = squared_deviations(x.values());
    let n_effective = ess_mean(&u, x);
    // Means as x₀ + mean(x − x₀), see `mean`.
    let first = u[0] * u[0];
    let fourth = first + sum(&u, |v| v * v - first) / u.len() as f64;
    let variance = mean(&u);
    ((fourth - variance * variance) / n_effective / variance / 4.0).sqrt()
}

/// Half the distance between the draws that bound the quantile: with E its ESS, those at the
/// .1586553 and .8413447 quantiles of Beta(E p + 1, E (1 − p) + 1).
fn mcse_quantile(draws: &Ordered, p: f64) -> f64 {
    let n_effective = ess_quantile(draws, p);
    let (a, b) = (n_effective * p + 1.0, n_effective * (1.0 - p) + 1.0);
    if !(a > 0.0 && b > 0.0) {
        return f64::NAN;
    }
    let size = draws.sorted.len() as f64;
    // Draws counted from 0; the comparisons also keep both inside the range.
    let low = (beta_inc_inv(0.1586553, a, b) * size - 1.0)
        .max(0.0)
        .floor();
    let high = (beta_inc_inv(0.8413447, a, b) * size - 1.0)
        .min(size - 1.0)
        .ceil();
    (draws.sorted[high as usize] - draws.sorted[low as usize]) / 2.0
}
