//! What a fitted model predicts for data that it was not fitted to.

use super::compiled::{Compiled, Terms};
use super::initial::Placing;
use super::kept::block_run;
use super::records::Told;
use super::{Caller, Settings, Timing, bind, trace};
use crate::data::{Array, Dataset, Labels};
use crate::draws::{Column, Group, Trace, Variable};
use crate::fit::sample::{Draws, Run, Statistics};
use crate::model::ast::{Keep, Statement};
use crate::model::families::values_of;
use crate::model::joint::{Chosen, Coordinates, Joint};
use crate::model::names::list;
use crate::model::{Model, Role};
use crate::{Error, ErrorKind, Result};
use fitzroy_device::gpu::text::Precision;
use std::collections::BTreeSet;

/// Draws what `model` predicts for `data`, once for each draw of the group `posterior` of `draws`.
///
/// Observed variables that `data` do not hold are predicted: drawn from their distribution given
/// the parameters. Dims of parameters keep the labels that they had, so that `data` may hold some
/// groups of those that were fitted, in any order; constants that have no other dims need not be
/// given again. Parameters in `redraw` are not taken from the draws but drawn from their priors,
/// given all they depend on: for groups that were not seen, say. Each prediction depends on the
/// seed, the chain and the draw alone.
///
/// The trace has the group `predictions` (observed variables, predictions of the model, redrawn
/// parameters and deterministics), `predictions_constant_data`, and for observed variables that
/// `data` do hold `observed_data` and, if [`Settings::log_likelihood`] asks for it,
/// `log_likelihood`.
///
/// # Errors
/// Draws without a parameter of the model; dims of parameters with other labels; data that do not
/// fit; discrete parameters that are not redrawn.
///
/// ```
/// use fitzroy::data::Dataset;
/// use fitzroy::draws::{Column, Group, Trace, Variable};
/// use fitzroy::model::Model;
/// use fitzroy::run::{Caller, Settings, predict};
///
/// let model = Model::parse("data y[obs], x[obs]\nb ~ Normal(0, 1)\nlet m = b * x\ny ~ Normal(m, 1)")?;
/// // One chain of two draws.
/// let slope = Variable {
///     name: "b".into(),
///     dims: vec!["chain".into(), "draw".into()],
///     shape: vec![1, 2],
///     values: Column::Real(vec![2.0, 3.0]),
/// };
/// let posterior = Group { name: "posterior".into(), variables: vec![slope], attributes: vec![] };
/// let draws = Trace { groups: vec![posterior], ..Trace::default() };
/// let mut data = Dataset::new();
/// data.insert_real("x", &[3], vec![0.0, 10.0, 20.0]);
/// let made = predict(&model, &draws, &data, &[], &Settings::default(), &Caller::silent())?;
/// let y = made.group("predictions").unwrap().variable("y").unwrap();
/// assert_eq!(y.shape, [1, 2, 3]);
/// // About 10 b in each draw.
/// assert!((y.element(1)[0][0] - 20.0).abs() < 5.0 && (y.element(1)[0][1] - 30.0).abs() < 5.0);
/// # Ok::<(), fitzroy::Error>(())
/// ```
pub fn predict(
    model: &Model,
    draws: &Trace,
    data: &Dataset,
    redraw: &[&str],
    settings: &Settings,
    caller: &Caller<'_>,
) -> Result<Trace> {
    let start = (caller.now)();
    let Some(posterior) = draws.group("posterior") else {
        return Err(wrong("the draws have no group `posterior`".into()));
    };
    check_redrawn(model, redraw)?;
    let outcomes = outcomes(model, data);
    let data = of_groups(model, draws, posterior, data, redraw);
    let predicting = model.for_prediction(&outcomes, redraw, &data)?;
    let joint = bind(&predicting, &data, settings)?;
    let chosen = Chosen::from(&vec![Coordinates::Centred; joint.plates().len()][..]);
    let compiled = Compiled::new(&joint, &chosen, Terms::All, settings.engine)?;
    let compiled_at = (caller.now)();
    let run = placed(&joint, &chosen, posterior, draws)?;
    let mut settings = settings.clone();
    settings.sampler.tune = 0;
    let timing = Timing {
        compile: compiled_at - start,
        sampling: (caller.now)() - compiled_at,
        ..Timing::default()
    };
    let collect = trace::Collect {
        joint: &joint,
        compiled: &compiled,
        told: Told {
            settings: &settings,
            caller,
            timing,
            warmup_transitions: Some(0),
            precision: Precision::F64,
        },
    };
    let local = model.statements().iter().filter_map(|s| match s {
        Statement::Computed(c) if c.keep == Keep::Local => Some(c.name.text.as_str()),
        _ => None,
    });
    collect.predictions(&run, &local.collect::<Vec<_>>())
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}

/// Observed data that are not given.
fn outcomes<'a>(model: &'a Model, data: &Dataset) -> Vec<&'a str> {
    let observed = |name: &str| {
        let mut all = model.statements().iter();
        all.any(|s| matches!(s, Statement::Sampled(s) if s.name.text == name))
    };
    let declared = model.statements().iter().filter_map(|s| match s {
        Statement::Data(data) => Some(data.name.text.as_str()),
        _ => None,
    });
    declared
        .filter(|name| data.get(name).is_none() && observed(name))
        .collect()
}

/// Refuses names that are none of parameters, and discrete parameters that would be taken from the draws.
fn check_redrawn(model: &Model, redraw: &[&str]) -> Result<()> {
    let symbols = model.symbols().iter();
    let parameters = symbols.filter(|(_, symbol)| symbol.role == Role::Parameter);
    let parameters: Vec<&str> = parameters.map(|(name, _)| name.as_str()).collect();
    if let Some(name) = redraw.iter().find(|name| !parameters.contains(name)) {
        return Err(wrong(format!(
            "⟨redraw⟩: `{name}` is no parameter of the model; its parameters are {}",
            list(parameters.iter().copied(), 12)
        )));
    }
    for statement in model.statements() {
        let Statement::Sampled(s) = statement else {
            continue;
        };
        let name = s.name.text.as_str();
        let is_kept = parameters.contains(&name) && !redraw.contains(&name);
        if is_kept && values_of(&s.distribution).discrete() {
            return Err(wrong(format!(
                "`{name}` is a discrete parameter, whose draws belong to the data that were fitted; ⟨redraw {name}⟩ \
                 draws it from its prior"
            )));
        }
    }
    Ok(())
}

/// The data with what belongs to the groups that were fitted: labels of the dims of parameters, and numbers that
/// have no other dims.
fn of_groups(
    model: &Model,
    draws: &Trace,
    posterior: &Group,
    data: &Dataset,
    redraw: &[&str],
) -> Dataset {
    let mut out = data.clone();
    let mut of_kept = BTreeSet::new();
    for (name, symbol) in model.symbols() {
        let is_kept = symbol.role == Role::Parameter && !redraw.contains(&name.as_str());
        if !is_kept || posterior.variable(name).is_none() {
            continue;
        }
        of_kept.extend(&symbol.dims);
        for dim in &symbol.dims {
            if data.get(dim).is_some() || model.symbols().contains_key(dim) {
                continue;
            }
            let array = match draws.coords.get(dim) {
                Some(Labels::Text(labels)) => {
                    Array::text(dim, &[labels.len()], labels.clone(), "the draws")
                }
                Some(Labels::Integers(labels)) => {
                    let numbers = labels.iter().map(|&l| l as f64).collect();
                    Array::real(dim, &[labels.len()], numbers, "the draws")
                }
                None => continue,
            };
            out.insert(array);
        }
    }
    let constants = draws.group("constant_data").map(|g| &g.variables);
    for constant in constants.into_iter().flatten() {
        let symbol = model.symbols().get(&constant.name);
        let symbol = symbol.filter(|s| s.role == Role::Data && s.indexes.is_none());
        let is_of_groups = symbol.is_some_and(|s| s.dims.iter().all(|dim| of_kept.contains(dim)));
        if !is_of_groups || data.get(&constant.name).is_some() {
            continue;
        }
        let values = match &constant.values {
            Column::Real(values) => values.clone(),
            Column::Integer(values) => values.iter().map(|&v| v as f64).collect(),
            Column::Flag(values) => values.iter().map(|&v| f64::from(u8::from(v))).collect(),
        };
        out.insert(Array::real(
            &constant.name,
            &constant.shape,
            values,
            "the draws",
        ));
    }
    out
}

/// The draws in the coordinates of the model.
fn placed(joint: &Joint, chosen: &Chosen, posterior: &Group, draws: &Trace) -> Result<Run> {
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
        check_shape(joint, draws, variable, &placed.shape)?;
        let Column::Real(values) = &variable.values else {
            return Err(wrong(format!(
                "the draws of `{}` are no real numbers",
                variable.name
            )));
        };
        columns.push((values.as_slice(), placed.shape.iter().product::<usize>()));
    }
    let dim = joint.n_params();
    let mut chains = Vec::with_capacity(n_chains);
    for chain in 0..n_chains {
        let mut positions = vec![0.0; n_draws * dim];
        for draw in 0..n_draws {
            let row = chain * n_draws + draw;
            placing.fill(
                columns
                    .iter()
                    .map(|(values, len)| &values[row * len..][..*len]),
            );
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

/// That a parameter has the dims of its draws, with the labels that these had.
fn check_shape(joint: &Joint, draws: &Trace, variable: &Variable, shape: &[usize]) -> Result<()> {
    let (name, fitted) = (&variable.name, variable.shape.get(2..).unwrap_or_default());
    let advice = format!("⟨redraw {name}⟩ draws it from its prior");
    if fitted != shape {
        return Err(wrong(format!(
            "`{name}` has shape {fitted:?} in the draws, and {shape:?} with these data; give data of the same \
             groups, or {advice}"
        )));
    }
    for dim in variable.dims.iter().skip(2) {
        let Some(bound) = joint.binding().dim(dim) else {
            continue;
        };
        let now = joint.binding().dims[bound].coordinates();
        if draws.coords.get(dim).is_some_and(|before| *before != now) {
            return Err(wrong(format!(
                "dim `{dim}` of `{name}` has other labels in the draws; give no labels of `{dim}`, or {advice}"
            )));
        }
    }
    Ok(())
}
