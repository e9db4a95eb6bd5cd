//! How the program was called: by a shell, or by an interpreter that it is a library of.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Set once, before anything reads it.
static ARGS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Notes the file of the program and its arguments; later calls change nothing.
pub(crate) fn set(args: Vec<OsString>) {
    ARGS.get_or_init(|| args);
}

/// The file of the program, then its arguments.
pub(crate) fn args() -> &'static [OsString] {
    ARGS.get().map_or(&[], Vec::as_slice)
}

/// The file of the program, for those who call it again.
pub(crate) fn program() -> io::Result<PathBuf> {
    let named = args().first().map(PathBuf::from);
    match named.filter(|path| path.is_absolute()) {
        Some(path) => Ok(path),
        None => std::env::current_exe(),
    }
}
