//! A decoded module: typed instructions of a warp, with operands that are places in a frame.

use std::collections::HashMap;
use std::fmt;

/// Threads of a warp.
pub const WARP: usize = 32;

/// One register of all threads of a warp, as bits from the lowest on, zeros above.
pub type Lanes = [u64; WARP];

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A register of the frame.
    Register(u32),
    /// A constant of the module.
    Constant(u32),
    /// What a thread is told of itself.
    Special(Special),
}

/// What a thread is told of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `%tid.x`.
    Thread,
    /// `%ntid.x`.
    Threads,
    /// `%ctaid.x`.
    Block,
    /// `%nctaid.x`.
    Blocks,
    /// `%laneid`.
    Lane,
}

/// A predicate of the frame, or its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its place.
    pub at: u32,
    /// Whether it must not hold.
    pub is_not: bool,
}

/// Memory that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Any, by its window.
    Generic,
    /// The memory of the GPU, constants included.
    Global,
    /// A block's own.
    Shared,
    /// A thread's own.
    Local,
    /// The arguments of a kernel.
    Param,
}

/// An address: a value and a number of bytes. In local memory of a frame without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// What is added to; none for 0.
    pub base: Option<Value>,
    /// Bytes behind it.
    pub offset: i64,
}

/// How strong a load or a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// As any.
    Weak,
    /// Volatile or relaxed: other threads may be met there.
    Strong,
}

/// How the elements of a load or a store look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Where.
    pub space: Space,
    /// Bytes of an element.
    pub bytes: u32,
    /// The width to which a loaded element is extended with its sign; none for zeros.
    pub signed: Option<u32>,
    /// How strong.
    pub strength: Strength,
}

/// What happens at an address at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sum.
    Add,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Bits of both.
    And,
    /// Bits of either.
    Or,
    /// Bits of one.
    Xor,
    /// The new one.
    Exchange,
    /// The new one where the old was as said.
    CompareAndSwap,
}

/// How lanes are paired by a shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    /// By number.
    Index,
    /// By exclusive or.
    Butterfly,
    /// From a lower lane.
    Up,
    /// From a higher lane.
    Down,
}

/// What a vote tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// A bit for every lane.
    Ballot,
    /// Whether all say yes.
    All,
    /// Whether one says yes.
    Any,
}

/// Logic of predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    /// Both.
    And,
    /// Either.
    Or,
    /// One.
    Xor,
}

impl Logic {
    /// Of the lanes of a warp at once.
    pub fn of(self, a: u32, b: u32) -> u32 {
        match self {
            Logic::And => a & b,
            Logic::Or => a | b,
            Logic::Xor => a ^ b,
        }
    }
}

type Of<const N: usize> = Box<dyn Fn([&Lanes; N]) -> Lanes + Send + Sync>;

/// A function of so many registers, for all lanes.
pub enum Compute {
    /// Of one.
    One(Of<1>, [Value; 1]),
    /// Of two.
    Two(Of<2>, [Value; 2]),
    /// Of three.
    Three(Of<3>, [Value; 3]),
    /// Of four.
    Four(Of<4>, [Value; 4]),
}

/// A comparison, for all lanes: a bit each.
pub type Compare = Box<dyn Fn(&Lanes, &Lanes) -> u32 + Send + Sync>;

/// What an instruction does. Places are those of the frame.
pub enum Kind {
    /// Computes a register.
    Compute(u32, Compute),
    /// Copies a value.
    Copy(u32, Value),
    /// Copies several.
    Copies(Vec<(u32, Value)>),
    /// Takes a value apart: so many bits to each of the places.
    Split(Vec<Option<u32>>, Value, u32),
    /// Joins values of so many bits.
    Join(u32, Vec<Value>, u32),
    /// Compares, then maybe joins another predicate; to a predicate, and its opposite.
    Compare {
        /// The comparison.
        compare: Compare,
        /// Compared values.
        of: [Value; 2],
        /// Logic with another predicate.
        with: Option<(Logic, Condition)>,
        /// Where to.
        to: [Option<u32>; 2],
    },
    /// Logic of predicates.
    Logic(u32, Logic, [Condition; 2]),
    /// A predicate, or its opposite, or a constant.
    SetPredicate(u32, Option<Condition>, bool),
    /// One of two values.
    Select(u32, [Value; 2], Condition),
    /// The address of local memory of the frame, so many bytes from its start.
    LocalAddress(u32, u32),
    /// The clock, in nanoseconds.
    Clock(u32),
    /// Loads elements.
    Load(Vec<Option<u32>>, Address, Access),
    /// Stores elements.
    Store(Vec<Value>, Address, Access),
    /// Changes memory at once; what was there to a register.
    Atomic(Option<u32>, Change, Number, Address, Access, Vec<Value>),
    /// What was done before is seen before what is done after: by the block, or by all.
    Fence(Scope),
    /// Goes to an instruction.
    Branch(u32),
    /// Calls a function with copies of registers; then copies its results.
    Call {
        /// Its number.
        function: u32,
        /// From the caller's frame to the function's.
        arguments: Vec<(u32, u32)>,
        /// From the function's frame to the caller's.
        results: Vec<(u32, u32)>,
    },
    /// Back to the caller, or the end of the thread.
    Return,
    /// The end of the thread.
    Exit,
    /// Something that the kernel found wrong.
    Trap,
    /// Lanes give each other values.
    Shuffle {
        /// Whom from.
        how: Shuffle,
        /// Where to, and whether there was somebody.
        to: (Option<u32>, Option<u32>),
        /// Value, lane, limits, lanes that take part.
        of: [Value; 4],
    },
    /// Lanes tell each other a predicate: to a register or a predicate.
    Vote(Vote, u32, Condition, Value),
    /// Lanes of a mask wait for each other.
    MeetWarp(Value),
    /// Threads of a block wait for each other at barrier number so.
    MeetBlock(u32),
}

/// How numbers in memory are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Whole, not negative.
    Unsigned,
    /// Whole.
    Signed,
}

/// Who sees in order what a thread did around a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Threads of the block.
    Block,
    /// Threads of the GPU.
    Device,
    /// All threads there are.
    System,
}

/// One instruction.
pub struct Instruction {
    /// The line of the text.
    pub line: u32,
    /// Who takes part.
    pub guard: Option<Condition>,
    /// What it does.
    pub kind: Kind,
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "instruction of line {}", self.line)
    }
}

/// What the code of a function needs.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Its name.
    pub name: String,
    /// Its first instruction.
    pub start: u32,
    /// Registers.
    pub registers: u32,
    /// Predicates.
    pub predicates: u32,
    /// Bytes of local memory.
    pub local: u32,
}

/// A kernel.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Its function.
    pub function: u32,
    /// Offset and bytes of its arguments.
    pub arguments: Vec<(u32, u32)>,
    /// Threads of a block at most, where it says so.
    pub most_threads: Option<u32>,
}

/// A decoded module.
#[derive(Debug, Default)]
pub struct Code {
    /// Instructions of all functions.
    pub instructions: Vec<Instruction>,
    /// What functions need.
    pub frames: Vec<Frame>,
    /// Constants, the same for all lanes.
    pub constants: Vec<Lanes>,
    /// Kernels by name.
    pub entries: HashMap<String, Entry>,
    /// Bytes of shared memory of a block.
    pub shared: u32,
}
