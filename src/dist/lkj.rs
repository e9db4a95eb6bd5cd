//! Correlation matrices: LKJCorr and LKJCholeskyCov.

use super::Real;
use super::formula::positive;
use super::mv_normal::cholesky;
use super::sampling::{Rng, beta_draw};
use super::vector_transform::sum;
use std::f64::consts::PI;

/// ln ∫ det(C)^(eta − 1) over correlation matrices of size k.
///
/// Source: Lewandowski, Kurowicka and Joe, Journal of Multivariate Analysis 100 (2009), equation
/// (16), in the form Σ over m = 1 … k − 1 of (m/2) ln π + ln Γ(eta + (k−1−m)/2) − ln Γ(eta + (k−1)/2).
pub fn ln_lkj_norm<R: Real>(eta: R, k: usize) -> R {
    let eta = positive(eta);
    let k = k as f64;
    let top = (eta + R::lit(0.5 * (k - 1.0))).lgamma();
    let term = |m: usize| {
        let m = m as f64;
        (eta + R::lit(0.5 * (k - 1.0 - m))).lgamma() - top + R::lit(0.5 * m * PI.ln())
    };
    sum(&(1..k as usize).map(term).collect::<Vec<R>>())
}

/// LKJ(eta) of the Cholesky factor L of a correlation matrix, over its elements below the diagonal.
///
/// ln p(L) = Σ over rows i ≥ 1 of (k − i + 2 eta − 3) ln L\[i]\[i] − ln norm. Requires eta > 0; 1 is
/// uniform over correlation matrices.
/// Source: Stan Functions Reference, "Cholesky LKJ correlation distribution".
pub fn lkj_cholesky<R: Real>(factor: &[R], k: usize, eta: R) -> R {
    let term = |i: usize| {
        let exponent = R::lit(k as f64 - i as f64 - 3.0) + R::lit(2.0) * eta;
        exponent * factor[i * k + i].ln()
    };
    sum(&(1..k).map(term).collect::<Vec<R>>()) - ln_lkj_norm(eta, k)
}

/// LKJCorr(eta) of a correlation matrix, row by row, over its elements below the diagonal.
///
/// ln p(C) = (eta − 1) ln det C − ln norm; NaN where it is not positive definite.
pub fn lkj_correlation<R: Real>(matrix: &[R], k: usize, eta: R) -> R {
    let factor = cholesky(matrix, k);
    let logs: Vec<R> = (0..k).map(|i| factor[i * k + i].ln()).collect();
    R::lit(2.0) * (eta - R::lit(1.0)) * sum(&logs) - ln_lkj_norm(eta, k)
}

/// LKJCholeskyCov(eta, sd_dist) of the Cholesky factor L of a covariance matrix, over its lower
/// triangle; `log_density_of_sd` gives ln p of one standard deviation.
///
/// Row i of L is sdᵢ times a row of unit length, so that
/// ln p(L) = Σ ln p(sdᵢ) + ln p_LKJ(L/sd) + Σ (ln(Lᵢᵢ/sdᵢ) − i ln sdᵢ).
pub fn lkj_cholesky_covariance<R: Real>(
    factor: &[R],
    k: usize,
    eta: R,
    log_density_of_sd: impl Fn(R) -> R,
) -> R {
    let mut unit = factor.to_vec();
    let mut terms = Vec::with_capacity(k);
    for i in 0..k {
        let squares: Vec<R> = (0..=i)
            .map(|j| factor[i * k + j] * factor[i * k + j])
            .collect();
        let sd = sum(&squares).sqrt();
        (0..=i).for_each(|j| unit[i * k + j] = factor[i * k + j] / sd);
        let volume = unit[i * k + i].ln() - R::lit(i as f64) * sd.ln();
        terms.push(log_density_of_sd(sd) + volume);
    }
    sum(&terms) + lkj_cholesky(&unit, k, eta)
}

/// A draw of [`lkj_cholesky`], row by row: row i has a squared length outside the diagonal of
/// Beta(i/2, eta + (k − 1 − i)/2), in a uniform direction.
///
/// Reference: Lewandowski, Kurowicka and Joe (2009), section 3.2, "onion method".
pub fn draw_lkj_cholesky(rng: &mut Rng, k: usize, eta: f64) -> Vec<f64> {
    let mut factor = vec![0.0; k * k];
    for i in 0..k {
        let (length2, rest2) = match i {
            0 => (0.0, 1.0),
            _ => beta_draw(rng, 0.5 * i as f64, eta + 0.5 * (k - 1 - i) as f64),
        };
        let direction: Vec<f64> = (0..i).map(|_| rng.normal()).collect();
        let norm = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
        for (j, v) in direction.iter().enumerate() {
            factor[i * k + j] = v / norm * length2.sqrt();
        }
        factor[i * k + i] = rest2.sqrt();
    }
    factor
}
