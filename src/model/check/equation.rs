//! Differential equations: where they may stand, and which are one system.

use super::super::ast::{Call, Computed, Expr, ExprKind, Statement};
use super::super::functions::{self, Shape};
use super::expression::{Use, expressions, names_in_expr, parts};
use super::order::{Need, Needs};
use super::{Checker, uses};
use crate::Result;

/// The equation that a definition is the solution of.
pub(crate) fn equation_of(computed: &Computed) -> Option<&Call> {
    match &computed.value.kind {
        ExprKind::Call(call) if is_equation(call) => Some(call),
        _ => None,
    }
}

fn is_equation(call: &Call) -> bool {
    functions::function(&call.name.text).is_some_and(|f| f.shape == Shape::Ode)
}

/// The first equation in an expression.
fn equation_in(e: &Expr) -> Option<&Call> {
    match &e.kind {
        ExprKind::Number(_) | ExprKind::Name(_) => None,
        ExprKind::List(items) => items.iter().find_map(equation_in),
        ExprKind::Unary(_, x) => equation_in(x),
        ExprKind::Binary(_, a, b) => equation_in(a).or_else(|| equation_in(b)),
        ExprKind::Index(base, subscripts) => {
            let mut subscripts = subscripts.iter().flat_map(parts);
            equation_in(base).or_else(|| subscripts.find_map(equation_in))
        }
        ExprKind::Call(call) if is_equation(call) => Some(call),
        ExprKind::Call(call) => equation_in_arguments(call),
    }
}

fn equation_in_arguments(call: &Call) -> Option<&Call> {
    let mut arguments = call.arguments.iter();
    arguments.find_map(|a| equation_in(&a.value))
}

/// The name of the times of an equation, if they have one.
pub(crate) fn times_of(call: &Call) -> Option<&str> {
    match &functions::argument(call, "at")?.kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    }
}

impl Checker<'_> {
    /// An equation stands alone in a definition, and its times have a name and a dim.
    pub(super) fn equations(&self, statement: &Statement) -> Result<()> {
        let own = match statement {
            Statement::Computed(computed) => equation_of(computed),
            _ => None,
        };
        let mut nested = None;
        expressions(statement, &mut |e| {
            let found = match own {
                Some(call) => equation_in_arguments(call),
                None => equation_in(e),
            };
            nested = nested.or(found);
        });
        if let Some(call) = nested {
            let name = &call.name;
            let message = format!(
                "`{name}` stands alone in a definition: `y[time] = {name}(rate, start, times)`; \
                 elsewhere use what it defines"
            );
            return Err(self.error(call.span, message));
        }
        let Some(call) = own else { return Ok(()) };
        let symbol = times_of(call).and_then(|name| self.symbols.get(name));
        if symbol.is_none_or(|s| s.dims.is_empty()) {
            let span = functions::argument(call, "at").map_or(call.span, |e| e.span);
            let message = format!(
                "`{}` needs its times as the name of an array with a dim, such as `data t[time]`",
                call.name
            );
            return Err(self.error(span, message));
        }
        Ok(())
    }

    /// The equation of statement `i`, and the dim of its times.
    pub(super) fn equation(&self, i: usize) -> Option<(&Call, &str)> {
        let Statement::Computed(computed) = &self.statements[i] else {
            return None;
        };
        let call = equation_of(computed)?;
        let symbol = self.symbols.get(times_of(call)?)?;
        Some((call, symbol.dims.last()?))
    }

    /// Whether statement `i` is the solution of an equation.
    pub(super) fn is_solved(&self, i: usize) -> bool {
        self.equation(i).is_some()
    }

    /// What is solved together needs each other: of an equation whose rate uses the solution of
    /// another one, at once or through definitions over the same times, only both together can be
    /// solved.
    pub(super) fn join_systems(&self, needs: &mut Needs) {
        for i in 0..self.statements.len() {
            let Some((call, time)) = self.equation(i) else {
                continue;
            };
            let Some(rate) = functions::argument(call, "rate") else {
                continue;
            };
            let mut open: Vec<&str> = Vec::new();
            names_in_expr(rate, false, &mut |u| open.push(u.name));
            let mut seen = vec![false; self.statements.len()];
            while let Some(name) = open.pop() {
                let Some(symbol) = self.symbols.get(name) else {
                    continue;
                };
                let (on, over_time) = (symbol.statement, symbol.dims.iter().any(|d| d == time));
                let Statement::Computed(_) = &self.statements[on] else {
                    continue;
                };
                if !over_time || std::mem::replace(&mut seen[on], true) {
                    continue;
                }
                match self.is_solved(on) {
                    true => needs[on].push(Need {
                        on: i,
                        span: call.span,
                        before: true,
                    }),
                    false => uses(&self.statements[on], &mut |Use { name, .. }| {
                        open.push(name)
                    }),
                }
            }
        }
    }
}
