//! Stop-signal models: a simulator, the data, a model of the language for them, posterior
//! predictive checks and figures. The likelihood itself is the distribution `StopSignal`.
#![forbid(unsafe_code)]

pub mod check;
pub mod combine;
pub mod config;
pub mod correlations;
pub mod covariates;
pub mod coverage;
pub mod data;
pub mod exclude;
pub mod figure;
pub mod integration;
pub mod layout;
pub mod loglik;
pub mod model;
pub mod params;
pub mod predictive;
pub mod priors;
pub mod simulate;
pub mod start;
