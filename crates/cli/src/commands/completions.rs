//! `fitzroy completions SHELL`.

use crate::args::Cli;
use crate::exit::Outcome;
use crate::terminal;
use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;
use fitzroy::Result;

/// Flags of `fitzroy completions`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  fitzroy completions bash > ~/.local/share/bash-completion/completions/fitzroy"
)]
pub(crate) struct CompletionsArgs {
    /// The shell to write for
    #[arg(value_enum)]
    shell: ShellName,
}

/// Shells we write for.
#[derive(Clone, Copy, ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
}

/// Prints the script.
pub(crate) fn run(args: &CompletionsArgs) -> Result<Outcome> {
    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fitzroy", &mut script);
    terminal::out(String::from_utf8_lossy(&script).trim_end());
    Ok(Outcome::Done)
}
