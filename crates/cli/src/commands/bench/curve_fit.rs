//! `fitzroy bench curve-fit`: warm fits of two curves by size, and many small fits.

use super::own_curve::{self, OwnCurve};
use crate::args::Common;
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::{Args, ValueEnum};
use fitzroy::rng::{Purpose, Rng};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::batch::{Groups, fit_many};
use fitzroy_curve_fit::fit::Plan;
use fitzroy_curve_fit::pass::Columns;
use fitzroy_curve_fit::report::grouped;
use fitzroy_curve_fit::{CurveFit, Data, Formula, Options};
use fitzroy_device::large_pages::zeros;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Flags of `fitzroy bench curve-fit`.
#[derive(Args)]
pub(crate) struct CurveFitBench {
    /// How many sizes and repeats
    #[arg(long, value_enum, value_name = "PRESET", default_value = "standard")]
    preset: Preset,
    /// Only these numbers of rows, in place of the preset's
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    rows: Vec<usize>,
    /// Only these problems: exponential, damped-sine, spots
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    problems: Vec<String>,
    /// Also writes the data as NPY files, for other programs
    #[arg(long, value_name = "DIR")]
    write_data: Option<PathBuf>,
    /// Writes the results as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    own: Box<OwnCurve>,
    #[command(flatten)]
    common: Common,
}

/// How much is measured.
#[derive(Clone, Copy, ValueEnum)]
enum Preset {
    /// Up to 100,000 rows
    Quick,
    /// Up to 1 million
    Standard,
    /// Up to 10 million
    Publication,
}

/// A curve to fit: its formula, true parameters and starts.
struct Case {
    name: &'static str,
    formula: &'static str,
    truth: &'static [(&'static str, f64)],
    start: &'static [f64],
    curve: fn(f64) -> f64,
}

const CASES: [Case; 2] = [
    Case {
        name: "exponential",
        formula: "a*exp(-b*x)+c",
        truth: &[("a", 2.0), ("b", 0.5), ("c", 0.3)],
        start: &[1.0, 1.0, 0.0],
        curve: |x| 2.0 * (-0.5 * x).exp() + 0.3,
    },
    Case {
        name: "damped-sine",
        formula: "a*exp(-b*x)*sin(w*x+p)+c",
        truth: &[("a", 2.0), ("b", 0.3), ("w", 3.0), ("p", 0.5), ("c", 0.5)],
        start: &[1.5, 0.2, 2.9, 0.3, 0.0],
        curve: |x| 2.0 * (-0.3 * x).exp() * (3.0 * x + 0.5).sin() + 0.5,
    },
];

/// The batch of small fits.
const SPOTS: &str = "spots";

impl CurveFitBench {
    /// Whether a problem is to be measured.
    fn wanted(&self) -> Result<impl Fn(&str) -> bool + '_> {
        let all = || CASES.iter().map(|case| case.name).chain([SPOTS]);
        let usage = |message| Err(Error::new(ErrorKind::Usage, message));
        if let Some(other) = self.problems.iter().find(|p| all().all(|name| name != *p)) {
            let names: Vec<&str> = all().collect();
            return usage(format!(
                "--problems {other}: there is no such problem; use {}",
                names.join(", ")
            ));
        }
        // Fewer may fit another curve better than the true one.
        if let Some(n) = self.rows.iter().find(|&&n| n < 100) {
            return usage(format!("--rows {n}: needs at least 100 rows"));
        }
        Ok(|name: &str| self.problems.is_empty() || self.problems.iter().any(|p| p == name))
    }
}

/// Standard deviation of the noise.
const NOISE: f64 = 0.1;
/// x runs from 0 to this.
const RANGE: f64 = 10.0;
/// Fits of the batch, rows of each.
const SMALL_FITS: usize = 10_000;
const SMALL_ROWS: usize = 49;

fn data(case: &Case, n: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
    // As files are read, and as other programs keep their arrays.
    let (mut x, mut y) = (zeros(n), zeros(n));
    let mut rng = Rng::new(seed, n as u32, 0, 0, Purpose::Data);
    for (i, (x, y)) in x.iter_mut().zip(&mut y).enumerate() {
        *x = RANGE * i as f64 / n as f64;
        *y = (case.curve)(*x) + NOISE * rng.normal();
    }
    (x, y)
}

/// One column as an NPY file.
fn write_npy(path: &Path, values: &[f64]) -> Result<()> {
    let mut header = format!(
        "{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}",
        values.len()
    );
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    values.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    fs::write(path, bytes).map_err(|error| {
        Error::new(
            ErrorKind::Io,
            format!("--write-data {}: {error}", path.display()),
        )
    })
}

/// Median, least and greatest of the seconds of `repeats` runs after a first.
pub(super) fn time(repeats: usize, mut run: impl FnMut() -> Result<()>) -> Result<[f64; 3]> {
    run()?;
    let mut all = Vec::new();
    for _ in 0..repeats {
        let start = Instant::now();
        run()?;
        all.push(start.elapsed().as_secs_f64());
    }
    all.sort_by(f64::total_cmp);
    Ok([all[all.len() / 2], all[0], all[all.len() - 1]])
}

/// What became of a problem.
enum Measured {
    /// Its times, as a row of the results.
    Row(Value),
    /// The answer was wrong: no time is reported.
    Wrong(String),
}

fn wrong(what: &str) -> Outcome {
    terminal::note(format_args!(
        "error: {what}: the answer is wrong, so no time is reported"
    ));
    Outcome::NotPassed
}

/// Measures, asserts, prints.
pub(crate) fn run(args: &CurveFitBench) -> Result<Outcome> {
    if let Some(model) = &args.own.model {
        return own_curve::run(&args.own, model, &args.common);
    }
    let machine = args.common.machine()?;
    let wanted = args.wanted()?;
    let sizes: &[usize] = match (args.preset, &args.rows[..]) {
        (_, rows @ [_, ..]) => rows,
        (Preset::Quick, _) => &[1_000, 10_000, 100_000],
        (Preset::Standard, _) => &[1_000, 10_000, 100_000, 500_000, 1_000_000],
        (Preset::Publication, _) => &[1_000, 10_000, 100_000, 500_000, 1_000_000, 10_000_000],
    };
    if let Some(folder) = &args.write_data {
        fs::create_dir_all(folder).map_err(|error| {
            Error::new(
                ErrorKind::Io,
                format!("--write-data {}: {error}", folder.display()),
            )
        })?;
    }
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| wanted(case.name)) {
        for &n in sizes {
            match measure(case, n, machine.threads, args)? {
                Measured::Row(row) => rows.push(row),
                Measured::Wrong(what) => return Ok(wrong(&what)),
            }
        }
    }
    if wanted(SPOTS) {
        match batch(machine.threads, args)? {
            Measured::Row(row) => rows.push(row),
            Measured::Wrong(what) => return Ok(wrong(&what)),
        }
    }
    let document = json!({
        "bench": "curve-fit", "device": {"kind": "cpu"}, "threads": machine.threads,
        "seed": args.common.seed, "rows": rows,
    });
    if let Some(path) = &args.csv {
        let text = csv(&rows);
        fs::write(path, text).map_err(|error| {
            Error::new(ErrorKind::Io, format!("--csv {}: {error}", path.display()))
        })?;
    }
    if args.common.json {
        json::print(&document);
    } else {
        for row in &rows {
            terminal::out(line(row));
        }
    }
    Ok(Outcome::Done)
}

fn measure(case: &Case, n: usize, threads: usize, args: &CurveFitBench) -> Result<Measured> {
    let (x, y) = data(case, n, args.common.seed);
    if let Some(folder) = &args.write_data {
        write_npy(&folder.join(format!("{}-{n}-x.npy", case.name)), &x)?;
        write_npy(&folder.join(format!("{}-{n}-y.npy", case.name)), &y)?;
    }
    let names = case.truth.iter().map(|(name, _)| (*name).to_string());
    let options = Options {
        p0: names.zip(case.start.iter().copied()).collect(),
        threads,
        seed: args.common.seed,
        ..Options::default()
    };
    let start = Instant::now();
    let fitter = CurveFit::compile(case.formula)?;
    let columns = Data::new(&y).with("x", &x);
    fitter.plan(&columns, &options)?;
    let compile = start.elapsed().as_secs_f64();
    let found = fitter.fit(&columns, &options)?;
    let near = case.truth.iter().all(|(name, truth)| {
        found
            .parameter(name)
            .is_some_and(|p| (p.value - truth).abs() < 6.0 * p.se)
    });
    if !(found.converged() && near) {
        return Ok(Measured::Wrong(format!("{} of {n} rows", case.name)));
    }
    let repeats = (2_000_000 / n).clamp(7, 501);
    let [median, least, most] = time(repeats, || fitter.fit(&columns, &options).map(drop))?;
    Ok(Measured::Row(json!({
        "problem": case.name, "rows": n, "parameters": case.truth.len(), "median_s": median,
        "min_s": least, "max_s": most, "repeats": repeats, "compile_s": compile,
        "full_reads": found.full_reads, "evaluations": found.evaluations,
        "popt": found.parameters.iter().map(|p| json!([p.name, p.value])).collect::<Value>(),
    })))
}

/// 10,000 spots of 7 × 7 pixels.
fn batch(threads: usize, args: &CurveFitBench) -> Result<Measured> {
    let n = SMALL_FITS * SMALL_ROWS;
    let (mut x, mut y, mut z) = (Vec::new(), Vec::new(), Vec::new());
    let mut rng = Rng::new(args.common.seed, 1, 0, 0, Purpose::Data);
    let mut truth = Vec::new();
    for _ in 0..SMALL_FITS {
        let (x0, y0) = (3.0 + 0.4 * rng.normal(), 3.0 + 0.4 * rng.normal());
        truth.push(x0);
        for i in 0..SMALL_ROWS {
            let (u, v) = ((i % 7) as f64, (i / 7) as f64);
            let r2 = (u - x0).powi(2) + (v - y0).powi(2);
            x.push(u);
            y.push(v);
            z.push(10.0 * (-r2 / (2.0 * 1.2 * 1.2)).exp() + 2.0 + 0.2 * rng.normal());
        }
    }
    if let Some(folder) = &args.write_data {
        for (name, values) in [("x", &x), ("y", &y), ("z", &z)] {
            write_npy(&folder.join(format!("spots-{name}.npy")), values)?;
        }
    }
    let formula = Formula::parse("a*exp(-((x-x0)^2+(y-y0)^2)/(2*s^2))+c")?;
    let start = [("a", 8.0), ("x0", 3.0), ("y0", 3.0), ("s", 1.0), ("c", 1.0)];
    let options = Options {
        p0: start
            .iter()
            .map(|(name, v)| ((*name).to_string(), *v))
            .collect(),
        threads,
        ..Options::default()
    };
    let roles = formula.roles(&["x", "y"], &[])?;
    let plan = Plan::new(&formula, roles, false, &options)?;
    let table = Columns::new([x, y, z].into_iter().map(Cow::Owned).collect());
    let groups = Groups::equal(SMALL_FITS, SMALL_ROWS);
    let stop = AtomicBool::new(false);
    let found = fit_many(&plan, &table, &groups, &options, &stop)?;
    let good = found.n_converged();
    let at = plan
        .names()
        .iter()
        .position(|name| name == "x0")
        .unwrap_or(0);
    let near = (0..SMALL_FITS)
        .all(|k| (found.theta[5 * k + at] - truth[k]).abs() < 8.0 * found.se[5 * k + at]);
    if good < SMALL_FITS || !near {
        return Ok(Measured::Wrong(format!(
            "{good} of {SMALL_FITS} small fits"
        )));
    }
    let [median, least, most] = time(15, || {
        fit_many(&plan, &table, &groups, &options, &stop).map(drop)
    })?;
    let evaluations: u64 = found.evaluations.iter().map(|&e| u64::from(e)).sum();
    Ok(Measured::Row(json!({
        "problem": SPOTS, "rows": n, "parameters": 5, "fits": SMALL_FITS, "median_s": median,
        "min_s": least, "max_s": most, "repeats": 15, "evaluations": evaluations,
        "fits_per_second": SMALL_FITS as f64 / median, "alone": found.n_alone,
        "popt": plan.names().iter().zip(&found.theta).map(|(n, v)| json!([n, v])).collect::<Value>(),
    })))
}

fn line(row: &Value) -> String {
    let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    let rows = grouped(row["rows"].as_u64().unwrap_or(0) as usize);
    let mut out = format!(
        "{:<12} {rows:>11} rows  {:>10.4} ms ({:.4} to {:.4})",
        row["problem"].as_str().unwrap_or_default(),
        1e3 * number("median_s"),
        1e3 * number("min_s"),
        1e3 * number("max_s")
    );
    if row["fits"].is_null() {
        let _ = write!(out, "  {} full reads", row["full_reads"]);
    } else {
        let _ = write!(out, "  {:.0} fits a second", number("fits_per_second"));
    }
    out
}

fn csv(rows: &[Value]) -> String {
    let mut out = "problem,rows,parameters,median_s,min_s,max_s,repeats,evaluations\n".to_string();
    for row in rows {
        let keys = [
            "rows",
            "parameters",
            "median_s",
            "min_s",
            "max_s",
            "repeats",
            "evaluations",
        ];
        let cells: Vec<String> = keys.iter().map(|k| row[*k].to_string()).collect();
        let _ = writeln!(
            out,
            "{},{}",
            row["problem"].as_str().unwrap_or_default(),
            cells.join(",")
        );
    }
    out
}
