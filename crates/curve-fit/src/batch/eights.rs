//! Numbers of eight problems side by side, each eight in a line of the cache.

use std::ops::{Deref, DerefMut};

/// Numbers of eight problems.
pub(super) type Eight = [f64; 8];

/// Many of them. Every one begins a line of the cache: registers of eight that lie across two lines
/// are read twice.
#[derive(Default)]
pub(super) struct Eights {
    numbers: Vec<f64>,
    first: usize,
}

impl Eights {
    /// `n` times eight zeros.
    pub(super) fn zeros(n: usize) -> Self {
        let numbers = vec![0.0; 8 * n + 7];
        let first = numbers.as_ptr().align_offset(64).min(7);
        Eights { numbers, first }
    }
}

impl Deref for Eights {
    type Target = [Eight];

    #[inline(always)]
    fn deref(&self) -> &[Eight] {
        self.numbers[self.first..].as_chunks().0
    }
}

impl DerefMut for Eights {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [Eight] {
        self.numbers[self.first..].as_chunks_mut().0
    }
}
