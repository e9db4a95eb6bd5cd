//! Chains from a bound model to results: the folder they go on in, running them, what becomes of
//! their draws.

mod need;
mod prior;
mod results;
mod save;

pub use need::{Need, need};
pub use results::{mark, save, summaries};
pub use save::examine;

use crate::clock::{Clock, timestamp};
use crate::face::{Face, Note};
use crate::folder::Folder;
use crate::progress::{Board, PROGRESS, Progress, State};
use fitzroy::draws::Flush;
use fitzroy::fit::sample::{Event, Observer};
use fitzroy::run::{self, Caller, Keeping, STREAM, Saved, Settings, Subject};
use fitzroy::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where results go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// The folder; none for a fresh `NAME-1`, `NAME-2`, ... by the name of the model.
    pub out: Option<PathBuf>,
    /// Whether an earlier run in the folder may be replaced.
    pub overwrite: bool,
    /// Whether an earlier run in the folder goes on.
    pub resume: bool,
}

/// Chains that are to run.
pub struct Chains<'a> {
    /// What is sampled.
    pub subject: Subject<'a>,
    /// How.
    pub settings: &'a Settings,
    /// Began when the work began.
    pub clock: Clock,
    /// Who asked for it.
    pub face: &'a Arc<dyn Face>,
    /// Ends the run early once true; what there is is kept.
    pub stop: &'a AtomicBool,
    /// Seconds between publications of the draws, at least.
    pub publish_every_s: f64,
}

/// How sampling ended.
pub enum Ended {
    /// There are draws; the progress file gets its last word when they have been written.
    Drawn(Box<run::Outcome>, Progress),
    /// It was stopped before the first draw.
    Early,
    /// The draws could no longer be written, which has been told.
    Unwritable(Error),
}

/// Has events shown on the board, and what goes wrong told.
struct Told<'a> {
    board: &'a Board,
    face: &'a Arc<dyn Face>,
}

impl Observer for Told<'_> {
    fn event(&self, event: &Event<'_>) {
        self.board.event(event);
    }

    fn lost(&self, label: &str, why: &Error) {
        self.face.tell(Note::Notice(&format!(
            "warning: {label} has failed and makes no more draws; its chains go on on the other GPUs: {why}"
        )));
    }
}

impl Chains<'_> {
    /// The folder of a run, and the run in it to go on from; none if that has all its draws, which
    /// is said. `name` begins the name of a fresh folder.
    ///
    /// # Errors
    /// The folder cannot be used, or the run in it is another.
    pub fn open(&self, to: &Destination, name: &str) -> Result<Option<(Folder, Option<Saved>)>> {
        let here = Path::new("");
        let Some(at) = to.out.as_deref().filter(|_| to.resume) else {
            let out = to.out.as_deref();
            let folder = Folder::open(here, out, name, to.overwrite, self.face)?;
            return Ok(Some((folder, None)));
        };
        let folder = Folder::resume(here, at, self.face)?;
        Ok(self.go_on(&folder)?.map(|from| (folder, from)))
    }

    /// The run in `folder` to go on from; none if that has all its draws, which is said.
    ///
    /// # Errors
    /// The run in it is another, or left no state.
    pub fn go_on(&self, folder: &Folder) -> Result<Option<Option<Saved>>> {
        let settings = self.settings;
        let from = run::open(folder.path(), self.subject, settings)?;
        let shown = folder.path().display();
        let has_all = |n_draws: usize| {
            self.face.tell(Note::Notice(&format!(
                "the run in {shown} has its {n_draws} draws per chain; ask for more with ⟨draws⟩"
            )));
        };
        if let Some(saved) = &from
            && saved.n_draws() >= settings.sampler.draws
            && folder.finished_with() == Some(saved.n_draws())
        {
            has_all(saved.n_draws());
            return Ok(None);
        }
        // Without draws there is nothing to lose: what is there was written on a full disk.
        let drawn = folder.path().join("trace.nc").is_file();
        let finished = folder.finished_with();
        let finished = finished.filter(|_| from.is_none() && drawn);
        if let (Some(n_draws), Subject::Model(joint), true) =
            (finished, self.subject, settings.prior_only)
        {
            prior::is_same(folder.path(), joint, settings)?;
            if n_draws >= settings.sampler.draws {
                has_all(n_draws);
                return Ok(None);
            }
        } else if finished.is_some() {
            let message = format!(
                "⟨resume {shown}⟩: its run left no state to go on from; start anew with ⟨overwrite⟩"
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(Some(from))
    }

    /// Runs the chains in `folder`, keeping the draws and showing progress.
    ///
    /// # Errors
    /// Those of the sampler.
    pub fn run(&self, folder: &mut Folder, from: Option<Saved>) -> Result<Ended> {
        folder.begin_again()?;
        if let Some(saved) = &from {
            self.remark(&format!("going on from {}", saved.place()));
        }
        let sampler = &self.settings.sampler;
        let board = self.board();
        if let Some(saved) = from.as_ref().filter(|saved| saved.n_draws() > 0) {
            board.goes_on_after(sampler.tune + saved.n_draws());
        }
        let file = folder.replaced(PROGRESS);
        let display = self.face.display(&board.snapshot());
        let mut progress = Progress::with_file(Arc::clone(&board), display, Some(file));
        let keeping = Keeping {
            folder: folder.path(),
            from,
            first_s: self.publish_every_s.min(save::SHORT_S),
            every_s: self.publish_every_s,
            live: &*board,
        };
        let ran = self.sample(&board, Some(&keeping));
        drop(keeping);
        progress.end_display();
        if folder.path().join(STREAM).is_dir() {
            folder.keep();
        }
        let mut outcome = match ran {
            Err(error) if error.kind() == ErrorKind::Io => {
                self.face.tell(Note::Failure(&error.to_string()));
                return Ok(Ended::Unwritable(error));
            }
            other => other?,
        };
        if outcome.n_draws() > 0 {
            self.remark_warmup(&outcome);
            return Ok(Ended::Drawn(Box::new(outcome), progress));
        }
        self.stopped_early(folder, &mut outcome)
    }

    /// Runs the chains without a folder: the draws stay in memory.
    ///
    /// # Errors
    /// Those of the sampler.
    pub fn run_in_memory(&self) -> Result<Ended> {
        let board = self.board();
        let display = self.face.display(&board.snapshot());
        let mut progress = Progress::start(Arc::clone(&board), display);
        let ran = self.sample(&board, None);
        progress.end_display();
        let outcome = ran?;
        if outcome.n_draws() == 0 {
            self.notice("stopped before the first draw: there are no draws");
            return Ok(Ended::Early);
        }
        self.remark_warmup(&outcome);
        Ok(Ended::Drawn(Box::new(outcome), progress))
    }

    fn board(&self) -> Arc<Board> {
        let sampler = &self.settings.sampler;
        Arc::new(Board::new(sampler.chains, sampler.tune, sampler.draws))
    }

    fn sample(&self, board: &Board, keeping: Option<&Keeping<'_>>) -> Result<run::Outcome> {
        let now = || self.clock.seconds();
        let caller = Caller {
            observer: &Told {
                board,
                face: self.face,
            },
            stop: self.stop,
            now: &now,
            created_at: &timestamp(),
        };
        let ran = match keeping {
            Some(keeping) => run::run_kept(self.subject, self.settings, &caller, keeping),
            None => run::run(self.subject, self.settings, &caller),
        };
        board.set_state(match &ran {
            Err(_) => State::Failed,
            Ok(outcome) if outcome.run.interrupted => State::Interrupted,
            Ok(_) => State::Finished,
        });
        ran
    }

    /// Publishes the state of a run that has no draws yet.
    fn stopped_early(&self, folder: &mut Folder, outcome: &mut run::Outcome) -> Result<Ended> {
        let kept = outcome.kept.take().filter(|kept| kept.resumable());
        let Some(mut kept) = kept else {
            self.notice("stopped before the first draw: nothing was saved");
            return Ok(Ended::Early);
        };
        folder.keep();
        let finished = kept.finish(&outcome.trace, outcome.first_draw, Flush::Disk);
        if let Err(error) = finished {
            folder.attempted(Err(error.clone()));
            return Ok(Ended::Unwritable(error));
        }
        self.notice("stopped in the warm-up: ⟨resume⟩ goes on from there");
        Ok(Ended::Early)
    }

    fn remark_warmup(&self, outcome: &run::Outcome) {
        let (made, asked) = (outcome.run.warmup_transitions, self.settings.sampler.tune);
        if made < asked {
            self.remark(&format!(
                "warm-up ended after {made} of {asked} transitions"
            ));
        }
    }

    fn remark(&self, text: &str) {
        self.face.tell(Note::Remark(text));
    }

    fn notice(&self, text: &str) {
        self.face.tell(Note::Notice(text));
    }
}
