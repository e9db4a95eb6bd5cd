//! What a person sees while chains run. Chains write to a [`Board`] without waiting; one thread
//! reads it a few times a second and draws bars on a terminal, or writes lines to a log.

mod bars;
mod lines;

use fitzroy::fit::sample::{Event, Observer, Phase};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Style {
    /// Not at all.
    Hidden,
    /// Bars on a terminal.
    Bars,
    /// Lines for a log: at the start, at each phase, every tenth, and at least this often.
    Lines {
        /// Seconds between lines.
        every_s: f64,
    },
}

/// The state of all chains, written by them.
#[derive(Debug)]
pub(crate) struct Board {
    tune: usize,
    draws: usize,
    chains: Vec<Cell>,
}

/// On cache lines of its own: chains on other processors write to theirs after every transition.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Cell {
    done: AtomicUsize,
    divergences: AtomicUsize,
    step_size_bits: AtomicU64,
    leapfrogs: AtomicU64,
    last_leapfrogs: AtomicU64,
}

/// One chain at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chain {
    /// Transitions finished, warm-up included.
    done: usize,
    /// Divergences since the phase began.
    divergences: usize,
    step_size: f64,
    /// Leapfrog steps of the last transition.
    leapfrogs: u64,
}

/// All chains at one moment.
#[derive(Clone, Debug, PartialEq)]
struct Snapshot {
    tune: usize,
    draws: usize,
    chains: Vec<Chain>,
}

impl Board {
    /// A board of `n_chains` chains that will warm up for `tune` and draw `draws` transitions.
    pub(crate) fn new(n_chains: usize, tune: usize, draws: usize) -> Self {
        Board {
            tune,
            draws,
            chains: (0..n_chains).map(|_| Cell::default()).collect(),
        }
    }

    /// Chain `chain` has finished `done` transitions of the warm-up (or else of the draws).
    fn update(
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
        let earlier = cell.leapfrogs.swap(leapfrogs, Relaxed);
        cell.last_leapfrogs
            .store(leapfrogs.saturating_sub(earlier), Relaxed);
        cell.divergences.store(divergences, Relaxed);
        cell.step_size_bits.store(step_size.to_bits(), Relaxed);
        cell.done.store(before + done, Relaxed);
    }

    fn snapshot(&self) -> Snapshot {
        let chain = |cell: &Cell| Chain {
            done: cell.done.load(Relaxed),
            divergences: cell.divergences.load(Relaxed),
            step_size: f64::from_bits(cell.step_size_bits.load(Relaxed)),
            leapfrogs: cell.last_leapfrogs.load(Relaxed),
        };
        Snapshot {
            tune: self.tune,
            draws: self.draws,
            chains: self.chains.iter().map(chain).collect(),
        }
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
    fn done(&self) -> usize {
        self.chains.iter().map(|c| c.done).sum()
    }

    /// Transitions of all chains.
    fn total(&self) -> usize {
        self.chains.len() * self.total_per_chain()
    }

    fn total_per_chain(&self) -> usize {
        self.tune + self.draws
    }

    /// True while a chain has not begun to draw.
    fn warming_up(&self) -> bool {
        self.tune > 0 && self.chains.iter().any(|c| c.done <= self.tune)
    }

    fn divergences(&self) -> usize {
        self.chains.iter().map(|c| c.divergences).sum()
    }

    /// The mean over chains.
    fn mean(&self, value: impl Fn(&Chain) -> f64) -> f64 {
        self.chains.iter().map(value).sum::<f64>() / self.chains.len().max(1) as f64
    }
}

/// Something that shows snapshots.
trait Display: Send {
    /// Shows `snapshot`, taken `elapsed_s` after the start.
    fn show(&mut self, snapshot: &Snapshot, elapsed_s: f64);
    /// The last one.
    fn end(&mut self, snapshot: &Snapshot, elapsed_s: f64);
}

/// A running display; dropping it shows the last state and ends it.
pub(crate) struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Time between two looks at the board: at most ten updates a second.
const INTERVAL: Duration = Duration::from_millis(100);

impl Progress {
    /// Shows `board` until dropped.
    pub(crate) fn start(board: Arc<Board>, style: Style) -> Self {
        let mut display: Box<dyn Display> = match style {
            Style::Hidden => {
                return Progress {
                    stop: None,
                    thread: None,
                };
            }
            Style::Bars => Box::new(bars::Bars::new(&board.snapshot())),
            Style::Lines { every_s } => Box::new(lines::Lines::new(every_s)),
        };
        let (stop, stopped) = channel();
        let start = Instant::now();
        let thread = std::thread::spawn(move || {
            loop {
                display.show(&board.snapshot(), start.elapsed().as_secs_f64());
                if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            display.end(&board.snapshot(), start.elapsed().as_secs_f64());
        });
        Progress {
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A display that broke must not take the draws with it.
            let _ = thread.join();
        }
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
    fn a_hidden_display_starts_no_thread() {
        let progress = Progress::start(Arc::new(Board::new(1, 1, 1)), Style::Hidden);
        assert!(progress.thread.is_none());
    }

    #[test]
    fn without_warm_up_drawing_starts_at_once() {
        assert!(!Board::new(1, 0, 10).snapshot().warming_up());
    }
}
