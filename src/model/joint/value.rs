//! Expressions of the language as expressions of the graph.

use super::build::Build;
use crate::Result;
use crate::dist::Real;
use crate::model::Content;
use crate::model::ast::{BinaryOp, Call, Expr, ExprKind, Span, UnaryOp};
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

    fn call(&mut self, call: &Call) -> Result<Value<'g>> {
        super::function::call(self, call)
    }
}
