//! VonMises, the normal distribution of angles.

use super::formula::{HALF_LN_TWO_PI, non_negative, unless};
use super::sampling::Rng;
use super::tails::ln_von_mises_shares;
use super::{Arg, Real, Support, Univariate};
use std::f64::consts::{PI, TAU};

/// VonMises(mu, kappa): mean direction mu and concentration kappa (0 is uniform), in radians.
///
/// ln p(y) = kappa cos(y − mu) − ln 2π − ln I₀(kappa), for −π ≤ y ≤ π; written with
/// cos x = 1 − 2 sin²(x/2), so that a large kappa does not cancel.
///
/// Requires kappa ≥ 0. The distribution function counts from −π and is accurate to about 1e-14
/// absolutely. Source: Mardia and Jupp, *Directional Statistics* (2000), section 3.5.4.
pub struct VonMises;

/// ∫ of the density of VonMises(0, kappa) from 0 to x, for |x| ≤ 2π.
///
/// Fourier series x/2π + (1/π) Σ (I_j/I_0) sin(jx)/j, the ratios by downward recurrence, the sum
/// by Horner's rule along it. Reference: Hill, ACM TOMS 3 (1977), 279–284.
fn integral_from_zero(x: f64, kappa: f64) -> f64 {
    if kappa == 0.0 || kappa.is_nan() {
        return x / TAU + kappa;
    }
    // I_j/I_{j−1} < kappa/(j + kappa): the product falls below 1e-17 well before this.
    let n_terms = (30.0 + 10.0 * kappa.sqrt() + 10.0 * libm::cbrt(kappa)) as u32;
    let (mut ratio, mut nested) = (0.0, 0.0);
    for j in (1..=n_terms).rev() {
        let j = f64::from(j);
        ratio = 1.0 / (2.0 * j / kappa + ratio); // I_j/I_{j−1}
        nested = ratio * (libm::sin(j * x) / j + nested);
    }
    x / TAU + nested / PI
}

impl VonMises {
    /// ln P(Y ≤ y) and ln P(Y > y).
    fn ln_shares<R: Real>(y: R, mu: R, kappa: R) -> (R, R) {
        let y = y.max(R::lit(-PI)).min(R::lit(PI));
        ln_von_mises_shares(y, mu, non_negative(kappa))
    }
}

impl Univariate<2> for VonMises {
    const ARGS: [Arg; 2] = [
        Arg::with_default("mu", 0.0),
        Arg::with_default("kappa", 1.0),
    ];
    const SUPPORT: Support = Support::Circular;

    fn log_density<R: Real>(y: R, [mu, kappa]: [R; 2]) -> R {
        let sine = (R::lit(0.5) * (y - mu)).sin();
        let kernel = R::lit(-2.0) * kappa * (sine * sine);
        let kappa = non_negative(kappa);
        let norm = kappa.log_i0() - kappa + R::lit(2.0 * HALF_LN_TWO_PI);
        unless(R::lit(PI).lt(y.abs()), kernel) - norm
    }

    fn log_cdf<R: Real>(y: R, [mu, kappa]: [R; 2]) -> Option<R> {
        Some(VonMises::ln_shares(y, mu, kappa).0)
    }

    fn log_ccdf<R: Real>(y: R, [mu, kappa]: [R; 2]) -> Option<R> {
        Some(VonMises::ln_shares(y, mu, kappa).1)
    }

    fn cdf(y: f64, [mu, kappa]: [f64; 2]) -> Option<f64> {
        // mu moved into [−π, π]; the integrand is periodic, so no other end needs moving.
        let mu = mu - TAU * (mu / TAU).round();
        let y = y.clamp(-PI, PI);
        let kappa = non_negative(kappa);
        let mass = integral_from_zero(y - mu, kappa) - integral_from_zero(-PI - mu, kappa);
        Some(mass.clamp(0.0, 1.0))
    }

    /// Reference: Best and Fisher, Applied Statistics 28 (1979), 152–157.
    fn sample(rng: &mut Rng, [mu, kappa]: [f64; 2]) -> f64 {
        let angle = if kappa < 1e-8 {
            PI * (2.0 * rng.uniform() - 1.0)
        } else {
            best_fisher(rng, kappa)
        };
        let turned = mu + angle;
        (turned - TAU * (turned / TAU).round()).clamp(-PI, PI)
    }
}

/// A draw around 0 by rejection from a wrapped Cauchy distribution.
fn best_fisher(rng: &mut Rng, kappa: f64) -> f64 {
    let tau = 1.0 + (1.0 + 4.0 * kappa * kappa).sqrt();
    let rho = (tau - (2.0 * tau).sqrt()) / (2.0 * kappa);
    let r = (1.0 + rho * rho) / (2.0 * rho);
    loop {
        let z = libm::cos(PI * rng.uniform());
        let f = (1.0 + r * z) / (r + z);
        let c = kappa * (r - f);
        let u = rng.uniform();
        if c * (2.0 - c) > u || libm::log(c / u) + 1.0 >= c {
            let angle = libm::acos(f.clamp(-1.0, 1.0));
            return if rng.coin() { angle } else { -angle };
        }
    }
}
