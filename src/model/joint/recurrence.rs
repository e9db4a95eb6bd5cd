//! Values of the step before, and definitions that depend on their own.

use super::build::Build;
use super::function::axis_dim;
use crate::Result;
use crate::model::ast::{Computed, Expr, Sampled, Span, Statement};
use crate::model::check::uses;
use fitzroy_graph::{Carried, DimId, Expr as Value, NodeId};
use std::collections::HashMap;

/// A recurrence whose definitions are being worked out.
pub(super) struct Lags<'g> {
    /// The definitions by name, with their dims.
    members: HashMap<String, Vec<DimId>>,
    /// The dim of the steps, once a `lag` has told.
    time: Option<DimId>,
    states: Vec<State<'g>>,
}

/// Something whose value of the step before is asked for.
struct State<'g> {
    /// As it was written.
    of: Expr,
    start: NodeId,
    /// What stands for the value before each step.
    before: Value<'g>,
    /// The value after each step; none if that needs definitions that are worked out later.
    after: Option<Value<'g>>,
}

impl<'g> Build<'_, 'g> {
    /// `lag(x, start, axis=dim)`
    pub(super) fn lag(
        &mut self,
        span: Span,
        [x, start]: [&Expr; 2],
        axis: Option<&Expr>,
    ) -> Result<Value<'g>> {
        if let Some(before) = self.lag_of_chain(span, [x, start], axis)? {
            return Ok(before);
        }
        let (value, is_later) = self.value_or_like(x)?;
        let is_state = is_later || self.depends_on_lags(value);
        let dims = value.dims();
        let time = match (axis, &dims[..]) {
            (Some(axis), _) => axis_dim(self, value, axis)?,
            (None, [one]) => *one,
            (None, []) => {
                let message = format!("`{x}` is a single number here, and has no step before");
                return Err(self.model.error(span, message));
            }
            (None, _) => {
                let has = self.scope.with(|g| g.describe_dims(&dims));
                let message = format!(
                    "`{x}` has {has}; name the dim of the steps: `lag({x}, {start}, axis=DIM)`"
                );
                return Err(self.model.error(span, message));
            }
        };
        let first = self.value(start)?;
        if self.depends_on_lags(first) {
            let message = format!("the start `{start}` depends on steps of the recurrence itself");
            return Err(self.model.error(start.span, message));
        }
        if first.dims().contains(&time) {
            let steps = self.name_of(time);
            let message = format!(
                "the start `{start}` has the dim `{steps}`, but it stands before all of its steps"
            );
            return Err(self.model.error(start.span, message));
        }
        let rest: Vec<DimId> = dims.iter().copied().filter(|&d| d != time).collect();
        let first = self.spread(first, &rest, &x.to_string(), start.span)?;
        if !is_state {
            return self.shift(value, first, time);
        }
        self.steps_along(time, span)?;
        let first = self.scope.node(first);
        let lags = self.lags.as_mut().expect("there is a state of it");
        let known = lags
            .states
            .iter()
            .find(|s| s.start == first && s.of.to_string() == x.to_string());
        if let Some(known) = known {
            return Ok(known.before);
        }
        let before = self.scope.expr(self.scope.with(|g| g.hole(&dims)));
        lags.states.push(State {
            of: x.clone(),
            start: first,
            before,
            after: (!is_later).then_some(value),
        });
        Ok(before)
    }

    /// The value of an expression, and false; if it uses definitions of the recurrence that are not
    /// worked out yet, something with its dims, and true.
    fn value_or_like(&mut self, x: &Expr) -> Result<(Value<'g>, bool)> {
        let Some(lags) = &self.lags else {
            return Ok((self.value(x)?, false));
        };
        let later = lags
            .members
            .iter()
            .filter(|(name, _)| !self.names.contains_key(*name));
        let later: Vec<(String, NodeId)> = later
            .map(|(name, dims)| (name.clone(), self.scope.with(|g| g.hole(dims))))
            .collect();
        for (name, hole) in &later {
            self.names.insert(name.clone(), self.scope.expr(*hole));
        }
        let value = self.value(x);
        for (name, _) in &later {
            self.names.remove(name);
        }
        let (value, holes) = (
            value?,
            later.iter().map(|(_, hole)| *hole).collect::<Vec<_>>(),
        );
        Ok((value, self.depends_on(value, &holes)))
    }

    /// Whether a value is computed from values of the step before.
    fn depends_on_lags(&self, value: Value<'g>) -> bool {
        let states = self.lags.iter().flat_map(|lags| &lags.states);
        let holes: Vec<NodeId> = states.map(|s| self.scope.node(s.before)).collect();
        self.depends_on(value, &holes)
    }

    pub(super) fn depends_on(&self, value: Value<'g>, holes: &[NodeId]) -> bool {
        let node = self.scope.node(value);
        !holes.is_empty() && self.scope.with(|g| g.dependents(holes)[node.index()])
    }

    /// That all steps of a recurrence go along one dim.
    fn steps_along(&mut self, time: DimId, span: Span) -> Result<()> {
        let lags = self.lags.as_mut().expect("a recurrence is worked out");
        let known = *lags.time.get_or_insert(time);
        if known == time {
            return Ok(());
        }
        let message = format!(
            "the steps of one recurrence go along one dim, and these go along `{}` and `{}`",
            self.name_of(known),
            self.name_of(time)
        );
        Err(self.model.error(span, message))
    }

    /// `x` one step later along `time`, and `start` at the first step.
    pub(super) fn shift(
        &mut self,
        x: Value<'g>,
        start: Value<'g>,
        time: DimId,
    ) -> Result<Value<'g>> {
        let (scope, node, dims) = (self.scope, self.scope.node(x), x.dims());
        let n = scope.with(|g| g.size(time));
        if n < 2 {
            return Ok(start.broadcast(scope, &dims));
        }
        let later = scope.with(|g| {
            let kept = g.slice(node, time, 0, n - 1)?;
            let part = g.slice_dim(time, n - 1);
            Ok::<_, crate::Error>(g.unslice(kept, part, time, 1))
        })?;
        let is_first: Vec<f64> = (0..n).map(|t| f64::from(u8::from(t == 0))).collect();
        let name = format!("first of {}", self.name_of(time));
        let is_first = scope.bound_data(&name, &[time], &is_first);
        let is_first = is_first.broadcast(scope, &dims);
        is_first.try_select(start.broadcast(scope, &dims), scope.expr(later))
    }

    /// Definitions, and parameters with their priors, that refer to each other's values of the step
    /// before.
    pub(super) fn recurrence(&mut self, statements: &[&Statement]) -> Result<()> {
        let mut members = HashMap::new();
        for statement in statements {
            let (name, dims) = match statement {
                Statement::Computed(s) => (&s.name, self.written_dims(s)),
                Statement::Sampled(s) => (&s.name, self.declared_dims(&s.subscripts)?),
                other => unreachable!("{other} is no part of a recurrence"),
            };
            members.insert(name.text.clone(), dims);
        }
        self.lags = Some(Lags {
            members,
            time: None,
            states: Vec::new(),
        });
        let (first_term, first_latent) = (self.terms.len(), self.latents.len());
        let mut definitions: Vec<(&Computed, NodeId)> = Vec::new();
        for statement in statements {
            match statement {
                Statement::Computed(s) => {
                    let value = self.definition(s)?;
                    self.names.insert(s.name.text.clone(), value);
                    definitions.push((s, self.scope.node(value)));
                }
                Statement::Sampled(s) => self.step_of_parameter(s)?,
                other => unreachable!("{other} is no part of a recurrence"),
            }
        }
        let carried = self.carried()?;
        let time = self.lags.take().and_then(|lags| lags.time);
        let time = time.expect("a recurrence has a `lag`");
        let span = definitions.first().map(|(s, _)| s.value.span);
        let outside = |(s, value): &(&Computed, NodeId)| {
            let used = self.is_used_beside(&s.name.text, statements);
            used.then_some(*value)
        };
        let asked: Vec<NodeId> = definitions.iter().filter_map(outside).collect();
        let known = self.run(time, carried, &asked).map_err(|e| match span {
            Some(span) => self.model.error(span, e),
            None => e,
        })?;
        // All at once: each substitution goes through the graph.
        let terms = self.terms[first_term..]
            .iter()
            .flat_map(|t| [t.node, t.sum]);
        let latents = self.latents[first_latent..]
            .iter()
            .flat_map(|l| [l.mean, l.sd]);
        let values = definitions.iter().map(|(_, value)| *value).chain(terms);
        let values: Vec<NodeId> = values.chain(latents).collect();
        let mut values = self
            .scope
            .with(|g| g.substitute(&values, &known))
            .into_iter();
        for ((s, _), value) in definitions.iter().zip(&mut values) {
            self.keep(s, self.scope.expr(value));
        }
        for term in &mut self.terms[first_term..] {
            for slot in [&mut term.node, &mut term.sum] {
                *slot = values.next().expect("one for each");
            }
        }
        for latent in &mut self.latents[first_latent..] {
            for slot in [&mut latent.mean, &mut latent.sd] {
                *slot = values.next().expect("one for each");
            }
        }
        Ok(())
    }

    /// A parameter whose prior depends on its own step before.
    fn step_of_parameter(&mut self, s: &Sampled) -> Result<()> {
        self.parameter(s)?;
        let x = self.names[&s.name.text];
        if !self.depends_on_lags(x) {
            return Ok(());
        }
        let name = &s.name;
        let message = format!(
            "the steps of `{name}` cannot have limits or coordinates that depend on the one before; \
             draw what is new in a step, `z[time] ~ Normal(0, 1)`, and define the rest by it, as in \
             `{name}[time] = phi * lag({name}, 0) + sigma * z`"
        );
        Err(self.model.error(name.span, message))
    }

    /// The states that the `lag`s of the recurrence ask for. What stands behind a `lag` may ask for
    /// further ones.
    fn carried(&mut self) -> Result<Vec<Carried>> {
        let mut carried = Vec::new();
        while let Some(state) = (self.lags.as_ref()).and_then(|l| l.states.get(carried.len())) {
            let (before, start) = (self.scope.node(state.before), state.start);
            let after = match state.after {
                Some(after) => after,
                None => {
                    let of = state.of.clone();
                    self.value(&of)?
                }
            };
            let after = self.scope.node(after);
            carried.push(Carried {
                before,
                start,
                after,
            });
        }
        Ok(carried)
    }

    /// Whether statements beside `members` use `name`.
    fn is_used_beside(&self, name: &str, members: &[&Statement]) -> bool {
        let mut all = self.model.statements().iter();
        all.any(|statement| {
            let mut found = false;
            uses(statement, &mut |u| found |= u.name == name);
            found && !members.iter().any(|&m| std::ptr::eq(m, statement))
        })
    }

    /// What stands behind the values before each step, and after. The values `asked` for outside of
    /// the recurrence are kept where the steps compute them.
    fn run(
        &mut self,
        time: DimId,
        mut open: Vec<Carried>,
        asked: &[NodeId],
    ) -> Result<HashMap<NodeId, NodeId>> {
        let scope = self.scope;
        let mut known: HashMap<NodeId, NodeId> = HashMap::new();
        let afters: Vec<NodeId> = open.iter().map(|c| c.after).collect();
        // What depends on no step before, such as a parameter, is known for all steps.
        loop {
            let holes: Vec<NodeId> = open.iter().map(|c| c.before).collect();
            let free = |c: &Carried| !self.depends_on(scope.expr(c.after), &holes);
            let Some(at) = open.iter().position(free) else {
                break;
            };
            let Carried {
                before,
                start,
                after,
            } = open.remove(at);
            let [start, after] = [start, after].map(|node| scope.expr(node));
            let dims = scope.with(|g| g.dims(before).to_vec());
            let shifted = self.shift(after.broadcast(scope, &dims), start, time)?;
            known.insert(before, scope.node(shifted));
            for c in &mut open {
                c.after = scope.with(|g| g.substitute(&[c.after], &known)[0]);
            }
        }
        if open.is_empty() {
            return Ok(known);
        }
        scope.with(|g| {
            let steps: Vec<NodeId> = open.iter().map(|c| c.after).collect();
            let needed = g.needed(&steps);
            for &value in asked {
                let value = g.substitute(&[value], &known)[0];
                let computed = needed.get(value.index()) == Some(&true);
                if !computed || open.iter().any(|c| c.after == value) {
                    continue;
                }
                let dims = g.dims(value).to_vec();
                let (before, start) = (g.hole(&dims), g.lit(0.0));
                open.push(Carried {
                    before,
                    start,
                    after: value,
                });
            }
            let ran = g.recur(time, false, &open)?;
            let after: HashMap<NodeId, NodeId> = open
                .iter()
                .zip(&ran)
                .map(|(c, ran)| (c.after, ran.after))
                .collect();
            for &value in asked.iter().chain(&afters) {
                let made = g.substitute(&[value], &known)[0];
                if let Some(&ran) = after.get(&made) {
                    known.insert(value, ran);
                }
            }
            known.extend(open.iter().zip(&ran).map(|(c, ran)| (c.before, ran.before)));
            Ok(known)
        })
    }
}
