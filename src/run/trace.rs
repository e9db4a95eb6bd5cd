//! Draws and data in the layout of ArviZ.

mod facts;
mod predictions;
mod slices;
mod statistics;

pub(super) use facts::settings_json;
pub(super) use statistics::statistics_columns;

use super::compiled::Compiled;
use super::integrated::Integrated;
use super::keep::keeps;
use super::kept::block_run;
use super::predictive::{Key, Replicator};
use super::records::Told;
use super::sweep::{Positions, sweep};
use crate::Result;
use crate::diagnose::BY_DISCRETE;
use crate::draws::{Attribute, Column, Group, Trace, Variable, join_draws};
use crate::fit::sample::{Draws, Run, Statistics};
use crate::model::Role;
use crate::model::ast::Statement;
use crate::model::families::values_of;
use crate::model::joint::{Drawn, Joint, Recorded, TermKind};
use fitzroy_device::cpu::{Engine, Function};
use fitzroy_graph::NodeId;
use slices::Piece;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything the trace of a model is made from.
pub(super) struct Collect<'a> {
    pub(super) joint: &'a Joint,
    pub(super) compiled: &'a Arc<Compiled>,
    pub(super) told: Told<'a>,
}

/// Whether machine code for what is computed of each of `n` draws pays.
pub(super) fn worth_machine_code(n: usize) -> bool {
    n >= 1000
}

/// A variable computed for every draw: its name, dims and sizes.
#[derive(Clone)]
pub(super) struct Column3 {
    pub(super) name: String,
    pub(super) dims: Vec<String>,
    pub(super) shape: Vec<usize>,
}

impl Collect<'_> {
    /// The whole trace.
    ///
    /// `earlier` are the groups of the draws before those of `run`, in order.
    pub(super) fn trace(
        &self,
        run: &mut Run,
        centring: &[(String, f64)],
        earlier: &[&[Group]],
    ) -> Result<Trace> {
        let own = self.draw_groups(run)?;
        let mut groups = match earlier {
            [] => own,
            _ => join_draws(&[earlier, &[own.as_slice()]].concat()),
        };
        if let Some(warmup) = &run.warmup {
            groups.extend(self.warmup(warmup)?);
        }
        groups.extend(self.data());
        let mut trace = Trace {
            coords: BTreeMap::new(),
            groups,
            attributes: self.attributes(run, centring),
        };
        let n_draws = trace.n_draws(&trace.groups[0].name);
        trace.coords = self.coords(&trace.groups, n_draws, run.chains.len());
        Ok(trace)
    }

    /// A trace of `n_chains` chains without draws: names, shapes and data.
    pub(super) fn template(&self, n_chains: usize) -> Result<Trace> {
        let mut run = block_run(vec![Draws::default(); n_chains], 0);
        let mut groups = self.draw_groups(&mut run)?;
        groups.extend(self.data());
        Ok(Trace {
            coords: self.coords(&groups, 0, n_chains),
            groups,
            attributes: Vec::new(),
        })
    }

    /// The groups of draws. Statistics are moved out of `run` and back.
    pub(super) fn draw_groups(&self, run: &mut Run) -> Result<Vec<Group>> {
        let prior = self.told.settings.prior_only;
        let name = |posterior: &'static str, of_prior: &'static str| {
            if prior { of_prior } else { posterior }
        };
        let n_draws = run.n_draws();
        let mut groups = Vec::new();
        let integrated = Integrated::new(self.compiled, &self.told.settings.sampler);
        let positions = self.positions(run, n_draws, integrated);
        let (variables, lp) = self.recorded(&positions)?;
        let graphs = &self.compiled.graphs;
        let mut recorded = self.told.group(name("posterior", "prior"), variables);
        let by_discrete = graphs.recorded.iter();
        let by_discrete = by_discrete.filter(|r| keeps(&self.told.settings.keep, &r.name));
        let by_discrete = by_discrete.filter(|r| graphs.reads_drawn(&[r.node]));
        let by_discrete: Vec<&str> = by_discrete.map(|r| r.name.as_str()).collect();
        if !by_discrete.is_empty() {
            let names = Attribute::Text(by_discrete.join(" "));
            recorded.attributes.push((BY_DISCRETE.into(), names));
        }
        groups.push(recorded);
        if graphs.drawn.iter().any(|d| !d.observed) || !graphs.predicted.is_empty() {
            let variables = self.replicates(|d| !d.observed, &graphs.predicted, &positions)?;
            groups.push(self.told.group("predictions", variables));
        }
        if self.told.settings.predictive || prior {
            let variables = self.replicates(|d| d.observed, &[], &positions)?;
            if !variables.is_empty() {
                groups.push(
                    self.told
                        .group(name("posterior_predictive", "prior_predictive"), variables),
                );
            }
        }
        if self.told.settings.log_likelihood && !prior {
            groups.push(
                self.told
                    .group("log_likelihood", self.log_likelihood(&positions)?),
            );
        }
        let statistics = run
            .chains
            .iter_mut()
            .map(|c| std::mem::take(&mut c.statistics));
        let statistics: Vec<Statistics> = statistics.collect();
        let columns = statistics_columns(&statistics, n_draws, lp);
        groups.push(
            self.told
                .group(name("sample_stats", "sample_stats_prior"), columns),
        );
        for (chain, statistics) in run.chains.iter_mut().zip(statistics) {
            chain.statistics = statistics;
        }
        Ok(groups)
    }

    /// Makes whole numbers of the values of discrete parameters.
    fn count_discrete(&self, variables: &mut [Variable]) {
        count(variables, |name| self.is_discrete(name));
    }

    /// Whether `name` is a discrete parameter, or missing data with a discrete distribution.
    fn is_discrete(&self, name: &str) -> bool {
        let (model, arrays) = (self.joint.model(), &self.joint.binding().arrays);
        let symbol = model.symbols().get(name);
        let parameter = symbol.filter(|s| s.role == Role::Parameter);
        match parameter.map(|s| &model.statements()[s.statement]) {
            Some(Statement::Sampled(s)) => values_of(&s.distribution).discrete(),
            _ => {
                let mut missing = arrays.iter().filter_map(|a| a.missing.as_ref());
                missing.any(|m| m.is_discrete && m.parameter == name)
            }
        }
    }

    /// What is recorded of every draw, and the log density in the coordinates as written, Jacobians
    /// of the transforms included.
    fn recorded(&self, positions: &Positions<'_>) -> Result<(Vec<Variable>, Vec<f64>)> {
        let keep = &self.told.settings.keep;
        let records = self.compiled.graphs.recorded.iter();
        let records = records.filter(|r| keeps(keep, &r.name));
        let columns = records.clone().map(|r| Column3 {
            name: r.name.clone(),
            dims: r.dims.clone(),
            shape: r.shape.clone(),
        });
        let mut columns: Vec<Column3> = columns.collect();
        columns.push(Column3 {
            name: "lp".into(),
            dims: Vec::new(),
            shape: Vec::new(),
        });
        let nodes: Vec<NodeId> = records.map(|r| r.node).chain([self.compiled.lp]).collect();
        let compiled = self.compiled.recorded().filter(|_| keep.is_empty());
        let mut variables = match compiled {
            Some(function) => self.swept(columns, function, positions),
            None => self.evaluated(columns, &nodes, positions)?,
        };
        match variables.pop().map(|v| v.values) {
            Some(Column::Real(lp)) => {
                self.count_discrete(&mut variables);
                Ok((variables, lp))
            }
            _ => unreachable!("lp was computed last"),
        }
    }

    fn evaluated(
        &self,
        columns: Vec<Column3>,
        nodes: &[NodeId],
        positions: &Positions<'_>,
    ) -> Result<Vec<Variable>> {
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        if self.compiled.graphs.reads_drawn(nodes) {
            let arrays =
                self.drawn_and_computed(|_| false, nodes, &lengths(&columns), positions)?;
            return Ok(variables(columns, arrays, positions));
        }
        let function = self.compiled.function_for(self.engine(positions), nodes)?;
        Ok(self.swept(columns, &function, positions))
    }

    /// What evaluates something for so many draws.
    fn engine(&self, positions: &Positions<'_>) -> Engine {
        match worth_machine_code(positions.chains.len() * positions.n_draws) {
            true => self.told.settings.engine,
            false => Engine::Interpreter,
        }
    }

    fn swept(
        &self,
        columns: Vec<Column3>,
        function: &Function,
        positions: &Positions<'_>,
    ) -> Vec<Variable> {
        let arrays = self.computed(&lengths(&columns), function, positions);
        variables(columns, arrays, positions)
    }

    /// The outputs of `function`, which have these lengths, for every draw.
    fn computed(
        &self,
        lengths: &[usize],
        function: &Function,
        positions: &Positions<'_>,
    ) -> Vec<Vec<f64>> {
        sweep(positions, lengths, self.threads(), || {
            let mut workspace = function.workspace();
            move |_, _, position: &[f64], rows: &mut [&mut [f64]]| {
                function.run(&mut workspace, position);
                for (k, row) in rows.iter_mut().enumerate() {
                    row.copy_from_slice(function.output(&workspace, k));
                }
            }
        })
    }

    /// The drawn variables that `wanted` picks, and what is computed from them.
    fn replicates(
        &self,
        wanted: impl Fn(&Drawn) -> bool,
        computed: &[Recorded],
        positions: &Positions<'_>,
    ) -> Result<Vec<Variable>> {
        let drawn = self.compiled.graphs.drawn.iter().filter(|d| wanted(d));
        let pieces = drawn
            .map(Piece::replicates)
            .chain(computed.iter().map(Piece::computed));
        let (columns, layout) = slices::columns(pieces.collect());
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        let nodes: Vec<NodeId> = computed.iter().map(|r| r.node).collect();
        let arrays = self.drawn_and_computed(wanted, &nodes, &layout.lengths(), positions)?;
        Ok(variables(columns, layout.join(arrays), positions))
    }

    /// The drawn variables that `wanted` picks, then the values of `nodes`, of these `lengths`.
    fn drawn_and_computed(
        &self,
        wanted: impl Fn(&Drawn) -> bool,
        nodes: &[NodeId],
        lengths: &[usize],
        positions: &Positions<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        let replicator = Replicator::new(self.compiled, wanted, nodes)?;
        let (sampler, first) = (&self.told.settings.sampler, positions.first);
        Ok(sweep(positions, lengths, self.threads(), || {
            let mut workspace = replicator.workspace();
            let replicator = &replicator;
            move |chain: usize, draw: usize, position: &[f64], rows: &mut [&mut [f64]]| {
                let key = Key {
                    seed: sampler.seed,
                    stream: sampler.stream,
                    chain: sampler.first_chain.wrapping_add(chain as u32),
                    draw: (first + draw) as u32,
                };
                replicator.draw(&mut workspace, position, key, rows);
            }
        }))
    }

    /// One variable per likelihood term, named after its data.
    fn log_likelihood(&self, positions: &Positions<'_>) -> Result<Vec<Variable>> {
        let graphs = &self.compiled.graphs;
        let terms = graphs
            .terms
            .iter()
            .filter(|t| t.kind == TermKind::Likelihood);
        let nodes: Vec<_> = terms.clone().map(|t| t.node).collect();
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let pieces = terms.map(|t| Piece::likelihoods(t, &graphs.graph));
        let (columns, layout) = slices::columns(pieces.collect());
        let lengths = layout.lengths();
        let arrays = match graphs.reads_drawn(&nodes) {
            true => self.drawn_and_computed(|_| false, &nodes, &lengths, positions)?,
            false => {
                let function = self.compiled.function_for(self.engine(positions), &nodes)?;
                self.computed(&lengths, &function, positions)
            }
        };
        Ok(variables(columns, layout.join(arrays), positions))
    }

    fn warmup(&self, chains: &[Draws]) -> Result<[Group; 2]> {
        let n_draws = chains.first().map_or(0, Draws::len);
        let positions = Positions {
            chains: chains.iter().map(|c| c.positions.as_slice()).collect(),
            n_draws,
            first: 0,
            transition: 0,
            integrated: Integrated::new(self.compiled, &self.told.settings.sampler),
        };
        let (recorded, lp) = self.recorded(&positions)?;
        let statistics: Vec<Statistics> = chains.iter().map(|c| c.statistics.clone()).collect();
        let columns = statistics_columns(&statistics, n_draws, lp);
        Ok([
            self.told.group("warmup_posterior", recorded),
            self.told.group("warmup_sample_stats", columns),
        ])
    }

    fn positions<'r>(&self, run: &'r Run, n_draws: usize, integrated: Integrated) -> Positions<'r> {
        Positions {
            chains: run.chains.iter().map(|c| c.positions.as_slice()).collect(),
            n_draws,
            first: run.first_draw,
            transition: self.told.settings.sampler.tune + run.first_draw,
            integrated,
        }
    }

    fn threads(&self) -> usize {
        self.told.settings.sampler.threads
    }
}

pub(super) fn lengths(columns: &[Column3]) -> Vec<usize> {
    columns.iter().map(|c| c.shape.iter().product()).collect()
}

pub(super) fn variables(
    columns: Vec<Column3>,
    arrays: Vec<Vec<f64>>,
    positions: &Positions<'_>,
) -> Vec<Variable> {
    let draws = [positions.chains.len(), positions.n_draws];
    let one = |(column, values): (Column3, Vec<f64>)| Variable {
        name: column.name,
        dims: ["chain".into(), "draw".into()]
            .into_iter()
            .chain(column.dims)
            .collect(),
        shape: draws.into_iter().chain(column.shape).collect(),
        values: Column::Real(values),
    };
    columns.into_iter().zip(arrays).map(one).collect()
}

/// Makes whole numbers of the values of variables that are `discrete`.
fn count(variables: &mut [Variable], discrete: impl Fn(&str) -> bool) {
    for variable in variables {
        if let Column::Real(values) = &variable.values
            && discrete(&variable.name)
        {
            variable.values = Column::Integer(values.iter().map(|&x| x as i64).collect());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
