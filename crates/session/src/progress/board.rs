//! How the chains stand: they write to a [`Board`] without waiting, and a display reads a
//! [`Snapshot`] of it whenever it likes.

use fitzroy::fit::sample::{Event, Observer, Phase};
use fitzroy::run::{Convergence, Live};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The state of all chains, written by them.
#[derive(Debug)]
pub struct Board {
    tune: usize,
    draws: usize,
    chains: Vec<Cell>,
    /// Transitions of every chain that an earlier session made.
    before: AtomicUsize,
    /// Bits of the smallest bulk ESS and the largest R-hat; those of NaN until they are known.
    min_ess_bits: AtomicU64,
    max_rhat_bits: AtomicU64,
    state: AtomicUsize,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It goes on.
    Running,
    /// Everything was drawn.
    Finished,
    /// It was asked to stop.
    Interrupted,
    /// It ended with an error.
    Failed,
}

impl State {
    const ALL: [(State, &str); 4] = [
        (State::Running, "running"),
        (State::Finished, "finished"),
        (State::Interrupted, "interrupted"),
        (State::Failed, "failed"),
    ];

    /// Its name in `progress.json`.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// On cache lines of its own: chains on other processors write to theirs after every transition.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell {
    done: AtomicUsize,
    /// Transitions of the warm-up that were not needed.
    spared: AtomicUsize,
    divergences: AtomicUsize,
    step_size_bits: AtomicU64,
    leapfrogs: AtomicU64,
    last_leapfrogs: AtomicU64,
}

/// One chain at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chain {
    /// Transitions finished or not needed, warm-up included.
    pub done: usize,
    /// Of them, those of the warm-up that were not needed.
    pub spared: usize,
    /// Divergences since the phase began.
    pub divergences: usize,
    /// Step size.
    pub step_size: f64,
    /// Leapfrog steps of the last transition.
    pub leapfrogs: u64,
}

/// All chains at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Transitions of the warm-up of a chain.
    pub tune: usize,
    /// Draws of a chain.
    pub draws: usize,
    /// The chains.
    pub chains: Vec<Chain>,
    /// Transitions of every chain that were there from the start.
    pub before: usize,
    /// Smallest bulk ESS and largest R-hat so far, where they are known.
    pub convergence: Option<(f64, f64)>,
    /// How the run stands.
    pub state: State,
}

impl Board {
    /// A board of `n_chains` chains that will warm up for `tune` and draw `draws` transitions.
    pub fn new(n_chains: usize, tune: usize, draws: usize) -> Self {
        Board {
            tune,
            draws,
            chains: (0..n_chains).map(|_| Cell::default()).collect(),
            before: AtomicUsize::new(0),
            min_ess_bits: AtomicU64::new(f64::NAN.to_bits()),
            max_rhat_bits: AtomicU64::new(f64::NAN.to_bits()),
            state: AtomicUsize::new(State::Running as usize),
        }
    }

    /// Every chain goes on after `done` transitions of an earlier session.
    pub fn goes_on_after(&self, done: usize) {
        self.before.store(done, Relaxed);
        self.chains.iter().for_each(|c| c.done.store(done, Relaxed));
    }

    /// How the run ended.
    pub fn set_state(&self, state: State) {
        self.state.store(state as usize, Relaxed);
    }

    /// The chains agree so far.
    pub(super) fn agree(&self, min_ess: f64, max_rhat: f64) {
        self.min_ess_bits.store(min_ess.to_bits(), Relaxed);
        self.max_rhat_bits.store(max_rhat.to_bits(), Relaxed);
    }

    /// Chain `chain` has finished `done` transitions of the warm-up (or else of the draws).
    pub(crate) fn update(
        &self,
        chain: usize,
        warmup: bool,
        done: usize,
        divergences: usize,
        step_size: f64,
        leapfrogs: u64,
    ) {
        let Some(cell) = self.chains.get(chain) else {
            return;
        };
        let before = if warmup { 0 } else { self.tune };
        let last = cell.done.load(Relaxed);
        if last < before {
            cell.spared.store(before - last, Relaxed);
        }
        let earlier = cell.leapfrogs.swap(leapfrogs, Relaxed);
        cell.last_leapfrogs
            .store(leapfrogs.saturating_sub(earlier), Relaxed);
        cell.divergences.store(divergences, Relaxed);
        cell.step_size_bits.store(step_size.to_bits(), Relaxed);
        cell.done.store(before + done, Relaxed);
    }

    /// The chains at this moment.
    pub fn snapshot(&self) -> Snapshot {
        let chain = |cell: &Cell| Chain {
            done: cell.done.load(Relaxed),
            spared: cell.spared.load(Relaxed),
            divergences: cell.divergences.load(Relaxed),
            step_size: f64::from_bits(cell.step_size_bits.load(Relaxed)),
            leapfrogs: cell.last_leapfrogs.load(Relaxed),
        };
        let min_ess = f64::from_bits(self.min_ess_bits.load(Relaxed));
        let max_rhat = f64::from_bits(self.max_rhat_bits.load(Relaxed));
        Snapshot {
            tune: self.tune,
            draws: self.draws,
            chains: self.chains.iter().map(chain).collect(),
            before: self.before.load(Relaxed),
            convergence: (!min_ess.is_nan()).then_some((min_ess, max_rhat)),
            state: State::ALL[self.state.load(Relaxed)].0,
        }
    }
}

impl Live for Board {
    fn show(&self, found: &Convergence) {
        self.agree(found.min_ess_bulk, found.max_rhat);
    }
}

impl Observer for Board {
    fn event(&self, event: &Event<'_>) {
        self.update(
            event.chain,
            event.phase == Phase::Warmup,
            event.done,
            event.divergences,
            event.step_size,
            event.leapfrogs,
        );
    }
}

impl Snapshot {
    /// Transitions finished by all chains.
    pub fn done(&self) -> usize {
        self.chains.iter().map(|c| c.done).sum()
    }

    /// Transitions of all chains.
    pub fn total(&self) -> usize {
        self.chains.len() * self.total_per_chain()
    }

    /// Transitions of one chain.
    pub fn total_per_chain(&self) -> usize {
        self.tune + self.draws
    }

    /// True while a chain has not begun to draw.
    pub fn warming_up(&self) -> bool {
        self.tune > 0 && self.chains.iter().any(|c| c.done <= self.tune)
    }

    /// Divergences of all chains.
    pub fn divergences(&self) -> usize {
        self.chains.iter().map(|c| c.divergences).sum()
    }

    /// Seconds left at the pace so far; none at the start and at the end.
    pub fn remaining_s(&self, elapsed_s: f64) -> Option<f64> {
        let before = self.before * self.chains.len();
        let spared: usize = self.chains.iter().map(|c| c.spared).sum();
        let (made, left) = (
            self.done() - before - spared,
            self.total().saturating_sub(self.done()),
        );
        (made > 0 && left > 0).then(|| elapsed_s * left as f64 / made as f64)
    }

    /// `min-ESS 412  R-hat 1.004  ETA 138 s`, as far as it is known.
    pub fn outlook(&self, elapsed_s: f64) -> String {
        let mut parts = Vec::new();
        if let Some((min_ess, max_rhat)) = self.convergence {
            parts.push(format!("min-ESS {min_ess:.0}  R-hat {max_rhat:.3}"));
        }
        if let Some(remaining_s) = self.remaining_s(elapsed_s) {
            parts.push(format!("ETA {remaining_s:.0} s"));
        }
        parts.join("  ")
    }

    /// The mean over chains.
    pub fn mean(&self, value: impl Fn(&Chain) -> f64) -> f64 {
        self.chains.iter().map(value).sum::<f64>() / self.chains.len().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_board_counts_over_both_phases() {
        let board = Board::new(2, 100, 50);
        board.update(0, true, 100, 3, 0.5, 700);
        board.update(0, false, 10, 1, 0.25, 715);
        board.update(1, true, 40, 0, 1.0, 40);
        board.update(7, true, 1, 0, 1.0, 1); // No such chain: ignored.
        let snapshot = board.snapshot();
        assert_eq!((snapshot.done(), snapshot.total()), (150, 300));
        assert_eq!(snapshot.chains[0].leapfrogs, 15);
        assert_eq!(snapshot.divergences(), 1);
        assert!(snapshot.warming_up());
    }

    #[test]
    fn without_warm_up_drawing_starts_at_once() {
        assert!(!Board::new(1, 0, 10).snapshot().warming_up());
    }
}
