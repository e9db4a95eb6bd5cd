//! Settings of a run, checked against the problem and the machine before the first step.

use super::beside::Monitor;
use super::device;
use super::problem::Problem;
use super::schedule::{Rollouts, Schedule};
use crate::data::Split;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::gpu::work::Math;
use fitzroy_device::nn::{Network, Recompute};

/// How to train.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Windows of a batch.
    pub batch_size: usize,
    /// Passes over the training windows.
    pub n_epochs: u64,
    /// Optimiser steps at most.
    pub max_steps: Option<u64>,
    /// Batches whose gradients are summed for one step.
    pub accumulate: usize,
    /// Lengths of forecasts, epoch by epoch.
    pub rollout_steps: String,
    /// Highest learning rate.
    pub learning_rate: f64,
    /// Steps of warm-up.
    pub warmup_steps: Option<u64>,
    /// Step of the lowest rate.
    pub decay_steps: Option<u64>,
    /// Longest gradient.
    pub clip_norm: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Largest weight of the past in the average of parameters; `None`: no average.
    pub average: Option<f64>,
    /// What the backward pass computes again.
    pub recompute: Recompute,
    /// Validations without improvement that end the run.
    pub patience: u64,
    /// What of a validation chooses the best checkpoint and ends the run.
    pub monitor: Monitor,
    /// Steps between validations.
    pub validation_frequency: u64,
    /// Steps ahead of the longest forecasts of a validation, as far as its records allow.
    pub validation_leads: usize,
    /// Steps between checkpoints.
    pub checkpoint_frequency: u64,
    /// Checkpoints kept beside the best.
    pub keep: usize,
    /// Steps between log lines.
    pub log_every: u64,
    /// Batches made ahead by other threads; 0: none.
    pub prefetch: usize,
    /// Threads that make them.
    pub readers: usize,
    /// Seed of parameters and order.
    pub seed: u64,
    /// Threads.
    pub threads: usize,
    /// What the products are computed in on a GPU; `None`: this processor trains.
    pub device: Option<Math>,
    /// Memory that may be used, in bytes: of the GPU where one trains.
    pub memory_bytes: Option<u64>,
    /// Whether TensorBoard's file is written.
    pub tensorboard: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            batch_size: 4,
            n_epochs: 100,
            max_steps: None,
            accumulate: 1,
            rollout_steps: "1".into(),
            learning_rate: 1e-4,
            warmup_steps: None,
            decay_steps: None,
            clip_norm: 1.0,
            weight_decay: 1e-5,
            average: None,
            recompute: Recompute::None,
            patience: 10,
            monitor: Monitor::Losses,
            validation_frequency: 500,
            validation_leads: 8,
            checkpoint_frequency: 1000,
            keep: 3,
            log_every: 50,
            prefetch: 4,
            readers: 1,
            seed: 42,
            threads: 1,
            device: None,
            memory_bytes: None,
            tensorboard: true,
        }
    }
}

/// What a training run will be, before its first step.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Nodes and edges of each set.
    pub sets: Vec<(String, usize)>,
    /// Nodes that reach no output and were dropped.
    pub n_pruned: usize,
    /// Parameters.
    pub n_parameters: usize,
    /// Floating-point operations of a step.
    pub flops_per_step: u64,
    /// Bytes by part.
    pub bytes: Vec<(&'static str, u64)>,
    /// Steps of an epoch and of the run.
    pub steps: (u64, u64),
    /// Training windows, and records lost to gaps and borders.
    pub windows: (usize, usize),
}

impl Plan {
    /// Bytes in all.
    pub fn total_bytes(&self) -> u64 {
        self.bytes.iter().map(|part| part.1).sum()
    }
}

/// Refuses settings that are out of range, whatever the problem.
fn check_ranges(s: &Settings) -> Result<()> {
    for (name, value) in [
        ("batch_size", s.batch_size as u64),
        ("num_epochs", s.n_epochs),
        ("accumulate", s.accumulate as u64),
        ("validation_frequency", s.validation_frequency),
        ("checkpoint_frequency", s.checkpoint_frequency),
        ("log_every", s.log_every),
        ("keep", s.keep as u64),
        ("readers", s.readers as u64),
        ("validation_leads", s.validation_leads as u64),
        ("early_stopping_patience", s.patience),
    ] {
        if value == 0 {
            return Err(Error::usage(format!("⟨{name} 0⟩: must be at least 1")));
        }
    }
    if s.monitor == Monitor::Rmse && s.device.is_some() {
        return Err(Error::usage(
            "⟨monitor rmse⟩: errors by variable are known on the CPU alone; on a GPU use ⟨monitor losses⟩",
        ));
    }
    let positive = |x: f64| x > 0.0 && x.is_finite();
    if !positive(s.clip_norm) || !(s.weight_decay >= 0.0) {
        let message = format!(
            "⟨gradient_clip_norm {}⟩ and ⟨weight_decay {}⟩: must be above 0, and from 0",
            s.clip_norm, s.weight_decay
        );
        return Err(Error::usage(message));
    }
    if let Some(average) = s.average.filter(|a| !(*a > 0.0 && *a < 1.0)) {
        return Err(Error::usage(format!(
            "⟨ema {average}⟩: must lie between 0 and 1, as 0.999"
        )));
    }
    Ok(())
}

/// Checks settings against a problem and says what a run will be.
///
/// # Errors
/// A setting is out of range, there are fewer windows than a batch needs, or it will not fit
/// into memory (the message has the parts and what to change).
pub fn plan(problem: &Problem, settings: &Settings) -> Result<Plan> {
    let s = settings;
    check_ranges(s)?;
    let rollouts = Rollouts::parse(&s.rollout_steps, s.n_epochs)?;
    if rollouts.longest() > 1 && !problem.is_forecast() {
        return Err(Error::usage(
            "⟨rollout_steps⟩ above 1: rain alone cannot be carried on; use ⟨task forecast⟩",
        ));
    }
    let (windows, dropped) = problem.windows(Split::Train, rollouts.longest());
    if windows.len() < s.batch_size {
        return Err(Error::usage(format!(
            "⟨batch_size {}⟩: the training split has {} windows of {} steps; use a smaller batch \
             or more data",
            s.batch_size,
            windows.len(),
            rollouts.longest()
        )));
    }
    let network = Network::new(&problem.spec, s.recompute)?;
    let batches = |epoch| {
        let n = problem.windows(Split::Train, rollouts.steps(epoch)).0.len();
        (n / s.batch_size / s.accumulate).max(1) as u64
    };
    let per_epoch = batches(0);
    let mut planned = 0;
    for epoch in 0..s.n_epochs.min(100_000) {
        planned += if rollouts.longest() == 1 {
            per_epoch
        } else {
            batches(epoch)
        };
    }
    let planned = s.max_steps.map_or(planned, |most| planned.min(most.max(1)));
    Schedule::new(s.learning_rate, s.warmup_steps, s.decay_steps, planned)?;
    let size = (s.batch_size, rollouts.longest());
    let nodes = problem.spec.nodes.iter();
    let nodes = nodes.map(|set| (format!("nodes {}", set.name), set.n));
    let edges = problem.spec.edges.iter();
    let edges = edges.map(|set| (format!("edges {}", set.name), set.senders.len()));
    let plan = Plan {
        sets: nodes.chain(edges).collect(),
        n_pruned: problem.n_pruned,
        n_parameters: network.n_parameters(),
        flops_per_step: 6 * network.multiply_adds(s.batch_size) * s.accumulate as u64,
        bytes: bytes(problem, s, &network, size),
        steps: (per_epoch, planned),
        windows: (windows.len(), dropped),
    };
    check_memory(problem, settings, &plan)?;
    Ok(plan)
}

/// Bytes of memory by part; the data first, which lie there already, or in a file.
fn bytes(
    problem: &Problem,
    s: &Settings,
    network: &Network,
    (batch, steps): (usize, usize),
) -> Vec<(&'static str, u64)> {
    let data = &problem.archive.values;
    let held = if data.in_file() {
        0
    } else {
        data.len() as u64 * 4
    };
    let mut parts = vec![("data", held)];
    if let Some(math) = s.device {
        parts.extend(device::bytes(problem, network, s, (batch, steps), math));
        return parts;
    }
    let n = network.n_parameters() as u64;
    let copies = if s.average.is_some() { 5 } else { 4 };
    let state = (batch * problem.archive.record_len() * 4) as u64;
    let workspace = network.workspace_bytes::<f32>(batch, steps, s.threads);
    let batches = state * (steps as u64 + 2) * (s.prefetch as u64 + 4);
    parts.extend([
        ("parameters and optimiser", n * 4 * copies),
        ("activations and scratch", workspace),
        ("batches", batches),
    ]);
    parts
}

/// Bytes for people.
pub(super) fn gib(bytes: u64) -> String {
    format!("{:.2} GiB", bytes as f64 / (1_u64 << 30) as f64)
}

/// Refuses what does not fit, with the smallest change that does.
fn check_memory(problem: &Problem, s: &Settings, plan: &Plan) -> Result<()> {
    let held = plan.bytes[0].1;
    let needed = plan.total_bytes() - held;
    let Some(free) = s.memory_bytes.filter(|&free| needed > free) else {
        return Ok(());
    };
    let parts: Vec<String> = plan.bytes[1..]
        .iter()
        .map(|(name, bytes)| format!("{name} {}", gib(*bytes)))
        .collect();
    let steps = Rollouts::parse(&s.rollout_steps, s.n_epochs)?.longest();
    let size = |recompute, batch| -> Result<u64> {
        let network = Network::new(&problem.spec, recompute)?;
        let parts = bytes(problem, s, &network, (batch, steps));
        Ok(parts[1..].iter().map(|part| part.1).sum())
    };
    let mut advice = None;
    for (recompute, name) in [(Recompute::Mlp, "mlp"), (Recompute::Layer, "layer")] {
        if advice.is_none() && size(recompute, s.batch_size)? <= free {
            advice = Some(format!("⟨recompute {name}⟩"));
        }
    }
    let mut batch = s.batch_size;
    while advice.is_none() && batch > 1 {
        batch /= 2;
        if size(Recompute::Layer, batch)? <= free {
            let times = s.batch_size.div_ceil(batch) * s.accumulate;
            advice = Some(format!(
                "⟨recompute layer⟩ ⟨batch_size {batch}⟩ ⟨accumulate {times}⟩"
            ));
        }
    }
    let advice = advice.unwrap_or_else(|| "a smaller ⟨latent_size⟩ or fewer layers".into());
    Err(Error::new(
        ErrorKind::Device,
        format!(
            "training needs {} of {} beside the data ({}), {} is free; use {advice}",
            gib(needed),
            if s.device.is_some() {
                "the GPU's memory"
            } else {
                "memory"
            },
            parts.join(", "),
            gib(free)
        ),
    ))
}
