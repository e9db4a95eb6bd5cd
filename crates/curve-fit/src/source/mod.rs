//! Files, and how their columns become the data of a fit.

mod assemble;

pub use assemble::{Assembled, Missing, Request, SigmaOf, assemble};
