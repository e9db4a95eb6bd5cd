//! The normal distribution function, its logarithm, slope and inverse, and Owen's T.

use super::integrate;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// e^(x²)·erfc(x), which neither overflows nor underflows for x ≥ 0.
///
/// Below 25 from `erfc` with x² split in two so that its rounding does not show; above, the
/// asymptotic series.
pub fn erfcx(x: f64) -> f64 {
    if x > 25.0 {
        // 1/(x√π) (1 − h (1 − 3h (1 − 5h (1 − …)))) with h = 1/(2x²)
        let h = 0.5 / (x * x);
        let tail = 1.0 - 5.0 * h * (1.0 - 7.0 * h * (1.0 - 9.0 * h * (1.0 - 11.0 * h)));
        let series = 1.0 - h * (1.0 - 3.0 * h * tail);
        return series / (x * PI.sqrt());
    }
    let square = x * x;
    if square > 709.0 {
        return f64::INFINITY; // x < −26.6
    }
    let low = libm::fma(x, x, -square);
    libm::exp(square) * (libm::erfc(x) * (1.0 + low))
}

/// Φ(x), the standard normal distribution function.
pub fn ndtr(x: f64) -> f64 {
    if x < -39.0 {
        return 0.0; // below the smallest number
    }
    if x < -1.0 {
        // erfc alone would magnify the rounding of x/√2 by x².
        let square = x * x;
        let low = libm::fma(x, x, -square);
        return 0.5 * erfcx(-x * FRAC_1_SQRT_2) * libm::exp(-0.5 * square) * (1.0 - 0.5 * low);
    }
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// ln Φ(x).
pub fn log_ndtr(x: f64) -> f64 {
    if x < -1.0 {
        libm::log(0.5 * erfcx(-x * FRAC_1_SQRT_2)) - 0.5 * x * x
    } else {
        libm::log1p(-ndtr(-x))
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

/// The x with Φ(x) = p; ∓∞ at 0 and 1, NaN outside. Relative error about 1e-16.
///
/// Source: Wichura, "Algorithm AS 241: the percentage points of the normal distribution",
/// Applied Statistics 37 (1988), routine PPND16.
pub fn ndtri(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(0.180_625 - q * q, &CENTRE);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail <= 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-libm::log(tail)).sqrt();
    let z = if r <= 5.0 {
        ratio(r - 1.6, &MIDDLE)
    } else {
        ratio(r - 5.0, &FAR)
    };
    z.copysign(q)
}

/// Numerator and denominator, constant term first.
pub(crate) type Rational = [[f64; 8]; 2];

fn ratio(r: f64, terms: &Rational) -> f64 {
    let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, term| sum * r + term);
    horner(&terms[0]) / horner(&terms[1])
}

/// AS 241: see [`ndtri`].
pub(crate) const CENTRE: Rational = [
    [
        3.3871328727963666080e0,
        1.3314166789178437745e+2,
        1.9715909503065514427e+3,
        1.3731693765509461125e+4,
        4.5921953931549871457e+4,
        6.7265770927008700853e+4,
        3.3430575583588128105e+4,
        2.5090809287301226727e+3,
    ],
    [
        1.0,
        4.2313330701600911252e+1,
        6.8718700749205790830e+2,
        5.3941960214247511077e+3,
        2.1213794301586595867e+4,
        3.9307895800092710610e+4,
        2.8729085735721942674e+4,
        5.2264952788528545610e+3,
    ],
];

/// AS 241: see [`ndtri`].
pub(crate) const MIDDLE: Rational = [
    [
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ],
    [
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ],
];

/// AS 241: see [`ndtri`].
pub(crate) const FAR: Rational = [
    [
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ],
    [
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ],
];

/// Owen's T(h, a) = 1/(2π) ∫₀ᵃ exp(−h²(1 + x²)/2) / (1 + x²) dx, to about 1e-16 absolute.
///
/// For |a| > 1 through T(ah, 1/a). Reference: Owen, Annals of Mathematical Statistics 27 (1956),
/// 1075–1090.
pub fn owens_t(h: f64, a: f64) -> f64 {
    let h = h.abs();
    if a < 0.0 {
        return -owens_t(h, -a);
    }
    if a <= 1.0 {
        let scale = -0.5 * h * h;
        return integrate(|x| libm::exp(scale * (1.0 + x * x)) / (1.0 + x * x), 0.0, a)
            / (2.0 * PI);
    }
    // With upper tails u = Φ(−h), v = Φ(−ah): T = ½(u + v) − u·v − T(ah, 1/a).
    let (u, v) = (ndtr(-h), ndtr(-a * h));
    let inner = if h == 0.0 {
        libm::atan(1.0 / a) / (2.0 * PI)
    } else {
        owens_t(a * h, 1.0 / a)
    };
    0.5 * (u + v) - u * v - inner
}
