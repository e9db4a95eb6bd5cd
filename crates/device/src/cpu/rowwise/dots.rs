//! Sums of products of columns in cache: as many accumulators as fit in registers at once.
//!
//! Sum s has `STRIDE` partials from `partials + s · PARTIALS` on; row i goes to partial
//! i mod `STRIDE`. A triangle of up to six columns is one loop (21 accumulators and 6 columns of
//! AVX-512's 32 registers); a larger one is cut into groups of four columns.

use super::super::program::PARTIALS;
use super::execute::Outputs;
use crate::lanes::Lanes;

/// Columns of a group in a larger triangle.
const GROUP: usize = 4;

/// Adds a block of `len` rows, a multiple of `STRIDE`.
#[inline(always)]
pub(super) unsafe fn block<L: Lanes, const STRIDE: usize>(
    o: &Outputs<'_>,
    partials: *mut f64,
    len: usize,
) {
    let q = o.products.len();
    // SAFETY: see `Run::run`; sums have room for `PARTIALS` numbers each.
    unsafe {
        match q {
            0 => {}
            1 => square1::<L, STRIDE>(o, 0, partials, len),
            2 => square2::<L, STRIDE>(o, 0, partials, len),
            3 => square3::<L, STRIDE>(o, 0, partials, len),
            4 => square4::<L, STRIDE>(o, 0, partials, len),
            5 => square5::<L, STRIDE>(o, 0, partials, len),
            6 => square6::<L, STRIDE>(o, 0, partials, len),
            _ => groups::<L, STRIDE>(o, partials, len),
        }
        for k in 0..o.alone.len() {
            let from = o.alone(k);
            let to = partials.add((q * (q + 1) / 2 + k) * PARTIALS);
            for j in (0..STRIDE).step_by(L::N) {
                let mut sum = L::load(to.add(j));
                for i in (j..len).step_by(STRIDE) {
                    sum = sum.add(L::load(from.add(i)));
                }
                sum.store(to.add(j));
            }
        }
    }
}

#[inline(always)]
unsafe fn groups<L: Lanes, const STRIDE: usize>(o: &Outputs<'_>, partials: *mut f64, len: usize) {
    let q = o.products.len();
    // SAFETY: see `block`.
    unsafe {
        for first in (0..q).step_by(GROUP) {
            match q - first {
                1 => square1::<L, STRIDE>(o, first, partials, len),
                2 => square2::<L, STRIDE>(o, first, partials, len),
                3 => square3::<L, STRIDE>(o, first, partials, len),
                _ => square4::<L, STRIDE>(o, first, partials, len),
            }
            for second in (first + GROUP..q).step_by(GROUP) {
                match q - second {
                    1 => rectangle1::<L, STRIDE>(o, [first, second], partials, len),
                    2 => rectangle2::<L, STRIDE>(o, [first, second], partials, len),
                    3 => rectangle3::<L, STRIDE>(o, [first, second], partials, len),
                    _ => rectangle4::<L, STRIDE>(o, [first, second], partials, len),
                }
            }
        }
    }
}

/// Where the partials of the product of columns a and b of q begin.
#[inline(always)]
fn place(q: usize, a: usize, b: usize) -> usize {
    let (a, b) = if a < b { (a, b) } else { (b, a) };
    (a * q + b - a * (a + 1) / 2) * PARTIALS
}

// Indices are written out by macros, so that accumulators have constant places and can stay in
// registers.

/// The products of some columns, from `first` on, among each other.
macro_rules! squares {
    ($($name:ident: $($a:literal [$($b:literal)*]),*;)*) => {$(
        #[inline(always)]
        unsafe fn $name<L: Lanes, const STRIDE: usize>(
            o: &Outputs<'_>,
            first: usize,
            partials: *mut f64,
            len: usize,
        ) {
            let q = o.products.len();
            // SAFETY: see `block`.
            unsafe {
                let from = [$(o.product(first + $a)),*];
                for j in (0..STRIDE).step_by(L::N) {
                    let to = [$([$(partials.add(place(q, first + $a, first + $b) + j)),*]),*];
                    // What lies below the diagonal is never used.
                    let mut sums = [$([$(L::load(to[$a][$b])),*]),*];
                    for i in (j..len).step_by(STRIDE) {
                        let x = [$(L::load(from[$a].add(i))),*];
                        $($(if $b >= $a {
                            sums[$a][$b] = x[$a].fma(x[$b], sums[$a][$b]);
                        })*)*
                    }
                    $($(if $b >= $a {
                        sums[$a][$b].store(to[$a][$b]);
                    })*)*
                }
            }
        }
    )*};
}
squares! {
    square1: 0 [0];
    square2: 0 [0 1], 1 [0 1];
    square3: 0 [0 1 2], 1 [0 1 2], 2 [0 1 2];
    square4: 0 [0 1 2 3], 1 [0 1 2 3], 2 [0 1 2 3], 3 [0 1 2 3];
    square5: 0 [0 1 2 3 4], 1 [0 1 2 3 4], 2 [0 1 2 3 4], 3 [0 1 2 3 4], 4 [0 1 2 3 4];
    square6: 0 [0 1 2 3 4 5], 1 [0 1 2 3 4 5], 2 [0 1 2 3 4 5], 3 [0 1 2 3 4 5], 4 [0 1 2 3 4 5], 5 [0 1 2 3 4 5];
}

/// The products of `GROUP` columns with some later ones.
macro_rules! rectangles {
    ($($name:ident, $right:tt: $($a:literal [$($b:literal)*]),*;)*) => {$(
        #[inline(always)]
        unsafe fn $name<L: Lanes, const STRIDE: usize>(
            o: &Outputs<'_>,
            first: [usize; 2],
            partials: *mut f64,
            len: usize,
        ) {
            let q = o.products.len();
            // SAFETY: see `block`.
            unsafe {
                let left = [$(o.product(first[0] + $a)),*];
                let right = rectangles!(@right o, first, $right);
                for j in (0..STRIDE).step_by(L::N) {
                    let to = [$([$(partials.add(place(q, first[0] + $a, first[1] + $b) + j)),*]),*];
                    let mut sums = [$([$(L::load(to[$a][$b])),*]),*];
                    for i in (j..len).step_by(STRIDE) {
                        $(
                            let y = L::load(left[$a].add(i));
                            $(sums[$a][$b] = y.fma(L::load(right[$b].add(i)), sums[$a][$b]);)*
                        )*
                    }
                    $($(sums[$a][$b].store(to[$a][$b]);)*)*
                }
            }
        }
    )*};
    (@right $o:ident, $first:ident, [$($b:literal)*]) => {
        [$($o.product($first[1] + $b)),*]
    };
}
rectangles! {
    rectangle1, [0]: 0 [0], 1 [0], 2 [0], 3 [0];
    rectangle2, [0 1]: 0 [0 1], 1 [0 1], 2 [0 1], 3 [0 1];
    rectangle3, [0 1 2]: 0 [0 1 2], 1 [0 1 2], 2 [0 1 2], 3 [0 1 2];
    rectangle4, [0 1 2 3]: 0 [0 1 2 3], 1 [0 1 2 3], 2 [0 1 2 3], 3 [0 1 2 3];
}

/// Joins the partials of every sum by halves (16, 8, 4, 2, 1) and clears them.
#[inline(always)]
pub(super) unsafe fn close<L: Lanes>(partials: *mut f64, sums: &mut [f64]) {
    // SAFETY: see `block`.
    unsafe {
        for (k, sum) in sums.iter_mut().enumerate() {
            let p = partials.add(k * PARTIALS);
            for half in [16, 8] {
                for j in (0..half).step_by(L::N) {
                    let joined = L::load(p.add(j)).add(L::load(p.add(j + half)));
                    joined.store(p.add(j));
                }
            }
            let c = |j: usize| *p.add(j);
            *sum = ((c(0) + c(4)) + (c(2) + c(6))) + ((c(1) + c(5)) + (c(3) + c(7)));
            p.write_bytes(0, PARTIALS);
        }
    }
}
