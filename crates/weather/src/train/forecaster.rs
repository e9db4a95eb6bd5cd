//! Forecasts by trained networks: on this processor, or on a machine that runs lists, many side by side.

use super::device::{self, Deed, DeviceLearner, HEADER};
use super::engine::Target;
use super::model::Predictor;
use super::plan::gib;
use super::problem::Problem;
use crate::data::{FORCINGS, forcings};
use crate::time::Time;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::gpu::work::{Accelerator, Math};
use fitzroy_device::nn::{Network, Pool, Recompute};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// Forecasts side by side on a machine, at most: more make a GPU hardly faster.
const ABREAST: usize = 16;
/// Bytes of states that are brought back at a time, at most, unless one forecast has more.
const BROUGHT: u64 = 1 << 29;

/// What a forecast is made from.
pub struct Start<'a> {
    /// The state a step before.
    pub before: &'a [f32],
    /// The state now.
    pub now: &'a [f32],
    /// Its time.
    pub time: Time,
    /// True states of the steps, for the boundary; none where nothing is forced.
    pub truth: Vec<&'a [f32]>,
}

/// How much is forecast at a time, and what it may take.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Steps of a forecast.
    pub steps: usize,
    /// Forecasts that there are, as far as it is known.
    pub starts: usize,
    /// Threads of this processor.
    pub threads: usize,
    /// Bytes of the machine's memory that may be taken.
    pub memory_bytes: Option<u64>,
}

/// The states of a forecast by every member, (node, channel) each.
pub struct Rollout {
    states: Vec<Vec<f32>>,
    steps: usize,
}

impl Rollout {
    /// What a member foretells for a step, of which the first is 0.
    pub fn state(&self, member: usize, step: usize) -> &[f32] {
        &self.states[member * self.steps + step]
    }
}

/// Makes forecasts by several sets of parameters of one network.
pub struct Forecaster<'m> {
    members: Vec<&'m [f32]>,
    steps: usize,
    abreast: usize,
    engine: Engine,
}

enum Engine {
    Cpu(Pool, Vec<Predictor>),
    Device(Box<DeviceLearner>),
}

impl<'m> Forecaster<'m> {
    /// Forecasts by `members`, sets of parameters of the problem's network. Rain is forecast a step ahead.
    ///
    /// # Errors
    /// The graph is wrong; a machine has too little memory or fails.
    pub fn new(
        target: Target,
        problem: &Problem,
        members: &[&'m [f32]],
        extent: Extent,
    ) -> Result<Self> {
        let steps = match problem.is_forecast() {
            true => extent.steps.max(1),
            false => 1,
        };
        if !matches!(target, Target::Cpu) {
            problem.check_machine()?;
        }
        let (engine, abreast) = match target {
            Target::Cpu => (processor(problem, members, extent.threads)?, 1),
            Target::Device(machine, math) => on_machine(problem, steps, (machine, math), extent)?,
        };
        Ok(Forecaster {
            members: members.to_vec(),
            steps,
            abreast,
            engine,
        })
    }

    /// Sets of parameters.
    pub fn n_members(&self) -> usize {
        self.members.len()
    }

    /// Steps of a forecast.
    pub fn n_steps(&self) -> usize {
        self.steps
    }

    /// Forecasts that are best asked for at a time.
    pub fn abreast(&self) -> usize {
        self.abreast
    }

    /// What a user should know of the machine.
    pub fn notes(&self) -> &[String] {
        match &self.engine {
            Engine::Cpu(..) => &[],
            Engine::Device(device) => &device.notes,
        }
    }

    /// Forecasts from every start, in their order.
    ///
    /// # Errors
    /// Those of the machine.
    pub fn roll(&mut self, problem: &Problem, starts: &[Start<'_>]) -> Result<Vec<Rollout>> {
        let (steps, abreast) = (self.steps, self.abreast);
        let mut out = Vec::with_capacity(starts.len());
        for part in starts.chunks(abreast) {
            let mut rolled: Vec<Rollout> = part
                .iter()
                .map(|_| Rollout {
                    states: Vec::new(),
                    steps,
                })
                .collect();
            match &mut self.engine {
                Engine::Cpu(pool, predictors) => {
                    for (predictor, parameters) in predictors.iter_mut().zip(&self.members) {
                        for (start, to) in part.iter().zip(&mut rolled) {
                            roll_here(problem, (pool, predictor), parameters, start, steps);
                            let states = (0..steps).map(|k| predictor.state(k + 2).to_vec());
                            to.states.extend(states);
                        }
                    }
                }
                Engine::Device(device) => {
                    for parameters in &self.members {
                        device.take_parameters(parameters)?;
                        send(problem, device, part, (steps, abreast))?;
                        device.ask(problem, Deed::Validate, steps)?;
                        device.status()?;
                        let states = device.predicted(problem, steps)?;
                        for (sample, to) in rolled.iter_mut().enumerate() {
                            let at = |step| (step * abreast + sample) * device.used.len();
                            let now = part[sample].now;
                            let restored =
                                |step| restored(problem, device, now, (&states, at(step)));
                            to.states.extend((0..steps).map(restored));
                        }
                    }
                }
            }
            out.append(&mut rolled);
        }
        Ok(out)
    }
}

/// Forecasts on this processor, a predictor for each member.
fn processor(problem: &Problem, members: &[&[f32]], threads: usize) -> Result<Engine> {
    let mut pool = Pool::new(threads);
    let mut predictors = Vec::new();
    for parameters in members {
        let mut predictor = Predictor::new(problem, &pool, 1, 1, Recompute::Mlp)?;
        predictor.embed(&mut pool, parameters);
        predictors.push(predictor);
    }
    Ok(Engine::Cpu(pool, predictors))
}

/// Forecasts on a machine, as many side by side as there is room for.
fn on_machine(
    problem: &Problem,
    steps: usize,
    (machine, math): (Box<dyn Accelerator>, Math),
    extent: Extent,
) -> Result<(Engine, usize)> {
    let state = (4 * problem.archive.record_len() * steps) as u64;
    let brought = (BROUGHT / state.max(1)).max(1) as usize;
    let mut abreast = extent.starts.clamp(1, ABREAST).min(brought);
    let network = || Network::new(&problem.spec, Recompute::Mlp);
    let parts = |abreast| -> Result<_> {
        Ok(device::forecast_bytes(
            problem,
            &network()?,
            (abreast, steps),
            math,
        ))
    };
    let free = extent.memory_bytes.unwrap_or(u64::MAX);
    loop {
        let parts = parts(abreast)?;
        let needed: u64 = parts.iter().map(|part| part.1).sum();
        if needed <= free {
            break;
        }
        if abreast == 1 {
            let each: Vec<String> = parts
                .iter()
                .map(|(name, bytes)| format!("{name} {}", gib(*bytes)))
                .collect();
            let message = format!(
                "a forecast of {steps} steps needs {} of the GPU's memory ({}), {} is free; forecast fewer \
                 steps, or use ⟨device cpu⟩",
                gib(needed),
                each.join(", "),
                gib(free)
            );
            return Err(Error::new(ErrorKind::Device, message));
        }
        abreast /= 2;
    }
    let learner =
        DeviceLearner::for_forecasts(problem, network()?, (abreast, steps), (machine, math))?;
    Ok((Engine::Device(Box::new(learner)), abreast))
}

/// The forcings of a record, `step` steps after `time`.
fn known(problem: &Problem, time: Time, step: i64) -> Vec<f32> {
    let archive = &problem.archive;
    let mut out = vec![0.0; archive.n_nodes() * FORCINGS];
    forcings(Time(time.0 + step * archive.step_s), archive, &mut out);
    out
}

fn roll_here(
    problem: &Problem,
    (pool, predictor): (&mut Pool, &mut Predictor),
    parameters: &[f32],
    start: &Start<'_>,
    steps: usize,
) {
    predictor.start(start.before, start.now);
    for step in 0..steps {
        let sun = [-1, 0, 1].map(|k| known(problem, start.time, step as i64 + k));
        let sun = [&sun[0][..], &sun[1][..], &sun[2][..]];
        let truth = start.truth.get(step).copied();
        predictor.step(problem, pool, parameters, (step, 0), sun, truth);
    }
}

/// Sends the states and forcings of some starts; the last stands in for those that are missing to `abreast`.
fn send(
    problem: &Problem,
    device: &mut DeviceLearner,
    starts: &[Start<'_>],
    (steps, abreast): (usize, usize),
) -> Result<()> {
    let all: Vec<&Start<'_>> = (0..abreast)
        .map(|k| &starts[k.min(starts.len() - 1)])
        .collect();
    let (mut records, mut sun) = (Vec::new(), Vec::new());
    for k in 0..steps + 2 {
        for start in &all {
            // Where nothing is forced, no step looks at the truth.
            records.push(match k {
                0 => start.before,
                1 => start.now,
                k => start.truth.get(k - 2).unwrap_or(&start.now),
            });
            if problem.is_forecast() {
                sun.extend(known(problem, start.time, k as i64 - 1));
            }
        }
    }
    let mut header = [0.0_f32; HEADER];
    header[1] = starts.len() as f32;
    let width = problem.archive.channels.len();
    device.send(&header, records.into_iter(), width, &sun)
}

/// A whole state from the nodes that a machine has, at which its numbers begin in `states`; what is not
/// forecast is as it was before.
fn restored(
    problem: &Problem,
    device: &DeviceLearner,
    now: &[f32],
    (states, first): (&[f32], usize),
) -> Vec<f32> {
    let width = problem.archive.channels.len();
    let mut out = now.to_vec();
    let places = device.used.numbers(&problem.outputs);
    for (&node, place) in problem.outputs.iter().zip(places) {
        for &channel in &problem.targets {
            let from = (first + place as usize) * width + channel;
            out[node as usize * width + channel] = states[from];
        }
    }
    out
}
