//! Ordinary differential equations: y′ = f(t, y, θ) from y(t₀) = y₀, asked for at given times.
//!
//! The equation is written by means of holes, as a [recurrence](crate::Recurrence) is: leaves stand
//! for the state and for the time, and what is computed from them is f. One step of a method is a
//! graph over single numbers, which [`Ode::piece`] makes from f, and the adjoint of a step is what reverse
//! mode makes of that graph. A device compiles both. How long steps are, which are accepted and where
//! values are asked for is the same few lines for every method and every device ([`Course`]).
//!
//! Gradients are exact for the steps that were taken: the lengths of steps count as constants.

mod adjoint;
mod build;
mod coefficients;
mod course;
mod step;

pub use build::{Equation, Kicks};
pub use course::{Arrays, Course, Machine, Strided};
pub use step::{Piece, Source, Straight};

use crate::graph::{DimId, Graph};
use crate::recurrence::Recurrence;

/// How a step is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Dormand and Prince's explicit pair of orders 5 and 4, with its interpolant (J. Comput. Appl.
    /// Math. 6, 1980). Seven evaluations of the rate, of which the next step has one.
    Explicit,
    /// RODAS, a Rosenbrock method of orders 4 and 3 by Hairer and Wanner (Solving Ordinary
    /// Differential Equations II, 1996): L-stable, with exact Jacobians, for stiff equations.
    Stiff,
}

/// How exact a solution is: the error of a step in number i stays below
/// `absolute` + `relative`·|yᵢ|, in the root mean square over the numbers of the state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// In units of the state.
    pub relative: f64,
    /// Beside that.
    pub absolute: f64,
    /// Accepted steps after which the solution is given up, and NaN.
    pub most_steps: usize,
}

impl Default for Tolerance {
    /// 10⁻⁶ relative, 10⁻⁸ absolute, 2,000 steps.
    fn default() -> Self {
        Tolerance {
            relative: 1e-6,
            absolute: 1e-8,
            most_steps: 2_000,
        }
    }
}

/// An equation as a node of a graph carries it. The inputs of the node are the states at the start,
/// the first time, the times asked for, with kicks their times and what they add to each state, then
/// what the rate reads. Its result is one row of numbers: state after state, of each its elements,
/// of each the times, of each the lanes; then, lane after lane, the steps that were taken, for the
/// adjoint: how many, and of each its time, its length and the state before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ode {
    /// The rate, as the step of a recurrence with a single step: its states are those of the
    /// equation, then the time.
    pub(crate) rate: Recurrence,
    /// The dim of the times asked for.
    pub(crate) times: DimId,
    /// The dim of the kicks.
    pub(crate) kicks: Option<DimId>,
    pub(crate) method: Method,
    /// By their bits, so that equal equations are one node.
    relative: u64,
    absolute: u64,
    most_steps: usize,
}

/// Sizes, and where the numbers of one lane stand while it is solved: in the order of the methods
/// below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Numbers of the state.
    pub numbers: usize,
    /// Numbers that the rate reads beside the state.
    pub reads: usize,
    /// Times asked for.
    pub times: usize,
    /// Kicks.
    pub kicks: usize,
    /// Lanes.
    pub lanes: usize,
    /// Steps that can be taken.
    pub most_steps: usize,
}

/// The powers of a step's polynomial in (t − t₀)/h.
pub const POWERS: usize = 4;

impl Layout {
    /// The state before a step.
    pub fn state(&self) -> usize {
        0
    }
    /// The time before a step, and behind it the step's length.
    pub fn time(&self) -> usize {
        self.numbers
    }
    /// The rate before a step.
    pub fn rate(&self) -> usize {
        self.numbers + 2
    }
    /// The adjoint of the state after a step.
    pub fn adjoint(&self) -> usize {
        2 * self.numbers + 2
    }
    /// The adjoints of the polynomial's coefficients, power by power.
    pub fn adjoint_of_polynomial(&self) -> usize {
        3 * self.numbers + 2
    }
    /// The state after a step.
    pub fn next(&self) -> usize {
        (3 + POWERS) * self.numbers + 2
    }
    /// The rate after a step; behind it the mean square of the error over what is allowed.
    pub fn next_rate(&self) -> usize {
        self.next() + self.numbers
    }
    /// That mean square.
    pub fn error(&self) -> usize {
        self.next_rate() + self.numbers
    }
    /// The coefficients of the polynomial within a step, power by power: y(t₀ + xh) = y₀ + Σ qₖ xᵏ.
    pub fn polynomial(&self) -> usize {
        self.error() + 1
    }
    /// The adjoint of the state before a step, and behind it those of what the rate reads.
    pub fn made(&self) -> usize {
        self.polynomial() + POWERS * self.numbers
    }
    /// Numbers in all.
    pub fn scratch(&self) -> usize {
        self.made() + self.numbers + self.reads
    }

    /// Numbers asked for.
    pub fn asked(&self) -> usize {
        self.numbers * self.times * self.lanes
    }
    /// Numbers of the record of one lane.
    pub fn record(&self) -> usize {
        1 + self.most_steps * (self.numbers + 2)
    }
    /// Numbers of the whole result.
    pub fn result(&self) -> usize {
        self.asked() + self.record() * self.lanes
    }
    /// Numbers of the adjoints in one lane: of the start, of what each kick adds (number by number),
    /// of what the rate reads.
    pub fn adjoints(&self) -> usize {
        self.numbers * (1 + self.kicks) + self.reads
    }
}

impl Ode {
    /// The sizes of this equation. `g` is its graph.
    pub fn layout(&self, g: &Graph) -> Layout {
        let n_states = self.n_states();
        Layout {
            numbers: (0..n_states).map(|s| self.rate.elements(g, s)).sum(),
            reads: (n_states + 1..self.rate.holes)
                .map(|k| self.rate.elements(g, k))
                .sum(),
            times: g.size(self.times),
            kicks: self.kicks.map_or(0, |k| g.size(k)),
            lanes: g.len_of(&self.rate.lanes),
            most_steps: self.most_steps,
        }
    }

    /// How exact the solution is.
    pub fn tolerance(&self) -> Tolerance {
        Tolerance {
            relative: f64::from_bits(self.relative),
            absolute: f64::from_bits(self.absolute),
            most_steps: self.most_steps,
        }
    }

    /// How a step is made.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The states of the equation, without the time.
    pub fn n_states(&self) -> usize {
        self.rate.states.len() - 1
    }

    /// Which inputs of a node are the first time, the times asked for, and the times of kicks.
    pub fn times_at(&self) -> [usize; 3] {
        [0, 1, 2].map(|k| self.n_states() + k)
    }

    /// Which inputs of a node are what kicks add.
    pub fn kicks_at(&self) -> std::ops::Range<usize> {
        let start = self.n_states() + 3;
        match self.kicks {
            Some(_) => start..start + self.n_states(),
            None => start - 1..start - 1,
        }
    }

    /// Which input of a node the rate reads first.
    pub fn reads_at(&self) -> usize {
        self.kicks_at().end
    }

    /// Elements of state `s` in one lane.
    pub fn elements(&self, g: &Graph, s: usize) -> usize {
        self.rate.elements(g, s)
    }

    /// Whether what stands at hole `k` of the rate differs from lane to lane.
    pub(crate) fn is_laned(&self, k: usize) -> bool {
        self.rate.strides(k).1
    }
}

#[cfg(test)]
mod tests;
