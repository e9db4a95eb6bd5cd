//! Columns of a table: numbers where all cells are, labels otherwise.

use super::TableOptions;
use super::decimal::DecimalMark;
use super::marks::{self, Verdict};
use super::text::{Text, uneven};
use crate::data::{Array, Values};
use crate::{Error, Result};
use std::str;

/// Cells that stand for a missing value: of R, pandas, databases, and errors of spreadsheets.
pub(crate) const MISSING: [&[u8]; 17] = [
    b"", b"NA", b"NaN", b"nan", b"null", b"NULL", b"N/A", b"n/a", b"<NA>", b"#N/A", b"#NV",
    b"#DIV/0!", b"#VALUE!", b"#NUM!", b"#REF!", b"#NAME?", b"#NULL!",
];

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
pub(super) struct Column {
    pub(super) name: String,
    position: usize,
    pub(super) numbers: Vec<f64>,
    pub(super) missing: Vec<usize>,
    pub(super) whole: bool,
    any_number: bool,
    /// Row and text of the first cell that is neither a number nor missing.
    pub(super) odd: Option<(usize, String)>,
    /// The cells, where they are needed as text.
    pub(super) cells: Option<Vec<String>>,
    /// Why the column is no numbers although cells are.
    pub(super) note: Option<String>,
}

/// One 1-D array per named column, and what is to be told.
pub(super) fn arrays(
    text: &Text<'_>,
    options: &TableOptions,
    source: &str,
) -> Result<(Vec<Array>, Vec<String>)> {
    let mut columns = named(text)?;
    let n_rows = numbers(text, &mut columns)?;
    if n_rows == 0 {
        return Err(Error::data("there is a header but no row of data"));
    }
    let (_, told) = decide(text, &mut columns, options)?;
    let mut remarks = text.dialect.remarks.clone();
    remarks.extend(told);
    let arrays = columns.into_iter().map(|column| finish(column, source));
    Ok((arrays.collect(), remarks))
}

/// The decimal mark of every cell of a row, by the rows that are there.
pub(super) fn marks(text: &Text<'_>, options: &TableOptions) -> Result<Vec<DecimalMark>> {
    let mut columns = named(text)?;
    let usual = options.decimal.unwrap_or_default();
    let mut out = vec![usual; text.dialect.names.len()];
    // A row that is wrong is found when rows are read.
    if numbers(text, &mut columns).is_err() {
        return Ok(out);
    }
    let (verdicts, _) = decide(text, &mut columns, options)?;
    for (column, verdict) in columns.iter().zip(verdicts) {
        if verdict == Verdict::Mark(DecimalMark::Comma) {
            out[column.position] = DecimalMark::Comma;
        }
    }
    Ok(out)
}

/// The named columns; a column without a name (a row index, say) is left out.
fn named(text: &Text<'_>) -> Result<Vec<Column>> {
    let mut columns: Vec<Column> = Vec::new();
    for (position, name) in text.dialect.names.iter().enumerate() {
        if name.is_empty() {
            continue;
        }
        if let Some(first) = columns.iter().find(|c| c.name == *name) {
            let message = format!(
                "line {}: columns {} and {} are both called `{name}`; rename one",
                text.dialect.header.unwrap_or(1),
                first.position + 1,
                position + 1
            );
            return Err(Error::data(message));
        }
        columns.push(Column {
            name: name.clone(),
            position,
            numbers: Vec::new(),
            missing: Vec::new(),
            whole: true,
            any_number: false,
            odd: None,
            cells: None,
            note: None,
        });
    }
    Ok(columns)
}

fn utf8(cell: &[u8], line: u64) -> Result<&str> {
    str::from_utf8(cell)
        .map_err(|_| Error::data(format!("line {line}: the text is neither UTF-8 nor UTF-16")))
}

/// First pass: every cell as a number where it is one. Returns the number of rows.
fn numbers(text: &Text<'_>, columns: &mut [Column]) -> Result<usize> {
    let n_cells = text.dialect.names.len();
    let mut row = 0;
    text.each(|record| {
        if record.len() != n_cells {
            return Err(uneven(text.line(record), record.len(), &text.dialect));
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
                        column.odd = Some((row, utf8(bytes, text.line(record))?.to_string()));
                    }
                    f64::NAN
                }
            };
            column.numbers.push(value);
        }
        row += 1;
        Ok(())
    })?;
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
    // Most cells are numbers, and those begin as no word for a missing value does.
    let begins = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.');
    if !cell.first().is_some_and(begins) && MISSING.contains(&cell) {
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

/// True for a whole number that is none as f64, an identifier.
pub(super) fn is_long(cell: &str) -> bool {
    !cell.contains([',', '.']) && matches!(classify(cell.as_bytes()), Cell::Text)
}

/// Decides for columns that are no plain numbers whether their numbers have decimal commas or
/// groups of digits; what is to be told of it.
fn decide(
    text: &Text<'_>,
    columns: &mut [Column],
    options: &TableOptions,
) -> Result<(Vec<Verdict>, Vec<String>)> {
    let asked = options.decimal == Some(DecimalMark::Comma);
    fetch(text, columns, &|c| c.odd.is_some() || asked && !c.whole)?;
    let mut verdicts = marks::verdicts(columns, options.decimal);
    if !asked && marks::any_comma(&verdicts) {
        // Beside decimal commas, 1.234 in another column may be a thousand.
        fetch(text, columns, &|c| c.odd.is_none() && !c.whole)?;
        verdicts = marks::verdicts(columns, options.decimal);
    }
    let told = marks::apply(columns, &verdicts, options.decimal);
    Ok((verdicts, told))
}

/// Another pass: the cells of the columns that are `wanted` as text.
fn fetch(text: &Text<'_>, columns: &mut [Column], wanted: &dyn Fn(&Column) -> bool) -> Result<()> {
    let mut taken: Vec<&mut Column> = columns
        .iter_mut()
        .filter(|c| c.cells.is_none() && wanted(c))
        .collect();
    if taken.is_empty() {
        return Ok(());
    }
    for column in &mut taken {
        column.cells = Some(Vec::with_capacity(column.numbers.len()));
    }
    text.each(|record| {
        for column in &mut taken {
            let cell = utf8(record[column.position].trim_ascii(), text.line(record))?.to_string();
            column.cells.get_or_insert_default().push(cell);
        }
        Ok(())
    })
}

/// Decides between numbers, booleans (0/1) and labels.
fn finish(column: Column, source: &str) -> Array {
    let n_rows = column.numbers.len();
    let cells = column.cells.filter(|_| column.odd.is_some());
    let values = match cells {
        None => Values::Real(column.numbers),
        Some(cells) => match booleans(&cells, &column.missing) {
            Some(flags) => Values::Real(flags),
            None => Values::Text(cells),
        },
    };
    let odd = column.odd.filter(|_| column.any_number);
    let plain = odd.map(|(row, cell)| format!("row {}: `{cell}`", row + 1));
    Array {
        name: column.name,
        shape: vec![n_rows],
        whole: column.whole && column.missing.is_empty() && matches!(values, Values::Real(_)),
        values,
        source: source.into(),
        missing: column.missing,
        note: column.note.or(plain),
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
