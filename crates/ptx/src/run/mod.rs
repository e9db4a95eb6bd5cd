//! Running kernels.

mod access;
mod block;
pub mod dice;
mod grid;
pub mod memory;
mod module;
mod races;
mod shared;
mod step;
mod together;
mod warp;

pub use grid::{Counts, Order, Shape, launch};
pub use memory::Memory;
pub use module::Loaded;
