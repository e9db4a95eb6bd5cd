//! Data by rows: columns in memory, or anything that can show a stretch of rows piece by piece.

use super::journal::{Belongs, Journal};
use super::machine::Engine;
use fitzroy::Result;
use fitzroy_device::cpu::TILE_ROWS;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Mutex;

/// What gets a piece: its first row and its columns.
pub type Visitor<'v> = dyn FnMut(usize, &[&[f64]]) -> Result<()> + 'v;

/// Columns of equal length, in the order of the programs that read them.
pub trait Table: Sync {
    /// Number of rows.
    fn n_rows(&self) -> usize;

    /// Shows the rows of `range`, which starts at a multiple of a tile, in order and in pieces of
    /// whole tiles (but for the last).
    ///
    /// # Errors
    /// The data cannot be read, or `visit` fails.
    fn visit(&self, range: Range<usize>, visit: &mut Visitor<'_>) -> Result<()>;

    /// The journal that passes through this table are kept in, if they are.
    fn journal(&self) -> Option<&Mutex<Journal>> {
        None
    }

    /// What sums passes through this table in place of this processor, if anything does.
    fn engine(&self) -> Option<&Mutex<Engine>> {
        None
    }
}

/// A table whose passes are kept in a journal.
pub struct Kept<'t> {
    table: &'t dyn Table,
    journal: Mutex<Journal>,
}

impl<'t> Kept<'t> {
    /// Keeps the passes through `table` in `journal`.
    pub fn new(table: &'t dyn Table, journal: Journal) -> Self {
        Kept {
            table,
            journal: Mutex::new(journal),
        }
    }

    /// True when whoever watches the journal stopped the fit inside a pass.
    pub fn stopped(&self) -> bool {
        self.lock().stopped()
    }

    /// The journal as bytes, with what it belongs to.
    pub fn to_bytes(&self, belongs: &Belongs) -> Vec<u8> {
        self.lock().to_bytes(belongs)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Journal> {
        self.journal
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Table for Kept<'_> {
    fn n_rows(&self) -> usize {
        self.table.n_rows()
    }

    fn visit(&self, range: Range<usize>, visit: &mut Visitor<'_>) -> Result<()> {
        self.table.visit(range, visit)
    }

    fn journal(&self) -> Option<&Mutex<Journal>> {
        Some(&self.journal)
    }
}

/// Columns in memory.
#[derive(Clone, Debug)]
pub struct Columns<'d> {
    columns: Vec<Cow<'d, [f64]>>,
}

impl<'d> Columns<'d> {
    /// The columns; all of one length.
    ///
    /// # Panics
    /// When they differ in length.
    #[track_caller]
    pub fn new(columns: Vec<Cow<'d, [f64]>>) -> Self {
        let n = columns.first().map_or(0, |c| c.len());
        assert!(
            columns.iter().all(|c| c.len() == n),
            "columns of one length"
        );
        Columns { columns }
    }

    /// One column.
    pub fn column(&self, k: usize) -> &[f64] {
        &self.columns[k]
    }

    /// All columns.
    pub(crate) fn all(&self) -> Vec<&[f64]> {
        self.columns.iter().map(|c| &c[..]).collect()
    }

    /// Some rows, as a table of their own.
    pub(crate) fn take(&self, rows: &[usize]) -> Columns<'static> {
        let pick = |c: &Cow<'_, [f64]>| rows.iter().map(|&i| c[i]).collect::<Vec<f64>>();
        Columns {
            columns: self.columns.iter().map(|c| Cow::Owned(pick(c))).collect(),
        }
    }
}

impl Table for Columns<'_> {
    fn n_rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.len())
    }

    fn visit(&self, range: Range<usize>, visit: &mut Visitor<'_>) -> Result<()> {
        let columns: Vec<&[f64]> = self.columns.iter().map(|c| &c[range.clone()]).collect();
        visit(range.start, &columns)
    }
}

/// Every so many rows of a table, `most` at most: all its columns.
///
/// # Errors
/// The data cannot be read.
pub(crate) fn spread_rows(table: &dyn Table, most: usize) -> Result<Vec<Vec<f64>>> {
    let step = table.n_rows().div_ceil(most).max(1);
    let mut all: Vec<Vec<f64>> = Vec::new();
    visit_all(table, &mut |first, columns| {
        all.resize(columns.len(), Vec::new());
        let skip = (step - first % step) % step;
        for (to, from) in all.iter_mut().zip(columns) {
            match step {
                1 => to.extend_from_slice(from),
                _ => to.extend(from.iter().skip(skip).step_by(step)),
            }
        }
        Ok(())
    })?;
    Ok(all)
}

/// Columns of a table that is small enough to keep, and for checks: every piece in turn.
///
/// # Errors
/// The data cannot be read.
pub fn visit_all(table: &dyn Table, visit: &mut Visitor<'_>) -> Result<()> {
    table.visit(0..table.n_rows(), visit)
}

/// Shows all rows of `table` at once: as they stand, where it shows them in one piece, else as copies.
///
/// # Errors
/// The data cannot be read.
pub(crate) fn whole<T>(table: &dyn Table, take: impl FnOnce(&[&[f64]]) -> T) -> Result<T> {
    let n = table.n_rows();
    let (mut take, mut taken) = (Some(take), None);
    let mut copied: Vec<Vec<f64>> = Vec::new();
    visit_all(table, &mut |first, columns| {
        let all = first == 0 && columns.first().is_some_and(|c| c.len() == n);
        match take.take_if(|_| all) {
            Some(take) => taken = Some(take(columns)),
            None => {
                copied.resize_with(columns.len(), || Vec::with_capacity(n));
                let both = copied.iter_mut().zip(columns);
                both.for_each(|(to, from)| to.extend_from_slice(from));
            }
        }
        Ok(())
    })?;
    let columns: Vec<&[f64]> = copied.iter().map(Vec::as_slice).collect();
    Ok(match (taken, take) {
        (Some(taken), _) => taken,
        (None, Some(take)) => take(&columns),
        (None, None) => unreachable!("what took the rows gave something"),
    })
}

/// A table cut into pieces of `tiles` tiles, for tests of the order of sums.
pub struct Pieces<'t> {
    /// The table.
    pub table: &'t dyn Table,
    /// Tiles of a piece.
    pub tiles: usize,
}

impl Table for Pieces<'_> {
    fn n_rows(&self) -> usize {
        self.table.n_rows()
    }

    fn visit(&self, range: Range<usize>, visit: &mut Visitor<'_>) -> Result<()> {
        for start in range.clone().step_by(self.tiles * TILE_ROWS) {
            let end = (start + self.tiles * TILE_ROWS).min(range.end);
            self.table.visit(start..end, visit)?;
        }
        Ok(())
    }
}
