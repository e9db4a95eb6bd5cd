//! Maps between vectors or matrices with constraints and unconstrained coordinates.

use super::Real;
use crate::{Error, ErrorKind, Result};

/// The map of a vector, or of a lower-triangular matrix stored row by row (k·k numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorTransform {
    /// Positive, with sum 1: the softmax of (u, −Σu), K − 1 coordinates for K shares.
    ///
    /// All shares are treated alike up to that sum, and none underflows before eᵘ does, unlike
    /// in stick-breaking. The same map as PyMC's `SimplexTransform`.
    Simplex,
    /// Increasing: x₀ = u₀, xᵢ = xᵢ₋₁ + e^uᵢ.
    Ordered,
    /// With sum 0: an orthonormal basis of that plane, K − 1 coordinates for K numbers. With
    /// s = Σu, xᵢ = uᵢ − s/(√K + K), and the last is −s/√K, so that |x| = |u|. The same map as
    /// PyMC's `ZeroSumTransform`.
    ZeroSum,
    /// The Cholesky factor of a correlation matrix, k(k − 1)/2 coordinates: partial correlations
    /// tanh u, row by row below the diagonal.
    ///
    /// Reference: Lewandowski, Kurowicka and Joe, Journal of Multivariate Analysis 100 (2009),
    /// 1989–2001; Stan Reference Manual, "Cholesky factors of correlation matrices".
    CorrelationCholesky,
    /// The Cholesky factor of a covariance matrix, k(k + 1)/2 coordinates row by row: those below
    /// the diagonal as they are, the logarithm of those on it.
    CovarianceCholesky,
}

impl VectorTransform {
    /// The number of coordinates of a vector of `k` numbers, or of a k·k matrix.
    pub fn n_coordinates(self, k: usize) -> usize {
        match self {
            VectorTransform::Simplex | VectorTransform::ZeroSum => k.saturating_sub(1),
            VectorTransform::Ordered => k,
            VectorTransform::CorrelationCholesky => k * k.saturating_sub(1) / 2,
            VectorTransform::CovarianceCholesky => k * (k + 1) / 2,
        }
    }

    /// x of u, for `k` numbers or a k·k matrix.
    ///
    /// # Panics
    /// If `u` has not the length of [`VectorTransform::n_coordinates`].
    #[track_caller]
    pub fn constrain<R: Real>(self, u: &[R], k: usize) -> Vec<R> {
        assert_eq!(
            u.len(),
            self.n_coordinates(k),
            "coordinates of {self:?} for {k}"
        );
        match self {
            VectorTransform::Simplex => {
                let logits = with_minus_sum(u);
                let total = log_sum_exp(&logits);
                logits.iter().map(|&v| (v - total).exp()).collect()
            }
            VectorTransform::Ordered => {
                let mut x = u.to_vec();
                for i in 1..k {
                    x[i] = x[i - 1] + u[i].exp();
                }
                x
            }
            VectorTransform::ZeroSum => {
                let n = k as f64;
                let s = sum(u);
                let shift = s * R::lit(1.0 / (n.sqrt() + n));
                let mut x: Vec<R> = u.iter().map(|&v| v - shift).collect();
                x.push(s * R::lit(-1.0 / n.sqrt()));
                x
            }
            VectorTransform::CorrelationCholesky => correlation_cholesky(u, k).0,
            VectorTransform::CovarianceCholesky => {
                let mut x = vec![R::lit(0.0); k * k];
                for ((i, j), &v) in lower_places(k, true).zip(u) {
                    x[i * k + j] = if i == j { v.exp() } else { v };
                }
                x
            }
        }
    }

    /// u of x, for `k` numbers or a k·k matrix.
    ///
    /// # Errors
    /// When `x` is not in the support (to 1e-8).
    pub fn unconstrain(self, x: &[f64], k: usize) -> Result<Vec<f64>> {
        self.check(x, k)?;
        Ok(match self {
            VectorTransform::Simplex => {
                let logs: Vec<f64> = x.iter().map(|&v| libm::log(v)).collect();
                let mean = logs.iter().sum::<f64>() / k as f64;
                logs[..k - 1].iter().map(|v| v - mean).collect()
            }
            VectorTransform::Ordered => {
                let step = |i: usize| {
                    if i == 0 {
                        x[0]
                    } else {
                        libm::log(x[i] - x[i - 1])
                    }
                };
                (0..k).map(step).collect()
            }
            VectorTransform::ZeroSum => {
                let n = k as f64;
                let shift = -x[k - 1] * n.sqrt() / (n.sqrt() + n);
                x[..k - 1].iter().map(|v| v + shift).collect()
            }
            VectorTransform::CorrelationCholesky => lower_places(k, false)
                .map(|(i, j)| {
                    // What the earlier columns leave of the row's unit length.
                    let rest: f64 = x[i * k + j..=i * k + i].iter().map(|v| v * v).sum();
                    libm::atanh(x[i * k + j] / rest.sqrt())
                })
                .collect(),
            VectorTransform::CovarianceCholesky => lower_places(k, true)
                .map(|(i, j)| {
                    if i == j {
                        libm::log(x[i * k + j])
                    } else {
                        x[i * k + j]
                    }
                })
                .collect(),
        })
    }

    /// ln |dx/du| at u, over the free elements of x: all but the last of a simplex; those below
    /// the diagonal of a correlation factor; length in the plane for zero sums.
    #[track_caller]
    pub fn log_jacobian<R: Real>(self, u: &[R], k: usize) -> R {
        assert_eq!(
            u.len(),
            self.n_coordinates(k),
            "coordinates of {self:?} for {k}"
        );
        match self {
            VectorTransform::Simplex => {
                // |dx/du| = K Πx, the factor K from the last logit −Σu.
                let total = log_sum_exp(&with_minus_sum(u));
                R::lit((k as f64).ln()) - R::lit(k as f64) * total
            }
            VectorTransform::Ordered => sum(u.get(1..).unwrap_or(&[])),
            VectorTransform::ZeroSum => R::lit(0.0),
            VectorTransform::CorrelationCholesky => correlation_cholesky(u, k).1,
            // dx/du = eᵘ on the diagonal, 1 below.
            VectorTransform::CovarianceCholesky => {
                let diagonal = lower_places(k, true).zip(u).filter(|((i, j), _)| i == j);
                sum(&diagonal.map(|(_, &v)| v).collect::<Vec<R>>())
            }
        }
    }

    fn check(self, x: &[f64], k: usize) -> Result<()> {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-8;
        let total: f64 = x.iter().sum();
        let matrix = matches!(
            self,
            VectorTransform::CorrelationCholesky | VectorTransform::CovarianceCholesky
        );
        let n = if matrix { k * k } else { k };
        let (ok, need) = match self {
            _ if x.len() != n || k == 0 => (false, "as many numbers as its dims say"),
            VectorTransform::Simplex => (
                near(total, 1.0) && x.iter().all(|v| *v > 0.0),
                "positive numbers with sum 1",
            ),
            VectorTransform::Ordered => (x.windows(2).all(|w| w[0] < w[1]), "increasing numbers"),
            VectorTransform::ZeroSum => (
                total.abs() <= 1e-8 * x.iter().fold(1.0, |m, v| v.abs().max(m)),
                "numbers with sum 0",
            ),
            VectorTransform::CorrelationCholesky => {
                let unit = |i: usize| near(x[i * k..=i * k + i].iter().map(|v| v * v).sum(), 1.0);
                let rows = (0..k).all(|i| unit(i) && x[i * k + i] > 0.0);
                (
                    rows,
                    "a lower-triangular matrix of unit rows and positive diagonal",
                )
            }
            VectorTransform::CovarianceCholesky => (
                (0..k).all(|i| x[i * k + i] > 0.0),
                "a lower-triangular matrix of positive diagonal",
            ),
        };
        if ok {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Data,
            format!("got {x:?}, which is not {need}"),
        ))
    }
}

/// Places (row, column) of a lower triangle, row by row.
fn lower_places(k: usize, diagonal: bool) -> impl Iterator<Item = (usize, usize)> {
    (0..k).flat_map(move |i| (0..i + usize::from(diagonal)).map(move |j| (i, j)))
}

/// Σ x, 0 for none.
pub(super) fn sum<R: Real>(x: &[R]) -> R {
    x.iter()
        .copied()
        .reduce(|a, b| a + b)
        .unwrap_or_else(|| R::lit(0.0))
}

/// ln Σ eˣ.
pub(super) fn log_sum_exp<R: Real>(x: &[R]) -> R {
    x.iter()
        .copied()
        .reduce(R::log_add_exp)
        .unwrap_or_else(|| R::lit(f64::NEG_INFINITY))
}

/// (u, −Σu).
fn with_minus_sum<R: Real>(u: &[R]) -> Vec<R> {
    let mut all = u.to_vec();
    all.push(-sum(u));
    all
}

/// The factor with rows of unit length, and ln |dx/du| over its elements below the diagonal.
///
/// With z = tanh u, x\[i]\[j] = z·√rest, where rest is what the columns before leave of 1; it then
/// shrinks by 1 − z², whose logarithm is 2(u − softplus(2u) + ln 2).
fn correlation_cholesky<R: Real>(u: &[R], k: usize) -> (Vec<R>, R) {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let mut x = vec![zero; k * k];
    let mut log_jacobian = zero;
    let mut place = 0;
    for i in 0..k {
        let mut log_rest = zero; // ln of what is left of the squared length
        for j in 0..i {
            let v = u[place];
            place += 1;
            let root = (R::lit(0.5) * log_rest).exp();
            x[i * k + j] = v.tanh() * root;
            let two_v = R::lit(2.0) * v;
            let log_share = two_v - R::lit(2.0) * two_v.softplus() + R::lit(4f64.ln());
            log_jacobian = log_jacobian + R::lit(0.5) * log_rest + log_share;
            log_rest = log_rest + log_share;
        }
        x[i * k + i] = if i == 0 {
            one
        } else {
            (R::lit(0.5) * log_rest).exp()
        };
    }
    (x, log_jacobian)
}
