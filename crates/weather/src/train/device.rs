//! Training on a GPU: a step as one list of kernels and products, batches that arrive beside it.

use super::batch::Batch;
use super::checkpoint::Checkpoint;
use super::commands::Writer;
use super::marks::{held, marked};
use super::plan::Settings;
use super::problem::Problem;
use super::used::Used;
use super::weights::LossKind;
use crate::data::{FORCINGS, NEIGHBOURS};
use fitzroy::Result;
use fitzroy_device::gpu::work::{Accelerator, Command, List, Math, bytes_of};
use fitzroy_device::nn::gpu::{NAMES, OnDevice, STATUS, Status, Update, status, text};
use fitzroy_device::nn::{AdamW, Network};
use std::collections::HashMap;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

const KERNELS: &str = include_str!("kernels.c");
const OWN: [&str; 9] = [
    "take_in",
    "taken",
    "feed",
    "go_on",
    "forecast",
    "sum_losses",
    "forecast_back",
    "go_on_back",
    "feed_back",
];
/// Numbers before those of a batch: the rate, and how many windows count.
pub(super) const HEADER: usize = 16;
/// Teams that sum losses.
pub(super) const LOSSES: u64 = 1024;

/// Names of all kernels of a training.
pub fn kernel_names() -> Vec<&'static str> {
    NAMES.into_iter().chain(OWN).collect()
}

/// The kernels of a training as text.
pub fn kernel_text(problem: &Problem, network: &Network, math: Math) -> String {
    let stride = problem.normaliser.linear.as_ref().map_or(0, |l| l.stride());
    let loss = match problem.weighting.loss {
        LossKind::Mse => 0,
        LossKind::Mae => 1,
        LossKind::Huber => 2,
    };
    let defines = [
        ("CHANNELS", problem.archive.channels.len()),
        ("NODES", Used::new(problem).len()),
        ("PLACES", problem.outputs.len()),
        ("TARGETS", problem.targets.len()),
        ("INSIDE", inside(problem)),
        ("STATICS", problem.statics.1),
        ("STRIDE", stride),
        ("FORECAST", usize::from(problem.is_forecast())),
        ("LOSS_KIND", loss),
        ("MASKED", usize::from(problem.archive.mask.is_some())),
    ];
    let defines = defines.map(|(name, value)| format!("#define {name} {value}\n"));
    format!("{}{}{KERNELS}", text(network, math), defines.concat())
}

fn inside(problem: &Problem) -> usize {
    problem.node_weights.iter().filter(|w| **w != 0.0).count()
}

/// Where the numbers of a problem lie, counted from the start of its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) bytes: u64,
    pub(super) staging: u64,
    pub(super) batch: u64,
    /// Numbers of one of the two places that batches arrive at.
    pub(super) len: u64,
    pub(super) predicted: u64,
    pub(super) slopes: u64,
    pub(super) change: u64,
    pub(super) by_next: u64,
    pub(super) losses: u64,
    /// What never changes, with its bytes: see [`Fixed`].
    pub(super) fixed: Vec<u64>,
}

/// What never changes, in the order of `Places::fixed`.
#[derive(Clone, Copy)]
pub(super) enum Fixed {
    Statics,
    Scales,
    Momentum,
    RestMean,
    RestSd,
    Heavy,
    NodeWeights,
    ChannelWeights,
    Outputs,
    Targets,
    Weights,
    Neighbours,
    Starts,
    Entries,
    /// Outputs that stay as they are, (place, target); empty where nothing is missing.
    Held,
    /// Nodes of the first set that is fed; the others follow.
    Fed,
}

fn numbers(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn indices(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// What never changes, as bytes, in the order of [`Fixed`].
fn fixed(problem: &Problem, used: &Used) -> Vec<Vec<u8>> {
    let n = &problem.normaliser;
    let statics = used.parts(&problem.statics.0, problem.statics.1);
    let single = |values: &[f64]| numbers(values.iter().map(|&x| x as f32));
    let threshold = problem.weighting.heavy.1;
    let heavy = n.mean.iter().zip(&n.sd);
    let heavy = heavy.map(|(mean, sd)| ((threshold - mean) / sd) as f32);
    let (mut weights, mut neighbours) = (Vec::new(), Vec::new());
    let (mut starts, mut entries) = (vec![0_u32], Vec::new());
    if let Some(linear) = &n.linear {
        weights.clone_from(&linear.weights);
        let mut holders = vec![Vec::new(); problem.archive.n_nodes()];
        for node in 0..holders.len() {
            for k in 0..NEIGHBOURS {
                let neighbour = linear.neighbour(node, k);
                neighbours.push(neighbour as u32);
                holders[neighbour].push((node * NEIGHBOURS + k) as u32);
            }
        }
        for holder in holders {
            entries.extend(holder);
            starts.push(entries.len() as u32);
        }
    }
    let mut all = vec![
        numbers(statics.flatten().copied()),
        numbers(problem.tendency_scales.iter().copied()),
        single(&n.momentum),
        single(&n.rest_mean),
        single(&n.rest_sd),
        numbers(heavy),
        numbers(problem.node_weights.iter().copied()),
        numbers(problem.channel_weights.iter().copied()),
        indices(used.numbers(&problem.outputs)),
        indices(problem.targets.iter().map(|&t| t as u32)),
        numbers(weights),
        indices(neighbours),
        indices(starts),
        indices(entries),
        indices(held(problem)),
    ];
    all.extend(
        problem
            .fed
            .iter()
            .map(|fed| indices(used.numbers(&fed.nodes))),
    );
    all
}

impl Places {
    fn new(problem: &Problem, used: &Used, batch: usize, steps: usize) -> Places {
        let record = (batch * used.len() * problem.archive.channels.len()) as u64;
        let forcings = match problem.is_forecast() {
            true => (batch * problem.archive.n_nodes() * FORCINGS) as u64,
            false => 0,
        };
        let mut places = Places::default();
        let mut take = |bytes: u64| {
            let at = places.bytes;
            places.bytes += bytes.next_multiple_of(256);
            at
        };
        let len = HEADER as u64 + (steps as u64 + 2) * (record + forcings);
        let staging = take(8 * len);
        let batch = take(4 * len);
        let predicted = take(4 * steps as u64 * record);
        let slopes = take(4 * (steps as u64 + 2) * record);
        let (change, by_next) = (take(4 * record), take(4 * record));
        let losses = take(8 * LOSSES);
        let contents = fixed(problem, used);
        let fixed = contents.iter().map(|b| take(b.len() as u64)).collect();
        Places {
            bytes: places.bytes,
            staging,
            batch,
            len,
            predicted,
            slopes,
            change,
            by_next,
            losses,
            fixed,
        }
    }
}

/// Bytes by part that training takes of a GPU.
pub(super) fn bytes(
    problem: &Problem,
    network: &Network,
    settings: &Settings,
    (batch, steps): (usize, usize),
    math: Math,
) -> Vec<(&'static str, u64)> {
    let own = Places::new(problem, &Used::new(problem), batch, steps).bytes;
    OnDevice::bytes(
        network,
        (batch, steps),
        math,
        settings.average.is_some(),
        own,
    )
}

/// Bytes by part that `batch` forecasts of `steps` steps side by side take of a GPU.
pub(super) fn forecast_bytes(
    problem: &Problem,
    network: &Network,
    (batch, steps): (usize, usize),
    math: Math,
) -> Vec<(&'static str, u64)> {
    let own = Places::new(problem, &Used::new(problem), batch, steps).bytes;
    OnDevice::bytes(network, (batch, 1), math, false, own)
}

/// What a list does with a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Deed {
    /// Adds to the gradient: whether it is the first batch of an update, and the last.
    Learn { first: bool, last: bool },
    /// Adds to the validation.
    Validate,
    /// Has parameters and their average change places.
    Swap,
}

/// A learner on a machine.
pub(super) struct DeviceLearner {
    machine: Box<dyn Accelerator>,
    pub(super) device: OnDevice,
    pub(super) places: Places,
    pub(super) batch: usize,
    pub(super) used: Used,
    update: Update,
    lists: HashMap<(Deed, usize), List>,
    /// Batches that were sent.
    tick: u64,
    /// Bytes of the machine's memory.
    pub(super) bytes: u64,
    /// What a user should know of the machine.
    pub(super) notes: Vec<String>,
}

impl DeviceLearner {
    /// Takes memory, compiles kernels, and sends parameters and moments there.
    pub(super) fn new(
        problem: &Problem,
        network: Network,
        settings: &Settings,
        steps: usize,
        machine: (Box<dyn Accelerator>, Math),
        checkpoint: &Checkpoint,
    ) -> Result<Self> {
        let update = Update {
            adamw: AdamW {
                weight_decay: settings.weight_decay,
                ..AdamW::default()
            },
            clip: settings.clip_norm,
            count: settings.accumulate as u64,
            past: settings.average.unwrap_or(0.0),
        };
        let (size, averaged) = ((settings.batch_size, steps), settings.average.is_some());
        let mut learner = Self::on(problem, network, (size, steps), (update, averaged), machine)?;
        learner.push(checkpoint)?;
        Ok(learner)
    }

    /// The same for `batch` forecasts of `steps` steps side by side, from which nothing is learnt.
    pub(super) fn for_forecasts(
        problem: &Problem,
        network: Network,
        size: (usize, usize),
        machine: (Box<dyn Accelerator>, Math),
    ) -> Result<Self> {
        let update = Update {
            adamw: AdamW::default(),
            clip: 1.0,
            count: 1,
            past: 0.0,
        };
        Self::on(problem, network, (size, 1), (update, false), machine)
    }

    /// For batches and steps of `size`, the insides of `kept` of which are kept.
    fn on(
        problem: &Problem,
        network: Network,
        ((batch, steps), kept): ((usize, usize), usize),
        (update, averaged): (Update, bool),
        (mut machine, math): (Box<dyn Accelerator>, Math),
    ) -> Result<Self> {
        let text = kernel_text(problem, &network, math);
        let notes = machine.load(&text, &kernel_names(), math)?;
        let used = Used::new(problem);
        let places = Places::new(problem, &used, batch, steps);
        let size = (batch, kept);
        let parts = OnDevice::bytes(&network, size, math, averaged, places.bytes);
        let own = places.bytes;
        let device = OnDevice::new(network, size, math, averaged, own, machine.as_mut())?;
        for (place, bytes) in places.fixed.iter().zip(fixed(problem, &used)) {
            if !bytes.is_empty() {
                machine.write(device.extra() + place, &[&bytes])?;
            }
        }
        Ok(DeviceLearner {
            machine,
            device,
            places,
            batch,
            used,
            update,
            lists: HashMap::new(),
            tick: 0,
            bytes: parts.iter().map(|p| p.1).sum(),
            notes,
        })
    }

    /// Takes other parameters.
    pub(super) fn take_parameters(&mut self, parameters: &[f32]) -> Result<()> {
        let at = self.device.state()[0];
        self.machine.write(at, &[bytes_of(parameters)])
    }

    /// The states that were forecast last, (step, sample, node that is used, channel).
    pub(super) fn predicted(&mut self, problem: &Problem, steps: usize) -> Result<Vec<f32>> {
        let record = self.batch * self.used.len() * problem.archive.channels.len();
        let mut bytes = vec![0; 4 * steps * record];
        let at = self.device.extra() + self.places.predicted;
        self.machine.read(at, &mut bytes)?;
        let numbers = bytes.as_chunks::<4>().0.iter();
        Ok(numbers.map(|x| f32::from_le_bytes(*x)).collect())
    }

    fn push(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let c = checkpoint;
        let arrays = [
            Some(&c.parameters),
            Some(&c.m),
            Some(&c.v),
            c.average.as_ref(),
        ];
        for (at, values) in self.device.state().iter().zip(arrays.into_iter().flatten()) {
            self.machine.write(*at, &[bytes_of(values)])?;
        }
        let mut known = [0.0_f64; STATUS];
        let p = &c.progress;
        known[1] = (p.step - p.n_skipped) as f64;
        known[2] = p.n_skipped as f64;
        known[3] = p.in_a_row as f64;
        let known: Vec<u8> = known.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.machine.write(self.device.status(), &[&known])
    }

    /// Brings parameters, moments and average back.
    pub(super) fn pull(&mut self, checkpoint: &mut Checkpoint) -> Result<()> {
        let c = checkpoint;
        let arrays = [
            Some(&mut c.parameters),
            Some(&mut c.m),
            Some(&mut c.v),
            c.average.as_mut(),
        ];
        for (at, values) in self.device.state().iter().zip(arrays.into_iter().flatten()) {
            let mut bytes = vec![0; 4 * values.len()];
            self.machine.read(*at, &mut bytes)?;
            for (to, from) in values.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *to = f32::from_le_bytes(*from);
            }
        }
        Ok(())
    }

    /// Waits for all that was asked for, and says how it went; sums begin anew.
    pub(super) fn status(&mut self) -> Result<Status> {
        let found = self.device.read_status(self.machine.as_mut())?;
        for place in [4, status::VALIDATION] {
            let at = self.device.status() + 8 * place;
            self.machine.write(at, &[&[0; 16]])?;
        }
        Ok(found)
    }

    /// Sends a batch, of whose windows the first `count` count, and asks for a deed.
    pub(super) fn submit(
        &mut self,
        problem: &Problem,
        batch: &Batch,
        (rate, count): (f64, usize),
        deed: Deed,
    ) -> Result<()> {
        let mut header = [0.0_f32; HEADER];
        (header[0], header[1]) = (rate as f32, count as f32);
        let width = problem.archive.channels.len();
        let marked = marked(problem, batch);
        match marked.is_empty() {
            true => {
                let records = batch.records(&problem.archive);
                self.send(&header, records, width, &batch.forcings)?;
            }
            false => {
                let records = marked.iter().map(Vec::as_slice);
                self.send(&header, records, width, &batch.forcings)?;
            }
        }
        self.ask(problem, deed, batch.steps)
    }

    /// Sends whole records of `width` channels, (record, sample), and the forcings of these.
    pub(super) fn send<'r>(
        &mut self,
        header: &[f32; HEADER],
        records: impl Iterator<Item = &'r [f32]>,
        width: usize,
        forcings: &[f32],
    ) -> Result<()> {
        // Records go to the machine from where they lie: a batch may have 100 MB.
        let mut parts = vec![bytes_of(header)];
        let used = &self.used;
        let used = records.flat_map(|r| used.parts(r, width));
        parts.extend(used.map(bytes_of));
        parts.push(bytes_of(forcings));
        let place = self.device.extra() + self.places.staging;
        let turn = self.tick % 2 * 4 * self.places.len;
        self.machine.write(place + turn, &parts)?;
        self.tick += 1;
        Ok(())
    }

    /// Asks for a deed.
    pub(super) fn ask(&mut self, problem: &Problem, deed: Deed, steps: usize) -> Result<()> {
        if !self.lists.contains_key(&(deed, steps)) {
            let commands = self.commands(problem, deed, steps);
            let number = self.lists.len() as u64;
            let list = List { number, commands };
            self.lists.insert((deed, steps), list);
        }
        self.machine.run(&self.lists[&(deed, steps)])
    }

    fn commands(&self, problem: &Problem, deed: Deed, steps: usize) -> Vec<Command> {
        let mut writer = Writer {
            learner: self,
            problem,
            steps,
            commands: Vec::new(),
        };
        match deed {
            Deed::Swap => self.device.swap_average(&mut writer.commands),
            Deed::Validate => writer.forward(false),
            Deed::Learn { first, last } => {
                if first {
                    self.device.forget(&mut writer.commands);
                }
                writer.forward(true);
                writer.backward();
                if last {
                    self.device.update(&mut writer.commands, &self.update);
                }
            }
        }
        writer.commands
    }
}
