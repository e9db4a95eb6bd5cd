//! Models in Python, which are read and not run.

use super::document::Document;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::Formula;
use fitzroy_curve_fit::formula::function_in;

/// The function that `model.path` and `model.function` name, with `column` as its first argument.
///
/// # Errors
/// The file cannot be read, has no such function, or one that is more than an expression.
pub(super) fn function(document: &Document, column: &str) -> Result<String> {
    let path = document.needed("model.path")?;
    let name = document.needed("model.function")?;
    let file = std::fs::read_to_string(&path)
        .map_err(|e| Error::new(ErrorKind::Io, format!("model.path: {path}: {e}")))?;
    let context = |e: Error| {
        e.context(format!(
            "model.function: {name} is read as a formula and not run; write one in its place, as `type: \
             expression` and `formula: \"a*exp(-b*x) + c\"`"
        ))
    };
    let found = function_in(&file, &name, column).map_err(context)?;
    let Some(text) = found else {
        return Err(Error::usage(format!(
            "model.function: {path} has no function `{name}`"
        )));
    };
    // Here, so that what is not there names the function.
    Formula::parse(&text).map_err(context)?;
    Ok(text)
}
