//! The Faddeeva function w(z) = exp(−z²) erfc(−iz), and the Voigt profile, which is made of it.
//!
//! Source: Al Azah and Chandler-Wilde 2021, "Computation of the complex error function using modified
//! trapezoidal rules": sums over twelve nodes with the residue of a pole beside them, of relative error 1e-15 in
//! the upper half plane. Every term of the real part has one sign, so that tails lose no digits.

use crate::{Expr, Real};
use std::f64::consts::{FRAC_1_PI, FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI, TAU};

/// Nodes of a rule; their distance is √(π/12).
const NODES: usize = 12;
/// From this |z|² on, slopes are those of the asymptotic series: those of the differential equation cancel.
const FAR: f64 = 400.0;
/// From this |x| or y on, w(z) is i/(√π z) to the last bit.
const POLE_ALONE: f64 = 1e9;
/// (2n + 1)!!/2ⁿ.
const SERIES: [f64; 8] = [
    1.0,
    1.5,
    3.75,
    13.125,
    59.0625,
    324.84375,
    2111.484375,
    15836.1328125,
];

/// Re w(x + iy).
pub(super) fn wofz_real<'g>(x: Expr<'g>, y: Expr<'g>) -> Expr<'g> {
    plane(x, y)[0]
}

/// Im w(x + iy).
pub(super) fn wofz_imag<'g>(x: Expr<'g>, y: Expr<'g>) -> Expr<'g> {
    plane(x, y)[1]
}

/// A normal density of standard deviation |σ| convolved with a Cauchy density of half width |γ|.
pub(super) fn voigt_profile<'g>(x: Expr<'g>, sigma: Expr<'g>, gamma: Expr<'g>) -> Expr<'g> {
    let (zero, one) = (lit(0.0), lit(1.0));
    // The size of 0 has the slope of the positive side: 0 may be a bound.
    let way = |v: Expr<'g>| v.lt(zero).select(-one, one);
    let (wide, broad) = (sigma * way(sigma), gamma * way(gamma));
    // So much narrower than its distance, the normal density moves no bit of the other one.
    let narrow = wide.le((x.abs() + broad) * lit(1e-9));
    let wide = narrow.select(one, wide);
    let scale = lit(FRAC_1_SQRT_2) / wide;
    let front = scale * lit(0.5 * FRAC_2_SQRT_PI);
    let [u, v] = [x * scale, broad * scale];
    let w = upper(u, v);
    let [by_u, less_by_v] = slope(u, v, w);
    let convolved = front * w[0];
    let by_sigma = (front * (v * less_by_v - u * by_u) - convolved) / wide;
    let [cauchy, by_x, by_gamma] = cauchy(x, broad);
    let pick = |limit: Expr<'g>, other: Expr<'g>| narrow.select(limit, other);
    pick(cauchy, convolved).with_slopes(&[
        (x, pick(by_x, front * scale * by_u)),
        (sigma, pick(zero, by_sigma) * way(sigma)),
        (
            gamma,
            pick(by_gamma, -(front * scale * less_by_v)) * way(gamma),
        ),
    ])
}

/// The Cauchy density of half width γ and its slopes by x and γ.
fn cauchy<'g>(x: Expr<'g>, gamma: Expr<'g>) -> [Expr<'g>; 3] {
    let size = x.abs() + gamma;
    let (a, b) = (x / size, gamma / size);
    let square = a * a + b * b;
    let density = b / (square * size) * lit(FRAC_1_PI);
    let by_gamma = (a * a - b * b) / (square * square * size * size) * lit(FRAC_1_PI);
    [density, lit(-2.0) * density * a / (square * size), by_gamma]
}

fn lit<'g>(x: f64) -> Expr<'g> {
    Expr::lit(x)
}

type Complex<R> = [R; 2];

fn times<R: Real>(a: Complex<R>, b: Complex<R>) -> Complex<R> {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

/// w in the whole plane, with slopes that themselves have slopes.
fn plane<'g>(x: Expr<'g>, y: Expr<'g>) -> Complex<Expr<'g>> {
    sloped(x, y, whole_plane(x, y))
}

/// w for y ≥ 0 in the same way.
fn upper<'g>(x: Expr<'g>, y: Expr<'g>) -> Complex<Expr<'g>> {
    sloped(x, y, values(x, y))
}

fn sloped<'g>(x: Expr<'g>, y: Expr<'g>, w: Complex<Expr<'g>>) -> Complex<Expr<'g>> {
    let inner = with_slopes(x, y, w, slope(x, y, w));
    with_slopes(x, y, w, slope(x, y, inner))
}

/// Below the axis w(z) = 2 exp(−z²) − w(−z).
fn whole_plane<R: Real>(x: R, y: R) -> Complex<R> {
    let (zero, two) = (R::lit(0.0), R::lit(2.0));
    let below = y.lt(zero);
    let [re, im] = values(x, y.abs());
    let depth = below.select(y, zero);
    let twice = two * ((depth - x) * (depth + x)).exp();
    let angle = two * x * depth;
    [
        below.select(twice * angle.cos() - re, re),
        below.select(im - twice * angle.sin(), im),
    ]
}

/// w with its slopes, of which w′ = ∂w/∂x = −i ∂w/∂y makes all four.
fn with_slopes<'g>(
    x: Expr<'g>,
    y: Expr<'g>,
    w: Complex<Expr<'g>>,
    [re, im]: Complex<Expr<'g>>,
) -> Complex<Expr<'g>> {
    [
        w[0].with_slopes(&[(x, re), (y, -im)]),
        w[1].with_slopes(&[(x, im), (y, re)]),
    ]
}

/// w′ = 2i/√π − 2zw, and far away, where that cancels, −(i/√π) Σ (2n + 1)!!/2ⁿ z^(−2n−2).
fn slope<R: Real>(x: R, y: R, w: Complex<R>) -> Complex<R> {
    let square = x * x + y * y;
    let far = R::lit(FAR).le(square) * R::lit(0.0).le(y);
    let size = far.select(square, R::lit(1.0));
    let inverse = [x / size, -(y / size)];
    let inverse = times(inverse, inverse);
    let mut sum = [R::lit(SERIES[7]), R::lit(0.0)];
    for &term in SERIES[..7].iter().rev() {
        let [re, im] = times(sum, inverse);
        sum = [re + R::lit(term), im];
    }
    let [re, im] = times(sum, inverse);
    let (half, two) = (R::lit(0.5 * FRAC_2_SQRT_PI), R::lit(2.0));
    let [zw_re, zw_im] = times([x, y], w);
    [
        far.select(half * im, -(two * zw_re)),
        far.select(-(half * re), R::lit(FRAC_2_SQRT_PI) - two * zw_im),
    ]
}

/// w for y ≥ 0; the left half plane is the mirror image of the right one.
fn values<R: Real>(x: R, y: R) -> Complex<R> {
    let one = R::lit(1.0);
    let left = x.lt(R::lit(0.0));
    let x = x.abs();
    let size = x.max(y);
    let alone = R::lit(POLE_ALONE).le(size);
    let (near_x, near_y) = (alone.select(one, x), alone.select(one, y));
    let [re, im] = quadrant(near_x, near_y);
    let size = alone.select(size, one);
    let (a, b) = (x / size, y / size);
    let share = R::lit(0.5 * FRAC_2_SQRT_PI) / ((a * a + b * b) * size);
    let re = alone.select(b * share, re);
    let im = alone.select(a * share, im);
    [re, left.select(-im, im)]
}

/// w for x, y ≥ 0.
fn quadrant<R: Real>(x: R, y: R) -> Complex<R> {
    let step = (PI / NODES as f64).sqrt();
    let steps = x * R::lit(1.0 / step);
    let part = steps - steps.floor();
    let half = R::lit(0.5);
    // Nodes between whole steps, unless x is near one of those.
    let whole = y.lt(x) * (part - half).abs().le(R::lit(0.25));
    let square = x * x + y * y;
    let twice = R::lit(2.0) * x * y;
    let (mut re, mut im) = (R::lit(0.0), R::lit(0.0));
    for k in 0..NODES {
        let (on, between) = (k as f64 * step, (k as f64 + 0.5) * step);
        let weigh = |t: f64| (-t * t).exp();
        let pick = |a: f64, b: f64| whole.select(R::lit(a), R::lit(b));
        let node = pick(on, between);
        let weight = pick(if k == 0 { 0.5 } else { weigh(on) }, weigh(between));
        let gap = (x - node) * (x + node) - y * y;
        let share = weight / (gap * gap + twice * twice);
        let node = pick(on * on, between * between);
        re = re + share * (square + node);
        im = im + share * (square - node);
    }
    let front = R::lit(2.0 * step / PI);
    let [pole_re, pole_im] = residue(x, y, part, whole);
    let pole = y.lt(x.max(R::lit(PI / step)));
    let zero = R::lit(0.0);
    [
        front * y * re + pole.select(pole_re, zero),
        front * x * im + pole.select(pole_im, zero),
    ]
}

/// 2 exp(−z²)/(1 ± exp(−2πiz/h)), where `part` is the fraction of x/h.
fn residue<R: Real>(x: R, y: R, part: R, whole: R) -> Complex<R> {
    let step = (PI / NODES as f64).sqrt();
    let (zero, one, two) = (R::lit(0.0), R::lit(1.0), R::lit(2.0));
    let decay = y * R::lit(-TAU / step);
    let damp = decay.exp();
    let size = ((y - x) * (y + x) + decay).min(zero).exp();
    let sign = whole.select(R::lit(-1.0), one);
    let turn = part * R::lit(TAU);
    // Where it is greater, the factor is 0.
    let angle = (two * x * y).min(R::lit(1e4));
    let denominator = one + two * sign * damp * turn.cos() + damp * damp;
    let front = two * size / denominator;
    [
        front * (sign * (turn - angle).cos() + damp * angle.cos()),
        front * (sign * (turn - angle).sin() - damp * angle.sin()),
    ]
}
