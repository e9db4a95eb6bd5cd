//! Numbers in a file without a name that is mapped into memory: for arrays larger than memory.

use bytemuck::{cast_slice, cast_slice_mut};
use memmap2::MmapMut;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::{Deref, DerefMut, Range};
use std::path::Path;

/// An array of numbers in a file. The file has no name, and is gone when this is dropped or the
/// process ends, however it ends.
///
/// ```
/// use fitzroy_device::scratch::Scratch;
///
/// let mut numbers = Scratch::new(&std::env::temp_dir(), 1000, 0.0)?;
/// numbers[7] = 1.5;
/// numbers.write_out(0..10)?;
/// assert_eq!(numbers.iter().sum::<f32>(), 1.5);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Scratch(MmapMut);

impl Scratch {
    /// `len` times `number`, in a file of a folder.
    ///
    /// # Errors
    /// The folder cannot be written to, or has no room. Numbers are written, and not only promised,
    /// so that a full disk is an error here and not a signal that ends the process later.
    pub fn new(folder: &Path, len: usize, number: f32) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(1 << 20, tempfile::tempfile_in(folder)?);
        let block = [number; 1 << 14];
        for first in (0..len).step_by(block.len()) {
            let n = block.len().min(len - first);
            out.write_all(cast_slice(&block[..n]))?;
        }
        let file: File = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_data()?;
        // SAFETY: the file has no name, so that nobody else changes or cuts it while it is mapped.
        Ok(Scratch(unsafe { MmapMut::map_mut(&file)? }))
    }

    /// Waits until numbers of a range are on the disk. Pages that were changed cannot be dropped
    /// before, and a process with a limit may have no room for many of them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_out(&self, range: Range<usize>) -> io::Result<()> {
        self.0.flush_range(4 * range.start, 4 * range.len())
    }

    /// Asks the system to fetch numbers that will be read soon.
    pub fn fetch(&self, range: Range<usize>) {
        // It is advice: what comes of it changes no number.
        #[cfg(unix)]
        let _ = (self.0).advise_range(memmap2::Advice::WillNeed, 4 * range.start, 4 * range.len());
        #[cfg(not(unix))]
        let _ = range;
    }
}

impl Deref for Scratch {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        cast_slice(&self.0)
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [f32] {
        cast_slice_mut(&mut self.0)
    }
}
