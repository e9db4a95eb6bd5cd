//! The metric: a linear map S with M⁻¹ = S Sᵀ, between the user's and the sampler's momenta.
//!
//! Momenta are kept whitened, π = Sᵀ p, so they are plain standard normal numbers, the kinetic
//! energy is ½ πᵀπ and turning is checked with plain dot products. Only a leapfrog's drift,
//! q ← q + ε S π, and its force, f = Sᵀ ∇ℓ, know the metric. With p = S⁻ᵀ π the covariance of p
//! is M and every trajectory is that of H = −ℓ + ½ pᵀM⁻¹p.

use super::dense::Lower;
use super::vector::{self, Block, Vector};

/// Which family of metrics was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Dense where it is affordable and predicted to pay, else diagonal.
    Auto,
    /// One scale per coordinate.
    Diagonal,
    /// A full matrix.
    Dense,
}

impl MetricKind {
    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            MetricKind::Auto => "auto",
            MetricKind::Diagonal => "diagonal",
            MetricKind::Dense => "dense",
        }
    }
}

/// The factor S of an inverse mass matrix.
#[derive(Clone, Debug)]
pub(crate) enum Metric {
    /// S = diag(s).
    Diagonal(Vector),
    /// S = L, lower triangular, the Cholesky factor of M⁻¹.
    Dense(Lower),
}

impl Metric {
    /// M⁻¹ = diag(`variances`).
    pub(crate) fn diagonal(variances: &[f64]) -> Self {
        let mut scale = vector::zeros(variances.len());
        for (s, v) in scale.as_flattened_mut().iter_mut().zip(variances) {
            *s = v.sqrt();
        }
        Metric::Diagonal(scale)
    }

    /// Its family.
    pub(crate) fn kind(&self) -> MetricKind {
        match self {
            Metric::Diagonal(_) => MetricKind::Diagonal,
            Metric::Dense(_) => MetricKind::Dense,
        }
    }

    /// `force` ← Sᵀ `gradient`.
    pub(crate) fn pull(&self, gradient: &[Block], force: &mut [Block]) {
        match self {
            Metric::Diagonal(scale) => vector::multiply(scale, gradient, force),
            Metric::Dense(factor) => factor.transpose_times(gradient, force),
        }
    }

    /// Half a kick, then the drift q ← q + 2·half·S π; `path` gains the momentum before.
    #[inline]
    pub(crate) fn kick_drift(
        &self,
        half: f64,
        force: &[Block],
        momentum: &mut [Block],
        path: &mut [Block],
        position: &mut [Block],
    ) {
        match self {
            Metric::Diagonal(scale) => {
                vector::kick_drift(half, scale, force, momentum, path, position);
            }
            Metric::Dense(factor) => {
                vector::kick(half, force, momentum, path);
                factor.add_times(2.0 * half, momentum, position);
            }
        }
    }

    /// The other half kick with the new gradient; `path` gains the momentum after. Returns πᵀπ.
    #[inline]
    pub(crate) fn finish_kick(
        &self,
        half: f64,
        gradient: &[Block],
        force: &mut [Block],
        momentum: &mut [Block],
        path: &mut [Block],
    ) -> f64 {
        match self {
            Metric::Diagonal(scale) => {
                vector::pull_finish_kick(half, scale, gradient, force, momentum, path)
            }
            Metric::Dense(factor) => {
                factor.transpose_times(gradient, force);
                vector::finish_kick(half, force, momentum, path)
            }
        }
    }

    /// `out` ← S `x`: a whitened direction in the user's coordinates.
    pub(crate) fn spread(&self, x: &[Block], out: &mut [Block]) {
        match self {
            Metric::Diagonal(scale) => vector::multiply(scale, x, out),
            Metric::Dense(factor) => {
                out.as_flattened_mut().fill(0.0);
                factor.add_times(1.0, x, out);
            }
        }
    }

    /// Its family as a number, and its numbers.
    pub(crate) fn numbers(&self, dim: usize) -> (u64, Vec<f64>) {
        match self {
            Metric::Diagonal(scale) => (0, scale.as_flattened()[..dim].to_vec()),
            Metric::Dense(factor) => (1, factor.numbers()),
        }
    }

    /// The metric that [`Metric::numbers`] were of; `None` when there are too few or too many.
    pub(crate) fn from_numbers(kind: u64, dim: usize, numbers: &[f64]) -> Option<Self> {
        match kind {
            0 if numbers.len() == dim => {
                let mut scale = vector::zeros(dim);
                vector::load(&mut scale, numbers);
                Some(Metric::Diagonal(scale))
            }
            1 => Some(Metric::Dense(Lower::from_numbers(dim, numbers)?)),
            _ => None,
        }
    }

    /// The diagonal of M⁻¹.
    pub(crate) fn variances(&self, dim: usize) -> Vec<f64> {
        match self {
            Metric::Diagonal(scale) => scale.as_flattened()[..dim].iter().map(|s| s * s).collect(),
            Metric::Dense(factor) => (0..dim)
                .map(|i| vector::dot(factor.row(i), factor.row(i)))
                .collect(),
        }
    }
}
