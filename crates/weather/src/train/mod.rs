//! Training: a problem, its loss, its loop, and what a killed run leaves behind.

mod batch;
mod beside;
mod caller;
mod carry;
mod checkpoint;
mod commands;
mod device;
mod engine;
mod events;
mod files;
mod finder;
mod forecaster;
mod identity;
mod layout;
mod marks;
mod model;
mod plan;
mod problem;
mod profile;
mod resume;
mod run;
mod scales;
mod schedule;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests;
mod used;
mod weights;

pub use batch::{Batch, order};
pub use beside::{BesideStart, Monitor};
pub use caller::{Caller, Ended, Event, Outcome};
pub use carry::{Carried, Provenance};
pub use checkpoint::{Checkpoint, Found, Progress, find, find_best, newest};
pub use device::{kernel_names, kernel_text};
pub use engine::Target;
pub use events::Recorder;
pub use finder::{Rates, find_rate};
pub use forecaster::{Extent, Forecaster, Rollout, Start};
pub use identity::Wanted;
pub use model::{Learner, Predictor, initial, untrained};
pub use plan::{Plan, Settings, plan};
pub use problem::{Architecture, Baseline, GraphKind, Problem, Task};
pub use profile::{Profile, Timed};
pub use resume::resumed;
pub use run::{train, train_on};
pub use schedule::{Rollouts, Schedule};
pub use weights::{LossKind, Weighting};
