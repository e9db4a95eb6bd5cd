//! What streams are asked for.

use std::sync::Arc;

/// A launch with its arguments.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    /// Number of the module, and name of the kernel.
    pub(super) module: usize,
    pub(super) kernel: String,
    pub(super) arguments: Vec<u8>,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    pub(super) together: bool,
}

/// One thing to do, by a GPU.
#[derive(Clone, Debug)]
pub(super) enum Deed {
    /// Bytes that have left the host.
    Arrive { to: u64, bytes: Arc<Vec<u8>> },
    /// Bytes that are still the host's.
    Fetch { to: u64, from: usize, n: usize },
    /// Bytes for the host.
    Bring { to: usize, from: u64, n: usize },
    /// The same byte everywhere.
    Fill { at: u64, value: u8, n: usize },
    /// A kernel.
    Launch(Launch),
    /// An event happens, for the time so and so.
    Record { event: usize, time: u64 },
    /// Nothing goes on before another stream has come so far.
    Wait { stream: usize, until: u64 },
    /// Several things, one after the other.
    All(Arc<Vec<Deed>>),
}
