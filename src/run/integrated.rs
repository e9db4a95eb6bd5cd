//! Exact draws of what was integrated out: its coordinates, or standard normal numbers in their
//! place, from which the model computes it.

use super::compiled::{Compiled, Conditionals};
use crate::fit::sample::{Run, Settings, Stream, fill_normals};
use crate::rng::{Purpose, Rng};
use fitzroy_device::cpu::Workspace;
use std::sync::Arc;

/// Of every so many draws one is compared with the model as written.
const COMPARED: usize = 100;

/// Where the numbers of integrated coordinates come from. They depend on seed, chain and number of
/// the transition alone, and are made again wherever they are needed.
#[derive(Clone)]
pub(super) struct Integrated {
    /// Coordinates that are sampled, which come first.
    pub(super) dim: usize,
    /// All coordinates.
    full: usize,
    /// Of chain 0.
    stream: Stream,
    /// What is drawn by a distribution of its own.
    conditionals: Option<Arc<Conditionals>>,
}

/// Memory for one draw.
pub(super) struct CoordinateWorkspace {
    noise: Vec<[f64; 8]>,
    position: Vec<f64>,
    arguments: Option<Workspace>,
}

impl Integrated {
    pub(super) fn new(compiled: &Compiled, settings: &Settings) -> Self {
        Integrated {
            dim: compiled.dim,
            full: compiled.full,
            stream: Stream {
                seed: settings.seed,
                stream: settings.stream,
                chain: settings.first_chain,
            },
            conditionals: compiled.conditionals.clone(),
        }
    }

    /// Where all of `dim` coordinates are sampled.
    pub(super) fn none(dim: usize) -> Self {
        let (seed, stream, chain) = (0, 0, 0);
        Integrated {
            dim,
            full: dim,
            stream: Stream {
                seed,
                stream,
                chain,
            },
            conditionals: None,
        }
    }

    pub(super) fn workspace(&self) -> CoordinateWorkspace {
        CoordinateWorkspace {
            noise: vec![[0.0; 8]; (self.full - self.dim).div_ceil(8)],
            position: vec![0.0; self.full],
            arguments: self.conditionals.as_ref().map(|c| c.workspace()),
        }
    }

    /// All coordinates of a draw of which `sampled` were sampled, by chain number `chain` in
    /// transition number `transition`.
    pub(super) fn extend<'a>(
        &self,
        workspace: &'a mut CoordinateWorkspace,
        sampled: &'a [f64],
        chain: usize,
        transition: usize,
    ) -> &'a [f64] {
        if self.dim == self.full {
            return sampled;
        }
        let stream = Stream {
            chain: self.stream.chain.wrapping_add(chain as u32),
            ..self.stream
        };
        let (n, purpose) = (self.full - self.dim, Purpose::Integrated);
        fill_normals(&mut workspace.noise, n, stream, transition as u32, purpose);
        let (own, others) = workspace.position.split_at_mut(self.dim);
        own.copy_from_slice(sampled);
        others.copy_from_slice(&workspace.noise.as_flattened()[..n]);
        if let (Some(conditionals), Some(arguments)) =
            (&self.conditionals, &mut workspace.arguments)
        {
            let Stream {
                seed,
                stream,
                chain,
            } = stream;
            let mut rng = Rng::new(seed, stream, chain, transition as u32, Purpose::Conjugate);
            conditionals.draw(arguments, &mut rng, &mut workspace.position);
        }
        &workspace.position
    }

    /// Every hundredth draw of every chain, one row after the other; the first of them was made in
    /// transition number `first`.
    pub(super) fn every_hundredth(&self, run: &Run, first: usize) -> Vec<f64> {
        let mut workspace = self.workspace();
        let mut rows = Vec::new();
        for (chain, draws) in run.chains.iter().enumerate() {
            let some = draws.positions.chunks_exact(self.dim).enumerate();
            for (at, sampled) in some.step_by(COMPARED) {
                rows.extend_from_slice(self.extend(&mut workspace, sampled, chain, first + at));
            }
        }
        rows
    }
}
