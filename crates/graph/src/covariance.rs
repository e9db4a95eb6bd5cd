//! Covariance functions of a distance, for numbers and for nodes alike.
//!
//! They are even in the distance, 1 at 0, and take differences as well as distances. Their slopes at
//! distance 0 are finite, so that the diagonal of a covariance matrix needs no care.

use crate::{Expr, Real};
use std::f64::consts::PI;

/// The covariance function called `name` at distance `d`; none if it is no covariance function of so
/// many arguments. All arguments combine.
pub fn covariance<'g>(name: &str, d: Expr<'g>, more: &[Expr<'g>]) -> Option<Expr<'g>> {
    Some(match (name, more) {
        ("exp_quad", [ls]) => exp_quad(d, *ls),
        ("matern12", [ls]) => matern12(d, *ls),
        ("matern32", [ls]) => matern32(d, *ls),
        ("matern52", [ls]) => matern52(d, *ls),
        ("rat_quad", [alpha, ls]) => rat_quad(d, *alpha, *ls),
        ("periodic", [period, ls]) => periodic(d, *period, *ls),
        _ => return None,
    })
}

/// exp(−½ (d/ℓ)²)
fn exp_quad<R: Real>(d: R, ls: R) -> R {
    let r = d / ls;
    (R::lit(-0.5) * (r * r)).exp()
}

/// exp(−|d|/ℓ)
fn matern12<R: Real>(d: R, ls: R) -> R {
    (-(d.abs() / ls)).exp()
}

/// (1 + s) exp(−s) with s = √3 |d|/ℓ
fn matern32<R: Real>(d: R, ls: R) -> R {
    let s = (R::lit(3.0_f64.sqrt()) * d.abs()) / ls;
    (R::lit(1.0) + s) * (-s).exp()
}

/// (1 + s + s²/3) exp(−s) with s = √5 |d|/ℓ
fn matern52<R: Real>(d: R, ls: R) -> R {
    let s = (R::lit(5.0_f64.sqrt()) * d.abs()) / ls;
    (R::lit(1.0) + s + R::lit(1.0 / 3.0) * (s * s)) * (-s).exp()
}

/// (1 + (d/ℓ)²/(2α))^(−α)
fn rat_quad<R: Real>(d: R, alpha: R, ls: R) -> R {
    let r = d / ls;
    (-alpha * ((r * r) / (R::lit(2.0) * alpha)).ln_1p()).exp()
}

/// exp(−½ (sin(π d/T)/ℓ)²)
fn periodic<R: Real>(d: R, period: R, ls: R) -> R {
    let r = (R::lit(PI) * d / period).sin() / ls;
    (R::lit(-0.5) * (r * r)).exp()
}
