//! Networks on a GPU: the blocks of the CPU as kernels and products of whole arrays.
//!
//! The same plan of blocks, the same order of sums over edges, and no atomics, so a step gives the
//! same bits every time. Products go to a library where there is one.

mod backward;
mod layout;
mod record;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::network::Network;
use super::optimiser::AdamW;
use crate::gpu::work::{Accelerator, Command, Math};
use fitzroy_graph::Result;
use layout::{Layout, SQUARES};
use record::{Recorder, Sums, teams};

/// The kernels as text, after the words of a machine and `#define`s of `WORK16` and `NORM`.
pub const KERNELS: &str = concat!(
    include_str!("numbers.c"),
    include_str!("kernels.c"),
    "\n",
    include_str!("optimiser.c")
);

/// Their names.
pub const NAMES: [&str; 15] = [
    "zero",
    "cast",
    "add_bias",
    "gather_rows",
    "norm_rows",
    "norm_back",
    "silu_back",
    "reduce",
    "gather_back",
    "add_samples",
    "product",
    "square_sums",
    "decide",
    "adamw",
    "swap",
];

/// Numbers of the status, in f64, in the order of `kernels.c`.
pub const STATUS: usize = 17;

/// What a run on a machine knows of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Status {
    /// Batches taken in.
    pub tick: f64,
    /// Updates made.
    pub updates: f64,
    /// Updates skipped because the gradient was not finite.
    pub skipped: f64,
    /// Of these, the last ones in a row.
    pub in_a_row: f64,
    /// Sum of losses since it was last set to 0, and how many they are.
    pub losses: (f64, f64),
    /// Loss and length of the gradient of the last update.
    pub last: (f64, f64),
    /// Sum of validation losses over windows since it was last set to 0, and how many they are.
    pub validation: (f64, f64),
}

/// Places of the status that callers write: see `kernels.c`.
pub mod status {
    /// Batches taken in.
    pub const TICK: u64 = 0;
    /// The rate of the update, negative for none.
    pub const RATE: u64 = 11;
    /// The loss of an update's batches so far.
    pub const LOSS: u64 = 14;
    /// Validation.
    pub const VALIDATION: u64 = 15;
}

/// The text of a network's kernels, to which others may be added.
pub fn text(network: &Network, math: Math) -> String {
    let narrow = u8::from(math == Math::Bf16);
    let width = network.norm_width();
    format!("#define WORK16 {narrow}\n#define NORM {width}\n{KERNELS}")
}

/// Settings of an update.
#[derive(Clone, Copy, Debug)]
pub struct Update {
    /// Constants of the optimiser.
    pub adamw: AdamW,
    /// Longest gradient.
    pub clip: f64,
    /// Batches that were summed.
    pub count: u64,
    /// Largest weight of the past in the average.
    pub past: f64,
}

/// A network in the memory of a machine.
pub struct OnDevice {
    network: Network,
    layout: Layout,
    base: u64,
}

impl OnDevice {
    /// Bytes by part that a network takes for batches of `batch` samples and forecasts of `steps`
    /// steps, with an average of parameters if `averaged`, and `extra` for the caller.
    pub fn bytes(
        network: &Network,
        size: (usize, usize),
        math: Math,
        averaged: bool,
        extra: u64,
    ) -> Vec<(&'static str, u64)> {
        Layout::new(network, size, math, averaged, extra).parts
    }

    /// Takes memory and writes into it what never changes.
    ///
    /// # Errors
    /// Those of the machine.
    pub fn new(
        network: Network,
        size: (usize, usize),
        math: Math,
        averaged: bool,
        extra: u64,
        machine: &mut dyn Accelerator,
    ) -> Result<Self> {
        let layout = Layout::new(&network, size, math, averaged, extra);
        let base = machine.reserve(layout.bytes)?;
        for (buffer, values) in &network.fixed {
            let bytes: Vec<u8> = values
                .iter()
                .flat_map(|&x| (x as f32).to_le_bytes())
                .collect();
            machine.write(base + layout.of(*buffer, 0), &[&bytes])?;
        }
        for (edges, places) in network.edges.iter().zip(&layout.edges) {
            for (place, index) in [
                (places.senders, &edges.senders),
                (places.receivers, &edges.receivers),
                (places.by_sender, &edges.by_sender),
                (places.by_receiver, &edges.by_receiver),
                (places.sent, &edges.sent),
            ] {
                let bytes: Vec<u8> = index.iter().flat_map(|i| i.to_le_bytes()).collect();
                machine.write(base + place, &[&bytes])?;
            }
        }
        Ok(OnDevice {
            network,
            layout,
            base,
        })
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    fn record(&self, commands: &mut Vec<Command>, work: impl FnOnce(&mut Recorder<'_>)) {
        work(&mut Recorder {
            network: &self.network,
            layout: &self.layout,
            base: self.base,
            commands,
            sums: Sums::default(),
        });
    }

    /// Embeds what is the same for all samples: due whenever parameters have changed.
    pub fn embed(&self, commands: &mut Vec<Command>) {
        self.record(commands, |r| r.embed());
    }

    /// From the input of a step to its output.
    pub fn forward(&self, commands: &mut Vec<Command>, step: usize) {
        let all = 0..self.network.blocks.len();
        self.record(commands, |r| r.forward(all, step));
    }

    /// Prepares the backward passes of a batch; the gradient stays.
    pub fn begin_backward(&self, commands: &mut Vec<Command>) {
        self.record(commands, |r| r.begin_backward());
    }

    /// From the slope by the output of a step to the gradient, which is added to.
    pub fn backward(&self, commands: &mut Vec<Command>, step: usize, input_slope: bool) {
        self.record(commands, |r| r.backward(step, input_slope));
    }

    /// Ends the backward passes of a batch.
    pub fn end_backward(&self, commands: &mut Vec<Command>) {
        self.record(commands, |r| r.end_backward());
    }

    /// Sets the gradient to 0.
    pub fn forget(&self, commands: &mut Vec<Command>) {
        let n = self.network.n_parameters() as u64;
        self.record(commands, |r| {
            let at = r.gradient(0);
            r.zero(at, n);
        });
    }

    /// Clips, steps and averages, with the rate that stands in the status.
    pub fn update(&self, commands: &mut Vec<Command>, update: &Update) {
        let n = self.network.n_parameters() as u64;
        let average = self.average().unwrap_or(0);
        let (gradient, status, squares) = (self.gradient(), self.status(), self.squares());
        let AdamW {
            beta1,
            beta2,
            epsilon,
            weight_decay,
        } = update.adamw;
        self.record(commands, |r| {
            r.launch("square_sums", SQUARES, &[gradient, n, squares]);
            let words = [
                squares,
                SQUARES,
                status,
                update.clip.to_bits(),
                update.count,
                update.past.to_bits(),
                beta1.to_bits(),
                beta2.to_bits(),
            ];
            r.launch("decide", 1, &words);
            let words = [
                r.parameter(0),
                gradient,
                r.at(r.layout.m),
                r.at(r.layout.v),
                average,
                status,
                n,
                beta1.to_bits(),
                beta2.to_bits(),
                epsilon.to_bits(),
                weight_decay.to_bits(),
            ];
            r.launch("adamw", teams(n), &words);
        });
    }

    /// Has the parameters and their average change places.
    pub fn swap_average(&self, commands: &mut Vec<Command>) {
        let n = self.network.n_parameters() as u64;
        if let Some(average) = self.average() {
            self.record(commands, |r| {
                let words = [r.parameter(0), average, n];
                r.launch("swap", teams(n), &words);
            });
        }
    }

    /// Addresses of the parameters, m, v and, where it is kept, their average: f32, in the CPU's
    /// order.
    pub fn state(&self) -> Vec<u64> {
        let l = &self.layout;
        let mut places = vec![l.parameters, l.m, l.v];
        places.extend((l.average > 0).then_some(l.average));
        places.iter().map(|place| self.base + place).collect()
    }

    fn average(&self) -> Option<u64> {
        (self.layout.average > 0).then_some(self.base + self.layout.average)
    }

    /// Address of the gradient.
    pub fn gradient(&self) -> u64 {
        self.base + self.layout.gradient
    }

    fn squares(&self) -> u64 {
        self.base + self.layout.squares
    }

    /// Address of the status: [`STATUS`] numbers in f64.
    pub fn status(&self) -> u64 {
        self.base + self.layout.status
    }

    /// Address of what the caller asked for.
    pub fn extra(&self) -> u64 {
        self.base + self.layout.extra
    }

    /// Address of the input of a set of nodes at a step.
    ///
    /// # Panics
    /// If the input of the set is fixed.
    pub fn input(&self, nodes: usize, step: usize) -> u64 {
        let (buffer, _) = self.network.inputs[nodes].expect("the input differs by sample");
        self.base + self.layout.of(buffer, step)
    }

    /// Address of the slope by it.
    ///
    /// # Panics
    /// If the input of the set is fixed.
    pub fn input_slope(&self, nodes: usize) -> u64 {
        let (_, buffer) = self.network.inputs[nodes].expect("the input differs by sample");
        self.base + self.layout.of(buffer, 0)
    }

    /// Address of the output of a step.
    pub fn output(&self, step: usize) -> u64 {
        self.base + self.layout.of(self.network.output, step)
    }

    /// Address of the slope by the output.
    pub fn output_slope(&self) -> u64 {
        self.base + self.layout.of(self.network.output_slope, 0)
    }

    /// Reads the status.
    ///
    /// # Errors
    /// Those of the machine.
    pub fn read_status(&self, machine: &mut dyn Accelerator) -> Result<Status> {
        let mut bytes = [0; 8 * STATUS];
        machine.read(self.status(), &mut bytes)?;
        let numbers = bytes.as_chunks::<8>().0;
        let s = |k: usize| f64::from_le_bytes(numbers[k]);
        Ok(Status {
            tick: s(0),
            updates: s(1),
            skipped: s(2),
            in_a_row: s(3),
            losses: (s(4), s(5)),
            last: (s(6), s(7)),
            validation: (s(15), s(16)),
        })
    }
}
