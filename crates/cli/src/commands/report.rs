//! `fitzroy report DIR|TRACE`.

use super::files;
use crate::exit::Outcome;
use crate::{face, terminal};
use clap::Args;
use fitzroy::draws::open_trace;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_session::report::{facts, page};
use fitzroy_session::traces::IN_MEMORY_BYTES;
use fitzroy_session::weather::pages;
use std::path::{Path, PathBuf};

/// Flags of `fitzroy report`.
#[derive(Args)]
#[command(after_help = "Examples:\n  fitzroy report hierarchical-1\n  \
    fitzroy report pymc.nc --out pymc.html\n\n\
    One file that needs no network: verdict, summary, figures, predictive checks, settings, model.\n\
    docs/report.md says how to read it.")]
pub(crate) struct ReportArgs {
    /// The folder of a run (of weather training, too), or a trace of Fitzroy or of ArviZ
    run: PathBuf,
    /// The file [default: report.html in the folder, or NAME-report.html beside the trace]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file if it exists; the report of a folder is always replaced
    #[arg(long)]
    overwrite: bool,
}

/// Reads the run and writes its page.
pub(crate) fn run(args: &ReportArgs) -> Result<Outcome> {
    let is_folder = args.run.is_dir();
    let out = match &args.out {
        Some(path) => path.clone(),
        None => files::beside(&args.run, "report", "html"),
    };
    let replace = args.overwrite || is_folder && args.out.is_none();
    files::check_free(&out, replace)?;
    if is_folder && pages::is_evaluation(&args.run) {
        let page = pages::evaluation_report(&args.run, args.out.as_deref(), &*face::notes())?;
        terminal::out(format_args!("the page is {}", page.display()));
        return Ok(Outcome::Done);
    }
    if is_folder && pages::is_training(&args.run) {
        pages::training_report(&args.run, &out, &*face::notes())?;
        terminal::out(format_args!("wrote {}", out.display()));
        return Ok(Outcome::Done);
    }
    if is_folder && is_fit(&args.run) {
        return page_of_fit(&args.run);
    }
    let opened = open_trace(&args.run, IN_MEMORY_BYTES)?;
    let facts = facts(&args.run);
    let page = page(opened, &facts).map_err(|error| error.context(args.run.display()))?;
    files::write(&out, page.html().as_bytes())?;
    terminal::out(format_args!("wrote {}", out.display()));
    Ok(Outcome::Done)
}

/// Whether `curve-fit` wrote the folder.
fn is_fit(folder: &Path) -> bool {
    folder.join("fit.json").is_file()
}

/// The page of a fit is written with it: its rows, which it shows, are not kept.
fn page_of_fit(folder: &Path) -> Result<Outcome> {
    let page = folder.join("report.html");
    if page.is_file() {
        terminal::out(format_args!("the page is {}", page.display()));
        return Ok(Outcome::Done);
    }
    let message = format!(
        "{}: a fit of curves, which keeps no rows to draw; its page is written with it, by `fitzroy curve-fit --out`",
        folder.display()
    );
    Err(Error::new(ErrorKind::Usage, message))
}

/// Says which figure or page failed.
pub(crate) fn finish(name: &str, written: Result<()>) -> bool {
    if let Err(error) = &written {
        terminal::note(format_args!("error: {name}: {error}; the draws are saved"));
    }
    written.is_ok()
}
