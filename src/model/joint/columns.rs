//! Look-ups by columns of positions: `a[group]`, `table[group, arm]`, `table[group, 1:]`.

use super::build::Build;
use crate::Result;
use crate::model::ast::{Expr, Span};
use fitzroy_graph::reference::flat_positions;
use fitzroy_graph::{DimId, Expr as Value};

/// Positions along one axis of an array, for every cell of some dims.
pub(super) struct Column {
    pub(super) name: String,
    /// The dims of its cells, most often one: the rows of the data.
    pub(super) rows: Vec<DimId>,
    pub(super) at: Vec<u32>,
}

/// Columns that share rows, each with the axis that it looks up along.
pub(super) struct Columns(Vec<(DimId, Column)>);

impl Columns {
    /// Puts a column to those that it shares rows with. Columns without a common row stay apart:
    /// each takes the place of its axis, so that all of their combinations are looked up.
    pub(super) fn add(groups: &mut Vec<Columns>, axis: DimId, column: Column) {
        let shares =
            |(_, other): &(DimId, Column)| other.rows.iter().any(|d| column.rows.contains(d));
        let mut own = Columns(Vec::new());
        for group in std::mem::take(groups) {
            match group.0.iter().any(shares) {
                true => own.0.extend(group.0),
                false => groups.push(group),
            }
        }
        own.0.push((axis, column));
        groups.push(own);
    }
}

impl<'g> Build<'_, 'g> {
    /// `value` with `axis` replaced by the dims of the column.
    pub(super) fn look_up(
        &self,
        base: &Expr,
        value: Value<'g>,
        axis: DimId,
        column: Column,
        span: Span,
    ) -> Result<Value<'g>> {
        let kept: Vec<DimId> = value.dims().into_iter().filter(|&d| d != axis).collect();
        if let Some(&twice) = column.rows.iter().find(|d| kept.contains(d)) {
            let rows = self.name_of(twice);
            let message = format!("`{base}` already has the dim `{rows}` of `{}`", column.name);
            return Err(self.model.error(span, message));
        }
        match column.rows[..] {
            [rows] if rows != axis => {
                let index = self.scope.bound_index(&column.name, rows, axis, &column.at);
                Ok(value.gather(index))
            }
            _ => Ok(self.look_up_cells(value, axis, &column)),
        }
    }

    /// The same of a column with several dims, or that puts the axis into another order: its cells
    /// stand in one row, and get their dims back.
    fn look_up_cells(&self, value: Value<'g>, axis: DimId, column: &Column) -> Value<'g> {
        let name = format!("cells of {}", column.name);
        let rows = self.scope.dim(&name, column.at.len());
        let index = self.scope.bound_index(&name, rows, axis, &column.at);
        let value = value.gather(index);
        let dims = value.dims();
        let at = dims.iter().position(|&d| d == rows).expect("its rows");
        let dims = [&dims[..at], &column.rows, &dims[at + 1..]].concat();
        self.relabel(value, &dims)
    }

    /// `value` looked up by all columns of a group at once, whose rows take the place of the first of
    /// their axes.
    pub(super) fn look_up_jointly(
        &self,
        base: &Expr,
        value: Value<'g>,
        group: Columns,
        span: Span,
    ) -> Result<Value<'g>> {
        let axes: Vec<DimId> = group.0.iter().map(|(axis, _)| *axis).collect();
        let joined = self.joined_columns(group.0);
        if let [axis] = axes[..] {
            return self.look_up(base, value, axis, joined, span);
        }
        let dims = value.dims();
        let at = dims
            .iter()
            .position(|d| axes.contains(d))
            .expect("its axes");
        let others = dims.iter().copied().filter(|d| !axes.contains(d));
        let others: Vec<DimId> = others.collect();
        let cells = self.flat(&axes);
        let around = |middle: &[DimId]| [&others[..at], middle, &others[at..]].concat();
        let together = value.broadcast(self.scope, &around(&axes));
        let value = self.relabel(together, &around(&[cells]));
        self.look_up(base, value, cells, joined, span)
    }

    /// One column of positions in the axes of all, the last of which runs fastest.
    fn joined_columns(&self, mut columns: Vec<(DimId, Column)>) -> Column {
        if columns.len() == 1 {
            return columns.remove(0).1;
        }
        let mut rows: Vec<DimId> = Vec::new();
        for (_, column) in &columns {
            let new = column.rows.iter().filter(|d| !rows.contains(d));
            let new: Vec<DimId> = new.copied().collect();
            rows.extend(new);
        }
        let mut at = vec![0; self.scope.with(|g| g.len_of(&rows))];
        for (axis, column) in &columns {
            let (size, cells) = self
                .scope
                .with(|g| (g.size(*axis) as u32, flat_positions(g, &rows, &column.rows)));
            for (at, cell) in at.iter_mut().zip(cells) {
                *at = *at * size + column.at[cell as usize];
            }
        }
        let names: Vec<&str> = columns.iter().map(|(_, c)| c.name.as_str()).collect();
        Column {
            name: names.join(","),
            rows,
            at,
        }
    }
}
