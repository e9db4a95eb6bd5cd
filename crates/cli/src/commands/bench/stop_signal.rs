//! `fitzroy bench stop-signal`.

use super::write;
use crate::args::Common;
use crate::exit::Outcome;
use crate::{interrupt, json, terminal};
use clap::{Args, ValueEnum};
use fitzroy::diagnose::SummaryOptions;
use fitzroy::fit::sample::{Init, Silent};
use fitzroy::model::Model;
use fitzroy::model::joint::{Coordinates, Joint};
use fitzroy::run::{self, Caller, Settings};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::cpu::{Engine, Function};
use fitzroy_device::lanes::Level;
use fitzroy_device::probe;
use fitzroy_session::clock::Clock;
use fitzroy_stop_signal::config::{Config, DEFAULT};
use fitzroy_stop_signal::data::{self, Options, Study};
use fitzroy_stop_signal::model::Spec;
use fitzroy_stop_signal::simulate::simulate;
use fitzroy_stop_signal::start;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Flags of `fitzroy bench stop-signal`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy bench stop-signal --subjects 10,20\n  \
    fitzroy bench stop-signal --subjects 100 --gradient-only --threads 1 --json\n\n\
    Simulated studies of 360 trials a subject, 60 of them stop trials. Before a time is reported\n\
    the log density is compared with one by an integral of more nodes. The last columns of the CSV\n\
    file name machine and commit."
)]
pub(crate) struct StopSignalBench {
    /// Subjects of each study [default: those of the preset]
    #[arg(long, value_name = "N,N", value_delimiter = ',')]
    subjects: Vec<usize>,
    /// How much: 5 subjects with 2 × (200 + 200) draws, 10 to 100 with 4 × (500 + 500), or 10 to
    /// 200 with 4 × (1000 + 1000)
    #[arg(long, value_enum, value_name = "PRESET", default_value = "quick")]
    preset: Preset,
    /// Repeats of each size [default: 1 for quick, else 5, and 3 for 200 subjects]
    #[arg(long, value_name = "N")]
    repeats: Option<usize>,
    /// Time the gradient, and do not sample
    #[arg(long)]
    gradient_only: bool,
    /// A row for each size and repeat
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also write the JSON here
    #[arg(long, value_name = "FILE")]
    json_file: Option<PathBuf>,
    /// Write the data of the largest study here, for other programs
    #[arg(long, value_name = "FILE")]
    data_file: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Preset {
    Quick,
    Standard,
    Publication,
}

/// Names of the columns of the CSV file.
const COLUMNS: &[&str] = &[
    "n_subjects",
    "n_trials",
    "device",
    "precision",
    "chains",
    "tune",
    "draws",
    "repeat",
    "gradients",
    "ns_per_gradient",
    "compile_s",
    "warmup_s",
    "sampling_s",
    "total_s",
    "rhat_max",
    "min_ess_bulk",
    "min_ess_per_s",
    "divergences",
    "peak_ram_mb",
    "peak_gpu_mb",
    "commit",
];

/// Measures and prints.
pub(crate) fn run(args: &StopSignalBench) -> Result<Outcome> {
    let machine = args.common.machine()?;
    let (sizes, chains, draws) = match args.preset {
        Preset::Quick => (vec![5], 2, 200),
        Preset::Standard => (vec![10, 20, 50, 100], 4, 500),
        Preset::Publication => (vec![10, 20, 50, 100, 200], 4, 1000),
    };
    let sizes = if args.subjects.is_empty() {
        sizes
    } else {
        args.subjects.clone()
    };
    if sizes.contains(&0) || args.repeats == Some(0) {
        let message = "--subjects and --repeats must be above 0";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let stop = interrupt::catch()?;
    let mut rows: Vec<Value> = Vec::new();
    for &n in &sizes {
        let (study, csv) = study(n, args.common.seed)?;
        if let Some(path) = &args.data_file {
            write(path, &csv)?;
        }
        let repeats = match (args.repeats, args.preset) {
            (Some(r), _) => r,
            (None, Preset::Quick) => 1,
            (None, _) if n >= 200 => 3,
            (None, _) => 5,
        };
        for repeat in 0..repeats {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let settings = settings(
                chains,
                draws,
                machine.threads,
                args.common.seed + repeat as u64,
            );
            let row = one(&study, &settings, repeat, args.gradient_only)?;
            if !args.common.json {
                terminal::out(sentence(&row, args.gradient_only));
            }
            rows.push(row);
        }
    }
    let cpu = probe::cpu();
    let document = json!({
        "problem": "stop-signal", "cpu": cpu.model, "simd": probe::level_name(cpu.simd),
        "threads": machine.threads, "rows": rows,
    });
    if let Some(path) = &args.json_file {
        write(path, &format!("{document:#}\n"))?;
    }
    if let Some(path) = &args.csv {
        write(path, &table(&rows))?;
    }
    if args.common.json {
        json::print(&document);
    }
    Ok(if stop.load(Ordering::Relaxed) {
        Outcome::Interrupted
    } else {
        Outcome::Done
    })
}

fn study(n: usize, seed: u64) -> Result<(Study, String)> {
    let csv = simulate(&Config::parse(DEFAULT)?, n, seed).csv();
    Ok((
        data::parse(csv.as_bytes(), "simulated", &Options::default())?,
        csv,
    ))
}

fn settings(chains: usize, draws: usize, threads: usize, seed: u64) -> Settings {
    let mut settings = Settings {
        rewrites: fitzroy::model::joint::Rewrites::NONE,
        ..Settings::default()
    };
    let sampler = &mut settings.sampler;
    (sampler.chains, sampler.tune, sampler.draws) = (chains, draws, draws);
    (sampler.threads, sampler.seed) = (threads, seed);
    start::suit(&Spec::default(), sampler);
    settings
}

fn joint(study: &Study, settings: &Settings, nodes: usize) -> Result<Joint> {
    let spec = Spec {
        nodes,
        ..Spec::default()
    };
    run::bind(&Model::parse(&spec.text())?, &spec.data(study), settings)
}

/// Value and slopes, compiled.
struct Gradient {
    function: Function,
    point: Vec<f64>,
}

impl Gradient {
    fn new(joint: &Joint, point: &[f64]) -> Result<Gradient> {
        let graphs = joint.graphs(&vec![Coordinates::NonCentred; joint.plates().len()]);
        let mut outputs = vec![graphs.density];
        outputs.extend(graphs.gradient.iter().map(|p| p.adjoint));
        // As the sampler evaluates it.
        let (level, engine) = (Level::detect(), Engine::default());
        let function =
            Function::compile_for(level, engine, &graphs.graph, &graphs.bindings, &outputs)?;
        Ok(Gradient {
            function,
            point: point.to_vec(),
        })
    }

    fn value(&self) -> f64 {
        let mut workspace = self.function.workspace();
        self.function.run(&mut workspace, &self.point);
        self.function.output(&workspace, 0)[0]
    }

    /// Median seconds of a value with its gradient, over half a second.
    fn time(&self) -> f64 {
        let mut workspace = self.function.workspace();
        let clock = Clock::start();
        let mut times = Vec::new();
        while times.len() < 21 || clock.seconds() < 0.5 {
            let start = clock.seconds();
            self.function.run(&mut workspace, &self.point);
            times.push(clock.seconds() - start);
        }
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}

/// One size, once.
fn one(study: &Study, settings: &Settings, repeat: usize, gradient_only: bool) -> Result<Value> {
    let spec = Spec::default();
    let bound = joint(study, settings, spec.nodes)?;
    let sampler = &settings.sampler;
    let points = start::points(
        &spec,
        study,
        &bound,
        &study.subjects,
        sampler.chains,
        sampler.seed,
    );
    let gradient = Gradient::new(&bound, &points[0])?;
    let value = gradient.value();
    let finer = Gradient::new(&joint(study, settings, 32)?, &points[0])?.value();
    if !((value - finer).abs() <= 1e-7 * finer.abs()) {
        let message =
            format!("the log density is {value}, with more nodes {finer}: nothing is timed");
        return Err(Error::new(ErrorKind::Numerics, message));
    }
    let ns = 1e9 * gradient.time();
    let mut row = json!({
        "n_subjects": study.subjects.len(), "n_trials": study.rows.len(), "device": "cpu",
        "precision": "f64", "repeat": repeat, "ns_per_gradient": ns, "log_density": value,
        "peak_ram_mb": peak_mb(), "commit": commit(),
    });
    if gradient_only {
        return Ok(row);
    }
    let mut settings = settings.clone();
    settings.sampler.init = Init::Points(points);
    let clock = Clock::start();
    let now = || clock.seconds();
    let never = std::sync::atomic::AtomicBool::new(false);
    let caller = Caller {
        observer: &Silent,
        stop: &never,
        now: &now,
        created_at: "",
    };
    let outcome = run::run(&bound, &settings, &caller)?;
    let options = SummaryOptions {
        threads: settings.sampler.threads,
        ..SummaryOptions::default()
    };
    let found = outcome.diagnose(&options)?;
    let total = clock.seconds();
    let t = &outcome.timing;
    let more = json!({
        "chains": settings.sampler.chains, "tune": settings.sampler.tune,
        "draws": settings.sampler.draws, "gradients": outcome.run.gradients,
        "steps_per_draw": outcome.run.mean_steps(), "warmup_gradients": outcome.run.warmup_gradients,
        "cpu_s": cpu_s(), "compile_s": t.compile, "warmup_s": t.warmup, "sampling_s": t.sampling, "total_s": total,
        "rhat_max": json::number(found.max_r_hat), "min_ess_bulk": json::number(found.min_ess_bulk),
        "min_ess_tail": json::number(found.min_ess_tail),
        "min_ess_per_s": json::number(found.min_ess_bulk / total),
        "divergences": found.divergences, "converged": found.converged(), "peak_ram_mb": peak_mb(),
    });
    if let (Value::Object(row), Value::Object(more)) = (&mut row, more) {
        row.extend(more);
    }
    Ok(row)
}

fn sentence(row: &Value, gradient_only: bool) -> String {
    let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    let mut out = format!(
        "{} subjects, {} trials: {:.3} ms a gradient",
        row["n_subjects"],
        row["n_trials"],
        number("ns_per_gradient") / 1e6
    );
    if !gradient_only {
        out += &format!(
            ", {:.1} s, R-hat {:.4}, ESS {:.0}, {} divergences, {} gradients",
            number("total_s"),
            number("rhat_max"),
            number("min_ess_bulk"),
            row["divergences"],
            row["gradients"]
        );
    }
    out
}

fn table(rows: &[Value]) -> String {
    let mut out = COLUMNS.join(",") + "\n";
    for row in rows {
        let cell = |key: &&str| match &row[*key] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out += &COLUMNS.iter().map(cell).collect::<Vec<_>>().join(",");
        out += "\n";
    }
    out
}

/// Seconds of processor time of this process, where the system tells.
fn cpu_s() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the program's name, may hold anything but ends with the last bracket.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_S)
}

/// Units of /proc on every Linux.
const TICKS_PER_S: f64 = 100.0;

/// The most memory this process has had, where the system tells.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

/// The commit of the folder, where there is one.
fn commit() -> Option<String> {
    let out = std::process::Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .output()
        .ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    (!text.trim().is_empty()).then(|| text.trim().to_string())
}
