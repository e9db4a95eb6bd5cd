//! Gridded fields in files: CF NetCDF-4, written and read; Zarr, read.

mod longitudes;
mod preprocess;
mod read;
mod source;
mod write;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use preprocess::{Gathered, TextArchive, gather};
pub use read::{Axes, Dims, FieldFile, Held};
pub use write::{GridFile, GridHeader, GridVariable};
