//! The same verdict on draws that stay on the disk, a few elements at a time.

use super::chains::Chains;
use super::element::element_statistics;
use super::places::Places;
use super::ranks::Scores;
use super::sampler::SamplerStatistics;
use super::summary::{Row, Summary, SummaryOptions, check_probability, gather};
use super::threads::on_threads;
use super::verdict::{Diagnosis, Draws, conclude, known_group};
use crate::Result;
use crate::draws::{Group, Stored, Trace, Variable};

/// Statistics of the sampler that checks look at.
const STATISTICS: [&str; 6] = [
    "lp",
    "diverging",
    "reached_max_treedepth",
    "energy",
    "step_size_bar",
    "step_size",
];

/// A trace of what checks look at beside the draws.
fn sampler_statistics(stored: &Stored, options: &SummaryOptions) -> Result<Trace> {
    let group = match options.group.as_str() {
        "prior" => "sample_stats_prior",
        _ => "sample_stats",
    };
    let mut variables = Vec::new();
    for name in STATISTICS {
        let found = stored.variable(group, name)?;
        variables.extend(found.map(|mut v| {
            v.shape.truncate(2);
            v.dims.truncate(2);
            v
        }));
    }
    let mut kept = Trace::default();
    kept.groups.push(Group {
        name: group.into(),
        variables,
        attributes: Vec::new(),
    });
    Ok(kept)
}

/// [`diagnose`](super::diagnose) of a trace that stays on the disk: the same numbers. Memory does
/// not hold more than some elements of one variable.
///
/// # Errors
/// Those of [`diagnose`](super::diagnose), and of reading.
pub fn diagnose_stored(stored: &Stored, options: &SummaryOptions) -> Result<Diagnosis> {
    let outline = stored.outline()?;
    let group = known_group(&outline, options)?;
    check_probability(options.statistics)?;
    let n_chains = group.variables.first().map_or(0, |v| v.shape[0]);
    let n_draws = stored.n_draws_of(group)?;
    let scores = Scores::new(2 * n_chains * (n_draws / 2));
    let mut rows = Vec::new();
    for variable in &group.variables {
        let places = Places::new(&outline, variable);
        let mut own: Vec<Option<Row>> = vec![None; variable.elements()];
        stored.columns(&group.name, &variable.name, &mut |elements, part| {
            let statistics = |(): &mut (), k: usize| {
                let draws = gather(&part, k, k + 1).pop().unwrap_or_default();
                let x = Chains::new(&draws, n_chains, n_draws);
                element_statistics(x, &scores, options.statistics)
            };
            let found = on_threads(elements.len(), options.threads, || (), statistics);
            for (&element, statistics) in elements.iter().zip(found) {
                own[element] = Some(places.row(element, statistics));
            }
        })?;
        rows.extend(own.into_iter().flatten());
    }
    let summary = Summary {
        rows,
        statistics: options.statistics,
        n_chains,
        n_draws,
    };
    let kept = sampler_statistics(stored, options)?;
    let sampler = SamplerStatistics::of(&kept, &options.group, n_chains, n_draws);
    let draws_of = |name: &str, element: usize| {
        let mut draws = None;
        let read = stored.columns(&group.name, name, &mut |elements, part| {
            if let Some(k) = elements.iter().position(|&e| e == element) {
                draws = gather(&part, k, k + 1).pop();
            }
        });
        read.ok().and(draws)
    };
    let each = |look: &mut dyn FnMut(&Variable, usize, &[f64]) -> bool| {
        let mut goes_on = true;
        for variable in &group.variables {
            let read = stored.columns(&group.name, &variable.name, &mut |elements, part| {
                for (k, &element) in elements.iter().enumerate() {
                    let draws = gather(&part, k, k + 1).pop().unwrap_or_default();
                    goes_on = goes_on && look(variable, element, &draws);
                }
            });
            if read.is_err() || !goes_on {
                return;
            }
        }
    };
    let draws = Draws {
        of: &draws_of,
        each: &each,
    };
    Ok(conclude(&outline, options, summary, &sampler, &draws))
}
