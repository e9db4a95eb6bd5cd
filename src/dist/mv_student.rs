//! Vectors with heavy tails: MvStudentT.

use super::Real;
use super::formula::{HALF_LN_TWO_PI, ln_gamma_half_step, require};
use super::mv_normal::{cholesky, draw_mv_normal_cholesky, whitened};
use super::sampling::{Rng, gamma_draw};
use super::vector_transform::sum;

/// ln Γ((nu + k)/2) − ln Γ(nu/2) − (k/2) ln(nu π), without cancellation for large nu.
pub(crate) fn ln_mv_student_norm<R: Real>(nu: R, k: usize) -> R {
    let half = R::lit(0.5) * nu;
    // Γ(x + 1) = x Γ(x), as often as it goes, and a half step where k is odd.
    let steps = (1..k / 2).map(|j| (R::lit(j as f64) / half).ln_1p());
    let mut sum = steps.fold(R::lit(-(k as f64) * HALF_LN_TWO_PI), |sum, next| sum + next);
    if k % 2 == 1 {
        let last = half + R::lit((k / 2) as f64);
        sum = sum + (ln_gamma_half_step(last) - R::lit(0.5) * half.ln());
    }
    require(R::lit(0.0).lt(nu), sum)
}

/// −(nu + k)/2 · ln(1 + square/nu)
pub(crate) fn mv_student_kernel<R: Real>(square: R, nu: R, k: usize) -> R {
    R::lit(-0.5) * (nu + R::lit(k as f64)) * (square / nu).ln_1p()
}

/// MvStudentT(nu, mu, chol) by the lower Cholesky factor L of the scale, row by row.
///
/// ln p(y) = ln Γ((nu + k)/2) − ln Γ(nu/2) − (k/2) ln(nu π) − Σ ln L\[i]\[i] −
/// (nu + k)/2 · ln(1 + |z|²/nu), with L z = y − mu. The covariance is scale · nu/(nu − 2).
///
/// Requires nu > 0.
/// Source: Kotz and Nadarajah, *Multivariate t Distributions and Their Applications*, section 1.1.
pub fn mv_student_cholesky<R: Real>(y: &[R], nu: R, mu: &[R], chol: &[R]) -> R {
    let k = y.len();
    let squares: Vec<R> = whitened(y, mu, chol).iter().map(|&z| z * z).collect();
    let logs: Vec<R> = (0..k).map(|i| chol[i * k + i].ln()).collect();
    ln_mv_student_norm(nu, k) - sum(&logs) + mv_student_kernel(sum(&squares), nu, k)
}

/// MvStudentT(nu, mu, scale) by the scale matrix, row by row; NaN where it is not positive definite.
pub fn mv_student<R: Real>(y: &[R], nu: R, mu: &[R], scale: &[R]) -> R {
    mv_student_cholesky(y, nu, mu, &cholesky(scale, y.len()))
}

/// A draw of [`mv_student_cholesky`].
pub fn draw_mv_student_cholesky(rng: &mut Rng, nu: f64, mu: &[f64], chol: &[f64]) -> Vec<f64> {
    let stretch = (0.5 * nu / gamma_draw(rng, 0.5 * nu)).sqrt();
    let still = vec![0.0; mu.len()];
    let moved = draw_mv_normal_cholesky(rng, &still, chol);
    let of = |(m, x): (&f64, &f64)| m + stretch * x;
    mu.iter().zip(&moved).map(of).collect()
}
