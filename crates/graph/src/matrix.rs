//! Small dense matrices, row by row: the order of operations that every device keeps.
//!
//! Each element is one number from which products are taken away one after the other, each with
//! one rounding. Blocks of elements can therefore be made side by side, in registers or by threads,
//! with the same bits.

/// c − a·b with one rounding.
fn less(c: f64, a: f64, b: f64) -> f64 {
    (-a).mul_add(b, c)
}

/// Lower factor, of the lower triangle; NaN from the first pivot that is not positive.
pub(crate) fn cholesky(n: usize, a: &[f64], l: &mut [f64]) {
    l.fill(0.0);
    for i in 0..n {
        for j in 0..=i {
            let rest = (0..j).fold(a[i * n + j], |c, k| less(c, l[i * n + k], l[j * n + k]));
            l[i * n + j] = if i == j {
                if rest > 0.0 { rest.sqrt() } else { f64::NAN }
            } else {
                rest / l[j * n + j]
            };
        }
    }
}

/// Solves L x = b or Lᵀ x = b in place, `m` columns. Products are taken away in the order in which
/// the rows of x are found: from the first on, or from the last.
pub(crate) fn tri_solve(n: usize, m: usize, l: &[f64], transpose: bool, x: &mut [f64]) {
    for step in 0..n {
        let i = if transpose { n - 1 - step } else { step };
        for c in 0..m {
            let mut rest = x[i * m + c];
            for found in 0..step {
                let k = if transpose { n - 1 - found } else { found };
                let by = if transpose {
                    l[k * n + i]
                } else {
                    l[i * n + k]
                };
                rest = less(rest, by, x[k * m + c]);
            }
            x[i * m + c] = rest / l[i * n + i];
        }
    }
}

/// The adjoint of a symmetric matrix from its factor and the factor's adjoint, of which the lower
/// triangle counts.
///
/// The steps of [`cholesky`] backwards, column by column (Murray, arXiv:1602.07527). With r̄ the
/// adjoint of the element before its division by the pivot, and S = r̄ + r̄ᵀ,
/// r̄ᵢₖ = (l̄ᵢₖ − Σ_{m>k} Sᵢₘ lₘₖ)/lₖₖ below the diagonal and Sₖₖ = (l̄ₖₖ − Σ_{i>k} r̄ᵢₖ lᵢₖ)/lₖₖ on
/// it. The result is S/2. Products are taken away from the last row on; the sum of the diagonal has
/// eight parts, element i − k − 1 goes to part (i − k − 1) mod 8, and they join by halves.
pub(crate) fn cholesky_adjoint(n: usize, l: &[f64], l_bar: &[f64], out: &mut [f64]) {
    for k in (0..n).rev() {
        let pivot = l[k * n + k];
        for i in k + 1..n {
            let rest = (k + 1..n).rev().fold(l_bar[i * n + k], |c, m| {
                less(c, l[m * n + k], out[i * n + m])
            });
            out[i * n + k] = rest / pivot;
            out[k * n + i] = rest / pivot;
        }
        let mut parts = [0.0; 8];
        for i in k + 1..n {
            let part = &mut parts[(i - k - 1) % 8];
            *part = out[k * n + i].mul_add(l[i * n + k], *part);
        }
        for half in [4, 2, 1] {
            (0..half).for_each(|p| parts[p] += parts[p + half]);
        }
        out[k * n + k] = (l_bar[k * n + k] - parts[0]) / pivot;
    }
    out.iter_mut().for_each(|x| *x *= 0.5);
}
