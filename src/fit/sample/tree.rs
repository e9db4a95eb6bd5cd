//! The NUTS tree: doubles a trajectory until it turns, and picks one of its states.
//!
//! It knows no Hamiltonian: states, weights and the turning rule come from a [`Trajectory`],
//! chance from an [`Oracle`]. Multinomial weights with biased progressive joining, without
//! recursion: leaf n of a subtree (counted from 0) is marked in slot popcount(n >> 1) when even;
//! when odd it closes as many dyadic spans as n has trailing ones, whose first leaves lie in the
//! slots popcount(n >> 1), popcount(n >> 1) − 1, ...
//!
//! A span of eight or more leaves also counts as turned if its first half and the leaf after it,
//! or its second half and the leaf before it, turn. Without that a trajectory whose halves end
//! just short of a half-turn, and whose whole therefore ends beyond a full turn, goes on and on:
//! on a 150-dimensional standard normal with 7 steps just short of the half-turn, 3 in 100 grew
//! to 127 steps. Shorter spans cannot do that at a stable step size.
//!
//! References: Hoffman, Gelman, JMLR 15, 2014; Betancourt, arXiv:1701.02434, appendix A; the
//! slots: Phan, Pradhan, Jankowiak, arXiv:1912.11554.

/// Which way a trajectory grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Against time.
    Backward,
    /// Along time.
    Forward,
}

/// What the leaf just reached is remembered as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The first leaf of the span that this slot stands for.
    First(usize),
    /// The last leaf before that span.
    Before(usize),
}

/// A stretch of trajectory that may have turned back on itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// From one end of the trajectory to the other.
    Whole,
    /// From the first leaf of this slot's span to the leaf just reached.
    Since(usize),
    /// From the leaf before this slot's span to the leaf just reached.
    SinceBefore(usize),
    /// From the first leaf of one slot's span to the first leaf of another's.
    Between(usize, usize),
    /// From the end that does not grow to the first leaf of this slot's span.
    FarTo(usize),
}

/// What grows: a chain of states with weights.
pub(crate) trait Trajectory {
    /// A new subtree starts on this side.
    fn begin(&mut self, direction: Direction);
    /// Moves that end one state on; returns the log weight relative to the start, H₀ − H, or why
    /// there is no next state. Anything not finite, or below −1000, ends the trajectory as a
    /// divergence. Whether there is a next state must not depend on the side it is reached from.
    fn step(&mut self) -> Result<f64, Stop>;
    /// The leaf just reached becomes the candidate of the subtree.
    fn propose(&mut self);
    /// The leaf just reached is remembered. Right after [`Trajectory::begin`] that is the end of
    /// the trajectory on this side.
    fn mark(&mut self, place: Place);
    /// True when the span turns back on itself. Must depend on the span alone.
    fn turns(&self, span: Span) -> bool;
    /// The candidate of the subtree becomes the candidate of the trajectory.
    fn join(&mut self);
}

/// Where chance comes from.
pub(crate) trait Oracle {
    /// True with this probability (not finite means never).
    fn accept(&mut self, probability: f64) -> bool;
    /// Either direction with probability one half.
    fn direction(&mut self) -> Direction;
}

/// Why a trajectory ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It turned back on itself.
    Turned,
    /// The energy error was not finite or above [`MAX_ENERGY_ERROR`].
    Diverged,
    /// It reached the largest allowed depth.
    Depth,
    /// The way back from the next state leads elsewhere.
    Irreversible,
}

/// What happened while a tree grew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    /// Why it ended.
    pub(crate) stop: Stop,
    /// Doublings begun.
    pub(crate) depth: u32,
    /// States visited, the start apart: gradient evaluations.
    pub(crate) n_steps: u32,
    /// Σ over visited states of min(1, exp(H₀ − H)).
    pub(crate) acceptance_sum: f64,
    /// The energy error H − H₀ of largest size, sign kept.
    pub(crate) max_energy_error: f64,
    /// True when the last state's energy was not finite.
    pub(crate) nonfinite: bool,
}

/// An energy error beyond which a trajectory counts as divergent.
pub const MAX_ENERGY_ERROR: f64 = 1000.0;

/// Weights are rescaled when one exceeds the base by this much, far from the limits of `f64`.
const REBASE: f64 = 300.0;

/// Sums of weights exp(H₀ − H − base), of the whole trajectory and of the growing subtree.
struct Weights {
    base: f64,
    total: f64,
    subtree: f64,
}

impl Weights {
    /// The weight of a new leaf, and min(1, exp(`log_weight`)).
    #[inline]
    fn leaf(&mut self, log_weight: f64) -> (f64, f64) {
        if log_weight - self.base > REBASE {
            let factor = libm::exp(self.base - log_weight);
            self.total *= factor;
            self.subtree *= factor;
            self.base = log_weight;
        }
        let weight = libm::exp(log_weight - self.base);
        let acceptance = if self.base == 0.0 {
            weight.min(1.0)
        } else {
            libm::exp(log_weight.min(0.0))
        };
        (weight, acceptance)
    }
}

/// How far a trajectory may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Largest number of doublings.
    pub(crate) max_depth: u32,
    /// Whether a trajectory that has turned is doubled once more, see [`grow`].
    pub(crate) past_turn: bool,
}

/// Grows a tree within `reach`; the trajectory's candidate is the draw.
///
/// It ends when it turns. With [`Reach::past_turn`] it ends when one of its halves does: whichever
/// state a trajectory is grown from, and whichever of its halves comes first, it is the same one
/// that is ended by, so that the draws stay exact. As ever a subtree is discarded when growing from
/// one of its own states would have ended inside it.
pub(crate) fn grow<T: Trajectory, O: Oracle>(
    trajectory: &mut T,
    oracle: &mut O,
    reach: Reach,
) -> Growth {
    let max_depth = reach.max_depth;
    let mut weights = Weights {
        base: 0.0,
        total: 1.0,
        subtree: 0.0,
    };
    let mut growth = Growth {
        stop: Stop::Depth,
        depth: 0,
        n_steps: 0,
        acceptance_sum: 0.0,
        max_energy_error: 0.0,
        nonfinite: false,
    };
    // Of the trajectory so far.
    let mut has_turned = false;
    while growth.depth < max_depth {
        trajectory.begin(oracle.direction());
        let leaves = 1u32 << growth.depth;
        growth.depth += 1;
        // The joint of a whole tree has a slot of its own, above those of any subtree.
        let joint = (2 * leaves >= LONG).then_some(max_depth as usize);
        if let Some(joint) = joint {
            trajectory.mark(Place::Before(joint));
        }
        let grown = subtree(
            trajectory,
            oracle,
            (leaves, joint, reach.past_turn),
            &mut weights,
            &mut growth,
        );
        let half_turns = match grown {
            Ok(turns) => turns || has_turned,
            Err(stop) => {
                growth.stop = stop;
                break;
            }
        };
        if oracle.accept((weights.subtree / weights.total).min(1.0)) {
            trajectory.join();
        }
        weights.total += weights.subtree;
        let overlaps = |joint| {
            trajectory.turns(Span::FarTo(joint)) || trajectory.turns(Span::SinceBefore(joint))
        };
        has_turned = trajectory.turns(Span::Whole) || joint.is_some_and(overlaps);
        let ends = match reach.past_turn {
            true => half_turns,
            false => has_turned,
        };
        if ends {
            growth.stop = Stop::Turned;
            break;
        }
    }
    growth
}

/// Grows one subtree: whether it turns as a whole, where `past_turn` allows that, or why it must be
/// discarded.
#[inline]
fn subtree<T: Trajectory, O: Oracle>(
    trajectory: &mut T,
    oracle: &mut O,
    (leaves, joint, past_turn): (u32, Option<usize>, bool),
    weights: &mut Weights,
    growth: &mut Growth,
) -> Result<bool, Stop> {
    weights.subtree = 0.0;
    let mut turns = false;
    for leaf in 0..leaves {
        let next = trajectory.step();
        growth.n_steps += 1;
        let log_weight = next?;
        if log_weight.abs() > growth.max_energy_error.abs() {
            growth.max_energy_error = -log_weight;
        }
        if !log_weight.is_finite() {
            growth.nonfinite = true;
            growth.max_energy_error = f64::INFINITY;
            return Err(Stop::Diverged);
        }
        let (weight, acceptance) = weights.leaf(log_weight);
        growth.acceptance_sum += acceptance;
        if log_weight < -MAX_ENERGY_ERROR {
            return Err(Stop::Diverged);
        }
        weights.subtree += weight;
        if leaf == 0 || oracle.accept(weight / weights.subtree) {
            trajectory.propose();
        }
        if let (0, Some(joint)) = (leaf, joint) {
            trajectory.mark(Place::First(joint));
        }
        let slot = slot_of(leaf);
        if leaf & 1 == 0 {
            if leaves > 1 {
                trajectory.mark(Place::First(slot));
            }
            continue;
        }
        let mut sizes = (0..leaf.trailing_ones()).map(|k| (slot - k as usize, 2 << k));
        if let Some((_, size)) = sizes.find(|&(slot, size)| span_turns(trajectory, slot, size)) {
            if size < leaves || !past_turn {
                return Err(Stop::Turned);
            }
            turns = true;
        }
        let next = leaf + 1;
        if next < leaves && next.is_multiple_of(LONG / 2) {
            trajectory.mark(Place::Before(slot_of(next)));
        }
    }
    Ok(turns)
}

/// Spans of at least this many leaves are also looked at half by half.
const LONG: u32 = 8;

/// Where an even leaf is remembered, and the first slot an odd one is checked against.
#[inline]
fn slot_of(leaf: u32) -> usize {
    (leaf >> 1).count_ones() as usize
}

/// Whether the span of `size` leaves that the leaf just reached completes turns. Its first leaf is
/// in `slot`; that of its second half, which is complete too, in the slot above.
#[inline]
fn span_turns<T: Trajectory>(trajectory: &T, slot: usize, size: u32) -> bool {
    trajectory.turns(Span::Since(slot))
        || size >= LONG
            && (trajectory.turns(Span::Between(slot, slot + 1))
                || trajectory.turns(Span::SinceBefore(slot + 1)))
}

#[cfg(test)]
mod tests;
