//! The numbers of an archive: in memory, or in a file mapped into memory when they do not fit.

use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::scratch::Scratch;
use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::path::PathBuf;

/// Bytes after which changed numbers of a file are written out, so that memory is not full of them;
/// an eighth of the memory that is free, if that is less.
const BLOCK_BYTES: u64 = 256 << 20;

/// Where the numbers of an archive may lie.
#[derive(Clone, Debug, Default)]
pub struct Room {
    /// Memory that is free, in bytes; none where the system does not tell. Numbers that need more
    /// than three quarters of it lie in a file.
    pub memory_bytes: Option<u64>,
    /// The folder of that file, which has no name there and is gone when the archive is; none
    /// where numbers that do not fit into memory are refused.
    pub folder: Option<PathBuf>,
}

impl Room {
    /// Room in memory alone, however much it takes.
    pub fn in_memory() -> Self {
        Room::default()
    }

    /// Whether so many bytes are more than memory should hold.
    fn is_short_of(&self, bytes: u64) -> bool {
        self.memory_bytes.is_some_and(|free| bytes > free / 4 * 3)
    }
}

/// Numbers of an archive. They are a slice, wherever they lie.
pub struct Values {
    held: Held,
    /// Where they begin in what is held.
    first: usize,
    len: usize,
}

enum Held {
    Memory(Vec<f32>),
    /// The file, and the bytes of a block.
    File(Scratch, u64),
}

impl Values {
    /// `len` numbers that are missing.
    ///
    /// # Errors
    /// They do not fit into memory, and the folder has no room for them either.
    pub(crate) fn missing(len: usize, room: &Room) -> Result<Self> {
        let bytes = 4 * len as u64;
        if !room.is_short_of(bytes) {
            return Ok(vec![f32::NAN; len].into());
        }
        let gib = |bytes: u64| bytes as f64 / (1_u64 << 30) as f64;
        let less = "read fewer files, ⟨variables⟩ or ⟨levels⟩, or a ⟨region⟩";
        let free = gib(room.memory_bytes.unwrap_or(0));
        let needed = format!(
            "the data need {:.1} GiB, {free:.1} GiB of memory is free",
            gib(bytes)
        );
        let Some(folder) = &room.folder else {
            let message = format!("{needed}; {less}");
            return Err(Error::new(ErrorKind::Device, message));
        };
        let file = Scratch::new(folder, len, f32::NAN);
        let block = room.memory_bytes.map_or(BLOCK_BYTES, |free| free / 8);
        let held = file.map(|file| Held::File(file, block.min(BLOCK_BYTES)));
        let held = held.map_err(|error| {
            let message = format!(
                "{needed}, and a file of that size cannot be made in {} ({error}); name a folder \
                 with more room by ⟨scratch⟩, or {less}",
                folder.display()
            );
            Error::new(ErrorKind::Io, message)
        })?;
        Ok(Values {
            held,
            first: 0,
            len,
        })
    }

    /// Whether they lie in a file.
    pub fn in_file(&self) -> bool {
        matches!(self.held, Held::File(..))
    }

    /// How many records of `record_len` numbers make a block that memory holds easily; all of them
    /// where they lie in memory.
    pub(super) fn records_at_once(&self, record_len: usize) -> usize {
        match self.held {
            Held::Memory(_) => (self.len / record_len.max(1)).max(1),
            Held::File(_, block) => (block as usize / 4 / record_len.max(1)).max(1),
        }
    }

    /// Writes out what was changed of a range, where it lies in a file. Otherwise memory fills with
    /// changed pages, which a limited process may not drop.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn settle(&self, range: Range<usize>) -> Result<()> {
        let Held::File(file, _) = &self.held else {
            return Ok(());
        };
        let written = file.write_out(self.first + range.start..self.first + range.end);
        written.map_err(|error| {
            let message = format!("the file of the data cannot be written: {error}");
            Error::new(ErrorKind::Io, message)
        })
    }

    /// Changes all records of `record_len` numbers, one after the other.
    ///
    /// # Errors
    /// Their file cannot be written.
    pub(super) fn change(
        &mut self,
        record_len: usize,
        mut change: impl FnMut(usize, &mut [f32]),
    ) -> Result<()> {
        let block = self.records_at_once(record_len);
        for first in (0..self.len / record_len.max(1)).step_by(block) {
            let start = first * record_len;
            let end = (start + block * record_len).min(self.len);
            let records = self[start..end].chunks_exact_mut(record_len);
            for (k, record) in records.enumerate() {
                change(first + k, record);
            }
            self.settle(start..end)?;
        }
        Ok(())
    }

    /// Asks the system to fetch numbers that will be read soon, if they lie in a file.
    pub(crate) fn fetch(&self, range: Range<usize>) {
        if let Held::File(file, _) = &self.held {
            file.fetch(self.first + range.start..self.first + range.end);
        }
    }

    /// Keeps some records of `record_len` numbers, by their numbers, which ascend. Where they stand
    /// one behind the other nothing is moved.
    ///
    /// # Errors
    /// Their file cannot be written.
    pub(super) fn keep(&mut self, record_len: usize, kept: &[usize]) -> Result<()> {
        let (first, n) = (kept.first().copied().unwrap_or(0), kept.len());
        if kept.last().is_none_or(|last| last + 1 - first == n) {
            self.first += first * record_len;
            self.len = n * record_len;
            return Ok(());
        }
        let block = self.records_at_once(record_len);
        let mut settled = 0;
        for (to, &from) in kept.iter().enumerate() {
            let record = from * record_len..(from + 1) * record_len;
            self.copy_within(record, to * record_len);
            if (to + 1) % block == 0 || to + 1 == n {
                self.settle(settled..(to + 1) * record_len)?;
                settled = (to + 1) * record_len;
            }
        }
        self.len = n * record_len;
        Ok(())
    }
}

impl From<Vec<f32>> for Values {
    fn from(all: Vec<f32>) -> Self {
        let len = all.len();
        let held = Held::Memory(all);
        Values {
            held,
            first: 0,
            len,
        }
    }
}

impl Deref for Values {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match &self.held {
            Held::Memory(all) => &all[self.first..][..self.len],
            Held::File(file, _) => &file[self.first..][..self.len],
        }
    }
}

impl DerefMut for Values {
    fn deref_mut(&mut self) -> &mut [f32] {
        match &mut self.held {
            Held::Memory(all) => &mut all[self.first..][..self.len],
            Held::File(file, _) => &mut file[self.first..][..self.len],
        }
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.in_file() { "a file" } else { "memory" };
        write!(f, "{} numbers in {place}", self.len)
    }
}

/// A copy in memory.
impl Clone for Values {
    fn clone(&self) -> Self {
        self.to_vec().into()
    }
}
