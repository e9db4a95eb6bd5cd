//! Forecasts beside persistence, climatology and a linear model, and how good each is.

mod baselines;
mod report;
mod run;
mod scores;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use baselines::Climatology;
pub use report::{csv, document, table};
pub use run::{Evaluation, Options, Scored, evaluate, forecast};
pub use scores::{Rain, Score, Tally};
