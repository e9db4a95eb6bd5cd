//! Choosing a reader by the ending of a file's name, and arrays given on the command line.

use std::fs;
use std::path::Path;

use super::{Array, Values, json, netcdf, npy, parquet, table, unpack};
use crate::{Error, ErrorKind, Result};

/// The kinds of data file that can be read.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Json,
    JsonGz,
    Csv,
    Tsv,
    Npy,
    Npz,
    Parquet,
    NetCdf,
}

/// File name ending, and what it means. Longer endings stand before those they end in.
const FORMATS: [(&str, Format); 9] = [
    (".json.gz", Format::JsonGz),
    (".json", Format::Json),
    (".csv", Format::Csv),
    (".tsv", Format::Tsv),
    (".npy", Format::Npy),
    (".npz", Format::Npz),
    (".parquet", Format::Parquet),
    (".nc", Format::NetCdf),
    (".h5", Format::NetCdf),
];

/// Reads every array of a data file; the ending of its name decides how.
///
/// | ending | arrays |
/// |---|---|
/// | `.json`, `.json.gz` | one per name of the object: numbers, booleans (0/1), nested lists, text |
/// | `.csv`, `.tsv` | one per column, named by the header row; columns without a name are left out |
/// | `.npy` | one, named like the file without its ending |
/// | `.npz` | one per member |
/// | `.parquet` | one per column of numbers or text; see [`super::ParquetFile`] |
/// | `.nc`, `.h5` | one per variable of the root group of a NetCDF-4 or HDF5 file, unpacked |
///
/// # Errors
/// `Io` when the file cannot be read, `Usage` when its ending is not known, `Data` when its
/// content does not make arrays; the message names the file and the place in it.
pub fn read_file(path: impl AsRef<Path>) -> Result<Vec<Array>> {
    let path = path.as_ref();
    let source = path.display().to_string();
    let format = format_of(path)?;
    if matches!(format, Format::Parquet | Format::NetCdf) {
        check_file(path)?;
        let arrays = match format {
            Format::Parquet => parquet::read(path, &source),
            _ => netcdf::read(path, &source),
        };
        return arrays.map_err(|error| error.context(source));
    }
    let bytes = read_bytes(path)?;
    let arrays = match format {
        Format::Json => json::read(&bytes, &source),
        Format::JsonGz => unzip(&bytes).and_then(|text| json::read(&text, &source)),
        Format::Csv => table::read(&bytes, b',', &source),
        Format::Tsv => table::read(&bytes, b'\t', &source),
        Format::Npy => npy::read(&bytes, &stem(path), &source).map(|array| vec![array]),
        Format::Npz => npy::read_archive(&bytes, &source),
        Format::Parquet | Format::NetCdf => unreachable!("read above, piece by piece"),
    };
    arrays.map_err(|error| error.context(source))
}

/// Reads one array for `NAME=FILE`.
///
/// A file with one array gives that array, whatever its name there; a file with several gives
/// the one called NAME. A table without a column NAME gives the matrix of all its columns,
/// shape (rows, columns), which must be numbers. A JSON file may hold just a list or a number.
///
/// # Errors
/// As [`read_file`]; `Usage` when `binding` has no name or no file; `Data` when the file holds
/// several arrays and none is called NAME.
pub fn read_binding(binding: &str) -> Result<Array> {
    let (name, file) = split_binding(binding, "NAME=FILE")?;
    let path = Path::new(file);
    let format = format_of(path)?;
    if matches!(format, Format::Json | Format::JsonGz) {
        let bytes = read_bytes(path)?;
        let text = match format {
            Format::JsonGz => unzip(&bytes).map_err(|error| error.context(file))?,
            _ => bytes,
        };
        return json::read_one(&text, name, file).map_err(|error| error.context(file));
    }
    let mut arrays = read_file(path)?;
    if let Some(i) = arrays.iter().position(|a| a.name == name) {
        return Ok(arrays.swap_remove(i));
    }
    if arrays.len() == 1 {
        let mut array = arrays.swap_remove(0);
        array.name = name.into();
        return Ok(array);
    }
    match format {
        Format::Csv | Format::Tsv | Format::Parquet => matrix(name, file, arrays),
        _ => Err(none_called(name, arrays.iter().map(|a| a.name.as_str())).context(file)),
    }
}

/// Reads `NAME=VALUE`, where VALUE is a number or a (nested) list such as `[1, 2, 3]`.
///
/// ```
/// use fitzroy::data::{Values, read_setting};
/// let array = read_setting("x=[1, 2.5]").unwrap();
/// assert_eq!((array.name.as_str(), array.shape.as_slice()), ("x", [2_usize].as_slice()));
/// assert_eq!(array.values, Values::Real(vec![1.0, 2.5]));
/// ```
///
/// # Errors
/// `Usage` when there is no name, or VALUE is neither.
pub fn read_setting(setting: &str) -> Result<Array> {
    let (name, value) = split_binding(setting, "NAME=VALUE")?;
    json::read_value(value.trim(), name, "⟨set⟩").map_err(|error| {
        Error::new(ErrorKind::Usage, error.to_string()).context(format!("⟨set {setting}⟩"))
    })
}

/// The error for a file of several arrays, none of them called `name`.
pub(super) fn none_called<'a>(name: &str, present: impl Iterator<Item = &'a str>) -> Error {
    let present: Vec<String> = present.map(|n| format!("`{n}`")).collect();
    let held = match present.len() {
        0 => "no arrays".to_string(),
        n => format!("{n} arrays: {}", present.join(", ")),
    };
    Error::new(
        ErrorKind::Data,
        format!("none is called `{name}`; the file holds {held}"),
    )
}

/// Splits at the first `=` and checks that both sides are there.
fn split_binding<'a>(text: &'a str, form: &str) -> Result<(&'a str, &'a str)> {
    let wrong = |what: &str| {
        let message = format!("`{text}` {what}; write {form}");
        Error::new(ErrorKind::Usage, message)
    };
    let (name, rest) = text.split_once('=').ok_or_else(|| wrong("has no `=`"))?;
    let name = name.trim();
    let starts = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if !starts
        || !name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    {
        return Err(wrong("does not begin with the name of a data array"));
    }
    if rest.trim().is_empty() {
        return Err(wrong("has nothing after `=`"));
    }
    Ok((name, rest))
}

fn format_of(path: &Path) -> Result<Format> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_lowercase();
    let found = FORMATS.iter().find(|(ending, _)| name.ends_with(ending));
    found.map(|&(_, format)| format).ok_or_else(|| {
        let endings: Vec<&str> = FORMATS.iter().map(|&(ending, _)| ending).collect();
        let message = format!(
            "{}: data are read from {} files; convert this one, or rename it if it is one of them",
            path.display(),
            endings.join(", ")
        );
        Error::new(ErrorKind::Usage, message)
    })
}

/// Refuses folders, files that are not there and empty files.
fn check_file(path: &Path) -> Result<()> {
    let fail = |kind, message: String| Error::new(kind, message).context(path.display());
    if path.is_dir() {
        let message = "this is a folder; name a file in it";
        return Err(fail(ErrorKind::Io, message.into()));
    }
    let about = fs::metadata(path).map_err(|error| fail(ErrorKind::Io, io_message(&error)))?;
    if about.is_file() && about.len() == 0 {
        return Err(fail(ErrorKind::Data, "the file is empty".into()));
    }
    Ok(())
}

/// The file's bytes.
fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    check_file(path)?;
    let fail = |kind, message: String| Error::new(kind, message).context(path.display());
    let bytes = fs::read(path).map_err(|error| fail(ErrorKind::Io, io_message(&error)))?;
    if bytes.is_empty() {
        return Err(fail(ErrorKind::Data, "the file is empty".into()));
    }
    Ok(bytes)
}

/// An input or output error in plain words.
pub(crate) fn io_message(error: &std::io::Error) -> String {
    use std::io::ErrorKind as Io;
    match error.kind() {
        Io::NotFound => "there is no such file; check the path".into(),
        Io::PermissionDenied => "permission denied; check who may read or write it".into(),
        _ => error.to_string(),
    }
}

fn unzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let read = unpack(flate2::read::MultiGzDecoder::new(bytes), bytes.len());
    match read {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::Other => {
            Err(Error::new(ErrorKind::Data, error.to_string()))
        }
        Err(error) => Err(Error::new(
            ErrorKind::Data,
            format!("the gzip data are damaged or cut short ({error}); fetch the file again"),
        )),
    }
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// All columns of a table as one array of shape (rows, columns).
fn matrix(name: &str, source: &str, columns: Vec<Array>) -> Result<Array> {
    let n_columns = columns.len();
    let n_rows = columns.first().map_or(0, |c| c.values.len());
    let mut values = vec![0.0; n_rows * n_columns];
    let mut missing = Vec::new();
    for (j, column) in columns.iter().enumerate() {
        let Values::Real(cells) = &column.values else {
            let why = column.note.clone().unwrap_or_else(|| "text".into());
            let message = format!(
                "`{name}` takes all columns of the table as a matrix of numbers, but column \
                 `{}` is not numeric ({why}); name the one column you mean `{name}`",
                column.name
            );
            return Err(Error::new(ErrorKind::Data, message).context(source));
        };
        for (i, &cell) in cells.iter().enumerate() {
            values[i * n_columns + j] = cell;
        }
        missing.extend(column.missing.iter().map(|i| i * n_columns + j));
    }
    missing.sort_unstable();
    let mut array = Array::real(name, &[n_rows, n_columns], values, source);
    array.whole = columns.iter().all(|c| c.whole);
    array.missing = missing;
    Ok(array)
}
