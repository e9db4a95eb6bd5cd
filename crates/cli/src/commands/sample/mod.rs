//! `fitzroy sample MODEL`.

mod inputs;
mod show;

use crate::args::{Common, Machine, Output};
use crate::clock::Clock;
use crate::commands::chains::{self, ChainFlags, Ended};
use crate::exit::Outcome;
use crate::output::Folder;
use crate::{json, terminal};
use clap::{Args, ValueEnum};
use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::fit::sample::{self as sampling, Init, Until};
use fitzroy::model::joint::Joint;
use fitzroy::report::{diagnosis_json, diagnosis_text, summary_csv};
use fitzroy::run::{self, Device, Settings, Team, bind, kernel_text, run_json};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::probe;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
    /// A data file: .json, .json.gz, .csv, .tsv, .npy, .npz, .parquet, .nc, .h5; may be given several times
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    /// A number or a list, as NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// How chains move: see docs/samplers.md on which to choose
    #[arg(long, value_enum, value_name = "NAME", default_value = "nuts")]
    sampler: Sampler,
    /// Rewrites of the model: auto, off, or some of sufficient,collapse,recognise,dedup,signed
    #[arg(long, value_name = "KINDS", default_value = "auto")]
    rewrites: String,
    /// Where chains start: the best of several random points, or draws that Pathfinder finds
    #[arg(long, value_enum, value_name = "HOW", default_value = "jitter")]
    init: Start,
    /// Sample until the bulk and tail ESS of every coordinate are N, or --max-draws
    #[arg(long, value_name = "N", conflicts_with = "draws")]
    until_ess: Option<f64>,
    /// Sample until the R-hat of every coordinate is at most X, or --max-draws
    #[arg(long, value_name = "X", conflicts_with = "draws")]
    until_rhat: Option<f64>,
    /// Draws per chain, at most, of --until-ess and --until-rhat [default: 10000]
    #[arg(long, value_name = "N")]
    max_draws: Option<usize>,
    /// Draw replicates of the observed data
    #[arg(long)]
    predictive: bool,
    /// Sample the priors, without the data
    #[arg(long, conflicts_with = "log_likelihood")]
    prior_only: bool,
    /// Write the kernel that a GPU would run to FILE, or to stdout for -, and stop
    #[arg(long = "dump-cuda", value_name = "FILE|-")]
    dump_kernel: Option<PathBuf>,
    #[command(flatten)]
    chains: ChainFlags,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

/// Samplers.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Sampler {
    /// The No-U-Turn sampler
    Nuts,
    /// NUTS whose steps shrink where one size is too long: for divergences that stay
    Walnuts,
    /// Microcanonical trajectories of a learned length
    Mams,
    /// Hamiltonian trajectories of a learned length
    Chees,
    /// Independent proposals where they cover the posterior, NUTS elsewhere
    Independence,
}

impl Sampler {
    /// Its value in the settings.
    fn setting(self) -> sampling::Sampler {
        match self {
            Sampler::Nuts => sampling::Sampler::Nuts,
            Sampler::Walnuts => sampling::Sampler::Walnuts,
            Sampler::Mams => sampling::Sampler::Mams,
            Sampler::Chees => sampling::Sampler::Chees,
            Sampler::Independence => sampling::Sampler::Independence,
        }
    }

    /// What `--sampler` is given.
    pub(crate) fn name(self) -> &'static str {
        self.setting().name()
    }
}

/// Where chains start.
#[derive(Clone, Copy, ValueEnum)]
enum Start {
    Jitter,
    Pathfinder,
}

impl SampleArgs {
    fn settings(&self, machine: Machine) -> Result<Settings> {
        let mut settings = self.chains.settings(&self.common, machine)?;
        settings.rewrites = self
            .rewrites
            .parse()
            .map_err(|error: Error| error.context("--rewrites"))?;
        settings.predictive = self.predictive;
        settings.prior_only = self.prior_only;
        let sampler = &mut settings.sampler;
        sampler.sampler = self.sampler.setting();
        sampler.init = match self.init {
            Start::Jitter => Init::Jitter,
            Start::Pathfinder => Init::Pathfinder,
        };
        (sampler.until, sampler.draws) = self.until()?;
        Ok(settings)
    }

    /// When to end, and after how many draws at the latest.
    fn until(&self) -> Result<(Option<Until>, usize)> {
        let (ess, rhat) = (self.until_ess, self.until_rhat);
        let usage = |message: &str| Err(Error::new(ErrorKind::Usage, message));
        match (ess.is_some() || rhat.is_some(), self.max_draws) {
            (false, None) => Ok((None, self.chains.draws)),
            (false, Some(_)) => usage(
                "--max-draws is a bound for --until-ess or --until-rhat; add one, or use --draws",
            ),
            (true, Some(0)) => usage("--max-draws is 0; use at least 1"),
            (true, most) => Ok((Some(Until { ess, rhat }), most.unwrap_or(10_000))),
        }
    }
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
    let Some(mut chosen) = chosen else {
        settings.precision = args.common.asked_precision().unwrap_or_default();
        settings.device = kernel_device(args.common.team()?);
        return dump(args, &joint, &settings);
    };
    chosen.settle(&joint, &mut settings)?;
    if args.chains.dry_run {
        let shown = args.model.display().to_string();
        return chains::dry_run(&shown, &joint, &settings, &args.common);
    }
    let name = inputs::name(&args.model);
    let opened = chains::open(&args.chains, &args.output, &name, &joint, &settings)?;
    let Some((mut folder, from)) = opened else {
        return Ok(Outcome::Done);
    };
    let reading = clock.seconds();
    if !args.common.quiet {
        show::header(&args.model, &joint, &settings, &chosen);
        model
            .warnings()
            .iter()
            .for_each(|w| terminal::note(format_args!("warning: {w}")));
    }

    let (flags, common) = (&args.chains, &args.common);
    let ran = chains::run(flags, common, &joint, &settings, &clock, &mut folder, from)?;
    let (mut outcome, _progress) = match ran {
        Ended::Drawn(outcome, progress) => (*outcome, progress),
        Ended::Early => return Ok(Outcome::Interrupted),
        Ended::Unwritable => return Ok(Outcome::NotPassed),
    };
    let options = SummaryOptions {
        threads: machine.threads,
        ..SummaryOptions::default()
    };
    let (diagnosis, written) = chains::examine(&mut folder, &mut outcome, &options, &clock)?;
    let (memory, used) = (chosen.memory_document(), chosen.used_text());
    let facts = run::Machine {
        model: name,
        device: chosen.name,
        reading,
        written,
        total: clock.seconds(),
    };
    let mut document = run_json(&outcome, &settings, &diagnosis, &facts);
    document["peak_memory_bytes"] = json!(probe::peak_bytes());
    document["device_memory"] = memory;
    document["device_reason"] = json!(chosen.reason);
    save(&mut folder, &diagnosis, &document);
    if args.common.json {
        document["timing_s"]["started"] = json!(clock.started());
        json::print(&document);
    } else {
        if let Some(used) = used.filter(|_| !args.common.quiet) {
            terminal::note(used);
        }
        show::result(&outcome, &diagnosis, &folder, &args.common);
    }
    // After the table, for which people wait.
    let reported = args.chains.no_report
        || super::report::write_run(&mut folder, &outcome.trace, &diagnosis, &document);
    if reported && !args.chains.no_report && !args.common.quiet && !args.common.json {
        let path = folder.path().join("report.html");
        terminal::out(format_args!("wrote {}", path.display()));
    }
    let complete = folder.is_complete();
    folder.finish()?;
    Ok(if outcome.run.interrupted && complete {
        Outcome::Interrupted
    } else if !reported || !complete || args.chains.strict && !diagnosis.converged() {
        Outcome::NotPassed
    } else {
        Outcome::Done
    })
}

/// Multiprocessors that a kernel for spread chains is written for where no GPU says how many it has.
const MULTIPROCESSORS: usize = 132;

/// What a kernel that nobody runs is written for: this team.
fn kernel_device(team: Team) -> Device {
    let device = Device::threads().with_team(team);
    match team {
        Team::Sharded => device.with_multiprocessors(MULTIPROCESSORS),
        _ => device,
    }
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
pub(crate) fn save(folder: &mut Folder, diagnosis: &Diagnosis, document: &Value) {
    summaries(folder, diagnosis);
    mark(folder, document);
}

/// Writes `run.json`, by which a folder is known as ours, without the summary.
pub(crate) fn mark(folder: &mut Folder, document: &Value) {
    let mut marked = json!({"program": "fitzroy"});
    if let (Value::Object(to), Value::Object(from)) = (&mut marked, document) {
        let fields = from.iter().filter(|(key, _)| *key != "summary");
        to.extend(fields.map(|(key, value)| (key.clone(), value.clone())));
    }
    folder.try_write("run.json", &format!("{marked:#}\n"));
}

/// Writes the summary as text, CSV and JSON.
pub(crate) fn summaries(folder: &mut Folder, diagnosis: &Diagnosis) {
    let all = fitzroy::report::TextOptions {
        max_rows: usize::MAX,
        ..Default::default()
    };
    folder.try_write("summary.txt", &diagnosis_text(diagnosis, &all));
    folder.try_write("summary.csv", &summary_csv(&diagnosis.summary));
    let document = Value::Object(diagnosis_json(diagnosis));
    folder.try_write("summary.json", &format!("{document:#}\n"));
}
