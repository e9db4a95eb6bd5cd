//! Elementwise instructions: a function of lanes over a block.

use super::operand::{Bound, Reader};
use crate::lanes::Lanes;
use crate::maths;
use fitzroy_graph::{Binary, Unary};

// Types with a static method, not closures or function values: only what is sure to be inlined is
// compiled for the level.

/// A function of one register.
pub(super) trait Map1 {
    fn f<L: Lanes>(a: L) -> L;
}

/// A function of two registers.
pub(super) trait Map2 {
    fn f<L: Lanes>(a: L, b: L) -> L;
}

/// A function of three registers.
pub(super) trait Map3 {
    fn f<L: Lanes>(a: L, b: L, c: L) -> L;
}

/// Two functions of one register.
pub(super) trait Pair {
    fn f<L: Lanes>(a: L) -> (L, L);
}

macro_rules! maps {
    ($($trait:ident $name:ident ($($x:ident),*) -> $out:ty: $f:expr;)*) => {$(
        pub(super) struct $name;
        impl $trait for $name {
            #[inline(always)]
            fn f<L: Lanes>($($x: L),*) -> $out {
                $f
            }
        }
    )*};
}
maps! {
    Map1 Same (a) -> L: a;
    Map3 Select (c, a, b) -> L: L::select(c.eq(L::splat(0.0)), b, a);
    Map3 MulAdd (a, b, c) -> L: a.fma(b, c);
    Map3 SubMul (a, b, c) -> L: a.neg().fma(b, c);
    Map3 MulSub (a, b, c) -> L: a.fma(b, c.neg());
    Pair LogNdtrPair (a) -> (L, L): maths::log_ndtr_with_slope(a);
    Pair SoftplusPair (a) -> (L, L): maths::softplus_with_slope(a);
    Pair LgammaPair (a) -> (L, L): maths::lgamma_with_digamma(a);
    Pair SinCosPair (a) -> (L, L): maths::sincos(a);
}

#[inline(always)]
pub(super) unsafe fn map1<L: Lanes, F: Map1>(i: &Bound, start: usize, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let to = i.to.block(start);
        let a = Reader::<L>::new(i.from[0], start);
        if let Some(x) = a.scalar {
            let y = F::f(x);
            for k in (0..len).step_by(L::N) {
                y.store(to.add(k));
            }
        } else {
            for k in (0..len).step_by(L::N) {
                F::f(a.get::<false>(k)).store(to.add(k));
            }
        }
    }
}

#[inline(always)]
pub(super) unsafe fn map2<L: Lanes, F: Map2>(i: &Bound, start: usize, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let to = i.to.block(start);
        let (a, b) = (
            Reader::<L>::new(i.from[0], start),
            Reader::<L>::new(i.from[1], start),
        );
        macro_rules! go {
            ($a:literal, $b:literal) => {
                for k in (0..len).step_by(L::N) {
                    F::f(a.get::<$a>(k), b.get::<$b>(k)).store(to.add(k));
                }
            };
        }
        match (i.from[0].scalar, i.from[1].scalar) {
            (false, false) => go!(false, false),
            (true, false) => go!(true, false),
            (false, true) => go!(false, true),
            (true, true) => go!(true, true),
        }
    }
}

#[inline(always)]
pub(super) unsafe fn map3<L: Lanes, F: Map3>(i: &Bound, start: usize, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let to = i.to.block(start);
        let [a, b, c] = i.from.map(|arg| Reader::<L>::new(arg, start));
        macro_rules! go {
            ($a:literal, $b:literal, $c:literal) => {
                for k in (0..len).step_by(L::N) {
                    F::f(a.get::<$a>(k), b.get::<$b>(k), c.get::<$c>(k)).store(to.add(k));
                }
            };
        }
        match i.from.map(|arg| arg.scalar) {
            [false, false, false] => go!(false, false, false),
            [true, false, false] => go!(true, false, false),
            [false, true, false] => go!(false, true, false),
            [false, false, true] => go!(false, false, true),
            [true, true, false] => go!(true, true, false),
            [true, false, true] => go!(true, false, true),
            [false, true, true] => go!(false, true, true),
            [true, true, true] => go!(true, true, true),
        }
    }
}

/// Two results from one operand.
#[inline(always)]
pub(super) unsafe fn pair<L: Lanes, F: Pair>(i: &Bound, start: usize, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let (to, also) = (i.to.block(start), i.also_to.block(start));
        let a = Reader::<L>::new(i.from[0], start);
        for k in (0..len).step_by(L::N) {
            let (x, y) = F::f(a.get::<true>(k));
            x.store(to.add(k));
            y.store(also.add(k));
        }
    }
}

#[inline(always)]
pub(super) unsafe fn log_add_exp_pair<L: Lanes>(i: &Bound, start: usize, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let (to, also) = (i.to.block(start), i.also_to.block(start));
        let (a, b) = (
            Reader::<L>::new(i.from[0], start),
            Reader::<L>::new(i.from[1], start),
        );
        for k in (0..len).step_by(L::N) {
            let (x, y) = maths::log_add_exp_with_weight(a.get::<true>(k), b.get::<true>(k));
            x.store(to.add(k));
            y.store(also.add(k));
        }
    }
}

#[inline(always)]
pub(super) unsafe fn unary<L: Lanes>(op: Unary, i: &Bound, start: usize, len: usize) {
    macro_rules! table {
        ($($name:ident $x:ident => $f:expr),* $(,)?) => {
            match op {
                $(Unary::$name => {
                    maps! { Map1 $name ($x) -> L: $f; }
                    // SAFETY: see `LoopRun::run`.
                    unsafe { map1::<L, $name>(i, start, len) }
                })*
            }
        };
    }
    table! {
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
}

#[inline(always)]
pub(super) unsafe fn binary<L: Lanes>(op: Binary, i: &Bound, start: usize, len: usize) {
    macro_rules! table {
        ($($name:ident $a:ident $b:ident => $f:expr),* $(,)?) => {
            match op {
                $(Binary::$name => {
                    maps! { Map2 $name ($a, $b) -> L: $f; }
                    // SAFETY: see `LoopRun::run`.
                    unsafe { map2::<L, $name>(i, start, len) }
                })*
            }
        };
    }
    table! {
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
}
