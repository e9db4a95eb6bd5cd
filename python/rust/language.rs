//! Names of the language of models: its distributions and functions.

use fitzroy::model::families::{families, family, unknown as unknown_family};
use fitzroy::model::functions::{FUNCTIONS, function, unknown};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

/// All distributions and functions.
#[pyfunction]
pub(crate) fn names() -> Vec<&'static str> {
    let functions = FUNCTIONS.iter().map(|f| f.name);
    families().iter().map(|f| f.name).chain(functions).collect()
}

/// How a distribution or a function is called; `AttributeError` for what is neither, with what may
/// have been meant.
#[pyfunction]
pub(crate) fn usage(name: &str) -> PyResult<String> {
    if let Some(found) = family(name) {
        return Ok(found.usage());
    }
    if let Some(found) = function(name) {
        return Ok(format!("`{}`: {}", found.usage(), found.meaning));
    }
    Err(PyAttributeError::new_err(
        match name.starts_with(char::is_uppercase) {
            true => unknown_family(name),
            false => unknown(name),
        },
    ))
}
