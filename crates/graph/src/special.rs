//! Scalar special functions, slow and accurate: the definitions that every device is held to.
//!
//! Accuracy is tested against 50-digit values (`tests/golden/special/generate.py`): a few units
//! in the last place unless a function says otherwise.

mod bessel;
mod beta;
mod gamma;
mod normal;
mod quadrature;
#[cfg(test)]
mod tests;

pub use bessel::{i1_over_i0, log_i0};
pub use beta::{beta_inc, beta_inc_inv};
pub use gamma::{deviance, digamma, gamma_p, gamma_q, stirling_error, trigamma};
pub(crate) use normal::{CENTRE, FAR, MIDDLE, Rational};
pub use normal::{erfcx, log_ndtr, log_ndtr_slope, ndtr, ndtri, owens_t};
pub use quadrature::integrate;
