//! The adjoint of a recurrence of small vectors, number by number.
//!
//! What is computed for all steps at once then is arrays over the steps alone, one for each number of
//! a step, which a loop works off side by side.

use super::Recurrence;
use super::steps::{Carried, Ran};
use super::unroll::Unrolled;
use crate::gradient::pull_back;
use crate::graph::{Bindings, DimId, Graph, NodeId};
use crate::op::{Binary, Op};

/// Operations of a step from which on vectors stay vectors: each becomes a node of the graph.
const MOST_OPERATIONS: usize = 1_000;

/// Numbers that a step passes on, and lanes, up to which slopes are computed one by one: fewer
/// operations wait for each other, and more are done.
const MOST_BY_SLOPES: usize = 3;
const MOST_LANES_BY_SLOPES: usize = 4;

/// A recurrence that is being taken apart.
struct Parts<'r> {
    of: &'r Recurrence,
    unrolled: Unrolled,
    /// Numbers of all states.
    n_states: usize,
    /// Steps, then lanes.
    dims: Vec<DimId>,
    rows: usize,
    lanes: usize,
}

impl Recurrence {
    /// As [`Recurrence::adjoint`]; none if a step has no vectors, or is large.
    pub(super) fn adjoint_by_elements(
        &self,
        g: &mut Graph,
        id: NodeId,
        d: NodeId,
        guard: bool,
    ) -> Option<Vec<(usize, NodeId)>> {
        let looks_up = |op: &Op| matches!(op, Op::Gather(_) | Op::SegmentSum(_));
        let vectors = (0..self.holes).any(|k| !self.own_dims(self.hole_dims(k)).is_empty());
        if !vectors || self.nodes.iter().any(|n| looks_up(&n.op)) {
            return None;
        }
        let unrolled = self.unroll(g, &Bindings::default());
        if unrolled.graph.nodes().len() > MOST_OPERATIONS {
            return None;
        }
        let parts = Parts {
            of: self,
            n_states: unrolled.next.len(),
            unrolled,
            dims: [&[self.time][..], &self.lanes].concat(),
            rows: g.size(self.time) + 1,
            lanes: g.len_of(&self.lanes),
        };
        Some(parts.adjoint(g, id, d, guard))
    }
}

impl Parts<'_> {
    fn adjoint(&self, g: &mut Graph, id: NodeId, d: NodeId, guard: bool) -> Vec<(usize, NodeId)> {
        let (n, inputs) = (self.of.states.len(), g.node(id).inputs.clone());
        let first = usize::from(self.of.reverse);
        let leaves: Vec<NodeId> = (self.unrolled.leaves.iter().enumerate())
            .map(|(number, leaf)| match leaf.hole < n {
                true => self.steps_of(g, id, number, first),
                false => self.element(g, inputs[leaf.hole], leaf.hole, leaf.element),
            })
            .collect();
        let next = self.unrolled.place(g, &leaves, &self.dims);
        let numbers = 0..self.n_states;
        let left = numbers.clone().map(|k| self.steps_of(g, d, k, 1 - first));
        let left: Vec<NodeId> = left.collect();
        let whole = |g: &mut Graph, passed: &[NodeId]| -> Vec<(NodeId, NodeId)> {
            let sum = |k: usize| (next[k], g.bin(Binary::Add, left[k], passed[k]));
            numbers.clone().map(sum).collect()
        };
        // What a step passes to the one before it: nothing of a number that it does not read.
        let holes: Vec<NodeId> = numbers.clone().map(|_| g.hole(&self.dims)).collect();
        let of = whole(g, &holes);
        let read = pull_back(g, &of, &leaves, guard);
        let zero = g.lit(0.0);
        let nothing = g.broadcast(zero, &self.dims);
        let live: Vec<bool> = numbers.clone().map(|k| read[k].is_some()).collect();
        let chosen = |all: &dyn Fn(usize) -> NodeId| -> Vec<NodeId> {
            let one = |k: usize| if live[k] { all(k) } else { nothing };
            numbers.clone().map(one).collect()
        };
        let passed = chosen(&|k| holes[k]);
        let n_live = live.iter().filter(|l| **l).count();
        let back = match n_live <= MOST_BY_SLOPES && self.lanes <= MOST_LANES_BY_SLOPES {
            true => self.by_slopes(g, (&next, &leaves), (&left, &passed), guard),
            false => {
                let of = whole(g, &passed);
                pull_back(g, &of, &leaves, guard)
            }
        };
        let carried: Vec<Carried> = (numbers.clone().filter(|&k| live[k]))
            .map(|k| Carried {
                before: holes[k],
                start: zero,
                after: back[k].unwrap_or(nothing),
            })
            .collect();
        let mut ran = Vec::new();
        if !carried.is_empty() {
            let done = g.recur(self.of.time, !self.of.reverse, &carried);
            ran = done.expect("the step of an adjoint reads what the step read");
        }
        let mut ran = ran.into_iter();
        let ran: Vec<_> = live
            .iter()
            .map(|&l| if l { ran.next() } else { None })
            .collect();
        let mut out = self.of_starts(g, d, &ran);
        let before = numbers
            .clone()
            .map(|k| ran[k].map_or(nothing, |ran| ran.before));
        let before: Vec<NodeId> = before.collect();
        let of = whole(g, &before);
        let read = pull_back(g, &of, &leaves, guard);
        out.extend(self.of_inputs(g, &read));
        out
    }

    /// The adjoints of the states at the start, given what ran back to it.
    fn of_starts(&self, g: &mut Graph, d: NodeId, ran: &[Option<Ran>]) -> Vec<(usize, NodeId)> {
        let mut out = Vec::new();
        for (s, own) in self.of.states.iter().enumerate() {
            let start = self.numbers_of(s);
            let start = start.map(|k| Some(self.at_start(g, d, k, ran[k].map(|ran| ran.after))));
            let start: Vec<Option<NodeId>> = start.collect();
            let whole = self.together(g, &start, own, &self.of.lanes);
            out.extend(whole.map(|a| (s, a)));
        }
        out
    }

    /// The adjoints of what steps read beside the states, given those of its elements.
    fn of_inputs(&self, g: &mut Graph, read: &[Option<NodeId>]) -> Vec<(usize, NodeId)> {
        let mut out = Vec::new();
        for hole in self.of.states.len()..self.of.holes {
            let mine = self.unrolled.leaves.iter().zip(read);
            let mine: Vec<Option<NodeId>> = (mine.filter(|(leaf, _)| leaf.hole == hole))
                .map(|(_, adjoint)| *adjoint)
                .collect();
            let dims = self.of.hole_dims(hole);
            let own = self.of.own_dims(dims);
            let rest = dims[own.len()..].to_vec();
            out.extend(self.together(g, &mine, &own, &rest).map(|a| (hole, a)));
        }
        out
    }

    /// What each step passes on, by the slopes of every number by every number before it: they are
    /// computed for all steps at once, so that a step waits for no more than a product and a sum.
    fn by_slopes(
        &self,
        g: &mut Graph,
        (next, leaves): (&[NodeId], &[NodeId]),
        (left, passed): (&[NodeId], &[NodeId]),
        guard: bool,
    ) -> Vec<Option<NodeId>> {
        let one = g.lit(1.0);
        let one = g.broadcast(one, &self.dims);
        let mut known: Vec<Option<NodeId>> = vec![None; self.n_states];
        let mut back = known.clone();
        for k in 0..self.n_states {
            let slopes = pull_back(g, &[(next[k], one)], leaves, guard);
            for (j, slope) in slopes[..self.n_states].iter().enumerate() {
                let Some(slope) = *slope else { continue };
                for (sum, by) in [(&mut known[j], left[k]), (&mut back[j], passed[k])] {
                    let term = g.bin(Binary::Mul, slope, by);
                    *sum = Some(sum.map_or(term, |sum| g.bin(Binary::Add, sum, term)));
                }
            }
        }
        for (back, known) in back.iter_mut().zip(known) {
            *back = match (*back, known) {
                (Some(back), Some(known)) => Some(g.bin(Binary::Add, known, back)),
                (back, known) => back.or(known),
            };
        }
        back
    }

    /// The numbers of state `s`.
    fn numbers_of(&self, s: usize) -> std::ops::Range<usize> {
        let leaves = &self.unrolled.leaves[..self.n_states];
        let start = leaves.iter().take_while(|l| l.hole < s).count();
        let end = leaves.iter().take_while(|l| l.hole <= s).count();
        start..end
    }

    /// Part of a row of numbers as the result is one: number `k` from `row` on, over `dims`.
    fn part(&self, g: &mut Graph, all: NodeId, (k, row): (usize, usize), dims: &[DimId]) -> NodeId {
        let (flat, len) = (g.dims(all)[0], g.len_of(dims));
        let start = (k * self.rows + row) * self.lanes;
        let part = g
            .slice(all, flat, start, len)
            .expect("a part of the result");
        g.relabel(part, dims)
    }

    /// Number `k` over all steps.
    fn steps_of(&self, g: &mut Graph, all: NodeId, k: usize, first: usize) -> NodeId {
        self.part(g, all, (k, first), &self.dims)
    }

    /// The adjoint of number `k` at the start: its own, and what the first step passes to it.
    fn at_start(&self, g: &mut Graph, d: NodeId, k: usize, passed: Option<NodeId>) -> NodeId {
        let steps = self.rows - 1;
        let (row, step) = match self.of.reverse {
            true => (steps, steps.saturating_sub(1)),
            false => (0, 0),
        };
        let own = self.part(g, d, (k, row), &self.of.lanes);
        let Some(passed) = passed else { return own };
        let one = g.slice(passed, self.of.time, step, 1).expect("a step");
        let one = g.relabel(one, &self.of.lanes);
        g.bin(Binary::Add, own, one)
    }

    /// An element of what a step reads.
    fn element(&self, g: &mut Graph, behind: NodeId, hole: usize, element: usize) -> NodeId {
        let dims = self.of.hole_dims(hole);
        let own = self.of.own_dims(dims);
        if own.is_empty() {
            return behind;
        }
        let rest = &dims[own.len()..];
        let len = g.len_of(rest);
        let flat = self.flat(g, len * g.len_of(&own));
        let row = g.relabel(behind, &[flat]);
        let part = g.slice(row, flat, element * len, len).expect("an element");
        g.relabel(part, rest)
    }

    fn flat(&self, g: &mut Graph, len: usize) -> DimId {
        let name = format!("{}*", g.dim_info(self.of.time).name);
        g.dim(&name, len)
    }

    /// Elements as one array over `own`, then `rest`; none if there are none.
    fn together(
        &self,
        g: &mut Graph,
        parts: &[Option<NodeId>],
        own: &[DimId],
        rest: &[DimId],
    ) -> Option<NodeId> {
        let dims = [own, rest].concat();
        if let [one] = parts {
            return one.map(|part| g.relabel(part, &dims));
        }
        let len = g.len_of(rest);
        let (flat, one) = (self.flat(g, len * parts.len()), self.flat(g, len));
        let mut sum = None;
        for (k, part) in parts.iter().enumerate() {
            let Some(part) = *part else { continue };
            let row = g.relabel(part, &[one]);
            let placed = g.unslice(row, one, flat, k * len);
            sum = Some(sum.map_or(placed, |sum| g.bin(Binary::Add, sum, placed)));
        }
        sum.map(|sum| g.relabel(sum, &dims))
    }
}
