//! NUTS and other samplers: draws from any log density with a gradient.
//!
//! [`sample`] takes a [`Posterior`] and gives a [`Run`]. In reading order: the hot loops
//! (`vector`, `normals`), the tree, the metric, the trajectory, step size, metric estimation,
//! starting points, one chain, the warm-up of all chains, and the whole run.
//!
//! ```
//! use fitzroy::fit::sample::{Posterior, Settings, Silent, Target, sample};
//! use std::sync::atomic::AtomicBool;
//!
//! /// Two independent standard normal numbers.
//! struct Normal;
//!
//! impl Target for Normal {
//!     fn dim(&self) -> usize {
//!         2
//!     }
//!     fn value_and_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
//!         gradient[0] = -x[0];
//!         gradient[1] = -x[1];
//!         -0.5 * (x[0] * x[0] + x[1] * x[1])
//!     }
//! }
//!
//! impl Posterior for Normal {
//!     type Target = Normal;
//!     fn dim(&self) -> usize {
//!         2
//!     }
//!     fn target(&self) -> Normal {
//!         Normal
//!     }
//! }
//!
//! let settings = Settings { tune: 200, draws: 100, ..Settings::default() };
//! let run = sample(&mut Normal, &settings, &Silent, &AtomicBool::new(false))?;
//! assert_eq!(run.chains.len(), 4);
//! assert_eq!(run.chains[0].positions.len(), 100 * 2);
//! assert_eq!(run.n_divergences(), 0);
//! # Ok::<(), fitzroy::Error>(())
//! ```
//!
//! # Blocks, checkpoints, going on
//!
//! [`sample_in_blocks`] shows the run in blocks: all chains meet after the number of transitions
//! that the last block asked for, at the ends of the warm-up's windows and at the end. A [`Block`]
//! has the new draws and can make a [`Checkpoint`], which goes through bytes and from which a run
//! goes on, bit for bit as if it had never stopped.
//!
//! ```
//! # use fitzroy::fit::sample::{Posterior, Settings, Silent, Target};
//! # use fitzroy::fit::sample::{Block, Checkpoint, Next, sample, sample_in_blocks};
//! # use std::sync::atomic::AtomicBool;
//! # struct Normal;
//! # impl Target for Normal {
//! #     fn dim(&self) -> usize { 1 }
//! #     fn value_and_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
//! #         gradient[0] = -x[0];
//! #         -0.5 * x[0] * x[0]
//! #     }
//! # }
//! # impl Posterior for Normal {
//! #     type Target = Normal;
//! #     fn dim(&self) -> usize { 1 }
//! #     fn target(&self) -> Normal { Normal }
//! # }
//! # let never = AtomicBool::new(false);
//! let settings = Settings { tune: 100, draws: 60, ..Settings::default() };
//! let mut saved = Vec::new();
//! let mut stop_after_20 = |block: &Block<'_>| {
//!     // Here a program would write the draws `block.new` and then the checkpoint.
//!     saved = block.checkpoint().to_bytes();
//!     match block.done == 20 && !block.new.is_empty() {
//!         true => Next::Stop,
//!         false => Next::After(10),
//!     }
//! };
//! let first =
//!     sample_in_blocks(&mut Normal, &settings, &Silent, &never, None, &mut stop_after_20)?;
//!
//! let from = Checkpoint::from_bytes(&saved)?;
//! let mut quietly = |_: &Block<'_>| Next::After(usize::MAX);
//! let rest =
//!     sample_in_blocks(&mut Normal, &settings, &Silent, &never, Some(&from), &mut quietly)?;
//! assert_eq!((first.n_draws(), rest.first_draw, rest.n_draws()), (20, 20, 40));
//! let whole = sample(&mut Normal, &settings, &Silent, &never)?;
//! let both = [&first.chains[0].positions[..], &rest.chains[0].positions[..]].concat();
//! assert_eq!(both, whole.chains[0].positions);
//! # Ok::<(), fitzroy::Error>(())
//! ```

mod beside;
mod blocks;
mod chain;
mod checkpoint;
mod dense;
mod dice;
mod elsewhere;
mod entangled;
mod estimate;
mod flights;
mod independence;
pub mod kernel;
mod low_rank;
mod metric;
mod mirrors;
mod normal_path;
mod normals;
mod past_turn;
mod pathfinder;
mod pool;
mod rotation;
mod run;
mod settings;
mod settled;
mod sparse;
mod start;
mod statistics;
mod step_size;
mod strictness;
mod trajectory;
mod tree;
mod until;
mod vector;
mod warmup;
mod windows;

pub use blocks::{Block, Blocks, Next};
pub use checkpoint::Checkpoint;
pub use entangled::Plates;
pub use independence::Independence;
pub use metric::MetricKind;
pub use mirrors::Mirrors;
pub use past_turn::PastTurn;
pub use rotation::Integrator;
pub use run::{Restart, Run, sample, sample_in_blocks};
pub use settings::{Adapt, Init, Sampler, Settings};
pub use start::Scatter;
pub use statistics::{Draws, Statistics};
pub use tree::MAX_ENERGY_ERROR;
pub use until::Until;

pub(crate) use normals::{Stream, fill as fill_normals};
pub(crate) use start::{ATTEMPTS, places};

use crate::Result;

/// A log density and its gradient; every chain owns one, with its workspace.
pub trait Target {
    /// Number of unconstrained coordinates.
    fn dim(&self) -> usize;
    /// ℓ(`position`), up to a constant, and its slopes into `gradient` (both of length `dim`).
    ///
    /// A value that is not finite ends a trajectory as a divergence. Must not allocate if the
    /// sampler is not to.
    fn value_and_gradient(&mut self, position: &[f64], gradient: &mut [f64]) -> f64;
}

/// Maps a position in the old coordinates to the new ones, in place.
pub type CoordinateMap = Box<dyn Fn(&mut [f64]) + Send + Sync>;

/// What chains sample from: makes targets, and may change its coordinates during warm-up.
pub trait Posterior: Sync {
    /// What evaluates it.
    type Target: Target + Send;

    /// Number of unconstrained coordinates; the same in all coordinate systems.
    fn dim(&self) -> usize;

    /// A fresh evaluator in the present coordinates.
    fn target(&self) -> Self::Target;

    /// The intervals that starting points are drawn from, one for each coordinate: within 1 of the
    /// origin unless said otherwise.
    fn scatter(&self) -> Vec<Scatter> {
        vec![Scatter::default(); self.dim()]
    }

    /// Rough cost of one gradient, in floating-point operations. It only weighs the price of a
    /// dense metric, and is no measurement, so that a run never depends on timing.
    fn gradient_cost(&self) -> f64 {
        50.0 * self.dim() as f64
    }

    /// Which coordinates belong to the same element of a plate, for metrics that are dense within
    /// elements; no coordinate twice. None unless said otherwise.
    fn plates(&self) -> Plates {
        Plates::new()
    }

    /// Sets of present coordinates that can change sign together without changing the density; the
    /// first of each says on which side a point is. `position` is one of finite density. None
    /// unless said otherwise.
    fn mirrors(&mut self, position: &[f64]) -> Mirrors {
        let _ = position;
        Mirrors::new()
    }

    /// The present coordinates, for a checkpoint; [`Posterior::restore`] understands them.
    /// Nothing unless said otherwise.
    fn coordinates(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Goes back to coordinates that [`Posterior::coordinates`] gave, perhaps of another process.
    ///
    /// # Errors
    /// They are not of this posterior.
    fn restore(&mut self, coordinates: &[u8]) -> Result<()> {
        match coordinates {
            [] => Ok(()),
            _ => Err(checkpoint::wrong("it is of another posterior")),
        }
    }

    /// Chooses new coordinates from the recent warm-up draws of all chains and the gradients
    /// there (both row-major, `n × dim`), at the ends of the early warm-up windows.
    ///
    /// If they change, returns the map from old to new positions; the sampler then maps every
    /// stored position and makes new targets. `last` is true for the last chance. Not called
    /// under [`Adapt::PerChain`].
    fn recoordinate(
        &mut self,
        positions: &[f64],
        gradients: &[f64],
        last: bool,
    ) -> Option<CoordinateMap> {
        let _ = (positions, gradients, last);
        None
    }

    /// What makes the transitions instead of threads of this process; none unless said otherwise.
    /// Asked for before every stretch of transitions, for the present coordinates.
    fn remote(&self) -> Option<kernel::Remote<'_>> {
        None
    }
}

/// Which part of a run a chain is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Adapting; these draws are not part of the result.
    Warmup,
    /// Drawing.
    Sampling,
}

/// A chain has finished a transition.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Which chain, from 0.
    pub chain: usize,
    /// Which part of the run.
    pub phase: Phase,
    /// Transitions finished in this part.
    pub done: usize,
    /// Transitions in this part.
    pub total: usize,
    /// Divergences in this part.
    pub divergences: usize,
    /// Step size of this transition.
    pub step_size: f64,
    /// Leapfrog steps of this chain so far, warm-up included.
    pub leapfrogs: u64,
    /// The draw.
    pub position: &'a [f64],
}

/// Is told of every transition, from the threads that run the chains.
pub trait Observer: Sync {
    /// A chain has finished a transition. Called for every one: return quickly.
    fn event(&self, event: &Event<'_>);

    /// A machine is made ready to run a kernel, or now is. All chains wait meanwhile, for the text may
    /// have to be compiled.
    fn loading(&self, _: Loading) {}

    /// The machine that people call `label` has failed and takes no further part; its chains go on
    /// elsewhere, from what it had handed back.
    fn lost(&self, label: &str, why: &crate::Error) {
        let _ = (label, why);
    }
}

/// How far a kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loading {
    /// The machine is asked for it.
    Begins,
    /// It can be launched.
    Ended,
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event<'_>) {}
}

#[cfg(test)]
mod targets;
#[cfg(test)]
mod tests;
