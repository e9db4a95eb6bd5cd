//! Streams: queues that go on when somebody waits for them, or when chance has it.

use super::deed::Deed;
use crate::run::dice::Dice;
use std::collections::{HashMap, VecDeque};

/// A stream.
pub(super) struct Stream {
    pub(super) device: usize,
    waiting: VecDeque<Deed>,
    pub(super) asked: u64,
    pub(super) done: u64,
    /// What is noted for a graph instead of being done.
    pub(super) captured: Option<Vec<Deed>>,
}

/// When an event was asked for last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Event {
    /// Stream and position in it; none before the first time.
    pub(super) at: Option<(usize, u64)>,
    /// How often it was asked for.
    pub(super) times: u64,
    /// Nanoseconds at which it happened.
    pub(super) happened: u64,
}

/// All streams; number 0 is the one that nobody made, of every GPU one.
#[derive(Default)]
pub(super) struct Streams {
    all: HashMap<usize, Stream>,
    next: usize,
}

impl Streams {
    pub(super) fn create(&mut self, device: usize) -> usize {
        let number = self.next;
        self.next += 1;
        let stream = Stream {
            device,
            waiting: VecDeque::new(),
            asked: 0,
            done: 0,
            captured: None,
        };
        self.all.insert(number, stream);
        number
    }

    pub(super) fn get(&mut self, number: usize) -> Option<&mut Stream> {
        self.all.get_mut(&number)
    }

    pub(super) fn remove(&mut self, number: usize) {
        self.all.remove(&number);
    }

    /// Asks a stream for something.
    pub(super) fn ask(&mut self, number: usize, deed: Deed) -> bool {
        let Some(stream) = self.all.get_mut(&number) else {
            return false;
        };
        match &mut stream.captured {
            Some(noted) => noted.push(deed),
            None => {
                stream.waiting.push_back(deed);
                stream.asked += 1;
            }
        }
        true
    }

    /// Whether a stream has come so far; one that is no more has.
    pub(super) fn has_come(&self, number: usize, until: u64) -> bool {
        self.all.get(&number).is_none_or(|s| s.done >= until)
    }

    /// What a stream has to do next, if it need not wait; it is taken out.
    pub(super) fn next_of(&mut self, number: usize) -> Option<(usize, Deed)> {
        let first = self.all.get(&number)?.waiting.front()?;
        let waits = match first {
            Deed::Wait { stream, until } => !self.has_come(*stream, *until),
            _ => false,
        };
        if waits {
            return None;
        }
        let stream = self.all.get_mut(&number)?;
        let deed = stream.waiting.pop_front()?;
        Some((stream.device, deed))
    }

    /// What a stream waits for, if it waits for another one.
    pub(super) fn waits_for(&self, number: usize) -> Option<(usize, u64)> {
        match self.all.get(&number)?.waiting.front()? {
            Deed::Wait { stream, until } => Some((*stream, *until)),
            _ => None,
        }
    }

    /// Any stream that has something to do.
    pub(super) fn any(&self, dice: &mut Dice) -> Option<usize> {
        let mut busy: Vec<usize> = self
            .all
            .iter()
            .filter(|s| !s.1.waiting.is_empty())
            .map(|s| *s.0)
            .collect();
        busy.sort_unstable();
        (!busy.is_empty()).then(|| busy[dice.below(busy.len())])
    }

    /// Streams of a GPU, and how much was asked of them.
    pub(super) fn of_device(&self, device: usize) -> Vec<(usize, u64)> {
        let own = self.all.iter().filter(|s| s.1.device == device);
        let mut own: Vec<(usize, u64)> = own.map(|(n, s)| (*n, s.asked)).collect();
        own.sort_unstable();
        own
    }
}
