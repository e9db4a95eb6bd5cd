//! Tests of the diagnostics: golden values, invariances, findings on runs of known trouble.

mod agreement;
mod findings;
mod golden;
mod laws;
mod loo;
pub(crate) mod runs;
mod stored;
mod summary;
