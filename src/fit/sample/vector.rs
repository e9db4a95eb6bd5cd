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

/// Σ aᵢ bᵢ.
#[inline]
pub(crate) fn dot(a: &[Block], b: &[Block]) -> f64 {
    let mut sum = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for l in 0..8 {
            sum[l] += a[l] * b[l];
        }
    }
    fold(sum)
}

/// y ← y + a x.
#[inline]
pub(crate) fn axpy(a: f64, x: &[Block], y: &mut [Block]) {
    for (x, y) in x.iter().zip(y) {
        for l in 0..8 {
            y[l] += a * x[l];
        }
    }
}

/// Out ← a ∘ b, element by element.
#[inline]
pub(crate) fn multiply(a: &[Block], b: &[Block], out: &mut [Block]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        for l in 0..8 {
            out[l] = a[l] * b[l];
        }
    }
}

/// First half of a leapfrog without the drift: path ← path + p, then p ← p + half·f.
#[inline]
pub(crate) fn kick(half: f64, force: &[Block], momentum: &mut [Block], path: &mut [Block]) {
    for ((f, p), h) in force.iter().zip(momentum).zip(path) {
        for l in 0..8 {
            h[l] += p[l];
            p[l] += half * f[l];
        }
    }
}

/// [`kick`] and then the drift q ← q + step·s∘p in one pass.
#[inline]
pub(crate) fn kick_drift(
    half: f64,
    scale: &[Block],
    force: &[Block],
    momentum: &mut [Block],
    path: &mut [Block],
    position: &mut [Block],
) {
    let step = 2.0 * half;
    for ((((s, f), p), h), q) in scale
        .iter()
        .zip(force)
        .zip(momentum)
        .zip(path)
        .zip(position)
    {
        for l in 0..8 {
            h[l] += p[l];
            p[l] += half * f[l];
            q[l] += step * s[l] * p[l];
        }
    }
}

/// Second half of a leapfrog: p ← p + half·f, then path ← path + p. Returns Σ pᵢ².
#[inline]
pub(crate) fn finish_kick(
    half: f64,
    force: &[Block],
    momentum: &mut [Block],
    path: &mut [Block],
) -> f64 {
    let mut sum = [0.0; 8];
    for ((f, p), h) in force.iter().zip(momentum).zip(path) {
        for l in 0..8 {
            p[l] += half * f[l];
            h[l] += p[l];
            sum[l] += p[l] * p[l];
        }
    }
    fold(sum)
}

/// [`finish_kick`] after f ← s∘g, in one pass.
#[inline]
pub(crate) fn pull_finish_kick(
    half: f64,
    scale: &[Block],
    gradient: &[Block],
    force: &mut [Block],
    momentum: &mut [Block],
    path: &mut [Block],
) -> f64 {
    let mut sum = [0.0; 8];
    for ((((s, g), f), p), h) in scale
        .iter()
        .zip(gradient)
        .zip(force)
        .zip(momentum)
        .zip(path)
    {
        for l in 0..8 {
            f[l] = s[l] * g[l];
            p[l] += half * f[l];
            h[l] += p[l];
            sum[l] += p[l] * p[l];
        }
    }
    fold(sum)
}

/// Σ (hᵢ + sign·kᵢ) pᵢ and Σ (hᵢ + sign·kᵢ) rᵢ: how two end momenta point along a span.
#[inline]
pub(crate) fn project(sign: f64, h: &[Block], k: &[Block], p: &[Block], r: &[Block]) -> (f64, f64) {
    let (mut a, mut b) = ([0.0; 8], [0.0; 8]);
    for (((h, k), p), r) in h.iter().zip(k).zip(p).zip(r) {
        for l in 0..8 {
            let s = h[l] + sign * k[l];
            a[l] += s * p[l];
            b[l] += s * r[l];
        }
    }
    (fold(a), fold(b))
}
