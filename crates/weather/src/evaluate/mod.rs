//! Forecasts beside persistence, climatology, the start of training and a tuned linear model, and
//! whether the model is ahead by more than chance.

mod baselines;
mod forecast;
mod found;
mod report;
mod run;
mod scores;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests;
mod verdict;

pub use forecast::forecast;
pub use found::{Evaluation, Scored, asked};
pub use report::{csv, document, table};
pub use run::{Options, evaluate};
pub use scores::{Rain, Score, Tally};
pub use verdict::{Comparison, judged};
