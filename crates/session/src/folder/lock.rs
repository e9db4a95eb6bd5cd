//! One run at a time in a folder: the file that says which.
//!
//! The system's lock on the file decides where it works, for it ends with its process, however that
//! ends, and on network file systems that share locks it is seen by all machines. What the file
//! says decides where it does not: process, machine and time.

use crate::clock::{timestamp, unix_seconds};
use crate::progress::PROGRESS;
use fitzroy::{Error, ErrorKind, Result};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The name of the file.
pub(super) const LOCK: &str = "run.lock";

/// Seconds after which a run on another machine that has not renewed its progress is over. It
/// renews it every two.
const SILENT_S: f64 = 30.0;

/// A folder that is this run's alone, until this is dropped.
#[derive(Debug)]
pub struct Lock {
    /// Open as long as the lock is held.
    _file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the folder `path`, which a user calls `shown`.
    ///
    /// # Errors
    /// Another run has it, named with its process; the file cannot be written.
    pub fn take(path: &Path, shown: &Path) -> Result<Lock> {
        let lock = path.join(LOCK);
        loop {
            let file = open(&lock).map_err(|error| super::unwritable(shown, &error))?;
            let held = match file.try_lock() {
                Ok(()) => on_another_machine(path, &lock),
                Err(TryLockError::WouldBlock) => true,
                // There are no locks on this file system.
                Err(TryLockError::Error(_)) => is_alive(path, &lock),
            };
            if held {
                return Err(taken(&lock, shown));
            }
            // Another run may have ended, and removed the file, between the two steps.
            if is_same(&file, &lock) {
                note(&file).map_err(|error| super::unwritable(shown, &error))?;
                return Ok(Lock {
                    _file: file,
                    path: lock,
                });
            }
        }
    }

    /// Refuses a folder in which a run goes on, leaving it as it is.
    ///
    /// # Errors
    /// Another run has it.
    pub(super) fn refuse_taken(path: &Path, shown: &Path) -> Result<()> {
        match path.join(LOCK).is_file() {
            true => Lock::take(path, shown).map(drop),
            false => Ok(()),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays does no harm: nobody holds it.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

/// Whether the open file is still the one of that name.
#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |m: std::fs::Metadata| (m.dev(), m.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(a), Ok(b)) => id(a) == id(b),
        _ => false,
    }
}

/// A file that is open cannot be removed.
#[cfg(not(unix))]
fn is_same(_: &File, path: &Path) -> bool {
    path.is_file()
}

/// Says whose the folder is.
fn note(mut file: &File) -> io::Result<()> {
    let holder = json!({
        "pid": std::process::id(),
        "host": host(),
        "since": timestamp(),
    });
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(format!("{holder}\n").as_bytes())
}

fn holder(lock: &Path) -> Value {
    let mut text = String::new();
    // Some systems do not let a locked file be read: the holder is then not known.
    let read = File::open(lock).and_then(|mut f| f.read_to_string(&mut text));
    read.ok()
        .and_then(|_| serde_json::from_str(&text).ok())
        .unwrap_or(Value::Null)
}

/// Whether a run on another machine, whose lock does not reach here, goes on in the folder.
fn on_another_machine(folder: &Path, lock: &Path) -> bool {
    let holder = holder(lock);
    holder["host"].as_str().is_some_and(|h| h != host()) && is_renewed(folder, lock)
}

/// Whether the run that `lock` names goes on, as far as can be told without locks.
fn is_alive(folder: &Path, lock: &Path) -> bool {
    let holder = holder(lock);
    match (holder["host"].as_str(), holder["pid"].as_u64()) {
        (Some(h), Some(pid)) if h == host() && Path::new("/proc/self").exists() => {
            pid != u64::from(std::process::id()) && Path::new(&format!("/proc/{pid}")).exists()
        }
        (Some(_), _) => is_renewed(folder, lock),
        _ => false,
    }
}

/// Whether lock or progress are younger than [`SILENT_S`].
fn is_renewed(folder: &Path, lock: &Path) -> bool {
    let age = |path: &Path| {
        let changed = std::fs::metadata(path).and_then(|m| m.modified()).ok()?;
        let changed = changed.duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
        Some(unix_seconds() - changed)
    };
    let ages = [age(lock), age(&folder.join(PROGRESS))];
    ages.into_iter().flatten().any(|age| age < SILENT_S)
}

fn host() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    host.trim().to_string()
}

fn taken(lock: &Path, shown: &Path) -> Error {
    let holder = holder(lock);
    let by = match (
        holder["pid"].as_u64(),
        holder["host"].as_str(),
        holder["since"].as_str(),
    ) {
        (Some(pid), Some(host), Some(since)) => {
            format!("process {pid} on {host} has been writing to it since {since}")
        }
        _ => "another run is writing to it".into(),
    };
    let message = format!(
        "{}: {by}; wait until it ends, or choose another folder with ⟨out DIR⟩",
        shown.display()
    );
    Error::new(ErrorKind::Io, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("fitzroy-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Scratch(path)
        }

        fn leave(&self, holder: &Value) {
            std::fs::write(self.0.join(LOCK), holder.to_string()).unwrap();
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_folder_is_taken_once_and_free_afterwards() {
        let scratch = Scratch::new("lock-once");
        let first = Lock::take(&scratch.0, Path::new("run")).unwrap();
        let error = Lock::take(&scratch.0, Path::new("run"))
            .unwrap_err()
            .to_string();
        let expected = format!("run: process {} on {} has been", std::process::id(), host());
        assert!(error.starts_with(&expected), "{error}");
        drop(first);
        assert!(!scratch.0.join(LOCK).exists());
        drop(Lock::take(&scratch.0, Path::new("run")).unwrap());
    }

    #[test]
    fn what_a_killed_run_leaves_is_taken_over() {
        let scratch = Scratch::new("lock-stale");
        scratch.leave(&json!({"pid": 1, "host": host(), "since": "then"}));
        drop(Lock::take(&scratch.0, Path::new("run")).unwrap());
        scratch.leave(&Value::Null);
        drop(Lock::take(&scratch.0, Path::new("run")).unwrap());
    }

    #[test]
    fn a_run_on_another_machine_is_over_when_it_has_been_silent() {
        let scratch = Scratch::new("lock-host");
        scratch.leave(&json!({"pid": 1, "host": "elsewhere", "since": "then"}));
        let error = Lock::take(&scratch.0, Path::new("run"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("process 1 on elsewhere"), "{error}");
        let long_ago = UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let file = OpenOptions::new()
            .write(true)
            .open(scratch.0.join(LOCK))
            .unwrap();
        file.set_modified(long_ago).unwrap();
        drop(Lock::take(&scratch.0, Path::new("run")).unwrap());
    }

    #[test]
    fn without_locks_the_process_decides() {
        let scratch = Scratch::new("lock-none");
        let lock = scratch.0.join(LOCK);
        let alive = |pid: u32| {
            scratch.leave(&json!({"pid": pid, "host": host(), "since": "then"}));
            is_alive(&scratch.0, &lock)
        };
        assert!(alive(std::os::unix::process::parent_id()));
        assert!(!alive(u32::MAX - 1));
    }
}
