//! Passes on machines for kernels: GPUs, or stand-ins for them.
//!
//! Sums have the bits of the CPU's, for they are joined here in the order of tiles. Columns stay on a machine when
//! they fit; otherwise each pass
//! sends them through in pieces of whole tiles, which changes no bit.

use super::seats::{Seat, Shared, divide, none_works};
use super::{Table, TileTree, Visitor};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::cpu::{RowProgram, TILE_ROWS};
use fitzroy_device::gpu::rows::{Uploaded, accumulate, upload};
use fitzroy_device::gpu::text::rows::pass;
use fitzroy_device::gpu::{Machine, Program, side_by_side};
use std::ops::Range;
use std::sync::Mutex;

/// What sums passes on machines: neighbouring rows on each.
pub struct Engine {
    places: Vec<Place>,
}

/// A machine, and the rows that were copied there.
struct Place {
    seat: Seat,
    held: Option<(Range<usize>, Uploaded)>,
}

/// A table whose passes run on machines.
pub struct OnMachine<'t> {
    table: &'t dyn Table,
    engine: Mutex<Engine>,
}

impl<'t> OnMachine<'t> {
    /// Sums passes through `table` on `machine`, where columns may take `budget_bytes`.
    pub fn new(table: &'t dyn Table, machine: Shared, budget_bytes: u64) -> Self {
        let seat = Seat::new("the machine", machine, budget_bytes, 1.0);
        Self::several(table, &[seat])
    }

    /// The same on several machines, which share the rows by their speeds.
    pub fn several(table: &'t dyn Table, seats: &[Seat]) -> Self {
        let place = |seat: &Seat| Place {
            seat: seat.clone(),
            held: None,
        };
        OnMachine {
            table,
            engine: Mutex::new(Engine {
                places: seats.iter().map(place).collect(),
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

/// One pass: what is summed, and where.
struct Pass<'p> {
    table: &'p dyn Table,
    program: &'p RowProgram,
    text: Program,
    params: &'p [f64],
}

impl Engine {
    /// Sums of `program` at `params` over all rows of `table`. Rows of a machine that fails are summed by the
    /// others.
    pub(super) fn sums(
        &mut self,
        table: &dyn Table,
        program: &RowProgram,
        params: &[f64],
        out: &mut [f64],
    ) -> Result<()> {
        let pass = Pass {
            table,
            program,
            text: pass(program),
            params,
        };
        // Sums of tiles, and the first row that each stretch of them is of.
        let mut made: Vec<(usize, Vec<f64>)> = Vec::new();
        let all = 0..table.n_rows();
        let mut left = Vec::from([all]);
        while let Some(rows) = left.pop() {
            let works = |place: &&mut Place| place.seat.failed().is_none();
            let places: Vec<_> = self.places.iter_mut().filter(works).collect();
            let speeds: Vec<f64> = places.iter().map(|place| place.seat.speed).collect();
            let mut shares: Vec<_> = places.into_iter().zip(divide(&rows, &speeds)).collect();
            shares.retain(|(_, rows)| !rows.is_empty());
            if shares.is_empty() && !rows.is_empty() {
                return Err(none_works(self.places.iter().map(|place| &place.seat)));
            }
            let ended = side_by_side(&mut shares, |(place, rows)| place.sums(&pass, rows));
            for ((place, rows), sums) in shares.into_iter().zip(ended) {
                match sums {
                    Ok(sums) => made.push((rows.start, sums)),
                    Err(error) => {
                        place.seat.fail(error);
                        left.push(rows);
                    }
                }
            }
        }
        made.sort_by_key(|(first, _)| *first);
        let mut tree = TileTree::new(program.n_sums());
        for (_, sums) in &made {
            let tiles = sums.chunks_exact(program.n_sums().max(1));
            tiles.for_each(|sums| tree.push(sums));
        }
        tree.total(out);
        Ok(())
    }
}

impl Place {
    /// Sums of each tile of `rows`, one after the other. The rows stay where they were copied to, if there is
    /// room for all of them.
    fn sums(&mut self, pass: &Pass<'_>, rows: &Range<usize>) -> Result<Vec<f64>> {
        let seat = self.seat.clone();
        let mut machine = seat.lock();
        let mut sums = Vec::with_capacity(rows.len().div_ceil(TILE_ROWS) * pass.program.n_sums());
        let mut add = |machine: &mut dyn Machine, piece: &Uploaded| {
            let mut take = |tile: &[f64]| sums.extend_from_slice(tile);
            accumulate(
                machine,
                pass.program,
                &pass.text,
                pass.params,
                piece,
                &mut take,
            )
        };
        if let Some((_, piece)) = self.held.as_ref().filter(|(held, _)| held == rows) {
            add(&mut *machine, piece)?;
            return Ok(sums);
        }
        self.held = None;
        let room = rows_of_piece(pass.table, seat.budget_bytes)?;
        for start in rows.clone().step_by(room) {
            let some = start..(start + room).min(rows.end);
            let piece = send(
                &mut *machine,
                pass.table,
                some.clone(),
                room.min(rows.len()),
            )?;
            add(&mut *machine, &piece)?;
            if some == *rows {
                self.held = Some((some, piece));
            }
        }
        Ok(sums)
    }
}

/// Rows of `table` that there is room for in `budget_bytes`, in whole tiles.
fn rows_of_piece(table: &dyn Table, budget_bytes: u64) -> Result<usize> {
    let mut n_columns = 1;
    table.visit(0..TILE_ROWS.min(table.n_rows()), &mut |_, columns| {
        n_columns = columns.len().max(1);
        Ok(())
    })?;
    let tile = 8 * (TILE_ROWS * n_columns) as u64;
    let tiles = budget_bytes / tile;
    if tiles == 0 {
        let message = format!(
            "a tile of rows takes {tile} bytes, and {budget_bytes} are free on the device; use ⟨device cpu⟩"
        );
        return Err(Error::new(ErrorKind::Device, message));
    }
    Ok((tiles as usize).saturating_mul(TILE_ROWS))
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
