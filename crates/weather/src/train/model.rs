//! A network at work: forecasts of several steps, their loss, and its gradient.

use super::batch::Batch;
use super::problem::{Problem, Task};
use super::weights::LossKind;
use crate::data::FORCINGS;
use fitzroy::Result;
use fitzroy::rng::{Purpose, Rng};
use fitzroy_device::nn::{Clock, Network, Pool, Recompute, Span, Workspace};

/// Fresh parameters: normal weights of variance 1/inputs, γ = 1, the rest 0; weights of the last
/// layer 0, too, where forecasts go on from a linear model, which then is what training starts
/// with.
pub fn initial(problem: &Problem, network: &Network, seed: u64) -> Vec<f32> {
    let mut all = vec![0.0; network.n_parameters()];
    let last = format!("decode.w{}", problem.spec.n_hidden);
    let quiet = problem.normaliser.linear.is_some();
    for (number, parameter) in network.parameters().iter().enumerate() {
        let values = &mut all[parameter.offset..parameter.offset + parameter.n()];
        if quiet && parameter.name == last {
            continue;
        }
        if let [k, _] = parameter.shape.as_slice() {
            let scale = 1.0 / (*k as f64).sqrt();
            let mut rng = Rng::new(seed, number as u32, 0, 0, Purpose::Init);
            values
                .iter_mut()
                .for_each(|x| *x = (scale * rng.normal()) as f32);
        } else if parameter.name.ends_with("gamma") {
            values.fill(1.0);
        }
    }
    all
}

/// Makes forecasts of a problem with a network.
pub struct Predictor {
    /// The network.
    pub network: Network,
    workspace: Workspace<f32>,
    batch: usize,
    /// States of a forecast: those given, then those predicted; (sample, node, channel) each.
    states: Vec<Vec<f32>>,
    /// What the step goes on with: the changes that the baseline foretells, same layout.
    going_on: Vec<f32>,
}

impl Predictor {
    /// Memory for batches of `batch` windows and `kept` steps whose insides are kept.
    ///
    /// # Errors
    /// The graph is wrong.
    pub fn new(
        problem: &Problem,
        pool: &Pool,
        batch: usize,
        kept: usize,
        recompute: Recompute,
    ) -> Result<Self> {
        let network = Network::new(&problem.spec, recompute)?;
        let workspace = network.workspace(batch, kept, pool);
        Ok(Predictor {
            network,
            workspace,
            batch,
            states: Vec::new(),
            going_on: Vec::new(),
        })
    }

    /// From now on notes how long each block takes; with no clock it does not any more.
    pub fn observe(&mut self, clock: Option<Clock>) {
        self.workspace.observe(clock);
    }

    /// What was noted since the last call.
    pub fn spans(&mut self) -> Vec<Span> {
        self.workspace.spans()
    }

    /// Windows of a batch.
    pub(super) fn batch_size(&self) -> usize {
        self.batch
    }

    /// Due after parameters have changed.
    pub fn embed(&mut self, pool: &mut Pool, parameters: &[f32]) {
        self.network.embed(&mut self.workspace, pool, parameters);
    }

    /// The state predicted for record `offset` of the last forecast (2 is the first predicted).
    pub fn state(&self, offset: usize) -> &[f32] {
        &self.states[offset]
    }

    /// Starts a forecast from two states (sample, node, channel).
    pub fn start(&mut self, before: &[f32], now: &[f32]) {
        self.prepare(2, before.len());
        self.states[0].copy_from_slice(before);
        self.states[1].copy_from_slice(now);
    }

    fn prepare(&mut self, n: usize, len: usize) {
        if self.states.len() < n {
            self.states.resize(n, Vec::new());
        }
        for state in &mut self.states[..n] {
            state.resize(len, 0.0);
        }
    }

    /// Predicts record `step + 2`, which on the boundary is `truth`. `forcings` are those of
    /// records step, step + 1 and step + 2; `kept` is the place where the insides are kept.
    pub fn step(
        &mut self,
        problem: &Problem,
        pool: &mut Pool,
        parameters: &[f32],
        (step, kept): (usize, usize),
        forcings: [&[f32]; 3],
        truth: Option<&[f32]>,
    ) {
        let n_channels = problem.archive.channels.len();
        let n_nodes = problem.archive.n_nodes();
        let (statics, n_statics) = (&problem.statics.0, problem.statics.1);
        for fed in &problem.fed {
            let input = self.network.input(&mut self.workspace, fed.set, kept);
            let width = input.len() / (self.batch * fed.nodes.len());
            let mut rows = input.chunks_exact_mut(width);
            for sample in 0..self.batch {
                for &node in &fed.nodes {
                    let Some(row) = rows.next() else { continue };
                    let at = sample * n_nodes + node as usize;
                    let (a, rest) = row.split_at_mut(n_channels);
                    a.copy_from_slice(&self.states[step][at * n_channels..][..n_channels]);
                    let (b, rest) = rest.split_at_mut(n_channels);
                    b.copy_from_slice(&self.states[step + 1][at * n_channels..][..n_channels]);
                    if problem.is_forecast() {
                        for ((a, b), scale) in a.iter_mut().zip(b).zip(&problem.tendency_scales) {
                            *a = (*b - *a) * scale;
                        }
                        let (known, fixed) = rest.split_at_mut(3 * FORCINGS);
                        for (to, from) in known.chunks_exact_mut(FORCINGS).zip(forcings) {
                            to.copy_from_slice(&from[at * FORCINGS..][..FORCINGS]);
                        }
                        fixed.copy_from_slice(&statics[node as usize * n_statics..][..n_statics]);
                    }
                }
            }
        }
        self.network
            .forward(&mut self.workspace, pool, parameters, kept);
        self.prepare(step + 3, self.batch * n_nodes * n_channels);
        let (given, predicted) = self.states.split_at_mut(step + 2);
        let (before, now, next) = (&given[step], &given[step + 1], &mut predicted[0]);
        let out = self.network.output(&mut self.workspace, kept);
        if !problem.is_forecast() {
            next.copy_from_slice(now);
        }
        go_on(problem, before, now, &mut self.going_on);
        advance(problem, now, &self.going_on, Some(out), truth, next);
    }
}

/// The state after `now` (sample, node, channel) with the outputs `out` of a network (sample,
/// output node, target), or with none, which is what a network says before it has learnt.
fn advance(
    problem: &Problem,
    now: &[f32],
    going_on: &[f32],
    out: Option<&[f32]>,
    truth: Option<&[f32]>,
    next: &mut [f32],
) {
    let (n_channels, n_targets) = (problem.archive.channels.len(), problem.targets.len());
    let (n_nodes, n_outputs) = (problem.archive.n_nodes(), problem.outputs.len());
    let scales = &problem.normaliser;
    let n_samples = now.len() / problem.archive.record_len();
    for k in 0..n_samples * n_outputs {
        let (sample, place) = (k / n_outputs, k % n_outputs);
        let held = problem.outputs[place] as usize * n_channels;
        let at = sample * n_nodes * n_channels + held;
        for (number, &channel) in problem.targets.iter().enumerate() {
            let x = out.map_or(0.0, |out| out[k * n_targets + number]);
            next[at + channel] = match (problem.node_weights[place] == 0.0, truth) {
                _ if problem.archive.is_held(held + channel) => now[at + channel],
                (true, Some(truth)) => truth[at + channel],
                (true, None) => now[at + channel],
                _ if problem.is_forecast() => {
                    let i = at + channel;
                    let rest = scales.rest_mean[channel] + scales.rest_sd[channel] * f64::from(x);
                    now[i] + going_on[i] + rest as f32
                }
                _ => x,
            };
        }
    }
    take_truth(problem, truth.unwrap_or(now), next);
}

/// Sets the channels that a forecast reads and does not make, of all samples, to the truth.
fn take_truth(problem: &Problem, truth: &[f32], next: &mut [f32]) {
    let n = problem.archive.channels.len();
    for channel in problem.read_alone() {
        let pairs = next.iter_mut().zip(truth).skip(channel).step_by(n);
        pairs.for_each(|(next, truth)| *next = *truth);
    }
}

/// The state after two states (node, channel) as a network forecasts it that has learnt nothing
/// yet: what a forecast goes on from alone. On the boundary it is `truth`.
pub fn untrained(
    problem: &Problem,
    before: &[f32],
    now: &[f32],
    truth: Option<&[f32]>,
) -> Vec<f32> {
    let (mut going_on, mut next) = (Vec::new(), now.to_vec());
    go_on(problem, before, now, &mut going_on);
    advance(problem, now, &going_on, None, truth, &mut next);
    next
}

/// The changes that a forecast goes on with, of all samples.
fn go_on(problem: &Problem, before: &[f32], now: &[f32], change: &mut Vec<f32>) {
    if !problem.is_forecast() {
        return;
    }
    change.resize(now.len(), 0.0);
    let record = problem.archive.record_len();
    let samples = before.chunks_exact(record).zip(now.chunks_exact(record));
    for ((before, now), change) in samples.zip(change.chunks_exact_mut(record)) {
        if let Some(linear) = &problem.normaliser.linear {
            linear.change(before, now, change);
            continue;
        }
        let momentum = &problem.normaliser.momentum;
        let pairs = before.iter().zip(now).zip(change);
        for (k, ((before, now), change)) in pairs.enumerate() {
            *change = momentum[k % momentum.len()] as f32 * (now - before);
        }
    }
}

/// Adds to the slopes by two states what the slope by the changes they go on with makes of them.
fn go_on_slope(problem: &Problem, by_change: &[f32], before: &mut [f32], now: &mut [f32]) {
    let record = problem.archive.record_len();
    let samples = before
        .chunks_exact_mut(record)
        .zip(now.chunks_exact_mut(record));
    for ((before, now), by_change) in samples.zip(by_change.chunks_exact(record)) {
        if let Some(linear) = &problem.normaliser.linear {
            linear.slope(by_change, before, now);
            continue;
        }
        let momentum = &problem.normaliser.momentum;
        let pairs = before.iter_mut().zip(now).zip(by_change);
        for (k, ((before, now), slope)) in pairs.enumerate() {
            let along = momentum[k % momentum.len()] as f32 * slope;
            *now += along;
            *before -= along;
        }
    }
}

/// A predictor that learns.
pub struct Learner {
    /// Makes the forecasts.
    pub predictor: Predictor,
    /// Slope by each state of a forecast.
    slopes: Vec<Vec<f32>>,
    /// Slope by a predicted state inside of the boundary; same layout.
    by_next: Vec<f32>,
}

/// Penalty and slope of a residual.
fn penalty(kind: LossKind, r: f32) -> (f32, f32) {
    match kind {
        LossKind::Mse => (r * r, 2.0 * r),
        LossKind::Mae => (r.abs(), if r == 0.0 { 0.0 } else { r.signum() }),
        LossKind::Huber if r.abs() <= 1.0 => (0.5 * r * r, r),
        LossKind::Huber => (r.abs() - 0.5, r.signum()),
    }
}

impl Learner {
    /// Memory for batches of `batch` windows and forecasts of up to `steps` steps.
    ///
    /// # Errors
    /// The graph is wrong.
    pub fn new(
        problem: &Problem,
        pool: &Pool,
        batch: usize,
        steps: usize,
        recompute: Recompute,
    ) -> Result<Self> {
        let predictor = Predictor::new(problem, pool, batch, steps, recompute)?;
        Ok(Learner {
            predictor,
            slopes: Vec::new(),
            by_next: Vec::new(),
        })
    }

    /// Forecasts a batch; the loss of its first `count` windows, a mean over windows, steps,
    /// interior nodes and channels. Slopes by the states are left behind where `slopes`.
    pub fn forecast(
        &mut self,
        problem: &Problem,
        pool: &mut Pool,
        parameters: &[f32],
        batch: &Batch,
        count: usize,
        slopes: bool,
    ) -> f64 {
        let predictor = &mut self.predictor;
        predictor.start(batch.state(0), batch.state(1));
        let len = batch.state(0).len();
        if slopes {
            self.slopes.resize(batch.steps + 2, Vec::new());
            for slope in &mut self.slopes {
                slope.clear();
                slope.resize(len, 0.0);
            }
        }
        let mut loss = 0.0;
        for step in 0..batch.steps {
            let forcings = [0, 1, 2].map(|k| batch.forcing(step + k));
            let truth = batch.state(step + 2);
            let kept = if slopes { step } else { 0 };
            predictor.step(
                problem,
                pool,
                parameters,
                (step, kept),
                forcings,
                Some(truth),
            );
            let slope = slopes.then(|| self.slopes[step + 2].as_mut_slice());
            let own = predictor.state(step + 2);
            loss += step_loss(problem, own, (batch, step + 2), count, slope);
        }
        let steps = batch.steps as f64;
        if slopes {
            let share = 1.0 / steps as f32;
            self.slopes.iter_mut().flatten().for_each(|x| *x *= share);
        }
        loss / steps
    }

    /// Loss of a batch; its gradient is added to `gradient`.
    pub fn learn(
        &mut self,
        problem: &Problem,
        pool: &mut Pool,
        parameters: &[f32],
        batch: &Batch,
        gradient: &mut [f32],
    ) -> f64 {
        let loss = self.forecast(problem, pool, parameters, batch, batch.size, true);
        let Predictor {
            network,
            workspace,
            batch: n_samples,
            ..
        } = &mut self.predictor;
        network.begin_backward(workspace, pool, parameters);
        let n_channels = problem.archive.channels.len();
        let n_nodes = problem.archive.n_nodes();
        for step in (0..batch.steps).rev() {
            let (earlier, later) = self.slopes.split_at_mut(step + 2);
            self.by_next.clear();
            self.by_next.resize(later[0].len(), 0.0);
            let out = network.output_slope(workspace);
            for (k, out) in out.chunks_exact_mut(problem.targets.len()).enumerate() {
                let (sample, place) = (k / problem.outputs.len(), k % problem.outputs.len());
                let held = problem.outputs[place] as usize * n_channels;
                let at = sample * n_nodes * n_channels + held;
                let inside = problem.node_weights[place] != 0.0;
                for (&channel, out) in problem.targets.iter().zip(out) {
                    let free = inside && !problem.archive.is_held(held + channel);
                    let slope = if free { later[0][at + channel] } else { 0.0 };
                    *out = slope;
                    if problem.is_forecast() {
                        *out = slope * problem.normaliser.rest_sd[channel] as f32;
                        self.by_next[at + channel] = slope;
                    }
                }
            }
            // The slopes by the first two states are nobody's.
            if step > 0 {
                let (before, now) = earlier.split_at_mut(step + 1);
                let (before, now) = (&mut before[step], &mut now[0]);
                now.iter_mut().zip(&self.by_next).for_each(|(s, g)| *s += g);
                go_on_slope(problem, &self.by_next, before, now);
            }
            network.backward(workspace, pool, parameters, gradient, step, step > 0);
            if step == 0 {
                break;
            }
            for fed in &problem.fed {
                let slope = network.input_slope(workspace, fed.set);
                let width = slope.len() / (*n_samples * fed.nodes.len());
                for (k, row) in slope.chunks_exact(width).enumerate() {
                    let (sample, place) = (k / fed.nodes.len(), k % fed.nodes.len());
                    let at = (sample * n_nodes + fed.nodes[place] as usize) * n_channels;
                    // Rolled out are forecasts alone, whose first numbers are tendencies.
                    for channel in 0..n_channels {
                        let by_change = row[channel] * problem.tendency_scales[channel];
                        earlier[step][at + channel] -= by_change;
                        earlier[step + 1][at + channel] += row[n_channels + channel] + by_change;
                    }
                }
            }
        }
        network.end_backward(workspace, pool, parameters, gradient);
        loss
    }
}

/// Loss of one predicted record, record `offset` of the windows of a batch, and its slope. What is
/// missing counts for nothing.
pub(super) fn step_loss(
    problem: &Problem,
    predicted: &[f32],
    (batch, offset): (&Batch, usize),
    count: usize,
    mut slope: Option<&mut [f32]>,
) -> f64 {
    let n_channels = problem.archive.channels.len();
    let record = problem.archive.record_len();
    let truth = batch.state(offset);
    let interior = problem.node_weights.iter().filter(|w| **w != 0.0).count();
    let share = 1.0 / (count * interior * problem.targets.len()) as f64;
    let heavy = match problem.task {
        Task::Precip(_) => Some(problem.weighting.heavy),
        Task::Forecast { .. } => None,
    };
    let mut total = 0.0;
    for sample in 0..count {
        let time = batch.time(sample, offset);
        for (place, &node) in problem.outputs.iter().enumerate() {
            let node_weight = problem.node_weights[place];
            if node_weight == 0.0 {
                continue;
            }
            let at = node as usize * n_channels;
            for (&channel, &weight) in problem.targets.iter().zip(&problem.channel_weights) {
                let i = sample * record + at + channel;
                if problem.archive.is_missing(time, at + channel) {
                    continue;
                }
                let mut weight = weight * node_weight;
                let mut scale = 1.0;
                match heavy {
                    // Compared in millimetres, not in normalised units.
                    Some((factor, threshold)) => {
                        if problem.normaliser.restore(channel, truth[i]) > threshold {
                            weight *= factor as f32;
                        }
                    }
                    None => scale = 1.0 / problem.normaliser.rest_sd[channel] as f32,
                }
                let r = (predicted[i] - truth[i]) * scale;
                let (value, d) = penalty(problem.weighting.loss, r);
                total += f64::from(weight * value);
                if let Some(slope) = slope.as_deref_mut() {
                    slope[i] = weight * d * scale * share as f32;
                }
            }
        }
    }
    total * share
}
