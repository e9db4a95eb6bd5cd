//! Forecasts beside persistence, climatology, the start of training and a tuned linear model, and
//! whether the model is ahead by more than chance.

mod areas;
mod baselines;
mod bootstrap;
mod forecast;
mod found;
mod report;
mod run;
mod scores;
mod seasons;
mod spatial;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests;
mod verdict;

pub use areas::Area;
pub use bootstrap::{Intervals, intervals};
pub use forecast::forecast;
pub use found::{Evaluation, Scored, asked};
pub use report::{csv, document, table};
pub use run::{Options, evaluate};
pub use scores::{Rain, Score, Series, Tally};
pub use seasons::{Part, seasons};
pub use spatial::{ErrorMap, RAINS_MM, SIDES, Spatial, Spectrum};
pub use verdict::{Comparison, Standing, judged};
