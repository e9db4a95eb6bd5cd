//! One file per command: its flags, the call into the library, what is printed.

pub(crate) mod bench;
mod chains;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod curve_fit;
pub(crate) mod diagnose;
pub(crate) mod models;
pub(crate) mod plot;
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
use crate::terminal;
use fitzroy::Result;
use fitzroy::draws::{Opened, Trace, open_trace};
use std::path::Path;

/// Bytes of draws above which a trace is not read as a whole.
pub(crate) const IN_MEMORY_BYTES: u64 = 512 << 20;
/// Bytes of those of its draws that figures are then made from.
pub(crate) const THINNED_BYTES: u64 = 32 << 20;

/// The trace at `path`; where it is very large, some of its draws, and a note that says so.
pub(crate) fn thinned(path: &Path) -> Result<Trace> {
    match open_trace(path, IN_MEMORY_BYTES)? {
        Opened::Whole(trace) => Ok(trace),
        Opened::Stored(stored) => {
            let (trace, every) = stored.thinned(THINNED_BYTES)?;
            terminal::note(format_args!(
                "{}: one of every {every} of its draws is shown",
                path.display()
            ));
            Ok(trace)
        }
    }
}

/// Runs a command.
pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Sampling(Sampling::Sample(args)) => sample::run(&args),
        Command::CurveFit(args) => curve_fit::run(&args),
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
    }
}
