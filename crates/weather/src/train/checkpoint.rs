//! Checkpoints: one safetensors file each, whose metadata hold the rest as JSON.
//!
//! Format: eight bytes, the length of the header; the header as JSON, tensor by tensor with
//! dtype, shape and place; then the numbers. `__metadata__` holds the state of the run and a
//! checksum (CRC-32) of the numbers.
//! Source: the safetensors format, huggingface.co/docs/safetensors.

use super::files::BEST;
use crate::data::Climatology;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::nn::Parameter;
use flate2::Crc;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The group of tensors that is the average of the hour, and its member for all hours.
const USUAL: &str = "climatology";
const OVERALL: &str = "overall";

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Optimiser steps done.
    pub step: u64,
    /// Epoch under way.
    pub epoch: u64,
    /// Windows of it that are done.
    pub position: usize,
    /// One-step validation loss of the best checkpoint so far.
    pub best_loss: Option<f64>,
    /// Its losses beside the start's, of one step and of many: the geometric mean of the ratios.
    pub best_ratio: Option<f64>,
    /// Validation losses before the first step, of one step and of many.
    pub start_losses: Option<(f64, f64)>,
    /// Root mean square errors of the output channels at the longest lead of a validation before
    /// the first step, in normalised units, where they are known.
    pub start_rmse: Vec<f64>,
    /// Validations since the best.
    pub patience: u64,
    /// Updates that were skipped because the gradient was not finite.
    pub n_skipped: u64,
    /// Number of such updates just now.
    pub in_a_row: u64,
}

/// Everything a run needs to go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Problem and architecture (`Problem::identity`).
    pub identity: Value,
    /// Scales of the data.
    pub normaliser: Value,
    /// Settings that shape the trajectory, as JSON.
    pub settings: Value,
    /// How the files of the training were read (`Reading::to_json`), where it is known.
    pub reading: Value,
    /// The run whose weights the training started from, where there is one.
    pub origin: Value,
    /// The average of the hour over the training records, where it is kept.
    pub climatology: Option<Climatology>,
    /// Names, shapes and places of the parameters.
    pub arrays: Vec<Parameter>,
    /// Where the run stands.
    pub progress: Progress,
    /// Parameters.
    pub parameters: Vec<f32>,
    /// First moments.
    pub m: Vec<f32>,
    /// Second moments.
    pub v: Vec<f32>,
    /// Average of parameters, where it is kept.
    pub average: Option<Vec<f32>>,
}

/// A checkpoint, where it lies, and why newer ones could not be used.
#[derive(Debug)]
pub struct Found {
    /// Its file.
    pub path: PathBuf,
    /// What it holds.
    pub checkpoint: Checkpoint,
    /// One sentence for each damaged newer one.
    pub notes: Vec<String>,
}

impl Found {
    /// The checksum (CRC-32) of the file, by which a forecast can name it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn checksum(&self) -> Result<u32> {
        let path = self.path.display();
        let bytes = fs::read(&self.path);
        let bytes = bytes.map_err(|e| Error::new(ErrorKind::Io, format!("{path}: {e}")))?;
        let mut crc = Crc::new();
        crc.update(&bytes);
        Ok(crc.sum())
    }
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Data,
        format!("the checkpoint is damaged or cut short ({what})"),
    )
}

impl Progress {
    fn to_json(&self) -> Value {
        json!({
            "step": self.step, "epoch": self.epoch, "position": self.position,
            "best_loss": self.best_loss, "best_ratio": self.best_ratio,
            "start_losses": self.start_losses, "start_rmse": self.start_rmse, "patience": self.patience,
            "n_skipped": self.n_skipped, "in_a_row": self.in_a_row,
        })
    }

    fn from_json(value: &Value) -> Result<Self> {
        let number = |name: &str| value[name].as_u64().ok_or_else(|| damaged(name));
        Ok(Progress {
            step: number("step")?,
            epoch: number("epoch")?,
            position: number("position")? as usize,
            best_loss: value["best_loss"].as_f64(),
            best_ratio: value["best_ratio"].as_f64(),
            start_losses: {
                let loss = |k: usize| value["start_losses"][k].as_f64();
                loss(0).zip(loss(1))
            },
            start_rmse: {
                let all = value["start_rmse"].as_array().into_iter().flatten();
                all.filter_map(Value::as_f64).collect()
            },
            patience: number("patience")?,
            n_skipped: number("n_skipped")?,
            in_a_row: number("in_a_row")?,
        })
    }
}

impl Checkpoint {
    fn groups(&self) -> Vec<(&'static str, &[f32])> {
        let mut groups = vec![
            ("parameters", self.parameters.as_slice()),
            ("m", self.m.as_slice()),
            ("v", self.v.as_slice()),
        ];
        groups.extend(self.average.as_deref().map(|average| ("average", average)));
        groups
    }

    /// The parameters to forecast with: the average where it is kept.
    pub fn best_parameters(&self) -> &[f32] {
        self.average.as_deref().unwrap_or(&self.parameters)
    }

    /// Header and numbers.
    fn tensors(&self) -> (Map<String, Value>, Vec<u8>) {
        let (mut header, mut data) = (Map::new(), Vec::new());
        let mut add = |name: String, shape: &[usize], values: &[f32]| {
            let start = data.len();
            values
                .iter()
                .for_each(|x| data.extend_from_slice(&x.to_le_bytes()));
            let entry = json!({
                "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()],
            });
            header.insert(name, entry);
        };
        for (group, values) in self.groups() {
            for array in &self.arrays {
                let own = &values[array.offset..array.offset + array.n()];
                add(format!("{group}/{}", array.name), &array.shape, own);
            }
        }
        let usual = self.climatology.iter().flat_map(Climatology::states);
        for (key, state) in usual {
            let name = key.map_or(OVERALL.to_string(), |key| key.to_string());
            add(format!("{USUAL}/{name}"), &[state.len()], state);
        }
        (header, data)
    }

    /// Writes the file under a temporary name, waits for the disk, and renames it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let (mut header, data) = self.tensors();
        let mut crc = Crc::new();
        crc.update(&data);
        let by_month = self.climatology.as_ref().map(Climatology::by_month);
        let state = json!({
            "identity": self.identity, "normaliser": self.normaliser, "settings": self.settings,
            "reading": self.reading, "origin": self.origin, "usual_by_month": by_month,
            "progress": self.progress.to_json(), "crc32": crc.sum(), "bytes": data.len(),
        });
        header.insert(
            "__metadata__".into(),
            json!({"format": "fitzroy", "state": state.to_string()}),
        );
        let mut header = Value::Object(header).to_string().into_bytes();
        header.resize(header.len().next_multiple_of(8), b' ');
        let temporary = path.with_extension("tmp");
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&temporary)?;
            file.write_all(&(header.len() as u64).to_le_bytes())?;
            file.write_all(&header)?;
            file.write_all(&data)?;
            file.sync_all()?;
            fs::rename(&temporary, path)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&temporary);
            let message = format!(
                "the checkpoint {} cannot be written: {error}",
                path.display()
            );
            Error::new(ErrorKind::Io, message)
        })
    }

    /// Reads a file back.
    ///
    /// # Errors
    /// It cannot be read, is cut short or altered. The message begins with the path.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = fs::read(path)
            .map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
        Self::decode(&bytes).map_err(|error| error.context(path.display()))
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let length = bytes
            .first_chunk::<8>()
            .ok_or_else(|| damaged("no header"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(damaged)?;
        let end = length.checked_add(8).filter(|&end| end <= bytes.len());
        let end = end.ok_or_else(|| damaged("the header is longer than the file"))?;
        let header: Value = serde_json::from_slice(&bytes[8..end]).map_err(damaged)?;
        let data = &bytes[end..];
        let state = header["__metadata__"]["state"]
            .as_str()
            .ok_or_else(|| damaged("no state"))?;
        let state: Value = serde_json::from_str(state).map_err(damaged)?;
        let mut crc = Crc::new();
        crc.update(data);
        if state["bytes"].as_u64() != Some(data.len() as u64)
            || state["crc32"].as_u64() != Some(u64::from(crc.sum()))
        {
            return Err(damaged("its numbers do not match their checksum"));
        }
        let group = |name: &str| tensors_of(&header, data, name);
        let flat = |name: &str| -> Option<Vec<f32>> {
            let values = group(name)?.into_iter().flat_map(|tensor| tensor.2);
            Some(values.collect()).filter(|values: &Vec<f32>| !values.is_empty())
        };
        let needed = |name: &str| flat(name).ok_or_else(|| damaged(name));
        Ok(Checkpoint {
            identity: state["identity"].clone(),
            normaliser: state["normaliser"].clone(),
            settings: state["settings"].clone(),
            reading: state["reading"].clone(),
            origin: state["origin"].clone(),
            climatology: state["usual_by_month"].as_bool().and_then(|by_month| {
                let states = group(USUAL)?.into_iter();
                let states = states.map(|(key, _, state)| (key.parse().ok(), state));
                Climatology::from_states(states.collect(), by_month)
            }),
            progress: Progress::from_json(&state["progress"])?,
            arrays: places(&group("parameters").ok_or_else(|| damaged("parameters"))?),
            parameters: needed("parameters")?,
            m: needed("m")?,
            v: needed("v")?,
            average: flat("average"),
        })
    }

    /// Refuses another problem, architecture or normaliser.
    ///
    /// # Errors
    /// Names the fields that differ, with both values.
    pub fn agree(&self, identity: &Value, n_parameters: usize) -> Result<()> {
        let empty = Map::new();
        let (own, other) = (
            self.identity.as_object().unwrap_or(&empty),
            identity.as_object().unwrap_or(&empty),
        );
        let short = |value: &Value| -> String {
            let text = value.to_string();
            if text.chars().count() <= 120 {
                return text;
            }
            format!("{}...", text.chars().take(117).collect::<String>())
        };
        let none = Value::Null;
        let mut differing = Vec::new();
        let fields = other
            .keys()
            .chain(own.keys().filter(|k| !other.contains_key(*k)));
        for field in fields {
            let saved = own.get(field).unwrap_or(&none);
            let value = other.get(field).unwrap_or(&none);
            if saved != value {
                differing.push(format!(
                    "{field}: {} saved, {} here",
                    short(saved),
                    short(value)
                ));
            }
        }
        if !differing.is_empty() {
            return Err(Error::new(
                ErrorKind::Data,
                format!(
                    "the checkpoint is of another model: {}",
                    differing.join("; ")
                ),
            ));
        }
        if self.parameters.len() != n_parameters {
            let message = format!(
                "the checkpoint has {} parameters, the network {n_parameters}",
                self.parameters.len()
            );
            return Err(Error::new(ErrorKind::Data, message));
        }
        Ok(())
    }
}

/// A tensor's name within its group, its shape and its numbers.
type Tensor = (String, Vec<usize>, Vec<f32>);

/// The tensors of a group, in the order of the file; none if one lies outside of it.
fn tensors_of(header: &Value, data: &[u8], group: &str) -> Option<Vec<Tensor>> {
    let entries = header.as_object()?.iter();
    let own = entries.filter_map(|(key, entry)| {
        let name = key.strip_prefix(group)?.strip_prefix('/')?;
        Some((name.to_string(), entry))
    });
    let mut tensors = Vec::new();
    for (name, entry) in own {
        let offset = |k: usize| entry["data_offsets"][k].as_u64().map(|n| n as usize);
        let part = data.get(offset(0)?..offset(1)?)?;
        let numbers = part.as_chunks::<4>().0.iter();
        let shape = entry["shape"].as_array()?.iter();
        let shape = shape.map(|n| n.as_u64().map(|n| n as usize));
        tensors.push((
            name,
            shape.collect::<Option<_>>()?,
            numbers.map(|b| f32::from_le_bytes(*b)).collect(),
        ));
    }
    Some(tensors)
}

/// Where parameters lie that follow each other.
fn places(tensors: &[Tensor]) -> Vec<Parameter> {
    let mut offset = 0;
    let place = |(name, shape, values): &Tensor| {
        let parameter = Parameter {
            name: name.clone(),
            shape: shape.clone(),
            offset,
        };
        offset += values.len();
        parameter
    };
    tensors.iter().map(place).collect()
}

/// Checkpoints of a folder by step, newest first; without the best one.
pub fn newest(folder: &Path) -> Vec<PathBuf> {
    let step = |path: &PathBuf| -> Option<u64> {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("checkpoint-")?
            .strip_suffix(".safetensors")?
            .parse()
            .ok()
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(u64, PathBuf)> = entries
        .filter_map(|e| Some((step(&e.path())?, e.path())))
        .collect();
    found.sort_by_key(|f| std::cmp::Reverse(f.0));
    found.into_iter().map(|(_, path)| path).collect()
}

/// The checkpoint whose weights another training starts from: a file, or the best of a folder, or
/// its newest where it has no best.
///
/// # Errors
/// Those of [`find`].
pub fn find_best(path: &Path) -> Result<Found> {
    let best = path.join(BEST);
    match best.is_file() {
        true => find(&best),
        false => find(path),
    }
}

/// The checkpoint a user means: a file, or the newest of a folder; where it is damaged, the one
/// before it, with a note.
///
/// # Errors
/// There is none that can be used.
pub fn find(path: &Path) -> Result<Found> {
    let mut notes = Vec::new();
    let candidates = if path.is_dir() {
        let all = newest(path);
        if all.is_empty() {
            let message = format!("{}: there is no checkpoint-*.safetensors", path.display());
            return Err(Error::new(ErrorKind::Io, message));
        }
        all
    } else {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let all = newest(folder);
        let own = all.iter().position(|p| p.file_name() == path.file_name());
        let older = own.map_or(Vec::new(), |k| all[k + 1..].to_vec());
        std::iter::once(path.to_path_buf()).chain(older).collect()
    };
    let mut first = None;
    for path in candidates {
        match Checkpoint::load(&path) {
            Ok(checkpoint) => {
                return Ok(Found {
                    path,
                    checkpoint,
                    notes,
                });
            }
            Err(error) => {
                notes.push(format!("{error}; the one before it is used"));
                first.get_or_insert(error);
            }
        }
    }
    Err(first.unwrap_or_else(|| damaged("none is left")))
}
