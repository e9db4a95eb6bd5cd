//! What a training computes on: this processor, or a machine that runs lists.

use super::batch::Batch;
use super::checkpoint::Checkpoint;
use super::device::{Deed, DeviceLearner};
use super::model::Learner;
use super::plan::Settings;
use super::problem::Problem;
use fitzroy::Result;
use fitzroy_device::gpu::work::{Accelerator, Math};
use fitzroy_device::nn::{Clock, Network, Pool, Span};

/// Where to train.
pub enum Target {
    /// This processor.
    Cpu,
    /// A machine that runs lists, and what its products are computed in.
    Device(Box<dyn Accelerator>, Math),
}

/// A learner of either kind.
pub(super) enum Engine {
    Cpu(Box<Cpu>),
    Device(Box<DeviceLearner>),
}

/// This processor.
pub(super) struct Cpu {
    pub(super) pool: Pool,
    learner: Learner,
    pub(super) gradient: Vec<f32>,
}

impl Cpu {
    /// Loss of a batch; its gradient is added to.
    pub(super) fn learn(&mut self, problem: &Problem, parameters: &[f32], batch: &Batch) -> f64 {
        let Cpu {
            pool,
            learner,
            gradient,
        } = self;
        learner.predictor.embed(pool, parameters);
        learner.learn(problem, pool, parameters, batch, gradient)
    }
}

impl Engine {
    /// Memory for batches and forecasts of up to `steps` steps.
    pub(super) fn new(
        target: Target,
        problem: &Problem,
        settings: &Settings,
        steps: usize,
        checkpoint: &Checkpoint,
    ) -> Result<Self> {
        let s = settings;
        match target {
            Target::Cpu => {
                let pool = Pool::new(s.threads);
                let learner = Learner::new(problem, &pool, s.batch_size, steps, s.recompute)?;
                Ok(Engine::Cpu(Box::new(Cpu {
                    pool,
                    learner,
                    gradient: vec![0.0; checkpoint.parameters.len()],
                })))
            }
            Target::Device(machine, math) => {
                let network = Network::new(&problem.spec, s.recompute)?;
                let machine = (machine, math);
                let learner = DeviceLearner::new(problem, network, s, steps, machine, checkpoint)?;
                Ok(Engine::Device(Box::new(learner)))
            }
        }
    }

    pub(super) fn is_device(&self) -> bool {
        matches!(self, Engine::Device(_))
    }

    /// Bytes taken of a GPU's memory.
    pub(super) fn device_bytes(&self) -> Option<u64> {
        match self {
            Engine::Cpu(_) => None,
            Engine::Device(device) => Some(device.bytes),
        }
    }

    /// From now on notes how long each block takes on the CPU; with no clock it does not any more.
    pub(super) fn observe(&mut self, clock: Option<Clock>) {
        if let Engine::Cpu(cpu) = self {
            cpu.learner.predictor.observe(clock);
        }
    }

    /// What was noted since the last call.
    pub(super) fn spans(&mut self) -> Vec<Span> {
        match self {
            Engine::Cpu(cpu) => cpu.learner.predictor.spans(),
            Engine::Device(_) => Vec::new(),
        }
    }

    /// Brings parameters, moments and average into the checkpoint.
    pub(super) fn pull(&mut self, checkpoint: &mut Checkpoint) -> Result<()> {
        match self {
            Engine::Cpu(_) => Ok(()),
            Engine::Device(device) => device.pull(checkpoint),
        }
    }

    /// The longest forecasts of a validation, of `wanted` steps at most: on a GPU there is room for
    /// those of training.
    pub(super) fn longest(&self, wanted: usize, trained: usize) -> usize {
        match self {
            Engine::Cpu(_) => wanted,
            Engine::Device(_) => wanted.min(trained),
        }
    }

    /// Mean loss of forecasts of `steps` steps from windows, with the average of parameters where
    /// it is kept.
    pub(super) fn validate(
        &mut self,
        problem: &Problem,
        checkpoint: &Checkpoint,
        windows: &[u32],
        steps: usize,
    ) -> Result<f64> {
        let averaged = checkpoint.average.is_some();
        match self {
            Engine::Cpu(cpu) => {
                let parameters = checkpoint.best_parameters();
                let Cpu { pool, learner, .. } = &mut **cpu;
                learner.predictor.embed(pool, parameters);
                let (mut sum, mut count) = (0.0, 0.0);
                let size = learner.predictor.batch_size();
                in_batches(problem, (windows, steps), size, |batch, n| {
                    let loss = learner.forecast(problem, pool, parameters, batch, n, false);
                    sum += loss * n as f64;
                    count += n as f64;
                    Ok(())
                })?;
                Ok(sum / count)
            }
            Engine::Device(device) => {
                if averaged {
                    device.ask(problem, Deed::Swap, 0)?;
                }
                let size = device.batch;
                in_batches(problem, (windows, steps), size, |batch, n| {
                    device.submit(problem, batch, (0.0, n), Deed::Validate)
                })?;
                if averaged {
                    device.ask(problem, Deed::Swap, 0)?;
                }
                let (sum, count) = device.status()?.validation;
                Ok(sum / count)
            }
        }
    }
}

/// Goes through windows in batches, and says how many of each count: a short one is filled up with
/// its last window.
fn in_batches(
    problem: &Problem,
    (windows, steps): (&[u32], usize),
    size: usize,
    mut work: impl FnMut(&Batch, usize) -> Result<()>,
) -> Result<()> {
    let mut batch = Batch::default();
    let mut starts = Vec::new();
    for group in windows.chunks(size) {
        starts.clear();
        starts.extend_from_slice(group);
        starts.resize(size, group[group.len() - 1]);
        batch.fill(problem, &starts, steps);
        work(&batch, group.len())?;
    }
    Ok(())
}
