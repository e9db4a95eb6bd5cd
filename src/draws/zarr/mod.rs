//! Traces as Zarr v3 stores: a folder that can be read at any moment while it is written.
//!
//! Every array lies in chunks that span all chains and some draws. Readers take the shapes of all
//! arrays from the one file `zarr.json` at the root, so renaming that file publishes the draws of
//! every array at once: whatever is read, every variable has the same number of draws, and none of
//! them is torn. Format: <https://zarr-specs.readthedocs.io>, version 3.0.

mod array;
mod arrays;
mod blosc;
mod chunk;
mod cut;
mod files;
mod filters;
mod metadata;
mod read;
mod shards;
mod stored;
mod version2;
mod write;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use arrays::{ZarrArray, ZarrArrays};
pub(crate) use chunk::put_file;
pub use cut::Chunks;
pub(crate) use read::Store;
pub use read::read_zarr;
pub use stored::{Block, Stored};
pub use write::ZarrStream;
