//! Races: accesses of two threads to one place that nothing puts in order, one of them a write.
//!
//! Every thread has a clock for itself and knows how far those of others had come when they last met it.
//! Barriers of a block or a warp join what their threads know. A fence gathers what a thread knows for
//! whoever reads what it then writes strongly, and takes in what strong reads before it have found.
//! Threads that write the same value into one place may do so at any time, for no order changes it.

use super::access::{Deed, StrongDeed};
use super::memory::SHARED_WINDOW;
use crate::code::Scope;
use crate::{Fault, Result};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

/// Bytes that are watched as one.
const GRAIN: u64 = 4;

/// What a thread knows of all.
#[derive(Clone)]
struct Clock {
    known: Rc<Vec<u32>>,
    own: u32,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    thread: u32,
    time: u32,
    line: u32,
}

/// Accesses of threads to a place, one of each thread.
#[derive(Default)]
struct Accesses {
    all: Vec<Access>,
    /// Behind the one that was noted last: threads come in the same order again and again.
    next: usize,
}

impl Accesses {
    /// Adds an access, in place of an older one of that thread.
    fn note(&mut self, now: Access) {
        let is_next = |a: &Access| a.thread == now.thread;
        let at = match self.all.get(self.next) {
            Some(old) if is_next(old) => Some(self.next),
            _ => self.all.iter().position(is_next),
        };
        match at {
            Some(k) => {
                self.all[k] = now;
                self.next = k + 1;
            }
            None => {
                self.all.push(now);
                self.next = self.all.len();
            }
        }
        if self.next == self.all.len() {
            self.next = 0;
        }
    }
}

/// What was done at a place since its value last changed.
#[derive(Default)]
struct Place {
    writers: Accesses,
    readers: Accesses,
}

/// Spreads addresses over the places of a table.
#[derive(Default)]
struct ByAddress(u64);

impl Hasher for ByAddress {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&b| self.write_u64(u64::from(b)));
    }

    fn write_u64(&mut self, address: u64) {
        self.0 = (self.0 ^ address).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// What strong writes left at a place for those who read it strongly.
type Left = HashMap<u64, Rc<Vec<u32>>>;

/// The threads of a grid, and the places they came to.
pub(super) struct Races {
    clocks: Vec<Clock>,
    places: HashMap<u64, Place, BuildHasherDefault<ByAddress>>,
    left: Left,
    /// What a thread knew at its last fence, and what it has found since.
    released: Vec<Option<Rc<Vec<u32>>>>,
    found: Vec<Option<Rc<Vec<u32>>>>,
    pub(super) n_accesses: u64,
}

impl Races {
    pub(super) fn new(n_threads: usize) -> Races {
        let known = Rc::new(vec![0; n_threads]);
        let clock = |_| Clock {
            known: Rc::clone(&known),
            own: 1,
        };
        Races {
            clocks: (0..n_threads).map(clock).collect(),
            places: HashMap::default(),
            left: HashMap::new(),
            released: vec![None; n_threads],
            found: vec![None; n_threads],
            n_accesses: 0,
        }
    }

    /// All that a thread knows.
    fn whole(&self, thread: u32) -> Vec<u32> {
        let clock = &self.clocks[thread as usize];
        let mut all = clock.known.as_ref().clone();
        all[thread as usize] = clock.own;
        all
    }

    /// Threads meet at a barrier.
    pub(super) fn meet(&mut self, threads: &[u32]) {
        let Some(&first) = threads.first() else {
            return;
        };
        let mut joined = self.whole(first);
        let mut last = Rc::clone(&self.clocks[first as usize].known);
        for &thread in &threads[1..] {
            let clock = &self.clocks[thread as usize];
            if !Rc::ptr_eq(&clock.known, &last) {
                join(&mut joined, &clock.known);
                last = Rc::clone(&clock.known);
            }
            let own = &mut joined[thread as usize];
            *own = clock.own.max(*own);
        }
        let known = Rc::new(joined);
        for &thread in threads {
            let clock = &mut self.clocks[thread as usize];
            clock.known = Rc::clone(&known);
            clock.own += 1;
        }
    }

    /// What a thread did before is in order with what it does afterwards, for whoever finds out.
    pub(super) fn fence(&mut self, thread: u32, _scope: Scope) {
        let k = thread as usize;
        if let Some(found) = self.found[k].take() {
            let mut known = self.clocks[k].known.as_ref().clone();
            join(&mut known, &found);
            self.clocks[k].known = Rc::new(known);
        }
        self.released[k] = Some(Rc::new(self.whole(thread)));
        self.clocks[k].own += 1;
    }

    fn strong(&mut self, thread: u32, place: u64, deed: StrongDeed) {
        let k = thread as usize;
        let left = self.left.get(&place).filter(|_| deed != StrongDeed::Write);
        if let Some(left) = left {
            let mut found = left.as_ref().clone();
            if let Some(before) = &self.found[k] {
                join(&mut found, before);
            }
            self.found[k] = Some(Rc::new(found));
        }
        let Some(released) = &self.released[k] else {
            return;
        };
        match (deed, self.left.get_mut(&place)) {
            (StrongDeed::Read, _) => {}
            (StrongDeed::Change, Some(left)) => {
                let mut all = left.as_ref().clone();
                join(&mut all, released);
                *left = Rc::new(all);
            }
            _ => {
                self.left.insert(place, Rc::clone(released));
            }
        }
    }

    /// An access of a thread of a block.
    pub(super) fn access(
        &mut self,
        thread: u32,
        block: u32,
        at: u64,
        n: usize,
        deed: Deed,
        line: u32,
    ) -> Result<()> {
        self.n_accesses += 1;
        // Shared memory is another one in every block.
        let at = match at & !0xffff_ffff {
            SHARED_WINDOW => at | u64::from(block) << 48,
            _ => at,
        };
        if let Deed::Strong(deed) = deed {
            self.strong(thread, at, deed);
            return Ok(());
        }
        for grain in at / GRAIN..(at + n as u64).div_ceil(GRAIN) {
            self.weak(thread, grain, deed, line)?;
        }
        Ok(())
    }

    fn weak(&mut self, thread: u32, grain: u64, deed: Deed, line: u32) -> Result<()> {
        let now = Access {
            thread,
            time: self.clocks[thread as usize].own,
            line,
        };
        let clock = &self.clocks[thread as usize];
        let follows = |a: &Access| a.thread == thread || clock.known[a.thread as usize] >= a.time;
        let place = self.places.entry(grain).or_default();
        let race = match deed {
            Deed::Read => {
                let writers = &place.writers.all;
                let fresh = writers.is_empty();
                let race = (!fresh && !writers.iter().any(follows)).then(|| writers[0]);
                place.readers.note(now);
                race
            }
            Deed::Write { same: true } => {
                place.writers.note(now);
                None
            }
            _ => {
                let mut before = place.writers.all.iter().chain(&place.readers.all);
                let race = before.find(|a| !follows(a)).copied();
                place.readers.all.clear();
                place.writers.all.clear();
                place.writers.note(now);
                race
            }
        };
        race.map_or(Ok(()), |other| Err(described(&now, &other, grain * GRAIN)))
    }
}

fn join(all: &mut [u32], other: &[u32]) {
    for (a, b) in all.iter_mut().zip(other) {
        *a = (*a).max(*b);
    }
}

fn described(now: &Access, other: &Access, at: u64) -> Fault {
    let text = format!(
        "race at {at:#x}: thread {} comes after thread {} at PTX line {}, and nothing puts them in order",
        now.thread, other.thread, other.line
    );
    Fault::new(now.line, text)
}

#[cfg(test)]
mod tests {
    use super::super::dice::Dice;
    use super::*;
    use std::collections::BTreeMap;

    /// Catches: an access that is noted beside an older one of its thread, or in place of another thread's.
    #[test]
    fn a_place_keeps_the_last_access_of_each_thread() {
        let mut dice = Dice::new(7);
        for n_threads in [1, 2, 5, 40] {
            let (mut ours, mut expected) = (Accesses::default(), BTreeMap::new());
            for time in 0..400 {
                // In order for a while, then at random.
                let thread = match time / 100 % 2 {
                    0 => time % n_threads,
                    _ => dice.below(n_threads),
                };
                let line = dice.below(9);
                let [thread, time, line] = [thread, time, line].map(|n| n as u32);
                let now = Access { thread, time, line };
                ours.note(now);
                expected.insert(thread, now);
                let mut found = ours.all.clone();
                found.sort_by_key(|a| a.thread);
                assert!(
                    found.iter().eq(expected.values()),
                    "{n_threads} threads, {time}"
                );
            }
        }
    }
}
