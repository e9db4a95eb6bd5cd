//! Scalar special functions, slow and accurate: the definitions that every device is held to.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// e^(x²)·erfc(x), which neither overflows nor underflows for x ≥ 0.
///
/// Below 25 from `erfc` with x² split in two so that its rounding does not show; above, the
/// asymptotic series.
pub fn erfcx(x: f64) -> f64 {
    if x > 25.0 {
        // 1/(x√π) (1 − 1/(2x²) + 3/(4x⁴) − 15/(8x⁶) + 105/(16x⁸))
        let h = 0.5 / (x * x);
        let series = 1.0 - h * (1.0 - 3.0 * h * (1.0 - 5.0 * h * (1.0 - 7.0 * h)));
        return series / (x * PI.sqrt());
    }
    let square = x * x;
    let low = libm::fma(x, x, -square);
    libm::exp(square) * (libm::erfc(x) * (1.0 + low))
}

/// ln Φ(x).
pub fn log_ndtr(x: f64) -> f64 {
    let z = x * FRAC_1_SQRT_2;
    if x < -1.0 {
        libm::log(0.5 * erfcx(-z)) - 0.5 * x * x
    } else {
        libm::log1p(-0.5 * libm::erfc(z))
    }
}

/// φ(x)/Φ(x), the derivative of [`log_ndtr`].
pub fn log_ndtr_slope(x: f64) -> f64 {
    let z = x * FRAC_1_SQRT_2;
    if x < 0.0 {
        (2.0 / PI).sqrt() / erfcx(-z)
    } else {
        libm::exp(-0.5 * x * x) / ((2.0 * PI).sqrt() * (1.0 - 0.5 * libm::erfc(z)))
    }
}

/// Digamma ψ(x): recurrence up to 10, then the asymptotic series; reflection below 0.
pub fn digamma(x: f64) -> f64 {
    if x <= 0.0 && x == x.floor() {
        return f64::NAN;
    }
    if x < 0.0 {
        return digamma(1.0 - x) - PI / libm::tan(PI * x);
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let tail = r
        * (1.0 / 12.0
            - r * (1.0 / 120.0
                - r * (1.0 / 252.0
                    - r * (1.0 / 240.0 - r * (1.0 / 132.0 - r * (691.0 / 32760.0 - r / 12.0))))));
    sum + libm::log(x) - 0.5 / x - tail
}

/// Trigamma ψ′(x).
pub fn trigamma(x: f64) -> f64 {
    if x <= 0.0 && x == x.floor() {
        return f64::NAN;
    }
    if x < 0.0 {
        let s = libm::sin(PI * x);
        return PI * PI / (s * s) - trigamma(1.0 - x);
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = 1.0
        + 0.5 / x
        + r * (1.0 / 6.0
            - r * (1.0 / 30.0
                - r * (1.0 / 42.0 - r * (1.0 / 30.0 - r * (5.0 / 66.0 - r * (691.0 / 2730.0))))));
    sum + series / x
}

/// ln I₀(x).
pub fn log_i0(x: f64) -> f64 {
    let x = x.abs();
    if x < 15.0 {
        libm::log(bessel_series(x, 0))
    } else {
        x - 0.5 * libm::log(2.0 * PI * x) + libm::log(bessel_asymptotic(x, 0.0))
    }
}

/// I₁(x)/I₀(x), the derivative of [`log_i0`].
pub fn i1_over_i0(x: f64) -> f64 {
    let a = x.abs();
    let ratio = if a < 15.0 {
        bessel_series(a, 1) / bessel_series(a, 0)
    } else {
        bessel_asymptotic(a, 4.0) / bessel_asymptotic(a, 0.0)
    };
    ratio.copysign(x)
}

/// Σ (x/2)^(2k+order) / (k! (k+order)!).
fn bessel_series(x: f64, order: u32) -> f64 {
    let q = 0.25 * x * x;
    let mut term = if order == 0 { 1.0 } else { 0.5 * x };
    let mut sum = term;
    for k in 1..200 {
        let k = f64::from(k);
        term *= q / (k * (k + f64::from(order)));
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum
}

/// 1 − (μ−1)/(8x) + (μ−1)(μ−9)/(2!(8x)²) − …, with μ = 4·order².
fn bessel_asymptotic(x: f64, mu: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..30 {
        let k = f64::from(k);
        let odd = 2.0 * k - 1.0;
        let next = -term * (mu - odd * odd) / (k * 8.0 * x);
        if next.abs() >= f64::abs(term) || next == 0.0 {
            break;
        }
        term = next;
        sum += term;
    }
    sum
}
