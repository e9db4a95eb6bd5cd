//! What to compute: typed array expressions with named dimensions, their gradients, and the
//! rewrites that make them cheap. No input or output, no hardware, no `unsafe`.
#![forbid(unsafe_code)]

mod error;
mod real;
pub mod special;

pub use error::{Error, ErrorKind, Result};
pub use real::Real;
