//! The kernel of a run before there is a run: its text, and what it takes of a machine's memory.

use super::attempt::allowed;
use super::compiled::Terms;
use super::posterior::ModelPosterior;
use super::{Device, Settings};
use crate::Result;
use crate::fit::sample::{self, Posterior as _};
use crate::model::joint::Joint;
use fitzroy_device::gpu::text::Source;
use std::sync::Arc;

/// The kernel that samples `joint` on a machine, in the coordinates that a run starts in: text for
/// people to read.
///
/// # Errors
/// As [`super::run`].
pub fn kernel_text(joint: &Joint, settings: &Settings) -> Result<String> {
    let memory = KernelMemory::new(joint, settings)?;
    let sampler = &settings.sampler;
    let (source, team) = (&memory.source, memory.team(sampler.chains));
    Ok(sample::kernel::readable(source, team, sampler))
}

/// The density that such a kernel samples.
///
/// # Errors
/// As [`super::run`].
pub fn kernel_source(joint: &Joint, settings: &Settings) -> Result<Arc<Source>> {
    Ok(KernelMemory::new(joint, settings)?.source)
}

/// What chains take of the memory of a machine for kernels.
pub struct KernelMemory {
    source: Arc<Source>,
    settings: Settings,
    n_operations: f64,
    plates: sample::Plates,
}

impl KernelMemory {
    /// For chains of `joint`, with the device, the precision and the metric of `settings`.
    ///
    /// # Errors
    /// As [`super::run`].
    pub fn new(joint: &Joint, settings: &Settings) -> Result<Self> {
        let terms = match settings.prior_only {
            true => Terms::Priors,
            false => Terms::All,
        };
        let joint = joint.rewritten(allowed(settings));
        let posterior = ModelPosterior::new(&joint, settings.coordinates, terms, settings.engine)?;
        let compiled = posterior.compiled();
        Ok(KernelMemory {
            source: compiled.source(settings.precision)?,
            settings: settings.clone(),
            n_operations: compiled.n_operations(),
            plates: posterior.plates(),
        })
    }

    /// The same on another device.
    pub fn on(&self, device: Device) -> KernelMemory {
        KernelMemory {
            source: Arc::clone(&self.source),
            settings: Settings {
                device,
                ..self.settings.clone()
            },
            plates: self.plates.clone(),
            ..*self
        }
    }

    /// Threads to each of `n_chains` chains.
    pub fn team(&self, n_chains: usize) -> usize {
        let device = &self.settings.device;
        device.team(self.source.dim, self.n_operations, n_chains)
    }

    /// Bytes of `n_chains` chains with their data, metric and the rows of two launches, at most.
    pub fn bytes(&self, n_chains: usize) -> u64 {
        let needs = sample::kernel::Needs {
            source: &self.source,
            settings: &self.settings.sampler,
            team: self.team(n_chains),
            plates: &self.plates,
        };
        8 * sample::kernel::memory_words(needs, n_chains) as u64
    }

    /// How many chains fit into `budget` bytes, at most `most`.
    pub fn chains_within(&self, budget: u64, most: usize) -> usize {
        let (mut fits, mut too_many) = (0, most + 1);
        while too_many - fits > 1 {
            let middle = fits.midpoint(too_many);
            match self.bytes(middle) <= budget {
                true => fits = middle,
                false => too_many = middle,
            }
        }
        fits
    }
}
