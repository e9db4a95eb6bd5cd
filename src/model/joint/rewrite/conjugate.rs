//! Shares and rates with a conjugate prior, integrated out of the rows that observe them.
//!
//! A parameter is integrated out only where all of this holds: its prior is a Beta or Gamma one
//! without limits; it enters the log density through its prior and through likelihoods that the
//! prior is conjugate to (see [`Conjugate`]) alone; there each row has one of its elements, times
//! a factor where it is a rate. Its coordinates are not standard normal numbers, as those of normal
//! effects are, but drawn by name: see [`Conditional`].

use super::super::build::Build;
use super::super::law::Law;
use super::reading::{self, Reading};
use super::{Outcome, Rewrote};
use crate::dist::{Conjugate, Real, Scalar};
use fitzroy_graph::{Binary, Expr as Value, NodeId, Op, Scope};

/// A parameter with a conjugate prior.
#[derive(Clone, Debug)]
pub(in super::super) struct ConjugatePrior {
    /// Index among the parameters.
    parameter: usize,
    /// Its coordinate, and the parameter itself.
    coordinate: NodeId,
    value: NodeId,
    family: Conjugate,
    arguments: [NodeId; 2],
    /// The term of its prior.
    term: usize,
}

/// A likelihood of single numbers that some prior is conjugate to.
#[derive(Clone, Debug)]
pub(in super::super) struct Observation {
    term: usize,
    law: Scalar,
    y: NodeId,
    arguments: Vec<NodeId>,
}

/// The distribution of an integrated parameter given the others and the data.
#[derive(Clone, Debug)]
pub struct Conditional {
    /// Index among the parameters.
    pub parameter: usize,
    pub(crate) family: Conjugate,
    /// Its two arguments, over the dims of the parameter.
    pub arguments: [NodeId; 2],
}

impl Conditional {
    /// A draw of one coordinate, from its two arguments.
    pub(crate) fn draw(&self, rng: &mut crate::rng::Rng, arguments: [f64; 2]) -> f64 {
        self.family.draw(rng, arguments)
    }
}

/// A likelihood, how its rows read a parameter, and what they add to the prior.
struct Rows<'g> {
    term: usize,
    n: usize,
    /// For each element of the parameter.
    added: [Value<'g>; 2],
    /// Over all rows.
    constant: Value<'g>,
}

impl<'g> Build<'_, 'g> {
    /// Notes the last parameter, if its prior is a conjugate one.
    pub(in super::super) fn note_conjugate(&mut self, law: &Law<'g>, u: Value<'g>, x: Value<'g>) {
        let Law::Scalar(scalar, arguments) = law else {
            return;
        };
        let known: Vec<Option<f64>> = arguments.iter().map(|a| a.constant()).collect();
        let found = match (scalar, &known[..]) {
            // Beta(1, 1).
            (Scalar::Uniform, [Some(0.0), Some(1.0)]) => {
                Some((Conjugate::Beta, [Value::lit(1.0); 2]))
            }
            _ => Conjugate::of(*scalar, arguments),
        };
        let Some((family, arguments)) = found else {
            return;
        };
        let dims = x.dims();
        let node = |v: Value<'g>| self.scope.node(v.broadcast(self.scope, &dims));
        self.conjugates.push(ConjugatePrior {
            parameter: self.parameters.len() - 1,
            coordinate: node(u),
            value: node(x),
            family,
            arguments: arguments.map(node),
            term: self.terms.len() - 1,
        });
    }

    /// Notes the last likelihood, if a prior may be conjugate to it.
    pub(in super::super) fn note_observation(&mut self, law: &Law<'g>, y: Value<'g>) {
        let Law::Scalar(scalar, arguments) = law else {
            return;
        };
        let families = [Conjugate::Beta, Conjugate::Gamma];
        if families.iter().any(|f| f.argument(*scalar).is_some()) {
            let node = |v: &Value<'g>| self.scope.node(*v);
            self.observations.push(Observation {
                term: self.terms.len() - 1,
                law: *scalar,
                y: node(&y),
                arguments: arguments.iter().map(node).collect(),
            });
        }
    }

    /// Integrates out the `allowed` parameters with a conjugate prior, one after the other, and
    /// returns ln p(of them | the others, data).
    pub(super) fn integrate_conjugates(
        &mut self,
        allowed: &[bool],
        outcome: &mut Outcome,
    ) -> Value<'g> {
        let mut conditional = Value::lit(0.0);
        for prior in self.conjugates.clone() {
            let Some(rows) = self.conjugate_rows(&prior, allowed, outcome) else {
                continue;
            };
            let scope = self.scope;
            let dims = scope.with(|g| g.dims(prior.value).to_vec());
            let before = prior.arguments.map(|a| scope.expr(a));
            let name = self.parameters[prior.parameter].name.clone();
            let mut added = [Value::lit(0.0); 2];
            let mut constant = Value::lit(0.0);
            for of in &rows {
                added = [added[0] + of.added[0], added[1] + of.added[1]];
                constant = constant + of.constant;
            }
            let added = added.map(|v| v.broadcast(scope, &dims));
            let each = prior.family.log_marginal(before, added);
            let each = scope.node(each.broadcast(scope, &dims));
            let sum = self
                .counted_sum(each, &format!("{name} integrated out"))
                .map_or(scope.expr(each).sum_all(), |node| scope.expr(node));
            self.terms[prior.term].sum = scope.node(Value::lit(0.0));
            for of in &rows {
                self.terms[of.term].sum = scope.node(Value::lit(0.0));
                outcome.rewritten.push(of.term);
            }
            self.terms[rows[0].term].sum = scope.node(sum + constant);
            let after = [before[0] + added[0], before[1] + added[1]];
            let after = after.map(|v| v.broadcast(scope, &dims));
            let u = scope.expr(prior.coordinate);
            conditional = conditional + prior.family.log_density(u, after).sum_all();
            outcome.integrated[prior.parameter] = true;
            outcome.restored.push((prior.parameter, prior.coordinate));
            outcome.conditionals.push(Conditional {
                parameter: prior.parameter,
                family: prior.family,
                arguments: after.map(|v| scope.node(v)),
            });
            let names: Vec<&str> = rows
                .iter()
                .map(|r| self.terms[r.term].name.as_str())
                .collect();
            let n = rows.iter().map(|r| r.n).sum();
            outcome
                .done
                .push(Rewrote::normal(&names.join(", "), n, vec![name]));
        }
        conditional
    }

    /// The likelihoods that a parameter can be integrated out of; none where it has to stay.
    fn conjugate_rows(
        &self,
        prior: &ConjugatePrior,
        allowed: &[bool],
        outcome: &Outcome,
    ) -> Option<Vec<Rows<'g>>> {
        let gone = |k: usize| k == prior.parameter || outcome.integrated[k];
        let stays = (0..self.parameters.len()).any(|k| !gone(k) && self.parameters[k].len > 0);
        let free = allowed[prior.parameter] && !outcome.integrated[prior.parameter];
        let discrete = !self.discrete.is_empty() || !self.summed_out.is_empty();
        if !free || !stays || discrete {
            return None;
        }
        let depends = self.scope.with(|g| g.dependents(&[prior.coordinate]));
        // Newer nodes were made of parts that do not depend on it.
        let on = |node: NodeId| depends.get(node.index()) == Some(&true);
        let plates = self.plate_nodes.iter();
        if plates.flat_map(|(m, s)| [m, s]).any(|&node| on(node)) {
            return None;
        }
        let terms = self.terms.iter().enumerate();
        let reading = terms.filter(|(t, term)| *t != prior.term && on(term.sum));
        let mut rows = Vec::new();
        for (term, _) in reading {
            let observed = self.observations.iter().find(|o| o.term == term)?;
            if outcome.rewritten.contains(&term) {
                return None;
            }
            rows.push(self.rows_of(prior, observed, &on)?);
        }
        (!rows.is_empty()).then_some(rows)
    }

    /// What the rows of a likelihood add to a prior, if it is conjugate to them.
    fn rows_of(
        &self,
        prior: &ConjugatePrior,
        observed: &Observation,
        on: &dyn Fn(NodeId) -> bool,
    ) -> Option<Rows<'g>> {
        let scope = self.scope;
        let theta = prior.family.argument(observed.law)?;
        let known = |node: NodeId| scope.with(|g| !g.varies(node));
        let mut others = observed.arguments.iter().enumerate();
        if !known(observed.y) || !others.all(|(k, &a)| k == theta || known(a)) {
            return None;
        }
        let dims = scope.with(|g| g.dims(self.terms[observed.term].node).to_vec());
        let reading = multiples(scope, prior.value, (observed.arguments[theta], &dims))?;
        let by = scope.expr(reading.by);
        if on(reading.by) || prior.family == Conjugate::Beta && !is_one(scope, by) {
            return None;
        }
        let arguments: Vec<Value<'g>> = observed.arguments.iter().map(|&a| scope.expr(a)).collect();
        let evidence = Conjugate::evidence(observed.law, scope.expr(observed.y), &arguments, by);
        let evidence = evidence.map(|v| v.broadcast(scope, &dims));
        let name = &self.terms[observed.term].name;
        let sums = |k: usize| {
            let sums = reading.sums(scope, evidence[k], &[]);
            bound(scope, sums, &format!("{name} ({}, {k})", observed.term))
        };
        let constant = evidence[2].sum_all();
        Some(Rows {
            term: observed.term,
            n: scope.with(|g| g.len_of(&dims)),
            added: [sums(0), sums(1)],
            constant: bound(
                scope,
                constant,
                &format!("{name} ({}, constant)", observed.term),
            ),
        })
    }
}

/// How `argument` reads `x`, where it is nothing but multiples of elements of it.
fn multiples(
    scope: &Scope,
    x: NodeId,
    (argument, rows): (NodeId, &[fitzroy_graph::DimId]),
) -> Option<Reading> {
    let depends = scope.with(|g| g.dependents(&[x]));
    let needed = scope.with(|g| g.needed(&[argument]));
    let sums = scope.with(|g| {
        let mut ids = g.node_ids().filter(|id| {
            let at = id.index();
            needed.get(at) == Some(&true) && depends.get(at) == Some(&true)
        });
        ids.any(|id| matches!(g.node(id).op, Op::Binary(Binary::Add | Binary::Sub)))
    });
    match sums {
        true => None,
        false => reading::read(scope, (x, &depends), (argument, rows)),
    }
}

fn is_one(scope: &Scope, by: Value<'_>) -> bool {
    let known = scope.known(by);
    known.is_some_and(|values| values.iter().all(|&v| v == 1.0))
}

/// The value as data, where it is known.
fn bound<'g>(scope: &'g Scope, value: Value<'g>, name: &str) -> Value<'g> {
    match scope.known(value) {
        Some(values) if value.dims().is_empty() => Value::lit(values[0]),
        Some(values) => scope.bound_data(name, &value.dims(), &values),
        None => value,
    }
}
