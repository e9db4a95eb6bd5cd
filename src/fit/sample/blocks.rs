//! Blocks: where all chains meet, show what they have, and may be asked to stop.

use super::checkpoint::Checkpoint;
use super::{Draws, Phase};
use std::ops::Range;

/// What to do after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Go on; the next block comes after this many transitions (0 counts as 1), or sooner.
    After(usize),
    /// The same, and forget the draws: whoever was shown them has them. They are then no part of
    /// the result, and memory does not grow with their number.
    Forget(usize),
    /// End the run here, with what there is.
    Stop,
}

/// All chains stand at the same transition.
pub struct Block<'a> {
    /// The part of the run that comes next, or that has just ended when nothing is left to do.
    pub phase: Phase,
    /// Transitions of this phase that every chain has finished, those of an earlier run that this
    /// one continues included.
    pub done: usize,
    /// Draws of every chain since this call of the sampler began, or since they were last forgotten;
    /// empty in warm-up.
    pub draws: Vec<&'a Draws>,
    /// Those of `draws` that no earlier block has shown. The first of them is draw number
    /// `done - new.len()` of the whole run.
    pub new: Range<usize>,
    pub(crate) save: &'a dyn Fn() -> Checkpoint,
}

impl Block<'_> {
    /// Everything the run needs to go on from here. Copies the state of all chains: ask for it
    /// only where it will be kept.
    pub fn checkpoint(&self) -> Checkpoint {
        (self.save)()
    }
}

/// Whom blocks are shown to.
pub type Blocks<'a> = &'a mut dyn FnMut(&Block<'_>) -> Next;

/// Counts transitions up to the next block.
pub(crate) struct Pacer<'a> {
    show: Blocks<'a>,
    /// Transitions left.
    pub(crate) left: usize,
    /// Draws shown and still there.
    shown: usize,
    /// Draws of every chain that are forgotten.
    pub(crate) forgotten: usize,
    /// Whether the run was asked to end.
    pub(crate) stopped: bool,
}

impl<'a> Pacer<'a> {
    /// Before the first block.
    pub(crate) fn new(show: Blocks<'a>) -> Self {
        Pacer {
            show,
            left: 0,
            shown: 0,
            forgotten: 0,
            stopped: false,
        }
    }

    /// Shows a block. True when its draws are to be forgotten.
    pub(crate) fn show(
        &mut self,
        phase: Phase,
        done: usize,
        draws: Vec<&Draws>,
        save: &dyn Fn() -> Checkpoint,
    ) -> bool {
        let n = draws.first().map_or(0, |d| d.len());
        let block = Block {
            phase,
            done,
            draws,
            new: self.shown..n,
            save,
        };
        let next = (self.show)(&block);
        self.shown = n;
        match next {
            Next::After(transitions) => self.left = transitions.max(1),
            Next::Forget(transitions) => {
                self.left = transitions.max(1);
                self.forgotten += n;
                self.shown = 0;
                return true;
            }
            Next::Stop => self.stopped = true,
        }
        false
    }
}
