//! The program, and what it says of this machine.

use crate::errors::spelled;
use fitzroy::verify::{self as machine, Depth, devices_json, verification_json};
use fitzroy_cli::requests::settings;
use fitzroy_session::clock::Clock;
use fitzroy_session::device::places;
use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the program `fitzroy`: its file, then its arguments. Returns the exit code, with which the
/// process should end: signals are the program's from then on.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| fitzroy_cli::main(args))
}

/// What the program says, with its flags as arguments of this package.
#[pyfunction]
pub(crate) fn in_arguments(text: &str) -> String {
    spelled(&settings(text))
}

/// What `fitzroy verify` finds, as JSON.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, conformance: bool) -> String {
    let found = py.detach(|| {
        let clock = Clock::start();
        let depth = match conformance {
            true => Depth::Conformance,
            false => Depth::Usual,
        };
        machine::verify(&|| clock.seconds(), Some((&places(None), depth)))
    });
    verification_json(&found, found.passed()).to_string()
}

/// The processor and the GPUs, as JSON.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> String {
    let found = py.detach(|| machine::devices(&places(None)));
    devices_json(&found).to_string()
}
