//! A model sampled step by step, for faces that show something between the steps.

use crate::chains::{self, Chains, Destination, Ended, Need};
use crate::clock::{Clock, Stages};
use crate::device::Chosen;
use crate::face::Face;
use crate::folder::Folder;
use crate::report;
use fitzroy::Result;
use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::draws::Trace;
use fitzroy::model::foreign::Foreign;
use fitzroy::model::joint::Joint;
use fitzroy::model::{Binding, BoundArray};
use fitzroy::run::{self, Outcome, Saved, Settings, Subject, run_json};
use fitzroy_device::probe;
use fitzroy_report::report::RunFacts;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Nobody stops it.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

/// What can be sampled: a bound model, or a density that somebody else computes.
pub trait Sampled {
    /// It, as runs see it.
    fn subject(&self) -> Subject<'_>;

    /// Decides on the device, now that the run is known.
    ///
    /// # Errors
    /// A GPU that was asked for has too little memory: what fits.
    fn settle(&self, chosen: &mut Chosen, settings: &mut Settings) -> Result<()>;
}

/// Data with missing values: the parameter that stands for them, and the labels of their places.
fn missing(binding: &Binding) -> Value {
    let one = |array: &BoundArray| {
        let missing = array.missing.as_ref()?;
        let places = binding.dims[missing.dim].coordinates();
        let at: Vec<String> = (0..places.len()).map(|i| places.text(i)).collect();
        Some(json!({"data": array.name, "parameter": missing.parameter, "at": at}))
    };
    binding.arrays.iter().filter_map(one).collect()
}

impl Sampled for Joint {
    fn subject(&self) -> Subject<'_> {
        Subject::Model(self)
    }

    fn settle(&self, chosen: &mut Chosen, settings: &mut Settings) -> Result<()> {
        chosen.settle(self, settings)
    }
}

impl Sampled for Foreign<'_> {
    fn subject(&self) -> Subject<'_> {
        Subject::Density(self)
    }

    fn settle(&self, _: &mut Chosen, _: &mut Settings) -> Result<()> {
        Ok(())
    }
}

/// A bound model, or a density of somebody else, that is to be sampled.
///
/// The steps are [`settle`](Session::settle), [`open`](Session::open), [`draw`](Session::draw),
/// [`examine`](Session::examine), [`save`](Session::save), [`report`](Session::report) and
/// [`finish`](Session::finish). [`Sampling::run`](crate::Sampling::run) takes them all.
pub struct Session<S = Joint> {
    /// The model with its data, or the density.
    pub subject: S,
    /// How it is sampled.
    pub settings: Settings,
    /// Where it is computed.
    pub chosen: Chosen,
    /// The name of the model.
    pub name: String,
    /// Threads of what follows sampling.
    pub(crate) threads: usize,
    pub(crate) clock: Clock,
    pub(crate) face: Arc<dyn Face>,
    pub(crate) publish_every_s: f64,
    /// None if draws stay in memory.
    pub(crate) destination: Option<Destination>,
    pub(crate) folder: Option<Folder>,
    pub(crate) from: Option<Saved>,
    /// Seconds until the chains began.
    pub(crate) reading_s: f64,
    pub(crate) stages: Stages,
}

/// A sampled model.
pub struct Fit {
    /// The draws in ArviZ's layout; some of them if they stay on the disk.
    pub trace: Trace,
    /// Summary, findings and verdict.
    pub diagnosis: Diagnosis,
    /// The run as one JSON document, as `run.json` has it.
    pub document: Value,
    /// The folder of the run, if it has one.
    pub folder: Option<PathBuf>,
    /// Whether the run was stopped before its last draw.
    pub interrupted: bool,
    /// Whether everything that was to be written was.
    pub is_complete: bool,
    /// What the sampler says, without the draws; none of a run that had all its draws before.
    pub outcome: Option<Box<Outcome>>,
}

impl<S: Sampled> Session<S> {
    /// Decides on the device, now that the run is known.
    ///
    /// # Errors
    /// A GPU that was asked for has too little memory: what fits.
    pub fn settle(&mut self) -> Result<()> {
        self.subject.settle(&mut self.chosen, &mut self.settings)
    }

    /// What the run needs; nothing is written.
    ///
    /// # Errors
    /// Those of the sampler: no start with a finite log density.
    pub fn need(&self) -> Result<Need> {
        let subject = self.subject.subject();
        chains::need(subject, &self.settings, self.chosen.asked_precision())
    }

    /// Opens the folder, if there is to be one; false if the run in it has all its draws, which is
    /// told.
    ///
    /// # Errors
    /// The folder cannot be used, or the run in it is another.
    pub fn open(&mut self) -> Result<bool> {
        if let Some(to) = &self.destination {
            let Some((folder, from)) = self.chains(&NEVER).open(to, &self.name)? else {
                return Ok(false);
            };
            (self.folder, self.from) = (Some(folder), from);
        }
        self.reading_s = self.clock.seconds();
        Ok(true)
    }

    fn chains<'a>(&'a self, stop: &'a AtomicBool) -> Chains<'a> {
        Chains {
            subject: self.subject.subject(),
            settings: &self.settings,
            clock: self.clock,
            face: &self.face,
            stop,
            publish_every_s: self.publish_every_s,
        }
    }

    /// Runs the chains, until `stop` turns true at the latest; what there is then is kept.
    ///
    /// # Errors
    /// Those of the sampler.
    pub fn draw(&mut self, stop: &AtomicBool) -> Result<Ended> {
        let from = self.from.take();
        let mut folder = self.folder.take();
        let ran = match &mut folder {
            Some(folder) => self.chains(stop).run(folder, from),
            None => self.chains(stop).run_in_memory(),
        };
        self.folder = folder;
        self.stages.end("chains", &self.clock);
        ran
    }

    /// Writes the draws, examines them and describes the run. `adapt` may change the diagnosis
    /// before it is described.
    ///
    /// # Errors
    /// Draws that stay on the disk cannot be read.
    pub fn examine(
        &mut self,
        mut outcome: Box<Outcome>,
        adapt: impl FnOnce(&mut Diagnosis, &Trace),
    ) -> Result<Fit> {
        let options = self.summary_options();
        let (mut diagnosis, written) = match &mut self.folder {
            Some(folder) => chains::examine(folder, &mut outcome, &options, &self.clock)?,
            None => (outcome.diagnose(&options)?, self.clock.seconds()),
        };
        adapt(&mut diagnosis, &outcome.trace);
        self.stages.end("examining", &self.clock);
        let facts = run::Machine {
            model: self.name.clone(),
            device: self.chosen.name.clone(),
            reading: self.reading_s,
            written,
            total: self.clock.seconds(),
        };
        let mut document = run_json(&outcome, &self.settings, &diagnosis, &facts);
        document["peak_memory_bytes"] = json!(probe::peak_bytes());
        document["stages"] = self.stages.document();
        document["gpus"] = self.chosen.gpus_document();
        document["device_memory"] = self.chosen.memory_document();
        document["device_reason"] = json!(self.chosen.reason);
        if let Subject::Model(joint) = self.subject.subject() {
            document["missing"] = missing(joint.binding());
        }
        Ok(Fit {
            trace: std::mem::take(&mut outcome.trace),
            diagnosis,
            document,
            folder: self.folder.as_ref().map(|f| f.path().to_path_buf()),
            interrupted: outcome.run.interrupted,
            is_complete: true,
            outcome: Some(outcome),
        })
    }

    pub(crate) fn summary_options(&self) -> SummaryOptions {
        SummaryOptions {
            threads: self.threads,
            ..SummaryOptions::default()
        }
    }

    /// Writes the summaries and `run.json`, if there is a folder.
    pub fn save(&mut self, fit: &Fit) {
        if let Some(folder) = &mut self.folder {
            chains::save(folder, &fit.diagnosis, &fit.document);
        }
    }

    /// Writes `report.html`, if there is a folder; a failure is told, and false.
    pub fn report(&mut self, fit: &Fit) -> bool {
        let Some(folder) = &mut self.folder else {
            return true;
        };
        let facts = RunFacts::from_document(&fit.document, "run");
        report::write_run(folder, "report.html", &fit.trace, &fit.diagnosis, facts)
    }

    /// The folder of the run, for files of one's own.
    pub fn folder(&mut self) -> Option<&mut Folder> {
        self.folder.as_mut()
    }

    /// Ends the run: files of an earlier one that are left go, if everything was written.
    ///
    /// # Errors
    /// They cannot be removed.
    pub fn finish(self, fit: &mut Fit) -> Result<()> {
        let Some(folder) = self.folder else {
            return Ok(());
        };
        fit.is_complete = folder.is_complete();
        folder.finish()
    }
}
