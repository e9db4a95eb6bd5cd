//! What a run is made on: threads of this process, or machines for kernels, and how many of their
//! threads a chain gets there.

use super::plan::Inventory;
use crate::fit::sample::kernel::{Lower, Record, Remote, Worker};
use fitzroy_device::gpu::text::{Precision, Source};
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
#[derive(Clone)]
pub struct Device {
    /// One, unless it is several machines.
    places: Vec<Place>,
    team: Team,
}

/// This process, or a machine for kernels.
#[derive(Clone)]
struct Place {
    machine: Option<Arc<Mutex<dyn Machine>>>,
    record: Arc<Record>,
    speed: f64,
    most_chains: usize,
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

impl Default for Device {
    fn default() -> Self {
        Device::threads()
    }
}

impl Device {
    fn at(machine: Option<Arc<Mutex<dyn Machine>>>) -> Self {
        let place = Place {
            machine,
            record: Arc::default(),
            speed: 1.0,
            most_chains: usize::MAX,
            multiprocessors: 0,
            memory_bytes: 0,
            budget_ns: None,
        };
        Device {
            places: vec![place],
            team: Team::default(),
        }
    }

    /// Threads of this process.
    pub fn threads() -> Self {
        Self::at(None)
    }

    /// A machine for kernels.
    pub fn machine(machine: impl Machine + 'static) -> Self {
        Self::at(Some(Arc::new(Mutex::new(machine))))
    }

    /// A GPU: with all multiprocessors whose blocks can wait for each other, and with launches as short as
    /// its watchdog asks for; as fast as it is predicted to be in `precision`.
    pub fn gpu(gpu: Gpu, precision: Precision) -> Self {
        let (multiprocessors, description) = (gpu.meeting(), &gpu.description);
        let budget_ns = description.launch_budget_ns();
        let memory_bytes = description.free_bytes.unwrap_or(description.memory_bytes);
        let inventory = Inventory::of(description, precision);
        Self::machine(gpu)
            .with_multiprocessors(multiprocessors)
            .with_memory_bytes(memory_bytes)
            .with_budget_ns(budget_ns)
            .with_speed(inventory.seconds(1.0).recip())
            .with_label(inventory.label)
    }

    /// All of these machines, which share the chains of a run by their speeds. The draws are those of one.
    pub fn several(machines: impl IntoIterator<Item = Device>) -> Self {
        let mut machines = machines.into_iter();
        let mut all = machines.next().unwrap_or_default();
        all.places.extend(machines.flat_map(|one| one.places));
        all
    }

    fn with(mut self, change: impl Fn(&mut Place)) -> Self {
        self.places.iter_mut().for_each(change);
        self
    }

    /// The same with other teams.
    pub fn with_team(self, team: Team) -> Self {
        Device { team, ..self }
    }

    /// The same with so many multiprocessors whose blocks can wait for each other.
    pub fn with_multiprocessors(self, multiprocessors: usize) -> Self {
        self.with(|place| place.multiprocessors = multiprocessors)
    }

    /// The same with so many bytes of memory.
    pub fn with_memory_bytes(self, memory_bytes: u64) -> Self {
        self.with(|place| place.memory_bytes = memory_bytes)
    }

    /// The same where launches begin no further transition after so many nanoseconds: for a GPU whose
    /// watchdog ends long kernels. A single transition is never cut.
    pub fn with_budget_ns(self, budget_ns: Option<u64>) -> Self {
        self.with(|place| place.budget_ns = budget_ns)
    }

    /// The same with another speed; among several machines only ratios count.
    pub fn with_speed(self, speed: f64) -> Self {
        self.with(|place| place.speed = speed)
    }

    /// The same with memory for so many chains.
    pub fn with_most_chains(self, most_chains: usize) -> Self {
        self.with(|place| place.most_chains = most_chains)
    }

    /// The same under another name, with a record of its own.
    pub fn with_label(self, label: impl Into<String>) -> Self {
        let record = Arc::new(Record::new(label));
        self.with(|place| place.record = Arc::clone(&record))
    }

    /// Whether it is a machine for kernels, or several.
    pub fn is_machine(&self) -> bool {
        self.places[0].machine.is_some()
    }

    /// The speed of each machine.
    pub fn speeds(&self) -> impl Iterator<Item = f64> {
        self.places.iter().map(|place| place.speed)
    }

    /// What each machine has done; nothing is known of threads.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        let machines = self.places.iter().filter(|place| place.machine.is_some());
        machines.map(|place| &*place.record)
    }

    /// Threads to a chain, for `chains` chains of `dim` coordinates with `n_operations` elements
    /// computed for a gradient; of several machines on the first.
    pub fn team(&self, dim: usize, n_operations: f64, chains: usize) -> usize {
        self.places[0].team(self.team, dim, n_operations, chains)
    }

    /// What advances the chains of `source`, or of `lower` while that agrees, in `dim` coordinates with
    /// `n_operations` elements computed for a gradient; none on threads.
    pub(super) fn remote<'a>(
        &'a self,
        source: Arc<Source>,
        lower: Option<Lower<'a>>,
        n_operations: f64,
    ) -> Option<Remote<'a>> {
        let dim = source.dim;
        let worker = |place: &'a Place| {
            let team = self.team;
            Some(Worker {
                machine: place.machine.as_deref()?,
                record: &place.record,
                speed: place.speed,
                most_chains: place.most_chains,
                team: Box::new(move |n| place.team(team, dim, n_operations, n)),
                budget_ns: place.budget_ns,
            })
        };
        let workers: Vec<Worker<'a>> = self.places.iter().filter_map(worker).collect();
        (!workers.is_empty()).then_some(Remote {
            source,
            lower,
            workers,
        })
    }
}

impl Place {
    fn team(&self, asked: Team, dim: usize, n_operations: f64, chains: usize) -> usize {
        let load = Load {
            dim,
            n_operations,
            chains,
            multiprocessors: self.multiprocessors,
            memory_bytes: self.memory_bytes,
        };
        match asked {
            Team::Auto => load.team(),
            Team::Threads(n) => n,
            Team::Sharded => load.sharded().unwrap_or(BLOCK_TEAM),
        }
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
