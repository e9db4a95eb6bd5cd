//! Arrays that name their dims: twins, and combinations of each element of one with each of another.

use super::build::Build;
use super::observations::is_own;
use crate::model::ast::{Expr, ExprKind, Subscript};
use crate::model::functions::{self, Shape};
use fitzroy_graph::{DimId, Expr as Value};

/// What `name` is called without its primes.
fn plain(name: &str) -> &str {
    name.trim_end_matches('\'')
}

impl<'g> Build<'_, 'g> {
    pub(super) fn name_of(&self, dim: DimId) -> String {
        self.scope.with(|g| g.dim_info(dim).name.clone())
    }

    /// How to say which axis is which, where two arrays without a common dim do not combine.
    pub(super) fn outer_advice(
        &self,
        (a, at_a): (Value<'g>, &Expr),
        (b, at_b): (Value<'g>, &Expr),
    ) -> String {
        let apart = !a.dims().iter().any(|d| b.dims().contains(d));
        let simple = |e: &Expr| matches!(e.kind, ExprKind::Name(_));
        if !apart || !simple(at_a) || !simple(at_b) {
            return String::new();
        }
        let named = |x: Value<'g>, e: &Expr| {
            let dims: Vec<String> = x.dims().iter().map(|&d| self.name_of(d)).collect();
            let known = dims.iter().all(|d| self.binding.dim(d).is_some());
            known.then(|| format!("{e}[{}]", dims.join(", ")))
        };
        match (named(a, at_a), named(b, at_b)) {
            (Some(a), Some(b)) => {
                format!(
                    "; for each element of one with each of the other name their dims: `{a}`, `{b}`"
                )
            }
            _ => String::new(),
        }
    }

    /// The dim called as `dim` but for its primes, with so many of them.
    pub(super) fn primed(&self, dim: DimId, primes: usize) -> DimId {
        let name = format!("{}{}", plain(&self.name_of(dim)), "'".repeat(primes));
        self.scope.with(|g| {
            let size = g.size(dim);
            g.dim(&name, size)
        })
    }

    /// Whether two dims are the same but for primes.
    pub(super) fn twins(&self, a: DimId, b: DimId) -> bool {
        self.primed(a, 0) == self.primed(b, 0)
    }

    /// `value` with every dim in front of its twin: rows are `k` and columns `k'`, in whatever order
    /// they came about.
    pub(super) fn in_order(&self, value: Value<'g>) -> Value<'g> {
        let mut dims = value.dims();
        for i in 0..dims.len() {
            for j in i + 1..dims.len() {
                if self.twins(dims[i], dims[j]) && self.name_of(dims[i]) > self.name_of(dims[j]) {
                    dims.swap(i, j);
                }
            }
        }
        value.broadcast(self.scope, &dims)
    }

    /// `value` of an array over `before`, in which no twin stands without the dim it is one of: the sums
    /// of the columns of a square matrix are over its dim, as those of the rows are.
    pub(super) fn adopted(&self, before: &[DimId], value: Value<'g>) -> Value<'g> {
        let own = value.dims();
        let one = |&d: &DimId| {
            let plain = self.primed(d, 0);
            let alone = own.iter().filter(|&&o| self.twins(o, d)).count() == 1;
            if alone && before.contains(&plain) {
                plain
            } else {
                d
            }
        };
        let dims: Vec<DimId> = own.iter().map(one).collect();
        self.relabel(value, &dims)
    }

    /// `value`, indexed, with the primes that `subscripts` give its `axes`, or take from them: `x[obs']`,
    /// `K[obs', obs]`. `None` where two axes would be one.
    pub(super) fn with_primes(
        &self,
        value: Value<'g>,
        axes: &[DimId],
        subscripts: &[Subscript],
    ) -> Option<Value<'g>> {
        let names: Vec<Option<&str>> = subscripts.iter().map(name_in).collect();
        let any = |name: &Option<&str>| name.is_some_and(|n| n.ends_with('\''));
        if !names.iter().any(any) {
            return Some(self.adopted(axes, value));
        }
        let mut dims = value.dims();
        let own = value.dims();
        for (axis, name) in axes.iter().zip(names) {
            let Some(at) = own.iter().position(|d| d == axis) else {
                continue;
            };
            if let Some(name) = name.filter(|n| is_own(n, &self.name_of(*axis))) {
                dims[at] = self.primed(*axis, name.len() - plain(name).len());
            }
        }
        let distinct = (1..dims.len()).all(|k| !dims[..k].contains(&dims[k]));
        distinct.then(|| self.in_order(self.relabel(value, &dims)))
    }

    /// Whether every array in `e` stands with its dims, so that it is said which axis is which.
    pub(super) fn names_dims(&mut self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Number(_) => true,
            ExprKind::Name(name) => {
                let value = self.named(name, e.span);
                value.is_ok_and(|value| value.dims().is_empty())
            }
            ExprKind::List(_) => false,
            ExprKind::Unary(_, x) => self.names_dims(x),
            ExprKind::Binary(_, a, b) => self.names_dims(a) && self.names_dims(b),
            ExprKind::Index(_, subscripts) => subscripts.iter().all(|s| {
                let number = matches!(s, Subscript::At(e) if matches!(e.kind, ExprKind::Number(_)));
                let dim = |name: &str| self.binding.dim(plain(name)).is_some();
                number || name_in(s).is_some_and(dim)
            }),
            ExprKind::Call(call) => {
                let shape = functions::function(&call.name.text).map(|f| f.shape);
                let parts = &call.arguments;
                match shape {
                    Some(Shape::OfDim) => true,
                    Some(Shape::Elementwise | Shape::Reduction | Shape::Along) => {
                        let is_axis = |name: &str| name == "axis";
                        let named = |a: &&crate::model::ast::Argument| {
                            !a.name.as_ref().is_some_and(|n| is_axis(&n.text))
                        };
                        parts
                            .iter()
                            .filter(named)
                            .all(|a| self.names_dims(&a.value))
                    }
                    _ => false,
                }
            }
        }
    }

    /// `values` repeated to the dims of all of them, where they do not combine otherwise and it is said which
    /// axis is which: one of them has all dims, or each of their expressions names its own.
    pub(super) fn spread_to_all(&mut self, values: &mut [Value<'g>], from: &[&Expr]) {
        let all = Value::dims_of_all(values);
        let has = |a: &Value<'g>, b: &Value<'g>| b.dims().iter().all(|d| a.dims().contains(d));
        let combine = |a: &Value<'g>| values.iter().all(|b| has(a, b) || has(b, a));
        let one_has_all = values.iter().any(|v| v.dims().len() == all.len());
        let said = one_has_all || from.iter().all(|e| self.names_dims(e));
        if !said || values.iter().all(combine) {
            return;
        }
        for value in values {
            *value = self.in_order(value.broadcast(self.scope, &all));
        }
    }
}

/// The name that a subscript is.
fn name_in(subscript: &Subscript) -> Option<&str> {
    match subscript {
        Subscript::At(Expr {
            kind: ExprKind::Name(name),
            ..
        }) => Some(name),
        _ => None,
    }
}
