//! The folder of a run on a cluster: its plan, its jobs, its tasks.

use crate::commands::files;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_slurm::cluster::{self, Cluster};
use fitzroy_slurm::status::{self, State, TaskStatus};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the job files lie.
pub(super) fn slurm(run: &Path) -> PathBuf {
    run.join("slurm")
}

/// Where a task writes.
pub(super) fn task(run: &Path, task: usize) -> PathBuf {
    run.join(format!("task-{task}"))
}

/// The runs that a folder means: itself, or those of several profiles below it.
///
/// # Errors
/// There is none.
pub(super) fn runs(folder: &Path) -> Result<Vec<PathBuf>> {
    let is_run = |path: &Path| slurm(path).join("plan.json").is_file();
    if is_run(folder) {
        return Ok(vec![folder.to_path_buf()]);
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| is_run(p)).collect();
    below.sort();
    match below.is_empty() {
        false => Ok(below),
        true => Err(Error::new(
            ErrorKind::Usage,
            format!(
                "{}: no slurm/plan.json in it; name the folder given to `slurm render` as --out",
                folder.display()
            ),
        )),
    }
}

/// The plan that a run was rendered from.
///
/// # Errors
/// There is none, or it cannot be read.
pub(super) fn plan(run: &Path) -> Result<Value> {
    let path = slurm(run).join("plan.json");
    read_json(&path).ok_or_else(|| {
        let message = format!(
            "{}: is missing or damaged; render the run again",
            path.display()
        );
        Error::new(ErrorKind::Usage, message)
    })
}

/// Where a caller may lay files for a run before it is rendered, in the folder of its job files.
const INPUTS: &str = "inputs-";

/// What lies in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let name = |e: fs::DirEntry| e.file_name().to_string_lossy().into_owned();
    entries.map(name).collect()
}

/// Whether there are only files that a caller laid there for a run.
pub(super) fn is_prepared(run: &Path) -> bool {
    let files = names(&slurm(run));
    names(run) == ["slurm"] && files.iter().all(|name| name.starts_with(INPUTS))
}

/// Whether no task of a run has ever started: there are job files and nothing else.
pub(super) fn is_untouched(run: &Path) -> bool {
    let nothing_else = names(run)
        .iter()
        .all(|name| name == "slurm" || name == "logs");
    nothing_else && names(&run.join("logs")).is_empty() && Submitted::read(run).is_none()
}

/// Tasks of a plan.
pub(super) fn n_tasks(plan: &Value) -> usize {
    plan["tasks"].as_u64().unwrap_or(0) as usize
}

/// The jobs that a run was handed to.
#[derive(Default)]
pub(super) struct Submitted {
    /// Array jobs, the newest last.
    pub(super) jobs: Vec<u64>,
    /// The job that collects.
    pub(super) collect: Option<u64>,
}

impl Submitted {
    fn path(run: &Path) -> PathBuf {
        slurm(run).join("submitted.json")
    }

    /// What was submitted; none where nothing was.
    pub(super) fn read(run: &Path) -> Option<Self> {
        let document = read_json(&Self::path(run))?;
        let jobs = document["jobs"].as_array()?.iter();
        Some(Self {
            jobs: jobs.filter_map(Value::as_u64).collect(),
            collect: document["collect"].as_u64(),
        })
    }

    /// Notes it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn save(&self, run: &Path) -> Result<()> {
        let document = json!({"jobs": self.jobs, "collect": self.collect});
        write(&Self::path(run), &format!("{document:#}\n"))
    }
}

/// What the tasks of a run are doing, by their files and the queue.
///
/// # Errors
/// There is no run.
pub(super) fn tasks(run: &Path, cluster: &dyn Cluster) -> Result<Vec<TaskStatus>> {
    let plan = plan(run)?;
    let queue = Submitted::read(run).and_then(|submitted| {
        let mut all = BTreeMap::new();
        for &job in &submitted.jobs {
            // The newest job knows best, if any does.
            all.extend(cluster::queue(cluster, job)?);
        }
        Some(all)
    });
    let one = |i: usize| {
        let progress = read_json(&task(run, i).join("progress.json"));
        let progress = progress.map(|found| with_results(found, &task(run, i)));
        let complete = run.join("done").join(i.to_string()).is_file();
        let mut found = status::of_task(i, complete, progress, queue.as_ref());
        // It may have ended before it said anything in its folder.
        let was_there = || task(run, i).exists() || log(run, i).is_some();
        if found.state == State::NotStarted && was_there() {
            found.state = State::Failed;
        }
        found
    };
    Ok((0..n_tasks(&plan)).map(one).collect())
}

/// Tasks that are not finished.
pub(super) fn missing(tasks: &[TaskStatus]) -> Vec<&TaskStatus> {
    tasks
        .iter()
        .filter(|t| t.state != State::Finished)
        .collect()
}

/// What a run that is over knows better than its last look at itself, if it ever took one.
fn with_results(mut progress: Value, task: &Path) -> Value {
    if progress["min_ess_bulk"].is_null() && progress["state"] != "running" {
        let results = read_json(&task.join("run.json")).unwrap_or_default();
        for key in ["min_ess_bulk", "max_rhat"] {
            progress[key] = results[key].clone();
        }
    }
    progress
}

/// The newest log of a task: `NAME_JOB_TASK.log`, while that of collecting is `NAME_JOB.log`.
fn log(run: &Path, task: usize) -> Option<PathBuf> {
    let entries = fs::read_dir(run.join("logs")).ok()?.flatten();
    let ending = format!("_{task}.log");
    let logs = entries.map(|e| e.path()).filter(|p| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        let job = name.strip_suffix(&ending).and_then(|n| n.rsplit_once('_'));
        job.is_some_and(|(_, job)| !job.is_empty() && job.bytes().all(|b| b.is_ascii_digit()))
    });
    logs.max_by_key(|p| fs::metadata(p).and_then(|m| m.modified()).ok())
}

/// What the log of a task ends with.
pub(super) fn last_words(run: &Path, task: usize) -> Option<String> {
    let newest = log(run, task)?;
    let text = String::from_utf8_lossy(&fs::read(&newest).ok()?).into_owned();
    let last = text.lines().rev().find(|l| !l.trim().is_empty())?;
    Some(format!("{} ends with: {}", newest.display(), last.trim()))
}

pub(super) fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Writes a file; it appears under its name when it is complete.
///
/// # Errors
/// It cannot be written.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    files::write(path, text.as_bytes())
}
