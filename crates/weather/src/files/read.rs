//! Reading CF NetCDF-4 and Zarr: axes, times, packed numbers, missing values.

use super::source::{Array, Source};
use crate::time::{Time, from_cf};
use fitzroy::{Error, ErrorKind, Result};
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

/// Axes of a file, latitudes from south to north.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    /// Times, as they stand in the file.
    pub times: Vec<Time>,
    /// Pressure levels in hPa; empty without.
    pub levels: Vec<f64>,
    /// Latitudes, degrees north, ascending.
    pub lat: Vec<f64>,
    /// Longitudes, degrees east, ascending.
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
}

/// A NetCDF-4 file or a Zarr store with fields on a latitude-longitude grid.
pub struct FieldFile {
    source: Source,
    /// Its axes.
    pub axes: Axes,
    /// Its variables on the grid.
    pub variables: Vec<Held>,
    flip: bool,
}

pub(super) fn data_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Data, message)
}

pub(super) fn damaged(error: Hdf5Error) -> Error {
    data_error(format!("the file is damaged or cut short ({error})"))
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
                data_error(format!(
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
        let lon = axis("longitude", LON)?.all()?;
        let flip = lat.len() > 1 && lat[0] > lat[lat.len() - 1];
        if flip {
            lat.reverse();
        }
        for (name, values) in [("latitude", &lat), ("longitude", &lon)] {
            if values.is_empty() || !values.windows(2).all(|pair| pair[0] < pair[1]) {
                return Err(data_error(format!(
                    "{name} must be in order, without repeats"
                )));
            }
        }
        let levels = match find(LEVEL) {
            None => Vec::new(),
            Some(name) => {
                let array = source.array(name)?;
                let pascal = array.text("units").is_some_and(|u| u == "Pa");
                let scale = if pascal { 0.01 } else { 1.0 };
                array.all()?.iter().map(|p| p * scale).collect()
            }
        };
        let axes = Axes {
            times,
            levels,
            lat,
            lon,
        };
        let variables = held(&source, &names, &axes)?;
        Ok(FieldFile {
            source,
            axes,
            variables,
            flip,
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
        let fixed = shape.len() == 2;
        let (scale, offset) = (
            array.number("scale_factor").unwrap_or(1.0),
            array.number("add_offset").unwrap_or(0.0),
        );
        let missing = array.missing();
        let (n_lat, n_lon) = (self.axes.lat.len(), self.axes.lon.len());
        let n_records = if fixed { 1 } else { shape[0] };
        let at_once = array.records();
        let mut out = Vec::new();
        for first in (0..n_records).step_by(at_once) {
            let n = at_once.min(n_records - first);
            let (mut starts, mut counts) = (vec![0; shape.len()], shape.clone());
            if !fixed {
                (starts[0], counts[0]) = (first, n);
            }
            let values = array.slice(&starts, &counts)?;
            for (k, record) in values.chunks(values.len() / n.max(1)).enumerate() {
                out.clear();
                for field in record.chunks(n_lat * n_lon) {
                    for row in 0..n_lat {
                        let row = if self.flip { n_lat - 1 - row } else { row };
                        for &x in &field[row * n_lon..(row + 1) * n_lon] {
                            let gone = missing.contains(&x);
                            out.push(if gone {
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

/// The variables whose shape is that of the axes.
fn held(source: &Source, names: &[String], axes: &Axes) -> Result<Vec<Held>> {
    let grid = [axes.lat.len(), axes.lon.len()];
    let (n_times, n_levels) = (axes.times.len(), axes.levels.len());
    let mut variables = Vec::new();
    for name in names {
        let array: Array<'_> = source.array(name)?;
        let dims = match array.shape().as_slice() {
            [t, p, y, x] if (*t, *p) == (n_times, n_levels) && [*y, *x] == grid => Dims::TimeLevel,
            [t, y, x] if *t == n_times && [*y, *x] == grid => Dims::Time,
            [y, x] if [*y, *x] == grid => Dims::Fixed,
            _ => continue,
        };
        if array.numeric() {
            variables.push(Held {
                name: name.clone(),
                units: array.text("units"),
                dims,
            });
        }
    }
    Ok(variables)
}
