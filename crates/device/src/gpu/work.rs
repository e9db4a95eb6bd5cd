//! Lists of kernels and products of matrices, and what runs them.

use fitzroy_graph::Result;

/// What products of matrices are computed in; sums are in f32 always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Math {
    /// f32.
    #[default]
    F32,
    /// Factors in f32, of which the products take 10 bits after the point.
    Tf32,
    /// Factors in bf16, and all that is kept of activations.
    Bf16,
}

impl Math {
    /// Its name: `f32`, `tf32`, `bf16`.
    pub fn name(self) -> &'static str {
        match self {
            Math::F32 => "f32",
            Math::Tf32 => "tf32",
            Math::Bf16 => "bf16",
        }
    }

    /// Bytes of a number that products read.
    pub fn bytes(self) -> u64 {
        match self {
            Math::F32 | Math::Tf32 => 4,
            Math::Bf16 => 2,
        }
    }
}

/// Words that a kernel is given.
pub const WORDS: usize = 20;

/// A kernel at work: word 0 is the number of its teams, a warp each.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Its name.
    pub kernel: &'static str,
    /// Addresses and numbers.
    pub words: [u64; WORDS],
}

/// c = a·b, or c += a·b, stored row by row without gaps; c is m × n, the sum runs over k.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Addresses of a, b and c; a and b hold what [`Math`] says.
    pub at: [u64; 3],
    /// m, n, k.
    pub size: [usize; 3],
    /// Whether a, and b, are stored turned round: k × m, n × k.
    pub turned: [bool; 2],
    /// Whether c is added to.
    pub add: bool,
    /// Whether c is in the type of a and b, too; else in f32.
    pub narrow: bool,
}

impl Product {
    /// The kernel that makes it where there is no library for it.
    pub fn kernel(&self) -> Launch {
        let [m, n, k] = self.size.map(|n| n as u64);
        let mut words = [0; WORDS];
        words[0] = m.div_ceil(8) * n.div_ceil(32);
        words[1..4].copy_from_slice(&self.at);
        words[4..7].copy_from_slice(&[m, n, k]);
        let flags = [self.turned[0], self.turned[1], self.add, self.narrow];
        words[7..11].copy_from_slice(&flags.map(u64::from));
        Launch {
            kernel: "product",
            words,
        }
    }
}

/// A thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// A kernel.
    Launch(Launch),
    /// A product.
    Product(Product),
}

impl Command {
    /// A kernel with `n_teams` teams and words 1, 2, ...
    ///
    /// # Panics
    /// With more words than there are.
    pub fn launch(kernel: &'static str, n_teams: u64, rest: &[u64]) -> Command {
        let mut words = [0; WORDS];
        words[0] = n_teams;
        words[1..=rest.len()].copy_from_slice(rest);
        Command::Launch(Launch { kernel, words })
    }
}

/// Things to do one after the other, each when those before it have ended. A machine may note how a
/// list is run and do it at once the next time, so a list with the same number must be the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List {
    /// Its number.
    pub number: u64,
    /// What to do.
    pub commands: Vec<Command>,
}

/// The bytes of numbers as a machine reads them: all machines count bytes from the lowest.
pub fn bytes_of(numbers: &[f32]) -> &[u8] {
    const { assert!(cfg!(target_endian = "little")) };
    // SAFETY: any bytes are bytes, and they are as many as the numbers have.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// Runs lists: a GPU, or this processor in its place, for tests.
pub trait Accelerator: Send {
    /// Compiles `text`, which follows the words of the machine, and finds `kernels` in it; what a
    /// user should know, in sentences.
    ///
    /// # Errors
    /// The machine does not take it.
    fn load(&mut self, text: &str, kernels: &[&'static str], math: Math) -> Result<Vec<String>>;

    /// The address of fresh memory, zeros.
    ///
    /// # Errors
    /// Not enough memory: how much was needed and how much is free.
    fn reserve(&mut self, bytes: u64) -> Result<u64>;

    /// Has bytes, part after part, arrive at an address before anything is run that is asked for later.
    /// It may happen while the list runs that was asked for last, but not while one before that does:
    /// callers write to two places in turn.
    ///
    /// # Errors
    /// Those of the machine.
    fn write(&mut self, at: u64, parts: &[&[u8]]) -> Result<()>;

    /// Reads bytes from an address, once everything asked for has ended.
    ///
    /// # Errors
    /// Those of the machine, among them what went wrong before.
    fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<()>;

    /// Asks for a list to be run, which may go on when this has returned.
    ///
    /// # Errors
    /// Those of the machine.
    fn run(&mut self, list: &List) -> Result<()>;
}
