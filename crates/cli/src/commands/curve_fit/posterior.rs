//! `--posterior`: the same curve sampled, from the fit on.

use super::show::Results;
use crate::commands::chains::dry_run as tell_need;
use crate::exit::Outcome;
use crate::interrupt;
use fitzroy::Result;
use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::draws::Trace;
use fitzroy::fit::sample::Init;
use fitzroy::model::Model;
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::report::{TextOptions, diagnosis_json, diagnosis_text};
use fitzroy::run::{self, Settings, run_json};
use fitzroy_curve_fit::posterior;
use fitzroy_report::report::RunFacts;
use fitzroy_session::chains::{Chains, Ended, examine, mark, summaries};
use fitzroy_session::clock::Clock;
use fitzroy_session::folder::Folder;
use fitzroy_session::report::write_run;
use serde_json::{Value, json};

/// A posterior that was sampled.
pub(super) enum Sampled {
    /// To the end, or as far as it came.
    Drawn {
        /// What the draws look like.
        found: Diagnosis,
        /// It was stopped on the way.
        interrupted: bool,
    },
    /// Stopped before the first draw.
    Early,
    /// The draws could no longer be written.
    Unwritable,
}

impl Sampled {
    /// How the command ends for it; none where the fit decides.
    pub(super) fn outcome(&self, strict: bool) -> Option<Outcome> {
        match self {
            Sampled::Early => Some(Outcome::Interrupted),
            Sampled::Unwritable => Some(Outcome::NotPassed),
            Sampled::Drawn { interrupted, .. } if *interrupted => Some(Outcome::Interrupted),
            Sampled::Drawn { found, .. } if strict && !found.converged() => {
                Some(Outcome::NotPassed)
            }
            Sampled::Drawn { .. } => None,
        }
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Sampled::Drawn { found, .. } => Value::Object(diagnosis_json(found)),
            _ => json!({"converged": false}),
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Sampled::Drawn { found, .. } => diagnosis_text(found, &TextOptions::default()),
            Sampled::Early => "stopped before the first draw".into(),
            Sampled::Unwritable => "the draws could not be written".into(),
        }
    }
}

/// Refuses what has no posterior, and priors that are none.
pub(super) fn check(result: &Results<'_>) -> Result<()> {
    posterior::check(result.estimate)?;
    let text = result.model("--posterior")?;
    let parsed = Model::parse(&text).map(drop);
    parsed.map_err(|e| e.context("--posterior"))
}

/// What is sampled, how, and the name of the device.
fn prepare(result: &Results<'_>, text: &str) -> Result<(Joint, Settings, String)> {
    let args = result.args;
    let (flags, common) = (&args.chains, &args.common);
    let model = Model::parse(text).map_err(|e| e.context("--posterior"))?;
    let data = result
        .data
        .expect("a posterior is sampled of data in memory");
    let sigma = args.sigma.as_deref();
    let data = posterior::dataset(result.plan, data, result.y_name(), sigma);
    let mut settings = Settings {
        // Starts are given in the coordinates of the text.
        rewrites: Rewrites::NONE,
        ..flags.settings(common, common.threads()?)?
    };
    let joint = run::bind(&model, &data, &settings)?;
    let mut points = posterior::starts(
        &joint,
        result.plan,
        result.estimate,
        flags.chains,
        common.seed,
    );
    // A task has some of the chains.
    let first = settings.sampler.first_chain as usize;
    let own = first..first + settings.sampler.chains;
    settings.sampler.init = Init::Points(points.drain(own).collect());
    let mut chosen = common.request()?.choose()?;
    chosen.settle(&joint, &mut settings)?;
    Ok((joint, settings, chosen.name))
}

/// Says what sampling needs; nothing is written.
pub(super) fn dry_run(result: &Results<'_>) -> Result<Outcome> {
    let (joint, settings, _) = prepare(result, &result.model("--posterior")?)?;
    tell_need("posterior", &joint, &settings, &result.args.common)
}

/// Samples and writes `model.fz`, `trace.nc`, `posterior.{txt,csv,json,html}`; none where all draws
/// asked for are there.
pub(super) fn sample(
    result: &Results<'_>,
    folder: &mut Folder,
    clock: &Clock,
) -> Result<Option<Sampled>> {
    let (flags, common) = (&result.args.chains, &result.args.common);
    let text = result.model("--posterior")?;
    folder.write("model.fz", &text)?;
    let (joint, settings, device) = prepare(result, &text)?;
    let stop = interrupt::catch()?;
    let chains = Chains {
        joint: &joint,
        settings: &settings,
        clock: *clock,
        face: &flags.face(common),
        stop: &stop,
        publish_every_s: flags.publish_every,
    };
    let from = match flags.resume {
        true => match chains.go_on(folder)? {
            Some(from) => from,
            None => return Ok(None),
        },
        false => None,
    };
    let ran = chains.run(folder, from);
    let (mut outcome, _progress) = match ran.map_err(|e| e.context("--posterior"))? {
        Ended::Drawn(outcome, progress) => (*outcome, progress),
        Ended::Early => return Ok(Some(Sampled::Early)),
        Ended::Unwritable(_) => return Ok(Some(Sampled::Unwritable)),
    };
    let options = SummaryOptions {
        threads: result.on.threads,
        ..SummaryOptions::default()
    };
    let (found, written) = examine(folder, &mut outcome, &options, clock)?;
    let facts = run::Machine {
        model: "posterior".into(),
        device,
        reading: result.timing.total,
        written,
        total: clock.seconds(),
    };
    let document = run_json(&outcome, &settings, &found, &facts);
    mark(folder, &document);
    write(folder, &outcome.trace, &found, flags.no_report);
    let interrupted = outcome.run.interrupted;
    Ok(Some(Sampled::Drawn { found, interrupted }))
}

fn write(folder: &mut Folder, trace: &Trace, found: &Diagnosis, no_report: bool) {
    summaries(folder, "posterior", found);
    if no_report {
        return;
    }
    let facts = RunFacts {
        name: "Posterior of a curve".into(),
        ..RunFacts::default()
    };
    write_run(folder, "posterior.html", trace, found, facts);
}
