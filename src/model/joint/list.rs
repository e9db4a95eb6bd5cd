//! Literal lists: their elements, and the dim they take where they are used.

use super::build::Build;
use super::function::axis_dim;
use crate::Result;
use crate::dist::Real;
use crate::model::ast::{Expr, Span};
use fitzroy_graph::{DimId, Expr as Value};

impl<'g> Build<'_, 'g> {
    /// A vector of numbers or of scalars, or a matrix as a list of its rows.
    pub(super) fn list(&mut self, items: &[Expr], span: Span) -> Result<Value<'g>> {
        let mut values = Vec::new();
        for item in items {
            values.push(self.value(item)?);
        }
        let row_dims = values.first().map(|v| v.dims()).unwrap_or_default();
        if row_dims.len() > 1 || values.iter().any(|v| v.dims() != row_dims) {
            let message = "a list holds numbers, or lists of equal length as its rows";
            return Err(self.model.error(span, message));
        }
        let scope = self.scope;
        let mut dim = scope.dim(&format!("[{}]", items.len()), items.len());
        if row_dims.contains(&dim) {
            dim = scope.with(|g| g.twin(dim));
        }
        let dims: Vec<DimId> = [dim].into_iter().chain(row_dims.iter().copied()).collect();
        let known: Option<Vec<Vec<f64>>> = values.iter().map(|&v| scope.known(v)).collect();
        if let Some(known) = known {
            self.lists += 1;
            let name = format!("list {} at {}", self.lists, span.start());
            return Ok(scope.bound_data(&name, &dims, &known.concat()));
        }
        // Each in its place among zeros; exact for infinite elements too.
        let one = scope.with(|g| g.slice_dim(dim, 1));
        let part: Vec<DimId> = [one].into_iter().chain(row_dims).collect();
        let mut sum = Value::lit(0.0);
        for (at, &value) in values.iter().enumerate() {
            let node = scope.node(self.relabel(value, &part));
            sum = sum + scope.expr(scope.with(|g| g.unslice(node, one, dim, at)));
        }
        Ok(sum)
    }

    /// Arrays one after the other. Without an axis, numbers and vectors; else the axis is a dim of at
    /// least one of them, whose other dims all have, or are repeated to, and beside which each has
    /// one dim more, or none where it is a single row.
    pub(super) fn concat(
        &mut self,
        parts: &[&Expr],
        axis: Option<&Expr>,
        span: Span,
    ) -> Result<Value<'g>> {
        let mut values = Vec::new();
        for part in parts {
            values.push(self.value(part)?);
        }
        let (like, at) = self.joined_axis(&values, axis, span)?;
        let kept: Vec<DimId> = (0..like.len())
            .filter(|&k| k != at)
            .map(|k| like[k])
            .collect();
        let (mut pieces, mut sizes) = (Vec::new(), Vec::new());
        for (value, part) in values.into_iter().zip(parts) {
            let own: Vec<DimId> = value
                .dims()
                .into_iter()
                .filter(|d| !kept.contains(d))
                .collect();
            if own.len() > 1 {
                let dims = value.dims();
                let (has, keeps) = self
                    .scope
                    .with(|g| (g.describe_dims(&dims), g.describe_dims(&kept)));
                let message = format!(
                    "`{part}` has dims {has}, and beside {keeps} only one of them can be joined"
                );
                return Err(self.model.error(part.span, message));
            }
            sizes.push(own.first().map_or(1, |&d| self.scope.with(|g| g.size(d))));
            pieces.push((value, own));
        }
        Ok(self.joined(&pieces, &sizes, &kept, at))
    }

    /// The dims of what is joined, and which of them is the axis.
    fn joined_axis(
        &mut self,
        values: &[Value<'g>],
        axis: Option<&Expr>,
        span: Span,
    ) -> Result<(Vec<DimId>, usize)> {
        let Some(axis) = axis else {
            return match values.iter().find(|v| v.dims().len() > 1) {
                None => Ok((vec![self.scope.dim("[1]", 1)], 0)),
                Some(_) => {
                    let message = "arrays of several dims are joined along one; name it: \
                                   `concat(a, b, axis=dim)`";
                    Err(self.model.error(span, message))
                }
            };
        };
        let mut first = None;
        for &value in values {
            match axis_dim(self, value, axis) {
                Ok(dim) => {
                    let dims = value.dims();
                    let at = dims.iter().position(|&d| d == dim).expect("it has the dim");
                    return Ok((dims, at));
                }
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.expect("a function has arguments"))
    }

    /// The pieces, each with the dim of its own that is joined, along a new axis at place `at` of
    /// their other dims.
    fn joined(
        &self,
        pieces: &[(Value<'g>, Vec<DimId>)],
        sizes: &[usize],
        others: &[DimId],
        at: usize,
    ) -> Value<'g> {
        let (scope, total) = (self.scope, sizes.iter().sum::<usize>());
        let mut long = scope.dim(&format!("[{total}]"), total);
        if others.contains(&long) {
            long = scope.with(|g| g.twin(long));
        }
        let with = |dims: &[DimId]| [&others[..at], dims, &others[at..]].concat();
        let (mut sum, mut start) = (Value::lit(0.0), 0);
        for ((value, own), &size) in pieces.iter().zip(sizes) {
            let part = scope.with(|g| g.slice_dim(long, size));
            let wide = value.broadcast(scope, &with(own));
            let node = scope.node(self.relabel(wide, &with(&[part])));
            sum = sum + scope.expr(scope.with(|g| g.unslice(node, part, long, start)));
            start += size;
        }
        sum
    }

    /// Gives a literal list the one dim of `like` that has its length.
    pub(super) fn fit_list(&self, a: Value<'g>, like: &[DimId]) -> Value<'g> {
        let dims = a.dims();
        let [dim] = dims[..] else { return a };
        let (name, size) = self
            .scope
            .with(|g| (g.dim_info(dim).name.clone(), g.size(dim)));
        if !name.starts_with('[') {
            return a;
        }
        let fits: Vec<DimId> = like
            .iter()
            .copied()
            .filter(|&d| self.scope.with(|g| g.size(d)) == size)
            .collect();
        match fits[..] {
            [one] => self.relabel(a, &[one]),
            _ => a,
        }
    }

    /// The same elements under other dims.
    pub(super) fn relabel(&self, a: Value<'g>, dims: &[DimId]) -> Value<'g> {
        let node = self.scope.node(a);
        self.scope.expr(self.scope.with(|g| g.relabel(node, dims)))
    }

    pub(super) fn fit_lists(&self, a: Value<'g>, b: Value<'g>) -> (Value<'g>, Value<'g>) {
        let a = self.fit_list(a, &b.dims());
        (a, self.fit_list(b, &a.dims()))
    }
}
