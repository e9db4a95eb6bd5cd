//! Files larger than memory: which columns they have, and fits that read them in pieces.

use super::cache::cached;
use super::stream::{FileColumn, FileTable, broken, decode_table, unreadable};
use crate::fit::{CurveFit, Estimate, Options, Plan, check_counts, fit_table};
use crate::formula::Loss;
use crate::method::Next;
use crate::pass::{Table as _, visit_all};
use fitzroy::data::{NetCdfFile, ParquetFile, TableOptions, TableText};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::Fnv;
use std::fs::File;
use std::io::{BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Where columns are that do not fit into memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    /// NPY files of f64, by name.
    Npy(Vec<(String, PathBuf)>),
    /// A table of text, packed or not, and what is said of it.
    Table(PathBuf, TableOptions),
    /// A Parquet file.
    Parquet(PathBuf),
    /// A NetCDF-4 file with one-dimensional variables.
    NetCdf(PathBuf),
}

impl Stored {
    /// What `paths` are, by the endings of their names.
    ///
    /// # Errors
    /// No file, or files of a kind that is not read in pieces.
    pub fn of(paths: &[PathBuf]) -> Result<Stored> {
        Self::with(paths, &TableOptions::default())
    }

    /// The same, a table as `options` say.
    ///
    /// # Errors
    /// See [`Stored::of`].
    pub fn with(paths: &[PathBuf], options: &TableOptions) -> Result<Stored> {
        let ending = |p: &PathBuf| {
            let e = p.extension().unwrap_or_default().to_string_lossy();
            e.to_lowercase()
        };
        let stem = |p: &PathBuf| {
            let stem = p.file_stem().unwrap_or_default().to_string_lossy();
            stem.into_owned()
        };
        match paths {
            [] => Err(Error::new(
                ErrorKind::Usage,
                "no data: name the NPY files of the columns, or one table of text, Parquet or NetCDF \
                 file",
            )),
            all if all.iter().all(|p| ending(p) == "npy") => Ok(Stored::Npy(
                all.iter().map(|p| (stem(p), p.clone())).collect(),
            )),
            [one] => match ending(one).as_str() {
                "csv" | "tsv" | "txt" | "dat" | "asc" | "gz" | "zst" | "xlsx" | "xlsm" => {
                    Ok(Stored::Table(one.clone(), options.clone()))
                }
                "parquet" => Ok(Stored::Parquet(one.clone())),
                "nc" | "h5" | "hdf5" => Ok(Stored::NetCdf(one.clone())),
                _ => Err(Self::unknown()),
            },
            _ => Err(Self::unknown()),
        }
    }

    fn unknown() -> Error {
        Error::new(
            ErrorKind::Usage,
            "⟨memory_limit⟩ reads NPY files (one per column), or one table of text (.csv, .tsv, .txt, .dat), \
             Parquet or NetCDF file",
        )
    }

    /// The file whose columns have to be decoded; none where they are numbers already.
    pub(super) fn decoded(&self) -> Option<&Path> {
        match self {
            Stored::Npy(_) => None,
            Stored::Table(path, _) | Stored::Parquet(path) | Stored::NetCdf(path) => Some(path),
        }
    }

    /// What is to be told of how a table is read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn remarks(&self) -> Result<Vec<String>> {
        match self {
            Stored::Table(path, options) => {
                let table = TableText::open(path, options)?;
                let told = table.remarks().iter();
                Ok(told.map(|r| format!("{}: {r}", path.display())).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// What was said of a table.
    pub(super) fn said(&self) -> Option<&TableOptions> {
        match self {
            Stored::Table(_, options) => Some(options),
            _ => None,
        }
    }

    /// Names of the columns.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn names(&self) -> Result<Vec<String>> {
        match self {
            Stored::Npy(files) => Ok(files.iter().map(|(name, _)| name.clone()).collect()),
            Stored::Table(path, options) => {
                let table = TableText::open(path, options)?;
                let named = table.names().iter().filter(|name| !name.is_empty());
                Ok(named.cloned().collect())
            }
            Stored::Parquet(path) => Ok(ParquetFile::open(path)?.names()),
            Stored::NetCdf(path) => Ok(NetCdfFile::open(path)?.names()),
        }
    }

    /// The wanted columns as numbers in files: where they are, or decoded into `folder`.
    ///
    /// # Errors
    /// A column is missing, a file damaged, a number missing or not finite.
    pub fn columns(&self, wanted: &[String], folder: &Path) -> Result<Vec<FileColumn>> {
        match self {
            Stored::Table(path, options) => decode_table(path, options, wanted, folder),
            Stored::Npy(files) => {
                let find = |name: &String| match files.iter().find(|(n, _)| n == name) {
                    Some((_, path)) => FileColumn::npy(path),
                    None => {
                        let message = format!("there is no file {name}.npy for column `{name}`");
                        Err(Error::new(ErrorKind::Usage, message))
                    }
                };
                wanted.iter().map(find).collect()
            }
            Stored::Parquet(path) => {
                let file = ParquetFile::open(path)?;
                decode(path, wanted, folder, &|name, take| file.numbers(name, take))
            }
            Stored::NetCdf(path) => {
                let file = NetCdfFile::open(path)?;
                decode(path, wanted, folder, &|name, take| file.numbers(name, take))
            }
        }
    }
}

/// What reads a column by name, piece by piece.
type ReadColumn<'r> = dyn Fn(&str, &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> + 'r;

/// Columns written as numbers into `folder`, so that passes need not unpack them again.
fn decode(
    path: &Path,
    wanted: &[String],
    folder: &Path,
    read: &ReadColumn<'_>,
) -> Result<Vec<FileColumn>> {
    let mut out = Vec::new();
    for (k, name) in wanted.iter().enumerate() {
        let to = FileColumn::decoded(folder, k);
        let file = File::create(&to).map_err(|e| unreadable(&to, &e))?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        let mut n_rows = 0;
        let written = read(name, &mut |values| {
            for x in values {
                n_rows += 1;
                if !x.is_finite() {
                    let message = format!(
                        "row {n_rows}, column {name}: {x} is no finite number; remove the row"
                    );
                    return Err(Error::new(ErrorKind::Data, message));
                }
                let bytes = x.to_le_bytes();
                file.write_all(&bytes).map_err(|e| unreadable(&to, &e))?;
            }
            Ok(())
        });
        written.map_err(|e| e.context(path.display()))?;
        file.flush().map_err(|e| unreadable(&to, &e))?;
        out.push(FileColumn {
            path: to,
            offset: 0,
            n_rows,
            inverse: false,
        });
    }
    if let Some(other) = out.iter().find(|c| c.n_rows != out[0].n_rows) {
        let message = format!(
            "columns differ in length: {} rows and {}",
            out[0].n_rows, other.n_rows
        );
        return Err(broken(path, message));
    }
    Ok(out)
}

/// Bytes at both ends of a file that its fingerprint reads.
const ENDS: u64 = 1 << 16;

/// A hash of the sizes, the first and the last bytes of files: a fit that goes on asks whether
/// they are those it began with.
///
/// # Errors
/// A file cannot be read.
pub fn fingerprint(paths: &[PathBuf]) -> Result<u64> {
    let mut all = Vec::new();
    for path in paths {
        let fail = |e: std::io::Error| unreadable(path, &e);
        let mut file = File::open(path).map_err(fail)?;
        let size = file.metadata().map_err(fail)?.len();
        let mut bytes = size.to_le_bytes().to_vec();
        let read = (&mut file).take(ENDS).read_to_end(&mut bytes);
        read.map_err(fail)?;
        file.seek(SeekFrom::Start(size.saturating_sub(ENDS)))
            .map_err(fail)?;
        file.take(ENDS).read_to_end(&mut bytes).map_err(fail)?;
        all.extend(Fnv::of(&bytes).to_le_bytes());
    }
    Ok(Fnv::of(&all))
}

/// How columns in files are read.
#[derive(Clone, Debug, PartialEq)]
pub struct LargeOptions {
    /// Most bytes of buffers. Default 1 GiB.
    pub memory_limit_bytes: usize,
    /// Rows of a piece; as many as the limit allows by default. Any number gives the same bits.
    pub chunk_rows: Option<usize>,
    /// Where columns of text, Parquet and NetCDF are decoded to; must exist. What is written there
    /// is left to the caller to remove.
    pub folder: PathBuf,
    /// Where such columns are kept from one run to the next, in place of `folder`. None by default.
    pub cache: Option<PathBuf>,
}

impl Default for LargeOptions {
    fn default() -> Self {
        LargeOptions {
            memory_limit_bytes: 1 << 30,
            chunk_rows: None,
            folder: std::path::PathBuf::from("."),
            cache: None,
        }
    }
}

/// Fits columns that stay in their files; exactly the answer of a fit in memory.
///
/// `y` and `sigma` name columns of `source`; predictors are the columns that occur in the formula.
///
/// # Errors
/// Names that are no columns, files that cannot be read, a limit below one tile per thread.
pub fn curve_fit_large(
    fitter: &CurveFit,
    source: &Stored,
    y: &str,
    sigma: Option<&str>,
    options: &Options,
    large: &LargeOptions,
) -> Result<Estimate> {
    let names = source.names()?;
    let views: Vec<&str> = names.iter().map(String::as_str).collect();
    let columns: Vec<&str> = match fitter.formula().is_code() {
        // Code takes all columns that are nothing else.
        true => {
            let other = |n: &&str| *n != y && Some(*n) != sigma;
            views.into_iter().filter(other).collect()
        }
        false => views,
    };
    let roles = fitter.formula().roles(&columns, &[])?;
    let plan = Plan::new(fitter.formula(), roles, sigma.is_some(), options)?;
    let table = file_table(&plan, source, y, sigma, options.threads, large)?;
    fit_table(&plan, &table, options, &mut |_| Next::Continue)
}

/// The columns that `plan` reads, in its order, as a table in files.
///
/// # Errors
/// As [`curve_fit_large`].
pub fn file_table(
    plan: &Plan,
    source: &Stored,
    y: &str,
    sigma: Option<&str>,
    threads: usize,
    large: &LargeOptions,
) -> Result<FileTable> {
    let mut wanted = plan.roles.predictors.clone();
    wanted.push(y.to_string());
    wanted.extend(sigma.map(str::to_string));
    let mut columns = match &large.cache {
        Some(cache) => cached(source, &wanted, cache)?,
        None => source.columns(&wanted, &large.folder)?,
    };
    if let (Some(_), Some(last)) = (sigma, columns.last_mut()) {
        last.inverse = true;
    }
    let mut table = FileTable::new(columns, large.memory_limit_bytes, threads)?;
    if let Some(rows) = large.chunk_rows {
        table = table.in_pieces(rows);
    }
    let (n, p) = (table.n_rows(), plan.free.len());
    if n < p {
        let names = plan.names().join(", ");
        let message = format!("{n} rows cannot determine {p} parameters ({names})");
        return Err(Error::new(ErrorKind::Data, message));
    }
    if plan.programs.loss() == Loss::Poisson {
        let at = plan.roles.predictors.len();
        visit_all(&table, &mut |first, columns| {
            check_counts(plan, columns[at], first, y)
        })?;
    }
    Ok(table)
}
