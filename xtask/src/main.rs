//! Checks of the repository, run by people and by CI: `cargo xtask help` lists them.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod licences;
mod steps;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND

  tidy   the house rules that compilers do not check: who imports whom, budgets, forbidden words
  lint   formatting, tidy, clippy and documentation, warnings denied; licences
  gen    writes what the documentation takes from the code: tables, and what the quickstart prints
  ci     lint, then the two commands of the README: the tests and a quick validation
  help   this text
";

fn main() -> ExitCode {
    let command = std::env::args().nth(1);
    let passed = match command.as_deref() {
        Some("tidy") => tidy::run(&root()),
        Some("lint") => steps::lint(&root()),
        Some("gen") => steps::generate(&root()),
        Some("ci") => steps::ci(&root()),
        Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            true
        }
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The root of the repository: the folder above this crate.
fn root() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.pop();
    path
}
