//! From a command line to job files on disk.

use super::{plan_of, slurm_folder, write};
use clap::Args;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_slurm::plan::{Command, Plan};
use fitzroy_slurm::split::Split;
use fitzroy_slurm::{profile, render};
use std::fs;
use std::path::{Path, PathBuf};

/// Flags that describe a job.
#[derive(Args)]
pub(super) struct JobArgs {
    /// What to ask the cluster for: h100, a100, v100, cpu, or one of your slurm.toml
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    profile: String,
    /// A file of profiles [default: fitzroy/slurm.toml of your configuration folder]
    #[arg(long, value_name = "FILE")]
    slurm_config: Option<PathBuf>,
    /// One key of the profile, as in time=04:00:00; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// How the run is spread over tasks: none, chains:N or parts:N
    #[arg(long, value_name = "HOW", default_value = "none")]
    split: Split,
    /// Tasks that may run at once, at most
    #[arg(long, value_name = "N")]
    concurrent: Option<usize>,
    /// The folder of the run, on a disk that all nodes see
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The command to run, without `fitzroy`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// The job files of a run.
pub(super) struct Files {
    pub(super) job: PathBuf,
    pub(super) collect: PathBuf,
}

/// What is to be run, and how.
pub(super) fn plan(args: &JobArgs) -> Result<Plan> {
    let here = std::env::current_dir().map_err(|e| io("the current folder", &e))?;
    let program = std::env::current_exe().map_err(|e| io("the program", &e))?;
    let command = Command::parse(&args.command)?;
    let command = command.with_absolute_files(&here, &|path| path.exists());
    let mut profile = profile::find(&profiles(args)?, &args.profile)?.clone();
    for assignment in &args.set {
        profile::override_by(&mut profile, assignment).map_err(|e| e.context("--set"))?;
    }
    Ok(Plan {
        memory_bytes: estimate(&program, &command)?,
        program,
        folder: here.join(&args.out),
        tasks: args.split.tasks(&command)?,
        command,
        profile,
        concurrent: args.concurrent.filter(|&n| n > 0),
    })
}

/// The profiles that come along, with what the site changes.
fn profiles(args: &JobArgs) -> Result<Vec<profile::Profile>> {
    let mut profiles = profile::built_in();
    let file = match &args.slurm_config {
        Some(file) => Some(file.clone()),
        None => site_file().filter(|file| file.exists()),
    };
    if let Some(file) = file {
        let shown = file.display().to_string();
        let text = fs::read_to_string(&file).map_err(|e| io(&shown, &e))?;
        profile::extend(&mut profiles, &text, &shown)?;
    }
    Ok(profiles)
}

fn site_file() -> Option<PathBuf> {
    let folder = match std::env::var_os("XDG_CONFIG_HOME").filter(|v| !v.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".config"),
    };
    Some(folder.join("fitzroy").join("slurm.toml"))
}

/// Memory of one task, for commands that can say it without running. Bad input is found here, by the
/// program that will run.
fn estimate(program: &Path, command: &Command) -> Result<Option<u64>> {
    if command.name != "sample" {
        return Ok(None);
    }
    let output = std::process::Command::new(program)
        .args(command.words())
        .args(["--dry-run", "--json"])
        .output()
        .map_err(|e| io("the program", &e))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("error: ").to_owned();
        return Err(Error::new(ErrorKind::Usage, said));
    }
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    Ok(document["memory_bytes"].as_f64().map(|bytes| bytes as u64))
}

/// Writes the job files. A folder that holds another run is left alone.
pub(super) fn write_all(plan: &Plan, partial: bool) -> Result<Files> {
    let folder = slurm_folder(&plan.folder);
    let document = plan.to_json();
    if plan.folder.exists() {
        let is_empty = fs::read_dir(&plan.folder).map_err(|e| io(&plan.folder.display().to_string(), &e))?.next().is_none();
        let earlier = plan_of(&plan.folder).ok();
        let same_run = earlier.as_ref().is_some_and(|p| {
            p["command"] == document["command"] && p["tasks"] == document["tasks"]
        });
        if !is_empty && !same_run {
            let message = format!(
                "{} holds something else; name another folder with --out",
                plan.folder.display()
            );
            return Err(Error::new(ErrorKind::Io, message));
        }
    }
    // A missing folder of logs fails every task without a word.
    for needed in [folder.clone(), plan.folder.join("logs")] {
        fs::create_dir_all(&needed).map_err(|e| io(&needed.display().to_string(), &e))?;
    }
    let files = Files {
        job: folder.join("job.sbatch"),
        collect: folder.join("collect.sbatch"),
    };
    write(&files.job, &render::job(plan))?;
    write(&files.collect, &render::collect(plan, partial))?;
    write(&folder.join("plan.json"), &format!("{document:#}\n"))?;
    Ok(files)
}

fn io(what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}"))
}
