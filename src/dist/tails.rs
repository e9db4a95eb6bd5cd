//! Shares below and above a number where there is no closed form: the incomplete gamma and beta
//! functions, Student's t, the skew normal and the circular normal, each one formula over `Real`.
//!
//! A share is the density at its end times an integral of what the density falls by from there on,
//! taken by a rule of fixed nodes. So it has no branches and no series whose length depends on the
//! arguments: the same text gives the number, the graph, its gradient to every argument (which no
//! closed form exists for) and the code for other machines.

use super::formula::{HALF_LN_TWO_PI, ln_1m_exp, ln_beta, ln_gamma_half_step};
use crate::dist::Real;
use std::f64::consts::{LN_2, PI, TAU};

/// Σ w·f(x) over the nodes of a rule for ∫₀^∞ f, f analytic and falling to nothing by x = 40.
///
/// x = exp(v − e⁻ᵛ) with v from −3.4 to 3.7 in steps of 0.1: nodes crowd at 0, so that f may
/// also change there on a much smaller scale. Relative error below 1e-11 for what stands here, and
/// mostly below 1e-13. Reference: Takahasi and Mori, Publications of RIMS 9 (1974), 721–741.
fn integral<R: Real>(f: impl Fn(R) -> R) -> R {
    const STEP: f64 = 0.1;
    let term = |k: u32| {
        let v = -3.4 + STEP * f64::from(k);
        let e = libm::exp(-v);
        let x = libm::exp(v - e);
        R::lit(STEP * (1.0 + e) * x) * f(R::lit(x))
    };
    (1..72).map(term).fold(term(0), |sum, next| sum + next)
}

/// ln P(a, x) and ln Q(a, x), the logarithms of the regularised lower and upper incomplete gamma
/// functions, for a > 0 and x ≥ 0. NaN where a is.
///
/// With u = ln y the density is e^(a·u − eᵘ): below x = a + 1 it falls to the left, above to the
/// right. The other share is what is left to 1. To the left the shape is raised by one first,
/// γ(a, x) = (γ(a + 1, x) + xᵃ e⁻ˣ)/a, so that the fall is not slow where a is small.
pub(crate) fn ln_gamma_shares<R: Real>(a: R, x: R) -> (R, R) {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let x = x.min(R::lit(1e300));
    let below = x.lt(a + one);
    let shape = below.select(a + one, a);
    // What falls at once falls with this rate; what starts level falls as a bell.
    let to_left = (shape - x).max(zero) + shape / (one + shape.sqrt());
    let to_right = x - a + x.sqrt();
    let scale = one / below.select(to_left, to_right);
    let step = below.select(-scale, scale);
    let sum = integral(|node| {
        let t = step * node;
        (shape * t - x * t.exp_m1()).exp()
    });
    let sum = scale * sum;
    let sum = below.select((one + x * sum) / a, sum);
    let share = (a * x.ln() - x - a.lgamma() + sum.ln()).min(zero);
    let rest = ln_1m_exp(share);
    (below.select(share, rest), below.select(rest, share))
}

/// ln I_x(a, b) and ln I_y(b, a), the logarithms of the regularised incomplete beta function and
/// its complement, for a, b > 0, given x and y = 1 − x. NaN where an argument is.
///
/// With u = ln(x/y) the density is e^(a·u)/(1 + eᵘ)^(a + b). The smaller side is integrated, with
/// its shape raised by one as in [`ln_gamma_shares`]; the other is what is left to 1.
pub(crate) fn ln_beta_shares<R: Real>(a: R, b: R, x: R, y: R) -> (R, R) {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let below = (x * (b + one)).le(y * (a + one));
    let (own, other) = (below.select(a, b), below.select(b, a));
    let (x, y) = (below.select(x, y), below.select(y, x));
    let shape = own + one;
    let total = shape + other;
    let at_once = (shape * y - other * x).max(zero);
    let bell = one / (one / shape + (total / (shape * other)).sqrt());
    let scale = one / (at_once + bell);
    let sum = integral(|node| {
        let t = -scale * node;
        (shape * t - total * (x * t.exp_m1()).ln_1p()).exp()
    });
    let sum = (one + (own + other) * x * scale * sum) / own;
    let front = own * x.ln() + other * y.ln() - ln_beta(own, other);
    let share = (front + sum.ln()).min(zero);
    let rest = ln_1m_exp(share);
    (below.select(share, rest), below.select(rest, share))
}

/// ln P(T > z) of Student's t with nu degrees of freedom, for z ≥ 0.
///
/// With z = √nu·sinh u the density is cosh(u)^(−nu).
pub(super) fn ln_student_tail<R: Real>(z: R, nu: R) -> R {
    let (half, one) = (R::lit(0.5), R::lit(1.0));
    let z = z.min(R::lit(1e150));
    let square = z * z;
    // 1 − tanh u, without cancellation.
    let root = (nu + square).sqrt();
    let rest = nu / (root * (root + z));
    let scale = one / (nu * (one - rest) + nu / (one + nu.sqrt()));
    let sum = integral(|node| {
        let s = scale * node;
        (-nu * (s + (half * rest * (R::lit(-2.0) * s).exp_m1()).ln_1p())).exp()
    });
    let half_nu = half * nu;
    let norm = ln_gamma_half_step(half_nu) - R::lit(0.5 * libm::log(PI));
    norm - half_nu * (square / nu).ln_1p() + (scale * sum).ln()
}

/// ln P(Z ≤ z) and ln P(Z > z) of the skew normal distribution with location 0, scale 1 and shape
/// alpha.
///
/// The density is 2φ(z)Φ(alpha·z). Mirrored so that alpha ≥ 0, it falls outwards from z: to the
/// right by φ alone; to the left, below 0 and some way up to the mode, by Φ, which may change within
/// 1/alpha. The other share is what is left to 1.
pub(super) fn ln_skew_normal_shares<R: Real>(z: R, alpha: R) -> (R, R) {
    let (zero, half, one) = (R::lit(0.0), R::lit(0.5), R::lit(1.0));
    let mirrored = alpha.lt(zero);
    let z = mirrored.select(-z, z);
    let z = z.max(R::lit(-1e100)).min(R::lit(1e100));
    let alpha = mirrored.select(-alpha, alpha);
    let rises = (z * alpha * alpha).lt((alpha - one).max(zero));
    let left = z.lt(zero).max(rises);
    let way = left.select(-one, one);
    let size = z.abs();
    let steeper = left.select(alpha * (one + alpha * size), zero);
    let scale = one / (one + size + steeper);
    let start = (alpha * z).log_ndtr();
    let sum = integral(|node| {
        let s = scale * node;
        let t = z + way * s;
        ((alpha * t).log_ndtr() - start - s * (way * z + half * s)).exp()
    });
    let front = start - half * z * z + R::lit(LN_2 - HALF_LN_TWO_PI);
    let share = (front + (scale * sum).ln()).min(zero);
    let rest = ln_1m_exp(share);
    // The upper side was integrated, unless exactly one of the two turns was made.
    let upper = left.equals(mirrored);
    (upper.select(rest, share), upper.select(share, rest))
}

/// ln P(−π ≤ Y ≤ y) and ln P(y < Y ≤ π) of the circular normal distribution around mu, for
/// −π ≤ y ≤ π.
///
/// Counted along the line, the mass up to x from mu is a whole number, plus the tail from |x| to
/// the far side of the circle if x lies before mu, less it if behind. Both shares are differences
/// of two such counts; where the whole numbers cancel, what is left keeps its digits.
pub(super) fn ln_von_mises_shares<R: Real>(y: R, mu: R, kappa: R) -> (R, R) {
    let one = R::lit(1.0);
    let start = Count::up_to(R::lit(-PI) - mu, kappa);
    let end = Count::up_to(y - mu, kappa);
    let turns = end.whole - start.whole;
    (
        Count::ln_between(turns, &end, &start),
        Count::ln_between(one - turns, &start, &end),
    )
}

/// The mass from mu, counted along the line: whole + way·exp(ln_height).
struct Count<R> {
    whole: R,
    /// What is left to the far side of the circle, in radians; less than 0 behind mu.
    way: R,
    /// Of the tail there, the logarithm of its mean density.
    ln_height: R,
}

impl<R: Real> Count<R> {
    fn up_to(x: R, kappa: R) -> Count<R> {
        let (one, half) = (R::lit(1.0), R::lit(0.5));
        let turns = (x * R::lit(1.0 / TAU) + half).floor();
        let x = x - R::lit(TAU) * turns;
        let before = x.lt(R::lit(0.0));
        let distance = before.select(-x, x);
        let way = R::lit(PI) - distance;
        Count {
            whole: turns + one - before,
            way: before.select(way, -way),
            ln_height: ln_von_mises_height(distance, way, kappa),
        }
    }

    /// ln of `whole` and what the one count has more than the other besides.
    fn ln_between(whole: R, more: &Count<R>, less: &Count<R>) -> R {
        // Any unit would do; this one keeps what is left where the whole numbers cancel.
        let size = |c: &Count<R>| c.ln_height + c.way.abs().max(R::lit(1e-290)).ln();
        let largest = size(more).max(size(less));
        let unit = whole.equals(R::lit(0.0)).select(largest, R::lit(0.0));
        let part = |c: &Count<R>| c.way * (c.ln_height - unit).exp();
        let sum = whole + part(more) - part(less);
        unit + sum.max(R::lit(0.0)).ln()
    }
}

/// ln of the mean density of the circular normal distribution around 0 from x to π, for
/// 0 ≤ x ≤ π and way = π − x.
///
/// The way to π is taken as (π − x)(1 − e^(−c·node)): c so small that the density falls with the
/// node, but no smaller than what leaves nothing of both falls at node 40.
fn ln_von_mises_height<R: Real>(x: R, way: R, kappa: R) -> R {
    let (half, one) = (R::lit(0.5), R::lit(1.0));
    let bell = kappa / (one + kappa).sqrt();
    let c = one / (one + way * (kappa * x.sin().max(R::lit(0.0)) + bell));
    let c = c.max(one - kappa * (one + x.cos()) * R::lit(1.0 / 40.0));
    let sum = integral(|node| {
        let fall = c * node;
        let s = -way * (-fall).exp_m1();
        let drop = R::lit(2.0) * kappa * (x + half * s).sin() * (half * s).sin();
        (-(fall + drop)).exp()
    });
    let sine = (half * x).sin();
    let front = R::lit(-2.0) * kappa * sine * sine;
    let norm = kappa.log_i0() - kappa + R::lit(2.0 * HALF_LN_TWO_PI);
    front - norm + (c * sum).ln()
}
