//! Factors of dense matrices, and what is solved by them: the order of operations of
//! [`fitzroy_graph::reference`], so the same bits, whole registers of elements at a time.
//!
//! Everything is made in bands of rows, and in each band in groups. What the rows outside a band take
//! away comes first, by [`subtract_products`], which does nearly all of the work; then, for each
//! group, what the other rows of its band do; the rest stays in the group.

use super::blocks::{GROUP, Product, subtract_products};
use super::program::{KernelPlan, base};
use crate::lanes::Lanes;
use fitzroy_graph::Op;

/// Rows for which a part of a matrix is fetched from further away once.
const BAND: usize = 48;

/// One step on a matrix: see [`KernelPlan::is_dense`].
///
/// # Safety
/// The plan's arrays lie inside these arenas, with room for a register beyond their ends, and the
/// result overlaps no input.
#[inline(always)]
pub(super) unsafe fn run<L: Lanes>(plan: &KernelPlan, work: *mut f64, fixed: *const f64) {
    // SAFETY: passed on.
    unsafe {
        let input = |k: usize| base(plan.inputs[k].0, work, fixed);
        let (n, len, out) = (plan.side, plan.len, work.add(plan.to));
        match plan.op {
            Op::Cholesky => cholesky::<L>(n, input(0), out),
            Op::CholeskyAdjoint => cholesky_adjoint::<L>(n, input(0), input(1), out),
            Op::TriSolve { transpose } => {
                std::ptr::copy_nonoverlapping(input(1), out, len);
                match (len / n.max(1), transpose) {
                    (1, false) => solve_vector(n, input(0), out),
                    (1, true) => solve_vector_transposed::<L>(n, input(0), out),
                    (m, _) => solve::<L>(n, m, input(0), transpose, out),
                }
            }
            ref other => unreachable!("{other:?} is no step on a dense matrix"),
        }
    }
}

/// to − by·from over `len` numbers.
#[inline(always)]
unsafe fn subtract_row<L: Lanes>(to: *mut f64, by: f64, from: *const f64, len: usize) {
    // SAFETY: passed on.
    unsafe {
        let full = len - len % L::N;
        for k in (0..full).step_by(L::N) {
            let x = L::splat(-by).fma(L::load(from.add(k)), L::load(to.add(k)));
            x.store(to.add(k));
        }
        for k in full..len {
            *to.add(k) = Lanes::fma(-by, *from.add(k), *to.add(k));
        }
    }
}

/// row / by over `len` numbers.
#[inline(always)]
unsafe fn divide_row<L: Lanes>(row: *mut f64, by: f64, len: usize) {
    // SAFETY: passed on.
    unsafe {
        let full = len - len % L::N;
        for k in (0..full).step_by(L::N) {
            L::load(row.add(k)).div(L::splat(by)).store(row.add(k));
        }
        (full..len).for_each(|k| *row.add(k) /= by);
    }
}

/// Copies the lower triangle of `from` to the upper one of `to`, or the upper one to the lower.
#[inline(always)]
unsafe fn transpose_triangle(n: usize, from: *const f64, to: *mut f64, lower: bool) {
    // In squares, so that the lines of both are used whole.
    const SIDE: usize = 8;
    // SAFETY: both are n × n.
    unsafe {
        for i0 in (0..n).step_by(SIDE) {
            for j0 in (0..=i0).step_by(SIDE) {
                for i in i0..n.min(i0 + SIDE) {
                    for j in j0..(i + 1).min(j0 + SIDE) {
                        if lower {
                            *to.add(j * n + i) = *from.add(i * n + j);
                        } else {
                            *to.add(i * n + j) = *from.add(j * n + i);
                        }
                    }
                }
            }
        }
    }
}

/// The factor is made by columns, which are rows of its transpose in the upper triangle.
#[inline(always)]
unsafe fn cholesky<L: Lanes>(n: usize, a: *const f64, out: *mut f64) {
    // SAFETY: see `run`.
    unsafe {
        transpose_triangle(n, a, out, true);
        // What rows `from` to `first` take away from the rows that come.
        let subtract = |from: usize, first: usize, rows: usize| {
            let product = Product {
                a: out.add(from * n + first),
                a_row: 1,
                a_k: n as isize,
                b: out.add(from * n + first),
                b_k: n as isize,
                terms: first - from,
            };
            subtract_products::<L>(
                product,
                out.add(first * n + first),
                n as isize,
                rows,
                n - first,
            );
        };
        for band in (0..n).step_by(BAND) {
            let end = n.min(band + BAND);
            subtract(0, band, end - band);
            for first in (band..end).step_by(GROUP) {
                let rows = GROUP.min(end - first);
                subtract(band, first, rows);
                for j in first..first + rows {
                    let row = out.add(j * n + j);
                    for k in first..j {
                        let other = out.add(k * n + j);
                        subtract_row::<L>(row, *other, other, n - j);
                    }
                    let pivot = if *row > 0.0 {
                        row.read().sqrt()
                    } else {
                        f64::NAN
                    };
                    *row = pivot;
                    divide_row::<L>(row.add(1), pivot, n - j - 1);
                }
            }
        }
        transpose_triangle(n, out, out, false);
        for i in 0..n {
            out.add(i * n + i + 1).write_bytes(0, n - i - 1);
        }
    }
}

/// Solves L x = b or Lᵀ x = b in place, `m` columns. Rows are counted in the order in which they are
/// found, the last one of Lᵀ x = b first.
#[inline(always)]
unsafe fn solve<L: Lanes>(n: usize, m: usize, l: *const f64, transpose: bool, x: *mut f64) {
    let (side, columns) = (n as isize, m as isize);
    let (a_row, a_k, x_row) = if transpose {
        (-1, -side, -columns)
    } else {
        (side, 1, columns)
    };
    let row = |found: usize| if transpose { n - 1 - found } else { found };
    let factor = |i: usize, k: usize| match transpose {
        false => l.wrapping_add(row(i) * n + row(k)),
        true => l.wrapping_add(row(k) * n + row(i)),
    };
    let solution = |i: usize| x.wrapping_add(row(i) * m);
    // What rows `from` to `first` take away from the rows that come.
    let subtract = |from: usize, first: usize, rows: usize| {
        let product = Product {
            a: factor(first, from),
            a_row,
            a_k,
            b: solution(from),
            b_k: x_row,
            terms: first - from,
        };
        // SAFETY: see `run`.
        unsafe { subtract_products::<L>(product, solution(first), x_row, rows, m) }
    };
    for band in (0..n).step_by(BAND) {
        let end = n.min(band + BAND);
        subtract(0, band, end - band);
        for first in (band..end).step_by(GROUP) {
            let rows = GROUP.min(end - first);
            subtract(band, first, rows);
            for i in first..first + rows {
                // SAFETY: as above.
                unsafe {
                    for k in first..i {
                        subtract_row::<L>(solution(i), *factor(i, k), solution(k), m);
                    }
                    divide_row::<L>(solution(i), *factor(i, i), m);
                }
            }
        }
    }
}

/// L x = b for a vector: eight rows at a time, so that one does not wait for the other.
#[inline(always)]
unsafe fn solve_vector(n: usize, l: *const f64, x: *mut f64) {
    const ROWS: usize = 8;
    // SAFETY: see `run`.
    unsafe {
        for first in (0..n).step_by(ROWS) {
            if first + ROWS <= n {
                let mut rest = [0.0; ROWS];
                rest.as_mut_ptr().copy_from(x.add(first), ROWS);
                for k in 0..first {
                    let known = -*x.add(k);
                    for (r, rest) in rest.iter_mut().enumerate() {
                        *rest = Lanes::fma(known, *l.add((first + r) * n + k), *rest);
                    }
                }
                x.add(first).copy_from(rest.as_ptr(), ROWS);
            }
            let known = if first + ROWS <= n { first } else { 0 };
            for i in first..n.min(first + ROWS) {
                let mut rest = *x.add(i);
                for k in known..i {
                    rest = Lanes::fma(-*x.add(k), *l.add(i * n + k), rest);
                }
                *x.add(i) = rest / *l.add(i * n + i);
            }
        }
    }
}

/// Lᵀ x = b for a vector: a number that is known is taken away from all before it.
#[inline(always)]
unsafe fn solve_vector_transposed<L: Lanes>(n: usize, l: *const f64, x: *mut f64) {
    // SAFETY: see `run`.
    unsafe {
        for k in (0..n).rev() {
            *x.add(k) /= *l.add(k * n + k);
            subtract_row::<L>(x, *x.add(k), l.add(k * n), k);
        }
    }
}

/// The steps of [`cholesky`] backwards, from the last band of columns to the first. Sums of their
/// elements begin with the last row.
#[inline(always)]
unsafe fn cholesky_adjoint<L: Lanes>(n: usize, l: *const f64, l_bar: *const f64, out: *mut f64) {
    // SAFETY: see `run`.
    unsafe {
        transpose_triangle(n, l_bar, out, true);
        // What rows before `last`, down to `after`, take away from some rows, in the columns from
        // `from` to `to`.
        let subtract =
            |first: usize, rows: usize, [after, last]: [usize; 2], [from, to]: [usize; 2]| {
                let product = Product {
                    a: l.wrapping_add(last * n + first).wrapping_sub(n),
                    a_row: 1,
                    a_k: -(n as isize),
                    b: out.wrapping_add(last * n + from).wrapping_sub(n),
                    b_k: -(n as isize),
                    terms: last - after,
                };
                let rest = out.wrapping_add(first * n + from);
                subtract_products::<L>(product, rest, n as isize, rows, to - from);
            };
        for band in (0..n).step_by(BAND).rev() {
            let band_end = n.min(band + BAND);
            subtract(band, band_end - band, [band_end, n], [band_end, n]);
            for first in (band..band_end).step_by(GROUP).rev() {
                let end = band_end.min(first + GROUP);
                subtract(first, end - first, [end, band_end], [band_end, n]);
                subtract(first, end - first, [end, n], [end, band_end]);
                for k in (first..end).rev() {
                    column_of_adjoint::<L>(n, l, out, k, end);
                }
                // What follows reads whole rows.
                for i in first + 1..n {
                    for k in first..end.min(i) {
                        *out.add(i * n + k) = *out.add(k * n + i);
                    }
                }
            }
        }
        for i in 0..n {
            let row = out.add(i * n);
            (0..n).for_each(|k| *row.add(k) *= 0.5);
        }
    }
}

/// Column `k` of the adjoint, in its row of the upper triangle, after what rows from `end` on, where
/// its group ends, have been taken away from the elements beyond the group.
#[inline(always)]
unsafe fn column_of_adjoint<L: Lanes>(
    n: usize,
    l: *const f64,
    out: *mut f64,
    k: usize,
    end: usize,
) {
    // SAFETY: see `run`.
    unsafe {
        let (row, pivot) = (out.add(k * n), *l.add(k * n + k));
        within(n, l, out, k, end);
        for m in (k + 1..end).rev() {
            let other = out.add(m * n + end);
            subtract_row::<L>(row.add(end), *l.add(m * n + k), other, n - end);
        }
        divide_row::<L>(row.add(k + 1), pivot, n - k - 1);
        let mut parts = [0.0; 8];
        for i in k + 1..n {
            let part = &mut parts[(i - k - 1) % 8];
            *part = Lanes::fma(*row.add(i), *l.add(i * n + k), *part);
        }
        for half in [4, 2, 1] {
            (0..half).for_each(|p| parts[p] += parts[p + half]);
        }
        *row.add(k) = (*row.add(k) - parts[0]) / pivot;
    }
}

/// Elements of row `k` inside its group, which ends at `end`: they need the rows of the group.
#[inline(always)]
unsafe fn within(n: usize, l: *const f64, out: *mut f64, k: usize, end: usize) {
    let mut rest = [0.0; GROUP];
    let inside = k + 1..end;
    // SAFETY: see `run`.
    unsafe {
        for (rest, i) in rest.iter_mut().zip(inside.clone()) {
            *rest = *out.add(k * n + i);
        }
        for m in (end..n).rev() {
            let by = -*l.add(m * n + k);
            for (rest, i) in rest.iter_mut().zip(inside.clone()) {
                *rest = Lanes::fma(by, *out.add(i * n + m), *rest);
            }
        }
        for (rest, i) in rest.iter_mut().zip(inside) {
            for m in (k + 1..end).rev() {
                let s = *out.add(i.min(m) * n + i.max(m));
                *rest = Lanes::fma(-*l.add(m * n + k), s, *rest);
            }
            *out.add(k * n + i) = *rest;
        }
    }
}
