//! asin, acos, atan, in radians.

use super::coefficients::{ASIN, ATAN};
use super::{copy_sign, polynomial};
use crate::lanes::Lanes;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

/// π/2 − `FRAC_PI_2`.
const HALF_PI_LOW: f64 = 6.123_233_995_736_766e-17;

/// The work asin and acos share: with a = |x|, below ½ (a, asin(a) − a), from there on
/// (√z, asin(√z) − √z) with z = (1 − a)/2, for which asin(a) = π/2 − 2 asin(√z).
#[inline(always)]
fn asin_parts<L: Lanes>(a: L) -> (L::Mask, L, L) {
    let small = a.lt(L::splat(0.5));
    let half = L::splat(0.5).sub(a.mul(L::splat(0.5)));
    let z = L::select(small, a.mul(a), half);
    let root = half.sqrt();
    // half − root² over 2 root is what the rounding of the root lost.
    let lost = root
        .neg()
        .fma(root, half)
        .div(root.add(root).add(L::splat(f64::MIN_POSITIVE)));
    let s = L::select(small, a, root);
    let lost = L::select(small, L::splat(0.0), lost);
    (small, s, s.mul(z).fma(polynomial(z, &ASIN), lost))
}

/// asin x in [−π/2, π/2]; NaN beyond ±1. Within 2 ulp.
#[inline(always)]
pub fn asin<L: Lanes>(x: L) -> L {
    let (small, s, rest) = asin_parts(x.abs());
    let twice_rest = rest.add(rest).sub(L::splat(HALF_PI_LOW));
    let large = L::splat(FRAC_PI_2).sub(s.add(s).add(twice_rest));
    copy_sign(L::select(small, s.add(rest), large), x)
}

/// acos x in [0, π]; NaN beyond ±1. Within 2 ulp.
#[inline(always)]
pub fn acos<L: Lanes>(x: L) -> L {
    let (small, s, rest) = asin_parts(x.abs());
    let negative = x.lt(L::splat(0.0));
    // |x| < ½: π/2 − asin x
    let signed = copy_sign(s, x);
    let near = L::splat(HALF_PI_LOW).sub(copy_sign(rest, x));
    let near = L::splat(FRAC_PI_2).sub(signed.sub(near));
    // Else 2 asin(√z), or π less that.
    let twice = s.add(s).add(rest.add(rest));
    let twice_rest = rest.add(rest).sub(L::splat(2.0 * HALF_PI_LOW));
    let mirrored = L::splat(2.0 * FRAC_PI_2).sub(s.add(s).add(twice_rest));
    L::select(small, near, L::select(negative, mirrored, twice))
}

/// atan x in [−π/2, π/2]. Within 2 ulp.
#[inline(always)]
pub fn atan<L: Lanes>(x: L) -> L {
    // Around 0, 1 (angle π/4) and ∞ (π/2): t = a, (a − 1)/(a + 1), −1/a; |t| ≤ tan(π/8).
    let one = L::splat(1.0);
    let a = x.abs();
    let middle = L::splat(0.414_213_562_373_095).lt(a);
    let large = L::splat(2.414_213_562_373_095).lt(a);
    let num = L::select(large, one.neg(), L::select(middle, a.sub(one), a));
    let den = L::select(large, a, L::select(middle, a.add(one), one));
    let angle = L::select(middle, L::splat(FRAC_PI_4), L::splat(0.0));
    let angle = L::select(large, L::splat(FRAC_PI_2), angle);
    let low = L::select(middle, L::splat(0.5 * HALF_PI_LOW), L::splat(0.0));
    let low = L::select(large, L::splat(HALF_PI_LOW), low);
    let t = num.div(den);
    let z = t.mul(t);
    let y = angle.add(t.add(t.mul(z).fma(polynomial(z, &ATAN), low)));
    copy_sign(y, x)
}
