//! `fitzroy sample MODEL`.

mod density;
mod show;

use crate::args::{Common, Machine, Output};
use crate::commands::chains::{self, ChainFlags};
use crate::commands::inputs;
use crate::exit::Outcome;
use crate::named::named;
use crate::tables::TableFlags;
use crate::{interrupt, json, terminal};
use clap::{Args, ValueEnum};
use fitzroy::fit::sample::{Init, Sampler, Until};
use fitzroy::model::joint::Joint;
use fitzroy::run::{Device, Settings, Team, bind, kernel_text};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_session::chains::Ended;
use fitzroy_session::clock::Clock;
use fitzroy_session::{Sampled, Session};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Flags of `fitzroy sample`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy sample models/eight-schools.fz --data models/eight-schools.csv\n  \
    fitzroy sample growth.fz y=weights.csv --set limit=10 --draws 2000 --out growth\n  \
    fitzroy sample growth.fz y=weights.csv --set limit=10 --draws 9000 --out growth --resume\n  \
    fitzroy sample growth.fz --data heights.xlsx --sheet 'Run 2'\n  \
    fitzroy sample growth.fz --data messung.txt --decimal comma\n  \
    fitzroy sample growth.fz --data heights.csv --device cuda:all --device-memory 0.75 --chains 1024\n  \
    fitzroy sample --density ./radon_model.so --data radon.json\n\n\
    Writes trace.nc (for ArviZ), run.zarr (the draws while they are made), run.state (to go on \
    from), summary.txt, summary.csv, summary.json, run.json, report.html and progress.json into \
    --out.")]
pub(crate) struct SampleArgs {
    /// The model, a .fz file
    #[arg(required_unless_present = "density")]
    model: Option<PathBuf>,
    /// One array from a file, as NAME=FILE
    #[arg(value_name = "NAME=FILE")]
    bindings: Vec<String>,
    /// A library to sample in the place of a model: a Stan program that BridgeStan compiled, or functions
    /// of C (docs/foreign-densities.md)
    #[arg(long, value_name = "LIB", conflicts_with_all = FOR_MODELS)]
    density: Option<PathBuf>,
    /// A data file: .json, .csv, .tsv, .txt, .dat, .asc, .xlsx, .xlsm, .npy, .npz, .parquet, .nc, .h5, .hdf5; may
    /// be given several times. JSON and text also packed by gzip or zstd
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    /// A number or a list, as NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// How chains move: see docs/samplers.md on which to choose
    #[arg(long, value_name = "NAME", default_value = "nuts", value_parser = named::<Sampler>())]
    sampler: Sampler,
    /// Rewrites of the model: auto, off, or some of sufficient,collapse,recognise,dedup,signed
    #[arg(long, value_name = "KINDS", default_value = "auto")]
    rewrites: String,
    /// Where chains start: the best of several random points, or draws that Pathfinder finds
    #[arg(long, value_enum, value_name = "METHOD", default_value = "jitter")]
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
    /// Variables whose draws are kept, as a,b,c: for models with very many; all others are sampled and
    /// forgotten, and have no summary [default: all]
    #[arg(
        long,
        value_name = "VAR,...",
        value_delimiter = ',',
        conflicts_with = "prior_only"
    )]
    keep: Vec<String>,
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
    tables: TableFlags,
    #[command(flatten)]
    chains: ChainFlags,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

/// What only a model takes.
const FOR_MODELS: [&str; 11] = [
    "model",
    "bindings",
    "set",
    "rewrites",
    "keep",
    "predictive",
    "prior_only",
    "dump_kernel",
    "centring",
    "engine",
    "log_likelihood",
];

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
        settings.keep.clone_from(&self.keep);
        settings.predictive = self.predictive;
        settings.prior_only = self.prior_only;
        let sampler = &mut settings.sampler;
        sampler.sampler = self.sampler;
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
    let (flags, common) = (&args.chains, &args.common);
    let machine = common.threads()?;
    let settings = args.settings(machine)?;
    let Some(path) = &args.model else {
        return density::run(args, settings, machine, clock);
    };
    let chosen = match args.dump_kernel {
        Some(_) => None,
        None => Some(common.request()?.choose()?),
    };
    let model = inputs::model(path)?;
    let quiet = common.quiet || common.json;
    let tables = args.tables.options();
    let data = inputs::data(&args.data, &args.bindings, &args.set, &tables, quiet)?;
    let explained = |error: Error| match error.kind() {
        ErrorKind::Model => error.context(path.display()),
        ErrorKind::Data if data.arrays().is_empty() => inputs::no_data(&model),
        _ => error,
    };
    let Some(chosen) = chosen else {
        let joint = bind(&model, &data, &settings).map_err(explained)?;
        return dump(args, &joint, settings);
    };
    let mut session = fitzroy_session::sample(&model, &data)
        .name(inputs::name(path))
        .settings(settings)
        .threads_after(machine.threads)
        .chosen(chosen)
        .destination(flags.destination(&args.output))
        .publish_every(flags.publish_every)
        .face(flags.face(common))
        .clock(clock)
        .bind()
        .map_err(explained)?;
    session.settle()?;
    if flags.dry_run {
        let shown = path.display().to_string();
        return chains::dry_run(&shown, &session.subject, &session.settings, common);
    }
    if !session.open()? {
        return Ok(Outcome::Done);
    }
    if !common.quiet {
        show::header(path, &session);
        let warnings = model.warnings().iter();
        warnings.for_each(|w| terminal::note(format_args!("warning: {w}")));
        let missing = session.subject.binding().missing_notes();
        missing
            .iter()
            .for_each(|note| terminal::note(format_args!("missing     {note}")));
    }
    drawn(args, session, clock)
}

/// Draws, prints, saves, in the folder that is open.
fn drawn<S: Sampled>(args: &SampleArgs, mut session: Session<S>, clock: Clock) -> Result<Outcome> {
    let (flags, common) = (&args.chains, &args.common);
    let (outcome, _progress) = match session.draw(&*interrupt::catch()?)? {
        Ended::Drawn(outcome, progress) => (outcome, progress),
        Ended::Early => return Ok(Outcome::Interrupted),
        Ended::Unwritable(_) => return Ok(Outcome::NotPassed),
    };
    let mut fit = session.examine(outcome, |_, _| {})?;
    session.save(&fit);
    if common.json {
        let mut document = fit.document.clone();
        document["timing_s"]["started"] = json!(clock.started());
        json::print(&document);
    } else {
        if !common.quiet {
            let chosen = &session.chosen;
            let done = [chosen.made_text(), chosen.used_text()];
            done.into_iter().flatten().for_each(terminal::note);
        }
        show::result(&fit, common);
    }
    // After the table, for which people wait.
    let reported = flags.no_report || session.report(&fit);
    let told = reported && !flags.no_report && !common.quiet && !common.json;
    if let Some(folder) = fit.folder.as_deref().filter(|_| told) {
        let path = folder.join("report.html");
        terminal::out(format_args!("wrote {}", path.display()));
    }
    session.finish(&mut fit)?;
    Ok(Outcome::of(&fit, reported, flags.strict))
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
fn dump(args: &SampleArgs, joint: &Joint, mut settings: Settings) -> Result<Outcome> {
    settings.precision = args.common.asked_precision().unwrap_or_default();
    settings.device = kernel_device(args.common.team()?);
    let text = kernel_text(joint, &settings)?;
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
