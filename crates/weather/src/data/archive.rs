//! All records of all files in memory: time by time, node by node, channel by channel.

use super::check::{Numbers, Spread, is_number};
use super::contents::Contents;
use crate::files::{Axes, Dims, FieldFile};
use crate::time::Time;
use fitzroy::{Error, ErrorKind, Result};
use flate2::Crc;
use std::ops::Range;
use std::path::PathBuf;

/// Variables that are used when none are named, with their units.
pub(super) const KNOWN: &[(&str, &[&str])] = &[
    ("DPT", &["K", "kelvin"]),
    ("TEM", &["K", "kelvin"]),
    ("GPH", &["m", "gpm", "metre", "meter"]),
    ("U", &["m s-1", "m/s", "m s**-1"]),
    ("V", &["m s-1", "m/s", "m s**-1"]),
    ("precipitation", &["mm", "kg m-2"]),
];

/// The variable that is scored as rain.
const RAIN: &str = "precipitation";

/// One number of a node's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// Variable.
    pub variable: String,
    /// Pressure level in hPa, where it has one.
    pub level: Option<f64>,
    /// Units, where the file tells them.
    pub units: String,
}

impl Channel {
    /// `TEM 850 hPa`, `precipitation`.
    pub fn label(&self) -> String {
        match self.level {
            Some(level) => format!("{} {level} hPa", self.variable),
            None => self.variable.clone(),
        }
    }

    /// True for rain: not negative, and scored by thresholds.
    pub fn is_rain(&self) -> bool {
        self.variable == RAIN
    }
}

/// Which variables and levels to read; empty lists mean all that are known.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Names of variables.
    pub variables: Vec<String>,
    /// Levels in hPa.
    pub levels: Vec<f64>,
}

/// A region's data.
#[derive(Clone, Debug)]
pub struct Archive {
    /// Times of the records, ascending.
    pub times: Vec<Time>,
    /// Seconds from one record to the next, where no gap is.
    pub step_s: i64,
    /// Latitudes, ascending.
    pub lat: Vec<f64>,
    /// Longitudes, ascending.
    pub lon: Vec<f64>,
    /// What a node holds.
    pub channels: Vec<Channel>,
    /// Static fields by name.
    pub statics: Vec<(String, Vec<f32>)>,
    /// (time, node, channel); nodes row by row from the south-west.
    pub values: Vec<f32>,
}

impl Archive {
    /// Nodes of the grid.
    pub fn n_nodes(&self) -> usize {
        self.lat.len() * self.lon.len()
    }

    /// Numbers of a record.
    pub fn record_len(&self) -> usize {
        self.n_nodes() * self.channels.len()
    }

    /// The state at a time.
    pub fn record(&self, time: usize) -> &[f32] {
        let n = self.record_len();
        &self.values[time * n..(time + 1) * n]
    }

    /// A checksum (CRC-32) of grid, channels, static fields, and times and values of records
    /// `range`.
    pub fn checksum(&self, range: &Range<usize>) -> u32 {
        let mut crc = Crc::new();
        for x in self.lat.iter().chain(&self.lon) {
            crc.update(&x.to_le_bytes());
        }
        for channel in &self.channels {
            crc.update(channel.label().as_bytes());
        }
        let statics = self.statics.iter().flat_map(|(_, field)| field);
        let n = self.record_len();
        let values = &self.values[range.start * n..range.end * n];
        let mut bytes = Vec::with_capacity(1 << 16);
        for x in statics.chain(values) {
            bytes.extend_from_slice(&x.to_le_bytes());
            if bytes.len() >= 1 << 16 {
                crc.update(&bytes);
                bytes.clear();
            }
        }
        crc.update(&bytes);
        for time in &self.times[range.clone()] {
            crc.update(&time.0.to_le_bytes());
        }
        crc.sum()
    }

    /// Reads files; together they must be one series.
    ///
    /// # Errors
    /// As [`Archive::read_with_contents`].
    pub fn read(paths: &[PathBuf], chosen: &Chosen, memory_bytes: Option<u64>) -> Result<Self> {
        Ok(Self::read_with_contents(paths, chosen, memory_bytes)?.0)
    }

    /// Reads files, and says what they hold and what of it is used.
    ///
    /// # Errors
    /// A file cannot be read; a variable or level is missing; units, grids or levels differ;
    /// times repeat or are out of order; values are missing, are fill values, or belie their units;
    /// it would not fit into `memory_bytes`.
    pub fn read_with_contents(
        paths: &[PathBuf],
        chosen: &Chosen,
        memory_bytes: Option<u64>,
    ) -> Result<(Self, Contents)> {
        let mut files = Vec::new();
        for path in paths {
            files.push((path.display().to_string(), FieldFile::open(path)?));
        }
        if files.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "⟨data⟩: no file was given"));
        }
        files.sort_by_key(|(_, file)| file.axes.times.first().copied());
        check_grids(&files)?;
        let axes = files[0].1.axes.clone();
        let channels = channels(&files[0], chosen)?;
        let mut archive = Archive {
            times: Vec::new(),
            step_s: 0,
            lat: axes.lat.clone(),
            lon: axes.lon.clone(),
            statics: Vec::new(),
            channels,
            values: Vec::new(),
        };
        let n_times: usize = files.iter().map(|(_, f)| f.axes.times.len()).sum();
        let needed = (n_times * archive.record_len()) as u64 * 4;
        if let Some(free) = memory_bytes.filter(|&free| needed > free) {
            let gib = |bytes: u64| bytes as f64 / (1_u64 << 30) as f64;
            return Err(Error::new(
                ErrorKind::Device,
                format!(
                    "the data need {:.1} GiB of memory, {:.1} GiB is free; read fewer files, \
                     ⟨variables⟩ or ⟨levels⟩",
                    gib(needed),
                    gib(free)
                ),
            ));
        }
        let mut contents = Contents::new(&files[0].1, &archive.channels);
        for (path, file) in &files {
            let spreads = archive.append(path, file, &axes)?;
            contents.add(&archive.channels, &spreads);
        }
        contents.check(&files[0].0)?;
        check_times(&archive.times)?;
        archive.step_s = usual_step(&archive.times);
        archive.read_statics(&files[0].1, &mut contents)?;
        contents.statics = archive.statics.iter().map(|s| s.0.clone()).collect();
        Ok((archive, contents))
    }

    /// Reads the fields of (lat, lon) that have no holes.
    fn read_statics(&mut self, file: &FieldFile, contents: &mut Contents) -> Result<()> {
        for held in file.variables.iter().filter(|v| v.dims == Dims::Fixed) {
            let mut field = Vec::new();
            file.read(&held.name, |_, values| field = values.to_vec())?;
            if field.iter().all(|x| is_number(*x)) {
                self.statics.push((held.name.clone(), field));
            } else {
                contents.notes.push(format!(
                    "the static field `{}` has missing values and is not used",
                    held.name
                ));
            }
        }
        // Files and stores list their variables in orders of their own.
        self.statics.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(())
    }

    /// Adds the records of a file; the spread of each channel in it.
    fn append(&mut self, path: &str, file: &FieldFile, axes: &Axes) -> Result<Vec<Spread>> {
        let (n, n_channels) = (self.n_nodes(), self.channels.len());
        let start = self.values.len();
        let n_times = file.axes.times.len();
        self.values
            .resize(start + n_times * n * n_channels, f32::NAN);
        let mut variables: Vec<&str> = self.channels.iter().map(|c| c.variable.as_str()).collect();
        variables.dedup();
        for variable in variables {
            let held = file.variables.iter().find(|v| v.name == variable);
            let held = held.ok_or_else(|| missing(path, file, variable))?;
            let own: Vec<(usize, usize)> = self
                .channels
                .iter()
                .enumerate()
                .filter(|(_, c)| c.variable == variable)
                .map(|(k, c)| {
                    let level = |p: f64| axes.levels.iter().position(|q| (p - q).abs() < 0.01);
                    (k, c.level.and_then(level).unwrap_or(0))
                })
                .collect();
            let values = &mut self.values[start..];
            file.read(&held.name, |time, record| {
                for &(channel, level) in &own {
                    let field = &record[level * n..(level + 1) * n];
                    for (node, &x) in field.iter().enumerate() {
                        values[(time * n + node) * n_channels + channel] = x;
                    }
                }
            })
            .map_err(|error| error.context(format!("{path}: `{variable}`")))?;
        }
        let spread = |(first, channel): (usize, &Channel)| {
            let numbers = Numbers {
                channel,
                values: &self.values[start..],
                first,
                stride: n_channels,
                times: &file.axes.times,
                lat: &self.lat,
                lon: &self.lon,
            };
            let spread = numbers.spread();
            spread.map_err(|message| Error::data(format!("{path}: {message}")))
        };
        let spreads = self.channels.iter().enumerate().map(spread);
        let spreads = spreads.collect::<Result<Vec<Spread>>>()?;
        self.times.extend(&file.axes.times);
        Ok(spreads)
    }
}

fn missing(path: &str, file: &FieldFile, variable: &str) -> Error {
    let held: Vec<&str> = file.variables.iter().map(|v| v.name.as_str()).collect();
    let has = if held.is_empty() {
        "none".to_string()
    } else {
        held.join(", ")
    };
    Error::data(format!(
        "{path}: variable `{variable}` is missing; on the grid (time, [level,] lat, lon) the \
         file has {has}"
    ))
}

fn check_grids(files: &[(String, FieldFile)]) -> Result<()> {
    let (first_path, first) = &files[0];
    for (path, file) in &files[1..] {
        let close = |a: &[f64], b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4)
        };
        let (a, b) = (&first.axes, &file.axes);
        for (name, a, b) in [
            ("latitude", &a.lat, &b.lat),
            ("longitude", &a.lon, &b.lon),
            ("level", &a.levels, &b.levels),
        ] {
            if !close(a, b) {
                let range = |v: &[f64]| match (v.first(), v.last()) {
                    (Some(low), Some(high)) => format!("{} from {low} to {high}", v.len()),
                    _ => "none".into(),
                };
                return Err(Error::data(format!(
                    "{path}: {name} ({}) differs from {first_path} ({}); bring all files to one \
                     grid first",
                    range(b),
                    range(a)
                )));
            }
        }
    }
    Ok(())
}

/// The channels to read from the first file.
fn channels((path, file): &(String, FieldFile), chosen: &Chosen) -> Result<Vec<Channel>> {
    let over_time = || file.variables.iter().filter(|v| v.dims != Dims::Fixed);
    let names: Vec<String> = if !chosen.variables.is_empty() {
        chosen.variables.clone()
    } else {
        let known = KNOWN.iter().map(|(name, _)| *name);
        let known: Vec<String> = known
            .filter(|name| over_time().any(|v| v.name == *name))
            .map(Into::into)
            .collect();
        if known.is_empty() {
            let mut all: Vec<String> = over_time().map(|v| v.name.clone()).collect();
            all.sort();
            all
        } else {
            known
        }
    };
    let mut channels = Vec::new();
    for name in &names {
        let held = over_time().find(|v| v.name == *name);
        let held = held.ok_or_else(|| missing(path, file, name))?;
        let units = held.units.clone().unwrap_or_default();
        if let Some((_, fit)) = KNOWN.iter().find(|(known, _)| known == name)
            && !units.is_empty()
            && !fit.contains(&units.as_str())
        {
            return Err(Error::data(format!(
                "{path}: `{name}` is in `{units}`, needed is {}; convert it first",
                fit[0]
            )));
        }
        let channel = |level| Channel {
            variable: name.clone(),
            level,
            units: units.clone(),
        };
        if held.dims == Dims::Time {
            channels.push(channel(None));
            continue;
        }
        let all = &file.axes.levels;
        let wanted = if chosen.levels.is_empty() {
            all
        } else {
            &chosen.levels
        };
        for &level in wanted {
            if !all.iter().any(|p| (p - level).abs() < 0.01) {
                let has: Vec<String> = all.iter().map(|p| p.to_string()).collect();
                return Err(Error::data(format!(
                    "{path}: `{name}` has no level {level} hPa; the file has {}",
                    has.join(", ")
                )));
            }
            channels.push(channel(Some(level)));
        }
    }
    if channels.is_empty() {
        return Err(off_the_grid(path, file));
    }
    Ok(channels)
}

/// Nothing lies on the axes: says what they are and what there is.
fn off_the_grid(path: &str, file: &FieldFile) -> Error {
    let axes = &file.axes;
    let others = match file.others.is_empty() {
        true => "axes and static fields alone".to_string(),
        false => file.others.join(", "),
    };
    Error::data(format!(
        "{path}: no variable lies on (time, [level,] lat, lon), which are {} x [{} x] {} x {}; \
         the file has {others}",
        axes.times.len(),
        axes.levels.len(),
        axes.lat.len(),
        axes.lon.len()
    ))
}

fn check_times(times: &[Time]) -> Result<()> {
    for (k, pair) in times.windows(2).enumerate() {
        if pair[1] <= pair[0] {
            let what = if pair[1] == pair[0] {
                "repeats"
            } else {
                "goes back"
            };
            return Err(Error::data(format!(
                "time {what}: record {} is {} after {}; sort the records and keep each time once",
                k + 1,
                pair[1].iso(),
                pair[0].iso()
            )));
        }
    }
    if times.len() < 4 {
        return Err(Error::data(format!(
            "{} records are too few to learn from",
            times.len()
        )));
    }
    Ok(())
}

/// The most frequent difference of neighbouring times.
fn usual_step(times: &[Time]) -> i64 {
    let mut steps: Vec<i64> = times.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    steps.sort_unstable();
    let runs = steps.chunk_by(|a, b| a == b);
    runs.max_by_key(|run| run.len()).map_or(1, |run| run[0])
}
