//! Least squares for residuals that Python computes.

use crate::arrays::matrix;
use crate::errors::raised;
use fitzroy::{Error, ErrorKind};
use fitzroy_curve_fit::method::foreign::{Fill, Foreign, Solved, least_squares as solve};
use fitzroy_curve_fit::method::{Bounds, Limits, Minimise, Next, Progress, lm, trf};
use numpy::{PyArray1, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;

/// Minimises ½ Σ r² of `residuals(theta)`, an array of `n` numbers. `jacobian(theta)` is an array of
/// n rows and a column for each parameter; without it the Jacobian is made of differences.
/// `loss(residuals)` is an array of two rows: what each residual adds in the place of r², and the
/// weights of residuals in the gradient.
#[pyfunction]
#[pyo3(signature = (residuals, jacobian, n, p0, lower, upper, *, method, xtol, ftol, gtol, max_evaluations, loss=None))]
pub(crate) fn least_squares<'py>(
    py: Python<'py>,
    residuals: Py<PyAny>,
    jacobian: Option<Py<PyAny>>,
    n: usize,
    p0: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    method: &str,
    xtol: f64,
    ftol: f64,
    gtol: f64,
    max_evaluations: usize,
    loss: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let limits = Limits {
        xtol,
        ftol,
        gtol,
        max_evaluations,
    };
    let steps: Minimise = match method {
        "trf" => trf::minimise,
        _ => lm::minimise,
    };
    // What Python raised, kept while the library hands an error of its own up.
    let trouble = RefCell::new(None);
    let mut values = filled(py, residuals, &trouble);
    let mut slopes = jacobian.map(|jacobian| filled(py, jacobian, &trouble));
    let mut weighed = loss.map(|loss| filled(py, loss, &trouble));
    let foreign = Foreign {
        n,
        residuals: &mut values,
        jacobian: slopes.as_mut().map(|fill| fill as &mut Fill<'_>),
        loss: weighed.as_mut().map(|fill| fill as &mut Fill<'_>),
    };
    let bounds = Bounds { lower, upper };
    let watch = &mut |_: &Progress<'_>| match py.check_signals() {
        Ok(()) => Next::Continue,
        Err(error) => {
            *trouble.borrow_mut() = Some(error);
            Next::Interrupt
        }
    };
    let solved = solve(foreign, &p0, &bounds, &limits, steps, watch);
    if let Some(error) = trouble.take() {
        return Err(error);
    }
    dict(py, solved.map_err(raised)?, p0.len())
}

/// `function` as something that fills an array.
fn filled(
    py: Python<'_>,
    function: Py<PyAny>,
    trouble: &RefCell<Option<PyErr>>,
) -> impl FnMut(&[f64], &mut [f64]) -> fitzroy::Result<()> {
    move |theta, out| {
        called(py, &function, theta, out).map_err(|error| {
            *trouble.borrow_mut() = Some(error);
            Error::new(ErrorKind::Numerics, "the Python function raised")
        })
    }
}

fn called(py: Python<'_>, function: &Py<PyAny>, theta: &[f64], out: &mut [f64]) -> PyResult<()> {
    let value = function.call1(py, (PyArray1::from_slice(py, theta),))?;
    let value: PyReadonlyArrayDyn<'_, f64> = value.extract(py)?;
    let value = value.as_array();
    if value.len() != out.len() {
        return Err(PyValueError::new_err(format!(
            "the function gave {} numbers, and {} were expected",
            value.len(),
            out.len()
        )));
    }
    for (to, from) in out.iter_mut().zip(value.iter()) {
        *to = *from;
    }
    Ok(())
}

fn dict(py: Python<'_>, solved: Solved, p: usize) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    let minimum = solved.minimum;
    out.set_item("status", minimum.status.name())?;
    out.set_item("converged", minimum.status.converged())?;
    out.set_item("cost", minimum.moments.cost)?;
    out.set_item("evaluations", solved.evaluations)?;
    out.set_item("popt", PyArray1::from_vec(py, minimum.theta))?;
    out.set_item("residuals", PyArray1::from_vec(py, solved.residuals))?;
    out.set_item("jacobian", matrix(py, solved.jacobian, p)?)?;
    let covariance = solved.covariance.map(|c| matrix(py, c, p)).transpose()?;
    out.set_item("covariance", covariance)?;
    out.set_item("rank", solved.rank.map(|rank| rank.rank))?;
    Ok(out)
}
