//! A training step as commands: input, forecast, loss, and the way back.

use super::device::{DeviceLearner, Fixed, HEADER, LOSSES};
use super::problem::Problem;
use crate::data::FORCINGS;
use fitzroy_device::gpu::work::Command;
use fitzroy_device::nn::gpu::status;

/// Teams for `n` numbers.
fn teams(n: u64) -> u64 {
    n.div_ceil(32).clamp(1, 1 << 16)
}

/// Writes the commands of a deed.
pub(super) struct Writer<'a> {
    pub(super) learner: &'a DeviceLearner,
    pub(super) problem: &'a Problem,
    pub(super) steps: usize,
    pub(super) commands: Vec<Command>,
}

impl Writer<'_> {
    fn launch(&mut self, kernel: &'static str, n_teams: u64, words: &[u64]) {
        self.commands.push(Command::launch(kernel, n_teams, words));
    }

    fn at(&self, place: u64) -> u64 {
        self.learner.device.extra() + place
    }

    fn fixed(&self, what: Fixed) -> u64 {
        self.at(self.learner.places.fixed[what as usize])
    }

    /// Numbers of a record, and nodes that are used, of all samples.
    fn record(&self) -> u64 {
        self.nodes() * self.problem.archive.channels.len() as u64
    }

    fn nodes(&self) -> u64 {
        (self.learner.batch * self.learner.used.len()) as u64
    }

    /// Outputs of all samples.
    fn outputs(&self) -> u64 {
        (self.learner.batch * self.problem.outputs.len() * self.problem.targets.len()) as u64
    }

    /// The true state of a record of the batch.
    fn truth(&self, record: usize) -> u64 {
        let header = 4 * HEADER as u64;
        self.at(self.learner.places.batch) + header + 4 * self.record() * record as u64
    }

    fn forcing(&self, record: usize) -> u64 {
        let n = self.nodes() * FORCINGS as u64;
        self.truth(self.steps + 2) + 4 * n * record as u64
    }

    /// The state of a record as the forecast knows it.
    fn state(&self, record: usize) -> u64 {
        match record {
            0 | 1 => self.truth(record),
            _ => self.at(self.learner.places.predicted) + 4 * self.record() * (record as u64 - 2),
        }
    }

    fn slope(&self, record: usize) -> u64 {
        self.at(self.learner.places.slopes) + 4 * self.record() * record as u64
    }

    /// Takes a batch in and forecasts it; for a training the slopes by the states are left behind.
    pub(super) fn forward(&mut self, learns: bool) {
        let (device, places) = (&self.learner.device, &self.learner.places);
        let status = device.status();
        let batch = self.at(places.batch);
        let words = [self.at(places.staging), places.len, status, batch];
        self.launch("take_in", teams(places.len), &words);
        self.launch("taken", 1, &[status, batch]);
        if learns {
            let n = self.record() * (self.steps as u64 + 2);
            let words = [self.slope(0), n];
            self.launch("zero", teams(n), &words);
        }
        device.embed(&mut self.commands);
        for step in 0..self.steps {
            self.step(step, learns);
        }
    }

    fn step(&mut self, step: usize, learns: bool) {
        let (device, places) = (&self.learner.device, &self.learner.places);
        let kept = if learns { step } else { 0 };
        let batch = self.at(places.batch);
        for (number, fed) in self.problem.fed.iter().enumerate() {
            let n = (fed.nodes.len() * self.learner.batch) as u64;
            let words = [
                device.input(fed.set, kept),
                self.state(step),
                self.state(step + 1),
                self.forcing(step),
                self.forcing(step + 1),
                self.forcing(step + 2),
                self.fixed(Fixed::Statics),
                self.at(places.fixed[Fixed::Fed as usize + number]),
                fed.nodes.len() as u64,
                self.fixed(Fixed::Scales),
                self.learner.batch as u64,
            ];
            self.launch("feed", n, &words);
        }
        device.forward(&mut self.commands, kept);
        let change = self.at(places.change);
        if self.problem.is_forecast() {
            let words = [
                change,
                self.state(step),
                self.state(step + 1),
                self.fixed(Fixed::Weights),
                self.fixed(Fixed::Neighbours),
                self.fixed(Fixed::Momentum),
                self.nodes(),
            ];
            self.launch("go_on", self.nodes(), &words);
        }
        let losses = self.at(places.losses);
        let steps = self.steps as u64;
        let words = [
            device.output(kept),
            self.state(step + 2),
            self.state(step + 1),
            change,
            self.truth(step + 2),
            self.fixed(Fixed::Outputs),
            self.fixed(Fixed::Targets),
            self.fixed(Fixed::NodeWeights),
            self.fixed(Fixed::ChannelWeights),
            self.fixed(Fixed::RestMean),
            self.fixed(Fixed::RestSd),
            self.fixed(Fixed::Heavy),
            self.problem.weighting.heavy.0.to_bits(),
            if learns { self.slope(step + 2) } else { 0 },
            losses,
            self.outputs(),
            batch,
            steps,
            self.fixed(Fixed::Held),
        ];
        self.launch("forecast", LOSSES, &words);
        let place = if learns {
            status::LOSS
        } else {
            status::VALIDATION
        };
        let words = [losses, LOSSES, place, device.status(), batch, steps];
        self.launch("sum_losses", 1, &words);
    }

    /// From the slopes by the states to the gradient.
    pub(super) fn backward(&mut self) {
        let (device, places) = (&self.learner.device, &self.learner.places);
        device.begin_backward(&mut self.commands);
        let (record, nodes) = (self.record(), self.nodes());
        for step in (0..self.steps).rev() {
            let by_next = self.at(places.by_next);
            self.launch("zero", teams(record), &[by_next, record]);
            let words = [
                device.output_slope(),
                by_next,
                self.slope(step + 2),
                self.fixed(Fixed::Outputs),
                self.fixed(Fixed::Targets),
                self.fixed(Fixed::NodeWeights),
                self.fixed(Fixed::RestSd),
                self.outputs(),
                self.fixed(Fixed::Held),
            ];
            self.launch("forecast_back", teams(self.outputs()), &words);
            if step > 0 {
                let words = [
                    by_next,
                    self.slope(step),
                    self.slope(step + 1),
                    self.fixed(Fixed::Weights),
                    self.fixed(Fixed::Starts),
                    self.fixed(Fixed::Entries),
                    self.fixed(Fixed::Momentum),
                    nodes,
                ];
                self.launch("go_on_back", nodes, &words);
            }
            device.backward(&mut self.commands, step, step > 0);
            if step == 0 {
                break;
            }
            for (number, fed) in self.problem.fed.iter().enumerate() {
                let n = fed.nodes.len() as u64;
                let words = [
                    device.input_slope(fed.set),
                    self.slope(step),
                    self.slope(step + 1),
                    self.at(places.fixed[Fixed::Fed as usize + number]),
                    n,
                    self.fixed(Fixed::Scales),
                    self.learner.batch as u64,
                ];
                self.launch("feed_back", n * self.learner.batch as u64, &words);
            }
        }
        device.end_backward(&mut self.commands);
    }
}
