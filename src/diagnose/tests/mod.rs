//! Tests of the diagnostics: golden values, invariances, findings on runs of known trouble.

mod findings;
mod golden;
mod laws;
pub(crate) mod runs;
mod summary;
