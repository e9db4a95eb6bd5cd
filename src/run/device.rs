//! What a run is made on: threads of this process, or a machine for kernels, and how many of its
//! threads a chain gets there.

use crate::fit::sample::kernel::{Lower, Remote};
use fitzroy_device::gpu::text::Source;
use fitzroy_device::gpu::{Gpu, MOST_MEMBERS, Machine};
use std::fmt;
use std::sync::{Arc, Mutex};

/// How many threads of a machine a chain gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Team {
    /// As many as are predicted to be fastest, see [`Load::team`].
    #[default]
    Auto,
    /// So many: a multiple of 32 up to 256, or of 256.
    Threads(usize),
    /// Those of as many blocks as there are multiprocessors for each chain.
    Sharded,
}

/// Where the transitions of a run are made.
#[derive(Clone, Default)]
pub struct Device {
    machine: Option<Arc<Mutex<dyn Machine>>>,
    team: Team,
    multiprocessors: usize,
    memory_bytes: u64,
    budget_ns: Option<u64>,
}

/// What decides how many threads a chain gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Coordinates.
    pub dim: usize,
    /// Elements computed for a gradient.
    pub n_operations: f64,
    /// Chains.
    pub chains: usize,
    /// Multiprocessors whose blocks can wait for each other; 0 or 1 where none can.
    pub multiprocessors: usize,
    /// Bytes of memory; 0 if they are not known.
    pub memory_bytes: u64,
}

/// Teams of a warp pay where there are many chains of few numbers each.
const MANY_CHAINS: usize = 64;
/// Coordinates above which a warp is too small for a chain.
const FEW_COORDINATES: usize = 256;
/// Threads of a block that has a chain to itself.
const BLOCK_TEAM: usize = 128;
/// Threads of a warp.
const WARP_TEAM: usize = 32;
/// Bytes that each block keeps of every coordinate, in vectors of its own.
const OWN_BYTES: u64 = 450;
/// Of so much memory the vectors of blocks may take one byte.
const BYTES_TO_OWN: u64 = 4;
/// Bytes of memory that any GPU has.
const LEAST_MEMORY: u64 = 2 << 30;
/// A chain is spread over multiprocessors where that is predicted to take less than this share of
/// the time: how long blocks wait for each other is the least certain number of all.
const WORTH: f64 = 0.7;

/// Instructions of one elementwise operation, a mean of sums and of exponentials.
pub(super) const INSTRUCTIONS: f64 = 10.0;
/// Clocks from one instruction of a thread to the next that needs it, and what several warps to a
/// scheduler hide of them.
const LATENCY: f64 = 6.0;
/// Clocks of a leapfrog step that no thread shares: barriers, sums, the tree. Of a small density in the
/// compiler's code, see the estimate in docs/gpu.md.
const SERIAL: f64 = 4_000.0;
/// Meetings of all blocks for a gradient, and clocks of one: a microsecond and more.
const MEETINGS: f64 = 12.0;
const MEETING: f64 = 2_000.0;

impl Load {
    /// Threads of a chain that is spread over as many multiprocessors as there are for it; none where
    /// there are not two.
    pub fn sharded(&self) -> Option<usize> {
        let blocks = self.multiprocessors / self.chains.max(1);
        let memory = self.memory_bytes.max(LEAST_MEMORY) / BYTES_TO_OWN;
        let room = memory / (OWN_BYTES * (self.dim * self.chains).max(1) as u64);
        let blocks = blocks.min((room as usize).max(2));
        (blocks >= 2).then_some(blocks * MOST_MEMBERS)
    }

    /// Clocks of a leapfrog step of one chain of `team` threads: an estimate.
    pub fn clocks(&self, team: usize) -> f64 {
        let meetings = match team > MOST_MEMBERS {
            true => MEETINGS * MEETING,
            false => 0.0,
        };
        SERIAL + meetings + LATENCY * INSTRUCTIONS * self.n_operations / team as f64
    }

    /// Threads to a chain that are predicted to be fastest: a warp for many small chains, else a
    /// block, or several for heavy densities with few chains.
    pub fn team(&self) -> usize {
        let team = match self.dim <= FEW_COORDINATES && self.chains >= MANY_CHAINS {
            true => WARP_TEAM,
            false => BLOCK_TEAM,
        };
        let sharded = self.sharded();
        let faster = sharded.filter(|&t| self.clocks(t) < WORTH * self.clocks(team));
        faster.unwrap_or(team)
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
            ..Self::default()
        }
    }

    /// A GPU: with all multiprocessors whose blocks can wait for each other, and with launches as short as
    /// its watchdog asks for.
    pub fn gpu(gpu: Gpu) -> Self {
        let (multiprocessors, description) = (gpu.meeting(), &gpu.description);
        let budget_ns = description.launch_budget_ns();
        let memory_bytes = description.free_bytes.unwrap_or(description.memory_bytes);
        Self::machine(gpu)
            .with_multiprocessors(multiprocessors)
            .with_memory_bytes(memory_bytes)
            .with_budget_ns(budget_ns)
    }

    /// The same with other teams.
    pub fn with_team(self, team: Team) -> Self {
        Device { team, ..self }
    }

    /// The same with so many multiprocessors whose blocks can wait for each other.
    pub fn with_multiprocessors(self, multiprocessors: usize) -> Self {
        Device {
            multiprocessors,
            ..self
        }
    }

    /// The same with so many bytes of memory.
    pub fn with_memory_bytes(self, memory_bytes: u64) -> Self {
        Device {
            memory_bytes,
            ..self
        }
    }

    /// The same where launches begin no further transition after so many nanoseconds: for a GPU whose
    /// watchdog ends long kernels. A single transition is never cut.
    pub fn with_budget_ns(self, budget_ns: Option<u64>) -> Self {
        Device { budget_ns, ..self }
    }

    /// Whether it is a machine for kernels.
    pub fn is_machine(&self) -> bool {
        self.machine.is_some()
    }

    /// Threads to a chain, for `chains` chains of `dim` coordinates with `n_operations` elements
    /// computed for a gradient.
    pub fn team(&self, dim: usize, n_operations: f64, chains: usize) -> usize {
        let load = Load {
            dim,
            n_operations,
            chains,
            multiprocessors: self.multiprocessors,
            memory_bytes: self.memory_bytes,
        };
        match self.team {
            Team::Auto => load.team(),
            Team::Threads(n) => n,
            Team::Sharded => load.sharded().unwrap_or(BLOCK_TEAM),
        }
    }

    /// What advances the chains of `source`, or of `lower` while that agrees; none on threads.
    pub(super) fn remote<'a>(
        &'a self,
        source: Arc<Source>,
        lower: Option<Lower<'a>>,
        team: usize,
    ) -> Option<Remote<'a>> {
        let machine = self.machine.as_deref()?;
        Some(Remote {
            source,
            lower,
            machine,
            team,
            budget_ns: self.budget_ns,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn load(dim: usize, n_operations: f64, chains: usize) -> Load {
        Load {
            dim,
            n_operations,
            chains,
            multiprocessors: 132,
            memory_bytes: 0,
        }
    }

    #[test]
    fn heavy_densities_with_few_chains_are_spread_over_multiprocessors() {
        // 33 of 132 multiprocessors to each of four chains, all of them to one.
        assert_eq!(load(1_122, 1e6, 4).team(), 33 * 256);
        assert_eq!(load(1_122, 1e6, 1).team(), 132 * 256);
        // Where there is little to share, or nobody to share it with, a block; and a warp.
        assert_eq!(load(1_122, 1e4, 4).team(), 128);
        assert_eq!(load(1_122, 1e6, 100).team(), 128);
        assert_eq!(load(100, 1e4, 64).team(), 32);
        // A slice of a GPU, and machines whose blocks cannot meet.
        for multiprocessors in [0, 1, 4] {
            let small = Load {
                multiprocessors,
                ..load(1_122, 1e6, 4)
            };
            assert_eq!(small.team(), 128);
        }
    }

    #[test]
    fn copies_of_long_vectors_take_a_part_of_the_memory() {
        assert_eq!(load(100_000, 1e8, 1).sharded(), Some(11 * 256));
        assert_eq!(load(1_000_000, 1e8, 1).sharded(), Some(2 * 256));
        // A study of 8,000 children, eleven parameters each, on a card of 80 GB: no multiprocessor idles.
        let study = Load {
            memory_bytes: 80_000_000_000,
            multiprocessors: 114,
            ..load(88_022, 1e8, 4)
        };
        assert_eq!(study.sharded(), Some(28 * 256));
    }
}
