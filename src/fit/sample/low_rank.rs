//! What is left of a target after its scales are taken out, in a few directions.
//!
//! With more coordinates than draws no covariance can be estimated, but its extreme directions
//! can: those in which the draws spread most, where the target is wide, and those in which the
//! gradients spread most, where it is narrow. They come from the Gram matrices of the rows, n × n
//! whatever the dimension. In their span the covariance is the geometric mean of C_q and C_g⁻¹,
//! as for a dense metric; because gradients of a normal target are linear in its draws, the noise
//! of few draws cancels there. The rest is left as it is.
//!
//! Reference: Seyboldt, Carlson, Carpenter, arXiv:2603.18845; the range of the rows by iteration
//! of a block: Halko, Martinsson, Tropp, SIAM Review 53, 2011.

use super::dense::{Matrix, geometric_mean};
use super::vector::{self, Vector};
use crate::rng::{Purpose, Rng};

/// Most directions looked for among the draws, and as many among the gradients.
const MOST: usize = 16;
/// Draws per direction, so that the covariance in their span is well determined.
const ROWS_PER_DIRECTION: usize = 4;
/// Multiplications with the Gram matrix. Directions four times as wide as the noise are then
/// found to 4⁻⁸, which is more than the noise of the draws leaves to find.
const ROUNDS: usize = 8;
/// A direction is new if this part of its length is not in the span of the others.
const NEW: f64 = 1e-3;
/// Added to the covariances: variances beyond its inverse are not believed.
const SMALLEST: f64 = 1e-6;

/// Directions of length one, at right angles, and the variance of the scaled target along each.
pub(crate) struct Spectrum {
    /// Variances, the one farthest from 1 (as a factor) first.
    pub(crate) variances: Vec<f64>,
    /// The directions.
    pub(crate) directions: Vec<Vector>,
}

/// The extreme directions of a target, from scaled draws and gradients. Empty when there are too
/// few rows to say.
pub(crate) fn spectrum(x: &[Vector], g: &[Vector], dim: usize) -> Spectrum {
    let none = Spectrum {
        variances: Vec::new(),
        directions: Vec::new(),
    };
    let wanted = MOST.min(dim).min(x.len() / (2 * ROWS_PER_DIRECTION));
    if wanted == 0 {
        return none;
    }
    let mut basis: Vec<Vector> = Vec::new();
    for direction in widest(x, wanted, dim)
        .into_iter()
        .chain(widest(g, wanted, dim))
    {
        let mut direction = direction;
        if basis.len() < dim && vector::separate(&mut direction, &basis, NEW) {
            basis.push(direction);
        }
    }
    let within = |rows: &[Vector]| covariance(rows, &basis);
    let Some(mean) = geometric_mean(&within(x), &within(g)) else {
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
    for _ in 0..ROUNDS {
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
