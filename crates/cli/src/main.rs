//! The program `fitzroy`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fitzroy_cli::main(std::env::args_os().collect()))
}
