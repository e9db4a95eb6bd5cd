//! The metric: a linear map S with M⁻¹ = S Sᵀ, between the user's and the sampler's momenta.
//!
//! Momenta are kept whitened, π = Sᵀ p, so they are plain standard normal numbers, the kinetic
//! energy is ½ πᵀπ and turning is checked with plain dot products. Only a leapfrog's drift,
//! q ← q + ε S π, and its force, f = Sᵀ ∇ℓ, know the metric. With p = S⁻ᵀ π the covariance of p
//! is M and every trajectory is that of H = −ℓ + ½ pᵀM⁻¹p.

use super::dense::Lower;
use super::sparse::Blocks;
use super::vector::{self, Block, Vector};

/// Directions of a low-rank metric, at most.
pub(crate) const LOW_RANK_MOST: usize = 16;

/// Which family of metrics was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// The one of the next three that is predicted to take the least time per independent draw.
    Auto,
    /// One scale per coordinate.
    Diagonal,
    /// One scale per coordinate, and a variance along each of at most 16 directions.
    LowRank,
    /// A full matrix.
    Dense,
    /// A full matrix for the coordinates of each element of a plate, see [`super::Plates`].
    Blocks,
}

impl MetricKind {
    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            MetricKind::Auto => "auto",
            MetricKind::Diagonal => "diagonal",
            MetricKind::LowRank => "low-rank",
            MetricKind::Dense => "dense",
            MetricKind::Blocks => "blocks",
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
    /// S with a triangle for each block of coordinates, and perhaps a few directions.
    Blocks(InBlocks),
}

/// I + U(Λ^½ − I)Uᵀ, the directions U of length one and at right angles.
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    /// √λ − 1 for each direction.
    weights: Vec<f64>,
    /// The directions, one after the other.
    plain: Vector,
    /// S₀ times each direction, S₀ being what stands before.
    scaled: Vector,
}

impl Directions {
    /// `scale` is S₀ x into its second argument.
    fn new(
        weights: Vec<f64>,
        plain: Vector,
        blocks: usize,
        scale: impl Fn(&[Block], &mut [Block]),
    ) -> Self {
        let mut scaled = plain.clone();
        if blocks > 0 {
            let rows = plain.chunks_exact(blocks);
            rows.zip(scaled.chunks_exact_mut(blocks))
                .for_each(|(x, y)| scale(x, y));
        }
        Directions {
            weights,
            plain,
            scaled,
        }
    }

    /// y ← y + a S₀ U(Λ^½ − I)Uᵀ x.
    fn add_spread(&self, a: f64, x: &[Block], y: &mut [Block]) {
        vector::add_low_rank(a, &self.weights, &self.plain, &self.scaled, x, y);
    }

    /// y ← y + U(Λ^½ − I)Uᵀ S₀ᵀ `gradient`.
    fn add_pull(&self, gradient: &[Block], y: &mut [Block]) {
        vector::add_low_rank(1.0, &self.weights, &self.scaled, &self.plain, gradient, y);
    }

    /// The first `dim` numbers of each row.
    fn rows(rows: &Vector, dim: usize) -> impl Iterator<Item = f64> + '_ {
        let rows = rows.chunks_exact(dim.div_ceil(8).max(1));
        rows.flat_map(move |row| row.as_flattened()[..dim].iter().copied())
    }
}

/// S = S₀(I + U(Λ^½ − I)Uᵀ) with S₀ a diagonal.
#[derive(Clone, Debug)]
pub(crate) struct LowRank {
    scale: Vector,
    along: Directions,
}

impl LowRank {
    fn new(scale: Vector, weights: Vec<f64>, plain: Vector) -> Self {
        let along = Directions::new(weights, plain, scale.len(), |x, y| {
            vector::multiply(&scale, x, y);
        });
        LowRank { scale, along }
    }

    /// `force` ← Sᵀ `gradient`.
    fn pull(&self, gradient: &[Block], force: &mut [Block]) {
        vector::multiply(&self.scale, gradient, force);
        self.along.add_pull(gradient, force);
    }
}

/// S = S₀(I + U(Λ^½ − I)Uᵀ) with S₀ a triangle for each block of coordinates; perhaps without any
/// directions.
#[derive(Clone, Debug)]
pub(crate) struct InBlocks {
    factor: Blocks,
    along: Directions,
}

impl InBlocks {
    fn new(dim: usize, factor: Blocks, weights: Vec<f64>, plain: Vector) -> Self {
        let along = Directions::new(weights, plain, dim.div_ceil(8), |x, y| {
            y.fill([0.0; 8]);
            factor.add_times(1.0, x, y);
        });
        InBlocks { factor, along }
    }

    /// `force` ← Sᵀ `gradient`.
    fn pull(&self, gradient: &[Block], force: &mut [Block]) {
        self.factor.transpose_times(gradient, force);
        self.along.add_pull(gradient, force);
    }

    /// y ← y + a S x.
    fn add_times(&self, a: f64, x: &[Block], y: &mut [Block]) {
        self.factor.add_times(a, x, y);
        self.along.add_spread(a, x, y);
    }
}

/// √λ − 1 and the direction of each.
fn weights_and_rows(dim: usize, variances: &[f64], directions: &[Vector]) -> (Vec<f64>, Vector) {
    let weights = variances.iter().map(|v| v.sqrt() - 1.0).collect();
    let rows = directions.iter().map(|d| &d.as_flattened()[..dim]);
    (weights, padded(dim, directions.len(), rows))
}

/// Rows of numbers, in whole blocks.
fn padded<'a>(dim: usize, n: usize, from: impl Iterator<Item = &'a [f64]>) -> Vector {
    let mut rows = vector::zero_rows(n, dim);
    let to = rows.chunks_exact_mut(dim.div_ceil(8).max(1));
    to.zip(from)
        .for_each(|(row, numbers)| vector::load(row, numbers));
    rows
}

impl Metric {
    /// M⁻¹ = diag(s)(I + U(Λ − I)Uᵀ)diag(s) for directions of length one at right angles.
    pub(crate) fn low_rank(scale: &[f64], variances: &[f64], directions: &[Vector]) -> Self {
        let dim = scale.len();
        let mut own = vector::zeros(dim);
        vector::load(&mut own, scale);
        let (weights, rows) = weights_and_rows(dim, variances, directions);
        Metric::LowRank(LowRank::new(own, weights, rows))
    }

    /// M⁻¹ = S₀(I + U(Λ − I)Uᵀ)S₀ᵀ for directions of length one at right angles.
    pub(crate) fn in_blocks(
        dim: usize,
        factor: Blocks,
        variances: &[f64],
        directions: &[Vector],
    ) -> Self {
        let (weights, rows) = weights_and_rows(dim, variances, directions);
        Metric::Blocks(InBlocks::new(dim, factor, weights, rows))
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
            Metric::Blocks(_) => MetricKind::Blocks,
        }
    }

    /// `force` ← Sᵀ `gradient`.
    pub(crate) fn pull(&self, gradient: &[Block], force: &mut [Block]) {
        match self {
            Metric::Diagonal(scale) => vector::multiply(scale, gradient, force),
            Metric::LowRank(s) => s.pull(gradient, force),
            Metric::Dense(factor) => factor.transpose_times(gradient, force),
            Metric::Blocks(s) => s.pull(gradient, force),
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
                s.along.add_spread(2.0 * half, momentum, position);
            }
            Metric::Dense(factor) => {
                vector::kick(half, force, momentum, path);
                factor.add_times(2.0 * half, momentum, position);
            }
            Metric::Blocks(s) => {
                vector::kick(half, force, momentum, path);
                s.add_times(2.0 * half, momentum, position);
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
            Metric::Blocks(s) => {
                s.pull(gradient, force);
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
                s.along.add_spread(1.0, x, out);
            }
            Metric::Dense(factor) => {
                out.as_flattened_mut().fill(0.0);
                factor.add_times(1.0, x, out);
            }
            Metric::Blocks(s) => {
                out.as_flattened_mut().fill(0.0);
                s.add_times(1.0, x, out);
            }
        }
    }

    /// Kind, number of directions and numbers, as `kernel/transition.c` reads them.
    pub(crate) fn words(&self, dim: usize) -> Vec<f64> {
        let along = |all: &mut Vec<f64>, d: &Directions| {
            all.extend_from_slice(&d.weights);
            all.extend(Directions::rows(&d.plain, dim));
            all.extend(Directions::rows(&d.scaled, dim));
        };
        match self {
            Metric::Diagonal(scale) => [&[0.0, 0.0], &scale.as_flattened()[..dim]].concat(),
            Metric::Dense(factor) => {
                let rows = (0..dim).flat_map(|i| factor.row(i).as_flattened().iter().copied());
                [1.0, 0.0].into_iter().chain(rows).collect()
            }
            Metric::LowRank(s) => {
                let mut all = vec![2.0, s.along.weights.len() as f64];
                all.extend_from_slice(&s.scale.as_flattened()[..dim]);
                along(&mut all, &s.along);
                all
            }
            Metric::Blocks(s) => {
                let mut all = vec![3.0, s.along.weights.len() as f64];
                along(&mut all, &s.along);
                all.push(s.factor.len() as f64);
                all.extend(s.factor.words());
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
                all.extend(&s.along.weights);
                all.extend(Directions::rows(&s.along.plain, dim));
                (2, all)
            }
            Metric::Blocks(s) => {
                let mut all = vec![s.along.weights.len() as f64];
                all.extend(&s.along.weights);
                all.extend(Directions::rows(&s.along.plain, dim));
                all.extend(s.factor.numbers());
                (3, all)
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
                let rows = padded(dim, weights.len(), directions.chunks_exact(dim));
                Some(Metric::LowRank(LowRank::new(own, weights.to_vec(), rows)))
            }
            3 => {
                let (&n, rest) = numbers.split_first()?;
                let n = (0..=LOW_RANK_MOST).find(|&k| k as f64 == n)?;
                let (weights, rest) = rest.split_at_checked(n)?;
                let (directions, rest) = rest.split_at_checked(n * dim)?;
                let rows = padded(dim, n, directions.chunks_exact(dim));
                let factor = Blocks::from_numbers(dim, rest)?;
                Some(Metric::Blocks(InBlocks::new(
                    dim,
                    factor,
                    weights.to_vec(),
                    rows,
                )))
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
                let stretch = s.along.weights.iter().map(|w| w * (w + 2.0));
                let rows = s.along.plain.chunks_exact(s.scale.len());
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
            Metric::Blocks(s) => {
                let mut variances = s.factor.variances();
                let stretch = s.along.weights.iter().map(|w| w * (w + 2.0));
                let rows = s.along.scaled.chunks_exact(dim.div_ceil(8));
                for (more, row) in stretch.zip(rows) {
                    for (variance, x) in variances.iter_mut().zip(row.as_flattened()) {
                        *variance += more * x * x;
                    }
                }
                variances
            }
        }
    }
}
