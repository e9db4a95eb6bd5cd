//! What a fitted model predicts for data that it was not fitted to.

mod fitted;
mod place;

use fitted::Fitted;
use place::placed;

use super::compiled::{Compiled, Terms};
use super::records::Told;
use super::{Caller, Settings, Timing, bind, trace};
use crate::data::Dataset;
use crate::draws::Trace;
use crate::model::ast::{Keep, Statement};
use crate::model::families::values_of;
use crate::model::joint::Joint;
use crate::model::names::list;
use crate::model::{Model, Role};
use crate::{Error, ErrorKind, Result};
use fitzroy_device::gpu::text::Precision;

/// Draws what `model` predicts for `data`, once for each draw of the group `posterior` of `draws`.
///
/// Observed variables that `data` do not hold are predicted: drawn from their distribution given
/// the parameters. Dims of parameters keep the labels that they had, so that `data` may hold some
/// groups of those that were fitted, in any order; constants that have no other dims need not be
/// given again. Numbers that the model takes over whole data, such as `mean(x)`, are those of the
/// data that were fitted. Parameters in `redraw` are not taken from the draws but drawn from their
/// priors, given all they depend on: for groups that were not seen, say. Each prediction depends on
/// the seed, the chain and the draw alone.
///
/// The trace has the group `predictions` (observed variables, predictions of the model, redrawn
/// parameters and deterministics), `predictions_constant_data`, and for observed variables that
/// `data` do hold `observed_data` and, if [`Settings::log_likelihood`] asks for it,
/// `log_likelihood`.
///
/// # Errors
/// Draws without a parameter of the model, or without data that such numbers need; labels that were
/// not fitted; data that do not fit, or have missing elements; rows that depend on those fitted, as
/// of a Gaussian process; discrete parameters that are not redrawn.
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
    if settings.log_likelihood && model.observed().all(|name| outcomes.contains(&name)) {
        let message =
            "⟨log_likelihood⟩: the data hold no observed variable, and so nothing to score";
        return Err(wrong(message.into()));
    }
    let fitted = Fitted { model, draws };
    let model = &model.with_numbers(&fitted.numbers(settings)?)?;
    let data = fitted.with_groups(data, redraw);
    let predicting = model.for_prediction(&outcomes, redraw, &data)?;
    let joint = bind(&predicting, &data, settings)?;
    check_whole(&joint)?;
    let chosen = joint.centred();
    let compiled = Compiled::new(&joint, &chosen, Terms::All, settings.engine)?;
    let compiled_at = (caller.now)();
    check_rows(&compiled, draws, &joint)?;
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
    model
        .observed()
        .filter(|name| data.get(name).is_none())
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

/// Refuses data with missing elements: their values are parameters of the fit.
fn check_whole(joint: &Joint) -> Result<()> {
    let arrays = &joint.binding().arrays;
    match arrays.iter().find(|array| array.missing.is_some()) {
        None => Ok(()),
        Some(array) => Err(Error::new(
            ErrorKind::Data,
            format!(
                "`{}` has missing elements, which were not fitted; give their values, or leave them out",
                array.name
            ),
        )),
    }
}

/// Refuses predictions of rows that depend on rows that were fitted: those of one draw of a vector
/// over other rows.
fn check_rows(compiled: &Compiled, draws: &Trace, joint: &Joint) -> Result<()> {
    for drawn in compiled.graphs.drawn.iter().filter(|d| d.event_dims > 0) {
        for dim in &drawn.dims[drawn.dims.len() - drawn.event_dims..] {
            let bound = joint.binding().dim(dim);
            let now = bound.map(|at| joint.binding().dims[at].coordinates());
            if let (Some(before), Some(now)) = (draws.coords.get(dim), now)
                && *before != now
            {
                let name = &drawn.name;
                return Err(wrong(format!(
                    "the elements of `{name}` over `{dim}` depend on each other, and others were \
                     fitted: what these say of new ones must stand in the model, as `predict` lines"
                )));
            }
        }
    }
    Ok(())
}
