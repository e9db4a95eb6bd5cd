//! Copies to a GPU and from it: long ones from it come piece by piece through memory that the GPU writes by
//! itself. Going there that way, too, was no faster: the driver does the same.

use super::super::machine::{Take, Words};
use super::super::trouble::Trouble;
use super::{COPIES, Gpu};
use std::ffi::c_void;

/// Words of a copy to the host that is made at once, and of the pieces of a longer one: 4 MiB.
const PIECE: usize = 1 << 19;

impl Gpu {
    pub(super) fn copy_there(&self, at: u64, words: &[u64]) -> std::result::Result<(), Trouble> {
        self.enter()?;
        let bytes = std::mem::size_of_val(words);
        let (write, stream) = (self.driver.functions.write, self.streams[COPIES]);
        // SAFETY: the address is inside memory reserved here, and the words are there to be read: the
        // driver has taken them out of this memory, which is not pinned, when the call returns.
        let status = unsafe { write(at, words.as_ptr().cast(), bytes, stream) };
        self.driver.check("cuMemcpyHtoDAsync", status)
    }

    pub(super) fn copy_here(
        &mut self,
        words: Words,
        take: Take<'_>,
    ) -> std::result::Result<(), Trouble> {
        self.enter()?;
        if words.len > PIECE {
            return self.copy_in_pieces(words, take);
        }
        self.few.resize(words.len, 0);
        self.copy_at_once(words)?;
        take(&self.few);
        Ok(())
    }

    fn copy_at_once(&mut self, Words { at, len, .. }: Words) -> std::result::Result<(), Trouble> {
        let bytes = 8 * len;
        let (f, stream) = (&self.driver.functions, self.streams[COPIES]);
        // SAFETY: the address is inside memory reserved here, and the words may be written until the
        // stream is waited for.
        let status = unsafe { (f.read)(self.few.as_mut_ptr().cast(), at, bytes, stream) };
        self.driver.check("cuMemcpyDtoHAsync", status)?;
        // SAFETY: the stream was made here.
        let status = unsafe { (f.stream_wait)(stream) };
        self.driver.check("cuStreamSynchronize", status)
    }

    /// While a piece comes, the host takes the one before it.
    fn copy_in_pieces(
        &mut self,
        Words { at, len, part }: Words,
        take: Take<'_>,
    ) -> std::result::Result<(), Trouble> {
        let piece = (PIECE / part).max(1) * part;
        let mut places = [std::ptr::null_mut::<c_void>(); 2];
        for (place, pinned) in places.iter_mut().zip(&mut self.pinned) {
            *place = pinned.reserve(&self.driver, 8 * piece)?;
        }
        let (f, stream) = (&self.driver.functions, self.streams[COPIES]);
        let words = |k: usize| piece.min(len - k * piece);
        let ask = |k: usize| {
            let from = at + (8 * k * piece) as u64;
            // SAFETY: the address is inside memory reserved here, and the piece before the last one has
            // been taken from where this one goes.
            let status = unsafe { (f.read)(places[k % 2], from, 8 * words(k), stream) };
            self.driver.check("cuMemcpyDtoHAsync", status)?;
            // SAFETY: the event and the stream were made here.
            let status = unsafe { (f.event_record)(self.come[k % 2], stream) };
            self.driver.check("cuEventRecord", status)
        };
        let n = len.div_ceil(piece);
        ask(0)?;
        for k in 0..n {
            if k + 1 < n {
                ask(k + 1)?;
            }
            // SAFETY: as above.
            let status = unsafe { (f.event_wait)(self.come[k % 2]) };
            self.driver.check("cuEventSynchronize", status)?;
            let place = places[k % 2].cast::<u64>();
            // SAFETY: that many words have come, and nothing writes them until they are asked for.
            take(unsafe { std::slice::from_raw_parts(place, words(k)) });
        }
        Ok(())
    }
}
