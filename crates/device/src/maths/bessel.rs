//! ln I₀ and I₁/I₀ of the modified Bessel functions, the normalising constant of the von Mises
//! distribution and its derivative.

use super::coefficients::{I0_LARGE, I0_SMALL, I1_LARGE, I1_SMALL};
use super::exp_log::log1p;
use super::{copy_sign, polynomial};
use crate::lanes::Lanes;

/// Below this the power series, from here on the asymptotic form.
const SPLIT: f64 = 8.0;
/// 2⁶⁰: from here on ln I₀(x) is x and I₁/I₀ is 1 to the last bit.
const FAR: f64 = 1_152_921_504_606_846_976.0;

/// 1/a for a ≥ 8, and it mapped to [−1, 1] for the asymptotic polynomials.
#[inline(always)]
fn inverse<L: Lanes>(a: L) -> (L, L) {
    let inverse = L::splat(1.0).div(L::splat(FAR).lesser(L::splat(SPLIT).greater(a)));
    (inverse, inverse.fma(L::splat(2.0 * SPLIT), L::splat(-1.0)))
}

/// ln I₀(x). Within 4 ulp.
#[inline(always)]
pub fn log_i0<L: Lanes>(x: L) -> L {
    let a = x.abs();
    let large = L::splat(SPLIT).le(a);
    let near = L::splat(SPLIT).lesser(a);
    let square = near.mul(near);
    let excess = square.mul(polynomial(square, &I0_SMALL));
    // ln I₀ = a + ln(P(1/a)/√a)
    let (inverse, u) = inverse(a);
    let scaled = polynomial(u, &I0_LARGE).mul(inverse.sqrt());
    let log = log1p(L::select(large, scaled.sub(L::splat(1.0)), excess));
    L::select(large, a.add(log), log)
}

/// I₁(x)/I₀(x), the derivative of [`log_i0`]. ±1 at ±∞. Within 4 ulp.
#[inline(always)]
pub fn i1_over_i0<L: Lanes>(x: L) -> L {
    let a = x.abs();
    let large = L::splat(SPLIT).le(a);
    let near = L::splat(SPLIT).lesser(a);
    let square = near.mul(near);
    let i0 = square.fma(polynomial(square, &I0_SMALL), L::splat(1.0));
    let i1 = near.mul(polynomial(square, &I1_SMALL));
    let (_, u) = inverse(a);
    let num = L::select(large, polynomial(u, &I1_LARGE), i1);
    let den = L::select(large, polynomial(u, &I0_LARGE), i0);
    copy_sign(num.div(den), x)
}
