//! The log density of a model text at given values of its parameters.

use crate::arrays::{dataset, matrix, rows};
use crate::errors::raised;
use fitzroy::model::Model;
use fitzroy::run::{LogDensity, Settings, bind};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// `lp` of `text` bound to `data` at each of the rows of `values`, and its slopes by the coordinates
/// as written: `lp` of length n, `slope` of n by d. With slopes of another function by the values,
/// `slopes`, the same by the coordinates: `other`.
///
/// # Errors
/// What is wrong with model, data or values.
#[pyfunction]
#[pyo3(signature = (text, data, values, slopes=None))]
pub(crate) fn log_density<'py>(
    py: Python<'py>,
    text: &str,
    data: &Bound<'py, PyDict>,
    values: &Bound<'py, PyDict>,
    slopes: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let model = Model::parse(text).map_err(raised)?;
    let joint = bind(&model, &dataset(data)?, &Settings::default()).map_err(raised)?;
    let (values, slopes) = (rows(values)?, slopes.map(rows).transpose()?);
    let found = py.detach(|| -> fitzroy::Result<_> {
        let mut density = LogDensity::new(&joint)?;
        let (mut lp, mut slope, mut other) = (Vec::new(), Vec::new(), Vec::new());
        for (k, at) in values.iter().enumerate() {
            let point = density.at(at)?;
            lp.push(point.lp);
            slope.extend(point.slope);
            if let Some(slopes) = slopes.as_ref().and_then(|all| all.get(k)) {
                other.extend(density.by_coordinates(slopes)?);
            }
        }
        Ok((lp, slope, other))
    });
    let (lp, slope, other) = found.map_err(raised)?;
    let out = PyDict::new(py);
    out.set_item("lp", PyArray1::from_vec(py, lp))?;
    out.set_item("slope", matrix(py, slope, joint.n_params())?)?;
    out.set_item("other", matrix(py, other, joint.n_params())?)?;
    Ok(out)
}
