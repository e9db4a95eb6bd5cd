//! `--workflow`: a fit described in NLSQ's layout, as flags and columns.

mod document;
mod limits;
mod python;
mod table;

use super::CurveFitArgs;
use super::flags::method;
use super::show::Results;
use crate::commands::{files, plot};
use crate::terminal;
use document::Document;
use fitzroy::data::{Array, NetCdfFile, Values, read_file};
use fitzroy::{Error, ErrorKind, Named, Result};
use fitzroy_curve_fit::{Formula, Loss, library, report};
use std::fs;
use std::path::{Path, PathBuf};
use table::Layout;

/// What a workflow describes beside flags.
pub(super) struct Workflow {
    /// Columns `x`, `y`, `z` for surfaces, and sigma.
    pub(super) arrays: Vec<Array>,
    /// Where results go.
    pub(super) results: Option<Exported>,
}

/// A file of results.
pub(super) struct Exported {
    path: PathBuf,
    as_csv: bool,
}

/// The column of sigma: not a name that a formula can have.
const SIGMA: &str = "(sigma)";
/// Keys that are read. `*` stands for all below.
const READ: [&str; 43] = [
    "metadata.*",
    "data.input_file",
    "data.format",
    "data.columns.*",
    "data.csv.*",
    "data.ascii.*",
    "data.npz.*",
    "data.hdf5.*",
    "validation.*",
    "model.type",
    "model.name",
    "model.path",
    "model.function",
    "model.trusted",
    "model.degree",
    "model.formula",
    "model.parameter_names",
    "fitting.p0",
    "fitting.bounds",
    "fitting.method",
    "fitting.gtol",
    "fitting.ftol",
    "fitting.xtol",
    "fitting.max_nfev",
    "fitting.termination.gtol",
    "fitting.termination.ftol",
    "fitting.termination.xtol",
    "fitting.termination.max_nfev",
    "fitting.termination.max_iterations",
    "fitting.n_starts",
    "fitting.multistart",
    "fitting.multistart.enabled",
    "fitting.multistart.n_starts",
    "fitting.workflow",
    "n_starts",
    "multistart",
    "workflow",
    "fitting.loss",
    "fitting.absolute_sigma",
    "fitting.check_finite",
    "export.*",
    // How figures look is decided here.
    "visualization.*",
    "fitting.p0.*",
];

/// Reads a workflow: `args` with what it sets, and its columns.
///
/// # Errors
/// A file that is no such YAML, a model in Python, values that mean nothing, data that cannot be
/// read: each by its key.
pub(super) fn read(path: &Path, args: &CurveFitArgs) -> Result<(CurveFitArgs, Workflow)> {
    let context = |e: Error| e.context(format!("--workflow {}", path.display()));
    let document = Document::read(path).map_err(context)?;
    describe(&document, args).map_err(context)
}

fn describe(document: &Document, args: &CurveFitArgs) -> Result<(CurveFitArgs, Workflow)> {
    let mut args = args.clone();
    let unknown = document.others(&READ);
    if !(unknown.is_empty() || args.common.quiet || args.common.json) {
        let all = unknown.join(", ");
        terminal::note(format_args!(
            "--workflow: keys that mean nothing here: {all}"
        ));
    }
    let arrays = columns(document)?;
    let surface = arrays.iter().any(|a| a.name == "z");
    let predictors: &[&str] = if surface { &["x", "y"] } else { &["x"] };
    args.y = Some(if surface { "z" } else { "y" }.into());
    let (model, names) = model(document, predictors)?;
    fitting(document, &names, &mut args)?;
    if arrays.iter().any(|a| a.name == SIGMA) {
        args.sigma = Some(SIGMA.into());
        args.absolute_sigma = document.truth("fitting.absolute_sigma", false)?;
    }
    args.model = Some(model);
    args.plot.extend(figures(document)?);
    let results = results(document)?;
    Ok((args, Workflow { arrays, results }))
}

/// The formula, and its parameters in the order of the workflow's lists.
fn model(document: &Document, predictors: &[&str]) -> Result<(String, Vec<String>)> {
    let kind = document.text("model.type")?;
    let text = match kind.as_deref().unwrap_or("builtin") {
        "builtin" => {
            let name = document.needed("model.name")?;
            if library::whole(&name).is_none() {
                let all: Vec<&str> = library::ENTRIES.iter().map(|e| e.name).collect();
                return Err(Error::usage(format!(
                    "model.name: there is no built-in curve `{name}`; there are {}, polynomial(n)",
                    all.join(", ")
                )));
            }
            name
        }
        "polynomial" => format!("polynomial({})", document.needed("model.degree")?),
        "expression" => document.needed("model.formula")?,
        "custom" => python::function(document, predictors[0])?,
        other => {
            return Err(Error::usage(format!(
                "model.type: {other}: use builtin, polynomial, expression or custom"
            )));
        }
    };
    let formula = Formula::parse(&text).map_err(|e| e.context("model"))?;
    let roles = formula.roles(predictors, &[])?;
    let own: Vec<String> = roles.parameters.iter().map(|p| p.name.clone()).collect();
    let names = match kind.as_deref() {
        // From the highest power down.
        Some("polynomial") => own.into_iter().rev().collect(),
        // In the order of its arguments.
        Some("custom") => own,
        Some("expression") => {
            let named = document.texts("model.parameter_names")?;
            let (mut a, mut b) = (named.clone().unwrap_or_else(|| own.clone()), own.clone());
            a.sort();
            b.sort();
            if a != b {
                return Err(Error::usage(format!(
                    "model.parameter_names: the formula has the parameters {}",
                    own.join(", ")
                )));
            }
            named.unwrap_or(own)
        }
        _ => match library::entry(&text) {
            Some(entry) => entry.parameters.iter().map(|&n| n.into()).collect(),
            None => own,
        },
    };
    Ok((text, names))
}

/// What `fitting` sets.
fn fitting(document: &Document, names: &[String], args: &mut CurveFitArgs) -> Result<()> {
    let matched = |key: &str, given: Vec<f64>| match given.len() == names.len() {
        true => Ok(given),
        false => Err(Error::usage(format!(
            "{key}: {} numbers for {} parameters ({})",
            given.len(),
            names.len(),
            names.join(", ")
        ))),
    };
    if let Some(start) = document.numbers("fitting.p0", 1)? {
        let start = matched("fitting.p0", start)?;
        let pairs = names.iter().zip(start).map(|(n, x)| format!("{n}={x}"));
        args.p0 = pairs.collect();
    } else if let Some(pairs) = document.pairs("fitting.p0")? {
        args.p0 = pairs.iter().map(|(n, x)| format!("{n}={x}")).collect();
    }
    let sides = match document.is_map("fitting.bounds") {
        true => ["fitting.bounds.lower", "fitting.bounds.upper"],
        false => ["fitting.bounds.0", "fitting.bounds.1"],
    };
    let side = |key: &str, open: f64| match document.numbers(key, names.len())? {
        Some(given) => matched(key, given),
        None => Ok(vec![open; names.len()]),
    };
    let lower = side(sides[0], f64::NEG_INFINITY)?;
    let upper = side(sides[1], f64::INFINITY)?;
    let written = |x: f64| {
        if x.is_finite() {
            x.to_string()
        } else {
            String::new()
        }
    };
    for ((name, low), high) in names.iter().zip(lower).zip(upper) {
        if low.is_finite() || high.is_finite() {
            let bound = format!("{name}={}:{}", written(low), written(high));
            args.bound.push(bound);
        }
    }
    if let Some(name) = document.text("fitting.method")? {
        let found = method(&name);
        args.method = found.map_err(|e| Error::usage(format!("fitting.method: {name}: {e}")))?;
    }
    limits::limits(document, args)?;
    limits::starts(document, args)?;
    if let Some(loss) = document.text("fitting.loss")? {
        args.loss = Loss::named(&loss).ok_or_else(|| {
            let all: Vec<&str> = Loss::names().collect();
            let all = all.join(", ");
            Error::usage(format!("fitting.loss: {loss}: use one of {all}"))
        })?;
    }
    Ok(())
}

/// The columns `x`, `y`, perhaps `z` and sigma.
fn columns(document: &Document) -> Result<Vec<Array>> {
    let file = PathBuf::from(document.needed("data.input_file")?);
    let ending = file.extension().unwrap_or_default().to_string_lossy();
    let format = document.text("data.format")?.filter(|f| f != "auto");
    let format = match (format.as_deref(), ending.to_lowercase().as_str()) {
        (Some(format), _) => format.to_string(),
        (None, "txt" | "dat" | "asc") => "ascii".into(),
        (None, "csv") => "csv".into(),
        (None, "npz") => "npz".into(),
        (None, "h5" | "hdf5") => "hdf5".into(),
        (None, _) => {
            let file = file.display();
            return Err(Error::usage(format!(
                "data.input_file: {file}: name its format, one of csv, ascii, npz, hdf5"
            )));
        }
    };
    let arrays = match format.as_str() {
        "csv" | "ascii" => {
            let layout = Layout::of(document, &format)?;
            table::read(document, &file, &layout)?
        }
        "npz" => members(document, &file, "data.npz", "_key")?,
        "hdf5" => members(document, &file, "data.hdf5", "_path")?,
        other => {
            let message = format!("data.format: {other}: use csv, ascii, npz or hdf5");
            return Err(Error::usage(message));
        }
    };
    let least = document.number("validation.min_points")?.unwrap_or(2.0);
    let rows = arrays.first().map_or(0, |a| a.values.len());
    if (rows as f64) < least {
        let file = file.display();
        return Err(Error::data(format!(
            "{file} holds {rows} rows, validation.min_points asks for {least}"
        )));
    }
    Ok(arrays)
}

/// Arrays of an archive by the names that `section` gives to roles; of HDF5 by paths through its groups.
fn members(document: &Document, file: &Path, section: &str, end: &str) -> Result<Vec<Array>> {
    let all = match section {
        "data.hdf5" => Archive::Groups(NetCdfFile::open(file)?),
        _ => Archive::Flat(read_file(file)?),
    };
    let mut out = Vec::new();
    for (role, usual) in [("x", true), ("y", true), ("z", false), ("sigma", false)] {
        let key = format!("{section}.{role}{end}");
        let given = document.text(&key)?;
        let Some(name) = given.or_else(|| usual.then(|| role.to_string())) else {
            continue;
        };
        let found = all.array(&name);
        let mut array = found.map_err(|e| e.context(format!("{key}: {}", file.display())))?;
        if !matches!(array.values, Values::Real(_)) {
            return Err(Error::data(format!(
                "{key}: `{name}` does not hold numbers"
            )));
        }
        array.name = role_name(role).into();
        out.push(array);
    }

    Ok(out)
}

/// A file of named arrays.
enum Archive {
    Flat(Vec<Array>),
    Groups(NetCdfFile),
}

impl Archive {
    fn array(&self, name: &str) -> Result<Array> {
        let all = match self {
            Archive::Groups(file) => return file.array(name),
            Archive::Flat(all) => all,
        };
        let found = all.iter().find(|a| a.name == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|a| a.name.as_str()).collect();
            let names = names.join(", ");
            Error::data(format!("it holds no array `{name}`; it holds {names}"))
        })
    }
}

/// The column of a role.
fn role_name(role: &str) -> &str {
    if role == "sigma" { SIGMA } else { role }
}

/// Figures that are asked for, in folders that are made.
fn figures(document: &Document) -> Result<Vec<PathBuf>> {
    let section = "visualization";
    if !document.is_map(section) || !document.truth("visualization.enabled", true)? {
        return Ok(Vec::new());
    }
    let folder = document.text("visualization.output_dir")?;
    let folder = PathBuf::from(folder.unwrap_or_else(|| "figures".into()));
    let prefix = document.text("visualization.filename_prefix")?;
    let prefix = prefix.unwrap_or_else(|| "fit".into());
    let formats = document.texts("visualization.formats")?;
    let formats = formats.unwrap_or_else(|| vec!["pdf".into(), "png".into()]);
    let named = formats.iter().map(|f| folder.join(format!("{prefix}.{f}")));
    let paths: Vec<PathBuf> = named.collect();
    for path in &paths {
        plot::check_figure(path, "visualization.formats")?;
    }
    make(&folder)?;
    Ok(paths)
}

/// Where results go, in a folder that is made.
fn results(document: &Document) -> Result<Option<Exported>> {
    let Some(path) = document.text("export.results_file")? else {
        return Ok(None);
    };
    let as_csv = match document.text("export.format")?.as_deref() {
        None | Some("json") => false,
        Some("csv") => true,
        Some(other) => {
            return Err(Error::usage(format!(
                "export.format: {other}: use json or csv"
            )));
        }
    };
    let path = PathBuf::from(path);
    if let Some(folder) = path.parent() {
        make(folder)?;
    }
    Ok(Some(Exported { path, as_csv }))
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|e| {
        let message = format!("{} cannot be made: {e}", folder.display());
        Error::new(ErrorKind::Io, message)
    })
}

impl Exported {
    /// Writes the results of the fit.
    pub(super) fn write(&self, result: &Results<'_>) -> Result<()> {
        let text = match self.as_csv {
            true => report::csv(&result.fitted.estimate),
            false => format!("{:#}\n", result.json()),
        };
        files::write(&self.path, text.as_bytes()).map_err(|e| e.context("export.results_file"))
    }
}
