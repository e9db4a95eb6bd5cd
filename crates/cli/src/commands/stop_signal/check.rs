//! `fitzroy stop-signal check`.

use super::shared::{Likelihood, Reading, text};
use crate::args::{Common, Output};
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::Args;
use fitzroy::diagnose::{Diagnosis, SummaryOptions, diagnose};
use fitzroy::draws::read_trace;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_report::draw::{Theme, png};
use fitzroy_report::figure::Style;
use fitzroy_session::stop_signal::{behaviour, estimates};
use fitzroy_stop_signal::check::{self, Check, Place, State};
use fitzroy_stop_signal::predictive::Compared;
use fitzroy_stop_signal::{data, figure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Flags of `fitzroy stop-signal check`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy stop-signal check fit --data data.csv\n  \
    fitzroy stop-signal check fit --data sim/data.csv --truth sim/true_params.json --out checked\n  \
    fitzroy stop-signal check fit --data data.csv --against fit-on-gpu\n\n\
    Exit 1 when a check failed; with --strict also when data and replicates differ. Writes\n\
    ppc.json, ppc.csv, behaviour.png and report.html into --out.")]
pub(crate) struct CheckArgs {
    /// The folder of a fit, or its trace
    fit: PathBuf,
    /// The trials it was fitted to
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// True parameters, as `simulate` writes them
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Another fit of the same data, such as one on a GPU or in another precision
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// Draws to replicate the data at
    #[arg(long, value_name = "N", default_value_t = 200)]
    replicates: usize,
    /// Exit 1 also where data and replicates differ
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    likelihood: Likelihood,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    common: Common,
}

/// Checks, prints, writes.
pub(crate) fn run(args: &CheckArgs) -> Result<Outcome> {
    let machine = args.common.threads()?;
    if args.replicates < 20 {
        let message = format!("--replicates is {}; use at least 20", args.replicates);
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let spec = args.likelihood.spec()?;
    let trace = read_trace(&args.fit)?;
    let study = data::read(&args.data, &args.reading.options(&spec)?)?;
    let options = SummaryOptions {
        threads: machine.threads,
        ..SummaryOptions::default()
    };
    let found = diagnose(&trace, &options)?;
    let n_draws = trace.group("posterior").and_then(|g| g.variables.first());
    let n_draws = n_draws.map_or(0, |v| v.shape[0] * v.shape[1]);
    let mut checks = check::sampler(&found, n_draws);
    if let Some(path) = &args.truth {
        let truth: Value = serde_json::from_str(&text(path)?)
            .map_err(|e| Error::new(ErrorKind::Data, format!("{}: {e}", path.display())))?;
        checks.extend(
            check::recovery(&trace, spec.kind, &truth).map_err(|e| e.context(path.display()))?,
        );
    }
    let (compared, scene) = behaviour(&trace, &study, &spec, args.common.seed, args.replicates)?;
    checks.extend(check::predictive(&compared));
    checks.extend(agreement(args, &found, &options)?);
    let mut folder = args
        .output
        .open("stop-signal-check", &args.common.face(30.0))?;
    let document = document(&checks);
    folder.write("ppc.json", &format!("{document:#}\n"))?;
    folder.write("ppc.csv", &csv(&compared))?;
    folder.write_bytes("behaviour.png", &png(&scene, Theme::Light, 1.5)?)?;
    let forests = estimates(&trace, &found, &spec)
        .into_iter()
        .filter(|rows| !rows.is_empty());
    let forests = forests
        .map(|rows| figure::forest(&rows, &Style::default()))
        .collect();
    let page = figure::page("Checks of a stop-signal fit", &checks, Some(scene), forests);
    folder.write("report.html", &page.html())?;
    if args.common.json {
        json::print(&document);
    } else {
        terminal::out(check::table(&checks).trim_end());
        terminal::out(format_args!("wrote {}", folder.path().display()));
    }
    folder.finish()?;
    let count = |state: State| checks.iter().filter(|c| c.state == state).count();
    let failed = count(State::Fail) > 0 || args.strict && count(State::Finding) > 0;
    Ok(if failed {
        Outcome::NotPassed
    } else {
        Outcome::Done
    })
}

/// The checks against another fit.
fn agreement(args: &CheckArgs, found: &Diagnosis, options: &SummaryOptions) -> Result<Vec<Check>> {
    let Some(other) = &args.against else {
        return Ok(check::agreement(found, None));
    };
    let theirs = diagnose(&read_trace(other)?, options)?;
    let (here, there) = (place(&args.fit)?, place(other)?);
    Ok(check::agreement(found, Some((&theirs, [&here, &there]))))
}

/// Where the fit in a folder was computed.
fn place(folder: &Path) -> Result<Place> {
    let path = folder.join("run.json");
    let run: Value = serde_json::from_str(&text(&path)?)
        .map_err(|e| Error::new(ErrorKind::Data, format!("{}: {e}", path.display())))?;
    let word = |value: &Value| value.as_str().map(String::from);
    let found = word(&run["device"]["kind"]).zip(word(&run["precision"]));
    let (device, precision) = found.ok_or_else(|| {
        let message = format!(
            "{} does not say where it was computed; give the folder of a fit",
            path.display()
        );
        Error::new(ErrorKind::Data, message)
    })?;
    Ok(Place { device, precision })
}

fn document(checks: &[Check]) -> Value {
    let one = |c: &Check| json!({"check": c.name, "state": c.state.word(), "found": c.found, "needed": c.needed});
    json!({"checks": checks.iter().map(one).collect::<Vec<_>>()})
}

fn csv(all: &[Compared]) -> String {
    let mut out = String::from("statistic,observed,median,q05,q95,p\n");
    for c in all {
        let [m, low, high] = [0.5, 0.05, 0.95].map(|q| c.quantile(q));
        out += &format!(
            "\"{}\",{},{m},{low},{high},{}\n",
            c.statistic.name(),
            c.observed,
            c.p()
        );
    }
    out
}
