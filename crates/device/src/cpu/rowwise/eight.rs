//! Eight problems side by side: one in each lane, with rows and parameters of its own.

use super::emitted::RowCode;
use super::execute::{MOST_COLUMNS, Run, Sink};
use super::operands::{bind, moving};
use super::{BLOCK, BUFFER, PARTIALS, Place, RowProgram, RowWorkspace, Scalars};
use crate::cpu::{Aligned, Line};
use crate::lanes::Level;

impl RowProgram {
    /// Sums over the rows of eight problems at once: row i of problem k stands at 8 i + k of each
    /// column, its parameters at `params[..][k]`, its sums go to `out[..][k]`. Problem k has
    /// `n_rows[k]` rows; what stands beyond must be finite for the formula and does not count.
    ///
    /// Rows are summed in their order.
    ///
    /// # Panics
    /// When columns are missing, differ in length or are no multiple of eight.
    #[track_caller]
    pub fn accumulate_eight(
        &self,
        workspace: &mut RowWorkspace,
        params: &[[f64; 8]],
        columns: &[&[f64]],
        n_rows: &[usize; 8],
        out: &mut [[f64; 8]],
    ) {
        let n = self.check(columns);
        assert!(n.is_multiple_of(8), "rows of eight problems");
        assert_eq!(out.len(), self.n_sums(), "one place per sum");
        for (line, x) in workspace
            .scalars
            .lines
            .iter_mut()
            .zip(&params[..self.n_params])
        {
            line.0 = *x;
        }
        let native = self.machine_code(columns);
        // Rows that all eight have.
        let shared = n_rows
            .iter()
            .copied()
            .min()
            .map_or(0, |rows| rows.min(n / 8));
        out.fill([0.0; 8]);
        match native {
            Some(code) if self.add_shared(workspace, code, columns, 8 * shared, out) => {
                if 8 * shared < n {
                    let rest: [&[f64]; MOST_COLUMNS] = std::array::from_fn(|c| {
                        columns
                            .get(c)
                            .map_or(&[][..], |column| &column[8 * shared..])
                    });
                    let rest = &rest[..columns.len().min(MOST_COLUMNS)];
                    let n_rows = n_rows.map(|rows| rows - shared);
                    self.add_eight(workspace, native, rest, &n_rows, out);
                }
            }
            _ => {
                self.follow(workspace);
                self.add_eight(workspace, native, columns, n_rows, out);
            }
        }
    }

    /// Adds rows that all problems have, where there is code for that.
    #[inline]
    fn add_shared(
        &self,
        workspace: &mut RowWorkspace,
        code: &RowCode,
        columns: &[&[f64]],
        n: usize,
        sums: &mut [[f64; 8]],
    ) -> bool {
        let mut at = [std::ptr::null(); MOST_COLUMNS];
        let own = columns[..self.n_columns].iter();
        at.iter_mut().zip(own).for_each(|(at, c)| *at = c.as_ptr());
        let scalars = workspace.scalars.as_mut_ptr();
        // SAFETY: the workspace is that of the program, columns have at least `n` rows, and there
        // is a place for every sum.
        unsafe { code.add(scalars, sums.as_mut_ptr().cast(), &at, n) }
    }

    /// Adds rows block by block, as many as each problem has.
    fn add_eight(
        &self,
        workspace: &mut RowWorkspace,
        native: Option<&RowCode>,
        columns: &[&[f64]],
        n_rows: &[usize; 8],
        sums: &mut [[f64; 8]],
    ) {
        self.bind_eight(workspace, columns, native.is_some());
        let native = native.map(|code| self.blocks(workspace, code, columns, false));
        for (k, sum) in sums.iter().enumerate() {
            workspace.partials.lines[k * PARTIALS / 8] = Line(*sum);
        }
        self.level.run(Run {
            fill: &workspace.fill,
            fill_len: BLOCK,
            code: &workspace.code,
            tail_code: &workspace.code,
            n: columns.first().map_or(0, |c| c.len()),
            ahead: &[],
            native,
            sink: Sink::Eight {
                outputs: self.outputs(workspace.buffers.as_mut_ptr()),
                partials: workspace.partials.as_mut_ptr(),
                n_rows,
            },
        });
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = workspace.partials.lines[k * PARTIALS / 8].0;
        }
    }

    /// Addresses of all operands of eight problems that are read; machine code knows its own.
    pub(super) fn bind_eight(
        &self,
        workspace: &mut RowWorkspace,
        columns: &[&[f64]],
        native: bool,
    ) {
        let code = if native { &[][..] } else { &self.code };
        workspace.bound.forget();
        // Machine code reads scalars where they are; what fills whole buffers does not.
        let repeated = match (native, &self.fill[..]) {
            (true, []) => None,
            (true, fill) => {
                let reads = |k| {
                    fill.iter()
                        .any(|i| i.from.contains(&Some(Place::Scalar(k))))
                };
                self.repeat_scalars(workspace, reads)
            }
            (false, _) => self.repeat_scalars(workspace, |_| true),
        };
        let scalars = repeated.map_or(Scalars::Eight, Scalars::Repeated);
        self.bind_fill(workspace, scalars);
        let place = self.place(workspace, scalars);
        bind(&mut workspace.code, code, |at| match at {
            Place::Column(c) => moving(columns[c].as_ptr()),
            other => place(other),
        });
    }

    /// The scalars of eight problems that are read, along a block, for registers of fewer lanes: wider
    /// ones hold all eight.
    fn repeat_scalars(
        &self,
        workspace: &mut RowWorkspace,
        is_read: impl Fn(usize) -> bool,
    ) -> Option<*mut f64> {
        if self.level == Level::Avx512 {
            return None;
        }
        let wide = self.scalars.len() * BUFFER;
        if workspace.repeated.lines.len() * 8 < wide {
            workspace.repeated = Aligned::zeros(wide);
        }
        let scalars = &workspace.scalars.lines[..self.scalars.len()];
        for (k, line) in scalars.iter().enumerate().filter(|(k, _)| is_read(*k)) {
            let lines = &mut workspace.repeated.lines[k * BUFFER / 8..];
            lines[..BLOCK / 8].fill(*line);
        }
        Some(workspace.repeated.as_mut_ptr())
    }
}
