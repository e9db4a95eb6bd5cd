//! What to compute: typed array expressions with named dimensions, their gradients, and the
//! rewrites that make them cheap. No input or output, no hardware, no `unsafe`.
#![forbid(unsafe_code)]

mod build;
pub mod composed;
mod covariance;
mod error;
mod expr;
mod gradient;
mod graph;
mod matrix;
mod named;
pub mod ode;
mod op;
mod real;
mod rebuild;
mod recurrence;
pub mod reference;
mod shape;
pub mod special;
mod spelling;
mod tangent;
mod widen;

pub use covariance::covariance;
pub use error::{Error, ErrorKind, Result};
pub use expr::{Expr, Scope};
pub use gradient::{Partial, gradient};
pub use graph::{Bindings, DataId, DataSlot, Dim, DimId, Graph, IndexId, IndexSlot, Node, NodeId};
pub use named::Named;
pub use op::{Binary, Op, Unary};
pub use real::Real;
pub use recurrence::{Carried, FirstOrder, Leaf, Ran, Recurrence, Unrolled};
pub use reference::evaluate;
pub use spelling::Spelling;
pub use tangent::tangent;
