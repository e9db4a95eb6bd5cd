//! Training: a problem, its loss, its loop, and what a killed run leaves behind.

mod batch;
mod checkpoint;
mod events;
mod model;
mod plan;
mod problem;
mod profile;
mod run;
mod schedule;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use batch::{Batch, order};
pub use checkpoint::{Checkpoint, Found, Progress, find, newest};
pub use events::Recorder;
pub use model::{Learner, Predictor, initial};
pub use plan::{Plan, Settings, plan};
pub use problem::{Architecture, GraphKind, LossKind, Problem, Task, Weighting};
pub use profile::{Profile, Timed};
pub use run::{Caller, Ended, Event, Outcome, train};
pub use schedule::{Rollouts, Schedule};
