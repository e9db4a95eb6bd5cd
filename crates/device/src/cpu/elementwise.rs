//! The elementwise operations as functions of lanes: for blocks, for loops of one element, for
//! recurrences, and for the emitter.

use super::program::Code;
use crate::lanes::Lanes;
use crate::maths;
use fitzroy_graph::{Binary, Unary};

/// What every function of one operand computes: hands `Name operand => formula` of each to a macro.
macro_rules! unary_table {
    ($each:ident) => {
        $each! {
            Neg x => x.neg(),
            Recip x => L::splat(1.0).div(x),
            Sqrt x => x.sqrt(),
            Abs x => x.abs(),
            Floor x => x.floor(),
            Exp x => maths::exp(x),
            Log x => maths::log(x),
            Log1p x => maths::log1p(x),
            Expm1 x => maths::expm1(x),
            Sin x => maths::sin(x),
            Cos x => maths::cos(x),
            Tan x => maths::tan(x),
            Asin x => maths::asin(x),
            Acos x => maths::acos(x),
            Atan x => maths::atan(x),
            Sinh x => maths::sinh(x),
            Cosh x => maths::cosh(x),
            Tanh x => maths::tanh(x),
            Erf x => maths::erf(x),
            Erfc x => maths::erfc(x),
            Erfcx x => maths::erfcx(x),
            LogNdtr x => maths::log_ndtr(x),
            NdtrSlope x => maths::log_ndtr_with_slope(x).1,
            Lgamma x => maths::lgamma(x),
            Digamma x => maths::digamma(x),
            Trigamma x => maths::trigamma(x),
            LogI0 x => maths::log_i0(x),
            I1OverI0 x => maths::i1_over_i0(x),
            InvLogit x => maths::inv_logit(x),
            Softplus x => maths::softplus(x),
        }
    };
}
pub(super) use unary_table;

/// As [`unary_table`], for functions of two operands.
macro_rules! binary_table {
    ($each:ident) => {
        $each! {
            Add a b => a.add(b),
            Sub a b => a.sub(b),
            Mul a b => a.mul(b),
            Div a b => a.div(b),
            Pow a b => maths::pow(a, b),
            Min a b => maths::min(a, b),
            Max a b => maths::max(a, b),
            LogAddExp a b => maths::log_add_exp(a, b),
            Lt a b => L::select(a.lt(b), L::splat(1.0), L::splat(0.0)),
            Le a b => L::select(a.le(b), L::splat(1.0), L::splat(0.0)),
            Eq a b => L::select(a.eq(b), L::splat(1.0), L::splat(0.0)),
            MulZ a b => L::select(a.eq(L::splat(0.0)), L::splat(0.0), a.mul(b)),
        }
    };
}
pub(super) use binary_table;

#[inline(always)]
pub(super) fn unary<L: Lanes>(op: Unary, operand: L) -> L {
    macro_rules! arms {
        ($($name:ident $x:ident => $f:expr,)*) => {
            match op {
                $(Unary::$name => {
                    let $x = operand;
                    $f
                })*
            }
        };
    }
    unary_table!(arms)
}

#[inline(always)]
pub(super) fn binary<L: Lanes>(op: Binary, left: L, right: L) -> L {
    macro_rules! arms {
        ($($name:ident $a:ident $b:ident => $f:expr,)*) => {
            match op {
                $(Binary::$name => {
                    let ($a, $b) = (left, right);
                    $f
                })*
            }
        };
    }
    binary_table!(arms)
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
