//! Products of a data matrix with a vector, panel by panel: 32 rows, one column after the other.
//!
//! A block of rows runs through the product with the coefficients, the instructions that follow,
//! and the transposed product before the next block starts. Blocks are as short as it takes to
//! keep their part of the matrix in the first cache meanwhile, so that it is read once from
//! further away. Asking for the next block beforehand was tried, and cost more than it gained.

use super::program::{MatrixPlan, PARTIALS};
use crate::lanes::Lanes;

/// Registers that are added up side by side, to hide the latency of additions.
const ABREAST: usize = 4;

/// Σ over columns of column·v, in the order of the columns, for `len` rows from the panel on.
#[inline(always)]
pub(super) unsafe fn mat_vec<L: Lanes>(
    panel: *const f64,
    m: &MatrixPlan,
    v: *const f64,
    to: *mut f64,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`; panels are whole, and what is computed beyond `len` stays inside
    // the block or the slack.
    unsafe {
        for row in (0..len).step_by(PARTIALS) {
            let panel = panel.add(row * m.columns);
            for part in (0..PARTIALS.min(len - row)).step_by(ABREAST * L::N) {
                let mut s = [L::splat(0.0); ABREAST];
                for c in 0..m.columns {
                    let (column, x) = (panel.add(c * PARTIALS + part), L::splat(*v.add(c)));
                    for (r, s) in s.iter_mut().enumerate() {
                        *s = L::load(column.add(r * L::N)).fma(x, *s);
                    }
                }
                for (r, s) in s.into_iter().enumerate() {
                    let k = part + r * L::N;
                    if k < len - row {
                        s.store(to.add(row + k));
                    }
                }
            }
        }
    }
}

/// Adds column·g to the 32 partial sums of each column, for `len` rows from the panel on.
#[inline(always)]
pub(super) unsafe fn mat_vec_transposed<L: Lanes>(
    panel: *const f64,
    m: &MatrixPlan,
    partials: *mut f64,
    g: *const f64,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`; panels are whole, and of `g` only `len` numbers are read.
    unsafe {
        let whole = len / PARTIALS * PARTIALS;
        for row in (0..whole).step_by(PARTIALS) {
            let (panel, g) = (panel.add(row * m.columns), g.add(row));
            for part in (0..PARTIALS).step_by(ABREAST * L::N) {
                let mut weight = [L::splat(0.0); ABREAST];
                for (r, weight) in weight.iter_mut().enumerate() {
                    *weight = L::load(g.add(part + r * L::N));
                }
                for c in 0..m.columns {
                    let at = c * PARTIALS + part;
                    for (r, &weight) in weight.iter().enumerate() {
                        let sum = partials.add(at + r * L::N);
                        let column = L::load(panel.add(at + r * L::N));
                        column.fma(weight, L::load(sum)).store(sum);
                    }
                }
            }
        }
        let panel = panel.add(whole * m.columns);
        let (g, left) = (g.add(whole), len - whole);
        let full = left / L::N * L::N;
        for c in 0..m.columns {
            let (column, sum) = (panel.add(c * PARTIALS), partials.add(c * PARTIALS));
            for k in (0..full).step_by(L::N) {
                let s = L::load(column.add(k)).fma(L::load(g.add(k)), L::load(sum.add(k)));
                s.store(sum.add(k));
            }
            for k in full..left {
                let p = sum.add(k);
                *p = Lanes::fma(*column.add(k), *g.add(k), *p);
            }
        }
    }
}
