//! `fitzroy slurm`.

mod collect;
mod prepare;

use crate::exit::Outcome;
use crate::{json, terminal};
use clap::{Args, Subcommand};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_slurm::cluster::{self, Answer, Cluster};
use fitzroy_slurm::{check, profile, status};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Flags of `fitzroy slurm`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy slurm render --profile cpu --out run -- sample m.fz --data d.csv --seed 42\n  \
    fitzroy slurm submit --profile cpu --split chains:8 --out run -- sample m.fz --data d.csv --chains 16\n  \
    fitzroy slurm status run\n  fitzroy slurm collect run")]
pub(crate) struct SlurmArgs {
    #[command(subcommand)]
    verb: Verb,
}

/// What may be done.
#[derive(Subcommand)]
enum Verb {
    /// Writes the job files of a run, and submits nothing
    Render(prepare::JobArgs),
    /// Writes the job files, checks them with the cluster, and submits them
    Submit(SubmitArgs),
    /// Says what the tasks of a run are doing
    Status(StatusArgs),
    /// Puts the traces of all tasks together and says whether they can be trusted
    Collect(collect::CollectArgs),
    /// Cancels a run; what its tasks saved is kept
    Cancel(RunFolder),
    /// Prints the profiles, as a file to edit
    Profiles,
}

/// Flags of `fitzroy slurm submit`.
#[derive(Args)]
struct SubmitArgs {
    #[command(flatten)]
    job: prepare::JobArgs,
    /// Check everything with the cluster and stop before submitting
    #[arg(long)]
    dry_run: bool,
    /// Collect what there is even when some tasks fail
    #[arg(long)]
    partial: bool,
}

/// The folder of a run.
#[derive(Args)]
struct RunFolder {
    /// The folder given as --out
    run: PathBuf,
}

/// Flags of `fitzroy slurm status`.
#[derive(Args)]
struct StatusArgs {
    #[command(flatten)]
    folder: RunFolder,
    /// One JSON document on stdout
    #[arg(long)]
    json: bool,
}

/// Does what was asked.
pub(crate) fn run(args: &SlurmArgs) -> Result<Outcome> {
    match &args.verb {
        Verb::Render(job) => {
            let plan = prepare::plan(job)?;
            let files = prepare::write_all(&plan, false)?;
            terminal::out(format!("wrote {}\n      {}", files.job.display(), files.collect.display()));
            terminal::out(format!("submit them with: sbatch {}", files.job.display()));
            Ok(Outcome::Done)
        }
        Verb::Submit(args) => submit(args),
        Verb::Status(args) => show_status(args),
        Verb::Collect(args) => collect::run(args),
        Verb::Cancel(args) => cancel(args),
        Verb::Profiles => {
            terminal::out(profile::BUILT_IN.trim_end());
            Ok(Outcome::Done)
        }
    }
}

/// The programs of Slurm on this machine.
struct Slurm;

impl Cluster for Slurm {
    fn call(&self, program: &str, arguments: &[&str]) -> Option<Answer> {
        let output = std::process::Command::new(program).args(arguments).output().ok()?;
        Some(Answer {
            passed: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

fn submit(args: &SubmitArgs) -> Result<Outcome> {
    let plan = prepare::plan(&args.job)?;
    let files = prepare::write_all(&plan, args.partial)?;
    let job_file = files.job.display().to_string();
    for warning in check::before_submitting(&Slurm, &plan, &job_file)? {
        terminal::note(format_args!("warning: {warning}"));
    }
    if args.dry_run {
        terminal::out(format!("the cluster would take {job_file}"));
        return Ok(Outcome::Done);
    }
    let job = cluster::submit(&Slurm, &job_file, None)?;
    let kind = if args.partial { "afterany" } else { "afterok" };
    let collect = cluster::submit(&Slurm, &files.collect.display().to_string(), Some((kind, job)))?;
    let submitted = json!({"job": job, "collect": collect});
    let path = slurm_folder(&plan.folder).join("submitted.json");
    write(&path, &format!("{submitted:#}\n"))?;
    terminal::out(format!(
        "job {job}: {} tasks; job {collect} collects them\nwatch it with: fitzroy slurm status {}",
        plan.tasks.count,
        plan.folder.display()
    ));
    Ok(Outcome::Done)
}

fn show_status(args: &StatusArgs) -> Result<Outcome> {
    let tasks = tasks(&args.folder.run)?;
    if args.json {
        json::print(&status::to_json(&tasks));
    } else {
        terminal::out(status::table(&tasks).trim_end());
    }
    Ok(Outcome::Done)
}

fn cancel(args: &RunFolder) -> Result<Outcome> {
    let folder = &args.run;
    let Some(submitted) = read_json(&slurm_folder(folder).join("submitted.json")) else {
        let message = format!("{}: nothing was submitted from here", folder.display());
        return Err(Error::new(ErrorKind::Usage, message));
    };
    for key in ["job", "collect"] {
        if let Some(job) = submitted[key].as_u64() {
            cluster::cancel(&Slurm, job)?;
        }
    }
    terminal::out("cancelled; `fitzroy slurm submit` with the same command goes on where it stopped");
    Ok(Outcome::Done)
}

/// What the tasks of a run are doing, by their files and the queue.
fn tasks(folder: &Path) -> Result<Vec<status::TaskStatus>> {
    let plan = plan_of(folder)?;
    let n_tasks = plan["tasks"].as_u64().unwrap_or(0) as usize;
    let submitted = read_json(&slurm_folder(folder).join("submitted.json"));
    let job = submitted.and_then(|s| s["job"].as_u64());
    let queue = job.map(|job| cluster::queue(&Slurm, job));
    let task = |i: usize| {
        let progress = read_json(&folder.join(format!("task-{i}")).join("progress.json"));
        status::of_task(i, progress, queue.as_ref())
    };
    Ok((0..n_tasks).map(task).collect())
}

/// The plan that a run was rendered from.
fn plan_of(folder: &Path) -> Result<Value> {
    read_json(&slurm_folder(folder).join("plan.json")).ok_or_else(|| {
        let message = format!(
            "{}: no slurm/plan.json in it; name the folder given to `slurm render` as --out",
            folder.display()
        );
        Error::new(ErrorKind::Usage, message)
    })
}

fn slurm_folder(run: &Path) -> PathBuf {
    run.join("slurm")
}

fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| {
        let message = format!("{} cannot be written: {error}", path.display());
        Error::new(ErrorKind::Io, message)
    })
}
