//! Where fields lie: a NetCDF file or a Zarr store, as named arrays with attributes.

use super::classic::{Classic, Variable};
use super::foreign::foreign;
use super::groups::group_of_fields;
use super::read::damaged;
use super::walk::Unpack;
use fitzroy::draws::{Attribute, ZarrArray, ZarrArrays, netcdf_dims};
use fitzroy::{Error, ErrorKind, Result};
use rust_hdf5::{DatatypeMessage, H5Dataset, H5File};
use std::collections::BTreeMap;
use std::path::Path;

/// Records that are read at once, at least.
const RECORDS: usize = 32;

/// Numbers that are read at once, at most, where a record has fewer.
const NUMBERS: usize = 1 << 25;

/// How a dataset says that it is an axis without labels.
const NO_VARIABLE: &str = "This is a netCDF dimension but not a netCDF variable";

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// An open file or store, and the group in which its fields lie.
pub(super) struct Source {
    format: Format,
    /// Its path, empty for the top.
    pub(super) group: String,
}

enum Format {
    /// NetCDF-4, and the dims of its datasets as far as it tells them.
    Hdf5(H5File, BTreeMap<String, Vec<String>>),
    /// NetCDF-3.
    Classic(Classic),
    Zarr(ZarrArrays),
}

impl Source {
    /// # Errors
    /// It is neither a NetCDF file nor a Zarr store, or cannot be read; its fields lie in several
    /// groups.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut source = Source {
            format: Format::open(path)?,
            group: String::new(),
        };
        source.group = group_of_fields(&source)?;
        Ok(source)
    }

    /// Paths of all arrays.
    pub(super) fn paths(&self) -> Vec<String> {
        match &self.format {
            Format::Hdf5(file, _) => file.dataset_names(),
            Format::Classic(file) => file.variables.iter().map(|v| v.name.clone()).collect(),
            Format::Zarr(store) => store.arrays().iter().map(|a| a.name.clone()).collect(),
        }
    }

    /// Names of the arrays of the group, and of those above it, whose axes it may use.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for path in self.paths() {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
            if self.enclosing().any(|group| group == folder) && !names.iter().any(|n| n == name) {
                names.push(name.to_string());
            }
        }
        names
    }

    /// The group, and those around it.
    fn enclosing(&self) -> impl Iterator<Item = &str> {
        let inner = (!self.group.is_empty()).then_some(self.group.as_str());
        std::iter::successors(inner, |group| {
            group.rsplit_once('/').map(|(above, _)| above)
        })
        .chain([""])
    }

    /// An attribute of a whole NetCDF-4 file that is text.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        match &self.format {
            Format::Hdf5(file, _) => file.attr_string(name).ok(),
            Format::Classic(_) | Format::Zarr(_) => None,
        }
    }

    /// An array of the group by its name.
    ///
    /// # Errors
    /// The file is damaged.
    pub(super) fn array(&self, name: &str) -> Result<Array<'_>> {
        let mut found = Err(Error::data(format!("there is no `{name}`")));
        for group in self.enclosing() {
            let path = match group {
                "" => name.to_string(),
                group => format!("{group}/{name}"),
            };
            found = self.at(&path);
            if found.is_ok() {
                break;
            }
        }
        found
    }

    /// An array by its path.
    ///
    /// # Errors
    /// The file is damaged.
    pub(super) fn at(&self, path: &str) -> Result<Array<'_>> {
        let lacks = || Error::data(format!("there is no `{path}`"));
        match &self.format {
            Format::Hdf5(file, dims) => {
                let dims = dims.get(path).map(Vec::as_slice);
                Ok(Array::Hdf5(file.dataset(path).map_err(damaged)?, dims))
            }
            Format::Classic(file) => {
                let found = file.variables.iter().find(|v| v.name == path);
                Ok(Array::Classic(file, found.ok_or_else(lacks)?))
            }
            Format::Zarr(store) => {
                let found = store.arrays().iter().find(|a| a.name == path);
                Ok(Array::Zarr(store, found.ok_or_else(lacks)?))
            }
        }
    }
}

impl Format {
    fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Ok(Format::Zarr(ZarrArrays::open(path)?));
        }
        let mut start = [0_u8; 64];
        let io = |error: std::io::Error| Error::new(ErrorKind::Io, error.to_string());
        let mut raw = std::fs::File::open(path).map_err(io)?;
        let n = std::io::Read::read(&mut raw, &mut start).map_err(io)?;
        let start = &start[..n];
        if start.starts_with(b"PK") {
            return Ok(Format::Zarr(ZarrArrays::open(path)?));
        }
        if start.starts_with(b"CDF") {
            return Ok(Format::Classic(Classic::open(path)?));
        }
        if !start.starts_with(b"\x89HDF\r\n\x1a\n") {
            return Err(Error::data(foreign(start)));
        }
        // Files that this cannot follow tell their axes by sizes.
        let dims = netcdf_dims(path).unwrap_or_default();
        let file = H5File::options().no_locking().open(path).map_err(damaged)?;
        Ok(Format::Hdf5(file, dims))
    }
}

/// An array of a source.
pub(super) enum Array<'a> {
    Hdf5(H5Dataset, Option<&'a [String]>),
    Classic(&'a Classic, &'a Variable),
    Zarr(&'a ZarrArrays, &'a ZarrArray),
}

impl Array<'_> {
    pub(super) fn shape(&self) -> Vec<usize> {
        match self {
            Array::Hdf5(dataset, _) => dataset.shape(),
            Array::Classic(_, variable) => variable.shape.clone(),
            Array::Zarr(_, array) => array.shape.clone(),
        }
    }

    /// Names of its axes, where the file tells them.
    pub(super) fn dims(&self) -> Option<&[String]> {
        let dims = match self {
            Array::Hdf5(_, dims) => (*dims)?,
            Array::Classic(_, variable) => &variable.dims,
            Array::Zarr(_, array) => &array.dims,
        };
        (dims.len() == self.shape().len()).then_some(dims)
    }

    /// True for numbers, whole or not, and not for a mere axis without a variable.
    pub(super) fn numeric(&self) -> bool {
        match self {
            Array::Hdf5(dataset, _) => {
                let number = matches!(
                    dataset.datatype(),
                    Ok(DatatypeMessage::FixedPoint { .. } | DatatypeMessage::FloatingPoint { .. })
                );
                number
                    && self
                        .text("NAME")
                        .is_none_or(|name| !name.starts_with(NO_VARIABLE))
            }
            Array::Classic(_, variable) => variable.numeric(),
            Array::Zarr(..) => true,
        }
    }

    fn whole(&self) -> Result<bool> {
        Ok(match self {
            Array::Hdf5(dataset, _) => matches!(
                dataset.datatype().map_err(damaged)?,
                DatatypeMessage::FixedPoint { .. }
            ),
            Array::Classic(..) => false,
            Array::Zarr(_, array) => array.whole_kind.is_some(),
        })
    }

    fn attribute(&self, name: &str) -> Option<&Attribute> {
        let all = match self {
            Array::Hdf5(..) => return None,
            Array::Classic(_, variable) => &variable.attributes,
            Array::Zarr(_, array) => &array.attributes,
        };
        all.iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value)
    }

    /// An attribute that is text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match (self, self.attribute(name)) {
            (Array::Hdf5(dataset, _), _) => dataset.attr(name).ok()?.read_string().ok(),
            (_, Some(Attribute::Text(text))) => Some(text.clone()),
            _ => None,
        }
    }

    /// An attribute that is a number.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        if let Array::Hdf5(dataset, _) = self {
            let attribute = dataset.attr(name).ok()?;
            if let Ok(values) = attribute.read_numeric_as::<f64>() {
                return values.first().copied();
            }
            let values = attribute.read_numeric_as::<i64>().ok()?;
            return values.first().map(|&n| n as f64);
        }
        match self.attribute(name)? {
            Attribute::Integer(n) => Some(*n as f64),
            Attribute::Real(x) => Some(*x),
            Attribute::Text(text) => text_number(text),
        }
    }

    /// Bits and signedness of its numbers as they are stored, where they are whole.
    pub(super) fn whole_kind(&self) -> Option<(u32, bool)> {
        match self {
            Array::Hdf5(dataset, _) => match dataset.datatype().ok()? {
                DatatypeMessage::FixedPoint { size, signed, .. } => Some((8 * size, signed)),
                _ => None,
            },
            Array::Classic(_, variable) => variable.whole_kind(),
            Array::Zarr(_, array) => array.whole_kind,
        }
    }

    /// True for texts and characters.
    pub(super) fn textual(&self) -> bool {
        match self {
            Array::Hdf5(dataset, _) => matches!(
                dataset.datatype(),
                Ok(DatatypeMessage::FixedString { .. } | DatatypeMessage::VarLenString { .. })
            ),
            Array::Classic(_, variable) => !variable.numeric(),
            Array::Zarr(..) => false,
        }
    }

    /// Its texts, if it holds texts: an axis of characters makes one of them.
    pub(super) fn texts(&self) -> Option<Vec<String>> {
        let (bytes, width) = match self {
            Array::Hdf5(dataset, _) => match dataset.datatype().ok()? {
                DatatypeMessage::FixedString { size: 1, .. } => {
                    (dataset.read_raw_bytes().ok()?, *dataset.shape().last()?)
                }
                DatatypeMessage::FixedString { size, .. } => {
                    (dataset.read_raw_bytes().ok()?, size as usize)
                }
                _ => return dataset.read_vlen_strings().ok(),
            },
            Array::Classic(_, variable) if variable.numeric() => return None,
            Array::Classic(file, variable) => {
                let all = file.slice(variable, &vec![0; variable.shape.len()], &variable.shape);
                let bytes = all.ok()?.iter().map(|&x| x as u8).collect();
                (bytes, *variable.shape.last()?)
            }
            Array::Zarr(..) => return None,
        };
        let text = |row: &[u8]| {
            let text = String::from_utf8_lossy(row);
            text.trim_end_matches(['\0', ' ']).to_string()
        };
        Some(bytes.chunks_exact(width.max(1)).map(text).collect())
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

    /// How many places along an axis a chunk has.
    pub(super) fn chunk(&self, axis: usize) -> usize {
        let chunk = match self {
            Array::Hdf5(dataset, _) => dataset.chunk_dims().and_then(|c| c.get(axis).copied()),
            Array::Classic(..) => None,
            Array::Zarr(_, array) => array.chunk.get(axis).copied(),
        };
        chunk.unwrap_or(1).max(1)
    }

    /// How many places along an axis to read at once, each of `n` numbers: so that no chunk is
    /// unpacked twice, and not so many that they take much memory.
    pub(super) fn at_once(&self, axis: usize, n: usize) -> usize {
        let chunk = self.chunk(axis);
        let most = (NUMBERS / n.max(1)).max(1);
        match RECORDS.next_multiple_of(chunk) {
            wanted if wanted <= most => wanted,
            // Whole chunks where they fit.
            _ if chunk <= most => most / chunk * chunk,
            _ => most,
        }
    }

    /// Numbers as they are stored: `counts` on every axis from `starts`.
    ///
    /// # Errors
    /// The file is damaged.
    pub(super) fn slice(&self, starts: &[usize], counts: &[usize]) -> Result<Vec<f64>> {
        match self {
            Array::Hdf5(dataset, _) if self.whole()? => {
                let read = dataset.read_numeric_slice_as::<i64>(starts, counts);
                Ok(read.map_err(damaged)?.iter().map(|&n| n as f64).collect())
            }
            Array::Hdf5(dataset, _) => dataset
                .read_numeric_slice_as::<f64>(starts, counts)
                .map_err(damaged),
            Array::Classic(file, variable) => file.slice(variable, starts, counts),
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
            Array::Hdf5(dataset, _) if self.whole()? => {
                let values = dataset.read_numeric_as::<i64>().map_err(damaged)?;
                Ok(values.iter().map(|&n| n as f64).collect())
            }
            Array::Hdf5(dataset, _) => dataset.read_numeric_as::<f64>().map_err(damaged),
            Array::Classic(..) | Array::Zarr(..) => {
                let shape = self.shape();
                let all = self.slice(&vec![0; shape.len()], &shape);
                all.map_err(|error| match self {
                    Array::Zarr(_, array) => error.context(format!("`{}`", array.name)),
                    _ => error,
                })
            }
        }
    }

    /// All its values: numbers unpacked, missing ones NaN.
    ///
    /// # Errors
    /// The file is damaged.
    pub(super) fn values(&self) -> Result<Vec<f64>> {
        let unpack = Unpack::of(self);
        Ok(self.all()?.into_iter().map(|x| unpack.value(x)).collect())
    }
}

/// A number that an attribute says as text: as such, or as xarray writes fill values into stores
/// of Zarr version 3, the bytes of an f64 in base 64.
fn text_number(text: &str) -> Option<f64> {
    if let Ok(number) = text.trim().parse() {
        return Some(number);
    }
    let digits = text.strip_suffix('=').filter(|rest| rest.len() == 11)?;
    let mut bits = 0_u128;
    for c in digits.bytes() {
        let value = BASE64.iter().position(|&d| d == c)?;
        bits = bits << 6 | value as u128;
    }
    // Eleven digits are 66 bits; two of them fill up.
    let bytes = ((bits >> 2) as u64).to_be_bytes();
    Some(f64::from_le_bytes(bytes))
}
