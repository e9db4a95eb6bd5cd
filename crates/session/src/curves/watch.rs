//! Looking at a fit of files while it runs: progress, checkpoints, stopping.

use crate::clock::Clock;
use crate::face::{Face, Note};
use crate::folder;
use crate::progress::{self, State};
use fitzroy::Result;
use fitzroy::report::json_number;
use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::pass::{Belongs, Journal, Position};
use fitzroy_curve_fit::report::grouped;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Looks at a fit now and then: says where it is, keeps what it did, stops it.
pub(super) struct Watcher {
    pub(super) stop: Arc<AtomicBool>,
    pub(super) clock: Clock,
    pub(super) face: Arc<dyn Face>,
    /// Seconds between words of progress.
    pub(super) tell_every_s: f64,
    pub(super) checkpoint: Option<PathBuf>,
    pub(super) told: Option<Told>,
    pub(super) every_s: f64,
    pub(super) belongs: Belongs,
    pub(super) n_rows: usize,
    pub(super) said_s: f64,
    pub(super) saved_s: f64,
    pub(super) told_s: f64,
}

/// Tells other programs how a fit stands, in `progress.json`.
#[derive(Clone)]
pub(super) struct Told {
    pub(super) path: PathBuf,
    pub(super) n_rows: usize,
}

impl Told {
    /// Seconds between two versions of the file.
    const EVERY_S: f64 = 2.0;

    /// Rows of the running pass, if one runs, and F where it was last known; what is not known is
    /// null.
    pub(super) fn tell(
        &self,
        state: State,
        at: Option<Position>,
        cost: Option<f64>,
        elapsed_s: f64,
    ) {
        let share = at.map_or(0.0, |at| at.tile as f64 / at.n_tiles.max(1) as f64);
        let done = match state {
            State::Finished => self.n_rows,
            _ => (share * self.n_rows as f64) as usize,
        };
        progress::replace(
            &self.path,
            json!({
                "state": state.name(),
                "phase": at.map(|at| format!("pass {}", at.passes + 1)),
                "done": done,
                "total": self.n_rows,
                "cost": cost.map(json_number),
                "elapsed_s": json_number(elapsed_s),
            }),
        );
    }
}

impl Watcher {
    pub(super) fn journal(mut self) -> Journal {
        Journal::new(Box::new(move |journal, at| self.look(journal, at)))
    }

    fn look(&mut self, journal: &Journal, at: Position) -> Result<Next> {
        let now = self.clock.seconds();
        let stopped = self.stop.load(Ordering::Relaxed);
        if now - self.said_s >= self.tell_every_s {
            self.said_s = now;
            let share = at.tile as f64 / at.n_tiles as f64;
            let line = format!(
                "[{now:8.1} s] curve fit  pass {}  {:.0} % of {} rows",
                at.passes + 1,
                100.0 * share,
                grouped(self.n_rows),
            );
            self.face.tell(Note::Notice(&line));
        }
        if let Some(told) = &self.told
            && now - self.told_s >= Told::EVERY_S
        {
            self.told_s = now;
            told.tell(State::Running, Some(at), None, now);
        }
        if let Some(path) = &self.checkpoint
            && (stopped || now - self.saved_s >= self.every_s)
        {
            self.saved_s = now;
            folder::replace(path, &journal.to_bytes(&self.belongs))?;
        }
        Ok(match stopped {
            true => Next::Interrupt,
            false => Next::Continue,
        })
    }
}
