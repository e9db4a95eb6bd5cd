//! A model, its data and settings in; a trace out.
//!
//! ```
//! use fitzroy::data::Dataset;
//! use fitzroy::model::Model;
//! use fitzroy::run::{Caller, Settings, bind, run};
//!
//! let model = Model::parse(
//!     "data y[obs]
//!      mu    ~ Normal(0, 10)
//!      sigma ~ HalfNormal(5)
//!      y[obs] ~ Normal(mu, sigma)",
//! )?;
//! let mut data = Dataset::new();
//! data.insert_real("y", &[4], vec![1.2, 0.7, 2.3, 1.6]);
//!
//! let mut settings = Settings::default();
//! settings.sampler.draws = 500;
//! let joint = bind(&model, &data, &settings)?;
//! let outcome = run(&joint, &settings, &Caller::silent())?;
//! let posterior = outcome.trace.group("posterior").expect("always there");
//! assert_eq!(posterior.variables[0].name, "mu");
//! assert_eq!(posterior.variables[0].shape, [4, 500]);
//! # Ok::<(), fitzroy::Error>(())
//! ```

mod attempt;
mod beside;
mod compiled;
mod coordinates;
mod density;
mod device;
mod elsewhere;
mod foreign;
mod hash;
mod initial;
mod integrated;
mod keep;
mod kept;
mod kernels;
mod memory;
mod mirrors;
mod plan;
mod plates;
mod posterior;
mod predict;
mod predictive;
mod prior;
mod records;
mod report;
mod saved;
mod scatter;
mod solutions;
mod start;
mod subject;
mod sweep;
mod trace;
mod watch;

pub use beside::beside;
pub use density::{LogDensity, Point};
pub use device::{Device, Load, Team};
pub use kept::{AGAIN, Convergence, Keeping, Kept, Live, STATE, STREAM, Saved, open};
pub use kernels::{KernelMemory, kernel_source, kernel_text};
pub use memory::{Estimate, estimate};
pub use plan::{Costs, Inventory, OPENING_S, Plan, cards, gradient_costs, plan, seconds_on, weigh};
pub use posterior::CoordinateChoice;
pub use predict::predict;
pub use predictive::{Key, ReplicationWorkspace, Replicator};
pub use report::{Machine, run_json};
pub use subject::Subject;

use crate::data::Dataset;
use crate::diagnose::{Diagnosis, Finding, SummaryOptions, diagnose, diagnose_stored};
use crate::draws::{Stored, Trace};
use crate::fit::sample::{self, Observer, Run, Silent};
use crate::model::Model;
use crate::model::joint::{Joint, Rewrites, Rewrote};
use crate::{Error, ErrorKind, Result};
use compiled::Compiled;
use fitzroy_device::cpu::Engine;
use fitzroy_device::gpu::text::Precision;
use integrated::Integrated;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What to do with a bound model.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Settings of the sampler. Its `threads` also serve what comes after sampling.
    pub sampler: sample::Settings,
    /// Values at which chains start, on the natural scale of the variables, by their names: one set
    /// for all chains, or one for each; none for starts that chains find themselves. Elements of an
    /// array are given one by one, or by one number for all. Chains start at exactly these values;
    /// variables without any start at the first of some random places that has a density.
    pub initvals: Vec<Dataset>,
    /// How coordinates of hierarchical parameters are chosen.
    pub coordinates: CoordinateChoice,
    /// What evaluates the density. All engines give the same draws.
    pub engine: Engine,
    /// Which rewrites of the density are allowed. Coordinates as written leave no room for
    /// `collapse` and `recognise`, and [`Settings::prior_only`] for none.
    pub rewrites: Rewrites,
    /// Whether replicates of the observed data are drawn (group `posterior_predictive`).
    pub predictive: bool,
    /// The variables whose draws are kept, by name; all when empty. What is sampled does not depend on it.
    pub keep: Vec<String>,
    /// Whether the log likelihood of every observation is kept (group `log_likelihood`).
    pub log_likelihood: bool,
    /// Samples the priors alone: groups `prior`, `prior_predictive` and `sample_stats_prior`.
    ///
    /// The draws are independent: every variable is drawn from its distribution given those it
    /// depends on. Where a prior cannot be drawn from so (`bounded`, `ordered`, the parts of a
    /// covariance by name) the sampler runs on the sum of the priors instead, and the group
    /// `sample_stats_prior` tells. `target +=` is left out. A prior that is improper (`Flat`) is
    /// an error.
    pub prior_only: bool,
    /// Where transitions are made. Threads of this process by default.
    pub device: Device,
    /// What they are computed in on a machine for kernels; threads compute in f64. A lower one is
    /// compared with f64 during the warm-up, and given up with a finding where it is not good
    /// enough.
    pub precision: Precision,
    /// A run that will need more is refused before it starts; none means no limit.
    pub memory_limit_bytes: Option<u64>,
    /// Above this the draws of a run that is kept ([`run_kept`]) stay on the disk, and memory does
    /// not grow with their number; none means never.
    pub in_memory_bytes: Option<u64>,
}

/// What the library does not know by itself, and whom it tells.
pub struct Caller<'a> {
    /// Is told of every transition.
    pub observer: &'a dyn Observer,
    /// Ends the run early once true; what there is is kept.
    pub stop: &'a AtomicBool,
    /// The time in seconds from any origin.
    pub now: &'a (dyn Fn() -> f64 + Sync),
    /// Date and time in ISO 8601 for the file; left out when empty.
    pub created_at: &'a str,
}

impl Caller<'static> {
    /// Nobody: no observer, no clock, no end.
    pub fn silent() -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Caller {
            observer: &Silent,
            stop: &NEVER,
            now: &|| 0.0,
            created_at: "",
        }
    }
}

/// Where the time went, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Timing {
    /// Building and compiling the density in its first coordinates, and the kernels of a machine.
    pub compile: f64,
    /// Start and warm-up of the chains, changes of coordinates included, but no kernel's compilation.
    pub warmup: f64,
    /// Drawing.
    pub sampling: f64,
    /// Putting the trace together, replicates and log likelihoods included.
    pub collecting: f64,
    /// All seconds of earlier sessions of a run that goes on; warm-up and drawing hold theirs.
    pub earlier: f64,
    /// All of it, until the last draw.
    pub total: f64,
}

/// What [`run`] gives.
pub struct Outcome {
    /// The draws, see [`run`] for its groups.
    pub trace: Trace,
    /// Number of the first draw in `trace`: above 0 only where draws stay on the disk (see
    /// [`Settings::in_memory_bytes`]), and `trace` has no more than the last of them.
    pub first_draw: usize,
    /// What the sampler says; its draws have been moved into `trace`.
    pub run: Run,
    /// For each hierarchical parameter the mean of its c: 1 is centred, 0 non-centred.
    pub centring: Vec<(String, f64)>,
    /// What was rewritten.
    pub rewrites: Vec<Rewrote>,
    /// What happened besides the draws: restarted chains, coordinates taken back.
    pub findings: Vec<Finding>,
    /// Where the time went.
    pub timing: Timing,
    /// The precision that the draws were made in.
    pub precision: Precision,
    /// The group of the draws: `posterior` or `prior`.
    pub group: &'static str,
    /// What is left to publish of a run that was kept, see [`Kept::finish`].
    pub kept: Option<Kept>,
    n_draws: usize,
    /// What was sampled of every draw of every chain.
    positions: Vec<Vec<f64>>,
    /// The transition that made the first of them.
    first_transition: usize,
    /// The rest of every draw.
    integrated: Integrated,
    /// The density of a model; none of a density that somebody else computes.
    compiled: Option<Arc<Compiled>>,
}

/// Binds `model` to `data`, checks what a run will need, and builds its density.
///
/// # Errors
/// Data that are missing or do not fit; a run above the memory limit; dims that do not combine.
pub fn bind(model: &Model, data: &Dataset, settings: &Settings) -> Result<Joint> {
    let binding = model.bind(data)?;
    memory::check(&estimate(model, &binding, settings), settings)?;
    Joint::new(model, binding)
}

/// Samples a bound model, or the density of somebody else.
///
/// Groups of the trace, in the layout of ArviZ:
/// - `posterior`: parameters and recorded deterministics, on their natural scale;
/// - `sample_stats`: statistics under ArviZ's names. `lp` is the log density of the model in its
///   coordinates as written: unconstrained, Jacobians of the transforms included, whatever
///   coordinates were sampled in: the log density of PyMC's model. `energy` belongs to the
///   coordinates that were sampled in;
/// - `predictions`: whatever the model `predict`s, drawn or computed, for every draw;
/// - `posterior_predictive`: replicates of the observed data, if asked;
/// - `log_likelihood`: one element per observation, if asked. Slices of one array that have
///   distributions of their own are one variable here, among replicates and in the data: over the
///   whole array where they fill it, over one dim (of the elements in their order) else;
/// - `observed_data`, `constant_data`: data with and without a distribution; indices are stored as
///   positions from 0;
/// - `warmup_posterior`, `warmup_sample_stats`: if the sampler's settings keep the warm-up.
///
/// With [`Settings::prior_only`] the first two are `prior` and, where that had to be sampled,
/// `sample_stats_prior`; replicates are always drawn, into `prior_predictive`.
///
/// The same joint density, settings and seed give the same bits for any number of threads.
///
/// # Errors
/// A setting out of range; values to start at that are none of the model; no start with a finite log
/// density (naming the term that is not finite, and its row); an improper prior under
/// [`Settings::prior_only`].
///
/// # Densities of others
///
/// A [`Foreign`](crate::model::foreign::Foreign) density is sampled as it is: `posterior` has its
/// quantities, `sample_stats` its value as `lp`, and there are no other groups of draws. Settings that
/// only a model can follow (replicates, log likelihoods, draws of the prior, a GPU) are refused.
pub fn run<'a>(
    subject: impl Into<Subject<'a>>,
    settings: &Settings,
    caller: &Caller<'_>,
) -> Result<Outcome> {
    run_with(subject.into(), settings, caller, None)
}

/// [`run`], kept while it goes on, and perhaps going on from an earlier one.
///
/// Draws are published in a Zarr store block by block with the sampler's state, see [`Keeping`].
/// The draws are those of [`run`], bit for bit, however often the run was stopped and resumed; the
/// trace holds all of them, those of earlier sessions included, unless they stay on the disk: see
/// [`Settings::in_memory_bytes`], [`Outcome::first_draw`] and [`crate::draws::Stored`].
///
/// # Errors
/// Those of [`run`]; a store that cannot be written to, with what is safe.
pub fn run_kept<'a>(
    subject: impl Into<Subject<'a>>,
    settings: &Settings,
    caller: &Caller<'_>,
    keeping: &Keeping<'_>,
) -> Result<Outcome> {
    run_with(subject.into(), settings, caller, Some(keeping))
}

fn run_with(
    subject: Subject<'_>,
    settings: &Settings,
    caller: &Caller<'_>,
    keeping: Option<&Keeping<'_>>,
) -> Result<Outcome> {
    match subject {
        Subject::Model(joint) => attempt::run(joint, settings, caller, keeping),
        Subject::Density(foreign) => foreign::run(foreign, settings, caller, keeping),
    }
}

/// Number of observed values: elements of data, and of what is computed from data, that have a
/// distribution. Data that `target` reads alone are not among them.
pub fn n_observations(joint: &Joint) -> usize {
    joint.n_observed()
}

impl Outcome {
    /// Coordinates that were sampled: fewer than the model has where rewrites integrated some out.
    pub fn n_sampled(&self) -> usize {
        let compiled = self.compiled.as_ref();
        compiled.map_or(self.integrated.dim, |compiled| compiled.dim)
    }

    /// Examines the draws; the run's own findings come first.
    ///
    /// # Errors
    /// Those of [`diagnose`].
    pub fn diagnose(&self, options: &SummaryOptions) -> Result<Diagnosis> {
        let options = SummaryOptions {
            group: self.group.into(),
            ..options.clone()
        };
        let mut found = diagnose(&self.trace, &options)?;
        found.findings.splice(0..0, self.findings.iter().cloned());
        Ok(found)
    }

    /// Draws per chain, those of the sessions that this one continues included.
    pub fn n_draws(&self) -> usize {
        self.n_draws
    }

    /// [`Outcome::diagnose`] of a run whose draws stay on the disk, in `stored`.
    ///
    /// # Errors
    /// Those of [`diagnose_stored`].
    pub fn diagnose_stored(&self, stored: &Stored, options: &SummaryOptions) -> Result<Diagnosis> {
        let options = SummaryOptions {
            group: self.group.into(),
            ..options.clone()
        };
        let mut found = diagnose_stored(stored, &options)?;
        found.findings.splice(0..0, self.findings.iter().cloned());
        Ok(found)
    }

    /// What the sampler says, with its draws as positions: for [`beside()`].
    pub fn into_run(mut self) -> Run {
        for (chain, positions) in self.run.chains.iter_mut().zip(self.positions) {
            chain.positions = positions;
        }
        self.run
    }

    /// Draws replicates of the observed data from the posterior draws of this run.
    ///
    /// # Errors
    /// For draws of the prior, whose replicates are in the group `prior_predictive`, and for draws of a
    /// density that somebody else computes.
    pub fn replicator(&self) -> Result<Replicator> {
        if self.group == "prior" {
            let message = "replicates of draws from the prior stand in the group prior_predictive";
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let Some(compiled) = &self.compiled else {
            let message = "a density that somebody else computes does not say what it observes";
            return Err(Error::usage(message));
        };
        Replicator::new(compiled, |drawn| drawn.observed, &[])
    }

    /// The unconstrained position of a draw that was made by [`run`], for a [`Replicator`].
    pub fn position(&self, chain: usize, draw: usize) -> Vec<f64> {
        let (dim, mut workspace) = (self.integrated.dim, self.integrated.workspace());
        let sampled = &self.positions[chain][draw * dim..(draw + 1) * dim];
        let transition = self.first_transition + draw;
        let all = self
            .integrated
            .extend(&mut workspace, sampled, chain, transition);
        all.to_vec()
    }
}

#[cfg(test)]
mod tests;
