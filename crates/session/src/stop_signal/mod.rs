//! Stop-signal tasks: a study fitted, and what a fit leaves beside its draws.

mod apart;
mod combine;
mod correlations;
mod results;

pub use combine::{Combined, Combining, combine};
pub use correlations::correlations_text;
pub use results::{About, Write, behaviour, estimates, report, subjects_csv};

use crate::chains::Ended;
use crate::sampling::{Sampling, Special};
use crate::session::{Fit, Session};
use fitzroy::Result;
use fitzroy::diagnose::{Circumstances, Diagnosis};
use fitzroy::draws::Trace;
use fitzroy::fit::sample::Init;
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::run::Settings;
use fitzroy_stop_signal::data::Study;
use fitzroy_stop_signal::model::{Kind, Spec};
use fitzroy_stop_signal::predictive;
use fitzroy_stop_signal::start;
use std::sync::atomic::AtomicBool;

/// A study and the model that is fitted to it.
///
/// The session of a fit is that of the model's text and the study's data, with the settings of
/// [`StudyFit::settings`] and the starts of [`StudyFit::place`]; its diagnosis is adapted by
/// [`adapt`].
#[derive(Clone, Copy)]
pub struct StudyFit<'a> {
    /// The model.
    pub spec: &'a Spec,
    /// The data.
    pub study: &'a Study,
    /// Chains of the whole run, of which a session may have some.
    pub n_chains: usize,
    /// Whether coordinates stay as the model writes them.
    pub as_written: bool,
}

impl StudyFit<'_> {
    /// `settings` as they suit such models.
    pub fn settings(&self, settings: Settings) -> Settings {
        // Nothing in the model can be rewritten, and looking takes time.
        let mut settings = Settings {
            rewrites: Rewrites::NONE,
            ..settings
        };
        start::suit(self.spec, &mut settings.sampler);
        settings
    }

    /// Places the chains of a session.
    pub fn place(&self, session: &mut Session) {
        let mut spec = self.spec.clone();
        if self.as_written {
            // As written they are centred, but for those that were asked not to be.
            let names = spec.names().into_iter().map(String::from);
            spec.centred = names.filter(|n| !spec.noncentred.contains(n)).collect();
        }
        session.settings.sampler.init = starts(
            &spec,
            self.study,
            &session.subject,
            self.n_chains,
            &session.settings,
        );
    }

    /// Draws in a session: that of [`Session::draw`], or of subjects one by one if they have nothing in common and
    /// as many draws of each are asked for, from the beginning, on the processor.
    ///
    /// # Errors
    /// Those of [`Session::draw`].
    pub fn draw(&self, session: &mut Session, stop: &AtomicBool) -> Result<Ended> {
        match apart::is_possible(self, session) {
            true => apart::draw(self, session, stop),
            false => session.draw(stop),
        }
    }

    /// Samples in one call: `sampling` is that of the model's text and the study's data, with the
    /// settings of [`StudyFit::settings`]. What a fit leaves beside its draws goes into its folder,
    /// if it has one.
    ///
    /// # Errors
    /// Those of [`Sampling::run`].
    pub fn run(&self, sampling: Sampling<'_>) -> Result<Fit> {
        let seed = sampling.settings.sampler.seed;
        sampling.run_as(&Whole { fit: *self, seed })
    }

    /// Writes the model, what the data hold, and the estimates of every subject.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn leave(&self, write: &mut Write<'_>, trace: &Trace) -> Result<()> {
        write("model.fz", self.spec.text().as_bytes())?;
        if let Some(population) = &self.spec.population {
            write("population.fz", population.as_bytes())?;
        }
        let read = format!("{:#}\n", self.study.report());
        write("data_report.json", read.as_bytes())?;
        if let Some(table) = correlations::csv(trace, self.spec.kind) {
            write("correlations.csv", table.as_bytes())?;
        }
        let subjects = subjects_csv(trace, self.spec, &predictive::subjects_of(trace));
        write("subjects.csv", subjects.as_bytes())
    }
}

/// A fit whose sampling another has been asked for, see [`StudyFit::run`].
struct Whole<'a> {
    fit: StudyFit<'a>,
    seed: u64,
}

impl Special<Joint> for Whole<'_> {
    fn place(&self, session: &mut Session) {
        self.fit.place(session);
    }

    fn draw(&self, session: &mut Session, stop: &AtomicBool) -> Result<Ended> {
        self.fit.draw(session, stop)
    }

    fn adapt(&self, found: &mut Diagnosis, trace: &Trace) {
        adapt(found, trace);
    }

    fn leave(&self, session: &mut Session, fit: &Fit) -> Result<()> {
        let Some(folder) = session.folder() else {
            return Ok(());
        };
        let write = &mut |name: &str, bytes: &[u8]| {
            let written = folder.write_bytes(name, bytes);
            folder.attempted(written);
            Ok(())
        };
        self.fit.leave(write, &fit.trace)
    }

    fn report(&self, session: &mut Session, fit: &Fit) -> bool {
        let Some(folder) = session.folder() else {
            return true;
        };
        let about = About {
            spec: self.fit.spec,
            study: self.fit.study,
            seed: self.seed,
            command: folder.face().command(),
        };
        let write = &mut |name: &str, bytes: &[u8]| folder.write_bytes(name, bytes);
        let written = report(write, &fit.trace, &fit.diagnosis, &fit.document, &about);
        folder.attempted_page("report.html", written)
    }
}

/// Points where the chains of a session start, of `n_chains` of the whole run.
fn starts(spec: &Spec, study: &Study, joint: &Joint, n_chains: usize, settings: &Settings) -> Init {
    let sampler = &settings.sampler;
    let subjects = subjects(joint);
    let mut points = start::points(spec, study, joint, &subjects, n_chains, sampler.seed);
    // A task has some of the chains.
    let first = sampler.first_chain as usize;
    Init::Points(points.drain(first..first + sampler.chains).collect())
}

/// Names of the subjects, in the order of the model.
fn subjects(joint: &Joint) -> Vec<String> {
    let binding = joint.binding();
    let labels = binding
        .dim("subject")
        .and_then(|d| binding.dims[d].labels.as_ref());
    let labels = labels.expect("subjects have names");
    (0..labels.len()).map(|i| labels.text(i)).collect()
}

/// Rows of the summary that come first: the group's stopping.
const FIRST: [&str; 6] = [
    "mu_ssrt",
    "mu_stop_mu",
    "mu_stop_sigma",
    "mu_stop_tau",
    "mu_ptf",
    "mu_pgf",
];

/// Where a row of the summary stands: stopping, the rest of the group's medians, slopes.
fn place(name: &str) -> usize {
    let kinds = Kind::OF_STOPPING.into_iter();
    let mut rest = kinds.flat_map(|kind| {
        let derived = kind.derived().iter().map(|d| d.name);
        derived.chain(kind.parameter_names())
    });
    let median = |x: &str| name.strip_prefix("mu_") == Some(x);
    let first = FIRST.iter().position(|f| *f == name);
    let found = first.or_else(|| Some(FIRST.len() + rest.position(median)?));
    let last = usize::MAX - usize::from(name.starts_with("slope_"));
    found.unwrap_or(last)
}

/// What a fit says of its draws. Coordinates in disguise are left out of tables, since their
/// exponentials are there; advice names no sampler, since there is one.
pub fn adapt(diagnosis: &mut Diagnosis, trace: &Trace) {
    let inner = |name: &str| name.starts_with("log_") || name.starts_with("probit_");
    let rows = &mut diagnosis.summary.rows;
    rows.retain(|row| !inner(&row.name));
    // What a study of stopping asks for stands first.
    rows.sort_by_key(|row| place(&row.name));
    diagnosis.advise(&Circumstances {
        has_one_sampler: true,
        ..Circumstances::of(trace)
    });
}
