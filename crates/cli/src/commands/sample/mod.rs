//! `fitzroy sample MODEL`.

mod inputs;
mod show;
mod work;

use crate::args::{Common, Machine, Output};
use crate::clock::Clock;
use crate::commands::IN_MEMORY_BYTES;
use crate::exit::Outcome;
use crate::output::Folder;
use crate::{device, json, terminal};
use clap::{Args, ValueEnum};
use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::fit::sample::{self as sampling, Adapt, Init, MetricKind, Until};
use fitzroy::model::joint::Joint;
use fitzroy::report::{diagnosis_json, diagnosis_text, summary_csv};
use fitzroy::run::{
    self, CoordinateChoice, Settings, bind, kernel_memory_words, kernel_text, run_json,
};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::probe;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use work::{Ended, chains, examine};

/// Flags of `fitzroy sample`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy sample models/eight-schools.fz --data models/eight-schools.csv\n  \
    fitzroy sample growth.fz y=weights.csv --set limit=10 --draws 2000 --out growth\n  \
    fitzroy sample growth.fz y=weights.csv --set limit=10 --draws 9000 --out growth --resume\n\n\
    Writes trace.nc (for ArviZ), run.zarr (the draws while they are made), run.state (to go on \
    from), summary.txt, summary.csv, summary.json, run.json, report.html and progress.json into \
    --out.")]
pub(crate) struct SampleArgs {
    /// The model, a .fz file
    model: PathBuf,
    /// One array from a file, as NAME=FILE
    #[arg(value_name = "NAME=FILE")]
    bindings: Vec<String>,
    /// A data file: .json, .json.gz, .csv, .tsv, .npy, .npz; may be given several times
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    /// A number or a list, as NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
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
    /// Transitions after warm-up: those of NUTS, or independence proposals where they cover the posterior
    #[arg(long, value_enum, value_name = "NAME", default_value = "nuts")]
    sampler: Sampler,
    /// Family of the mass matrix
    #[arg(long, value_enum, value_name = "KIND", default_value = "auto")]
    metric: Metric,
    /// Coordinates of hierarchical parameters: chosen in the warm-up, or as the model writes them
    #[arg(long, value_enum, value_name = "HOW", default_value = "auto")]
    centring: Centring,
    /// Rewrites of the model: auto, off, or some of sufficient,collapse,recognise,dedup
    #[arg(long, value_name = "KINDS", default_value = "auto")]
    rewrites: String,
    /// Where chains start: the best of several random points, or draws that Pathfinder finds
    #[arg(long, value_enum, value_name = "HOW", default_value = "jitter")]
    init: Start,
    /// Whose draws a chain adapts to: those of all chains, or its own
    #[arg(long, value_enum, value_name = "WHOSE", default_value = "pooled")]
    adapt: Whose,
    /// Sample until the bulk and tail ESS of every coordinate are N, or --max-draws
    #[arg(long, value_name = "N", conflicts_with = "draws")]
    until_ess: Option<f64>,
    /// Sample until the R-hat of every coordinate is at most X, or --max-draws
    #[arg(long, value_name = "X", conflicts_with = "draws")]
    until_rhat: Option<f64>,
    /// Draws per chain, at most, of --until-ess and --until-rhat [default: 10000]
    #[arg(long, value_name = "N")]
    max_draws: Option<usize>,
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
    /// Draw replicates of the observed data
    #[arg(long)]
    predictive: bool,
    /// Keep the log likelihood of every observation
    #[arg(long)]
    log_likelihood: bool,
    /// Sample the priors, without the data
    #[arg(long, conflicts_with = "log_likelihood")]
    prior_only: bool,
    /// Write the kernel that a GPU would run to FILE, or to stdout for -, and stop
    #[arg(long = "dump-cuda", value_name = "FILE|-")]
    dump_kernel: Option<PathBuf>,
    /// Go on with the run in --out: one that was stopped or killed, or a finished one with more
    /// --draws. The draws are those of a run that was never stopped
    #[arg(long, requires = "out", conflicts_with = "overwrite")]
    resume: bool,
    /// Draws that take more than this many MiB stay in run.zarr: memory does not grow with their
    /// number, and there is no trace.nc
    #[arg(long, value_name = "MIB", default_value_t = IN_MEMORY_BYTES >> 20)]
    in_memory: u64,
    /// Seconds between publications of the draws in run.zarr, at least
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, hide = true)]
    publish_every: f64,
    /// Seconds between progress lines in a log
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    progress_every: f64,
    /// No report.html
    #[arg(long)]
    no_report: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

/// Samplers.
#[derive(Clone, Copy, ValueEnum)]
enum Sampler {
    Nuts,
    Independence,
}

/// Families of metrics.
#[derive(Clone, Copy, ValueEnum)]
enum Metric {
    Auto,
    Diag,
    LowRank,
    Dense,
}

/// Where chains start.
#[derive(Clone, Copy, ValueEnum)]
enum Start {
    Jitter,
    Pathfinder,
}

/// Whose draws a chain adapts to.
#[derive(Clone, Copy, ValueEnum)]
enum Whose {
    Pooled,
    PerChain,
}

/// Choices of coordinates.
#[derive(Clone, Copy, ValueEnum)]
enum Centring {
    Auto,
    AsWritten,
}

impl SampleArgs {
    fn settings(&self, machine: Machine) -> Result<Settings> {
        if self.progress_every.is_nan() || self.progress_every <= 0.0 {
            let message = format!(
                "--progress-every is {}; it must be above 0",
                self.progress_every
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
        if self.publish_every.is_nan() || self.publish_every < 0.0 {
            let message = "--publish-every must be 0 or above";
            return Err(Error::new(ErrorKind::Usage, message));
        }
        if self.cores == Some(0) || self.draws == 0 {
            let flag = if self.draws == 0 {
                "--draws"
            } else {
                "--cores"
            };
            let message = format!("{flag} is 0; use at least 1");
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let mut settings = Settings {
            coordinates: match self.centring {
                Centring::Auto => CoordinateChoice::Auto,
                Centring::AsWritten => CoordinateChoice::AsWritten,
            },
            rewrites: self
                .rewrites
                .parse()
                .map_err(|error: Error| error.context("--rewrites"))?,
            predictive: self.predictive,
            log_likelihood: self.log_likelihood,
            prior_only: self.prior_only,
            memory_limit_bytes: memory_limit(),
            in_memory_bytes: Some(self.in_memory << 20),
            ..Settings::default()
        };
        let sampler = &mut settings.sampler;
        sampler.chains = self.chains;
        sampler.sampler = match self.sampler {
            Sampler::Nuts => sampling::Sampler::Nuts,
            Sampler::Independence => sampling::Sampler::Independence,
        };
        sampler.tune = self.tune;
        sampler.draws = self.draws;
        sampler.target_accept = self.target_accept;
        sampler.max_treedepth = self.max_treedepth;
        sampler.metric = match self.metric {
            Metric::Auto => MetricKind::Auto,
            Metric::Diag => MetricKind::Diagonal,
            Metric::LowRank => MetricKind::LowRank,
            Metric::Dense => MetricKind::Dense,
        };
        sampler.threads = machine.threads.min(self.cores.unwrap_or(usize::MAX));
        sampler.seed = self.common.seed;
        sampler.keep_warmup = self.keep_warmup;
        sampler.init = match self.init {
            Start::Jitter => Init::Jitter,
            Start::Pathfinder => Init::Pathfinder,
        };
        sampler.adapt = match self.adapt {
            Whose::Pooled => Adapt::Pooled,
            Whose::PerChain => Adapt::PerChain,
        };
        (sampler.until, sampler.draws) = self.until()?;
        Ok(settings)
    }

    /// When to end, and after how many draws at the latest.
    fn until(&self) -> Result<(Option<Until>, usize)> {
        let (ess, rhat) = (self.until_ess, self.until_rhat);
        let usage = |message: &str| Err(Error::new(ErrorKind::Usage, message));
        match (ess.is_some() || rhat.is_some(), self.max_draws) {
            (false, None) => Ok((None, self.draws)),
            (false, Some(_)) => usage(
                "--max-draws is a bound for --until-ess or --until-rhat; add one, or use --draws",
            ),
            (true, Some(0)) => usage("--max-draws is 0; use at least 1"),
            (true, most) => Ok((Some(Until { ess, rhat }), most.unwrap_or(10_000))),
        }
    }
}

/// Nine tenths of the memory that is free now, where the system tells.
pub(crate) fn memory_limit() -> Option<u64> {
    probe::cpu().memory.map(|m| m.free_bytes / 10 * 9)
}

/// Reads, samples, prints, saves.
pub(crate) fn run(args: &SampleArgs) -> Result<Outcome> {
    let clock = Clock::start();
    let machine = args.common.threads()?;
    let mut settings = args.settings(machine)?;
    let chosen = match args.dump_kernel {
        Some(_) => None,
        None => Some(args.common.choose()?),
    };
    let model = inputs::model(&args.model)?;
    let data = inputs::data(&args.data, &args.bindings, &args.set)?;
    let joint = bind(&model, &data, &settings).map_err(|error| match error.kind() {
        ErrorKind::Model => error.context(args.model.display()),
        ErrorKind::Data if data.arrays().is_empty() => inputs::no_data(&model),
        _ => error,
    })?;
    let Some(chosen) = chosen else {
        return dump(args, &joint, &settings);
    };
    let words = |chains| kernel_memory_words(&joint, &settings, chains);
    device::check_memory(&chosen, |n| Ok(8 * words(n)?), args.chains)?;
    settings.device = chosen.device.clone();
    let name = inputs::name(&args.model);
    let mut folder = match (args.resume, &args.output.out) {
        (true, Some(out)) => Folder::resume(Path::new(""), out)?,
        _ => Folder::open(
            Path::new(""),
            args.output.out.as_deref(),
            &name,
            args.output.overwrite,
        )?,
    };
    let from = match args.resume {
        true => run::open(folder.path(), &joint, &settings)?,
        false => None,
    };
    if let Some(saved) = &from
        && saved.n_draws() >= settings.sampler.draws
        && folder.finished_with() == Some(saved.n_draws())
    {
        terminal::note(format_args!(
            "the run in {} has its {} draws per chain; ask for more with --draws",
            folder.path().display(),
            saved.n_draws()
        ));
        return Ok(Outcome::Done);
    }
    if args.resume && from.is_none() && folder.finished_with().is_some() {
        let message = format!(
            "--resume {}: its run left no state to go on from; start anew with --overwrite",
            folder.path().display()
        );
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let reading = clock.seconds();
    if !args.common.quiet {
        show::header(&args.model, &joint, &settings, &chosen);
        model
            .warnings()
            .iter()
            .for_each(|w| terminal::note(format_args!("warning: {w}")));
    }

    folder.begin_again()?;
    if let Some(saved) = from.as_ref().filter(|_| !args.common.quiet) {
        terminal::note(format_args!("going on from {}", saved.place()));
    }
    let mut outcome = match chains(args, &joint, &settings, &clock, &mut folder, from)? {
        Ended::Drawn(outcome) => *outcome,
        Ended::Early => return Ok(Outcome::Interrupted),
        Ended::Unwritable => return Ok(Outcome::NotPassed),
    };
    let options = SummaryOptions {
        threads: machine.threads,
        ..SummaryOptions::default()
    };
    let (diagnosis, written) = examine(&mut folder, &mut outcome, &options, &clock)?;
    let facts = run::Machine {
        model: name,
        device: chosen.name,
        reading,
        written,
        total: clock.seconds(),
    };
    let mut document = run_json(&outcome, &settings, &diagnosis, &facts);
    document["peak_memory_bytes"] = json!(probe::peak_bytes());
    save(&mut folder, &diagnosis, &document)?;
    if args.common.json {
        json::print(&document);
    } else {
        show::result(&outcome, &diagnosis, &folder, &args.common);
    }
    // After the table, for which people wait.
    let reported = args.no_report
        || super::report::write_run(&mut folder, &outcome.trace, &diagnosis, &document);
    if reported && !args.no_report && !args.common.quiet && !args.common.json {
        let path = folder.path().join("report.html");
        terminal::out(format_args!("wrote {}", path.display()));
    }
    folder.finish()?;
    Ok(if outcome.run.interrupted {
        Outcome::Interrupted
    } else if !reported || args.strict && !diagnosis.converged {
        Outcome::NotPassed
    } else {
        Outcome::Done
    })
}

/// Writes the kernel for people to read.
fn dump(args: &SampleArgs, joint: &Joint, settings: &Settings) -> Result<Outcome> {
    let text = kernel_text(joint, settings)?;
    match args.dump_kernel.as_deref() {
        Some(path) if path != Path::new("-") => {
            std::fs::write(path, text).map_err(|error| {
                Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
            })?;
        }
        _ => terminal::out(text),
    }
    Ok(Outcome::Done)
}

/// Writes what is said about the draws.
pub(crate) fn save(folder: &mut Folder, diagnosis: &Diagnosis, document: &Value) -> Result<()> {
    summaries(folder, diagnosis)?;
    let mut marked = json!({"program": "fitzroy"});
    if let (Value::Object(to), Value::Object(from)) = (&mut marked, document) {
        let fields = from.iter().filter(|(key, _)| *key != "summary");
        to.extend(fields.map(|(key, value)| (key.clone(), value.clone())));
    }
    folder.write("run.json", &format!("{marked:#}\n"))
}

/// Writes the summary as text, CSV and JSON.
pub(crate) fn summaries(folder: &mut Folder, diagnosis: &Diagnosis) -> Result<()> {
    let all = fitzroy::report::TextOptions {
        max_rows: usize::MAX,
        ..Default::default()
    };
    folder.write("summary.txt", &diagnosis_text(diagnosis, &all))?;
    folder.write("summary.csv", &summary_csv(&diagnosis.summary))?;
    let document = Value::Object(diagnosis_json(diagnosis));
    folder.write("summary.json", &format!("{document:#}\n"))
}
