//! What a training writes. A disk that takes no more ends no training: what could not be written is tried again at
//! the next checkpoint, and at the end it goes to another folder.

use super::checkpoint::{Checkpoint, newest};
use super::events::Recorder;
use fitzroy::{Error, Result};
use std::path::{Path, PathBuf};

/// The file of the checkpoint with the smallest validation loss.
pub(super) const BEST: &str = "best.safetensors";

/// The files of a training.
pub(super) struct Files<'a> {
    folder: &'a Path,
    /// Where the last checkpoints go if the folder takes none.
    spare: Option<&'a Path>,
    recorder: Recorder,
    /// Newest checkpoints that stay.
    keep: usize,
    /// The best checkpoint, once it is in a file.
    pub(super) best: Option<PathBuf>,
    /// The best checkpoint, while it is in none.
    held: Option<Checkpoint>,
    /// Whether the last lines of the logs could not be written.
    behind: bool,
}

impl<'a> Files<'a> {
    /// The files of a training in `folder`, with `recorder` for its logs.
    pub(super) fn new(
        (folder, spare): (&'a Path, Option<&'a Path>),
        recorder: Recorder,
        keep: usize,
    ) -> Files<'a> {
        let best = folder.join(BEST);
        Files {
            folder,
            spare,
            recorder,
            keep,
            best: best.exists().then_some(best),
            held: None,
            behind: false,
        }
    }

    /// Adds numbers of a step to the logs; what to tell if that begins to fail.
    pub(super) fn add(&mut self, time: f64, step: u64, values: &[(&str, f64)]) -> Option<String> {
        let failed = self.recorder.add(time, step, values).err();
        let was = std::mem::replace(&mut self.behind, failed.is_some());
        let error = failed.filter(|_| !was)?;
        Some(format!(
            "{error}; the training goes on, and lines wait for room"
        ))
    }

    /// Keeps `checkpoint` as the best; what to tell if no file takes it yet.
    pub(super) fn keep_best(&mut self, checkpoint: &Checkpoint) -> Option<String> {
        let path = self.folder.join(BEST);
        match checkpoint.save(&path) {
            Ok(()) => {
                (self.best, self.held) = (Some(path), None);
                None
            }
            Err(error) => {
                self.held = Some(checkpoint.clone());
                Some(waits(&error))
            }
        }
    }

    /// The best checkpoint, from memory or its file.
    pub(super) fn load_best(&self) -> Result<Option<Checkpoint>> {
        match (&self.held, &self.best) {
            (Some(held), _) => Ok(Some(held.clone())),
            (None, Some(path)) => Checkpoint::load(path).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Writes `checkpoint`, removes the oldest, and tries the best one again; the path of the file, or what to tell.
    pub(super) fn save(&mut self, checkpoint: &Checkpoint) -> std::result::Result<PathBuf, String> {
        let path = self.folder.join(name(checkpoint));
        let saved = checkpoint.save(&path);
        if saved.is_ok() {
            for old in newest(self.folder).into_iter().skip(self.keep) {
                // An old checkpoint that stays does no harm.
                let _ = std::fs::remove_file(old);
            }
            if let Some(held) = self.held.take() {
                self.keep_best(&held);
            }
        }
        saved.map(|()| path).map_err(|error| waits(&error))
    }

    /// Writes what waits, at the end of a training whose last `checkpoint` is in a file or not: to the folder, or
    /// else to the spare one. What could not be written where it belongs, and where it is.
    pub(super) fn finish(&mut self, checkpoint: Option<&Checkpoint>) -> Vec<String> {
        let mut unwritten = Vec::new();
        if let Some(last) = checkpoint {
            let name = name(last);
            unwritten.extend(self.rescue(last, &name).err());
        }
        if let Some(held) = self.held.take() {
            if let Err(told) = self.rescue(&held, BEST) {
                unwritten.push(told);
                self.held = Some(held);
            } else {
                self.best = Some(self.folder.join(BEST));
            }
        }
        unwritten.extend(self.recorder.flush().err().map(|error| error.to_string()));
        unwritten
    }

    /// Writes `checkpoint` to the folder, or else to the spare one, which is told as an error.
    fn rescue(&self, checkpoint: &Checkpoint, name: &str) -> std::result::Result<(), String> {
        let path = self.folder.join(name);
        let Err(error) = checkpoint.save(&path) else {
            return Ok(());
        };
        let Some(spare) = self.spare.filter(|spare| *spare != self.folder) else {
            return Err(error.to_string());
        };
        let other = spare.join(format!("fitzroy-{}-{name}", std::process::id()));
        match checkpoint.save(&other) {
            Ok(()) => Err(format!(
                "{error}; it is safe in {}: move that file to {} when there is room",
                other.display(),
                path.display()
            )),
            Err(again) => Err(format!("{error}, nor elsewhere: {again}")),
        }
    }
}

/// The file name of a checkpoint.
fn name(checkpoint: &Checkpoint) -> String {
    format!("checkpoint-{:08}.safetensors", checkpoint.progress.step)
}

/// What to tell of a checkpoint that could not be written while a training goes on.
fn waits(error: &Error) -> String {
    format!("{error}; the training goes on, and the next checkpoint is tried when it is due")
}
