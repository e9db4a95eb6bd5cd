//! Logs of a run for other programs: `metrics.jsonl`, and TensorBoard's event file.
//!
//! An event file is a row of records: length (u64), masked CRC-32C of it, data, masked CRC-32C
//! of the data; the data are protocol buffers of the message `Event`.
//! Source: tensorflow/core/lib/io/record_writer.cc and core/util/event.proto.

use fitzroy::{Error, ErrorKind, Result};
use serde_json::{Map, Value};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Writes both logs.
pub struct Recorder {
    lines: Log,
    events: Option<Log>,
    path: String,
}

/// A file that grows by whole records: what a disk did not take waits, and no record is cut.
struct Log {
    file: File,
    /// Bytes of whole records in the file.
    length: u64,
    waiting: Vec<u8>,
}

impl Log {
    fn new(file: File) -> std::io::Result<Log> {
        Ok(Log {
            length: file.metadata()?.len(),
            file,
            waiting: Vec::new(),
        })
    }

    /// Adds a record behind those that wait, and writes them.
    fn add(&mut self, record: &[u8]) -> std::io::Result<()> {
        self.waiting.extend_from_slice(record);
        self.flush()
    }

    /// Writes what waits.
    fn flush(&mut self) -> std::io::Result<()> {
        let written = self.file.write_all(&self.waiting);
        match &written {
            Ok(()) => {
                self.length += self.waiting.len() as u64;
                self.waiting.clear();
            }
            // Part of a record may have been written.
            Err(_) => self.file.set_len(self.length)?,
        }
        written
    }
}

/// TensorFlow's mask, so that checksums of checksums stay apart.
fn masked(data: &[u8]) -> u32 {
    crc32c::crc32c(data)
        .rotate_right(15)
        .wrapping_add(0xA282_EAD8)
}

fn varint(mut n: u64, out: &mut Vec<u8>) {
    while n >= 128 {
        out.push(n as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
}

/// A field of bytes.
fn bytes(number: u64, data: &[u8], out: &mut Vec<u8>) {
    varint(number << 3 | 2, out);
    varint(data.len() as u64, out);
    out.extend_from_slice(data);
}

fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut out = length.to_vec();
    out.extend_from_slice(&masked(&length).to_le_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(&masked(data).to_le_bytes());
    out
}

/// An event with a wall time in seconds, and the rest of its fields.
fn event(wall_time: f64, rest: &[u8]) -> Vec<u8> {
    let mut out = vec![1 << 3 | 1];
    out.extend_from_slice(&wall_time.to_le_bytes());
    out.extend_from_slice(rest);
    out
}

impl Recorder {
    /// Opens the logs in a folder; a run that goes on adds to `metrics.jsonl` and starts another
    /// event file, named after its wall time.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(folder: &Path, wall_time: f64, tensorboard: bool) -> Result<Self> {
        let path = folder.display().to_string();
        let failed = |error: std::io::Error| {
            Error::new(
                ErrorKind::Io,
                format!("{path} cannot be written to: {error}"),
            )
        };
        let lines = OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.join("metrics.jsonl"))
            .map_err(failed)?;
        let mut events = None;
        if tensorboard {
            let name = format!("events.out.tfevents.{:010}.fitzroy", wall_time as u64);
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(folder.join(name));
            let mut log = file.and_then(Log::new).map_err(failed)?;
            let mut version = Vec::new();
            bytes(3, b"brain.Event:2", &mut version);
            log.add(&record(&event(wall_time, &version)))
                .map_err(failed)?;
            events = Some(log);
        }
        Ok(Recorder {
            lines: Log::new(lines).map_err(failed)?,
            events,
            path,
        })
    }

    /// Adds numbers of a step.
    ///
    /// # Errors
    /// The disk is full or gone: what it did not take is written with the next numbers that it takes.
    pub fn add(&mut self, wall_time: f64, step: u64, values: &[(&str, f64)]) -> Result<()> {
        let mut line = Map::new();
        line.insert("step".into(), step.into());
        line.insert("time".into(), wall_time.into());
        let mut summary = Vec::new();
        for &(name, value) in values {
            let shown = match value {
                x if x.is_finite() => Value::from(x),
                x if x.is_nan() => "NaN".into(),
                x if x > 0.0 => "Infinity".into(),
                _ => "-Infinity".into(),
            };
            line.insert(name.into(), shown);
            let mut one = Vec::new();
            bytes(1, name.as_bytes(), &mut one);
            one.push(2 << 3 | 5);
            one.extend_from_slice(&(value as f32).to_le_bytes());
            bytes(1, &one, &mut summary);
        }
        let mut rest = Vec::new();
        varint(2 << 3, &mut rest);
        varint(step, &mut rest);
        bytes(5, &summary, &mut rest);
        let line = format!("{}\n", Value::Object(line));
        let lines = self.lines.add(line.as_bytes());
        let events = match &mut self.events {
            Some(events) => events.add(&record(&event(wall_time, &rest))),
            None => Ok(()),
        };
        lines.and(events).map_err(|error| self.failed(&error))
    }

    /// Writes what a full disk did not take before.
    ///
    /// # Errors
    /// As [`Recorder::add`].
    pub fn flush(&mut self) -> Result<()> {
        let lines = self.lines.flush();
        let events = self.events.as_mut().map_or(Ok(()), Log::flush);
        lines.and(events).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        let message = format!("logs in {} cannot be written: {error}", self.path);
        Error::new(ErrorKind::Io, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_can_be_taken_apart_again() {
        let folder = std::env::temp_dir().join(format!("fitzroy-events-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut recorder = Recorder::open(&folder, 1.5e9, true).unwrap();
        recorder
            .add(1.5e9 + 1.0, 300, &[("loss", 0.25), ("rate", f64::NAN)])
            .unwrap();
        drop(recorder);
        let data = std::fs::read(folder.join("events.out.tfevents.1500000000.fitzroy")).unwrap();
        let (mut at, mut records) = (0, Vec::new());
        while at < data.len() {
            let length = u64::from_le_bytes(*data[at..].first_chunk().unwrap()) as usize;
            let crc = u32::from_le_bytes(*data[at + 8..].first_chunk().unwrap());
            assert_eq!(crc, masked(&data[at..at + 8]));
            let body = &data[at + 12..at + 12 + length];
            let crc = u32::from_le_bytes(*data[at + 12 + length..].first_chunk().unwrap());
            assert_eq!(crc, masked(body));
            records.push(body.to_vec());
            at += length + 16;
        }
        assert_eq!(records.len(), 2);
        assert!(records[0].ends_with(b"brain.Event:2"));
        // Step 300 as a varint, then the name and the value.
        assert_eq!(&records[1][9..12], [2 << 3, 0xAC, 0x02]);
        assert!(records[1].windows(4).any(|w| w == b"loss"));
        assert!(records[1].windows(4).any(|w| w == 0.25_f32.to_le_bytes()));
        let lines = std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
        assert!(
            lines.contains("\"loss\":0.25") && lines.contains("\"rate\":\"NaN\""),
            "{lines}"
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
