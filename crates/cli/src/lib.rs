//! The terminal face of Fitzroy, program `fitzroy`: parses, calls the library, prints.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod exit;
mod face;
mod interrupt;
mod invocation;
mod json;
mod named;
mod progress;
pub mod requests;
mod tables;
mod task;
mod terminal;

use std::ffi::OsString;

/// Runs the program as if it had been called so: `args[0]` is its own file, which jobs of a cluster
/// call, the others are what follows it on a command line. Returns the exit code.
///
/// Commands that can be stopped take over Ctrl-C and the signals of schedulers for the whole
/// process, which should end with that code. A process runs one command.
pub fn main(args: Vec<OsString>) -> u8 {
    invocation::set(args);
    match args::read() {
        Ok(command) => exit::code(commands::run(command)),
        Err(error) => {
            // A closed pipe is no reason to complain.
            let _ = error.print();
            match error.use_stderr() {
                true => exit::BAD_INPUT,
                false => 0,
            }
        }
    }
}
