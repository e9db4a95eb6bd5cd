//! Progress of chains: the board that they write to, the displays that read it, and
//! `progress.json`.

mod board;
mod file;

pub use board::{Board, Chain, Snapshot, State};
pub use file::{PROGRESS, replace};

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Something that shows snapshots.
pub trait Display: Send {
    /// Shows `snapshot`, taken `elapsed_s` after the start.
    fn show(&mut self, snapshot: &Snapshot, elapsed_s: f64);
    /// The last one.
    fn end(&mut self, snapshot: &Snapshot, elapsed_s: f64);
}

/// A running display; dropping it shows the last state and ends it.
pub struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Whether there is something to see besides a file.
    visible: bool,
}

/// Time between two looks at the board: at most ten updates a second.
const INTERVAL: Duration = Duration::from_millis(100);

impl Progress {
    /// Shows `board` until dropped.
    pub fn start(board: Arc<Board>, display: Option<Box<dyn Display>>) -> Self {
        Self::with_file(board, display, None)
    }

    /// The same, and writes it to a file.
    pub fn with_file(
        board: Arc<Board>,
        display: Option<Box<dyn Display>>,
        path: Option<PathBuf>,
    ) -> Self {
        let visible = display.is_some();
        let mut displays: Vec<Box<dyn Display>> = display.into_iter().collect();
        displays.extend(path.map(|path| Box::new(file::File::new(path)) as Box<dyn Display>));
        if displays.is_empty() {
            return Progress {
                stop: None,
                thread: None,
                visible: false,
            };
        }
        let (stop, stopped) = channel();
        let start = Instant::now();
        let thread = std::thread::spawn(move || {
            loop {
                let (snapshot, elapsed_s) = (board.snapshot(), start.elapsed().as_secs_f64());
                displays
                    .iter_mut()
                    .for_each(|d| d.show(&snapshot, elapsed_s));
                if stopped.recv_timeout(INTERVAL) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            let (snapshot, elapsed_s) = (board.snapshot(), start.elapsed().as_secs_f64());
            displays
                .iter_mut()
                .for_each(|d| d.end(&snapshot, elapsed_s));
        });
        Progress {
            stop: Some(stop),
            thread: Some(thread),
            visible,
        }
    }

    /// Ends what can be seen. A file gets its last word when this is dropped: results are not to wait
    /// for it.
    pub fn end_display(&mut self) {
        if self.visible {
            self.end();
        }
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A display that broke must not take the draws with it.
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_display_there_is_no_thread() {
        let progress = Progress::start(Arc::new(Board::new(1, 1, 1)), None);
        assert!(progress.thread.is_none());
    }
}
