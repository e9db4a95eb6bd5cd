//! Draws from an urn that are not put back: HyperGeometric.

use super::formula::{ln_choose, not_count, require, unless};
use super::sampling::Rng;
use super::{Arg, Bound, Real, Support, Univariate};

/// HyperGeometric(N, k, n): how many of n draws without replacement from N things are among k of
/// them.
///
/// ln P(y) = ln C(k, y) + ln C(N − k, n − y) − ln C(N, n), for whole y from max(0, n + k − N) to
/// min(k, n).
///
/// Requires whole N ≥ 0, k and n from 0 to N. The differences of ln Γ cost about 1e-16·N ln N, and
/// the distribution function sums the masses.
/// Source: Johnson, Kemp and Kotz, *Univariate Discrete Distributions*, chapter 6.
pub struct HyperGeometric;

impl HyperGeometric {
    /// Whether the arguments are whole numbers, and no part is more than all.
    fn accepts<R: Real>([all, k, n]: [R; 3]) -> R {
        let one = R::lit(1.0);
        let whole = |x: R| one - not_count(x, 0.0);
        whole(all) * whole(k) * whole(n) * k.le(all) * n.le(all)
    }

    /// The least and the greatest number.
    fn ends<R: Real>(args: [R; 3]) -> [R; 2] {
        [LEAST.at(&args), MOST.at(&args)]
    }

    /// P(y + 1)/P(y).
    fn rise([all, k, n]: [f64; 3], y: f64) -> f64 {
        (k - y) * (n - y) / ((y + 1.0) * (all - k - n + y + 1.0))
    }
}

const LEAST: Bound = Bound::Excess([1, 2], 0);
const MOST: Bound = Bound::Least(1, 2);

impl Univariate<3> for HyperGeometric {
    const ARGS: [Arg; 3] = [Arg::needed("N"), Arg::needed("k"), Arg::needed("n")];
    const SUPPORT: Support = Support::IntegerRange(LEAST, MOST);

    fn log_density<R: Real>(y: R, args: [R; 3]) -> R {
        let [all, k, n] = args;
        let kernel = ln_choose(k, y) + ln_choose(all - k, n - y);
        let [least, most] = HyperGeometric::ends(args);
        let outside = not_count(y, 0.0).max(y.lt(least)).max(most.lt(y));
        let norm = require(HyperGeometric::accepts(args), ln_choose(all, n));
        unless(outside, kernel) - norm
    }

    fn cdf(y: f64, args: [f64; 3]) -> Option<f64> {
        if HyperGeometric::accepts(args) != 1.0 {
            return Some(f64::NAN);
        }
        let [least, most] = HyperGeometric::ends(args);
        if y.floor() >= most {
            return Some(1.0);
        }
        let (mut sum, mut k) = (0.0, least);
        while k <= y {
            sum += libm::exp(HyperGeometric::log_density(k, args));
            k += 1.0;
        }
        Some(sum.min(1.0))
    }

    /// Outwards from the mode, on both sides at once, until the masses reach a uniform number.
    fn sample(rng: &mut Rng, args: [f64; 3]) -> f64 {
        let [all, k, n] = args;
        let [least, most] = HyperGeometric::ends(args);
        let mode = ((n + 1.0) * (k + 1.0) / (all + 2.0)).floor();
        let mode = mode.clamp(least, most);
        let mass = libm::exp(HyperGeometric::log_density(mode, args));
        let mut left = rng.uniform() - mass;
        let (mut low, mut high) = ((mode, mass), (mode, mass));
        while left > 0.0 && (low.0 > least || high.0 < most) {
            if high.0 < most {
                high = (high.0 + 1.0, high.1 * HyperGeometric::rise(args, high.0));
                left -= high.1;
                if left <= 0.0 {
                    return high.0;
                }
            }
            if low.0 > least {
                low = (low.0 - 1.0, low.1 / HyperGeometric::rise(args, low.0 - 1.0));
                left -= low.1;
                if left <= 0.0 {
                    return low.0;
                }
            }
        }
        mode
    }
}
