//! Densities that somebody else computes: a library of C or of Stan, or anything behind
//! [`LogDensity`](fitzroy::model::foreign::LogDensity), sampled with all that a model has.

use crate::device::{Chosen, Request};
use crate::face::{Face, Note};
use crate::sampling::{Sampling, Source, sampling};
use fitzroy::model::foreign::{self, Foreign};
use fitzroy::run::{Settings, Subject};
use fitzroy::{Error, Result};
use fitzroy_device::choice::Choice;
use std::path::Path;

/// The density of the library at `path`, see [`foreign::open`]; `threads` is how many will call it.
///
/// # Errors
/// A file cannot be read, the library has no such functions, or its program does not take the data.
pub fn open(
    path: &Path,
    data: Option<&Path>,
    seed: u64,
    threads: usize,
    face: &dyn Face,
) -> Result<Foreign<'static>> {
    let found = foreign::open(path, data, seed as u32)?;
    if found.takes_turns && threads > 1 {
        face.tell(Note::Notice(&format!(
            "{} was built without STAN_THREADS: {threads} threads take turns; build it with \
             STAN_THREADS=true to have them work side by side",
            path.display()
        )));
    }
    Ok(found.foreign)
}

/// Samples the density of somebody else; nothing happens before [`Sampling::run`].
///
/// ```
/// use fitzroy::model::foreign::{Foreign, LogDensity, Quantity, Refused};
///
/// struct Normal;
///
/// impl LogDensity for Normal {
///     fn dim(&self) -> usize {
///         1
///     }
///     fn value_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Refused> {
///         gradient[0] = -x[0];
///         Ok(-0.5 * x[0] * x[0])
///     }
/// }
///
/// let foreign = Foreign::new(Normal, vec![Quantity::new("x", &[])], "standard normal")?;
/// let fit = fitzroy_session::density::sample(foreign).draws(2000).run()?;
/// assert!(fit.diagnosis.converged());
/// # Ok::<(), fitzroy::Error>(())
/// ```
pub fn sample<'a, 'f>(foreign: Foreign<'f>) -> Sampling<'a, Foreign<'f>> {
    sampling(foreign, "density")
}

impl<'f> Source for Foreign<'f> {
    type Bound = Foreign<'f>;

    fn bound(self, settings: &Settings) -> Result<Foreign<'f>> {
        Subject::from(&self).check_memory(settings)?;
        Ok(self)
    }

    fn choose(&self, request: &Request) -> Result<Chosen> {
        if let Choice::Gpu(_) | Choice::Gpus(_) = request.asked()? {
            return Err(Error::usage(
                "⟨device cuda⟩ needs a model: a density that somebody else computes runs on this \
                 processor",
            ));
        }
        Request {
            choice: Choice::Cpu,
            ..Request::default()
        }
        .choose()
    }
}
