//! Files, and how their columns become the data of a fit.

mod assemble;
mod cache;
mod errors;
mod large;
mod request;
mod stream;

pub use assemble::{Assembled, assemble};
pub use errors::{error_column, errors_of_others};
pub use large::{LargeOptions, Stored, curve_fit_large, file_table, fingerprint};
pub use request::{Missing, Request, SigmaOf};
pub use stream::{FileColumn, FileTable, decode_table, memory_needed};
