//! Logs of a run for other programs: `metrics.jsonl`, and TensorBoard's event file.
//!
//! An event file is a row of records: length (u64), masked CRC-32C of it, data, masked CRC-32C
//! of the data; the data are protocol buffers of the message `Event`.
//! Source: tensorflow/core/lib/io/record_writer.cc and core/util/event.proto.

use crate::protobuf::Message;
use fitzroy::{Error, ErrorKind, Result};
use serde_json::{Map, Value};
use std::fs::{self, File, OpenOptions};
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

fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut out = length.to_vec();
    out.extend_from_slice(&masked(&length).to_le_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(&masked(data).to_le_bytes());
    out
}

/// An event with a wall time in seconds; the rest of its fields follows.
fn event(wall_time: f64) -> Message {
    let mut event = Message::default();
    event.double(1, wall_time);
    event
}

/// The lines of a log up to a step, without one that is cut short, as the last of a killed run may
/// be.
fn lines_to(text: &str, step: u64) -> String {
    let is_kept = |line: &&str| {
        let line = serde_json::from_str::<Value>(line);
        line.is_ok_and(|line| line["step"].as_u64().is_some_and(|at| at <= step))
    };
    let kept = text.lines().filter(is_kept);
    kept.flat_map(|line| [line, "\n"]).collect()
}

impl Recorder {
    /// Opens the logs in a folder for a run that has done `step` steps. One that goes on adds to
    /// `metrics.jsonl`, from which lines of later steps are taken out, for these steps are done
    /// again; and starts another event file, named after its wall time, which tells TensorBoard the
    /// same.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn open(folder: &Path, step: u64, wall_time: f64, tensorboard: bool) -> Result<Self> {
        let path = folder.display().to_string();
        let failed = |error: std::io::Error| {
            Error::new(
                ErrorKind::Io,
                format!("{path} cannot be written to: {error}"),
            )
        };
        let file = folder.join("metrics.jsonl");
        if let Ok(text) = fs::read_to_string(&file) {
            let kept = lines_to(&text, step);
            if kept != text {
                let partial = folder.join("metrics.jsonl.tmp");
                let replaced = fs::write(&partial, kept);
                let replaced = replaced.and_then(|()| fs::rename(&partial, &file));
                replaced.map_err(failed)?;
            }
        }
        let lines = OpenOptions::new()
            .create(true)
            .append(true)
            .open(file)
            .map_err(failed)?;
        let mut events = None;
        if tensorboard {
            let name = format!("events.out.tfevents.{:010}.fitzroy", wall_time as u64);
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(folder.join(name));
            let mut log = file.and_then(Log::new).map_err(failed)?;
            let mut version = event(wall_time);
            version.text(3, "brain.Event:2");
            log.add(&record(&version.0)).map_err(failed)?;
            if step > 0 {
                // A session begins: what earlier files say of this step and later ones is void.
                let mut session = Message::default();
                session.integer(1, 1);
                let mut begins = event(wall_time);
                begins.integer(2, step as i64 + 1);
                begins.message(7, &session);
                log.add(&record(&begins.0)).map_err(failed)?;
            }
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
        let mut summary = Message::default();
        for &(name, value) in values {
            let shown = match value {
                x if x.is_finite() => Value::from(x),
                x if x.is_nan() => "NaN".into(),
                x if x > 0.0 => "Infinity".into(),
                _ => "-Infinity".into(),
            };
            line.insert(name.into(), shown);
            let mut one = Message::default();
            one.text(1, name);
            one.real(2, value as f32);
            summary.message(1, &one);
        }
        let mut scalars = event(wall_time);
        scalars.integer(2, step as i64);
        scalars.message(5, &summary);
        let line = format!("{}\n", Value::Object(line));
        let lines = self.lines.add(line.as_bytes());
        let events = match &mut self.events {
            Some(events) => events.add(&record(&scalars.0)),
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
        let mut recorder = Recorder::open(&folder, 0, 1.5e9, true).unwrap();
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

    /// A run that was killed at step 7 goes on from a checkpoint at step 4.
    #[test]
    fn steps_that_are_done_again_stand_once() {
        let folder = std::env::temp_dir().join(format!("fitzroy-again-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("metrics.jsonl");
        let line = |step: u64, loss: f64| format!("{{\"step\":{step},\"loss\":{loss}}}\n");
        let before: String = [2, 4, 6, 7].map(|step| line(step, 0.5)).concat();
        std::fs::write(&file, before + "{\"step\":3,\"lo").unwrap();
        let mut recorder = Recorder::open(&folder, 4, 1.5e9, true).unwrap();
        recorder.add(1.5e9, 6, &[("loss", 0.25)]).unwrap();
        drop(recorder);
        let lines = std::fs::read_to_string(&file).unwrap();
        let steps: Vec<u64> = (lines.lines())
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["step"]
                    .as_u64()
                    .unwrap()
            })
            .collect();
        assert_eq!(steps, [2, 4, 6]);
        let data = std::fs::read(folder.join("events.out.tfevents.1500000000.fitzroy")).unwrap();
        // Step 5 and a session log with status 1.
        let begins = [2 << 3, 5, 7 << 3 | 2, 2, 1 << 3, 1];
        assert!(data.windows(6).any(|w| w == begins));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
