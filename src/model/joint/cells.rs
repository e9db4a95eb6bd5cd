//! Some elements of an array, put along a dim of their own.

use super::build::Build;
use fitzroy_graph::{DimId, Expr as Value};

/// Some elements of an array.
pub(super) struct Cells<'a> {
    /// The array's name, and its dims.
    pub(super) name: &'a str,
    pub(super) dims: &'a [DimId],
    /// The dim along which they are put.
    pub(super) along: DimId,
    /// Their row-major places in the array.
    pub(super) at: &'a [usize],
}

impl<'g> Build<'_, 'g> {
    /// The elements of `value` that belong to some cells of an array.
    pub(super) fn pick(&self, value: Value<'g>, cells: &Cells<'_>) -> Value<'g> {
        let own = value.dims();
        let (value, axis) = match own[..] {
            [] => return value,
            [axis] => (value, axis),
            _ => {
                let flat = self.flat(cells.dims);
                (
                    self.relabel(value.broadcast(self.scope, cells.dims), &[flat]),
                    flat,
                )
            }
        };
        let size = |d: DimId| self.scope.with(|g| g.size(d));
        // How far apart neighbours along the axis are, in an array over all dims.
        let (step, n) = match cells.dims.iter().position(|&d| d == axis) {
            Some(k) => (
                cells.dims[k + 1..].iter().map(|&d| size(d)).product(),
                size(axis),
            ),
            None => (1, size(axis)),
        };
        let positions: Vec<u32> = cells.at.iter().map(|i| (i / step % n) as u32).collect();
        let (along, axis_name) = self.scope.with(|g| {
            let name = |d: DimId| g.dim_info(d).name.clone();
            (name(cells.along), name(axis))
        });
        let index = format!("{along} by {axis_name}");
        value.gather(
            self.scope
                .bound_index(&index, cells.along, axis, &positions),
        )
    }

    /// One dim for all elements over `dims`.
    pub(super) fn flat(&self, dims: &[DimId]) -> DimId {
        self.scope.with(|g| {
            let name: Vec<String> = dims.iter().map(|&d| g.dim_info(d).name.clone()).collect();
            let size = g.len_of(dims);
            g.dim(&name.join("*"), size)
        })
    }

    /// One dim for all rows of a look-up and one for all elements that it takes them from, which are two
    /// even where both are over the same dims.
    pub(super) fn flat_apart(&self, rows: &[DimId], elements: &[DimId]) -> (DimId, DimId) {
        let (rows, target) = (self.flat(rows), self.flat(elements));
        if rows != target {
            return (rows, target);
        }
        let twin = self.scope.with(|g| {
            let name = format!("{}'", g.dim_info(target).name);
            g.dim(&name, g.len_of(&[target]))
        });
        (rows, twin)
    }
}
