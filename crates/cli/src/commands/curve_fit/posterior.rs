//! `--posterior`: the same curve sampled, from the fit on.

use super::show::Results;
use crate::clock::{Clock, timestamp};
use crate::commands::report::{command, finish};
use crate::output::Folder;
use crate::progress::{Board, Progress};
use crate::terminal;
use fitzroy::Result;
use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::draws::{Flush, write_netcdf_with};
use fitzroy::fit::sample::Init;
use fitzroy::model::Model;
use fitzroy::model::joint::Rewrites;
use fitzroy::report::{TextOptions, diagnosis_json, diagnosis_text, summary_csv};
use fitzroy::run::{self, Caller, Settings};
use fitzroy_curve_fit::posterior;
use fitzroy_report::report::{RunFacts, sampling_page};
use fitzroy_report::source::Source;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A posterior that was sampled.
pub(super) struct Sampled {
    found: Option<Diagnosis>,
    pub(super) interrupted: bool,
}

impl Sampled {
    pub(super) fn converged(&self) -> bool {
        self.found.as_ref().is_some_and(|f| f.converged)
    }

    pub(super) fn json(&self) -> Value {
        match &self.found {
            Some(found) => Value::Object(diagnosis_json(found)),
            None => json!({"converged": false}),
        }
    }

    pub(super) fn text(&self) -> String {
        match &self.found {
            Some(found) => diagnosis_text(found, &TextOptions::default()),
            None => "stopped before the first draw".into(),
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

/// Samples and writes `model.fz`, `trace.nc`, `posterior.{txt,csv,json,html}`.
pub(super) fn sample(
    result: &Results<'_>,
    folder: &mut Folder,
    stop: &Arc<AtomicBool>,
    clock: &Clock,
) -> Result<Sampled> {
    let args = result.args;
    let text = result.model("--posterior")?;
    folder.write("model.fz", &text)?;
    let model = Model::parse(&text).map_err(|e| e.context("--posterior"))?;
    let data = result
        .data
        .expect("a posterior is sampled of data in memory");
    let sigma = args.sigma.as_deref();
    let data = posterior::dataset(result.plan, data, result.y_name(), sigma);
    let mut settings = Settings {
        // Starts are given in the coordinates of the text.
        rewrites: Rewrites::NONE,
        ..Settings::default()
    };
    let sampler = &mut settings.sampler;
    (sampler.chains, sampler.tune, sampler.draws) = (args.chains, args.tune, args.draws);
    (sampler.seed, sampler.threads) = (args.common.seed, result.on.threads);
    let joint = run::bind(&model, &data, &settings)?;
    settings.sampler.init = Init::Points(posterior::starts(
        &joint,
        result.plan,
        result.estimate,
        &result.priors,
        args.chains,
        args.common.seed,
    ));
    let board = Arc::new(Board::new(args.chains, args.tune, args.draws));
    let style = args.common.progress(args.progress_every);
    let progress = Progress::start(Arc::clone(&board), style);
    let now = || clock.seconds();
    let caller = Caller {
        observer: &*board,
        stop,
        now: &now,
        created_at: &timestamp(),
    };
    let ran = run::run(&joint, &settings, &caller);
    drop(progress);
    let outcome = ran.map_err(|e| e.context("--posterior"))?;
    if outcome.run.n_draws() == 0 {
        return Ok(Sampled {
            found: None,
            interrupted: true,
        });
    }
    write_netcdf_with(folder.file("trace.nc"), &outcome.trace, Flush::Later)?;
    let options = SummaryOptions {
        threads: result.on.threads,
        ..SummaryOptions::default()
    };
    let found = outcome.diagnose(&options)?;
    write(folder, &outcome.trace, &found, args.no_report)?;
    if !args.common.quiet && !args.common.json {
        terminal::note(format_args!("wrote {}", folder.path().display()));
    }
    Ok(Sampled {
        found: Some(found),
        interrupted: outcome.run.interrupted,
    })
}

fn write(
    folder: &mut Folder,
    trace: &fitzroy::draws::Trace,
    found: &Diagnosis,
    no_report: bool,
) -> Result<()> {
    let all = TextOptions {
        max_rows: usize::MAX,
        ..TextOptions::default()
    };
    folder.write("posterior.txt", &diagnosis_text(found, &all))?;
    folder.write("posterior.csv", &summary_csv(&found.summary))?;
    let document = Value::Object(diagnosis_json(found));
    folder.write("posterior.json", &format!("{document:#}\n"))?;
    if no_report {
        return Ok(());
    }
    let made = Source::new(trace).and_then(|source| {
        let facts = RunFacts {
            name: "Posterior of a curve".into(),
            command: command(),
            ..RunFacts::default()
        };
        sampling_page(&source, found, &facts)
    });
    finish(
        "posterior.html",
        made.and_then(|page| folder.write("posterior.html", &page.html())),
    );
    Ok(())
}
