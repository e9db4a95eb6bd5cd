//! Products of a tile of rows and a weight matrix, without packing.

use super::number::{Kernel, Number};
use super::wide::Wide;
use crate::lanes::Level;

/// What the result starts from.
#[derive(Clone, Copy)]
pub(super) enum Start<'a, E> {
    /// Nothing.
    Zero,
    /// What it holds already.
    Keep,
    /// The same row everywhere: a bias.
    Row(&'a [E]),
}

/// A matrix that is read: element (i, k) stands at `i·row + k·column`.
#[derive(Clone, Copy)]
pub(super) struct Left<'a, E> {
    /// Its numbers.
    pub(super) values: &'a [E],
    /// From one row to the next.
    pub(super) row: usize,
    /// From one column to the next.
    pub(super) column: usize,
}

impl<'a, E> Left<'a, E> {
    /// Numbers that stand row by row, `n` in each.
    pub(super) fn by_rows(values: &'a [E], n: usize) -> Self {
        Left {
            values,
            row: n,
            column: 1,
        }
    }

    /// The transpose of a matrix that stands row by row, `n` numbers in each.
    pub(super) fn transposed(values: &'a [E], n: usize) -> Self {
        Left {
            values,
            row: 1,
            column: n,
        }
    }
}

/// c ← start + a·b for a of m × k, b of k × n and c of m × n, b and c stored row by row.
///
/// Every element is one chain of fused multiply-adds over k, in order, so the result does not
/// depend on the level or on how rows are cut.
///
/// # Panics
/// If a slice is too short.
#[inline]
pub(super) fn product<E: Number>(
    level: Level,
    (m, n, k): (usize, usize, usize),
    a: Left<'_, E>,
    b: &[E],
    c: &mut [E],
    start: Start<'_, E>,
) {
    if m == 0 || n == 0 {
        return;
    }
    let reach = if k == 0 {
        0
    } else {
        (m - 1) * a.row + (k - 1) * a.column + 1
    };
    assert!(a.values.len() >= reach && b.len() >= k * n && c.len() >= m * n);
    if let Start::Row(row) = start {
        assert!(row.len() >= n);
    }
    E::run(
        level,
        Product {
            m,
            n,
            k,
            a,
            b,
            c,
            start,
        },
    );
}

struct Product<'a, E> {
    m: usize,
    n: usize,
    k: usize,
    a: Left<'a, E>,
    b: &'a [E],
    c: &'a mut [E],
    start: Start<'a, E>,
}

impl<E: Number> Kernel<E> for Product<'_, E> {
    #[inline(always)]
    fn run<W: Wide<E>>(self) {
        let mut job = self;
        let mut column = 0;
        while column < job.n {
            let left = job.n - column;
            if W::COLUMNS == 4 && left >= 64 {
                rows::<E, W, 4>(&mut job, column, 16);
                column += 64;
            } else if W::COLUMNS == 4 && left >= 32 {
                rows::<E, W, 2>(&mut job, column, 16);
                column += 32;
            } else {
                rows::<E, W, 1>(&mut job, column, left.min(16));
                column += 16;
            }
        }
    }
}

/// All rows of `V` columns of sixteen, the last of which has `width`.
#[inline(always)]
fn rows<E: Number, W: Wide<E>, const V: usize>(
    job: &mut Product<'_, E>,
    column: usize,
    width: usize,
) {
    let mut row = 0;
    while row + 6 <= job.m {
        tile::<E, W, 6, V>(job, row, column, width);
        row += 6;
    }
    if row + 4 <= job.m {
        tile::<E, W, 4, V>(job, row, column, width);
        row += 4;
    }
    if row + 2 <= job.m {
        tile::<E, W, 2, V>(job, row, column, width);
        row += 2;
    }
    if row < job.m {
        tile::<E, W, 1, V>(job, row, column, width);
    }
}

/// `M` rows and `V` columns of sixteen, held in registers.
#[inline(always)]
fn tile<E: Number, W: Wide<E>, const M: usize, const V: usize>(
    job: &mut Product<'_, E>,
    row: usize,
    column: usize,
    width: usize,
) {
    let (n, part) = (job.n, width < 16);
    let mut sums = [[W::splat(E::default()); V]; M];
    // SAFETY: `product` checked that rows `row..row + M` of a and c, all k rows of b, and columns
    // `column..column + 16 (V − 1) + width` lie inside their slices.
    unsafe {
        let c = job.c.as_mut_ptr().add(row * n + column);
        match job.start {
            Start::Zero => {}
            Start::Keep => {
                for i in 0..M {
                    for v in 0..V {
                        sums[i][v] = get::<E, W>(c.add(i * n + 16 * v), part, width);
                    }
                }
            }
            Start::Row(bias) => {
                for v in 0..V {
                    let from = bias.as_ptr().add(column + 16 * v);
                    let value = get::<E, W>(from, part, width);
                    for line in &mut sums {
                        line[v] = value;
                    }
                }
            }
        }
        let mut a = job.a.values.as_ptr().add(row * job.a.row);
        let mut b = job.b.as_ptr().add(column);
        for _ in 0..job.k {
            let mut line = [W::splat(E::default()); V];
            for v in 0..V {
                line[v] = get::<E, W>(b.add(16 * v), part, width);
            }
            for i in 0..M {
                let x = W::splat(*a.add(i * job.a.row));
                for v in 0..V {
                    sums[i][v] = x.fma(line[v], sums[i][v]);
                }
            }
            a = a.wrapping_add(job.a.column);
            b = b.wrapping_add(n);
        }
        for i in 0..M {
            for v in 0..V {
                let to = c.add(i * n + 16 * v);
                if part {
                    sums[i][v].store_part(to, width);
                } else {
                    sums[i][v].store(to);
                }
            }
        }
    }
}

/// Sixteen numbers, or the `width` there are.
///
/// # Safety
/// `from` must be readable for sixteen numbers, for `width` where `part`.
#[inline(always)]
unsafe fn get<E, W: Wide<E>>(from: *const E, part: bool, width: usize) -> W {
    // SAFETY: the caller's promise.
    unsafe {
        if part {
            W::load_part(from, width)
        } else {
            W::load(from)
        }
    }
}
