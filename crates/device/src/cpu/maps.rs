//! Elementwise instructions: a function of lanes over a block.

use super::elementwise::{binary_table, unary_table};
use super::operand::{Bound, Reader};
use super::program::Code;
use crate::lanes::{Kernel, Lanes};
use crate::maths;
use fitzroy_graph::{Binary, Unary};
use std::marker::PhantomData;

// Types with a static method, not closures or function values: only what is sure to be inlined is
// compiled for the level.

/// A function of one register.
trait Map1 {
    fn f<L: Lanes>(a: L) -> L;
}

/// A function of two registers.
trait Map2 {
    fn f<L: Lanes>(a: L, b: L) -> L;
}

/// A function of three registers.
trait Map3 {
    fn f<L: Lanes>(a: L, b: L, c: L) -> L;
}

/// Two functions of one register.
trait Pair {
    fn f<L: Lanes>(a: L) -> (L, L);
}

/// Two functions of two registers.
trait Pair2 {
    fn f<L: Lanes>(a: L, b: L) -> (L, L);
}

/// Any of these, over a block.
trait Map {
    unsafe fn over<L: Lanes>(i: &Bound, start: usize, len: usize);
}

macro_rules! maps {
    ($($over:ident $trait:ident $name:ident ($($x:ident),*) -> $out:ty: $f:expr;)*) => {$(
        struct $name;
        impl $trait for $name {
            #[inline(always)]
            fn f<L: Lanes>($($x: L),*) -> $out {
                $f
            }
        }
        impl Map for $name {
            #[inline(always)]
            unsafe fn over<L: Lanes>(i: &Bound, start: usize, len: usize) {
                // SAFETY: see `LoopRun::run`.
                unsafe { $over::<L, $name>(i, start, len) }
            }
        }
    )*};
}
maps! {
    map1 Map1 Same (a) -> L: a;
    map3 Map3 Select (c, a, b) -> L: L::select(c.eq(L::splat(0.0)), b, a);
    map3 Map3 MulAdd (a, b, c) -> L: a.fma(b, c);
    map3 Map3 SubMul (a, b, c) -> L: a.neg().fma(b, c);
    map3 Map3 MulSub (a, b, c) -> L: a.fma(b, c.neg());
    pair Pair LogNdtrPair (a) -> (L, L): maths::log_ndtr_with_slope(a);
    pair Pair SoftplusPair (a) -> (L, L): maths::softplus_with_slope(a);
    pair Pair LgammaPair (a) -> (L, L): maths::lgamma_with_digamma(a);
    pair Pair SinCosPair (a) -> (L, L): maths::sincos(a);
    pair2 Pair2 LogAddExpPair (a, b) -> (L, L): maths::log_add_exp_with_weight(a, b);
}

/// One of these, to be run over a block in a function of its own: its code stands once per level
/// in the program, whoever asks for it.
struct OverBlock<'a, F> {
    instr: &'a Bound,
    start: usize,
    len: usize,
    map: PhantomData<F>,
}

impl<F: Map> Kernel for OverBlock<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        // SAFETY: see `LoopRun::run`.
        unsafe { F::over::<L>(self.instr, self.start, self.len) }
    }
}

#[inline(always)]
fn over_block<L: Lanes, F: Map>(instr: &Bound, start: usize, len: usize) {
    L::apart(OverBlock::<F> {
        instr,
        start,
        len,
        map: PhantomData,
    });
}

/// Runs an instruction that works element by element over a block.
///
/// # Safety
/// See `LoopRun::run`.
#[inline(always)]
pub(super) unsafe fn elementwise<L: Lanes>(i: &Bound, start: usize, len: usize) {
    match i.code {
        Code::Copy => over_block::<L, Same>(i, start, len),
        Code::Unary(op) => unary::<L>(op, i, start, len),
        Code::Binary(op) => binary::<L>(op, i, start, len),
        Code::Select => over_block::<L, Select>(i, start, len),
        Code::MulAdd => over_block::<L, MulAdd>(i, start, len),
        Code::SubMul => over_block::<L, SubMul>(i, start, len),
        Code::MulSub => over_block::<L, MulSub>(i, start, len),
        Code::LogNdtrPair => over_block::<L, LogNdtrPair>(i, start, len),
        Code::SoftplusPair => over_block::<L, SoftplusPair>(i, start, len),
        Code::LgammaPair => over_block::<L, LgammaPair>(i, start, len),
        Code::SinCos => over_block::<L, SinCosPair>(i, start, len),
        Code::LogAddExpPair => over_block::<L, LogAddExpPair>(i, start, len),
        _ => unreachable!("all others are sums, look-ups and products"),
    }
}

#[inline(always)]
unsafe fn map1<L: Lanes, F: Map1>(i: &Bound, start: usize, len: usize) {
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
unsafe fn map2<L: Lanes, F: Map2>(i: &Bound, start: usize, len: usize) {
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
unsafe fn map3<L: Lanes, F: Map3>(i: &Bound, start: usize, len: usize) {
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
unsafe fn pair<L: Lanes, F: Pair>(i: &Bound, start: usize, len: usize) {
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

/// Two results from two operands.
#[inline(always)]
unsafe fn pair2<L: Lanes, F: Pair2>(i: &Bound, start: usize, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let (to, also) = (i.to.block(start), i.also_to.block(start));
        let (a, b) = (
            Reader::<L>::new(i.from[0], start),
            Reader::<L>::new(i.from[1], start),
        );
        for k in (0..len).step_by(L::N) {
            let (x, y) = F::f(a.get::<true>(k), b.get::<true>(k));
            x.store(to.add(k));
            y.store(also.add(k));
        }
    }
}

#[inline(always)]
fn unary<L: Lanes>(op: Unary, i: &Bound, start: usize, len: usize) {
    macro_rules! arms {
        ($($name:ident $x:ident => $f:expr,)*) => {
            match op {
                $(Unary::$name => {
                    maps! { map1 Map1 $name ($x) -> L: $f; }
                    over_block::<L, $name>(i, start, len);
                })*
            }
        };
    }
    unary_table!(arms)
}

#[inline(always)]
fn binary<L: Lanes>(op: Binary, i: &Bound, start: usize, len: usize) {
    macro_rules! arms {
        ($($name:ident $a:ident $b:ident => $f:expr,)*) => {
            match op {
                $(Binary::$name => {
                    maps! { map2 Map2 $name ($a, $b) -> L: $f; }
                    over_block::<L, $name>(i, start, len);
                })*
            }
        };
    }
    binary_table!(arms)
}
