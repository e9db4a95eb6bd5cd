//! Small dense matrices: Cholesky factors, inverses, and the matrix mean behind a dense metric.

use super::vector::{self, Block, Vector};

/// A square matrix, rows in whole blocks.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    dim: usize,
    rows: Vector,
}

impl Matrix {
    /// The zero matrix.
    pub(crate) fn zeros(dim: usize) -> Self {
        Matrix {
            dim,
            rows: vector::zero_square(dim),
        }
    }

    /// Number of rows.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Row `i`, padded.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> &[Block] {
        let width = self.dim.div_ceil(8);
        &self.rows[i * width..(i + 1) * width]
    }

    /// Row `i`, padded.
    #[inline]
    pub(crate) fn row_mut(&mut self, i: usize) -> &mut [Block] {
        let width = self.dim.div_ceil(8);
        &mut self.rows[i * width..(i + 1) * width]
    }

    /// Element (i, j).
    #[inline]
    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.row(i)[j / 8][j % 8]
    }

    /// Element (i, j).
    #[inline]
    pub(crate) fn at_mut(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.row_mut(i)[j / 8][j % 8]
    }

    /// self ← a·self + b·other.
    fn combine(&mut self, a: f64, b: f64, other: &Matrix) {
        for (x, y) in self.rows.iter_mut().zip(other.rows.iter()) {
            for l in 0..8 {
                x[l] = a * x[l] + b * y[l];
            }
        }
    }

    /// Largest |self − other| relative to the largest |self|.
    fn distance(&self, other: &Matrix) -> f64 {
        let (a, b) = (self.rows.as_flattened(), other.rows.as_flattened());
        let size = a.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let gap = a
            .iter()
            .zip(b)
            .fold(0.0f64, |m, (x, y)| m.max((x - y).abs()));
        gap / size
    }

    /// Eigenvalues of this symmetric matrix, and its eigenvectors as rows.
    ///
    /// Jacobi's rotations, row by row until all that is off the diagonal is rounding: for small
    /// matrices. Reference: Golub, Van Loan, "Matrix computations", 4th ed., section 8.5.
    pub(crate) fn eigen(&self) -> (Vec<f64>, Matrix) {
        let n = self.dim;
        let mut a = self.clone();
        let mut vectors = Matrix::zeros(n);
        for i in 0..n {
            *vectors.at_mut(i, i) = 1.0;
        }
        for _ in 0..30 {
            let mut rotated = false;
            for p in 0..n {
                for q in p + 1..n {
                    rotated |= a.rotate(p, q, &mut vectors);
                }
            }
            if !rotated {
                break;
            }
        }
        ((0..n).map(|i| a.at(i, i)).collect(), vectors)
    }

    /// Makes element (p, q) zero by a rotation of both sides, and rotates the rows of `vectors`
    /// along. False when it is nothing but rounding.
    fn rotate(&mut self, p: usize, q: usize, vectors: &mut Matrix) -> bool {
        let (app, aqq, apq) = (self.at(p, p), self.at(q, q), self.at(p, q));
        // NaN is left alone.
        if !(apq.abs() > 1e-15 * (app * aqq).abs().sqrt()) {
            return false;
        }
        let tau = (aqq - app) / (2.0 * apq);
        let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
        let c = 1.0 / (1.0 + t * t).sqrt();
        let s = t * c;
        for k in 0..self.dim {
            let (x, y) = (self.at(k, p), self.at(k, q));
            *self.at_mut(k, p) = c * x - s * y;
            *self.at_mut(k, q) = s * x + c * y;
        }
        for rows in [self, vectors] {
            for k in 0..rows.dim {
                let (x, y) = (rows.at(p, k), rows.at(q, k));
                *rows.at_mut(p, k) = c * x - s * y;
                *rows.at_mut(q, k) = s * x + c * y;
            }
        }
        true
    }

    /// The Cholesky factor of this symmetric matrix (its lower half is read); `None` when it is
    /// not positive definite.
    pub(crate) fn cholesky(&self) -> Option<Lower> {
        let dim = self.dim;
        let mut factor = Matrix::zeros(dim);
        let mut row = vector::zeros(dim);
        for i in 0..dim {
            row.fill([0.0; 8]);
            for j in 0..=i {
                let blocks = j.div_ceil(8);
                // Beyond j the row is still zero, so whole blocks may be multiplied.
                let other = if i == j { &row } else { factor.row(j) };
                let sum = self.at(i, j) - vector::dot(&row[..blocks], &other[..blocks]);
                row[j / 8][j % 8] = if i == j { sum } else { sum / factor.at(j, j) };
            }
            let pivot = row[i / 8][i % 8];
            // A pivot lost in rounding is not a pivot; NaN fails too.
            if !(pivot > self.at(i, i).abs() * 1e-14 && pivot.is_finite()) {
                return None;
            }
            row[i / 8][i % 8] = pivot.sqrt();
            factor.row_mut(i).copy_from_slice(&row);
        }
        Some(Lower(factor))
    }
}

/// A lower triangular matrix.
#[derive(Clone, Debug)]
pub(crate) struct Lower(Matrix);

impl Lower {
    /// Row `i`, zero above the diagonal.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> &[Block] {
        self.0.row(i)
    }

    /// The numbers up to the diagonal, row by row.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let rows = (0..self.0.dim).map(|i| &self.row(i).as_flattened()[..=i]);
        rows.flatten().copied().collect()
    }

    /// The matrix with these numbers; `None` when there are too few or too many.
    pub(crate) fn from_numbers(dim: usize, mut numbers: &[f64]) -> Option<Self> {
        let mut matrix = Matrix::zeros(dim);
        for i in 0..dim {
            let (row, rest) = numbers.split_at_checked(i + 1)?;
            vector::load(matrix.row_mut(i), row);
            numbers = rest;
        }
        numbers.is_empty().then_some(Lower(matrix))
    }

    /// y ← y + a L x.
    pub(crate) fn add_times(&self, a: f64, x: &[Block], y: &mut [Block]) {
        vector::triangle_times(a, &self.0.rows, x, y);
    }

    /// y ← Lᵀ x.
    pub(crate) fn transpose_times(&self, x: &[Block], y: &mut [Block]) {
        vector::transpose_times(&self.0.rows, x, y);
    }

    /// ln det of L Lᵀ.
    pub(crate) fn log_det(&self) -> f64 {
        (0..self.0.dim)
            .map(|i| 2.0 * libm::log(self.0.at(i, i)))
            .sum()
    }

    /// L⁻¹.
    pub(crate) fn inverse(&self) -> Self {
        let dim = self.0.dim;
        // Forward substitution, row by row: row i is (eᵢ − Σ_{k<i} Lᵢₖ row k)/Lᵢᵢ.
        let mut inverse = Matrix::zeros(dim);
        let mut row = vector::zeros(dim);
        for i in 0..dim {
            row.fill([0.0; 8]);
            for k in 0..i {
                let blocks = k / 8 + 1;
                vector::axpy(
                    -self.0.at(i, k),
                    &inverse.row(k)[..blocks],
                    &mut row[..blocks],
                );
            }
            row[i / 8][i % 8] = 1.0;
            let pivot = 1.0 / self.0.at(i, i);
            for block in row.iter_mut() {
                for x in block {
                    *x *= pivot;
                }
            }
            inverse.row_mut(i).copy_from_slice(&row);
        }
        Lower(inverse)
    }

    /// The inverse of L Lᵀ.
    fn inverse_of_product(&self) -> Matrix {
        let dim = self.0.dim;
        let Lower(inverse) = self.inverse();
        // (L Lᵀ)⁻¹ = Xᵀ X, summed row of X by row of X.
        let mut out = Matrix::zeros(dim);
        for k in 0..dim {
            let blocks = k / 8 + 1;
            for i in 0..=k {
                let x = inverse.at(k, i);
                vector::axpy(x, &inverse.row(k)[..blocks], &mut out.row_mut(i)[..blocks]);
            }
        }
        out
    }
}

/// The symmetric Σ with Σ B Σ = A, for symmetric positive definite A and B: the geometric mean of
/// A and B⁻¹. `None` when one of them is not positive definite.
///
/// Iterates P ← ½(cP + (cQ)⁻¹), Q ← ½(cQ + (cP)⁻¹) from P = A, Q = B, with c from the
/// determinants; P tends to Σ and Q to Σ⁻¹, quadratically.
///
/// Reference: Higham, "Functions of matrices", SIAM 2008, section 6.3 (the product of the two
/// iterates is Denman and Beavers' square root).
pub(crate) fn geometric_mean(a: &Matrix, b: &Matrix) -> Option<Matrix> {
    let dim = a.dim() as f64;
    let (mut p, mut q) = (a.clone(), b.clone());
    for _ in 0..40 {
        let (lower_p, lower_q) = (p.cholesky()?, q.cholesky()?);
        let c = libm::exp(-(lower_p.log_det() + lower_q.log_det()) / (4.0 * dim));
        let (inverse_p, inverse_q) = (lower_p.inverse_of_product(), lower_q.inverse_of_product());
        let before = p.clone();
        p.combine(0.5 * c, 0.5 / c, &inverse_q);
        q.combine(0.5 * c, 0.5 / c, &inverse_p);
        if p.distance(&before) < 1e-9 {
            return Some(p);
        }
    }
    Some(p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    /// A well-conditioned random symmetric positive definite matrix with scales up to `spread`.
    fn random_spd(dim: usize, seed: u64, spread: f64) -> Matrix {
        let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Test);
        let x: Vec<f64> = (0..dim * (dim + 3)).map(|_| rng.normal()).collect();
        let scale: Vec<f64> = (0..dim).map(|_| spread.powf(rng.uniform())).collect();
        let mut out = Matrix::zeros(dim);
        for i in 0..dim {
            for j in 0..dim {
                let sum: f64 = (0..dim + 3).map(|k| x[k * dim + i] * x[k * dim + j]).sum();
                *out.at_mut(i, j) = sum * scale[i] * scale[j];
            }
        }
        out
    }

    fn product(a: &Matrix, b: &Matrix) -> Matrix {
        let dim = a.dim();
        let mut out = Matrix::zeros(dim);
        for i in 0..dim {
            for k in 0..dim {
                vector::axpy(a.at(i, k), b.row(k), out.row_mut(i));
            }
        }
        out
    }

    /// Bound: rounding times the condition of the factor.
    #[test]
    fn the_cholesky_factor_gives_back_the_matrix_and_its_inverse() {
        for dim in [1, 2, 7, 8, 9, 30] {
            let a = random_spd(dim, 3, 100.0);
            let lower = a.cholesky().expect("positive definite");
            let mut x = vector::zeros(dim);
            let (mut y, mut z) = (x.clone(), x.clone());
            for i in 0..dim {
                x.fill([0.0; 8]);
                x[i / 8][i % 8] = 1.0;
                lower.transpose_times(&x, &mut y);
                z.fill([0.0; 8]);
                lower.add_times(1.0, &y, &mut z);
                for j in 0..dim {
                    assert!(
                        (z[j / 8][j % 8] - a.at(i, j)).abs() < 1e-12 * a.at(j, j).max(a.at(i, i))
                    );
                }
            }
            let identity = product(&a, &lower.inverse_of_product());
            for i in 0..dim {
                for j in 0..dim {
                    let want = f64::from(u8::from(i == j));
                    assert!((identity.at(i, j) - want).abs() < 1e-8);
                }
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_no_factor() {
        let mut a = Matrix::zeros(2);
        for (i, j, x) in [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 1.0)] {
            *a.at_mut(i, j) = x;
        }
        assert!(a.cholesky().is_none());
        *a.at_mut(1, 1) = f64::NAN;
        assert!(a.cholesky().is_none());
    }

    /// A v = λ v and vᵀv = 1, to rounding. Catches: vectors as columns, a rotation of one side.
    #[test]
    fn eigenvectors_are_stretched_by_their_eigenvalues() {
        for dim in [1, 2, 9, 32] {
            let a = random_spd(dim, 4, 10.0);
            let (values, vectors) = a.eigen();
            let largest = values.iter().copied().fold(0.0, f64::max);
            for (i, value) in values.iter().enumerate() {
                let v = vectors.row(i);
                assert!((vector::dot(v, v) - 1.0).abs() < 1e-13);
                for j in 0..dim {
                    let product = vector::dot(a.row(j), v);
                    assert!((product - value * vectors.at(i, j)).abs() < 1e-12 * largest);
                }
            }
        }
    }

    /// The defining equation, to 1e-8 of the largest element.
    #[test]
    fn the_geometric_mean_solves_its_equation() {
        for (dim, spread) in [(1, 1.0), (5, 1.0), (12, 10.0), (40, 100.0)] {
            let a = random_spd(dim, 5, spread);
            let b = random_spd(dim, 6, spread);
            let mean = geometric_mean(&a, &b).expect("positive definite");
            let back = product(&product(&mean, &b), &mean);
            assert!(a.distance(&back) < 1e-8, "dim {dim}: {}", a.distance(&back));
        }
    }
}
