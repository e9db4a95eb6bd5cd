//! Reading CF NetCDF-4: axes, times, packed numbers, missing values.

use crate::time::{Time, from_cf};
use fitzroy::{Error, ErrorKind, Result};
use rust_hdf5::{DatatypeMessage, H5Dataset, H5File, Hdf5Error};
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

/// Records read at once.
const RECORDS: usize = 32;

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

/// A NetCDF-4 file with fields on a latitude-longitude grid.
pub struct FieldFile {
    file: H5File,
    /// Its axes.
    pub axes: Axes,
    /// Its variables on the grid.
    pub variables: Vec<Held>,
    flip: bool,
}

fn data_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Data, message)
}

fn damaged(error: Hdf5Error) -> Error {
    data_error(format!("the file is damaged or cut short ({error})"))
}

fn text(dataset: &H5Dataset, name: &str) -> Option<String> {
    dataset.attr(name).ok()?.read_string().ok()
}

fn number(dataset: &H5Dataset, name: &str) -> Option<f64> {
    let attribute = dataset.attr(name).ok()?;
    if let Ok(values) = attribute.read_numeric_as::<f64>() {
        return values.first().copied();
    }
    attribute
        .read_numeric_as::<i64>()
        .ok()?
        .first()
        .map(|&n| n as f64)
}

fn reals(dataset: &H5Dataset) -> Result<Vec<f64>> {
    match dataset.datatype().map_err(damaged)? {
        DatatypeMessage::FixedPoint { .. } => {
            let values = dataset.read_numeric_as::<i64>().map_err(damaged)?;
            Ok(values.iter().map(|&n| n as f64).collect())
        }
        _ => dataset.read_numeric_as::<f64>().map_err(damaged),
    }
}

impl FieldFile {
    /// Opens a file and reads its axes.
    ///
    /// # Errors
    /// The file cannot be read, is no NetCDF-4 file, or an axis is missing, of unknown units or
    /// not in order. The message begins with the path.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_inner(path).map_err(|error| error.context(path.display()))
    }

    fn open_inner(path: &Path) -> Result<Self> {
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
            return Err(data_error(what));
        }
        let file = H5File::options().no_locking().open(path).map_err(damaged)?;
        let names = file.dataset_names();
        let find = |known: &[&str]| names.iter().find(|n| known.contains(&n.as_str()));
        let axis = |what: &str, known: &[&str]| {
            let name = find(known).ok_or_else(|| {
                data_error(format!(
                    "there is no {what} axis ({}); the file has {}",
                    known.join(", "),
                    names.join(", ")
                ))
            })?;
            file.dataset(name).map_err(damaged)
        };
        let time = axis("time", TIME)?;
        let units = text(&time, "units").unwrap_or_default();
        let calendar = text(&time, "calendar").unwrap_or_default();
        let times = from_cf(&reals(&time)?, &units, &calendar)?;
        let mut lat = reals(&axis("latitude", LAT)?)?;
        let lon = reals(&axis("longitude", LON)?)?;
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
                let dataset = file.dataset(name).map_err(damaged)?;
                let pascal = text(&dataset, "units").is_some_and(|u| u == "Pa");
                let scale = if pascal { 0.01 } else { 1.0 };
                reals(&dataset)?.iter().map(|p| p * scale).collect()
            }
        };
        let axes = Axes {
            times,
            levels,
            lat,
            lon,
        };
        let variables = held(&file, &names, &axes)?;
        Ok(FieldFile {
            file,
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
        let dataset = self.file.dataset(name).map_err(damaged)?;
        let shape = dataset.shape();
        let fixed = shape.len() == 2;
        let (scale, offset) = (
            number(&dataset, "scale_factor").unwrap_or(1.0),
            number(&dataset, "add_offset").unwrap_or(0.0),
        );
        let missing: Vec<f64> = ["_FillValue", "missing_value"]
            .iter()
            .filter_map(|name| number(&dataset, name))
            .collect();
        let whole = matches!(
            dataset.datatype().map_err(damaged)?,
            DatatypeMessage::FixedPoint { .. }
        );
        let (n_lat, n_lon) = (self.axes.lat.len(), self.axes.lon.len());
        let n_records = if fixed { 1 } else { shape[0] };
        let mut out = Vec::new();
        for first in (0..n_records).step_by(RECORDS) {
            let n = RECORDS.min(n_records - first);
            let (mut starts, mut counts) = (vec![0; shape.len()], shape.clone());
            if !fixed {
                (starts[0], counts[0]) = (first, n);
            }
            let values: Vec<f64> = if whole {
                let read = dataset.read_numeric_slice_as::<i64>(&starts, &counts);
                read.map_err(damaged)?.iter().map(|&n| n as f64).collect()
            } else {
                dataset
                    .read_numeric_slice_as::<f64>(&starts, &counts)
                    .map_err(damaged)?
            };
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
fn held(file: &H5File, names: &[String], axes: &Axes) -> Result<Vec<Held>> {
    let grid = [axes.lat.len(), axes.lon.len()];
    let (n_times, n_levels) = (axes.times.len(), axes.levels.len());
    let mut variables = Vec::new();
    for name in names {
        if name.contains('/') {
            continue;
        }
        let dataset = file.dataset(name).map_err(damaged)?;
        let numeric = matches!(
            dataset.datatype(),
            Ok(DatatypeMessage::FixedPoint { .. } | DatatypeMessage::FloatingPoint { .. })
        );
        let dims = match dataset.shape().as_slice() {
            [t, p, y, x] if (*t, *p) == (n_times, n_levels) && [*y, *x] == grid => Dims::TimeLevel,
            [t, y, x] if *t == n_times && [*y, *x] == grid => Dims::Time,
            [y, x] if [*y, *x] == grid => Dims::Fixed,
            _ => continue,
        };
        if numeric {
            variables.push(Held {
                name: name.clone(),
                units: text(&dataset, "units"),
                dims,
            });
        }
    }
    Ok(variables)
}
