//! `fitzroy stop-signal simulate`.

use super::shared::{of_stopping, text};
use crate::args::{Common, Output};
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::Args;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_stop_signal::config::{Config, default_of};
use fitzroy_stop_signal::model::Kind;
use fitzroy_stop_signal::simulate::simulate;
use serde_json::json;
use std::path::PathBuf;

/// Flags of `fitzroy stop-signal simulate`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy stop-signal simulate --subjects 10 --seed 1 --out sim\n  \
    fitzroy stop-signal simulate --config population.toml --subjects 100 --out study\n  \
    fitzroy stop-signal simulate --model ex-gaussian --subjects 10 --out race\n\n\
    Writes data.csv, true_params.json and config.toml. The same configuration and seed give the\n\
    same bytes, and a subject does not depend on how many there are.")]
pub(crate) struct SimulateArgs {
    /// Population and task, as TOML or JSON [default: what comes along, written to config.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The model, where no --config says it
    #[arg(long, value_name = "MODEL", value_parser = of_stopping(), conflicts_with = "config")]
    model: Option<Kind>,
    /// Subjects
    #[arg(long, value_name = "N", default_value_t = 10)]
    subjects: usize,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

/// Simulates and writes.
pub(crate) fn run(args: &SimulateArgs) -> Result<Outcome> {
    if args.subjects == 0 || args.subjects > 1_000_000 {
        let message = format!("--subjects is {}; use 1 to 1000000", args.subjects);
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let source = match &args.config {
        Some(path) => text(path)?,
        None => default_of(args.model.unwrap_or(Kind::Rdex)).to_string(),
    };
    let config = Config::parse(&source).map_err(|error| match &args.config {
        Some(path) => error.context(path.display()),
        None => error,
    })?;
    let mut folder = args
        .output
        .open("stop-signal-data", &args.common.face(30.0))?;
    let seed = args.common.seed;
    let made = simulate(&config, args.subjects, seed);
    folder.write("data.csv", &made.csv())?;
    folder.write("config.toml", &source)?;
    folder.write(
        "true_params.json",
        &format!("{:#}\n", made.truth(&config, seed)),
    )?;
    let trials: usize = made.trials.iter().map(Vec::len).sum();
    if args.common.json {
        json::print(&json!({
            "out": folder.path().display().to_string(), "seed": seed,
            "subjects": args.subjects, "trials": trials,
        }));
    } else {
        terminal::out(format_args!(
            "wrote {}: {} subjects, {trials} trials, seed {seed}",
            folder.path().join("data.csv").display(),
            args.subjects,
        ));
    }
    folder.finish()?;
    Ok(Outcome::Done)
}
