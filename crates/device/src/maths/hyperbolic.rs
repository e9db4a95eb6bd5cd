//! sinh, cosh, tanh.

use super::copy_sign;
use super::exp_log::{exp_scaled, expm1, half_expm1};
use crate::lanes::Lanes;

/// Hyperbolic sine. Within 4 ulp.
#[inline(always)]
pub fn sinh<L: Lanes>(x: L) -> L {
    // With h = ½(eᵃ − 1): sinh a = h + h/(2h + 1).
    let a = x.abs();
    let h = half_expm1(a);
    let y = h.add(h.div(h.add(h).add(L::splat(1.0))));
    // From 40 on the second term is lost, and h may be near overflow.
    let y = L::select(a.lt(L::splat(40.0)), y, exp_scaled(a, L::splat(0.0), -1.0));
    copy_sign(L::select(a.lt(L::splat(1e-17)), a, y), x)
}

/// Hyperbolic cosine. Within 4 ulp.
#[inline(always)]
pub fn cosh<L: Lanes>(x: L) -> L {
    let half = exp_scaled(x.abs(), L::splat(0.0), -1.0);
    half.add(L::splat(0.25).div(half))
}

/// Hyperbolic tangent. Within 4 ulp.
#[inline(always)]
pub fn tanh<L: Lanes>(x: L) -> L {
    // With e = 1 − e⁻²ᵃ: tanh a = e/(2 − e).
    let a = x.abs();
    let e = expm1(a.mul(L::splat(-2.0))).neg();
    let y = e.div(L::splat(2.0).sub(e));
    copy_sign(L::select(a.lt(L::splat(1e-17)), a, y), x)
}
