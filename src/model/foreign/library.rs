//! Libraries with a density: opened, and known by their content.

use super::names::Order;
use super::{Foreign, Functions, LogDensity, Quantity, Refused, quantities};
use crate::{Error, ErrorKind, Result};
use fitzroy_device::foreign::{Library, Stan, hash_of_file};
use std::path::Path;
use std::sync::Arc;

/// A density in a library.
pub struct Found {
    /// What is sampled.
    pub foreign: Foreign<'static>,
    /// Whether threads take turns in it, because a Stan program was built without `STAN_THREADS`.
    pub takes_turns: bool,
}

/// The density of the library at `path`: a Stan program that BridgeStan compiled, with the JSON of its
/// `data`; or the functions `log_density` and `log_density_dim`, which take none.
///
/// The run is that of the library's content and of the data: neither may be another one when it goes on.
/// `seed` is that of the program's `transformed data`.
///
/// # Errors
/// A file cannot be read, the library has no such functions, or the program does not take the data.
pub fn open(path: &Path, data: Option<&Path>, seed: u32) -> Result<Found> {
    let library = Arc::new(Library::open(path)?);
    let identity = format!("{:016x}", hash_of_file(library.path())?);
    if !Stan::is_in(&library) {
        if let Some(data) = data {
            return Err(Error::usage(format!(
                "⟨data {}⟩: the library {} takes no data; a Stan program that BridgeStan compiled does",
                data.display(),
                path.display()
            )));
        }
        let foreign = functions(&library, &identity).map_err(|e| e.context(path.display()))?;
        return Ok(Found {
            foreign,
            takes_turns: false,
        });
    }
    let text = data.map(|data| {
        let read = std::fs::read_to_string(data);
        read.map_err(|error| Error::new(ErrorKind::Io, format!("{}: {error}", data.display())))
    });
    let stan = Stan::new(&library, text.transpose()?.as_deref(), seed)?;
    let takes_turns = stan.takes_turns();
    let (quantities, order) = quantities(&stan.names()).map_err(|e| e.context(path.display()))?;
    let program = Program { stan, order };
    let foreign = Foreign::new(program, quantities, &identity);
    let foreign = foreign.map_err(|e| e.context(path.display()))?;
    let data = data.map_or(Ok(0), hash_of_file)?;
    Ok(Found {
        foreign: foreign.with_data(&format!("{data:016x}-{seed}")),
        takes_turns,
    })
}

fn functions(library: &Arc<Library>, identity: &str) -> Result<Foreign<'static>> {
    let (functions, names) = Functions::of(library)?;
    let dim = functions.dim();
    let Some(names) = names else {
        if functions.expands() {
            let message =
                "`log_density_expand` needs `log_density_names`, which says what it gives";
            return Err(Error::usage(message));
        }
        return Foreign::new(functions, vec![Quantity::new("x", &[dim])], identity);
    };
    let (quantities, order) = quantities(&names)?;
    let n: usize = quantities.iter().map(Quantity::elements).sum();
    if !functions.expands() && n != dim {
        return Err(Error::usage(format!(
            "`log_density_names` has {n} names for {dim} coordinates; without `log_density_expand` they \
             are the coordinates"
        )));
    }
    Foreign::new(Named { functions, order }, quantities, identity)
}

/// Functions whose numbers are named in any order.
struct Named {
    functions: Functions,
    order: Order,
}

impl LogDensity for Named {
    fn dim(&self) -> usize {
        self.functions.dim()
    }

    fn value_and_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
    ) -> std::result::Result<f64, Refused> {
        self.functions.log_density(x, gradient)
    }

    fn expand(&self, x: &[f64], _: u64, out: &mut [f64]) -> std::result::Result<(), Refused> {
        ordered(&self.order, out, |numbers| {
            self.functions.expand(x, numbers)
        })
    }
}

/// A Stan program.
struct Program {
    stan: Stan,
    order: Order,
}

impl LogDensity for Program {
    fn dim(&self) -> usize {
        self.stan.dim()
    }

    fn value_and_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
    ) -> std::result::Result<f64, Refused> {
        self.stan.log_density(x, gradient)
    }

    fn expand(&self, x: &[f64], seed: u64, out: &mut [f64]) -> std::result::Result<(), Refused> {
        // The generators of Stan have seeds of 32 bits.
        let seed = (seed ^ (seed >> 32)) as u32;
        ordered(&self.order, out, |numbers| {
            self.stan.constrain(x, seed, numbers)
        })
    }
}

/// What `fill` gives, in `order`.
fn ordered(
    order: &Order,
    out: &mut [f64],
    fill: impl FnOnce(&mut [f64]) -> std::result::Result<(), Refused>,
) -> std::result::Result<(), Refused> {
    if order.is_plain() {
        return fill(out);
    }
    let mut numbers = vec![0.0; out.len()];
    fill(&mut numbers)?;
    order.put(&numbers, out);
    Ok(())
}
