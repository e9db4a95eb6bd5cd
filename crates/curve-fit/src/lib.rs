//! Least squares for curves: any formula, from ten points to files larger than memory, and
//! thousands of small fits, with error bars that are right.
//!
//! The modules stand in the order in which data flow: [`library`] built-in curves, [`formula`]
//! from text to derivatives, [`pass`] one pass through the data, [`method`] least squares for
//! anything that gives cost, gradient and normal matrix, [`fit`] all of it together, [`source`] files and how their
//! columns become data, [`posterior`] the same curve for the sampler, [`report`] text, JSON,
//! figures and pages.
//!
//! Nothing here prints, reads a clock or the environment, or keeps global state.
#![forbid(unsafe_code)]

pub mod batch;
mod closure;
pub mod fit;
pub mod formula;
pub mod library;
pub mod method;
pub mod pass;
pub mod posterior;
pub mod report;
pub mod source;

pub use closure::{ClosureEstimate, ClosureFit};
pub use fit::{
    CovarianceKind, CurveFit, Data, Estimate, Finish, Method, Options, Progressive, Restarts,
    Scale, Sigma, curve_fit, values,
};
pub use fitzroy::dist::Real;
pub use fitzroy_graph::Expr;
pub use formula::{Curve, Formula, Loss};
pub use source::{LargeOptions, curve_fit_large};
