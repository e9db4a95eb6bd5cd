//! The one file that a command writes.

use fitzroy::{Error, ErrorKind, Result, Spelling};
use fitzroy_session::folder::replace;
use std::path::{Path, PathBuf};

/// A file `name.ending` in the folder of a run, or TRACE-name.ending beside a trace.
pub(crate) fn beside(run: &Path, name: &str, ending: &str) -> PathBuf {
    if run.is_dir() {
        return run.join(format!("{name}.{ending}"));
    }
    let stem = run.file_stem().unwrap_or(run.as_os_str());
    run.with_file_name(format!("{}-{name}.{ending}", stem.to_string_lossy()))
}

/// Refuses a file that is there, unless it may be replaced.
pub(crate) fn check_free(out: &Path, may_replace: bool) -> Result<()> {
    if !out.exists() || may_replace {
        return Ok(());
    }
    let message = format!(
        "{}: the file is there already; choose another --out, or replace it with --overwrite",
        out.display()
    );
    Err(Error::new(ErrorKind::Io, message))
}

/// Writes a file that appears under its name when it is complete.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, &Spelling::Flags.spell_bytes(bytes))
}
