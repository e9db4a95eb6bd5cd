//! One file per command: its flags, the call into the library, what is printed.

pub(crate) mod bench;
mod chains;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod curve_fit;
pub(crate) mod data;
pub(crate) mod diagnose;
pub(crate) mod files;
mod inputs;
pub(crate) mod man;
pub(crate) mod models;
pub(crate) mod plot;
pub(crate) mod predict;
pub(crate) mod report;
pub(crate) mod sample;
pub(crate) mod slurm;
pub(crate) mod stop_signal;
pub(crate) mod validate;
mod validation_report;
pub(crate) mod verify;
pub(crate) mod weather;

use crate::args::{Command, Sampling};
use crate::exit::Outcome;
use fitzroy::Result;

/// Runs a command.
pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Sampling(Sampling::Sample(args)) => sample::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::CurveFit(args) => curve_fit::run(&args),
        Command::Data(args) => data::run(&args),
        Command::Diagnose(args) => diagnose::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Plot(args) => plot::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::StopSignal(args) => stop_signal::run(&args),
        Command::Weather(args) => weather::run(&args),
        Command::Slurm(args) => slurm::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Models(args) => models::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
