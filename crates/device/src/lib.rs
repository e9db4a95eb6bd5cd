//! Where it runs: the CPU engine, GPUs, and functions that somebody else compiled. Knows arrays, not
//! statistics.

pub mod choice;
pub mod cpu;
mod fnv;
pub mod foreign;
pub mod gpu;
pub mod lanes;
pub mod large_pages;
pub mod maths;
pub mod nn;
pub mod probe;
pub mod scratch;

pub use fnv::Fnv;
