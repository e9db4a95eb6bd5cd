//! xʸ.

use super::coefficients::LOG_POW;
use super::exp_log::{LN_2_LOW, exp_scaled};
use super::{copy_sign, polynomial};
use crate::lanes::Lanes;
use std::f64::consts::LN_2;

/// ⅔ in two parts.
const TWO_THIRDS: f64 = 0.666_666_666_666_666_6;
const TWO_THIRDS_LOW: f64 = 3.700_743_415_417_188e-17;

/// ln x in two parts, for finite x > 0; relative error about 2⁻⁶⁴.
#[inline(always)]
fn log_in_two<L: Lanes>(x: L) -> (L, L) {
    let (m, k) = x.split();
    // s = (m − 1)/(m + 1), the part lost to rounding beside it.
    let one = L::splat(1.0);
    let f = m.sub(one);
    let den = m.add(one);
    let den_low = m.sub(den.sub(one));
    let inverse = one.div(den);
    let s = f.mul(inverse);
    let remainder = s.neg().fma(den_low, s.neg().fma(den, f));
    let s_low = remainder.mul(inverse);
    let z = s.mul(s);
    let z_low = s.fma(s, z.neg()).add(s.add(s).mul(s_low));
    // t = 2 artanh(s)/s − 2 = ⅔z + z²·polynomial
    let two_thirds = L::splat(TWO_THIRDS);
    let first = z.mul(two_thirds);
    let first_low = z.fma(two_thirds, first.neg());
    let first_low = z.fma(L::splat(TWO_THIRDS_LOW), z_low.fma(two_thirds, first_low));
    let rest = z.mul(z).mul(polynomial(z, &LOG_POW));
    let t = first.add(rest);
    let t_low = first.sub(t).add(rest).add(first_low);
    // ln m = 2s + st
    let product = s.mul(t);
    let product_low = s.fma(t, product.neg()).add(s.fma(t_low, s_low.mul(t)));
    let twice = s.add(s);
    let log_m = twice.add(product);
    let log_m_low = twice
        .sub(log_m)
        .add(product)
        .add(product_low.add(s_low.add(s_low)));
    // + k ln 2
    let shift = k.mul(L::splat(LN_2));
    let shift_low = k.fma(L::splat(LN_2_LOW), k.fma(L::splat(LN_2), shift.neg()));
    let high = shift.add(log_m);
    let low = shift.sub(high).add(log_m).add(shift_low.add(log_m_low));
    (high, low)
}

/// xʸ. Within 4 ulp.
///
/// Special values as in IEEE 754: x⁰ = 1 and 1ʸ = 1 even for NaN; a negative x needs a whole y,
/// else NaN; ±0 and ±∞ behave as limits.
#[inline(always)]
pub fn pow<L: Lanes>(x: L, y: L) -> L {
    let (zero, one, infinity) = (L::splat(0.0), L::splat(1.0), L::splat(f64::INFINITY));
    let a = x.abs();
    let (log, log_low) = log_in_two(a);
    // At the ends the limit; NaN passes.
    let inner = L::and(zero.lt(a), a.lt(infinity));
    let end = L::select(a.eq(zero), infinity.neg(), a);
    let log = L::select(inner, log, end);
    // So large a |y| overflows unless |x| = 1, for which ∞·0 must not arise.
    let limited = L::splat(-1e300).greater(L::splat(1e300).lesser(y));
    let power = limited.mul(log);
    let power_low = limited.fma(log, power.neg()).add(limited.mul(log_low));
    let inside = power.abs().lt(L::splat(1000.0));
    let value = exp_scaled(power, L::select(inside, power_low, zero), 0.0);
    // The sign of x, for an odd y.
    let half = y.mul(L::splat(0.5));
    let whole = y.eq(y.floor());
    let odd = L::and(whole, L::not(half.eq(half.floor())));
    let value = L::select(odd, copy_sign(value, x), value);
    let undefined = L::and(L::and(x.lt(zero), a.lt(infinity)), L::not(whole));
    let value = L::select(undefined, L::splat(f64::NAN), value);
    L::select(L::or(x.eq(one), y.eq(zero)), one, value)
}
