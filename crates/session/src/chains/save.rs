//! What becomes of draws: written, examined, and saved elsewhere where the folder takes no more.

use crate::clock::Clock;
use crate::face::{Face, Note};
use crate::folder::Folder;
use crate::traces::THINNED_BYTES;
use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::draws::{Flush, Stored, Trace, write_netcdf, write_netcdf_with};
use fitzroy::run::{self, STREAM};
use fitzroy::{Error, ErrorKind, Result};
use std::path::Path;

/// Seconds of work below which results are not waited for until they are on the disk: flushing
/// would take longer than to make them again.
pub(super) const SHORT_S: f64 = 2.0;

/// Writes the draws and examines them, side by side where the disk is waited for. The second is the
/// time when the draws were written.
///
/// A file that cannot be written is said, and remembered by the folder: the other form of the draws
/// is written all the same, and where neither can be they are saved in the system's folder for
/// temporary files.
///
/// # Errors
/// Draws that stay on the disk cannot be read.
pub fn examine(
    folder: &mut Folder,
    outcome: &mut run::Outcome,
    options: &SummaryOptions,
    clock: &Clock,
) -> Result<(Diagnosis, f64)> {
    let flush = match clock.seconds() < SHORT_S {
        true => Flush::Later,
        false => Flush::Disk,
    };
    let mut kept = outcome.kept.take();
    let first = outcome.first_draw;
    if let Some(kept) = kept.as_mut().filter(|kept| kept.on_disk()) {
        let finished = kept.finish(&outcome.trace, first, flush);
        folder.attempted(finished);
        let written_s = clock.seconds();
        let stored = Stored::open(folder.path().join(STREAM))?;
        let found = outcome.diagnose_stored(&stored, options)?;
        // Figures look the same with some of the draws.
        outcome.trace = stored.thinned(THINNED_BYTES)?.0;
        return Ok((found, written_s));
    }
    let failure = kept.as_ref().and_then(run::Kept::failure).cloned();
    let stopped = failure.is_some_and(|error| !folder.attempted(Err(error)));
    let path = folder.file("trace.nc");
    let outcome = &*outcome;
    let write = || {
        let written = write_netcdf_with(&path, &outcome.trace, flush);
        (written, clock.seconds())
    };
    // Short runs write first: all threads are needed to examine.
    let written = match flush {
        Flush::Later => Some(write()),
        Flush::Disk => None,
    };
    let (found, trace, stream, written_s) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (trace, written_s) = written.unwrap_or_else(write);
            let stream = kept
                .as_mut()
                .map(|k| k.finish(&outcome.trace, first, flush));
            (trace, stream, written_s)
        });
        let found = outcome.diagnose(options);
        let (trace, stream, written_s) = writer.join().expect("writing returns its errors");
        (found, trace, stream, written_s)
    });
    let safe = (trace.is_ok(), matches!(stream, Some(Ok(()))));
    folder.attempted(trace);
    if !stopped {
        folder.attempted(stream.unwrap_or(Ok(())));
    }
    match safe {
        (true, _) => {}
        (false, true) => folder.face().tell(Note::Notice(&format!(
            "all draws are safe in {}: make room, and the same command with ⟨resume⟩ writes the rest",
            folder.path().join(STREAM).display()
        ))),
        (false, false) => {
            let saved = elsewhere(&outcome.trace, folder.path(), &**folder.face());
            folder.attempted(saved);
        }
    }
    Ok((found?, written_s))
}

/// Saves draws that the folder of the run did not take.
fn elsewhere(trace: &Trace, folder: &Path, face: &dyn Face) -> Result<()> {
    let name = format!("fitzroy-{}-trace.nc", std::process::id());
    let path = std::env::temp_dir().join(name);
    match write_netcdf(&path, trace) {
        Ok(()) => {
            face.tell(Note::Notice(&format!(
                "all draws are safe in {}: move that file to {}, or elsewhere, when there is room",
                path.display(),
                folder.join("trace.nc").display()
            )));
            Ok(())
        }
        Err(error) => {
            let message = "the draws could be written neither to the folder of the run nor to that \
                           for temporary files (TMPDIR names another)";
            Err(Error::new(ErrorKind::Io, format!("{message}: {error}")))
        }
    }
}
