//! One file per command: its flags, the call into the library, what is printed.

pub(crate) mod completions;
pub(crate) mod models;
pub(crate) mod verify;

use crate::args::Command;
use crate::exit::Outcome;
use fitzroy::Result;

/// Runs a command.
pub(crate) fn run(command: Command) -> Result<Outcome> {
    match command {
        Command::Verify(args) => verify::run(&args),
        Command::Models(args) => models::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}
