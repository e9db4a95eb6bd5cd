//! A checkpoint scored beside its rivals.

use super::device::{Taken, target, tell_notes};
use super::{channels_of, find_members, pages, read_for, saved_split};
use crate::face::{Face, Note};
use crate::folder::Folder;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_weather::data::{Asked, Chosen, Forecasts, Reading, Split, Splits};
use fitzroy_weather::evaluate::{Evaluation, Options, csv, document, evaluate};
use fitzroy_weather::report::mapped;
use fitzroy_weather::train::{Checkpoint, Forecaster, Problem};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is scored, and how.
pub struct Scoring<'a> {
    /// Files of data.
    pub data: &'a [PathBuf],
    /// How they are read; where nothing is said, as those of the training.
    pub reading: Asked,
    /// The folder for data that do not fit into memory; none for the current one.
    pub scratch: Option<&'a Path>,
    /// A checkpoint, or a folder of them; several are an ensemble, as is a folder of members.
    pub checkpoints: &'a [PathBuf],
    /// Leads, initial times and rivals.
    pub options: Options,
    /// Files with forecasts of others.
    pub forecasts: &'a [PathBuf],
    /// Whether the tuned linear model must be among the rivals.
    pub strict: bool,
    /// Variables or channels that are drawn as maps.
    pub channels: &'a [String],
    /// Whether the figures of the page are written as files of their own, too.
    pub pictures: bool,
    /// Where results go; none for a fresh folder.
    pub out: Option<&'a Path>,
    /// Threads.
    pub threads: usize,
    /// The GPU that forecasts; none for this processor.
    pub gpu: Option<Taken>,
}

/// Scores of a checkpoint.
pub struct Scored {
    /// The scores.
    pub evaluation: Evaluation,
    /// The same as one JSON document.
    pub document: Value,
    /// Whether it forecasts states, and not rain alone.
    pub is_forecast: bool,
    /// Where `scores.json`, `scores.csv` and `report.html` are.
    pub folder: PathBuf,
}

impl Scoring<'_> {
    /// The forecasts of others.
    fn theirs(&self, problem: &Problem, checkpoint: &Checkpoint) -> Result<Forecasts> {
        let (variables, levels) = channels_of(checkpoint);
        let saved = Reading::from_json(&checkpoint.reading)?;
        let chosen = Chosen {
            variables,
            levels,
            reading: self.reading.over(saved),
        };
        let (archive, scales) = (&problem.archive, &problem.normaliser);
        Forecasts::read(self.forecasts, &chosen, archive, scales)
    }

    /// Scores; none if `progress`, which is told how many of how many forecasts are made, ended it by
    /// false.
    ///
    /// # Errors
    /// Checkpoint or data cannot be read or do not suffice; a file cannot be written.
    pub fn run(
        mut self,
        face: &Arc<dyn Face>,
        progress: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Option<Scored>> {
        let members = find_members(self.checkpoints, &**face)?;
        let found = &members[0];
        let archive = read_for(
            &found.checkpoint,
            self.data,
            (&self.reading, self.scratch),
            &**face,
        )?;
        let splits = Splits::for_scores(&archive, &saved_split(&found.checkpoint)?)?;
        let problem = Problem::restore(archive, splits, &found.checkpoint)?;
        let saved = found.checkpoint.settings["data_checksum"].as_u64();
        let known = !problem.windows(Split::Train, 1).0.is_empty();
        if known && saved.is_some_and(|sum| sum != u64::from(problem.checksum)) {
            face.tell(Note::Notice(
                "the training and validation records of the data are not those of the checkpoint: \
                 the tuned linear model, and climatology where the checkpoint has none, are fitted \
                 to the ones that are here",
            ));
        }
        if self.strict && !known {
            let message = "⟨strict⟩: the data hold none of the training records, to which the \
                           linear model is fitted that must be beaten; add them to ⟨data⟩";
            return Err(Error::new(ErrorKind::Data, message));
        }
        let channels = mapped(&problem.target_channels(), self.channels)?;
        let mut folder = Folder::open(Path::new(""), self.out, "evaluation", None, face)?;
        let paths: Vec<PathBuf> = members.iter().map(|found| found.path.clone()).collect();
        let members: Vec<&[f32]> = members
            .iter()
            .map(|found| found.checkpoint.best_parameters())
            .collect();
        let options = Options {
            forecasts: self.theirs(&problem, &found.checkpoint)?,
            ..self.options.clone()
        };
        let gpu = self.gpu.take();
        let memory_bytes = gpu.as_ref().map(Taken::budget_bytes);
        let (target, device) = target(gpu, &**face);
        let extent = options.extent(self.threads, memory_bytes);
        let mut forecaster = Forecaster::new(target, &problem, &members, extent)?;
        tell_notes(&forecaster, &**face);
        let scored = evaluate(&problem, &mut forecaster, &options, progress)?;
        let Some(evaluation) = scored else {
            return Ok(None);
        };
        let mut document = document(&evaluation);
        document["device"] = json!(device);
        folder.write("scores.json", &format!("{document:#}\n"))?;
        folder.write("scores.csv", &csv(&evaluation))?;
        let pictures = self.pictures;
        pages::scores(&mut folder, &evaluation, &channels, &paths, pictures)?;
        let path = folder.path().to_path_buf();
        folder.finish()?;
        Ok(Some(Scored {
            evaluation,
            document,
            is_forecast: problem.is_forecast(),
            folder: path,
        }))
    }
}
