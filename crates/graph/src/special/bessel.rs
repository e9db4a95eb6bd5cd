//! Modified Bessel functions of orders 0 and 1, as a logarithm and a ratio.

use std::f64::consts::PI;

/// Where the power series hands over to the asymptotic one, whose best term there is e⁻⁶⁰.
const SWITCH: f64 = 30.0;

/// ln I₀(x).
pub fn log_i0(x: f64) -> f64 {
    let x = x.abs();
    if x < SWITCH {
        libm::log1p(bessel_series(x, 0))
    } else {
        x - 0.5 * libm::log(2.0 * PI * x) + libm::log(bessel_asymptotic(x, 0.0))
    }
}

/// I₁(x)/I₀(x), the derivative of [`log_i0`].
pub fn i1_over_i0(x: f64) -> f64 {
    let a = x.abs();
    let ratio = if a < SWITCH {
        0.5 * a * (1.0 + bessel_series(a, 1)) / (1.0 + bessel_series(a, 0))
    } else {
        bessel_asymptotic(a, 4.0) / bessel_asymptotic(a, 0.0)
    };
    ratio.copysign(x)
}
/// Σ over k ≥ 1 of (x²/4)ᵏ order! / (k! (k + order)!): I of that order is (x/2)^order (1 + this),
/// for orders 0 and 1.
fn bessel_series(x: f64, order: u32) -> f64 {
    let q = 0.25 * x * x;
    let (mut term, mut sum) = (1.0, 0.0);
    for k in 1..200 {
        let k = f64::from(k);
        term *= q / (k * (k + f64::from(order)));
        sum += term;
        if term <= sum * 1e-17 {
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
