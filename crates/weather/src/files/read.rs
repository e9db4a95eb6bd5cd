//! Reading CF NetCDF-4 and Zarr: axes, times, packed numbers, missing values.

use super::longitudes::{eastward, whole};
use super::source::{Array, Source};
use crate::time::{Time, from_cf};
use fitzroy::{Error, Result};
use rust_hdf5::Hdf5Error;
use std::path::Path;

/// Names under which axes are known.
const TIME: &[&str] = &["time", "valid_time", "forecast_reference_time"];
const LEVEL: &[&str] = &[
    "level",
    "plev",
    "pressure_level",
    "isobaricInhPa",
    "lev",
    "pressure",
];
const LAT: &[&str] = &["lat", "latitude"];
const LON: &[&str] = &["lon", "longitude"];

/// No pressure level lies beneath this.
const HIGHEST_HPA: f64 = 1200.0;

/// Axes of a file, latitudes from south to north.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    /// Times, as they stand in the file.
    pub times: Vec<Time>,
    /// Pressure levels in hPa; empty without.
    pub levels: Vec<f64>,
    /// Latitudes, degrees north, ascending.
    pub lat: Vec<f64>,
    /// Longitudes, degrees east, ascending; where the file has a seam in them (Greenwich, the date
    /// line) they are counted on across it.
    pub lon: Vec<f64>,
}

/// What a variable of a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dims {
    /// (time, level, lat, lon).
    TimeLevel,
    /// (time, lat, lon).
    Time,
    /// (lat, lon).
    Fixed,
}

/// A variable that lies on the grid.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Its units, where the file tells them.
    pub units: Option<String>,
    /// Its axes.
    pub dims: Dims,
    /// Which axis of the file each of those is.
    order: Vec<usize>,
}

/// A NetCDF-4 file or a Zarr store with fields on a latitude-longitude grid.
pub struct FieldFile {
    source: Source,
    /// Its axes.
    pub axes: Axes,
    /// Its variables on the grid.
    pub variables: Vec<Held>,
    /// Its arrays of numbers that are not on the grid and no axes: names and sizes.
    pub others: Vec<String>,
    /// What was read otherwise than it stands in the file.
    pub notes: Vec<String>,
    flip: bool,
    /// Which point of the file each longitude is.
    columns: Vec<usize>,
}

pub(super) fn damaged(error: Hdf5Error) -> Error {
    Error::data(format!("the file is damaged or cut short ({error})"))
}

impl FieldFile {
    /// Opens a file and reads its axes.
    ///
    /// # Errors
    /// It cannot be read, is neither a NetCDF-4 file nor a Zarr store, or an axis is missing, of
    /// unknown units or not in order. The message begins with the path.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_inner(path).map_err(|error| error.context(path.display()))
    }

    fn open_inner(path: &Path) -> Result<Self> {
        let source = Source::open(path)?;
        let names = source.names();
        let find = |known: &[&str]| names.iter().find(|n| known.contains(&n.as_str()));
        let axis = |what: &str, known: &[&str]| {
            let name = find(known).ok_or_else(|| {
                Error::data(format!(
                    "there is no {what} axis ({}); the file has {}",
                    known.join(", "),
                    names.join(", ")
                ))
            })?;
            source.array(name)
        };
        let time = axis("time", TIME)?;
        let units = time.text("units").unwrap_or_default();
        let calendar = time.text("calendar").unwrap_or_default();
        let times = from_cf(&time.all()?, &units, &calendar)?;
        let mut lat = axis("latitude", LAT)?.all()?;
        let given = axis("longitude", LON)?.all()?;
        let flip = lat.len() > 1 && lat[0] > lat[lat.len() - 1];
        if flip {
            lat.reverse();
        }
        if lat.is_empty() || !lat.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(Error::data("latitude must be in order, without repeats"));
        }
        whole("latitude", &lat)?;
        let (lon, columns, note) = eastward(&given)?;
        let levels = match find(LEVEL) {
            None => Vec::new(),
            Some(name) => {
                let array = source.array(name)?;
                let pascal = array.text("units").is_some_and(|u| u == "Pa");
                let scale = if pascal { 0.01 } else { 1.0 };
                array.all()?.iter().map(|p| p * scale).collect()
            }
        };
        if let Some(level) = levels.iter().find(|p| **p > HIGHEST_HPA) {
            return Err(Error::data(format!(
                "level {level} hPa is no pressure level of the air; if it is in Pa, say so in the \
                 attribute units of the level axis"
            )));
        }
        let axes = Axes {
            times,
            levels,
            lat,
            lon,
        };
        let known = [TIME, LEVEL, LAT, LON].map(|known| find(known).map_or("", String::as_str));
        let (variables, others) = held(&source, &names, &axes, known)?;
        Ok(FieldFile {
            source,
            axes,
            variables,
            others,
            notes: note.into_iter().collect(),
            flip,
            columns,
        })
    }

    /// Reads a variable: time by time, level by level, south to north, west to east. Missing
    /// values are NaN. `sink` gets the number of the record and its values.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn read(&self, name: &str, mut sink: impl FnMut(usize, &[f32])) -> Result<()> {
        let array = self.source.array(name)?;
        let shape = array.shape();
        let held = self.variables.iter().find(|v| v.name == name);
        let held = held.ok_or_else(|| Error::data(format!("`{name}` is not on the grid")))?;
        let (scale, offset) = (
            array.number("scale_factor").unwrap_or(1.0),
            array.number("add_offset").unwrap_or(0.0),
        );
        let missing = array.missing();
        let fixed = held.dims == Dims::Fixed;
        let time = held.order[0];
        let n_records = if fixed { 1 } else { shape[time] };
        let at_once = array.records();
        let mut out = Vec::new();
        for first in (0..n_records).step_by(at_once) {
            let n = at_once.min(n_records - first);
            let (mut starts, mut counts) = (vec![0; shape.len()], shape.clone());
            if !fixed {
                (starts[time], counts[time]) = (first, n);
            }
            let values = array.slice(&starts, &counts)?;
            let walk = Walk::new(&counts, &held.order, fixed);
            for k in 0..n {
                out.clear();
                for level in 0..walk.sizes[1] {
                    for row in 0..walk.sizes[2] {
                        let row = if self.flip {
                            walk.sizes[2] - 1 - row
                        } else {
                            row
                        };
                        for &column in &self.columns {
                            let x = values[walk.at([k, level, row, column])];
                            out.push(if missing.contains(&x) {
                                f32::NAN
                            } else {
                                (x * scale + offset) as f32
                            });
                        }
                    }
                }
                sink(first + k, &out);
            }
        }
        Ok(())
    }
}

/// How numbers of (time, level, lat, lon) lie in an array of any order of axes.
struct Walk {
    sizes: [usize; 4],
    strides: [usize; 4],
}

impl Walk {
    /// `order` says which axis of `counts` time, level, lat and lon are, as far as there are such.
    fn new(counts: &[usize], order: &[usize], fixed: bool) -> Self {
        let stride = |axis: usize| counts[axis + 1..].iter().product::<usize>();
        let (mut sizes, mut strides) = ([1; 4], [0; 4]);
        let places: &[usize] = match (fixed, order.len()) {
            (true, _) => &[2, 3],
            (_, 3) => &[0, 2, 3],
            _ => &[0, 1, 2, 3],
        };
        for (&place, &axis) in places.iter().zip(order) {
            (sizes[place], strides[place]) = (counts[axis], stride(axis));
        }
        Walk { sizes, strides }
    }

    fn at(&self, index: [usize; 4]) -> usize {
        index.iter().zip(self.strides).map(|(i, s)| i * s).sum()
    }
}

/// The variables on the axes, and what else there is. Axes are known by their names where the file
/// tells them, else by their sizes: in the usual order, or in the only other one that fits.
fn held(
    source: &Source,
    names: &[String],
    axes: &Axes,
    known: [&str; 4],
) -> Result<(Vec<Held>, Vec<String>)> {
    let sizes = [
        axes.times.len(),
        axes.levels.len(),
        axes.lat.len(),
        axes.lon.len(),
    ];
    let (mut variables, mut others) = (Vec::new(), Vec::new());
    for name in names {
        let array: Array<'_> = source.array(name)?;
        if !array.numeric() || known.contains(&name.as_str()) {
            continue;
        }
        let shape = array.shape();
        let layouts: [(Dims, &[usize]); 3] = [
            (Dims::TimeLevel, &[0, 1, 2, 3]),
            (Dims::Time, &[0, 2, 3]),
            (Dims::Fixed, &[2, 3]),
        ];
        let found = layouts.iter().find_map(|(dims, wanted)| {
            let order = match array.dims() {
                Some(dims) => by_name(dims, &wanted.iter().map(|&k| known[k]).collect::<Vec<_>>()),
                None => by_size(
                    &shape,
                    &wanted.iter().map(|&k| sizes[k]).collect::<Vec<_>>(),
                ),
            }?;
            let fits = order
                .iter()
                .zip(*wanted)
                .all(|(&axis, &k)| shape[axis] == sizes[k]);
            fits.then_some((*dims, order))
        });
        let Some((dims, order)) = found else {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            others.push(format!("`{name}` of {}", sizes.join(" x ")));
            continue;
        };
        variables.push(Held {
            name: name.clone(),
            units: array.text("units"),
            dims,
            order,
        });
    }
    Ok((variables, others))
}

/// Which axis each wanted one is, if these are exactly they.
fn by_name(dims: &[String], wanted: &[&str]) -> Option<Vec<usize>> {
    if dims.len() != wanted.len() {
        return None;
    }
    let place = |name: &&str| dims.iter().position(|d| d == name);
    wanted.iter().map(place).collect()
}

/// Which axis each wanted size is: in order, or where all sizes differ.
fn by_size(shape: &[usize], wanted: &[usize]) -> Option<Vec<usize>> {
    if shape == wanted {
        return Some((0..wanted.len()).collect());
    }
    let once = |n: &usize| wanted.iter().filter(|m| *m == n).count() == 1;
    if shape.len() != wanted.len() || !wanted.iter().all(once) {
        return None;
    }
    let place = |n: &usize| shape.iter().position(|m| m == n);
    wanted.iter().map(place).collect()
}
