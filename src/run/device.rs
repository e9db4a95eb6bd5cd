//! What a run is made on: threads of this process, or a machine for kernels.

use crate::fit::sample::kernel::{Lower, Remote};
use fitzroy_device::gpu::Machine;
use fitzroy_device::gpu::text::Source;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Where the transitions of a run are made.
#[derive(Clone, Default)]
pub struct Device {
    machine: Option<Arc<Mutex<dyn Machine>>>,
    team: Option<usize>,
}

/// Teams of a warp pay where there are many chains of few numbers each.
const MANY_CHAINS: usize = 64;
/// Coordinates above which a warp is too small for a chain.
const FEW_COORDINATES: usize = 256;
/// Threads of a block that has a chain to itself.
const BLOCK_TEAM: usize = 128;
/// Threads of a warp.
const WARP_TEAM: usize = 32;

/// Threads to a chain, for `n_chains` chains of `dim` coordinates.
pub fn team(dim: usize, n_chains: usize) -> usize {
    if dim <= FEW_COORDINATES && n_chains >= MANY_CHAINS {
        WARP_TEAM
    } else {
        BLOCK_TEAM
    }
}

impl Device {
    /// Threads of this process.
    pub fn threads() -> Self {
        Self::default()
    }

    /// A machine for kernels.
    pub fn machine(machine: impl Machine + 'static) -> Self {
        Device {
            machine: Some(Arc::new(Mutex::new(machine))),
            team: None,
        }
    }

    /// The same with `team` threads to a chain, instead of as many as [`team`] says.
    pub fn with_team(self, team: usize) -> Self {
        Device {
            team: Some(team),
            ..self
        }
    }

    /// Whether it is a machine for kernels.
    pub fn is_machine(&self) -> bool {
        self.machine.is_some()
    }

    /// What advances the chains of `source`, or of `lower` while that agrees; none on threads.
    pub(super) fn remote<'a>(
        &'a self,
        source: Arc<Source>,
        lower: Option<Lower<'a>>,
        n_chains: usize,
    ) -> Option<Remote<'a>> {
        let machine = self.machine.as_deref()?;
        let team = self.team.unwrap_or_else(|| team(source.dim, n_chains));
        Some(Remote {
            source,
            lower,
            machine,
            team,
        })
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.is_machine() {
            true => "Device::machine",
            false => "Device::threads",
        })
    }
}
