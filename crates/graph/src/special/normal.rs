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

/// The x with Φ(x) = p; ∓∞ at 0 and 1, NaN outside.
///
/// A rough start (Abramowitz and Stegun 26.2.23), then Newton's method on Φ near the middle and
/// on ln Φ in the tails, where it converges from the start given.
pub fn ndtri(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 || p == 1.0 {
        return if p == 0.0 {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
    }
    if p > 0.5 {
        return -ndtri_lower(1.0 - p); // exact: p is above one half
    }
    ndtri_lower(p)
}

/// [`ndtri`] for 0 < p ≤ ½.
fn ndtri_lower(p: f64) -> f64 {
    let t = (-2.0 * libm::log(p)).sqrt();
    let numerator = 2.515517 + t * (0.802853 + t * 0.010328);
    let mut x = numerator / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
    let log_p = libm::log(p);
    for _ in 0..4 {
        if p > 0.25 {
            // ½ erf keeps full relative accuracy around 0.
            let error = 0.5 * libm::erf(x * FRAC_1_SQRT_2) - (p - 0.5);
            x -= error * (2.0 * PI).sqrt() * libm::exp(0.5 * x * x);
        } else {
            x -= (log_ndtr(x) - log_p) / log_ndtr_slope(x);
        }
    }
    x
}

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
