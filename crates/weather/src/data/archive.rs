//! All records of all files: time by time, node by node, channel by channel.

use super::accumulated::Accumulation;
use super::check::{Seen, Spread, is_number};
use super::contents::Contents;
use super::mask::Mask;
use super::merge::Merged;
use super::missing::Missing;
use super::names::Names;
use super::parts::{Part, Parts};
use super::times::{RECORDS_MIN, check_number, usual_step};
use super::values::{Room, Values};
use crate::files::Region;
use crate::graph::{Place, Points};
use crate::time::Time;
use fitzroy::{Error, Result};
use flate2::Crc;
use std::ops::Range;
use std::path::PathBuf;

/// Variables that are used when none are named and a file has one under this name.
pub(super) const KNOWN: &[&str] = &["DPT", "TEM", "GPH", "U", "V", "precipitation"];

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

    /// Whether a user means this channel by `TEM 850` or `TEM 850 hPa`.
    pub fn is_labelled(&self, name: &str) -> bool {
        let label = self.label();
        name == label || name == label.trim_end_matches(" hPa")
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
    /// How they are read.
    pub reading: Reading,
}

/// How files are read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// What variables and axes are called.
    pub names: Names,
    /// What is done about missing values.
    pub missing: Missing,
    /// A part of the grid; none for all of it.
    pub region: Option<Region>,
    /// What the numbers of rain are.
    pub accumulation: Accumulation,
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
    /// Rows and columns of a projected or curvilinear grid; `lat` and `lon` are then those of all
    /// its points, row by row.
    pub curved: Option<(usize, usize)>,
    /// What a node holds.
    pub channels: Vec<Channel>,
    /// Static fields by name.
    pub statics: Vec<(String, Vec<f32>)>,
    /// For each channel the places at which it has no values, those of an archive that has them
    /// everywhere being no list at all. What stands there is its mean.
    pub absent: Vec<Vec<bool>>,
    /// Which values are missing; none where nothing is, or where they are not left out of losses
    /// and scores.
    pub mask: Option<Mask>,
    /// (time, node, channel); nodes row by row from the south-west.
    pub values: Values,
}

impl Archive {
    /// Rows and columns of the grid.
    pub fn shape(&self) -> (usize, usize) {
        self.curved.unwrap_or((self.lat.len(), self.lon.len()))
    }

    /// Nodes of the grid.
    pub fn n_nodes(&self) -> usize {
        let (rows, columns) = self.shape();
        rows * columns
    }

    /// Latitude and longitude of a node.
    pub fn place(&self, node: usize) -> Place {
        match self.curved {
            None => (
                self.lat[node / self.lon.len()],
                self.lon[node % self.lon.len()],
            ),
            Some(_) => (self.lat[node], self.lon[node]),
        }
    }

    /// The points of the grid.
    pub fn points(&self) -> Points {
        Points {
            places: (0..self.n_nodes()).map(|k| self.place(k)).collect(),
            shape: self.shape(),
        }
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
        if self.mask.is_some() {
            for t in range.clone() {
                let missing = (0..n).map(|at| u8::from(self.is_missing(t, at)));
                crc.update(&missing.collect::<Vec<u8>>());
            }
        }
        crc.sum()
    }

    /// Reads files; together they must be one archive.
    ///
    /// # Errors
    /// As [`Archive::read_with_contents`].
    pub fn read(paths: &[PathBuf], chosen: &Chosen, room: &Room) -> Result<Self> {
        Ok(Self::read_with_contents(paths, chosen, room)?.0)
    }

    /// Reads files, and says what they hold and what of it is used. Each may hold some of the
    /// variables, levels and times; used are the times at which all channels are there.
    ///
    /// # Errors
    /// A file cannot be read; a variable or level is missing; units or grids differ; times repeat
    /// or are out of order; values are missing, are fill values, or belie their units; it would
    /// not fit into the `room`.
    pub fn read_with_contents(
        paths: &[PathBuf],
        chosen: &Chosen,
        room: &Room,
    ) -> Result<(Self, Contents)> {
        Self::read_at_least(RECORDS_MIN, paths, chosen, room)
    }

    /// The same, of as few as `least` times; a forecast has fewer than an archive needs.
    pub(super) fn read_at_least(
        least: usize,
        paths: &[PathBuf],
        chosen: &Chosen,
        room: &Room,
    ) -> Result<(Self, Contents)> {
        let parts = Parts::open(paths, &chosen.reading)?;
        let merged = Merged::new(&parts, chosen)?;
        check_number(&merged.times, least)?;
        let axes = &parts.all[0].file.axes;
        let mut archive = Archive {
            step_s: 0,
            times: merged.times.clone(),
            lat: axes.lat.clone(),
            lon: axes.lon.clone(),
            curved: axes.curved,
            statics: Vec::new(),
            absent: Vec::new(),
            mask: None,
            channels: merged.courses.iter().map(|c| c.channel.clone()).collect(),
            values: Vec::new().into(),
        };
        let len = archive.times.len() * archive.record_len();
        archive.values = Values::missing(len, room)?;
        archive.fill(&parts, &merged)?;
        let forecast = least < RECORDS_MIN;
        let changes = archive.take_changes(chosen.reading.accumulation, forecast)?;
        check_number(&archive.times, least)?;
        let mended = archive.mend(chosen.reading.missing)?;
        archive.step_s = usual_step(&archive.times);
        let mut contents = Contents::new(&parts, &merged);
        contents.accumulated = changes.is_some();
        contents.notes.extend(changes.into_iter().chain(mended));
        contents.add(&archive.spreads(&parts, &merged)?);
        contents.check(&parts.all[0].path)?;
        archive.read_statics(&parts, &merged, &mut contents)?;
        contents.statics = archive.statics.iter().map(|s| s.0.clone()).collect();
        Ok((archive, contents))
    }

    /// Reads the fields of (lat, lon) that have no holes; of several of a name the first.
    fn read_statics(
        &mut self,
        parts: &Parts,
        merged: &Merged,
        contents: &mut Contents,
    ) -> Result<()> {
        for (part, variable) in &merged.statics {
            let part = &parts.all[*part];
            let (held, meaning) = (&part.file.variables[*variable], &part.meanings[*variable]);
            if self.statics.iter().any(|(name, _)| *name == meaning.name) {
                continue;
            }
            let mut field = Vec::new();
            let levels: Vec<usize> = (0..held.levels.len().max(1)).collect();
            let sink = |_, values: &[f32]| field = values.to_vec();
            let read = part.file.read_as(held, &levels, meaning.conversion, sink);
            read.map_err(|error| error.context(format!("{}: `{}`", part.path, held.name)))?;
            if field.len() == self.n_nodes() && field.iter().all(|x| is_number(*x)) {
                self.statics.push((meaning.name.clone(), field));
            } else {
                contents.notes.push(format!(
                    "the static field `{}` has missing values or several levels and is not used",
                    held.name
                ));
            }
        }
        // Files and stores list their variables in orders of their own.
        self.statics.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(())
    }

    /// Reads the numbers of all channels at all times.
    fn fill(&mut self, parts: &Parts, merged: &Merged) -> Result<()> {
        let at_once = self.values.records_at_once(self.record_len());
        for (k, part) in parts.all.iter().enumerate() {
            let n = part.file.axes.times.len();
            // No chunk of a file is unpacked for two blocks.
            let block = at_once.next_multiple_of(part.file.records_of_chunks());
            for first in (0..n).step_by(block) {
                self.fill_from((k, part), merged, first..(first + block).min(n))?;
            }
        }
        Ok(())
    }

    /// Reads the numbers of some records of a file.
    fn fill_from(
        &mut self,
        (k, part): (usize, &Part),
        merged: &Merged,
        records: Range<usize>,
    ) -> Result<()> {
        let (n, n_channels, len) = (self.n_nodes(), self.channels.len(), self.record_len());
        let times = part.file.axes.times[records.clone()].iter();
        let times: Vec<Option<usize>> = times
            .map(|time| self.times.binary_search(time).ok())
            .collect();
        let known = || times.iter().flatten().copied();
        let Some((low, high)) = known().min().zip(known().max()) else {
            return Ok(());
        };
        for (v, held) in part.file.variables.iter().enumerate() {
            let own = merged.levels_of(k, v);
            if own.is_empty() {
                continue;
            }
            let values = &mut self.values;
            let sink = |record: usize, fields: &[f32]| {
                let Some(time) = times[record - records.start] else {
                    return;
                };
                for (&(channel, _), field) in own.iter().zip(fields.chunks_exact(n)) {
                    for (node, &x) in field.iter().enumerate() {
                        values[(time * n + node) * n_channels + channel] = x;
                    }
                }
            };
            let levels: Vec<usize> = own.iter().map(|(_, level)| *level).collect();
            let conversion = part.meanings[v].conversion;
            let read = part
                .file
                .read_records(held, &levels, conversion, records.clone(), sink);
            read.map_err(|error| error.context(format!("{}: `{}`", part.path, held.name)))?;
        }
        self.values.settle(low * len..(high + 1) * len)
    }

    /// The spread of each channel.
    fn spreads(&self, parts: &Parts, merged: &Merged) -> Result<Vec<Spread>> {
        let spread = |(channel, seen): (usize, &Seen)| {
            self.numbers(channel)
                .spread(seen)
                .map_err(|(time, message)| {
                    let path = merged.path_of(parts, channel, self.times[time]);
                    Error::data(format!("{path}: {message}"))
                })
        };
        self.sweep().iter().enumerate().map(spread).collect()
    }
}
