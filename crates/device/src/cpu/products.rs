//! Products of a data matrix with a vector, panel by panel: 32 rows, one column after the other.
//!
//! A block of rows runs through the product with the coefficients, the instructions that follow,
//! and the transposed product before the next block starts. Blocks are as short as it takes to
//! keep their part of the matrix in the first cache meanwhile, so that it is read once from
//! further away. Asking for the next block beforehand was tried, and cost more than it gained.

use super::program::{MatrixPlan, PARTIALS};
use crate::lanes::Lanes;

/// Σ over columns of column·v, in the order of the columns, for `len` rows from the panel on.
///
/// Eight registers are added up side by side, to hide the latency of additions.
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
        let mut row = 0;
        while row < len {
            let (panel, to, left) = (panel.add(row * m.columns), to.add(row), len - row);
            row += match 8 * L::N > PARTIALS && left > PARTIALS {
                true => add_columns::<L, 2, 4>(panel, m, v, to, left),
                false => add_columns::<L, 1, 8>(panel, m, v, to, left),
            };
        }
    }
}

/// [`mat_vec`] for the rows of `PANELS` panels, `WIDE` registers of each at a time. Gives their
/// number.
#[inline(always)]
unsafe fn add_columns<L: Lanes, const PANELS: usize, const WIDE: usize>(
    panel: *const f64,
    m: &MatrixPlan,
    v: *const f64,
    to: *mut f64,
    len: usize,
) -> usize {
    // SAFETY: see `mat_vec`.
    unsafe {
        for part in (0..PARTIALS).step_by(WIDE * L::N) {
            let mut s = [[L::splat(0.0); WIDE]; PANELS];
            for c in 0..m.columns {
                let x = L::splat(*v.add(c));
                for (p, s) in s.iter_mut().enumerate() {
                    let column = panel.add((p * m.columns + c) * PARTIALS + part);
                    for (r, s) in s.iter_mut().enumerate() {
                        if part + r * L::N < PARTIALS {
                            *s = L::load(column.add(r * L::N)).fma(x, *s);
                        }
                    }
                }
            }
            for (p, s) in s.into_iter().enumerate() {
                for (r, s) in s.into_iter().enumerate() {
                    let k = part + r * L::N;
                    if k < PARTIALS && p * PARTIALS + k < len {
                        s.store(to.add(p * PARTIALS + k));
                    }
                }
            }
        }
    }
    PANELS * PARTIALS
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
        let mut row = 0;
        while row < whole {
            let (panel, g) = (panel.add(row * m.columns), g.add(row));
            row += match (whole - row) / PARTIALS {
                1 => add_panels::<L, 1, 4>(panel, m, partials, g),
                2 | 3 => add_panels::<L, 2, 4>(panel, m, partials, g),
                _ => add_panels::<L, 4, 2>(panel, m, partials, g),
            };
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

/// [`mat_vec_transposed`] for the rows of `PANELS` panels, `WIDE` registers of each at a time, so that
/// a partial sum is read and written once for all of them. Gives their number.
#[inline(always)]
unsafe fn add_panels<L: Lanes, const PANELS: usize, const WIDE: usize>(
    panel: *const f64,
    m: &MatrixPlan,
    partials: *mut f64,
    g: *const f64,
) -> usize {
    // SAFETY: see `mat_vec_transposed`.
    unsafe {
        for part in (0..PARTIALS).step_by(WIDE * L::N) {
            let mut weight = [[L::splat(0.0); WIDE]; PANELS];
            for (p, weight) in weight.iter_mut().enumerate() {
                for (r, weight) in weight.iter_mut().enumerate() {
                    *weight = L::load(g.add(p * PARTIALS + part + r * L::N));
                }
            }
            for c in 0..m.columns {
                for r in 0..WIDE {
                    let at = part + r * L::N;
                    let sum = partials.add(c * PARTIALS + at);
                    let mut s = L::load(sum);
                    for (p, weight) in weight.iter().enumerate() {
                        let column = panel.add((p * m.columns + c) * PARTIALS + at);
                        s = L::load(column).fma(weight[r], s);
                    }
                    s.store(sum);
                }
            }
        }
    }
    PANELS * PARTIALS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{Kernel, Level};

    const COLUMNS: usize = 5;

    /// Both products over `len` rows, the first once more with other widths.
    struct Products {
        len: usize,
    }

    impl Kernel for Products {
        type Output = [Vec<f64>; 3];

        fn run<L: Lanes>(self) -> [Vec<f64>; 3] {
            let panels = self.len.div_ceil(PARTIALS).next_multiple_of(2);
            let number = |k: usize| ((k * 2_654_435_761) % 1_000) as f64 / 7.0 - 60.0;
            let matrix: Vec<f64> = (0..panels * PARTIALS * COLUMNS).map(number).collect();
            let g: Vec<f64> = (0..self.len).map(|k| number(k + 17)).collect();
            let v: Vec<f64> = (0..COLUMNS).map(|k| number(k + 5)).collect();
            let [mut one, mut other] = [(); 2].map(|()| vec![0.0; panels * PARTIALS]);
            let mut partials: Vec<f64> = (0..COLUMNS * PARTIALS).map(number).collect();
            let m = MatrixPlan {
                at: 0,
                columns: COLUMNS,
                first_sum: 0,
            };
            let (panel, v) = (matrix.as_ptr(), v.as_ptr());
            // SAFETY: all panels are whole, and there is room for the rows of all of them.
            unsafe {
                mat_vec::<L>(panel, &m, v, one.as_mut_ptr(), self.len);
                for row in (0..self.len).step_by(2 * PARTIALS) {
                    let (panel, to) = (panel.add(row * COLUMNS), other.as_mut_ptr().add(row));
                    add_columns::<L, 2, 4>(panel, &m, v, to, self.len - row);
                }
                mat_vec_transposed::<L>(panel, &m, partials.as_mut_ptr(), g.as_ptr(), self.len);
            }
            let [one, other] = [one, other].map(|rows| rows[..self.len].to_vec());
            [one, other, partials]
        }
    }

    /// The sums of one panel at a time, in the order of rows.
    #[test]
    fn every_width_and_number_of_panels_gives_the_same_bits() {
        for len in [1, 31, 32, 33, 64, 95, 96, 128, 160, 224, 256] {
            let [rows, others, sums] = Level::Scalar.run(Products { len });
            assert_eq!(rows, others, "{len} rows");
            for level in Level::available() {
                let [r, o, s] = level.run(Products { len });
                assert!(r == rows && o == rows && s == sums, "{level:?}, {len} rows");
            }
        }
    }
}
