//! Addresses of operands: scalars, buffers and columns, wherever these stand.

use super::emitted::RowCode;
use super::execute::Blocks;
use super::{BUFFER, Place, RowInstr, RowProgram, RowWorkspace, Scalars};
use crate::cpu::operand::{Arg, Bound};
use crate::cpu::program::BLOCK;

impl RowProgram {
    /// Addresses of what fills buffers, unless they are known.
    pub(super) fn bind_fill(&self, workspace: &mut RowWorkspace, scalars: Scalars) {
        if workspace.filled != Some(scalars) {
            let place = self.place(workspace, scalars);
            bind(&mut workspace.fill, &self.fill, place);
            workspace.filled = Some(scalars);
        }
    }

    /// Addresses of scalars and buffers.
    pub(super) fn place(
        &self,
        workspace: &mut RowWorkspace,
        scalars: Scalars,
    ) -> impl Fn(Place) -> Arg + use<> {
        let base = workspace.scalars.as_mut_ptr();
        let buffers = workspace.buffers.as_mut_ptr();
        move |place| match (place, scalars) {
            (Place::Scalar(k), Scalars::Repeated(repeated)) => {
                fixed(repeated.wrapping_add(k * BUFFER))
            }
            (Place::Scalar(k), _) => Arg {
                at: base.wrapping_add(8 * k),
                step: 0,
                scalar: true,
                eight: scalars == Scalars::Eight,
            },
            (Place::Buffer(k), _) => fixed(buffers.wrapping_add(k * BUFFER)),
            (Place::Column(c), _) => unreachable!("column {c} stands in the data"),
        }
    }

    /// What machine code needs to run over `columns`, the last rows from the tail if that is so.
    pub(super) fn blocks<'a>(
        &'a self,
        workspace: &mut RowWorkspace,
        code: &'a RowCode,
        columns: &'a [&'a [f64]],
        tail: bool,
    ) -> Blocks<'a> {
        Blocks {
            code,
            scalars: workspace.scalars.as_mut_ptr(),
            buffers: workspace.buffers.as_mut_ptr(),
            columns: &columns[..self.n_columns],
            tail: tail.then(|| workspace.tail.as_ptr()),
        }
    }

    /// Addresses of all operands that are read, and a copy of the last rows that fill no block.
    #[track_caller]
    pub(super) fn bind_rows(
        &self,
        workspace: &mut RowWorkspace,
        columns: &[&[f64]],
        native: bool,
    ) -> usize {
        let n = self.check(columns);
        self.bind_fill(workspace, Scalars::One);
        let own = &columns[..self.n_columns];
        if !native && !workspace.bound.is_for(own, n) {
            workspace.bound.keep(own, n);
            let place = self.place(workspace, Scalars::One);
            bind(&mut workspace.code, &self.code, |at| match at {
                Place::Column(c) => moving(columns[c].as_ptr()),
                other => place(other),
            });
            let tail = workspace.tail.as_mut_ptr();
            bind(&mut workspace.tail_code, &self.code, |at| match at {
                Place::Column(c) => fixed(tail.wrapping_add(c * BUFFER)),
                other => place(other),
            });
        }
        let rest = n % BLOCK;
        if rest == 0 {
            return n;
        }
        let tail = workspace.tail.as_mut_ptr();
        for (c, column) in columns[..self.n_columns].iter().enumerate() {
            let last = &column[n - rest..];
            // SAFETY: the tail has `BUFFER` numbers for each column, more than a block.
            let to = unsafe { std::slice::from_raw_parts_mut(tail.add(c * BUFFER), BUFFER) };
            let (own, beyond) = to.split_at_mut(rest);
            own.copy_from_slice(last);
            // Harmless for the formula where the last row is.
            beyond.fill(last[rest - 1]);
        }
        n
    }
}

/// The columns that the code over rows was bound for: a fit passes over the same ones again and
/// again.
#[derive(Default)]
pub(super) struct BoundFor {
    columns: Vec<*const f64>,
    n: usize,
}

impl BoundFor {
    fn is_for(&self, columns: &[&[f64]], n: usize) -> bool {
        let same = columns.iter().map(|c| c.as_ptr());
        self.n == n && n > 0 && same.eq(self.columns.iter().copied())
    }

    fn keep(&mut self, columns: &[&[f64]], n: usize) {
        self.n = n;
        self.columns.clear();
        self.columns.extend(columns.iter().map(|c| c.as_ptr()));
    }

    /// It was bound for something else.
    pub(super) fn forget(&mut self) {
        self.n = 0;
    }
}

/// An operand that stays where it is.
pub(super) fn fixed(at: *mut f64) -> Arg {
    Arg {
        at,
        step: 0,
        scalar: false,
        eight: false,
    }
}

/// An operand that moves with the rows; it is only read.
pub(super) fn moving(at: *const f64) -> Arg {
    Arg {
        at: at.cast_mut(),
        step: 1,
        scalar: false,
        eight: false,
    }
}

/// Instructions among scalars, which stand eight times each from `base` on.
pub(super) fn bind_scalars(to: &mut Vec<Bound>, code: &[RowInstr], base: *mut f64) {
    bind(to, code, |place| match place {
        Place::Scalar(k) => Arg {
            at: base.wrapping_add(8 * k),
            step: 1,
            scalar: false,
            eight: false,
        },
        other => unreachable!("{other:?} among scalars"),
    });
}

/// Instructions with addresses.
pub(super) fn bind(to: &mut Vec<Bound>, code: &[RowInstr], place: impl Fn(Place) -> Arg) {
    to.clear();
    let nowhere = fixed(std::ptr::null_mut());
    // Loops instead of `map`, which is not inlined here: short passes feel it.
    for i in code {
        let mut bound = Bound {
            code: i.code,
            to: place(i.to),
            also_to: nowhere,
            from: [nowhere; 3],
            n_from: 0,
        };
        if let Some(also) = i.also_to {
            bound.also_to = place(also);
        }
        for (to, from) in bound.from.iter_mut().zip(&i.from) {
            if let Some(from) = from {
                *to = place(*from);
                bound.n_from += 1;
            }
        }
        to.push(bound);
    }
}
