//! Observed categories: Categorical, and what those in order share with it.

use super::super::build::Build;
use super::super::drawing::Drawing;
use super::super::function::log_sum_exp;
use super::super::law::Of;
use super::super::{Draw, observed::Observed};
use super::site::{Site, lit};
use crate::Result;
use crate::dist::{Real, Structured};
use crate::model::Content;
use fitzroy_graph::{DimId, Expr as Value};

/// Weights, or their logarithms, and the dim of the categories.
pub(super) fn weights<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    k: usize,
    dims: &[DimId],
) -> Result<(Value<'g>, DimId)> {
    let e = site.given(k).expect("the weights were checked to be given");
    let value = b.value(e)?;
    let of = Of {
        name: &site.s.name,
        dims,
    };
    let name = site.resolved.form.args()[k].name;
    b.event_axis(value, name, e, of)
}

/// Observed values as positions below `k`.
pub(super) fn categories(b: &Build<'_, '_>, observed: Observed<'_>, k: usize) -> Result<Vec<u32>> {
    let fits = |v: f64| v.fract() == 0.0 && v >= 0.0 && v < k as f64;
    if let Some(i) = observed.values.iter().position(|&v| !fits(v)) {
        let why = format!(
            "{} is no category: there are {k}, counted from 0 to {}",
            observed.values[i],
            k - 1
        );
        return Err(b.wrong_value(observed, i, &why));
    }
    Ok(observed.values.iter().map(|&v| v as u32).collect())
}

/// A table of a number for each category, the same for all rows or for groups of them.
pub(super) struct Table<'g> {
    /// Its values, over `axis` and perhaps other dims.
    pub(super) values: Value<'g>,
    pub(super) axis: DimId,
    /// The index column that looks the rows up, where the table is by group.
    column: Option<String>,
}

impl<'g> Table<'g> {
    /// `values`, before the lookup of rows if it is one.
    pub(super) fn new(b: &Build<'_, 'g>, values: Value<'g>, axis: DimId, rows: &[DimId]) -> Self {
        match b.split_lookup(values, rows) {
            Some((core, column)) if core.dims().len() == 2 && core.dims().contains(&axis) => {
                Table {
                    values: core,
                    axis,
                    column: Some(column),
                }
            }
            _ => Table {
                values,
                axis,
                column: None,
            },
        }
    }

    /// For each row the value of its category.
    pub(super) fn pick(
        &self,
        b: &Build<'_, 'g>,
        y: &[u32],
        rows: &[DimId],
        tag: &str,
    ) -> Result<Value<'g>> {
        let k = b.scope.with(|g| g.size(self.axis));
        let own = self.values.dims();
        let alone = own == [self.axis];
        if let ([row], true) = (rows, alone) {
            return Ok(self
                .values
                .gather(b.scope.bound_index(tag, *row, self.axis, y)));
        }
        if let ([], true) = (rows, alone) {
            return Ok(b.element(self.values, self.axis, y[0] as usize));
        }
        if let (Some(column), [row]) = (&self.column, rows)
            && let Some(array) = b.binding.array(column)
            && let Content::Positions { at, .. } = &array.content
        {
            let group = own.iter().copied().find(|d| *d != self.axis);
            let group = group.expect("a table by group has two dims");
            let flat = |(g, c): (&u32, &u32)| g * k as u32 + c;
            let flat: Vec<u32> = at.iter().zip(y).map(flat).collect();
            let n = b.scope.with(|g| g.len_of(&own));
            let cells = b.scope.dim(&format!("{tag}: cells"), n);
            let table = self.values.broadcast(b.scope, &[group, self.axis]);
            let index = b.scope.bound_index(tag, *row, cells, &flat);
            return Ok(b.relabel(table, &[cells]).gather(index));
        }
        let mut hot = vec![0.0; y.len() * k];
        y.iter()
            .enumerate()
            .for_each(|(i, &c)| hot[i * k + c as usize] = 1.0);
        let dims: Vec<DimId> = rows.iter().copied().chain([self.axis]).collect();
        let hot = b.scope.bound_data(tag, &dims, &hot);
        // The value of another category may be −∞; it is not looked at, nor is its slope.
        let picked = hot.try_select(self.values, lit(0.0))?;
        Ok(picked.sum_over(&[self.axis]))
    }
}

/// ln P of every category, given weights or their logarithms, and the dim of the categories.
pub(super) fn log_shares_of<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    dims: &[DimId],
    form: Structured,
) -> Result<(Value<'g>, DimId)> {
    let (p, axis) = weights(b, site, 0, dims)?;
    let log = match form {
        Structured::CategoricalLogit => p - log_sum_exp(b, p, &[axis]),
        _ => b.log_shares(p, axis),
    };
    Ok((log, axis))
}

/// Observed categories with weights p, or with logit_p of them: ln P(y) = ln p\[y\] − ln Σp.
pub(super) fn observed(
    b: &mut Build<'_, '_>,
    site: &Site<'_>,
    observed: Observed<'_>,
    form: Structured,
) -> Result<()> {
    let rows = observed.dims;
    let (p, axis) = weights(b, site, 0, rows)?;
    let k = b.scope.with(|g| g.size(axis));
    let y = categories(b, observed, k)?;
    let mut table = Table::new(b, p, axis, rows);
    table.values = match form {
        Structured::CategoricalLogit => table.values - log_sum_exp(b, table.values, &[axis]),
        _ => b.log_shares(table.values, axis),
    };
    let density = table.pick(b, &y, rows, &site.tag("categories"))?;
    b.vector_term(observed, rows, density, None);
    draw(b, site, rows, form, true)
}

/// Notes that categories are drawn anew.
pub(super) fn draw(
    b: &mut Build<'_, '_>,
    site: &Site<'_>,
    dims: &[DimId],
    form: Structured,
    observed: bool,
) -> Result<()> {
    let (p, axis) = weights(b, site, 0, dims)?;
    let p = match form {
        Structured::CategoricalLogit => (p - log_sum_exp(b, p, &[axis])).exp(),
        _ => p,
    };
    let drawing = Drawing {
        draw: Draw::Categorical,
        arguments: vec![last(b, p, axis, dims)],
        outer: dims,
        event: &[],
        observed,
    };
    b.draw(site.s, drawing);
    Ok(())
}

/// `x` with `axis` as its last dim.
pub(super) fn last<'g>(b: &Build<'_, 'g>, x: Value<'g>, axis: DimId, dims: &[DimId]) -> Value<'g> {
    let own = x.dims();
    let kept = dims.iter().copied().filter(|d| own.contains(d));
    let order: Vec<DimId> = kept.chain([axis]).collect();
    x.broadcast(b.scope, &order)
}
