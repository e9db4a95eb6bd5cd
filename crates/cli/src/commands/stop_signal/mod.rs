//! `fitzroy stop-signal`: a file per subcommand.

mod check;
mod combine;
mod coverage;
mod fit;
mod loglik;
mod shared;
mod simulate;
mod validate;

pub(crate) use fit::{Collected, FitArgs};

use crate::exit::Outcome;
use clap::{Args, Subcommand};
use fitzroy::Result;

/// Flags of `fitzroy stop-signal`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy stop-signal simulate --subjects 10 --seed 1 --out sim\n  \
    fitzroy stop-signal fit sim/data.csv --out fit\n  \
    fitzroy stop-signal check fit --data sim/data.csv --truth sim/true_params.json\n\n\
    The model, the columns of the data and how to read the results: docs/stop-signal.md."
)]
pub(crate) struct StopSignalArgs {
    #[command(subcommand)]
    command: StopSignalCommand,
}

/// What to do.
#[derive(Subcommand)]
enum StopSignalCommand {
    /// Simulates subjects and their trials, with the true parameters
    Simulate(simulate::SimulateArgs),
    /// Fits the stop-signal model or the Wald baseline to trials
    Fit(Box<fit::FitArgs>),
    /// Checks a fit: sampler, known truth, posterior predictive
    Check(Box<check::CheckArgs>),
    /// Combines fits of blocks of subjects into one population
    Combine(combine::CombineArgs),
    /// Simulates studies, fits them, and counts how often intervals hold the truth
    Coverage(coverage::CoverageArgs),
    /// Simulates a study with known truth, fits it, and prints a checklist
    Validate(validate::ValidateArgs),
    /// Prints the log likelihood of every trial at given parameters
    Loglik(loglik::LoglikArgs),
}

/// Runs the subcommand.
pub(crate) fn run(args: &StopSignalArgs) -> Result<Outcome> {
    match &args.command {
        StopSignalCommand::Simulate(args) => simulate::run(args),
        StopSignalCommand::Fit(args) => fit::run(args),
        StopSignalCommand::Check(args) => check::run(args),
        StopSignalCommand::Combine(args) => combine::run(args),
        StopSignalCommand::Coverage(args) => coverage::run(args),
        StopSignalCommand::Validate(args) => validate::run(args),
        StopSignalCommand::Loglik(args) => loglik::run(args),
    }
}
