//! `--dry-run`: what a run needs, from its sizes and a second of its warm-up.

use crate::args::Common;
use crate::clock::Clock;
use crate::exit::Outcome;
use crate::{json, terminal};
use fitzroy::Result;
use fitzroy::fit::sample::{Event, Init, Observer};
use fitzroy::model::joint::Joint;
use fitzroy::run::{self, Caller, Costs, Settings, n_observations};
use serde_json::{Map, Value, json};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Seconds after its first transition at which the pilot ends.
const PILOT_S: f64 = 1.0;
/// Draws of a prior, which are independent, that tell their pace.
const PRIOR_DRAWS: usize = 200;

/// Says what the run of `model` needs; nothing is written.
///
/// # Errors
/// Those of the sampler: no start with a finite log density.
pub(crate) fn dry_run(
    model: &str,
    joint: &Joint,
    settings: &Settings,
    common: &Common,
) -> Result<Outcome> {
    let need = run::estimate(joint.model(), joint.binding(), settings);
    let Pace {
        transition_s,
        made,
        gradients,
    } = pilot(joint, settings)?;
    let on_cards = on_cards(joint, settings, common, gradients)?;
    let s = &settings.sampler;
    let rounds = s.chains.div_ceil(s.threads.clamp(1, s.chains.max(1)));
    let time_s = transition_s * (rounds * (s.tune + s.draws)) as f64;
    if common.json {
        json::print(&json!({
            "model": model,
            "parameters": joint.n_params(),
            "observations": n_observations(joint),
            "chains": s.chains,
            "first_chain": s.first_chain,
            "tune": s.tune,
            "draws": s.draws,
            "threads": s.threads,
            "memory_bytes": need.bytes.ceil(),
            "draws_bytes": need.draws_bytes.ceil(),
            "transition_s": json::number(transition_s),
            "pilot_transitions": made,
            "time_s": json::number(time_s),
            "gpu_time_s": on_cards.iter()
                .map(|(name, time_s)| (name.clone(), json::number(*time_s)))
                .collect::<Map<String, Value>>(),
        }));
    } else {
        let named = ["v100", "a100", "h100"].iter().filter_map(|name| {
            let (_, time_s) = on_cards.iter().find(|(card, _)| card == name)?;
            Some(format!("{time_s:.0} s on a {}", name.to_uppercase()))
        });
        terminal::out(format_args!(
            "{}: {} parameters, {} observations\nmemory  about {:.0} MiB, {:.0} of them draws\n\
             time    about {time_s:.0} s for {} chains of {} + {} transitions on {} threads, by the \
             pace of the first {made} of a warm-up, which is often slower than what follows\n\
             GPUs    about {}, by their clocks and the instructions of a gradient: never measured",
            model,
            joint.n_params(),
            n_observations(joint),
            need.bytes / f64::from(1 << 20),
            need.draws_bytes / f64::from(1 << 20),
            s.chains,
            s.tune,
            s.draws,
            s.threads,
            named.collect::<Vec<_>>().join(", "),
        ));
    }
    Ok(Outcome::Done)
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

/// Seconds on cards of clusters, by name, of which none need be here.
fn on_cards(
    joint: &Joint,
    settings: &Settings,
    common: &Common,
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
    let cards = run::cards(common.asked_precision());
    Ok(cards
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
fn pilot(joint: &Joint, settings: &Settings) -> Result<Pace> {
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
    let outcome = run::run(joint, &settings, &caller)?;
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
