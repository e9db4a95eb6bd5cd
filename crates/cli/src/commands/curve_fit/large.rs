//! `--memory-limit`: columns that stay in their files.

use super::pairs::texts;
use super::{CurveFitArgs, usage};
use crate::clock::Clock;
use crate::exit::Outcome;
use crate::{interrupt, json, terminal};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::fit::{Plan, fit_table, quality};
use fitzroy_curve_fit::method::{Next, Status};
use fitzroy_curve_fit::pass::Table;
use fitzroy_curve_fit::report::{self, Timing};
use fitzroy_curve_fit::source::{FileColumn, FileTable, decode_table, table_header};
use fitzroy_curve_fit::{Formula, Options};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// `2GB`, `512 MiB`, `1000000`.
pub(super) fn bytes(text: &str) -> Result<usize> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let unit = match text[digits..].trim() {
        "" | "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => {
            return Err(usage(format!(
                "--memory-limit {text}: is written like 2GB or 512MiB"
            )));
        }
    };
    let number: f64 = text[..digits].parse().map_err(|_| {
        usage(format!(
            "--memory-limit {text}: is written like 2GB or 512MiB"
        ))
    })?;
    Ok((number * unit) as usize)
}

/// A folder for decoded columns, removed at the end.
struct Decoded(PathBuf);

impl Drop for Decoded {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Where columns are: NPY files by name, or one table.
enum Files<'a> {
    Npy(Vec<(String, &'a Path)>),
    Table(&'a Path, u8),
}

impl Files<'_> {
    fn of(args: &CurveFitArgs) -> Result<Files<'_>> {
        let ending = |p: &Path| p.extension().map(|e| e.to_string_lossy().to_lowercase());
        let all = |wanted: &str| {
            args.data
                .iter()
                .all(|p| ending(p).as_deref() == Some(wanted))
        };
        let stem = |p: &PathBuf| {
            p.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        };
        match args.data.as_slice() {
            [] => Err(usage(
                "no data: name the NPY files of the columns, or one CSV".into(),
            )),
            _ if all("npy") => Ok(Files::Npy(
                args.data.iter().map(|p| (stem(p), p.as_path())).collect(),
            )),
            [one] if all("csv") => Ok(Files::Table(one, b',')),
            [one] if all("tsv") => Ok(Files::Table(one, b'\t')),
            _ => Err(usage(
                "--memory-limit reads NPY files (one per column) or one CSV or TSV file".into(),
            )),
        }
    }

    fn names(&self) -> Result<Vec<String>> {
        match self {
            Files::Npy(files) => Ok(files.iter().map(|(name, _)| name.clone()).collect()),
            Files::Table(path, delimiter) => table_header(path, *delimiter),
        }
    }

    fn columns(&self, wanted: &[String], folder: &Path) -> Result<Vec<FileColumn>> {
        match self {
            Files::Table(path, delimiter) => decode_table(path, *delimiter, wanted, folder),
            Files::Npy(files) => {
                let find = |name: &String| {
                    let found = files.iter().find(|(n, _)| n == name);
                    FileColumn::npy(found.expect("checked by name").1)
                };
                wanted.iter().map(find).collect()
            }
        }
    }
}

/// Fits columns in files.
pub(super) fn run(
    args: &CurveFitArgs,
    limit: &str,
    formula: &Formula,
    options: &Options,
    clock: &Clock,
) -> Result<Outcome> {
    let limit = bytes(limit)?;
    let files = Files::of(args)?;
    let renames = texts("--x", &args.x)?;
    let stored = files.names()?;
    let shown = |name: &String| {
        let renamed = renames.iter().find(|(_, column)| column == name);
        renamed.map_or_else(|| name.clone(), |(new, _)| new.clone())
    };
    let names: Vec<String> = stored.iter().map(shown).collect();
    let views: Vec<&str> = names.iter().map(String::as_str).collect();
    let roles = formula.roles(&views, &[])?;
    let sigma = args.sigma.as_deref();
    let y = response(args, &names, &roles.predictors, sigma)?;
    let weighted = sigma.is_some();
    let plan = Plan::new(formula, roles, weighted, options)?;
    let mut wanted: Vec<&str> = plan.roles.predictors.iter().map(String::as_str).collect();
    wanted.push(&y);
    wanted.extend(sigma);
    let mut from = Vec::new();
    for name in &wanted {
        let at = names.iter().position(|n| n == name).ok_or_else(|| {
            usage(format!(
                "there is no column `{name}`; the columns are {}",
                names.join(", ")
            ))
        })?;
        from.push(stored[at].clone());
    }
    let folder = std::env::temp_dir().join(format!("fitzroy-columns-{}", std::process::id()));
    std::fs::create_dir_all(&folder)
        .map_err(|error| Error::new(ErrorKind::Io, format!("{}: {error}", folder.display())))?;
    let decoded = Decoded(folder);
    let mut columns = files.columns(&from, &decoded.0)?;
    if let (true, Some(last)) = (weighted, columns.last_mut()) {
        last.inverse = true;
    }
    let table = FileTable::new(columns, limit, options.threads)?;
    if table.n_rows() < plan.free.len() {
        let message = format!(
            "{} rows cannot determine {} parameters ({})",
            table.n_rows(),
            plan.free.len(),
            plan.names().join(", ")
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    let mut timing = Timing {
        read: clock.seconds(),
        ..Timing::default()
    };
    let stop = interrupt::catch_with("stopping: the fit ends with the best point so far")?;
    let estimate = fit_table(&plan, &table, options, &mut |_| {
        if stop.load(Ordering::Relaxed) {
            Next::Interrupt
        } else {
            Next::Continue
        }
    })?;
    timing.fit = clock.seconds() - timing.read;
    let quality = quality(&plan, &table, &estimate)?;
    timing.total = clock.seconds();
    if args.common.json {
        let document = report::estimate_json(&estimate, Some(&quality), &timing);
        json::print(&serde_json::Value::Object(document));
    } else {
        let text = report::text(&estimate, Some(&quality), &timing, options.threads);
        terminal::out(text.trim_end());
    }
    Ok(match estimate.status {
        Status::Interrupted => Outcome::Interrupted,
        _ if args.strict && !estimate.converged() => Outcome::NotPassed,
        _ => Outcome::Done,
    })
}

/// The response: named, `y`, or the only column that is left.
fn response(
    args: &CurveFitArgs,
    names: &[String],
    used: &[String],
    sigma: Option<&str>,
) -> Result<String> {
    if let Some(y) = &args.y {
        return Ok(y.clone());
    }
    let left = |n: &&String| !used.contains(n) && sigma != Some(n.as_str());
    let left: Vec<&String> = names.iter().filter(left).collect();
    match left[..] {
        [one] => Ok(one.clone()),
        _ if names.iter().any(|n| n == "y") && !used.iter().any(|u| u == "y") => Ok("y".into()),
        _ => Err(usage(format!(
            "which column is the response? Name one of {} with --y",
            names.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn limits_are_read_with_their_units() {
        assert_eq!(bytes("2GB").unwrap(), 2_000_000_000);
        assert_eq!(bytes("1.5 MiB").unwrap(), 1_572_864);
        assert_eq!(bytes("1000").unwrap(), 1000);
        assert!(bytes("much").unwrap_err().to_string().contains("512MiB"));
    }
}
