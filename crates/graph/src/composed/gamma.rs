//! Γ(x).

use super::{modulo, round};
use crate::{Expr, Real};
use std::f64::consts::PI;

/// Constants of Lanczos' form with thirteen terms, from the highest power down (Godfrey; as Boost has them).
const ABOVE: [f64; 13] = [
    2.506628274631000270164908177133837338626431079340,
    210.8242777515793458725097339207133627117,
    8071.672002365816210638002902272250613822,
    186056.2653952234950402949897160456992822,
    2876370.628935372441225409051620849613599,
    31426415.58540019438061423162831820536287,
    248874557.8620541565114603864132294232163,
    1439720407.311721673663223072794912393972,
    6039542586.352028005064291644307297921070,
    17921034426.03720969991975575445893111267,
    35711959237.35566804944018545154716670596,
    42919803642.64909876895789904700198885093,
    23531376880.41075968857200767445163675473,
];
const BELOW: [f64; 13] = [
    1.0,
    66.0,
    1925.0,
    32670.0,
    357423.0,
    2637558.0,
    13339535.0,
    45995730.0,
    105258076.0,
    150917976.0,
    120543840.0,
    39916800.0,
    0.0,
];
const SHIFT: f64 = 6.024_680_040_776_729_583_740_234_375;

/// Γ(x), with the slope Γ(x) ψ(x); infinite or NaN at 0 and below at whole numbers.
pub(super) fn gamma(x: Expr<'_>) -> Expr<'_> {
    let value = value(x);
    value.with_slopes(&[(x, value * x.digamma())])
}

fn value<R: Real>(x: R) -> R {
    let (half, one) = (R::lit(0.5), R::lit(1.0));
    let mirrored = x.lt(half);
    let at = mirrored.select(one - x, x);
    let above = lanczos(at);
    // Γ(x) Γ(1 − x) = π/sin(πx); the sine of a whole number and a rest.
    let whole = round(x);
    let odd = modulo(whole, R::lit(2.0));
    let sine = ((x - whole) * R::lit(PI)).sin() * (one - R::lit(2.0) * odd);
    mirrored.select(R::lit(PI) / (sine * above), above)
}

/// Γ(x) for x ≥ ½.
fn lanczos<R: Real>(x: R) -> R {
    // In powers of 1/x, which no x is too large for.
    let inverse = R::lit(1.0) / x;
    let horner = |c: &[f64; 13]| {
        let up = c[..12].iter().rev();
        up.fold(R::lit(c[12]), |sum, &c| sum * inverse + R::lit(c))
    };
    let base = x + R::lit(SHIFT - 0.5);
    // Twice the root, which does not overflow before Γ does.
    let power = base.powf(R::lit(0.5) * x - R::lit(0.25));
    power * ((-base).exp() * power * (horner(&ABOVE) / horner(&BELOW)))
}
