//! `fitzroy compare TRACE TRACE...`.

mod show;

use crate::args::Common;
use crate::exit::Outcome;
use crate::json;
use clap::Args;
use fitzroy::diagnose::{Loo, agreement_opened, compare, loo_opened, loo_pit_opened};
use fitzroy::draws::{Opened, open_trace};
use fitzroy::report::comparison_json;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_session::traces::IN_MEMORY_BYTES;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Flags of `fitzroy compare`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy compare pooled/trace.nc hierarchical/trace.nc\n  \
    fitzroy compare --posteriors seed-1 seed-2\n\n\
    Models are ranked by PSIS-LOO; sample them with --log-likelihood. With --posteriors two runs \
    of one model are compared, and the exit code is 1 if they differ."
)]
pub(crate) struct CompareArgs {
    /// Traces, or folders of runs
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Compare the posteriors of two runs instead of the predictions of models
    #[arg(long)]
    posteriors: bool,
    /// The observed variable, or the variables whose posteriors are compared
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    var: Vec<String>,
    #[command(flatten)]
    common: Common,
}

/// Reads the traces and prints what they say about each other.
pub(crate) fn run(args: &CompareArgs) -> Result<Outcome> {
    let threads = args.common.machine()?.threads;
    if args.traces.len() < 2 {
        let message = format!(
            "one trace ({}) was given; a comparison needs two or more",
            args.traces[0].display()
        );
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let names = names(&args.traces);
    match args.posteriors {
        true => posteriors(args, &names, threads),
        false => models(args, &names, threads),
    }
}

fn models(args: &CompareArgs, names: &[String], threads: usize) -> Result<Outcome> {
    if args.var.len() > 1 {
        let message = "--var: one observed variable is compared at a time";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let variable = args.var.first().map(String::as_str);
    let one = |(path, name): (&PathBuf, &String)| -> Result<_> {
        let trace = read(path)?;
        let context = |error: Error| error.context(path.display());
        let found = loo_opened(&trace, variable, threads).map_err(context)?;
        // Not every trace has replicates.
        let has_replicates = match &trace {
            Opened::Whole(trace) => trace.group("posterior_predictive").is_some(),
            Opened::Stored(stored) => stored.outline()?.group("posterior_predictive").is_some(),
        };
        let pit = match args.common.json && has_replicates {
            true => Some(loo_pit_opened(&trace, variable, threads).map_err(context)?),
            false => None,
        };
        Ok(((name.clone(), found), pit))
    };
    let read: Result<Vec<((String, Loo), _)>> = args.traces.iter().zip(names).map(one).collect();
    let (loos, pits): (Vec<_>, Vec<_>) = read?.into_iter().unzip();
    let found = compare(&loos)?;
    if args.common.json {
        json::print(&comparison_json(&found, &loos, &pits));
    } else {
        show::models(&found, &loos, args.common.quiet);
    }
    Ok(Outcome::Done)
}

fn posteriors(args: &CompareArgs, names: &[String], threads: usize) -> Result<Outcome> {
    let [first, second] = args.traces.as_slice() else {
        let message = format!(
            "--posteriors compares two runs, {} were given",
            args.traces.len()
        );
        return Err(Error::new(ErrorKind::Usage, message));
    };
    let found = agreement_opened(&read(first)?, &read(second)?, &args.var, threads)?;
    if args.common.json {
        json::print(&show::posteriors_json(&found, names));
    } else {
        show::posteriors(&found, names, args.common.quiet);
    }
    Ok(match found.agree {
        true => Outcome::Done,
        false => Outcome::NotPassed,
    })
}

fn read(path: &Path) -> Result<Opened> {
    open_trace(path, IN_MEMORY_BYTES)
}

/// A name for every trace: its file or, where that says nothing, its folder; numbered where two
/// are the same.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let text = |part: Option<&std::ffi::OsStr>| part.map(|p| p.to_string_lossy().into_owned());
    let plain = |path: &PathBuf| {
        let stem = text(path.file_stem()).unwrap_or_else(|| path.display().to_string());
        let folder = || text(path.parent().and_then(Path::file_name));
        match stem.as_str() {
            "trace" | "run" => folder().unwrap_or(stem),
            _ => stem,
        }
    };
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for path in paths {
        let name = plain(path);
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let fresh = std::iter::once(name.clone())
            .chain(numbered)
            .find(|n| !seen.contains(n));
        let fresh = fresh.unwrap_or(name);
        seen.insert(fresh.clone());
        out.push(fresh);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_named_after_their_file_or_folder() {
        let paths = [
            "a/trace.nc",
            "b/trace.nc",
            "pymc.nc",
            "c/run.zarr",
            "x/a",
            "trace.nc",
        ];
        let names = names(&paths.map(PathBuf::from));
        assert_eq!(names, ["a", "b", "pymc", "c", "a-2", "trace"]);
    }
}
