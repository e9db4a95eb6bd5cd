//! `fitzroy weather predict`.

use super::common::{Data, Machine, Scratch};
use crate::exit::Outcome;
use crate::requests::{Words, matches};
use crate::{face, json, terminal};
use clap::{Args, FromArgMatches};
use fitzroy::Result;
use fitzroy_session::face::Face;
use fitzroy_session::weather::{Forecast, Forecasting};
use fitzroy_weather::time::Time;
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
    #[command(flatten)]
    scratch: Scratch,
    /// Checkpoint, or a folder of them; several, or a folder of members (train --members), are an
    /// ensemble
    #[arg(long, value_name = "FILE|DIR", required = true, num_args = 1..)]
    checkpoint: Vec<PathBuf>,
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
    /// Draw maps of the start and of three steps beside the file: forecast-maps.png and .svg
    #[arg(long)]
    visualizations: bool,
    /// Variables or channels to draw, as TEM or "TEM 850", or all [default: the first six channels]
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "visualizations"
    )]
    channels: Vec<String>,
    /// The file to write
    #[arg(long, visible_alias = "out", value_name = "FILE.nc")]
    output: PathBuf,
    #[command(flatten)]
    machine: Machine,
}

impl PredictArgs {
    /// Forecasts and writes.
    fn forecast(&self, face: &dyn Face) -> Result<Forecast> {
        let date = |name: &str, text: &Option<String>| {
            let parsed = text.as_deref().map(Time::parse).transpose();
            parsed.map_err(|error| error.context(name))
        };
        let mut data = self.data.data.clone();
        data.extend_from_slice(&self.boundary);
        let forecasting = Forecasting {
            data: &data,
            reading: self.data.reading()?,
            scratch: self.scratch.scratch.as_deref(),
            checkpoints: &self.checkpoint,
            start: date("--initial-time", &self.initial_time)?,
            target: date("--target-time", &self.target_time)?,
            n_steps: self.num_steps,
            output: &self.output,
            pictures: self.visualizations,
            channels: &self.channels,
            threads: self.machine.host_threads()?,
            gpu: self.machine.gpu_of_forecasts()?,
        };
        forecasting.run(face)
    }
}

/// Forecasts by settings, see [`crate::requests::forecast`].
pub(crate) fn forecast(words: &Words, face: &dyn Face) -> Result<(Forecast, PathBuf)> {
    let parser = PredictArgs::augment_args(clap::Command::new("predict"));
    let mut found = matches(parser, words, &[])?;
    let args = PredictArgs::from_arg_matches_mut(&mut found);
    let args = args.expect("matches of the same flags");
    Ok((args.forecast(face)?, args.output))
}

/// Forecasts, writes and says so.
pub(crate) fn run(args: &PredictArgs) -> Result<Outcome> {
    args.machine.warn();
    let made = args.forecast(&*face::notes())?;
    let (start, last) = (made.start.iso(), made.times[made.times.len() - 1].iso());
    let shown = |path: &PathBuf| path.display().to_string();
    let (file, steps) = (args.output.display().to_string(), args.num_steps);
    if args.machine.json {
        json::print(&json!({
            "file": file, "initial_time": start, "steps": steps, "last_time": last,
            "checkpoint": shown(&made.checkpoints[0]), "device": made.device,
            "checkpoints": made.checkpoints.iter().map(shown).collect::<Vec<String>>(),
            "maps": made.pictures.iter().map(shown).collect::<Vec<String>>(),
        }));
    } else {
        terminal::out(format_args!(
            "wrote {file}: {steps} steps from {start} to {last}"
        ));
        for picture in &made.pictures {
            terminal::out(format_args!("wrote {}", picture.display()));
        }
    }
    Ok(Outcome::Done)
}
