//! Systems of differential equations.

use super::build::Build;
use crate::Result;
use crate::dist::Real;
use crate::model::ast::{Call, Computed, Expr, Name, Span, Statement};
use crate::model::check::{equation_of, times_of};
use crate::model::functions::argument;
use fitzroy_graph::ode::{Equation, Kicks, Method, Tolerance};
use fitzroy_graph::{Carried, DimId, Expr as Value, NodeId};

/// A definition that is the solution of an equation.
struct Solved<'m, 'g> {
    is: &'m Computed,
    call: &'m Call,
    dims: Vec<DimId>,
    /// The state at the running time, over the dims beside the times.
    hole: Value<'g>,
    start: NodeId,
    /// What is added suddenly.
    add: Option<Value<'g>>,
}

impl<'m, 'g> Build<'m, 'g> {
    /// Whether any of the statements is the solution of an equation.
    pub(super) fn is_system(&self, statements: &[&Statement]) -> bool {
        statements.iter().any(|s| solved(s).is_some())
    }

    /// Solutions whose rates use each other, and what is computed from them on the way.
    pub(super) fn system(&mut self, statements: &[&'m Statement]) -> Result<()> {
        let first = statements.iter().find_map(|s| solved(s));
        let (_, first) = first.expect("one is solved");
        self.one_system(first, statements)?;
        let at = times_of(first).expect("checked before");
        let at_expr = argument(first, "at").expect("checked before");
        let times = self.value(at_expr)?;
        let time = *times.dims().last().expect("checked before");
        let mut members = Vec::new();
        for statement in statements {
            if let Some((is, call)) = solved(statement) {
                members.push(self.solved(is, call, time)?);
            }
        }
        let from = match argument(first, "from") {
            Some(from) => self.value(from)?,
            None => Value::lit(0.0),
        };
        self.ascending(times, from, at_expr)?;
        let kicks = self.kicks(&members, from)?;
        let running = self.scope.expr(self.scope.with(|g| g.hole(&[])));
        let rates = self.rates(&members, statements, (at, time), running)?;
        let node = |value: Value<'g>| self.scope.node(value);
        let states = members.iter().zip(&rates);
        let states: Vec<Carried> = states
            .map(|(member, &after)| Carried {
                before: node(member.hole),
                start: member.start,
                after,
            })
            .collect();
        let equation = Equation {
            states,
            time: node(running),
            from: node(from),
            at: node(times),
            times: time,
            kicks,
            method: match first.name.text.as_str() {
                "solve_stiff" => Method::Stiff,
                _ => Method::Explicit,
            },
            tolerance: self.tolerance(first)?,
        };
        let solutions = self.scope.with(|g| g.solve(equation));
        let solutions = solutions.map_err(|e| self.model.error(first.span, e))?;
        for (member, solution) in members.iter().zip(solutions) {
            let value = self.scope.expr(solution);
            let value = value.broadcast(self.scope, &member.dims);
            self.keep(member.is, value);
        }
        for statement in statements {
            if solved(statement).is_none()
                && let Statement::Computed(s) = statement
            {
                let value = self.definition(s)?;
                self.keep(s, value);
            }
        }
        Ok(())
    }

    /// That all that is solved together is solved by the same method, at the same times.
    fn one_system(&self, first: &Call, statements: &[&Statement]) -> Result<()> {
        for statement in statements {
            let name = statement.name().map_or("", |n| &n.text);
            match (statement, solved(statement)) {
                (_, Some((_, call))) => {
                    let of = |call, option| argument(call, option).map(ToString::to_string);
                    let mut same = ["at", "from", "rtol", "atol", "steps"].iter();
                    if call.name != first.name {
                        let message = format!(
                            "`{name}` is solved together with others, so all need the same method: \
                             `{}` or `{}`",
                            first.name, call.name
                        );
                        return Err(self.model.error(call.span, message));
                    }
                    if let Some(option) = same.find(|o| of(call, o) != of(first, o)) {
                        let message = format!(
                            "`{name}` is solved together with others, so all need the same `{option}`"
                        );
                        return Err(self.model.error(call.span, message));
                    }
                }
                (Statement::Computed(_), None) => {}
                (other, None) => {
                    let span = other.name().map_or(Span::default(), |n| n.span);
                    let message = format!(
                        "`{name}` is no definition, so it cannot be part of a system of differential \
                         equations"
                    );
                    return Err(self.model.error(span, message));
                }
            }
        }
        Ok(())
    }

    fn solved(&mut self, is: &'m Computed, call: &'m Call, time: DimId) -> Result<Solved<'m, 'g>> {
        let dims = self.written_dims(is);
        let name = &is.name;
        if !dims.contains(&time) {
            let time = self.name_of(time);
            let message = format!(
                "`{name}` needs the dim `{time}` of the times it is solved at: `{name}[{time}]`"
            );
            return Err(self.model.error(name.span, message));
        }
        let rest: Vec<DimId> = dims.iter().copied().filter(|&d| d != time).collect();
        let expr = argument(call, "start").expect("checked by number and name");
        let start = self.value(expr)?;
        let start = self.of_state(start, &rest, ("start", name), expr)?;
        let add = match argument(call, "add") {
            Some(add) => Some(self.value(add)?),
            None => None,
        };
        let hole = self.scope.with(|g| g.hole(&rest));
        Ok(Solved {
            is,
            call,
            dims,
            hole: self.scope.expr(hole),
            start: self.scope.node(start),
            add,
        })
    }

    /// The rates at the running time, over the dims of the holes.
    fn rates(
        &mut self,
        members: &[Solved<'m, 'g>],
        statements: &[&'m Statement],
        (at, time): (&str, DimId),
        running: Value<'g>,
    ) -> Result<Vec<NodeId>> {
        let times = self.names.insert(at.into(), running);
        for member in members {
            self.names.insert(member.is.name.text.clone(), member.hole);
        }
        for statement in statements {
            if solved(statement).is_some() {
                continue;
            }
            if let Statement::Computed(s) = statement {
                let value = self.value(&s.value)?;
                let dims = self.written_dims(s);
                let dims: Vec<DimId> = dims.into_iter().filter(|d| *d != time).collect();
                self.at_running_time(value, time, &s.value)?;
                let value = self.spread(value, &dims, &s.name.text, s.value.span)?;
                self.names.insert(s.name.text.clone(), value);
            }
        }
        let mut rates = Vec::new();
        for member in members {
            let expr = argument(member.call, "rate").expect("checked by number and name");
            let rate = self.value(expr)?;
            self.at_running_time(rate, time, expr)?;
            let dims = member.hole.dims();
            let rate = self.of_state(rate, &dims, ("rate", &member.is.name), expr)?;
            rates.push(self.scope.node(rate));
        }
        for statement in statements {
            self.names.remove(statement.name().map_or("", |n| &n.text));
        }
        self.names.remove(at);
        if let Some(times) = times {
            self.names.insert(at.into(), times);
        }
        Ok(rates)
    }

    /// A value over the dims of a state beside the times.
    fn of_state(
        &mut self,
        value: Value<'g>,
        dims: &[DimId],
        (what, name): (&str, &Name),
        expr: &Expr,
    ) -> Result<Value<'g>> {
        let value = self.fit_list(value, dims);
        let own = value.dims();
        if !own.iter().all(|d| dims.contains(d)) {
            let [own, dims] = [&own[..], dims].map(|d| self.scope.with(|g| g.describe_dims(d)));
            let message = format!(
                "the {what} of `{name}` has dims {own}, and `{name}` has {dims} beside its times"
            );
            return Err(self.model.error(expr.span, message));
        }
        self.spread(value, dims, &name.text, expr.span)
    }

    /// That a value is known at any time, and not only at those of a dim.
    fn at_running_time(&self, value: Value<'g>, time: DimId, expr: &Expr) -> Result<()> {
        if !value.dims().contains(&time) {
            return Ok(());
        }
        let time = self.name_of(time);
        let message = format!(
            "`{expr}` is known at the times of `{time}` only, and a rate is needed at all times \
             between; write it as a function of the time"
        );
        Err(self.model.error(expr.span, message))
    }

    /// What is added suddenly, and when.
    fn kicks(&mut self, members: &[Solved<'m, 'g>], from: Value<'g>) -> Result<Option<Kicks>> {
        let mut when: Option<(&Expr, Value<'g>)> = None;
        for member in members {
            let at = argument(member.call, "when");
            let message = match (at, member.add) {
                (None, None) => continue,
                (Some(at), Some(_)) => match when {
                    Some((known, _)) if known.to_string() != at.to_string() => format!(
                        "what is solved together needs the same `when`, and here are `{known}` and \
                         `{at}`"
                    ),
                    Some(_) => continue,
                    None => {
                        when = Some((at, self.value(at)?));
                        continue;
                    }
                },
                _ => "`add` and `when` belong together: what is added, and at which times, as in \
                      `add=dose, when=dose_time`"
                    .into(),
            };
            return Err(self.model.error(member.call.span, message));
        }
        let Some((expr, at)) = when else {
            return Ok(None);
        };
        let Some(&dim) = at.dims().last() else {
            let message =
                format!("`{expr}` has no dim, and `when` needs one, as in `data {expr}[doses]`");
            return Err(self.model.error(expr.span, message));
        };
        self.ascending(at, from, expr)?;
        let mut by = Vec::new();
        for member in members {
            let Some(add) = member.add else {
                by.push(self.scope.with(|g| g.lit(0.0)));
                continue;
            };
            let mut dims = vec![dim];
            dims.extend(member.hole.dims());
            if dims[1..].contains(&dim) {
                let message = format!(
                    "`{}` has the dim `{}` itself, so `when` needs another one for its times",
                    member.is.name,
                    self.name_of(dim)
                );
                return Err(self.model.error(member.call.span, message));
            }
            let expr = argument(member.call, "add").expect("it has a value");
            let name = format!("what is added to {}", member.is.name);
            let add = self.spread(add, &dims, &name, expr.span)?;
            by.push(self.scope.node(add));
        }
        let at = self.scope.node(at);
        Ok(Some(Kicks { dim, at, by }))
    }

    /// That times are known, ascend along their last dim, and do not begin before the first time.
    fn ascending(&self, times: Value<'g>, from: Value<'g>, expr: &Expr) -> Result<()> {
        let known = |value: Value<'g>| match value.constant() {
            Some(x) => Some(vec![x]),
            None => self.scope.known(value),
        };
        let Some((values, from)) = known(times).zip(known(from)) else {
            let message = "times must be known before the parameters are: use data, or what is computed \
                           from data";
            return Err(self.model.error(expr.span, message));
        };
        let dims = times.dims();
        let n = (dims.last()).map_or(1, |&d| self.scope.with(|g| g.size(d)));
        for (row, times) in values.chunks(n.max(1)).enumerate() {
            let from = from[if from.len() > 1 { row } else { 0 }];
            let after = times.iter().scan(from, |last, &t| {
                let fits = t >= *last && t.is_finite();
                *last = t;
                Some(fits)
            });
            if let Some(at) = after.collect::<Vec<_>>().iter().position(|fits| !fits) {
                let t = times[at];
                let message = match at {
                    0 => format!(
                        "`{expr}` begins with {t}, and the equation starts at {from}; say when by \
                         `from=`"
                    ),
                    _ => format!(
                        "times must ascend, and `{expr}` has {t} after {}; sort the rows by time",
                        times[at - 1]
                    ),
                };
                return Err(self.model.error(expr.span, message));
            }
        }
        Ok(())
    }

    fn tolerance(&mut self, call: &Call) -> Result<Tolerance> {
        let mut tolerance = Tolerance::default();
        let options: [(&str, &mut f64); 2] = [
            ("rtol", &mut tolerance.relative),
            ("atol", &mut tolerance.absolute),
        ];
        for (option, to) in options {
            if let Some(expr) = argument(call, option) {
                *to = self.number(expr)?;
                if !(*to > 0.0 && *to < 1.0) {
                    let message = format!("`{option}` lies between 0 and 1, and this is {to}");
                    return Err(self.model.error(expr.span, message));
                }
            }
        }
        if let Some(expr) = argument(call, "steps") {
            let steps = self.number(expr)?;
            if !(1.0..=1e6).contains(&steps) || steps.fract() != 0.0 {
                let message =
                    format!("`steps` is a whole number from 1 to 1000000, and this is {steps}");
                return Err(self.model.error(expr.span, message));
            }
            tolerance.most_steps = steps as usize;
        }
        Ok(tolerance)
    }
}

/// The definition and its equation, if a statement is the solution of one.
fn solved(statement: &Statement) -> Option<(&Computed, &Call)> {
    match statement {
        Statement::Computed(s) => equation_of(s).map(|call| (s, call)),
        _ => None,
    }
}
