//! Gridded fields in files: CF NetCDF-4, written and read; NetCDF-3 and Zarr, read.

mod classic;
mod longitudes;
mod preprocess;
mod read;
mod roles;
mod source;
mod write;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use preprocess::{Gathered, TextArchive, gather};
pub use read::{Axes, Dims, FieldFile, Held};
pub use roles::AxisNames;
pub use write::{GridFile, GridHeader, GridVariable};
