//! Row programs: a formula evaluated block by block over columns that stand anywhere, with the
//! products of its outputs summed while they are in cache.
//!
//! [`RowProgram::accumulate`] sums `o_a · o_b` over rows for every pair of outputs, and some
//! outputs alone, in the canonical order of the engine: tiles of 1,024 rows, in a tile row i goes
//! to partial i mod 32, partials join by halves. What becomes of the sums of tiles is the
//! caller's, so data may come in pieces of whole tiles. [`RowProgram::evaluate`] returns the
//! outputs themselves. [`RowProgram::accumulate_eight`] runs eight small problems side by side,
//! each with its own parameters and rows.

mod compile;
mod dots;
mod eight;
mod emitted;
mod execute;
mod grid;
mod operands;
mod tiles;

#[cfg(test)]
mod tests;

use super::operand::Bound;
use super::program::{BLOCK, Code, PARTIALS, SLACK, TILE};
use super::{Aligned, Engine};
use crate::lanes::Level;
pub(crate) use compile::straight;
use emitted::{ROOM, RowCode, Switch};
use execute::{Outputs, Run, Sink};
use fitzroy_graph::{DimId, Graph, NodeId};
pub use grid::{GridProgram, GridTerm, GridWorkspace, Separated};
use operands::{BoundFor, bind_scalars};

/// Rows of a tile: pieces of data must hold whole tiles, but for the last.
pub const TILE_ROWS: usize = TILE;

/// An operand of a row instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// The same number for every row.
    Scalar(usize),
    /// A block buffer.
    Buffer(usize),
    /// A column of the data.
    Column(usize),
}

/// One instruction over a block of rows, or, in the code of scalars, over eight copies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowInstr {
    pub(crate) code: Code,
    pub(crate) to: Place,
    pub(crate) also_to: Option<Place>,
    pub(crate) from: [Option<Place>; 3],
}

/// A formula over rows, ready to run on the CPU; immutable.
///
/// ```
/// use fitzroy_device::cpu::RowProgram;
/// use fitzroy_graph::{Real, Scope};
/// let scope = Scope::new();
/// let rows = scope.dim("rows", 1000);
/// let x = scope.data("x", &[rows]);
/// let y = scope.node((x * scope.param(0, &[])).exp());
/// let x = scope.node(x);
/// let program = RowProgram::compile(&scope.finish(), rows, &[x, y], &[]);
/// let mut workspace = program.workspace();
/// program.set_parameters(&mut workspace, &[-0.5]);
/// let column: Vec<f64> = (0..3).map(f64::from).collect();
/// program.accumulate(&mut workspace, &[&column], &mut |sums| {
///     assert_eq!(sums[0], 5.0); // Σ x²; then Σ x y and Σ y²
/// });
/// ```
pub struct RowProgram {
    level: Level,
    pub(crate) n_params: usize,
    /// Initial values of the scalars: constants, and room for the rest.
    pub(crate) scalars: Vec<f64>,
    /// Instructions among scalars.
    pub(crate) uniform: Vec<RowInstr>,
    /// Fills buffers that hold the same number in every row.
    pub(crate) fill: Vec<RowInstr>,
    /// Instructions over rows.
    pub(crate) code: Vec<RowInstr>,
    n_buffers: usize,
    pub(crate) n_columns: usize,
    /// Buffers whose products are summed.
    pub(crate) products: Vec<usize>,
    /// Buffers that are summed alone.
    pub(crate) alone: Vec<usize>,
    switch: Switch<RowCode>,
}

/// How the scalars of a run stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scalars {
    /// One problem's.
    One,
    /// Those of eight problems, once.
    Eight,
    /// Those of eight problems along a block, from here on.
    Repeated(*mut f64),
}

/// Memory for running a row program; one per thread.
pub struct RowWorkspace {
    /// Eight copies of each scalar, or the scalars of eight problems.
    scalars: Aligned,
    /// Scalars of eight problems repeated along a block; empty until needed.
    repeated: Aligned,
    buffers: Aligned,
    /// The last rows of the columns, with room to read on.
    tail: Aligned,
    partials: Aligned,
    /// Instructions among scalars; these do not move.
    uniform: Vec<Bound>,
    fill: Vec<Bound>,
    /// What `fill` was bound for, if it was.
    filled: Option<Scalars>,
    code: Vec<Bound>,
    tail_code: Vec<Bound>,
    /// What these two were bound for.
    bound: BoundFor,
    sums: Vec<f64>,
}

// SAFETY: the pointers among the bound instructions lead into arrays this value owns, whose heap
// blocks do not move, or into columns; every call that reads them makes them anew.
unsafe impl Send for RowWorkspace {}

/// Numbers that lie in the second cache of most processors.
const CACHED: usize = 32_768;

/// Numbers a buffer has room for.
pub(super) const BUFFER: usize = BLOCK + SLACK;

impl RowProgram {
    /// Compiles `products` (outputs whose pairwise products are summed) and `alone` (outputs that
    /// are summed), for the widest registers of this machine.
    ///
    /// Every node they need has dims `[rows]` or none; columns are the data slots of `graph`, in
    /// its order.
    ///
    /// # Panics
    /// When a node has other dims or is not elementwise.
    pub fn compile(graph: &Graph, rows: DimId, products: &[NodeId], alone: &[NodeId]) -> Self {
        Self::compile_for(Level::detect(), graph, rows, products, alone)
    }

    /// As [`RowProgram::compile`], for one level, which must be available.
    ///
    /// # Panics
    /// As there.
    pub fn compile_for(
        level: Level,
        graph: &Graph,
        rows: DimId,
        products: &[NodeId],
        alone: &[NodeId],
    ) -> Self {
        assert!(level.is_available(), "this machine has no {level:?}");
        let outputs: Vec<NodeId> = products.iter().chain(alone).copied().collect();
        // Slopes that are told were followed before.
        let plain = graph.without_slopes(&outputs);
        let (graph, outputs) = match &plain {
            Some((graph, outputs)) => (graph, outputs),
            None => (graph, &outputs),
        };
        let (products, alone) = outputs.split_at(products.len());
        compile::compile(level, graph, rows, products, alone)
    }

    /// The same for one engine. By default machine code is made once the rows so far pay for it;
    /// no bit depends on that.
    #[must_use]
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.switch = Switch::new(engine);
        self
    }

    /// What has run its rows last, and why not the emitter where that was tried.
    pub fn engine(&self) -> (Engine, Option<&str>) {
        self.switch.used()
    }

    /// How many parameters it reads.
    pub fn n_params(&self) -> usize {
        self.n_params
    }

    /// How many sums there are: the pairs a ≤ b of products, row by row, then those alone.
    pub fn n_sums(&self) -> usize {
        let q = self.products.len();
        q * (q + 1) / 2 + self.alone.len()
    }

    /// Operations of a row: instructions, and products that are summed.
    pub fn n_operations(&self) -> usize {
        self.code.len() + self.n_sums()
    }

    /// How many outputs it has, products first.
    pub fn n_outputs(&self) -> usize {
        self.products.len() + self.alone.len()
    }

    /// Bytes of one workspace.
    pub fn workspace_bytes(&self) -> usize {
        let numbers = 8 * self.scalars.len()
            + ROOM.max(SLACK)
            + (self.n_buffers + self.n_columns) * BUFFER
            + self.n_sums() * (PARTIALS + 1);
        8 * numbers
    }

    /// A workspace for this program.
    pub fn workspace(&self) -> RowWorkspace {
        let mut scalars = Aligned::zeros(8 * self.scalars.len() + ROOM.max(SLACK));
        for (line, x) in scalars.lines.iter_mut().zip(&self.scalars) {
            line.0 = [*x; 8];
        }
        let base = scalars.as_mut_ptr();
        let mut uniform = Vec::new();
        bind_scalars(&mut uniform, &self.uniform, base);
        RowWorkspace {
            scalars,
            repeated: Aligned::zeros(0),
            buffers: Aligned::zeros(self.n_buffers * BUFFER),
            tail: Aligned::zeros(self.n_columns * BUFFER),
            partials: Aligned::zeros(self.n_sums() * PARTIALS + SLACK),
            uniform,
            fill: Vec::with_capacity(self.fill.len()),
            filled: None,
            code: Vec::with_capacity(self.code.len()),
            tail_code: Vec::with_capacity(self.code.len()),
            bound: BoundFor::default(),
            sums: vec![0.0; self.n_sums()],
        }
    }

    /// Sets the parameters of the following runs over rows.
    ///
    /// # Panics
    /// When there are too few.
    #[track_caller]
    pub fn set_parameters(&self, workspace: &mut RowWorkspace, params: &[f64]) {
        let params = &params[..self.n_params];
        self.set_scalars(workspace, params.iter().map(|&x| [x; 8]));
    }

    /// Parameters into their slots, and what follows from them and from constants.
    fn set_scalars(&self, workspace: &mut RowWorkspace, params: impl Iterator<Item = [f64; 8]>) {
        for (line, x) in workspace.scalars.lines.iter_mut().zip(params) {
            line.0 = x;
        }
        self.follow(workspace);
    }

    /// What follows from the parameters.
    fn follow(&self, workspace: &RowWorkspace) {
        self.level.run(Run::among_scalars(&workspace.uniform));
    }

    /// All scalars at `params`: these, constants, and what follows from them.
    pub(crate) fn scalars_at(&self, params: &[f64]) -> Vec<f64> {
        let mut workspace = self.workspace();
        self.set_parameters(&mut workspace, params);
        let lines = workspace.scalars.lines.iter();
        lines.take(self.scalars.len()).map(|l| l.0[0]).collect()
    }

    /// Sums products and outputs over the rows of `columns`; `tile` gets the sums of each tile in
    /// turn, [`RowProgram::n_sums`] numbers.
    ///
    /// # Panics
    /// When columns are missing or differ in length.
    #[track_caller]
    pub fn accumulate(
        &self,
        workspace: &mut RowWorkspace,
        columns: &[&[f64]],
        tile: &mut dyn FnMut(&[f64]),
    ) {
        let native = self.machine_code(columns);
        workspace.partials.lines.fill(super::Line([0.0; 8]));
        match native {
            Some(code) if code.has_tiles() => self.add_tiles(workspace, code, columns, tile),
            _ => self.add_blocks(workspace, native, columns, tile),
        }
    }

    /// Adds the rows of `columns` to the partial sums block by block.
    #[track_caller]
    fn add_blocks(
        &self,
        workspace: &mut RowWorkspace,
        native: Option<&RowCode>,
        columns: &[&[f64]],
        tile: &mut dyn FnMut(&[f64]),
    ) {
        let n = self.bind_rows(workspace, columns, native.is_some());
        let native = native.map(|code| self.blocks(workspace, code, columns, true));
        self.level.run(Run {
            fill: &workspace.fill,
            fill_len: BLOCK,
            code: &workspace.code,
            tail_code: &workspace.tail_code,
            n,
            ahead: self.ahead(columns),
            native,
            sink: Sink::Tiles {
                outputs: self.outputs(workspace.buffers.as_mut_ptr()),
                partials: workspace.partials.as_mut_ptr(),
                sums: &mut workspace.sums,
                tile,
            },
        });
    }

    /// Writes the outputs, products first, for the rows of `columns` into `to`.
    ///
    /// # Panics
    /// When columns are missing, or columns and `to` differ in length.
    #[track_caller]
    pub fn evaluate(&self, workspace: &mut RowWorkspace, columns: &[&[f64]], to: &mut [Vec<f64>]) {
        let native = self.machine_code(columns);
        let n = self.bind_rows(workspace, columns, native.is_some());
        let native = native.map(|code| self.blocks(workspace, code, columns, true));
        assert_eq!(to.len(), self.n_outputs(), "one array per output");
        assert!(
            to.iter().all(|t| t.len() == n),
            "as many rows as the columns"
        );
        self.level.run(Run {
            fill: &workspace.fill,
            fill_len: BLOCK,
            code: &workspace.code,
            tail_code: &workspace.tail_code,
            n,
            ahead: self.ahead(columns),
            native,
            sink: Sink::Rows {
                outputs: self.outputs(workspace.buffers.as_mut_ptr()),
                to,
            },
        });
    }

    /// The machine code for the rows of `columns`, where there is any.
    fn machine_code(&self, columns: &[&[f64]]) -> Option<&RowCode> {
        let n = columns.first().map_or(0, |c| c.len());
        self.switch.code(n, || emitted::make(self))
    }

    /// Constants among the scalars that are 1: what no instruction writes.
    pub(crate) fn ones(&self) -> Vec<usize> {
        let constants = self.n_params..self.scalars.len();
        constants.filter(|&k| self.scalars[k] == 1.0).collect()
    }

    /// Buffers of all outputs, products first.
    fn outputs_of(&self) -> impl Iterator<Item = usize> + '_ {
        self.products.iter().chain(&self.alone).copied()
    }

    fn outputs(&self, buffers: *mut f64) -> Outputs<'_> {
        Outputs {
            buffers,
            products: &self.products,
            alone: &self.alone,
        }
    }

    /// Columns to fetch a block ahead: all, where they are too long to lie in cache.
    fn ahead<'c, 'd>(&self, columns: &'c [&'d [f64]]) -> &'c [&'d [f64]] {
        let own = &columns[..self.n_columns];
        match own.iter().map(|c| c.len()).sum::<usize>() {
            n if n > CACHED => own,
            _ => &[],
        }
    }

    /// The number of rows.
    #[track_caller]
    fn check(&self, columns: &[&[f64]]) -> usize {
        assert!(columns.len() >= self.n_columns, "one column per data slot");
        let n = columns.first().map_or(0, |c| c.len());
        assert!(
            columns.iter().all(|c| c.len() == n),
            "columns of one length"
        );
        n
    }
}
