//! Checks of the repository, run by people and by CI: `cargo xtask help` lists them.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod python;
mod release;
mod site;
mod steps;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND

  tidy   the house rules that compilers do not check: who imports whom, budgets, forbidden words
  lint   formatting, tidy, clippy and documentation, warnings denied; licences if cargo-deny is there
  gen    writes what the documentation takes from the code: tables, and what the quickstart prints
  ci     lint, then the two commands of the README: the tests and a quick validation
  differential [N]
         random problems against independent oracles, about N of each kind (1000): curve fits with bounds,
         losses and without a start, random models, hard targets of the sampler, files of weather
  fuzz [SECONDS] [SEED]
         files changed at random for every reader and parser, so many seconds each (60)
  python the Python package: its wheel, types and tests, with the interpreters that FITZROY_PYTHON_DEV names
         (separated by colons; each needs pip, maturin, numpy and pytest); skipped without one
  release [--out DIR] [--only PART,...]
         what is handed out: programs, Debian packages, wheels, an SBOM, checksums; each is tried.
         PART is `crates`, or a program as it stands in the names of files, such as aarch64-linux.
         Needs Linux, python3 with venv, readelf and dpkg-deb; qemu-user-static to try other processors
  site   the documentation and the API as HTML in target/site, every link checked
  help   this text
";

fn main() -> ExitCode {
    let command = std::env::args().nth(1);
    let passed = match command.as_deref() {
        Some("tidy") => tidy::run(&root()),
        Some("lint") => steps::lint(&root()),
        Some("gen") => steps::generate(&root()),
        Some("ci") => steps::ci(&root()),
        Some("differential") => match numbers(1000) {
            Some((n, _)) => steps::differential(&root(), n),
            None => return usage(),
        },
        Some("fuzz") => match numbers(60) {
            Some((seconds, seed)) => steps::fuzz(&root(), seconds, seed),
            None => return usage(),
        },
        Some("python") => python::check(&root()),
        Some("release") => match release::Options::read(&words()) {
            Some(options) => release::make(&root(), &options),
            None => return usage(),
        },
        Some("site") => site::make(&root()),
        Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            true
        }
        _ => return usage(),
    };
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn usage() -> ExitCode {
    eprint!("{HELP}");
    ExitCode::from(2)
}

/// The two numbers behind a command: how much, and a seed; `None` if one of them is no number.
fn numbers(usual: u64) -> Option<(u64, u64)> {
    let number = |k: usize, usual: u64| match std::env::args().nth(k) {
        Some(text) => text.parse().ok(),
        None => Some(usual),
    };
    number(2, usual).zip(number(3, 1))
}

/// The words behind the command.
fn words() -> Vec<String> {
    std::env::args().skip(2).collect()
}

/// The root of the repository: the folder above this crate.
fn root() -> PathBuf {
    let mut path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    path.pop();
    path
}
