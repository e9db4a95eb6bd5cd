//! Errors of the library as Python's exceptions.

use fitzroy::{Error, ErrorKind};
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};

/// The exception that a Python programmer expects for `error`.
pub(crate) fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::Io => PyOSError::new_err(text),
        ErrorKind::Device | ErrorKind::Numerics => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// A value that an argument cannot have.
pub(crate) fn unknown(argument: &str, value: &str, names: &[&str]) -> PyErr {
    let known = names.join("', '");
    PyValueError::new_err(format!(
        "{argument}='{value}' is not known; it is one of '{known}'"
    ))
}
