//! What runs a kernel: memory in words of eight bytes, a program, launches.

use fitzroy_graph::{Error, Result};

/// A kernel, as text after the header of the machine that will run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its functions and the entry `advance(const Job *job)`.
    pub text: String,
    /// Threads that share one piece of work: 32 (a warp), a multiple of it up to [`MOST_MEMBERS`] (a
    /// block), or a multiple of that (so many blocks, each on a multiprocessor of its own). A machine
    /// that stands in for a GPU may take any number from 1 on for a block.
    pub team: usize,
}

/// Threads of a block at most: a thread may need 255 registers, and a multiprocessor has 65,536.
pub const MOST_MEMBERS: usize = 256;

/// How many blocks share one piece of work where `team` threads do.
pub fn blocks(team: usize) -> usize {
    match team > MOST_MEMBERS {
        true => team / MOST_MEMBERS,
        false => 1,
    }
}

/// Threads of a block that holds several teams.
const BLOCK: usize = 128;
/// Threads of a warp.
const WARP: usize = 32;

/// The shape of a launch on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks.
    pub blocks: usize,
    /// Threads of each.
    pub threads: usize,
    /// Whether all blocks have to run at the same time, for they wait for each other.
    pub together: bool,
}

impl Program {
    /// How many blocks share one piece of work.
    pub fn blocks(&self) -> usize {
        blocks(self.team)
    }

    /// The launch for `n_teams` teams.
    pub fn grid(&self, n_teams: usize) -> Grid {
        // Warps may share a block, for they meet by warp; larger teams meet by block, or by blocks.
        let (threads, blocks) = match (self.team, self.blocks()) {
            (WARP, _) => (BLOCK, n_teams.div_ceil(BLOCK / WARP)),
            (team, 1) => (team, n_teams),
            (_, blocks) => (MOST_MEMBERS, n_teams * blocks),
        };
        Grid {
            blocks,
            threads,
            together: self.blocks() > 1,
        }
    }
}

/// What the host does while a program runs, with the machine that runs it: memory that the program
/// uses must be left alone.
pub type Meanwhile<'m> = &'m mut dyn FnMut(&mut dyn Machine) -> Result<()>;

/// Nothing, while a program runs.
///
/// # Errors
/// None.
pub fn idle(_: &mut dyn Machine) -> Result<()> {
    Ok(())
}

/// Does `work` for each of several machines at the same time, on a thread of the host for each; for one on this
/// thread.
pub fn side_by_side<M: Send, R: Send>(
    machines: &mut [M],
    work: impl Fn(&mut M) -> R + Sync,
) -> Vec<R> {
    if let [only] = machines {
        return vec![work(only)];
    }
    std::thread::scope(|scope| {
        let work = &work;
        let begin = |machine| scope.spawn(move || work(machine));
        let threads: Vec<_> = machines.iter_mut().map(begin).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        let passed_on = |panic| std::panic::resume_unwind(panic);
        joined.map(|made| made.unwrap_or_else(passed_on)).collect()
    })
}

/// Why a run ends of which all machines have failed, by their labels. Of a single one it is what that says.
///
/// # Panics
/// There is none.
pub fn all_failed(machines: &[(&str, &Error)]) -> Error {
    if let [(_, only)] = machines {
        return (*only).clone();
    }
    let each = machines
        .iter()
        .map(|(label, why)| format!("{label}: {why}"));
    let each: Vec<String> = each.collect();
    let message = format!("all GPUs have failed: {}", each.join("; "));
    Error::new(machines[0].1.kind(), message)
}

/// Words in the memory of a machine, which are read from there in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The address of the first.
    pub at: u64,
    /// How many.
    pub len: usize,
    /// How many belong together and come together; at least 1.
    pub part: usize,
}

/// Is given words that have come from a machine.
pub type Take<'a> = &'a mut dyn FnMut(&[u64]);

/// Reads words from the address `at` into `words`.
///
/// # Errors
/// Those of the machine.
pub fn read_into(machine: &mut dyn Machine, at: u64, words: &mut [u64]) -> Result<()> {
    let from = Words {
        at,
        len: words.len(),
        part: 1,
    };
    let mut left = words;
    machine.read(from, &mut |come| {
        let (some, others) = std::mem::take(&mut left).split_at_mut(come.len());
        some.copy_from_slice(come);
        left = others;
    })
}

/// Runs kernels: a GPU, or this processor standing in for one in tests.
pub trait Machine: Send {
    /// Makes `program` the one that is launched; costs nothing where it already is.
    ///
    /// # Errors
    /// The text does not compile, or the machine does not take it.
    fn load(&mut self, program: &Program) -> Result<()>;

    /// The address of memory number `slot`, of at least `words` words of eight bytes. Growing it
    /// loses what was there.
    ///
    /// # Errors
    /// Not enough memory: how much was needed and how much is free.
    fn reserve(&mut self, slot: usize, words: usize) -> Result<u64>;

    /// Writes words to an address.
    ///
    /// # Errors
    /// Those of the machine.
    fn write(&mut self, at: u64, words: &[u64]) -> Result<()>;

    /// Reads words and gives them to `take`, in their order, some parts of them at a time: they may lie where
    /// the machine has written them, and others may be on their way.
    ///
    /// # Errors
    /// Those of the machine; what was given until then is right.
    fn read(&mut self, words: Words, take: Take<'_>) -> Result<()>;

    /// Runs the program with the job at address `job` for `n_teams` teams, and has the host do
    /// something `meanwhile`; the seconds it took, NaN where nobody measured.
    ///
    /// # Errors
    /// Those of the machine, and of what was done meanwhile.
    fn launch(&mut self, job: u64, n_teams: usize, meanwhile: Meanwhile<'_>) -> Result<f64>;
}
