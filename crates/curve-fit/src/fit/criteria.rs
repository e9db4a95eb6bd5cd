//! Information criteria of a fit by its likelihood, and leave-one-out by its leverages, as functions of numbers.

use crate::method::dense::Triangle;
use crate::method::statistics::triangle_inverse;
use fitzroy_device::cpu::TILE_ROWS;
use std::f64::consts::PI;

/// Criteria by which curves are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criteria {
    /// −2 ln L + 2k.
    pub aic: f64,
    /// AIC + 2k(k+1)/(n−k−1) (Hurvich and Tsai 1989); infinite where n ≤ k + 1.
    pub aicc: f64,
    /// −2 ln L + k ln n.
    pub bic: f64,
}

/// The criteria of a log likelihood of `n` rows with `k` parameters.
pub fn criteria(log_l: f64, k: f64, n: f64) -> Criteria {
    let aic = -2.0 * log_l + 2.0 * k;
    Criteria {
        aic,
        aicc: aic + correction(k, n),
        bic: -2.0 * log_l + k * n.ln(),
    }
}

/// What AICc adds to AIC.
pub(super) fn correction(k: f64, n: f64) -> f64 {
    let room = n - k - 1.0;
    match room > 0.0 {
        true => 2.0 * k * (k + 1.0) / room,
        false => f64::INFINITY,
    }
}

/// The log likelihood of normal errors, and its parameters: p, and σ where that is not known. `log_weights` is
/// −Σ ln σ_i.
pub fn of_normal_errors(
    chi2: f64,
    n: f64,
    p: f64,
    log_weights: f64,
    absolute_sigma: bool,
) -> (f64, f64) {
    match absolute_sigma {
        true => (-0.5 * (chi2 + n * (2.0 * PI).ln()) + log_weights, p),
        false => {
            let log_l = -0.5 * n * ((2.0 * PI * chi2 / n).ln() + 1.0) + log_weights;
            (log_l, p + 1.0)
        }
    }
}

/// −2 Σ log N(y_i; f₍ᵢ₎, s₍ᵢ₎σ_i), of the fit without row i: there a row that leaves moves its own residual r to
/// r/(1 − h), h its leverage. `residuals` and `slopes`, a row of p for each, are weighted by `weight`, 1/σ_i.
pub fn leave_one_out(
    residuals: &[f64],
    slopes: &[f64],
    weight: impl Fn(usize) -> f64,
    chi2: f64,
    absolute_sigma: bool,
) -> f64 {
    let n = residuals.len();
    let p = slopes.len() / n.max(1);
    if p == 0 || n <= p + 1 {
        return f64::NAN;
    }
    let mut triangle = Triangle::new(p, TILE_ROWS);
    for tile in slopes.chunks(p * TILE_ROWS) {
        let column = |k: usize| tile.iter().skip(k).step_by(p).copied().collect();
        let columns: Vec<Vec<f64>> = (0..p).map(column).collect();
        triangle.add(&columns);
    }
    let inverse = triangle_inverse(&triangle, p);
    let mut sum = 0.0;
    for (i, (row, r)) in slopes.chunks(p).zip(residuals).enumerate() {
        let by = |a: usize| (0..p).map(|b| inverse[a * p + b] * row[b]).sum::<f64>();
        let leverage: f64 = (0..p).map(|a| row[a] * by(a)).sum();
        let own = 1.0 - leverage;
        let variance = match absolute_sigma {
            true => 1.0,
            false => (chi2 - r * r / own) / (n - p - 1) as f64,
        };
        let log = (2.0 * PI * variance).ln() - 2.0 * weight(i).ln();
        sum += log + (r / own).powi(2) / variance;
    }
    sum
}
