//! The traces of what is drawn and not sampled: priors, and predictions for data that were not fitted.

use super::super::integrated::Integrated;
use super::{Collect, count};
use crate::Result;
use crate::draws::{Group, Trace};
use crate::fit::sample::Run;
use crate::model::Role;
use crate::model::ast::Statement;
use crate::model::families::values_of;
use crate::model::joint::Recorded;
use std::collections::BTreeSet;

impl Collect<'_> {
    /// The trace of independent draws where nothing was sampled: `parameters` and deterministics
    /// as `prior`, then predictions, replicates and data.
    pub(in crate::run) fn drawn(&self, parameters: &BTreeSet<&str>, run: &Run) -> Result<Trace> {
        let (n_chains, n_draws) = (run.chains.len(), run.n_draws());
        let graphs = &self.compiled.graphs;
        let computed: Vec<Recorded> = [&graphs.recorded[..], &graphs.predicted].concat();
        let mut variables = self.replicates(
            |_| true,
            &computed,
            &self.positions(run, n_draws, Integrated::none(0)),
        )?;
        self.count_discrete(&mut variables);
        let group_of = |name: &str| match graphs.drawn.iter().find(|d| d.name == name) {
            Some(drawn) if drawn.observed => 2,
            Some(_) => usize::from(!parameters.contains(name)),
            None => usize::from(!graphs.recorded.iter().any(|r| r.name == name)),
        };
        let mut sorted = [Vec::new(), Vec::new(), Vec::new()];
        for variable in variables {
            sorted[group_of(&variable.name)].push(variable);
        }
        let names = ["prior", "predictions", "prior_predictive"];
        let named = names.iter().zip(sorted);
        let filled = named.filter(|(name, all)| **name == "prior" || !all.is_empty());
        let mut groups: Vec<Group> = filled
            .map(|(name, all)| self.told.group(name, all))
            .collect();
        groups.extend(self.data());
        Ok(Trace {
            coords: self.coords(&groups, n_draws, n_chains),
            groups,
            attributes: self.attributes(run, &[]),
        })
    }

    /// Groups `predictions` without what is `local`, `log_likelihood` if it is asked for and data
    /// are observed, and the data.
    pub(in crate::run) fn predictions(&self, run: &Run, local: &[&str]) -> Result<Trace> {
        let (n_chains, n_draws) = (run.chains.len(), run.n_draws());
        let graphs = &self.compiled.graphs;
        let symbols = self.joint.model().symbols();
        let is_computed = |r: &&Recorded| {
            let symbol = symbols.get(&r.name);
            symbol.is_some_and(|s| s.role != Role::Parameter)
        };
        let recorded = graphs.recorded.iter().filter(is_computed);
        let computed = recorded.chain(&graphs.predicted).cloned();
        let computed: Vec<Recorded> = computed
            .filter(|r| !local.contains(&r.name.as_str()))
            .collect();
        let positions = self.positions(
            run,
            n_draws,
            Integrated::new(self.compiled, &self.told.settings.sampler),
        );
        let mut variables = self.replicates(|_| true, &computed, &positions)?;
        count(&mut variables, |name| self.counts(name));
        let mut groups = vec![self.told.group("predictions", variables)];
        if self.told.settings.log_likelihood {
            let found = self.log_likelihood(&positions)?;
            if !found.is_empty() {
                groups.push(self.told.group("log_likelihood", found));
            }
        }
        groups.extend(self.data().into_iter().map(|group| match &*group.name {
            "constant_data" => Group {
                name: "predictions_constant_data".into(),
                ..group
            },
            _ => group,
        }));
        Ok(Trace {
            coords: self.coords(&groups, n_draws, n_chains),
            groups,
            attributes: self.attributes(run, &[]),
        })
    }

    /// Whether `name` has a discrete distribution.
    fn counts(&self, name: &str) -> bool {
        let mut all = self.joint.model().statements().iter();
        all.any(|statement| {
            matches!(statement, Statement::Sampled(s)
                if s.name.text == name && values_of(&s.distribution).discrete())
        })
    }
}
