//! Directions of a metric with variances of their own, and the factors S that have some.

use super::super::sparse::Blocks;
use super::super::vector::{self, Block, Vector};

/// I + U(Λ^½ − I)Uᵀ, the directions U of length one and at right angles.
#[derive(Clone, Debug)]
pub(crate) struct Directions {
    /// √λ − 1 for each direction.
    pub(super) weights: Vec<f64>,
    /// 1/√λ − 1 for each direction.
    pub(super) inverse: Vec<f64>,
    /// The directions, one after the other.
    pub(super) plain: Vector,
    /// S₀ times each direction, S₀ being what stands before.
    pub(super) scaled: Vector,
}

impl Directions {
    /// `scale` is S₀ x into its second argument.
    pub(super) fn new(
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
            inverse: weights.iter().map(|w| 1.0 / (w + 1.0) - 1.0).collect(),
            weights,
            plain,
            scaled,
        }
    }

    /// y ← y + a S₀ U(Λ^½ − I)Uᵀ x.
    pub(super) fn add_spread(&self, a: f64, x: &[Block], y: &mut [Block]) {
        vector::add_low_rank(a, &self.weights, &self.plain, &self.scaled, x, y);
    }

    /// y ← y + U(Λ^½ − I)Uᵀ S₀ᵀ `gradient`.
    pub(super) fn add_pull(&self, gradient: &[Block], y: &mut [Block]) {
        vector::add_low_rank(1.0, &self.weights, &self.scaled, &self.plain, gradient, y);
    }

    /// y ← y + U(Λ^−½ − I)Uᵀ x.
    pub(super) fn add_inverse(&self, x: &[Block], y: &mut [Block]) {
        vector::add_low_rank(1.0, &self.inverse, &self.plain, &self.plain, x, y);
    }

    /// The first `dim` numbers of each row.
    pub(super) fn rows(rows: &Vector, dim: usize) -> impl Iterator<Item = f64> + '_ {
        let rows = rows.chunks_exact(dim.div_ceil(8).max(1));
        rows.flat_map(move |row| row.as_flattened()[..dim].iter().copied())
    }
}

/// S = S₀(I + U(Λ^½ − I)Uᵀ) with S₀ a diagonal.
#[derive(Clone, Debug)]
pub(crate) struct LowRank {
    pub(super) scale: Vector,
    pub(super) along: Directions,
}

impl LowRank {
    pub(super) fn new(scale: Vector, weights: Vec<f64>, plain: Vector) -> Self {
        let along = Directions::new(weights, plain, scale.len(), |x, y| {
            vector::multiply(&scale, x, y);
        });
        LowRank { scale, along }
    }

    /// `force` ← Sᵀ `gradient`.
    pub(super) fn pull(&self, gradient: &[Block], force: &mut [Block]) {
        vector::multiply(&self.scale, gradient, force);
        self.along.add_pull(gradient, force);
    }
}

/// S = S₀(I + U(Λ^½ − I)Uᵀ) with S₀ a triangle for each block of coordinates; perhaps without any
/// directions.
#[derive(Clone, Debug)]
pub(crate) struct InBlocks {
    pub(super) factor: Blocks,
    pub(super) along: Directions,
}

impl InBlocks {
    pub(super) fn new(dim: usize, factor: Blocks, weights: Vec<f64>, plain: Vector) -> Self {
        let along = Directions::new(weights, plain, dim.div_ceil(8), |x, y| {
            y.fill([0.0; 8]);
            factor.add_times(1.0, x, y);
        });
        InBlocks { factor, along }
    }

    /// `force` ← Sᵀ `gradient`.
    pub(super) fn pull(&self, gradient: &[Block], force: &mut [Block]) {
        self.factor.transpose_times(gradient, force);
        self.along.add_pull(gradient, force);
    }

    /// y ← y + a S x.
    pub(super) fn add_times(&self, a: f64, x: &[Block], y: &mut [Block]) {
        self.factor.add_times(a, x, y);
        self.along.add_spread(a, x, y);
    }
}

/// Rows of numbers, in whole blocks.
pub(super) fn padded<'a>(dim: usize, n: usize, from: impl Iterator<Item = &'a [f64]>) -> Vector {
    let mut rows = vector::zero_rows(n, dim);
    let to = rows.chunks_exact_mut(dim.div_ceil(8).max(1));
    to.zip(from)
        .for_each(|(row, numbers)| vector::load(row, numbers));
    rows
}
