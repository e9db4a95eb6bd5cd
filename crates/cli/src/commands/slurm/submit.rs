//! Talking to the cluster: `submit`, `rerun`, `cancel`.

use super::folder::{self, Submitted};
use super::prepare::{self, JobArgs};
use crate::exit::Outcome;
use crate::terminal;
use clap::Args;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_slurm::cluster::{self, Answer, Cluster};
use fitzroy_slurm::status::{self, State};
use fitzroy_slurm::{check, plan::Plan};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of Slurm on this machine.
pub(super) struct Slurm;

impl Cluster for Slurm {
    fn call(&self, program: &str, arguments: &[&str]) -> Option<Answer> {
        let output = Command::new(program).args(arguments).output().ok()?;
        Some(Answer {
            passed: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// Flags of `fitzroy slurm submit`.
#[derive(Args)]
pub(super) struct SubmitArgs {
    #[command(flatten)]
    job: JobArgs,
    /// Check everything with the cluster and stop before submitting
    #[arg(long)]
    dry_run: bool,
}

/// Writes the job files, checks them with the cluster, and submits them.
pub(super) fn submit(args: &SubmitArgs) -> Result<Outcome> {
    let plans = prepare::plans(&args.job)?;
    for plan in &plans {
        runs_here(plan)?;
        idle(&plan.folder)?;
    }
    let written = prepare::write_plans(&args.job, plans)?;
    // All are checked before the first is submitted.
    for (plan, files) in &written {
        check::before_submitting(&Slurm, plan, &files.job.display().to_string())?;
    }
    for (plan, files) in &written {
        if args.dry_run {
            terminal::out(format_args!(
                "the cluster would take {}",
                files.job.display()
            ));
            continue;
        }
        hand_over(&plan.folder, None)?;
    }
    Ok(Outcome::Done)
}

/// The program starts on this machine, whose system should be that of the nodes.
fn runs_here(plan: &Plan) -> Result<()> {
    if plan.profile.container.is_some() {
        return Ok(());
    }
    let answer = Command::new(&plan.program).arg("--version").output();
    let why = match answer {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!(
        "{} does not run here: {why}; set the program of the profile with --set program=PATH",
        plan.program.display()
    );
    Err(Error::new(ErrorKind::Usage, message))
}

fn is_queued(job: u64) -> bool {
    cluster::is_queued(&Slurm, job)
}

/// Whether the job that collects a run is in the queue.
pub(super) fn is_collecting(run: &Path) -> bool {
    let submitted = Submitted::read(run);
    submitted.and_then(|s| s.collect).is_some_and(is_queued)
}

/// No task of the run is in the queue.
fn idle(run: &Path) -> Result<()> {
    let Some(submitted) = Submitted::read(run) else {
        return Ok(());
    };
    match submitted.jobs.iter().find(|job| is_queued(**job)) {
        None => Ok(()),
        Some(job) => Err(Error::new(
            ErrorKind::Usage,
            format!(
                "job {job} of {} is still in the queue; wait for it, or end it with `fitzroy slurm \
                 cancel {}`",
                run.display(),
                run.display()
            ),
        )),
    }
}

/// Submits the tasks of a rendered run, all or some, and the job that collects.
fn hand_over(run: &Path, some: Option<&[usize]>) -> Result<()> {
    let slurm = folder::slurm(run);
    let job_file = slurm.join("job.sbatch").display().to_string();
    let array = some.map(|tasks| format!("--array={}", status::array_list(tasks)));
    let job = cluster::submit(&Slurm, &job_file, array.as_deref())?;
    let mut submitted = Submitted::read(run).unwrap_or_default();
    // Tasks of an earlier job may still be at work: whoever collects waits for them as well.
    let busy: Vec<u64> = submitted
        .jobs
        .iter()
        .copied()
        .filter(|&job| is_queued(job))
        .collect();
    if let Some(collect) = submitted.collect.filter(|&job| is_queued(job)) {
        cluster::cancel(&Slurm, collect)?;
    }
    submitted.jobs.push(job);
    submitted.collect = None;
    submitted.save(run)?;
    let collect_file = slurm.join("collect.sbatch");
    let text = std::fs::read_to_string(&collect_file).unwrap_or_default();
    let kind = match text.contains(" --partial") {
        true => "afterany",
        false => "afterok",
    };
    let others: String = busy.iter().map(|job| format!("afterany:{job},")).collect();
    let after = format!("--dependency={others}{kind}:{job}");
    let collect = cluster::submit(&Slurm, &collect_file.display().to_string(), Some(&after))?;
    submitted.collect = Some(collect);
    submitted.save(run)?;
    let n = some.map_or_else(
        || folder::plan(run).map(|p| folder::n_tasks(&p)),
        |s| Ok(s.len()),
    )?;
    terminal::out(format_args!(
        "job {job}: {n} {}; job {collect} collects\nwatch with: fitzroy slurm status {}",
        if n == 1 { "task" } else { "tasks" },
        run.display()
    ));
    Ok(())
}

/// Submits again what ended without a result, though other tasks may still be at work.
pub(super) fn rerun(folder: &Path) -> Result<Outcome> {
    for run in folder::runs(folder)? {
        let tasks = folder::tasks(&run, &Slurm)?;
        let missing = folder::missing(&tasks);
        let again: Vec<usize> = missing
            .iter()
            .filter(|t| has_ended(t))
            .map(|t| t.task)
            .collect();
        let shown = run.display();
        match (again.is_empty(), missing.len()) {
            (false, _) => hand_over(&run, Some(&again))?,
            (true, 0) => terminal::out(format_args!(
                "{shown}: every task is finished; put them together with: fitzroy slurm collect {shown}"
            )),
            (true, n) => terminal::out(format_args!(
                "{shown}: no task has ended without a result; {n} are at work or in the queue"
            )),
        }
    }
    Ok(Outcome::Done)
}

/// Whether a task is neither at work nor in the queue, and left no result.
fn has_ended(task: &status::TaskStatus) -> bool {
    matches!(task.state, State::Failed | State::NotStarted)
}

/// Cancels the jobs of a run.
pub(super) fn cancel(folder: &Path) -> Result<Outcome> {
    for run in folder::runs(folder)? {
        let shown = run.display();
        let Some(submitted) = Submitted::read(&run) else {
            let message = format!("{shown}: nothing was submitted from here");
            return Err(Error::new(ErrorKind::Usage, message));
        };
        for job in submitted.jobs.iter().copied().chain(submitted.collect) {
            cluster::cancel(&Slurm, job)?;
        }
        terminal::out(format_args!(
            "cancelled; what its tasks saved is kept: `fitzroy slurm rerun {shown}` goes on"
        ));
    }
    Ok(Outcome::Done)
}

/// Says which tasks are missing, why, and what runs them again.
pub(super) fn say_missing(run: &Path, tasks: &[status::TaskStatus]) {
    let missing = folder::missing(tasks);
    for task in &missing {
        let why = match task.state {
            State::Finished => "finished",
            State::Running => "still running",
            State::Waiting => "waiting in the queue",
            State::Failed => "ended without a result",
            State::NotStarted => "never started",
        };
        let last = match task.state {
            State::Failed => folder::last_words(run, task.task),
            _ => None,
        };
        let last = last.map_or(String::new(), |words| format!("; {words}"));
        terminal::note(format_args!("task {}: {why}{last}", task.task));
    }
    let again: Vec<usize> = missing
        .iter()
        .filter(|t| has_ended(t))
        .map(|t| t.task)
        .collect();
    if !again.is_empty() {
        let script: PathBuf = folder::slurm(run).join("job.sbatch");
        terminal::note(format_args!(
            "run them again with: fitzroy slurm rerun {}\nor with: sbatch --array={} {}",
            run.display(),
            status::array_list(&again),
            script.display()
        ));
    }
}
