//! `--memory-limit`: columns that stay in their files, checkpoints, and going on after a stop.

use super::device::On;
use super::pairs::texts;
use super::show::Results;
use super::watch::{Told, Watcher};
use super::{CurveFitArgs, usage};
use crate::commands::plot;
use crate::exit::Outcome;
use crate::{interrupt, terminal};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::fit::{Plan, fit_table, quality};
use fitzroy_curve_fit::method::{Next, Status};
use fitzroy_curve_fit::pass::{Belongs, Kept, Table, hash};
use fitzroy_curve_fit::report::Timing;
use fitzroy_curve_fit::source::{LargeOptions, Stored, file_table, fingerprint};
use fitzroy_curve_fit::{Formula, Options};
use fitzroy_device::probe;
use fitzroy_session::clock::Clock;
use fitzroy_session::folder::Folder;
use fitzroy_session::progress::{PROGRESS, State};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// `2GB`, `512 MiB`, `1000000`.
pub(crate) fn bytes(text: &str) -> Result<usize> {
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

/// What the program takes beside pieces of columns: its code, a subsample, sums.
const PROGRAM_BYTES: usize = 16 << 20;

/// The checkpoint in the folder of results.
const CHECKPOINT: &str = "checkpoint.bin";

/// Fits columns in files.
pub(super) fn run(
    args: &CurveFitArgs,
    on: &mut On,
    text: &str,
    formula: &Formula,
    options: &Options,
    clock: &Clock,
) -> Result<Outcome> {
    let limit = bytes(text)?;
    for path in &args.plot {
        plot::check_figure(path, "--plot")?;
    }
    if args.leaves_rows_out() {
        let message = "--memory-limit leaves no rows out; write the file without those that have gaps, or \
                       fit it in memory with --missing drop";
        return Err(usage(message.into()));
    }
    let source = Stored::of(&args.data)?;
    let cache = cache(args)?;
    let (plan, y, sigma) = plan(args, &source, formula, options)?;
    let options = &args.in_order(options.clone(), &plan.roles)?;
    let folder = std::env::temp_dir().join(format!("fitzroy-columns-{}", std::process::id()));
    std::fs::create_dir_all(&folder)
        .map_err(|error| Error::new(ErrorKind::Io, format!("{}: {error}", folder.display())))?;
    let decoded = Decoded(folder);
    let large = LargeOptions {
        // The program itself takes some of it, too.
        memory_limit_bytes: limit - (limit / 2).min(PROGRAM_BYTES),
        chunk_rows: args.chunk_rows,
        folder: decoded.0.clone(),
        cache,
    };
    let renamed = Renamed {
        plan: &plan,
        renames: texts("--x", &args.x)?,
    };
    let stored = renamed.stored();
    let table = file_table(
        &stored,
        &source,
        &y,
        sigma.as_deref(),
        options.threads,
        &large,
    )?;
    let mut timing = Timing {
        read: clock.seconds(),
        ..Timing::default()
    };
    let mut out = folder_of(args)?;
    let stop = interrupt::catch_with("stopping: what was done so far is kept in --out")?;
    let told = out.as_mut().map(|f| Told {
        path: f.replaced(PROGRESS),
        n_rows: table.n_rows(),
    });
    let tell = |state: State, costs: &[f64]| {
        if let Some(told) = &told {
            told.tell(state, None, costs.last().copied(), clock.seconds());
        }
    };
    let belongs = belongs(args, &plan, options)?;
    let watcher = Watcher {
        stop: Arc::clone(&stop),
        clock: *clock,
        style: args.chains.style(&args.common),
        checkpoint: out.as_ref().map(|f| f.path().join(CHECKPOINT)),
        told: told.clone(),
        every_s: args.checkpoint_every,
        belongs,
        n_rows: table.n_rows(),
        said_s: clock.seconds(),
        saved_s: clock.seconds(),
        told_s: clock.seconds(),
    };
    let mut journal = watcher.journal();
    if args.chains.resume
        && let Some(path) = out
            .as_mut()
            .map(|f| f.file(CHECKPOINT))
            .filter(|p| p.is_file())
    {
        let bytes = std::fs::read(&path)
            .map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
        let taken = journal.take_over(&bytes, &belongs);
        taken.map_err(|e| e.context(format!("--resume {}", path.display())))?;
    }
    let kept = Kept::new(&table, journal);
    on.settle(&plan, &table, options, clock)?;
    let remote = on.table(&table);
    // A GPU's passes are not kept: they take seconds.
    let passes: &dyn Table = remote.as_ref().map_or(&kept, |remote| remote);
    let mut costs = Vec::new();
    let fitted = fit_table(&plan, passes, options, &mut |step| {
        costs.push(step.cost);
        // A stop inside a pass is the journal's; between passes the best point is the answer.
        match stop.load(Ordering::Relaxed) {
            true => Next::Interrupt,
            false => Next::Continue,
        }
    });
    if kept.stopped() {
        tell(State::Interrupted, &costs);
        let at = fitted.err().map_or_else(String::new, |e| e.to_string());
        let go_on = match &out {
            Some(folder) => format!("; go on with --out {} --resume", folder.path().display()),
            None => "; with --out DIR it could go on".into(),
        };
        terminal::note(format_args!("{at}{go_on}"));
        if let Some(mut folder) = out {
            folder.keep();
        }
        return Ok(Outcome::Interrupted);
    }
    let mut estimate = match fitted {
        Ok(estimate) => estimate,
        Err(error) => {
            tell(State::Failed, &costs);
            return Err(error);
        }
    };
    tell(State::Finished, &costs);
    if let Some(peak) = probe::peak_bytes().filter(|&peak| peak > limit as u64) {
        estimate.findings.push(format!(
            "the fit took {} MB at its peak, more than --memory-limit {text}: the program alone \
             takes about 12 MB",
            peak.div_ceil(1_000_000)
        ));
    }
    timing.fit = clock.seconds() - timing.read;
    let quality = quality(&plan, &table, &estimate)?;
    estimate.weigh(&quality);
    timing.total = clock.seconds();
    let result = Results {
        args,
        plan: &plan,
        table: &table,
        data: None,
        y: &y,
        estimate: &estimate,
        quality: &quality,
        timing: &timing,
        profiles: Vec::new(),
        priors: Vec::new(),
        costs,
        on: &*on,
    };
    result.write(out.as_mut())?;
    result.show(None);
    if let Some(mut folder) = out {
        // The fit is done: nothing is left to go on with.
        let _ = std::fs::remove_file(folder.replaced(CHECKPOINT));
        result.finish(folder)?;
    }
    Ok(match estimate.status {
        Status::Interrupted => Outcome::Interrupted,
        _ if args.chains.strict && !estimate.converged() => Outcome::NotPassed,
        _ => Outcome::Done,
    })
}

/// Where decoded columns are kept, if they are to be.
fn cache(args: &CurveFitArgs) -> Result<Option<PathBuf>> {
    let Some(folder) = &args.cache else {
        return Ok(None);
    };
    let usual = || Some(fitzroy_session::device::cache_folder()?.join("columns"));
    let folder = match folder.as_os_str().is_empty() {
        true => usual()
            .ok_or_else(|| usage("--cache: there is no folder; name one: --cache=DIR".into()))?,
        false => folder.clone(),
    };
    std::fs::create_dir_all(&folder).map_err(|error| {
        let message = format!("--cache: {}: {error}", folder.display());
        Error::new(ErrorKind::Io, message)
    })?;
    Ok(Some(folder))
}

fn folder_of(args: &CurveFitArgs) -> Result<Option<Folder>> {
    let Some(out) = args.output.out.as_deref() else {
        return Ok(None);
    };
    let face = args.chains.face(&args.common);
    let folder = match args.chains.resume {
        true => Folder::resume(std::path::Path::new(""), out, &face),
        false => args.output.open("curve-fit", &face),
    };
    folder.map(Some)
}

/// A plan whose predictors have their names in the file.
struct Renamed<'p> {
    plan: &'p Plan,
    renames: Vec<(String, String)>,
}

impl Renamed<'_> {
    fn stored(&self) -> Plan {
        let mut plan = self.plan.clone();
        for name in &mut plan.roles.predictors {
            if let Some((_, column)) = self.renames.iter().find(|(new, _)| new == name) {
                name.clone_from(column);
            }
        }
        plan
    }
}

/// The plan, the response and sigma, by their names in the file.
fn plan(
    args: &CurveFitArgs,
    source: &Stored,
    formula: &Formula,
    options: &Options,
) -> Result<(Plan, String, Option<String>)> {
    let renames = texts("--x", &args.x)?;
    let stored = source.names()?;
    let shown = |name: &String| {
        let renamed = renames.iter().find(|(_, column)| column == name);
        renamed.map_or_else(|| name.clone(), |(new, _)| new.clone())
    };
    let names: Vec<String> = stored.iter().map(shown).collect();
    let views: Vec<&str> = names.iter().map(String::as_str).collect();
    let roles = formula.roles(&views, &[])?;
    let y = response(args, &names, &roles.predictors, args.sigma.as_deref())?;
    let in_file = |name: &str| -> Result<String> {
        let at = names.iter().position(|n| n == name);
        let at = at.or_else(|| stored.iter().position(|n| n == name));
        at.map(|at| stored[at].clone()).ok_or_else(|| {
            usage(format!(
                "there is no column `{name}`; the columns are {}",
                names.join(", ")
            ))
        })
    };
    let sigma = args.sigma.as_deref().map(in_file).transpose()?;
    let y = in_file(&y)?;
    let plan = Plan::new(formula, roles, sigma.is_some(), options)?;
    Ok((plan, y, sigma))
}

/// What a checkpoint of this fit belongs to. Threads and pieces change no bit and do not enter.
fn belongs(args: &CurveFitArgs, plan: &Plan, options: &Options) -> Result<Belongs> {
    let columns = [&args.x, &args.y.clone().into_iter().collect::<Vec<_>>()];
    let model = format!("{} {columns:?} {:?}", plan.formula.text(), args.sigma);
    let plain = Options {
        threads: 1,
        ..options.clone()
    };
    Ok(Belongs {
        model: hash(model.as_bytes()),
        options: hash(format!("{plain:?}").as_bytes()),
        data: fingerprint(&args.data)?,
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
