//! Discrete parameters whose elements depend on the one before: `z[time] ~ Categorical(P[lag(z, 0)])`.
//!
//! With the log densities e(t, v) of whatever depends on the value v of step t, and m(t, u, v) of the move
//! from u to v, a(t, v) = e(t, v) + ln Σᵤ exp(a(t − 1, u) + m(t, u, v)) goes from the first step to the
//! last, where ln Σᵥ exp a(v) is what is left of them all. Values are drawn from the last step to the
//! first: u before v with the weight a(t − 1, u) + m(t, u, v).

use super::super::build::Build;
use super::super::function::axis_dim;
use super::super::{Draw, Drawn};
use super::coupling::Piece;
use super::weights::Values;
use super::{Discrete, MOST_VALUES};
use crate::Result;
use crate::dist::Real;
use crate::model::ast::{Expr, ExprKind, Sampled, Span, Statement};
use fitzroy_graph::{Carried, DimId, Expr as Value, NodeId};

/// What a chain's values before each step are.
#[derive(Clone)]
pub(super) struct Before {
    /// What stands for them while statements are read.
    pub(super) hole: NodeId,
    /// The value before the first step.
    start: f64,
    time: DimId,
}

impl<'g> Build<'_, 'g> {
    /// The one discrete parameter of a recurrence; none where it is of other things.
    ///
    /// # Errors
    /// A discrete parameter is not alone.
    pub(in super::super) fn chain_of<'s>(
        &self,
        statements: &[&'s Statement],
    ) -> Result<Option<&'s Sampled>> {
        let discrete = statements.iter().find_map(|&statement| match statement {
            Statement::Sampled(s) if self.is_discrete(s) => Some(s),
            _ => None,
        });
        if let (Some(s), 2..) = (discrete, statements.len()) {
            let name = &s.name;
            let message = format!(
                "the discrete `{name}` may depend on its own step before, but not on other quantities \
                 that depend on it in turn"
            );
            return Err(self.model.error(name.span, message));
        }
        Ok(discrete)
    }

    /// `lag(x, start)`, where x is a discrete parameter that depends on its own step before.
    pub(in super::super) fn lag_of_chain(
        &mut self,
        span: Span,
        [x, start]: [&Expr; 2],
        axis: Option<&Expr>,
    ) -> Result<Option<Value<'g>>> {
        let ExprKind::Name(name) = &x.kind else {
            return Ok(None);
        };
        let found = self
            .discrete
            .iter()
            .position(|d| d.name.text == *name && d.is_chain);
        let Some(k) = found else {
            return Ok(None);
        };
        let z = self.discrete[k].clone();
        let (hole, first) = (self.scope.expr(z.hole), self.number(start)?);
        let time = match (axis, z.dims.last()) {
            (Some(axis), _) => axis_dim(self, hole, axis)?,
            (None, Some(&last)) => last,
            (None, None) => {
                let message = format!("`{name}` has no dim to step along");
                return Err(self.model.error(span, message));
            }
        };
        if z.dims.last() != Some(&time) {
            let message = format!(
                "the steps of the discrete `{name}` go along its last dim, and `{}` is not the last",
                self.name_of(time)
            );
            return Err(self.model.error(span, message));
        }
        match &z.before {
            None => {
                let before = self.scope.with(|g| g.hole(&z.dims));
                let start = first;
                let hole = before;
                self.discrete[k].before = Some(Before { hole, start, time });
                Ok(Some(self.scope.expr(before)))
            }
            Some(before) if before.start == first => Ok(Some(self.scope.expr(before.hole))),
            Some(before) => {
                let message = format!(
                    "`{name}` starts from {first} here and from {} elsewhere; a chain has one start",
                    before.start
                );
                Err(self.model.error(span, message))
            }
        }
    }

    /// That a chain starts from one of its values.
    pub(super) fn check_start(&self, k: usize) -> Result<()> {
        let z = &self.discrete[k];
        let (low, high) = (z.low, z.low + z.count as f64 - 1.0);
        match &z.before {
            Some(before)
                if !(low..=high).contains(&before.start) || before.start.fract() != 0.0 =>
            {
                let message = format!(
                    "`{}` starts from {}, but its values are {low} to {high}",
                    z.name, before.start
                );
                Err(self.model.error(z.name.span, message))
            }
            _ => Ok(()),
        }
    }

    /// What is left of `pieces` when chain `k` is summed out of them, and how it is drawn.
    pub(super) fn chain(&mut self, k: usize, pieces: &[Piece]) -> Result<(NodeId, Drawn)> {
        let z = self.discrete[k].clone();
        let Before { start, time, .. } = z.before.clone().expect("it is a chain");
        if z.count * z.count > MOST_VALUES {
            let message = format!(
                "`{}` has {} values and as many before each, more than the {MOST_VALUES} moves that \
                 can be summed over",
                z.name, z.count
            );
            return Err(self.model.error(z.name.span, message));
        }
        let dim = |what: &str| self.scope.dim(&format!("{what} of {}", z.name), z.count);
        let (from, to) = (dim("values before"), dim("values"));
        let nodes: Vec<NodeId> = pieces.iter().map(|p| p.node).collect();
        let found = self.at_values(k, &Values::Moves(from, to), &nodes);
        let found = found.map_err(|node| self.cannot_widen(&z, node))?;
        let (mut of_moves, mut of_steps) = (Value::lit(0.0), Value::lit(0.0));
        let move_dims = [&[from, to], &z.dims[..]].concat();
        let step_dims = [&[to], &z.dims[..]].concat();
        for (piece, weights) in pieces.iter().zip(&found) {
            let sums = self.by_element(&z, piece, &z.dims, weights).parts[0];
            match sums.dims().contains(&from) {
                true => of_moves = of_moves + sums.broadcast(self.scope, &move_dims),
                false => of_steps = of_steps + sums.broadcast(self.scope, &step_dims),
            }
        }
        let of_moves = of_moves.broadcast(self.scope, &move_dims);
        let after = self.forward((of_moves, of_steps), (from, to), &z, (start, time))?;
        let n = self.scope.with(|g| g.size(time));
        let last = self.scope.with(|g| g.element(after, time, n - 1));
        let last = self.scope.expr(last.expect("there is a last step"));
        let total = self.log_sum_along(last, to);
        let draw = self.draw_of_chain(&z, (self.scope.expr(after), of_moves), (from, to));
        Ok((self.scope.node(total), draw))
    }

    /// a(t, v) of all steps.
    fn forward(
        &self,
        (of_moves, of_steps): (Value<'g>, Value<'g>),
        (from, to): (DimId, DimId),
        z: &Discrete,
        (start, time): (f64, DimId),
    ) -> Result<NodeId> {
        let scope = self.scope;
        let step_dims = [&[to], &z.dims[..]].concat();
        let before = scope.with(|g| g.hole(&step_dims));
        let as_from = scope.with(|g| g.relabel(before, &[&[from], &z.dims[..]].concat()));
        let paths = scope.expr(as_from).broadcast(scope, &of_moves.dims()) + of_moves;
        let after = self.log_sum_along(paths, from) + of_steps;
        let after = scope.node(after.broadcast(scope, &step_dims));
        let first: Vec<f64> = (0..z.count)
            .map(|i| {
                if z.low + i as f64 == start {
                    0.0
                } else {
                    f64::NEG_INFINITY
                }
            })
            .collect();
        let lanes: Vec<DimId> = step_dims.iter().copied().filter(|&d| d != time).collect();
        let first = scope.bound_data(&format!("start of {}", z.name), &[to], &first);
        let start = scope.node(first.broadcast(scope, &lanes));
        let carried = Carried {
            before,
            start,
            after,
        };
        let ran = scope.with(|g| g.recur(time, false, &[carried]));
        Ok(ran.map_err(|e| self.model.error(z.name.span, e))?[0].after)
    }

    /// How a chain is drawn, given a(t, v) and m(t, u, v).
    fn draw_of_chain(
        &self,
        z: &Discrete,
        (after, of_moves): (Value<'g>, Value<'g>),
        (from, to): (DimId, DimId),
    ) -> Drawn {
        let name = z.name.text.clone();
        let (dims, shape) = self.dim_names(&name, &z.dims);
        let steps = *shape.last().expect("a chain has steps");
        let node = |x: Value<'g>, behind: &[DimId]| {
            let dims = [&z.dims[..], behind].concat();
            self.scope.node(x.broadcast(self.scope, &dims))
        };
        let (low, count) = (z.low, z.count);
        Drawn {
            name,
            dims,
            shape,
            observed: false,
            event_dims: 1,
            law: Draw::Chain { low, count },
            arguments: vec![node(after, &[to]), node(of_moves, &[from, to])],
            widths: vec![steps * count, steps * count * count],
            feeds: None,
            part: None,
        }
    }

    /// What stands for the values before each step, given the values `x` of a chain.
    pub(super) fn values_before(&mut self, z: &Discrete, x: Value<'g>) -> Option<(NodeId, NodeId)> {
        let before = z.before.as_ref()?;
        let start = Value::lit(before.start);
        let shifted = self.shift(x, start, before.time).ok()?;
        let shifted = shifted.broadcast(self.scope, &z.dims);
        Some((before.hole, self.scope.node(shifted)))
    }
}
