//! eˣ and ln x, and their forms near 0.

use super::coefficients::{EXP, LOG, LOG_WIDE};
use super::polynomial;
use crate::lanes::{Lanes, power_of_two};
use std::f64::consts::{LN_2, LOG2_E};

/// ln 2 − `LN_2`.
pub(super) const LN_2_LOW: f64 = 2.319_046_813_846_299_6e-17;
/// Adding 1.5·2⁵² leaves the nearest whole number in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// (k, r) with x = k ln 2 + r, |r| ≤ ln 2/2 and k whole, for |x| < 2⁵⁰.
#[inline(always)]
pub(super) fn exp_reduce<L: Lanes>(x: L) -> (L, L) {
    let rounder = L::splat(ROUNDER);
    let k = x.fma(L::splat(LOG2_E), rounder).sub(rounder);
    let r = k.fma(L::splat(-LN_2), x);
    (k, k.fma(L::splat(-LN_2_LOW), r))
}

/// eʳ − 1 for |r| ≤ ln 2/2.
#[inline(always)]
pub(super) fn expm1_of_reduced<L: Lanes>(r: L) -> L {
    r.mul(r).fma(polynomial(r, &EXP), r)
}

/// eʳ for |r| ≤ ln 2/2.
#[inline(always)]
fn exp_of_reduced<L: Lanes>(r: L) -> L {
    L::splat(1.0).add(expm1_of_reduced(r))
}

/// eˣ·(1 + low)·2ˢʰⁱᶠᵗ for a tiny `low`, with one rounding at the end.
#[inline(always)]
pub(super) fn exp_scaled<L: Lanes>(x: L, low: L, shift: f64) -> L {
    // Beyond these the result is ∞ or 0 whatever the shift; NaN passes through.
    let x = L::splat(-1300.0).greater(L::splat(1300.0).lesser(x));
    let (k, r) = exp_reduce(x);
    exp_of_reduced(r.add(low)).scale(k.add(L::splat(shift)))
}

/// eˣ for x ≤ 0 (or NaN), where it cannot overflow.
#[inline(always)]
pub(super) fn exp_of_negative<L: Lanes>(x: L) -> L {
    let x = L::splat(-746.0).greater(x);
    let (k, r) = exp_reduce(x);
    exp_of_reduced(r).scale(k)
}

/// eˣ. 0 at −∞, ∞ at ∞, gradual underflow. Within 1 ulp.
#[inline(always)]
pub fn exp<L: Lanes>(x: L) -> L {
    exp_of_negative(L::splat(710.0).lesser(x))
}

/// ½(eˣ − 1), not overflowing where eˣ just does.
#[inline(always)]
pub(super) fn half_expm1<L: Lanes>(x: L) -> L {
    let clamped = L::splat(-60.0).greater(L::splat(709.9).lesser(x));
    let (k, r) = exp_reduce(clamped);
    let p = expm1_of_reduced(r);
    let scale = power_of_two(k.sub(L::splat(1.0)));
    scale.fma(p, scale.sub(L::splat(0.5)))
}

/// eˣ − 1, accurate near 0. Within 2 ulp.
#[inline(always)]
pub fn expm1<L: Lanes>(x: L) -> L {
    let half = half_expm1(x);
    // Keeps −0 and subnormal numbers.
    L::select(x.abs().lt(L::splat(1e-17)), x, half.add(half))
}

/// ln(2ᵏ(1 + f)) for −½ ≤ f ≤ 1, given s = f/(2 + f).
#[inline(always)]
pub(super) fn log_parts<L: Lanes>(k: L, f: L, s: L, c: &[f64]) -> L {
    let z = s.mul(s);
    let half_square = f.mul(f).mul(L::splat(0.5));
    let tail = z.fma(polynomial(z, c), half_square);
    let small = s.fma(tail, k.mul(L::splat(LN_2_LOW)));
    k.fma(L::splat(LN_2), f.sub(half_square.sub(small)))
}

/// Natural logarithm. −∞ at 0, NaN below, right for subnormal numbers. Within 1 ulp.
#[inline(always)]
pub fn log<L: Lanes>(x: L) -> L {
    let (m, k) = x.split();
    let f = m.sub(L::splat(1.0));
    let s = f.div(f.add(L::splat(2.0)));
    let y = log_parts(k, f, s, &LOG);
    let edge = L::select(
        x.eq(L::splat(0.0)),
        L::splat(f64::NEG_INFINITY),
        L::splat(f64::NAN),
    );
    let y = L::select(L::splat(0.0).lt(x), y, edge);
    L::select(x.lt(L::splat(f64::INFINITY)), y, x.abs())
}

/// ln(1 + x), accurate near 0. −∞ at −1, NaN below. Within 2 ulp.
#[inline(always)]
pub fn log1p<L: Lanes>(x: L) -> L {
    let one = L::splat(1.0);
    let u = x.add(one);
    // u + low = 1 + x exactly.
    let part = u.sub(one);
    let low = one.sub(u.sub(part)).add(x.sub(part));
    let (m, k) = u.split();
    let f = m.sub(one).add(low.scale(k.neg()));
    let s = f.div(f.add(L::splat(2.0)));
    let y = log_parts(k, f, s, &LOG);
    let edge = L::select(
        x.eq(L::splat(-1.0)),
        L::splat(f64::NEG_INFINITY),
        L::splat(f64::NAN),
    );
    let y = L::select(L::splat(-1.0).lt(x), y, edge);
    let y = L::select(x.abs().lt(L::splat(1e-17)), x, y);
    L::select(x.lt(L::splat(f64::INFINITY)), y, x.abs())
}

/// 2 artanh(s) = ln((1 + s)/(1 − s)) for |s| ≤ ⅓.
#[inline(always)]
pub(super) fn twice_artanh<L: Lanes>(s: L) -> L {
    let z = s.mul(s);
    s.mul(z).fma(polynomial(z, &LOG_WIDE), s.add(s))
}
