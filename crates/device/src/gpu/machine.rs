//! What runs a kernel: memory in words of eight bytes, a program, launches.

use fitzroy_graph::Result;

/// A kernel, as text after the header of the machine that will run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its functions and the entry `advance(const Job *job)`.
    pub text: String,
    /// Threads that share one piece of work: 32 (a warp) or a multiple of it (a block). A machine
    /// that stands in for a GPU may take any number from 1 on.
    pub team: usize,
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

    /// Writes words to an address, once everything launched has ended.
    ///
    /// # Errors
    /// Those of the machine.
    fn write(&mut self, at: u64, words: &[u64]) -> Result<()>;

    /// Reads words from an address, once everything launched has ended.
    ///
    /// # Errors
    /// Those of the machine, among them what went wrong in a launch.
    fn read(&mut self, at: u64, words: &mut [u64]) -> Result<()>;

    /// Runs the program with the job at address `job` for `n_teams` teams; the seconds it took,
    /// NaN where nobody measured.
    ///
    /// # Errors
    /// Those of the machine.
    fn launch(&mut self, job: u64, n_teams: usize) -> Result<f64>;
}
