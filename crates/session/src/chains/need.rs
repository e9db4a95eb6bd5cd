//! What a run needs, from its sizes and a second of its warm-up.

use crate::clock::Clock;
use fitzroy::Result;
use fitzroy::fit::sample::{Event, Init, Observer};
use fitzroy::model::joint::Joint;
use fitzroy::run::{self, Caller, Costs, Estimate, Settings, Subject};
use fitzroy_device::gpu::text::Precision;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Seconds after its first transition at which the pilot ends.
const PILOT_S: f64 = 1.0;
/// Draws of a prior, which are independent, that tell their pace.
const PRIOR_DRAWS: usize = 200;

/// What a run will take.
#[derive(Clone, Debug)]
pub struct Need {
    /// Memory.
    pub memory: Estimate,
    /// Seconds of a transition of one chain.
    pub transition_s: f64,
    /// Transitions that were made to find out.
    pub pilot_transitions: usize,
    /// Seconds of the whole run on the threads of its settings.
    pub time_s: f64,
    /// Seconds of the whole run on cards of clusters, by name, of which none need be here; none of a
    /// density that somebody else computes.
    pub cards: Vec<(String, f64)>,
}

/// What a run of `subject` needs; `precision` is that of a GPU, if one was asked for.
///
/// # Errors
/// Those of the sampler: no start with a finite log density.
pub fn need<'a>(
    subject: impl Into<Subject<'a>>,
    settings: &Settings,
    precision: Option<Precision>,
) -> Result<Need> {
    let subject = subject.into();
    let memory = subject.estimate(settings);
    let pace = pilot(subject, settings)?;
    let cards = match subject {
        Subject::Model(joint) => cards(joint, settings, precision, pace.gradients)?,
        Subject::Density(_) => Vec::new(),
    };
    let s = &settings.sampler;
    let rounds = s.chains.div_ceil(s.threads.clamp(1, s.chains.max(1)));
    Ok(Need {
        memory,
        transition_s: pace.transition_s,
        pilot_transitions: pace.made,
        time_s: pace.transition_s * (rounds * (s.tune + s.draws)) as f64,
        cards,
    })
}

/// Counts transitions and ends the run when time is up.
struct Pilot<'a> {
    clock: &'a Clock,
    stop: &'a AtomicBool,
    made: AtomicUsize,
    /// When the first transition was made: what comes before it is made once.
    first_s: OnceLock<f64>,
}

impl Observer for Pilot<'_> {
    fn event(&self, _: &Event<'_>) {
        self.made.fetch_add(1, Relaxed);
        let now = self.clock.seconds();
        if now - self.first_s.get_or_init(|| now) > PILOT_S {
            self.stop.store(true, Relaxed);
        }
    }
}

fn cards(
    joint: &Joint,
    settings: &Settings,
    precision: Option<Precision>,
    gradients: f64,
) -> Result<Vec<(String, f64)>> {
    let clock = Clock::start();
    let costs = run::gradient_costs(joint, settings, &|| clock.seconds())?;
    // Trees are whole, so the number of their gradients is 2^k - 1; those of a start are the deepest,
    // and a power of two says the same when it is asked again.
    let whole = (gradients + 1.0).log2().ceil().exp2() - 1.0;
    let costs = Costs {
        gradients: whole.max(costs.gradients),
        ..costs
    };
    Ok(run::cards(precision)
        .map(|card| (card.label.clone(), run::seconds_on(&costs, &card)))
        .collect())
}

/// What a second of a warm-up says.
struct Pace {
    /// Seconds of a transition of one chain.
    transition_s: f64,
    /// Transitions that were made to find out.
    made: usize,
    /// Gradients of one of them.
    gradients: f64,
}

/// Finds the pace of one chain.
fn pilot(subject: Subject<'_>, settings: &Settings) -> Result<Pace> {
    let mut settings = settings.clone();
    let sampler = &mut settings.sampler;
    (sampler.chains, sampler.threads, sampler.draws) = (1, 1, 1);
    sampler.tune = sampler.tune.max(50);
    sampler.until = None;
    if settings.prior_only {
        sampler.draws = PRIOR_DRAWS;
    }
    if let Init::Points(points) = &mut sampler.init {
        points.truncate(1);
    }
    let clock = Clock::start();
    let stop = AtomicBool::new(false);
    let pilot = Pilot {
        clock: &clock,
        stop: &stop,
        made: AtomicUsize::new(0),
        first_s: OnceLock::new(),
    };
    let caller = Caller {
        observer: &pilot,
        stop: &stop,
        now: &|| clock.seconds(),
        created_at: "",
    };
    let outcome = run::run(subject, &settings, &caller)?;
    let made = match (pilot.made.load(Relaxed), settings.prior_only) {
        (0, true) => PRIOR_DRAWS,
        (made, _) => made.max(1),
    };
    let seconds = outcome.timing.warmup + outcome.timing.sampling;
    Ok(Pace {
        transition_s: seconds / made as f64,
        made,
        gradients: outcome.run.gradients as f64 / made as f64,
    })
}
