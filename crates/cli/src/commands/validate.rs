//! `fitzroy validate`.

use super::validation_report;
use crate::args::{Common, Output};
use crate::exit::Outcome;
use crate::{interrupt, json, terminal};
use clap::Args;
use fitzroy::Result;
use fitzroy::data::{Dataset, Values};
use fitzroy::draws::write_netcdf;
use fitzroy::run::{Caller, Device};
use fitzroy::validate::{
    Card, MODEL, Second, Settings, Validation, report_text, validate, validation_json,
};
use fitzroy_device::choice::Choice;
use fitzroy_device::gpu::Gpu;
use fitzroy_session::chains::summaries;
use fitzroy_session::clock::{Clock, timestamp};
use fitzroy_session::folder::Folder;
use fitzroy_session::progress::{Board, Progress};
use fitzroy_session::{device, memory_limit};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Flags of `fitzroy validate`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy validate\n  fitzroy validate --quick --out check\n  \
    fitzroy validate --device cuda:all\n\n\
    Looks at the machine, makes a three-level data set with known truth, samples it, and checks\n\
    convergence, truth and predictions. Where there is a GPU, or with --device cuda, the same run is\n\
    made there as well and compared with that of the CPU: speed, memory, agreement. Exit 0 when\n\
    every check that applies passed, else 1. Writes report.html, trace.nc, summary.txt, summary.csv, summary.json, benchmark_report.txt,\n\
    validation.json, data.csv, model.fz, and as pictures trace_plot.png, posterior_plot.png,\n\
    forest_plot.png and performance_comparison.png."
)]
pub(crate) struct ValidateArgs {
    /// 500 + 1000 draws per chain instead of 1000 + 2000
    #[arg(long)]
    quick: bool,
    /// Groups
    #[arg(long, value_name = "N", default_value_t = 100)]
    groups: usize,
    /// Observations in each group
    #[arg(long, value_name = "N", default_value_t = 10)]
    per_group: usize,
    /// Seed of the data; an 89 % interval misses the truth in 11 of 100 data sets, and for the
    /// default all three hold it
    #[arg(long, value_name = "N", default_value_t = Settings::default().data_seed)]
    data_seed: u64,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

/// Runs the whole chain, prints every check, and saves what it made.
pub(crate) fn run(args: &ValidateArgs) -> Result<Outcome> {
    let clock = Clock::start();
    let machine = args.common.threads()?;
    let mut settings = Settings::default();
    if args.quick {
        settings = settings.quick();
    }
    settings.groups = args.groups;
    settings.per_group = args.per_group;
    settings.data_seed = args.data_seed;
    settings.run.memory_limit_bytes = memory_limit();
    settings.run.sampler.seed = args.common.seed;
    settings.run.sampler.threads = machine.threads;
    settings.second = second(&args.common)?;
    let face = args.common.face(30.0);
    let mut folder = args.output.open("validation", &face)?;

    let stop = interrupt::catch()?;
    let sampler = &settings.run.sampler;
    let board = Arc::new(Board::new(sampler.chains, sampler.tune, sampler.draws));
    let display = face.display(&board.snapshot());
    let progress = Progress::start(Arc::clone(&board), display);
    let now = || clock.seconds();
    let caller = Caller {
        observer: &*board,
        stop: &stop,
        now: &now,
        created_at: &timestamp(),
    };
    let found = validate(&settings, &caller);
    drop(progress);
    let mut found = found?;
    if found.outcome.run.interrupted || stop.load(Ordering::Relaxed) {
        terminal::note("stopped early: nothing was checked and nothing was saved");
        return Ok(Outcome::Interrupted);
    }
    let before = clock.seconds();
    save(&mut folder, &found);
    found.timing.push(("files", clock.seconds() - before));
    let before = clock.seconds();
    let reported = validation_report::write(&mut folder, &found, &validation_json(&found));
    found.timing.push(("report", clock.seconds() - before));
    let passed = found.passed();
    let report = report_text(&found);
    let verdict = if passed { "PASS" } else { "FAIL" };
    folder.try_write(
        "benchmark_report.txt",
        &format!("{report}\nresult: {verdict}\n"),
    );
    let document = validation_json(&found);
    folder.try_write("validation.json", &format!("{document:#}\n"));
    folder.try_write("run.json", &format!("{document:#}\n"));
    if args.common.json {
        json::print(&document);
    } else {
        if !args.common.quiet {
            terminal::out(&report);
            terminal::out(format_args!("wrote {}", folder.path().display()));
        }
        terminal::out(format_args!("result: {verdict}"));
    }
    let complete = folder.is_complete();
    folder.finish()?;
    Ok(if passed && reported && complete {
        Outcome::Done
    } else {
        Outcome::NotPassed
    })
}

/// The GPUs that the run is repeated on: those asked for, or the best that can be used.
///
/// # Errors
/// Those of [`fitzroy_session::device::Request::asked`], or such a GPU cannot be used.
fn second(common: &Common) -> Result<Second> {
    let places = common.places();
    let precision = common.asked_precision();
    let gpus = match common.request()?.asked()? {
        Choice::Gpu(number) => vec![device::open(&places, number, precision)?.0],
        Choice::Gpus(several) => device::open_several(&places, several)?.0,
        Choice::Cpu => return Ok(Second::No("--device cpu was asked for".into())),
        Choice::Auto => match device::best(&places, precision) {
            Ok((gpu, _)) => vec![gpu],
            Err(trouble) => {
                return Ok(Second::No(format!("{trouble}; {}", trouble.remedy())));
            }
        },
    };
    let precision = precision.unwrap_or_else(|| device::precision_of(&gpus));
    Ok(Second::On(Card {
        label: device::label_of(&gpus),
        name: device::name_of(&gpus),
        precision,
        used: gpus.iter().map(Gpu::used).collect(),
        device: Device::several(gpus.into_iter().map(|gpu| Device::gpu(gpu, precision))),
    }))
}

/// Draws, summaries, data and model.
fn save(folder: &mut Folder, found: &Validation) {
    let written = write_netcdf(folder.file("trace.nc"), &found.outcome.trace);
    folder.attempted(written);
    summaries(folder, "summary", &found.diagnosis);
    folder.try_write("data.csv", &table(&found.data));
    folder.try_write("model.fz", MODEL);
}

/// The data as CSV, so that the model can be run on them again.
fn table(data: &Dataset) -> String {
    let column = |name: &str| match data.get(name).map(|a| &a.values) {
        Some(Values::Real(v)) => v.clone(),
        _ => Vec::new(),
    };
    let (group, y) = (column("group"), column("y"));
    let mut out = String::from("group,y\n");
    for (group, y) in group.iter().zip(&y) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{group},{y:?}");
    }
    out
}
