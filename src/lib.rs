//! Fitzroy fits models to data: from a model, written as text, and data to draws from its
//! posterior that deserve trust.
//!
//! ```
//! use fitzroy::data::Dataset;
//! use fitzroy::diagnose::{SummaryOptions, diagnose};
//! use fitzroy::model::Model;
//! use fitzroy::report::verdict_line;
//! use fitzroy::run::{Caller, Settings, bind, run};
//!
//! let model = Model::parse(
//!     "data y[schools], sigma[schools]
//!      mu             ~ Normal(0, 5)
//!      tau            ~ HalfCauchy(5)
//!      theta[schools] ~ Normal(mu, tau)
//!      y[schools]     ~ Normal(theta, sigma)",
//! )?;
//! let mut data = Dataset::new();
//! data.insert_real("y", &[8], vec![28., 8., -3., 7., -1., 1., 18., 12.]);
//! data.insert_real("sigma", &[8], vec![15., 10., 16., 11., 9., 11., 10., 18.]);
//!
//! let mut settings = Settings::default();
//! settings.sampler.seed = 42;
//! let joint = bind(&model, &data, &settings)?;
//! let outcome = run(&joint, &settings, &Caller::silent())?;
//! let found = diagnose(&outcome.trace, &SummaryOptions::default())?;
//! assert!(found.converged(), "{}", verdict_line(&found));
//! let mu = &found.summary.rows[0];
//! assert_eq!(mu.label(), "mu");
//! assert!((mu.statistics.mean - 4.4).abs() < 0.5);
//! # Ok::<(), fitzroy::Error>(())
//! ```
//!
//! The modules stand in the order in which data flow; none imports one further down:
//! [`rng`] random numbers by counter, [`data`] arrays and the files they come from, [`dist`]
//! distributions, [`model`] the language and the joint density, [`draws`] the trace and its
//! NetCDF file, [`diagnose`] can the draws be trusted, [`fit`] the sampler, [`report`] tables,
//! [`verify`] is the machine fit for work, [`run`] all of it together, [`validate`] known truth,
//! sampled and checked. [`examples`] are models that come along.
//!
//! Nothing here prints, reads a clock or the environment, or keeps global state.

pub mod data;
pub mod diagnose;
pub mod dist;
pub mod draws;
pub mod examples;
pub mod fit;
pub mod model;
pub mod report;
pub mod rng;
pub mod run;
pub mod validate;
pub mod verify;

pub use fitzroy_graph::{Error, ErrorKind, Named, Result, Spelling};
