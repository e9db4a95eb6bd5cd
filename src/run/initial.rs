//! Starts of chains from values of variables, on their natural scale.

use super::compiled::{Compiled, Evaluator};
use super::posterior::ModelPosterior;
use super::{Settings, start};
use crate::data::{Array, Dataset, Values};
use crate::fit::sample::{self, ATTEMPTS, Init, Posterior, Scatter, Stream, Target, places};
use crate::model::joint::{Chosen, Inverse, Joint, Placed};
use crate::{Error, ErrorKind, Result};
use fitzroy_device::cpu::{Function, Workspace};
use std::ops::Range;
use std::sync::Arc;

/// How far values may be from those of their coordinates, relative to 1 + |value|.
const TOLERANCE: f64 = 1e-6;

/// Puts the values of some variables into coordinates.
pub(super) struct Placing<'a> {
    joint: &'a Joint,
    inverse: Inverse,
    back: (Function, Workspace),
    there: (Function, Workspace),
    inputs: Vec<f64>,
    /// Whether values may lie at the ends of their range, where coordinates are infinite.
    edges: bool,
}

/// Stands for an infinite coordinate: its value is the end of the range, as f64 has it.
const FAR: f64 = 700.0;

impl<'a> Placing<'a> {
    /// For the variables `names`, in what is `chosen`.
    pub(super) fn new(joint: &'a Joint, names: &[&str], chosen: &Chosen) -> Result<Self> {
        let inverse = joint.inverse(names, chosen)?;
        let nodes =
            |pick: &dyn Fn(&Placed) -> Vec<_>| inverse.placed.iter().flat_map(pick).collect();
        let back: Vec<_> = nodes(&|p| p.coordinates.clone());
        let there: Vec<_> = nodes(&|p| vec![p.value]);
        let compile = |(graph, bindings): &(_, _), nodes: &[_]| -> Result<_> {
            let function = Function::compile(graph, bindings, nodes)?;
            let workspace = function.workspace();
            Ok((function, workspace))
        };
        Ok(Placing {
            joint,
            back: compile(&inverse.back, &back)?,
            there: compile(&inverse.there, &there)?,
            inputs: vec![0.0; inverse.n_inputs],
            inverse,
            edges: false,
        })
    }

    /// Values may also lie at the ends of their range: draws are rounded.
    pub(super) fn with_edges(self) -> Self {
        Placing {
            edges: true,
            ..self
        }
    }

    /// The variables, in the order in which [`Placing::fill`] takes them.
    pub(super) fn placed(&self) -> &[Placed] {
        &self.inverse.placed
    }

    /// Takes the elements of each variable.
    pub(super) fn fill<'v>(&mut self, values: impl Iterator<Item = &'v [f64]>) {
        for (placed, values) in self.inverse.placed.iter().zip(values) {
            self.inputs[placed.input..][..values.len()].copy_from_slice(values);
        }
    }

    /// Whether all coordinates are those of given variables.
    fn is_complete(&self) -> bool {
        self.inverse.placed.len() == self.joint.parameters().len()
    }

    /// Reads the values: one number for each element, or one for all.
    pub(super) fn read(&mut self, values: &Dataset) -> Result<()> {
        for placed in &self.inverse.placed {
            let name = &self.joint.parameters()[placed.parameter].name;
            let array = values.get(name).expect("its name was given");
            let len = placed.shape.iter().product::<usize>();
            let numbers = numbers(array)?;
            let fits = array.shape == placed.shape || numbers.len() == 1;
            if !fits {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!(
                        "`{name}` has shape {:?}, the parameter {:?}; give as many, or one number \
                         for all",
                        array.shape, placed.shape
                    ),
                ));
            }
            let all = (0..len).map(|i| numbers[i % numbers.len()]);
            self.inputs[placed.input..]
                .iter_mut()
                .zip(all)
                .for_each(|(to, x)| *to = x);
        }
        Ok(())
    }

    /// Puts the coordinates of the values that were read last into `position`, which has those of
    /// all other variables.
    pub(super) fn place(&mut self, position: &mut [f64]) -> Result<()> {
        let n_params = self.joint.n_params();
        self.inputs[..n_params].copy_from_slice(position);
        let (function, workspace) = &mut self.back;
        function.run(workspace, &self.inputs);
        let mut k = 0;
        for placed in &self.inverse.placed {
            let parameter = &self.joint.parameters()[placed.parameter];
            let mut at = parameter.offset;
            for _ in &placed.coordinates {
                let u = function.output(workspace, k);
                let place = &mut position[at..at + u.len()];
                place.copy_from_slice(u);
                if self.edges {
                    place.iter_mut().for_each(|u| *u = u.clamp(-FAR, FAR));
                }
                if let Some(i) = place.iter().position(|u| !u.is_finite()) {
                    return Err(self.outside(placed, i));
                }
                at += u.len();
                k += 1;
            }
        }
        let (function, workspace) = &mut self.there;
        function.run(workspace, position);
        for (k, placed) in self.inverse.placed.iter().enumerate() {
            let given = &self.inputs[elements(placed)];
            let made = function.output(workspace, k);
            let near = |(x, y): (&f64, &f64)| (x - y).abs() <= TOLERANCE * (1.0 + x.abs());
            if let Some(i) = given.iter().zip(made).position(|pair| !near(pair)) {
                let made = made[i];
                return Err(self.another(placed, i, made));
            }
        }
        Ok(())
    }

    /// Element `i` of the coordinates of `placed` is none.
    fn outside(&self, placed: &Placed, i: usize) -> Error {
        let parameter = &self.joint.parameters()[placed.parameter];
        let given = &self.inputs[elements(placed)];
        let one_by_one = placed.coordinates.len() == 1 && parameter.len == given.len();
        let message = match (&parameter.range, one_by_one) {
            (Some(range), true) => {
                let [low, high] = range.at(i);
                format!(
                    "{} is {}, which is not between {low} and {high}",
                    element(&parameter.name, i, given.len()),
                    given[i]
                )
            }
            _ => format!(
                "these values of `{}` are outside the support of its prior",
                parameter.name
            ),
        };
        Error::new(ErrorKind::Usage, message)
    }

    /// The coordinates of `placed` give another value, `made`, for element `i`.
    fn another(&self, placed: &Placed, i: usize, made: f64) -> Error {
        let name = &self.joint.parameters()[placed.parameter].name;
        let given = &self.inputs[elements(placed)];
        let message = format!(
            "these values of `{name}` are outside the support of its prior: {} is {}, where {made} \
             would fit the others",
            element(name, i, given.len()),
            given[i]
        );
        Error::new(ErrorKind::Usage, message)
    }
}

/// Where the elements of `placed` stand among the inputs.
fn elements(placed: &Placed) -> Range<usize> {
    placed.input..placed.input + placed.shape.iter().product::<usize>()
}

fn element(name: &str, i: usize, len: usize) -> String {
    match len {
        1 => format!("`{name}`"),
        _ => format!("element {i} of `{name}`"),
    }
}

/// The elements of an array of finite numbers.
fn numbers(array: &Array) -> Result<&[f64]> {
    let name = &array.name;
    let wrong = |what: String| Err(Error::new(ErrorKind::Usage, what));
    match &array.values {
        Values::Text(_) => wrong(format!("`{name}` is text; it needs numbers")),
        Values::Real(numbers) if numbers.is_empty() => wrong(format!("`{name}` is empty")),
        Values::Real(numbers) => match numbers.iter().position(|x| !x.is_finite()) {
            Some(i) => wrong(format!(
                "{} is {}; it needs a finite number",
                element(name, i, numbers.len()),
                numbers[i]
            )),
            None => Ok(numbers),
        },
    }
}

/// A point for each chain, in the coordinates in force, with the values that `settings` give:
/// [`Settings::initvals`].
pub(super) fn points(
    joint: &Joint,
    posterior: &ModelPosterior<'_>,
    settings: &Settings,
) -> Result<Init> {
    let asked = |error: Error| error.context("⟨initvals⟩");
    let (given, sampler) = (&settings.initvals, &settings.sampler);
    if sampler.init != Init::Jitter {
        let message = format!(
            "starts are given; they leave no room for {}",
            sampler.init.name()
        );
        return Err(asked(Error::new(ErrorKind::Usage, message)));
    }
    if given.len() != 1 && given.len() != sampler.chains {
        let message = format!(
            "{} sets of values for {} chains; give one for all, or one for each",
            given.len(),
            sampler.chains
        );
        return Err(asked(Error::new(ErrorKind::Usage, message)));
    }
    let of_chain = |error: Error, chain: usize| match given.len() {
        1 => asked(error),
        _ => asked(error.context(format!("chain {chain}"))),
    };
    let compiled = posterior.compiled();
    let chosen = as_stated(joint, &compiled.chosen);
    let placing = |(k, values): (usize, &Dataset)| {
        let names: Vec<&str> = values.arrays().iter().map(|a| &*a.name).collect();
        let made = Placing::new(joint, &names, &chosen).and_then(|mut placing| {
            placing.read(values)?;
            Ok(placing)
        });
        made.map_err(|error| of_chain(error, k))
    };
    // Of one set for all chains there is one.
    let placings = given.iter().enumerate().map(placing);
    let mut placings = placings.collect::<Result<Vec<_>>>()?;
    let scatter = posterior.scatter();
    let points = (0..sampler.chains).map(|chain| {
        let placing = &mut placings[chain.min(given.len() - 1)];
        one(placing, compiled, &scatter, sampler, chain).map_err(|error| of_chain(error, chain))
    });
    Ok(Init::Points(points.collect::<Result<_>>()?))
}

/// The first place of some for what is not given, beside the values that `placing` has read, whose
/// density is finite.
fn one(
    placing: &mut Placing<'_>,
    compiled: &Arc<Compiled>,
    scatter: &[Scatter],
    sampler: &sample::Settings,
    chain: usize,
) -> Result<Vec<f64>> {
    let joint = placing.joint;
    let mut evaluator = Evaluator::new(compiled);
    let mut slope = vec![0.0; compiled.dim];
    let mut position = vec![0.0; joint.n_params()];
    let stream = Stream {
        seed: sampler.seed,
        stream: sampler.stream,
        chain: sampler.first_chain.wrapping_add(chain as u32),
    };
    let attempts = if placing.is_complete() { 1 } else { ATTEMPTS };
    for attempt in 0..attempts {
        let numbers = position.iter_mut().zip(places(scatter, stream, attempt));
        numbers.for_each(|(x, place)| *x = place);
        placing.place(&mut position)?;
        let point = &position[..compiled.dim];
        let density = evaluator.value_and_gradient(point, &mut slope);
        if density.is_finite() && slope.iter().all(|g| g.is_finite()) {
            return Ok(point.to_vec());
        }
    }
    let term = start::first_wrong(joint, compiled, &position);
    let why = match term {
        Some(term) => format!("the log density is not finite there; {term}"),
        None => "the log density or its slope is not finite there".into(),
    };
    let message = format!("no chain can start at these values: {why}");
    Err(Error::new(ErrorKind::Numerics, message))
}

/// What is chosen for the plates that statements make, without those that were recognised.
fn as_stated(joint: &Joint, chosen: &Chosen) -> Chosen {
    let plates = joint.plates().iter().zip(&chosen.plates);
    let stated = plates.filter(|(plate, _)| !plate.standardised);
    Chosen {
        plates: stated.map(|(_, coordinates)| coordinates.clone()).collect(),
        signed: chosen.signed.clone(),
    }
}

#[cfg(test)]
mod tests;
