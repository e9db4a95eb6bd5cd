//! Parquet: columns of numbers and of text, whole or page by page.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::basic::{ConvertedType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::Array;
use crate::{Error, ErrorKind, Result};

/// Rows that are decoded at a time.
const PIECE: usize = 16_384;

/// A Parquet file whose columns are read one at a time, in pieces.
///
/// Columns of numbers and booleans become numbers; dates and times are numbers in the unit of the
/// file, counted from 1970; decimals are scaled; null is NaN. Text becomes labels. Lists, structs
/// and raw bytes have no place in a table and are left out. Pages may be plain, or compressed by
/// Snappy or gzip.
pub struct ParquetFile {
    reader: SerializedFileReader<File>,
}

fn broken(error: &ParquetError) -> Error {
    let text = error.to_string();
    if text.to_lowercase().contains("zstd") || text.contains("Disabled feature") {
        return Error::data(format!(
            "{text}; write it with Snappy, gzip or no compression (pandas: compression=\"snappy\")"
        ));
    }
    Error::data(format!(
        "the Parquet file is damaged or cut short ({text}); fetch or write it again"
    ))
}

/// What a column becomes.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number { scale: i32, unsigned: bool },
    Text,
    Neither,
}

fn kind(column: &ColumnDescriptor) -> Kind {
    if column.max_rep_level() > 0 {
        return Kind::Neither;
    }
    let unsigned = matches!(
        column.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    );
    let scale = match column.converted_type() {
        ConvertedType::DECIMAL => column.type_scale(),
        _ => 0,
    };
    let readable = matches!(
        column.converted_type(),
        ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON
    );
    match column.physical_type() {
        Physical::BOOLEAN | Physical::INT32 | Physical::INT64 => Kind::Number { scale, unsigned },
        Physical::FLOAT | Physical::DOUBLE => Kind::Number {
            scale: 0,
            unsigned: false,
        },
        Physical::BYTE_ARRAY if readable => Kind::Text,
        _ => Kind::Neither,
    }
}

/// What a call of the crate gives. It panics at some pages that do not hold what they say.
fn guarded<T>(call: impl FnOnce() -> std::result::Result<T, ParquetError>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(made) => made.map_err(|e| broken(&e)),
        Err(_) => Err(broken(&ParquetError::EOF(
            "a page holds less than it says".into(),
        ))),
    }
}

impl ParquetFile {
    /// Opens a file and reads what stands at its end.
    ///
    /// # Errors
    /// It cannot be read, or is no whole Parquet file.
    pub fn open(path: &Path) -> Result<ParquetFile> {
        Self::open_plainly(path).map_err(|error| error.context(path.display()))
    }

    fn open_plainly(path: &Path) -> Result<ParquetFile> {
        let io = |error: std::io::Error| Error::new(ErrorKind::Io, super::io_message(&error));
        let file = File::open(path).map_err(io)?;
        let reader = guarded(|| SerializedFileReader::new(file))?;
        Ok(ParquetFile { reader })
    }

    fn columns(&self) -> impl Iterator<Item = (usize, String, Kind)> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let all = schema.columns().iter().enumerate();
        all.map(|(k, column)| (k, column.path().parts().join("."), kind(column)))
    }

    /// Names of the columns of numbers and of text, in their order; a field of a struct is
    /// `STRUCT.FIELD`.
    pub fn names(&self) -> Vec<String> {
        let kept = self.columns().filter(|c| c.2 != Kind::Neither);
        kept.map(|c| c.1).collect()
    }

    /// Number of rows, as the file says.
    pub fn n_rows(&self) -> usize {
        let n = self.reader.metadata().file_metadata().num_rows();
        usize::try_from(n).unwrap_or(0)
    }

    /// Reads a column of numbers piece by piece; no more than a page of the file is in memory.
    ///
    /// # Errors
    /// No such column of numbers; a damaged file; what `take` returns.
    pub fn numbers(&self, name: &str, take: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> {
        let found = self.columns().find(|c| c.1 == name);
        let Some((at, _, Kind::Number { scale, unsigned })) = found else {
            let all = self.names().join(", ");
            return Err(Error::data(format!(
                "there is no column `{name}` of numbers; the columns are {all}"
            )));
        };
        let tens = 10f64.powi(scale);
        let integer = move |x: i64| {
            if scale == 0 {
                x as f64
            } else {
                x as f64 / tens
            }
        };
        for group in 0..self.reader.num_row_groups() {
            let column = guarded(|| self.reader.get_row_group(group)?.get_column_reader(at))?;
            match column {
                ColumnReader::BoolColumnReader(r) => each(r, |x| f64::from(u8::from(*x)), take)?,
                ColumnReader::Int32ColumnReader(r) if unsigned => {
                    each(r, |x| f64::from(x.cast_unsigned()), take)?;
                }
                ColumnReader::Int32ColumnReader(r) => each(r, |x| integer((*x).into()), take)?,
                ColumnReader::Int64ColumnReader(r) if unsigned => {
                    each(r, |x| x.cast_unsigned() as f64, take)?;
                }
                ColumnReader::Int64ColumnReader(r) => each(r, |x| integer(*x), take)?,
                ColumnReader::FloatColumnReader(r) => each(r, |x| f64::from(*x), take)?,
                ColumnReader::DoubleColumnReader(r) => each(r, |x| *x, take)?,
                _ => return Err(Error::data(format!("column `{name}` holds no numbers"))),
            }
        }
        Ok(())
    }

    /// The cells of a column of text; `None` for null.
    fn text(&self, at: usize) -> Result<Vec<Option<String>>> {
        let mut out = Vec::new();
        for group in 0..self.reader.num_row_groups() {
            let column = guarded(|| self.reader.get_row_group(group)?.get_column_reader(at))?;
            if let ColumnReader::ByteArrayColumnReader(mut r) = column {
                let said = |b: &ByteArray| String::from_utf8_lossy(b.data()).into_owned();
                while let Some(cells) = piece(&mut r, said)? {
                    out.extend(cells);
                }
            }
        }
        Ok(out)
    }
}

/// The next cells of a column, `None` for null; nothing at its end.
fn piece<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    value: impl Fn(&T::T) -> V,
) -> Result<Option<Vec<Option<V>>>> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (records, ..) =
        guarded(|| reader.read_records(PIECE, Some(&mut levels), None, &mut values))?;
    if records == 0 {
        return Ok(None);
    }
    let mut values = values.iter().map(value);
    // A column that cannot have nulls has no levels.
    if values.len() == records {
        return Ok(Some(values.map(Some).collect()));
    }
    let present = levels.iter().copied().max();
    let cell = |level: &i16| match Some(*level) == present {
        true => values.next(),
        false => None,
    };
    Ok(Some(levels.iter().map(cell).collect()))
}

fn each<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    value: impl Fn(&T::T) -> f64,
    take: &mut dyn FnMut(&[f64]) -> Result<()>,
) -> Result<()> {
    let mut numbers = Vec::new();
    while let Some(cells) = piece(&mut reader, &value)? {
        numbers.clear();
        numbers.extend(cells.into_iter().map(|x| x.unwrap_or(f64::NAN)));
        take(&numbers)?;
    }
    Ok(())
}

/// All columns of a file.
pub(super) fn read(path: &Path, source: &str) -> Result<Vec<Array>> {
    let file = ParquetFile::open_plainly(path)?;
    let mut out = Vec::new();
    for (at, name, kind) in file.columns() {
        match kind {
            Kind::Neither => {}
            Kind::Number { .. } => {
                let mut values = Vec::new();
                file.numbers(&name, &mut |some| {
                    values.extend_from_slice(some);
                    Ok(())
                })?;
                let missing = values.iter().enumerate().filter(|(_, x)| x.is_nan());
                let missing: Vec<usize> = missing.map(|(i, _)| i).collect();
                let whole = values.iter().all(|x| x.is_nan() || x.fract() == 0.0);
                let mut array = Array::real(&name, &[values.len()], values, source);
                (array.missing, array.whole) = (missing, whole);
                out.push(array);
            }
            Kind::Text => {
                let cells = file.text(at)?;
                let missing = cells.iter().enumerate().filter(|(_, c)| c.is_none());
                let missing: Vec<usize> = missing.map(|(i, _)| i).collect();
                let cells: Vec<String> = cells.into_iter().map(Option::unwrap_or_default).collect();
                let mut array = Array::text(&name, &[cells.len()], cells, source);
                array.missing = missing;
                out.push(array);
            }
        }
    }
    let lengths = out.iter().map(|a| a.values.len());
    if out.is_empty() || lengths.clone().any(|n| n != file.n_rows()) {
        let held: Vec<String> = file.columns().map(|c| c.1).collect();
        return Err(Error::data(match out.is_empty() {
            true => format!(
                "no column holds numbers or text (the file has {})",
                held.join(", ")
            ),
            false => "columns differ in length; the file is damaged".into(),
        }));
    }
    Ok(out)
}
