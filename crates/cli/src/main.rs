//! The terminal face of Fitzroy, program `fitzroy`: parses, calls the library, prints.

mod args;
mod commands;
mod exit;
mod face;
mod interrupt;
mod json;
mod named;
mod progress;
mod task;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    match args::read() {
        Ok(command) => exit::code(commands::run(command)),
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
