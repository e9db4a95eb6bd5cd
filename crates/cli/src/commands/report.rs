//! `fitzroy report DIR|TRACE`, and the reports that `sample` and `validate` leave behind.

use super::{IN_MEMORY_BYTES, THINNED_BYTES, plot, weather};
use crate::exit::Outcome;
use crate::output::Folder;
use crate::terminal;
use clap::Args;
use fitzroy::diagnose::{Diagnosis, SummaryOptions, diagnose, diagnose_stored};
use fitzroy::draws::{Opened, Trace, open_trace};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_report::page::Page;
use fitzroy_report::report::{RunFacts, sampling_page, validation_page};
use fitzroy_report::source::Source;
use serde_json::Value;
use std::fs;
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
        None if is_folder => args.run.join("report.html"),
        None => {
            let stem = args.run.file_stem().unwrap_or(args.run.as_os_str());
            let name = format!("{}-report.html", stem.to_string_lossy());
            args.run.with_file_name(name)
        }
    };
    let replace = args.overwrite || is_folder && args.out.is_none();
    if out.exists() && !replace {
        let message = format!(
            "{}: the file is there already; choose another --out, or replace it with --overwrite",
            out.display()
        );
        return Err(Error::new(ErrorKind::Io, message));
    }
    if is_folder && weather::pages::is_evaluation(&args.run) {
        let page = weather::pages::evaluation_report(&args.run, args.out.as_deref())?;
        terminal::out(format_args!("the page is {}", page.display()));
        return Ok(Outcome::Done);
    }
    if is_folder && weather::pages::is_training(&args.run) {
        weather::pages::training_report(&args.run, &out)?;
        terminal::out(format_args!("wrote {}", out.display()));
        return Ok(Outcome::Done);
    }
    let opened = open_trace(&args.run, IN_MEMORY_BYTES)?;
    let mut facts = facts(&args.run);
    facts.threads = threads();
    let page = page(opened, &facts).map_err(|error| error.context(args.run.display()))?;
    plot::write(&out, page.html().as_bytes())?;
    terminal::out(format_args!("wrote {}", out.display()));
    Ok(Outcome::Done)
}

fn page(opened: Opened, facts: &RunFacts) -> Result<Page> {
    let (trace, stored) = match opened {
        Opened::Whole(trace) => (trace, None),
        Opened::Stored(stored) => (stored.thinned(THINNED_BYTES)?.0, Some(stored)),
    };
    let source = Source::new(&trace)?;
    let options = SummaryOptions {
        group: source.group.name.clone(),
        threads: facts.threads,
        ..SummaryOptions::default()
    };
    let found = match stored {
        Some(stored) => diagnose_stored(&stored, &options)?,
        None => diagnose(&trace, &options)?,
    };
    match facts.checks.is_empty() {
        true => sampling_page(&source, &found, facts),
        false => validation_page(&source, &found, facts),
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What the run says of itself; of a trace alone its name.
fn facts(path: &Path) -> RunFacts {
    let shown = path.file_name().unwrap_or(path.as_os_str());
    let name = shown.to_string_lossy().into_owned();
    let read = |file: &str| -> Option<Value> {
        let text = fs::read_to_string(path.join(file)).ok()?;
        serde_json::from_str(&text).ok()
    };
    let mut facts = match read("run.json") {
        Some(document) => RunFacts::from_document(&document, &name),
        None => RunFacts {
            name,
            ..RunFacts::default()
        },
    };
    let progress = read("progress.json").filter(|p| p["state"] == "running");
    facts.running = progress.and_then(|p| {
        let number = |key: &str| usize::try_from(p[key].as_u64()?).ok();
        Some((number("done")?, number("total")?))
    });
    facts
}

/// Writes the report of a run that has just ended. Its draws are saved already, so a failure is
/// said and not returned; true when all went well.
pub(crate) fn write_run(
    folder: &mut Folder,
    trace: &Trace,
    found: &Diagnosis,
    document: &Value,
) -> bool {
    let made = Source::new(trace).and_then(|source| {
        let mut facts = RunFacts::from_document(document, "run");
        facts.command = command();
        facts.threads = threads();
        sampling_page(&source, found, &facts)
    });
    finish(
        "report.html",
        made.and_then(|page| folder.write("report.html", &page.html())),
    )
}

/// Says which figure or page failed.
pub(crate) fn finish(name: &str, written: Result<()>) -> bool {
    if let Err(error) = &written {
        terminal::note(format_args!("error: {name}: {error}; the draws are saved"));
    }
    written.is_ok()
}

/// The command line, with quotes where a shell needs them.
pub(crate) fn command() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    let quoted = |arg: String| match !arg.is_empty() && arg.chars().all(plain) {
        true => arg,
        false => format!("'{}'", arg.replace('\'', r"'\''")),
    };
    let args = std::env::args_os()
        .skip(1)
        .map(|a| a.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once("fitzroy".into())
        .chain(args.map(quoted))
        .collect();
    words.join(" ")
}
