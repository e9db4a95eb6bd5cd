//! Gauss's hypergeometric function and the modified Bessel functions of any order, by Euler's integrals:
//! each one formula over `Real`, as the shares in `tails`.

use super::formula::require;
use crate::dist::Real;
use std::f64::consts::PI;

/// What the logarithm of an integrand has to fall by before nothing more is added.
const FALL: f64 = 35.0;
/// Nodes of the rule, less one.
const STEPS: u32 = 96;

/// Where an integrand over the line has its one mode, and how far it reaches from there.
struct Reach<R> {
    /// The scale of the bell at the mode.
    width: R,
    left: R,
    right: R,
}

impl<R: Real> Reach<R> {
    /// The reach of e^φ: −φ'' at the mode, the rates at which φ falls in the end to the left and to
    /// the right, and the distances from the mode from which it does.
    fn new(curvature: R, rates: (R, R), distances: (R, R)) -> Reach<R> {
        let width = R::lit(1.0) / curvature.sqrt();
        let side = |rate: R, distance: R| {
            let bell = R::lit((2.0 * FALL).sqrt()) * width;
            let straight = R::lit(2.0) + distance.max(R::lit(0.0));
            R::lit(FALL) / rate + bell.min(straight)
        };
        Reach {
            width,
            left: side(rates.0, distances.0),
            right: side(rates.1, distances.1),
        }
    }

    /// ∫ f(x) dx, x counted from the mode.
    ///
    /// x = core·sinh v in even steps of v: as fine as the bell in the middle, wide where f falls
    /// slowly. The core is no wider than twice what (1 + eˣ) changes within, which all of these
    /// integrands are made of. Relative error below 1e-10, and mostly below 1e-13.
    fn integral(&self, f: impl Fn(R) -> R) -> R {
        let (half, one) = (R::lit(0.5), R::lit(1.0));
        let core = R::lit(2.0) * self.width.min(R::lit(1.5));
        let end = |reach: R| {
            let y = reach / core;
            y + (one + y * y).sqrt()
        };
        let (left, right) = (end(self.left), end(self.right));
        let step = (left.ln() + right.ln()) * R::lit(1.0 / f64::from(STEPS));
        let ratio = step.exp();
        let back = one / ratio;
        // eᵛ and e⁻ᵛ.
        let (mut up, mut down) = (one / left, left);
        let mut sum = R::lit(0.0);
        for k in 0..=STEPS {
            let (sinh, cosh) = (half * (up - down), half * (up + down));
            let term = cosh * f(core * sinh);
            sum = if k == 0 { term } else { sum + term };
            (up, down) = (up * ratio, down * back);
        }
        step * core * sum
    }
}

/// ln ₂F₁(a, b; c; z), of Gauss's hypergeometric function, for 0 < a, b, for c above the smaller of
/// them, and for z < 1. NaN elsewhere.
///
/// With b ≤ a, and with Euler's transformation where c < a and 0 < z, Euler's integral over
/// t^(b−1) (1 − t)^(c−b−1) (1 − zt)^(−a) is taken by parts once, so that it falls no slower than t at
/// 0: b ∫ that = ∫ t^b (1 − t)^(c−b−1) (1 − zt)^(−a−1) (c(1 − zt) − az(1 − t)), in which nothing
/// cancels. Over u = ln(t/(1 − t)) there is one mode, at the root of a quadratic.
/// Reference: NIST Digital Library of Mathematical Functions, 15.6.1 and 15.8.1.
pub(crate) fn ln_hyp2f1<R: Real>(a: R, b: R, c: R, z: R) -> R {
    let (zero, one, two) = (R::lit(0.0), R::lit(1.0), R::lit(2.0));
    // Not by `max` and `min`, of which both slopes are those of one argument where they are equal.
    let in_order = b.le(a);
    let (a, b) = (in_order.select(a, b), in_order.select(b, a));
    let known = zero.lt(b) * b.lt(c) * z.lt(one);
    let rest = one - z;
    let turned = c.lt(a) * zero.lt(z);
    let front = turned.select((c - a - b) * rest.ln(), zero);
    let (a, b) = (turned.select(c - a, a), turned.select(c - b, b));
    let (left, right, pole) = (b + one, c - b, a + one);
    // The odds t/(1 − t) at the mode, by the form that does not cancel.
    let (m, k) = (left - right - z * (left - pole), right * rest);
    let root = (m * m + R::lit(4.0) * k * left).sqrt();
    let odds = zero
        .lt(m)
        .select((m + root) / (two * k), two * left / (root - m));
    let mode = odds.ln();
    let (t, s) = (odds / (one + odds), one / (one + odds));
    let factor = rest + z * s;
    let curvature =
        t * s * (left + right - pole * z * ((s - t) / factor + z * t * s / (factor * factor)));
    // (1 − zt) turns at u = −ln(1 − z), as t and 1 − t at 0.
    let turn = -rest.ln();
    let distances = (mode - turn.min(zero), turn.max(zero) - mode);
    let height = |u: R| {
        let ln_s = -u.softplus();
        let s = ln_s.exp();
        let factor = rest + z * s;
        let height = left * u + (left + right) * ln_s - pole * factor.ln();
        (height, c * factor - a * z * s)
    };
    let top = height(mode).0;
    let sum = Reach::new(curvature, (left, right), distances).integral(|x| {
        let (height, weight) = height(mode + x);
        weight * (height - top).exp()
    });
    let norm = c.lgamma() - left.lgamma() - right.lgamma();
    require(known, front + norm + top + sum.ln())
}

/// ln(e⁻ˣ I_v(x)), of the modified Bessel function of order v, for v, x ≥ 0. NaN elsewhere.
///
/// Poisson's integral, ∫ (1 − t²)^(v−½) e^(xt) dt from −1 to 1, with u = ln((1 + t)/(1 − t)).
/// Reference: NIST Digital Library of Mathematical Functions, 10.32.2.
pub(crate) fn ln_ive<R: Real>(v: R, x: R) -> R {
    let (zero, half, one, two) = (R::lit(0.0), R::lit(0.5), R::lit(1.0), R::lit(2.0));
    let known = zero.le(v) * zero.le(x);
    // I_v(0) is 1 or 0 in the limit.
    let x = x.max(R::lit(1e-300));
    let shape = v + half;
    let odds = (x + (x * x + shape * shape).sqrt()) / shape;
    let mode = odds.ln();
    let (p, s) = (odds / (one + odds), one / (one + odds));
    let curvature = two * p * s * (shape + x * (p - s));
    let height = |u: R| {
        let ln_s = -u.softplus();
        shape * (u + two * ln_s) - two * x * ln_s.exp()
    };
    let top = height(mode);
    let reach = Reach::new(curvature, (shape, shape), (mode, zero));
    let sum = reach.integral(|y| (height(mode + y) - top).exp());
    let norm = v * (two * x).ln() - R::lit(0.5 * libm::log(PI)) - shape.lgamma();
    require(known, norm + top + sum.ln())
}
