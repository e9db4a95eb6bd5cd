//! Batches: which windows, in which order, and their numbers.

use super::problem::Problem;
use crate::data::{FORCINGS, forcings};
use fitzroy::rng::philox;

/// States and forcings of `size` windows: records t−1, t, ..., t + steps.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// (record, sample, node, channel).
    pub states: Vec<f32>,
    /// (record, sample, node, forcing); empty where the task has none.
    pub forcings: Vec<f32>,
    /// Windows.
    pub size: usize,
    /// Steps to be forecast.
    pub steps: usize,
}

impl Batch {
    /// Fills the batch with the windows that start at records `starts`.
    pub fn fill(&mut self, problem: &Problem, starts: &[u32], steps: usize) {
        let archive = &problem.archive;
        let record = archive.record_len();
        (self.size, self.steps) = (starts.len(), steps);
        self.states.clear();
        let n_forcings = if problem.is_forecast() {
            archive.n_nodes() * FORCINGS
        } else {
            0
        };
        self.forcings
            .resize((steps + 2) * starts.len() * n_forcings, 0.0);
        self.states.reserve((steps + 2) * starts.len() * record);
        let mut at = 0;
        for offset in 0..steps + 2 {
            for &start in starts {
                let time = start as usize + offset - 1;
                self.states.extend_from_slice(archive.record(time));
                if n_forcings > 0 {
                    let to = &mut self.forcings[at..at + n_forcings];
                    forcings(archive.times[time], archive, to);
                    at += n_forcings;
                }
            }
        }
    }

    /// One record of all samples.
    pub fn state(&self, offset: usize) -> &[f32] {
        let n = self.states.len() / (self.steps + 2);
        &self.states[offset * n..(offset + 1) * n]
    }

    /// The forcings of one record of all samples.
    pub fn forcing(&self, offset: usize) -> &[f32] {
        let n = self.forcings.len() / (self.steps + 2);
        &self.forcings[offset * n..(offset + 1) * n]
    }
}

/// The windows of an epoch in random order (Fisher and Yates), the same for the same seed.
pub fn order(windows: &[u32], seed: u64, epoch: u64) -> Vec<u32> {
    let mut order = windows.to_vec();
    let key = [seed as u32, (seed >> 32) as u32 ^ 0x5EED];
    for last in (1..order.len()).rev() {
        let words = philox([last as u32, epoch as u32, (epoch >> 32) as u32, 0], key);
        let bits = u64::from(words[0]) << 32 | u64::from(words[1]);
        let pick = ((u128::from(bits) * (last as u128 + 1)) >> 64) as usize;
        order.swap(last, pick);
    }
    order
}
