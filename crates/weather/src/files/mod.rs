//! Gridded fields in files: CF NetCDF-4, written and read; NetCDF-3 and Zarr, read.

mod classic;
mod foreign;
mod grid;
mod groups;
mod held;
mod longitudes;
mod preprocess;
mod pressure;
mod read;
mod roles;
mod source;
mod walk;
mod write;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use held::{Dims, Held};
pub use preprocess::{Gathered, TextArchive, gather};
pub use read::{Axes, FieldFile, Region};
pub use roles::AxisNames;
pub use write::{GridFile, GridHeader, GridVariable};
