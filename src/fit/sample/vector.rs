//! The hot loops of the sampler, over vectors of eight-lane blocks.
//!
//! A vector of `dim` numbers is stored in whole blocks, the tail filled with zeros, so no loop has
//! a remainder. Sums run in eight fixed lanes and are folded in a fixed order: the bits depend
//! neither on the machine nor on the number of threads. Every loop is compiled for each level of
//! vector instructions and picks the widest at run time; none uses a fused multiply-add.

use fitzroy_device::lanes::{Kernel, Lanes, Level};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Eight numbers: one, two or four registers, whatever the machine has.
pub(crate) type Block = [f64; 8];

/// A vector in whole blocks, each on a cache line of its own.
///
/// A register of eight numbers that straddles two lines takes twice as long to load.
pub(crate) struct Vector {
    /// The numbers, and room to start at a multiple of a line.
    memory: Vec<f64>,
    /// Where the first block starts.
    start: usize,
}

impl Vector {
    fn new(blocks: usize) -> Self {
        let memory = vec![0.0; 8 * blocks + 7];
        // The address in numbers; what is missing to the next multiple of eight.
        let start = (memory.as_ptr().addr() / size_of::<f64>()).wrapping_neg() % 8;
        Vector { memory, start }
    }
}

impl Deref for Vector {
    type Target = [Block];
    #[inline]
    fn deref(&self) -> &[Block] {
        self.memory[self.start..].as_chunks().0
    }
}

impl DerefMut for Vector {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Block] {
        self.memory[self.start..].as_chunks_mut().0
    }
}

impl Clone for Vector {
    fn clone(&self) -> Self {
        let mut copy = Vector::new(self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_flattened().fmt(f)
    }
}

/// A zero vector for `dim` numbers.
pub(crate) fn zeros(dim: usize) -> Vector {
    Vector::new(dim.div_ceil(8))
}

/// Zero rows of `dim` numbers, `n` of them, one after the other.
pub(crate) fn zero_rows(n: usize, dim: usize) -> Vector {
    Vector::new(n * dim.div_ceil(8))
}

/// A zero matrix of `dim` rows and columns, rows in whole blocks.
pub(crate) fn zero_square(dim: usize) -> Vector {
    Vector::new(dim * dim.div_ceil(8))
}

/// Copies `from` into the front of `to` and leaves the padding alone.
pub(crate) fn load(to: &mut [Block], from: &[f64]) {
    to.as_flattened_mut()[..from.len()].copy_from_slice(from);
}

/// x ← x / a, element by element; zeros where a has some, as behind the last number.
pub(crate) fn divide(x: &mut [Block], a: &[Block]) {
    let numbers = x.as_flattened_mut().iter_mut().zip(a.as_flattened());
    numbers.for_each(|(x, a)| *x = if *a == 0.0 { 0.0 } else { *x / a });
}

/// Takes away from `v` what lies in the span of `others` (of length one, at right angles) and
/// makes its length one. False when no more than the part `new` of its length is left, or it is
/// not finite.
pub(crate) fn separate(v: &mut [Block], others: &[Vector], new: f64) -> bool {
    let whole = dot(v, v);
    // Twice is enough (Giraud, Langou, Rozložník, 2005).
    for _ in 0..2 {
        for other in others {
            axpy(-dot(v, other), other, v);
        }
    }
    let left = dot(v, v);
    if !(left.is_finite() && left > 0.0 && left > new * new * whole) {
        return false;
    }
    let length = left.sqrt();
    v.as_flattened_mut().iter_mut().for_each(|x| *x /= length);
    true
}

/// Does something for each register's worth of a block, `at` being its first lane. A macro, for
/// what is in a closure might not be compiled for the level.
macro_rules! parts {
    ($at:ident, $work:expr) => {
        let mut $at = 0;
        while $at < 8 {
            $work;
            $at += L::N;
        }
    };
}

/// Σ of the lanes, folded as a tree.
#[inline(always)]
fn fold(a: Block) -> f64 {
    let (b, c) = (a[0] + a[4], a[1] + a[5]);
    let (d, e) = (a[2] + a[6], a[3] + a[7]);
    (b + d) + (c + e)
}

/// Σ of lane sums, of which those at multiples of the register's width are used: the same lanes in
/// the same order at every level.
#[inline(always)]
fn total<L: Lanes>(sums: [L; 8]) -> f64 {
    let mut lanes = [0.0; 8];
    parts!(at, sums[at].to_block(&mut lanes, at));
    fold(lanes)
}

/// Declares functions whose bodies are compiled once per level of vector instructions.
///
/// Each becomes a struct of its arguments, which is what a [`Kernel`] is, and a function that
/// runs it.
macro_rules! kernels {
    ($($(#[$doc:meta])* fn $name:ident as $kernel:ident($($arg:ident: $type:ty),*) -> $out:ty $body:block)*) => {$(
        struct $kernel<'a> {
            $($arg: $type,)*
        }

        impl<'a> Kernel for $kernel<'a> {
            type Output = $out;
            #[inline(always)]
            fn run<L: Lanes>(self) -> $out {
                let $kernel { $($arg,)* } = self;
                $body
            }
        }

        $(#[$doc])*
        #[inline]
        pub(crate) fn $name<'a>($($arg: $type),*) -> $out {
            Level::detect().run($kernel { $($arg,)* })
        }
    )*};
}

kernels! {
    /// Σ aᵢ bᵢ.
    fn dot as Dot(a: &'a [Block], b: &'a [Block]) -> f64 {
        let mut sum = [L::splat(0.0); 8];
        for (a, b) in a.iter().zip(b) {
            parts!(at, sum[at] = sum[at].add(L::from_block(a, at).mul(L::from_block(b, at))));
        }
        total(sum)
    }

    /// y ← y + a x.
    fn axpy as Axpy(a: f64, x: &'a [Block], y: &'a mut [Block]) -> () {
        let a = L::splat(a);
        for (x, y) in x.iter().zip(y) {
            parts!(at, L::from_block(y, at).add(a.mul(L::from_block(x, at))).to_block(y, at));
        }
    }

    /// Out ← a ∘ b, element by element.
    fn multiply as Multiply(a: &'a [Block], b: &'a [Block], out: &'a mut [Block]) -> () {
        for ((a, b), out) in a.iter().zip(b).zip(out) {
            parts!(at, L::from_block(a, at).mul(L::from_block(b, at)).to_block(out, at));
        }
    }

    /// y ← y + a ∘ x.
    fn add_product as AddProduct(a: &'a [Block], x: &'a [Block], y: &'a mut [Block]) -> () {
        for ((a, x), y) in a.iter().zip(x).zip(y) {
            parts!(at, L::from_block(y, at).add(L::from_block(a, at).mul(L::from_block(x, at))).to_block(y, at));
        }
    }

    /// (x, p) turned by the angle with this cosine and sine: shift ← x (c − 1) + p s, then
    /// p ← p c − x s and x ← x + shift.
    fn rotate as Rotate(
        cos: f64,
        sin: f64,
        momentum: &'a mut [Block],
        place: &'a mut [Block],
        shift: &'a mut [Block]
    ) -> () {
        let (c, s, less) = (L::splat(cos), L::splat(sin), L::splat(cos - 1.0));
        for ((p, x), d) in momentum.iter_mut().zip(place).zip(shift) {
            parts!(at, {
                let (p0, x0) = (L::from_block(p, at), L::from_block(x, at));
                let by = x0.mul(less).add(p0.mul(s));
                p0.mul(c).sub(x0.mul(s)).to_block(p, at);
                x0.add(by).to_block(x, at);
                by.to_block(d, at);
            });
        }
    }

    /// First half of a leapfrog without the drift: path ← path + p, then p ← p + half·f.
    fn kick as Kick(
        half: f64,
        force: &'a [Block],
        momentum: &'a mut [Block],
        path: &'a mut [Block]
    ) -> () {
        let half = L::splat(half);
        for ((f, p), h) in force.iter().zip(momentum).zip(path) {
            parts!(at, {
                let before = L::from_block(p, at);
                L::from_block(h, at).add(before).to_block(h, at);
                before.add(half.mul(L::from_block(f, at))).to_block(p, at);
            });
        }
    }

    /// [`kick`] and then the drift q ← q + step·s∘p, step = 2·half, in one pass.
    fn kick_drift as KickDrift(
        half: f64,
        scale: &'a [Block],
        force: &'a [Block],
        momentum: &'a mut [Block],
        path: &'a mut [Block],
        position: &'a mut [Block]
    ) -> () {
        let (step, half) = (L::splat(2.0 * half), L::splat(half));
        let rows = scale.iter().zip(force).zip(momentum).zip(path).zip(position);
        for ((((s, f), p), h), q) in rows {
            parts!(at, {
                let before = L::from_block(p, at);
                let after = before.add(half.mul(L::from_block(f, at)));
                let drift = step.mul(L::from_block(s, at)).mul(after);
                L::from_block(h, at).add(before).to_block(h, at);
                L::from_block(q, at).add(drift).to_block(q, at);
                after.to_block(p, at);
            });
        }
    }

    /// Second half of a leapfrog: p ← p + half·f, then path ← path + p. Returns Σ pᵢ².
    fn finish_kick as FinishKick(
        half: f64,
        force: &'a [Block],
        momentum: &'a mut [Block],
        path: &'a mut [Block]
    ) -> f64 {
        let half = L::splat(half);
        let mut sum = [L::splat(0.0); 8];
        for ((f, p), h) in force.iter().zip(momentum).zip(path) {
            parts!(at, {
                let after = L::from_block(p, at).add(half.mul(L::from_block(f, at)));
                L::from_block(h, at).add(after).to_block(h, at);
                after.to_block(p, at);
                sum[at] = sum[at].add(after.mul(after));
            });
        }
        total(sum)
    }

    /// [`finish_kick`] after f ← s∘g, in one pass.
    fn pull_finish_kick as PullFinishKick(
        half: f64,
        scale: &'a [Block],
        gradient: &'a [Block],
        force: &'a mut [Block],
        momentum: &'a mut [Block],
        path: &'a mut [Block]
    ) -> f64 {
        let half = L::splat(half);
        let mut sum = [L::splat(0.0); 8];
        let rows = scale.iter().zip(gradient).zip(force).zip(momentum).zip(path);
        for ((((s, g), f), p), h) in rows {
            parts!(at, {
                let pulled = L::from_block(s, at).mul(L::from_block(g, at));
                let after = L::from_block(p, at).add(half.mul(pulled));
                L::from_block(h, at).add(after).to_block(h, at);
                after.to_block(p, at);
                pulled.to_block(f, at);
                sum[at] = sum[at].add(after.mul(after));
            });
        }
        total(sum)
    }

    /// Σ sᵢ pᵢ and Σ sᵢ rᵢ with s = h + k: how two end momenta point along a span.
    fn project_sum as ProjectSum(
        h: &'a [Block],
        k: &'a [Block],
        p: &'a [Block],
        r: &'a [Block]
    ) -> (f64, f64) {
        let mut sums = [[L::splat(0.0); 8]; 2];
        for (((h, k), p), r) in h.iter().zip(k).zip(p).zip(r) {
            parts!(at, {
                let s = L::from_block(h, at).add(L::from_block(k, at));
                sums[0][at] = sums[0][at].add(s.mul(L::from_block(p, at)));
                sums[1][at] = sums[1][at].add(s.mul(L::from_block(r, at)));
            });
        }
        (total(sums[0]), total(sums[1]))
    }

    /// As [`project_sum`] with s = h − k.
    fn project_difference as ProjectDifference(
        h: &'a [Block],
        k: &'a [Block],
        p: &'a [Block],
        r: &'a [Block]
    ) -> (f64, f64) {
        let mut sums = [[L::splat(0.0); 8]; 2];
        for (((h, k), p), r) in h.iter().zip(k).zip(p).zip(r) {
            parts!(at, {
                let s = L::from_block(h, at).sub(L::from_block(k, at));
                sums[0][at] = sums[0][at].add(s.mul(L::from_block(p, at)));
                sums[1][at] = sums[1][at].add(s.mul(L::from_block(r, at)));
            });
        }
        (total(sums[0]), total(sums[1]))
    }

    /// y ← y + a Σᵣ wᵣ (rightᵣ · x) leftᵣ; the rows of both stand one after the other.
    fn add_low_rank as AddLowRank(
        a: f64,
        weights: &'a [f64],
        right: &'a [Block],
        left: &'a [Block],
        x: &'a [Block],
        y: &'a mut [Block]
    ) -> () {
        let rows = right.chunks_exact(x.len()).zip(left.chunks_exact(x.len()));
        for (w, (right, left)) in weights.iter().zip(rows) {
            let mut sum = [L::splat(0.0); 8];
            for (r, x) in right.iter().zip(x) {
                parts!(at, sum[at] = sum[at].add(L::from_block(r, at).mul(L::from_block(x, at))));
            }
            let c = L::splat(a * w * total(sum));
            for (l, y) in left.iter().zip(&mut *y) {
                parts!(at, L::from_block(y, at).add(c.mul(L::from_block(l, at))).to_block(y, at));
            }
        }
    }

    /// y ← y + a L x, L lower triangular with its rows in whole blocks.
    fn triangle_times as TriangleTimes(
        a: f64,
        rows: &'a [Block],
        x: &'a [Block],
        y: &'a mut [Block]
    ) -> () {
        for ((i, y), eight) in y.iter_mut().enumerate().zip(rows.chunks(8 * x.len())) {
            for (y, row) in y.iter_mut().zip(eight.chunks_exact(x.len())) {
                let mut sum = [L::splat(0.0); 8];
                for (row, x) in row[..=i].iter().zip(x) {
                    parts!(at, sum[at] = sum[at].add(L::from_block(row, at).mul(L::from_block(x, at))));
                }
                *y += a * total(sum);
            }
        }
    }

    /// y ← Lᵀ x, L lower triangular with its rows in whole blocks.
    fn transpose_times as TransposeTimes(
        rows: &'a [Block],
        x: &'a [Block],
        y: &'a mut [Block]
    ) -> () {
        let width = x.len();
        y.fill([0.0; 8]);
        for ((i, x), eight) in x.iter().enumerate().zip(rows.chunks(8 * width)) {
            // Eight rows at a time, all of them zero beyond block i.
            for (j, y) in y[..=i].iter_mut().enumerate() {
                parts!(at, {
                    let mut sum = L::from_block(y, at);
                    for (row, x) in eight.chunks_exact(width).zip(x) {
                        sum = sum.add(L::splat(*x).mul(L::from_block(&row[j], at)));
                    }
                    sum.to_block(y, at);
                });
            }
        }
    }
}
