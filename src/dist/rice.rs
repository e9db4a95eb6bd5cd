//! Lengths of planar normal vectors: Rice.

use super::formula::{non_negative, positive, require, unless};
use super::sampling::Rng;
use super::{Arg, Poisson, Real, Support, Univariate};
use fitzroy_graph::special::gamma_p;

/// Rice(nu, sigma): the length of a planar normal vector whose mean has the length nu and whose two
/// coordinates have the standard deviation sigma; or by b = nu/sigma.
///
/// ln p(y) = ln y − 2 ln sigma − ½ ((y − nu)/sigma)² + ln I₀(x) − x, with x = y·nu/sigma², for y > 0.
///
/// Requires nu ≥ 0, sigma > 0. The difference of ln I₀ and x costs about 1e-16·x.
/// Source: Rice, Bell System Technical Journal 24 (1945), 46–156, section 3.10.
pub struct Rice;

impl Univariate<2> for Rice {
    const ARGS: [Arg; 2] = [Arg::needed("nu"), Arg::with_default("sigma", 1.0)];
    const SUPPORT: Support = Support::POSITIVE;
    const OPEN: bool = true;

    fn log_density<R: Real>(y: R, [nu, sigma]: [R; 2]) -> R {
        let z = (y - nu) / sigma;
        let x = y / sigma * (nu / sigma);
        let kernel = y.ln() - R::lit(0.5) * z * z + (x.log_i0() - x);
        let norm = require(R::lit(0.0).le(nu), R::lit(2.0) * positive(sigma).ln());
        unless(y.le(R::lit(0.0)), kernel) - norm
    }

    /// Of two Poisson counts of means nu²/2sigma² and y²/2sigma², P(the first is the less).
    fn cdf(y: f64, [nu, sigma]: [f64; 2]) -> Option<f64> {
        let half_square = |x: f64| 0.5 * (x / positive(sigma)).powi(2);
        let (first, second) = (half_square(non_negative(nu)), half_square(y.max(0.0)));
        if first.is_nan() || second.is_nan() {
            return Some(f64::NAN);
        }
        // Outside the first count has less than 1e-17 left.
        let reach = 9.0 * first.sqrt();
        let mut k = (first - reach - 20.0).max(0.0).floor();
        let mut sum = 0.0;
        while k <= first + reach + 60.0 {
            let ln_mass = Poisson::log_density(k, [first]);
            sum += libm::exp(ln_mass) * gamma_p(k + 1.0, second);
            k += 1.0;
        }
        Some(sum.min(1.0))
    }

    fn sample(rng: &mut Rng, [nu, sigma]: [f64; 2]) -> f64 {
        let (along, across) = (nu + sigma * rng.normal(), sigma * rng.normal());
        along.hypot(across)
    }
}
