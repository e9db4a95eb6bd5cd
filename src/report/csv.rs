//! The summary as CSV, in full precision.

use super::json::{interval_key, numbers, spelled};
use crate::diagnose::{Label, Summary};

/// One line per row: `name`, `index` (positions from 0, separated by spaces), `labels` (separated
/// by `; `), then the numbers as in the JSON. Fields are quoted where commas or quotes need it.
pub fn summary_csv(summary: &Summary) -> String {
    let kind = summary.statistics.ci_kind;
    let interval = interval_key(kind);
    let mut out = format!(
        "name,index,labels,mean,sd,mcse_mean,mcse_sd,ess_bulk,ess_tail,r_hat,{interval}_lower,\
         {interval}_upper,median\n"
    );
    for row in &summary.rows {
        let index: Vec<String> = row.index.iter().map(usize::to_string).collect();
        let labels: Vec<String> = row.labels.iter().map(Label::to_string).collect();
        out += &csv_field(&row.name);
        for field in [index.join(" "), labels.join("; ")] {
            out.push(',');
            out += &csv_field(&field);
        }
        for (_, value) in numbers(row, kind) {
            out.push(',');
            out += &number(value);
        }
        out.push('\n');
    }
    out
}

/// The shortest decimal that reads back to the same bits.
fn number(value: f64) -> String {
    if value.is_finite() {
        format!("{value:?}")
    } else {
        spelled(value).into()
    }
}

/// A field of a CSV file, in quotes where it holds a comma, a quote or a line break.
///
/// A text that a spreadsheet would run as a formula (it begins with `=`, `+`, `-`, `@` or a tab, and
/// is no number) gets an apostrophe before it, by which spreadsheets know text.
///
/// ```
/// use fitzroy::report::csv_field;
/// assert_eq!(csv_field("a, b"), "\"a, b\"");
/// assert_eq!(csv_field("=1+1"), "'=1+1");
/// assert_eq!(csv_field("-0.5"), "-0.5");
/// ```
pub fn csv_field(field: &str) -> String {
    let runs = field.starts_with(['=', '+', '-', '@', '\t']) && field.parse::<f64>().is_err();
    let mark = if runs { "'" } else { "" };
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{mark}{}\"", field.replace('"', "\"\""))
    } else {
        format!("{mark}{field}")
    }
}
