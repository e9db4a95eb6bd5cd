//! ln |Γ|, digamma and trigamma.
//!
//! From 8 on the asymptotic series. Below, ln Γ and digamma step down to 1 + v with v in [0, 2)
//! (or up to it, from below 1), where a rational function times their known zeros stands; there
//! and everywhere v is exact, so the zeros at 1, 2 and 1.46 keep their relative accuracy.
//! Negative arguments are reflected.

use super::coefficients::{
    DIGAMMA_DEN, DIGAMMA_NUM, DIGAMMA_ROOT, DIGAMMA_TAIL, LGAMMA_DEN, LGAMMA_NUM, LGAMMA_TAIL,
    TRIGAMMA_TAIL,
};
use super::exp_log::log;
use super::polynomial;
use super::trig::sincos_pi;
use crate::lanes::Lanes;

/// ½ ln 2π − ½.
const HALF_LN_2PI_E: f64 = 0.418_938_533_204_672_7;
/// From here on the asymptotic series.
const LARGE: f64 = 8.0;

/// A positive argument taken apart.
struct Stepped<L: Lanes> {
    /// z ≥ 8.
    large: L::Mask,
    /// z < 1.
    small: L::Mask,
    /// z = 1 + v stepped into [1, 3), or 1 + z.
    v: L,
    /// (z − 1)(z − 2)…(1 + v), or 1.
    product: L,
    /// The derivative of the product by z.
    slope: L,
}

/// Steps z ≥ 0, also given `z − 1`, down or up.
#[inline(always)]
fn step<L: Lanes>(z: L, z_minus_1: L) -> Stepped<L> {
    let one = L::splat(1.0);
    let small = z.lt(one);
    let mut v = L::select(small, z, z_minus_1);
    let (mut product, mut slope) = (one, L::splat(0.0));
    for _ in 0..5 {
        // Above 3, z = 1 + v becomes v.
        let again = L::splat(2.0).le(v);
        slope = L::select(again, slope.fma(v, product), slope);
        product = L::select(again, product.mul(v), product);
        v = L::select(again, v.sub(one), v);
    }
    Stepped {
        large: L::splat(LARGE).le(z),
        small,
        v,
        product,
        slope,
    }
}

/// ln Γ(z) for z ≥ 0 taken apart in `at`, and ln z (only where z ≥ 8).
#[inline(always)]
fn lgamma_of_positive<L: Lanes>(z: L, at: &Stepped<L>) -> (L, L) {
    let one = L::splat(1.0);
    let v = at.v;
    let quotient = polynomial(v, &LGAMMA_NUM).div(polynomial(v, &LGAMMA_DEN));
    let zeros = v.mul(v.sub(one));
    let near = zeros.fma(quotient, zeros.mul(L::splat(0.5)));
    let argument = L::select(at.small, z, at.product);
    let log = log(L::select(at.large, z, argument));
    let below_8 = near.add(L::select(at.small, log.neg(), log));
    let inverse = one.div(z);
    let tail = polynomial(inverse.mul(inverse), &LGAMMA_TAIL);
    let constant = inverse.fma(tail, L::splat(HALF_LN_2PI_E));
    let large = z.sub(L::splat(0.5)).fma(log.sub(one), constant);
    (L::select(at.large, large, below_8), log)
}

/// ψ(z) for z ≥ 0 taken apart in `at`, given ln z where z ≥ 8.
#[inline(always)]
fn digamma_of_positive<L: Lanes>(z: L, at: &Stepped<L>, log: L) -> L {
    let v = at.v;
    let from_root = v
        .sub(L::splat(DIGAMMA_ROOT[0]))
        .sub(L::splat(DIGAMMA_ROOT[1]));
    let quotient = polynomial(v, &DIGAMMA_NUM).div(polynomial(v, &DIGAMMA_DEN));
    let near = from_root.mul(quotient);
    // What the steps add: −1/z, or Σ 1/(z − j); from 8 on −1/(2z).
    let num = L::select(at.small, L::splat(-1.0), at.slope);
    let num = L::select(at.large, L::splat(-0.5), num);
    let whole = L::select(at.small, z, at.product);
    let step = num.div(L::select(at.large, z, whole));
    let w = step.mul(step).mul(L::splat(4.0)); // 1/z²
    let large = log.add(w.neg().fma(polynomial(w, &DIGAMMA_TAIL), step));
    L::select(at.large, large, near.add(step))
}

/// (z, z − 1) for the reflected argument z = 1 − x where x < 0, else z = x.
#[inline(always)]
fn reflect<L: Lanes>(x: L) -> (L::Mask, L, L) {
    let one = L::splat(1.0);
    let negative = x.lt(L::splat(0.0));
    let z = L::select(negative, one.sub(x), x);
    (negative, z, L::select(negative, x.neg(), x.sub(one)))
}

/// Where Γ has no value: 0, −1, −2, …
#[inline(always)]
fn pole<L: Lanes>(x: L) -> L::Mask {
    L::and(x.le(L::splat(0.0)), x.eq(x.floor()))
}

/// ln |Γ(x)|. ∞ at the poles and at ±∞.
///
/// For x ≥ 0 within 4 ulp, near the zeros 1 and 2 too. Below 0 within 1e-15 + 4 ulp of
/// ln Γ(1 − x): its zeros lie so close to the poles that x itself says no more.
#[inline(always)]
pub fn lgamma<L: Lanes>(x: L) -> L {
    lgamma_with_digamma(x).0
}

/// Digamma ψ(x), the derivative of [`lgamma`]. NaN at 0, −1, −2, …
///
/// Within 4 ulp for x > 0, near the zero 1.46 too; below 0 within 1e-15 + 4 ulp of the larger of
/// |ψ(x)| and |ψ(1 − x)|.
#[inline(always)]
pub fn digamma<L: Lanes>(x: L) -> L {
    lgamma_with_digamma(x).1
}

/// (ln |Γ(x)|, ψ(x)): the value and its derivative.
#[inline(always)]
pub fn lgamma_with_digamma<L: Lanes>(x: L) -> (L, L) {
    let (negative, z, z_minus_1) = reflect(x);
    let at = step(z, z_minus_1);
    let (value, log_z) = lgamma_of_positive(z, &at);
    let slope = digamma_of_positive(z, &at, log_z);
    let (sine, cosine) = sincos_pi(x);
    let mirrored = log(sine.abs()).neg().sub(value);
    let value = L::select(negative, mirrored, value);
    let pole = pole(x);
    let value = L::select(pole, L::splat(f64::INFINITY), value);
    let slope = L::select(negative, slope.sub(cosine.div(sine)), slope);
    (value, L::select(pole, L::splat(f64::NAN), slope))
}

/// Trigamma ψ′(x). NaN at 0, −1, −2, … Within 4 ulp.
#[inline(always)]
pub fn trigamma<L: Lanes>(x: L) -> L {
    let one = L::splat(1.0);
    let (negative, z, _) = reflect(x);
    // Below 8: 1/z² + Σ 1/(z + j)², j = 1..7, as one quotient; then from z + 8.
    let small = z.lt(L::splat(LARGE));
    let (mut num, mut den) = (L::splat(0.0), one);
    for j in 1..8 {
        let c = z.add(L::splat(f64::from(j)));
        let c = c.mul(c);
        num = num.fma(c, den);
        den = den.mul(c);
    }
    let first = one.div(z);
    let stepped = first.mul(first).add(num.div(den));
    let far = L::select(small, z.add(L::splat(LARGE)), z);
    let inverse = one.div(far);
    let w = inverse.mul(inverse);
    let tail = polynomial(w, &TRIGAMMA_TAIL);
    let series = inverse.add(w.fma(L::splat(0.5), w.mul(inverse).mul(tail)));
    let value = series.add(L::select(small, stepped, L::splat(0.0)));
    let (sine, _) = sincos_pi(x);
    let cosecant = one.div(sine);
    let value = L::select(negative, cosecant.mul(cosecant).sub(value), value);
    L::select(pole(x), L::splat(f64::NAN), value)
}
