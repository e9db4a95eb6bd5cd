//! A density that somebody else computes, from settings to a trace.

mod record;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::attempt::{Form, found_by_sampler, positions_of};
use super::integrated::Integrated;
use super::records::{Shared, Told, whole};
use super::subject::Subject;
use super::watch::Watch;
use super::{Caller, Keeping, Kept, Outcome, Settings, elsewhere};
use crate::fit::sample::{Event, Loading, Observer, Posterior, Run, Scatter, Target};
use crate::model::foreign::{Foreign, Refused};
use crate::{Error, ErrorKind, Result};
use fitzroy_device::gpu::text::Precision;
use record::DensityRecords;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Samples a foreign density, perhaps kept.
pub(super) fn run(
    foreign: &Foreign<'_>,
    settings: &Settings,
    caller: &Caller<'_>,
    keeping: Option<&Keeping<'_>>,
) -> Result<Outcome> {
    check(settings)?;
    let subject = Subject::Density(foreign);
    subject.check_memory(settings)?;
    let start = (caller.now)();
    let words = Words::default();
    let stop = AtomicBool::new(caller.stop.load(Ordering::Relaxed));
    let ears = Ears {
        caller,
        words: &words,
        stop: &stop,
    };
    let own = Caller {
        observer: &ears,
        stop: &stop,
        now: caller.now,
        created_at: caller.created_at,
    };
    let records = DensityRecords {
        foreign,
        words: &words,
    };
    let shared = Shared {
        subject,
        records: &records,
        settings,
        caller: &own,
        watch: &Watch::new(&own),
        form: Form::Rewritten,
        start,
        compiled_at: (caller.now)(),
    };
    let mut posterior = ForeignPosterior {
        foreign,
        words: &words,
    };
    let sampled = shared.sample(&mut posterior, keeping);
    words.verdict()?;
    let sampled = sampled.map_err(|error| words.explain(error))?;
    outcome(foreign, &shared, sampled, keeping)
}

/// What a sampled density comes to.
fn outcome(
    foreign: &Foreign<'_>,
    shared: &Shared<'_>,
    (mut run, kept): (Run, Option<Kept>),
    keeping: Option<&Keeping<'_>>,
) -> Result<Outcome> {
    let (settings, now) = (shared.settings, shared.caller.now);
    let ended = now();
    let mut timing = shared.timing(ended, kept.as_ref());
    let told = Told {
        settings,
        caller: shared.caller,
        timing,
        warmup_transitions: Some(run.warmup_transitions),
        precision: Precision::F64,
    };
    let n_draws = run.first_draw + run.n_draws();
    let first_transition = settings.sampler.tune + run.first_draw;
    let (mut trace, first_draw) = whole(shared.records, &told, &mut run, kept.as_ref(), keeping)?;
    elsewhere::note(shared.records, &told, &mut run, &mut trace);
    timing.collecting = now() - ended;
    Ok(Outcome {
        precision: Precision::F64,
        positions: positions_of(&mut run),
        first_transition,
        integrated: Integrated::none(foreign.dim()),
        rewrites: Vec::new(),
        group: "posterior",
        trace,
        first_draw,
        n_draws,
        centring: Vec::new(),
        findings: found_by_sampler(&run),
        run,
        timing,
        compiled: None,
        kept,
    })
}

/// Refuses what only a model can do.
///
/// # Errors
/// [`ErrorKind::Usage`], naming the setting.
fn check(settings: &Settings) -> Result<()> {
    let asked = [
        (settings.device.is_machine(), "⟨device cuda⟩"),
        (settings.predictive, "⟨predictive⟩"),
        (settings.log_likelihood, "⟨log_likelihood⟩"),
        (settings.prior_only, "⟨prior_only⟩"),
        (!settings.initvals.is_empty(), "⟨initvals⟩"),
    ];
    match asked.iter().find(|(asked, _)| *asked) {
        None => Ok(()),
        Some((_, setting)) => Err(Error::usage(format!(
            "{setting} needs a model: a density that somebody else computes is a number and its \
             slopes, on this processor"
        ))),
    }
}

/// What a density said while it was sampled.
#[derive(Default)]
struct Words {
    /// Why there was no density at the first point without one.
    first: Mutex<Option<String>>,
    /// Why nothing can go on.
    last: OnceLock<Error>,
}

impl Words {
    fn take(&self, refused: Refused) {
        match refused {
            Refused::Here(why) => {
                let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(why);
            }
            // The first failure is the one to report.
            Refused::Ever(error) => drop(self.last.set(error)),
        }
    }

    fn failed(&self) -> bool {
        self.last.get().is_some()
    }

    /// # Errors
    /// The density said that nothing can go on.
    fn verdict(&self) -> Result<()> {
        self.last.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Puts what the density said behind `error`, which says that no start was found.
    fn explain(&self, error: Error) -> Error {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*first, error.kind()) {
            (Some(why), ErrorKind::Numerics) => Error::new(
                ErrorKind::Numerics,
                format!("{error}; of the first point the density says: {why}"),
            ),
            _ => error,
        }
    }
}

/// Passes events on, and the wish to end: that of the caller, and that of the density.
struct Ears<'a> {
    caller: &'a Caller<'a>,
    words: &'a Words,
    stop: &'a AtomicBool,
}

impl Observer for Ears<'_> {
    fn event(&self, event: &Event<'_>) {
        if self.caller.stop.load(Ordering::Relaxed) || self.words.failed() {
            self.stop.store(true, Ordering::Relaxed);
        }
        self.caller.observer.event(event);
    }

    fn loading(&self, loading: Loading) {
        self.caller.observer.loading(loading);
    }
}

/// A foreign density as something to sample from.
struct ForeignPosterior<'a> {
    foreign: &'a Foreign<'a>,
    words: &'a Words,
}

impl<'a> Posterior for ForeignPosterior<'a> {
    type Target = ForeignTarget<'a>;

    fn dim(&self) -> usize {
        self.foreign.dim()
    }

    fn target(&self) -> ForeignTarget<'a> {
        ForeignTarget {
            foreign: self.foreign,
            words: self.words,
        }
    }

    fn scatter(&self) -> Vec<Scatter> {
        let centre = self.foreign.centre().iter();
        centre.map(|x| Scatter::around(*x)).collect()
    }
}

/// What a chain evaluates.
struct ForeignTarget<'a> {
    foreign: &'a Foreign<'a>,
    words: &'a Words,
}

impl Target for ForeignTarget<'_> {
    fn dim(&self) -> usize {
        self.foreign.dim()
    }

    fn value_and_gradient(&mut self, position: &[f64], gradient: &mut [f64]) -> f64 {
        if self.words.failed() {
            gradient.fill(f64::NAN);
            return f64::NAN;
        }
        let density = self.foreign.density();
        density
            .value_and_gradient(position, gradient)
            .unwrap_or_else(|refused| {
                self.words.take(refused);
                gradient.fill(f64::NAN);
                f64::NAN
            })
    }
}
