//! `fitzroy slurm collect`.

use super::{plan_of, tasks, write};
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::Args;
use fitzroy::diagnose::{SummaryOptions, diagnose};
use fitzroy::draws::{Part, Trace, merge, read_trace, write_netcdf};
use fitzroy::report::{TextOptions, diagnosis_json, diagnosis_text, summary_csv};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_slurm::status::{self, State};
use std::path::{Path, PathBuf};

/// Flags of `fitzroy slurm collect`.
#[derive(Args)]
pub(super) struct CollectArgs {
    /// The folder given as --out
    run: PathBuf,
    /// Take what is finished, and cut chains to the shortest
    #[arg(long)]
    partial: bool,
    /// One JSON document on stdout
    #[arg(long)]
    json: bool,
}

/// Merges the traces of all tasks into the folder of the run.
pub(super) fn run(args: &CollectArgs) -> Result<Outcome> {
    let plan = plan_of(&args.run)?;
    let n_tasks = plan["tasks"].as_u64().unwrap_or(0) as usize;
    let file = |i: usize| args.run.join(format!("task-{i}")).join("trace.nc");
    let missing: Vec<usize> = (0..n_tasks).filter(|&i| !file(i).exists()).collect();
    if !missing.is_empty() {
        say_missing(args, &missing)?;
        if !args.partial || missing.len() == n_tasks {
            return Ok(Outcome::NotPassed);
        }
    }
    if plan["of_chains"] != true {
        terminal::out(format!("{} of {n_tasks} parts are complete, each in its own folder", n_tasks - missing.len()));
        return Ok(outcome(&missing));
    }
    let part = |i: usize| {
        let path = file(i);
        Ok(Part { origin: path.display().to_string(), trace: read_trace(&path)? })
    };
    let parts: Result<Vec<Part>> = (0..n_tasks).filter(|i| !missing.contains(i)).map(part).collect();
    let trace = merge(parts?, args.partial)?;
    write_netcdf(&trace, &args.run.join("trace.nc"))?;
    show(args, &trace, &args.run)?;
    Ok(outcome(&missing))
}

fn outcome(missing: &[usize]) -> Outcome {
    if missing.is_empty() { Outcome::Done } else { Outcome::NotPassed }
}

fn show(args: &CollectArgs, trace: &Trace, folder: &Path) -> Result<()> {
    let found = diagnose(trace, &SummaryOptions::default())?;
    let document = diagnosis_json(&found);
    let text = diagnosis_text(&found, &TextOptions { rest_in: "summary.csv".into(), ..TextOptions::default() });
    write(&folder.join("summary.txt"), &text)?;
    write(&folder.join("summary.csv"), &summary_csv(&found))?;
    let json_document = serde_json::Value::Object(document);
    write(&folder.join("summary.json"), &format!("{json_document:#}\n"))?;
    if args.json {
        json::print(&json_document);
    } else {
        terminal::out(text.trim_end());
        terminal::out(format!("wrote {}", folder.join("trace.nc").display()));
    }
    Ok(())
}

/// Which tasks left no trace, why, and the line that runs them again.
fn say_missing(args: &CollectArgs, missing: &[usize]) -> Result<()> {
    let tasks = tasks(&args.run)?;
    for task in tasks.iter().filter(|t| missing.contains(&t.task)) {
        let why = match task.state {
            State::Finished => "finished, but its trace.nc is gone",
            State::Running => "still running",
            State::Waiting => "still waiting",
            State::Failed => "failed; see its file in logs",
            State::NotStarted => "never started",
        };
        terminal::note(format_args!("task {}: {why}", task.task));
    }
    let script = args.run.join("slurm").join("job.sbatch");
    terminal::note(format_args!(
        "run them again with: sbatch --array={} {}",
        status::array_list(missing),
        script.display()
    ));
    if missing.len() == tasks.len() && args.partial {
        let message = "no task has left a trace yet";
        return Err(Error::new(ErrorKind::Data, message));
    }
    Ok(())
}
