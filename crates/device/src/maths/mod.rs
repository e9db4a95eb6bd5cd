//! Vector maths: every function written once over [`Lanes`], branch-free, the same bits at every
//! level.
//!
//! Accuracy is stated per function in ulp (units in the last place of the exact result) and held
//! by `tests/maths.rs` against tables from mpmath. NaN in gives NaN out, except where `pow` says
//! otherwise. Results of different levels are equal bit for bit, but for the payload of a NaN.

use crate::lanes::Lanes;

mod bessel;
mod coefficients;
mod exp_log;
mod gamma;
mod hyperbolic;
mod inverse_trig;
mod logistic;
mod normal;
mod pow;
mod trig;

pub use bessel::{i1_over_i0, log_i0};
pub use exp_log::{exp, expm1, log, log1p};
pub use gamma::{digamma, lgamma, lgamma_with_digamma, trigamma};
pub use hyperbolic::{cosh, sinh, tanh};
pub use inverse_trig::{acos, asin, atan};
pub use logistic::{
    inv_logit, log_add_exp, log_add_exp_with_weight, softplus, softplus_with_slope,
};
pub use normal::{erf, erfc, erfcx, log_ndtr, log_ndtr_with_slope};
pub use pow::pow;
pub use trig::{cos, sin, sincos, tan};

/// √x, correctly rounded; NaN below 0.
#[inline(always)]
pub fn sqrt<L: Lanes>(x: L) -> L {
    x.sqrt()
}

/// The largest whole number not above x.
#[inline(always)]
pub fn floor<L: Lanes>(x: L) -> L {
    x.floor()
}

/// The smaller; NaN if either is NaN.
#[inline(always)]
pub fn min<L: Lanes>(a: L, b: L) -> L {
    L::select(a.eq(a), a.lesser(b), a)
}

/// The larger; NaN if either is NaN.
#[inline(always)]
pub fn max<L: Lanes>(a: L, b: L) -> L {
    L::select(a.eq(a), a.greater(b), a)
}

/// c₀ + c₁x + c₂x² + …, by fours: groups of four terms side by side, joined by powers of x⁴.
///
/// Against Horner's rule this halves the waiting, and also the roundings of the leading terms,
/// which count where x is large.
#[inline(always)]
pub(crate) fn polynomial<L: Lanes>(x: L, c: &[f64]) -> L {
    let square = x.mul(x);
    let fourth = square.mul(square);
    let mut i = (c.len() - 1) / 4 * 4;
    let mut sum = four_terms(x, square, &c[i..]);
    while i > 0 {
        i -= 4;
        sum = sum.fma(fourth, four_terms(x, square, &c[i..i + 4]));
    }
    sum
}

/// The polynomial of at most four coefficients.
#[inline(always)]
fn four_terms<L: Lanes>(x: L, square: L, c: &[f64]) -> L {
    match *c {
        [a] => L::splat(a),
        [a, b] => line(x, a, b),
        [a, b, c] => L::splat(c).fma(square, line(x, a, b)),
        [a, b, c, d, ..] => line(x, c, d).fma(square, line(x, a, b)),
        [] => L::splat(0.0),
    }
}

/// a + bx.
#[inline(always)]
pub(crate) fn line<L: Lanes>(x: L, a: f64, b: f64) -> L {
    L::splat(b).fma(x, L::splat(a))
}

/// a with the sign bit of b.
#[inline(always)]
pub(crate) fn copy_sign<L: Lanes>(a: L, b: L) -> L {
    let sign = L::splat_bits(1 << 63);
    let magnitude = L::and_bits(a.to_bits(), L::splat_bits(!(1 << 63)));
    L::from_bits(L::or_bits(magnitude, L::and_bits(b.to_bits(), sign)))
}
