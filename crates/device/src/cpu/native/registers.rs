//! Which value is in which register: the one needed furthest in the future gives way.

use super::tape::Node;

/// A kind of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Vector,
    /// The mask registers of AVX-512.
    Mask,
}

/// What is known of a value while code is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Value {
    pub(super) register: Option<u8>,
    /// Where it was saved.
    pub(super) slot: Option<usize>,
    /// Where it is read from here on, the next one last.
    pub(super) reads: Vec<u32>,
    /// Can be had again without having been saved: constants and operands in memory.
    pub(super) in_memory: bool,
}

/// Registers of one class, and who is in them.
pub(super) struct File {
    holder: Vec<Option<u32>>,
    /// Not to be taken away while one instruction is written.
    pinned: Vec<bool>,
    first: u8,
}

impl File {
    /// Registers `first` to `end`, `end` excluded.
    pub(super) fn new(first: u8, end: u8) -> Self {
        let n = usize::from(end - first);
        File {
            holder: vec![None; n],
            pinned: vec![false; n],
            first,
        }
    }

    pub(super) fn pin(&mut self, register: u8) {
        self.pinned[usize::from(register - self.first)] = true;
    }

    pub(super) fn unpin(&mut self) {
        self.pinned.fill(false);
    }

    pub(super) fn set(&mut self, register: u8, value: Option<u32>) {
        self.holder[usize::from(register - self.first)] = value;
    }

    /// A register to be used, and whose it was: a free one, or that of the value whose next read
    /// is furthest away.
    pub(super) fn take(&self, values: &[Value]) -> (u8, Option<u32>) {
        let free = (0..self.holder.len()).find(|&k| self.holder[k].is_none() && !self.pinned[k]);
        let k = free.unwrap_or_else(|| {
            let next = |k: &usize| {
                let holder = self.holder[*k].expect("no register is free");
                values[holder as usize].reads.last().copied()
            };
            (0..self.holder.len())
                .filter(|&k| !self.pinned[k])
                .max_by_key(next)
                .expect("an instruction pins fewer registers than there are")
        });
        (self.first + k as u8, self.holder[k])
    }
}

/// The largest number of values alive at once that are not in memory anyway.
pub(super) fn pressure(nodes: &[Node]) -> usize {
    use super::tape::Op;
    let mut last = vec![0; nodes.len()];
    for (k, node) in nodes.iter().enumerate() {
        node.args().iter().for_each(|&a| last[a as usize] = k);
    }
    let holds = |op: Op| !op.is_effect() && !matches!(op, Op::Const(_) | Op::Load(_));
    let mut ends = vec![0usize; nodes.len() + 1];
    let (mut alive, mut most) = (0usize, 0);
    for (k, node) in nodes.iter().enumerate() {
        alive -= ends[k];
        if holds(node.op) {
            alive += 1;
            ends[last[k].max(k) + usize::from(last[k] <= k)] += 1;
        }
        most = most.max(alive);
    }
    most
}
