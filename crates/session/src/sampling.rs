//! A model sampled in one call.

use crate::chains::{Destination, Ended};
use crate::clock::{Clock, Stages};
use crate::device::{Chosen, Request};
use crate::face::{Face, silent};
use crate::session::{Fit, NEVER, Sampled, Session};
use fitzroy::data::Dataset;
use fitzroy::diagnose::{Diagnosis, SummaryOptions, diagnose};
use fitzroy::draws::{Trace, read_trace};
use fitzroy::model::Model;
use fitzroy::model::joint::Joint;
use fitzroy::run::{Settings, bind};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::choice::Choice;
use fitzroy_device::probe::Memory;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Samples `model` given `data`; nothing happens before [`Sampling::run`].
///
/// Four chains of 1,000 draws after 1,000 transitions of warm-up, on all processors or a GPU if it
/// is expected to be faster, with the seed 42. The draws stay in memory unless there is a
/// [folder](Sampling::folder).
///
/// ```
/// # use fitzroy::data::Dataset;
/// # use fitzroy::model::Model;
/// let model = Model::parse("data k\np ~ Beta(1, 1)\nk ~ Binomial(20, p)")?;
/// let mut data = Dataset::new();
/// data.insert_real("k", &[], vec![14.0]);
/// let fit = fitzroy_session::sample(&model, &data).draws(2000).target_accept(0.9).run()?;
/// let p = &fit.diagnosis.summary.rows[0].statistics;
/// assert!((p.mean - 15.0 / 22.0).abs() < 0.02);
/// # Ok::<(), fitzroy::Error>(())
/// ```
pub fn sample<'a>(model: &'a Model, data: &'a Dataset) -> Sampling<'a> {
    sampling(Text { model, data }, "model")
}

/// Samples what `source` binds to, called `name` as long as it has no other.
pub(crate) fn sampling<'a, W>(source: W, name: &str) -> Sampling<'a, W> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut settings = Settings {
        memory_limit_bytes: memory_limit(),
        ..Settings::default()
    };
    settings.sampler.threads = threads;
    Sampling {
        source,
        name: name.into(),
        settings,
        threads,
        request: Request::default(),
        chosen: None,
        destination: None,
        face: silent(),
        stop: &NEVER,
        publish_every_s: 5.0,
        reports: true,
        clock: Clock::start(),
    }
}

/// Nine tenths of the memory that is free now, if the system tells.
pub fn memory_limit() -> Option<u64> {
    Memory::probe().map(|m| m.free_bytes / 10 * 9)
}

/// Where what is sampled comes from.
pub trait Source {
    /// What is sampled.
    type Bound: Sampled;

    /// It, for a run with `settings`.
    ///
    /// # Errors
    /// Data that are missing or do not fit; a run above the memory limit.
    fn bound(self, settings: &Settings) -> Result<Self::Bound>;

    /// What it will compute on.
    ///
    /// # Errors
    /// A device that was asked for and cannot be used.
    fn choose(&self, request: &Request) -> Result<Chosen>;
}

/// A model as text, and its data.
pub struct Text<'a> {
    model: &'a Model,
    data: &'a Dataset,
}

impl Source for Text<'_> {
    type Bound = Joint;

    fn bound(self, settings: &Settings) -> Result<Joint> {
        bind(self.model, self.data, settings)
    }

    fn choose(&self, request: &Request) -> Result<Chosen> {
        request.choose()
    }
}

/// What [`sample`] is asked for.
#[must_use = "nothing is sampled before `run`"]
pub struct Sampling<'a, W = Text<'a>> {
    source: W,
    name: String,
    pub(crate) settings: Settings,
    threads: usize,
    request: Request,
    chosen: Option<Chosen>,
    destination: Option<Destination>,
    face: Arc<dyn Face>,
    stop: &'a AtomicBool,
    publish_every_s: f64,
    reports: bool,
    clock: Clock,
}

impl<'a, W> Sampling<'a, W> {
    /// Draws of each chain.
    pub fn draws(mut self, n: usize) -> Self {
        self.settings.sampler.draws = n;
        self
    }

    /// Transitions of the warm-up of each chain.
    pub fn tune(mut self, n: usize) -> Self {
        self.settings.sampler.tune = n;
        self
    }

    /// Chains.
    pub fn chains(mut self, n: usize) -> Self {
        self.settings.sampler.chains = n;
        self
    }

    /// Seed of all random numbers.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.sampler.seed = seed;
        self
    }

    /// Mean acceptance that the step size is tuned to, between 0 and 1.
    pub fn target_accept(mut self, p: f64) -> Self {
        self.settings.sampler.target_accept = p;
        self
    }

    /// Threads, all processors by default.
    pub fn threads(mut self, n: usize) -> Self {
        self.threads = n;
        self.settings.sampler.threads = n;
        self
    }

    /// Threads of what follows sampling, if chains are to leave some idle.
    pub fn threads_after(mut self, n: usize) -> Self {
        self.threads = n;
        self
    }

    /// All other settings, and those above.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Where to compute: `Auto`, `Cpu`, or a GPU.
    pub fn device(mut self, choice: Choice) -> Self {
        self.request.choice = choice;
        self
    }

    /// Where to compute, with all that can be asked of a GPU.
    pub fn request(mut self, request: Request) -> Self {
        self.request = request;
        self
    }

    /// A device that was chosen before.
    pub fn chosen(mut self, chosen: Chosen) -> Self {
        self.chosen = Some(chosen);
        self
    }

    /// Publishes the draws in the folder `path` while they are made, and leaves tables and a report
    /// there.
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Self {
        self.destination.get_or_insert_default().out = Some(path.into());
        self
    }

    /// Whether an earlier run in the folder may be replaced. What is not a run is never touched.
    pub fn overwrite(mut self, may: bool) -> Self {
        self.destination.get_or_insert_default().overwrite = may;
        self
    }

    /// Whether an earlier run in the folder goes on: one that was stopped or killed, or one that has
    /// fewer draws than asked. The draws are those of a run that was never stopped.
    pub fn resume(mut self, goes_on: bool) -> Self {
        self.destination.get_or_insert_default().resume = goes_on;
        self
    }

    /// The folder and what may become of an earlier run there.
    pub fn destination(mut self, to: Destination) -> Self {
        self.destination = Some(to);
        self
    }

    /// Seconds between publications of the draws in the folder, at least; 5 by default.
    pub fn publish_every(mut self, seconds: f64) -> Self {
        self.publish_every_s = seconds;
        self
    }

    /// Whether `report.html` is written into the folder.
    pub fn report(mut self, writes: bool) -> Self {
        self.reports = writes;
        self
    }

    /// The name of the model in reports.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Who is told of progress and of what happens on the way.
    pub fn face(mut self, face: Arc<dyn Face>) -> Self {
        self.face = face;
        self
    }

    /// Ends the run early once true; what there is is kept.
    pub fn stop(mut self, stop: &'a AtomicBool) -> Self {
        self.stop = stop;
        self
    }

    /// The clock of the work that the run is a part of.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }
}

impl<W: Source> Sampling<'_, W> {
    /// Binds the model and chooses the device: the session whose steps are then taken by hand.
    ///
    /// # Errors
    /// Data that are missing or do not fit; a device that cannot be used; a run above the memory
    /// limit.
    pub fn bind(self) -> Result<Session<W::Bound>> {
        let settings = self.settings;
        let chosen = match self.chosen {
            Some(chosen) => chosen,
            None => self.source.choose(&self.request)?,
        };
        let mut stages = Stages::default();
        stages.end("reading", &self.clock);
        let subject = self.source.bound(&settings)?;
        stages.end("binding", &self.clock);
        Ok(Session {
            subject,
            settings,
            chosen,
            name: self.name,
            threads: self.threads,
            clock: self.clock,
            face: self.face,
            publish_every_s: self.publish_every_s,
            destination: self.destination,
            folder: None,
            from: None,
            reading_s: 0.0,
            stages,
        })
    }

    /// Samples, examines, and writes what there is to write.
    ///
    /// # Errors
    /// Those of [`Sampling::bind`] and of the sampler; a folder that cannot be used; a run that was
    /// stopped before its first draw.
    pub fn run(self) -> Result<Fit> {
        self.run_as(&Plain)
    }

    /// The same for models that want more than their text says.
    pub(crate) fn run_as(self, kind: &dyn Special<W::Bound>) -> Result<Fit> {
        let (reports, stop) = (self.reports, self.stop);
        let mut session = self.bind()?;
        kind.place(&mut session);
        session.settle()?;
        if !session.open()? {
            return ended(&session);
        }
        let (outcome, _progress) = match kind.draw(&mut session, stop)? {
            Ended::Drawn(outcome, progress) => (outcome, progress),
            Ended::Early => {
                let message = "stopped before the first draw: there are no draws";
                return Err(Error::new(ErrorKind::Interrupted, message));
            }
            Ended::Unwritable(error) => return Err(error),
        };
        let mut fit = session.examine(outcome, |found, trace| kind.adapt(found, trace))?;
        session.save(&fit);
        kind.leave(&mut session, &fit)?;
        let reported = !reports || kind.report(&mut session, &fit);
        session.finish(&mut fit)?;
        fit.is_complete &= reported;
        Ok(fit)
    }
}

/// What a kind of model does besides sampling.
pub(crate) trait Special<S: Sampled> {
    /// Changes a session before it chooses a device.
    fn place(&self, _: &mut Session<S>) {}

    /// Runs the chains.
    fn draw(&self, session: &mut Session<S>, stop: &AtomicBool) -> Result<Ended> {
        session.draw(stop)
    }

    /// Changes the diagnosis.
    fn adapt(&self, _: &mut Diagnosis, _: &Trace) {}

    /// Writes what there is beside the draws.
    fn leave(&self, _: &mut Session<S>, _: &Fit) -> Result<()> {
        Ok(())
    }

    /// Writes the report, if there is a folder; a failure is told, and false.
    fn report(&self, session: &mut Session<S>, fit: &Fit) -> bool {
        session.report(fit)
    }
}

/// A model that is what its text says.
struct Plain;

impl<S: Sampled> Special<S> for Plain {}

/// A run that had all its draws before, read from its folder.
fn ended<S: Sampled>(session: &Session<S>) -> Result<Fit> {
    let folder = session.destination.as_ref().and_then(|to| to.out.clone());
    let folder = folder.expect("only a run in a folder has draws before");
    let trace = read_trace(&folder)?;
    let group = match session.settings.prior_only {
        true => "prior",
        false => "posterior",
    };
    let options = SummaryOptions {
        group: group.into(),
        ..session.summary_options()
    };
    Ok(Fit {
        diagnosis: diagnose(&trace, &options)?,
        trace,
        document: document(&folder),
        folder: Some(folder),
        interrupted: false,
        is_complete: true,
        outcome: None,
    })
}

fn document(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("run.json")).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}
