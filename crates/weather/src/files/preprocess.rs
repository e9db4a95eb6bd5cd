//! Archives of text files, one field or record each, brought into one NetCDF file.
//!
//! `VAR_yyyymmdd_HH.txt` holds all levels of a variable (level, lat, lon); `yyyymmdd_8-20.txt` the
//! rain of the twelve hours to 20 o'clock local time (12 UTC), `yyyymmdd_20-8.txt` that of the
//! twelve hours to 8 o'clock (00 UTC of that day). Numbers stand apart by blanks, commas or line
//! ends.

use super::write::{GridFile, GridHeader, GridVariable};
use crate::time::Time;
use fitzroy::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Variables of pressure levels, their units and what they are.
const VARIABLES: [(&str, &str, &str); 5] = [
    ("DPT", "K", "dew point temperature"),
    ("TEM", "K", "temperature"),
    ("GPH", "m", "geopotential height"),
    ("U", "m s-1", "eastward wind"),
    ("V", "m s-1", "northward wind"),
];

/// What to bring together.
#[derive(Clone, Debug)]
pub struct TextArchive {
    /// Latitudes, a text file of numbers.
    pub lat_file: PathBuf,
    /// Longitudes.
    pub lon_file: PathBuf,
    /// Folder of `VAR_yyyymmdd_HH.txt`.
    pub level_dir: PathBuf,
    /// Folder of `yyyymmdd_8-20.txt` and `yyyymmdd_20-8.txt`.
    pub rain_dir: PathBuf,
    /// Levels of the files, hPa, in their order.
    pub levels: Vec<f64>,
    /// zlib level, 0 to 9.
    pub compression: u32,
}

/// What was brought together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gathered {
    /// Records written.
    pub n_times: usize,
    /// Times at which a file was missing, which were left out.
    pub incomplete: Vec<String>,
    /// Files of the two folders whose names are not understood, which were not used.
    pub ignored: Vec<String>,
}

fn data_error(path: &Path, message: String) -> Error {
    Error::new(ErrorKind::Data, format!("{}: {message}", path.display()))
}

/// All numbers of a text file.
fn numbers(path: &Path) -> Result<Vec<f64>> {
    let text = fs::read_to_string(path)
        .map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
    let words = text
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|w| !w.is_empty());
    let number = |word: &str| {
        let parsed = word.parse::<f64>().ok();
        parsed.ok_or_else(|| data_error(path, format!("`{word}` is no number")))
    };
    words.map(number).collect()
}

/// Numbers of a file that must have `n`.
fn field(path: &Path, n: usize) -> Result<Vec<f64>> {
    let values = numbers(path)?;
    if values.len() != n {
        let message = format!(
            "{} numbers, needed are {n} (levels x latitudes x longitudes)",
            values.len()
        );
        return Err(data_error(path, message));
    }
    Ok(values)
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let failed =
        |e: std::io::Error| Error::new(ErrorKind::Io, format!("{}: {e}", folder.display()));
    let entries = fs::read_dir(folder).map_err(failed)?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(
            entry
                .map_err(failed)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    Ok(names)
}

/// Date and hour of `yyyymmdd` and an hour.
fn moment(date: &str, hour: i64) -> Option<Time> {
    if date.len() != 8 || !date.bytes().all(|b| b.is_ascii_digit()) || !(0..24).contains(&hour) {
        return None;
    }
    let text = format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]);
    Time::parse(&text).ok().map(|day| Time(day.0 + hour * 3600))
}

/// Files of levels by time and variable, and files of rain by time.
type Found = (
    BTreeMap<Time, BTreeMap<String, PathBuf>>,
    BTreeMap<Time, PathBuf>,
);

fn find(archive: &TextArchive) -> Result<Found> {
    let (mut levels, mut rain): Found = Default::default();
    for name in names(&archive.level_dir)? {
        let parts: Vec<&str> = name.trim_end_matches(".txt").split('_').collect();
        let [variable, date, hour] = parts[..] else {
            continue;
        };
        let known = VARIABLES.iter().any(|(known, ..)| *known == variable);
        if let Some(time) = hour
            .parse()
            .ok()
            .and_then(|hour| moment(date, hour))
            .filter(|_| known)
        {
            let path = archive.level_dir.join(&name);
            levels
                .entry(time)
                .or_insert_with(BTreeMap::new)
                .insert(variable.into(), path);
        }
    }
    for name in names(&archive.rain_dir)? {
        let Some((date, span)) = name.trim_end_matches(".txt").split_once('_') else {
            continue;
        };
        let hour = match span {
            "8-20" => 12,
            "20-8" => 0,
            _ => continue,
        };
        if let Some(time) = moment(date, hour) {
            rain.insert(time, archive.rain_dir.join(&name));
        }
    }
    Ok((levels, rain))
}

/// Names in the two folders that were not taken.
fn ignored(
    archive: &TextArchive,
    (levels, rain): (
        &BTreeMap<Time, BTreeMap<String, PathBuf>>,
        &BTreeMap<Time, PathBuf>,
    ),
) -> Result<Vec<String>> {
    let taken = levels.values().flat_map(BTreeMap::values);
    let taken: BTreeSet<&PathBuf> = taken.chain(rain.values()).collect();
    let mut left = BTreeSet::new();
    for folder in [&archive.level_dir, &archive.rain_dir] {
        for name in names(folder)? {
            // One folder may hold both kinds.
            let both = [&archive.level_dir, &archive.rain_dir];
            if !both.iter().any(|f| taken.contains(&f.join(&name))) {
                left.insert(name);
            }
        }
    }
    Ok(left.into_iter().collect())
}

/// Coordinates of a file, upwards, and whether they stand there downwards.
fn axis(path: &Path) -> Result<(Vec<f64>, bool)> {
    let mut values = numbers(path)?;
    let falls = values.len() > 1 && values[0] > values[values.len() - 1];
    if falls {
        values.reverse();
    }
    if values.len() < 2 || !values.windows(2).all(|pair| pair[0] < pair[1]) {
        let message = "needs at least two places in order".into();
        return Err(data_error(path, message));
    }
    Ok((values, falls))
}

/// The order in which files keep a field.
struct Order {
    n_lat: usize,
    n_lon: usize,
    lat_falls: bool,
    lon_falls: bool,
}

impl Order {
    /// Fields from south to north and west to east.
    fn upright(&self, values: &[f64]) -> Vec<f32> {
        let mut out = Vec::with_capacity(values.len());
        for field in values.chunks(self.n_lat * self.n_lon) {
            for row in 0..self.n_lat {
                let row = if self.lat_falls {
                    self.n_lat - 1 - row
                } else {
                    row
                };
                let line = &field[row * self.n_lon..][..self.n_lon];
                let line = line.iter().map(|&x| x as f32);
                if self.lon_falls {
                    out.extend(line.rev())
                } else {
                    out.extend(line)
                }
            }
        }
        out
    }
}

/// The variables of the file that is written: those of levels, and rain.
fn variables() -> Vec<GridVariable> {
    let rain = ("precipitation", "mm", "precipitation of twelve hours");
    let variable = |&(name, units, long_name): &(&str, &str, &str)| GridVariable {
        name: name.into(),
        units: units.into(),
        long_name: long_name.into(),
        has_levels: name != rain.0,
    };
    VARIABLES.iter().chain([&rain]).map(variable).collect()
}

/// Writes all times at which every file is there as CF NetCDF-4.
///
/// # Errors
/// A folder or file cannot be read, a file holds another number of numbers than the grid, no time
/// is complete, or the file cannot be written.
pub fn gather(archive: &TextArchive, path: &Path) -> Result<Gathered> {
    let ((lat, lat_falls), (lon, lon_falls)) = (axis(&archive.lat_file)?, axis(&archive.lon_file)?);
    let (levels, rain) = find(archive)?;
    let ignored = ignored(archive, (&levels, &rain))?;
    let all: BTreeSet<Time> = levels.keys().chain(rain.keys()).copied().collect();
    let complete = |time: &&Time| {
        let found = levels.get(time).map_or(0, BTreeMap::len);
        found == VARIABLES.len() && rain.contains_key(time)
    };
    let times: Vec<Time> = all.iter().filter(complete).copied().collect();
    let incomplete = all.iter().filter(|t| !complete(t));
    let incomplete = incomplete.map(|t| t.iso()).collect();
    if times.is_empty() {
        let message = format!(
            "no time has all of DPT, TEM, GPH, U, V (VAR_yyyymmdd_HH.txt) and rain \
             (yyyymmdd_8-20.txt); {} times have a part",
            all.len()
        );
        return Err(data_error(&archive.level_dir, message));
    }
    let order = Order {
        n_lat: lat.len(),
        n_lon: lon.len(),
        lat_falls,
        lon_falls,
    };
    let points = order.n_lat * order.n_lon;
    let header = GridHeader {
        title: "Regional archive".into(),
        attributes: Vec::new(),
        times: times.clone(),
        curved: None,
        levels: archive.levels.clone(),
        lat,
        lon,
        variables: variables(),
        statics: Vec::new(),
        compression: archive.compression,
    };
    let mut file = GridFile::create(path, header)?;
    for (record, time) in times.iter().enumerate() {
        for (number, (name, ..)) in VARIABLES.iter().enumerate() {
            let values = field(&levels[time][*name], archive.levels.len() * points)?;
            file.write(record, number, &order.upright(&values))?;
        }
        let values = field(&rain[time], points)?;
        file.write(record, VARIABLES.len(), &order.upright(&values))?;
    }
    file.finish()?;
    Ok(Gathered {
        n_times: times.len(),
        incomplete,
        ignored,
    })
}
