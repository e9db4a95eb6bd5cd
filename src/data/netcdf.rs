//! NetCDF-4 (and plain HDF5): variables as arrays.

use std::io::Read as _;
use std::path::Path;

use rust_hdf5::{DatatypeMessage, H5Dataset, H5File};

use super::Array;
use crate::{Error, ErrorKind, Result};

/// How a scale says that it is a dimension without values.
const NO_VALUES: &str = "This is a netCDF dimension but not a netCDF variable";

/// Deflate makes data at most this many times smaller.
const DEFLATE_MAX: u64 = 1100;

fn damaged(error: impl std::fmt::Display) -> Error {
    Error::data(format!("the file is damaged or cut short ({error})"))
}

/// Numbers that are read at a time.
const PIECE: usize = 1 << 16;

/// A NetCDF-4 file whose one-dimensional variables are read in pieces.
pub struct NetCdfFile {
    file: H5File,
    bytes: u64,
}

impl NetCdfFile {
    /// Opens a file.
    ///
    /// # Errors
    /// It cannot be read, or is no NetCDF-4 file.
    pub fn open(path: &Path) -> Result<NetCdfFile> {
        let file = open(path).map_err(|error| error.context(path.display()))?;
        let bytes = std::fs::metadata(path).map_or(0, |m| m.len());
        Ok(NetCdfFile { file, bytes })
    }

    /// Names of the one-dimensional variables of numbers in the root group; paths of those in other
    /// groups where it has none.
    pub fn names(&self) -> Vec<String> {
        let plain = |name: &String| {
            let Ok(dataset) = self.file.dataset(name) else {
                return false;
            };
            let numeric = matches!(
                dataset.datatype(),
                Ok(DatatypeMessage::FixedPoint { .. } | DatatypeMessage::FloatingPoint { .. })
            );
            let empty = text(&dataset, "NAME").is_some_and(|n| n.starts_with(NO_VALUES));
            numeric && dataset.shape().len() == 1 && !empty
        };
        let all = self.file.dataset_names().into_iter().filter(plain);
        let (groups, root): (Vec<String>, Vec<String>) = all.partition(|name| name.contains('/'));
        if root.is_empty() { groups } else { root }
    }

    /// Reads the variable of numbers or of text at a path through groups: `runs/first/time`.
    ///
    /// # Errors
    /// No such variable, of those types; a damaged file.
    pub fn array(&self, path: &str) -> Result<Array> {
        let path = path.trim_start_matches('/');
        let all = self.file.dataset_names();
        if !all.iter().any(|name| name == path) {
            let all = all.join(", ");
            return Err(Error::data(format!(
                "it holds no array `{path}`; it holds {all}"
            )));
        }
        let dataset = self.file.dataset(path).map_err(damaged)?;
        check_size(&dataset, self.bytes)?;
        array(&dataset, path, "")?
            .ok_or_else(|| Error::data(format!("`{path}` holds neither numbers nor text")))
    }

    /// Reads a variable piece by piece, unpacked, NaN where it is missing.
    ///
    /// # Errors
    /// No such variable; a damaged file; what `take` returns.
    pub fn numbers(&self, name: &str, take: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> {
        if !self.names().iter().any(|n| n == name) {
            let all = self.names().join(", ");
            return Err(Error::data(format!(
                "there is no one-dimensional variable `{name}` of numbers; there are {all}"
            )));
        }
        let dataset = self.file.dataset(name).map_err(damaged)?;
        let n = dataset.shape()[0];
        // Whole chunks, so that none is unpacked twice.
        let chunk = dataset.chunk_dims().map_or(1, |c| c[0].max(1));
        let piece = PIECE.div_ceil(chunk) * chunk;
        let packing = Packing::of(&dataset);
        for first in (0..n).step_by(piece) {
            let count = piece.min(n - first);
            let mut values = match dataset.datatype().map_err(damaged)? {
                DatatypeMessage::FixedPoint { .. } => {
                    let read = dataset.read_numeric_slice_as::<i64>(&[first], &[count]);
                    read.map_err(damaged)?.iter().map(|&v| v as f64).collect()
                }
                _ => dataset
                    .read_numeric_slice_as::<f64>(&[first], &[count])
                    .map_err(damaged)?,
            };
            packing.unpack(&mut values);
            take(&values)?;
        }
        Ok(())
    }
}

/// Reads the variables of numbers and of text in the root group; those of all groups, called by
/// their paths, where the root has none. Packed numbers are unpacked (`scale_factor`, `add_offset`),
/// `_FillValue` and `missing_value` become NaN; variables of other types are left out.
pub(super) fn read(path: &Path, source: &str) -> Result<Vec<Array>> {
    let file = open(path)?;
    let bytes = std::fs::metadata(path).map_or(0, |m| m.len());
    let mut found = arrays_of(&file, bytes, source, false)?;
    if found.is_empty() {
        found = arrays_of(&file, bytes, source, true)?;
    }
    match found.is_empty() {
        true => Err(Error::data("the file holds no variable of numbers or text")),
        false => Ok(found),
    }
}

fn arrays_of(file: &H5File, bytes: u64, source: &str, in_groups: bool) -> Result<Vec<Array>> {
    let mut out = Vec::new();
    for name in file.dataset_names() {
        if name.contains('/') != in_groups {
            continue;
        }
        let dataset = file.dataset(&name).map_err(damaged)?;
        if text(&dataset, "NAME").is_some_and(|n| n.starts_with(NO_VALUES)) {
            continue;
        }
        check_size(&dataset, bytes).map_err(|e| e.context(format!("`{name}`")))?;
        let array = array(&dataset, &name, source);
        out.extend(array.map_err(|e| e.context(format!("`{name}`")))?);
    }
    Ok(out)
}

fn open(path: &Path) -> Result<H5File> {
    let io = |error: std::io::Error| Error::new(ErrorKind::Io, super::io_message(&error));
    let mut start = Vec::new();
    let file = std::fs::File::open(path).map_err(io)?;
    file.take(8).read_to_end(&mut start).map_err(io)?;
    if start != *b"\x89HDF\r\n\x1a\n" {
        return Err(Error::data(if start.starts_with(b"CDF") {
            "this is a NetCDF-3 file; convert it: nccopy -k nc4 OLD.nc NEW.nc"
        } else {
            "this is not a NetCDF-4 file"
        }));
    }
    H5File::options().no_locking().open(path).map_err(damaged)
}

/// Refuses a shape that a file of this size cannot hold.
fn check_size(dataset: &H5Dataset, file_bytes: u64) -> Result<()> {
    let element = dataset.element_size() as u64;
    let shape = dataset.shape();
    let mut sizes = shape.iter();
    let needed = sizes.try_fold(element, |n, &s| n.checked_mul(s as u64));
    if needed.is_none_or(|n| n > file_bytes.saturating_mul(DEFLATE_MAX)) {
        return Err(damaged(format!("shape {shape:?} in a file this small")));
    }
    Ok(())
}

/// A variable; `None` when its type is neither a number nor text.
fn array(dataset: &H5Dataset, name: &str, source: &str) -> Result<Option<Array>> {
    let shape = dataset.shape();
    let n: usize = shape.iter().product();
    let (values, whole) = match dataset.datatype().map_err(damaged)? {
        DatatypeMessage::FixedPoint { .. } => {
            let values = dataset.read_numeric_as::<i64>().map_err(damaged)?;
            (values.iter().map(|&v| v as f64).collect::<Vec<f64>>(), true)
        }
        DatatypeMessage::FloatingPoint { .. } => {
            (dataset.read_numeric_as::<f64>().map_err(damaged)?, false)
        }
        DatatypeMessage::FixedString { .. } | DatatypeMessage::VarLenString { .. } => {
            let cells = dataset.read_strings_lossy().map_err(damaged)?;
            if cells.len() != n {
                return Err(damaged(format!("{} elements for {shape:?}", cells.len())));
            }
            return Ok(Some(Array::text(name, &shape, cells, source)));
        }
        _ => return Ok(None),
    };
    if values.len() != n {
        return Err(damaged(format!("{} elements for {shape:?}", values.len())));
    }
    Ok(Some(unpacked(dataset, values, whole, name, source)))
}

/// How numbers are packed, and which say that there is none.
struct Packing {
    scale: f64,
    offset: f64,
    absent: Vec<f64>,
}

impl Packing {
    fn of(dataset: &H5Dataset) -> Packing {
        let absent = ["_FillValue", "missing_value"];
        Packing {
            scale: number(dataset, "scale_factor").unwrap_or(1.0),
            offset: number(dataset, "add_offset").unwrap_or(0.0),
            absent: absent.iter().filter_map(|a| number(dataset, a)).collect(),
        }
    }

    fn is_plain(&self) -> bool {
        (self.scale, self.offset) == (1.0, 0.0)
    }

    fn unpack(&self, values: &mut [f64]) {
        for x in values {
            if self.absent.contains(x) {
                *x = f64::NAN;
            } else if !self.is_plain() {
                *x = *x * self.scale + self.offset;
            }
        }
    }
}

fn unpacked(
    dataset: &H5Dataset,
    mut values: Vec<f64>,
    whole: bool,
    name: &str,
    source: &str,
) -> Array {
    let packing = Packing::of(dataset);
    packing.unpack(&mut values);
    let missing = values.iter().enumerate().filter(|(_, x)| x.is_nan());
    let missing: Vec<usize> = missing.map(|(i, _)| i).collect();
    let mut array = Array::real(name, &dataset.shape(), values, source);
    array.whole = array.whole || whole && packing.is_plain();
    array.missing = missing;
    array
}

fn number(dataset: &H5Dataset, name: &str) -> Option<f64> {
    let attribute = dataset.attr(name).ok()?;
    let real = attribute.read_numeric_as::<f64>().ok();
    let whole = || {
        let values = attribute.read_numeric_as::<i64>().ok()?;
        Some(values.iter().map(|&v| v as f64).collect())
    };
    real.or_else(whole)?.first().copied()
}

fn text(dataset: &H5Dataset, name: &str) -> Option<String> {
    dataset.attr(name).ok()?.read_string().ok()
}
