//! Bessel functions J, Y and K of orders 0 and 1: Chebyshev series near 0, asymptotic forms beyond.

use super::coefficients::{
    J0_NEAR, J1_NEAR, K0_FAR, K0_NEAR, K1_FAR, K1_NEAR, P0, P1, Q0, Q1, Y0_NEAR, Y1_NEAR,
};
use crate::{Expr, Real, Unary};
use std::f64::consts::{FRAC_2_PI, PI};

/// Where J and Y are taken in their asymptotic form.
const SPLIT: f64 = 8.0;
/// Where K is.
const SPLIT_K: f64 = 2.0;

fn lit<'g>(x: f64) -> Expr<'g> {
    Expr::lit(x)
}

/// I₁(x)/I₀(x), which is x/2 around 0, where the slope of the operation is 0/0.
pub(super) fn ratio(x: Expr<'_>) -> Expr<'_> {
    let near = x.abs().lt(lit(1e-8));
    let far = near.select(lit(1.0), x).unary(Unary::I1OverI0);
    near.select(x * lit(0.5), far)
}

/// J₀(x), whose slope is −J₁(x).
pub(super) fn j0(x: Expr<'_>) -> Expr<'_> {
    first(x).map_slope(x, |[_, j1]| -j1)[0]
}

/// J₁(x), whose slope is J₀(x) − J₁(x)/x.
pub(super) fn j1(x: Expr<'_>) -> Expr<'_> {
    let none = x.abs().lt(lit(1e-8));
    let below = none.select(lit(1.0), x);
    first(x).map_slope(x, |[j0, j1]| j0 - none.select(lit(0.5), j1 / below))[1]
}

/// Y₀(x) for x > 0, whose slope is −Y₁(x).
pub(super) fn y0(x: Expr<'_>) -> Expr<'_> {
    second(x).map_slope(x, |[_, y1]| -y1)[0]
}

/// Y₁(x) for x > 0, whose slope is Y₀(x) − Y₁(x)/x.
pub(super) fn y1(x: Expr<'_>) -> Expr<'_> {
    second(x).map_slope(x, |[y0, y1]| y0 - y1 / x)[1]
}

/// K₀(x) for x > 0, whose slope is −K₁(x).
pub(super) fn k0(x: Expr<'_>) -> Expr<'_> {
    modified(x).map_slope(x, |[_, k1]| -k1)[0]
}

/// K₁(x) for x > 0, whose slope is −K₀(x) − K₁(x)/x.
pub(super) fn k1(x: Expr<'_>) -> Expr<'_> {
    modified(x).map_slope(x, |[k0, k1]| -k0 - k1 / x)[1]
}

/// Values of orders 0 and 1 that get a slope, a function of both.
trait Orders<'g> {
    fn map_slope(self, x: Expr<'g>, slope: impl Fn([Expr<'g>; 2]) -> Expr<'g>) -> Self;
}

impl<'g> Orders<'g> for [Expr<'g>; 2] {
    fn map_slope(self, x: Expr<'g>, slope: impl Fn([Expr<'g>; 2]) -> Expr<'g>) -> Self {
        let slope = slope(self);
        self.map(|value| value.with_slopes(&[(x, slope)]))
    }
}

/// Σ cₖ Tₖ(t), by Clenshaw.
fn chebyshev<R: Real>(c: &[f64], t: R) -> R {
    let twice = t + t;
    let (mut b, mut before) = (R::lit(0.0), R::lit(0.0));
    for &c in c[1..].iter().rev() {
        (b, before) = (twice * b - before + R::lit(c), b);
    }
    t * b - before + R::lit(c[0])
}

/// 2 (x/split)² − 1.
fn inner<R: Real>(x: R, split: f64) -> R {
    let share = x * R::lit(1.0 / split);
    R::lit(2.0) * share * share - R::lit(1.0)
}

/// √(2/(πx)) (P cos χ − Q sin χ) and √(2/(πx)) (P sin χ + Q cos χ) with χ = x − (order/2 + ¼)π, which are J and Y.
fn waves<R: Real>(x: R, order: usize) -> [R; 2] {
    let (p, q) = [(&P0, &Q0), (&P1, &Q1)][order];
    let t = inner(R::lit(SPLIT) / x, 1.0);
    let (p, q) = (chebyshev(p, t), chebyshev(q, t) * (R::lit(SPLIT) / x));
    let front = (R::lit(1.0 / PI) / x).sqrt();
    let (sin, cos) = (x.sin(), x.cos());
    // √2 times sine and cosine of χ: the difference of x and a multiple of π is never rounded.
    let (cos, sin) = match order {
        0 => (cos + sin, sin - cos),
        _ => (sin - cos, -(sin + cos)),
    };
    [front * (p * cos - q * sin), front * (p * sin + q * cos)]
}

/// J₀ and J₁.
fn first<R: Real>(x: R) -> [R; 2] {
    let size = x.abs();
    let near = size.lt(R::lit(SPLIT));
    let t = inner(near.select(size, R::lit(0.0)), SPLIT);
    let far = near.select(R::lit(SPLIT), size);
    let odd = waves(far, 1)[0];
    [
        near.select(chebyshev(&J0_NEAR, t), waves(far, 0)[0]),
        near.select(
            x * chebyshev(&J1_NEAR, t),
            x.lt(R::lit(0.0)).select(-odd, odd),
        ),
    ]
}

/// Y₀ and Y₁.
fn second<R: Real>(x: R) -> [R; 2] {
    let near = x.lt(R::lit(SPLIT));
    let inside = near.select(x, R::lit(1.0));
    let t = inner(inside, SPLIT);
    let far = near.select(R::lit(SPLIT), x);
    let log = inside.ln();
    let (j0, j1) = (chebyshev(&J0_NEAR, t), inside * chebyshev(&J1_NEAR, t));
    let front = R::lit(FRAC_2_PI);
    let y1 = front * (log * j1 - R::lit(1.0) / inside) + inside * chebyshev(&Y1_NEAR, t);
    [
        near.select(front * log * j0 + chebyshev(&Y0_NEAR, t), waves(far, 0)[1]),
        near.select(y1, waves(far, 1)[1]),
    ]
}

/// K₀ and K₁.
fn modified<'g>(x: Expr<'g>) -> [Expr<'g>; 2] {
    let near = x.le(lit(SPLIT_K));
    let inside = near.select(x, lit(1.0));
    let t = inner(inside, SPLIT_K);
    let log = (inside * lit(0.5)).ln();
    let i0 = inside.log_i0().exp();
    let i1 = i0 * ratio(inside);
    let far = near.select(lit(SPLIT_K), x);
    let front = (-far).exp() / far.sqrt();
    let s = lit(4.0) / far - lit(1.0);
    let k1 = log * i1 + lit(1.0) / inside + inside * chebyshev(&K1_NEAR, t);
    [
        near.select(
            chebyshev(&K0_NEAR, t) - log * i0,
            front * chebyshev(&K0_FAR, s),
        ),
        near.select(k1, front * chebyshev(&K1_FAR, s)),
    ]
}
