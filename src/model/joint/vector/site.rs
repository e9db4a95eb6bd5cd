//! A statement about a vector or matrix: its dims, and its arguments with the dims they need.

use super::super::TermKind;
use super::super::build::Build;
use super::super::drawing::Drawing;
use super::super::law::Of;
use super::super::{Draw, observed::Observed};
use crate::Result;
use crate::dist::Real;
use crate::model::ast::{Expr, Sampled};
use crate::model::families::Resolved;
use fitzroy_graph::{DimId, Expr as Value, Op};

pub(super) fn lit<'g>(x: f64) -> Value<'g> {
    Value::lit(x)
}

/// Where a distribution of vectors stands.
pub(super) struct Site<'a> {
    pub(super) s: &'a Sampled,
    pub(super) resolved: Resolved<'a>,
    /// All dims of the variable.
    pub(super) dims: Vec<DimId>,
}

impl<'a> Site<'a> {
    pub(super) fn new(s: &'a Sampled, resolved: Resolved<'a>, dims: &[DimId]) -> Self {
        Site {
            s,
            resolved,
            dims: dims.to_vec(),
        }
    }

    /// The expression of argument `k`, if it is given.
    pub(super) fn given(&self, k: usize) -> Option<&'a Expr> {
        self.resolved.values[k]
    }

    fn arg_name(&self, k: usize) -> String {
        let name = self.resolved.form.args()[k].name;
        format!("`{name}` of `{}`", self.resolved.family.name)
    }

    /// A name for a bound array of this statement.
    pub(super) fn tag(&self, what: &str) -> String {
        format!("{what} of {} at {}", self.s.name, self.s.name.span.start())
    }
}

/// The dims of a vector variable: those it repeats over, and its last.
#[derive(Clone)]
pub(super) struct Vector {
    pub(super) outer: Vec<DimId>,
    pub(super) event: DimId,
    /// Size of `event`.
    pub(super) k: usize,
}

impl Vector {
    pub(super) fn dims(&self) -> Vec<DimId> {
        self.outer.iter().copied().chain([self.event]).collect()
    }

    /// `outer`, then another dim.
    pub(super) fn with(&self, last: DimId) -> Vec<DimId> {
        self.outer.iter().copied().chain([last]).collect()
    }
}

impl<'g> Build<'_, 'g> {
    /// The dims of a vector, of at least `least` elements.
    pub(super) fn vector(&self, site: &Site<'_>, least: usize) -> Result<Vector> {
        let name = &site.s.distribution.name;
        let of = &site.s.name;
        let Some((&event, outer)) = site.dims.split_last() else {
            let message = format!("`{name}` gives vectors, but `{of}` has no dims");
            return Err(self.model.error(of.span, message));
        };
        let k = self.scope.with(|g| g.size(event));
        if k < least {
            let message =
                format!("`{name}` needs {least} elements or more; the last dim of `{of}` has {k}");
            return Err(self.model.error(of.span, message));
        }
        Ok(Vector {
            outer: outer.to_vec(),
            event,
            k,
        })
    }

    /// An argument with at most the dims `allowed`; a literal list goes along `list`.
    pub(super) fn given(
        &mut self,
        site: &Site<'_>,
        k: usize,
        allowed: &[DimId],
        list: &[DimId],
    ) -> Result<Value<'g>> {
        let Some(e) = site.given(k) else {
            let default = site.resolved.form.args()[k].default;
            return Ok(lit(default.expect("what must be given was checked")));
        };
        let value = self.value(e)?;
        let value = self.fit_list(value, list);
        let of = Of {
            name: &site.s.name,
            dims: allowed,
        };
        self.within(value, &site.arg_name(k), e, of)
    }

    /// A square matrix argument as `[event, event']`.
    pub(super) fn matrix(&mut self, site: &Site<'_>, k: usize, v: &Vector) -> Result<Value<'g>> {
        let e = site.given(k).expect("matrices were checked to be given");
        let value = self.value(e)?;
        let value = self.scope.expr(self.scope.node(value));
        let dims = value.dims();
        let square = dims.len() == 2 && dims.iter().all(|&d| self.scope.with(|g| g.size(d)) == v.k);
        if !square {
            let (has, needs) = self
                .scope
                .with(|g| (g.describe_dims(&dims), g.describe_dims(&[v.event, v.event])));
            let message = format!(
                "{} has dims {has}, but must be one matrix {needs}",
                site.arg_name(k)
            );
            return Err(self.model.error(e.span, message));
        }
        let twin = self.scope.with(|g| g.twin(v.event));
        Ok(self.relabel(value, &[v.event, twin]))
    }

    /// Further coordinates of the parameter declared last.
    pub(super) fn more_coordinates(&mut self, shape: &[DimId]) -> Value<'g> {
        let len = self.scope.with(|g| g.len_of(shape));
        let offset = self.n_params;
        self.n_params += len;
        let parameter = self
            .parameters
            .last_mut()
            .expect("a parameter was declared");
        parameter.len += len;
        self.scope.param(offset, shape)
    }

    /// `len` elements of `axis` from `start` on.
    pub(in super::super) fn slice(
        &self,
        x: Value<'g>,
        axis: DimId,
        start: usize,
        len: usize,
    ) -> Value<'g> {
        let node = self.scope.node(x);
        let out = self.scope.with(|g| g.slice(node, axis, start, len));
        self.scope.expr(out.expect("the slice is inside"))
    }

    /// Element `at` of `axis`.
    pub(in super::super) fn element(&self, x: Value<'g>, axis: DimId, at: usize) -> Value<'g> {
        let node = self.scope.node(x);
        let out = self.scope.with(|g| g.element(node, axis, at));
        self.scope.expr(out.expect("the element is inside"))
    }

    /// `part`, over `outer` and some last dim, placed from `start` on along the event dim, zeros
    /// elsewhere.
    pub(super) fn place(&self, v: &Vector, part: Value<'g>, start: usize) -> Value<'g> {
        let from = *part.dims().last().expect("a part of a vector has a dim");
        let node = self.scope.node(part);
        self.scope
            .expr(self.scope.with(|g| g.unslice(node, from, v.event, start)))
    }

    /// A value over `outer` alone, placed as element `at` of the event dim.
    pub(super) fn place_one(&self, v: &Vector, x: Value<'g>, at: usize) -> Value<'g> {
        let one = self.scope.with(|g| g.slice_dim(v.event, 1));
        let x = x.broadcast(self.scope, &v.outer);
        self.place(v, self.relabel(x, &v.with(one)), at)
    }

    /// The dim of all but one element of the event dim.
    pub(super) fn all_but_one(&self, v: &Vector) -> DimId {
        self.scope.with(|g| g.slice_dim(v.event, v.k - 1))
    }

    /// The core of a lookup of rows `rows`, and the name of its index column, where that is a
    /// column of the data.
    pub(super) fn split_lookup(&self, x: Value<'g>, rows: &[DimId]) -> Option<(Value<'g>, String)> {
        let node = self.scope.node(x);
        let (core, slot) = self.scope.with(|g| {
            let n = g.node(node);
            match n.op {
                Op::Gather(index) => {
                    let slot = g.index_slots()[index.index()].clone();
                    Some((n.inputs[0], slot))
                }
                _ => None,
            }
        })?;
        let known = self.binding.array(&slot.name).is_some();
        (known && *rows == [slot.rows]).then(|| (self.scope.expr(core), slot.name))
    }

    /// Adds the likelihood of vectors: a value for each vector, and its sum if there is a shorter
    /// way.
    pub(super) fn vector_term(
        &mut self,
        observed: Observed<'_>,
        outer: &[DimId],
        rows: Value<'g>,
        sum: Option<Value<'g>>,
    ) {
        let name = &observed.s.name.text;
        let rows = rows.broadcast(self.scope, outer);
        let sum = sum.unwrap_or_else(|| rows.sum_all());
        self.term_of_sum(name, TermKind::Likelihood, rows, sum);
    }

    /// Notes that a vector is drawn anew.
    pub(super) fn draw_vector(
        &mut self,
        site: &Site<'_>,
        v: &Vector,
        draw: Draw,
        arguments: Vec<Value<'g>>,
        observed: bool,
    ) {
        self.draw(
            site.s,
            Drawing {
                draw,
                arguments,
                outer: &v.outer,
                event: &[v.event],
                observed,
            },
        );
    }
}

/// x where 0 < x, else NaN.
pub(super) fn positive<'g>(x: Value<'g>) -> Value<'g> {
    lit(0.0).lt(x).select(x, lit(f64::NAN))
}

/// Half the logarithm of 2π.
pub(super) const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_7;
