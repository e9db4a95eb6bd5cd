//! Compiled kernels on disk, by the content of what they were compiled from.
//!
//! An entry holds its whole key, so that two keys with one name cannot be confused, and a sum over
//! everything, so that a damaged one is compiled again.

use crate::Fnv;
use std::fs;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"FZCUBIN1";
/// Above this the entries written first are removed.
const MOST_BYTES: u64 = 1 << 30;

/// A folder of compiled kernels.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    most_bytes: u64,
}

impl Cache {
    /// The folder `cubin` in `folder`; made when something is written.
    pub fn new(folder: &Path) -> Cache {
        Cache {
            folder: folder.join("cubin"),
            most_bytes: MOST_BYTES,
        }
    }

    /// The same with another limit.
    #[must_use]
    pub fn with_most_bytes(mut self, most_bytes: u64) -> Cache {
        self.most_bytes = most_bytes;
        self
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder
            .join(format!("{:016x}", Fnv::of(key.as_bytes())))
    }

    /// What was compiled from `key`; none if nothing was, or it is damaged.
    pub fn read(&self, key: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.path(key)).ok()?;
        let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(8)?)?;
        if Fnv::of(body).to_le_bytes() != sum {
            return None;
        }
        let body = body.strip_prefix(MAGIC)?;
        let (len, body) = body.split_at_checked(8)?;
        let len = usize::try_from(u64::from_le_bytes(len.try_into().ok()?)).ok()?;
        let (stored, cubin) = body.split_at_checked(len)?;
        (stored == key.as_bytes()).then(|| cubin.to_vec())
    }

    /// Keeps what was compiled from `key`.
    ///
    /// # Errors
    /// The folder cannot be written: a note for the user, not a reason to stop.
    pub fn write(&self, key: &str, cubin: &[u8]) -> Result<(), String> {
        let path = self.path(key);
        let io = |e: std::io::Error| format!("{}: {e}", path.display());
        fs::create_dir_all(&self.folder).map_err(io)?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend((key.len() as u64).to_le_bytes());
        bytes.extend(key.as_bytes());
        bytes.extend(cubin);
        bytes.extend(Fnv::of(&bytes).to_le_bytes());
        // Complete under its own name or not there at all.
        let partial = self.folder.join(format!("partial-{}", std::process::id()));
        fs::write(&partial, bytes)
            .and_then(|()| fs::rename(&partial, &path))
            .map_err(io)?;
        self.shrink(&path);
        Ok(())
    }

    /// Removes the entries written first until the rest fits, but not `newest`.
    fn shrink(&self, newest: &Path) {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries
            .filter_map(|e| {
                let facts = e.metadata().ok()?;
                Some((facts.modified().ok()?, facts.len(), e.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|f| f.1).sum();
        for (_, len, path) in files {
            if total <= self.most_bytes {
                return;
            }
            // Another process may have been faster.
            if path != newest && fs::remove_file(&path).is_ok() {
                total -= len;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("fitzroy-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        path
    }

    #[test]
    fn what_was_kept_comes_back_and_nothing_else() {
        let root = folder("cache");
        let cache = Cache::new(&root);
        assert_eq!(cache.read("a"), None);
        cache.write("a", b"kernel").unwrap();
        assert_eq!(cache.read("a").unwrap(), b"kernel");
        assert_eq!(cache.read("b"), None);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_damaged_entry_is_as_good_as_none() {
        let root = folder("damage");
        let cache = Cache::new(&root);
        cache.write("a", b"kernel").unwrap();
        let path = cache.path("a");
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, &bytes).unwrap();
            assert_eq!(cache.read("a"), None, "byte {at}");
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(cache.read("a"), None, "cut at {at}");
        }
        // Another key under the same name.
        cache.write("b", b"other").unwrap();
        fs::copy(cache.path("b"), &path).unwrap();
        assert_eq!(cache.read("a"), None);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn the_oldest_entries_make_room() {
        let root = folder("room");
        let cache = Cache::new(&root).with_most_bytes(5000);
        for key in ["a", "b", "c"] {
            cache.write(key, &[0; 2000]).unwrap();
        }
        assert_eq!(cache.read("c").unwrap().len(), 2000);
        let left = ["a", "b"]
            .iter()
            .filter(|k| cache.read(k).is_some())
            .count();
        assert_eq!(left, 1);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_a_note() {
        let cache = Cache::new(Path::new("/proc/nowhere"));
        assert!(
            cache
                .write("a", b"kernel")
                .unwrap_err()
                .contains("/proc/nowhere")
        );
    }
}
