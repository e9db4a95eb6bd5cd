//! What a training computes on: this processor, or a machine that runs lists.

use super::batch::Batch;
use super::checkpoint::Checkpoint;
use super::device::{Deed, DeviceLearner};
use super::model::Learner;
use super::plan::Settings;
use super::problem::Problem;
use fitzroy::Result;
use fitzroy_device::gpu::work::{Accelerator, Math};
use fitzroy_device::nn::{AdamW, Clock, Network, Pool, Span, norm_squared};

/// Where to train.
pub enum Target {
    /// This processor.
    Cpu,
    /// A machine that runs lists, and what its products are computed in.
    Device(Box<dyn Accelerator>, Math),
}

/// Makes a batch of the windows that start at some records.
pub(super) type Fill = fn(&mut Batch, &Problem, &[u32], usize);

/// A learner of either kind.
pub(super) enum Engine {
    Cpu(Box<Cpu>),
    Device(Box<DeviceLearner>),
}

/// This processor.
pub(super) struct Cpu {
    pool: Pool,
    learner: Learner,
    gradient: Vec<f32>,
}

impl Cpu {
    /// Loss of a batch; its gradient is added to.
    fn learn(&mut self, problem: &Problem, parameters: &[f32], batch: &Batch) -> f64 {
        let Cpu {
            pool,
            learner,
            gradient,
        } = self;
        learner.predictor.embed(pool, parameters);
        learner.learn(problem, pool, parameters, batch, gradient)
    }

    /// Clips, steps with `rate`, averages; nothing where the gradient is not finite. Its length
    /// before clipping.
    fn update(&mut self, checkpoint: &mut Checkpoint, s: &Settings, rate: f64) -> f64 {
        let count = s.accumulate as f64;
        let norm = norm_squared(&self.gradient).sqrt() / count;
        if !norm.is_finite() {
            checkpoint.progress.n_skipped += 1;
            checkpoint.progress.in_a_row += 1;
            return norm;
        }
        checkpoint.progress.in_a_row = 0;
        let factor = (s.clip_norm / norm).min(1.0) / count;
        let adamw = AdamW {
            weight_decay: s.weight_decay,
            ..AdamW::default()
        };
        let Checkpoint {
            parameters,
            m,
            v,
            average,
            progress,
            ..
        } = checkpoint;
        let t = progress.step - progress.n_skipped;
        let (pool, gradient) = (&mut self.pool, &self.gradient);
        adamw.step(pool, t, rate, factor, parameters, gradient, m, v);
        if let (Some(average), Some(most)) = (average, s.average) {
            let past = most.min((1.0 + t as f64) / (10.0 + t as f64)) as f32;
            for (mean, x) in average.iter_mut().zip(parameters) {
                *mean = past * *mean + (1.0 - past) * *x;
            }
        }
        norm
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
        if !matches!(target, Target::Cpu) {
            problem.check_machine()?;
        }
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

    /// Loss of a batch, the first or the last of its update; on a GPU it becomes known later.
    pub(super) fn learn(
        &mut self,
        problem: &Problem,
        checkpoint: &Checkpoint,
        batch: &Batch,
        rate: f64,
        (first, last): (bool, bool),
    ) -> Result<f64> {
        match self {
            Engine::Cpu(cpu) => {
                if first {
                    cpu.gradient.fill(0.0);
                }
                Ok(cpu.learn(problem, &checkpoint.parameters, batch))
            }
            Engine::Device(device) => {
                let deed = Deed::Learn { first, last };
                device.submit(problem, batch, (rate, batch.size), deed)?;
                Ok(f64::NAN)
            }
        }
    }

    /// A step of the optimiser, and the length of its gradient; on a GPU the last batch has made
    /// it, and its length becomes known later.
    pub(super) fn update(&mut self, checkpoint: &mut Checkpoint, s: &Settings, rate: f64) -> f64 {
        checkpoint.progress.step += 1;
        match self {
            Engine::Cpu(cpu) => cpu.update(checkpoint, s, rate),
            Engine::Device(_) => f64::NAN,
        }
    }

    /// How batches are made for it.
    pub(super) fn filler(&self) -> Fill {
        match self {
            Engine::Cpu(_) => Batch::fill,
            Engine::Device(_) => Batch::outline,
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
    /// it is kept; and on the CPU the mean square error of each output channel at their last step,
    /// in normalised units, 0 where no truth is known.
    pub(super) fn validate(
        &mut self,
        problem: &Problem,
        checkpoint: &Checkpoint,
        windows: &[u32],
        steps: usize,
    ) -> Result<(f64, Vec<f64>)> {
        let averaged = checkpoint.average.is_some();
        let fill = self.filler();
        match self {
            Engine::Cpu(cpu) => {
                let parameters = checkpoint.best_parameters();
                let Cpu { pool, learner, .. } = &mut **cpu;
                learner.predictor.embed(pool, parameters);
                let (mut sum, mut count) = (0.0, 0.0);
                let mut squares = vec![(0.0, 0.0); problem.targets_in_order().len()];
                let size = learner.predictor.batch_size();
                in_batches(problem, (windows, steps), (size, fill), |batch, n| {
                    let loss = learner.forecast(problem, pool, parameters, batch, n, false);
                    let last = learner.predictor.state(steps + 1);
                    add_squares(problem, last, (batch, steps + 1), n, &mut squares);
                    sum += loss * n as f64;
                    count += n as f64;
                    Ok(())
                })?;
                let mean = |&(sum, missing): &(f64, f64)| match count > missing {
                    true => sum / (count - missing),
                    false => 0.0,
                };
                Ok((sum / count, squares.iter().map(mean).collect()))
            }
            Engine::Device(device) => {
                if averaged {
                    device.ask(problem, Deed::Swap, 0)?;
                }
                let size = device.batch;
                in_batches(problem, (windows, steps), (size, fill), |batch, n| {
                    device.submit(problem, batch, (0.0, n), Deed::Validate)
                })?;
                if averaged {
                    device.ask(problem, Deed::Swap, 0)?;
                }
                let (sum, count) = device.status()?.validation;
                Ok((sum / count, Vec::new()))
            }
        }
    }
}

/// Adds to each channel the mean square errors of the first `n` samples at record `offset` of
/// their windows, weighted by area, and the share of the area where the truth is missing.
pub(super) fn add_squares(
    problem: &Problem,
    own: &[f32],
    (batch, offset): (&Batch, usize),
    n: usize,
    squares: &mut [(f64, f64)],
) {
    let (record, channels) = (problem.archive.record_len(), problem.archive.channels.len());
    let truth = batch.state(offset);
    let weights = &problem.node_weights;
    let total: f64 = weights.iter().map(|&w| f64::from(w)).sum();
    for sample in 0..n {
        let time = batch.time(sample, offset);
        for (&node, &weight) in problem.outputs().iter().zip(weights) {
            let at = node as usize * channels;
            let weight = f64::from(weight) / total;
            for (sums, channel) in squares.iter_mut().zip(problem.targets_in_order()) {
                let i = sample * record + at + channel;
                if problem.archive.is_missing(time, at + channel) {
                    sums.1 += weight;
                    continue;
                }
                let error = f64::from(own[i] - truth[i]);
                sums.0 += weight * error * error;
            }
        }
    }
}

/// Goes through windows in batches, and says how many of each count: a short one is filled up with
/// its last window.
fn in_batches(
    problem: &Problem,
    (windows, steps): (&[u32], usize),
    (size, fill): (usize, Fill),
    mut work: impl FnMut(&Batch, usize) -> Result<()>,
) -> Result<()> {
    let mut batch = Batch::default();
    let mut starts = Vec::new();
    for group in windows.chunks(size) {
        starts.clear();
        starts.extend_from_slice(group);
        starts.resize(size, group[group.len() - 1]);
        fill(&mut batch, problem, &starts, steps);
        work(&batch, group.len())?;
    }
    Ok(())
}
