//! The block interpreter: every instruction runs over a block before the next one does.
//!
//! Sums have a fixed order, whatever the level: tiles of 1,024 elements, in a tile element i goes
//! to partial i mod 32, partials join by halves (16, 8, 4, 2, 1), tiles join in a pairwise tree.
//! Runs shorter than [`SHORT_RUN`] are summed one by one; longer ones in eight partials.

use super::program::{
    BLOCK, Code, GroupSumPlan, LoopPlan, PARTIALS, Runs, SHORT_RUN, SumPlan, TILE,
};
use super::scalar;
use crate::lanes::Lanes;
use crate::maths;
use fitzroy_graph::{Binary, Unary};

/// An operand with its address.
#[derive(Clone, Copy)]
pub(crate) struct Arg {
    pub(crate) at: *mut f64,
    /// 1 where it moves with the rows, else 0.
    pub(crate) step: usize,
    pub(crate) scalar: bool,
}

/// An instruction with its addresses.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) code: Code,
    pub(crate) to: Arg,
    pub(crate) also_to: Arg,
    pub(crate) from: [Arg; 3],
    /// Number of operands.
    pub(crate) n_from: usize,
}

/// A loop ready to run.
pub(crate) struct LoopRun<'p> {
    pub(crate) plan: &'p LoopPlan,
    pub(crate) code: &'p [Bound],
    pub(crate) work: *mut f64,
    pub(crate) fixed: *const f64,
}

impl LoopRun<'_> {
    /// Runs every block.
    #[inline(always)]
    pub(crate) fn run<L: Lanes>(self) {
        if self.plan.n == 1 {
            return scalar::run(self.code, self.plan, self.work, self.fixed);
        }
        // SAFETY: addresses were made from plans whose arrays have SLACK numbers of room beyond
        // their ends, in arenas that live as long as the workspace and function borrowed here.
        unsafe {
            self.clear();
            let n = self.plan.n;
            let mut start = 0;
            while start < n {
                let len = BLOCK.min(n - start);
                for instr in self.code {
                    block::<L>(self.plan, instr, self.work, self.fixed, start, len);
                }
                start += len;
                if start % TILE == 0 || start == n {
                    let tile = (start - 1) / TILE;
                    for sum in &self.plan.sums {
                        close_tile::<L>(sum, self.work, tile);
                    }
                }
            }
            for sum in &self.plan.sums {
                join_tiles(sum, self.work, n.div_ceil(TILE));
            }
        }
    }
}

impl LoopRun<'_> {
    #[inline(always)]
    unsafe fn clear(&self) {
        for sum in &self.plan.sums {
            // SAFETY: see `run`.
            unsafe { self.work.add(sum.partials).write_bytes(0, PARTIALS) };
        }
        for group in &self.plan.groups {
            // SAFETY: see `run`.
            unsafe { self.work.add(group.total).write_bytes(0, group.len) };
        }
    }
}

/// Joins the partials of a tile and pushes the sum onto the tree: like a carry in binary counting.
#[inline(always)]
unsafe fn close_tile<L: Lanes>(sum: &SumPlan, work: *mut f64, tile: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let p = work.add(sum.partials);
        let mut half = PARTIALS / 2;
        while half >= L::N {
            for i in (0..half).step_by(L::N) {
                L::load(p.add(i))
                    .add(L::load(p.add(i + half)))
                    .store(p.add(i));
            }
            half /= 2;
        }
        while half > 0 {
            for i in 0..half {
                *p.add(i) += *p.add(i + half);
            }
            half /= 2;
        }
        let mut s = *p;
        p.write_bytes(0, PARTIALS);
        let tree = work.add(sum.tree);
        let mut level = 0;
        while tile >> level & 1 == 1 {
            s += *tree.add(level);
            level += 1;
        }
        *tree.add(level) = s;
    }
}

/// Adds up what is left on the tree, lowest level first.
#[inline(always)]
unsafe fn join_tiles(sum: &SumPlan, work: *mut f64, tiles: usize) {
    let mut total = 0.0;
    let mut left = tiles;
    while left > 0 {
        let level = left.trailing_zeros() as usize;
        left &= left - 1;
        // SAFETY: see `LoopRun::run`.
        total += unsafe { *work.add(sum.tree + level) };
    }
    // SAFETY: see `LoopRun::run`.
    unsafe { *work.add(sum.total) = total };
}

impl Arg {
    #[inline(always)]
    unsafe fn block(self, start: usize) -> *mut f64 {
        // SAFETY: the operand reaches as far as the loop.
        unsafe { self.at.add(self.step * start) }
    }
}

/// An operand read register by register.
#[derive(Clone, Copy)]
struct Reader<L> {
    at: *const f64,
    scalar: Option<L>,
}

impl<L: Lanes> Reader<L> {
    #[inline(always)]
    unsafe fn new(arg: Arg, start: usize) -> Self {
        // SAFETY: see `LoopRun::run`.
        unsafe {
            let at = arg.block(start);
            Reader {
                at,
                scalar: arg.scalar.then(|| L::splat(*at)),
            }
        }
    }

    #[inline(always)]
    unsafe fn get<const SCALAR: bool>(self, i: usize) -> L {
        match self.scalar {
            Some(x) if SCALAR => x,
            // SAFETY: see `LoopRun::run`.
            _ => unsafe { L::load(self.at.add(i)) },
        }
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

#[inline(always)]
unsafe fn log_add_exp_pair<L: Lanes>(i: &Bound, start: usize, len: usize) {
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

macro_rules! maps {
    ($($trait:ident $name:ident ($($x:ident),*) -> $out:ty: $f:expr;)*) => {$(
        struct $name;
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
unsafe fn block<L: Lanes>(
    plan: &LoopPlan,
    i: &Bound,
    work: *mut f64,
    fixed: *const f64,
    start: usize,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        match i.code {
            Code::Copy => map1::<L, Same>(i, start, len),
            Code::Unary(op) => unary::<L>(op, i, start, len),
            Code::Binary(op) => binary::<L>(op, i, start, len),
            Code::Select => map3::<L, Select>(i, start, len),
            Code::MulAdd => map3::<L, MulAdd>(i, start, len),
            Code::SubMul => map3::<L, SubMul>(i, start, len),
            Code::MulSub => map3::<L, MulSub>(i, start, len),
            Code::LogNdtrPair => pair::<L, LogNdtrPair>(i, start, len),
            Code::SoftplusPair => pair::<L, SoftplusPair>(i, start, len),
            Code::LgammaPair => pair::<L, LgammaPair>(i, start, len),
            Code::SinCos => pair::<L, SinCosPair>(i, start, len),
            Code::LogAddExpPair => log_add_exp_pair::<L>(i, start, len),
            Code::GatherRuns(t) => gather_runs::<L>(&plan.runs[t], i, start, len),
            Code::GatherAt(t) => {
                let (to, from) = (i.to.block(start), i.from[0].at);
                for (k, &p) in plan.positions[t][start..start + len].iter().enumerate() {
                    *to.add(k) = *from.add(p as usize);
                }
            }
            Code::Sum(s) => {
                let partials = work.add(plan.sums[s].partials);
                let a = Reader::<L>::new(i.from[0], start);
                if i.n_from == 2 {
                    let b = Reader::<L>::new(i.from[1], start);
                    sum_products::<L>(partials, a, b, len);
                } else {
                    sum::<L>(partials, a, len);
                }
            }
            Code::SumRuns(g) => {
                sum_runs::<L>(&plan.groups[g], i.from[0].block(start), work, start, len);
            }
            Code::SumAt(g) => {
                let group = &plan.groups[g];
                let (from, total) = (i.from[0].block(start), work.add(group.total));
                for (k, &p) in group.positions[start..start + len].iter().enumerate() {
                    *total.add(p as usize) += *from.add(k);
                }
            }
            Code::MatVec(m) => {
                let m = &plan.matrices[m];
                mat_vec::<L>(
                    fixed.add(m.at + start),
                    m,
                    i.from[0].at,
                    i.to.block(start),
                    len,
                );
            }
            Code::MatVecT(m) => {
                let m = &plan.matrices[m];
                let g = Reader::<L>::new(i.from[0], start);
                for c in 0..m.columns {
                    let column = fixed.add(m.at + c * m.stride + start);
                    let column = Reader::<L> {
                        at: column,
                        scalar: None,
                    };
                    let partials = work.add(plan.sums[m.first_sum + c].partials);
                    sum_products::<L>(partials, column, g, len);
                }
            }
        }
    }
}

/// Adds a block to the 32 partial sums.
#[inline(always)]
unsafe fn sum<L: Lanes>(partials: *mut f64, a: Reader<L>, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let full = len / PARTIALS * PARTIALS;
        for j in (0..PARTIALS).step_by(L::N) {
            let mut s = L::load(partials.add(j));
            for k in (j..full).step_by(PARTIALS) {
                s = s.add(a.get::<true>(k));
            }
            s.store(partials.add(j));
        }
        for k in full..len {
            let x = if a.scalar.is_some() {
                *a.at
            } else {
                *a.at.add(k)
            };
            *partials.add(k - full) += x;
        }
    }
}

/// Adds the products of two blocks to the 32 partial sums.
#[inline(always)]
unsafe fn sum_products<L: Lanes>(partials: *mut f64, a: Reader<L>, b: Reader<L>, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let full = len / PARTIALS * PARTIALS;
        for j in (0..PARTIALS).step_by(L::N) {
            let mut s = L::load(partials.add(j));
            for k in (j..full).step_by(PARTIALS) {
                s = a.get::<true>(k).fma(b.get::<true>(k), s);
            }
            s.store(partials.add(j));
        }
        for k in full..len {
            let x = if a.scalar.is_some() {
                *a.at
            } else {
                *a.at.add(k)
            };
            let y = if b.scalar.is_some() {
                *b.at
            } else {
                *b.at.add(k)
            };
            let p = partials.add(k - full);
            *p = Lanes::fma(x, y, *p);
        }
    }
}

/// Repeats one element per run. Stores may reach beyond a run; the next run overwrites them.
#[inline(always)]
unsafe fn gather_runs<L: Lanes>(runs: &Runs, i: &Bound, start: usize, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let (to, from) = (i.to.block(start), i.from[0].at);
        let mut run = runs.first_of_block[start / BLOCK] as usize;
        let (mut row, end) = (start, start + len);
        while row < end {
            let stop = (*runs.start.get_unchecked(run + 1) as usize).min(end);
            let x = L::splat(*from.add(*runs.group.get_unchecked(run) as usize));
            let mut k = row - start;
            while k < stop - start {
                x.store(to.add(k));
                k += L::N;
            }
            row = stop;
            run += 1;
        }
    }
}

/// Sums by run; a run that spans blocks carries on.
#[inline(always)]
unsafe fn sum_runs<L: Lanes>(
    group: &GroupSumPlan,
    from: *const f64,
    work: *mut f64,
    start: usize,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let Some(runs) = &group.runs else { return };
        let (carry, total) = (work.add(group.carry), work.add(group.total));
        let mut run = runs.first_of_block[start / BLOCK] as usize;
        let (mut row, end) = (start, start + len);
        while row < end {
            let first = *runs.start.get_unchecked(run) as usize;
            let last = *runs.start.get_unchecked(run + 1) as usize;
            let stop = last.min(end);
            let out = total.add(*runs.group.get_unchecked(run) as usize);
            if last - first < SHORT_RUN {
                let mut s = if row == first { 0.0 } else { *carry };
                for k in row - start..stop - start {
                    s += *from.add(k);
                }
                *(if stop == last { out } else { carry }) = s;
            } else {
                if row == first {
                    carry.write_bytes(0, 8);
                }
                add_to_eight::<L>(carry, from.add(row - start), row - first, stop - row);
                if stop == last {
                    let c = |k: usize| *carry.add(k);
                    *out = ((c(0) + c(4)) + (c(2) + c(6))) + ((c(1) + c(5)) + (c(3) + c(7)));
                }
            }
            row = stop;
            run += 1;
        }
    }
}

/// Adds `len` numbers, of which the first is the run's number `done`, to eight partials.
#[inline(always)]
unsafe fn add_to_eight<L: Lanes>(carry: *mut f64, from: *const f64, done: usize, len: usize) {
    // SAFETY: see `LoopRun::run`.
    unsafe {
        let head = ((8 - done % 8) % 8).min(len);
        for k in 0..head {
            *carry.add((done + k) % 8) += *from.add(k);
        }
        let full = head + (len - head) / 8 * 8;
        for j in (0..8).step_by(L::N) {
            let mut s = L::load(carry.add(j));
            for k in (head + j..full).step_by(8) {
                s = s.add(L::load(from.add(k)));
            }
            s.store(carry.add(j));
        }
        for k in full..len {
            *carry.add(k - full) += *from.add(k);
        }
    }
}

/// Σ over columns of column·v, four registers at a time.
#[inline(always)]
unsafe fn mat_vec<L: Lanes>(
    first: *const f64,
    m: &super::program::MatrixPlan,
    v: *const f64,
    to: *mut f64,
    len: usize,
) {
    // SAFETY: see `LoopRun::run`; a block is a multiple of four registers, and what is computed
    // beyond `len` stays inside it or the slack.
    unsafe {
        let mut k = 0;
        while k + 4 * L::N <= len {
            let mut s = [L::splat(0.0); 4];
            for c in 0..m.columns {
                let (column, x) = (first.add(c * m.stride + k), L::splat(*v.add(c)));
                for (r, s) in s.iter_mut().enumerate() {
                    *s = L::load(column.add(r * L::N)).fma(x, *s);
                }
            }
            for (r, s) in s.into_iter().enumerate() {
                s.store(to.add(k + r * L::N));
            }
            k += 4 * L::N;
        }
        while k < len {
            let mut s = L::splat(0.0);
            for c in 0..m.columns {
                s = L::load(first.add(c * m.stride + k)).fma(L::splat(*v.add(c)), s);
            }
            s.store(to.add(k));
            k += L::N;
        }
    }
}

#[inline(always)]
unsafe fn unary<L: Lanes>(op: Unary, i: &Bound, start: usize, len: usize) {
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
unsafe fn binary<L: Lanes>(op: Binary, i: &Bound, start: usize, len: usize) {
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
