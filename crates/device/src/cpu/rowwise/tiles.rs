//! Tiles whose partial sums machine code keeps in registers, eight partials at a time.

use super::emitted::RowCode;
use super::execute::{MOST_COLUMNS, Run, Sink};
use super::{BLOCK, BUFFER, PARTIALS, RowProgram, RowWorkspace, Scalars, TILE, dots};
use crate::lanes::{Kernel, Lanes};

/// Joins the partial sums of a tile.
struct Close<'a> {
    partials: *mut f64,
    sums: &'a mut [f64],
}

impl Kernel for Close<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self) {
        // SAFETY: there are `PARTIALS` numbers for each sum.
        unsafe { dots::close::<L>(self.partials, self.sums) }
    }
}

/// Rows that are taken through all their partials before the next, where others are fetched meanwhile:
/// few, so that both have room in the first cache.
const STRIP: usize = BLOCK;

/// Columns of which a whole tile has room there.
const FEW_COLUMNS: usize = 2;

impl RowProgram {
    /// Sums over the rows of `columns` to partial sums that are 0, tile by tile: of a strip the first
    /// eight of every 32 rows, then the next, so that eight partials of all sums fit into registers.
    /// Each partial sees its rows in their order.
    #[track_caller]
    pub(super) fn add_tiles(
        &self,
        workspace: &mut RowWorkspace,
        code: &RowCode,
        columns: &[&[f64]],
        tile: &mut dyn FnMut(&[f64]),
    ) {
        let n = self.check(columns);
        let few = self.n_columns <= FEW_COLUMNS;
        let strip = if few { TILE } else { STRIP };
        // Short columns stay in cache, from which other numbers should not drive them.
        let ahead = match self.ahead(columns) {
            [] => 0,
            _ => 8 * strip,
        };
        let own = &columns[..self.n_columns];
        let scalars = workspace.scalars.as_mut_ptr();
        let partials = workspace.partials.as_mut_ptr();
        for start in (0..n).step_by(strip) {
            let rows = strip.min(n - start);
            for first in (0..PARTIALS).step_by(8) {
                // Whole registers of these rows, `PARTIALS` apart.
                let whole = (rows + PARTIALS - 8 - first) / PARTIALS * PARTIALS;
                let mut at = [std::ptr::null(); MOST_COLUMNS];
                for (at, column) in at.iter_mut().zip(own) {
                    *at = column.as_ptr().wrapping_add(start + first);
                }
                let to = partials.wrapping_add(first);
                // SAFETY: the workspace is that of the program, with room for all partial sums,
                // and every column has these rows.
                unsafe { code.add_tile(scalars, to, &at, [whole, ahead]) };
            }
            let end = start + rows;
            if !rows.is_multiple_of(8) {
                self.add_last(workspace, code, own, rows % 8);
            }
            if end.is_multiple_of(TILE) || end == n {
                let sums = &mut workspace.sums[..];
                self.level.run(Close { partials, sums });
                tile(sums);
            }
        }
    }

    /// Adds the last rows, fewer than a register has lanes.
    fn add_last(
        &self,
        workspace: &mut RowWorkspace,
        code: &RowCode,
        columns: &[&[f64]],
        rest: usize,
    ) {
        let n = columns[0].len();
        let tail = workspace.tail.as_mut_ptr();
        for (c, column) in columns.iter().enumerate() {
            // Harmless for the formula where the last row is.
            let row = |k: usize| column[(n - rest + k).min(n - 1)];
            let last: [f64; 8] = std::array::from_fn(row);
            // SAFETY: the tail has `BUFFER` numbers for each column.
            unsafe { tail.add(c * BUFFER).copy_from(last.as_ptr(), 8) };
        }
        self.bind_fill(workspace, Scalars::One);
        let place = (n - rest) % PARTIALS;
        let native = self.blocks(workspace, code, columns, true);
        self.level.run(Run {
            fill: &workspace.fill,
            fill_len: 8,
            code: &[],
            tail_code: &[],
            n: 8,
            ahead: &[],
            native: Some(native),
            sink: Sink::Eight {
                outputs: self.outputs(workspace.buffers.as_mut_ptr()),
                partials: workspace.partials.as_mut_ptr().wrapping_add(place),
                n_rows: &std::array::from_fn(|k| usize::from(k < rest)),
            },
        });
    }
}
