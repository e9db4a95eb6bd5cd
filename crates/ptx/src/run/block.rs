//! A block: its warps take turns, and meet at barriers.

use super::dice::Dice;
use super::races::Races;
use super::shared::Shared;
use super::step::{Execution, Stop};
use super::warp::{Group, Warp, lanes_of};
use crate::code::{Code, WARP};
use crate::{Fault, Result};

/// A block that runs.
pub(super) struct Block {
    pub(super) index: u32,
    pub(super) warps: Vec<Warp>,
    pub(super) shared: Shared,
}

/// Who goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Lanes of a warp side by side, as long as they can; warps one after the other.
    Lockstep,
    /// Any lanes of any warp, for a random number of instructions.
    Shuffled,
}

/// Instructions in a row at most, in lockstep and in shuffled order.
const LONG: u32 = 100_000;
const SHORT: usize = 200;

impl Block {
    pub(super) fn new(
        code: &Code,
        function: u32,
        index: u32,
        (blocks, threads): (u32, u32),
    ) -> Block {
        let n_warps = threads.div_ceil(WARP as u32);
        let warp = |k| Warp::new(code, function, k, threads, (index, blocks));
        Block {
            index,
            warps: (0..n_warps).map(warp).collect(),
            shared: Shared::new(code.shared),
        }
    }

    /// Whether all of its threads have ended.
    pub(super) fn is_done(&self) -> bool {
        self.warps.iter().all(|w| w.done == w.present)
    }

    /// Whether some thread can go on.
    pub(super) fn is_ready(&self) -> bool {
        self.warps.iter().any(|w| w.ready != 0)
    }

    /// Lanes of a warp that go on, and for how long.
    fn chosen(warp: &Warp, order: Order, dice: &mut Dice, is_tired: bool) -> Option<(Group, u32)> {
        if warp.ready == 0 {
            return None;
        }
        let any = |dice: &mut Dice| {
            let n = dice.below(warp.ready.count_ones() as usize);
            let lane = lanes_of(warp.ready).nth(n).expect("one of those");
            (lane, warp.group_of(lane))
        };
        match order {
            Order::Lockstep if is_tired => Some((any(dice).1, LONG)),
            Order::Lockstep => warp.foremost().map(|g| (g, LONG)),
            Order::Shuffled => {
                let (lane, mut group) = any(dice);
                if dice.below(4) != 0 {
                    group.lanes &= dice.bits() as u32 | 1 << lane;
                }
                Some((group, 1 + dice.below(SHORT) as u32))
            }
        }
    }

    /// Lets the warp go on until it waits, looks at what others may change, or has had its time.
    pub(super) fn turn<'a>(
        &'a mut self,
        number: usize,
        (order, dice): (Order, &mut Dice),
        mut execution: Execution<'a>,
    ) -> Result<()> {
        let warp = &mut self.warps[number];
        let mut is_tired = false;
        execution.block = self.index;
        execution.shared = &mut self.shared;
        while let Some((group, budget)) = Block::chosen(warp, order, dice, is_tired) {
            let stop = execution.run(warp, group, budget);
            let stop = stop.map_err(|f| {
                let (block, first) = (self.index, warp.first);
                let text = format!("{} (block {block}, warp from thread {first})", f.text);
                Fault::new(if f.line == 0 { execution.line } else { f.line }, text)
            })?;
            is_tired = stop != Stop::Parted;
            if order == Order::Shuffled || stop == Stop::Looked {
                break;
            }
            if stop == Stop::Tired && dice.below(2) == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Opens a barrier at which all threads are; whether it did.
    pub(super) fn meet(&mut self, code: &Code, races: Option<&mut Races>) -> Result<bool> {
        let all = |warp: &Warp| warp.at_barrier | warp.done == warp.present;
        let waits = self.warps.iter().any(|w| w.at_barrier != 0);
        if !waits || !self.warps.iter().all(all) {
            return Ok(false);
        }
        let lines = |warp: &Warp| {
            let at = lanes_of(warp.at_barrier).map(|k| warp.at[k]);
            at.collect::<Vec<_>>()
        };
        let mut places: Vec<u32> = self.warps.iter().flat_map(lines).collect();
        places.sort_unstable();
        places.dedup();
        let line = |at: u32| code.instructions[at as usize].line;
        let first = line(places[0]);
        if places.len() > 1 {
            let other = line(places[1]);
            let text =
                format!("threads of a block wait here and at line {other}: not at one barrier");
            return Err(Fault::new(first, text));
        }
        if self.warps.iter().any(|w| w.done != 0) {
            let text = "threads of a block wait here for others that have ended";
            return Err(Fault::new(first, text));
        }
        if let Some(races) = races {
            let of_warp = |w: &Warp| {
                let lanes = lanes_of(w.present).map(|k| w.first_of_grid + k as u32);
                lanes.collect::<Vec<_>>()
            };
            let threads: Vec<u32> = self.warps.iter().flat_map(of_warp).collect();
            races.meet(&threads);
        }
        for warp in &mut self.warps {
            lanes_of(warp.at_barrier).for_each(|k| warp.at[k] += 1);
            warp.ready |= warp.at_barrier;
            warp.at_barrier = 0;
        }
        Ok(true)
    }

    /// Where its threads wait, for a fault.
    pub(super) fn waits(&self, code: &Code) -> Vec<String> {
        let mut lines: Vec<u32> = Vec::new();
        for warp in &self.warps {
            let waiting = lanes_of(warp.present & !warp.done);
            lines.extend(waiting.map(|k| code.instructions[warp.at[k] as usize].line));
        }
        lines.sort_unstable();
        lines.dedup();
        lines.iter().map(u32::to_string).collect()
    }
}
