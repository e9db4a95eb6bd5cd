//! Heavy tails of two weights: SkewStudentT.

use super::formula::{ln_beta, positive};
use super::sampling::{Rng, beta_draw};
use super::tails::ln_beta_shares;
use super::{Arg, Real, Support, Univariate};
use fitzroy_graph::special::beta_inc;
use std::f64::consts::LN_2;

/// SkewStudentT(a, b, mu, sigma) of Jones and Faddy: location mu, scale sigma; the density falls as
/// |y|^−(2a + 1) below and as y^−(2b + 1) above; or by lam = sigma⁻².
///
/// ln p(y) = (a + ½) ln(1 + r) + (b + ½) ln(1 − r) − (a + b − 1) ln 2 − ln B(a, b) − ½ ln(a + b) −
/// ln sigma, with z = (y − mu)/sigma and r = z/√(a + b + z²).
///
/// With a = b it is StudentT(2a, mu, sigma). Support: the real line. Requires a > 0, b > 0, sigma > 0.
/// Source: Jones and Faddy, Journal of the Royal Statistical Society B 65 (2003), 159–174.
pub struct SkewStudentT;

/// 1 + r and 1 − r of r = z/√(c + z²), neither with cancellation.
fn sides<R: Real>(z: R, c: R) -> (R, R) {
    let left = z.lt(R::lit(0.0));
    let size = left.select(-z, z);
    let root = (c + size * size).sqrt();
    let more = R::lit(1.0) + size / root;
    let less = c / (root * (root + size));
    (left.select(less, more), left.select(more, less))
}

impl SkewStudentT {
    /// The shares of Beta(a, b) below and above which the shares of the distribution are.
    fn shares<R: Real>(y: R, [a, b, mu, sigma]: [R; 4]) -> (R, R) {
        let z = (y - mu) / positive(sigma);
        let z = z.max(R::lit(-1e150)).min(R::lit(1e150));
        let (below, above) = sides(z, positive(a) + positive(b));
        (R::lit(0.5) * below, R::lit(0.5) * above)
    }
}

impl Univariate<4> for SkewStudentT {
    const ARGS: [Arg; 4] = [
        Arg::needed("a"),
        Arg::needed("b"),
        Arg::with_default("mu", 0.0),
        Arg::with_default("sigma", 1.0),
    ];
    const SUPPORT: Support = Support::Real;
    const LOCATION_SCALE: Option<[usize; 2]> = Some([2, 3]);

    fn log_density<R: Real>(y: R, [a, b, mu, sigma]: [R; 4]) -> R {
        let half = R::lit(0.5);
        let (a, b) = (positive(a), positive(b));
        let (below, above) = sides((y - mu) / sigma, a + b);
        let kernel = (a + half) * below.ln() + (b + half) * above.ln();
        let norm = (a + b - R::lit(1.0)) * R::lit(LN_2) + ln_beta(a, b) + half * (a + b).ln();
        kernel - (norm + positive(sigma).ln())
    }

    fn log_cdf<R: Real>(y: R, args: [R; 4]) -> Option<R> {
        let (below, above) = SkewStudentT::shares(y, args);
        Some(ln_beta_shares(args[0], args[1], below, above).0)
    }

    fn log_ccdf<R: Real>(y: R, args: [R; 4]) -> Option<R> {
        let (below, above) = SkewStudentT::shares(y, args);
        Some(ln_beta_shares(args[0], args[1], below, above).1)
    }

    fn cdf(y: f64, args: [f64; 4]) -> Option<f64> {
        let (below, above) = SkewStudentT::shares(y, args);
        Some(beta_inc(args[0], args[1], below, above))
    }

    fn sample(rng: &mut Rng, [a, b, mu, sigma]: [f64; 4]) -> f64 {
        let (below, above) = beta_draw(rng, a, b);
        let z = 0.5 * (a + b).sqrt() * (below - above) / (below.sqrt() * above.sqrt());
        mu + sigma * z
    }
}
