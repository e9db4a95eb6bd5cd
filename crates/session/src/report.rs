//! The page of a run, and the facts that it shows.

use crate::folder::Folder;
use crate::traces::THINNED_BYTES;
use fitzroy::Result;
use fitzroy::diagnose::{Diagnosis, SummaryOptions, diagnose, diagnose_stored};
use fitzroy::draws::{Opened, Trace};
use fitzroy_report::page::Page;
use fitzroy_report::report::{RunFacts, sampling_page, validation_page};
use fitzroy_report::source::Source;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The page of a trace that was opened, examined with the threads that `facts` name.
///
/// # Errors
/// The trace has no draws, or they cannot be read.
pub fn page(opened: Opened, facts: &RunFacts) -> Result<Page> {
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

/// What the run in the folder `path` says of itself; of a trace alone its name.
pub fn facts(path: &Path) -> RunFacts {
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
    facts.threads = threads();
    facts
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Writes the report of a run that has just ended. Its draws are saved already, so a failure is
/// told and not returned; true when all went well.
pub fn write_run(
    folder: &mut Folder,
    name: &str,
    trace: &Trace,
    found: &Diagnosis,
    mut facts: RunFacts,
) -> bool {
    facts.command = folder.face().command();
    facts.threads = threads();
    let made = Source::new(trace).and_then(|source| sampling_page(&source, found, &facts));
    let written = made.and_then(|page| folder.write(name, &page.html()));
    folder.attempted_page(name, written)
}
