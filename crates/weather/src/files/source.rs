//! Where fields lie: a NetCDF-4 file or a Zarr store, as named arrays with attributes.

use super::read::damaged;
use fitzroy::draws::{Attribute, ZarrArray, ZarrArrays};
use fitzroy::{Error, ErrorKind, Result};
use rust_hdf5::{DatatypeMessage, H5Dataset, H5File};
use std::path::Path;

/// Records of a NetCDF file that are read at once.
const RECORDS: usize = 32;

/// An open file or store.
pub(super) enum Source {
    Hdf5(H5File),
    Zarr(ZarrArrays),
}

impl Source {
    /// # Errors
    /// It is neither a NetCDF-4 file nor a Zarr store, or cannot be read.
    pub(super) fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Ok(Source::Zarr(ZarrArrays::open(path)?));
        }
        let mut start = [0_u8; 8];
        let io = |error: std::io::Error| Error::new(ErrorKind::Io, error.to_string());
        let mut raw = std::fs::File::open(path).map_err(io)?;
        let n = std::io::Read::read(&mut raw, &mut start).map_err(io)?;
        if start[..n] != *b"\x89HDF\r\n\x1a\n" {
            let what = if start.starts_with(b"CDF") {
                "this is a NetCDF-3 file; convert it: nccopy -k nc4 OLD.nc NEW.nc"
            } else {
                "this is not a NetCDF-4 file"
            };
            return Err(Error::data(what));
        }
        let file = H5File::options().no_locking().open(path).map_err(damaged)?;
        Ok(Source::Hdf5(file))
    }

    /// Names of the arrays at the top.
    pub(super) fn names(&self) -> Vec<String> {
        let names = match self {
            Source::Hdf5(file) => file.dataset_names(),
            Source::Zarr(store) => store.arrays().iter().map(|a| a.name.clone()).collect(),
        };
        names.into_iter().filter(|n| !n.contains('/')).collect()
    }

    /// An array by its name.
    ///
    /// # Errors
    /// The file is damaged.
    pub(super) fn array(&self, name: &str) -> Result<Array<'_>> {
        match self {
            Source::Hdf5(file) => Ok(Array::Hdf5(file.dataset(name).map_err(damaged)?)),
            Source::Zarr(store) => {
                let found = store.arrays().iter().find(|a| a.name == name);
                let found = found.ok_or_else(|| Error::data(format!("there is no `{name}`")))?;
                Ok(Array::Zarr(store, found))
            }
        }
    }
}

/// An array of a source.
pub(super) enum Array<'a> {
    Hdf5(H5Dataset),
    Zarr(&'a ZarrArrays, &'a ZarrArray),
}

impl Array<'_> {
    pub(super) fn shape(&self) -> Vec<usize> {
        match self {
            Array::Hdf5(dataset) => dataset.shape(),
            Array::Zarr(_, array) => array.shape.clone(),
        }
    }

    /// Names of its axes, where they can be read: in Zarr stores.
    pub(super) fn dims(&self) -> Option<&[String]> {
        match self {
            Array::Hdf5(_) => None,
            Array::Zarr(_, array) => {
                let named = array.dims.len() == array.shape.len();
                named.then_some(array.dims.as_slice())
            }
        }
    }

    /// True for numbers, whole or not.
    pub(super) fn numeric(&self) -> bool {
        match self {
            Array::Hdf5(dataset) => matches!(
                dataset.datatype(),
                Ok(DatatypeMessage::FixedPoint { .. } | DatatypeMessage::FloatingPoint { .. })
            ),
            Array::Zarr(..) => true,
        }
    }

    fn whole(&self) -> Result<bool> {
        Ok(match self {
            Array::Hdf5(dataset) => matches!(
                dataset.datatype().map_err(damaged)?,
                DatatypeMessage::FixedPoint { .. }
            ),
            Array::Zarr(_, array) => array.whole,
        })
    }

    /// An attribute that is text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self {
            Array::Hdf5(dataset) => dataset.attr(name).ok()?.read_string().ok(),
            Array::Zarr(_, array) => match attribute(array, name)? {
                Attribute::Text(text) => Some(text.clone()),
                _ => None,
            },
        }
    }

    /// An attribute that is a number.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        match self {
            Array::Hdf5(dataset) => {
                let attribute = dataset.attr(name).ok()?;
                if let Ok(values) = attribute.read_numeric_as::<f64>() {
                    return values.first().copied();
                }
                let values = attribute.read_numeric_as::<i64>().ok()?;
                values.first().map(|&n| n as f64)
            }
            Array::Zarr(_, array) => match attribute(array, name)? {
                Attribute::Integer(n) => Some(*n as f64),
                Attribute::Real(x) => Some(*x),
                Attribute::Text(_) => None,
            },
        }
    }

    /// Numbers that stand for missing ones, as they are stored.
    pub(super) fn missing(&self) -> Vec<f64> {
        let names = ["_FillValue", "missing_value"];
        let mut missing: Vec<f64> = names.iter().filter_map(|name| self.number(name)).collect();
        if let Array::Zarr(_, array) = self {
            missing.extend(array.missing);
        }
        missing
    }

    /// How many records to read at once, so that no chunk is unpacked twice.
    pub(super) fn records(&self) -> usize {
        match self {
            Array::Hdf5(_) => RECORDS,
            Array::Zarr(_, array) => {
                let chunk = array.chunk.first().copied().unwrap_or(1).max(1);
                RECORDS.next_multiple_of(chunk)
            }
        }
    }

    /// Numbers as they are stored: `counts` on every axis from `starts`.
    ///
    /// # Errors
    /// The file is damaged.
    pub(super) fn slice(&self, starts: &[usize], counts: &[usize]) -> Result<Vec<f64>> {
        match self {
            Array::Hdf5(dataset) if self.whole()? => {
                let read = dataset.read_numeric_slice_as::<i64>(starts, counts);
                Ok(read.map_err(damaged)?.iter().map(|&n| n as f64).collect())
            }
            Array::Hdf5(dataset) => dataset
                .read_numeric_slice_as::<f64>(starts, counts)
                .map_err(damaged),
            Array::Zarr(store, array) => {
                let wanted = starts.iter().zip(counts).map(|(&s, &n)| s..s + n);
                store.read(&array.name, &wanted.collect::<Vec<_>>())
            }
        }
    }

    /// All its numbers as they are stored.
    ///
    /// # Errors
    /// The file is damaged.
    pub(super) fn all(&self) -> Result<Vec<f64>> {
        match self {
            Array::Hdf5(dataset) if self.whole()? => {
                let values = dataset.read_numeric_as::<i64>().map_err(damaged)?;
                Ok(values.iter().map(|&n| n as f64).collect())
            }
            Array::Hdf5(dataset) => dataset.read_numeric_as::<f64>().map_err(damaged),
            Array::Zarr(_, array) => self.slice(&vec![0; array.shape.len()], &array.shape),
        }
    }
}

fn attribute<'a>(array: &'a ZarrArray, name: &str) -> Option<&'a Attribute> {
    let found = array.attributes.iter().find(|(other, _)| other == name);
    found.map(|(_, value)| value)
}
