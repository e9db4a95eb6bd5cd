//! Where the files of a store lie: in a folder, or in a zip file.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use zip::ZipArchive;
use zip::result::ZipError;

/// The files of a store, by names with slashes below its root.
pub(crate) enum Files {
    Folder(PathBuf),
    /// A zip file, names of what it holds, and the folder in it that is the store: empty, or with
    /// a slash at its end.
    Zip(Box<Mutex<ZipArchive<File>>>, Vec<String>, String),
}

/// Which bytes of a file.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// So many from there on.
    From(u64, u64),
    /// So many at the end.
    Last(u64),
}

fn of_zip(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        ZipError::FileNotFound => io::Error::from(io::ErrorKind::NotFound),
        other => io::Error::other(format!("the zip file is damaged ({other})")),
    }
}

impl Files {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if !path.is_file() {
            return Ok(Files::Folder(path.to_path_buf()));
        }
        let archive = ZipArchive::new(File::open(path)?).map_err(of_zip)?;
        let roots = ["zarr.json", ".zgroup", ".zmetadata"];
        let names: Vec<String> = archive.file_names().flatten().map(String::from).collect();
        let prefixes = names.iter().filter_map(|name| {
            let (folder, file) = name.rsplit_once('/').unwrap_or(("", name.as_str()));
            roots.contains(&file).then(|| folder.to_string())
        });
        let shortest = prefixes.min_by_key(|folder| (folder.len(), folder.clone()));
        let Some(folder) = shortest else {
            let held = &names[..names.len().min(4)];
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "this zip file holds no Zarr store, it holds {}; unpack it first",
                    held.join(", ")
                ),
            ));
        };
        let prefix = match folder.as_str() {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        Ok(Files::Zip(Box::new(Mutex::new(archive)), names, prefix))
    }

    /// A whole file; an error of the kind `NotFound` where there is none.
    pub(super) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        match self {
            Files::Folder(root) => fs::read(root.join(name)),
            Files::Zip(archive, _, prefix) => {
                let mut archive = lock(archive);
                let file = archive
                    .by_name(&format!("{prefix}{name}"))
                    .map_err(of_zip)?;
                let packed = file.compressed_size() as usize;
                crate::data::unpack(file, packed)
            }
        }
    }

    /// Some bytes of a file.
    pub(super) fn part(&self, name: &str, part: Part) -> io::Result<Vec<u8>> {
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        match self {
            Files::Folder(root) => {
                let mut file = File::open(root.join(name))?;
                let all = file.metadata()?.len();
                let (start, n) = part.within(all).ok_or_else(short)?;
                file.seek(SeekFrom::Start(start))?;
                let mut bytes = Vec::new();
                file.take(n).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
            Files::Zip(..) => {
                let whole = self.read(name)?;
                let (start, n) = part.within(whole.len() as u64).ok_or_else(short)?;
                Ok(whole[start as usize..(start + n) as usize].to_vec())
            }
        }
    }

    /// Names of the folders in a folder.
    pub(super) fn folders(&self, name: &str) -> io::Result<Vec<String>> {
        match self {
            Files::Folder(root) => {
                let mut found = Vec::new();
                for entry in fs::read_dir(root.join(name))? {
                    let entry = entry?;
                    if entry.path().is_dir() {
                        found.push(entry.file_name().to_string_lossy().into_owned());
                    }
                }
                Ok(found)
            }
            Files::Zip(_, names, prefix) => {
                let start = match name {
                    "" => prefix.clone(),
                    name => format!("{prefix}{name}/"),
                };
                let below = names.iter().filter_map(|n| n.strip_prefix(start.as_str()));
                let folders = below.filter_map(|n| n.split_once('/').map(|(f, _)| f.to_string()));
                let mut found: Vec<String> = folders.collect();
                found.sort();
                found.dedup();
                Ok(found)
            }
        }
    }
}

impl Part {
    /// Where it begins in a file of so many bytes, and how many bytes it has.
    fn within(self, all: u64) -> Option<(u64, u64)> {
        match self {
            Part::From(start, n) => (start.checked_add(n)? <= all).then_some((start, n)),
            Part::Last(n) => Some((all.checked_sub(n)?, n)),
        }
    }
}

fn lock(archive: &Mutex<ZipArchive<File>>) -> MutexGuard<'_, ZipArchive<File>> {
    archive.lock().unwrap_or_else(|held| held.into_inner())
}
