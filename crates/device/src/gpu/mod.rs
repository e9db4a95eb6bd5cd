//! NVIDIA GPUs: kernels as text, the compiler for them, the driver that runs them, and everything
//! that can be wrong with any of it.
//!
//! `text` writes a graph as C; `machine` says what running a kernel takes; `device` is a GPU,
//! `host` this processor in its place, for tests. Nothing outside this folder names the interface
//! of a GPU.

mod blas;
mod cache;
mod check;
mod compiler;
mod device;
mod driver;
pub mod host;
pub mod host_work;
mod library;
mod machine;
mod pinned;
pub mod rows;
mod sensors;
mod stream;
pub mod text;
mod trouble;
pub mod work;

pub use cache::Cache;
pub use check::{Rates, closeness, conformance, rates};
pub use compiler::{Compiler, OPTIONS, Places, Target, Usage};
pub use device::{Gpu, Loaded};
pub use driver::{Description, Driver};
pub(crate) use library::{IS_STATIC, STATIC, is_cut};
pub use machine::{
    Grid, MOST_MEMBERS, Machine, Meanwhile, Program, Take, Words, all_failed, blocks, idle,
    read_into, side_by_side,
};
pub use sensors::{Sensors, free_bytes, sensors};
pub use stream::GpuWork;
pub use trouble::{CompilerTrouble, Trouble};
