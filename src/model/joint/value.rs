//! Expressions of the language as expressions of the graph.

use super::build::Build;
use super::observations::is_own;
use crate::Result;
use crate::dist::Real;
use crate::model::Content;
use crate::model::ast::{BinaryOp, Call, Expr, ExprKind, Span, Subscript, UnaryOp};
use fitzroy_graph::{Binary, DimId, Expr as Value};

fn lit<'g>(x: f64) -> Value<'g> {
    Value::lit(x)
}

impl<'g> Build<'_, 'g> {
    /// The value of an expression.
    pub(super) fn value(&mut self, e: &Expr) -> Result<Value<'g>> {
        match &e.kind {
            ExprKind::Number(x) => Ok(lit(*x)),
            ExprKind::Name(name) => self.named(name, e.span),
            ExprKind::List(items) => self.list(items, e.span),
            ExprKind::Unary(op, a) => {
                let a = self.value(a)?;
                Ok(match op {
                    UnaryOp::Neg => -a,
                    UnaryOp::Not => a.equals(lit(0.0)),
                })
            }
            ExprKind::Binary(op, a, b) => self.operator(*op, a, b, e.span),
            ExprKind::Index(base, subscripts) => self.index(base, subscripts),
            ExprKind::Call(call) => self.call(call),
        }
    }

    /// A number known while building.
    pub(super) fn number(&mut self, e: &Expr) -> Result<f64> {
        let value = self.value(e)?;
        let known = match value.constant() {
            Some(x) => Some(vec![x]),
            None => self.scope.known(value),
        };
        match known.as_deref() {
            Some([x]) => Ok(*x),
            _ => Err(self
                .model
                .error(e.span, format!("`{e}` must be a known number"))),
        }
    }

    /// `a op b`, or an error that names both and their dims.
    fn combine(
        &mut self,
        op: Binary,
        (a, at_a): (Value<'g>, &Expr),
        (b, at_b): (Value<'g>, &Expr),
        span: Span,
    ) -> Result<Value<'g>> {
        let (a, b) = self.fit_lists(a, b);
        let mut both = [a, b];
        self.spread_to_all(&mut both, &[at_a, at_b]);
        let [a, b] = both;
        a.try_binary(op, b).map_err(|error| {
            let advice = self.lookup_advice(at_a, &a.dims(), &b.dims());
            let advice = advice.or_else(|| self.lookup_advice(at_b, &b.dims(), &a.dims()));
            let advice = advice.unwrap_or_else(|| self.outer_advice((a, at_a), (b, at_b)));
            self.model
                .error(span, format!("`{at_a}` and `{at_b}`: {error}{advice}"))
        })
    }

    /// "index `a` by a column ...", where some data column maps between the dims.
    fn lookup_advice(&self, a: &Expr, from: &[DimId], to: &[DimId]) -> Option<String> {
        let name = |d: &DimId| self.scope.with(|g| g.dim_info(*d).name.clone());
        let (from, to): (Vec<_>, Vec<_>) = (
            from.iter().map(name).collect(),
            to.iter().map(name).collect(),
        );
        self.binding.arrays.iter().find_map(|array| {
            let Content::Positions { dim, .. } = array.content else {
                return None;
            };
            let target = &self.binding.dims[dim].name;
            let rows = &self.binding.dims[*array.dims.first()?].name;
            let maps = from.len() == 1 && from[0] == *target && to.contains(rows);
            maps.then(|| format!("; look the first up by row: `{a}[{}]`", array.name))
        })
    }

    fn operator(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Result<Value<'g>> {
        let (x, y) = (self.value(a)?, self.value(b)?);
        if op == BinaryOp::MatMul {
            return self.product((x, a), (y, b), span);
        }
        let truth = |v: Value<'g>| lit(1.0) - v.equals(lit(0.0));
        let (simple, x, y, flip) = match op {
            BinaryOp::Add => (Binary::Add, x, y, false),
            BinaryOp::Sub => (Binary::Sub, x, y, false),
            BinaryOp::Mul => (Binary::Mul, x, y, false),
            BinaryOp::Div => (Binary::Div, x, y, false),
            BinaryOp::Pow => (Binary::Pow, x, y, false),
            BinaryOp::Less => (Binary::Lt, x, y, false),
            BinaryOp::LessEqual => (Binary::Le, x, y, false),
            BinaryOp::Greater => (Binary::Lt, y, x, true),
            BinaryOp::GreaterEqual => (Binary::Le, y, x, true),
            BinaryOp::Equal | BinaryOp::NotEqual => (Binary::Eq, x, y, false),
            BinaryOp::And => (Binary::Mul, truth(x), truth(y), false),
            BinaryOp::Or => (Binary::Max, truth(x), truth(y), false),
            BinaryOp::MatMul => unreachable!("handled above"),
        };
        let (at_x, at_y) = if flip { (b, a) } else { (a, b) };
        let out = self.combine(simple, (x, at_x), (y, at_y), span)?;
        Ok(if op == BinaryOp::NotEqual {
            lit(1.0) - out
        } else {
            out
        })
    }

    /// `base[subscripts]`
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
        for subscript in subscripts {
            self.one_column(base, subscript)?;
        }
        let lookups: Vec<Option<&str>> = subscripts.iter().map(|s| self.positions_of(s)).collect();
        let nested = subscripts.iter().filter(|s| self.nested(s).is_some());
        let n_nested = nested.count();
        if n_nested > 0 && n_nested + lookups.iter().flatten().count() > 1 {
            let message = format!(
                "`{base}`: an index of an index stands alone; look up one dim after the other"
            );
            return Err(self.model.error(subscripts[0].span(), message));
        }
        if lookups.iter().flatten().count() > 1 {
            return self.index_jointly(base, value, subscripts, &lookups);
        }
        for (axis, subscript) in dims.iter().zip(subscripts) {
            value = self.subscript(base, value, *axis, subscript)?;
        }
        self.with_primes(value, &dims, subscripts).ok_or_else(|| {
            let message = format!("`{base}` would have one axis twice here; name each once");
            self.model.error(subscripts[0].span(), message)
        })
    }

    /// Refuses an index with several dims: a look-up replaces one dim by one other.
    fn one_column(&self, base: &Expr, subscript: &Subscript) -> Result<()> {
        let Some(array) = self
            .positions_of(subscript)
            .and_then(|n| self.binding.array(n))
        else {
            return Ok(());
        };
        if array.dims.len() == 1 {
            return Ok(());
        }
        let dims = array
            .dims
            .iter()
            .map(|&d| self.binding.dims[d].name.as_str());
        let dims = dims.collect::<Vec<_>>().join(", ");
        let message = format!(
            "`{}` has the dims [{dims}], but an index has one: give its columns as data of one dim \
             each, or one row for every cell, and look up `{base}` by those",
            array.name
        );
        Err(self.model.error(subscript.span(), message))
    }

    /// The name of the index column a subscript is, if it is one.
    fn positions_of<'s>(&self, s: &'s Subscript) -> Option<&'s str> {
        let Subscript::At(Expr {
            kind: ExprKind::Name(name),
            ..
        }) = s
        else {
            return None;
        };
        let array = self.binding.array(name)?;
        let rows = matches!(array.content, Content::Positions { .. }) && !array.dims.is_empty();
        rows.then_some(name.as_str())
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
        let array = self.binding.array(name)?;
        let rows = matches!(array.content, Content::Positions { .. }) && array.dims.len() == 1;
        rows.then_some((inner, name.as_str(), own))
    }

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
                if let ExprKind::Name(name) = &e.kind {
                    if is_own(name, &axis_name) {
                        return Ok(value);
                    }
                    if let Some(index) = self.positions_of(subscript) {
                        return self.look_up(base, value, axis, index, e.span);
                    }
                }
                if let Some((inner, index, own)) = self.nested(subscript) {
                    // a[i[g]] is a[i][g].
                    let value = self.look_up(base, value, axis, index, inner.span)?;
                    let (rows, _, _) = self.positions(index);
                    return self.subscript(base, value, rows, own);
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

    fn look_up(
        &mut self,
        base: &Expr,
        value: Value<'g>,
        axis: DimId,
        index: &str,
        span: Span,
    ) -> Result<Value<'g>> {
        let (rows, target, at) = self.positions(index);
        if target != axis {
            let name = |d: DimId| self.scope.with(|g| g.dim_info(d).name.clone());
            let (axis, target) = (name(axis), name(target));
            let message = format!(
                "`{index}` holds positions in `{target}`, but this axis of `{base}` is `{axis}`"
            );
            return Err(self.model.error(span, message));
        }
        if value.dims().contains(&rows) {
            let rows = self.scope.with(|g| g.dim_info(rows).name.clone());
            let message = format!("`{base}` already has the dim `{rows}` of `{index}`");
            return Err(self.model.error(span, message));
        }
        Ok(value.gather(self.scope.bound_index(index, rows, target, &at)))
    }

    /// Row dim, target dim and positions of an index column.
    fn positions(&self, index: &str) -> (DimId, DimId, Vec<u32>) {
        let array = self
            .binding
            .array(index)
            .expect("a data array of the model");
        let Content::Positions { dim, at } = &array.content else {
            panic!("`{index}` holds positions")
        };
        (self.dims[array.dims[0]], self.dims[*dim], at.clone())
    }

    /// Several index columns over the same rows: `table[a, b]` picks one element per row.
    fn index_jointly(
        &mut self,
        base: &Expr,
        mut value: Value<'g>,
        subscripts: &[Subscript],
        lookups: &[Option<&str>],
    ) -> Result<Value<'g>> {
        let dims = value.dims();
        let all = lookups.iter().flatten().count() == dims.len();
        if !all {
            let span = subscripts[0].span();
            let message =
                format!("`{base}`: either every subscript is an index column, or only one of them");
            return Err(self.model.error(span, message));
        }
        let (mut flat, mut rows_dim, mut names) = (Vec::new(), None, Vec::new());
        for (axis, (name, subscript)) in dims.iter().zip(lookups.iter().flatten().zip(subscripts)) {
            let (rows, target, at) = self.positions(name);
            let same_rows = rows_dim.is_none_or(|r| r == rows);
            if target != *axis || !same_rows {
                let message = format!("`{name}` does not fit this axis of `{base}`, or other rows");
                return Err(self.model.error(subscript.span(), message));
            }
            rows_dim = Some(rows);
            names.push(*name);
            let size = self.scope.with(|g| g.size(target)) as u32;
            flat = if flat.is_empty() {
                at
            } else {
                flat.iter()
                    .zip(&at)
                    .map(|(f, a): (&u32, &u32)| f * size + a)
                    .collect()
            };
        }
        let rows = rows_dim.expect("there are several index columns");
        let cells = self.scope.with(|g| {
            let name: Vec<String> = dims.iter().map(|&d| g.dim_info(d).name.clone()).collect();
            let size = g.len_of(&dims);
            g.dim(&name.join("*"), size)
        });
        value = self.relabel(value, &[cells]);
        let index = self.scope.bound_index(&names.join(","), rows, cells, &flat);
        Ok(value.gather(index))
    }

    fn call(&mut self, call: &Call) -> Result<Value<'g>> {
        super::function::call(self, call)
    }
}
