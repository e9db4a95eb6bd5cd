//! Memory of the host that a copy is still on its way from, or to.

/// Bytes of the host, which must be there.
pub(super) fn read(from: usize, n: usize) -> Vec<u8> {
    // SAFETY: whoever asked for the copy keeps this memory until the copy was waited for, as CUDA demands.
    unsafe { std::slice::from_raw_parts(from as *const u8, n) }.to_vec()
}

/// Writes bytes of the host, which must be there.
pub(super) fn write(to: usize, bytes: &[u8]) {
    // SAFETY: as above, and nobody else uses them meanwhile.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) }
}
