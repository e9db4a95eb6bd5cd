//! `fitzroy slurm`.

mod chains;
mod collect;
mod estimate;
mod folder;
mod parts;
mod prepare;
mod submit;

use crate::exit::Outcome;
use crate::{json, terminal};
use clap::{Args, Subcommand};
use fitzroy::Result;
use fitzroy_slurm::{profile, status};
use serde_json::{Value, json};
use std::path::PathBuf;
use submit::Slurm;

/// Flags of `fitzroy slurm`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy slurm render --profile cpu --out run -- sample m.fz --data d.csv --seed 42\n  \
    fitzroy slurm submit --profile cpu --split chains:4 --out run -- sample m.fz --data d.csv\n  \
    fitzroy slurm status run\n  fitzroy slurm collect run\n\n\
    From a first command to a cluster and back: docs/slurm.md.")]
pub(crate) struct SlurmArgs {
    #[command(subcommand)]
    verb: Verb,
}

/// What may be done.
#[derive(Subcommand)]
enum Verb {
    /// Writes the job files of a run, and submits nothing
    #[command(
        after_help = "Example:\n  fitzroy slurm render --profile a100 --out run -- \
        sample m.fz --data d.csv"
    )]
    Render(prepare::JobArgs),
    /// Writes the job files, checks them with the cluster, and submits them
    #[command(
        after_help = "Example:\n  fitzroy slurm submit --profile cpu --split parts:40 \
        --out study -- stop-signal fit study.csv"
    )]
    Submit(submit::SubmitArgs),
    /// Says what the tasks of a run are doing
    #[command(after_help = "Example:\n  fitzroy slurm status run --json")]
    Status(StatusArgs),
    /// Puts the results of all tasks together and says whether they can be trusted
    #[command(after_help = "Example:\n  fitzroy slurm collect run --partial")]
    Collect(collect::CollectArgs),
    /// Submits again the tasks that are not finished; they go on where they stopped
    #[command(after_help = "Example:\n  fitzroy slurm rerun run")]
    Rerun(RunFolder),
    /// Cancels a run; what its tasks saved is kept
    #[command(after_help = "Example:\n  fitzroy slurm cancel run")]
    Cancel(RunFolder),
    /// Prints the profiles that come along, as a file to edit
    #[command(after_help = "Example:\n  fitzroy slurm profiles > ~/.config/fitzroy/slurm.toml")]
    Profiles,
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
        Verb::Render(job) => render(job),
        Verb::Submit(args) => submit::submit(args),
        Verb::Status(args) => show_status(args),
        Verb::Collect(args) => collect::run(args),
        Verb::Rerun(args) => submit::rerun(&args.run),
        Verb::Cancel(args) => submit::cancel(&args.run),
        Verb::Profiles => {
            if let Some(file) = prepare::site_file() {
                terminal::note(format_args!("your own are read from {}", file.display()));
            }
            terminal::out(profile::BUILT_IN.trim_end());
            Ok(Outcome::Done)
        }
    }
}

fn render(job: &prepare::JobArgs) -> Result<Outcome> {
    for (plan, files) in prepare::write_plans(job, prepare::plans(job)?)? {
        terminal::out(format_args!(
            "wrote {}\n      {}\n{} {} on {}: {} of memory, {} each\nsubmit with: sbatch {}",
            files.job.display(),
            files.collect.display(),
            plan.tasks.count,
            if plan.tasks.count == 1 {
                "task"
            } else {
                "tasks"
            },
            plan.profile.name,
            plan.memory(),
            profile::notation(plan.time_s()?),
            files.job.display()
        ));
    }
    Ok(Outcome::Done)
}

fn show_status(args: &StatusArgs) -> Result<Outcome> {
    let runs = folder::runs(&args.folder.run)?;
    let mut documents = Vec::new();
    for run in &runs {
        let tasks = folder::tasks(run, &Slurm)?;
        if args.json {
            let mut document = status::to_json(&tasks);
            document["run"] = run.display().to_string().into();
            document["collecting"] = submit::is_collecting(run).into();
            documents.push(document);
            continue;
        }
        if runs.len() > 1 {
            terminal::out(run.display());
        }
        terminal::out(status::table(&tasks).trim_end());
    }
    match (args.json, documents.len()) {
        (false, _) => {}
        (true, 1) => json::print(&documents[0]),
        (true, _) => json::print(&json!({"runs": Value::Array(documents)})),
    }
    Ok(Outcome::Done)
}
