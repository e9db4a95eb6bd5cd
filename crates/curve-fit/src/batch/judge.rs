//! What becomes of eight trial points: accepted or not, and which fits have ended.

use super::eights::Eight;
use super::step::{State, step};
use crate::method::Status;
use fitzroy_device::gpu::text::damping::{
    DAMPED, DAMPING_LIMIT, ENOUGH, EVALUATION_LIMIT, EXACT_FIT, FIRST_GROWTH, FLAT, HIDDEN,
    LEAST_DAMPING, LEAST_FACTOR, LEAST_RAISED, LEVEL, LEVEL_RISE, MOST_DAMPING, MOST_GROWTH,
    NO_PROGRESS, NON_FINITE, ROUNDING, SHORT, SLIGHT, SMALL_REDUCTION, SMALL_STEP, STEADY,
};
use fitzroy_device::lanes::{Kernel, Lanes};

/// Relative change of every parameter, of a step or expected of the next, at which a fit of a batch
/// has converged: values are then those of a single fit to 10⁻⁹.
pub(super) const SMALL: f64 = 2e-10;

/// How a lane ended, by number, is said as on a GPU; this is one more.
/// The next step is small, and so little that it is taken without an evaluation.
const LAST_STEP: f64 = 9.0;

/// How a lane has ended, and whether its result is the trial point; `None` when it goes on.
pub(super) fn ended(code: f64) -> Option<(Status, bool)> {
    let status = [
        Status::SmallStep,
        Status::SmallReduction,
        Status::ExactFit,
        Status::Rounding,
        Status::NoProgress,
        Status::DampingLimit,
        Status::EvaluationLimit,
        Status::NonFinite,
        Status::SmallStep,
    ];
    let place = (code as usize).checked_sub(1)?;
    Some((status[place], code == LAST_STEP))
}

/// When fits end.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) xtol: f64,
    pub(super) ftol: f64,
    pub(super) max_evaluations: f64,
}

/// Judges the trial points, takes over what is accepted, and makes the next step.
pub(super) struct Turn<'s> {
    pub(super) state: &'s mut State,
    /// Sums of products of `[J…, r]` at the trial points.
    pub(super) there: &'s [Eight],
    pub(super) ends: Ends,
    /// How each lane ended, by number.
    pub(super) ended: &'s mut Eight,
}

impl Kernel for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        let Turn {
            state,
            there,
            ends,
            ended,
        } = self;
        for at in (0..8).step_by(L::N) {
            judge::<L>(state, there, ends, at).to_block(ended, at);
        }
        std::mem::swap(&mut state.here, &mut state.next_here);
        std::mem::swap(&mut state.theta, &mut state.next_theta);
        for at in (0..8).step_by(L::N) {
            step::<L>(state, at);
            let code = L::from_block(ended, at);
            last_step::<L>(state, ends, at, code).to_block(ended, at);
        }
    }
}

/// Remembers by how much the step just made shrank, and its change, or that of the next where steps
/// shrink steadily; where they do.
#[inline(always)]
fn pace<L: Lanes>(state: &mut State, at: usize) -> L::Mask {
    let change = L::from_block(&state.change, at);
    let last = L::from_block(&state.last, at);
    // Without a step before, its pace is infinite or no number, and the next is not steady.
    let own = change.div(last);
    let pace = own.greater(L::from_block(&state.pace, at));
    own.to_block(&mut state.pace, at);
    let steady = L::and(L::splat(0.0).lt(last), pace.lt(L::splat(STEADY)));
    L::select(steady, pace.mul(change), change).to_block(&mut state.least, at);
    steady
}

/// Whether all sums are finite, in every lane.
#[inline(always)]
fn finite<L: Lanes>(sums: &[Eight], at: usize) -> L::Mask {
    let zero = L::splat(0.0);
    // Four at once: one after the other would wait.
    let mut spoilt = [zero; 4];
    let (fours, rest) = sums.as_chunks::<4>();
    for four in fours {
        for (spoilt, sum) in spoilt.iter_mut().zip(four) {
            *spoilt = L::from_block(sum, at).fma(zero, *spoilt);
        }
    }
    for sum in rest {
        spoilt[0] = L::from_block(sum, at).fma(zero, spoilt[0]);
    }
    let [a, b, c, d] = spoilt;
    a.add(b).add(c.add(d)).eq(zero)
}

/// Accepts or rejects the trial points; how lanes ended.
#[inline(always)]
fn judge<L: Lanes>(state: &mut State, there: &[Eight], ends: Ends, at: usize) -> L {
    let s = |x: f64| L::splat(x);
    let (zero, one) = (s(0.0), s(1.0));
    let finite = finite::<L>(there, at);
    let after = L::from_block(&there[there.len() - 1], at).mul(s(0.5));
    let fresh = L::from_block(&state.fresh, at).eq(one);
    let cost = L::from_block(&state.cost, at);
    let predicted = L::from_block(&state.predicted, at);
    let change = L::from_block(&state.change, at);
    let ratio = cost.sub(after).div(predicted);
    let level = L::and(
        predicted.le(s(LEVEL).mul(cost)),
        after.le(cost.mul(s(LEVEL_RISE))),
    );
    let gained = L::and(s(ENOUGH).lt(ratio), zero.lt(predicted));
    let better = L::and(finite, L::or(L::or(gained, level), fresh));
    let cost = L::select(better, after, cost);
    // Nielsen's rule.
    let lambda = L::from_block(&state.lambda, at);
    let nu = L::from_block(&state.nu, at);
    let r = ratio.lesser(one).mul(s(2.0)).sub(one);
    let factor = one.sub(r.mul(r).mul(r)).greater(s(LEAST_FACTOR));
    let factor = L::select(level, s(LEAST_FACTOR), factor);
    let less = lambda.mul(factor).greater(s(LEAST_DAMPING));
    let more = lambda.mul(nu).greater(s(LEAST_RAISED));
    let next = L::select(better, less, more);
    let lambda = L::select(fresh, lambda, next);
    let wider = nu.mul(s(2.0)).lesser(s(MOST_GROWTH));
    let wider = L::select(better, s(FIRST_GROWTH), wider);
    let small = L::from_block(&state.least, at).le(s(ends.xtol));
    let moved = L::and(better, L::not(fresh));
    L::select(moved, change, zero).to_block(&mut state.last, at);
    let evaluations = L::from_block(&state.evaluations, at).add(one);
    evaluations.to_block(&mut state.evaluations, at);
    zero.to_block(&mut state.fresh, at);
    accept::<L>(state, there, better, at);
    // After others: what is read, chosen from and written at once becomes a masked store, which takes
    // some processors as long as a division.
    cost.to_block(&mut state.cost, at);
    lambda.to_block(&mut state.lambda, at);
    L::select(fresh, nu, wider).to_block(&mut state.nu, at);

    let over = L::and(L::not(predicted.mul(zero).eq(zero)), one.lt(lambda));
    let over = L::or(s(MOST_DAMPING).lt(lambda), over);
    let hidden = L::and(L::not(better), change.lt(s(HIDDEN)));
    let rounding = L::select(predicted.le(s(FLAT).mul(cost)), s(ROUNDING), s(NO_PROGRESS));
    let slight = L::and(better, predicted.le(s(ends.ftol).mul(after)));
    let exact = after.eq(zero);
    let mut code = zero;
    code = L::select(
        s(ends.max_evaluations).le(evaluations),
        s(EVALUATION_LIMIT),
        code,
    );
    code = L::select(over, s(DAMPING_LIMIT), code);
    code = L::select(hidden, rounding, code);
    code = L::select(slight, s(SMALL_REDUCTION), code);
    code = L::select(L::and(better, small), s(SMALL_STEP), code);
    code = L::select(L::and(fresh, finite), zero, code);
    code = L::select(exact, s(EXACT_FIT), code);
    L::select(L::and(fresh, L::not(finite)), s(NON_FINITE), code)
}

/// Where trial points are better, these and their sums become the best ones.
#[inline(always)]
fn accept<L: Lanes>(state: &mut State, there: &[Eight], better: L::Mask, at: usize) {
    let sums = state.next_here.iter_mut().zip(state.here.iter().zip(there));
    for (next, (here, there)) in sums {
        let kept = L::select(better, L::from_block(there, at), L::from_block(here, at));
        kept.to_block(next, at);
    }
    let points = state.theta.iter().zip(state.trial.iter());
    for (next, (theta, trial)) in state.next_theta.iter_mut().zip(points) {
        let kept = L::select(better, L::from_block(trial, at), L::from_block(theta, at));
        kept.to_block(next, at);
    }
}

/// Where the step just made is the last one, and need not be evaluated.
#[inline(always)]
fn last_step<L: Lanes>(state: &mut State, ends: Ends, at: usize, code: L) -> L {
    let cost = L::from_block(&state.cost, at);
    let steady = pace::<L>(state, at);
    let least = L::from_block(&state.least, at);
    let predicted = L::from_block(&state.predicted, at);
    let short = L::and(
        L::from_block(&state.change, at).le(L::splat(SHORT)),
        L::from_block(&state.lambda, at).le(L::splat(DAMPED)),
    );
    let slight = L::and(
        L::splat(0.0).le(predicted),
        predicted.le(cost.mul(L::splat(SLIGHT))),
    );
    let last = L::and(least.le(L::splat(ends.xtol)), L::and(short, slight));
    let last = L::and(L::and(last, steady), code.eq(L::splat(0.0)));
    let cost = L::select(last, cost.sub(predicted), cost);
    cost.to_block(&mut state.cost, at);
    L::select(last, L::splat(LAST_STEP), code)
}
