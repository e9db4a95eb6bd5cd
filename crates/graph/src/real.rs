//! Numbers a formula can be written over: `f64` for the value, [`Expr`](crate::Expr) to record
//! the graph. One formula serves both.

use crate::special;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A real number, or something that stands for one.
///
/// Wide on purpose: it is an instruction set, and every distribution and transform is written
/// once over it. Comparisons give 1 or 0.
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The constant `x`.
    fn lit(x: f64) -> Self;
    /// eˣ.
    fn exp(self) -> Self;
    /// Natural logarithm; −∞ at 0, NaN below.
    fn ln(self) -> Self;
    /// ln(1 + x), accurate near 0.
    fn ln_1p(self) -> Self;
    /// eˣ − 1, accurate near 0.
    fn exp_m1(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Sine of radians.
    fn sin(self) -> Self;
    /// Cosine of radians.
    fn cos(self) -> Self;
    /// Tangent of radians.
    fn tan(self) -> Self;
    /// Inverse sine, in radians.
    fn asin(self) -> Self;
    /// Inverse cosine, in radians.
    fn acos(self) -> Self;
    /// Inverse tangent, in radians.
    fn atan(self) -> Self;
    /// Hyperbolic sine.
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Error function.
    fn erf(self) -> Self;
    /// 1 − erf(x), accurate for large x.
    fn erfc(self) -> Self;
    /// e^(x²)·erfc(x).
    fn erfcx(self) -> Self;
    /// ln Φ(x), the logarithm of the standard normal distribution function.
    fn log_ndtr(self) -> Self;
    /// ln |Γ(x)|.
    fn lgamma(self) -> Self;
    /// Digamma, the derivative of `lgamma`.
    fn digamma(self) -> Self;
    /// ln I₀(x), the logarithm of the modified Bessel function of order 0.
    fn log_i0(self) -> Self;
    /// 1 / (1 + e⁻ˣ).
    fn inv_logit(self) -> Self;
    /// ln(1 + eˣ).
    fn softplus(self) -> Self;
    /// Largest whole number not above x. Its derivative is taken as 0.
    fn floor(self) -> Self;
    /// xʸ.
    fn powf(self, y: Self) -> Self;
    /// The smaller; NaN if either is.
    fn min(self, y: Self) -> Self;
    /// The larger; NaN if either is.
    fn max(self, y: Self) -> Self;
    /// ln(eˣ + eʸ); −∞ if both are.
    fn log_add_exp(self, y: Self) -> Self;
    /// 1 where x < y, else 0.
    fn lt(self, y: Self) -> Self;
    /// 1 where x ≤ y, else 0.
    fn le(self, y: Self) -> Self;
    /// 1 where x = y, else 0.
    fn equals(self, y: Self) -> Self;
    /// `yes` where this is not 0, else `no`. Nothing of the branch not taken leaks, not even into
    /// a derivative.
    fn select(self, yes: Self, no: Self) -> Self;
}

impl Real for f64 {
    fn lit(x: f64) -> f64 {
        x
    }
    fn exp(self) -> f64 {
        libm::exp(self)
    }
    fn ln(self) -> f64 {
        libm::log(self)
    }
    fn ln_1p(self) -> f64 {
        libm::log1p(self)
    }
    fn exp_m1(self) -> f64 {
        libm::expm1(self)
    }
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    fn abs(self) -> f64 {
        f64::abs(self)
    }
    fn sin(self) -> f64 {
        libm::sin(self)
    }
    fn cos(self) -> f64 {
        libm::cos(self)
    }
    fn tan(self) -> f64 {
        libm::tan(self)
    }
    fn asin(self) -> f64 {
        libm::asin(self)
    }
    fn acos(self) -> f64 {
        libm::acos(self)
    }
    fn atan(self) -> f64 {
        libm::atan(self)
    }
    fn sinh(self) -> f64 {
        libm::sinh(self)
    }
    fn cosh(self) -> f64 {
        libm::cosh(self)
    }
    fn tanh(self) -> f64 {
        libm::tanh(self)
    }
    fn erf(self) -> f64 {
        libm::erf(self)
    }
    fn erfc(self) -> f64 {
        libm::erfc(self)
    }
    fn erfcx(self) -> f64 {
        special::erfcx(self)
    }
    fn log_ndtr(self) -> f64 {
        special::log_ndtr(self)
    }
    fn lgamma(self) -> f64 {
        libm::lgamma(self)
    }
    fn digamma(self) -> f64 {
        special::digamma(self)
    }
    fn log_i0(self) -> f64 {
        special::log_i0(self)
    }
    fn inv_logit(self) -> f64 {
        if self >= 0.0 {
            1.0 / (1.0 + libm::exp(-self))
        } else {
            let e = libm::exp(self);
            e / (1.0 + e)
        }
    }
    fn softplus(self) -> f64 {
        if self.is_nan() {
            self
        } else {
            f64::max(self, 0.0) + libm::log1p(libm::exp(-f64::abs(self)))
        }
    }
    fn floor(self) -> f64 {
        f64::floor(self)
    }
    fn powf(self, y: f64) -> f64 {
        libm::pow(self, y)
    }
    fn min(self, y: f64) -> f64 {
        if self.is_nan() || y.is_nan() {
            f64::NAN
        } else {
            f64::min(self, y)
        }
    }
    fn max(self, y: f64) -> f64 {
        if self.is_nan() || y.is_nan() {
            f64::NAN
        } else {
            f64::max(self, y)
        }
    }
    fn log_add_exp(self, y: f64) -> f64 {
        if self == y {
            return self + std::f64::consts::LN_2;
        }
        Real::max(self, y) + libm::log1p(libm::exp(-f64::abs(self - y)))
    }
    fn lt(self, y: f64) -> f64 {
        f64::from(self < y)
    }
    fn le(self, y: f64) -> f64 {
        f64::from(self <= y)
    }
    fn equals(self, y: f64) -> f64 {
        f64::from(self == y)
    }
    fn select(self, yes: f64, no: f64) -> f64 {
        if self != 0.0 { yes } else { no }
    }
}
