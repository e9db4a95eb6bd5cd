//! The metric from draws and gradients.
//!
//! For a normal target with covariance Σ the gradient is −Σ⁻¹(q − μ), so the covariance of the
//! gradients is C_g = Σ⁻¹ C_q Σ⁻¹ whatever the draws are, and Σ is the solution of Σ C_g Σ = C_q.
//! The same equation minimises the Fisher divergence of the whitened target from a standard normal
//! one. Reference: Seyboldt, Carlson, Carpenter, arXiv:2603.18845.

use super::dense::{Matrix, geometric_mean};
use super::entangled::{self, Plates};
use super::low_rank;
use super::metric::{Factor, LOW_RANK_MOST, Metric, MetricKind};
use super::sparse::Blocks;
use super::vector::{self, Block, Vector};

/// Bounds of every variance of a metric.
const BOUNDS: (f64, f64) = (1e-20, 1e20);
/// Fewer rows than this say nothing.
const MIN_ROWS: usize = 10;
/// Auto never chooses a dense metric above this many coordinates.
pub(crate) const AUTO_DENSE_MAX_DIM: usize = 256;
/// A dearer metric is chosen if it is predicted to save at least this factor.
const AUTO_MARGIN: f64 = 1.3;
/// Up to so many coordinates auto only asks whether a dense metric pays.
pub(crate) const AUTO_SMALL_DIM: usize = 64;
/// Likewise for the sake of rotations, of which it halves the gradients or more: what is estimated in
/// every window must be cheap.
const DENSE_FOR_ROTATIONS: usize = 128;
/// Draws that a low-rank metric is made from, at most.
const LOW_RANK_ROWS: usize = 96;
/// Likewise where blocks were worth their price: gradients are dear then, and targets less normal.
const ROWS_BESIDE_BLOCKS: usize = 320;
/// A variance within this factor of 1 may be noise.
const DOUBT: f64 = 2.0;
/// Draws that a metric of blocks is made from, at most.
const BLOCK_ROWS: usize = 1000;

/// What a metric is estimated for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish<'a> {
    /// The family asked for.
    pub(crate) kind: MetricKind,
    /// Floating-point operations of a gradient.
    pub(crate) gradient_cost: f64,
    /// Which coordinates belong to the same element of a plate.
    pub(crate) plates: &'a Plates,
}

impl Wish<'_> {
    /// A wish for a dense metric, where this one leaves the choice and it costs little.
    pub(crate) fn dense(self, dim: usize, rows: usize) -> Option<Self> {
        let affordable = dim > 1 && dim <= DENSE_FOR_ROTATIONS && rows >= 2 * dim;
        let little = self.price(2 * dim * dim, dim) < 2.0 * self.price(0, dim);
        let dense = Wish {
            kind: MetricKind::Dense,
            ..self
        };
        (self.kind == MetricKind::Auto && affordable && little).then_some(dense)
    }

    /// The price of a leapfrog whose metric takes so many operations more than a diagonal one.
    fn price(self, metric: usize, dim: usize) -> f64 {
        self.gradient_cost + 40.0 * dim as f64 + metric as f64
    }
}

/// The first metric: M⁻¹ᵢᵢ = 1/|gᵢ|, from the mean slope size over the starting points.
pub(crate) fn first(slopes: &[f64]) -> Metric {
    let variance = |g: &f64| {
        if *g > 0.0 {
            (1.0 / g).clamp(BOUNDS.0, BOUNDS.1)
        } else {
            1.0
        }
    };
    Metric::diagonal(&slopes.iter().map(variance).collect::<Vec<_>>())
}

/// The variances of a diagonal metric, from those of positions and gradients.
fn variances(var_q: &[f64], var_g: &[f64], mut variances: Vec<f64>) -> Vec<f64> {
    for (to, (q, g)) in variances.iter_mut().zip(var_q.iter().zip(var_g)) {
        let variance = (q / g).sqrt();
        if variance.is_finite() && variance > 0.0 {
            *to = variance.clamp(BOUNDS.0, BOUNDS.1);
        }
    }
    variances
}

/// A metric from `positions` and `gradients` (row-major, n × dim), or `None` when there are too
/// few. Coordinates that say nothing keep their variance from `before`.
pub(crate) fn estimate(
    positions: &[f64],
    gradients: &[f64],
    dim: usize,
    wish: Wish<'_>,
    before: &Metric,
) -> Option<Metric> {
    let n = positions.len() / dim;
    if n < MIN_ROWS {
        return None;
    }
    let (mean_q, var_q) = moments(positions, dim);
    let (mean_g, var_g) = moments(gradients, dim);
    let variances = variances(&var_q, &var_g, before.variances(dim));
    let diagonal = Metric::diagonal(&variances);
    if wish.kind == MetricKind::Diagonal || dim == 1 {
        return Some(diagonal);
    }
    let scale: Vec<f64> = variances.iter().map(|v| v.sqrt()).collect();
    let inverse: Vec<f64> = scale.iter().map(|s| 1.0 / s).collect();
    // More rows than `most` no longer pay for the time they take.
    let thinned = |most: usize| {
        let stride = n.div_ceil(most);
        let x = Scaled::new(positions, &mean_q, &inverse, stride);
        (x, Scaled::new(gradients, &mean_g, &scale, stride))
    };
    let full = |otherwise| {
        let (x, g) = thinned(5 * dim + 300);
        Some(dense(&x, &g, &scale).unwrap_or(otherwise))
    };
    if wish.kind == MetricKind::Dense {
        return if n > dim {
            full(diagonal)
        } else {
            Some(diagonal)
        };
    }
    if wish.kind == MetricKind::Auto && dim <= AUTO_SMALL_DIM {
        // A dense product costs next to nothing here.
        let (x, g) = thinned(5 * dim + 300);
        return if n >= 2 * dim && pays(&x, &g, dim, wish.gradient_cost) {
            Some(dense(&x, &g, &scale).unwrap_or(diagonal))
        } else {
            Some(diagonal)
        };
    }
    if wish.kind == MetricKind::Blocks {
        let (x, g) = thinned(BLOCK_ROWS);
        let shrink = |size: usize| shrink(size, x.rows().len());
        let found = entangled::metric(wish.plates, (&x.apart(), &g.apart()), &scale, shrink);
        let (x, g) = thinned(ROWS_BESIDE_BLOCKS);
        return Some(found.map_or(diagonal, |found| {
            with_directions(&x, &g, &scale, found, wish)
        }));
    }
    let (x, g) = thinned(LOW_RANK_ROWS);
    let mut improved = scale.clone();
    let spectrum = low_rank::spectrum(x.apart(), g.apart(), &mut improved);
    let (rank, price) = best_rank(&spectrum.variances, dim, 0, wish);
    let affordable = dim <= AUTO_DENSE_MAX_DIM && n >= 2 * dim;
    if wish.kind == MetricKind::Auto && affordable && price > wish.price(2 * dim * dim, dim) {
        return full(diagonal);
    }
    if rank == 0 {
        return Some(diagonal);
    }
    let (variances, directions) = (&spectrum.variances[..rank], &spectrum.directions[..rank]);
    Some(Metric::low_rank(&improved, variances, directions))
}

/// How many of the directions a low-rank metric should take, and the price of an independent draw
/// below which a dense one must stay to be taken instead. `variances` are those along the
/// directions, farthest from 1 first; `own` operations are needed besides.
///
/// The steps per independent draw grow like the root of the condition number that is left. A
/// variance within a factor of [`DOUBT`] of 1 may be noise, and is not worth a direction.
fn best_rank(variances: &[f64], dim: usize, own: usize, wish: Wish<'_>) -> (usize, f64) {
    let cost = |rank: usize| steps(&variances[rank..]) * wish.price(own + 8 * rank * dim, dim);
    let most = match wish.kind {
        MetricKind::Diagonal | MetricKind::Dense => 0,
        _ => variances.len().min(LOW_RANK_MOST),
    };
    let plain = cost(0);
    let better = (1..=most).map(|rank| (rank, AUTO_MARGIN * cost(rank)));
    let best = better.min_by(|a, b| a.1.total_cmp(&b.1));
    match best {
        Some((rank, cost)) if cost < plain => (rank, cost / AUTO_MARGIN),
        _ => (0, plain / AUTO_MARGIN),
    }
}

/// Steps per independent draw, where these variances are what is left.
fn steps(variances: &[f64]) -> f64 {
    let (mut widest, mut narrowest) = (1.0_f64, 1.0_f64);
    for v in variances {
        widest = widest.max(v / DOUBT);
        narrowest = narrowest.min(v * DOUBT);
    }
    (widest / narrowest).sqrt()
}

/// A metric of blocks with the directions that pay, from scaled draws and gradients.
fn with_directions(x: &Scaled, g: &Scaled, scale: &[f64], found: Blocks, wish: Wish<'_>) -> Metric {
    let dim = scale.len();
    let (mut x, mut g) = (x.apart(), g.apart());
    for x in &mut x {
        let numbers = x.as_flattened_mut().iter_mut();
        numbers.zip(scale).for_each(|(x, s)| *x *= s);
        found.solve(x);
    }
    for g in &mut g {
        let numbers = g.as_flattened_mut().iter_mut();
        numbers.zip(scale).for_each(|(g, s)| *g /= s);
        let slope = g.clone();
        found.transpose_times(&slope, g);
    }
    let mut factors = vec![1.0; dim];
    let spectrum = low_rank::spectrum(x, g, &mut factors);
    let own = 4 * found.len();
    let (rank, _) = best_rank(&spectrum.variances, dim, own, wish);
    let (variances, directions) = (&spectrum.variances[..rank], &spectrum.directions[..rank]);
    let found = match rank {
        0 => found,
        _ => found.times_diagonal(&factors),
    };
    Metric::in_blocks(dim, found, variances, directions)
}

/// The part of what is off a diagonal that is not believed.
fn shrink(dim: usize, rows: usize) -> f64 {
    (0.01 * dim as f64 / rows as f64).min(0.1)
}

/// Means of the columns.
pub(crate) fn mean(rows: &[f64], dim: usize) -> Vec<f64> {
    let n = (rows.len() / dim) as f64;
    let mut mean = vec![0.0; dim];
    for row in rows.chunks_exact(dim) {
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n);
    }
    mean
}

/// Means and variances of the columns.
pub(crate) fn moments(rows: &[f64], dim: usize) -> (Vec<f64>, Vec<f64>) {
    let n = (rows.len() / dim) as f64;
    let mean = mean(rows, dim);
    let mut variance = vec![0.0; dim];
    for row in rows.chunks_exact(dim) {
        for ((v, x), m) in variance.iter_mut().zip(row).zip(&mean) {
            *v += (x - m) * (x - m) / (n - 1.0);
        }
    }
    (mean, variance)
}

/// Centred and scaled rows, thinned, in whole blocks, one after the other: hundreds of rows of a few
/// coordinates would take longer to allocate than to add up.
struct Scaled {
    blocks: Vector,
    dim: usize,
}

impl Scaled {
    fn new(values: &[f64], mean: &[f64], scale: &[f64], stride: usize) -> Self {
        let dim = mean.len();
        let kept = values.chunks_exact(dim).step_by(stride);
        let width = dim.div_ceil(8);
        let mut blocks = vector::zero_rows(kept.len(), dim);
        for (out, row) in blocks.chunks_exact_mut(width).zip(kept) {
            for (i, out) in out.as_flattened_mut()[..dim].iter_mut().enumerate() {
                *out = (row[i] - mean[i]) * scale[i];
            }
        }
        Scaled { blocks, dim }
    }

    fn rows(&self) -> std::slice::ChunksExact<'_, Block> {
        self.blocks.chunks_exact(self.dim.div_ceil(8))
    }

    /// Each row by itself.
    fn apart(&self) -> Vec<Vector> {
        let copy = |row: &[Block]| {
            let mut own = vector::zeros(self.dim);
            own.copy_from_slice(row);
            own
        };
        self.rows().map(copy).collect()
    }

    /// XᵀX/n with the off-diagonal elements made smaller by the factor 1 − `shrink`.
    fn covariance(&self, shrink: f64) -> Matrix {
        let mut out = Matrix::zeros(self.dim);
        let n = self.rows().len() as f64;
        for row in self.rows() {
            for i in 0..self.dim {
                let blocks = i / 8 + 1;
                let x = row[i / 8][i % 8] / n;
                vector::axpy(x, &row[..blocks], &mut out.row_mut(i)[..blocks]);
            }
        }
        for i in 0..self.dim {
            for j in 0..i {
                let c = (1.0 - shrink) * out.at(i, j);
                *out.at_mut(i, j) = c;
                *out.at_mut(j, i) = c;
            }
            // The last block of a row may have run over the diagonal.
            out.row_mut(i).as_flattened_mut()[self.dim..].fill(0.0);
        }
        out
    }

    /// The largest eigenvalue of XᵀX/n, by power iteration. The matrix is made first: there are more
    /// steps than half of the coordinates that this is for.
    fn largest_eigenvalue(&self) -> f64 {
        let matrix = self.covariance(0.0);
        let mut v = vector::zeros(self.dim);
        // Any start with no special direction; a fixed one keeps runs the same.
        for (i, v) in v.as_flattened_mut()[..self.dim].iter_mut().enumerate() {
            *v = 1.0 + 0.5 * ((i * 7919 % 97) as f64 / 97.0 - 0.5) - 2.0 * (i % 3 % 2) as f64;
        }
        let mut value = 0.0;
        for _ in 0..20 {
            let length = vector::dot(&v, &v).sqrt();
            let mut next = vector::zeros(self.dim);
            let numbers = next.as_flattened_mut()[..self.dim].iter_mut();
            for (i, next) in numbers.enumerate() {
                *next = vector::dot(matrix.row(i), &v) / length;
            }
            value = vector::dot(&next, &v) / length;
            v = next;
            if value.is_nan() || value <= 0.0 {
                return 0.0;
            }
        }
        value
    }
}

/// Whether a dense metric is predicted to save time.
///
/// With a diagonal metric the steps per independent draw grow like the square root of the
/// condition number that is left, the product of the largest eigenvalues of the scaled C_q and
/// C_g, each divided by what white noise of this size shows, (1 + √(D/n))².
fn pays(x: &Scaled, g: &Scaled, dim: usize, gradient_cost: f64) -> bool {
    let noise = {
        let edge = 1.0 + (dim as f64 / x.rows().len() as f64).sqrt();
        edge * edge
    };
    let condition = x.largest_eigenvalue() * g.largest_eigenvalue() / (noise * noise);
    let d = dim as f64;
    let steps_saved = condition.max(1.0).sqrt();
    let diagonal_cost = gradient_cost + 40.0 * d;
    let dense_cost = diagonal_cost + 2.0 * d * d;
    steps_saved * diagonal_cost > AUTO_MARGIN * dense_cost
}

/// The dense metric; `None` when the covariances are not positive definite.
fn dense(x: &Scaled, g: &Scaled, scale: &[f64]) -> Option<Metric> {
    let dim = x.dim;
    let shrink = shrink(dim, x.rows().len());
    let mut sigma = geometric_mean(&x.covariance(shrink), &g.covariance(shrink))?;
    for i in 0..dim {
        for j in 0..dim {
            *sigma.at_mut(i, j) *= scale[i] * scale[j];
        }
    }
    Some(Factor::Dense(sigma.cholesky()?).into())
}

#[cfg(test)]
mod tests;
