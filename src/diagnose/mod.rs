//! Can the draws be trusted? R-hat, effective sample sizes, Monte Carlo errors, intervals and
//! findings in plain words, as pure functions of draws.
//!
//! Every number equals ArviZ's to 1e-10, edge cases included.

mod chains;
mod lags;
mod order;
mod places;
mod threads;

mod energy;
mod ess;
mod flags;
mod interval;
mod mcse;
mod ranks;
mod rhat;

mod tails;

mod element;
mod summary;

mod agreement;
mod loo;

mod weight;

mod disagreement;
mod divergent;
mod findings;
mod missed;
mod remedy;
mod sampler;
mod stored;
mod verdict;

#[cfg(test)]
pub(crate) mod tests;

pub use agreement::{Agreeing, Agreement, agreement, agreement_opened};
pub use chains::{Chains, mean, sd};
pub use element::{ElementStatistics, StatisticsOptions, element_statistics};
pub use energy::bfmi;
pub use ess::{Ess, TailEss, ess};
pub use findings::{Finding, FindingKind};
pub(crate) use findings::{count, say, thousands};
pub use interval::{Interval, eti, hdi};
pub use lags::autocorrelation;
pub use loo::{
    Compared, Comparison, Loo, Pointwise, compare, loo, loo_opened, loo_pit, loo_pit_opened,
    tail_shape,
};
pub use mcse::{Mcse, mcse};
pub(crate) use missed::PlaceMissed;
pub use order::ascending;
pub use places::{Label, Places};
pub use ranks::{Ordered, Scores, quantile, quantile_of_sorted};
pub use remedy::{Circumstances, Remedy};
pub use rhat::{rhat, rhat_nested, superchains};
pub(crate) use sampler::percent;
pub use stored::diagnose_stored;
pub use summary::{Row, Summary, SummaryOptions, summary, unknown_variable};
pub use verdict::{BY_DISCRETE, Diagnosis, diagnose};
pub use weight::{Verdict, Weight};

/// R-hat at or above which a run has not converged.
pub const RHAT_LIMIT: f64 = 1.01;
/// Bulk and tail ESS over all chains that a converged run exceeds, in draws.
pub const ESS_LIMIT: f64 = 400.0;
/// Share of divergent transitions from which on a run has not converged.
pub const DIVERGENT_LIMIT: f64 = 0.01;
/// Pareto k of a tail above which a run is in question.
pub const TAIL_LIMIT: f64 = 0.35;
/// Monte Carlo standard error of a standard deviation, as a part of it, above which a run is in
/// question.
pub const SD_ERROR_LIMIT: f64 = 0.045;
/// BFMI below which a chain explores energies too slowly.
pub const BFMI_LIMIT: f64 = 0.3;
