//! `base[subscripts]`: elements, slices, and look-ups by columns of positions.

use super::build::Build;
use super::columns::{Column, Columns};
use super::observations::is_own;
use crate::Result;
use crate::model::Content;
use crate::model::ast::{Expr, ExprKind, Span, Subscript};
use fitzroy_graph::{DimId, Expr as Value};

impl<'g> Build<'_, 'g> {
    pub(super) fn index(&mut self, base: &Expr, subscripts: &[Subscript]) -> Result<Value<'g>> {
        let mut value = self.value(base)?;
        let dims = value.dims();
        if subscripts.len() > dims.len() {
            let has = self.scope.with(|g| g.describe_dims(&dims));
            let message = format!(
                "`{base}` has dims {has}, but {} subscripts follow",
                subscripts.len()
            );
            return Err(self.model.error(subscripts[dims.len()].span(), message));
        }
        let nested = subscripts.iter().filter(|s| self.nested(s).is_some());
        let (n_nested, mut columns) = (nested.count(), Vec::new());
        for (&axis, subscript) in dims.iter().zip(subscripts) {
            let column = match self.nested(subscript) {
                Some(_) => None,
                None => self.column(base, axis, subscript)?,
            };
            columns.push(column);
        }
        let n_columns = columns.iter().flatten().count();
        if n_nested > 0 && n_nested + n_columns > 1 {
            let message = format!(
                "`{base}`: an index of an index stands alone; look up one dim after the other"
            );
            return Err(self.model.error(subscripts[0].span(), message));
        }
        let mut groups: Vec<Columns> = Vec::new();
        for ((&axis, subscript), column) in dims.iter().zip(subscripts).zip(columns) {
            match column {
                Some(column) => Columns::add(&mut groups, axis, column),
                None => value = self.subscript(base, value, axis, subscript)?,
            }
        }
        for group in groups {
            value = self.look_up_jointly(base, value, group, subscripts[0].span())?;
        }
        self.with_primes(value, &dims, subscripts).ok_or_else(|| {
            let message = format!("`{base}` would have one axis twice here; name each once");
            self.model.error(subscripts[0].span(), message)
        })
    }

    /// The positions that a subscript of `axis` is: a column of the data, or whole numbers computed
    /// from data.
    fn column(&mut self, base: &Expr, axis: DimId, s: &Subscript) -> Result<Option<Column>> {
        let Subscript::At(e) = s else { return Ok(None) };
        if let ExprKind::Name(name) = &e.kind {
            if is_own(name, &self.name_of(axis)) {
                return Ok(None);
            }
            if let Some((target, column)) = self.column_of_data(name) {
                self.aims_at(base, axis, target, &column.name, e.span)?;
                return Ok(Some(column));
            }
        }
        if self.is_by_value(e) {
            return Ok(None);
        }
        let value = self.value(e)?;
        if value.dims().is_empty() {
            return Ok(None);
        }
        let Some(known) = self.scope.known(value) else {
            let message = format!(
                "`{e}` depends on parameters and cannot be an index; an index is data, or computed \
                 from data alone"
            );
            return Err(self.model.error(e.span, message));
        };
        let size = self.scope.with(|g| g.size(axis));
        let fits = |x: &f64| *x >= 0.0 && *x < size as f64 && x.fract() == 0.0;
        if let Some(place) = known.iter().position(|x| !fits(x)) {
            let message = format!(
                "`{e}` is {} at its element {place}, counted from 0, and is no position in dim `{}` \
                 of `{base}`: whole numbers from 0 to {}",
                known[place],
                self.name_of(axis),
                size - 1
            );
            return Err(self.model.error(e.span, message));
        }
        self.lists += 1;
        Ok(Some(Column {
            name: format!("index {} at {}", self.lists, e.span.start()),
            rows: value.dims(),
            at: known.iter().map(|&x| x as u32).collect(),
        }))
    }

    /// The dim that the column `name` of the data indexes, and its positions; none if it is no index.
    fn column_of_data(&self, name: &str) -> Option<(DimId, Column)> {
        let array = self.binding.array(name)?;
        let Content::Positions { dim, at } = &array.content else {
            return None;
        };
        let rows: Vec<DimId> = array.dims.iter().map(|&d| self.dims[d]).collect();
        let column = Column {
            name: name.into(),
            rows: self.distinct(&rows),
            at: at.clone(),
        };
        (!rows.is_empty()).then_some((self.dims[*dim], column))
    }

    fn aims_at(
        &self,
        base: &Expr,
        axis: DimId,
        target: DimId,
        column: &str,
        span: Span,
    ) -> Result<()> {
        if target == axis {
            return Ok(());
        }
        let (axis, target) = (self.name_of(axis), self.name_of(target));
        let message = format!(
            "`{column}` holds positions in `{target}`, but this axis of `{base}` is `{axis}`"
        );
        Err(self.model.error(span, message))
    }

    /// The index column and its own subscript, where a subscript is an index of an index.
    fn nested<'s>(&self, s: &'s Subscript) -> Option<(&'s Expr, &'s str, &'s Subscript)> {
        let Subscript::At(Expr {
            kind: ExprKind::Index(inner, own),
            ..
        }) = s
        else {
            return None;
        };
        let (ExprKind::Name(name), [own]) = (&inner.kind, own.as_slice()) else {
            return None;
        };
        let (_, column) = self.column_of_data(name)?;
        (column.rows.len() == 1).then_some((inner, name.as_str(), own))
    }

    /// A subscript that is no column of positions.
    fn subscript(
        &mut self,
        base: &Expr,
        value: Value<'g>,
        axis: DimId,
        subscript: &Subscript,
    ) -> Result<Value<'g>> {
        let scope = self.scope;
        let (axis_name, size) = scope.with(|g| (g.dim_info(axis).name.clone(), g.size(axis)));
        let node = scope.node(value);
        match subscript {
            Subscript::Slice { start, stop, span } => {
                let start = self.bound(start.as_ref(), 0, size)?;
                let stop = self.bound(stop.as_ref(), size, size)?;
                if start >= stop {
                    let message = format!(
                        "the slice of `{base}` is empty: `{axis_name}` has {size} elements"
                    );
                    return Err(self.model.error(*span, message));
                }
                Ok(scope.expr(scope.with(|g| g.slice(node, axis, start, stop - start))?))
            }
            Subscript::At(e) => {
                if let ExprKind::Name(name) = &e.kind
                    && is_own(name, &axis_name)
                {
                    return Ok(value);
                }
                if self.is_by_value(e) {
                    return self.look_up_by_value((base, value), axis, e);
                }
                if let Some((inner, index, own)) = self.nested(subscript) {
                    // a[i[g]] is a[i][g].
                    let (target, column) = self.column_of_data(index).expect("it is nested");
                    let rows = column.rows[0];
                    self.aims_at(base, axis, target, index, inner.span)?;
                    let value = self.look_up(base, value, axis, column, inner.span)?;
                    return match self.column(base, rows, own)? {
                        Some(column) => self.look_up(base, value, rows, column, own.span()),
                        None => self.subscript(base, value, rows, own),
                    };
                }
                let at = self.number(e)?;
                let place = if at < 0.0 { at + size as f64 } else { at };
                if place < 0.0 || place >= size as f64 || place.fract() != 0.0 {
                    let message = format!(
                        "position {at} is outside `{base}`: dim `{axis_name}` has {size} elements, counted from 0"
                    );
                    return Err(self.model.error(e.span, message));
                }
                Ok(scope.expr(scope.with(|g| g.element(node, axis, place as usize))?))
            }
        }
    }

    /// A slice bound: counted from the end if negative, cut to the size.
    pub(super) fn bound(&mut self, e: Option<&Expr>, missing: usize, size: usize) -> Result<usize> {
        let Some(e) = e else { return Ok(missing) };
        let at = self.number(e)?;
        let at = if at < 0.0 { at + size as f64 } else { at };
        if at.fract() != 0.0 {
            return Err(self
                .model
                .error(e.span, format!("`{e}` is not a whole number")));
        }
        Ok(at.clamp(0.0, size as f64) as usize)
    }
}
