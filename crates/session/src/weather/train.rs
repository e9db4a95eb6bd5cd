//! Training from files to a folder with checkpoints, metrics and a page.

use super::device::Taken;
use super::{channels_of, free_bytes, pages, room, tell_of_file};
use crate::clock::{Clock, unix_seconds};
use crate::face::{Face, Note};
use crate::folder::{Folder, Lock};
use fitzroy::Result;
use fitzroy::report::json_number;
use fitzroy_weather::data::{
    Accumulation, Archive, Asked, Chosen, Contents, Reading, SplitBy, Splits,
};
use fitzroy_weather::train::{
    BesideStart, Caller, Carried, Ended, Event, Found, Outcome, Plan, Problem, Rates, Settings,
    Target, Task, Wanted, Weighting, find, find_best, find_rate, plan, resumed, train_on,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a training is asked for.
#[derive(Clone)]
pub struct Request {
    /// CF NetCDF-4 files or Zarr stores of one region; several are one series.
    pub data: Vec<PathBuf>,
    /// Variables to use; where none are named, those of the checkpoint that is started from, or
    /// those known.
    pub variables: Vec<String>,
    /// Levels to use, hPa, likewise.
    pub levels: Vec<f64>,
    /// How files are read; where nothing is said, as those of the checkpoint.
    pub reading: Asked,
    /// The folder for data that do not fit into memory; none for the current one.
    pub scratch: Option<PathBuf>,
    /// Which records train, validate and test.
    pub split: SplitBy,
    /// What to learn.
    pub task: Task,
    /// The network; where nothing is said, that of the checkpoint.
    pub wanted: Wanted,
    /// Where it starts.
    pub start: Start,
    /// The loss and what counts more in it.
    pub weighting: Weighting,
    /// The training loop. Device and memory are filled in.
    pub settings: Settings,
    /// Whether the batch is the largest power of two that fits 80 % of the free memory.
    pub auto_batch: bool,
}

/// Where a training starts. A folder stands for its newest checkpoint where a training goes on,
/// and for its best where one begins.
#[derive(Clone, Debug)]
pub enum Start {
    /// With a fresh network.
    Fresh,
    /// With the weights of another training.
    Weights(PathBuf),
    /// Where another run of it has stopped.
    Resume(PathBuf),
}

impl Start {
    /// The checkpoint.
    fn find(&self, face: &dyn Face) -> Result<Option<Found>> {
        let found = match self {
            Start::Fresh => return Ok(None),
            Start::Weights(path) => find_best(path)?,
            Start::Resume(path) => find(path)?,
        };
        found.notes.iter().for_each(|n| face.tell(Note::Notice(n)));
        Ok(Some(found))
    }
}

/// A training that was planned.
pub struct Training {
    /// Data, graph and network.
    pub problem: Problem,
    /// What the files of data hold.
    pub contents: Contents,
    /// The training loop.
    pub settings: Settings,
    /// What the training takes.
    pub plan: Plan,
    /// Where it is done, in words.
    pub place: String,
    /// What was taken over from another run, where it starts from one.
    pub carried: Option<Carried>,
    /// The checkpoint to go on from, and how its training ended if nothing is left to do.
    resumed: Option<(Found, Option<Ended>)>,
    data: Vec<PathBuf>,
    gpu: Option<Taken>,
}

/// The folder of a training, taken, and the checkpoint to go on from.
pub struct Opened {
    /// Where results go.
    pub folder: PathBuf,
    /// Keeps others out.
    _lock: Option<Lock>,
}

/// A training that has ended.
pub struct Trained {
    /// Its losses, checkpoints and times.
    pub outcome: Outcome,
    /// The same as one JSON document.
    pub document: Value,
    /// Seconds of all of it.
    pub total_s: f64,
}

impl Request {
    /// Data, graph and network, over what the checkpoint says that it starts from; and what was
    /// taken over.
    fn problem(
        &self,
        found: Option<&Found>,
        face: &dyn Face,
    ) -> Result<(Problem, Contents, Option<Carried>)> {
        let saved = found.map(|found| &found.checkpoint);
        let (variables, levels) = saved.map(channels_of).unwrap_or_default();
        let or = |own: &Vec<String>| {
            if own.is_empty() {
                variables
            } else {
                own.clone()
            }
        };
        let reading = saved.map_or(Ok(Reading::default()), |c| Reading::from_json(&c.reading))?;
        let chosen = Chosen {
            variables: or(&self.variables),
            levels: if self.levels.is_empty() {
                levels
            } else {
                self.levels.clone()
            },
            reading: self.reading.over(reading),
        };
        let scratch = self.scratch.as_deref();
        let (archive, contents) = Archive::read_with_contents(&self.data, &chosen, &room(scratch))?;
        tell_of_file(&archive, scratch, face);
        let splits = Splits::new(&archive, &self.split)?;
        let (architecture, task) = self.wanted.settle(&self.task, saved)?;
        let weighting = self.weighting.clone();
        let (mut problem, carried) = match (&self.start, found) {
            (Start::Weights(_), Some(found)) => {
                let sizes = (task, architecture);
                let seed = self.settings.seed;
                let carried = Problem::carried(archive, splits, sizes, weighting, found, seed)?;
                (carried.0, Some(carried.1))
            }
            (_, Some(found)) => {
                let (sizes, from) = ((task, architecture), &found.checkpoint);
                (
                    Problem::going_on(archive, splits, sizes, weighting, from)?,
                    None,
                )
            }
            (_, None) => (
                Problem::new(archive, splits, task, architecture, weighting, None)?,
                None,
            ),
        };
        // What was found once holds for data that are too short to tell.
        let accumulation = match contents.accumulated {
            true => Accumulation::Total,
            false => chosen.reading.accumulation,
        };
        let reading = Reading {
            accumulation,
            ..chosen.reading
        };
        problem.provenance.reading = reading.to_json();
        Ok((problem, contents, carried))
    }
}

impl Training {
    /// Reads the data and plans the training.
    ///
    /// # Errors
    /// The data cannot be read or do not suffice; a setting is out of range; it will not fit into
    /// memory; the checkpoint it starts from cannot be read or is of another network.
    pub fn new(request: &Request, gpu: Option<Taken>, face: &dyn Face) -> Result<Training> {
        let found = request.start.find(face)?;
        let (problem, contents, carried) = request.problem(found.as_ref(), face)?;
        let free = gpu
            .as_ref()
            .map_or_else(free_bytes, |gpu| Some(gpu.free_bytes));
        let share = if request.auto_batch { 8 } else { 9 };
        let mut settings = Settings {
            device: gpu.as_ref().map(|gpu| gpu.math),
            memory_bytes: free.map(|free| free / 10 * share),
            ..request.settings.clone()
        };
        let mut planned = plan(&problem, &settings)?;
        while request.auto_batch && settings.batch_size < 1024 {
            let next = Settings {
                batch_size: 2 * settings.batch_size,
                ..settings.clone()
            };
            let Ok(larger) = plan(&problem, &next) else {
                break;
            };
            (settings, planned) = (next, larger);
        }
        let place = match &gpu {
            Some(gpu) => format!("{}, {}", gpu.label, gpu.math.name()),
            None => format!("{} threads", settings.threads),
        };
        let resumed = match (&request.start, found) {
            (Start::Resume(_), Some(found)) => {
                let ended = resumed(&problem, &settings, &found.checkpoint)?;
                Some((found, ended))
            }
            _ => None,
        };
        Ok(Training {
            problem,
            contents,
            settings,
            plan: planned,
            place,
            carried,
            resumed,
            data: request.data.clone(),
            gpu,
        })
    }

    /// The checkpoint that the training has ended with, and how, if nothing is left to do.
    pub fn ended(&self) -> Option<(&Found, Ended)> {
        let (found, ended) = self.resumed.as_ref()?;
        Some((found, (*ended)?))
    }

    /// Takes the folder: the one given, that of the checkpoint, or a fresh one; and says in it what
    /// will be trained.
    ///
    /// # Errors
    /// It cannot be used, or another run has it.
    pub fn open(&self, out: Option<&Path>, face: &Arc<dyn Face>) -> Result<Opened> {
        let found = self.resumed.as_ref().map(|(found, _)| found);
        if let Some(found) = found {
            face.tell(Note::Notice(&format!(
                "going on from {}, step {}",
                found.path.display(),
                found.checkpoint.progress.step
            )));
        }
        let from = found.map(|f| f.path.as_path());
        let (folder, lock) = take(out, from, face)?;
        let data: Vec<String> = self.data.iter().map(|p| p.display().to_string()).collect();
        pages::begin(
            &folder,
            (&data, &self.contents),
            &self.problem,
            (&self.settings, &self.plan, &self.place),
            &**face,
        )?;
        Ok(Opened {
            folder,
            _lock: lock,
        })
    }

    /// Trains until the end, or until `stop` turns true; `observer` is told of steps, validations and
    /// checkpoints. Measures where the time goes if `profiles`.
    ///
    /// # Errors
    /// The data cannot be read any more, or no log can be begun. What a full disk did not take later is no error: see
    /// [`Outcome::unwritten`].
    pub fn run(
        self,
        opened: &Opened,
        (stop, clock): (&AtomicBool, Clock),
        observer: &(dyn Fn(&Event<'_>) + Sync),
        profiles: bool,
        face: &dyn Face,
    ) -> Result<Trained> {
        let spare = std::env::temp_dir();
        let caller = Caller {
            now: &|| clock.seconds(),
            wall_time: &unix_seconds,
            stop,
            observer,
            spare: Some(&spare),
            profile: profiles.then(|| {
                let clock: fitzroy_device::nn::Clock = Arc::new(move || clock.seconds());
                clock
            }),
        };
        let target = self.gpu.map_or(Target::Cpu, |gpu| {
            Target::Device(Box::new(gpu.work), gpu.math)
        });
        let from = self.resumed.map(|(found, _)| found.checkpoint);
        let (folder, settings) = (&opened.folder, &self.settings);
        let mut outcome = train_on(target, &self.problem, settings, from, folder, &caller)?;
        let p = &outcome.progress;
        let total_s = clock.seconds();
        let mut document = json!({
            "out": folder.display().to_string(), "seed": settings.seed,
            "ended": format!("{:?}", outcome.ended).to_lowercase(), "steps": p.step,
            "epoch": p.epoch, "last_loss": json_number(outcome.last_loss),
            "best_validation_loss": p.best_loss.map_or(Value::Null, json_number),
            "best_beside_start": p.best_ratio.map_or(Value::Null, json_number),
            "skipped_updates": p.n_skipped, "data_wait": json_number(outcome.data_wait),
            "first_step_s": json_number(outcome.step_s.0),
            "median_step_s": json_number(outcome.step_s.1), "total_s": total_s,
            "init_from": self.problem.provenance.origin,
            "parameters": self.plan.n_parameters, "unwritten": outcome.unwritten,
            "beside_start": beside_json(&outcome.beside_start),
        });
        // Checkpoints are worth more than a page of them.
        let page = pages::end(folder, &document, face);
        if let Err(error) = page {
            outcome.unwritten.push(error.to_string());
            document["unwritten"] = json!(outcome.unwritten);
        }
        let unwritten = outcome.unwritten.iter();
        unwritten.for_each(|told| face.tell(Note::Failure(told)));
        Ok(Trained {
            outcome,
            document,
            total_s,
        })
    }
}

/// A learning rate that was looked for.
pub struct FoundRate {
    /// Losses at growing rates, and the suggestion.
    pub rates: Rates,
    /// The same as one JSON document.
    pub document: Value,
    /// Where it and its page are.
    pub folder: PathBuf,
}

impl Training {
    /// Looks for a learning rate, and writes `learning-rate.json`, a page and a figure; none if
    /// `stop` turned true.
    ///
    /// # Errors
    /// The folder cannot be used; there are too few windows.
    pub fn find_rate(
        self,
        out: Option<&Path>,
        (stop, clock): (&AtomicBool, Clock),
        face: &Arc<dyn Face>,
    ) -> Result<Option<FoundRate>> {
        let mut folder = Folder::open(Path::new(""), out, "learning-rate", None, face)?;
        let caller = Caller {
            now: &|| clock.seconds(),
            wall_time: &unix_seconds,
            stop,
            observer: &|_| {},
            spare: None,
            profile: None,
        };
        let target = self.gpu.map_or(Target::Cpu, |gpu| {
            Target::Device(Box::new(gpu.work), gpu.math)
        });
        let Some(rates) = find_rate(target, &self.problem, &self.settings, &caller)? else {
            return Ok(None);
        };
        let steps = rates.steps.iter();
        let steps = steps.map(|(rate, loss, smoothed)| {
            json!({"rate": rate, "loss": json_number(*loss), "smoothed": json_number(*smoothed)})
        });
        let document = json!({
            "suggested_learning_rate": rates.suggested, "rate_of_least_loss": rates.least,
            "batch_size": self.settings.batch_size, "accumulate": self.settings.accumulate,
            "out": folder.path().display().to_string(), "total_s": clock.seconds(),
            "steps": steps.collect::<Vec<Value>>(),
        });
        folder.write("learning-rate.json", &format!("{document:#}\n"))?;
        pages::rates(&mut folder, &rates)?;
        let path = folder.path().to_path_buf();
        folder.finish()?;
        Ok(Some(FoundRate {
            rates,
            document,
            folder: path,
        }))
    }
}

impl Trained {
    /// What people should know of a training that has ended.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        if self.outcome.data_wait > 0.1 {
            let message = "more than a tenth of the time was spent waiting for data: raise \
                           ⟨prefetch_buffer_size⟩, or train with fewer threads so that one is left \
                           for data";
            advice.push(message.into());
        }
        let behind = self
            .outcome
            .beside_start
            .iter()
            .filter(|b| !(b.ratio < 1.0));
        let behind: Vec<String> = behind.map(|b| b.lead_hours.to_string()).collect();
        if !behind.is_empty() {
            advice.push(format!(
                "behind its untrained start at {} h: train on longer forecasts (⟨rollout_steps⟩), on \
                 more data, or longer",
                behind.join(", ")
            ));
        }
        let ended = match self.outcome.ended {
            Ended::Degenerate => {
                "the last loss is 0 or not finite: nothing can have been learnt. Look at the data: \
                 a channel that never changes, or a fill value that is taken for a number"
            }
            Ended::Diverged => {
                "the gradient was not finite three times in a row; the last good checkpoint stands. \
                 Lower ⟨learning_rate⟩, or look at the data"
            }
            Ended::Finished | Ended::Early | Ended::Profiled | Ended::Interrupted => {
                return advice;
            }
        };
        advice.push(ended.into());
        advice
    }
}

/// The folder and its lock: no other run may use it as long as the lock lives.
fn take(
    given: Option<&Path>,
    from: Option<&Path>,
    face: &Arc<dyn Face>,
) -> Result<(PathBuf, Option<Lock>)> {
    if let Some(from) = from
        && given.is_none_or(|out| Some(out) == from.parent())
    {
        let path = match from.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let lock = Lock::take(path, path)?;
        return Ok((path.to_path_buf(), Some(lock)));
    }
    let mut folder = Folder::open(Path::new(""), given, "weather", None, face)?;
    // Keeps the folder: checkpoints will lie in it.
    folder.file("run.json");
    let path = folder.path().to_path_buf();
    let lock = folder.finish_locked()?;
    Ok((path, lock))
}

fn beside_json(found: &[BesideStart]) -> Value {
    let one = |b: &BesideStart| {
        json!({
            "lead_hours": b.lead_hours, "rmse_ratio": json_number(b.ratio),
            "variables_ahead": b.ahead.0, "variables": b.ahead.1,
        })
    };
    found.iter().map(one).collect()
}
