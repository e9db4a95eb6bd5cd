//! `fitzroy stop-signal fit`.

use super::results::{report, subjects_csv};
use super::shared::{Likelihood, Reading, text};
use crate::args::{Common, Output};
use crate::clock::{Clock, timestamp};
use crate::commands::sample::{self, memory_limit};
use crate::exit::Outcome;
use crate::output::Folder;
use crate::progress::{Board, Progress};
use crate::{device, interrupt, json, terminal};
use clap::{Args, ValueEnum};
use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::draws::{Flush, write_netcdf_with};
use fitzroy::fit::sample::Init;
use fitzroy::model::Model;
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::report::{TextOptions, diagnosis_text, verdict_line};
use fitzroy::run::{self, Caller, CoordinateChoice, Settings, kernel_memory_words, run_json};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_stop_signal::data::{self, Study};
use fitzroy_stop_signal::model::{Pooling, Spec};
use fitzroy_stop_signal::{priors, start};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flags of `fitzroy stop-signal fit`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy stop-signal fit sim/data.csv --out fit\n  \
    fitzroy stop-signal fit study.csv --unit ms --priors priors.toml --draws 2000\n  \
    fitzroy stop-signal fit study.csv --only s017 --pooling none --out s017\n  \
    fitzroy stop-signal fit study.csv --block 3/40 --out block-3\n\n\
    Columns: subject, stimulus (0, 1), response (0 none, 1, 2), rt, ssd (empty on go trials).\n\
    Writes trace.nc, summary.txt, .csv, .json, run.json, subjects.csv, data_report.json, model.fz,\n\
    report.html and two PNG figures.")]
pub(crate) struct FitArgs {
    /// The trials, CSV
    data: PathBuf,
    /// Whether subjects come from one population
    #[arg(long, value_enum, value_name = "HOW", default_value = "partial")]
    pooling: PoolingName,
    /// Priors, TOML or JSON: a table per parameter with m, s and h
    #[arg(long, value_name = "FILE")]
    priors: Option<PathBuf>,
    /// Subject parameters with centred coordinates [default: chosen in the warm-up]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    centred: Vec<String>,
    /// Subject parameters with non-centred coordinates
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    noncentred: Vec<String>,
    /// Block K of N blocks of subjects, for jobs of an array
    #[arg(long, value_name = "K/N")]
    block: Option<String>,
    /// Chains
    #[arg(long, value_name = "N", default_value_t = 4)]
    chains: usize,
    /// Warm-up transitions per chain
    #[arg(long, value_name = "N", default_value_t = 1000)]
    tune: usize,
    /// Draws per chain
    #[arg(long, value_name = "N", default_value_t = 1000)]
    draws: usize,
    /// Mean acceptance to tune the step size to, between 0 and 1
    #[arg(long, value_name = "P", default_value_t = 0.8)]
    target_accept: f64,
    /// Coordinates of subject parameters: chosen in the warm-up, or as the model writes them
    #[arg(long, value_enum, value_name = "HOW", default_value = "auto")]
    centring: Centring,
    /// Largest number of doublings of a trajectory, 1 to 20
    #[arg(long, value_name = "N", default_value_t = 10)]
    max_treedepth: u32,
    /// Chains that run at once, at most [default: --threads]
    #[arg(long, value_name = "N")]
    cores: Option<usize>,
    /// Exit 1 unless the run converged
    #[arg(long)]
    strict: bool,
    /// Keep the draws of the warm-up
    #[arg(long)]
    keep_warmup: bool,
    /// Keep the log likelihood of every trial
    #[arg(long)]
    log_likelihood: bool,
    /// Seconds between progress lines in a log
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    progress_every: f64,
    /// No report.html and no figures
    #[arg(long)]
    no_report: bool,
    #[command(flatten)]
    likelihood: Likelihood,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum PoolingName {
    /// One population, what is common is estimated
    Partial,
    /// Each subject with a prior of its own
    None,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Centring {
    Auto,
    AsWritten,
}

impl FitArgs {
    fn spec(&self) -> Result<Spec> {
        let mut spec = self.likelihood.spec()?;
        spec.pooling = match self.pooling {
            PoolingName::Partial => Pooling::Partial,
            PoolingName::None => Pooling::None,
        };
        spec.centred.clone_from(&self.centred);
        spec.noncentred.clone_from(&self.noncentred);
        if let Some(path) = &self.priors {
            spec.priors = priors::read(&text(path)?).map_err(|e| e.context(path.display()))?;
        }
        spec.check()?;
        Ok(spec)
    }

    fn study(&self, spec: &Spec) -> Result<Study> {
        let study = data::read(&self.data, &self.reading.options(spec.kind)?)?;
        let Some(block) = &self.block else {
            return Ok(study);
        };
        let parts = block.split_once('/');
        let parts = parts.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        let chosen = parts.filter(|&(k, n): &(usize, usize)| 1 <= k && k <= n);
        let block = chosen.map(|(k, n)| study.block(k, n));
        block.filter(|b| !b.subjects.is_empty()).ok_or_else(|| {
            let message = format!(
                "--block is `{}`; give K/N with K from 1 to N, and no more blocks than subjects",
                self.block.as_deref().unwrap_or_default()
            );
            Error::new(ErrorKind::Usage, message)
        })
    }

    fn settings(&self, threads: usize) -> Result<Settings> {
        let positive = self.progress_every > 0.0;
        if self.cores == Some(0) || self.draws == 0 || !positive {
            let message = "--cores, --draws and --progress-every must be above 0";
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let mut settings = Settings {
            coordinates: match self.centring {
                Centring::Auto => CoordinateChoice::Auto,
                Centring::AsWritten => CoordinateChoice::AsWritten,
            },
            log_likelihood: self.log_likelihood,
            memory_limit_bytes: memory_limit(),
            ..Settings::default()
        };
        // Nothing in the model can be rewritten, and looking takes time.
        settings.rewrites = Rewrites::NONE;
        let sampler = &mut settings.sampler;
        sampler.chains = self.chains;
        sampler.tune = self.tune;
        sampler.draws = self.draws;
        sampler.target_accept = self.target_accept;
        sampler.max_treedepth = self.max_treedepth;
        sampler.threads = threads.min(self.cores.unwrap_or(usize::MAX));
        sampler.seed = self.common.seed;
        sampler.keep_warmup = self.keep_warmup;
        Ok(settings)
    }

    /// Where chains start.
    fn starts(&self, spec: &Spec, study: &Study, joint: &Joint, subjects: &[String]) -> Init {
        let mut spec = spec.clone();
        if self.centring == Centring::AsWritten {
            // As written they are centred, but for those that were asked not to be.
            let names = spec.names().iter().map(ToString::to_string);
            spec.centred = names.filter(|n| !spec.noncentred.contains(n)).collect();
        }
        let (chains, seed) = (self.chains, self.common.seed);
        Init::Points(start::points(&spec, study, joint, subjects, chains, seed))
    }
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

/// Reads, samples, prints, saves.
pub(crate) fn run(args: &FitArgs) -> Result<Outcome> {
    let clock = Clock::start();
    let machine = args.common.threads()?;
    let mut settings = args.settings(machine.threads)?;
    let spec = args.spec()?;
    let study = args.study(&spec)?;
    let chosen = args.common.choose()?;
    let model = Model::parse(&spec.text())?;
    let joint = run::bind(&model, &spec.data(&study), &settings)?;
    let subjects = subjects(&joint);
    settings.sampler.init = args.starts(&spec, &study, &joint, &subjects);
    let words = |chains| kernel_memory_words(&joint, &settings, chains);
    device::check_memory(&chosen, |n| Ok(8 * words(n)?), args.chains)?;
    settings.device = chosen.device.clone();
    let out = args.output.out.as_deref();
    let mut folder = Folder::open(Path::new(""), out, "stop-signal", args.output.overwrite)?;
    let reading = clock.seconds();
    if !args.common.quiet {
        header(&study, &joint, &settings, &chosen.label);
    }
    let Some(outcome) = chains(args, &joint, &settings, &clock)? else {
        terminal::note("stopped before the first draw: nothing was saved");
        return Ok(Outcome::Interrupted);
    };
    write_netcdf_with(folder.file("trace.nc"), &outcome.trace, Flush::Disk)?;
    let options = SummaryOptions {
        threads: machine.threads,
        ..SummaryOptions::default()
    };
    let mut diagnosis = outcome.diagnose(&options)?;
    // Coordinates in disguise: their exponentials are in the table.
    let inner = |name: &str| name.starts_with("log_") || name.starts_with("probit_");
    diagnosis.summary.rows.retain(|row| !inner(&row.name));
    let facts = run::Machine {
        model: "stop-signal".into(),
        device: chosen.name,
        reading,
        written: clock.seconds(),
        total: clock.seconds(),
    };
    let document = run_json(&outcome, &settings, &diagnosis, &facts);
    save(&mut folder, &diagnosis, &document, &spec, &study)?;
    folder.write(
        "subjects.csv",
        &subjects_csv(&outcome.trace, &spec, &subjects),
    )?;
    if args.common.json {
        json::print(&document);
    } else {
        show(&outcome, &diagnosis, &folder, args.common.quiet);
    }
    let reported = args.no_report
        || crate::commands::report::finish(
            "report.html",
            report(
                &mut folder,
                &outcome.trace,
                &diagnosis,
                &document,
                &spec,
                &study,
                args.common.seed,
            ),
        );
    folder.finish()?;
    Ok(if outcome.run.interrupted {
        Outcome::Interrupted
    } else if !reported || args.strict && !diagnosis.converged {
        Outcome::NotPassed
    } else {
        Outcome::Done
    })
}

fn header(study: &Study, joint: &Joint, settings: &Settings, device: &str) {
    terminal::note(format_args!(
        "fitzroy {}  stop-signal  {} subjects, {} trials, {} parameters  {device}  f64  seed {}",
        env!("CARGO_PKG_VERSION"),
        study.subjects.len(),
        study.rows.len(),
        joint.n_params(),
        settings.sampler.seed,
    ));
    let need = run::estimate(joint.model(), joint.binding(), settings);
    terminal::note(format_args!("memory  about {:.0} MB", need.bytes / 1e6));
    study
        .warnings
        .iter()
        .for_each(|w| terminal::note(format_args!("warning: {w}")));
}

fn chains(
    args: &FitArgs,
    joint: &Joint,
    settings: &Settings,
    clock: &Clock,
) -> Result<Option<run::Outcome>> {
    let stop = interrupt::catch()?;
    let sampler = &settings.sampler;
    let board = Arc::new(Board::new(sampler.chains, sampler.tune, sampler.draws));
    let progress = Progress::start(
        Arc::clone(&board),
        args.common.progress(args.progress_every),
    );
    let now = || clock.seconds();
    let caller = Caller {
        observer: &*board,
        stop: &stop,
        now: &now,
        created_at: &timestamp(),
    };
    let ran = run::run(joint, settings, &caller);
    drop(progress);
    let outcome = ran?;
    Ok((outcome.run.n_draws() > 0).then_some(outcome))
}

fn save(
    folder: &mut Folder,
    diagnosis: &Diagnosis,
    document: &Value,
    spec: &Spec,
    study: &Study,
) -> Result<()> {
    sample::save(folder, diagnosis, document)?;
    folder.write("model.fz", &spec.text())?;
    folder.write("data_report.json", &format!("{:#}\n", study.report()))
}

fn show(outcome: &run::Outcome, diagnosis: &Diagnosis, folder: &Folder, quiet: bool) {
    if quiet {
        terminal::out(verdict_line(diagnosis));
        return;
    }
    let (run, timing) = (&outcome.run, &outcome.timing);
    terminal::note(format_args!(
        "all     {} draws  {:.2} s (compile {:.2}, warm-up {:.2}, sampling {:.2})  {:.1} gradients a draw",
        run.chains.len() * run.n_draws(),
        timing.compile + timing.warmup + timing.sampling,
        timing.compile,
        timing.warmup,
        timing.sampling,
        run.mean_steps(),
    ));
    let plates: Vec<String> = outcome
        .centring
        .iter()
        .map(|(n, c)| format!("{n} {c:.2}"))
        .collect();
    let metric = run.metrics.first().map_or("none", |m| m.name());
    terminal::note(format_args!(
        "centring  {}   metric {metric}",
        plates.join(", ")
    ));
    terminal::out(diagnosis_text(diagnosis, &TextOptions::default()));
    terminal::out(format_args!("wrote {}", folder.path().display()));
}
