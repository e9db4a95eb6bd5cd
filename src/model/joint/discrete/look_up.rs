//! Tables looked up by discrete variables: `mu[z]`.

use super::super::build::Build;
use super::LookUp;
use crate::Result;
use crate::dist::Real;
use crate::model::ast::{Expr, ExprKind, Span, Statement};
use crate::model::families::values_of;
use fitzroy_graph::{DimId, Expr as Value, Op};

impl<'g> Build<'_, 'g> {
    /// Whether `e` is a discrete variable of the model, or some of its elements.
    pub(in super::super) fn is_by_value(&self, e: &Expr) -> bool {
        variable_of(e).is_some_and(|name| {
            let is_parameter = self.discrete.iter().any(|d| d.name.text == name);
            is_parameter || self.later.contains_key(name) && self.is_drawn_whole(name)
        })
    }

    /// `base` looked up along `axis` by `e`, for which [`Build::is_by_value`] holds.
    pub(in super::super) fn look_up_by_value(
        &mut self,
        (base, value): (&Expr, Value<'g>),
        axis: DimId,
        e: &Expr,
    ) -> Result<Value<'g>> {
        let name = variable_of(e).unwrap_or_default();
        let found = self.discrete.iter().position(|d| d.name.text == name);
        if let Some(k) = found {
            self.check_positions(k, base, axis, e.span)?;
            let by = self.value(e)?;
            return Ok(self.picked(k, by, value, axis));
        }
        let by = self.value(e)?;
        let (value, axis) = self.apart(value, axis, &by.dims());
        Ok(self.pick_along(value, axis, by))
    }

    /// That all values of variable `k` are positions along `axis`.
    fn check_positions(&mut self, k: usize, base: &Expr, axis: DimId, span: Span) -> Result<()> {
        let (size, axis_name) = (self.scope.with(|g| g.size(axis)), self.name_of(axis));
        let own = &mut self.discrete[k];
        if own.count == 0 {
            // Its own prior asks, and will tell which values it has.
            own.count = size;
        }
        let (low, high) = (own.low, own.low + own.count as f64 - 1.0);
        if low >= 0.0 && high < size as f64 {
            return Ok(());
        }
        let name = &own.name;
        let message = format!(
            "`{name}` has values from {low} to {high}, but positions along `{axis_name}` of `{base}` are 0 \
             to {}",
            size - 1
        );
        Err(self.model.error(span, message))
    }

    /// Whether `name` is drawn from a distribution of whole numbers.
    fn is_drawn_whole(&self, name: &str) -> bool {
        let symbol = self.model.symbols().get(name);
        let statement = symbol.map(|s| &self.model.statements()[s.statement]);
        matches!(statement, Some(Statement::Sampled(s)) if values_of(&s.distribution).discrete())
    }

    /// The elements of `table` that `by`, some elements of discrete variable `k`, picks along `axis`.
    pub(super) fn picked(
        &mut self,
        k: usize,
        by: Value<'g>,
        table: Value<'g>,
        axis: DimId,
    ) -> Value<'g> {
        let (table, axis) = self.apart(table, axis, &by.dims());
        let out = self.pick_along(table, axis, by);
        let node = |v: Value<'g>| self.scope.node(v);
        self.note(LookUp {
            node: node(out),
            of: k,
            by: node(by),
            table: node(table),
            axis,
        });
        out
    }

    /// Notes a look-up, unless nothing is left of it.
    pub(super) fn note(&mut self, look_up: LookUp) {
        let is_one = self.scope.with(|g| g.node(look_up.node).op == Op::Sum);
        if is_one {
            self.look_ups.push(look_up);
        }
    }

    /// `table` with another name for `axis` where the variable that picks has that dim itself.
    fn apart(&self, table: Value<'g>, axis: DimId, own: &[DimId]) -> (Value<'g>, DimId) {
        if !own.contains(&axis) {
            return (table, axis);
        }
        let other = self.scope.with(|g| {
            let name = format!("{} looked up", g.dim_info(axis).name);
            let size = g.size(axis);
            g.dim(&name, size)
        });
        let dims: Vec<DimId> = table.dims();
        let dims: Vec<DimId> = dims
            .into_iter()
            .map(|d| if d == axis { other } else { d })
            .collect();
        (self.relabel(table, &dims), other)
    }

    /// Of `table` the element along `axis` whose position `by` is.
    pub(super) fn pick_along(&self, table: Value<'g>, axis: DimId, by: Value<'g>) -> Value<'g> {
        let scope = self.scope;
        let table = scope.expr(scope.node(table));
        let (own, of_by) = (table.dims(), by.dims());
        let mut dims = Vec::new();
        for d in own.iter().copied() {
            match d == axis {
                true => dims.extend(of_by.iter().filter(|d| !own.contains(d))),
                false => dims.push(d),
            }
        }
        dims.push(axis);
        let size = scope.with(|g| g.size(axis));
        let positions: Vec<f64> = (0..size).map(|i| i as f64).collect();
        let name = format!("positions along {}", self.name_of(axis));
        let positions = scope.bound_data(&name, &[axis], &positions);
        let here = by.broadcast(scope, &dims);
        let here = here.equals(positions.broadcast(scope, &dims));
        let before = scope.trust_support(false);
        let one = here.select(table.broadcast(scope, &dims), Value::lit(0.0));
        scope.trust_support(before);
        one.sum_over(&[axis])
    }
}

/// The variable that an index is made of: `z`, `z[group]` or `lag(z, 0)`.
fn variable_of(e: &Expr) -> Option<&str> {
    let inner = match &e.kind {
        ExprKind::Index(inner, _) => inner,
        ExprKind::Call(call) if call.name.text == "lag" => &call.arguments.first()?.value,
        _ => e,
    };
    match &inner.kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    }
}
