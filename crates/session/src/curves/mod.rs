//! Curves fitted to columns in memory, to columns in files, and to many groups of rows; and their
//! posteriors.
//!
//! ```
//! use fitzroy_curve_fit::{Data, Formula, values};
//! use fitzroy_session::curves::fit;
//!
//! let x: Vec<f64> = (0..50).map(|i| f64::from(i) * 0.1).collect();
//! let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3).collect();
//! let data = Data::new(&y).with("x", &x);
//! let formula = Formula::parse("a*exp(-b*x)+c")?;
//! let fitted = fit(&formula, &data).p0(values([("b", 1.0)])).run()?;
//! assert!(fitted.estimate.converged());
//! assert!((fitted.estimate.popt[1] - 0.5).abs() < 1e-9);
//! # Ok::<(), fitzroy::Error>(())
//! ```

pub mod batch;
pub mod device;
mod fitted;
mod fitting;
pub mod large;
pub mod posterior;
mod watch;

pub use fitted::{Fitted, Outputs};
pub use fitting::{Fitting, fit};
