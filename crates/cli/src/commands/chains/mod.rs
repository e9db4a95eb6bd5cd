//! The chains of a command: the folder they go on in, running them, what becomes of their draws.

mod dry_run;
mod flags;
mod prior;
mod save;

pub(crate) use dry_run::dry_run;
pub(crate) use flags::{Centring, ChainFlags, memory_limit};
pub(crate) use save::examine;

use crate::args::{Common, Output};
use crate::clock::{Clock, timestamp};
use crate::output::Folder;
use crate::progress::{Board, PROGRESS, Progress, State};
use crate::{interrupt, terminal};
use fitzroy::draws::Flush;
use fitzroy::model::joint::Joint;
use fitzroy::run::{self, Caller, Keeping, STREAM, Saved, Settings};
use fitzroy::{Error, ErrorKind, Result};
use std::path::Path;
use std::sync::Arc;

/// The folder of a run, and the run in it to go on from; none where that has all its draws, which
/// is said.
///
/// # Errors
/// The folder cannot be used, or the run in it is another.
pub(crate) fn open(
    flags: &ChainFlags,
    output: &Output,
    name: &str,
    joint: &Joint,
    settings: &Settings,
) -> Result<Option<(Folder, Option<Saved>)>> {
    let out = output.out.as_deref();
    let here = Path::new("");
    let Some(at) = out.filter(|_| flags.resume) else {
        let folder = Folder::open(here, out, name, output.overwrite)?;
        return Ok(Some((folder, None)));
    };
    let folder = Folder::resume(here, at)?;
    Ok(go_on(&folder, joint, settings)?.map(|from| (folder, from)))
}

/// The run in `folder` to go on from; none where that has all its draws, which is said.
///
/// # Errors
/// The run in it is another, or left no state.
pub(crate) fn go_on(
    folder: &Folder,
    joint: &Joint,
    settings: &Settings,
) -> Result<Option<Option<Saved>>> {
    let from = run::open(folder.path(), joint, settings)?;
    let shown = folder.path().display();
    if let Some(saved) = &from
        && saved.n_draws() >= settings.sampler.draws
        && folder.finished_with() == Some(saved.n_draws())
    {
        terminal::note(format_args!(
            "the run in {shown} has its {} draws per chain; ask for more with --draws",
            saved.n_draws()
        ));
        return Ok(None);
    }
    // Without draws there is nothing to lose: what is there was written on a full disk.
    let drawn = folder.path().join("trace.nc").is_file();
    let finished = folder.finished_with();
    let finished = finished.filter(|_| from.is_none() && drawn);
    if let Some(n_draws) = finished.filter(|_| settings.prior_only) {
        prior::is_same(folder.path(), joint, settings)?;
        if n_draws >= settings.sampler.draws {
            terminal::note(format_args!(
                "the run in {shown} has its {n_draws} draws per chain; ask for more with --draws"
            ));
            return Ok(None);
        }
    } else if finished.is_some() {
        let message = format!(
            "--resume {shown}: its run left no state to go on from; start anew with --overwrite"
        );
        return Err(Error::new(ErrorKind::Usage, message));
    }
    Ok(Some(from))
}

/// How sampling ended.
pub(crate) enum Ended {
    /// There are draws; the progress file gets its last word when they have been written.
    Drawn(Box<run::Outcome>, Progress),
    /// It was stopped before the first draw.
    Early,
    /// The draws could no longer be written.
    Unwritable,
}

/// Runs the chains, keeping the draws, showing progress and catching Ctrl-C.
///
/// # Errors
/// Those of the sampler.
pub(crate) fn run(
    flags: &ChainFlags,
    common: &Common,
    joint: &Joint,
    settings: &Settings,
    clock: &Clock,
    folder: &mut Folder,
    from: Option<Saved>,
) -> Result<Ended> {
    folder.begin_again()?;
    if let Some(saved) = from.as_ref().filter(|_| !common.quiet) {
        terminal::note(format_args!("going on from {}", saved.place()));
    }
    let stop = interrupt::catch()?;
    let sampler = &settings.sampler;
    let board = Arc::new(Board::new(sampler.chains, sampler.tune, sampler.draws));
    if let Some(saved) = from.as_ref().filter(|saved| saved.n_draws() > 0) {
        board.goes_on_after(sampler.tune + saved.n_draws());
    }
    let file = folder.replaced(PROGRESS);
    let mut progress = Progress::with_file(Arc::clone(&board), flags.style(common), Some(file));
    let now = || clock.seconds();
    let caller = Caller {
        observer: &*board,
        stop: &stop,
        now: &now,
        created_at: &timestamp(),
    };
    let keeping = Keeping {
        folder: folder.path(),
        from,
        first_s: flags.publish_every.min(save::SHORT_S),
        every_s: flags.publish_every,
        live: &*board,
    };
    let ran = run::run_kept(joint, settings, &caller, &keeping);
    drop(keeping);
    board.set_state(match &ran {
        Err(_) => State::Failed,
        Ok(outcome) if outcome.run.interrupted => State::Interrupted,
        Ok(_) => State::Finished,
    });
    progress.end_display();
    if folder.path().join(STREAM).is_dir() {
        folder.keep();
    }
    let mut outcome = match ran {
        Err(error) if error.kind() == ErrorKind::Io => {
            terminal::note(format_args!("error: {error}"));
            return Ok(Ended::Unwritable);
        }
        other => other?,
    };
    if outcome.n_draws() > 0 {
        let (made, asked) = (outcome.run.warmup_transitions, sampler.tune);
        if made < asked && !common.quiet {
            terminal::note(format_args!(
                "warm-up ended after {made} of {asked} transitions"
            ));
        }
        return Ok(Ended::Drawn(Box::new(outcome), progress));
    }
    let kept = outcome.kept.take().filter(|kept| kept.resumable());
    let Some(mut kept) = kept else {
        terminal::note("stopped before the first draw: nothing was saved");
        return Ok(Ended::Early);
    };
    folder.keep();
    let finished = kept.finish(&outcome.trace, outcome.first_draw, Flush::Disk);
    if !folder.attempted(finished) {
        return Ok(Ended::Unwritable);
    }
    terminal::note("stopped in the warm-up: --resume goes on from there");
    Ok(Ended::Early)
}
