//! Fitzroy fits models to data, fast, on the CPU or on an NVIDIA GPU.

pub mod data;
pub mod diagnose;
pub mod dist;
pub mod draws;
pub mod fit;
pub mod model;
pub mod report;
pub mod rng;
pub mod run;
pub mod validate;
pub mod verify;

pub use fitzroy_graph::{Error, ErrorKind, Result};
