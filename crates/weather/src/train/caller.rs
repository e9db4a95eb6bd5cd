//! Who asks for a training: what he hears, and what comes of it.

use super::beside::BesideStart;
use super::checkpoint::Progress;
use super::profile::Profile;
use fitzroy_device::nn::Clock;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What happens while training.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A step of which a line is due.
    Step {
        /// Steps done.
        step: u64,
        /// Steps planned.
        planned: u64,
        /// Epoch.
        epoch: u64,
        /// Mean loss since the last line.
        loss: f64,
        /// Learning rate.
        rate: f64,
        /// Length of the gradient before clipping.
        norm: f64,
        /// Windows per second since the last line.
        samples_per_s: f64,
        /// 10⁹ floating-point operations per second.
        gflops: f64,
        /// Share of time that was spent waiting for data.
        data_wait: f64,
        /// Seconds that remain at this pace.
        eta_s: f64,
        /// Bytes taken of a GPU's memory, where one is at work.
        device_bytes: Option<u64>,
    },
    /// A validation.
    Validation {
        /// Steps done.
        step: u64,
        /// Loss one step ahead, over all validation windows.
        loss: f64,
        /// Losses beside those of the start, one step and many steps ahead: geometric mean of the
        /// ratios.
        ratio: f64,
        /// Whether this ratio is the smallest so far.
        best: bool,
    },
    /// A checkpoint was written.
    Saved(&'a Path),
    /// Something to tell.
    Note(String),
}

/// The world outside: clock, stop flag, ears.
pub struct Caller<'a> {
    /// Seconds since some moment.
    pub now: &'a dyn Fn() -> f64,
    /// Seconds since 1970, for logs.
    pub wall_time: &'a dyn Fn() -> f64,
    /// Becomes true when the user wants to stop.
    pub stop: &'a AtomicBool,
    /// Hears what happens.
    pub observer: &'a dyn Fn(&Event<'_>),
    /// Where the last checkpoints go if the folder of the training takes none, as a folder for temporary files.
    pub spare: Option<&'a Path>,
    /// A clock to look with at where the time of some steps goes.
    pub profile: Option<Clock>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All steps were done.
    Finished,
    /// Validation did not improve any more.
    Early,
    /// The steps of a profile were done; a checkpoint was written.
    Profiled,
    /// The user stopped it; a checkpoint was written.
    Interrupted,
    /// Gradients were not finite; the last good checkpoint stands.
    Diverged,
    /// All steps were done, and the last loss is 0 or not finite: nothing can have been learnt.
    Degenerate,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended.
    pub ended: Ended,
    /// Where it stands.
    pub progress: Progress,
    /// Loss of the last step.
    pub last_loss: f64,
    /// Best checkpoint, if there was a validation.
    pub best: Option<PathBuf>,
    /// What could not be written where it belongs, and where it is: a sentence for each, which says why.
    pub unwritten: Vec<String>,
    /// The best checkpoint beside the start of training on validation forecasts, lead by lead;
    /// empty where the run did not come to its end.
    pub beside_start: Vec<BesideStart>,
    /// Share of time that was spent waiting for data.
    pub data_wait: f64,
    /// Seconds of the first step, and the median of the others.
    pub step_s: (f64, f64),
    /// Where the time of some steps went, if it was asked for.
    pub profile: Option<Profile>,
}
