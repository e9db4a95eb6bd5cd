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
            1 => square::<L, 1, STRIDE>(o, 0, partials, len),
            2 => square::<L, 2, STRIDE>(o, 0, partials, len),
            3 => square::<L, 3, STRIDE>(o, 0, partials, len),
            4 => square::<L, 4, STRIDE>(o, 0, partials, len),
            5 => square::<L, 5, STRIDE>(o, 0, partials, len),
            6 => square::<L, 6, STRIDE>(o, 0, partials, len),
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
                1 => square::<L, 1, STRIDE>(o, first, partials, len),
                2 => square::<L, 2, STRIDE>(o, first, partials, len),
                3 => square::<L, 3, STRIDE>(o, first, partials, len),
                _ => square::<L, 4, STRIDE>(o, first, partials, len),
            }
            for second in (first + GROUP..q).step_by(GROUP) {
                match q - second {
                    1 => rectangle::<L, 1, STRIDE>(o, [first, second], partials, len),
                    2 => rectangle::<L, 2, STRIDE>(o, [first, second], partials, len),
                    3 => rectangle::<L, 3, STRIDE>(o, [first, second], partials, len),
                    _ => rectangle::<L, 4, STRIDE>(o, [first, second], partials, len),
                }
            }
        }
    }
}

/// Which sum the product of columns a ≤ b of q is.
#[inline(always)]
fn pair(q: usize, a: usize, b: usize) -> usize {
    a * q + b - a * (a + 1) / 2
}

/// The products of `P` columns from `first` on among each other.
#[inline(always)]
unsafe fn square<L: Lanes, const P: usize, const STRIDE: usize>(
    o: &Outputs<'_>,
    first: usize,
    partials: *mut f64,
    len: usize,
) {
    let q = o.products.len();
    // SAFETY: see `block`.
    unsafe {
        let mut from = [partials; P];
        for a in 0..P {
            from[a] = o.product(first + a);
        }
        for j in (0..STRIDE).step_by(L::N) {
            let mut sums = [[L::splat(0.0); P]; P];
            for a in 0..P {
                for b in a..P {
                    let to = partials.add(pair(q, first + a, first + b) * PARTIALS + j);
                    sums[a][b] = L::load(to);
                }
            }
            for i in (j..len).step_by(STRIDE) {
                let mut x = [L::splat(0.0); P];
                for a in 0..P {
                    x[a] = L::load(from[a].add(i));
                }
                for a in 0..P {
                    for b in a..P {
                        sums[a][b] = x[a].fma(x[b], sums[a][b]);
                    }
                }
            }
            for a in 0..P {
                for b in a..P {
                    let to = partials.add(pair(q, first + a, first + b) * PARTIALS + j);
                    sums[a][b].store(to);
                }
            }
        }
    }
}

/// The products of `GROUP` columns with `P` later ones.
#[inline(always)]
unsafe fn rectangle<L: Lanes, const P: usize, const STRIDE: usize>(
    o: &Outputs<'_>,
    first: [usize; 2],
    partials: *mut f64,
    len: usize,
) {
    let q = o.products.len();
    // SAFETY: see `block`.
    unsafe {
        let mut left = [partials; GROUP];
        let mut right = [partials; P];
        for a in 0..GROUP {
            left[a] = o.product(first[0] + a);
        }
        for b in 0..P {
            right[b] = o.product(first[1] + b);
        }
        for j in (0..STRIDE).step_by(L::N) {
            let mut sums = [[L::splat(0.0); P]; GROUP];
            for a in 0..GROUP {
                for b in 0..P {
                    let at = pair(q, first[0] + a, first[1] + b);
                    sums[a][b] = L::load(partials.add(at * PARTIALS + j));
                }
            }
            for i in (j..len).step_by(STRIDE) {
                let mut x = [L::splat(0.0); P];
                for b in 0..P {
                    x[b] = L::load(right[b].add(i));
                }
                for a in 0..GROUP {
                    let y = L::load(left[a].add(i));
                    for b in 0..P {
                        sums[a][b] = y.fma(x[b], sums[a][b]);
                    }
                }
            }
            for a in 0..GROUP {
                for b in 0..P {
                    let at = pair(q, first[0] + a, first[1] + b);
                    sums[a][b].store(partials.add(at * PARTIALS + j));
                }
            }
        }
    }
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
