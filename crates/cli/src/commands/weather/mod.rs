//! `fitzroy weather`: a file per subcommand.

mod boxes;
mod common;
mod evaluate;
mod export;
mod flags;
mod inspect;
mod predict;
mod preprocess;
mod synth;
mod train;
mod tune;

pub(crate) use evaluate::score;
pub(crate) use export::export;
pub(crate) use predict::forecast;
pub(crate) use train::train;
pub(crate) use tune::{trials, tune};

use crate::exit::Outcome;
use clap::{Args, Subcommand};
use fitzroy::Result;

/// Flags of `fitzroy weather`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy weather synth --days 300 --out synthetic.nc\n  \
    fitzroy weather train --data synthetic.nc --latent-size 64 --num-gnn-layers 4 --out run\n  \
    fitzroy weather evaluate --data synthetic.nc --checkpoint run/best.safetensors\n\n\
    From synthetic data to a scored forecast: docs/weather.md."
)]
pub(crate) struct WeatherArgs {
    #[command(subcommand)]
    command: WeatherCommand,
}

/// What to do.
#[derive(Subcommand)]
enum WeatherCommand {
    /// Makes a synthetic atmosphere to try things on
    Synth(synth::SynthArgs),
    /// Brings an archive of text files into one NetCDF file
    Preprocess(preprocess::PreprocessArgs),
    /// Says what archives hold, and what of it would be used
    Inspect(inspect::InspectArgs),
    /// Trains a graph network, or goes on with it
    Train(Box<flags::TrainArgs>),
    /// Trains with every combination of some settings, and says which does best
    Tune(tune::TuneArgs),
    /// Scores a model beside persistence, climatology and a linear model
    Evaluate(Box<evaluate::EvaluateArgs>),
    /// Makes a forecast and writes it as NetCDF
    Predict(Box<predict::PredictArgs>),
    /// Writes one step of a trained forecast as a model of ONNX, for other programs
    Export(Box<export::ExportArgs>),
}

/// Runs the subcommand.
pub(crate) fn run(args: &WeatherArgs) -> Result<Outcome> {
    match &args.command {
        WeatherCommand::Synth(args) => synth::run(args),
        WeatherCommand::Preprocess(args) => preprocess::run(args),
        WeatherCommand::Inspect(args) => inspect::run(args),
        WeatherCommand::Train(args) => train::run(args),
        WeatherCommand::Tune(args) => tune::run(args),
        WeatherCommand::Evaluate(args) => evaluate::run(args),
        WeatherCommand::Predict(args) => predict::run(args),
        WeatherCommand::Export(args) => export::run(args),
    }
}
