//! `fitzroy predict MODEL TRACE`.

use super::{files, inputs};
use crate::args::Common;
use crate::exit::Outcome;
use crate::progress::Style;
use crate::tables::TableFlags;
use crate::{face, json, terminal};
use clap::Args;
use fitzroy::diagnose::{Interval, StatisticsOptions, Summary, SummaryOptions, summary};
use fitzroy::draws::{Trace, write_netcdf};
use fitzroy::report::{TextOptions, summary_csv, summary_json, summary_table};
use fitzroy::run::{Caller, Settings};
use fitzroy::{Error, Result};
use fitzroy_session::clock::timestamp;
use fitzroy_session::traces::thinned;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Flags of `fitzroy predict`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy predict growth.fz growth-1 --data tomorrow.csv\n  \
    fitzroy predict growth.fz growth-1 x=new.csv --set limit=10 --out new.nc\n  \
    fitzroy predict growth.fz growth-1 --data other-fields.csv --redraw field\n  \
    fitzroy predict growth.fz growth-1 --data held-out.csv --log-likelihood\n\n\
    Observed variables that the data do not hold are predicted, once for each draw. Groups that were fitted keep their \
    labels, so that the data may hold some of them, in any order.")]
pub(crate) struct PredictArgs {
    /// The model that was fitted, a .fz file
    model: PathBuf,
    /// Its draws: the folder of a run, or a trace of Fitzroy or ArviZ
    draws: PathBuf,
    /// One array from a file, as NAME=FILE
    #[arg(value_name = "NAME=FILE")]
    bindings: Vec<String>,
    /// A file with new data, as of `sample`; may be given several times
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    /// A number or a list, as NAME=VALUE; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Parameters that are drawn from their priors given all they depend on, as a,b,c: of groups that were not
    /// fitted
    #[arg(long, value_name = "VAR,...", value_delimiter = ',')]
    redraw: Vec<String>,
    /// Keep how likely observed data are that are given: the score of data that were held out
    #[arg(long)]
    log_likelihood: bool,
    /// Probability inside the interval
    #[arg(long, value_name = "P", default_value_t = 0.89)]
    ci_prob: f64,
    /// The file: .nc has all predictions (for ArviZ), .csv a row for each with its mean and interval
    /// [default: predictions.nc in the folder of the run, or NAME-predictions.nc beside the trace]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    tables: TableFlags,
}

/// Reads model, draws and data, predicts, prints, saves.
pub(crate) fn run(args: &PredictArgs) -> Result<Outcome> {
    let common = &args.common;
    let machine = common.machine()?;
    let out = out(args)?;
    let model = inputs::model(&args.model)?;
    let tables = args.tables.options();
    let data = inputs::data(&args.data, &args.bindings, &args.set, &tables, common.quiet)?;
    let face = face::terminal(common.quiet, Style::Hidden);
    let draws = thinned(&args.draws, &*face)?;
    let mut settings = Settings {
        log_likelihood: args.log_likelihood,
        ..Settings::default()
    };
    settings.sampler.seed = common.seed;
    settings.sampler.threads = machine.threads;
    let created_at = timestamp();
    let caller = Caller {
        created_at: &created_at,
        ..Caller::silent()
    };
    let redraw: Vec<&str> = args.redraw.iter().map(String::as_str).collect();
    let trace = fitzroy::run::predict(&model, &draws, &data, &redraw, &settings, &caller)
        .map_err(|error| error.context(args.model.display()))?;
    let found = summary(&trace, &options(args, machine.threads))?;
    write(&out, &trace, &found)?;
    show(args, &found, &out);
    Ok(Outcome::Done)
}

/// Rows of the table on the terminal.
const ROWS: usize = 20;

/// The file to write, which must not be there, and its kind.
fn out(args: &PredictArgs) -> Result<PathBuf> {
    let out = match &args.out {
        Some(path) => path.clone(),
        None => files::beside(&args.draws, "predictions", "nc"),
    };
    if !is_table(&out) && out.extension().is_none_or(|ending| ending != "nc") {
        let message = format!("--out: {} ends neither in .nc nor in .csv", out.display());
        return Err(Error::usage(message));
    }
    files::check_free(&out, args.overwrite)?;
    Ok(out)
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "csv")
}

fn options(args: &PredictArgs, threads: usize) -> SummaryOptions {
    SummaryOptions {
        statistics: StatisticsOptions {
            ci_prob: args.ci_prob,
            ci_kind: Interval::Hdi,
            ..StatisticsOptions::default()
        },
        group: "predictions".into(),
        threads,
        ..SummaryOptions::default()
    }
}

fn write(out: &Path, trace: &Trace, found: &Summary) -> Result<()> {
    match is_table(out) {
        true => files::write(out, summary_csv(found).as_bytes()),
        false => write_netcdf(out, trace),
    }
}

/// Prints the first predictions, and where all are.
fn show(args: &PredictArgs, found: &Summary, out: &Path) {
    if args.common.json {
        let document = json!({
            "file": out.display().to_string(),
            "predictions": summary_json(found),
        });
        json::print(&document);
        return;
    }
    if !args.common.quiet {
        let rows = found.rows.iter().take(ROWS).cloned().collect();
        let first = Summary {
            rows,
            ..found.clone()
        };
        terminal::out(summary_table(&first, &TextOptions::default()).trim_end());
        let more = found.rows.len() - first.rows.len();
        if more > 0 {
            terminal::out(format_args!("… {more} more in {}", out.display()));
        }
    }
    terminal::out(format_args!("wrote {}", out.display()));
}
