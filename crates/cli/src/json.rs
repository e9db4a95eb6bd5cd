//! JSON as the program writes it.

use crate::terminal;
pub(crate) use fitzroy::report::json_number as number;
use serde_json::Value;

/// Prints one document on stdout.
pub(crate) fn print(document: &Value) {
    terminal::out(format_args!("{document:#}"));
}
