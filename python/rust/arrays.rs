//! NumPy arrays from vectors of the library, without a copy.

use fitzroy::data::{Array, Dataset, Labels};
use fitzroy::draws::{Attribute, Column, Group, Trace, Variable};
use fitzroy_curve_fit::fit::first_not_finite;
use numpy::{IxDyn, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// What messages call data from Python.
const SOURCE: &str = "data";

/// A matrix of `columns` columns; the vector itself becomes the array.
pub(crate) fn matrix(
    py: Python<'_>,
    values: Vec<f64>,
    columns: usize,
) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let rows = values.len() / columns.max(1);
    PyArray1::from_vec(py, values).reshape([rows, columns])
}

/// Whether all numbers of an array are finite, and it stands in one piece.
#[pyfunction]
pub(crate) fn is_finite(values: PyReadonlyArrayDyn<'_, f64>) -> bool {
    let all = values.as_slice();
    all.is_ok_and(|all| first_not_finite(all).is_none())
}

/// Draws as an array of this shape.
fn column<'py>(py: Python<'py>, values: Column, shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let shape = IxDyn(shape);
    Ok(match values {
        Column::Real(v) => PyArray1::from_vec(py, v).reshape(shape)?.into_any(),
        Column::Integer(v) => PyArray1::from_vec(py, v).reshape(shape)?.into_any(),
        Column::Flag(v) => PyArray1::from_vec(py, v).reshape(shape)?.into_any(),
    })
}

/// Name, dims and array of each variable of a group.
pub(crate) fn group<'py>(py: Python<'py>, group: Group) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for variable in group.variables {
        let dims = PyTuple::new(py, &variable.dims)?;
        let values = column(py, variable.values, &variable.shape)?;
        out.set_item(&variable.name, (dims, values))?;
    }
    Ok(out)
}

/// Labels as an array of whole numbers or a list of text.
pub(crate) fn labels(py: Python<'_>, labels: Labels) -> PyResult<Bound<'_, PyAny>> {
    match labels {
        Labels::Integers(v) => Ok(PyArray1::from_vec(py, v).into_any()),
        Labels::Text(v) => Ok(v.into_pyobject(py)?.into_any()),
    }
}

/// Attributes as a dict.
pub(crate) fn attributes<'py>(
    py: Python<'py>,
    attributes: Vec<(String, Attribute)>,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (name, value) in attributes {
        match value {
            Attribute::Text(v) => out.set_item(name, v)?,
            Attribute::Integer(v) => out.set_item(name, v)?,
            Attribute::Real(v) => out.set_item(name, v)?,
        }
    }
    Ok(out)
}

/// Data by name: arrays of float64, or (shape, labels) of text.
pub(crate) fn dataset(data: &Bound<'_, PyDict>) -> PyResult<Dataset> {
    let mut out = Dataset::new();
    for (name, value) in data.iter() {
        let name: String = name.extract()?;
        if let Ok(array) = value.extract::<PyReadonlyArrayDyn<'_, f64>>() {
            let array = array.as_array();
            let values: Vec<f64> = array.iter().copied().collect();
            out.insert(real(&name, array.shape(), values));
        } else {
            let (shape, labels): (Vec<usize>, Vec<String>) = value.extract()?;
            out.insert(Array::text(&name, &shape, labels, SOURCE));
        }
    }
    Ok(out)
}

/// A trace from its groups, as `{name: {variable: (dims, array)}}`, with labels by dim (`coords`) and
/// text attributes (`attributes`).
pub(crate) fn trace(given: &Bound<'_, PyDict>) -> PyResult<Trace> {
    let part = |name: &str| -> PyResult<Bound<'_, PyDict>> {
        let found = given.get_item(name)?;
        let found = found.ok_or_else(|| PyKeyError::new_err(name.to_string()))?;
        Ok(found.cast_into::<PyDict>()?)
    };
    let mut out = Trace::default();
    for (name, variables) in part("groups")?.iter() {
        let mut group = Group {
            name: name.extract()?,
            ..Group::default()
        };
        for (name, value) in variables.cast::<PyDict>()?.iter() {
            let (dims, array): (Vec<String>, Bound<'_, PyAny>) = value.extract()?;
            let (shape, values) = column_of(&array)?;
            group.variables.push(Variable {
                name: name.extract()?,
                dims,
                shape,
                values,
            });
        }
        out.groups.push(group);
    }
    for (name, values) in part("coords")?.iter() {
        let labels = match values.extract::<Vec<i64>>() {
            Ok(numbers) => Labels::Integers(numbers),
            Err(_) => Labels::Text(values.extract()?),
        };
        out.coords.insert(name.extract()?, labels);
    }
    for (name, value) in part("attributes")?.iter() {
        let (name, value): (String, String) = (name.extract()?, value.extract()?);
        out.attributes.push((name, Attribute::Text(value)));
    }
    Ok(out)
}

fn column_of(array: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, Column)> {
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, f64>>() {
        let array = array.as_array();
        let values = Column::Real(array.iter().copied().collect());
        return Ok((array.shape().to_vec(), values));
    }
    if let Ok(array) = array.extract::<PyReadonlyArrayDyn<'_, i64>>() {
        let array = array.as_array();
        let values = Column::Integer(array.iter().copied().collect());
        return Ok((array.shape().to_vec(), values));
    }
    let array = array.extract::<PyReadonlyArrayDyn<'_, bool>>()?;
    let array = array.as_array();
    let values = Column::Flag(array.iter().copied().collect());
    Ok((array.shape().to_vec(), values))
}

/// For each of the first indices of all arrays, what stands there.
pub(crate) fn rows(data: &Bound<'_, PyDict>) -> PyResult<Vec<Dataset>> {
    let mut out: Vec<Dataset> = Vec::new();
    for (name, value) in data.iter() {
        let name: String = name.extract()?;
        let array = value.extract::<PyReadonlyArrayDyn<'_, f64>>()?;
        let array = array.as_array();
        let rows = array.outer_iter();
        out.resize(rows.len(), Dataset::new());
        for (set, row) in out.iter_mut().zip(rows) {
            set.insert_real(&name, row.shape(), row.iter().copied().collect());
        }
    }
    Ok(out)
}

/// An array in which NaN is a missing value.
fn real(name: &str, shape: &[usize], values: Vec<f64>) -> Array {
    let gaps = values.iter().enumerate().filter(|(_, v)| v.is_nan());
    let missing = gaps.map(|(i, _)| i).collect();
    Array {
        missing,
        ..Array::real(name, shape, values, SOURCE)
    }
}
