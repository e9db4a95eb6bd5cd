//! Files, and how their columns become the data of a fit.

mod assemble;
mod cache;
mod large;
mod stream;

pub use assemble::{Assembled, Missing, Request, SigmaOf, assemble};
pub use large::{LargeOptions, Stored, curve_fit_large, file_table, fingerprint};
pub use stream::{FileColumn, FileTable, decode_table, memory_needed, table_header};
