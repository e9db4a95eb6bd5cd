//! Traces as commands open them: whole if they are small, some of their draws if not.

use crate::face::{Face, Note};
use fitzroy::Result;
use fitzroy::draws::{Opened, Trace, open_trace};
use std::path::Path;

/// Bytes of draws above which a trace is not read as a whole.
pub const IN_MEMORY_BYTES: u64 = 512 << 20;
/// Bytes of those of its draws that figures are then made from.
pub const THINNED_BYTES: u64 = 32 << 20;

/// The trace at `path`; if it is very large, some of its draws, and a note that says so.
///
/// # Errors
/// It cannot be read.
pub fn thinned(path: &Path, face: &dyn Face) -> Result<Trace> {
    match open_trace(path, IN_MEMORY_BYTES)? {
        Opened::Whole(trace) => Ok(trace),
        Opened::Stored(stored) => {
            let (trace, every) = stored.thinned(THINNED_BYTES)?;
            face.tell(Note::Notice(&format!(
                "{}: one of every {every} of its draws is shown",
                path.display()
            )));
            Ok(trace)
        }
    }
}
