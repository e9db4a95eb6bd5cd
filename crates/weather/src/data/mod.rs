//! Data of a region: what is read, how it is split, normalised, and cut into windows.

mod archive;
mod check;
mod contents;
mod forcing;
mod linear;
mod normaliser;
mod split;

pub use archive::{Archive, Channel, Chosen};
pub use check::Spread;
#[cfg(test)]
pub(crate) use check::belied;
pub use contents::Contents;
pub use forcing::{FORCINGS, forcings, statics};
pub use linear::{Linear, NEIGHBOURS};
pub use normaliser::Normaliser;
pub use split::{Split, SplitBy, Splits, windows};
