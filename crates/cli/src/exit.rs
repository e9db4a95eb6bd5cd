//! How a command ended, and the exit code that says so.

use crate::terminal;
use fitzroy::Result;
use fitzroy_session::Fit;

/// The work ran and a check did not pass.
pub(crate) const NOT_PASSED: u8 = 1;
/// Bad usage, bad input, or a device that was asked for and cannot be used.
pub(crate) const BAD_INPUT: u8 = 2;
/// Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// How a command ended when nothing was wrong with what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything asked for was done.
    Done,
    /// The work ran and a check did not pass; the command has said which.
    NotPassed,
    /// The user stopped it, and the partial result is saved.
    Interrupted,
}

impl Outcome {
    /// That of a command that sampled: `reported` says whether its report was written, `strict`
    /// whether it must have converged.
    pub(crate) fn of(fit: &Fit, reported: bool, strict: bool) -> Self {
        if fit.interrupted && fit.is_complete {
            Outcome::Interrupted
        } else if !reported || !fit.is_complete || strict && !fit.diagnosis.converged() {
            Outcome::NotPassed
        } else {
            Outcome::Done
        }
    }
}

/// The exit code of a result; an error is printed on stderr.
pub(crate) fn code(result: Result<Outcome>) -> u8 {
    match result {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::NotPassed) => NOT_PASSED,
        Ok(Outcome::Interrupted) => INTERRUPTED,
        Err(error) => {
            terminal::note(format_args!("error: {error}"));
            BAD_INPUT
        }
    }
}
