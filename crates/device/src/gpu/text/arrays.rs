//! The memory of a team: where arrays lie in it, and what threads have written since they last
//! met.

use super::precision::{Precision, Real};
use crate::cpu::lower::Lower;
use crate::cpu::program::{Code, Instr, KernelPlan, LoopPlan, Motion, Step};
use fitzroy_graph::Op;
use std::collections::BTreeMap;

/// Which elements of an array a thread touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Element i in the turn of a loop that stands for i: its own.
    Along,
    /// Any.
    Any,
}

/// A place in the memory of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Which of its two arrays of numbers: `w` or `v`.
    pub(super) real: Real,
    /// Its first number there.
    pub(super) at: usize,
}

/// An array written since the last barrier.
struct Written {
    place: Place,
    len: usize,
    by: Access,
}

/// Arrays of the CPU's workspace that the text needs, packed, and what it adds to them.
pub(super) struct Arrays {
    /// Length and new place of each array, by its old place.
    places: BTreeMap<usize, (usize, Place)>,
    /// Numbers in `w` and in `v`.
    n_numbers: [usize; 2],
    n_parameters: usize,
    /// The arithmetic of loops over many elements.
    many: Real,
    written: Vec<Written>,
    barrier: bool,
    /// Barriers so far.
    pub(super) n_barriers: usize,
}

impl Arrays {
    pub(super) fn new(lower: &Lower<'_>, precision: Precision) -> Self {
        let mut arrays = Arrays {
            places: BTreeMap::new(),
            n_numbers: [0; 2],
            n_parameters: lower.graph.n_params(),
            many: precision.many(),
            written: Vec::new(),
            barrier: false,
            n_barriers: 0,
        };
        for step in &lower.steps {
            match step {
                Step::Loop(plan) => arrays.add_loop(plan),
                Step::Kernel(plan) => arrays.add(plan.to, plan.len, arrays.of_kernel(plan)),
                // Recurrences lose digits as they go.
                Step::Recurrence(plan) => arrays.add(plan.to, plan.len, Real::Double),
                Step::Ode(plan) => arrays.add(plan.to, plan.len, Real::Double),
            }
        }
        arrays
    }

    /// The arithmetic of a loop: what every thread computes is cheap enough for `double`.
    pub(super) fn of_loop(&self, plan: &LoopPlan) -> Real {
        match plan.n {
            1 => Real::Double,
            _ => self.many,
        }
    }

    /// The arithmetic of a step on whole arrays. Running sums and matrices lose digits as they go.
    pub(super) fn of_kernel(&self, plan: &KernelPlan) -> Real {
        match plan.op {
            Op::MaxOver | Op::Contract { .. } | Op::Unslice { .. } => self.many,
            _ => Real::Double,
        }
    }

    fn add_loop(&mut self, plan: &LoopPlan) {
        let real = self.of_loop(plan);
        for Instr { to, also_to, .. } in &plan.code {
            for loc in [to, also_to].into_iter().flatten() {
                if loc.motion == Motion::Stream {
                    self.add(loc.at, plan.n, real);
                }
            }
        }
        for group in &plan.groups {
            self.add(group.total, group.len, real);
        }
        for instr in &plan.code {
            match instr.code {
                Code::MatVecT(m) => {
                    let m = &plan.matrices[m];
                    self.add(plan.sums[m.first_sum].total, m.columns, Real::Double);
                }
                Code::Sum(s) => self.add(plan.sums[s].total, 1, Real::Double),
                _ => {}
            }
        }
    }

    fn add(&mut self, at: usize, len: usize, real: Real) {
        let place = Place {
            real,
            at: self.n_numbers[real as usize],
        };
        if self.places.insert(at, (len, place)).is_none() {
            self.n_numbers[real as usize] += len;
        }
    }

    /// Room for `len` numbers that the CPU's workspace does not have.
    pub(super) fn reserve(&mut self, len: usize, real: Real) -> Place {
        let at = self.n_numbers[real as usize];
        self.n_numbers[real as usize] += len;
        Place { real, at }
    }

    /// How many arrays of the workspace are of one number.
    pub(super) fn n_single(&self) -> usize {
        self.places.values().filter(|(len, _)| *len == 1).count()
    }

    /// Numbers of one type in all.
    pub(super) fn n_numbers(&self, real: Real) -> usize {
        self.n_numbers[real as usize]
    }

    /// Whether an address of the workspace is that of a parameter.
    pub(super) fn is_parameter(&self, at: usize) -> bool {
        at < self.n_parameters
    }

    /// The place of an address of the workspace.
    pub(super) fn place(&self, at: usize) -> Place {
        let (start, (len, place)) = self
            .places
            .range(..=at)
            .next_back()
            .expect("what is read was written by a step");
        assert!(at - start < *len, "inside an array that a step writes");
        Place {
            at: place.at + (at - start),
            ..*place
        }
    }

    /// Notes that the next step reads an array of the workspace.
    pub(super) fn read(&mut self, at: usize, len: usize, access: Access) {
        self.read_place(self.place(at), len, access);
    }

    /// As [`Arrays::read`], by place.
    pub(super) fn read_place(&mut self, place: Place, len: usize, access: Access) {
        let others = |w: &Written| {
            let own = access == Access::Along && w.by == Access::Along && w.place == place;
            let (from, at) = (w.place.at, place.at);
            w.place.real == place.real && from < at + len && at < from + w.len && !own
        };
        self.barrier |= self.written.iter().any(others);
    }

    /// Whether a barrier must stand before the step whose reads were noted.
    pub(super) fn take_barrier(&mut self) -> bool {
        let needed = std::mem::take(&mut self.barrier);
        if needed {
            self.written.clear();
            self.n_barriers += 1;
        }
        needed
    }

    /// Notes what a step wrote, by place. To be called after its barrier was taken.
    pub(super) fn wrote(&mut self, place: Place, len: usize, by: Access) {
        self.written.push(Written { place, len, by });
    }
}
