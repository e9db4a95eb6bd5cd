//! Memory of the host that a GPU reads and writes by itself, while the host goes on. The driver takes any
//! other memory through such memory of its own, slowly.

use super::driver::Driver;
use super::trouble::Trouble;
use std::ffi::c_void;

/// One piece of it, which grows.
pub(super) struct Pinned {
    at: *mut c_void,
    bytes: usize,
}

impl Pinned {
    /// None yet.
    pub(super) const NONE: Pinned = Pinned {
        at: std::ptr::null_mut(),
        bytes: 0,
    };

    /// Where at least `bytes` bytes are; what was there may be lost. Nothing on the GPU may use it any more.
    pub(super) fn reserve(
        &mut self,
        driver: &Driver,
        bytes: usize,
    ) -> Result<*mut c_void, Trouble> {
        if self.bytes < bytes {
            self.release(driver);
            // SAFETY: the pointer is to memory of this record.
            let status = unsafe { (driver.functions.pinned_allocate)(&mut self.at, bytes, 0) };
            driver.check("cuMemHostAlloc", status)?;
            self.bytes = bytes;
        }
        Ok(self.at)
    }

    /// Gives it back; nothing on the GPU may use it any more.
    pub(super) fn release(&mut self, driver: &Driver) {
        if !self.at.is_null() {
            // SAFETY: it was allocated by `reserve`.
            unsafe { (driver.functions.pinned_free)(self.at) };
        }
        *self = Pinned::NONE;
    }
}
