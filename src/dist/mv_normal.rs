//! Normal vectors: MvNormal, ZeroSumNormal, GaussianRandomWalk, AR.

use super::formula::HALF_LN_TWO_PI;
use super::sampling::Rng;
use super::vector_transform::sum;
use super::{Normal, Real, Univariate};

/// The lower Cholesky factor of a k·k matrix stored row by row; NaN where it is not positive
/// definite. Only the lower triangle is read.
pub fn cholesky<R: Real>(matrix: &[R], k: usize) -> Vec<R> {
    let mut l = vec![R::lit(0.0); k * k];
    for i in 0..k {
        for j in 0..=i {
            let inner: Vec<R> = (0..j).map(|c| l[i * k + c] * l[j * k + c]).collect();
            let rest = matrix[i * k + j] - sum(&inner);
            l[i * k + j] = if i == j {
                rest.sqrt()
            } else {
                rest / l[j * k + j]
            };
        }
    }
    l
}

/// The z with L z = y − mu, of a lower triangular L row by row.
pub(super) fn whitened<R: Real>(y: &[R], mu: &[R], chol: &[R]) -> Vec<R> {
    let k = y.len();
    let mut z: Vec<R> = Vec::with_capacity(k);
    for i in 0..k {
        let inner: Vec<R> = (0..i).map(|j| chol[i * k + j] * z[j]).collect();
        z.push((y[i] - mu[i] - sum(&inner)) / chol[i * k + i]);
    }
    z
}

/// MvNormal(mu, chol) by the lower Cholesky factor L of the covariance, row by row.
///
/// ln p(y) = −½ |z|² − Σ ln L\[i]\[i] − (k/2) ln 2π, with L z = y − mu.
/// Source: Kotz, Balakrishnan and Johnson, *Continuous Multivariate Distributions* 1, chapter 45.
pub fn mv_normal_cholesky<R: Real>(y: &[R], mu: &[R], chol: &[R]) -> R {
    let k = y.len();
    let squares: Vec<R> = whitened(y, mu, chol).iter().map(|&z| z * z).collect();
    let logs: Vec<R> = (0..k).map(|i| chol[i * k + i].ln()).collect();
    R::lit(-0.5) * sum(&squares) - (sum(&logs) + R::lit(k as f64 * HALF_LN_TWO_PI))
}

/// MvNormal(mu, cov) by the covariance, row by row; NaN where it is not positive definite.
pub fn mv_normal<R: Real>(y: &[R], mu: &[R], cov: &[R]) -> R {
    mv_normal_cholesky(y, mu, &cholesky(cov, y.len()))
}

/// A draw of [`mv_normal_cholesky`].
pub fn draw_mv_normal_cholesky(rng: &mut Rng, mu: &[f64], chol: &[f64]) -> Vec<f64> {
    let k = mu.len();
    let z: Vec<f64> = (0..k).map(|_| rng.normal()).collect();
    let moved = |i: usize| (0..=i).map(|j| chol[i * k + j] * z[j]).sum::<f64>();
    (0..k).map(|i| mu[i] + moved(i)).collect()
}

/// ZeroSumNormal(sigma): K independent normals of standard deviation sigma, given that they sum
/// to 0.
///
/// ln p(y) = −½ |y|²/sigma² − (K − 1)(ln sigma + ½ ln 2π), over the plane Σy = 0. Each element has
/// variance sigma² (1 − 1/K).
pub fn zero_sum_normal<R: Real>(y: &[R], sigma: R) -> R {
    let squares: Vec<R> = y.iter().map(|&y| y / sigma * (y / sigma)).collect();
    let n_free = R::lit(y.len() as f64 - 1.0);
    R::lit(-0.5) * sum(&squares) - n_free * (sigma.ln() + R::lit(HALF_LN_TWO_PI))
}

/// A draw of [`zero_sum_normal`]: independent normals less their mean.
pub fn draw_zero_sum_normal(rng: &mut Rng, k: usize, sigma: f64) -> Vec<f64> {
    let z: Vec<f64> = (0..k).map(|_| sigma * rng.normal()).collect();
    let mean = z.iter().sum::<f64>() / k as f64;
    z.iter().map(|v| v - mean).collect()
}

/// The steps of GaussianRandomWalk(mu, sigma): Σ ln Normal(y\[t] − y\[t − 1] | mu, sigma). The log
/// density of the first element comes on top.
pub fn random_walk_steps<R: Real>(y: &[R], mu: R, sigma: R) -> R {
    let steps = y
        .windows(2)
        .map(|w| Normal::log_density(w[1] - w[0], [mu, sigma]));
    sum(&steps.collect::<Vec<R>>())
}

/// The steps of AR(rho, sigma): Σ ln Normal(y\[t] | constant + Σ rho\[i]·y\[t − 1 − i], sigma) from
/// t = the length of rho. The log densities of the elements before come on top.
pub fn autoregressive_steps<R: Real>(y: &[R], constant: R, rho: &[R], sigma: R) -> R {
    let step = |t: usize| {
        let terms: Vec<R> = (0..rho.len()).map(|i| rho[i] * y[t - 1 - i]).collect();
        Normal::log_density(y[t], [constant + sum(&terms), sigma])
    };
    sum(&(rho.len()..y.len()).map(step).collect::<Vec<R>>())
}

/// Continues `start` to `n` elements by the steps of AR(rho, sigma); a random walk is rho = `[1.0]`
/// with its drift as the constant.
pub fn draw_autoregressive(
    rng: &mut Rng,
    start: &[f64],
    n: usize,
    constant: f64,
    rho: &[f64],
    sigma: f64,
) -> Vec<f64> {
    let mut y = start.to_vec();
    while y.len() < n {
        let past = rho.iter().zip(y.iter().rev());
        let mean = constant + past.map(|(r, v)| r * v).sum::<f64>();
        y.push(Normal::sample(rng, [mean, sigma]));
    }
    y
}
