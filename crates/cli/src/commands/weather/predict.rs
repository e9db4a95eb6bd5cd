//! `fitzroy weather predict`.

use super::common::{Data, Machine};
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::Args;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::nn::Pool;
use fitzroy_weather::data::Splits;
use fitzroy_weather::evaluate::forecast;
use fitzroy_weather::files::{GridFile, GridHeader, GridVariable};
use fitzroy_weather::time::Time;
use fitzroy_weather::train::{Problem, find};
use serde_json::json;
use std::path::PathBuf;

/// Flags of `fitzroy weather predict`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy weather predict --data synthetic.nc --checkpoint \
    run/best.safetensors --initial-time 2000-10-01 --num-steps 8 --output forecast.nc\n\n\
    The boundary of the region is forced with later records, of --data or of --boundary."
)]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    data: Data,
    /// Checkpoint, or a folder of them
    #[arg(long, value_name = "FILE|DIR")]
    checkpoint: PathBuf,
    /// Time of the last known state
    #[arg(long, value_name = "DATE", required_unless_present = "target_time")]
    initial_time: Option<String>,
    /// Steps to forecast
    #[arg(long, value_name = "N", default_value_t = 1)]
    num_steps: usize,
    /// Time to forecast, one step ahead, in place of --initial-time
    #[arg(long, value_name = "DATE", conflicts_with_all = ["initial_time", "num_steps"])]
    target_time: Option<String>,
    /// More files, with the states at the boundary
    #[arg(long, value_name = "FILE", num_args = 1..)]
    boundary: Vec<PathBuf>,
    /// Accepted for old job files: the scales lie in the checkpoint
    #[arg(long, value_name = "FILE", hide = true)]
    normalizer: Option<PathBuf>,
    /// The file to write
    #[arg(long, visible_alias = "out", value_name = "FILE.nc")]
    output: PathBuf,
    #[command(flatten)]
    machine: Machine,
}

/// Forecasts and writes.
pub(crate) fn run(args: &PredictArgs) -> Result<Outcome> {
    let threads = args.machine.threads()?;
    args.machine.warn();
    let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
    if args.num_steps == 0 {
        return usage("--num-steps 0: needs at least 1".into());
    }
    if args.output.exists() {
        let shown = args.output.display();
        return usage(format!(
            "--output {shown}: the file exists; choose another name"
        ));
    }
    let found = find(&args.checkpoint)?;
    found.notes.iter().for_each(terminal::note);
    let archive = args.data.read_for(&found.checkpoint, &args.boundary)?;
    let step_s = archive.step_s;
    let start = match (&args.initial_time, &args.target_time) {
        (Some(text), _) => Time::parse(text).map_err(|e| e.context("--initial-time"))?,
        (None, Some(text)) => {
            let target = Time::parse(text).map_err(|e| e.context("--target-time"))?;
            Time(target.0 - step_s)
        }
        (None, None) => return usage("--initial-time is missing".into()),
    };
    let Ok(t) = archive.times.binary_search(&start) else {
        let (first, last) = (
            archive.times[0].iso(),
            archive.times[archive.times.len() - 1].iso(),
        );
        return usage(format!(
            "there is no record of {}; the data go from {first} to {last}",
            start.iso()
        ));
    };
    let splits = Splits::whole(&archive);
    let problem = Problem::restore(archive, splits, &found.checkpoint)?;
    if args.num_steps > 1 && !problem.is_forecast() {
        return usage(
            "--num-steps above 1: a rain model cannot be carried on, for it forecasts rain alone"
                .into(),
        );
    }
    let mut pool = Pool::new(threads);
    let parameters = found.checkpoint.best_parameters();
    let states = forecast(&problem, parameters, &mut pool, t, args.num_steps)?;
    let times: Vec<Time> = (1..=args.num_steps)
        .map(|k| Time(start.0 + k as i64 * step_s))
        .collect();
    let attributes = [
        ("initial_time", start.iso()),
        ("forecast_reference_time", start.iso()),
        ("checkpoint", found.path.display().to_string()),
        (
            "checkpoint_step",
            found.checkpoint.progress.step.to_string(),
        ),
        ("source", format!("Fitzroy {}", env!("CARGO_PKG_VERSION"))),
    ];
    let attributes = attributes.map(|(name, value)| (name.to_string(), value));
    write(args, &problem, attributes.to_vec(), (&times, &states))?;
    let last = times[times.len() - 1].iso();
    if args.machine.json {
        json::print(&json!({
            "file": args.output.display().to_string(), "initial_time": start.iso(),
            "steps": args.num_steps, "last_time": last,
            "checkpoint": found.path.display().to_string(),
        }));
    } else {
        terminal::out(format_args!(
            "wrote {}: {} steps from {} to {last}",
            args.output.display(),
            args.num_steps,
            start.iso()
        ));
    }
    Ok(Outcome::Done)
}

/// A static field of the data, so that a forecast can be read as data itself.
fn static_field((name, values): &(String, Vec<f32>)) -> (GridVariable, Vec<f32>) {
    let variable = GridVariable {
        name: name.clone(),
        units: String::new(),
        long_name: format!("{name} of the data"),
        has_levels: false,
    };
    (variable, values.clone())
}

/// Writes the forecast channels, whole variables at a time; what is not forecast is left out.
fn write(
    args: &PredictArgs,
    problem: &Problem,
    attributes: Vec<(String, String)>,
    (times, states): (&[Time], &[Vec<f64>]),
) -> Result<()> {
    let archive = &problem.archive;
    let n_channels = archive.channels.len();
    let mut names: Vec<&str> = Vec::new();
    let mut levels: Vec<f64> = Vec::new();
    for channel in problem.target_channels() {
        if !names.contains(&channel.variable.as_str()) {
            names.push(&channel.variable);
        }
        if let Some(level) = channel.level.filter(|p| !levels.contains(p)) {
            levels.push(level);
        }
    }
    let of = |name: &str| -> Vec<usize> {
        let all = problem.targets_in_order().iter().copied();
        all.filter(|&k| archive.channels[k].variable == name)
            .collect()
    };
    let variables = names.iter().map(|name| {
        let first = &archive.channels[of(name)[0]];
        GridVariable {
            name: name.to_string(),
            units: first.units.clone(),
            long_name: format!("forecast of {name}"),
            has_levels: first.level.is_some(),
        }
    });
    let header = GridHeader {
        title: "Forecast of a graph network by Fitzroy".into(),
        attributes,
        times: times.to_vec(),
        levels: levels.clone(),
        lat: archive.lat.clone(),
        lon: archive.lon.clone(),
        variables: variables.collect(),
        statics: archive.statics.iter().map(static_field).collect(),
        compression: 4,
    };
    let mut inside = vec![false; archive.n_nodes()];
    problem
        .outputs()
        .iter()
        .for_each(|&node| inside[node as usize] = true);
    let mut file = GridFile::create(&args.output, header)?;
    for (record, state) in states.iter().enumerate() {
        for (number, name) in names.iter().enumerate() {
            let mut values = Vec::new();
            for channel in of(name) {
                values.extend((0..archive.n_nodes()).map(|node| {
                    let x = state[node * n_channels + channel] as f32;
                    if inside[node] { x } else { f32::NAN }
                }));
            }
            file.write(record, number, &values)?;
        }
    }
    file.finish()
}
