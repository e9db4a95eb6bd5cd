//! Data of a region: what is read, how it is split, normalised, and cut into windows.

mod accumulated;
mod archive;
mod asked;
mod check;
mod climatology;
mod contents;
mod forcing;
mod forecasts;
mod inspect;
mod linear;
mod mask;
mod merge;
mod missing;
mod names;
mod normaliser;
mod parts;
mod regression;
mod split;
mod times;
mod units;
mod values;

pub use accumulated::Accumulation;
pub use archive::{Archive, Channel, Chosen, Reading};
pub use asked::Asked;
pub use check::Spread;
#[cfg(test)]
pub(crate) use check::belied;
pub use climatology::Climatology;
pub use contents::Contents;
pub use forcing::{FORCINGS, forcings, statics};
pub use forecasts::Forecasts;
pub use inspect::{Inspection, Summary};
pub use linear::{Linear, NEIGHBOURS};
pub use mask::Mask;
pub use missing::Missing;
pub use names::Names;
pub use normaliser::Normaliser;
pub use split::{Split, SplitBy, Splits, windows};
pub use values::{Room, Values};
