//! Tables of text (CSV, TSV): a header row, then one row per observation.

use std::str;

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::{Array, Values};
use crate::{Error, Result};

/// Cells that stand for a missing value.
const MISSING: [&[u8]; 6] = [b"", b"NA", b"NaN", b"nan", b"null", b"NULL"];

/// Integers of at most this many digits are exact as f64.
const EXACT_DIGITS: usize = 15;

/// What one cell says.
enum Cell {
    Missing,
    Whole(f64),
    Real(f64),
    Text,
}

/// A column while it is being read.
struct Column {
    name: String,
    position: usize,
    numbers: Vec<f64>,
    missing: Vec<usize>,
    whole: bool,
    any_number: bool,
    /// Row and text of the first cell that is neither a number nor missing.
    odd: Option<(usize, String)>,
}

/// One 1-D array per named column.
pub(super) fn read(bytes: &[u8], delimiter: u8, source: &str) -> Result<Vec<Array>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Error::data("the text is UTF-16; save it as UTF-8"));
    }
    let mut reader = open(bytes, delimiter);
    let mut columns = header(&mut reader, delimiter)?;
    let n_cells = reader.byte_headers().map_or(0, ByteRecord::len);
    let n_rows = numbers(&mut reader, &mut columns, n_cells)?;
    if n_rows == 0 {
        return Err(Error::data("there is a header but no row of data"));
    }
    let texts = texts(bytes, delimiter, &columns)?;
    Ok(columns
        .into_iter()
        .zip(texts)
        .map(|(column, text)| finish(column, text, source))
        .collect())
}

fn open(bytes: &[u8], delimiter: u8) -> Reader<&[u8]> {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .from_reader(bytes)
}

/// The named columns; a column without a name (a row index, say) is left out.
fn header(reader: &mut Reader<&[u8]>, delimiter: u8) -> Result<Vec<Column>> {
    let record = reader
        .byte_headers()
        .map_err(|e| Error::data(e.to_string()))?;
    let mut columns: Vec<Column> = Vec::new();
    for (position, cell) in record.iter().enumerate() {
        let name = utf8(cell, 1)?.trim().to_string();
        if name.is_empty() {
            continue;
        }
        if let Some(first) = columns.iter().find(|c| c.name == name) {
            let message = format!(
                "line 1: columns {} and {} are both called `{name}`; rename one",
                first.position + 1,
                position + 1
            );
            return Err(Error::data(message));
        }
        if record.len() == 1
            && delimiter == b','
            && let Some(sign) = other_separator(&name)
        {
            return Err(Error::data(format!(
                "line 1: cells are separated by {sign}; save the table with commas, or as .tsv with \
                 tabs; numbers need a decimal point"
            )));
        }
        columns.push(Column {
            name,
            position,
            numbers: Vec::new(),
            missing: Vec::new(),
            whole: true,
            any_number: false,
            odd: None,
        });
    }
    if columns.is_empty() {
        return Err(Error::data("line 1: the header names no column"));
    }
    Ok(columns)
}

/// What separates words in a header that has no comma.
fn other_separator(name: &str) -> Option<&'static str> {
    // A space may well stand in the name of the only column.
    let signs = [(';', "`;`"), ('\t', "tabs"), ('|', "`|`")];
    let found = signs.iter().find(|(sign, _)| name.contains(*sign));
    found.map(|(_, words)| *words)
}

fn utf8(cell: &[u8], line: u64) -> Result<&str> {
    str::from_utf8(cell).map_err(|_| {
        Error::data(format!(
            "line {line}: the text is not UTF-8; save it as UTF-8"
        ))
    })
}

/// First pass: every cell as a number where it is one. Returns the number of rows.
fn numbers(reader: &mut Reader<&[u8]>, columns: &mut [Column], n_cells: usize) -> Result<usize> {
    let mut record = ByteRecord::new();
    let mut row = 0;
    while reader
        .read_byte_record(&mut record)
        .map_err(|e| Error::data(e.to_string()))?
    {
        let line = record.position().map_or(0, |p| p.line());
        if record.len() != n_cells {
            let message = format!(
                "line {line} has {} {}, the header has {n_cells}",
                record.len(),
                if record.len() == 1 { "cell" } else { "cells" }
            );
            return Err(Error::data(message));
        }
        for column in columns.iter_mut() {
            let bytes = record[column.position].trim_ascii();
            let value = match classify(bytes) {
                Cell::Whole(v) => {
                    column.any_number = true;
                    v
                }
                Cell::Real(v) => {
                    column.any_number = true;
                    column.whole = false;
                    v
                }
                Cell::Missing => {
                    column.missing.push(row);
                    f64::NAN
                }
                Cell::Text => {
                    if column.odd.is_none() {
                        column.odd = Some((row, utf8(bytes, line)?.to_string()));
                    }
                    f64::NAN
                }
            };
            column.numbers.push(value);
        }
        row += 1;
    }
    Ok(row)
}

fn classify(cell: &[u8]) -> Cell {
    let digits = cell
        .strip_prefix(b"-")
        .or(cell.strip_prefix(b"+"))
        .unwrap_or(cell);
    if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
        if digits.len() <= EXACT_DIGITS {
            let magnitude = digits
                .iter()
                .fold(0_i64, |n, d| n * 10 + i64::from(d - b'0'));
            let sign = if cell[0] == b'-' { -1.0 } else { 1.0 };
            return Cell::Whole(sign * magnitude as f64);
        }
        // Long identifiers stay labels rather than become a rounded number.
        let text = str::from_utf8(cell).unwrap_or_default();
        return match (text.parse::<i128>(), text.parse::<f64>()) {
            (Ok(exact), Ok(value)) if value as i128 == exact => Cell::Whole(value),
            _ => Cell::Text,
        };
    }
    if MISSING.contains(&cell) {
        return Cell::Missing;
    }
    match str::from_utf8(cell)
        .ok()
        .and_then(|text| text.parse::<f64>().ok())
    {
        Some(value) => Cell::Real(value),
        None => Cell::Text,
    }
}

/// Second pass: the cells of the columns that hold text; `None` for the others.
fn texts(bytes: &[u8], delimiter: u8, columns: &[Column]) -> Result<Vec<Option<Vec<String>>>> {
    let mut texts: Vec<Option<Vec<String>>> = columns
        .iter()
        .map(|c| c.odd.as_ref().map(|_| Vec::new()))
        .collect();
    if texts.iter().all(Option::is_none) {
        return Ok(texts);
    }
    let mut reader = open(bytes, delimiter);
    let mut record = ByteRecord::new();
    while reader
        .read_byte_record(&mut record)
        .map_err(|e| Error::data(e.to_string()))?
    {
        let line = record.position().map_or(0, |p| p.line());
        for (column, cells) in columns.iter().zip(&mut texts) {
            if let Some(cells) = cells {
                cells.push(utf8(record[column.position].trim_ascii(), line)?.to_string());
            }
        }
    }
    Ok(texts)
}

/// Decides between numbers, booleans (0/1) and labels.
fn finish(column: Column, text: Option<Vec<String>>, source: &str) -> Array {
    let n_rows = column.numbers.len();
    let values = match text {
        None => Values::Real(column.numbers),
        Some(cells) => match booleans(&cells, &column.missing) {
            Some(flags) => Values::Real(flags),
            None => Values::Text(cells),
        },
    };
    let odd = column.odd.filter(|_| column.any_number);
    Array {
        name: column.name,
        shape: vec![n_rows],
        whole: column.whole && column.missing.is_empty() && matches!(values, Values::Real(_)),
        values,
        source: source.into(),
        missing: column.missing,
        note: odd.map(|(row, cell)| format!("row {}: `{cell}`", row + 1)),
    }
}

/// 0 and 1 when every cell that is not missing is a spelling of true or false.
fn booleans(cells: &[String], missing: &[usize]) -> Option<Vec<f64>> {
    let flag = |cell: &String| match cell.as_str() {
        "true" | "True" | "TRUE" => Some(1.0),
        "false" | "False" | "FALSE" => Some(0.0),
        _ => None,
    };
    let mut next_missing = missing.iter().peekable();
    let each = cells.iter().enumerate().map(|(row, cell)| {
        if next_missing.next_if_eq(&&row).is_some() {
            Some(f64::NAN)
        } else {
            flag(cell)
        }
    });
    each.collect()
}
