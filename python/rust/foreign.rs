//! Sampling of densities that a library, a machine address or Python itself computes.

use crate::errors::raised;
use crate::sampling::{Run, given, settings_of};
use fitzroy::data::Labels;
use fitzroy::fit::sample::Init;
use fitzroy::model::foreign::{Addresses, Foreign, Functions, LogDensity, Quantity, Refused};
use fitzroy::{Error, ErrorKind};
use fitzroy_session::density;
use fitzroy_session::face::silent;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Samples the density that `source` describes; `settings` are those of the run, by name.
///
/// `source` has a `library` and perhaps `data`; or `dim`, `identity`, and the `addresses` of functions
/// of C and of their data, or a `function` and perhaps `expand`. With those come `quantities` (names,
/// dims and shapes), `coords`, and perhaps a `centre`.
///
/// # Errors
/// What is wrong with the density or with settings; what the function raised; `KeyboardInterrupt`
/// before the first draw.
#[pyfunction]
#[pyo3(signature = (source, settings, progress=None))]
pub(crate) fn sample_density<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyDict>,
    settings: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut run_settings = settings_of(settings)?;
    let trouble = Arc::default();
    let foreign = match given::<PathBuf>(source, "library")? {
        Some(path) => {
            let data = given::<PathBuf>(source, "data")?;
            let sampler = &run_settings.sampler;
            let (seed, threads) = (sampler.seed, sampler.threads);
            density::open(&path, data.as_deref(), seed, threads, &*silent()).map_err(raised)?
        }
        None => described(source, &trouble)?,
    };
    if let Some(points) = given::<PyReadonlyArray2<'_, f64>>(settings, "points")? {
        let rows = points.as_array();
        let points = rows.rows().into_iter().map(|row| row.to_vec());
        run_settings.sampler.init = Init::Points(points.collect());
    }
    let sampling = density::sample(foreign).settings(run_settings);
    let out = Run::new(settings, progress)?.ran(py, sampling, |s| s.run());
    let said = trouble
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match said {
        Some(error) => Err(error),
        None => out,
    }
}

/// What a Python function raised first.
type Trouble = Arc<Mutex<Option<PyErr>>>;

fn needed<'py, T>(source: &Bound<'py, PyDict>, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let missing = || PyValueError::new_err(format!("the density has no {name}"));
    given(source, name)?.ok_or_else(missing)
}

fn described(source: &Bound<'_, PyDict>, trouble: &Trouble) -> PyResult<Foreign<'static>> {
    let dim: usize = needed(source, "dim")?;
    let identity: String = needed(source, "identity")?;
    let quantities: Vec<(String, Vec<String>, Vec<usize>)> = needed(source, "quantities")?;
    let quantities =
        quantities
            .into_iter()
            .map(|(name, dims, shape)| Quantity { name, dims, shape });
    let quantities = quantities.collect();
    let addresses: Option<(usize, usize, usize, usize)> = given(source, "addresses")?;
    let foreign = match addresses {
        Some((density, density_data, expand, expand_data)) => {
            let addresses = Addresses {
                density,
                density_data,
                expand,
                expand_data,
            };
            let functions = Functions::at(addresses, dim).map_err(raised)?;
            Foreign::new(functions, quantities, &identity)
        }
        None => {
            let callback = Callback {
                dim,
                function: needed(source, "function")?,
                expand: given(source, "expand")?,
                trouble: Arc::clone(trouble),
            };
            Foreign::new(callback, quantities, &identity)
        }
    };
    let mut foreign = foreign.map_err(raised)?;
    if let Some(coords) = given::<Bound<'_, PyDict>>(source, "coords")? {
        for (dim, values) in coords {
            let labels = match values.extract::<Vec<i64>>() {
                Ok(numbers) => Labels::Integers(numbers),
                Err(_) => Labels::Text(values.extract()?),
            };
            foreign = foreign
                .with_labels(&dim.extract::<String>()?, labels)
                .map_err(raised)?;
        }
    }
    match given::<PyReadonlyArray1<'_, f64>>(source, "centre")? {
        None => Ok(foreign),
        Some(centre) => {
            let centre = centre.as_array().to_vec();
            foreign.centred_at(centre).map_err(raised)
        }
    }
}

fn no_pair(given: &Bound<'_, PyAny>) -> PyErr {
    let kind = given
        .get_type()
        .name()
        .map_or_else(|_| "something else".into(), |n| n.to_string());
    PyTypeError::new_err(format!(
        "the function needs to give the log density and an array of its slopes; it gave one {kind}"
    ))
}

/// A density that Python computes, one call at a time.
struct Callback {
    dim: usize,
    /// Gives the log density at an array, and an array of its slopes.
    function: Py<PyAny>,
    /// Gives all numbers that are recorded of an array.
    expand: Option<Py<PyAny>>,
    trouble: Trouble,
}

impl Callback {
    /// Keeps what Python raised, while an error of ours goes through the library.
    fn kept(&self, error: PyErr) -> Refused {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.get_or_insert(error);
        let message = "the Python function raised";
        Refused::Ever(Error::new(ErrorKind::Numerics, message))
    }
}

impl LogDensity for Callback {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64, Refused> {
        let called = Python::attach(|py| {
            let given = self.function.call1(py, (PyArray1::from_slice(py, x),))?;
            let pair = given.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>(py);
            let (value, slopes) = pair.map_err(|_| no_pair(given.bind(py)))?;
            filled(&slopes, gradient, "slopes")?;
            value.extract::<f64>()
        });
        called.map_err(|error| self.kept(error))
    }

    fn expand(&self, x: &[f64], _: u64, out: &mut [f64]) -> Result<(), Refused> {
        let Some(expand) = &self.expand else {
            out.copy_from_slice(x);
            return Ok(());
        };
        let called = Python::attach(|py| {
            let given = expand.call1(py, (PyArray1::from_slice(py, x),))?;
            filled(given.bind(py), out, "numbers to record")
        });
        called.map_err(|error| self.kept(error))
    }
}

/// Puts the elements of an array of any kind into `out`.
fn filled(given: &Bound<'_, PyAny>, out: &mut [f64], what: &str) -> PyResult<()> {
    let numpy = given.py().import("numpy")?;
    let array = numpy.call_method1("ravel", (given,))?;
    let array = numpy.call_method1("asarray", (array, "float64"))?;
    let array: PyReadonlyArray1<'_, f64> = array.extract()?;
    let array = array.as_array();
    if array.len() != out.len() {
        return Err(PyValueError::new_err(format!(
            "the function gave {} {what}, and {} were expected",
            array.len(),
            out.len()
        )));
    }
    for (to, from) in out.iter_mut().zip(array.iter()) {
        *to = *from;
    }
    Ok(())
}
