//! The metric: a linear map S with M⁻¹ = S Sᵀ, between the user's and the sampler's momenta.
//!
//! Momenta are kept whitened, π = Sᵀ p, so they are plain standard normal numbers, the kinetic
//! energy is ½ πᵀπ and turning is checked with plain dot products. Only a leapfrog's drift,
//! q ← q + ε S π, and its force, f = Sᵀ ∇ℓ, know the metric. With p = S⁻ᵀ π the covariance of p
//! is M and every trajectory is that of H = −ℓ + ½ pᵀM⁻¹p.

use super::dense::Lower;
use super::vector::{self, Block, Vector};

/// Directions of a low-rank metric, at most.
pub(crate) const LOW_RANK_MOST: usize = 16;

/// Which family of metrics was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// The one of the others that is predicted to take the least time per independent draw.
    Auto,
    /// One scale per coordinate.
    Diagonal,
    /// One scale per coordinate, and a variance along each of at most 16 directions.
    LowRank,
    /// A full matrix.
    Dense,
}

impl MetricKind {
    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            MetricKind::Auto => "auto",
            MetricKind::Diagonal => "diagonal",
            MetricKind::LowRank => "low-rank",
            MetricKind::Dense => "dense",
        }
    }
}

/// The factor S of an inverse mass matrix.
#[derive(Clone, Debug)]
pub(crate) enum Metric {
    /// S = diag(s).
    Diagonal(Vector),
    /// S = diag(s)(I + U(Λ^½ − I)Uᵀ).
    LowRank(LowRank),
    /// S = L, lower triangular, the Cholesky factor of M⁻¹.
    Dense(Lower),
}

/// S = diag(s)(I + U(Λ^½ − I)Uᵀ), the directions U of length one and at right angles.
#[derive(Clone, Debug)]
pub(crate) struct LowRank {
    scale: Vector,
    /// √λ − 1 for each direction.
    weights: Vec<f64>,
    /// The directions, one after the other.
    plain: Vector,
    /// diag(s) times each direction.
    scaled: Vector,
}

impl LowRank {
    fn new(scale: Vector, weights: Vec<f64>, plain: Vector) -> Self {
        let mut scaled = plain.clone();
        for row in scaled.chunks_exact_mut(scale.len()) {
            for (x, s) in row.as_flattened_mut().iter_mut().zip(scale.as_flattened()) {
                *x *= s;
            }
        }
        LowRank {
            scale,
            weights,
            plain,
            scaled,
        }
    }

    /// y ← y + a diag(s) U(Λ^½ − I)Uᵀ x.
    fn add_spread(&self, a: f64, x: &[Block], y: &mut [Block]) {
        vector::add_low_rank(a, &self.weights, &self.plain, &self.scaled, x, y);
    }

    /// `force` ← Sᵀ `gradient`.
    fn pull(&self, gradient: &[Block], force: &mut [Block]) {
        vector::multiply(&self.scale, gradient, force);
        let (right, left) = (&self.scaled, &self.plain);
        vector::add_low_rank(1.0, &self.weights, right, left, gradient, force);
    }
}

impl Metric {
    /// M⁻¹ = diag(s)(I + U(Λ − I)Uᵀ)diag(s) for directions of length one at right angles.
    pub(crate) fn low_rank(scale: &[f64], variances: &[f64], directions: &[Vector]) -> Self {
        let dim = scale.len();
        let mut own = vector::zeros(dim);
        vector::load(&mut own, scale);
        let mut rows = vector::zero_rows(directions.len(), dim);
        for (row, direction) in rows.chunks_exact_mut(own.len()).zip(directions) {
            row.copy_from_slice(direction);
        }
        let weights = variances.iter().map(|v| v.sqrt() - 1.0).collect();
        Metric::LowRank(LowRank::new(own, weights, rows))
    }

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
            Metric::LowRank(_) => MetricKind::LowRank,
            Metric::Dense(_) => MetricKind::Dense,
        }
    }

    /// `force` ← Sᵀ `gradient`.
    pub(crate) fn pull(&self, gradient: &[Block], force: &mut [Block]) {
        match self {
            Metric::Diagonal(scale) => vector::multiply(scale, gradient, force),
            Metric::LowRank(s) => s.pull(gradient, force),
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
            Metric::LowRank(s) => {
                vector::kick_drift(half, &s.scale, force, momentum, path, position);
                s.add_spread(2.0 * half, momentum, position);
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
            Metric::LowRank(s) => {
                s.pull(gradient, force);
                vector::finish_kick(half, force, momentum, path)
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
            Metric::LowRank(s) => {
                vector::multiply(&s.scale, x, out);
                s.add_spread(1.0, x, out);
            }
            Metric::Dense(factor) => {
                out.as_flattened_mut().fill(0.0);
                factor.add_times(1.0, x, out);
            }
        }
    }

    /// Kind, number of directions and numbers, as `kernel/transition.c` reads them.
    pub(crate) fn words(&self, dim: usize) -> Vec<f64> {
        match self {
            Metric::Diagonal(scale) => [&[0.0, 0.0], &scale.as_flattened()[..dim]].concat(),
            Metric::Dense(factor) => {
                let rows = (0..dim).flat_map(|i| factor.row(i).as_flattened().iter().copied());
                [1.0, 0.0].into_iter().chain(rows).collect()
            }
            Metric::LowRank(s) => {
                let mut all = vec![2.0, s.weights.len() as f64];
                all.extend_from_slice(&s.scale.as_flattened()[..dim]);
                all.extend_from_slice(&s.weights);
                for rows in [&s.plain, &s.scaled] {
                    for row in rows.chunks_exact(s.scale.len()) {
                        all.extend_from_slice(&row.as_flattened()[..dim]);
                    }
                }
                all
            }
        }
    }

    /// Its family as a number, and its numbers.
    pub(crate) fn numbers(&self, dim: usize) -> (u64, Vec<f64>) {
        match self {
            Metric::Diagonal(scale) => (0, scale.as_flattened()[..dim].to_vec()),
            Metric::Dense(factor) => (1, factor.numbers()),
            Metric::LowRank(s) => {
                let mut all = s.scale.as_flattened()[..dim].to_vec();
                all.extend(&s.weights);
                for row in s.plain.chunks_exact(s.scale.len()) {
                    all.extend(&row.as_flattened()[..dim]);
                }
                (2, all)
            }
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
            2 if numbers.len() >= dim
                && (numbers.len() - dim).is_multiple_of(dim + 1)
                && (numbers.len() - dim) / (dim + 1) <= LOW_RANK_MOST =>
            {
                let (scale, rest) = numbers.split_at(dim);
                let (weights, directions) = rest.split_at(rest.len() / (dim + 1));
                let mut own = vector::zeros(dim);
                vector::load(&mut own, scale);
                let mut rows = vector::zero_rows(weights.len(), dim);
                let to = rows.chunks_exact_mut(own.len());
                to.zip(directions.chunks_exact(dim))
                    .for_each(|(row, direction)| vector::load(row, direction));
                Some(Metric::LowRank(LowRank::new(own, weights.to_vec(), rows)))
            }
            _ => None,
        }
    }

    /// The diagonal of M⁻¹.
    pub(crate) fn variances(&self, dim: usize) -> Vec<f64> {
        match self {
            Metric::Diagonal(scale) => scale.as_flattened()[..dim].iter().map(|s| s * s).collect(),
            Metric::LowRank(s) => {
                // λ − 1 = (w + 1)² − 1.
                let stretch = s.weights.iter().map(|w| w * (w + 2.0));
                let rows = s.plain.chunks_exact(s.scale.len());
                let mut shares = vec![1.0; dim];
                for (more, row) in stretch.zip(rows) {
                    for (share, u) in shares.iter_mut().zip(row.as_flattened()) {
                        *share += more * u * u;
                    }
                }
                let scales = s.scale.as_flattened().iter();
                scales.zip(shares).map(|(s, share)| s * s * share).collect()
            }
            Metric::Dense(factor) => (0..dim)
                .map(|i| vector::dot(factor.row(i), factor.row(i)))
                .collect(),
        }
    }
}
