//! Directed rounding, by the exact error of what is rounded to the nearest.

use super::modifiers::Rounding;

/// Sum and product, rounded as said.
pub(super) struct Directed<T> {
    pub(super) add: fn(T, T, Rounding) -> T,
    pub(super) mul: fn(T, T, Rounding) -> T,
}

// A sum of two numbers of 32 bits, rounded to 64, may have lost something; a product has not.
pub(super) const F32: Directed<f32> = Directed {
    add: |a, b, r| {
        let (sum, rest) = two_sum(f64::from(a), f64::from(b));
        to_f32(signed_zero(sum, [f64::from(a), f64::from(b)], r), rest, r)
    },
    mul: |a, b, r| to_f32(f64::from(a) * f64::from(b), 0.0, r),
};

pub(super) const F64: Directed<f64> = Directed {
    add: |a, b, r| {
        let (sum, rest) = two_sum(a, b);
        adjusted(signed_zero(sum, [a, b], r), rest, r)
    },
    mul: |a, b, r| {
        let product = a * b;
        adjusted(product, a.mul_add(b, -product), r)
    },
};

/// A sum and what its rounding lost, exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// Numbers that cancel each other leave -0 where results are rounded downwards.
fn signed_zero(sum: f64, [a, b]: [f64; 2], r: Rounding) -> f64 {
    let cancels = sum == 0.0 && a.is_sign_negative() != b.is_sign_negative();
    if cancels && r == Rounding::Down {
        -0.0
    } else {
        sum
    }
}

/// `value`, which is `value + rest` to the nearest, rounded as said.
fn adjusted(value: f64, rest: f64, r: Rounding) -> f64 {
    let towards = match r {
        Rounding::Nearest => return value,
        Rounding::Zero if value > 0.0 => f64::NEG_INFINITY,
        Rounding::Zero => f64::INFINITY,
        Rounding::Down => f64::NEG_INFINITY,
        Rounding::Up => f64::INFINITY,
    };
    if value.is_infinite() && rest.is_nan() {
        return value;
    }
    match (value.is_finite() && rest.is_finite(), towards > 0.0) {
        (true, true) if rest > 0.0 => value.next_up(),
        (true, false) if rest < 0.0 => value.next_down(),
        _ => value,
    }
}

/// `value + rest`, of which the second is less than half a step of the first, as 32 bits.
pub(super) fn to_f32(value: f64, rest: f64, r: Rounding) -> f32 {
    let near = value as f32;
    if r == Rounding::Nearest || !value.is_finite() {
        return near;
    }
    let off = value - f64::from(near);
    let off = if off == 0.0 { rest } else { off };
    let down = match r {
        Rounding::Zero => value > 0.0,
        Rounding::Down => true,
        _ => false,
    };
    match down {
        true if off < 0.0 => near.next_down(),
        false if off > 0.0 => near.next_up(),
        _ => near,
    }
}

/// A product and a sum, rounded once, as said.
pub(super) fn fma_f32(a: f32, b: f32, c: f32, r: Rounding) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let (sum, rest) = two_sum(product, c);
    to_f32(signed_zero(sum, [product, c], r), rest, r)
}
