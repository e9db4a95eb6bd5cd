//! What becomes of draws: groups of a trace, made by whoever knows what the draws are of.

use super::attempt::{Form, mean_centring};
use super::compiled::Compiled;
use super::integrated::Integrated;
use super::kept::{self, Keeping, Kept};
use super::subject::Subject;
use super::trace::Collect;
use super::watch::{Spent, Watch};
use super::{Caller, Settings, Timing};
use crate::Result;
use crate::draws::{Group, Trace};
use crate::fit::sample::{self, Posterior, Run};
use crate::model::joint::Joint;
use fitzroy_device::gpu::text::Precision;
use std::sync::{Arc, Mutex, PoisonError};

/// What a trace says besides the draws.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    pub(super) settings: &'a Settings,
    pub(super) caller: &'a Caller<'a>,
    pub(super) timing: Timing,
    /// Transitions of the warm-up, where they are known.
    pub(super) warmup_transitions: Option<usize>,
    /// What the draws are made in.
    pub(super) precision: Precision,
}

/// Makes groups of draws.
pub(super) trait Records: Sync {
    /// A trace without draws: names, shapes and data.
    fn template(&self, told: &Told<'_>, n_chains: usize) -> Result<Trace>;

    /// The groups of the draws of `run`. Statistics are moved out of it and back.
    fn groups(&self, told: &Told<'_>, run: &mut Run) -> Result<Vec<Group>>;

    /// The whole trace; `earlier` are groups of the draws before those of `run`, in order.
    fn trace(&self, told: &Told<'_>, run: &mut Run, earlier: &[&[Group]]) -> Result<Trace>;

    /// Some positions of draws that will not be in memory, to compare densities at, if `have` numbers
    /// are not enough.
    fn some(&self, sampler: &sample::Settings, run: &Run, have: usize) -> Vec<f64> {
        let _ = (sampler, run, have);
        Vec::new()
    }
}

/// What all parts of a run share.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) subject: Subject<'a>,
    pub(super) records: &'a dyn Records,
    pub(super) settings: &'a Settings,
    pub(super) caller: &'a Caller<'a>,
    pub(super) watch: &'a Watch<'a>,
    pub(super) form: Form,
    /// When the run began, and when its density could be evaluated.
    pub(super) start: f64,
    pub(super) compiled_at: f64,
}

impl Shared<'_> {
    /// The draws, kept if that is asked for.
    pub(super) fn sample(
        &self,
        posterior: &mut impl Posterior,
        keeping: Option<&Keeping<'_>>,
    ) -> Result<(Run, Option<Kept>)> {
        let (sampler, stop) = (&self.settings.sampler, self.caller.stop);
        match keeping {
            None => Ok((sample::sample(posterior, sampler, self.watch, stop)?, None)),
            Some(keeping) => {
                let (run, kept) = kept::sample(posterior, self, keeping)?;
                Ok((run, Some(kept)))
            }
        }
    }

    /// Where the time went until `ended`, when the last draw had been made.
    pub(super) fn timing(&self, ended: f64, kept: Option<&Kept>) -> Timing {
        let drawing_from = self.watch.first_draw().unwrap_or(ended);
        let kernels = self.watch.kernels();
        let before = kept.map_or(Spent::default(), |k| k.earlier);
        Timing {
            compile: self.compiled_at - self.start + kernels.warmup_s + kernels.sampling_s,
            warmup: drawing_from - self.compiled_at - kernels.warmup_s + before.warmup,
            sampling: ended - drawing_from - kernels.sampling_s + before.sampling,
            collecting: 0.0,
            earlier: before.total,
            total: ended - self.start + before.total,
        }
    }
}

/// The trace of all draws in memory, those of earlier sessions included, and the number of the first.
pub(super) fn whole(
    records: &dyn Records,
    told: &Told<'_>,
    run: &mut Run,
    kept: Option<&Kept>,
    keeping: Option<&Keeping<'_>>,
) -> Result<(Trace, usize)> {
    let on_disk = kept.is_some_and(|k| k.on_disk);
    let before = keeping.and_then(|k| k.from.as_ref());
    let before = before.filter(|saved| saved.n_draws() > 0 && !on_disk);
    let parts = kept.into_iter().flat_map(|k| &k.parts);
    let earlier = before.map(|saved| saved.groups()).into_iter();
    let earlier: Vec<&[Group]> = earlier.chain(parts.map(Vec::as_slice)).collect();
    let first_draw = if on_disk { run.first_draw } else { 0 };
    let mut rest = kept.and_then(|k| k.rest(run));
    let trace = records.trace(told, rest.as_mut().unwrap_or(run), &earlier)?;
    Ok((trace, first_draw))
}

/// The density in force, for the thread that writes.
pub(super) type Shown = Arc<Mutex<Arc<Compiled>>>;

/// Draws at which densities are compared, at least, where the draws stay on the disk.
const SOME: usize = 64;

/// The draws of a model.
pub(super) struct ModelRecords<'a> {
    joint: &'a Joint,
    shown: Shown,
}

impl<'a> ModelRecords<'a> {
    /// Of a run whose coordinates may change.
    pub(super) fn new(joint: &'a Joint, shown: Shown) -> Self {
        ModelRecords { joint, shown }
    }

    /// Of draws in the coordinates of `compiled`.
    pub(super) fn of(joint: &'a Joint, compiled: &Arc<Compiled>) -> Self {
        let shown = Arc::new(Mutex::new(Arc::clone(compiled)));
        ModelRecords { joint, shown }
    }

    fn compiled(&self) -> Arc<Compiled> {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&shown)
    }

    fn collect<T>(
        &self,
        told: &Told<'_>,
        work: impl FnOnce(&Collect<'_>) -> Result<T>,
    ) -> Result<T> {
        work(&Collect {
            joint: self.joint,
            compiled: &self.compiled(),
            told: *told,
        })
    }
}

impl Records for ModelRecords<'_> {
    fn template(&self, told: &Told<'_>, n_chains: usize) -> Result<Trace> {
        self.collect(told, |c| c.template(n_chains))
    }

    fn groups(&self, told: &Told<'_>, run: &mut Run) -> Result<Vec<Group>> {
        self.collect(told, |c| c.draw_groups(run))
    }

    fn trace(&self, told: &Told<'_>, run: &mut Run, earlier: &[&[Group]]) -> Result<Trace> {
        self.collect(told, |c| {
            c.trace(run, &mean_centring(c.joint, c.compiled), earlier)
        })
    }

    fn some(&self, sampler: &sample::Settings, run: &Run, have: usize) -> Vec<f64> {
        let compiled = self.compiled();
        if have >= SOME * compiled.full {
            return Vec::new();
        }
        let integrated = Integrated::new(&compiled, sampler);
        integrated.every_hundredth(run, sampler.tune + run.first_draw)
    }
}
