//! `fitzroy slurm collect`: the results of the tasks, put together.

use super::submit::{Slurm, say_missing};
use super::{chains, folder, parts};
use crate::exit::Outcome;
use crate::terminal;
use clap::Args;
use fitzroy::Result;
use std::path::{Path, PathBuf};

/// Flags of `fitzroy slurm collect`.
#[derive(Args)]
pub(super) struct CollectArgs {
    /// The folder given as --out
    run: PathBuf,
    /// Take the tasks that are finished, though others are not
    #[arg(long)]
    partial: bool,
    /// Exit 1 unless the run converged
    #[arg(long)]
    pub(super) strict: bool,
    /// No report.html
    #[arg(long)]
    pub(super) no_report: bool,
    /// One JSON document on stdout
    #[arg(long)]
    pub(super) json: bool,
}

/// Collects one run, or those of several profiles.
pub(super) fn run(args: &CollectArgs) -> Result<Outcome> {
    let runs = folder::runs(&args.run)?;
    let mut outcome = Outcome::Done;
    for run in &runs {
        if one(args, run)? != Outcome::Done {
            outcome = Outcome::NotPassed;
        }
    }
    if runs.len() > 1 {
        parts::join_runs(&args.run, &runs)?;
    }
    Ok(outcome)
}

fn one(args: &CollectArgs, run: &Path) -> Result<Outcome> {
    let plan = folder::plan(run)?;
    let tasks = folder::tasks(run, &Slurm)?;
    let unfinished: Vec<usize> = folder::missing(&tasks).iter().map(|t| t.task).collect();
    let n = tasks.len();
    if !unfinished.is_empty() {
        say_missing(run, &tasks);
    }
    let take: Vec<usize> = (0..n).filter(|i| !unfinished.contains(i)).collect();
    if take.is_empty() || !unfinished.is_empty() && !args.partial {
        let how = match take.is_empty() {
            true => "no task is finished",
            false => "collect what there is with --partial",
        };
        terminal::note(format_args!(
            "{} of {n} tasks are finished: {how}",
            n - unfinished.len()
        ));
        return Ok(Outcome::NotPassed);
    }
    let passed = match plan["share"].as_str() {
        Some("chains") => chains::collect(args, run, &plan, &take)?,
        _ => parts::collect(args, run, &plan, &take)?,
    };
    Ok(match passed && unfinished.is_empty() {
        true => Outcome::Done,
        false => Outcome::NotPassed,
    })
}
