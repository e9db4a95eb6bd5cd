//! `fitzroy stop-signal validate`.

use super::shared::{of_stopping, text};
use crate::args::{Common, Output};
use crate::exit::Outcome;
use crate::{interrupt, json, terminal};
use clap::Args;
use fitzroy::model::Model;
use fitzroy::run::Settings;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::choice::Choice;
use fitzroy_report::draw::{Scene, Theme, png};
use fitzroy_session::Fit;
use fitzroy_session::clock::Clock;
use fitzroy_session::device::Request;
use fitzroy_session::stop_signal::{StudyFit, behaviour};
use fitzroy_stop_signal::check::{self, Check, Place, State};
use fitzroy_stop_signal::config::{Config, default_of};
use fitzroy_stop_signal::data::{self, Options, Study};
use fitzroy_stop_signal::figure;
use fitzroy_stop_signal::model::{Kind, Spec};
use fitzroy_stop_signal::simulate::{Simulated, simulate};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Flags of `fitzroy stop-signal validate`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy stop-signal validate\n  \
    fitzroy stop-signal validate --subjects 50 --device cuda --out valid\n  \
    fitzroy stop-signal validate --config population.toml --strict\n\n\
    Simulates a study with known truth, fits it, and prints one checklist: convergence, recovery,\n\
    predictive checks, and the fit of a GPU against that of this processor. Exit 1 when a check\n\
    failed; with --strict also when data and replicates differ. Writes data.csv, true_params.json,\n\
    config.toml, validation.json, behaviour.png and report.html into --out.")]
pub(crate) struct ValidateArgs {
    /// Population and task, as TOML or JSON [default: that of `simulate`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The model, where no --config says it
    #[arg(long, value_name = "MODEL", value_parser = of_stopping(), conflicts_with = "config")]
    model: Option<Kind>,
    /// Subjects
    #[arg(long, value_name = "N", default_value_t = 10)]
    subjects: usize,
    /// Chains
    #[arg(long, value_name = "N", default_value_t = 4)]
    chains: usize,
    /// Warm-up transitions per chain
    #[arg(long, value_name = "N", default_value_t = 1000)]
    tune: usize,
    /// Draws per chain
    #[arg(long, value_name = "N", default_value_t = 1000)]
    draws: usize,
    /// Draws to replicate the data at
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(20..))]
    replicates: u16,
    /// Exit 1 also where data and replicates differ
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

/// What is validated.
struct Known {
    config: Config,
    made: Simulated,
    study: Study,
    spec: Spec,
}

/// Simulates, fits, checks, prints, writes.
pub(crate) fn run(args: &ValidateArgs) -> Result<Outcome> {
    let clock = Clock::start();
    if args.subjects == 0 || args.chains == 0 || args.draws == 0 {
        let message = "--subjects, --chains and --draws must be above 0";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let source = match &args.config {
        Some(path) => text(path)?,
        None => default_of(args.model.unwrap_or(Kind::Rdex)).into(),
    };
    let known = known(args, &source)?;
    let mut folder = args
        .output
        .open("stop-signal-validate", &args.common.face(30.0))?;
    folder.write("data.csv", &known.made.csv())?;
    folder.write("config.toml", &source)?;
    let truth = known.made.truth(&known.config, args.common.seed);
    folder.write("true_params.json", &format!("{truth:#}\n"))?;
    let fit = fit(args, &known, args.common.request()?, clock)?;
    if fit.interrupted {
        return Ok(Outcome::Interrupted);
    }
    let (mut checks, scene) = checks(args, &known, &fit, &truth)?;
    checks.extend(devices(args, &known, &fit, clock)?);
    let one = |c: &Check| json!({"check": c.name, "state": c.state.word(), "found": c.found, "needed": c.needed});
    let document = json!({
        "subjects": args.subjects, "chains": args.chains, "tune": args.tune, "draws": args.draws,
        "seed": args.common.seed, "device": fit.document["device"], "seconds": clock.seconds(),
        "checks": checks.iter().map(one).collect::<Vec<_>>(),
    });
    folder.write("validation.json", &format!("{document:#}\n"))?;
    folder.write_bytes("behaviour.png", &png(&scene, Theme::Light, 1.5)?)?;
    let page = figure::page(
        "Validation of the stop-signal model",
        &checks,
        Some(scene),
        Vec::new(),
    );
    folder.write("report.html", &page.html())?;
    if args.common.json {
        json::print(&document);
    } else {
        terminal::out(check::table(&checks).trim_end());
        let count = |state: State| checks.iter().filter(|c| c.state == state).count();
        terminal::out(format_args!(
            "{} passed, {} failed, {} to look at, {} skipped; {:.0} s\nwrote {}",
            count(State::Pass),
            count(State::Fail),
            count(State::Finding),
            count(State::Skipped),
            clock.seconds(),
            folder.path().display()
        ));
    }
    folder.finish()?;
    let bad = |c: &Check| c.state == State::Fail || args.strict && c.state == State::Finding;
    Ok(match checks.iter().any(bad) {
        true => Outcome::NotPassed,
        false => Outcome::Done,
    })
}

fn known(args: &ValidateArgs, source: &str) -> Result<Known> {
    let config = Config::parse(source).map_err(|error| match &args.config {
        Some(path) => error.context(path.display()),
        None => error,
    })?;
    let spec = config.spec();
    let made = simulate(&config, args.subjects, args.common.seed);
    let options = Options {
        deadline: spec.deadline,
        ..Options::default()
    };
    let study = data::parse(made.csv().as_bytes(), "simulated", &options)?;
    Ok(Known {
        config,
        made,
        study,
        spec,
    })
}

fn fit(args: &ValidateArgs, known: &Known, request: Request, clock: Clock) -> Result<Fit> {
    let Known { study, spec, .. } = known;
    let fit = StudyFit {
        spec,
        study,
        n_chains: args.chains,
        as_written: false,
    };
    let mut settings = Settings::default();
    let sampler = &mut settings.sampler;
    (sampler.chains, sampler.tune, sampler.draws) = (args.chains, args.tune, args.draws);
    sampler.seed = args.common.seed;
    sampler.threads = args.common.threads()?.threads;
    let (model, data) = (Model::parse(&spec.text())?, spec.data(study));
    let stop = interrupt::catch()?;
    let sampling = fitzroy_session::sample(&model, &data)
        .name("stop-signal")
        .settings(fit.settings(settings))
        .request(request)
        .face(args.common.face(30.0))
        .stop(&stop)
        .clock(clock);
    fit.run(sampling)
}

fn checks(
    args: &ValidateArgs,
    known: &Known,
    fit: &Fit,
    truth: &Value,
) -> Result<(Vec<Check>, Scene)> {
    let mut all = check::sampler(&fit.diagnosis, args.chains * args.draws);
    all.extend(check::recovery(&fit.trace, known.spec.kind, truth)?);
    let replicates = usize::from(args.replicates);
    let (compared, scene) = behaviour(
        &fit.trace,
        &known.study,
        &known.spec,
        args.common.seed,
        replicates,
    )?;
    all.extend(check::predictive(&compared));
    Ok((all, scene))
}

/// A fit of a GPU against that of this processor.
fn devices(args: &ValidateArgs, known: &Known, fit: &Fit, clock: Clock) -> Result<Vec<Check>> {
    let here = place(fit);
    if here.device == "cpu" {
        return Ok(vec![check::one_device(&here)]);
    }
    let request = Request {
        choice: Choice::Cpu,
        ..Request::default()
    };
    let other = self::fit(args, known, request, clock)?;
    let there = place(&other);
    Ok(check::agreement(
        &fit.diagnosis,
        Some((&other.diagnosis, [&here, &there])),
    ))
}

fn place(fit: &Fit) -> Place {
    let word = |value: &Value| value.as_str().unwrap_or("cpu").to_owned();
    Place {
        device: word(&fit.document["device"]["kind"]),
        precision: word(&fit.document["precision"]),
    }
}
