//! Draws of a trace as places in the coordinates of a model.

use super::wrong;
use crate::data::Labels;
use crate::draws::{Column, Group, Trace, Variable};
use crate::fit::sample::{Draws, Run, Statistics};
use crate::model::joint::{Chosen, Joint};
use crate::model::names::list;
use crate::run::initial::Placing;
use crate::run::kept::block_run;
use crate::{Error, Result};

/// The draws in the coordinates of the model.
pub(super) fn placed(
    joint: &Joint,
    chosen: &Chosen,
    posterior: &Group,
    draws: &Trace,
) -> Result<Run> {
    let names: Vec<&str> = joint.parameters().iter().map(|p| &*p.name).collect();
    let mut placing = Placing::new(joint, &names, chosen)?.with_edges();
    let variables = names.iter().map(|name| variable(posterior, name));
    let variables = variables.collect::<Result<Vec<_>>>()?;
    let shape = variables.first().and_then(|v| v.shape.first_chunk());
    let [n_chains, n_draws] = *shape.unwrap_or(&[1, 1]);
    let mut columns = Vec::new();
    for placed in placing.placed() {
        let variable = variables[placed.parameter];
        if variable.shape.first_chunk() != Some(&[n_chains, n_draws]) {
            return Err(wrong(format!(
                "`{}` has shape {:?} in the draws, which does not begin with {n_chains} chains of \
                 {n_draws} draws",
                variable.name, variable.shape
            )));
        }
        let Column::Real(values) = &variable.values else {
            return Err(wrong(format!(
                "the draws of `{}` are no real numbers",
                variable.name
            )));
        };
        let at = elements(joint, draws, variable, &placed.shape)?;
        columns.push((values.as_slice(), variable.elements(), at));
    }
    let dim = joint.n_params();
    let mut chains = Vec::with_capacity(n_chains);
    for chain in 0..n_chains {
        let mut positions = vec![0.0; n_draws * dim];
        for draw in 0..n_draws {
            let row = chain * n_draws + draw;
            let rows = columns.iter().map(|(values, len, at)| {
                let all = &values[row * len..][..*len];
                at.iter().map(|&k| all[k]).collect::<Vec<f64>>()
            });
            let rows: Vec<Vec<f64>> = rows.collect();
            placing.fill(rows.iter().map(Vec::as_slice));
            let at = |error: Error| error.context(format!("chain {chain}, draw {draw}"));
            placing
                .place(&mut positions[draw * dim..][..dim])
                .map_err(at)?;
        }
        chains.push(Draws {
            positions,
            statistics: Statistics {
                lp: vec![f64::NAN; n_draws],
                ..Statistics::default()
            },
        });
    }
    Ok(Run {
        dim,
        ..block_run(chains, 0)
    })
}

fn variable<'a>(posterior: &'a Group, name: &str) -> Result<&'a Variable> {
    posterior.variable(name).ok_or_else(|| {
        let has = posterior.variables.iter().map(|v| v.name.as_str());
        wrong(format!(
            "the draws have no `{name}`, which the model needs; they have {}. If `{name}` belongs to data that \
             were not fitted, ⟨redraw {name}⟩ draws it from its prior",
            list(has, 12)
        ))
    })
}

/// Which elements of the draws of a parameter are its elements with these data: all, or those of the
/// labels that the data give.
fn elements(
    joint: &Joint,
    draws: &Trace,
    variable: &Variable,
    shape: &[usize],
) -> Result<Vec<usize>> {
    let (name, fitted) = (&variable.name, variable.shape.get(2..).unwrap_or_default());
    let advice = format!("⟨redraw {name}⟩ draws it from its prior");
    let mut at = vec![0];
    for (k, dim) in variable.dims.iter().skip(2).enumerate() {
        let (before, now) = (fitted[k], shape.get(k).copied().unwrap_or(0));
        let bound = joint.binding().dim(dim).map(|d| &joint.binding().dims[d]);
        let known = draws.coords.get(dim);
        let given = bound.and_then(|b| b.labels.as_ref());
        let of_dim: Vec<usize> = match (known, given) {
            (Some(known), Some(given)) if *known != *given => {
                let known = texts(known);
                let place = |label: &String| known.iter().position(|l| l == label);
                let places: Option<Vec<usize>> = texts(given).iter().map(place).collect();
                places.ok_or_else(|| {
                    wrong(format!(
                        "dim `{dim}` of `{name}` has labels that were not fitted; {advice}"
                    ))
                })?
            }
            _ if before == now => (0..before).collect(),
            _ => {
                return Err(wrong(format!(
                    "`{name}` has {before} elements over `{dim}` in the draws, and {now} with these \
                     data, of which nothing says which they are; give labels of `{dim}`, or {advice}"
                )));
            }
        };
        let of_all = |&first: &usize| of_dim.iter().map(move |&next| first * before + next);
        at = at.iter().flat_map(of_all).collect();
    }
    if at.len() != shape.iter().product::<usize>() {
        return Err(wrong(format!(
            "`{name}` has shape {fitted:?} in the draws, and {shape:?} with these data; {advice}"
        )));
    }
    Ok(at)
}

/// Labels as text: whole numbers that were read from text are the same.
pub(super) fn texts(labels: &Labels) -> Vec<String> {
    (0..labels.len()).map(|i| labels.text(i)).collect()
}
