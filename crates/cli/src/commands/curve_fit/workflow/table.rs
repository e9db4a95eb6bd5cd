//! Columns of numbers in a text file, as NumPy's `loadtxt` and `genfromtxt` read them.

use super::document::Document;
use super::role_name;
use fitzroy::data::Array;
use fitzroy::{Error, ErrorKind, Result};
use std::path::Path;

/// How a text is divided into cells.
pub(super) struct Layout {
    /// Any white space where there is none.
    delimiter: Option<String>,
    comment: Option<String>,
    skip_first: usize,
    skip_last: usize,
    header: bool,
    missing: Vec<String>,
}

impl Layout {
    /// The layout of `data.csv` or `data.ascii`.
    ///
    /// # Errors
    /// A value of another kind; an encoding other than UTF-8.
    pub(super) fn of(document: &Document, format: &str) -> Result<Layout> {
        let key = |name: &str| format!("data.{format}.{name}");
        let csv = format == "csv";
        let usual = |text: &str| Some(text.to_string());
        let encoding = document.text(&key("encoding"))?.unwrap_or("utf-8".into());
        if !encoding.to_lowercase().starts_with("utf") {
            return Err(Error::usage(format!(
                "{}: {encoding}: only UTF-8 is read; convert the file",
                key("encoding")
            )));
        }
        let count = |name: &str| -> Result<usize> {
            Ok(document.number(&key(name))?.unwrap_or(0.0) as usize)
        };
        let missing = document.texts(&key("missing_values"))?;
        Ok(Layout {
            delimiter: document
                .text(&key("delimiter"))?
                .or_else(|| usual(",").filter(|_| csv)),
            comment: document
                .text(&key("comment_char"))?
                .or_else(|| usual("#").filter(|_| !csv)),
            skip_first: count("skip_header")?,
            skip_last: count("skip_footer")?,
            header: csv && document.truth(&key("header"), true)?,
            missing: missing.unwrap_or_else(|| {
                let names = if csv {
                    &["", "NA", "null", "NaN"][..]
                } else {
                    &[]
                };
                names.iter().map(|&n| n.into()).collect()
            }),
        })
    }

    fn cells<'l>(&self, line: &'l str) -> Vec<&'l str> {
        match &self.delimiter {
            Some(d) => line.split(d.as_str()).map(str::trim).collect(),
            None => line.split_whitespace().collect(),
        }
    }

    /// The number in a cell; NaN where it is missing.
    fn number(&self, cell: &str) -> Option<f64> {
        match self.missing.iter().any(|m| m == cell) {
            true => Some(f64::NAN),
            false => cell.parse().ok(),
        }
    }
}

/// The columns that `data.columns` names, by position or by the header.
///
/// # Errors
/// The file cannot be read; columns that are not there; cells that are no numbers, by line.
pub(super) fn read(document: &Document, path: &Path, layout: &Layout) -> Result<Vec<Array>> {
    let shown = path.display();
    let bytes = std::fs::read(path)
        .map_err(|e| Error::new(ErrorKind::Io, format!("data.input_file: {shown}: {e}")))?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_start_matches('\u{feff}');
    let lines: Vec<&str> = text.lines().collect();
    let mut lines = lines.iter().enumerate().skip(layout.skip_first);
    let header: Vec<&str> = match layout.header {
        true => lines.next().map_or(Vec::new(), |(_, l)| layout.cells(l)),
        false => Vec::new(),
    };
    let mut rows: Vec<(usize, Vec<&str>)> = Vec::new();
    for (at, line) in lines {
        let line = match &layout.comment {
            Some(mark) => line.split(mark.as_str()).next().unwrap_or_default(),
            None => line,
        };
        if !line.trim().is_empty() {
            rows.push((at + 1, layout.cells(line)));
        }
    }
    rows.truncate(rows.len().saturating_sub(layout.skip_last));
    let width = rows.first().map_or(0, |r| r.1.len());
    let mut out = Vec::new();
    for (role, usual) in [
        ("x", Some("0")),
        ("y", Some("1")),
        ("z", None),
        ("sigma", None),
    ] {
        let key = format!("data.columns.{role}");
        let given = document.text(&key)?;
        let Some(name) = given.or_else(|| usual.map(str::to_string)) else {
            continue;
        };
        let place = header.iter().position(|h| *h == name);
        let place = place.or_else(|| name.parse().ok().filter(|&at: &usize| at < width));
        let Some(at) = place else {
            let all = match header.is_empty() {
                true => format!("{width} columns, counted from 0"),
                false => format!("the columns {}", header.join(", ")),
            };
            return Err(Error::data(format!(
                "{key}: {name}: {shown} has {all}; check the delimiter, too"
            )));
        };
        let mut values = Vec::with_capacity(rows.len());
        for (line, cells) in &rows {
            let cell = cells.get(at).copied().unwrap_or_default();
            let value = layout.number(cell).ok_or_else(|| {
                Error::data(format!("{shown}, line {line}: `{cell}` is no number"))
            })?;
            values.push(value);
        }
        let source = shown.to_string();
        out.push(Array::real(role_name(role), &[rows.len()], values, &source));
    }
    Ok(out)
}
