//! The hot loops of the sampler, over vectors of eight-lane blocks.
//!
//! A vector of `dim` numbers is stored in whole blocks, the tail filled with zeros, so no loop has
//! a remainder. Sums run in eight fixed lanes and are folded in a fixed order: the bits depend
//! neither on the machine nor on the number of threads.

/// Eight numbers: one, two or four registers, whatever the machine has.
pub(crate) type Block = [f64; 8];

/// A zero vector for `dim` numbers.
pub(crate) fn zeros(dim: usize) -> Vec<Block> {
    vec![[0.0; 8]; dim.div_ceil(8)]
}

/// Copies `from` into the front of `to` and leaves the padding alone.
pub(crate) fn load(to: &mut [Block], from: &[f64]) {
    to.as_flattened_mut()[..from.len()].copy_from_slice(from);
}

/// Σ of the lanes, folded as a tree.
#[inline(always)]
fn fold(a: Block) -> f64 {
    let (b, c) = (a[0] + a[4], a[1] + a[5]);
    let (d, e) = (a[2] + a[6], a[3] + a[7]);
    (b + d) + (c + e)
}

/// One value per lane. Whole blocks are read, then worked on, then written: the compiler need not
/// know that the vectors do not overlap to use vector instructions.
#[inline(always)]
fn lanes(f: impl Fn(usize) -> f64) -> Block {
    [f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)]
}

/// Σ aᵢ bᵢ.
#[inline(never)]
pub(crate) fn dot(a: &[Block], b: &[Block]) -> f64 {
    let mut sum = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        sum = lanes(|l| sum[l] + a[l] * b[l]);
    }
    fold(sum)
}

/// y ← y + a x.
#[inline(never)]
pub(crate) fn axpy(a: f64, x: &[Block], y: &mut [Block]) {
    for (x, y) in x.iter().zip(y) {
        *y = lanes(|l| y[l] + a * x[l]);
    }
}

/// Out ← a ∘ b, element by element.
#[inline(never)]
pub(crate) fn multiply(a: &[Block], b: &[Block], out: &mut [Block]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        *out = lanes(|l| a[l] * b[l]);
    }
}

/// First half of a leapfrog without the drift: path ← path + p, then p ← p + half·f.
#[inline(never)]
pub(crate) fn kick(half: f64, force: &[Block], momentum: &mut [Block], path: &mut [Block]) {
    for ((f, p), h) in force.iter().zip(momentum).zip(path) {
        let before = *p;
        let after = lanes(|l| before[l] + half * f[l]);
        *h = lanes(|l| h[l] + before[l]);
        *p = after;
    }
}

/// [`kick`] and then the drift q ← q + step·s∘p, step = 2·half, in one pass.
#[inline(never)]
pub(crate) fn kick_drift(
    half: f64,
    scale: &[Block],
    force: &[Block],
    momentum: &mut [Block],
    path: &mut [Block],
    position: &mut [Block],
) {
    let step = 2.0 * half;
    let rows = scale
        .iter()
        .zip(force)
        .zip(momentum)
        .zip(path)
        .zip(position);
    for ((((s, f), p), h), q) in rows {
        let before = *p;
        let after = lanes(|l| before[l] + half * f[l]);
        let moved = lanes(|l| q[l] + step * s[l] * after[l]);
        *h = lanes(|l| h[l] + before[l]);
        *p = after;
        *q = moved;
    }
}

/// Second half of a leapfrog: p ← p + half·f, then path ← path + p. Returns Σ pᵢ².
#[inline(never)]
pub(crate) fn finish_kick(
    half: f64,
    force: &[Block],
    momentum: &mut [Block],
    path: &mut [Block],
) -> f64 {
    let mut sum = [0.0; 8];
    for ((f, p), h) in force.iter().zip(momentum).zip(path) {
        let after = lanes(|l| p[l] + half * f[l]);
        sum = lanes(|l| sum[l] + after[l] * after[l]);
        *h = lanes(|l| h[l] + after[l]);
        *p = after;
    }
    fold(sum)
}

/// [`finish_kick`] after f ← s∘g, in one pass.
#[inline(never)]
pub(crate) fn pull_finish_kick(
    half: f64,
    scale: &[Block],
    gradient: &[Block],
    force: &mut [Block],
    momentum: &mut [Block],
    path: &mut [Block],
) -> f64 {
    let mut sum = [0.0; 8];
    let rows = scale
        .iter()
        .zip(gradient)
        .zip(force)
        .zip(momentum)
        .zip(path);
    for ((((s, g), f), p), h) in rows {
        let pulled = lanes(|l| s[l] * g[l]);
        let after = lanes(|l| p[l] + half * pulled[l]);
        sum = lanes(|l| sum[l] + after[l] * after[l]);
        *h = lanes(|l| h[l] + after[l]);
        *p = after;
        *f = pulled;
    }
    fold(sum)
}

/// Σ sᵢ pᵢ and Σ sᵢ rᵢ with s = h + k: how two end momenta point along a span.
#[inline(never)]
pub(crate) fn project_sum(h: &[Block], k: &[Block], p: &[Block], r: &[Block]) -> (f64, f64) {
    project(h, k, p, r, |h, k| h + k)
}

/// As [`project_sum`] with s = h − k.
#[inline(never)]
pub(crate) fn project_difference(h: &[Block], k: &[Block], p: &[Block], r: &[Block]) -> (f64, f64) {
    project(h, k, p, r, |h, k| h - k)
}

#[inline(always)]
fn project(
    h: &[Block],
    k: &[Block],
    p: &[Block],
    r: &[Block],
    combine: impl Fn(f64, f64) -> f64,
) -> (f64, f64) {
    let (mut a, mut b) = ([0.0; 8], [0.0; 8]);
    for (((h, k), p), r) in h.iter().zip(k).zip(p).zip(r) {
        let s = lanes(|l| combine(h[l], k[l]));
        a = lanes(|l| a[l] + s[l] * p[l]);
        b = lanes(|l| b[l] + s[l] * r[l]);
    }
    (fold(a), fold(b))
}
