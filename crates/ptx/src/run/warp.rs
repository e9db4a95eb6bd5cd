//! The state of a warp: registers of its lanes, and where each of them is.

use crate::code::{Code, Compute, Condition, Lanes, Special, Value, WARP};
use std::array::from_fn;

/// All lanes.
pub(super) const ALL: u32 = u32::MAX;

/// Where the frame of a function begins in registers, predicates and local memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Base {
    pub(super) depth: u32,
    pub(super) registers: u32,
    pub(super) predicates: u32,
    pub(super) local: u32,
    pub(super) function: u32,
}

/// Where a call came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    /// The call.
    pub(super) at: u32,
    pub(super) base: Base,
}

/// Lanes that are at one instruction of one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) lanes: u32,
    pub(super) at: u32,
    pub(super) base: Base,
}

/// A warp.
pub(super) struct Warp {
    /// Its first thread in the block, and in the grid.
    pub(super) first: u32,
    pub(super) first_of_grid: u32,
    /// Lanes that there are.
    pub(super) present: u32,
    /// Lanes that can go on, and those that have ended.
    pub(super) ready: u32,
    pub(super) done: u32,
    /// Lanes at a barrier of the block, and its number.
    pub(super) at_barrier: u32,
    pub(super) barrier: [u32; WARP],
    /// Lanes that wait for others of a mask.
    pub(super) meeting: u32,
    pub(super) masks: [u32; WARP],
    pub(super) at: [u32; WARP],
    pub(super) base: [Base; WARP],
    pub(super) callers: [Vec<Caller>; WARP],
    pub(super) registers: Vec<Lanes>,
    pub(super) predicates: Vec<u32>,
    pub(super) local: [Vec<u8>; WARP],
    special: [Lanes; 5],
}

/// Numbers of the lanes in a mask.
pub(super) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

impl Warp {
    /// Warp number `number` of block `block` of `blocks`, which have `threads` threads each.
    pub(super) fn new(
        code: &Code,
        function: u32,
        number: u32,
        threads: u32,
        (block, blocks): (u32, u32),
    ) -> Warp {
        let first = number * WARP as u32;
        let n = (threads - first).min(WARP as u32);
        let present = ALL >> (32 - n);
        let frame = &code.frames[function as usize];
        let base = Base {
            function,
            ..Base::default()
        };
        let mut warp = Warp {
            first,
            first_of_grid: block * threads + first,
            present,
            ready: present,
            done: 0,
            at_barrier: 0,
            barrier: [0; WARP],
            meeting: 0,
            masks: [0; WARP],
            at: [frame.start; WARP],
            base: [base; WARP],
            callers: from_fn(|_| Vec::new()),
            registers: Vec::new(),
            predicates: Vec::new(),
            local: from_fn(|_| Vec::new()),
            special: [
                from_fn(|k| u64::from(first) + k as u64),
                [u64::from(threads); WARP],
                [u64::from(block); WARP],
                [u64::from(blocks); WARP],
                from_fn(|k| k as u64),
            ],
        };
        warp.make_room(code, base, present);
        warp
    }

    /// Room for the frame of a function that is entered; its local memory is full of NaN.
    pub(super) fn make_room(&mut self, code: &Code, base: Base, lanes: u32) {
        let frame = &code.frames[base.function as usize];
        let (registers, predicates) = (
            (base.registers + frame.registers) as usize,
            (base.predicates + frame.predicates) as usize,
        );
        if self.registers.len() < registers {
            self.registers
                .resize(registers, [0xfff4_dead_fff4_dead; WARP]);
        }
        if self.predicates.len() < predicates {
            self.predicates.resize(predicates, 0);
        }
        for lane in lanes_of(lanes) {
            let local = &mut self.local[lane];
            local.truncate(base.local as usize);
            local.resize((base.local + frame.local) as usize, 0xf4);
        }
    }

    pub(super) fn value<'a>(&'a self, code: &'a Code, base: Base, value: Value) -> &'a Lanes {
        match value {
            Value::Register(at) => &self.registers[(base.registers + at) as usize],
            Value::Constant(at) => &code.constants[at as usize],
            Value::Special(which) => {
                &self.special[match which {
                    Special::Thread => 0,
                    Special::Threads => 1,
                    Special::Block => 2,
                    Special::Blocks => 3,
                    Special::Lane => 4,
                }]
            }
        }
    }

    pub(super) fn put(&mut self, base: Base, at: u32, lanes: u32, values: &Lanes) {
        let place = &mut self.registers[(base.registers + at) as usize];
        match lanes {
            ALL => *place = *values,
            _ => {
                for (k, (d, v)) in place.iter_mut().zip(values).enumerate() {
                    if lanes >> k & 1 == 1 {
                        *d = *v;
                    }
                }
            }
        }
    }

    pub(super) fn predicate(&self, base: Base, condition: Condition) -> u32 {
        let bits = self.predicates[(base.predicates + condition.at) as usize];
        if condition.is_not { !bits } else { bits }
    }

    pub(super) fn put_predicate(&mut self, base: Base, at: u32, lanes: u32, bits: u32) {
        let place = &mut self.predicates[(base.predicates + at) as usize];
        *place = (*place & !lanes) | (bits & lanes);
    }

    pub(super) fn compute(&self, code: &Code, base: Base, compute: &Compute) -> Lanes {
        let value = |v: &Value| self.value(code, base, *v);
        match compute {
            Compute::One(f, of) => f(of.each_ref().map(value)),
            Compute::Two(f, of) => f(of.each_ref().map(value)),
            Compute::Three(f, of) => f(of.each_ref().map(value)),
            Compute::Four(f, of) => f(of.each_ref().map(value)),
        }
    }

    /// Lanes that can go on and are in the deepest frame, at the earliest instruction of those.
    pub(super) fn foremost(&self) -> Option<Group> {
        let key = |k: usize| (std::cmp::Reverse(self.base[k].depth), self.at[k]);
        let first = lanes_of(self.ready).min_by_key(|&k| key(k))?;
        Some(self.group_of(first))
    }

    /// All lanes that can go on and are where `lane` is.
    pub(super) fn group_of(&self, lane: usize) -> Group {
        let (at, base) = (self.at[lane], self.base[lane]);
        let same = |k: &usize| self.at[*k] == at && self.base[*k] == base;
        let lanes = lanes_of(self.ready).filter(same);
        Group {
            lanes: lanes.fold(0, |all, k| all | 1 << k),
            at,
            base,
        }
    }

    /// The first instruction at which other lanes of as deep a frame wait for a group.
    pub(super) fn join(&self, group: &Group) -> u32 {
        let others = lanes_of(self.ready & !group.lanes);
        let near = others.filter(|&k| self.base[k].depth >= group.base.depth);
        near.map(|k| self.at[k]).min().unwrap_or(u32::MAX)
    }

    /// Writes down where the lanes of a group are.
    pub(super) fn leave(&mut self, group: &Group, at: u32) {
        for k in lanes_of(group.lanes) {
            (self.at[k], self.base[k]) = (at, group.base);
        }
    }
}
