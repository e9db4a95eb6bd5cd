//! The trace of a foreign density.

use super::Words;
use crate::Result;
use crate::data::Labels;
use crate::draws::{Attribute, Group, Trace, join_draws};
use crate::fit::sample::{self, Draws, Run, Statistics};
use crate::model::foreign::{Foreign, Quantity};
use crate::rng::{Purpose, Rng};
use crate::run::integrated::Integrated;
use crate::run::kept::block_run;
use crate::run::records::{Records, Told};
use crate::run::sweep::{Positions, sweep};
use crate::run::trace::{Column3, statistics_columns, variables};
use std::collections::BTreeMap;

/// Makes groups of the draws of a foreign density.
pub(super) struct DensityRecords<'a> {
    pub(super) foreign: &'a Foreign<'a>,
    pub(super) words: &'a Words,
}

impl DensityRecords<'_> {
    /// The posterior and its statistics, under the names that draws of this part of a run have.
    fn of(
        &self,
        told: &Told<'_>,
        chains: &[Draws],
        (first, transition): (usize, usize),
        names: [&str; 2],
    ) -> [Group; 2] {
        let sampler = &told.settings.sampler;
        let positions = Positions {
            chains: chains.iter().map(|c| c.positions.as_slice()).collect(),
            n_draws: chains.first().map_or(0, Draws::len),
            first,
            transition,
            integrated: Integrated::none(self.foreign.dim()),
        };
        let recorded = self.recorded(&positions, sampler);
        let statistics: Vec<Statistics> = chains.iter().map(|c| c.statistics.clone()).collect();
        let lp = statistics
            .iter()
            .flat_map(|s| s.lp.iter().copied())
            .collect();
        let columns = statistics_columns(&statistics, positions.n_draws, lp);
        [
            told.group(names[0], recorded),
            told.group(names[1], columns),
        ]
    }

    fn recorded(
        &self,
        positions: &Positions<'_>,
        sampler: &sample::Settings,
    ) -> Vec<crate::draws::Variable> {
        let quantities = self.foreign.quantities();
        let columns = quantities.iter().map(|q| Column3 {
            name: q.name.clone(),
            dims: q.dims.clone(),
            shape: q.shape.clone(),
        });
        let lengths: Vec<usize> = quantities.iter().map(Quantity::elements).collect();
        let density = self.foreign.density();
        let arrays = sweep(positions, &lengths, sampler.threads, || {
            let mut all = vec![0.0; self.foreign.n_recorded()];
            move |chain: usize, draw: usize, x: &[f64], rows: &mut [&mut [f64]]| {
                let chain = sampler.first_chain.wrapping_add(chain as u32);
                let transition = (positions.transition + draw) as u32;
                let purpose = Purpose::Predictive;
                let mut rng = Rng::new(sampler.seed, sampler.stream, chain, transition, purpose);
                let [low, high, ..] = rng.words().map(u64::from);
                if let Err(refused) = density.expand(x, low | high << 32, &mut all) {
                    self.words.take(refused);
                    all.fill(f64::NAN);
                }
                let mut rest = &all[..];
                for row in rows {
                    let (own, others) = rest.split_at(row.len());
                    row.copy_from_slice(own);
                    rest = others;
                }
            }
        });
        variables(columns.collect(), arrays, positions)
    }

    fn coords(&self, told: &Told<'_>, n_draws: usize, n_chains: usize) -> BTreeMap<String, Labels> {
        let dims = self.foreign.quantities().iter().flat_map(|q| &q.dims);
        let labelled = dims.filter_map(|dim| Some((dim.clone(), self.foreign.labels(dim)?)));
        let mut coords = labelled.collect();
        told.number_draws(&mut coords, n_draws, n_chains);
        coords
    }
}

impl Records for DensityRecords<'_> {
    fn template(&self, told: &Told<'_>, n_chains: usize) -> Result<Trace> {
        let mut run = block_run(vec![Draws::default(); n_chains], 0);
        Ok(Trace {
            coords: self.coords(told, 0, n_chains),
            groups: self.groups(told, &mut run)?,
            attributes: Vec::new(),
        })
    }

    fn groups(&self, told: &Told<'_>, run: &mut Run) -> Result<Vec<Group>> {
        let places = (run.first_draw, told.settings.sampler.tune + run.first_draw);
        let names = ["posterior", "sample_stats"];
        let groups = self.of(told, &run.chains, places, names).into();
        self.words.verdict()?;
        Ok(groups)
    }

    fn trace(&self, told: &Told<'_>, run: &mut Run, earlier: &[&[Group]]) -> Result<Trace> {
        let own = self.groups(told, run)?;
        let mut groups = match earlier {
            [] => own,
            _ => join_draws(&[earlier, &[own.as_slice()]].concat()),
        };
        if let Some(warmup) = &run.warmup {
            let names = ["warmup_posterior", "warmup_sample_stats"];
            groups.extend(self.of(told, warmup, (0, 0), names));
        }
        let (density, data) = self.foreign.identity();
        let text = |value: &str| Attribute::Text(value.into());
        let own = vec![
            ("fitzroy_density", text(density)),
            ("fitzroy_hash", text(&format!("{density} {data}"))),
            ("fitzroy_engine", text("foreign")),
        ];
        let n_draws = groups[0].variables.first().map_or(0, |v| v.shape[1]);
        Ok(Trace {
            coords: self.coords(told, n_draws, run.chains.len()),
            attributes: told.attributes(run, own),
            groups,
        })
    }
}
