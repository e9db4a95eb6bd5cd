//! Log densities that somebody else computes: a function of C, a Stan program, a callback.
//!
//! ```
//! use fitzroy::model::foreign::{Foreign, LogDensity, Quantity, Refused};
//! use fitzroy::run::{Caller, Settings, run};
//!
//! /// log σ of a half-normal number σ.
//! struct HalfNormal;
//!
//! impl LogDensity for HalfNormal {
//!     fn dim(&self) -> usize {
//!         1
//!     }
//!     fn value_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Refused> {
//!         let squared = (2.0 * x[0]).exp();
//!         gradient[0] = 1.0 - squared;
//!         Ok(x[0] - 0.5 * squared)
//!     }
//!     fn expand(&self, x: &[f64], _: u64, out: &mut [f64]) -> Result<(), Refused> {
//!         out[0] = x[0].exp();
//!         Ok(())
//!     }
//! }
//!
//! let foreign = Foreign::new(HalfNormal, vec![Quantity::new("sigma", &[])], "half-normal")?;
//! let outcome = run(&foreign, &Settings::default(), &Caller::silent())?;
//! let sigma = &outcome.trace.group("posterior").expect("always there").variables[0];
//! assert_eq!((&*sigma.name, &sigma.shape[..]), ("sigma", &[4, 1000][..]));
//! # Ok::<(), fitzroy::Error>(())
//! ```

mod library;
mod names;

pub use fitzroy_device::foreign::{Addresses, Functions, Refused};
pub use library::{Found, open};
pub use names::{Order, quantities};

use crate::data::Labels;
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// A log density with its gradient, which threads call side by side.
pub trait LogDensity: Sync {
    /// Number of unconstrained coordinates.
    fn dim(&self) -> usize;

    /// ℓ(x), up to a constant, and its slopes into `gradient` (both of length `dim`). What is not finite
    /// ends a trajectory as a divergence, and so does [`Refused::Here`].
    ///
    /// # Errors
    /// There is no density at `x`, or nothing can go on: the run then ends with the error.
    fn value_and_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
    ) -> std::result::Result<f64, Refused>;

    /// The elements of all quantities of a draw at `x`, each row-major, one after the other. What is
    /// drawn for it depends on `seed` alone, which is another one for every draw. x itself unless said
    /// otherwise.
    ///
    /// # Errors
    /// It cannot be computed at `x`, where NaN is recorded; or nothing can go on.
    fn expand(&self, x: &[f64], seed: u64, out: &mut [f64]) -> std::result::Result<(), Refused> {
        let _ = seed;
        out.copy_from_slice(x);
        Ok(())
    }
}

/// Something that is recorded of every draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name.
    pub name: String,
    /// Its dims, by name.
    pub dims: Vec<String>,
    /// Its sizes along them.
    pub shape: Vec<usize>,
}

impl Quantity {
    /// A quantity whose dims are called as ArviZ calls those without names: `theta_dim_0`, ...
    pub fn new(name: &str, shape: &[usize]) -> Self {
        let dims = (0..shape.len()).map(|k| format!("{name}_dim_{k}"));
        Quantity {
            name: name.into(),
            dims: dims.collect(),
            shape: shape.to_vec(),
        }
    }

    /// Number of its elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

/// A log density with what is recorded of its draws: what can be sampled in the place of a model.
pub struct Foreign<'a> {
    density: Box<dyn LogDensity + Send + 'a>,
    quantities: Vec<Quantity>,
    labels: BTreeMap<String, Labels>,
    centre: Vec<f64>,
    identity: String,
    data: String,
}

/// Names that dims of draws have.
const TAKEN: [&str; 2] = ["chain", "draw"];

impl<'a> Foreign<'a> {
    /// `density` and its `quantities`. `identity` says which density it is: a run of another one is
    /// never resumed with it.
    ///
    /// # Errors
    /// It has no coordinates; a name stands twice, or is one that draws have; dims of one name have
    /// different sizes.
    pub fn new(
        density: impl LogDensity + Send + 'a,
        quantities: Vec<Quantity>,
        identity: &str,
    ) -> Result<Self> {
        let dim = density.dim();
        if dim == 0 {
            let message = "the density has no coordinates: there is nothing to sample";
            return Err(Error::data(message));
        }
        let mut names = BTreeSet::new();
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for quantity in &quantities {
            let name = &quantity.name;
            if name.is_empty() || !names.insert(name) {
                let message =
                    format!("the quantities have the name `{name}` twice, or an empty one");
                return Err(Error::data(message));
            }
            if quantity.dims.len() != quantity.shape.len() {
                let (dims, shape) = (quantity.dims.len(), quantity.shape.len());
                let message = format!("`{name}` has {dims} names of dims and {shape} sizes");
                return Err(Error::data(message));
            }
            for (dim, &size) in quantity.dims.iter().zip(&quantity.shape) {
                let known = *sizes.entry(dim).or_insert(size);
                if TAKEN.contains(&dim.as_str()) {
                    let message =
                        format!("`{name}` has a dim `{dim}`, as draws have; call it otherwise");
                    return Err(Error::data(message));
                }
                if known != size {
                    let message =
                        format!("`{name}` has {size} elements along `{dim}`, others {known}");
                    return Err(Error::data(message));
                }
            }
        }
        Ok(Foreign {
            density: Box::new(density),
            quantities,
            labels: BTreeMap::new(),
            centre: vec![0.0; dim],
            identity: identity.into(),
            data: String::new(),
        })
    }

    /// The same with labels along `dim`.
    ///
    /// # Errors
    /// They are not as many as its elements. A dim that no quantity has is passed over.
    pub fn with_labels(mut self, dim: &str, labels: Labels) -> Result<Self> {
        match self.size(dim) {
            Some(size) if size != labels.len() => {
                let n = labels.len();
                let message = format!("`{dim}` has {size} elements and {n} labels");
                Err(Error::data(message))
            }
            Some(_) => {
                self.labels.insert(dim.into(), labels);
                Ok(self)
            }
            None => Ok(self),
        }
    }

    /// The same with starting points around `centre` instead of the origin.
    ///
    /// # Errors
    /// It has not one finite number for each coordinate.
    pub fn centred_at(mut self, centre: Vec<f64>) -> Result<Self> {
        let (got, needed) = (centre.len(), self.dim());
        if got != needed {
            let message = format!("the centre has {got} numbers, the density {needed} coordinates");
            return Err(Error::data(message));
        }
        if let Some(k) = centre.iter().position(|x| !x.is_finite()) {
            let message = format!("the centre is {} in coordinate {k}", centre[k]);
            return Err(Error::data(message));
        }
        self.centre = centre;
        Ok(self)
    }

    /// The same with a word for its data, which a run that goes on must have had, too.
    #[must_use]
    pub fn with_data(mut self, identity: &str) -> Self {
        self.data = identity.into();
        self
    }

    /// Number of unconstrained coordinates.
    pub fn dim(&self) -> usize {
        self.density.dim()
    }

    /// The density.
    pub fn density(&self) -> &(dyn LogDensity + Send + 'a) {
        &*self.density
    }

    /// What is recorded of a draw, in the order in which [`LogDensity::expand`] gives it.
    pub fn quantities(&self) -> &[Quantity] {
        &self.quantities
    }

    /// Numbers recorded of a draw.
    pub fn n_recorded(&self) -> usize {
        self.quantities.iter().map(Quantity::elements).sum()
    }

    /// The point around which starting points are scattered.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Which density it is, and which data it has.
    pub fn identity(&self) -> (&str, &str) {
        (&self.identity, &self.data)
    }

    /// Labels along `dim`: those that were given, or 0, 1, 2, ...; none if no quantity has it.
    pub fn labels(&self, dim: &str) -> Option<Labels> {
        let count = |size| Labels::Integers((0..size as i64).collect());
        let given = self.labels.get(dim).cloned();
        given.or_else(|| self.size(dim).map(count))
    }

    fn size(&self, dim: &str) -> Option<usize> {
        self.quantities.iter().find_map(|q| {
            let at = q.dims.iter().position(|d| d == dim)?;
            Some(q.shape[at])
        })
    }
}

impl LogDensity for Functions {
    fn dim(&self) -> usize {
        Functions::dim(self)
    }

    fn value_and_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
    ) -> std::result::Result<f64, Refused> {
        self.log_density(x, gradient)
    }

    fn expand(&self, x: &[f64], _: u64, out: &mut [f64]) -> std::result::Result<(), Refused> {
        Functions::expand(self, x, out)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
