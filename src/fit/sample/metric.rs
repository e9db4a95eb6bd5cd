//! The metric: a linear map S with M⁻¹ = S Sᵀ, between the user's and the sampler's momenta.
//!
//! Momenta are kept whitened, π = Sᵀ p, so they are plain standard normal numbers, the kinetic
//! energy is ½ πᵀπ and turning is checked with plain dot products. Only a leapfrog's drift,
//! q ← q + ε S π, and its force, f = Sᵀ ∇ℓ, know the metric. With p = S⁻ᵀ π the covariance of p
//! is M and every trajectory is that of H = −ℓ + ½ pᵀM⁻¹p. Rotations also know a centre, see
//! [`super::rotation`].

mod directions;

use super::dense::Lower;
use super::rotation::MOST_PARTS;
use super::sparse::Blocks;
use super::vector::{self, Block, Vector};
use crate::Named;
use directions::{Directions, InBlocks, LowRank, padded};

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

impl Named for MetricKind {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", MetricKind::Auto),
        ("diag", MetricKind::Diagonal),
        ("low-rank", MetricKind::LowRank),
        ("dense", MetricKind::Dense),
        ("blocks", MetricKind::Blocks),
    ];
}

impl MetricKind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            MetricKind::Diagonal => "diagonal",
            other => other.setting(),
        }
    }
}

/// The factor S of an inverse mass matrix and, where steps are rotations, what they turn about.
#[derive(Clone, Debug)]
pub(crate) struct Metric {
    factor: Factor,
    centre: Option<Centre>,
}

/// The centre m of rotations, see [`super::rotation`].
#[derive(Clone, Debug)]
struct Centre {
    position: Vector,
    /// How many rotations make a step.
    parts: usize,
    /// S⁻¹, where S is dense.
    inverse: Option<Lower>,
}

impl From<Factor> for Metric {
    fn from(factor: Factor) -> Self {
        Metric {
            factor,
            centre: None,
        }
    }
}

/// The factor S of an inverse mass matrix.
#[derive(Clone, Debug)]
pub(crate) enum Factor {
    /// S = diag(s).
    Diagonal(Vector),
    /// S = diag(s)(I + U(Λ^½ − I)Uᵀ).
    LowRank(LowRank),
    /// S = L, lower triangular, the Cholesky factor of M⁻¹.
    Dense(Lower),
    /// S with a triangle for each block of coordinates, and perhaps a few directions.
    Blocks(InBlocks),
}

/// √λ − 1 and the direction of each.
fn weights_and_rows(dim: usize, variances: &[f64], directions: &[Vector]) -> (Vec<f64>, Vector) {
    let weights = variances.iter().map(|v| v.sqrt() - 1.0).collect();
    let rows = directions.iter().map(|d| &d.as_flattened()[..dim]);
    (weights, padded(dim, directions.len(), rows))
}

impl Metric {
    /// M⁻¹ = diag(s)(I + U(Λ − I)Uᵀ)diag(s) for directions of length one at right angles.
    pub(crate) fn low_rank(scale: &[f64], variances: &[f64], directions: &[Vector]) -> Self {
        let dim = scale.len();
        let mut own = vector::zeros(dim);
        vector::load(&mut own, scale);
        let (weights, rows) = weights_and_rows(dim, variances, directions);
        Factor::LowRank(LowRank::new(own, weights, rows)).into()
    }

    /// M⁻¹ = S₀(I + U(Λ − I)Uᵀ)S₀ᵀ for directions of length one at right angles.
    pub(crate) fn in_blocks(
        dim: usize,
        factor: Blocks,
        variances: &[f64],
        directions: &[Vector],
    ) -> Self {
        let (weights, rows) = weights_and_rows(dim, variances, directions);
        Factor::Blocks(InBlocks::new(dim, factor, weights, rows)).into()
    }

    /// M⁻¹ = diag(`variances`).
    pub(crate) fn diagonal(variances: &[f64]) -> Self {
        let mut scale = vector::zeros(variances.len());
        for (s, v) in scale.as_flattened_mut().iter_mut().zip(variances) {
            *s = v.sqrt();
        }
        Factor::Diagonal(scale).into()
    }

    /// Its family.
    pub(crate) fn kind(&self) -> MetricKind {
        match &self.factor {
            Factor::Diagonal(_) => MetricKind::Diagonal,
            Factor::LowRank(_) => MetricKind::LowRank,
            Factor::Dense(_) => MetricKind::Dense,
            Factor::Blocks(_) => MetricKind::Blocks,
        }
    }

    /// `force` ← Sᵀ `gradient`.
    pub(crate) fn pull(&self, gradient: &[Block], force: &mut [Block]) {
        match &self.factor {
            Factor::Diagonal(scale) => vector::multiply(scale, gradient, force),
            Factor::LowRank(s) => s.pull(gradient, force),
            Factor::Dense(factor) => factor.transpose_times(gradient, force),
            Factor::Blocks(s) => s.pull(gradient, force),
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
        match &self.factor {
            Factor::Diagonal(scale) => {
                vector::kick_drift(half, scale, force, momentum, path, position);
            }
            Factor::LowRank(s) => {
                vector::kick_drift(half, &s.scale, force, momentum, path, position);
                s.along.add_spread(2.0 * half, momentum, position);
            }
            Factor::Dense(factor) => {
                vector::kick(half, force, momentum, path);
                factor.add_times(2.0 * half, momentum, position);
            }
            Factor::Blocks(s) => {
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
        match &self.factor {
            Factor::Diagonal(scale) => {
                vector::pull_finish_kick(half, scale, gradient, force, momentum, path)
            }
            Factor::LowRank(s) => {
                s.pull(gradient, force);
                vector::finish_kick(half, force, momentum, path)
            }
            Factor::Dense(factor) => {
                factor.transpose_times(gradient, force);
                vector::finish_kick(half, force, momentum, path)
            }
            Factor::Blocks(s) => {
                s.pull(gradient, force);
                vector::finish_kick(half, force, momentum, path)
            }
        }
    }

    /// This metric with rotations about the centre of a normal distribution with its covariance M⁻¹:
    /// where slopes of the mean `gradient` at places of the mean `position` say it is, q̄ + M⁻¹ ḡ.
    /// A step is one of them. `None` for blocks, of which S⁻¹ is not at hand.
    pub(crate) fn about(&self, position: &[f64], gradient: &[f64]) -> Option<Self> {
        let zeros = vector::zeros(position.len());
        let (mut slope, mut force, mut centre) = (zeros.clone(), zeros.clone(), zeros);
        vector::load(&mut slope, gradient);
        self.pull(&slope, &mut force);
        self.spread(&force, &mut centre);
        let numbers = centre.as_flattened_mut().iter_mut();
        numbers.zip(position).for_each(|(c, q)| *c += q);
        self.with_centre(centre, 1)
    }

    /// This metric with so many rotations to a step, if it has any.
    pub(crate) fn in_parts(mut self, parts: usize) -> Self {
        self.centre
            .iter_mut()
            .for_each(|centre| centre.parts = parts);
        self
    }

    fn with_centre(&self, position: Vector, parts: usize) -> Option<Self> {
        let inverse = match &self.factor {
            Factor::Blocks(_) => return None,
            Factor::Dense(factor) => Some(factor.inverse()),
            Factor::Diagonal(_) | Factor::LowRank(_) => None,
        };
        let factor = self.factor.clone();
        let centre = Centre {
            position,
            parts,
            inverse,
        };
        Some(Metric {
            factor,
            centre: Some(centre),
        })
    }

    /// This metric without rotations.
    pub(crate) fn straight(&self) -> Self {
        self.factor.clone().into()
    }

    /// How many rotations make a step; 0 where steps are leapfrogs.
    #[inline]
    pub(crate) fn parts(&self) -> usize {
        self.centre.as_ref().map_or(0, |centre| centre.parts)
    }

    /// How many gradients a step takes.
    pub(crate) fn gradients(&self) -> u64 {
        self.parts().max(1) as u64
    }

    /// Whether steps are rotations.
    #[inline]
    pub(crate) fn rotates(&self) -> bool {
        self.centre.is_some()
    }

    /// `place` ← S⁻¹(`position` − m), where steps are rotations about m; `scratch` is written over.
    pub(crate) fn locate(&self, position: &[Block], place: &mut [Block], scratch: &mut [Block]) {
        let Some(centre) = &self.centre else {
            return;
        };
        scratch.copy_from_slice(position);
        vector::axpy(-1.0, &centre.position, scratch);
        match (&self.factor, &centre.inverse) {
            (Factor::Diagonal(scale), _) => {
                vector::divide(scratch, scale);
                place.copy_from_slice(scratch);
            }
            (Factor::LowRank(s), _) => {
                vector::divide(scratch, &s.scale);
                place.copy_from_slice(scratch);
                s.along.add_inverse(scratch, place);
            }
            (_, inverse) => {
                place.fill([0.0; 8]);
                let inverse = inverse.iter();
                inverse.for_each(|inverse| inverse.add_times(1.0, scratch, place));
            }
        }
    }

    /// The rotation by the angle whose cosine and sine are given; `scratch` is written over.
    #[inline]
    pub(crate) fn rotate(
        &self,
        (cos, sin): (f64, f64),
        momentum: &mut [Block],
        (place, scratch): (&mut [Block], &mut [Block]),
        position: &mut [Block],
    ) {
        vector::rotate(cos, sin, momentum, place, scratch);
        match &self.factor {
            Factor::Diagonal(scale) => vector::add_product(scale, scratch, position),
            Factor::LowRank(s) => {
                vector::add_product(&s.scale, scratch, position);
                s.along.add_spread(1.0, scratch, position);
            }
            Factor::Dense(factor) => factor.add_times(1.0, scratch, position),
            Factor::Blocks(s) => s.add_times(1.0, scratch, position),
        }
    }

    /// `out` ← S `x`: a whitened direction in the user's coordinates.
    pub(crate) fn spread(&self, x: &[Block], out: &mut [Block]) {
        match &self.factor {
            Factor::Diagonal(scale) => vector::multiply(scale, x, out),
            Factor::LowRank(s) => {
                vector::multiply(&s.scale, x, out);
                s.along.add_spread(1.0, x, out);
            }
            Factor::Dense(factor) => {
                out.as_flattened_mut().fill(0.0);
                factor.add_times(1.0, x, out);
            }
            Factor::Blocks(s) => {
                out.as_flattened_mut().fill(0.0);
                s.add_times(1.0, x, out);
            }
        }
    }

    /// Kind, number of directions, of rotations a step, the centre if any, and the numbers of S, as
    /// `kernel/transition.c` reads them.
    pub(crate) fn words(&self, dim: usize) -> Vec<f64> {
        let (kind, along) = match &self.factor {
            Factor::Diagonal(_) => (0.0, None),
            Factor::Dense(_) => (1.0, None),
            Factor::LowRank(s) => (2.0, Some(&s.along)),
            Factor::Blocks(s) => (3.0, Some(&s.along)),
        };
        let rank = along.map_or(0, |along| along.weights.len());
        let mut all = vec![kind, rank as f64, self.parts() as f64];
        if let Some(centre) = &self.centre {
            all.extend_from_slice(&centre.position.as_flattened()[..dim]);
        }
        if let Factor::Diagonal(scale) | Factor::LowRank(LowRank { scale, .. }) = &self.factor {
            all.extend_from_slice(&scale.as_flattened()[..dim]);
        }
        if let Some(along) = along {
            all.extend_from_slice(&along.weights);
            all.extend_from_slice(&along.inverse);
            all.extend(Directions::rows(&along.plain, dim));
            all.extend(Directions::rows(&along.scaled, dim));
        }
        match &self.factor {
            Factor::Diagonal(_) | Factor::LowRank(_) => {}
            Factor::Dense(factor) => {
                let inverse = self.centre.iter().filter_map(|c| c.inverse.as_ref());
                for matrix in std::iter::once(factor).chain(inverse) {
                    (0..dim).for_each(|i| all.extend(matrix.row(i).as_flattened()));
                }
            }
            Factor::Blocks(s) => {
                all.push(s.factor.len() as f64);
                all.extend(s.factor.words());
            }
        }
        all
    }

    /// Its family as a number, and its numbers: those of the centre, then those of S.
    pub(crate) fn numbers(&self, dim: usize) -> (u64, Vec<f64>) {
        let (kind, numbers) = self.factor.numbers(dim);
        match &self.centre {
            None => (kind, numbers),
            Some(centre) => {
                let centre = &centre.position.as_flattened()[..dim];
                let kind = kind + FAMILIES * self.parts() as u64;
                (kind, [centre, &numbers].concat())
            }
        }
    }

    /// The metric that [`Metric::numbers`] were of; `None` when there are too few or too many.
    pub(crate) fn from_numbers(kind: u64, dim: usize, numbers: &[f64]) -> Option<Self> {
        let (parts, family) = (kind / FAMILIES, kind % FAMILIES);
        let parts = (0..=MOST_PARTS).find(|&n| n as u64 == parts)?;
        if parts == 0 {
            return Some(Factor::from_numbers(family, dim, numbers)?.into());
        }
        let (centre, rest) = numbers.split_at_checked(dim)?;
        let mut position = vector::zeros(dim);
        vector::load(&mut position, centre);
        let metric = Self::from(Factor::from_numbers(family, dim, rest)?);
        metric.with_centre(position, parts)
    }

    /// The diagonal of M⁻¹.
    pub(crate) fn variances(&self, dim: usize) -> Vec<f64> {
        match &self.factor {
            Factor::Diagonal(scale) => scale.as_flattened()[..dim].iter().map(|s| s * s).collect(),
            Factor::LowRank(s) => {
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
            Factor::Dense(factor) => (0..dim)
                .map(|i| vector::dot(factor.row(i), factor.row(i)))
                .collect(),
            Factor::Blocks(s) => {
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

/// Families of S: their number and that of the rotations of a step are saved as one.
const FAMILIES: u64 = 4;

impl Factor {
    fn numbers(&self, dim: usize) -> (u64, Vec<f64>) {
        match self {
            Factor::Diagonal(scale) => (0, scale.as_flattened()[..dim].to_vec()),
            Factor::Dense(factor) => (1, factor.numbers()),
            Factor::LowRank(s) => {
                let mut all = s.scale.as_flattened()[..dim].to_vec();
                all.extend(&s.along.weights);
                all.extend(Directions::rows(&s.along.plain, dim));
                (2, all)
            }
            Factor::Blocks(s) => {
                let mut all = vec![s.along.weights.len() as f64];
                all.extend(&s.along.weights);
                all.extend(Directions::rows(&s.along.plain, dim));
                all.extend(s.factor.numbers());
                (3, all)
            }
        }
    }

    fn from_numbers(kind: u64, dim: usize, numbers: &[f64]) -> Option<Self> {
        match kind {
            0 if numbers.len() == dim => {
                let mut scale = vector::zeros(dim);
                vector::load(&mut scale, numbers);
                Some(Factor::Diagonal(scale))
            }
            1 => Some(Factor::Dense(Lower::from_numbers(dim, numbers)?)),
            2 if numbers.len() >= dim
                && (numbers.len() - dim).is_multiple_of(dim + 1)
                && (numbers.len() - dim) / (dim + 1) <= LOW_RANK_MOST =>
            {
                let (scale, rest) = numbers.split_at(dim);
                let (weights, directions) = rest.split_at(rest.len() / (dim + 1));
                let mut own = vector::zeros(dim);
                vector::load(&mut own, scale);
                let rows = padded(dim, weights.len(), directions.chunks_exact(dim));
                Some(Factor::LowRank(LowRank::new(own, weights.to_vec(), rows)))
            }
            3 => {
                let (&n, rest) = numbers.split_first()?;
                let n = (0..=LOW_RANK_MOST).find(|&k| k as f64 == n)?;
                let (weights, rest) = rest.split_at_checked(n)?;
                let (directions, rest) = rest.split_at_checked(n * dim)?;
                let rows = padded(dim, n, directions.chunks_exact(dim));
                let factor = Blocks::from_numbers(dim, rest)?;
                let weights = weights.to_vec();
                Some(Factor::Blocks(InBlocks::new(dim, factor, weights, rows)))
            }
            _ => None,
        }
    }
}
