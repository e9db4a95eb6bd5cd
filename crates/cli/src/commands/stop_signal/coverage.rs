//! `fitzroy stop-signal coverage`.

use super::shared::{of_stopping, text};
use crate::args::{Common, Output};
use crate::exit::Outcome;
use crate::{interrupt, json, terminal};
use clap::Args;
use fitzroy::diagnose::SummaryOptions;
use fitzroy::fit::sample::{Init, Silent};
use fitzroy::model::Model;
use fitzroy::model::joint::Rewrites;
use fitzroy::run::{self, Caller, Settings};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_session::clock::Clock;
use fitzroy_stop_signal::check::{self, State};
use fitzroy_stop_signal::config::{Config, default_of};
use fitzroy_stop_signal::coverage::Coverage;
use fitzroy_stop_signal::data::{self, Options};
use fitzroy_stop_signal::model::{Kind, Spec};
use fitzroy_stop_signal::simulate::simulate;
use fitzroy_stop_signal::{priors, start};
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Flags of `fitzroy stop-signal coverage`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy stop-signal coverage --subjects 10 --repeats 20\n  \
    fitzroy stop-signal coverage --config population.toml --priors priors.toml --repeats 50\n\n\
    Simulates a study, fits it, and again with the next seed. Exit 1 when intervals hold the truth\n\
    too rarely or too often. Writes coverage.json into --out.")]
pub(crate) struct CoverageArgs {
    /// Population and task, as TOML or JSON [default: that of `simulate`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The model, where no --config says it
    #[arg(long, value_name = "MODEL", value_parser = of_stopping(), conflicts_with = "config")]
    model: Option<Kind>,
    /// Priors, TOML or JSON: a table per parameter with m, s and h
    #[arg(long, value_name = "FILE")]
    priors: Option<PathBuf>,
    /// Subjects of each study
    #[arg(long, value_name = "N", default_value_t = 10)]
    subjects: usize,
    /// Studies
    #[arg(long, value_name = "N", default_value_t = 20)]
    repeats: usize,
    /// Chains of each fit
    #[arg(long, value_name = "N", default_value_t = 4)]
    chains: usize,
    /// Warm-up transitions per chain
    #[arg(long, value_name = "N", default_value_t = 400)]
    tune: usize,
    /// Draws per chain
    #[arg(long, value_name = "N", default_value_t = 250)]
    draws: usize,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

/// Simulates, fits, counts, prints, writes.
pub(crate) fn run(args: &CoverageArgs) -> Result<Outcome> {
    let machine = args.common.machine()?;
    if args.subjects == 0 || args.repeats == 0 || args.draws == 0 {
        let message = "--subjects, --repeats and --draws must be above 0";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let config = match &args.config {
        Some(path) => Config::parse(&text(path)?).map_err(|e| e.context(path.display()))?,
        None => Config::parse(default_of(args.model.unwrap_or(Kind::Rdex)))?,
    };
    let mut spec = config.spec();
    if let Some(path) = &args.priors {
        spec.priors =
            priors::read(spec.kind, &text(path)?).map_err(|e| e.context(path.display()))?;
    }
    let name = "stop-signal-coverage";
    let mut folder = args.output.open(name, &args.common.face(30.0))?;
    let stop = interrupt::catch()?;
    let clock = Clock::start();
    let mut found = Coverage::new(config.kind);
    for repeat in 0..args.repeats as u64 {
        let seed = args.common.seed + repeat;
        one(
            args,
            (&config, &spec),
            (seed, machine.threads),
            &clock,
            &mut found,
        )?;
        if stop.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
        if !(args.common.quiet || args.common.no_progress) {
            let done = (repeat + 1, args.repeats, clock.seconds());
            terminal::note(format_args!(
                "study {} of {}  {:.0} s",
                done.0, done.1, done.2
            ));
        }
    }
    let checks = found.checks();
    let one = |c: &check::Check| json!({"check": c.name, "state": c.state.word(), "found": c.found, "needed": c.needed});
    let document = json!({
        "subjects": args.subjects, "repeats": args.repeats, "chains": args.chains,
        "tune": args.tune, "draws": args.draws, "seed": args.common.seed,
        "seconds": clock.seconds(), "checks": checks.iter().map(one).collect::<Vec<_>>(),
        "parameters": found.json(),
    });
    folder.write("coverage.json", &format!("{document:#}\n"))?;
    if args.common.json {
        json::print(&document);
    } else {
        terminal::out(check::table(&checks).trim_end());
        terminal::out(format_args!("wrote {}", folder.path().display()));
    }
    folder.finish()?;
    Ok(match checks.iter().any(|c| c.state == State::Fail) {
        true => Outcome::NotPassed,
        false => Outcome::Done,
    })
}

/// One study, simulated, fitted and counted.
fn one(
    args: &CoverageArgs,
    (config, spec): (&Config, &Spec),
    (seed, threads): (u64, usize),
    clock: &Clock,
    found: &mut Coverage,
) -> Result<()> {
    let made = simulate(config, args.subjects, seed);
    let study = data::parse(made.csv().as_bytes(), "simulated", &Options::default())?;
    let mut settings = Settings {
        rewrites: Rewrites::NONE,
        ..Settings::default()
    };
    let sampler = &mut settings.sampler;
    (sampler.chains, sampler.tune, sampler.draws) = (args.chains, args.tune, args.draws);
    (sampler.threads, sampler.seed) = (threads, seed);
    start::suit(spec, sampler);
    let joint = run::bind(&Model::parse(&spec.text())?, &spec.data(&study), &settings)?;
    let points = start::points(spec, &study, &joint, &study.subjects, args.chains, seed);
    settings.sampler.init = Init::Points(points);
    let now = || clock.seconds();
    let stop = interrupt::catch()?;
    let caller = Caller {
        observer: &Silent,
        stop: &stop,
        now: &now,
        created_at: "",
    };
    let outcome = run::run(&joint, &settings, &caller)?;
    if outcome.run.interrupted {
        return Ok(());
    }
    let options = SummaryOptions {
        threads,
        ..SummaryOptions::default()
    };
    let diagnosis = outcome.diagnose(&options)?;
    found.add(&outcome.trace, &diagnosis, &made, config);
    Ok(())
}
