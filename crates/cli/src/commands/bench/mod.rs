//! `fitzroy bench WHAT`: measures this machine; asserts the answers before it reports a time.

mod curve_fit;
mod own_curve;
mod sampling;
mod stop_signal;
mod weather;

use crate::exit::Outcome;
use clap::{Args, Subcommand};
use fitzroy::{Error, ErrorKind, Result};
use std::path::Path;

/// Flags of `fitzroy bench`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy bench sample --preset quick\n  fitzroy bench curve-fit --preset quick\n  fitzroy bench weather --latent-size 64"
)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    command: BenchCommand,
}

/// What is measured.
#[derive(Subcommand)]
enum BenchCommand {
    /// A regression with a hundred intercepts, rewritten and as it stands
    #[command(
        after_help = "Examples:\n  fitzroy bench sample --preset standard --json\n  fitzroy bench sample --device all --figure devices.png\n  fitzroy bench sample --device cuda --strategies 1024"
    )]
    Sample(sampling::SampleBench),
    /// 100 to 5,000 groups, eight schools and a logistic regression, rewritten and as they stand
    #[command(
        after_help = "Example:\n  fitzroy bench hierarchical --only groups-100 --figure groups.png"
    )]
    Hierarchical(sampling::HierarchicalBench),
    /// Curve fits from 1,000 to 10 million rows, and 10,000 small ones; or one of your own beside SciPy and lmfit
    #[command(
        after_help = "Examples:\n  fitzroy bench curve-fit --preset standard --json\n  fitzroy bench curve-fit --model 'a*exp(-b*t)+c' decay.csv --y counts --python python3"
    )]
    CurveFit(curve_fit::CurveFitBench),
    /// Stop-signal studies: the gradient, and fits
    #[command(
        after_help = "Example:\n  fitzroy bench stop-signal --subjects 10,20 --csv times.csv"
    )]
    StopSignal(stop_signal::StopSignalBench),
    /// Training steps of a graph network
    Weather(weather::WeatherBench),
}

/// Measures and prints.
pub(crate) fn run(args: &BenchArgs) -> Result<Outcome> {
    match &args.command {
        BenchCommand::Sample(args) => sampling::sample(args),
        BenchCommand::Hierarchical(args) => sampling::hierarchical(args),
        BenchCommand::CurveFit(args) => curve_fit::run(args),
        BenchCommand::StopSignal(args) => stop_signal::run(args),
        BenchCommand::Weather(args) => weather::run(args),
    }
}

/// Writes a file of results.
fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        Error::new(ErrorKind::Io, message)
    })
}
