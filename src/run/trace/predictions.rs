//! The trace of what is predicted for data that were not fitted.

use super::super::integrated::Integrated;
use super::{Collect, count};
use crate::Result;
use crate::draws::{Group, Trace};
use crate::fit::sample::Run;
use crate::model::Role;
use crate::model::ast::Statement;
use crate::model::families::values_of;
use crate::model::joint::Recorded;

impl Collect<'_> {
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
