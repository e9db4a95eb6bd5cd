//! Numbers behind the figures: densities, bands, reductions.

mod band;
mod density;
mod reduce;

#[cfg(test)]
mod tests;

pub use band::{ecdf_band, ecdf_difference, fractional_ranks};
pub use density::{Density, counts, density, density_among, is_whole};
pub(crate) use reduce::extremes;
