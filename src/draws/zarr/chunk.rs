//! Bytes of chunks, and files that appear whole.

use super::super::{Column, Flush, Labels};
use crate::{Error, ErrorKind, Result};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Little-endian bytes of all elements.
pub(super) fn bytes_of(column: &Column) -> Vec<u8> {
    let mut out = Vec::new();
    push(column, 0..len(column), &mut out);
    out
}

/// Appends the bytes of some elements.
pub(super) fn push(column: &Column, range: std::ops::Range<usize>, out: &mut Vec<u8>) {
    match column {
        Column::Real(v) => push_eights(v[range].iter().map(|x| x.to_le_bytes()), out),
        Column::Integer(v) => push_eights(v[range].iter().map(|x| x.to_le_bytes()), out),
        Column::Flag(v) => out.extend(v[range].iter().map(|&x| u8::from(x))),
    }
}

/// Makes room once and fills it as a whole, which is a plain copy on most machines.
fn push_eights(all: impl ExactSizeIterator<Item = [u8; 8]>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + 8 * all.len(), 0);
    let room = out[start..].as_chunks_mut().0;
    room.iter_mut().zip(all).for_each(|(to, x)| *to = x);
}

/// Bytes of labels: numbers, or `vlen-utf8` (a count, then length and text of each).
pub(super) fn bytes_of_labels(labels: &Labels) -> Vec<u8> {
    match labels {
        Labels::Integers(v) => v.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Labels::Text(v) => {
            let mut out = (v.len() as u32).to_le_bytes().to_vec();
            for text in v {
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
            }
            out
        }
    }
}

/// Number of elements.
pub(super) fn len(column: &Column) -> usize {
    match column {
        Column::Real(v) => v.len(),
        Column::Integer(v) => v.len(),
        Column::Flag(v) => v.len(),
    }
}

/// Writes a file beside its place and moves it there, so that it is never seen half written.
///
/// # Errors
/// The file cannot be written; the message says which, and whether the disk is full.
pub(crate) fn put_file(path: &Path, bytes: &[u8], flush: Flush) -> Result<()> {
    put(path, bytes, flush).map_err(|error| {
        let message = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full".into(),
            io::ErrorKind::FileTooLarge => "a file would exceed the limit for files".into(),
            _ => crate::data::io_message(&error),
        };
        let message = format!(
            "writing {} ({} bytes): {message}",
            path.display(),
            bytes.len()
        );
        Error::new(ErrorKind::Io, message)
    })
}

fn put(path: &Path, bytes: &[u8], flush: Flush) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let temporary = Path::new(&name);
    let written = (|| {
        let mut file = match File::create(temporary) {
            // Folders are made when they are first needed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
                File::create(temporary)?
            }
            other => other?,
        };
        file.write_all(bytes)?;
        if flush == Flush::Disk {
            file.sync_all()?;
        }
        drop(file);
        fs::rename(temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(temporary);
    }
    written
}

/// Makes the entries of a folder last, where the system can.
pub(super) fn flush_folder(path: &Path) {
    if let Ok(folder) = File::open(path) {
        let _ = folder.sync_all();
    }
}
