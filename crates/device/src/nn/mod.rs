//! Message-passing networks on the CPU: forward and backward by hand, fused by tiles.
//!
//! Knows nodes, edges and layers, not what they stand for. The modules stand in the order in
//! which they build on one another: numbers and registers, products, loops over rows, threads,
//! one block (a perceptron over rows or a message layer), the network, its optimiser.

mod backward;
mod block;
mod build;
pub mod gpu;
mod network;
mod number;
mod optimiser;
mod plan;
mod pool;
mod product;
mod rows;
mod spec;
mod timeline;
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use network::Network;
pub use number::Number;
pub use optimiser::{AdamW, norm_squared, scale};
pub use plan::Workspace;
pub use pool::{Crew, Pool};
pub use spec::{EdgeSet, Input, NodeSet, Parameter, Recompute, Spec, Stage};
pub use timeline::{Clock, Pass, Span};
