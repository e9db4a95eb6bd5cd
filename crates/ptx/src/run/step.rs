//! One instruction after the other, for the lanes of a group.

use super::memory::Memory;
use super::races::Races;
use super::shared::Shared;
use super::warp::{Base, Caller, Group, Warp, lanes_of};
use crate::code::{Code, Kind, Lanes, Strength, WARP};
use crate::{Fault, Result};

/// What a kernel runs with.
pub(super) struct Execution<'a> {
    pub(super) code: &'a Code,
    pub(super) memory: &'a mut Memory,
    pub(super) shared: &'a mut Shared,
    pub(super) arguments: &'a [u8],
    pub(super) races: Option<&'a mut Races>,
    pub(super) block: u32,
    /// The clock of the GPU, which goes on with every instruction.
    pub(super) clock: &'a mut u64,
    /// The line of the instruction.
    pub(super) line: u32,
}

/// Why a group stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It was long enough.
    Tired,
    /// Its lanes go to different places, or wait, or have ended.
    Parted,
    /// It looked at what others may change.
    Looked,
}

/// What an instruction does to the order of instructions.
pub(super) enum Next {
    On,
    To(u32),
    Stop(Stop),
}

impl Execution<'_> {
    /// Runs a group for at most `budget` instructions; its lanes know afterwards where they are.
    pub(super) fn run(&mut self, warp: &mut Warp, group: Group, budget: u32) -> Result<Stop> {
        let code = self.code;
        let mut group = group;
        let mut join = warp.join(&group);
        let mut at = group.at;
        for _ in 0..budget {
            let instruction = &code.instructions[at as usize];
            self.line = instruction.line;
            *self.clock += 1;
            let lanes = match instruction.guard {
                Some(condition) => group.lanes & warp.predicate(group.base, condition),
                None => group.lanes,
            };
            let depth = group.base.depth;
            let next = match lanes {
                0 => Next::On,
                _ => {
                    group.at = at;
                    self.step(warp, &mut group, lanes, &instruction.kind)?
                }
            };
            match next {
                Next::On => at += 1,
                Next::To(other) => at = other,
                Next::Stop(stop) => return Ok(stop),
            }
            if group.base.depth != depth {
                join = warp.join(&group);
            }
            if at >= join {
                warp.leave(&group, at);
                return Ok(Stop::Parted);
            }
        }
        warp.leave(&group, at);
        Ok(Stop::Tired)
    }

    fn step(
        &mut self,
        warp: &mut Warp,
        group: &mut Group,
        lanes: u32,
        kind: &Kind,
    ) -> Result<Next> {
        let some = Group { lanes, ..*group };
        match kind {
            Kind::Load(to, address, access) => {
                self.load(warp, &some, to, address, access)?;
                // Whoever looks again and again must let others run.
                if access.strength == Strength::Strong {
                    warp.leave(group, group.at + 1);
                    return Ok(Next::Stop(Stop::Looked));
                }
            }
            Kind::Store(values, address, access) => {
                self.store(warp, &some, values, address, access)?;
            }
            Kind::Atomic(to, change, number, address, access, values) => {
                let (what, place) = ((*change, *number), (address, access));
                self.change(warp, &some, *to, what, place, values)?;
            }
            Kind::Fence(scope) => self.fence(warp, &some, *scope),
            Kind::Branch(to) if lanes == group.lanes => return Ok(Next::To(*to)),
            Kind::Branch(to) => {
                warp.leave(group, group.at + 1);
                warp.leave(&some, *to);
                return Ok(Next::Stop(Stop::Parted));
            }
            Kind::Call { .. } | Kind::Return | Kind::Exit if lanes != group.lanes => {
                return self.some_leave(warp, group, some, kind);
            }
            Kind::Call {
                function,
                arguments,
                ..
            } => return Ok(self.call(warp, group, *function, arguments)),
            Kind::Return => return Ok(self.back(warp, group)),
            Kind::Exit => return Ok(self.end(warp, lanes)),
            Kind::Trap => return Err(Fault::new(self.line, "the kernel ends itself: trap")),
            Kind::Shuffle { .. } | Kind::Vote(..) | Kind::MeetWarp(_) | Kind::MeetBlock(_) => {
                return self.together(warp, group, some, kind);
            }
            _ => self.compute(warp, some.base, lanes, kind),
        }
        Ok(Next::On)
    }

    /// What stays in registers.
    fn compute(&mut self, warp: &mut Warp, base: Base, lanes: u32, kind: &Kind) {
        let code = self.code;
        match kind {
            Kind::Compute(to, compute) => {
                let result = warp.compute(code, base, compute);
                warp.put(base, *to, lanes, &result);
            }
            Kind::Copy(to, from) => {
                let value = *warp.value(code, base, *from);
                warp.put(base, *to, lanes, &value);
            }
            Kind::Copies(pairs) => {
                let all = pairs.iter().map(|(_, from)| *warp.value(code, base, *from));
                let all: Vec<Lanes> = all.collect();
                for ((to, _), value) in pairs.iter().zip(&all) {
                    warp.put(base, *to, lanes, value);
                }
            }
            Kind::Split(to, from, bits) => {
                let value = *warp.value(code, base, *from);
                for (k, to) in to.iter().enumerate() {
                    let part = value.map(|v| v >> (k as u32 * bits) & ((1 << bits) - 1));
                    to.iter().for_each(|to| warp.put(base, *to, lanes, &part));
                }
            }
            Kind::Join(to, from, bits) => {
                let mut whole = [0u64; WARP];
                for (k, from) in from.iter().enumerate() {
                    let part = warp.value(code, base, *from);
                    for (w, p) in whole.iter_mut().zip(part) {
                        *w |= (p & ((1 << bits) - 1)) << (k as u32 * bits);
                    }
                }
                warp.put(base, *to, lanes, &whole);
            }
            Kind::Select(to, [a, b], condition) => {
                let (a, b) = (warp.value(code, base, *a), warp.value(code, base, *b));
                let first = warp.predicate(base, *condition);
                let chosen = |k: usize| if first >> k & 1 == 1 { a[k] } else { b[k] };
                let chosen = std::array::from_fn(chosen);
                warp.put(base, *to, lanes, &chosen);
            }
            Kind::LocalAddress(to, at) => {
                let address = u64::from(base.local + at);
                warp.put(base, *to, lanes, &[address; WARP]);
            }
            Kind::Clock(to) => warp.put(base, *to, lanes, &[*self.clock; WARP]),
            _ => self.decide(warp, base, lanes, kind),
        }
    }

    /// What makes predicates.
    fn decide(&self, warp: &mut Warp, base: Base, lanes: u32, kind: &Kind) {
        let code = self.code;
        match kind {
            Kind::Compare {
                compare,
                of: [a, b],
                with,
                to,
            } => {
                let holds = compare(warp.value(code, base, *a), warp.value(code, base, *b));
                let other = with.map(|(logic, c)| (logic, warp.predicate(base, c)));
                let joined = |bits: u32| other.map_or(bits, |(logic, p)| logic.of(bits, p));
                for (to, bits) in to.iter().zip([joined(holds), joined(!holds)]) {
                    to.iter()
                        .for_each(|to| warp.put_predicate(base, *to, lanes, bits));
                }
            }
            Kind::Logic(to, logic, [a, b]) => {
                let bits = logic.of(warp.predicate(base, *a), warp.predicate(base, *b));
                warp.put_predicate(base, *to, lanes, bits);
            }
            Kind::SetPredicate(to, from, value) => {
                let bits = match from {
                    Some(condition) => warp.predicate(base, *condition),
                    None => u32::from(*value).wrapping_neg(),
                };
                warp.put_predicate(base, *to, lanes, bits);
            }
            _ => unreachable!("it is about memory, or the order of instructions"),
        }
    }

    /// Some lanes of a group call, return or end, the others go on.
    fn some_leave(
        &mut self,
        warp: &mut Warp,
        group: &Group,
        some: Group,
        kind: &Kind,
    ) -> Result<Next> {
        warp.leave(group, group.at + 1);
        let mut some = some;
        let next = match kind {
            Kind::Call {
                function,
                arguments,
                ..
            } => self.call(warp, &mut some, *function, arguments),
            Kind::Return => self.back(warp, &mut some),
            _ => self.end(warp, some.lanes),
        };
        if let Next::To(at) = next {
            warp.leave(&some, at);
        }
        Ok(Next::Stop(Stop::Parted))
    }

    fn call(
        &mut self,
        warp: &mut Warp,
        group: &mut Group,
        function: u32,
        arguments: &[(u32, u32)],
    ) -> Next {
        let own = &self.code.frames[group.base.function as usize];
        let caller = group.base;
        let base = Base {
            depth: caller.depth + 1,
            registers: caller.registers + own.registers,
            predicates: caller.predicates + own.predicates,
            local: caller.local + own.local,
            function,
        };
        warp.make_room(self.code, base, group.lanes);
        for &(from, to) in arguments {
            let value = warp.registers[(caller.registers + from) as usize];
            warp.put(base, to, group.lanes, &value);
        }
        for lane in lanes_of(group.lanes) {
            warp.callers[lane].push(Caller {
                at: group.at,
                base: caller,
            });
        }
        group.base = base;
        Next::To(self.code.frames[function as usize].start)
    }

    /// Back to the callers, which may be several; or the end of the threads.
    fn back(&mut self, warp: &mut Warp, group: &mut Group) -> Next {
        let mut left = group.lanes;
        let mut ways = 0;
        let base = group.base;
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let Some(caller) = warp.callers[first].last().copied() else {
                return self.end(warp, group.lanes);
            };
            let same = |k: &usize| {
                let other = warp.callers[*k].last();
                other.is_some_and(|o| o.at == caller.at && o.base == caller.base)
            };
            let lanes = lanes_of(left).filter(same).fold(0, |all, k| all | 1 << k);
            let Kind::Call { results, .. } = &self.code.instructions[caller.at as usize].kind
            else {
                unreachable!("callers call");
            };
            for &(from, to) in results {
                let value = warp.registers[(base.registers + from) as usize];
                warp.put(caller.base, to, lanes, &value);
            }
            for k in lanes_of(lanes) {
                warp.callers[k].pop();
                (warp.at[k], warp.base[k]) = (caller.at + 1, caller.base);
            }
            (group.base, group.at) = (caller.base, caller.at + 1);
            left &= !lanes;
            ways += 1;
        }
        match ways {
            1 => Next::To(group.at),
            _ => Next::Stop(Stop::Parted),
        }
    }

    fn end(&mut self, warp: &mut Warp, lanes: u32) -> Next {
        warp.ready &= !lanes;
        warp.done |= lanes;
        Next::Stop(Stop::Parted)
    }
}
