//! What is left of a target after its scales are taken out, in a few directions.
//!
//! With more coordinates than draws no covariance can be estimated, but the few directions can in
//! which it is not 1. For a normal target with covariance Σ, draws x and gradients g = −Σ⁻¹x add up
//! to (I − Σ⁻¹)x, which lies in those directions and nowhere else, without any noise, be they wide
//! or narrow. So they are the directions in which x + g spreads most, and come from a Gram matrix
//! of n × n numbers whatever the dimension. In their span the covariance is the geometric mean of
//! C_q and C_g⁻¹, as for a dense metric. Outside of it, x = −g tells the scales again, more exactly
//! than before; a few rounds of both settle.
//!
//! Reference: Seyboldt, Carlson, Carpenter, arXiv:2603.18845; the range of the rows by iteration
//! of a block: Halko, Martinsson, Tropp, SIAM Review 53, 2011.

use super::dense::{Matrix, geometric_mean};
use super::vector::{self, Vector};
use crate::rng::{Purpose, Rng};

/// Most directions looked for.
const MOST: usize = 24;
/// Draws per direction, so that the covariance in their span is well determined.
const ROWS_PER_DIRECTION: usize = 4;
/// Rounds of directions and scales: after three, normals of condition 100 in 300 coordinates have
/// a condition below 2 left, after one below 12.
const ROUNDS: usize = 3;
/// Multiplications with the Gram matrix: what does not lie in the directions is near zero.
const MULTIPLICATIONS: usize = 4;
/// A direction is new if this part of its length is not in the span of the others.
const NEW: f64 = 1e-6;
/// The least part of the squares of a coordinate that its scale may be learned from.
const OUTSIDE: f64 = 1e-3;
/// Added to the covariances: variances beyond its inverse are not believed.
const SMALLEST: f64 = 1e-6;

/// Directions of length one, at right angles, and the variance of the scaled target along each.
pub(crate) struct Spectrum {
    /// Variances, the one farthest from 1 (as a factor) first.
    pub(crate) variances: Vec<f64>,
    /// The directions.
    pub(crate) directions: Vec<Vector>,
}

/// The extreme directions of a target, from draws and gradients with mean zero, scaled by `scale`
/// and its inverse, which is improved on the way. Empty when there are too few rows to say.
pub(crate) fn spectrum(mut x: Vec<Vector>, mut g: Vec<Vector>, scale: &mut [f64]) -> Spectrum {
    let dim = scale.len();
    let none = Spectrum {
        variances: Vec::new(),
        directions: Vec::new(),
    };
    let wanted = MOST.min(dim).min(x.len() / ROWS_PER_DIRECTION);
    let mut basis = Vec::new();
    for round in 0..ROUNDS {
        basis = span(&x, &g, wanted, dim);
        if basis.is_empty() {
            return none;
        }
        if round + 1 < ROUNDS {
            rescale(&mut x, &mut g, &basis, scale);
        }
    }
    let Some(mean) = geometric_mean(&covariance(&x, &basis), &covariance(&g, &basis)) else {
        return none;
    };
    let (variances, vectors) = mean.eigen();
    let mut order: Vec<usize> = (0..variances.len()).collect();
    let extreme = |i: &usize| libm::log(variances[*i]).abs();
    order.sort_by(|a, b| extreme(b).total_cmp(&extreme(a)));
    let direction = |&i: &usize| {
        let mut out = vector::zeros(dim);
        for (k, b) in basis.iter().enumerate() {
            vector::axpy(vectors.at(i, k), b, &mut out);
        }
        out
    };
    Spectrum {
        directions: order.iter().map(direction).collect(),
        variances: order.iter().map(|&i| variances[i]).collect(),
    }
}

/// The directions in which x + g spreads most, of length one and at right angles.
fn span(x: &[Vector], g: &[Vector], wanted: usize, dim: usize) -> Vec<Vector> {
    let sums = x.iter().zip(g).map(|(x, g)| {
        let mut sum = x.clone();
        vector::axpy(1.0, g, &mut sum);
        sum
    });
    let mut basis: Vec<Vector> = Vec::new();
    for mut direction in widest(&sums.collect::<Vec<_>>(), wanted, dim) {
        if vector::separate(&mut direction, &basis, NEW) {
            basis.push(direction);
        }
    }
    basis
}

/// Scales the coordinates by what is left of draws and gradients outside the span of `basis`.
fn rescale(x: &mut [Vector], g: &mut [Vector], basis: &[Vector], scale: &mut [f64]) {
    // The squares of each coordinate: of all of it, and of what is outside.
    let squares = |rows: &[Vector]| {
        let mut sums = vec![[0.0; 2]; scale.len()];
        for row in rows {
            let mut rest = row.clone();
            for b in basis {
                vector::axpy(-vector::dot(row, b), b, &mut rest);
            }
            let pairs = row.as_flattened().iter().zip(rest.as_flattened());
            for (sum, (whole, rest)) in sums.iter_mut().zip(pairs) {
                sum[0] += whole * whole;
                sum[1] += rest * rest;
            }
        }
        sums
    };
    let (of_x, of_g) = (squares(x), squares(g));
    for i in 0..scale.len() {
        // A coordinate of which nothing but rounding is left keeps its scale.
        if [of_x[i], of_g[i]]
            .iter()
            .any(|[whole, rest]| *rest < OUTSIDE * whole)
        {
            continue;
        }
        let factor = (of_x[i][1] / of_g[i][1]).sqrt().sqrt();
        if !(factor.is_finite() && factor > 0.0) {
            continue;
        }
        scale[i] *= factor;
        x.iter_mut().for_each(|x| x[i / 8][i % 8] /= factor);
        g.iter_mut().for_each(|g| g[i / 8][i % 8] *= factor);
    }
}

/// About the `count` directions of length one in which the rows spread most.
fn widest(rows: &[Vector], count: usize, dim: usize) -> Vec<Vector> {
    let n = rows.len();
    let mut gram = Matrix::zeros(n);
    for i in 0..n {
        for j in 0..=i {
            let product = vector::dot(&rows[i], &rows[j]);
            *gram.at_mut(i, j) = product;
            *gram.at_mut(j, i) = product;
        }
    }
    // Any start will do; the same every time keeps runs the same.
    let mut rng = Rng::new(0, 0, 0, 0, Purpose::Adapt);
    let start = |_| {
        let mut v = vector::zeros(n);
        let v_numbers = &mut v.as_flattened_mut()[..n];
        v_numbers.iter_mut().for_each(|v| *v = rng.normal());
        v
    };
    let mut block: Vec<Vector> = (0..count).map(start).collect();
    for _ in 0..MULTIPLICATIONS {
        let mut next: Vec<Vector> = Vec::new();
        for v in &block {
            let mut product = vector::zeros(n);
            for i in 0..n {
                product[i / 8][i % 8] = vector::dot(gram.row(i), v);
            }
            if vector::separate(&mut product, &next, NEW) {
                next.push(product);
            }
        }
        block = next;
    }
    let back = |v: &Vector| {
        let mut out = vector::zeros(dim);
        for (i, row) in rows.iter().enumerate() {
            vector::axpy(v[i / 8][i % 8], row, &mut out);
        }
        out
    };
    block.iter().map(back).collect()
}

/// The covariance of the rows, which have mean zero, in the span of `basis`.
fn covariance(rows: &[Vector], basis: &[Vector]) -> Matrix {
    let mut out = Matrix::zeros(basis.len());
    let mut along = vector::zeros(basis.len());
    for row in rows {
        for (k, b) in basis.iter().enumerate() {
            along[k / 8][k % 8] = vector::dot(row, b);
        }
        for i in 0..basis.len() {
            vector::axpy(
                along[i / 8][i % 8] / rows.len() as f64,
                &along,
                out.row_mut(i),
            );
        }
    }
    for i in 0..basis.len() {
        *out.at_mut(i, i) += SMALLEST;
    }
    out
}
