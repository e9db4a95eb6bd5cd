//! A metric that is dense within the coordinates of each element of a plate.
//!
//! Every element has a covariance of its own, which few draws tell badly; but elements of a plate
//! are alike. So each covariance is moved towards the mean of its plate's, by as much as its
//! difference from the mean is noise: with n rows of variance 1 an element of a covariance c has the
//! variance (cᵢᵢ cⱼⱼ + cᵢⱼ²)/n, and the part of the mean in the sum is that variance over the one
//! that is seen among the elements (Ledoit and Wolf, Journal of Multivariate Analysis 88, 2004,
//! with the mean in place of the identity).

use super::dense::{Lower, Matrix, geometric_mean};
use super::sparse::Blocks;
use super::vector::Vector;

/// For each plate, for each of its elements, the coordinates that it has: as many for each of them,
/// in the same order.
pub type Plates = Vec<Vec<Vec<usize>>>;

/// Rows of all elements of a plate for each coordinate of an element, at least.
const ROWS_PER_COORDINATE: usize = 4;

/// The metric of `plates` from draws and gradients with mean zero, scaled by `scale` and its
/// inverse; one variance for coordinates of no plate. `shrink` is taken from all that is off the
/// diagonals.
pub(crate) fn metric(
    plates: &Plates,
    (x, g): (&[Vector], &[Vector]),
    scale: &[f64],
    shrink: impl Fn(usize) -> f64,
) -> Option<Blocks> {
    let mut blocks: Vec<(Vec<u32>, Lower)> = Vec::new();
    let mut alone = vec![true; scale.len()];
    for plate in plates {
        let size = plate.first().map_or(0, Vec::len);
        if x.len() * plate.len() < ROWS_PER_COORDINATE * size {
            continue;
        }
        let of_x = covariances(plate, x, &shrink);
        let of_g = covariances(plate, g, &shrink);
        for ((element, of_x), of_g) in plate.iter().zip(of_x).zip(of_g) {
            let Some(factor) = factor(element, &of_x, &of_g, scale) else {
                continue;
            };
            element.iter().for_each(|&i| alone[i] = false);
            blocks.push((element.iter().map(|&i| i as u32).collect(), factor));
        }
    }
    for i in (0..scale.len()).filter(|&i| alone[i]) {
        blocks.push((vec![i as u32], Lower::from_numbers(1, &[scale[i]])?));
    }
    Blocks::new(scale.len(), blocks)
}

/// The factor of the metric of one element.
fn factor(element: &[usize], of_x: &Matrix, of_g: &Matrix, scale: &[f64]) -> Option<Lower> {
    let mut sigma = geometric_mean(of_x, of_g)?;
    for (i, &a) in element.iter().enumerate() {
        for (j, &b) in element.iter().enumerate() {
            *sigma.at_mut(i, j) *= scale[a] * scale[b];
        }
    }
    sigma.cholesky()
}

/// The covariance of the coordinates of every element of a plate, moved towards their mean.
fn covariances(
    plate: &[Vec<usize>],
    rows: &[Vector],
    shrink: &impl Fn(usize) -> f64,
) -> Vec<Matrix> {
    let n = rows.len() as f64;
    let size = plate.first().map_or(0, Vec::len);
    let own = |element: &Vec<usize>| {
        let mut out = Matrix::zeros(size);
        for row in rows {
            for (i, &a) in element.iter().enumerate() {
                let x = row[a / 8][a % 8] / n;
                for (j, &b) in element[..=i].iter().enumerate() {
                    *out.at_mut(i, j) += x * row[b / 8][b % 8];
                }
            }
        }
        out
    };
    let mut all: Vec<Matrix> = plate.iter().map(own).collect();
    let count = all.len() as f64;
    let mut mean = Matrix::zeros(size);
    for one in &all {
        pairs(size, |i, j| *mean.at_mut(i, j) += one.at(i, j) / count);
    }
    let (mut noise, mut seen) = (0.0, 0.0);
    for one in &all {
        pairs(size, |i, j| {
            let (c, gap) = (one.at(i, j), one.at(i, j) - mean.at(i, j));
            noise += (one.at(i, i) * one.at(j, j) + c * c) / n;
            seen += gap * gap;
        });
    }
    // Of `count` gaps from their own mean one is spent.
    let part = (noise * (1.0 - 1.0 / count) / seen).min(1.0);
    let part = if part.is_nan() { 0.0 } else { part };
    let less = 1.0 - shrink(size);
    for one in &mut all {
        pairs(size, |i, j| {
            let c = (1.0 - part) * one.at(i, j) + part * mean.at(i, j);
            let c = if i == j { c } else { less * c };
            *one.at_mut(i, j) = c;
            *one.at_mut(j, i) = c;
        });
    }
    all
}

/// Every pair j ≤ i below `size`.
fn pairs(size: usize, mut work: impl FnMut(usize, usize)) {
    for i in 0..size {
        (0..=i).for_each(|j| work(i, j));
    }
}
