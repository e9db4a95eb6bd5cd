//! Runs from model and data to a folder of results: what any face of Fitzroy, be it a program, a
//! notebook or a script, does between what people ask for and what they see.
//!
//! ```
//! use fitzroy::data::Dataset;
//! use fitzroy::model::Model;
//!
//! let model = Model::parse(
//!     "data y[obs]
//!      mu    ~ Normal(0, 10)
//!      sigma ~ HalfNormal(5)
//!      y[obs] ~ Normal(mu, sigma)",
//! )?;
//! let mut data = Dataset::new();
//! let y = vec![1.2, 0.7, 2.3, 1.6, 1.1, 1.9, 1.4, 2.0, 0.9, 1.7, 1.3, 1.8, 1.0, 2.2, 1.5, 1.4];
//! data.insert_real("y", &[16], y);
//!
//! let fit = fitzroy_session::sample(&model, &data).seed(1).run()?;
//! assert!(fit.diagnosis.converged());
//! let mu = &fit.diagnosis.summary.rows[0];
//! assert!((mu.statistics.mean - 1.5).abs() < 0.3);
//! # Ok::<(), fitzroy::Error>(())
//! ```
//!
//! With a [folder](Sampling::folder) the draws are published while they are made, a run that was
//! stopped goes on, and tables, figures and a report are left beside them.
//!
//! - [`sample`], [`Session`]: a model sampled, in one call or step by step;
//! - [`density`]: densities that somebody else computes, sampled as models are;
//! - [`curves`]: curves fitted in memory, by groups and in files, and their posteriors;
//! - [`weather`]: networks trained, scored and asked for forecasts;
//! - [`stop_signal`]: studies of stop-signal tasks fitted;
//! - [`chains`]: the same for a bound model whose folder somebody else has opened;
//! - [`device`]: which device a run goes to, and why;
//! - [`folder`]: the folder of a run, of which nothing of others is ever overwritten;
//! - [`progress`]: how chains stand, for displays and for `progress.json`;
//! - [`face`]: what a session tells those who asked for it;
//! - [`report`], [`traces`]: pages and traces of runs that have ended.
//!
//! Nothing here prints. Unlike the library below it reads the clock, and [`device::places`] the
//! environment.

pub mod chains;
pub mod clock;
pub mod curves;
pub mod density;
pub mod device;
pub mod face;
pub mod folder;
pub mod progress;
pub mod report;
mod sampling;
mod session;
pub mod stop_signal;
pub mod traces;
pub mod weather;

pub use sampling::{Sampling, Source, Text, memory_limit, sample};
pub use session::{Fit, Sampled, Session};
