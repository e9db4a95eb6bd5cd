//! Traces as NetCDF-4 files, the form ArviZ and xarray open.
//!
//! A NetCDF-4 file is an HDF5 file in which every dimension is a dataset (a "dimension scale")
//! and every variable refers to the scales of its axes.

mod dims;
mod meaning;
mod objects;
mod read;
mod write;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use dims::netcdf_dims;
pub(super) use meaning::{labels_of_reals, translate_statistics};
pub(super) use read::chain_and_draw_first;
pub use read::read_netcdf;
pub use write::{Flush, write_netcdf, write_netcdf_with};

/// Groups whose variables are draws: their first two dimensions are `chain` and `draw`.
const DRAW_GROUPS: [&str; 10] = [
    "posterior",
    "sample_stats",
    "warmup_posterior",
    "warmup_sample_stats",
    "posterior_predictive",
    "log_likelihood",
    "prior",
    "prior_predictive",
    "sample_stats_prior",
    "predictions",
];

/// The other groups of a trace.
const DATA_GROUPS: [&str; 3] = [
    "observed_data",
    "constant_data",
    "predictions_constant_data",
];

/// Whether the variables of a group are draws.
pub(super) fn is_draw_group(name: &str) -> bool {
    DRAW_GROUPS.contains(&name)
}

/// Whether a trace holds groups of this name.
pub(super) fn is_trace_group(name: &str) -> bool {
    is_draw_group(name) || DATA_GROUPS.contains(&name)
}
