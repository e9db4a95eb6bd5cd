//! sin, cos, tan of radians, and of multiples of π.

use super::coefficients::{COS, COS_PI, SIN, SIN_PI};
use super::polynomial;
use crate::lanes::Lanes;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

/// π/2 − `FRAC_PI_2`, to 53 bits.
const HALF_PI_2: f64 = 6.123_233_995_736_766e-17;
/// What is left of π/2 after both.
const HALF_PI_3: f64 = -1.497_384_904_859_169_8e-33;
/// Adding 1.5·2⁵² leaves the nearest whole number in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Up to 2⁵⁰ the reduction below is exact to the last bit; beyond, neighbouring numbers lie a
/// quarter radian apart or more.
const LARGE: f64 = 1_125_899_906_842_624.0;

/// x less the nearest multiple of π/2, in two parts, and that multiple, in the low bits.
struct Reduced<L: Lanes> {
    high: L,
    low: L,
    quadrant: L::Bits,
}

/// Reduces |x| ≤ 2⁵⁰. A larger finite x counts as 0; infinity gives NaN.
#[inline(always)]
fn reduce<L: Lanes>(x: L) -> Reduced<L> {
    let x = L::select(x.abs().le(L::splat(LARGE)), x, x.sub(x));
    let shifted = x.fma(L::splat(FRAC_2_PI), L::splat(ROUNDER));
    let k = shifted.sub(L::splat(ROUNDER));
    // Exact: a multiple of 2⁻⁵² (or of the last place of x) below 2.
    let a = k.fma(L::splat(-FRAC_PI_2), x);
    // a − k·HALF_PI_2 − k·HALF_PI_3, the first difference without error.
    let product = k.mul(L::splat(HALF_PI_2));
    let product_low = k.fma(L::splat(HALF_PI_2), product.neg());
    let high = a.sub(product);
    let part = high.sub(a);
    let error = a.sub(high.sub(part)).sub(product.add(part));
    let low = error.sub(k.fma(L::splat(HALF_PI_3), product_low));
    Reduced {
        high,
        low,
        quadrant: shifted.to_bits(),
    }
}

/// (sin, cos) of a reduced argument.
#[inline(always)]
fn kernels<L: Lanes>(r: &Reduced<L>) -> (L, L) {
    let (high, low) = (r.high, r.low);
    let z = high.mul(high);
    let cube = z.mul(high);
    let one = L::splat(1.0);
    let half = z.mul(L::splat(0.5));
    // low·cos(high) ≈ low·(1 − z/2)
    let sin = high.add(cube.fma(polynomial(z, &SIN), low.mul(one.sub(half))));
    let top = one.sub(half);
    let rest = one.sub(top).sub(half);
    let cos = top.add(z.mul(z).fma(polynomial(z, &COS), rest.sub(high.mul(low))));
    (sin, cos)
}

/// x with its sign flipped where bit `BIT` (counted from 1 at the sign's end) of `bits` is set.
#[inline(always)]
fn flip<L: Lanes, const SHIFT: i32>(x: L, bits: L::Bits) -> L {
    let sign = L::and_bits(L::shl_bits::<SHIFT>(bits), L::splat_bits(1 << 63));
    L::from_bits(L::xor_bits(x.to_bits(), sign))
}

/// Whether the lowest bit is set.
#[inline(always)]
fn odd<L: Lanes>(bits: L::Bits) -> L::Mask {
    // The bit moved into the exponent: 2⁻¹⁰²² or 0.
    let bit = L::shl_bits::<52>(L::and_bits(bits, L::splat_bits(1)));
    L::splat(0.0).lt(L::from_bits(bit))
}

/// sin x, x in radians. Within 2 ulp for |x| ≤ 2⁵⁰.
///
/// Beyond, where the spacing of numbers exceeds a quarter radian, x counts as 0. NaN at ±∞.
#[inline(always)]
pub fn sin<L: Lanes>(x: L) -> L {
    sincos(x).0
}

/// cos x, x in radians. Within 2 ulp for |x| ≤ 2⁵⁰; beyond, as for [`sin`].
#[inline(always)]
pub fn cos<L: Lanes>(x: L) -> L {
    sincos(x).1
}

/// (sin x, cos x), x in radians. Within 2 ulp for |x| ≤ 2⁵⁰; beyond, as for [`sin`].
#[inline(always)]
pub fn sincos<L: Lanes>(x: L) -> (L, L) {
    let reduced = reduce(x);
    let (s, c) = kernels(&reduced);
    let swap = odd::<L>(reduced.quadrant);
    // Quadrants 2, 3 flip the sine; 1, 2 the cosine.
    let next = L::add_bits(reduced.quadrant, L::splat_bits(1));
    let sin = flip::<L, 62>(L::select(swap, c, s), reduced.quadrant);
    let cos = flip::<L, 62>(L::select(swap, s, c), next);
    (L::select(x.abs().lt(L::splat(1e-9)), x, sin), cos)
}

/// tan x, x in radians. Within 2 ulp for |x| ≤ 2⁵⁰; beyond, as for [`sin`].
#[inline(always)]
pub fn tan<L: Lanes>(x: L) -> L {
    let reduced = reduce(x);
    let (s, c) = kernels(&reduced);
    let swap = odd::<L>(reduced.quadrant);
    // tan(r + π/2) = −cos r / sin r
    let tan = L::select(swap, c.neg(), s).div(L::select(swap, s, c));
    L::select(x.abs().lt(L::splat(1e-9)), x, tan)
}

/// (sin(πx)/π, cos(πx)), the signs of both for x less the nearest whole number.
///
/// Their squares, their absolute values and their quotient are those of x.
#[inline(always)]
pub(super) fn sincos_pi<L: Lanes>(x: L) -> (L, L) {
    let r = x.sub(x.round());
    let z = r.mul(r);
    (
        r.fma(z.mul(polynomial(z, &SIN_PI)), r),
        polynomial(z, &COS_PI),
    )
}
