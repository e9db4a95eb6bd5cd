//! `fitzroy weather synth`.

use crate::args::Common;
use crate::exit::Outcome;
use crate::progress::Style;
use crate::{interrupt, json, terminal};
use clap::Args;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_session::clock::Clock;
use fitzroy_weather::synth::{Settings, generate};
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Flags of `fitzroy weather synth`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy weather synth --days 300 --out synthetic.nc\n  \
    fitzroy weather synth --grid 32 --days 60 --levels 5 --out small.nc\n\n\
    Two-layer quasi-geostrophic weather with moisture and rain, cut out of a larger periodic\n\
    domain and written as CF NetCDF-4. The same seed gives the same bytes."
)]
pub(crate) struct SynthArgs {
    /// Points along each side of the periodic domain of 10,240 km: a power of two
    #[arg(long, value_name = "N", default_value_t = 64)]
    grid: usize,
    /// Days to write
    #[arg(long, value_name = "DAYS", default_value_t = 300.0)]
    days: f64,
    /// Days to run before the first record
    #[arg(long, value_name = "DAYS", default_value_t = 120.0)]
    spinup: f64,
    /// Hours between records
    #[arg(long, value_name = "HOURS", default_value_t = 6.0)]
    step_hours: f64,
    /// Pressure levels, 2 to 11
    #[arg(long, value_name = "N", default_value_t = 2)]
    levels: usize,
    /// Southern edge of the window, degrees
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 24.0,
        allow_negative_numbers = true
    )]
    lat_min: f64,
    /// Northern edge
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 66.0,
        allow_negative_numbers = true
    )]
    lat_max: f64,
    /// Western edge
    #[arg(long, value_name = "DEG", default_value_t = -24.0, allow_negative_numbers = true)]
    lon_min: f64,
    /// Eastern edge
    #[arg(
        long,
        value_name = "DEG",
        default_value_t = 24.0,
        allow_negative_numbers = true
    )]
    lon_max: f64,
    /// Spacing of the written grid, degrees
    #[arg(long, value_name = "DEG", default_value_t = 1.5)]
    resolution: f64,
    /// Seconds of a step of the flow [default: 600 at 64 points, less on finer grids]
    #[arg(long, value_name = "SECONDS")]
    dt: Option<f64>,
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "synthetic.nc")]
    out: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    common: Common,
}

/// Generates and writes.
pub(crate) fn run(args: &SynthArgs) -> Result<Outcome> {
    args.common.device()?.require_cpu()?;
    let clock = Clock::start();
    if args.out.exists() && !args.overwrite {
        let message = format!(
            "--out {}: the file exists; choose another name or replace it with --overwrite",
            args.out.display()
        );
        return Err(Error::new(ErrorKind::Io, message));
    }
    let settings = Settings {
        grid: args.grid,
        days: args.days,
        spinup_days: args.spinup,
        step_hours: args.step_hours,
        levels: args.levels,
        lat: (args.lat_min, args.lat_max),
        lon: (args.lon_min, args.lon_max),
        resolution: args.resolution,
        dt_s: args.dt,
        seed: args.common.seed,
    };
    let stop = interrupt::catch_with("stopping: nothing will be written")?;
    let shown = args.common.progress(30.0) != Style::Hidden;
    let mut next_s = 5.0;
    let mut progress = |done: f64, total: f64| {
        if shown && clock.seconds() > next_s {
            next_s = clock.seconds() + 5.0;
            let share = 100.0 * done / total;
            terminal::note(format_args!("day {done:.0} of {total:.0} ({share:.0} %)"));
        }
        !stop.load(Ordering::Relaxed)
    };
    let Some(made) = generate(&settings, &args.out, &mut progress)? else {
        terminal::note("stopped early: nothing was saved");
        return Ok(Outcome::Interrupted);
    };
    let seconds = clock.seconds();
    if args.common.json {
        json::print(&json!({
            "file": args.out.display().to_string(),
            "seed": args.common.seed,
            "records": made.n_times,
            "window": [made.window.0, made.window.1],
            "levels_hpa": made.levels,
            "courant": json::number(made.courant),
            "seconds": seconds,
        }));
    } else {
        let levels: Vec<String> = made.levels.iter().map(|p| format!("{p}")).collect();
        terminal::out(format_args!(
            "wrote {}: {} records of {} x {} points at {} hPa, seed {}, {seconds:.1} s",
            args.out.display(),
            made.n_times,
            made.window.0,
            made.window.1,
            levels.join(", "),
            args.common.seed,
        ));
    }
    Ok(Outcome::Done)
}
