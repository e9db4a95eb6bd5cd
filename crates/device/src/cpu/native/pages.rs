//! Memory that can be executed: mapped writable, filled, then made readable and executable. It is
//! never writable and executable at once.

use std::io;

/// Code that can be called. Unmapped when dropped.
#[derive(Debug)]
pub(super) struct Pages {
    at: *mut libc::c_void,
    len: usize,
}

// SAFETY: the pages are never written after `new`, and only unmapped by their owner.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Pages that hold `code`.
    ///
    /// # Errors
    /// When the system gives no memory, or none that may be executed.
    pub(super) fn new(code: &[u8]) -> io::Result<Pages> {
        let len = code.len().max(1);
        let (read_write, read_execute) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::PROT_READ | libc::PROT_EXEC,
        );
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping touches no memory that is in use.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, read_write, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let pages = Pages { at, len };
        // SAFETY: the mapping is `len` bytes long, writable, and nobody else's.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), at.cast(), code.len()) };
        // SAFETY: the mapping is ours, and nothing writes to it any more.
        if unsafe { libc::mprotect(at, len, read_execute) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(pages)
    }

    /// The address of byte `offset` of the code.
    pub(super) fn address(&self, offset: usize) -> *const u8 {
        assert!(offset < self.len, "inside the code");
        self.at.cast_const().cast::<u8>().wrapping_add(offset)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours; functions in it are called only through the owner of these
        // pages, which is being dropped.
        unsafe { libc::munmap(self.at, self.len) };
    }
}
