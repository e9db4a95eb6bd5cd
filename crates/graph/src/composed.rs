//! Functions that are put together from the operations, for numbers and for nodes alike.
//!
//! Each is accurate over its whole range, and so are its slopes: what a branch that is not taken would make of an
//! argument does not show. Where a function jumps its slope is 0.

mod bessel;
mod coefficients;
mod faddeeva;
mod gamma;

use crate::special::{CENTRE, FAR, MIDDLE, Rational};
use crate::{Expr, Real};
use bessel::ratio as bessel_ratio;
use std::f64::consts::{FRAC_PI_2, LN_2, PI, SQRT_2};

/// A function of one argument by its name; none if it is no composed one.
pub fn of_one<'g>(name: &str, x: Expr<'g>) -> Option<Expr<'g>> {
    Some(match name {
        "acosh" => acosh(x),
        "asinh" => asinh(x),
        "atanh" => atanh(x),
        "cbrt" => cbrt(x),
        "ceil" => ceil(x),
        "erfcx" => x.erfcx(),
        "erfinv" => erfinv(x),
        "floor" => x.floor(),
        "gamma" => gamma::gamma(x),
        "i0" => x.log_i0().exp(),
        "i0e" => (x.log_i0() - x.abs()).exp(),
        "i1" => x.log_i0().exp() * bessel_ratio(x),
        "i1e" => (x.log_i0() - x.abs()).exp() * bessel_ratio(x),
        "j0" => bessel::j0(x),
        "j1" => bessel::j1(x),
        "k0" => bessel::k0(x),
        "k1" => bessel::k1(x),
        "log1m_exp" => log1m_exp(x),
        "ndtr" => ndtr(x),
        "probit" => probit(x),
        "round" => round(x),
        "sign" => sign(x),
        "trunc" => trunc(x),
        "y0" => bessel::y0(x),
        "y1" => bessel::y1(x),
        _ => return None,
    })
}

/// A function of two arguments by its name, which combine; none if it is no composed one.
pub fn of_two<'g>(name: &str, x: Expr<'g>, y: Expr<'g>) -> Option<Expr<'g>> {
    Some(match name {
        "atan2" => atan2(x, y),
        "hypot" => hypot(x, y),
        "log_diff_exp" => log_diff_exp(x, y),
        "mod" => modulo(x, y),
        "wofz_imag" => faddeeva::wofz_imag(x, y),
        "wofz_real" => faddeeva::wofz_real(x, y),
        _ => return None,
    })
}

/// A function of three arguments by its name, which combine; none if it is no composed one.
pub fn of_three<'g>(name: &str, x: Expr<'g>, y: Expr<'g>, z: Expr<'g>) -> Option<Expr<'g>> {
    (name == "voigt_profile").then(|| faddeeva::voigt_profile(x, y, z))
}

/// −1, 0 or 1.
pub fn sign<R: Real>(x: R) -> R {
    R::lit(0.0).lt(x) - x.lt(R::lit(0.0))
}

/// The least whole number that is no less.
pub fn ceil<R: Real>(x: R) -> R {
    -(-x).floor()
}

/// The whole number towards 0.
pub fn trunc<R: Real>(x: R) -> R {
    x.lt(R::lit(0.0)).select(ceil(x), x.floor())
}

/// √(x² + y²), also where the squares would be too large or too small; its slope is 0 where it is 0.
pub fn hypot<R: Real>(x: R, y: R) -> R {
    let (x, y) = (x.abs(), y.abs());
    let size = x.max(y);
    let none = size.equals(R::lit(0.0));
    let (x, y, size) = (
        none.select(R::lit(0.0), x),
        none.select(R::lit(0.0), y),
        none.select(R::lit(1.0), size),
    );
    let ratio = x.min(y) / size;
    none.select(R::lit(0.0), size * (R::lit(1.0) + ratio * ratio).sqrt())
}

/// The nearest whole number; the even one of two that are as near.
pub fn round<R: Real>(x: R) -> R {
    let below = x.floor();
    let (part, half) = (x - below, R::lit(0.5));
    let odd = below - R::lit(2.0) * (below * half).floor();
    let up = half.lt(part) + part.equals(half) * odd;
    below + up
}

/// x − y ⌊x/y⌋, which has the sign of y, as `%` of Python.
pub fn modulo<R: Real>(x: R, y: R) -> R {
    x - y * (x / y).floor()
}

/// The cube root, of negative numbers too.
pub fn cbrt<R: Real>(x: R) -> R {
    let size = x.equals(R::lit(0.0)).select(R::lit(1.0), x.abs());
    let root = size.powf(R::lit(1.0 / 3.0));
    // A third is no number of the machine: a step of Newton takes the error of the power away.
    let square = root * root;
    sign(x) * (root - (root * square - size) / (R::lit(3.0) * square))
}

/// The inverse of sinh.
pub fn asinh<R: Real>(x: R) -> R {
    // Each side is accurate on its own, and has the slope 1 at 0.
    let positive = |u: R| {
        let square = u * u;
        let near = (u + square / (R::lit(1.0) + (R::lit(1.0) + square).sqrt())).ln_1p();
        let far = u.abs().ln() + R::lit(LN_2);
        R::lit(1e8).lt(u).select(far, near)
    };
    let zero = R::lit(0.0);
    x.lt(zero).select(-positive(-x), positive(x))
}

/// The inverse of cosh, from 1 on.
pub fn acosh<R: Real>(x: R) -> R {
    let over = x - R::lit(1.0);
    let near = (over + (over * (over + R::lit(2.0))).sqrt()).ln_1p();
    R::lit(1e8).lt(x).select(x.ln() + R::lit(LN_2), near)
}

/// The inverse of tanh, between −1 and 1.
pub fn atanh<R: Real>(x: R) -> R {
    R::lit(0.5) * (x.ln_1p() - (-x).ln_1p())
}

/// The angle of the point (x, y), from −π to π.
pub fn atan2<R: Real>(y: R, x: R) -> R {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let wide = y.abs().le(x.abs());
    // The ratio that is at most 1; at the origin the angle is 0.
    let below = x.equals(zero).select(one, x);
    let beside = y.equals(zero).select(one, y);
    let behind = x
        .lt(zero)
        .select(y.lt(zero).select(R::lit(-PI), R::lit(PI)), zero);
    let up = y.lt(zero).select(R::lit(-FRAC_PI_2), R::lit(FRAC_PI_2));
    wide.select((y / below).atan() + behind, up - (x / beside).atan())
}

/// log(1 − eˣ) for x < 0 (Mächler 2012).
pub fn log1m_exp<R: Real>(x: R) -> R {
    let near = (-x.exp_m1()).ln();
    R::lit(-LN_2).lt(x).select(near, (-x.exp()).ln_1p())
}

/// log(eᵃ − eᵇ) for a > b.
pub fn log_diff_exp<R: Real>(a: R, b: R) -> R {
    a + log1m_exp(b - a)
}

/// Φ(x), the standard normal distribution function.
pub fn ndtr<R: Real>(x: R) -> R {
    R::lit(0.5) * (x * R::lit(-1.0 / SQRT_2)).erfc()
}

/// The x with Φ(x) = p; ∓∞ at 0 and 1. Source: Wichura 1988, algorithm AS 241.
pub fn probit<R: Real>(p: R) -> R {
    let (half, one) = (R::lit(0.5), R::lit(1.0));
    let below = p.lt(half);
    quantile(p - half, below.select(p, one - p))
}

/// The x with erf(x) = y, between −1 and 1.
pub fn erfinv<R: Real>(y: R) -> R {
    let half = R::lit(0.5);
    let tail = half * (R::lit(1.0) - y.abs());
    quantile(half * y, tail) * R::lit(1.0 / SQRT_2)
}

/// The normal quantile at ½ + q, beyond which, on its side, is `tail`.
fn quantile<R: Real>(q: R, tail: R) -> R {
    let centre = q * ratio(R::lit(0.180_625) - q * q, &CENTRE);
    let r = (-tail.ln()).sqrt();
    let far = ratio(r - R::lit(5.0), &FAR);
    let side = r
        .le(R::lit(5.0))
        .select(ratio(r - R::lit(1.6), &MIDDLE), far);
    // Beyond the smallest number there is nothing.
    let side = tail.equals(R::lit(0.0)).select(R::lit(f64::INFINITY), side);
    let outer = q.lt(R::lit(0.0)).select(-side, side);
    q.abs().le(R::lit(0.425)).select(centre, outer)
}

fn ratio<R: Real>(r: R, terms: &Rational) -> R {
    let horner = |c: &[f64; 8]| {
        let mut out = R::lit(c[7]);
        for &term in c[..7].iter().rev() {
            out = out * r + R::lit(term);
        }
        out
    };
    horner(&terms[0]) / horner(&terms[1])
}
