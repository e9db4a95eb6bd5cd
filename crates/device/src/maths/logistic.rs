//! The logistic family: 1/(1 + e⁻ˣ), ln(1 + eˣ), ln(eᵃ + eᵇ).

use super::exp_log::{exp_of_negative, twice_artanh};
use crate::lanes::Lanes;

/// 1/(1 + e⁻ˣ). Within 4 ulp, also where it underflows.
#[inline(always)]
pub fn inv_logit<L: Lanes>(x: L) -> L {
    let one = L::splat(1.0);
    let e = exp_of_negative(x.abs().neg());
    L::select(x.lt(L::splat(0.0)), e, one).div(one.add(e))
}

/// (ln(1 + e), 1/(1 + e) or, where `other` holds, e/(1 + e)) with e = e⁻ᵈ, for d ≥ 0.
///
/// ln(1 + e) is 2 artanh(e/(2 + e)); both quotients share one division.
#[inline(always)]
fn log1p_exp_and_weight<L: Lanes>(d: L, other: L::Mask) -> (L, L) {
    let e = exp_of_negative(d.neg());
    let plus_one = e.add(L::splat(1.0));
    let plus_two = e.add(L::splat(2.0));
    let inverse = L::splat(1.0).div(plus_one.mul(plus_two));
    let weight = L::select(other, e.mul(plus_two), plus_two).mul(inverse);
    (twice_artanh(e.mul(plus_one).mul(inverse)), weight)
}

/// ln(1 + eˣ). Within 4 ulp.
#[inline(always)]
pub fn softplus<L: Lanes>(x: L) -> L {
    softplus_with_slope(x).0
}

/// (ln(1 + eˣ), 1/(1 + e⁻ˣ)): the value and its derivative. Within 4 and 8 ulp.
#[inline(always)]
pub fn softplus_with_slope<L: Lanes>(x: L) -> (L, L) {
    let zero = L::splat(0.0);
    let (log1p, slope) = log1p_exp_and_weight(x.abs(), x.lt(zero));
    (zero.greater(x).add(log1p), slope)
}

/// ln(eᵃ + eᵇ). Within 4 ulp of the larger of |a|, |b| and the result.
///
/// ∞ if either is ∞, −∞ if both are −∞.
#[inline(always)]
pub fn log_add_exp<L: Lanes>(a: L, b: L) -> L {
    log_add_exp_with_weight(a, b).0
}

/// (ln(eᵃ + eᵇ), 1/(1 + eᵇ⁻ᵃ)): the value and its derivative by a.
///
/// The derivative by b is one minus the weight. Equal arguments, also infinite ones, have weight
/// ½. Value within 4 ulp of the larger of |a|, |b| and the result, weight within 8 ulp.
#[inline(always)]
pub fn log_add_exp_with_weight<L: Lanes>(a: L, b: L) -> (L, L) {
    // ∞ − ∞ would be NaN.
    let d = L::select(a.eq(b), L::splat(0.0), a.sub(b));
    let (log1p, weight) = log1p_exp_and_weight(d.abs(), a.lt(b));
    (a.greater(b).add(log1p), weight)
}
