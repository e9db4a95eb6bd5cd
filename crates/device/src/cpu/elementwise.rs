//! The elementwise operations as functions of lanes: for loops of one element, for
//! recurrences, and for the emitter.

use super::program::Code;
use crate::lanes::Lanes;
use crate::maths;
use fitzroy_graph::{Binary, Unary};

#[inline(always)]
pub(super) fn unary<L: Lanes>(op: Unary, x: L) -> L {
    match op {
        Unary::Neg => x.neg(),
        Unary::Recip => L::splat(1.0).div(x),
        Unary::Sqrt => x.sqrt(),
        Unary::Abs => x.abs(),
        Unary::Floor => x.floor(),
        Unary::Exp => maths::exp(x),
        Unary::Log => maths::log(x),
        Unary::Log1p => maths::log1p(x),
        Unary::Expm1 => maths::expm1(x),
        Unary::Sin => maths::sin(x),
        Unary::Cos => maths::cos(x),
        Unary::Tan => maths::tan(x),
        Unary::Asin => maths::asin(x),
        Unary::Acos => maths::acos(x),
        Unary::Atan => maths::atan(x),
        Unary::Sinh => maths::sinh(x),
        Unary::Cosh => maths::cosh(x),
        Unary::Tanh => maths::tanh(x),
        Unary::Erf => maths::erf(x),
        Unary::Erfc => maths::erfc(x),
        Unary::Erfcx => maths::erfcx(x),
        Unary::LogNdtr => maths::log_ndtr(x),
        Unary::NdtrSlope => maths::log_ndtr_with_slope(x).1,
        Unary::Lgamma => maths::lgamma(x),
        Unary::Digamma => maths::digamma(x),
        Unary::Trigamma => maths::trigamma(x),
        Unary::LogI0 => maths::log_i0(x),
        Unary::I1OverI0 => maths::i1_over_i0(x),
        Unary::InvLogit => maths::inv_logit(x),
        Unary::Softplus => maths::softplus(x),
    }
}

#[inline(always)]
pub(super) fn binary<L: Lanes>(op: Binary, a: L, b: L) -> L {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    match op {
        Binary::Add => a.add(b),
        Binary::Sub => a.sub(b),
        Binary::Mul => a.mul(b),
        Binary::Div => a.div(b),
        Binary::Pow => maths::pow(a, b),
        Binary::Min => maths::min(a, b),
        Binary::Max => maths::max(a, b),
        Binary::LogAddExp => maths::log_add_exp(a, b),
        Binary::Lt => L::select(a.lt(b), one, zero),
        Binary::Le => L::select(a.le(b), one, zero),
        Binary::Eq => L::select(a.eq(b), one, zero),
        Binary::MulZ => L::select(a.eq(zero), zero, a.mul(b)),
    }
}

/// The results of an instruction that works element by element: two of a pair.
#[inline(always)]
pub(super) fn apply<L: Lanes>(code: Code, arg: impl Fn(usize) -> L) -> (L, Option<L>) {
    apply_with(code, &arg, || match code {
        Code::MulAdd => arg(0).fma(arg(1), arg(2)),
        Code::SubMul => arg(0).neg().fma(arg(1), arg(2)),
        _ => arg(0).fma(arg(1), arg(2).neg()),
    })
}

/// As [`apply`], with what a product and a sum in one come to.
#[inline(always)]
pub(super) fn apply_with<L: Lanes>(
    code: Code,
    arg: impl Fn(usize) -> L,
    fused: impl Fn() -> L,
) -> (L, Option<L>) {
    let both = |(a, b): (L, L)| (a, Some(b));
    match code {
        Code::Unary(op) => (unary(op, arg(0)), None),
        Code::Binary(op) => (binary(op, arg(0), arg(1)), None),
        Code::Select => {
            let (c, a, b) = (arg(0), arg(1), arg(2));
            (L::select(c.eq(L::splat(0.0)), b, a), None)
        }
        Code::MulAdd | Code::SubMul | Code::MulSub => (fused(), None),
        Code::LogNdtrPair => both(maths::log_ndtr_with_slope(arg(0))),
        Code::LogAddExpPair => both(maths::log_add_exp_with_weight(arg(0), arg(1))),
        Code::SoftplusPair => both(maths::softplus_with_slope(arg(0))),
        Code::LgammaPair => both(maths::lgamma_with_digamma(arg(0))),
        Code::SinCos => both(maths::sincos(arg(0))),
        _ => (arg(0), None),
    }
}
