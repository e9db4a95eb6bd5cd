//! The order in which statements can be worked out, and what each depends on.

use super::super::ast::{Extent, Name, Span, Statement};
use super::{Checker, Level, Role, Symbol, Use, uses};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// What a statement needs: the statement that gives it, and where it was written.
pub(super) type Needs = Vec<Vec<Need>>;

#[derive(Clone, Copy)]
pub(super) struct Need {
    pub(super) on: usize,
    pub(super) span: Span,
    /// Whether the values of the step before are enough, or those at the running time of an equation.
    pub(super) before: bool,
}

/// `0..needs.len()` in parts whose members need each other in a circle, mostly of one: each part
/// comes after what it needs, otherwise ascending.
fn circles(needs: &Needs) -> Vec<Vec<usize>> {
    /// A node whose needs are being followed: how many were, and the first node on the path that
    /// it can come back to.
    struct Open {
        node: usize,
        followed: usize,
        low: usize,
    }
    let mut found: Vec<Option<usize>> = vec![None; needs.len()];
    let (mut count, mut waiting, mut out) = (0, Vec::new(), Vec::new());
    let mut placed = vec![false; needs.len()];
    for root in 0..needs.len() {
        let mut path: Vec<Open> = Vec::new();
        let mut next = found[root].is_none().then_some(root);
        loop {
            if let Some(node) = next.take() {
                found[node] = Some(count);
                waiting.push(node);
                path.push(Open {
                    node,
                    followed: 0,
                    low: count,
                });
                count += 1;
            }
            let Some(last) = path.last_mut() else { break };
            if let Some(need) = needs[last.node].get(last.followed) {
                last.followed += 1;
                match found[need.on] {
                    None => next = Some(need.on),
                    Some(at) if !placed[need.on] => last.low = last.low.min(at),
                    Some(_) => {}
                }
                continue;
            }
            let Open { node, low, .. } = *last;
            path.pop();
            if let Some(before) = path.last_mut() {
                before.low = before.low.min(low);
            }
            if found[node] == Some(low) {
                let start = waiting.iter().position(|&n| n == node).unwrap_or(0);
                let mut part = waiting.split_off(start);
                part.sort_unstable();
                part.iter().for_each(|&n| placed[n] = true);
                out.push(part);
            }
        }
    }
    out
}

/// Sorts `part` so that each comes after what it needs of the part, otherwise ascending.
///
/// A cycle comes back as its members, each with the place where it names the next.
fn sort(part: &[usize], needs: &Needs) -> std::result::Result<Vec<usize>, Vec<(usize, Span)>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let mut seen = vec![Seen::No; needs.len()];
    let mut out = Vec::with_capacity(part.len());
    for &root in part {
        // A path of (node, how many of its needs were followed).
        let mut path: Vec<(usize, usize)> = Vec::new();
        if seen[root] == Seen::No {
            path.push((root, 0));
            seen[root] = Seen::Open;
        }
        while let Some((node, followed)) = path.last_mut() {
            let node = *node;
            let Some(&need) = needs[node].get(*followed) else {
                seen[node] = Seen::Done;
                out.push(node);
                path.pop();
                continue;
            };
            *followed += 1;
            if need.before || !part.contains(&need.on) {
                continue;
            }
            match seen[need.on] {
                Seen::Done => {}
                Seen::No => {
                    seen[need.on] = Seen::Open;
                    path.push((need.on, 0));
                }
                Seen::Open => {
                    let start = path.iter().position(|(n, _)| *n == need.on).unwrap_or(0);
                    let members = path[start..].iter();
                    return Err(members.map(|&(n, f)| (n, needs[n][f - 1].span)).collect());
                }
            }
        }
    }
    Ok(out)
}

/// The statements in an order in which they can be worked out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    pub(crate) statements: Vec<usize>,
    /// Definitions that refer to each other's values of the step before, and solutions of differential
    /// equations. Each part stands together among the statements, in the same order.
    pub(crate) recurrences: Vec<Vec<usize>>,
}

/// Whether what `statement` defines is drawn or computed after sampling.
pub(crate) fn is_predicted(symbols: &BTreeMap<String, Symbol>, statement: &Statement) -> bool {
    let symbol = statement.name().and_then(|n| symbols.get(&n.text));
    symbol.is_some_and(|s| s.role == Role::Predicted)
}

impl Checker<'_> {
    /// Data and dims as written, then the model, then predictions.
    pub(super) fn order(&self) -> Result<Order> {
        let mut needs: Needs = Vec::new();
        for statement in self.statements {
            let mut own = Vec::new();
            let declares = matches!(statement, Statement::Data(_) | Statement::Dim(_));
            uses(statement, &mut |Use { name, span, before }| {
                if let (false, Some(symbol)) = (declares, self.symbols.get(name)) {
                    let on = symbol.statement;
                    own.push(Need { on, span, before });
                }
            });
            needs.push(own);
        }
        self.join_systems(&mut needs);
        let mut out = Order::default();
        for part in circles(&needs) {
            let sorted = sort(&part, &needs).map_err(|cycle| self.cycle(&cycle))?;
            let circular = |n: &Need| n.before && part.contains(&n.on);
            if let Some(&at) = part.iter().find(|&&i| needs[i].iter().any(circular)) {
                let need = needs[at].iter().find(|n| circular(n)).expect("just found");
                sorted.iter().try_for_each(|&i| self.step(i, need.span))?;
                out.recurrences.push(sorted.clone());
            } else if let [one] = part[..]
                && self.is_solved(one)
            {
                let name = self.statements[one].name();
                self.step(one, name.map_or(Span::default(), |n| n.span))?;
                out.recurrences.push(vec![one]);
            }
            out.statements.extend(sorted);
        }
        let stage = |i: &usize| match &self.statements[*i] {
            Statement::Data(_) | Statement::Dim(_) => 0,
            other if self.is_predicted(other) => 2,
            _ => 1,
        };
        let sorted = &mut out.statements;
        sorted.sort_by_key(stage); // stable
        let declarations = sorted.iter().take_while(|i| stage(i) == 0).count();
        sorted[..declarations].sort_unstable();
        Ok(out)
    }

    /// That statement `i`, part of a recurrence, is a definition with dims or a parameter. `span` is
    /// where the recurrence asks for a step before.
    fn step(&self, i: usize, span: Span) -> Result<()> {
        let statement = &self.statements[i];
        let name = statement.name().map_or("", |n| &n.text);
        match statement {
            Statement::Computed(computed) if computed.dims.is_empty() => {
                let span = statement.name().map_or(span, |n| n.span);
                if let Some((call, time)) = self.equation(i) {
                    let message = format!(
                        "the dims of a solution must be written: `{name}[{time}] = {}(...)`",
                        call.name
                    );
                    return Err(self.error(span, message));
                }
                let message = format!(
                    "`{name}` depends on its own step before, so its dims must be written, as in \
                     `{name}[time] = ...`"
                );
                Err(self.error(span, message))
            }
            Statement::Sampled(s) if s.predicted => {
                let message = format!(
                    "`{name}` (line {}) is drawn anew given a step before of itself; draw what is \
                     new in a step and compute the rest, as in `predict z[time] ~ Normal(0, 1)` and \
                     `predict x[time] = phi * lag(x, start) + sigma * z`",
                    self.line(i)
                );
                Err(self.error(span, message))
            }
            _ => Ok(()),
        }
    }

    fn is_predicted(&self, statement: &Statement) -> bool {
        is_predicted(&self.symbols, statement)
    }

    fn cycle(&self, cycle: &[(usize, Span)]) -> Error {
        let named = |i: usize| self.statements[i].name();
        let links: Vec<String> = cycle
            .iter()
            .map(|&(i, _)| {
                let name = named(i).map_or("", |n| &n.text);
                format!("`{name}` (line {})", self.line(i))
            })
            .collect();
        let first = cycle
            .first()
            .and_then(|&(i, _)| named(i))
            .map_or("", |n| &n.text);
        let span = cycle.first().map_or(Span::default(), |&(_, span)| span);
        let chain = links.join(" uses ");
        let computed =
            |&(i, _): &(usize, Span)| matches!(self.statements[i], Statement::Computed(_));
        let advice = match cycle.iter().all(computed) {
            true if cycle.iter().any(|&(i, _)| self.is_solved(i)) => {
                "; of an equation only the rate may depend on the solution".into()
            }
            true => format!("; its value of the step before is `lag({first}, start)`"),
            false => String::new(),
        };
        self.error(
            span,
            format!("the definition of `{first}` is circular: {chain} uses `{first}`{advice}"),
        )
    }

    /// Dims that are sized by one another.
    pub(super) fn dim_cycles(&self) -> Result<()> {
        let mut position: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, statement) in self.statements.iter().enumerate() {
            if let Statement::Dim(dim) = statement {
                position.insert(&dim.name.text, i);
            }
        }
        let mut needs: Needs = vec![Vec::new(); self.statements.len()];
        let all: Vec<usize> = (0..needs.len()).collect();
        for (i, statement) in self.statements.iter().enumerate() {
            let Statement::Dim(dim) = statement else {
                continue;
            };
            if let Extent::Size(_) = &dim.extent {
                uses(statement, &mut |Use { name, span, .. }| {
                    if let Some(&on) = position.get(name) {
                        needs[i].push(Need {
                            on,
                            span,
                            before: false,
                        });
                    }
                });
            }
        }
        let sorted = sort(&all, &needs);
        sorted.map(|_| ()).map_err(|cycle| self.cycle(&cycle))
    }

    /// Finds what each name depends on, and refuses what cannot be known when it is needed.
    pub(super) fn levels(&mut self, order: &Order) -> Result<()> {
        for &i in &order.statements {
            self.level(i)?;
            // The members of a recurrence depend on all that any of them does.
            let members = order.recurrences.iter().find(|r| r.last() == Some(&i));
            let members = members.into_iter().flatten();
            let names = members.filter_map(|&m| self.statements[m].name());
            let names: Vec<&str> = names.map(|n| n.text.as_str()).collect();
            let level = names.iter().map(|&name| self.symbols[name].level).max();
            for name in names {
                let symbol = self
                    .symbols
                    .get_mut(name)
                    .expect("a definition has a symbol");
                symbol.level = level.unwrap_or(Level::Data);
            }
        }
        Ok(())
    }

    /// Finds what the name of statement `i` depends on.
    fn level(&mut self, i: usize) -> Result<()> {
        let statement = &self.statements[i];
        let (mut level, mut predicted) = (Level::Data, None);
        uses(statement, &mut |Use { name, span, .. }| {
            let of = self.symbols.get(name).map_or(Level::Data, |s| s.level);
            level = level.max(of);
            if of == Level::Predicted {
                predicted = Some((name.to_owned(), span));
            }
        });
        let own = self.is_predicted(statement);
        if let (Some((name, span)), false) = (predicted, own) {
            let message = format!(
                "`{name}` is a prediction, made after sampling; only predictions can use it"
            );
            return Err(self.error(span, message));
        }
        match statement {
            Statement::Computed(computed) if !own => {
                if let Some(symbol) = self.symbols.get_mut(&computed.name.text) {
                    symbol.level = level;
                }
            }
            Statement::Sampled(s) if !own => self.observable(i, &s.name)?,
            _ => {}
        }
        Ok(())
    }

    /// That the left of `~` is known, unless it is a parameter.
    fn observable(&self, i: usize, name: &Name) -> Result<()> {
        let symbol = &self.symbols[&name.text];
        if symbol.statement == i || symbol.level == Level::Data {
            return Ok(());
        }
        let line = self.line(symbol.statement);
        let message = format!(
            "`{name}` is computed from parameters on line {line}, so it cannot be observed; add to the \
             log density with `target += ...`"
        );
        Err(self.error(name.span, message))
    }
}
