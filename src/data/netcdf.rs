//! NetCDF-4 (and plain HDF5): the variables of the root group as arrays.

use std::io::Read as _;
use std::path::Path;

use rust_hdf5::{DatatypeMessage, H5Dataset, H5File};

use super::Array;
use crate::{Error, ErrorKind, Result};

/// How a scale says that it is a dimension without values.
const NO_VALUES: &str = "This is a netCDF dimension but not a netCDF variable";

/// Deflate makes data at most this many times smaller.
const DEFLATE_MAX: u64 = 1100;

fn data_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Data, message)
}

fn damaged(error: impl std::fmt::Display) -> Error {
    data_error(format!("the file is damaged or cut short ({error})"))
}

/// Reads the variables of numbers and of text in the root group. Packed numbers are unpacked
/// (`scale_factor`, `add_offset`), `_FillValue` and `missing_value` become NaN; variables of other
/// types and in other groups are left out.
pub(super) fn read(path: &Path, source: &str) -> Result<Vec<Array>> {
    let file = open(path)?;
    let bytes = std::fs::metadata(path).map_or(0, |m| m.len());
    let mut out = Vec::new();
    for name in file.dataset_names() {
        if name.contains('/') {
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
    if out.is_empty() {
        let message = "the root group holds no variable of numbers or text";
        return Err(data_error(message));
    }
    Ok(out)
}

fn open(path: &Path) -> Result<H5File> {
    let io = |error: std::io::Error| Error::new(ErrorKind::Io, super::io_message(&error));
    let mut start = Vec::new();
    let file = std::fs::File::open(path).map_err(io)?;
    file.take(8).read_to_end(&mut start).map_err(io)?;
    if start != *b"\x89HDF\r\n\x1a\n" {
        return Err(data_error(if start.starts_with(b"CDF") {
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

fn unpacked(
    dataset: &H5Dataset,
    mut values: Vec<f64>,
    whole: bool,
    name: &str,
    source: &str,
) -> Array {
    let scale = number(dataset, "scale_factor").unwrap_or(1.0);
    let offset = number(dataset, "add_offset").unwrap_or(0.0);
    let absent = ["_FillValue", "missing_value"];
    let absent: Vec<f64> = absent.iter().filter_map(|a| number(dataset, a)).collect();
    let mut missing = Vec::new();
    for (i, x) in values.iter_mut().enumerate() {
        if absent.contains(x) || x.is_nan() {
            *x = f64::NAN;
            missing.push(i);
        } else if (scale, offset) != (1.0, 0.0) {
            *x = *x * scale + offset;
        }
    }
    let mut array = Array::real(name, &dataset.shape(), values, source);
    array.whole = array.whole || whole && (scale, offset) == (1.0, 0.0);
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
