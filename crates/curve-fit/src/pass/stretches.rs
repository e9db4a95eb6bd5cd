//! Stretches of whole tiles of a table, spread over all of it, as a table of their own.

use super::{Table, Visitor};
use fitzroy::Result;
use fitzroy::rng::{Purpose, Rng};
use fitzroy_device::cpu::TILE_ROWS;
use std::ops::Range;

/// Most stretches, and most tiles of all together.
const STRETCHES: usize = 256;
const MOST_TILES: usize = 512;

/// Some stretches of equal length.
pub(crate) struct Stretches<'t> {
    table: &'t dyn Table,
    /// First tile of each, rising.
    starts: Vec<usize>,
    /// Tiles of each.
    tiles: usize,
}

impl<'t> Stretches<'t> {
    /// One tile of `share`, at most 512: stretches of one length, each anywhere in a stratum of its
    /// own; a function of the number of rows and the seed alone.
    pub(crate) fn new(table: &'t dyn Table, share: usize, seed: u64) -> Self {
        let whole = table.n_rows() / TILE_ROWS;
        let wanted = (whole / share).clamp(1, MOST_TILES);
        let tiles = wanted.div_ceil(STRETCHES);
        let n = wanted / tiles;
        let mut rng = Rng::new(seed, 1, 0, 0, Purpose::Data);
        let starts = (0..n).map(|k| {
            let (first, end) = (k * whole / n, (k + 1) * whole / n);
            let room = end - first - tiles;
            first + ((rng.uniform() * (room + 1) as f64) as usize).min(room)
        });
        Stretches {
            starts: starts.collect(),
            table,
            tiles,
        }
    }

    /// Whether they have a tile of the table.
    pub(super) fn have(&self, tile: usize) -> bool {
        let before = self.starts.partition_point(|&start| start <= tile);
        before > 0 && tile < self.starts[before - 1] + self.tiles
    }
}

impl Table for Stretches<'_> {
    fn n_rows(&self) -> usize {
        self.starts.len() * self.tiles * TILE_ROWS
    }

    fn visit(&self, range: Range<usize>, visit: &mut Visitor<'_>) -> Result<()> {
        let length = self.tiles * TILE_ROWS;
        let mut row = range.start;
        while row < range.end {
            let (stretch, within) = (row / length, row % length);
            let end = range.end.min(row + length - within);
            let there = self.starts[stretch] * TILE_ROWS + within;
            let seen = |first: usize, columns: &[&[f64]]| visit(row + first - there, columns);
            let mut seen = seen;
            self.table.visit(there..there + (end - row), &mut seen)?;
            row = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::Columns;
    use std::borrow::Cow;

    #[test]
    fn stretches_show_rows_of_every_stratum_in_order_whatever_is_asked_for() {
        for n in [700_000, 1_000_000, 4_000_001] {
            let rows = Columns::new(vec![Cow::Owned((0..n).map(|i| i as f64).collect())]);
            let some = Stretches::new(&rows, 8, 3);
            let (mut seen, mut at) = (Vec::new(), 0);
            // Pieces that begin and end within stretches.
            while at < some.n_rows() {
                let end = (at + 7 * TILE_ROWS).min(some.n_rows());
                let take = &mut |first: usize, columns: &[&[f64]]| {
                    assert_eq!(first, seen.len());
                    seen.extend_from_slice(columns[0]);
                    Ok(())
                };
                some.visit(at..end, take).expect("columns can be read");
                at = end;
            }
            assert_eq!(seen.len(), some.n_rows());
            let tiles = (0..n / TILE_ROWS).filter(|&tile| some.have(tile));
            let rows = tiles.flat_map(|tile| tile * TILE_ROWS..(tile + 1) * TILE_ROWS);
            assert!(rows.map(|row| row as f64).eq(seen.iter().copied()));
            assert!(seen.windows(2).all(|w| w[0] < w[1]));
            let share = n as f64 / some.n_rows() as f64;
            assert!((8.0..8.1).contains(&share), "{share}");
            for part in 0..8 {
                let (low, high) = (part * n / 8, (part + 1) * n / 8);
                let own = seen
                    .iter()
                    .filter(|x| (low as f64..high as f64).contains(x));
                let own = own.count() as f64 / seen.len() as f64;
                assert!((own - 0.125).abs() < 0.05, "{own} of part {part}");
            }
        }
    }
}
