//! Finds out what a path holds and reads it as a trace.

use super::{Trace, read_cmdstan, read_netcdf, read_zarr};
use crate::{Error, ErrorKind, Result};
use std::fs;
use std::path::{Path, PathBuf};

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
    let store = |folder: &Path| folder.join("zarr.json").is_file();
    if store(&path.join("run.zarr")) {
        return read_zarr(path.join("run.zarr"));
    }
    if store(path) || path.extension().is_some_and(|e| e == "zarr") {
        return read_zarr(path);
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
