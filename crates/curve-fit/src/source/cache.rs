//! Decoded columns that are kept from one run to the next.
//!
//! An entry is a folder with the numbers of the wanted columns, named by hashes of what was asked for
//! and of the file as it was (size, time of the last change, first and last bytes). It appears under
//! its name when it is complete; a file that changed gets a new entry, and its old one is removed.

use super::large::{Stored, fingerprint};
use super::stream::{FileColumn, broken, unreadable};
use fitzroy::Result;
use fitzroy_device::Fnv;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The wanted columns of `source` from `folder`, decoded into it where they are not there yet.
/// Columns that are numbers in files of their own stay where they are.
///
/// # Errors
/// As [`Stored::columns`]; the folder cannot be written.
pub(super) fn cached(source: &Stored, wanted: &[String], folder: &Path) -> Result<Vec<FileColumn>> {
    let Some(path) = source.decoded() else {
        return source.columns(wanted, folder);
    };
    let asked = Fnv::of(
        format!(
            "2 {} {:?} {wanted:?}",
            absolute(path).display(),
            source.said()
        )
        .as_bytes(),
    );
    let prefix = format!("{asked:016x}-");
    let entry = folder.join(format!("{prefix}{:016x}", state(path)?));
    if let Some(columns) = kept(&entry, wanted.len()) {
        return Ok(columns);
    }
    let fail = |at: &Path| {
        let at = at.to_path_buf();
        move |e: std::io::Error| unreadable(&at, &e)
    };
    let partial = folder.join(format!("{prefix}{}.tmp", std::process::id()));
    fs::create_dir_all(&partial).map_err(fail(&partial))?;
    let decoded = source.columns(wanted, &partial);
    if decoded.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    let n_rows = decoded?.first().map_or(0, |c| c.n_rows);
    let count = partial.join(COUNT);
    fs::write(&count, n_rows.to_string()).map_err(fail(&count))?;
    for old in fs::read_dir(folder).map_err(fail(folder))?.flatten() {
        let name = old.file_name().to_string_lossy().into_owned();
        if name.starts_with(&prefix) && !name.ends_with(".tmp") {
            let _ = fs::remove_dir_all(old.path());
        }
    }
    let placed = fs::rename(&partial, &entry);
    if placed.is_err() {
        let _ = fs::remove_dir_all(&partial);
    }
    match kept(&entry, wanted.len()) {
        // Also where somebody else was faster, who decoded the same.
        Some(columns) => Ok(columns),
        None => {
            placed.map_err(fail(&entry))?;
            Err(broken(&entry, "what was decoded is gone again"))
        }
    }
}

/// The number of rows of an entry.
const COUNT: &str = "rows";

fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

/// A hash of what a file holds, as far as that can be told without reading it.
fn state(path: &Path) -> Result<u64> {
    let ends = fingerprint(&[path.to_path_buf()])?;
    let about = fs::metadata(path).map_err(|e| unreadable(path, &e))?;
    let changed = about.modified().ok();
    let changed = changed.and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    let changed = changed.map_or(0, |d| d.as_nanos());
    Ok(Fnv::of(format!("{ends} {changed}").as_bytes()))
}

/// The columns of an entry, if it is whole.
fn kept(entry: &Path, n_columns: usize) -> Option<Vec<FileColumn>> {
    let n_rows: usize = fs::read_to_string(entry.join(COUNT)).ok()?.parse().ok()?;
    let column = |k: usize| {
        let path = FileColumn::decoded(entry, k);
        let whole = fs::metadata(&path).ok()?.len() == 8 * n_rows as u64;
        whole.then_some(FileColumn {
            path,
            offset: 0,
            n_rows,
            inverse: false,
        })
    };
    (0..n_columns).map(column).collect()
}
