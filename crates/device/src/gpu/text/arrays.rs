//! The memory of a team: where arrays lie in it, and what threads have written since they last
//! met.

use crate::cpu::lower::Lower;
use crate::cpu::program::{Code, Instr, LoopPlan, Motion, Step};
use std::collections::BTreeMap;

/// Which elements of an array a thread touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Element i in the turn of a loop that stands for i: its own.
    Along,
    /// Any.
    Any,
}

/// An array written since the last barrier.
struct Written {
    at: usize,
    len: usize,
    by: Access,
}

/// Arrays of the CPU's workspace that the text needs, packed, and what it adds to them.
pub(super) struct Arrays {
    /// Length and new place of each array, by its old place.
    places: BTreeMap<usize, (usize, usize)>,
    n_work: usize,
    n_parameters: usize,
    written: Vec<Written>,
    barrier: bool,
}

impl Arrays {
    pub(super) fn new(lower: &Lower<'_>) -> Self {
        let mut arrays = Arrays {
            places: BTreeMap::new(),
            n_work: 0,
            n_parameters: lower.graph.n_params(),
            written: Vec::new(),
            barrier: false,
        };
        for step in &lower.steps {
            match step {
                Step::Loop(plan) => arrays.add_loop(plan),
                Step::Kernel(plan) => arrays.add(plan.to, plan.len),
            }
        }
        arrays
    }

    fn add_loop(&mut self, plan: &LoopPlan) {
        for Instr { to, also_to, .. } in &plan.code {
            for loc in [to, also_to].into_iter().flatten() {
                if loc.motion == Motion::Stream {
                    self.add(loc.at, plan.n);
                }
            }
        }
        plan.groups.iter().for_each(|g| self.add(g.total, g.len));
        for instr in &plan.code {
            match instr.code {
                Code::MatVecT(m) => {
                    let m = &plan.matrices[m];
                    self.add(plan.sums[m.first_sum].total, m.columns);
                }
                Code::Sum(s) => self.add(plan.sums[s].total, 1),
                _ => {}
            }
        }
    }

    fn add(&mut self, at: usize, len: usize) {
        let place = self.n_work;
        if self.places.insert(at, (len, place)).is_none() {
            self.n_work += len;
        }
    }

    /// Room for `len` numbers that the CPU's workspace does not have; its place in `w`.
    pub(super) fn reserve(&mut self, len: usize) -> usize {
        self.n_work += len;
        self.n_work - len
    }

    /// Numbers in all.
    pub(super) fn n_work(&self) -> usize {
        self.n_work
    }

    /// Whether an address of the workspace is that of a parameter.
    pub(super) fn is_parameter(&self, at: usize) -> bool {
        at < self.n_parameters
    }

    /// The place in `w` of an address of the workspace.
    pub(super) fn place(&self, at: usize) -> usize {
        let (start, (len, place)) = self
            .places
            .range(..=at)
            .next_back()
            .expect("what is read was written by a step");
        assert!(at - start < *len, "inside an array that a step writes");
        place + (at - start)
    }

    /// Notes that the next step reads an array of the workspace.
    pub(super) fn read(&mut self, at: usize, len: usize, access: Access) {
        self.read_place(self.place(at), len, access);
    }

    /// As [`Arrays::read`], by place in `w`.
    pub(super) fn read_place(&mut self, at: usize, len: usize, access: Access) {
        let others = |w: &Written| {
            let own = access == Access::Along && w.by == Access::Along && w.at == at;
            w.at < at + len && at < w.at + w.len && !own
        };
        self.barrier |= self.written.iter().any(others);
    }

    /// Whether a barrier must stand before the step whose reads were noted.
    pub(super) fn take_barrier(&mut self) -> bool {
        let needed = std::mem::take(&mut self.barrier);
        if needed {
            self.written.clear();
        }
        needed
    }

    /// Notes what a step wrote, by place in `w`. To be called after its barrier was taken.
    pub(super) fn wrote(&mut self, at: usize, len: usize, by: Access) {
        self.written.push(Written { at, len, by });
    }
}
