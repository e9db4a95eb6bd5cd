//! Finds out what a path holds and reads it as a trace.

use super::{Stored, Trace, read_cmdstan, read_netcdf, read_zarr};
use crate::{Error, ErrorKind, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A trace, or where it is when it is too large.
pub enum Opened {
    /// All of it.
    Whole(Trace),
    /// A store whose draws take more memory than they may.
    Stored(Stored),
}

/// [`read_trace`], but for a Zarr store of more than `in_memory_bytes`, which is only opened.
///
/// # Errors
/// Those of [`read_trace`].
pub fn open_trace(path: impl AsRef<Path>, in_memory_bytes: u64) -> Result<Opened> {
    let path = path.as_ref();
    if let Some(root) = store(path) {
        let stored = Stored::open(&root)?;
        if stored.bytes() > in_memory_bytes {
            return Ok(Opened::Stored(stored));
        }
    }
    read_trace(path).map(Opened::Whole)
}

/// The Zarr store that `path` means; none where it means something else.
fn store(path: &Path) -> Option<PathBuf> {
    let is_store = |folder: &Path| folder.join("zarr.json").is_file();
    let of_run = path.join("run.zarr");
    if !path.is_dir() || path.join("trace.nc").is_file() {
        return None;
    }
    if is_store(&of_run) {
        return Some(of_run);
    }
    let named = path.extension().is_some_and(|e| e == "zarr");
    (named || is_store(path)).then(|| path.to_path_buf())
}

/// Reads a trace from wherever it lies: a NetCDF file, a Zarr store, a CSV file of CmdStan or a
/// folder of them (a chain each), or the folder of a run, also of one that still goes on.
///
/// # Errors
/// Those of the readers; a folder that holds none of these.
pub fn read_trace(path: impl AsRef<Path>) -> Result<Trace> {
    let path = path.as_ref();
    if !path.is_dir() {
        return match path.extension().is_some_and(|e| e == "csv") {
            true => read_cmdstan(&[path.to_path_buf()]),
            false => read_netcdf(path),
        };
    }
    if path.join("trace.nc").is_file() {
        return read_netcdf(path.join("trace.nc"));
    }
    if let Some(root) = store(path) {
        return read_zarr(root);
    }
    let files = csv_files(path)?;
    if !files.is_empty() {
        return read_cmdstan(&files);
    }
    let message = format!(
        "{}: this folder holds no trace: no trace.nc, no Zarr store, no CSV files of CmdStan",
        path.display()
    );
    Err(Error::new(ErrorKind::Io, message))
}

/// The CSV files in a folder, by name.
fn csv_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let io = |error: std::io::Error| {
        let message = crate::data::io_message(&error);
        Error::new(ErrorKind::Io, format!("{}: {message}", folder.display()))
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|e| e == "csv") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
