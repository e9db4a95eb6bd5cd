//! From a command line to job files on disk.

use super::estimate;
use super::folder::{self, Submitted};
use crate::{invocation, terminal};
use clap::Args;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_slurm::command::{Command, Share};
use fitzroy_slurm::plan::Plan;
use fitzroy_slurm::profile::Profile;
use fitzroy_slurm::split::Split;
use fitzroy_slurm::{check, profile, render};
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

/// Flags that describe a job.
#[derive(Args)]
pub(super) struct JobArgs {
    /// What to ask the cluster for: h100, a100, v100, cpu, or one of your slurm.toml. Several, as in
    /// h100,a100, make a run of each, in a folder of its own below --out
    #[arg(
        long,
        value_name = "NAME",
        default_value = "cpu",
        value_delimiter = ','
    )]
    profile: Vec<String>,
    /// A file of profiles [default: fitzroy/slurm.toml of your configuration folder]
    #[arg(long, value_name = "FILE")]
    slurm_config: Option<PathBuf>,
    /// One key of the profile, as in time=04:00:00; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// How the run is spread over tasks: none, chains:N (sample), or parts:N (data sets of curve-fit
    /// --batch-by, subjects of stop-signal fit, trials of weather tune)
    #[arg(long, value_name = "SPLIT", default_value = "none")]
    split: Split,
    /// Tasks that may run at once, at most
    #[arg(long, value_name = "N")]
    concurrent: Option<usize>,
    /// Collect what there is even when some tasks fail
    #[arg(long)]
    partial: bool,
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

/// What is to be run, and how: a plan for every profile.
pub(super) fn plans(args: &JobArgs) -> Result<Vec<Plan>> {
    let here = std::env::current_dir().map_err(|e| io("the current folder", &e))?;
    let ours = invocation::program().map_err(|e| io("the program", &e))?;
    if args.concurrent == Some(0) {
        return Err(Error::usage("--concurrent is 0; use at least 1"));
    }
    let command = Command::parse(&args.command)?;
    let command = command.with_absolute_files(&here, &|path| path.exists())?;
    let tasks = args.split.tasks(&command)?;
    if args.out.as_os_str().is_empty() {
        return Err(Error::usage("--out is empty; name a folder"));
    }
    let folder = here.join(&args.out);
    if folder.display().to_string().contains('\n') {
        return Err(Error::usage(
            "--out: a line of a job file ends where a line of it ends",
        ));
    }
    if tasks.share == Share::Blocks && command.value("--pooling").is_none_or(|p| p != "none") {
        terminal::note(
            "note: every block of subjects gets a population of its own; --pooling none fits each \
             subject alone, and one task (no --split) all in one population",
        );
    }
    let all = profiles(args)?;
    let mut plans = Vec::new();
    for name in &args.profile {
        let mut profile = profile::find(&all, name)?.clone();
        for assignment in &args.set {
            profile::override_by(&mut profile, assignment).map_err(|e| e.context("--set"))?;
        }
        check::gpus_are_used(&command, &profile)?;
        let given = profile.program.as_ref().map(PathBuf::from);
        let program = given.unwrap_or_else(|| ours.clone());
        plans.push(Plan {
            checksum: profile
                .container
                .is_none()
                .then(|| checksum(&program))
                .flatten(),
            program,
            folder: match args.profile.len() {
                1 => folder.clone(),
                _ => folder.join(name),
            },
            tasks,
            estimate: estimate::of_task(&ours, &command, &profile, tasks)?,
            command: command.clone(),
            profile,
            concurrent: args.concurrent,
        });
    }
    Ok(plans)
}

/// Writes the files of every plan, and says what may go wrong.
pub(super) fn write_plans(args: &JobArgs, plans: Vec<Plan>) -> Result<Vec<(Plan, Files)>> {
    let mut written = Vec::new();
    for plan in plans {
        for warning in check::warnings(&plan, &std::env::temp_dir())? {
            terminal::note(format_args!("warning: {warning}"));
        }
        let files = write_all(&plan, args.partial)?;
        written.push((plan, files));
    }
    Ok(written)
}

/// The profiles that come along, with what the site changes.
fn profiles(args: &JobArgs) -> Result<Vec<Profile>> {
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

/// Where a user keeps profiles.
pub(super) fn site_file() -> Option<PathBuf> {
    let folder = match std::env::var_os("XDG_CONFIG_HOME").filter(|v| !v.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".config"),
    };
    Some(folder.join("fitzroy").join("slurm.toml"))
}

/// What `cksum` says of the program here; none where there is no such program, or no such file yet.
fn checksum(program: &Path) -> Option<String> {
    let file = fs::File::open(program).ok()?;
    let output = process::Command::new("cksum").stdin(file).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Writes the job files. A folder that holds another run is left alone.
fn write_all(plan: &Plan, partial: bool) -> Result<Files> {
    let document = plan.to_json()?;
    let shown = plan.folder.display().to_string();
    if plan.folder.exists() {
        let mut entries = fs::read_dir(&plan.folder).map_err(|e| io(&shown, &e))?;
        let is_empty = entries.next().is_none();
        let earlier = folder::plan(&plan.folder).ok();
        let same_run = earlier.as_ref().is_some_and(|p| {
            let keys = ["command", "tasks", "share"];
            keys.iter().all(|key| p[*key] == document[*key])
        });
        let replaced = match earlier {
            Some(_) => folder::is_untouched(&plan.folder),
            None => folder::is_prepared(&plan.folder),
        };
        if !is_empty && !same_run && !replaced {
            let what = match earlier {
                Some(_) => "another run",
                None => "something else",
            };
            let message = format!("{shown} holds {what}; name another folder with --out");
            return Err(Error::new(ErrorKind::Io, message));
        }
        let changed = earlier.is_some_and(|p| p["checksum"] != document["checksum"]);
        if changed && Submitted::read(&plan.folder).is_some() {
            let message = format!(
                "{shown} holds a run of another build of the program, which its tasks must not mix: \
                 put that back, or name another folder with --out"
            );
            return Err(Error::new(ErrorKind::Io, message));
        }
    }
    let slurm = folder::slurm(&plan.folder);
    // A missing folder of logs fails every task without a word.
    for needed in [slurm.clone(), plan.folder.join("logs")] {
        fs::create_dir_all(&needed).map_err(|e| io(&needed.display().to_string(), &e))?;
    }
    let files = Files {
        job: slurm.join("job.sbatch"),
        collect: slurm.join("collect.sbatch"),
    };
    folder::write(&files.job, &render::job(plan)?)?;
    folder::write(&files.collect, &render::collect(plan, partial))?;
    folder::write(&slurm.join("plan.json"), &format!("{document:#}\n"))?;
    Ok(files)
}

pub(super) fn io(what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}"))
}
