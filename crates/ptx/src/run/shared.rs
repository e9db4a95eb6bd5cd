//! The memory of a block, which tells bytes that nobody has written.

use super::memory::SHARED_WINDOW;
use crate::{Fault, Result};

/// Shared memory of one block.
pub(super) struct Shared {
    bytes: Vec<u8>,
    written: Vec<bool>,
}

impl Shared {
    pub(super) fn new(bytes: u32) -> Shared {
        Shared {
            bytes: vec![0xf4; bytes as usize],
            written: vec![false; bytes as usize],
        }
    }

    fn range(&self, at: u64, n: usize, line: u32) -> Result<std::ops::Range<usize>> {
        let from = at.wrapping_sub(SHARED_WINDOW);
        let inside = from.saturating_add(n as u64) <= self.bytes.len() as u64;
        let from = from as usize;
        inside.then(|| from..from + n).ok_or_else(|| {
            let all = self.bytes.len();
            Fault::new(
                line,
                format!("{n} bytes at {from} of {all} of shared memory: outside"),
            )
        })
    }

    pub(super) fn bytes(&self, at: u64, n: usize, line: u32) -> Result<&[u8]> {
        let range = self.range(at, n, line)?;
        if !self.written[range.clone()].iter().all(|&w| w) {
            let from = range.start;
            let text =
                format!("{n} bytes at {from} of shared memory are read, and nobody wrote them");
            return Err(Fault::new(line, text));
        }
        Ok(&self.bytes[range])
    }

    pub(super) fn bytes_mut(&mut self, at: u64, n: usize, line: u32) -> Result<&mut [u8]> {
        let range = self.range(at, n, line)?;
        self.written[range.clone()].fill(true);
        Ok(&mut self.bytes[range])
    }
}
