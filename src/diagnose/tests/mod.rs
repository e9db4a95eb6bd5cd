//! Tests of the diagnostics: golden values, invariances, known answers.

mod golden;
mod laws;
