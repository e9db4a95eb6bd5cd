//! Reading CF NetCDF and Zarr: axes, times, packed numbers, missing values.

use super::grid::{curved, regular};
use super::held::{Grid, Held};
use super::roles::{AxisNames, Layout, Role};
use super::source::Source;
use super::walk::{Unpack, Walk};
use crate::time::{Time, from_cf};
use fitzroy::{Error, Result};
use rust_hdf5::Hdf5Error;
use std::ops::Range;
use std::path::Path;

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
    /// Rows and columns of a projected or curvilinear grid, whose rows and columns are those of the
    /// file; `lat` and `lon` are then those of all its points, row by row.
    pub curved: Option<(usize, usize)>,
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
    /// When it was forecast, where it says so.
    pub initial: Option<Time>,
    /// Which point of the file each latitude is.
    rows: Vec<usize>,
    /// Which point of the file each longitude is.
    columns: Vec<usize>,
}

/// A part of the grid, degrees; a west of 350 and an east of 20 lie on both sides of Greenwich.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Southern edge.
    pub south: f64,
    /// Northern edge.
    pub north: f64,
    /// Western edge.
    pub west: f64,
    /// Eastern edge.
    pub east: f64,
}

pub(super) fn damaged(error: Hdf5Error) -> Error {
    let said = error.to_string();
    Error::data(match said.contains("unsupported") {
        true => format!(
            "it is packed in a way that is not read ({said}); pack it anew: nccopy -d 4 OLD.nc \
             NEW.nc, or h5repack -f GZIP=4 OLD.h5 NEW.h5"
        ),
        false => format!("the file is damaged or cut short ({said})"),
    })
}

impl FieldFile {
    /// Opens a file and reads its axes.
    ///
    /// # Errors
    /// It cannot be read, is neither a NetCDF file nor a Zarr store, or an axis is missing, of
    /// unknown units or not in order. The message begins with the path.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, &AxisNames::default(), None)
    }

    /// Opens a file whose axes may have names of their own, and a part of its grid alone.
    ///
    /// # Errors
    /// As [`FieldFile::open`]; no point lies in the region.
    pub fn open_with(path: &Path, names: &AxisNames, region: Option<&Region>) -> Result<Self> {
        let open = || {
            let source = Source::open(path)?;
            let layout = Layout::new(&source, names)?;
            Self::of(source, &layout, names, region)
        };
        open().map_err(|error: Error| error.context(path.display()))
    }

    fn of(
        source: Source,
        layout: &Layout,
        known: &AxisNames,
        region: Option<&Region>,
    ) -> Result<Self> {
        let (time_dim, times, calendar) = times(&source, layout, known)?;
        let initial = initial(&source, layout, &times);
        let group = Some(&source.group).filter(|group| !group.is_empty());
        let of_group = group.map(|group| format!("the fields are those of the group `{group}`"));
        let found = match curved(&source, layout)? {
            Some(_) if region.is_some() => {
                return Err(Error::data(
                    "⟨region⟩ takes a part of a grid of latitudes and longitudes; this grid is \
                     projected or curvilinear: cut it first",
                ));
            }
            Some(found) => found,
            None => regular(&source, layout, known, region)?,
        };
        let grid = Grid {
            layout,
            time: time_dim.as_deref(),
            n_times: times.len(),
            lat: &found.dims.0,
            lon: &found.dims.1,
        };
        let (variables, others) = grid.held(&source)?;
        Ok(FieldFile {
            source,
            initial,
            axes: Axes {
                times,
                lat: found.lat,
                lon: found.lon,
                curved: found.curved,
            },
            variables,
            others,
            names: layout.arrays.iter().map(|a| a.name.clone()).collect(),
            notes: found
                .note
                .into_iter()
                .chain(days(&calendar))
                .chain(of_group)
                .collect(),
            rows: found.rows,
            columns: found.columns,
        })
    }

    /// Reads a variable: time by time, level by level, south to north, west to east. Missing
    /// values are NaN. `sink` gets the number of the record and its values.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn read(&self, name: &str, sink: impl FnMut(usize, &[f32])) -> Result<()> {
        let held = self.variables.iter().find(|v| v.name == name);
        let held = held.ok_or_else(|| Error::data(format!("`{name}` is not on the grid")))?;
        let levels: Vec<usize> = (0..held.levels.len().max(1)).collect();
        self.read_as(held, &levels, (1.0, 0.0), sink)
    }

    /// As [`FieldFile::read`], some levels alone (0 for what has none), with all values multiplied
    /// by the first number and the second added.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn read_as(
        &self,
        held: &Held,
        levels: &[usize],
        conversion: (f64, f64),
        sink: impl FnMut(usize, &[f32]),
    ) -> Result<()> {
        // A field that has no times is one record.
        let n = held.axes[0].map_or(1, |_| self.axes.times.len());
        self.read_records(held, levels, conversion, 0..n, sink)
    }

    /// The most records along which a chunk of a variable reaches; reading such multiples unpacks no
    /// chunk twice.
    pub fn records_of_chunks(&self) -> usize {
        let reach = |held: &Held| {
            let array = self.source.array(&held.name).ok()?;
            Some(array.chunk(held.axes[0]?))
        };
        let all = self.variables.iter().filter_map(reach);
        all.max().unwrap_or(1)
    }

    /// As [`FieldFile::read_as`], some records alone.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn read_records(
        &self,
        held: &Held,
        levels: &[usize],
        (scale, offset): (f64, f64),
        records: Range<usize>,
        mut sink: impl FnMut(usize, &[f32]),
    ) -> Result<()> {
        let name = &held.name;
        let array = self.source.array(name)?;
        let shape = array.shape();
        let unpack = Unpack::of(&array);
        let spans = [span(levels), span(&self.rows), span(&self.columns)];
        let [lowest, south, west] = spans.map(|span| span.map_or(0, |s| s.0));
        let others = held.versions.map_or(1, |axis| shape[axis]);
        let per_record = spans.iter().flatten().map(|s| s.1).product::<usize>() * others;
        let at_once = held.axes[0].map_or(1, |axis| array.at_once(axis, per_record));
        let mut out = Vec::new();
        for first in records.clone().step_by(at_once) {
            let n = at_once.min(records.end - first);
            let (mut starts, mut counts) = (vec![0; shape.len()], shape.clone());
            let spans = [Some((first, n)), spans[0], spans[1], spans[2]];
            for (axis, span) in held.axes.iter().zip(spans) {
                if let (Some(axis), Some(span)) = (*axis, span) {
                    (starts[axis], counts[axis]) = span;
                }
            }
            let values = array.slice(&starts, &counts)?;
            let walk = Walk::new(&counts, held);
            for k in 0..n {
                out.clear();
                for level in levels {
                    for row in &self.rows {
                        for column in &self.columns {
                            let at = walk.at([k, level - lowest, row - south, column - west]);
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

/// Where some points of an axis begin, and how many lie from the first to the last.
fn span(points: &[usize]) -> Option<(usize, usize)> {
    let ends = points.iter().min().zip(points.iter().max());
    ends.map(|(first, last)| (*first, last - first + 1))
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
    if let Some(found) = layout.of_two_dims() {
        return counted(source, layout, found);
    }
    let found = layout.axis(Role::Time).map(|(dim, at)| (Some(dim), at));
    if found.is_none()
        && let Some((dim, name)) = &layout.stamps
    {
        return Ok((Some(dim.clone()), stamps(source, name)?, String::new()));
    }
    let scalar = || layout.scalar(Role::Time, &known.time).map(|at| (None, at));
    match found.or_else(scalar) {
        Some(found) => counted(source, layout, found),
        None => Ok((None, Vec::new(), String::new())),
    }
}

/// Times as numbers of a unit.
fn counted(
    source: &Source,
    layout: &Layout,
    (dim, at): (Option<&str>, usize),
) -> Result<(Option<String>, Vec<Time>, String)> {
    let name = &layout.arrays[at].name;
    let array = source.array(name)?;
    let units = array.text("units").unwrap_or_default();
    let calendar = array.text("calendar").unwrap_or_default();
    let times = from_cf(&array.values()?, &units, &calendar);
    let times = times.map_err(|error| error.context(format!("`{name}`")))?;
    Ok((dim.map(str::to_string), times, calendar))
}

/// Times as texts: `2020-01-30T06:00`, or with an underline as WRF writes them.
fn stamps(source: &Source, name: &str) -> Result<Vec<Time>> {
    let texts = source.array(name)?.texts().unwrap_or_default();
    let parse = |text: &String| {
        Time::parse(&text.replace('_', "T")).map_err(|_| {
            Error::data(format!(
                "`{name}` holds the text `{text}`, which is no time such as 2020-01-30T06:00; \
                 write numbers with units such as `hours since 1970-01-01`"
            ))
        })
    };
    texts.iter().map(parse).collect()
}

/// When the forecast of a file was made: a time of one place beside those of its fields, or what an
/// attribute of the file says.
fn initial(source: &Source, layout: &Layout, times: &[Time]) -> Option<Time> {
    let beside = layout.arrays.iter().filter(|array| {
        let one = array.shape.iter().product::<usize>() == 1;
        array.role == Some(Role::Time) && one
    });
    let read = |name: &str| {
        let array = source.array(name).ok()?;
        let (units, calendar) = (array.text("units")?, array.text("calendar"));
        let found = from_cf(&array.all().ok()?, &units, &calendar.unwrap_or_default());
        found.ok()?.first().copied()
    };
    let mut found = beside.filter_map(|array| read(&array.name));
    // The only time of a file is that of its field.
    let told = found.find(|time| times != [*time]);
    let named = || {
        let names = ["initial_time", "forecast_reference_time", "init_time"];
        let text = names.iter().find_map(|name| source.attribute(name))?;
        Time::parse(text.trim_end_matches('Z')).ok()
    };
    told.or_else(named)
}
