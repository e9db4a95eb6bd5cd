//! Errors of the library as Python's exceptions.

use fitzroy::{Error, ErrorKind, Named, Spelling};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};
use pyo3::{PyErr, PyResult};

/// The exception that a Python programmer expects for `error`.
pub(crate) fn raised(error: Error) -> PyErr {
    let text = spelled(&error.to_string());
    match error.kind() {
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(text),
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

/// A message with settings as arguments of this package.
pub(crate) fn spelled(text: &str) -> String {
    let mut text = text.to_string();
    for (of_library, here) in CALLED {
        text = text.replace(of_library, here);
    }
    text = fixed(&text);
    Spelling::Arguments.spell(&text).into_owned()
}

/// `⟨fix b=2⟩` as `fixed={'b': 2}`.
fn fixed(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, found)) = rest.split_once("⟨fix ") {
        let Some((said, after)) = found.split_once('⟩') else {
            break;
        };
        let (name, value) = said.split_once('=').unwrap_or((said, "VALUE"));
        out += &format!("{before}fixed={{'{name}': {value}}}");
        rest = after;
    }
    out + rest
}

/// Settings of the library that have another name here: PyMC's, SciPy's, or one of our own.
const CALLED: [(&str, &str); 6] = [
    ("⟨ci ", "⟨confidence "),
    ("⟨seed", "⟨random_seed"),
    ("⟨missing drop⟩", "⟨nan_policy omit⟩"),
    ("⟨var⟩", "var_name"),
    ("⟨overwrite⟩", "overwrite=True"),
    ("⟨centring auto⟩", "as_written=False"),
];

/// The value of `argument` that has this name.
pub(crate) fn named<T: Named>(argument: &str, name: &str) -> PyResult<T> {
    T::named(name).ok_or_else(|| {
        let names: Vec<&str> = T::names().collect();
        unknown(argument, name, &names)
    })
}
