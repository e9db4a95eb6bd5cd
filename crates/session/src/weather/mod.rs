//! Regional weather: training with its folder and page, scores, and forecasts as files.
//!
//! The steps of a training are [`Training::new`], [`Training::open`] and [`Training::run`].

pub mod device;
mod evaluate;
mod export;
mod maps;
mod members;
pub mod pages;
mod predict;
mod train;

pub use evaluate::{Scored, Scoring};
pub use export::{Exported, Exporting};
pub use members::{ensemble_folder, find_members, member_name};
pub use predict::{Forecast, Forecasting};
pub use train::{FoundRate, Opened, Request, Start, Trained, Training};

use crate::face::{Face, Note};
use fitzroy::Result;
use fitzroy_device::probe::Memory;
use fitzroy_weather::data::{Archive, Asked, Chosen, Reading, Room, SplitBy};
use fitzroy_weather::time::Time;
use fitzroy_weather::train::Checkpoint;
use std::path::{Path, PathBuf};

/// Memory that is free, if the system tells.
pub fn free_bytes() -> Option<u64> {
    Memory::probe().map(|memory| memory.free_bytes)
}

/// Room for the numbers of data: in memory, or in a file of the folder `scratch`; none for the
/// current one.
fn room(scratch: Option<&Path>) -> Room {
    Room {
        memory_bytes: free_bytes(),
        folder: Some(scratch.unwrap_or(Path::new(".")).to_path_buf()),
    }
}

/// Says that the numbers of data lie in a file, if they do.
fn tell_of_file(archive: &Archive, scratch: Option<&Path>, face: &dyn Face) {
    if archive.values.in_file() {
        let gib = archive.values.len() as f64 * 4.0 / f64::from(1 << 30);
        let folder = scratch.unwrap_or(Path::new("."));
        face.tell(Note::Notice(&format!(
            "the data, {gib:.1} GiB, do not fit into memory beside the work: they lie in a file \
             without a name in {}, and are read from there; ⟨scratch⟩ names another folder, best \
             on a fast disk of this machine",
            folder.display()
        )));
    }
}

/// The variables and levels that a checkpoint was trained on.
fn channels_of(checkpoint: &Checkpoint) -> (Vec<String>, Vec<f64>) {
    let (mut variables, mut levels) = (Vec::<String>::new(), Vec::<f64>::new());
    let channels = checkpoint.identity["channels"].as_array();
    for channel in channels.into_iter().flatten() {
        let name = channel["variable"].as_str().unwrap_or_default().to_string();
        if !variables.contains(&name) {
            variables.push(name);
        }
        if let Some(level) = channel["level"].as_f64().filter(|p| !levels.contains(p)) {
            levels.push(level);
        }
    }
    (variables, levels)
}

/// Reads files with the channels that a checkpoint was trained on, as it read its own where `asked`
/// says nothing else; `scratch` is the folder for numbers that do not fit into memory.
///
/// # Errors
/// They cannot be read, or lack a channel.
pub fn read_for(
    checkpoint: &Checkpoint,
    paths: &[PathBuf],
    (asked, scratch): (&Asked, Option<&Path>),
    face: &dyn Face,
) -> Result<Archive> {
    let (variables, levels) = channels_of(checkpoint);
    let chosen = Chosen {
        variables,
        levels,
        reading: asked.over(Reading::from_json(&checkpoint.reading)?),
    };
    let archive = Archive::read(paths, &chosen, &room(scratch))?;
    tell_of_file(&archive, scratch, face);
    Ok(archive)
}

/// The split that a checkpoint was trained with.
///
/// # Errors
/// The checkpoint does not hold it.
pub fn saved_split(checkpoint: &Checkpoint) -> Result<SplitBy> {
    let time = |field: &str| {
        let text = checkpoint.settings[field].as_str().unwrap_or_default();
        Time::parse(text).map_err(|e| e.context(format!("the checkpoint's {field}")))
    };
    Ok(SplitBy::Borders {
        validation: time("validation_start")?,
        test: time("test_start")?,
    })
}
