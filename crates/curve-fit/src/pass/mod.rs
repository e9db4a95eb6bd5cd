//! One pass through the data: sums of products in the canonical order, wherever the data stand.

mod journal;
mod machine;
mod place;
mod seats;
mod stretches;
mod table;
mod tree;

pub use journal::{Belongs, Journal, Position, Watch};
pub use machine::{Engine, OnMachine};
pub use place::{Work, place, work};
pub(crate) use seats::from_a_queue;
pub use seats::{Seat, Shared};
pub(crate) use stretches::Stretches;
pub use table::{Columns, Kept, Pieces, Table, Visitor, visit_all};
pub(crate) use table::{spread_rows, whole};
pub use tree::TileTree;

use fitzroy::Result;
use fitzroy_device::cpu::{RowProgram, RowWorkspace, TILE_ROWS};
use std::ops::Range;
use std::sync::Mutex;

/// How data are read: threads, and what may stop a pass.
pub struct Reader<'d> {
    /// The data.
    pub table: &'d dyn Table,
    /// Threads that share a pass.
    pub threads: usize,
    slots: Vec<Slot>,
    /// Where slots come from and go to.
    kept: Option<&'d Slots>,
}

/// What readers of the same programs needed, kept for the next: a small fit would spend a tenth of its
/// time on making it.
#[derive(Default)]
pub(crate) struct Slots(Mutex<Vec<Slot>>);

/// Most slots that are kept.
const KEPT: usize = 8;

impl Slots {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Slot>> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What the threads need for one program.
struct Slot {
    /// Its address, which only tells it from others.
    program: usize,
    workspaces: Vec<RowWorkspace>,
    trees: Vec<TileTree>,
    /// Sums of tiles that are also to be summed apart from the others.
    apart: Vec<Vec<f64>>,
    /// Outputs of a tile.
    rows: Vec<Vec<f64>>,
}

/// Rows from which a second thread pays.
const WORTH_THREADS: usize = 65_536;

impl<'d> Reader<'d> {
    /// Reads `table` with up to `threads` threads.
    pub fn new(table: &'d dyn Table, threads: usize) -> Self {
        let threads = if table.n_rows() < WORTH_THREADS {
            1
        } else {
            threads.clamp(1, table.n_rows() / (WORTH_THREADS / 2))
        };
        Reader {
            table,
            threads,
            slots: Vec::new(),
            kept: None,
        }
    }

    /// As [`Reader::new`], with slots from `kept`, to which they go back: for programs that live as long
    /// as that.
    pub(crate) fn with(table: &'d dyn Table, threads: usize, kept: &'d Slots) -> Self {
        let mut reader = Self::new(table, threads);
        reader.kept = Some(kept);
        reader
    }

    /// Sums of `program` at `params` over all rows, into `out`.
    ///
    /// The order of sums is a function of the number of rows alone: tiles of 1,024 rows, joined
    /// in pairs, so threads and pieces change no bit.
    ///
    /// # Errors
    /// The data cannot be read.
    pub fn sums(&mut self, program: &RowProgram, params: &[f64], out: &mut [f64]) -> Result<()> {
        let (table, threads) = (self.table, self.threads);
        let n_tiles = table.n_rows().div_ceil(TILE_ROWS);
        if let Some(engine) = table.engine() {
            let mut engine = engine
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            return engine.sums(table, program, params, out);
        }
        if let Some(journal) = table.journal() {
            let mut journal = journal
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            return self.sums_kept(program, params, out, &mut journal);
        }
        let slot = self.prepare(program, params);
        if threads == 1 {
            let (tree, workspace) = (&mut slot.trees[0], &mut slot.workspaces[0]);
            tree.clear();
            let take = &mut |_: usize, sums: &[f64]| tree.push(sums);
            run(program, workspace, table, 0..table.n_rows(), take)?;
            tree.total(out);
            return Ok(());
        }
        let mut whole = TileTree::new(program.n_sums());
        slot.add(program, table, threads, 0..n_tiles, None, &mut whole)?;
        whole.total(out);
        Ok(())
    }

    /// As [`Reader::sums`], and the sums over `some` of the rows alone into `of_some`, with the bits that a
    /// pass over these would give; false where that would take such a pass.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn sums_and_some(
        &mut self,
        program: &RowProgram,
        params: &[f64],
        some: &Stretches<'_>,
        [out, of_some]: [&mut [f64]; 2],
    ) -> Result<bool> {
        let (table, threads) = (self.table, self.threads);
        if table.engine().is_some() || table.journal().is_some() {
            self.sums(program, params, out)?;
            return Ok(false);
        }
        let n_tiles = table.n_rows().div_ceil(TILE_ROWS);
        let slot = self.prepare(program, params);
        let mut whole = TileTree::new(program.n_sums());
        slot.add(program, table, threads, 0..n_tiles, Some(some), &mut whole)?;
        whole.total(out);
        whole.clear();
        for tile in slot.apart.iter().flat_map(|sums| sums.chunks(out.len())) {
            whole.push(tile);
        }
        whole.total(of_some);
        Ok(true)
    }

    /// As [`Reader::sums`], in segments that a journal keeps.
    fn sums_kept(
        &mut self,
        program: &RowProgram,
        params: &[f64],
        out: &mut [f64],
        journal: &mut Journal,
    ) -> Result<()> {
        let (table, threads) = (self.table, self.threads);
        let (n_tiles, width) = (table.n_rows().div_ceil(TILE_ROWS), program.n_sums());
        if let Some(sums) = journal.recall(params, width) {
            out.copy_from_slice(&sums);
            return Ok(());
        }
        let slot = self.prepare(program, params);
        let (mut whole, first) = journal.begin(params, width);
        for start in (first..n_tiles).step_by(journal.segment_tiles()) {
            let end = (start + journal.segment_tiles()).min(n_tiles);
            slot.add(program, table, threads, start..end, None, &mut whole)?;
            if end < n_tiles {
                journal.reached(params, &whole, width, [end, n_tiles])?;
            }
        }
        whole.total(out);
        journal.finish(params, out);
        Ok(())
    }

    /// Workspaces for `program` at `params`, one per thread.
    fn prepare(&mut self, program: &RowProgram, params: &[f64]) -> &mut Slot {
        let slot = self.slot(program);
        for workspace in &mut slot.workspaces {
            program.set_parameters(workspace, params);
        }
        slot
    }

    /// Workspaces for `program`, one per thread.
    fn slot(&mut self, program: &RowProgram) -> &mut Slot {
        let (n, own) = (self.threads, std::ptr::from_ref(program).addr());
        let found = self.slots.iter().position(|s| s.program == own);
        let at = found.unwrap_or_else(|| {
            let slot = self.kept.and_then(|kept| {
                let mut kept = kept.lock();
                let fits = |s: &Slot| s.program == own && s.workspaces.len() == n;
                let at = kept.iter().position(fits)?;
                Some(kept.swap_remove(at))
            });
            self.slots.push(slot.unwrap_or_else(|| Slot {
                program: own,
                workspaces: (0..n).map(|_| program.workspace()).collect(),
                trees: (0..n).map(|_| TileTree::new(program.n_sums())).collect(),
                apart: vec![Vec::new(); n],
                rows: vec![Vec::new(); program.n_outputs()],
            }));
            self.slots.len() - 1
        });
        &mut self.slots[at]
    }

    /// Sums of `program`, which lives as long as this reader, over the rows of eight problems: see
    /// [`RowProgram::accumulate_eight`].
    pub(crate) fn eight(
        &mut self,
        program: &RowProgram,
        params: &[[f64; 8]],
        columns: &[&[f64]],
        n_rows: usize,
        out: &mut [[f64; 8]],
    ) {
        let workspace = &mut self.slot(program).workspaces[0];
        program.accumulate_eight(workspace, params, columns, &[n_rows; 8], out);
    }

    /// Outputs of `program` at `params`, tile by tile, in the order of rows: `take` gets the
    /// first row of a piece of at most 1,024, and one array per output.
    ///
    /// # Errors
    /// The data cannot be read, or `take` fails.
    pub fn rows(
        &self,
        program: &RowProgram,
        params: &[f64],
        take: &mut dyn FnMut(usize, &[Vec<f64>]) -> Result<()>,
    ) -> Result<()> {
        let mut workspace = program.workspace();
        program.set_parameters(&mut workspace, params);
        let mut out = vec![Vec::new(); program.n_outputs()];
        rows(self.table, program, &mut workspace, &mut out, take)
    }

    /// As [`Reader::rows`], for a program that lives as long as this reader: what it needs is kept.
    ///
    /// # Errors
    /// As there.
    pub fn rows_again(
        &mut self,
        program: &RowProgram,
        params: &[f64],
        take: &mut dyn FnMut(usize, &[Vec<f64>]) -> Result<()>,
    ) -> Result<()> {
        let table = self.table;
        let slot = self.prepare(program, params);
        rows(
            table,
            program,
            &mut slot.workspaces[0],
            &mut slot.rows,
            take,
        )
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(kept) = self.kept {
            let mut kept = kept.lock();
            let room = KEPT.saturating_sub(kept.len());
            kept.extend(self.slots.drain(..).take(room));
        }
    }
}

/// Outputs of `program`, tile by tile.
fn rows(
    table: &dyn Table,
    program: &RowProgram,
    workspace: &mut RowWorkspace,
    out: &mut [Vec<f64>],
    take: &mut dyn FnMut(usize, &[Vec<f64>]) -> Result<()>,
) -> Result<()> {
    table.visit(0..table.n_rows(), &mut |first, columns| {
        let n = columns.first().map_or(0, |c| c.len());
        for start in (0..n).step_by(TILE_ROWS) {
            let end = (start + TILE_ROWS).min(n);
            let piece: Vec<&[f64]> = columns.iter().map(|c| &c[start..end]).collect();
            out.iter_mut().for_each(|o| o.resize(end - start, 0.0));
            program.evaluate(workspace, &piece, out);
            take(first + start, out)?;
        }
        Ok(())
    })
}

impl Slot {
    /// Adds `tiles`, which begin at a multiple of a power of two no smaller than their number, to
    /// `whole`; keeps the sums of those that `some` have.
    fn add(
        &mut self,
        program: &RowProgram,
        table: &dyn Table,
        threads: usize,
        tiles: Range<usize>,
        some: Option<&Stretches<'_>>,
        whole: &mut TileTree,
    ) -> Result<()> {
        self.apart.iter_mut().for_each(Vec::clear);
        let n = table.n_rows();
        let (level, shares) = shares(tiles.len(), threads);
        let mut done: Vec<Result<()>> = Vec::new();
        std::thread::scope(|scope| {
            let own = self.workspaces.iter_mut().zip(&mut self.trees);
            let jobs = shares.iter().zip(own).zip(&mut self.apart);
            let mut work: Vec<_> = jobs
                .map(|((share, (workspace, tree)), apart)| {
                    let (first, end) = (tiles.start + share.start, tiles.start + share.end);
                    move || {
                        tree.clear();
                        tree.join_up_to(level);
                        let rows = first * TILE_ROWS..(end * TILE_ROWS).min(n);
                        run(program, workspace, table, rows, &mut |tile, sums| {
                            tree.push(sums);
                            if some.is_some_and(|some| some.have(tile)) {
                                apart.extend_from_slice(sums);
                            }
                        })
                    }
                })
                .collect();
            // The last share is this thread's own.
            let own = work.pop();
            let handles: Vec<_> = work.into_iter().map(|w| scope.spawn(w)).collect();
            let own = own.map(|mut work| work());
            let joined = handles
                .into_iter()
                .map(|h| h.join().expect("a pass does not panic"));
            done.extend(joined);
            done.extend(own);
        });
        done.into_iter().collect::<Result<()>>()?;
        for tree in &self.trees[..shares.len()] {
            whole.append(tree);
        }
        Ok(())
    }
}

/// Gives the number and the sums of each tile of `rows` to `take`, one after the other.
fn run(
    program: &RowProgram,
    workspace: &mut RowWorkspace,
    table: &dyn Table,
    rows: Range<usize>,
    take: &mut dyn FnMut(usize, &[f64]),
) -> Result<()> {
    table.visit(rows, &mut |first, columns| {
        let mut tile = first / TILE_ROWS;
        program.accumulate(workspace, columns, &mut |sums| {
            take(tile, sums);
            tile += 1;
        });
        Ok(())
    })
}

/// Consecutive shares of `n_tiles` tiles, each starting at a multiple of 2^level, small enough
/// for four pieces per thread; and that level.
fn shares(n_tiles: usize, threads: usize) -> (u32, Vec<Range<usize>>) {
    let unit = (n_tiles / (4 * threads)).max(1);
    let level = unit.ilog2();
    let unit = 1 << level;
    let units = n_tiles.div_ceil(unit);
    let mut out = Vec::new();
    for t in 0..threads {
        let at = |t: usize| (units * t / threads * unit).min(n_tiles);
        if at(t) < at(t + 1) {
            out.push(at(t)..at(t + 1));
        }
    }
    (level, out)
}
