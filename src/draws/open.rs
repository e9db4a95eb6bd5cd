//! Finds out what a path holds and reads it as a trace.

use super::{Trace, read_netcdf};
use crate::{Error, ErrorKind, Result};
use std::path::Path;

/// Reads a trace from wherever it lies: a NetCDF file, or the folder of a run.
///
/// # Errors
/// Those of [`read_netcdf`]; a folder without a trace; `Io` when there is nothing.
pub fn read_trace(path: impl AsRef<Path>) -> Result<Trace> {
    let path = path.as_ref();
    if !path.is_dir() {
        return read_netcdf(path);
    }
    let inside = path.join("trace.nc");
    if inside.is_file() {
        return read_netcdf(inside);
    }
    let message = format!("{}: this folder holds no trace.nc", path.display());
    Err(Error::new(ErrorKind::Io, message))
}
