//! Damped steps of eight problems at once, a problem in each lane.

use super::eights::{Eight, Eights};
use fitzroy_device::gpu::text::damping::{
    FIRST_DAMPING, FIRST_GROWTH, MOST_TURNED, STRAIGHT, TINY,
};
use fitzroy_device::lanes::Lanes;

/// Where eight fits stand; every number begins a line of the cache.
#[repr(C, align(64))]
pub(super) struct State {
    /// F at the best points.
    pub(super) cost: Eight,
    /// Damping, and by how much it grows at the next failure.
    pub(super) lambda: Eight,
    pub(super) nu: Eight,
    /// Expected reduction of the cost; NaN where the matrix was not positive definite.
    pub(super) predicted: Eight,
    /// Largest relative change of a parameter; NaN where the above is.
    pub(super) change: Eight,
    /// Change of the last step if it was accepted, else 0.
    pub(super) last: Eight,
    /// The change of a step by that of the last one.
    pub(super) pace: Eight,
    /// The change, or that of the next step where steps shrink steadily.
    pub(super) least: Eight,
    pub(super) evaluations: Eight,
    /// 1 until the start was evaluated, else 0.
    pub(super) fresh: Eight,
    /// Sums of products of `[J…, r]` at the best points.
    pub(super) here: Eights,
    /// Best points.
    pub(super) theta: Eights,
    /// Where the next of both are put together: chosen in place, they become masked stores, which take
    /// some processors as long as a division.
    pub(super) next_here: Eights,
    pub(super) next_theta: Eights,
    /// Points to be evaluated next.
    pub(super) trial: Eights,
    /// Running maxima of A_aa.
    pub(super) scale: Eights,
    /// The last step as it was solved for, and as it was taken.
    solved: Eights,
    taken: Eights,
    /// Room of [`step`] for many parameters.
    work: Eights,
}

impl State {
    /// Eight fits of `p` parameters.
    pub(super) fn new(p: usize) -> Self {
        let zero = [0.0; 8];
        State {
            here: Eights::zeros((p + 1) * (p + 2) / 2),
            theta: Eights::zeros(p),
            next_here: Eights::zeros((p + 1) * (p + 2) / 2),
            next_theta: Eights::zeros(p),
            trial: Eights::zeros(p),
            scale: Eights::zeros(p),
            solved: Eights::zeros(p),
            taken: Eights::zeros(p),
            cost: zero,
            lambda: zero,
            nu: zero,
            predicted: zero,
            change: zero,
            last: zero,
            pace: zero,
            least: zero,
            evaluations: zero,
            fresh: zero,
            work: Eights::zeros(room(p)),
        }
    }

    /// Lane `k` begins at `start`.
    pub(super) fn begin(&mut self, k: usize, start: &[f64]) {
        for (a, &x) in start.iter().enumerate() {
            self.trial[a][k] = x;
            self.scale[a][k] = 0.0;
        }
        self.lambda[k] = FIRST_DAMPING;
        self.nu[k] = FIRST_GROWTH;
        self.last[k] = 0.0;
        self.evaluations[k] = 0.0;
        self.fresh[k] = 1.0;
    }
}

/// Which sum the product of columns a ≤ b of q is.
pub(super) fn pair(q: usize, a: usize, b: usize) -> usize {
    a * q + b - a * (a + 1) / 2
}

/// Where entry i, j of a lower triangle stands, j ≤ i.
fn lower(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// Solves (A + λD) δ = −g with D the running maxima of A_aa, as L·diag(w)·Lᵀ without roots: the
/// next trial points, what they should gain, and how far they lie.
#[inline(always)]
pub(super) fn step<L: Lanes>(state: &mut State, at: usize) {
    // Loops of a known length become straight code, and room of a known size registers.
    match state.theta.len() {
        2 => step_of::<L>(state, at, 2, &mut [[0.0; 8]; room(2)]),
        3 => step_of::<L>(state, at, 3, &mut [[0.0; 8]; room(3)]),
        4 => step_of::<L>(state, at, 4, &mut [[0.0; 8]; room(4)]),
        5 => step_of::<L>(state, at, 5, &mut [[0.0; 8]; room(5)]),
        p => {
            let mut work = std::mem::take(&mut state.work);
            step_of::<L>(state, at, p, &mut work);
            state.work = work;
        }
    }
}

/// Places that a step of `p` parameters needs: a triangle and two rows.
const fn room(p: usize) -> usize {
    p * (p + 1) / 2 + 2 * p
}

#[inline(always)]
fn step_of<L: Lanes>(state: &mut State, at: usize, p: usize, work: &mut [Eight]) {
    let q = p + 1;
    let here = &state.here[..q * (q + 1) / 2];
    let scale = &mut state.scale[..p];
    // L, with 1/w on its diagonal; a row of L·diag(w); δ. All in the first lanes.
    let (l, rest) = work.split_at_mut(p * q / 2);
    let (lw, delta) = rest.split_at_mut(p);
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let lambda = L::from_block(&state.lambda, at);
    let product = |a: &[Eight], b: &[Eight], mut s: L| {
        for (a, b) in a.iter().zip(b) {
            s = L::from_block(a, 0).neg().fma(L::from_block(b, 0), s);
        }
        s
    };
    // Row by row, so that all inner loops run along neighbours.
    for i in 0..p {
        let (above, own) = l.split_at_mut(lower(i, 0));
        for j in 0..i {
            let row = &above[lower(j, 0)..][..=j];
            let s = L::from_block(&here[pair(q, j, i)], at);
            let s = product(&lw[..j], row, s);
            s.to_block(&mut lw[j], 0);
            s.mul(L::from_block(&row[j], 0)).to_block(&mut own[j], 0);
        }
        let s = L::from_block(&here[pair(q, i, i)], at);
        let d = s.greater(L::from_block(&scale[i], at));
        let d = L::select(zero.lt(d), d, one);
        d.to_block(&mut scale[i], at);
        let s = product(&lw[..i], own, lambda.fma(d, s));
        // A pivot that is not positive spoils its lane with NaN.
        let s = L::select(zero.lt(s), s, L::splat(f64::NAN));
        one.div(s).to_block(&mut own[i], 0);
        let g = L::from_block(&here[pair(q, i, p)], at).neg();
        product(delta, &own[..i], g).to_block(&mut delta[i], 0);
    }
    let (mut damped, mut slope) = (zero, zero);
    let (mut turned, mut turn) = (zero, zero);
    for (diagonal, delta) in delta.iter_mut().enumerate() {
        let inverse = L::from_block(&l[lower(diagonal, diagonal)], 0);
        L::from_block(delta, 0).mul(inverse).to_block(delta, 0);
    }
    for i in (0..p).rev() {
        let row = &l[lower(i, 0)..][..i];
        let (before, rest) = delta.split_at_mut(i);
        let s = L::from_block(&rest[0], 0);
        for (delta, l) in before.iter_mut().zip(row) {
            let less = L::from_block(l, 0).neg().fma(s, L::from_block(delta, 0));
            less.to_block(delta, 0);
        }
        let d = L::from_block(&scale[i], at);
        damped = d.mul(s).fma(s, damped);
        slope = L::from_block(&here[pair(q, i, p)], at).fma(s, slope);
        let differs = s.sub(L::from_block(&state.solved[i], at));
        let sized = d.mul(differs);
        turned = sized.fma(s, turned);
        turn = sized.fma(differs, turn);
    }
    // Where the residuals are not small, steps shrink by the same part each. How this one differs from
    // the last, along which it was made, tells where they lead (Anderson 1965, with one step).
    let last = L::from_block(&state.last, at);
    let part = turned.div(turn);
    let known = L::and(zero.lt(last), last.le(L::splat(STRAIGHT)));
    let known = L::and(known, part.abs().lt(L::splat(MOST_TURNED)));
    let change = take::<L>(state, at, &delta[..p], (known, part));
    let predicted = lambda.fma(damped, slope.neg()).mul(L::splat(0.5));
    predicted.to_block(&mut state.predicted, at);
    predicted.fma(zero, change).to_block(&mut state.change, at);
}

/// The trial points of solved steps, where `known` less the part of the last step that they go
/// back; the largest relative change of a parameter.
#[inline(always)]
fn take<L: Lanes>(state: &mut State, at: usize, delta: &[Eight], (known, part): (L::Mask, L)) -> L {
    let p = delta.len();
    let (theta, trial) = (&state.theta[..p], &mut state.trial[..p]);
    let (mut change, tiny) = (L::splat(0.0), L::splat(TINY));
    for (i, (theta, trial)) in theta.iter().zip(trial).enumerate() {
        let s = L::from_block(&delta[i], 0);
        let differs = s.sub(L::from_block(&state.solved[i], at));
        let back = L::from_block(&state.taken[i], at).add(differs);
        let step = L::select(known, part.neg().fma(back, s), s);
        s.to_block(&mut state.solved[i], at);
        step.to_block(&mut state.taken[i], at);
        let theta = L::from_block(theta, at);
        theta.add(step).to_block(trial, at);
        change = step.abs().div(theta.abs().greater(tiny)).greater(change);
    }
    change
}
