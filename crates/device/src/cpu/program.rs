//! What a compiled function is made of: loops of instructions over blocks, and whole-array steps.

use super::contract::Contraction;
use fitzroy_graph::{Binary, DimId, Op, Unary};

/// Elements of a block; one buffer is 2 KiB.
pub(crate) const BLOCK: usize = 256;
/// Elements of a tile: four blocks share one set of partial sums.
pub(crate) const TILE: usize = 1024;
/// Partial sums of a tile: element i goes to partial i mod 32.
pub(crate) const PARTIALS: usize = 32;
/// Numbers of a matrix that one block reads: half of a first cache of 32 KiB.
const BLOCK_OF_MATRIX: usize = 2048;
/// Numbers of all arrays that a block passes through: three quarters of such a cache.
const BLOCK_OF_ARRAYS: usize = 3072;
/// Levels of the tree that joins tiles.
pub(crate) const TREE: usize = 64;
/// Runs shorter than this are summed one by one; longer ones in eight partial sums.
pub(crate) const SHORT_RUN: usize = 16;
/// Mean length from which rising runs are worth a loop of their own.
pub(crate) const WORTH_RISING: f64 = 8.0;
/// Numbers that may be read or written beyond the end of an array.
pub(crate) const SLACK: usize = 16;

/// Which memory an operand lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arena {
    /// The workspace: parameters, results, buffers.
    Work,
    /// Constants of the function.
    Fixed,
}

/// How an operand moves from block to block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Motion {
    /// One number, the same for all elements.
    Scalar,
    /// A block buffer, reused for every block.
    Buffer,
    /// An array, read or written block by block.
    Stream,
    /// In loops that are cut into runs: one number of a table for each run.
    Run,
    /// Likewise: the numbers of a table from the run's place on.
    Along,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Loc {
    pub(crate) arena: Arena,
    pub(crate) motion: Motion,
    /// First number, in its arena.
    pub(crate) at: usize,
}

/// The first number at a place.
///
/// # Safety
/// The place lies inside its arena.
#[inline(always)]
pub(super) unsafe fn base(loc: Loc, work: *mut f64, fixed: *const f64) -> *const f64 {
    // SAFETY: the caller vouches for the place.
    unsafe {
        match loc.arena {
            Arena::Work => work.add(loc.at).cast_const(),
            Arena::Fixed => fixed.add(loc.at),
        }
    }
}

/// What an instruction does to a block. Operands are named a, b, c.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Code {
    Copy,
    Unary(Unary),
    Binary(Binary),
    Select,
    /// a·b + c.
    MulAdd,
    /// c − a·b.
    SubMul,
    /// a·b − c.
    MulSub,
    /// ln Φ(a), and its slope.
    LogNdtrPair,
    /// ln(eᵃ + eᵇ), and the weight of a.
    LogAddExpPair,
    /// ln(1 + eᵃ), and its slope.
    SoftplusPair,
    /// ln Γ(a), and digamma.
    LgammaPair,
    /// sin a, cos a.
    SinCos,
    /// a looked up by runs.
    GatherRuns(usize),
    /// a looked up by rising runs.
    GatherRising(usize),
    /// a looked up by positions.
    GatherAt(usize),
    /// Σ a, or Σ a·b if there is a b.
    Sum(usize),
    /// Sums of runs of a.
    SumRuns(usize),
    /// Sums of a by rising runs.
    SumRising(usize),
    /// Sums of a by positions.
    SumAt(usize),
    /// Matrix times vector a.
    MatVec(usize),
    /// Transposed matrix times a, as many sums as columns.
    MatVecT(usize),
    /// The machine code of the loop, in place of its other instructions.
    Native,
}

/// Machine code for a block of a loop: the arenas, the bytes before the block in every array, its
/// rows, and the bytes before its place in every table that is looked up.
#[cfg(target_arch = "x86_64")]
pub(crate) type Entry = unsafe extern "sysv64" fn(*mut f64, *const f64, usize, usize, usize);
/// There is none on other machines.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) type Entry = unsafe extern "C" fn(*mut f64, *const f64, usize, usize, usize);

/// One instruction over a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instr {
    pub(crate) code: Code,
    pub(crate) to: Option<Loc>,
    pub(crate) also_to: Option<Loc>,
    pub(crate) from: [Option<Loc>; 3],
}

/// Rows as runs: run r holds rows `start[r] .. start[r + 1]`. All belong to `group[r]`, or, where
/// runs are rising, to `group[r]`, `group[r] + 1`, and so on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Runs {
    pub(crate) start: Vec<u32>,
    pub(crate) group: Vec<u32>,
    /// For each block, the run its first row is in.
    pub(crate) first_of_block: Vec<u32>,
    /// The length of all runs, if it is one and each group is the next.
    pub(crate) even: Option<usize>,
}

impl Runs {
    /// Runs of sorted positions, or `None` where they are not sorted.
    pub(crate) fn new(positions: &[u32]) -> Option<Runs> {
        positions.is_sorted().then(|| Self::split(positions, 0))
    }

    /// Runs of positions that rise by one from row to row.
    pub(crate) fn rising(positions: &[u32]) -> Runs {
        Self::split(positions, 1)
    }

    /// The longest runs in which the position grows by `step` from row to row.
    fn split(positions: &[u32], step: u32) -> Runs {
        let (mut start, mut group, mut first_of_block) = (vec![], vec![], vec![]);
        for (row, &g) in positions.iter().enumerate() {
            if row == 0 || g != positions[row - 1] + step {
                start.push(row as u32);
                group.push(g);
            }
            if row % BLOCK == 0 {
                first_of_block.push(group.len() as u32 - 1);
            }
        }
        start.push(positions.len() as u32);
        let length = positions.len() / group.len().max(1);
        let is_even = start.windows(2).all(|s| (s[1] - s[0]) as usize == length)
            && group.windows(2).all(|g| g[0] + 1 == g[1]);
        Runs {
            start,
            group,
            first_of_block,
            even: is_even.then_some(length),
        }
    }

    /// The position of every row; `rising` says which kind of runs these are.
    pub(crate) fn positions(&self, rising: bool) -> Vec<u32> {
        let run = |(&group, bounds): (&u32, &[u32])| {
            let rows = 0..bounds[1] - bounds[0];
            rows.map(move |row| group + u32::from(rising) * row)
        };
        let runs = self.group.iter().zip(self.start.windows(2));
        runs.flat_map(run).collect()
    }

    /// The run that `row` is in.
    #[inline(always)]
    pub(crate) fn containing(&self, row: usize) -> usize {
        let mut run = self.first_of_block[row / BLOCK] as usize;
        while self.start[run + 1] as usize <= row {
            run += 1;
        }
        run
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.group.len()
    }

    /// Mean length of a run.
    pub(crate) fn mean_len(&self) -> f64 {
        f64::from(*self.start.last().unwrap_or(&0)) / self.group.len().max(1) as f64
    }
}

/// How the positions of rows are best stepped through.
pub(crate) enum Division {
    /// Runs of one position.
    Level(Runs),
    /// Runs of rising positions.
    Rising(Runs),
    /// One by one.
    Scattered,
}

impl Division {
    /// The division into fewest runs.
    pub(crate) fn new(positions: &[u32]) -> Division {
        let rising = Runs::rising(positions);
        match Runs::new(positions) {
            Some(level) if level.len() <= rising.len() => Division::Level(level),
            _ if rising.mean_len() >= WORTH_RISING => Division::Rising(rising),
            Some(level) => Division::Level(level),
            None => Division::Scattered,
        }
    }
}

/// A sum over all elements of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumPlan {
    /// Its partial sums, in the workspace.
    pub(crate) partials: usize,
    /// Its pairwise tree of tile sums, in the workspace.
    pub(crate) tree: usize,
    /// Where the total goes, in the workspace.
    pub(crate) total: usize,
}

/// A sum by group.
#[derive(Clone, Debug)]
pub(crate) struct GroupSumPlan {
    pub(crate) runs: Option<Runs>,
    pub(crate) positions: Vec<u32>,
    /// Carry of a run that spans blocks, in the workspace: eight numbers.
    pub(crate) carry: usize,
    pub(crate) total: usize,
    pub(crate) len: usize,
}

/// A loop whose blocks end where runs do, so that its machine code looks up and sums by these runs
/// itself.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub(crate) runs: Runs,
    /// Runs of rising positions, else of one.
    pub(crate) rising: bool,
    /// Sums of runs: eight partial sums each, and where the totals stand.
    pub(crate) sums: Vec<(usize, usize)>,
}

/// A data matrix, in panels of `PARTIALS` rows: of each panel, one column after the other. Both
/// products then read it from front to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixPlan {
    /// First panel, among the constants.
    pub(crate) at: usize,
    pub(crate) columns: usize,
    /// For the transposed product: sums by column, one `SumPlan` each from here on, whose partial
    /// sums lie one after the other.
    pub(crate) first_sum: usize,
}

impl MatrixPlan {
    /// The panel that starts at row `start`, a multiple of `PARTIALS`.
    pub(crate) fn panel(&self, start: usize) -> usize {
        self.at + start * self.columns
    }
}

/// Instructions run for every block of an iteration space.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopPlan {
    pub(crate) n: usize,
    pub(crate) code: Vec<Instr>,
    pub(crate) sums: Vec<SumPlan>,
    pub(crate) groups: Vec<GroupSumPlan>,
    pub(crate) runs: Vec<Runs>,
    pub(crate) positions: Vec<Vec<u32>>,
    pub(crate) matrices: Vec<MatrixPlan>,
    /// What `Code::Native` calls.
    pub(crate) native: Option<Entry>,
    /// Whether it makes the totals of `sums`, too.
    pub(crate) closed: bool,
    /// The runs that blocks end with.
    pub(crate) cut: Option<Cut>,
    /// Arrays that a block passes through beside machine code; 0 where there is none.
    pub(crate) passed: usize,
}

impl LoopPlan {
    /// Rows of a block: a power of two from `PARTIALS` to `BLOCK`, fewer where matrices are wide
    /// or where many arrays pass from lookups to machine code and on to sums.
    pub(crate) fn block(&self) -> usize {
        let columns = self.matrices.iter().map(|m| m.columns).max().unwrap_or(0);
        let of_matrix = BLOCK_OF_MATRIX / columns.max(1);
        let fit = of_matrix.min(BLOCK_OF_ARRAYS / self.passed.max(1)).max(1);
        (1 << fit.ilog2()).clamp(PARTIALS, BLOCK)
    }

    /// Counts what stands in `passed`.
    pub(crate) fn count_passed(&mut self) {
        let operands = self
            .code
            .iter()
            .flat_map(|i| i.from.iter().chain([&i.to, &i.also_to]));
        let moving = operands
            .flatten()
            .filter(|loc| loc.motion != Motion::Scalar);
        let mut places: Vec<(bool, usize)> = moving
            .map(|loc| (loc.arena == Arena::Fixed, loc.at))
            .collect();
        places.sort_unstable();
        places.dedup();
        self.passed = places.len();
    }
}

/// A step on whole arrays.
#[derive(Clone, Debug)]
pub(crate) struct KernelPlan {
    pub(crate) op: Op,
    pub(crate) dims: Vec<DimId>,
    pub(crate) input_dims: Vec<Vec<DimId>>,
    pub(crate) inputs: Vec<(Loc, usize)>,
    pub(crate) to: usize,
    pub(crate) len: usize,
    /// Length of the first dim: rows of a matrix.
    pub(crate) side: usize,
    /// For maxima: where each element goes.
    pub(crate) positions: Vec<u32>,
    pub(crate) contraction: Option<Contraction>,
}

impl KernelPlan {
    /// Whether it is a factor of a matrix, or is solved by one.
    pub(crate) fn is_dense(&self) -> bool {
        matches!(
            self.op,
            Op::Cholesky | Op::CholeskyAdjoint | Op::TriSolve { .. }
        )
    }
}

/// States over steps. Rows are those of all steps, the lanes of a step side by side. Operands that
/// are a stream move with the rows; what moves along a table does so from lane to lane.
#[derive(Clone, Debug)]
pub(crate) struct RecurrencePlan {
    /// What a step does in each lane.
    pub(crate) code: Vec<Instr>,
    pub(crate) steps: usize,
    pub(crate) lanes: usize,
    /// From the last step to the first.
    pub(crate) reverse: bool,
    /// Of each number of the states: where its start is read, and where it goes.
    pub(crate) starts: Vec<(Loc, usize)>,
    /// The arrays read, and their lengths.
    pub(crate) inputs: Vec<(Loc, usize)>,
    pub(crate) to: usize,
    pub(crate) len: usize,
    /// Machine code for as many lanes as a register holds, if there are as many, and for one.
    pub(crate) native: [Option<Steps>; 2],
}

/// The solution of a differential equation, or its adjoint.
#[derive(Clone, Debug)]
pub(crate) struct OdePlan {
    pub(crate) layout: fitzroy_graph::ode::Layout,
    pub(crate) method: fitzroy_graph::ode::Method,
    pub(crate) tolerance: fitzroy_graph::ode::Tolerance,
    /// The pieces of straight code that are needed.
    pub(crate) pieces: Vec<PiecePlan>,
    /// Where the numbers of a lane stand in the work arena.
    pub(crate) scratch: usize,
    /// The first time, the times asked for, the times of kicks: each with whether it differs from lane
    /// to lane.
    pub(crate) times: [(Loc, bool); 3],
    /// Where each number of the state starts, lanes side by side.
    pub(crate) starts: Vec<Loc>,
    /// What each kick adds to each number of the state, kick after kick, lanes side by side.
    pub(crate) kicks: Vec<Loc>,
    /// For an adjoint: the solution, and the adjoint of what was asked for.
    pub(crate) adjoint_of: Option<[Loc; 2]>,
    /// The arrays read, and their lengths.
    pub(crate) inputs: Vec<(Loc, usize)>,
    pub(crate) to: usize,
    pub(crate) len: usize,
}

/// A piece of straight code, whose streams stand still.
#[derive(Clone, Debug)]
pub(crate) struct PiecePlan {
    pub(crate) piece: fitzroy_graph::ode::Piece,
    pub(crate) code: Vec<Instr>,
    pub(crate) native: Option<Entry>,
}

/// Machine code for the steps of a recurrence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// As for a loop: the bytes before the first row, the number of steps, the bytes before the lane.
    pub(crate) entry: Entry,
    /// Lanes at a time.
    pub(crate) lanes: usize,
}

/// One step of a function.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Loop(LoopPlan),
    Kernel(KernelPlan),
    Recurrence(RecurrencePlan),
    Ode(OdePlan),
}
