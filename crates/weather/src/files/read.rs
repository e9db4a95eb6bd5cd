//! Reading CF NetCDF and Zarr: axes, times, packed numbers, missing values.

use super::longitudes::{eastward, whole};
use super::roles::{AxisNames, Info, Layout, Role};
use super::source::{Array, Source};
use crate::time::{Time, from_cf};
use fitzroy::{Error, Result};
use rust_hdf5::Hdf5Error;
use std::path::Path;

/// No pressure level lies beneath this.
const HIGHEST_HPA: f64 = 1200.0;

/// Axes of a file, latitudes from south to north.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    /// Times, as they stand in the file; none where it holds static fields alone.
    pub times: Vec<Time>,
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
    /// Its name in the CF table, where the file tells it.
    pub standard_name: Option<String>,
    /// What it is, where the file tells it.
    pub long_name: Option<String>,
    /// Its units, where the file tells them.
    pub units: Option<String>,
    /// Its axes.
    pub dims: Dims,
    /// Its pressure levels in hPa; none without.
    pub levels: Vec<f64>,
    /// Which axis of the array time, level, lat and lon are; all others have one place, but for
    /// versions of the same field.
    axes: [Option<usize>; 4],
    versions: Option<usize>,
}

/// A NetCDF file or a Zarr store with fields on a latitude-longitude grid.
pub struct FieldFile {
    source: Source,
    /// Its axes.
    pub axes: Axes,
    /// Its variables on the grid.
    pub variables: Vec<Held>,
    /// Its arrays of numbers that are not on the grid and no axes: names and sizes.
    pub others: Vec<String>,
    /// Names of all its arrays of numbers.
    pub names: Vec<String>,
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
    /// It cannot be read, is neither a NetCDF file nor a Zarr store, or an axis is missing, of
    /// unknown units or not in order. The message begins with the path.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, &AxisNames::default())
    }

    /// Opens a file whose axes may have names of their own.
    ///
    /// # Errors
    /// As [`FieldFile::open`].
    pub fn open_with(path: &Path, names: &AxisNames) -> Result<Self> {
        let open = || {
            let source = Source::open(path)?;
            let layout = Layout::new(&source, names)?;
            Self::of(source, &layout, names)
        };
        open().map_err(|error: Error| error.context(path.display()))
    }

    fn of(source: Source, layout: &Layout, known: &AxisNames) -> Result<Self> {
        let places = |what: &str, role: Role, names: &[String]| {
            let (dim, at) = layout
                .axis(role)
                .ok_or_else(|| no_axis(what, names, layout))?;
            let values = source.array(&layout.arrays[at].name)?.all()?;
            Ok::<_, Error>((dim.to_string(), values))
        };
        let (time_dim, times, calendar) = times(&source, layout, known)?;
        let (lat_dim, mut lat) = places("latitude", Role::Lat, &known.lat)?;
        let (lon_dim, given) = places("longitude", Role::Lon, &known.lon)?;
        let flip = lat.len() > 1 && lat[0] > lat[lat.len() - 1];
        if flip {
            lat.reverse();
        }
        if lat.is_empty() || !lat.windows(2).all(|pair| pair[0] < pair[1]) {
            return Err(Error::data("latitude must be in order, without repeats"));
        }
        whole("latitude", &lat)?;
        let (lon, columns, note) = eastward(&given)?;
        let grid = Grid {
            layout,
            time: time_dim.as_deref(),
            n_times: times.len(),
            lat: &lat_dim,
            lon: &lon_dim,
        };
        let (variables, others) = grid.held(&source)?;
        Ok(FieldFile {
            source,
            axes: Axes { times, lat, lon },
            variables,
            others,
            names: layout.arrays.iter().map(|a| a.name.clone()).collect(),
            notes: note.into_iter().chain(days(&calendar)).collect(),
            flip,
            columns,
        })
    }

    /// Reads a variable: time by time, level by level, south to north, west to east. Missing
    /// values are NaN. `sink` gets the number of the record and its values.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn read(&self, name: &str, sink: impl FnMut(usize, &[f32])) -> Result<()> {
        self.read_as(name, (1.0, 0.0), sink)
    }

    /// As [`FieldFile::read`], with all values multiplied by the first and the second added.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn read_as(
        &self,
        name: &str,
        (scale, offset): (f64, f64),
        mut sink: impl FnMut(usize, &[f32]),
    ) -> Result<()> {
        let held = self.variables.iter().find(|v| v.name == name);
        let held = held.ok_or_else(|| Error::data(format!("`{name}` is not on the grid")))?;
        let array = self.source.array(name)?;
        let shape = array.shape();
        let unpack = Unpack::of(&array);
        let n_records = held.axes[0].map_or(1, |axis| shape[axis]);
        let at_once = held.axes[0].map_or(1, |axis| array.at_once(axis));
        let mut out = Vec::new();
        for first in (0..n_records).step_by(at_once) {
            let n = at_once.min(n_records - first);
            let (mut starts, mut counts) = (vec![0; shape.len()], shape.clone());
            if let Some(time) = held.axes[0] {
                (starts[time], counts[time]) = (first, n);
            }
            let values = array.slice(&starts, &counts)?;
            let walk = Walk::new(&counts, held);
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
                            let at = walk.at([k, level, row, column]);
                            let value = walk.newest(&values, at, &unpack);
                            out.push((value * scale + offset) as f32);
                        }
                    }
                }
                sink(first + k, &out);
            }
        }
        Ok(())
    }
}

fn no_axis(what: &str, names: &[String], layout: &Layout) -> Error {
    let (two, has): (Vec<_>, Vec<_>) = layout.arrays.iter().partition(|a| {
        let role = [Some(Role::Lat), Some(Role::Lon)];
        a.dims.len() == 2 && role.contains(&a.role)
    });
    let names = names.join(", ");
    if let Some(array) = two.first() {
        return Error::data(format!(
            "there is no {what} axis ({names}): `{}` has the dims ({}), so this is a projected or \
             curvilinear grid; bring it to latitudes and longitudes first, as with \
             cdo remapbil,GRID OLD.nc NEW.nc",
            array.name,
            array.dims.join(", ")
        ));
    }
    let has: Vec<&str> = has.iter().map(|a| a.name.as_str()).collect();
    Error::data(format!(
        "there is no {what} axis ({names}); the file has {}",
        has.join(", ")
    ))
}

/// What becomes of the days of a calendar, where they are not those of ours.
fn days(calendar: &str) -> Option<String> {
    let what = match calendar {
        "noleap" | "365_day" => "has no 29 February",
        "360_day" => {
            "has 30 days in each month: each day is taken as the nearest in the course of the year, \
             and five or six days of a year are left empty"
        }
        _ => return None,
    };
    Some(format!(
        "the calendar {calendar} {what}; nothing is learnt across the gap"
    ))
}

/// The dim of the times, if they have one, the times, and their calendar.
fn times(
    source: &Source,
    layout: &Layout,
    known: &AxisNames,
) -> Result<(Option<String>, Vec<Time>, String)> {
    let found = layout.axis(Role::Time).map(|(dim, at)| (Some(dim), at));
    let scalar = || layout.scalar(Role::Time, &known.time).map(|at| (None, at));
    let Some((dim, at)) = found.or_else(scalar) else {
        return Ok((None, Vec::new(), String::new()));
    };
    let array = source.array(&layout.arrays[at].name)?;
    let units = array.text("units").unwrap_or_default();
    let calendar = array.text("calendar").unwrap_or_default();
    let times = from_cf(&array.all()?, &units, &calendar)?;
    Ok((dim.map(str::to_string), times, calendar))
}

/// How stored numbers become values.
struct Unpack {
    scale: f64,
    offset: f64,
    missing: Vec<f64>,
}

impl Unpack {
    fn of(array: &Array<'_>) -> Self {
        Unpack {
            scale: array.number("scale_factor").unwrap_or(1.0),
            offset: array.number("add_offset").unwrap_or(0.0),
            missing: array.missing(),
        }
    }

    fn value(&self, x: f64) -> f64 {
        match self.missing.contains(&x) {
            true => f64::NAN,
            false => x * self.scale + self.offset,
        }
    }
}

/// How numbers of (time, level, lat, lon) lie in an array of any order of axes.
struct Walk {
    sizes: [usize; 4],
    strides: [usize; 4],
    /// Number and stride of versions of the same field.
    versions: (usize, usize),
}

impl Walk {
    fn new(counts: &[usize], held: &Held) -> Self {
        let stride = |axis: usize| counts[axis + 1..].iter().product::<usize>();
        let sizes = held.axes.map(|axis| axis.map_or(1, |axis| counts[axis]));
        let strides = held.axes.map(|axis| axis.map_or(0, stride));
        let versions = held.versions;
        let versions = versions.map_or((1, 0), |axis| (counts[axis], stride(axis)));
        Walk {
            sizes,
            strides,
            versions,
        }
    }

    fn at(&self, index: [usize; 4]) -> usize {
        index.iter().zip(self.strides).map(|(i, s)| i * s).sum()
    }

    /// The first version that is not missing.
    fn newest(&self, values: &[f64], at: usize, unpack: &Unpack) -> f64 {
        let (n, stride) = self.versions;
        let all = (0..n).map(|k| unpack.value(values[at + k * stride]));
        let mut found = f64::NAN;
        for value in all {
            found = value;
            if !value.is_nan() {
                break;
            }
        }
        found
    }
}

/// The grid on which variables are looked for.
struct Grid<'a> {
    layout: &'a Layout,
    time: Option<&'a str>,
    n_times: usize,
    lat: &'a str,
    lon: &'a str,
}

impl Grid<'_> {
    /// The variables on the grid, and what else there is.
    fn held(&self, source: &Source) -> Result<(Vec<Held>, Vec<String>)> {
        let (mut variables, mut others) = (Vec::new(), Vec::new());
        for info in &self.layout.arrays {
            if info.role.is_some() && info.dims.len() < 3 || info.dims.is_empty() {
                continue;
            }
            // Bounds of axes, and labels of places that say nothing.
            if info.dims.len() == 1 && self.layout.role(&info.dims[0]) != Role::Other {
                continue;
            }
            match self.variable(info, source)? {
                Some(held) => variables.push(held),
                None => {
                    let axes = info.dims.iter().zip(&info.shape);
                    let axes: Vec<String> = axes.map(|(d, n)| format!("{d} {n}")).collect();
                    others.push(format!("`{}` of ({})", info.name, axes.join(", ")));
                }
            }
        }
        Ok((variables, others))
    }

    fn variable(&self, info: &Info, source: &Source) -> Result<Option<Held>> {
        let mut axes = [None; 4];
        let (mut versions, mut level_dim) = (None, None);
        for (axis, dim) in info.dims.iter().enumerate() {
            let slot = match self.layout.role(dim) {
                _ if Some(dim.as_str()) == self.time => 0,
                _ if dim == self.lat => 2,
                _ if dim == self.lon => 3,
                Role::Level => {
                    level_dim = Some(dim);
                    1
                }
                Role::Versions => {
                    versions = Some(axis);
                    continue;
                }
                _ if info.shape[axis] == 1 => continue,
                _ => return Ok(None),
            };
            if axes[slot].replace(axis).is_some() {
                return Ok(None);
            }
        }
        if axes[2].is_none() || axes[3].is_none() {
            return Ok(None);
        }
        let placed = level_dim.and_then(|dim| self.layout.dims[dim].1);
        // A single level without an axis of its own.
        let beside = || {
            let arrays = &self.layout.arrays;
            arrays.iter().position(|a| {
                let named = info.coordinates.contains(&a.name);
                named && a.role == Some(Role::Level) && a.dims.is_empty()
            })
        };
        let levels = match placed.or_else(beside) {
            None => Vec::new(),
            Some(at) => levels(&source.array(&self.layout.arrays[at].name)?)?,
        };
        // A time without an axis of its own is that of all fields.
        let over_time = axes[0].is_some() || self.time.is_none() && self.n_times > 0;
        Ok(Some(Held {
            name: info.name.clone(),
            standard_name: info.standard_name.clone(),
            long_name: info.long_name.clone(),
            units: info.units.clone(),
            dims: match (over_time, levels.is_empty()) {
                (false, _) => Dims::Fixed,
                (true, true) => Dims::Time,
                (true, false) => Dims::TimeLevel,
            },
            levels,
            axes,
            versions,
        }))
    }
}

/// Pressure levels in hPa.
fn levels(array: &Array<'_>) -> Result<Vec<f64>> {
    let pascal = array.text("units").is_some_and(|u| u == "Pa");
    let scale = if pascal { 0.01 } else { 1.0 };
    let levels: Vec<f64> = array.all()?.iter().map(|p| p * scale).collect();
    match levels.iter().find(|p| **p > HIGHEST_HPA) {
        None => Ok(levels),
        Some(level) => Err(Error::data(format!(
            "level {level} hPa is no pressure level of the air; if it is in Pa, say so in the \
             attribute units of the level axis"
        ))),
    }
}
