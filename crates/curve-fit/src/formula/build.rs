//! Recording a formula as a graph: predictors are columns, parameters are scalars.

use super::names::CONSTANTS;
use super::{Formula, Roles};
use fitzroy::Result;
use fitzroy::dist::Real;
use fitzroy::model::ast::{BinaryOp, Call, Expr, ExprKind, Subscript, UnaryOp};
use fitzroy::model::joint::elementwise;
use fitzroy_graph::{Binary, DimId, Expr as Value, Scope};

/// What a parameter is in a fit.
#[derive(Clone, Debug)]
pub enum Setting {
    /// Fitted.
    Free,
    /// A number.
    Fixed(f64),
    /// Another formula of parameters: `c = 2*a`.
    Tied(Box<Formula>),
}

/// Records formulas over the rows of one scope.
pub(super) struct Recorder<'r, 'g> {
    pub(super) scope: &'g Scope,
    pub(super) rows: DimId,
    pub(super) roles: &'r Roles,
    pub(super) settings: &'r [Setting],
    /// Values of the free parameters, in order.
    pub(super) free: Vec<Value<'g>>,
}

impl<'r, 'g> Recorder<'r, 'g> {
    /// The value of `formula` in every row.
    pub(super) fn formula(&self, formula: &Formula) -> Result<Value<'g>> {
        if let Some(code) = &formula.code {
            let column = |name: &String| self.scope.data(name, &[self.rows]);
            let x: Vec<Value<'g>> = self.roles.predictors.iter().map(column).collect();
            let p: Result<Vec<Value<'g>>> = (0..self.roles.parameters.len())
                .map(|k| self.parameter(k))
                .collect();
            return Ok(code.curve.value(&x, &p?));
        }
        let mut local: Vec<(&str, Value<'g>)> = Vec::new();
        for (name, value) in &formula.lets {
            let value = self.expr(formula, &local, value)?;
            local.push((&name.text, value));
        }
        self.expr(formula, &local, &formula.value)
    }

    /// The value of parameter `k`.
    fn parameter(&self, k: usize) -> Result<Value<'g>> {
        match &self.settings[k] {
            Setting::Fixed(x) => Ok(Value::lit(*x)),
            Setting::Tied(formula) => self.formula(formula),
            Setting::Free => {
                let before = &self.settings[..k];
                let free = before.iter().filter(|s| matches!(s, Setting::Free)).count();
                Ok(self.free[free])
            }
        }
    }

    fn name(&self, local: &[(&str, Value<'g>)], name: &str) -> Result<Value<'g>> {
        if let Some((_, value)) = local.iter().rev().find(|(n, _)| *n == name) {
            return Ok(*value);
        }
        if let Some(k) = self.roles.parameters.iter().position(|p| p.name == name) {
            return self.parameter(k);
        }
        if self.roles.predictors.iter().any(|p| p == name) {
            return Ok(self.scope.data(name, &[self.rows]));
        }
        let constant = CONSTANTS.iter().find(|(n, _)| *n == name);
        let (_, value) = constant.expect("names were divided into roles before");
        Ok(Value::lit(*value))
    }

    fn expr(&self, f: &Formula, local: &[(&str, Value<'g>)], e: &Expr) -> Result<Value<'g>> {
        let sub = |e: &Expr| self.expr(f, local, e);
        let truth = |x: Value<'g>| x.select(Value::lit(1.0), Value::lit(0.0));
        Ok(match &e.kind {
            ExprKind::Number(x) => Value::lit(*x),
            ExprKind::Name(name) => self.name(local, name)?,
            ExprKind::Unary(UnaryOp::Neg, a) => -sub(a)?,
            ExprKind::Unary(UnaryOp::Not, a) => sub(a)?.equals(Value::lit(0.0)),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (sub(a)?, sub(b)?);
                match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div => a / b,
                    BinaryOp::Pow => power(a, b),
                    BinaryOp::Less => a.lt(b),
                    BinaryOp::LessEqual => a.le(b),
                    BinaryOp::Greater => b.lt(a),
                    BinaryOp::GreaterEqual => b.le(a),
                    BinaryOp::Equal => a.equals(b),
                    BinaryOp::NotEqual => Value::lit(1.0) - a.equals(b),
                    BinaryOp::And => truth(a) * truth(b),
                    BinaryOp::Or => truth(truth(a) + truth(b)),
                    BinaryOp::MatMul => unreachable!("refused with the roles"),
                }
            }
            ExprKind::Index(base, subscripts) => return self.index(base, subscripts),
            ExprKind::Call(call) => self.call(f, local, call)?,
            ExprKind::List(_) => unreachable!("refused with the roles"),
        })
    }

    /// `c[set]`: the parameter of the row's label.
    fn index(&self, base: &Expr, subscripts: &[Subscript]) -> Result<Value<'g>> {
        let (ExprKind::Name(base), [Subscript::At(at)]) = (&base.kind, subscripts) else {
            unreachable!("refused with the roles")
        };
        let ExprKind::Name(column) = &at.kind else {
            unreachable!("refused with the roles")
        };
        let label = self.scope.data(column, &[self.rows]);
        let mut out: Option<Value<'g>> = None;
        for (k, p) in self.roles.parameters.iter().enumerate() {
            let Some((_, _, position)) = p.indexed.as_ref().filter(|i| i.0 == *base) else {
                continue;
            };
            let value = self.parameter(k)?;
            out = Some(match out {
                None => value,
                Some(others) => {
                    let here = label.equals(Value::lit(*position as f64));
                    here.select(value, others)
                }
            });
        }
        Ok(out.expect("an indexed parameter has labels"))
    }

    fn call(&self, f: &Formula, local: &[(&str, Value<'g>)], call: &Call) -> Result<Value<'g>> {
        let name = call.name.text.as_str();
        let function = fitzroy::model::functions::function(name).expect("checked with the roles");
        let mut x = Vec::new();
        for p in function.parameters {
            let named =
                |a: &&fitzroy::model::ast::Argument| a.name.as_ref().is_some_and(|n| n.text == *p);
            if let Some(argument) = call.arguments.iter().find(named) {
                x.push((p, self.expr(f, local, &argument.value)?));
            }
        }
        let named = x;
        let mut x = Vec::new();
        let mut by_position = call.arguments.iter().filter(|a| a.name.is_none());
        for p in function.parameters {
            match named.iter().find(|(n, _)| *n == p) {
                Some((_, value)) => x.push(*value),
                None => {
                    let argument = by_position.next().expect("checked with the roles");
                    x.push(self.expr(f, local, &argument.value)?);
                }
            }
        }
        for argument in by_position {
            x.push(self.expr(f, local, &argument.value)?);
        }
        if name == "pow" {
            return Ok(power(x[0], x[1]));
        }
        if let Some(out) = elementwise(name, &x) {
            return Ok(out);
        }
        let fold = |op: Binary| {
            let mut all = x.iter().copied();
            let first = all.next().expect("has arguments");
            all.try_fold(first, |a, b| a.try_binary(op, b))
        };
        match name {
            "min" => fold(Binary::Min),
            "max" => fold(Binary::Max),
            "log_sum_exp" => fold(Binary::LogAddExp),
            "clip" => {
                let low = x[0].try_binary(Binary::Max, x[1])?;
                low.try_binary(Binary::Min, x[2])
            }
            "where" => Ok(x[0].select(x[1], x[2])),
            other => {
                let message = format!("`{other}` has no meaning in a curve");
                Err(f.error(call.span, message))
            }
        }
    }
}

/// aᵇ; whole powers up to 8 by products, which are exact where `pow` is within 4 ulp and cheaper.
fn power<'g>(a: Value<'g>, b: Value<'g>) -> Value<'g> {
    match b.constant() {
        Some(n) if n.fract() == 0.0 && (2.0..=8.0).contains(&n) => {
            let n = n as usize;
            let square = a * a;
            let mut out = if n % 2 == 1 { a } else { square };
            let mut have = if n % 2 == 1 { 1 } else { 2 };
            while have < n {
                out = out * square;
                have += 2;
            }
            out
        }
        _ => a.powf(b),
    }
}
