//! What is sampled, as far as runs of all kinds care.

use super::hash::{data_fingerprint, model_fingerprint};
use super::memory::{Estimate, Sizes, estimate, estimate_of};
use super::{Settings, memory};
use crate::Result;
use crate::model::foreign::Foreign;
use crate::model::joint::Joint;

/// A model with its data, or a density that somebody else computes.
#[derive(Clone, Copy)]
pub enum Subject<'a> {
    /// A bound model.
    Model(&'a Joint),
    /// The density of somebody else.
    Density(&'a Foreign<'a>),
}

impl<'a> From<&'a Joint> for Subject<'a> {
    fn from(joint: &'a Joint) -> Self {
        Subject::Model(joint)
    }
}

impl<'a, 'b: 'a> From<&'a Foreign<'b>> for Subject<'a> {
    fn from(foreign: &'a Foreign<'b>) -> Self {
        Subject::Density(foreign)
    }
}

impl Subject<'_> {
    /// Number of unconstrained coordinates, as written.
    pub fn n_coordinates(&self) -> usize {
        match self {
            Subject::Model(joint) => joint.n_params(),
            Subject::Density(foreign) => foreign.dim(),
        }
    }

    /// What a run of it needs, from its sizes alone.
    pub fn estimate(&self, settings: &Settings) -> Estimate {
        match self {
            Subject::Model(joint) => estimate(joint.model(), joint.binding(), settings),
            Subject::Density(foreign) => {
                let quantities = foreign.quantities().iter();
                let largest = quantities.max_by_key(|q| q.elements());
                let largest = largest.map(|q| (q.name.clone(), q.elements() as f64));
                let sizes = Sizes {
                    coordinates: foreign.dim() as f64,
                    recorded: foreign.n_recorded() as f64,
                    rows: 0.0,
                    largest: largest.unwrap_or_default(),
                };
                estimate_of(sizes, settings)
            }
        }
    }

    /// Refuses a run that needs more memory than the limit of `settings`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Device`], with both sizes and what to change.
    pub fn check_memory(&self, settings: &Settings) -> Result<()> {
        memory::check(&self.estimate(settings), settings)
    }

    /// What tells it from others, under the names of attributes: itself, and its data.
    pub(super) fn fingerprints(&self) -> [(&'static str, String); 2] {
        match self {
            Subject::Model(joint) => [
                (MODEL, model_fingerprint(joint)),
                (DATA, data_fingerprint(joint)),
            ],
            Subject::Density(foreign) => {
                let (density, data) = foreign.identity();
                [(DENSITY, density.into()), (DATA, data.into())]
            }
        }
    }
}

/// The attribute of a model's statements.
pub(super) const MODEL: &str = "fitzroy_model_hash";
/// The attribute of a foreign density.
pub(super) const DENSITY: &str = "fitzroy_density_hash";
/// The attribute of the data.
pub(super) const DATA: &str = "fitzroy_data_hash";
