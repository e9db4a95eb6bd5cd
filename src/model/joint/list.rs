//! Literal lists: their elements, and the dim they take where they are used.

use super::build::Build;
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
            let name = format!("list {} at {}", self.lists, span.start);
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
