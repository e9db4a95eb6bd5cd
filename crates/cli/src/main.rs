//! The terminal face of Fitzroy, program `fitzroy`: parses, calls the library, prints.

mod args;
mod clock;
mod commands;
mod device;
mod exit;
mod interrupt;
mod json;
mod output;
mod progress;
mod task;
mod terminal;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match args::Cli::try_parse() {
        Ok(cli) => exit::code(commands::run(cli.command)),
        Err(error) => {
            // A closed pipe is no reason to complain.
            let _ = error.print();
            ExitCode::from(if error.use_stderr() {
                exit::BAD_INPUT
            } else {
                0
            })
        }
    }
}
