//! The order in which statements can be worked out, and what each depends on.

use super::super::ast::{Extent, Name, Span, Statement};
use super::{Checker, Level, Role, uses};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// What a statement needs: the statement that gives it, and where it was written.
type Needs = Vec<Vec<(usize, Span)>>;

/// Sorts `0..needs.len()` so that each comes after what it needs, otherwise ascending.
///
/// A cycle comes back as its members, each with the place where it names the next.
fn sort(needs: &Needs) -> std::result::Result<Vec<usize>, Vec<(usize, Span)>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        Open,
        Done,
    }
    let mut seen = vec![Seen::No; needs.len()];
    let mut out = Vec::with_capacity(needs.len());
    for root in 0..needs.len() {
        // A path of (node, how many of its needs were followed).
        let mut path: Vec<(usize, usize)> = Vec::new();
        if seen[root] == Seen::No {
            path.push((root, 0));
            seen[root] = Seen::Open;
        }
        while let Some((node, followed)) = path.last_mut() {
            let node = *node;
            let Some(&(next, _)) = needs[node].get(*followed) else {
                seen[node] = Seen::Done;
                out.push(node);
                path.pop();
                continue;
            };
            *followed += 1;
            match seen[next] {
                Seen::Done => {}
                Seen::No => {
                    seen[next] = Seen::Open;
                    path.push((next, 0));
                }
                Seen::Open => {
                    let start = path.iter().position(|(n, _)| *n == next).unwrap_or(0);
                    let members = path[start..].iter();
                    return Err(members.map(|&(n, f)| (n, needs[n][f - 1].1)).collect());
                }
            }
        }
    }
    Ok(out)
}

impl Checker<'_> {
    /// Data and dims as written, then the model, then predictions.
    pub(super) fn order(&self) -> Result<Vec<usize>> {
        let mut needs: Needs = Vec::new();
        for statement in self.statements {
            let mut own = Vec::new();
            let declares = matches!(statement, Statement::Data(_) | Statement::Dim(_));
            uses(statement, &mut |name, span| {
                if let (false, Some(symbol)) = (declares, self.symbols.get(name)) {
                    own.push((symbol.statement, span));
                }
            });
            needs.push(own);
        }
        let sorted = sort(&needs).map_err(|cycle| self.cycle(&cycle))?;
        let stage = |i: &usize| match &self.statements[*i] {
            Statement::Data(_) | Statement::Dim(_) => 0,
            other if self.is_predicted(other) => 2,
            _ => 1,
        };
        let mut out = sorted;
        out.sort_by_key(stage); // stable
        let declarations = out.iter().take_while(|i| stage(i) == 0).count();
        out[..declarations].sort_unstable();
        Ok(out)
    }

    fn is_predicted(&self, statement: &Statement) -> bool {
        let symbol = statement.name().and_then(|n| self.symbols.get(&n.text));
        symbol.is_some_and(|s| s.role == Role::Predicted)
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
        self.error(
            span,
            format!("the definition of `{first}` is circular: {chain} uses `{first}`"),
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
        for (i, statement) in self.statements.iter().enumerate() {
            let Statement::Dim(dim) = statement else {
                continue;
            };
            if let Extent::Size(_) = &dim.extent {
                uses(statement, &mut |name, span| {
                    if let Some(&j) = position.get(name) {
                        needs[i].push((j, span));
                    }
                });
            }
        }
        sort(&needs).map(|_| ()).map_err(|cycle| self.cycle(&cycle))
    }

    /// Finds what each name depends on, and refuses what cannot be known when it is needed.
    pub(super) fn levels(&mut self, order: &[usize]) -> Result<()> {
        for &i in order {
            let statement = &self.statements[i];
            let (mut level, mut predicted) = (Level::Data, None);
            uses(statement, &mut |name, span| {
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
