//! One run of a model: rewritten, and as written where that turned out to be another density.

use super::compiled::{Compilation, Compiled, Terms, centring};
use super::integrated::Integrated;
use super::kept::{self, Keeping, Saved};
use super::posterior::{self, CoordinateChoice, ModelPosterior};
use super::records::{ModelRecords, Shared, Told, whole};
use super::subject::Subject;
use super::watch::Watch;
use super::{
    Caller, Device, Outcome, Settings, elsewhere, initial, keep, prior, solutions, start, trace,
};
use crate::Result;
use crate::diagnose::{Finding, FindingKind};
use crate::fit::sample::{self, Run};
use crate::model::joint::{Coordinates, Joint, Rewrites};
use std::borrow::Cow;
use std::sync::Arc;

/// Samples a bound model, rewritten if that is right, perhaps kept.
pub(super) fn run(
    joint: &Joint,
    settings: &Settings,
    caller: &Caller<'_>,
    keeping: Option<&Keeping<'_>>,
) -> Result<Outcome> {
    let start = (caller.now)();
    if settings.prior_only {
        keep::refuse(settings)?;
        prior::refuse_improper(joint)?;
        if let Some(outcome) = prior::ancestral(joint, settings, caller)? {
            return Ok(outcome);
        }
    }
    let allowed = allowed(settings);
    let refused = keeping.is_some_and(|k| k.from.as_ref().is_some_and(Saved::as_written));
    let attempt =
        |joint: &Joint, form: Form| attempt(joint, form, settings, caller, keeping, start);
    if allowed != Rewrites::NONE && !refused {
        if let Some(outcome) = attempt(&joint.rewritten(allowed), Form::Rewritten)? {
            return Ok(outcome);
        }
        if let Some(keeping) = keeping {
            kept::discard(keeping)?;
        }
    }
    let outcome = attempt(joint, Form::AsWritten)?;
    let mut outcome = outcome.expect("nothing is refused where nothing is integrated out");
    if allowed != Rewrites::NONE {
        outcome.findings.insert(0, posterior::undone());
    }
    Ok(outcome)
}

/// The rewrites that settings leave room for.
pub(super) fn allowed(settings: &Settings) -> Rewrites {
    let rewrites = settings.rewrites;
    match settings.coordinates {
        _ if settings.prior_only => Rewrites::NONE,
        CoordinateChoice::Auto => rewrites,
        CoordinateChoice::AsWritten => Rewrites {
            collapse: false,
            recognise: false,
            signed: false,
            ..rewrites
        },
    }
}

/// Which text of the density is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As the rewrites made it, or as written where there are none.
    Rewritten,
    /// As the model writes it, perhaps because the other one was refused.
    AsWritten,
}

/// One run; none where the density as rewritten turned out to be another than that as written.
fn attempt(
    joint: &Joint,
    form: Form,
    settings: &Settings,
    caller: &Caller<'_>,
    keeping: Option<&Keeping<'_>>,
    start: f64,
) -> Result<Option<Outcome>> {
    let Some(mut posterior) = prepare(joint, settings)? else {
        return Ok(None);
    };
    let first = Arc::clone(posterior.compiled());
    let settings = &*with_starts(joint, &posterior, settings)?;
    let sampler = &settings.sampler;
    let shared = Shared {
        subject: Subject::Model(joint),
        records: &ModelRecords::new(joint, posterior.shown()),
        settings,
        caller,
        watch: &Watch::new(caller),
        form,
        start,
        compiled_at: (caller.now)(),
    };
    let sampled = shared.sample(&mut posterior, keeping);
    let (mut run, kept) = sampled.map_err(|error| start::explain(error, joint, &first, sampler))?;
    let ended = (caller.now)();
    let mut timing = shared.timing(ended, kept.as_ref());
    let compiled = Arc::clone(posterior.compiled());
    let integrated = Integrated::new(&compiled, sampler);
    let first_transition = sampler.tune + run.first_draw;
    let mut some = integrated.every_hundredth(&run, first_transition);
    some.extend(kept.iter().flat_map(|k| &k.some));
    posterior.check_draws(&some);
    if posterior.is_refused() {
        return Ok(None);
    }
    let (precision, raised) = posterior.precision();
    let told = Told {
        settings,
        caller,
        timing,
        warmup_transitions: Some(run.warmup_transitions),
        precision,
    };
    let records = ModelRecords::of(joint, &compiled);
    let (mut trace, first_draw) = whole(&records, &told, &mut run, kept.as_ref(), keeping)?;
    elsewhere::note(&records, &told, &mut run, &mut trace);
    timing.collecting = (caller.now)() - ended;
    let cut = solutions::cut(&compiled, &some)?;
    let findings = posterior.finding().cloned().into_iter().chain(raised);
    let findings = findings.chain(lost(&settings.device)).chain(cut);
    Ok(Some(Outcome {
        precision,
        positions: positions_of(&mut run),
        first_transition,
        integrated,
        rewrites: compiled.graphs.done.clone(),
        group: group_of(settings),
        trace,
        first_draw,
        n_draws: run.first_draw + run.n_draws(),
        centring: mean_centring(joint, &compiled),
        findings: findings.chain(found_by_sampler(&run)).collect(),
        run,
        timing,
        compiled: Some(compiled),
        kept,
    }))
}

/// The group of a trace that draws belong to.
fn group_of(settings: &Settings) -> &'static str {
    match settings.prior_only {
        true => "prior",
        false => "posterior",
    }
}

/// The posterior of `joint`, compiled; none where it is refused at once.
pub(super) fn prepare<'a>(
    joint: &'a Joint,
    settings: &Settings,
) -> Result<Option<ModelPosterior<'a>>> {
    let sampler = &settings.sampler;
    // Of two processors the other one may be busy, and to wait for it costs more than it saves.
    let compilation = Compilation {
        engine: settings.engine,
        aside: sampler.threads > 2 && trace::worth_machine_code(sampler.chains * sampler.draws),
    };
    let terms = match settings.prior_only {
        true => Terms::Priors,
        false => Terms::All,
    };
    let mut posterior = ModelPosterior::new(joint, settings.coordinates, terms, compilation)?;
    if posterior.is_refused() {
        return Ok(None);
    }
    posterior.on(&settings.device, settings.precision)?;
    keep::check(&settings.keep, &posterior.compiled().graphs)?;
    Ok(Some(posterior))
}

/// The settings, with values that were given as the points where chains start.
fn with_starts<'s>(
    joint: &Joint,
    posterior: &ModelPosterior<'_>,
    settings: &'s Settings,
) -> Result<Cow<'s, Settings>> {
    let mut settings = Cow::Borrowed(settings);
    if !settings.initvals.is_empty() {
        let init = initial::points(joint, posterior, &settings)?;
        settings.to_mut().sampler.init = init;
    }
    Ok(settings)
}

/// GPUs that failed while others took over their chains.
fn lost(device: &Device) -> impl Iterator<Item = Finding> {
    device.records().filter_map(|record| {
        let made = record.transitions();
        let (label, why) = (&record.label, record.failed()?);
        let fact = format!("{label} failed after {made} transitions: {why}");
        Some(Finding::new(
            FindingKind::DeviceLost,
            made as f64,
            label.clone(),
            fact,
        ))
    })
}

/// What the sampler itself has to say of a run.
pub(super) fn found_by_sampler(run: &Run) -> Vec<Finding> {
    let mut findings: Vec<Finding> = run.restarts.iter().map(restarted).collect();
    findings.extend(run.independence.filter(|found| !found.used).map(refused));
    findings
}

/// The positions of a run whose trace has been made.
pub(super) fn positions_of(run: &mut Run) -> Vec<Vec<f64>> {
    let chains = run.chains.iter_mut();
    chains.map(|c| std::mem::take(&mut c.positions)).collect()
}

/// The mean c of each plate, by the name of its parameter.
pub(super) fn mean_centring(joint: &Joint, compiled: &Compiled) -> Vec<(String, f64)> {
    let plates = joint.plates().iter().zip(&compiled.chosen.plates);
    let sampled = plates.filter(|(plate, _)| !joint.is_integrated(plate.parameter));
    sampled
        .map(|(plate, coordinates): (_, &Coordinates)| {
            let parameter = &joint.parameters()[plate.parameter];
            let sum: f64 = (0..parameter.len).map(|j| centring(coordinates, j)).sum();
            (parameter.name.clone(), sum / parameter.len.max(1) as f64)
        })
        .collect()
}

fn restarted(restart: &sample::Restart) -> Finding {
    let place = format!("chain {}", restart.chain);
    let fact = format!(
        "{place} was {:.0} below the others in log density and was put next to chain {} at warm-up \
         transition {}",
        restart.gap, restart.from_chain, restart.iteration
    );
    Finding::new(FindingKind::RestartedChain, restart.gap, place, fact)
}

fn refused(found: sample::Independence) -> Finding {
    let why = match found.pareto_k.is_nan() {
        true => "there were too few draws of the warm-up to make them".to_string(),
        false => format!(
            "the tail of their weights has the shape {:.2} (at most 0.5), and {:.0} % of them would \
             have been accepted (at least 25 %)",
            found.pareto_k,
            100.0 * found.acceptance
        ),
    };
    let fact = format!("independence proposals were not used: {why}");
    Finding::new(
        FindingKind::ProposalsRefused,
        found.pareto_k,
        "proposals",
        fact,
    )
}
