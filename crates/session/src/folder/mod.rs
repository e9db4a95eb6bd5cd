//! The folder of a run: fresh, or an earlier run of ours that may be replaced. Nobody's files are
//! overwritten, and a run that fails before its first result leaves nothing behind.

mod contents;
mod lock;

use crate::face::{Face, Note};
use crate::progress::PROGRESS;
use contents::{RESULTS, UNMARKED, entries, foreign, set_aside};
use fitzroy::{Error, ErrorKind, Result};
pub use lock::Lock;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Marks a folder as ours; written first, so that an unwritable folder is found before the work.
const MARKER: &str = "run.json";

/// The folder of one run.
pub struct Folder {
    path: PathBuf,
    /// True when this run made the folder.
    made: bool,
    /// Files of the earlier run that this one has not replaced yet.
    stale: BTreeSet<String>,
    /// True once a result is in the folder.
    kept: bool,
    /// Keeps other runs out.
    lock: Option<Lock>,
    /// Whether something could not be written.
    incomplete: bool,
    face: Arc<dyn Face>,
}

impl Folder {
    /// Opens `out`, or a fresh `NAME-1`, `NAME-2`, ... in `here`.
    ///
    /// # Errors
    /// The folder cannot be made or written to, or holds something: without `overwrite` anything, with it
    /// anything that is not a run of ours. A command without that flag gives `None`, and is not told of it.
    pub fn open(
        here: &Path,
        out: Option<&Path>,
        name: &str,
        overwrite: impl Into<Option<bool>>,
        face: &Arc<dyn Face>,
    ) -> Result<Self> {
        let mut folder = match out {
            Some(path) => Self::given(&here.join(path), path, overwrite.into(), face)?,
            None => Self::fresh(here, name, face)?,
        };
        let marker = json!({"program": "fitzroy", "version": env!("CARGO_PKG_VERSION")});
        // Whole or not at all: a run that is killed now must not leave half a marker.
        let (partial, path) = (folder.path.join(UNMARKED), folder.path.join(MARKER));
        fs::write(&partial, format!("{marker:#}\n"))
            .and_then(|()| fs::rename(&partial, &path))
            .map_err(|error| unwritable(&folder.path, &error))?;
        folder.stale.remove(MARKER);
        Ok(folder)
    }

    fn fresh(here: &Path, name: &str, face: &Arc<dyn Face>) -> Result<Self> {
        let mut n = 1_u64;
        loop {
            let path = here.join(format!("{name}-{n}"));
            match fs::create_dir(&path) {
                Ok(()) => {
                    let lock = Lock::take(&path, &path)?;
                    return Ok(Self::new(path, true, lock, face));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => n += 1,
                Err(error) => return Err(unwritable(&path, &error)),
            }
        }
    }

    /// `shown` is the path as the user wrote it.
    fn given(
        path: &Path,
        shown: &Path,
        overwrite: Option<bool>,
        face: &Arc<dyn Face>,
    ) -> Result<Self> {
        let made = !path.exists();
        if made {
            fs::create_dir_all(path).map_err(|error| unwritable(shown, &error))?;
        } else if !path.is_dir() {
            let message = format!("⟨out {}⟩: this is a file, not a folder", shown.display());
            return Err(Error::new(ErrorKind::Io, message));
        }
        // A folder that is refused must not be cleaned up: it is made a `Folder` at the very end.
        let open = |stale, lock| {
            let mut folder = Self::new(path.to_path_buf(), made, lock, face);
            folder.stale = stale;
            folder
        };
        let read = || entries(path).map_err(|error| unwritable(shown, &error));
        if read()?.is_empty() {
            let lock = Lock::take(path, shown).inspect_err(|_| {
                if made {
                    let _ = fs::remove_dir(path);
                }
            })?;
            // Another run may have come and gone before the lock was taken.
            if read()?.is_empty() {
                return Ok(open(BTreeSet::new(), lock));
            }
        }
        let names = read()?;
        Lock::refuse_taken(path, shown)?;
        if overwrite != Some(true) {
            let instead = match overwrite {
                Some(_) => ", or replace an earlier run with ⟨overwrite⟩",
                None => "",
            };
            let message = format!(
                "⟨out {}⟩: the folder is not empty; choose another{instead}",
                shown.display()
            );
            return Err(Error::new(ErrorKind::Io, message));
        }
        if let Some(foreign) = foreign(path, &names) {
            let message = format!(
                "⟨overwrite {}⟩: {foreign}, so it is not a run of Fitzroy alone and stays \
                 untouched; choose another folder",
                shown.display()
            );
            return Err(Error::new(ErrorKind::Io, message));
        }
        let lock = Lock::take(path, shown)?;
        let stale = set_aside(path, names, &**face).map_err(|error| unwritable(shown, &error))?;
        Ok(open(stale, lock))
    }

    /// Opens the folder of a run to go on with it, or a new one.
    ///
    /// # Errors
    /// It holds something that is not a run of ours, or cannot be written to.
    pub fn resume(here: &Path, out: &Path, face: &Arc<dyn Face>) -> Result<Self> {
        let path = here.join(out);
        let names = match path.is_dir() {
            true => entries(&path).map_err(|error| unwritable(out, &error))?,
            false => BTreeSet::new(),
        };
        if names.is_empty() {
            return Self::open(here, Some(out), "", false, face);
        }
        if let Some(foreign) = foreign(&path, &names) {
            let message = format!(
                "⟨resume {}⟩: {foreign}, so it is not a run of Fitzroy that could go on",
                out.display()
            );
            return Err(Error::new(ErrorKind::Io, message));
        }
        let lock = Lock::take(&path, out)?;
        let mut folder = Self::new(path, false, lock, face);
        folder.kept = true;
        Ok(folder)
    }

    /// Draws per chain of the results in the folder; none where no run has ended in it.
    pub fn finished_with(&self) -> Option<usize> {
        let results = RESULTS.iter().any(|name| self.path.join(name).is_file());
        let text = fs::read_to_string(self.path.join(MARKER))
            .ok()
            .filter(|_| results)?;
        let marker: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(marker["draws"].as_u64()? as usize)
    }

    /// Removes the results of a run that goes on: they would be those of fewer draws.
    ///
    /// # Errors
    /// They cannot be removed.
    pub fn begin_again(&mut self) -> Result<()> {
        for name in RESULTS {
            let path = self.path.join(name);
            if self.stale.is_empty() && path.is_file() {
                fs::remove_file(&path).map_err(|error| unwritable(&path, &error))?;
            }
        }
        Ok(())
    }

    fn new(path: PathBuf, made: bool, lock: Lock, face: &Arc<dyn Face>) -> Self {
        Folder {
            path,
            made,
            stale: BTreeSet::new(),
            kept: false,
            lock: Some(lock),
            incomplete: false,
            face: Arc::clone(face),
        }
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who asked for the run.
    pub fn face(&self) -> &Arc<dyn Face> {
        &self.face
    }

    /// The path of a result that is about to be written; from now on the folder stays.
    pub fn file(&mut self, name: &str) -> PathBuf {
        self.kept = true;
        self.replaced(name)
    }

    /// The path of a file that this run writes, which alone is no reason for the folder to stay.
    pub fn replaced(&mut self, name: &str) -> PathBuf {
        self.stale.remove(name);
        self.path.join(name)
    }

    /// From now on the folder stays, whatever happens.
    pub fn keep(&mut self) {
        self.kept = true;
    }

    /// Writes a text file; a failure is said and remembered, and the run goes on to what is left.
    pub fn try_write(&mut self, name: &str, text: &str) {
        let written = self.write(name, text);
        self.attempted(written);
    }

    /// Says and remembers what could not be written; true where all is well.
    pub fn attempted(&mut self, written: Result<()>) -> bool {
        if let Err(error) = &written {
            self.incomplete = true;
            self.face.tell(Note::Failure(&error.to_string()));
        }
        written.is_ok()
    }

    /// Says that the page `name` could not be made or written; the draws are saved already, so
    /// nothing else is lost. True if all is well.
    pub fn attempted_page(&self, name: &str, written: Result<()>) -> bool {
        if let Err(error) = &written {
            let message = format!("{name}: {error}; the draws are saved");
            self.face.tell(Note::Failure(&message));
        }
        written.is_ok()
    }

    /// Whether everything was written.
    pub fn is_complete(&self) -> bool {
        !self.incomplete
    }

    /// Writes a text file; it appears under its name when it is complete.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, name: &str, text: &str) -> Result<()> {
        self.write_bytes(name, text.as_bytes())
    }

    /// The same for any file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_bytes(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.file(name);
        swap_in(&path, &self.face.spelling().spell_bytes(bytes))
            .map_err(|error| unwritable(&path, &error))
    }

    /// As [`Folder::finish`], but other runs stay out until the lock is dropped.
    pub fn finish_locked(mut self) -> Result<Option<Lock>> {
        let lock = self.lock.take();
        self.finish()?;
        Ok(lock)
    }

    /// Ends a run that has written its results: what is left of the earlier run goes, unless some
    /// result is missing.
    pub fn finish(mut self) -> Result<()> {
        if self.incomplete {
            return Ok(());
        }
        for name in std::mem::take(&mut self.stale) {
            let path = self.path.join(&name);
            let removed = match path.is_dir() {
                true => fs::remove_dir_all(&path),
                false => fs::remove_file(&path),
            };
            removed.map_err(|error| unwritable(&path, &error))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Folder").field(&self.path).finish()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        // Nothing was written: leave no trace. A failure here would hide the first error.
        if self.stale.is_empty() {
            let _ = fs::remove_file(self.path.join(MARKER));
            let _ = fs::remove_file(self.path.join(PROGRESS));
        }
        self.lock = None;
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Writes a file that appears under its name when it is complete, in place of one of that name.
///
/// # Errors
/// It cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    swap_in(path, bytes).map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        Error::new(ErrorKind::Io, message)
    })
}

fn swap_in(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".tmp");
    let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&partial);
    })
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    let message = format!(
        "{} cannot be written to: {error}; choose another folder with ⟨out DIR⟩",
        path.display()
    );
    Error::new(ErrorKind::Io, message)
}

#[cfg(test)]
mod tests;
