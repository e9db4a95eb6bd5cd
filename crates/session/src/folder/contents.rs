//! What a run leaves in its folder, and what in a folder is not from a run.

use super::MARKER;
use super::lock::LOCK;
use crate::face::{Face, Note};
use fitzroy::run::{AGAIN, STATE, STREAM};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

/// The marker while it is written.
pub(super) const UNMARKED: &str = "run.tmp";

/// Everything a run may leave in its folder.
const FILES: &[&str] = &[
    MARKER,
    "progress.json",
    "trace.nc",
    "summary.txt",
    "summary.csv",
    "summary.json",
    "report.html",
    "benchmark_report.txt",
    "validation.json",
    "data.csv",
    "fit.json",
    "fits.csv",
    "parameters.csv",
    "prediction.csv",
    "fit.svg",
    "checkpoint.bin",
    "posterior.txt",
    "posterior.csv",
    "posterior.json",
    "posterior.html",
    "model.fz",
    "config.toml",
    "true_params.json",
    "subjects.csv",
    "data_report.json",
    "combine.json",
    "ppc.json",
    "ppc.csv",
];

/// Those that say that a run has ended.
pub(super) const RESULTS: [&str; 2] = ["trace.nc", "summary.json"];

/// Folders a run may leave in its folder: the draws as they were made, and the sampler's states.
const FOLDERS: &[&str] = &[STREAM, STATE, AGAIN];
/// What they are called while a finished run is replaced.
const OLD: &str = ".old";
/// Where runs that did not finish are moved when another takes their place.
const UNFINISHED: &str = "unfinished-";

/// What is in a folder. A run that was killed before it was marked has left nothing.
pub(super) fn entries(path: &Path) -> io::Result<BTreeSet<String>> {
    let names = fs::read_dir(path)?.map(|e| Ok(e?.file_name().to_string_lossy().into_owned()));
    let mut names: BTreeSet<String> = names.collect::<io::Result<_>>()?;
    names.remove(LOCK);
    if names.len() == 1 {
        names.remove(UNMARKED);
    }
    Ok(names)
}

/// What in the folder is not ours, in words; none when all of it is.
pub(super) fn foreign(path: &Path, names: &BTreeSet<String>) -> Option<String> {
    let folder_of_ours = |name: &String| {
        let plain = name.strip_suffix(OLD).unwrap_or(name);
        (FOLDERS.contains(&plain) || name.starts_with(UNFINISHED)) && path.join(name).is_dir()
    };
    let ours = |name: &String| {
        if folder_of_ours(name) {
            return true;
        }
        // What a run that was killed was about to write.
        let name = match name.strip_suffix(".tmp") {
            Some(partial) if path.join(name).is_file() => {
                let stem = |file: &str| file.split('.').next() == partial.split('.').next();
                return FILES.iter().any(|file| stem(file));
            }
            _ => name,
        };
        (FILES.contains(&name.as_str()) || name.ends_with(".png")) && path.join(name).is_file()
    };
    if let Some(name) = names.iter().find(|name| !ours(name)) {
        return Some(format!("it holds `{name}`"));
    }
    let marked = fs::read_to_string(path.join(MARKER))
        .is_ok_and(|text| text.contains("\"program\": \"fitzroy\""));
    (!marked).then(|| format!("it has no {MARKER} of ours"))
}

/// Moves draws and states of an earlier run out of the way of a new one; gives everything that will
/// go when that one has finished. What an unfinished run has drawn never goes.
pub(super) fn set_aside(
    path: &Path,
    mut names: BTreeSet<String>,
    face: &dyn Face,
) -> io::Result<BTreeSet<String>> {
    names.retain(|name| !name.starts_with(UNFINISHED));
    let there: Vec<&str> = FOLDERS
        .iter()
        .copied()
        .filter(|f| names.contains(*f))
        .collect();
    if there.is_empty() {
        return Ok(names);
    }
    let finished = RESULTS.iter().any(|name| names.contains(*name));
    let fresh = (1..).map(|n| path.join(format!("{UNFINISHED}{n}")));
    let aside = fresh.into_iter().find(|p| !p.exists());
    let aside = aside.expect("there are more numbers than folders");
    if !finished {
        fs::create_dir(&aside)?;
        face.tell(Note::Notice(&format!(
            "the run in {} had not finished: its draws are moved to {}",
            path.display(),
            aside.display()
        )));
    }
    for name in there {
        names.remove(name);
        if !finished {
            fs::rename(path.join(name), aside.join(name))?;
            continue;
        }
        let old = format!("{name}{OLD}");
        if path.join(&old).is_dir() {
            fs::remove_dir_all(path.join(&old))?;
        }
        fs::rename(path.join(name), path.join(&old))?;
        names.insert(old);
    }
    Ok(names)
}
