//! Choosing a reader by the ending of a file's name, and arrays given on the command line.

use std::fs;
use std::path::Path;

use super::packed::{Packing, unpacked};
use super::table::{self, Separator, TableOptions};
use super::{Array, Values, json, netcdf, npy, parquet, xlsx};
use crate::{Error, ErrorKind, Result};

/// The kinds of data file that can be read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Json,
    /// Text, and what usually separates cells in files of that name.
    Table(Option<Separator>),
    Workbook,
    Npy,
    Npz,
    Parquet,
    NetCdf,
}

const COMMA: Format = Format::Table(Some(Separator::Sign(b',')));
const TAB: Format = Format::Table(Some(Separator::Sign(b'\t')));

/// File name ending, and what it means.
const FORMATS: [(&str, Format); 14] = [
    (".json", Format::Json),
    (".csv", COMMA),
    (".tsv", TAB),
    (".txt", Format::Table(None)),
    (".dat", Format::Table(None)),
    (".asc", Format::Table(None)),
    (".xlsx", Format::Workbook),
    (".xlsm", Format::Workbook),
    (".npy", Format::Npy),
    (".npz", Format::Npz),
    (".parquet", Format::Parquet),
    (".nc", Format::NetCdf),
    (".h5", Format::NetCdf),
    (".hdf5", Format::NetCdf),
];

/// Files of other programs, and what to do with them.
const OTHERS: [(&str, &str); 8] = [
    (".xls", "save the sheet as .xlsx or .csv"),
    (".ods", "save the sheet as .xlsx or .csv"),
    (
        ".feather",
        "write it as Parquet (pandas: to_parquet with compression=\"snappy\")",
    ),
    (
        ".arrow",
        "write it as Parquet (pandas: to_parquet with compression=\"snappy\")",
    ),
    (".rds", "write it as CSV (R: write.csv)"),
    (".rdata", "write the table as CSV (R: write.csv)"),
    (
        ".mat",
        "write the columns as CSV (MATLAB: writetable), or save it with -v7.3 as .h5",
    ),
    (".edat2", "export the trials as text from E-DataAid"),
];

/// Arrays of a file, and how it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataFile {
    /// The arrays.
    pub arrays: Vec<Array>,
    /// What is to be told, because the file could have been meant otherwise: separators that were found,
    /// lines that were left out, decimal commas.
    pub remarks: Vec<String>,
}

/// Reads every array of a data file; the ending of its name decides how.
///
/// | ending | arrays |
/// |---|---|
/// | `.json` | one per name of the object: numbers, booleans (0/1), nested lists, text |
/// | `.csv`, `.tsv`, `.txt`, `.dat`, `.asc` | one per column; see [`TableOptions`] |
/// | `.xlsx`, `.xlsm` | one per column of a sheet |
/// | `.npy` | one, named like the file without its ending |
/// | `.npz` | one per member |
/// | `.parquet` | one per column of numbers or text; see [`super::ParquetFile`] |
/// | `.nc`, `.h5`, `.hdf5` | one per variable of the root group of a NetCDF-4 or HDF5 file, unpacked; per variable of all groups, named by its path, where the root has none |
///
/// JSON and tables of text may be packed by gzip or zstd: `.csv.gz`, `.txt.zst`.
///
/// # Errors
/// `Io` when the file cannot be read, `Usage` when its ending is not known, `Data` when its
/// content does not make arrays; the message names the file and the place in it.
pub fn read_file(path: impl AsRef<Path>) -> Result<Vec<Array>> {
    Ok(DataFile::read(path, &TableOptions::default())?.arrays)
}

impl DataFile {
    /// Reads a file as [`read_file`] does, a table as `options` say.
    ///
    /// # Errors
    /// See [`read_file`].
    pub fn read(path: impl AsRef<Path>, options: &TableOptions) -> Result<DataFile> {
        let path = path.as_ref();
        let source = path.display().to_string();
        let (format, packing) = format_of(path)?;
        let read = Self::of_format(path, format, packing, options, &source);
        let mut file = read.map_err(|error| error.context(&source))?;
        for remark in &mut file.remarks {
            *remark = format!("{source}: {remark}");
        }
        Ok(file)
    }

    fn of_format(
        path: &Path,
        format: Format,
        packing: Packing,
        options: &TableOptions,
        source: &str,
    ) -> Result<DataFile> {
        let plain = |arrays: Vec<Array>| DataFile {
            arrays,
            remarks: Vec::new(),
        };
        let told = |(arrays, remarks)| DataFile { arrays, remarks };
        match format {
            Format::Parquet | Format::NetCdf => {
                check_file(path)?;
                match format {
                    Format::Parquet => parquet::read(path, source),
                    _ => netcdf::read(path, source),
                }
                .map(plain)
            }
            Format::Json => json::read(&unpacked(path, packing)?, source).map(plain),
            Format::Table(usual) => {
                table::read(&unpacked(path, packing)?, usual, options, source).map(told)
            }
            Format::Workbook => {
                let text = xlsx::as_text(&whole(path)?, options.sheet.as_deref())?;
                table::read(&text, Some(Separator::Sign(b',')), options, source).map(told)
            }
            Format::Npy => {
                let array = npy::read(&whole(path)?, &stem(path), source)?;
                Ok(plain(vec![array]))
            }
            Format::Npz => npy::read_archive(&whole(path)?, source).map(plain),
        }
    }
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
    let mut file = read_binding_with(binding, &TableOptions::default())?;
    Ok(file.arrays.remove(0))
}

/// [`read_binding`], a table as `options` say: one array, and what is to be told of its file.
///
/// # Errors
/// See [`read_binding`].
pub fn read_binding_with(binding: &str, options: &TableOptions) -> Result<DataFile> {
    let (name, file) = split_binding(binding, "NAME=FILE")?;
    let path = Path::new(file);
    let (format, packing) = format_of(path)?;
    if format == Format::Json {
        let text = unpacked(path, packing);
        let array = text.and_then(|text| json::read_one(&text, name, file));
        let array = array.map_err(|error| error.context(file))?;
        return Ok(DataFile {
            arrays: vec![array],
            remarks: Vec::new(),
        });
    }
    let DataFile {
        mut arrays,
        remarks,
    } = DataFile::read(path, options)?;
    let array = if let Some(i) = arrays.iter().position(|a| a.name == name) {
        arrays.swap_remove(i)
    } else if arrays.len() == 1 {
        let mut array = arrays.swap_remove(0);
        array.name = name.into();
        array
    } else {
        match format {
            Format::Table(_) | Format::Workbook | Format::Parquet => matrix(name, file, arrays)?,
            _ => {
                let names = arrays.iter().map(|a| a.name.as_str());
                return Err(none_called(name, names).context(file));
            }
        }
    };
    Ok(DataFile {
        arrays: vec![array],
        remarks,
    })
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

/// What a file is by the ending of its name, and how it is packed.
fn format_of(path: &Path) -> Result<(Format, Packing)> {
    let (name, packing) = Packing::of(path);
    let packs = |format: Format| matches!(format, Format::Json | Format::Table(_));
    let found = FORMATS.iter().find(|(ending, _)| name.ends_with(ending));
    let found = found.map(|&(_, format)| format);
    let message = match found {
        Some(format) if packing == Packing::Plain || packs(format) => return Ok((format, packing)),
        Some(_) => "only JSON and tables of text are read packed; unpack it".into(),
        None => match OTHERS.iter().find(|(ending, _)| name.ends_with(ending)) {
            Some((ending, advice)) => format!("{ending} files are not read; {advice}"),
            None => {
                let endings: Vec<&str> = FORMATS.iter().map(|&(ending, _)| ending).collect();
                format!(
                    "data are read from {} files; convert this one, or rename it if it is one of them",
                    endings.join(", ")
                )
            }
        },
    };
    Err(Error::new(
        ErrorKind::Usage,
        format!("{}: {message}", path.display()),
    ))
}

/// What separates cells in a table of that name, and whether it is a sheet of a workbook. A name
/// without a known ending is that of a text.
pub(super) fn table_format(path: &Path) -> Result<(Option<Separator>, bool)> {
    match format_of(path) {
        Ok((Format::Table(usual), _)) => Ok((usual, false)),
        Ok((Format::Workbook, _)) => Ok((None, true)),
        Ok(_) => Err(Error::new(
            ErrorKind::Usage,
            "a table is needed, as text (.csv, .tsv, .txt, .dat) or as .xlsx; convert this file",
        )),
        Err(error) => {
            let name = path.to_string_lossy().to_lowercase();
            match OTHERS.iter().any(|(ending, _)| name.ends_with(ending)) {
                true => Err(error),
                false => Ok((None, false)),
            }
        }
    }
}

/// Refuses folders, files that are not there and empty files.
pub(super) fn check_file(path: &Path) -> Result<()> {
    if path.is_dir() {
        let message = "this is a folder; name a file in it";
        return Err(Error::new(ErrorKind::Io, message));
    }
    let about =
        fs::metadata(path).map_err(|error| Error::new(ErrorKind::Io, io_message(&error)))?;
    if about.is_file() && about.len() == 0 {
        return Err(Error::data("the file is empty"));
    }
    Ok(())
}

/// The file's bytes.
pub(super) fn whole(path: &Path) -> Result<Vec<u8>> {
    check_file(path)?;
    let bytes = fs::read(path).map_err(|error| Error::new(ErrorKind::Io, io_message(&error)))?;
    match bytes.is_empty() {
        true => Err(Error::data("the file is empty")),
        false => Ok(bytes),
    }
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
