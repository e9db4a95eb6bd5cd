//! `fitzroy man DIR`.

use crate::args::Cli;
use crate::exit::Outcome;
use crate::terminal;
use clap::{Args, CommandFactory};
use fitzroy::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Flags of `fitzroy man`.
#[derive(Args)]
#[command(
    after_help = "Example:\n  fitzroy man ~/.local/share/man/man1     then: man fitzroy-sample"
)]
pub(crate) struct ManArgs {
    /// The folder for the pages; it is made if it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes a page for the program and one for each of its commands.
pub(crate) fn run(args: &ManArgs) -> Result<Outcome> {
    let failed = |error: std::io::Error| {
        let place = args.folder.display();
        Error::new(ErrorKind::Io, format!("manual pages in {place}: {error}"))
    };
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let n_pages = write(&program, &args.folder).map_err(failed)?;
    terminal::out(format_args!(
        "{n_pages} manual pages in {}",
        args.folder.display()
    ));
    Ok(Outcome::Done)
}

/// Writes the page of a command and those below it. Gives their number.
fn write(command: &clap::Command, folder: &Path) -> std::io::Result<usize> {
    let version = concat!("fitzroy ", env!("CARGO_PKG_VERSION"));
    let page = clap_mangen::Man::new(command.clone())
        .source(version)
        .manual("Fitzroy");
    let mut text = Vec::new();
    page.render(&mut text)?;
    let text = with_headings(&String::from_utf8_lossy(&text));
    std::fs::write(folder.join(page.get_filename()), text)?;
    let shown = command.get_subcommands().filter(|c| !c.is_hide_set());
    let below: std::io::Result<Vec<usize>> = shown.map(|c| write(c, folder)).collect();
    Ok(1 + below?.iter().sum::<usize>())
}

/// Calls what stands behind the options by the usual headings of manual pages.
fn with_headings(page: &str) -> String {
    ["Examples", "Example"]
        .iter()
        .fold(page.to_string(), |page, word| {
            page.replace(&format!(".SH EXTRA\n{word}:\n"), ".SH EXAMPLES\n")
        })
        .replace(".SH EXTRA\n", ".SH NOTES\n")
}
