//! Recurrences: states that each step computes from those of the step before.
//!
//! With states s, steps t = 0 … T − 1 and inputs x, a recurrence is s(t) = f(s(t − 1), x(t)), from a
//! start s(−1) that is given; in reverse, s(t) = f(s(t + 1), x(t)) from s(T). It is written by means
//! of a *hole*: a leaf over the steps that stands for the state before each. What is computed from
//! holes, element by element along the steps, is f; everything else that f reads is computed before
//! the loop, for all steps at once.
//!
//! The adjoint of a recurrence is a recurrence in reverse. With A(t) = ∂s(t)/∂s(t − 1), which is
//! computed for all steps at once because the states are known by then, and the adjoints d(t) that
//! others leave at s(t), it is g(t) = A(t)ᵀ (d(t) + g(t + 1)) from g(T) = 0.

mod adjoint;
mod elements;
mod first_order;
mod steps;
mod unroll;

pub use first_order::FirstOrder;
pub use steps::{Carried, Ran};
pub use unroll::{Leaf, Unrolled};

use crate::graph::{DimId, Node, NodeId};

/// The step of a recurrence, with what its arrays look like. The operation's inputs are the starts
/// of its states, then what a step reads. Its result is one row of numbers: state after state, of
/// each its elements over [`Recurrence::states`], of each the T + 1 values from the start on (in
/// reverse: to the start), of each the lanes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recurrence {
    /// The dim of the steps.
    pub time: DimId,
    /// From the last step to the first.
    pub reverse: bool,
    /// Dims whose elements know nothing of each other.
    pub lanes: Vec<DimId>,
    /// The dims of each state beside steps and lanes.
    pub states: Vec<Vec<DimId>>,
    /// The nodes of a step, by their places in this list. The first ones are holes: the states
    /// before, then what is read.
    pub(crate) nodes: Vec<Node>,
    /// The states after a step, over the dims of their holes.
    pub(crate) next: Vec<NodeId>,
    /// How many of the nodes are holes.
    pub(crate) holes: usize,
}

impl Recurrence {
    /// The dims of hole `k`: a state before a step, or what a step reads.
    pub fn hole_dims(&self, k: usize) -> &[DimId] {
        &self.nodes[k].dims
    }

    /// How many things a step reads beside its states.
    pub fn n_reads(&self) -> usize {
        self.holes - self.states.len()
    }
}

#[cfg(test)]
mod tests;
