//! Batches: which windows, in which order, and their numbers.

use super::problem::Problem;
use crate::data::{Archive, FORCINGS, forcings};
use fitzroy::rng::philox;

/// States and forcings of `size` windows: records t−1, t, ..., t + steps.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// (record, sample, node, channel); empty in an outline.
    pub states: Vec<f32>,
    /// (record, sample, node, forcing); empty where the task has none.
    pub forcings: Vec<f32>,
    /// Windows.
    pub size: usize,
    /// Steps to be forecast.
    pub steps: usize,
    /// Records that the windows start at.
    starts: Vec<u32>,
}

impl Batch {
    /// Fills the batch with the windows that start at records `starts`.
    pub fn fill(&mut self, problem: &Problem, starts: &[u32], steps: usize) {
        self.outline(problem, starts, steps);
        let archive = &problem.archive;
        let mut states = std::mem::take(&mut self.states);
        states.reserve((steps + 2) * starts.len() * archive.record_len());
        for record in self.records(archive) {
            states.extend_from_slice(record);
        }
        self.states = states;
    }

    /// Has the records of the windows fetched, all at once, if they lie in a file.
    fn fetch(&self, archive: &Archive) {
        let n = archive.record_len();
        for &start in &self.starts {
            let first = start as usize - 1;
            archive
                .values
                .fetch(first * n..(first + self.steps + 2) * n);
        }
    }

    /// The record of the archive that a window has at `offset`.
    pub(super) fn time(&self, sample: usize, offset: usize) -> usize {
        self.starts[sample] as usize + offset - 1
    }

    /// Records of the windows where they lie: (record, sample).
    pub(super) fn records<'a>(&'a self, archive: &'a Archive) -> impl Iterator<Item = &'a [f32]> {
        let of = move |offset| {
            let times = (0..self.starts.len()).map(move |sample| self.time(sample, offset));
            times.map(|time| archive.record(time))
        };
        (0..self.steps + 2).flat_map(of)
    }

    /// As [`Self::fill`], without states: for those who take the records themselves.
    pub(super) fn outline(&mut self, problem: &Problem, starts: &[u32], steps: usize) {
        let archive = &problem.archive;
        (self.size, self.steps) = (starts.len(), steps);
        self.starts.clear();
        self.starts.extend_from_slice(starts);
        self.fetch(archive);
        self.states.clear();
        let n_forcings = if problem.is_forecast() {
            archive.n_nodes() * FORCINGS
        } else {
            0
        };
        self.forcings
            .resize((steps + 2) * starts.len() * n_forcings, 0.0);
        let mut at = 0;
        for offset in 0..steps + 2 {
            for &start in starts {
                let time = start as usize + offset - 1;
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
