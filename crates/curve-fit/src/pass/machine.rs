//! Passes on a machine for kernels: a GPU, or a stand-in for one.
//!
//! Sums have the bits of the CPU's. Columns stay on the machine when they fit; otherwise each pass
//! sends them through in pieces of whole tiles, which changes no bit.

use super::{Table, TileTree, Visitor};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::cpu::{RowProgram, TILE_ROWS};
use fitzroy_device::gpu::Machine;
use fitzroy_device::gpu::rows::{Uploaded, accumulate, upload};
use fitzroy_device::gpu::text::rows::pass;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A machine that several parts of a fit use in turn.
pub type Shared = Arc<Mutex<dyn Machine>>;

/// What sums passes on a machine.
pub struct Engine {
    machine: Shared,
    /// Bytes that columns may take there.
    budget_bytes: u64,
    /// The whole table, once it was copied.
    whole: Option<Uploaded>,
}

/// A table whose passes run on a machine.
pub struct OnMachine<'t> {
    table: &'t dyn Table,
    engine: Mutex<Engine>,
}

impl<'t> OnMachine<'t> {
    /// Sums passes through `table` on `machine`, where columns may take `budget_bytes`.
    pub fn new(table: &'t dyn Table, machine: Shared, budget_bytes: u64) -> Self {
        OnMachine {
            table,
            engine: Mutex::new(Engine {
                machine,
                budget_bytes,
                whole: None,
            }),
        }
    }
}

impl Table for OnMachine<'_> {
    fn n_rows(&self) -> usize {
        self.table.n_rows()
    }

    fn visit(&self, range: Range<usize>, visit: &mut Visitor<'_>) -> Result<()> {
        self.table.visit(range, visit)
    }

    fn engine(&self) -> Option<&Mutex<Engine>> {
        Some(&self.engine)
    }
}

impl Engine {
    /// Sums of `program` at `params` over all rows of `table`.
    pub(super) fn sums(
        &mut self,
        table: &dyn Table,
        program: &RowProgram,
        params: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        let machine = Arc::clone(&self.machine);
        let mut machine = machine
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let machine: &mut dyn Machine = &mut *machine;
        let (text, n) = (pass(program), table.n_rows());
        let mut tree = TileTree::new(program.n_sums());
        let mut take = |sums: &[f64]| tree.push(sums);
        if let Some(whole) = &self.whole {
            accumulate(machine, program, &text, params, whole, &mut take)?;
        } else {
            let room = self.rows_of_piece(table)?;
            for start in (0..n).step_by(room) {
                let end = (start + room).min(n);
                let piece = send(machine, table, start..end, room.min(n))?;
                accumulate(machine, program, &text, params, &piece, &mut take)?;
                if end - start == n {
                    self.whole = Some(piece);
                }
            }
        }
        tree.total(out);
        Ok(())
    }

    /// Rows that there is room for, in whole tiles.
    fn rows_of_piece(&self, table: &dyn Table) -> Result<usize> {
        let mut n_columns = 1;
        table.visit(0..TILE_ROWS.min(table.n_rows()), &mut |_, columns| {
            n_columns = columns.len().max(1);
            Ok(())
        })?;
        let tile = 8 * (TILE_ROWS * n_columns) as u64;
        let tiles = self.budget_bytes / tile;
        if tiles == 0 {
            let message = format!(
                "a tile of rows takes {tile} bytes, and {} are free on the device; use ⟨device cpu⟩",
                self.budget_bytes
            );
            return Err(Error::new(ErrorKind::Device, message));
        }
        Ok((tiles as usize).saturating_mul(TILE_ROWS))
    }
}

/// Copies some rows to the machine.
fn send(
    machine: &mut dyn Machine,
    table: &dyn Table,
    rows: Range<usize>,
    room: usize,
) -> Result<Uploaded> {
    let mut sent = None;
    let mut gathered: Vec<Vec<f64>> = Vec::new();
    table.visit(rows.clone(), &mut |_, columns| {
        if columns.first().is_some_and(|c| c.len() == rows.len()) {
            sent = Some(upload(machine, columns, room)?);
            return Ok(());
        }
        gathered.resize(columns.len(), Vec::new());
        for (to, from) in gathered.iter_mut().zip(columns) {
            to.extend_from_slice(from);
        }
        Ok(())
    })?;
    match sent {
        Some(sent) => Ok(sent),
        None => {
            let views: Vec<&[f64]> = gathered.iter().map(Vec::as_slice).collect();
            upload(machine, &views, room)
        }
    }
}
