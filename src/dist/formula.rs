//! Pieces that many formulas share. None branches on an `R`.

use crate::dist::Real;

/// ½ ln 2π.
pub(crate) const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_7;

/// x where 0 < x, else NaN.
pub(crate) fn positive<R: Real>(x: R) -> R {
    require(R::lit(0.0).lt(x), x)
}

/// x where 0 ≤ x, else NaN.
pub(crate) fn non_negative<R: Real>(x: R) -> R {
    require(R::lit(0.0).le(x), x)
}

/// Whether 0 ≤ x ≤ 1.
pub(crate) fn is_probability<R: Real>(x: R) -> R {
    R::lit(0.0).le(x) * x.le(R::lit(1.0))
}

/// x where 0 ≤ x ≤ 1, else NaN.
pub(crate) fn probability<R: Real>(x: R) -> R {
    require(is_probability(x), x)
}

/// x where `ok`, else NaN.
pub(crate) fn require<R: Real>(ok: R, x: R) -> R {
    ok.select(x, R::lit(f64::NAN))
}

/// −∞ where `outside`, else x.
pub(crate) fn unless<R: Real>(outside: R, x: R) -> R {
    outside.select(R::lit(f64::NEG_INFINITY), x)
}

/// Whether y is not whole or lies below `lowest`.
pub(crate) fn not_count<R: Real>(y: R, lowest: f64) -> R {
    y.lt(R::lit(lowest)).max(R::lit(1.0) - y.floor().equals(y))
}

/// What stands for ln 0 where it is multiplied by a count: 0 of it is 0, 1 of it is as good as −∞.
const LN_ZERO: f64 = -1e150;

/// count · ln p, with 0 ln 0 = 0.
///
/// The cases of p = 0 are decided at p, apart from the count, so that a sum over counts can take
/// ln p out of it.
pub(crate) fn count_ln<R: Real>(count: R, p: R) -> R {
    let zero = R::lit(0.0);
    let none = p.le(zero);
    let product = count * none.select(R::lit(LN_ZERO), p.ln());
    unless(none * zero.lt(count), product)
}

/// count · ln(1 − p), with 0 ln 0 = 0.
pub(crate) fn count_ln_1m<R: Real>(count: R, p: R) -> R {
    let zero = R::lit(0.0);
    let none = (R::lit(1.0) - p).le(zero);
    let product = count * none.select(R::lit(LN_ZERO), (-p).ln_1p());
    unless(none * zero.lt(count), product)
}

/// ln(1 − eᵈ) for d ≤ 0.
///
/// Reference: Mächler, "Accurately computing log(1 − exp(−|a|))" (2012).
pub(crate) fn ln_1m_exp<R: Real>(d: R) -> R {
    let near = (-d.exp_m1()).ln();
    let far = (-d.exp()).ln_1p();
    R::lit(-std::f64::consts::LN_2).lt(d).select(near, far)
}

/// ln(eᵃ − eᵇ) for a ≥ b, a > −∞.
pub(crate) fn ln_sub_exp<R: Real>(a: R, b: R) -> R {
    a + ln_1m_exp(b - a)
}

/// ln Γ(x + ½) − ln Γ(x) for x > 0, without cancellation for large x.
pub(crate) fn ln_gamma_half_step<R: Real>(x: R) -> R {
    let near = (x + R::lit(0.5)).lgamma() - x.lgamma();
    let u = R::lit(1.0) / x;
    let u2 = u * u;
    // Terms of Stirling's series; the next is below 1e-17 from x = 20.
    let mut tail = R::lit(-31.0 / 18432.0);
    for coefficient in [17.0 / 14336.0, -1.0 / 640.0, 1.0 / 192.0, -1.0 / 8.0] {
        tail = tail * u2 + R::lit(coefficient);
    }
    x.lt(R::lit(20.0))
        .select(near, R::lit(0.5) * x.ln() + tail * u)
}

/// ln Γ(a + k) − ln Γ(a), the logarithm of the rising factorial, for a > 0 and k ≥ 0; without
/// cancellation for large a.
///
/// The two differ by about 1e-16·a ln a. A density made of such differences would rise without end
/// where a does: it would be highest where nothing but rounding is left.
pub(crate) fn ln_rising<R: Real>(a: R, k: R) -> R {
    let half = R::lit(0.5);
    let sum = a + k;
    let near = sum.lgamma() - a.lgamma();
    // Stirling's series for both; the next term is below 1e-14 from a = 10,000.
    let tail = (R::lit(1.0) / sum - R::lit(1.0) / a) * R::lit(1.0 / 12.0);
    let far = (a - half) * (k / a).ln_1p() + k * (sum.ln() - R::lit(1.0)) + tail;
    a.lt(R::lit(1e4)).select(near, far)
}

/// ln B(a, b).
pub(crate) fn ln_beta<R: Real>(a: R, b: R) -> R {
    a.lgamma() + b.lgamma() - (a + b).lgamma()
}

/// ln of the binomial coefficient "n over k".
pub(crate) fn ln_choose<R: Real>(n: R, k: R) -> R {
    let one = R::lit(1.0);
    (n + one).lgamma() - (k + one).lgamma() - (n - k + one).lgamma()
}
