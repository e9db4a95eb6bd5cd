//! Programs that are called: shown, timed, and a failure if they fail.

use super::Result;
use std::process::Command;

/// Runs a command whose output people see.
pub(super) fn run(command: Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    match crate::steps::timed(command) {
        true => Ok(()),
        false => Err(format!("{program} failed")),
    }
}

/// What a command says on its standard output.
pub(super) fn output(mut command: Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let made = command
        .output()
        .map_err(|error| format!("{program} could not be started: {error}"))?;
    if !made.status.success() {
        let args: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
        return Err(format!(
            "{program} {}: {}\n{}{}",
            args.join(" "),
            made.status,
            String::from_utf8_lossy(&made.stdout),
            String::from_utf8_lossy(&made.stderr)
        ));
    }
    String::from_utf8(made.stdout).map_err(|_| format!("{program} says what is no text"))
}
