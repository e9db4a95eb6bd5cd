//! `fitzroy bench curve-fit --model FORMULA DATA`: a fit of one's own, timed beside SciPy and lmfit.

use super::curve_fit::time;
use crate::args::Common;
use crate::commands::curve_fit::pairs::{bounds, texts, values};
use crate::exit::Outcome;
use crate::tables::{self, TableFlags};
use crate::{json, terminal};
use clap::Args;
use fitzroy::data::DataFile;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::fit::{Estimate, Kind};
use fitzroy_curve_fit::report::{grouped, significant};
use fitzroy_curve_fit::source::{Missing, Request, SigmaOf, assemble};
use fitzroy_curve_fit::{CurveFit, Data, Formula, Options, Sigma};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The peers' side.
const SCRIPT: &str = include_str!("peers.py");
/// Rows that all runs of a peer read, as a rule, and the least and greatest number of runs.
const PEER_ROWS: usize = 200_000;
const PEER_RUNS: (usize, usize) = (5, 101);
/// Relative difference up to which two sums of squares are one answer; SciPy's limits are 1e-8.
const SAME: f64 = 1e-6;

/// A fit of one's own.
#[derive(Args)]
pub(super) struct OwnCurve {
    /// Files with the columns of a fit of your own
    #[arg(requires = "model")]
    data: Vec<PathBuf>,
    /// A fit of your own: a formula, or the name of a built-in curve
    #[arg(long, value_name = "EXPR|NAME", requires = "data", conflicts_with_all = ["preset", "rows", "problems",
          "write_data"])]
    pub(super) model: Option<String>,
    /// Renames a column
    #[arg(long, value_name = "NAME=COLUMN", requires = "model")]
    x: Vec<String>,
    /// The response
    #[arg(long, value_name = "COLUMN|EXPR", requires = "model")]
    y: Option<String>,
    /// Standard deviations of the response: a column, a number, or none
    #[arg(long, value_name = "COLUMN|NUMBER|none", requires = "model")]
    sigma: Option<String>,
    /// Starting values, for all programs alike [default: those that are found here]
    #[arg(
        long,
        value_name = "NAME=X,...",
        allow_hyphen_values = true,
        requires = "model"
    )]
    p0: Vec<String>,
    /// Bounds
    #[arg(
        long,
        value_name = "NAME=LO:HI",
        allow_hyphen_values = true,
        requires = "model"
    )]
    bound: Vec<String>,
    /// The Python whose SciPy and lmfit are timed, or none [default: python3]
    #[arg(long, value_name = "PYTHON|none", requires = "model")]
    python: Option<String>,
    #[command(flatten)]
    tables: TableFlags,
}

/// Measures, compares, prints.
pub(super) fn run(args: &OwnCurve, model: &str, common: &Common) -> Result<Outcome> {
    let formula = Formula::parse(model).map_err(|e| e.context("--model"))?;
    let mut arrays = Vec::new();
    for path in &args.data {
        let file = DataFile::read(path, &args.tables.options())?;
        tables::tell(&file, common.quiet || common.json);
        arrays.extend(file.arrays);
    }
    let request = Request {
        rename: texts("--x", &args.x)?,
        y: args.y.clone(),
        sigma: match args.sigma.as_deref() {
            None => SigmaOf::ByName,
            Some("none") => SigmaOf::Unknown,
            Some(text) => match text.parse() {
                Ok(number) => SigmaOf::Number(number),
                Err(_) => SigmaOf::Column(text.into()),
            },
        },
        beside: Vec::new(),
        others: Vec::new(),
        range: Vec::new(),
        missing: Missing::Drop,
        unchecked: false,
    };
    let found = assemble(arrays, &formula, &request)?;
    let data = &found.data;
    let options = Options {
        p0: values("--p0", &args.p0)?,
        bounds: bounds("--bound", &args.bound)?,
        threads: common.threads()?.threads,
        seed: common.seed,
        ..Options::default()
    };
    let fitter = CurveFit::compile(model)?;
    let (first, mut rows) = ours(&fitter, data, &options)?;
    let (peers, why) = match peers(args, &formula, data, &first) {
        Ok(peers) => (peers, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let best = (rows.iter().chain(&peers).filter_map(|r| r["chi2"].as_f64()))
        .fold(f64::INFINITY, f64::min);
    rows.extend(peers);
    for row in &mut rows {
        let chi2 = row["chi2"].as_f64();
        row["best"] = json!(chi2.map(|chi2| chi2 - best <= SAME * best.max(f64::MIN_POSITIVE)));
    }
    let document = json!({
        "bench": "curve-fit", "model": formula.text(), "rows": data.n_rows(),
        "parameters": first.free, "start": starts(&first), "threads": options.threads,
        "programs": rows, "no_peers": why,
    });
    match common.json {
        true => json::print(&document),
        false => show(&document, data.n_rows(), &formula),
    }
    // Times of a fit that did not end at the best minimum say nothing.
    Ok(match first.converged() && rows[0]["best"] == json!(true) {
        true => Outcome::Done,
        false => Outcome::NotPassed,
    })
}

/// This program: from the start that peers get, and from a start of its own.
fn ours(fitter: &CurveFit, data: &Data<'_>, options: &Options) -> Result<(Estimate, Vec<Value>)> {
    let first = fitter.fit(data, options)?;
    let names = first.free.iter().cloned();
    let given = Options {
        p0: names.zip(starts(&first)).collect(),
        ..options.clone()
    };
    let runs = (2_000_000 / data.n_rows().max(1)).clamp(7, 501);
    let mut rows = Vec::new();
    for (name, options) in [
        ("from this start", &given),
        ("with the search for a start", options),
    ] {
        let found = fitter.fit(data, options)?;
        let [median, least, most] = time(runs, || fitter.fit(data, options).map(drop))?;
        rows.push(json!({
            "peer": format!("Fitzroy {}, {name}", env!("CARGO_PKG_VERSION")), "median_s": median,
            "min_s": least, "max_s": most, "chi2": found.chi2, "popt": found.popt,
            "evaluations": found.evaluations,
        }));
    }
    Ok((first, rows))
}

/// Where the fit began.
fn starts(e: &Estimate) -> Vec<f64> {
    let free = e.parameters.iter().filter(|f| f.kind == Kind::Free);
    free.map(|f| f.start.unwrap_or(f.value)).collect()
}

/// SciPy and lmfit on the same rows from the same start.
fn peers(
    args: &OwnCurve,
    formula: &Formula,
    data: &Data<'_>,
    first: &Estimate,
) -> Result<Vec<Value>> {
    let python = args.python.as_deref().unwrap_or("python3");
    if python == "none" {
        return Err(Error::usage("--python none: nothing to compare with"));
    }
    let (lets, value) = formula.numpy()?;
    let n = data.n_rows();
    let columns = first.predictors.iter();
    let columns: serde_json::Map<String, Value> = columns
        .filter_map(|name| Some((name.clone(), json!(data.column(name)?))))
        .collect();
    let sigma = match data.sigma() {
        Sigma::Unknown => None,
        Sigma::Same(s) => Some(vec![*s; n]),
        Sigma::Each(values) => Some(values.to_vec()),
    };
    // JSON has no infinity; Python's float reads this one.
    let end = |x: f64| match x.is_finite() {
        true => json!(x),
        false => json!(if x > 0.0 { "inf" } else { "-inf" }),
    };
    let free = || first.parameters.iter().filter(|f| f.kind == Kind::Free);
    let low: Vec<Value> = free().map(|f| end(f.lower)).collect();
    let high: Vec<Value> = free().map(|f| end(f.upper)).collect();
    let asked = json!({
        "lets": lets, "value": value, "columns": columns, "y": data.response(), "sigma": sigma,
        "parameters": first.free, "start": starts(first), "bounds": [low, high],
        "repeats": (PEER_ROWS / n.max(1)).clamp(PEER_RUNS.0, PEER_RUNS.1),
    });
    let failed = |what: String| {
        Error::new(
            ErrorKind::Usage,
            format!("--python {python}: {what}; name a Python with SciPy, or none"),
        )
    };
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        // A script that ended says why on its error stream.
        let _ = input.write_all(asked.to_string().as_bytes());
    }
    let done = child
        .wait_with_output()
        .map_err(|error| failed(error.to_string()))?;
    let said: Option<Value> = serde_json::from_slice(&done.stdout).ok();
    match said.as_ref().and_then(|said| said["rows"].as_array()) {
        Some(rows) if done.status.success() => Ok(rows.clone()),
        _ => {
            let text = String::from_utf8_lossy(&done.stderr);
            let last = text.lines().last().unwrap_or("it ended without a word");
            Err(failed(last.to_string()))
        }
    }
}

fn show(document: &Value, n: usize, formula: &Formula) {
    let start = document["start"].as_array().cloned().unwrap_or_default();
    let names = document["parameters"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let said: Vec<String> = names
        .iter()
        .zip(&start)
        .map(|(name, x)| {
            let x = significant(x.as_f64().unwrap_or(f64::NAN), 4);
            format!("{}={x}", name.as_str().unwrap_or_default())
        })
        .collect();
    let head = format!(
        "{}   {} rows   start: {}",
        formula.text(),
        grouped(n),
        said.join(", ")
    );
    terminal::out(head);
    let rows = document["programs"].as_array().cloned().unwrap_or_default();
    let ours = rows.first().and_then(|r| r["median_s"].as_f64());
    for row in &rows {
        let name = row["peer"].as_str().unwrap_or_default();
        let Some(median) = row["median_s"].as_f64() else {
            let error = row["error"].as_str().unwrap_or_default();
            terminal::out(format_args!("  {name:<44} failed: {error}"));
            continue;
        };
        let times = median / ours.unwrap_or(median);
        let end = match row["best"].as_bool() {
            Some(true) => "the best minimum",
            _ => "NOT the best minimum",
        };
        terminal::out(format_args!(
            "  {name:<44} {:>10} ms {:>9} times  chi2 {}, {end}",
            significant(1e3 * median, 4),
            significant(times, 3),
            significant(row["chi2"].as_f64().unwrap_or(f64::NAN), 9),
        ));
    }
    if let Some(why) = document["no_peers"].as_str() {
        terminal::note(format_args!("no peers: {why}"));
    }
}
