//! Data with missing elements: a parameter for those, a likelihood for the others.

use super::build::Build;
use super::cells::Cells;
use super::law::Of;
use super::observed::Observed;
use super::{Joint, Observations};
use crate::dist::Real;
use crate::model::ast::{Name, Sampled, Statement};
use crate::model::check::uses;
use crate::model::source::{line_number, located};
use crate::model::{BoundArray, Content, Missing};
use crate::{Error, ErrorKind, Result};
use fitzroy_graph::{DimId, Expr as Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What stands in one place of the order: a statement, or those of a recurrence.
type Part = Vec<usize>;

impl Joint {
    /// The statements in an order in which everything is defined before it is used. Data with
    /// missing elements are defined by their distribution.
    ///
    /// # Errors
    /// Such a distribution depends on the data that it is of.
    pub(super) fn order(&self) -> Result<Vec<Part>> {
        let model = &self.model;
        let mut waiting: Vec<Part> = Vec::new();
        for &i in model.order() {
            let recurrence = model.recurrences().iter().find(|r| r.contains(&i));
            let part = recurrence.cloned().unwrap_or_else(|| vec![i]);
            if waiting.last() != Some(&part) {
                waiting.push(part);
            }
        }
        let made_by = self.made_by();
        if made_by.is_empty() {
            return Ok(waiting);
        }
        let mut later: BTreeSet<usize> = waiting.iter().flatten().copied().collect();
        let mut out = Vec::new();
        while !waiting.is_empty() {
            let is_ready = |part: &Part| {
                let mut needs = self.needs(part, &made_by).into_iter();
                needs.all(|(i, by_data)| !later.contains(&i) || (!by_data && part.contains(&i)))
            };
            let Some(next) = waiting.iter().position(is_ready) else {
                return Err(self.depends_on_itself(&made_by));
            };
            let part = waiting.remove(next);
            part.iter().for_each(|i| _ = later.remove(i));
            out.push(part);
        }
        Ok(out)
    }

    /// The statement that gives data with missing elements their distribution.
    fn made_by(&self) -> BTreeMap<&str, usize> {
        let is_missing = |name: &str| {
            self.binding
                .array(name)
                .is_some_and(|a| a.missing.is_some())
        };
        let statements = self.model.statements().iter().enumerate();
        let own = statements.filter_map(|(i, statement)| match statement {
            Statement::Sampled(s) if is_missing(&s.name.text) => Some((s.name.text.as_str(), i)),
            _ => None,
        });
        own.collect()
    }

    /// The statements that `part` needs, each with whether it is for data with missing elements.
    fn needs(&self, part: &[usize], made_by: &BTreeMap<&str, usize>) -> Vec<(usize, bool)> {
        let mut out = Vec::new();
        for &i in part {
            uses(&self.model.statements()[i], &mut |used| {
                let symbol = self.model.symbols().get(used.name);
                out.extend(symbol.map(|s| (s.statement, false)));
                out.extend(made_by.get(used.name).map(|&by| (by, true)));
            });
        }
        out
    }

    /// The error where there is no order.
    fn depends_on_itself(&self, made_by: &BTreeMap<&str, usize>) -> Error {
        let comes_back = |&(_, &by): &(&&str, &usize)| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![by]);
            while let Some(i) = open.pop() {
                let needs = self.needs(&[i], made_by).into_iter().map(|(i, _)| i);
                open.extend(needs.filter(|&i| seen.insert(i)));
            }
            seen.contains(&by)
        };
        let found = made_by.iter().find(comes_back);
        let (name, &by) = found.expect("without missing values the order was found");
        let message = format!(
            "`{name}` has missing values, and its distribution depends on `{name}` itself: fill \
             them in, or write `{name}` as a parameter of which a column is observed"
        );
        let place = self.model.statements()[by].name();
        let place = place.expect("it is a statement about data").span;
        located(ErrorKind::Data, self.model.text(), place, message)
    }
}

/// The same statement about another variable.
fn under_name(s: &Sampled, name: &str) -> Sampled {
    let name = Name {
        text: name.into(),
        span: s.name.span,
    };
    Sampled { name, ..s.clone() }
}

impl<'m, 'g> Build<'m, 'g> {
    /// The array called `name`, if some of its elements are missing.
    pub(super) fn missing_of(&self, name: &str) -> Option<(&'m BoundArray, &'m Missing)> {
        let array = self.binding.array(name)?;
        Some((array, array.missing.as_ref()?))
    }

    /// Data of which some are missing.
    pub(super) fn partly_observed(
        &mut self,
        s: &Sampled,
        (array, missing): (&BoundArray, &Missing),
    ) -> Result<()> {
        let name = &s.name.text;
        let dims: Vec<DimId> = array.dims.iter().map(|&d| self.dims[d]).collect();
        let dims = self.distinct(&dims);
        let of = Of {
            name: &s.name,
            dims: &dims,
        };
        let law = self.law(&s.distribution, of)?;
        let law = law.expect("data have missing values where numbers are given one by one");
        let limits = self.limit_values(s, &dims)?;
        let Content::Real(values) = &array.content else {
            panic!("positions are never missing")
        };
        let seen = missing.observed(values.len());
        let cells = |at, along| Cells {
            name,
            dims: &dims,
            along: self.dims[along],
            at,
        };
        let (gone, seen) = (
            cells(&missing.at, missing.dim),
            cells(&seen, missing.observed_dim),
        );

        let own = under_name(s, &missing.parameter);
        let law_of_gone = law.map(&mut |v| self.pick(v, &gone));
        let limits_of_gone = limits.map(|(a, b)| (self.pick(a, &gone), self.pick(b, &gone)));
        match missing.is_discrete {
            true => self.discrete_numbers(&own, &[gone.along], &law_of_gone, limits_of_gone)?,
            false => self.number_parameter(&own, &[gone.along], &law_of_gone, limits_of_gone)?,
        }
        let parameter = self.names[&missing.parameter];

        let known: Vec<f64> = seen.at.iter().map(|&i| values[i]).collect();
        let (names, shape) = self.dim_names(name, &dims);
        let part = Some(Arc::new(Observations {
            dims: names,
            shape,
            at: seen.at.to_vec(),
            values: known.clone(),
            line: line_number(self.model.text(), s.name.span.start()),
        }));
        let observed = Observed {
            s,
            dims: &[seen.along],
            values: &known,
            part: part.as_deref(),
        };
        let law_of_seen = law.map(&mut |v| self.pick(v, &seen));
        let limits_of_seen = limits.map(|(a, b)| (self.pick(a, &seen), self.pick(b, &seen)));
        let y = self
            .scope
            .bound_data(&format!("{name} observed"), &[seen.along], &known);
        let (n_terms, n_drawn) = (self.terms.len(), self.drawn.len());
        self.observed(y, observed, &law_of_seen, limits_of_seen)?;
        self.note_part(n_terms, n_drawn, &part);

        let whole = self.filled_in(&gone, values, parameter, missing.is_discrete);
        self.names.insert(name.clone(), whole);
        Ok(())
    }

    /// The array with the elements of `parameter` where its own are missing.
    fn filled_in(
        &self,
        gone: &Cells<'_>,
        values: &[f64],
        parameter: Value<'g>,
        is_discrete: bool,
    ) -> Value<'g> {
        let name = gone.name;
        let mut known = values.to_vec();
        let mut is_missing = vec![0.0; values.len()];
        let mut which = vec![0; values.len()];
        for (k, &i) in gone.at.iter().enumerate() {
            (known[i], is_missing[i], which[i]) = (0.0, 1.0, k as u32);
        }
        let rows = match gone.dims {
            [one] => *one,
            dims => self.flat(dims),
        };
        let index = format!("{name} from {name}_missing");
        let index = self.scope.bound_index(&index, rows, gone.along, &which);
        let spread = self.relabel(parameter.gather(index), gone.dims);
        let data = |what: &str, values: &[f64]| {
            self.scope
                .bound_data(&format!("{name} {what}"), gone.dims, values)
        };
        let (known, is_missing) = (data("known", &known), data("is missing", &is_missing));
        match is_discrete {
            // A condition that is known tells which rows depend on which missing element.
            true => is_missing.select(spread, known),
            // A sum is what the rewrites of linear models see.
            false => known + is_missing * spread,
        }
    }

    /// An error: what is observed depends on missing values.
    pub(super) fn computed_from_missing(&self, s: &Sampled) -> Error {
        let gone = self.binding.arrays.iter().filter(|a| a.missing.is_some());
        let names: Vec<String> = gone.map(|a| format!("`{}`", a.name)).collect();
        let message = format!(
            "`{}` is computed from data with missing values ({}), so it cannot be observed; give the \
             data themselves a distribution",
            s.name,
            names.join(", ")
        );
        located(ErrorKind::Data, self.model.text(), s.name.span, message)
    }
}
