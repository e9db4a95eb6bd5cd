//! What a person or a program reads of a run: tables as text, CSV and JSON. Plain data in, text
//! out; nothing here prints or writes files.

mod csv;
mod json;
mod loo;
mod number;
mod table;
mod text;

#[cfg(test)]
mod tests;

pub use csv::{csv_field, summary_csv};
pub use json::{diagnosis_json, json_number, summary_json};
pub use loo::{comparison_json, loo_json};
pub use number::{r_hat, rounded, whole};
pub use text::{TextOptions, diagnosis_text, findings_text, summary_table, verdict_line};
