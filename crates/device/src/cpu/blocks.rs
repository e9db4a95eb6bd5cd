//! Products of matrices in registers: blocks of results grow term by term, and each register that is
//! read serves several rows of them. The order of the terms of a result is kept, so its bits do not
//! depend on the blocks.

use crate::lanes::{Kernel, Lanes};
use std::marker::PhantomData;

/// Rows that are made together: a register that is read serves all of them.
pub(super) const GROUP: usize = 4;
/// Terms of the sums whose factors stay near meanwhile.
const NEAR: usize = 256;

/// Where the numbers of a product A·B stand: row r of A and number k, number k of B and its
/// columns side by side.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) a: *const f64,
    pub(super) a_row: isize,
    pub(super) a_k: isize,
    pub(super) b: *const f64,
    pub(super) b_k: isize,
    /// Terms of the sum.
    pub(super) terms: usize,
}

impl Product {
    /// The part of it for rows from `row` on and terms from `term` on.
    fn part(self, row: usize, term: usize, terms: usize) -> Product {
        let (row, term) = (row as isize, term as isize);
        Product {
            a: self.a.wrapping_offset(row * self.a_row + term * self.a_k),
            b: self.b.wrapping_offset(term * self.b_k),
            terms,
            ..self
        }
    }
}

/// C − A·B for `rows` rows of C, `stride` apart, and `columns` columns: each product with the
/// rounding of the difference.
///
/// # Safety
/// All numbers of A, B and C are there, C overlaps none that is read, and beyond them another
/// register can be read.
#[inline(always)]
pub(super) unsafe fn subtract_products<L: Lanes>(
    product: Product,
    c: *mut f64,
    stride: isize,
    rows: usize,
    columns: usize,
) {
    // A function of its own, which is small enough for all of it to be kept in registers.
    L::apart(Blocks::<TakeAway> {
        product,
        c,
        stride,
        rows,
        columns,
        term: PhantomData,
    });
}

/// C + A·B for `rows` rows of C, `stride` apart, and `columns` columns: products are rounded.
///
/// # Safety
/// As for [`subtract_products`].
#[inline(always)]
pub(super) unsafe fn add_products<L: Lanes>(
    product: Product,
    c: *mut f64,
    stride: isize,
    rows: usize,
    columns: usize,
) {
    L::apart(Blocks::<AddUp> {
        product,
        c,
        stride,
        rows,
        columns,
        term: PhantomData,
    });
}

/// What a term does to a result that grows in a register.
trait Term {
    /// The result as it grows, from what stands in memory, and back.
    fn turned<L: Lanes>(result: L) -> L;
    /// One term more.
    fn add<L: Lanes>(a: L, b: L, result: L) -> L;
}

/// Minus the result grows: the bits of its negative, and no sign to turn for each product.
struct TakeAway;

impl Term for TakeAway {
    #[inline(always)]
    fn turned<L: Lanes>(result: L) -> L {
        result.neg()
    }
    #[inline(always)]
    fn add<L: Lanes>(a: L, b: L, result: L) -> L {
        a.fma(b, result)
    }
}

struct AddUp;

impl Term for AddUp {
    #[inline(always)]
    fn turned<L: Lanes>(result: L) -> L {
        result
    }
    #[inline(always)]
    fn add<L: Lanes>(a: L, b: L, result: L) -> L {
        result.add(a.mul(b))
    }
}

/// See [`subtract_products`].
struct Blocks<T> {
    product: Product,
    c: *mut f64,
    stride: isize,
    rows: usize,
    columns: usize,
    term: PhantomData<T>,
}

impl<T: Term> Kernel for Blocks<T> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let p = self.product;
        let wide = if L::N == 8 { 4 } else { 2 } * L::N;
        for term in (0..p.terms).step_by(NEAR) {
            let terms = NEAR.min(p.terms - term);
            for at in (0..self.columns).step_by(wide) {
                let columns = wide.min(self.columns - at);
                for row in (0..self.rows).step_by(GROUP) {
                    let mut part = p.part(row, term, terms);
                    part.b = part.b.wrapping_add(at);
                    let c = self.c.wrapping_offset(row as isize * self.stride);
                    let c = c.wrapping_add(at);
                    // SAFETY: see `subtract_products`.
                    unsafe {
                        match self.rows - row {
                            1 => rows::<T, L, 1>(part, c, self.stride, columns),
                            2 => rows::<T, L, 2>(part, c, self.stride, columns),
                            3 => rows::<T, L, 3>(part, c, self.stride, columns),
                            _ => rows::<T, L, GROUP>(part, c, self.stride, columns),
                        }
                    }
                }
            }
        }
    }
}

/// `R` rows and at most as many columns as a block has.
#[inline(always)]
unsafe fn rows<T: Term, L: Lanes, const R: usize>(
    p: Product,
    c: *mut f64,
    stride: isize,
    columns: usize,
) {
    // SAFETY: passed on; the last register may read beyond the columns, and writes none there.
    unsafe {
        match columns / L::N {
            4 => block::<T, L, R, 4>(p, c, stride, L::N),
            2 if L::N < 8 => block::<T, L, R, 2>(p, c, stride, L::N),
            _ => {
                for at in (0..columns).step_by(L::N) {
                    let mut part = p;
                    part.b = p.b.wrapping_add(at);
                    let last = L::N.min(columns - at);
                    block::<T, L, R, 1>(part, c.add(at), stride, last);
                }
            }
        }
    }
}

/// `R` rows of C and `W` registers of columns, the last with `last` columns.
#[inline(always)]
unsafe fn block<T: Term, L: Lanes, const R: usize, const W: usize>(
    p: Product,
    c: *mut f64,
    stride: isize,
    last: usize,
) {
    // SAFETY: see `rows`.
    unsafe {
        let mut sums = [[L::splat(0.0); W]; R];
        for (r, sums) in sums.iter_mut().enumerate() {
            for (w, sum) in sums.iter_mut().enumerate() {
                *sum = T::turned(L::load(c.offset(r as isize * stride).add(w * L::N)));
            }
        }
        let (mut a, mut b) = (p.a, p.b);
        for _ in 0..p.terms {
            let mut row = [L::splat(0.0); W];
            for (w, row) in row.iter_mut().enumerate() {
                *row = L::load(b.add(w * L::N));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let by = L::splat(*a.offset(r as isize * p.a_row));
                for (sum, row) in sums.iter_mut().zip(row) {
                    *sum = T::add(by, row, *sum);
                }
            }
            (a, b) = (a.wrapping_offset(p.a_k), b.wrapping_offset(p.b_k));
        }
        for (r, sums) in sums.iter().enumerate() {
            for (w, sum) in sums.iter().enumerate() {
                let to = c.offset(r as isize * stride).add(w * L::N);
                if w + 1 < W || last == L::N {
                    T::turned(*sum).store(to);
                } else {
                    let mut block = [0.0; 8];
                    T::turned(*sum).to_block(&mut block, 0);
                    std::ptr::copy_nonoverlapping(block.as_ptr(), to, last);
                }
            }
        }
    }
}
