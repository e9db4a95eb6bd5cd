//! What the tasks of a run are doing: their own progress files, and what the queue says of them.

use crate::cluster::Queued;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What is known of one task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskStatus {
    /// Its number.
    pub task: usize,
    /// Where it stands.
    pub state: State,
    /// Its last `progress.json`, if it wrote one.
    pub progress: Option<Value>,
    /// Why it waits, from the queue.
    pub reason: String,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its result is complete.
    Finished,
    /// The queue says that it runs, or its own file does and the queue is not known.
    Running,
    /// It is in the queue; what it did before is kept.
    Waiting,
    /// It is neither in the queue nor finished.
    Failed,
    /// It was never started, and no queue knows it.
    NotStarted,
}

impl State {
    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            State::Finished => "finished",
            State::Running => "running",
            State::Waiting => "waiting",
            State::Failed => "failed",
            State::NotStarted => "not started",
        }
    }
}

/// Puts together what a task wrote and what the queue says. `complete` is whether the job noted that it
/// ended well; `queue` is none where nobody can be asked.
#[must_use]
pub fn of_task(
    task: usize,
    complete: bool,
    progress: Option<Value>,
    queue: Option<&BTreeMap<usize, Queued>>,
) -> TaskStatus {
    let said = progress
        .as_ref()
        .and_then(|p| p["state"].as_str())
        .unwrap_or("");
    let queued = queue.and_then(|q| q.get(&task));
    let state = match (said, queued.map(|q| q.state.as_str())) {
        _ if complete => State::Finished,
        (_, Some("RUNNING" | "COMPLETING" | "CONFIGURING")) => State::Running,
        (_, Some(_)) => State::Waiting,
        ("running", None) if queue.is_none() => State::Running,
        ("", None) => State::NotStarted,
        (_, None) => State::Failed,
    };
    let reason = queued.map_or(String::new(), |q| q.reason.clone());
    TaskStatus {
        task,
        state,
        progress,
        reason,
    }
}

/// A line for every task, and one for all of them.
#[must_use]
pub fn table(tasks: &[TaskStatus]) -> String {
    let mut text =
        String::from("task  state        phase          done       div  min ESS  R-hat     ETA\n");
    for t in tasks {
        let p = t.progress.as_ref().unwrap_or(&Value::Null);
        let done = match (p["done"].as_u64(), p["total"].as_u64()) {
            (Some(done), Some(total)) => format!("{done}/{total}"),
            _ => "-".to_owned(),
        };
        let row = writeln!(
            text,
            "{:>4}  {:<11}  {:<9}  {:>13}  {:>6}  {:>7}  {:>5}  {:>6}  {}",
            t.task,
            t.state.word(),
            p["phase"].as_str().unwrap_or("-"),
            done,
            divergences(p),
            number(&p["min_ess_bulk"], 0),
            number(&p["max_rhat"], 3),
            duration(&p["eta_s"]),
            t.reason
        );
        row.expect("a string takes all text");
    }
    text.push_str(&totals(tasks));
    text
}

/// How many tasks are in which state.
#[must_use]
pub fn totals(tasks: &[TaskStatus]) -> String {
    let states = [
        State::Finished,
        State::Running,
        State::Waiting,
        State::Failed,
        State::NotStarted,
    ];
    let counts = states.iter().filter_map(|&state| {
        let n = tasks.iter().filter(|t| t.state == state).count();
        (n > 0).then(|| format!("{n} {}", state.word()))
    });
    format!(
        "{} tasks: {}\n",
        tasks.len(),
        counts.collect::<Vec<_>>().join(", ")
    )
}

/// The same for machines.
#[must_use]
pub fn to_json(tasks: &[TaskStatus]) -> Value {
    let row = |t: &TaskStatus| json!({"task": t.task, "state": t.state.word(), "reason": t.reason, "progress": t.progress});
    json!({"tasks": tasks.iter().map(row).collect::<Vec<_>>()})
}

/// The list of `--array` that holds these tasks: `3,7-9`.
#[must_use]
pub fn array_list(tasks: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &task in tasks {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == task => *last = task,
            _ => parts.push((task, task)),
        }
    }
    let part = |&(a, b): &(usize, usize)| match a == b {
        true => a.to_string(),
        false => format!("{a}-{b}"),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(",")
}

fn divergences(progress: &Value) -> String {
    match progress["chains"].as_array() {
        Some(chains) => {
            let each = chains.iter().filter_map(|c| c["divergences"].as_u64());
            each.sum::<u64>().to_string()
        }
        None => "-".to_owned(),
    }
}

fn number(value: &Value, digits: usize) -> String {
    value
        .as_f64()
        .map_or("-".to_owned(), |x| format!("{x:.digits$}"))
}

fn duration(value: &Value) -> String {
    match value.as_f64() {
        Some(s) if s >= 5400.0 => format!("{:.1} h", s / 3600.0),
        Some(s) if s >= 90.0 => format!("{:.0} min", s / 60.0),
        Some(s) => format!("{s:.0} s"),
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(task: usize, state: &str) -> BTreeMap<usize, Queued> {
        let queued = Queued {
            state: state.to_owned(),
            reason: "(Priority)".to_owned(),
        };
        BTreeMap::from([(task, queued)])
    }

    #[test]
    fn a_task_is_what_its_file_and_the_queue_say_together() {
        let said = |state: &str| Some(json!({"state": state}));
        let empty = BTreeMap::new();
        for (progress, queue, expected) in [
            // Drawn, and ended before its results were written.
            (said("finished"), Some(&empty), State::Failed),
            (said("running"), Some(&queue(0, "RUNNING")), State::Running),
            (
                said("interrupted"),
                Some(&queue(0, "PENDING")),
                State::Waiting,
            ),
            (None, Some(&queue(0, "PENDING")), State::Waiting),
            (said("running"), Some(&empty), State::Failed),
            (said("interrupted"), Some(&empty), State::Failed),
            (said("running"), None, State::Running),
            (None, None, State::NotStarted),
        ] {
            assert_eq!(
                of_task(0, false, progress.clone(), queue).state,
                expected,
                "{progress:?}"
            );
        }
        let complete = of_task(0, true, None, Some(&queue(0, "COMPLETING")));
        assert_eq!(complete.state, State::Finished);
    }

    #[test]
    fn the_table_shows_every_task_and_their_sum() {
        let progress = json!({"state": "running", "phase": "sampling", "done": 1600, "total": 4000,
            "chains": [{"divergences": 1}, {"divergences": 2}], "min_ess_bulk": 412.3,
            "max_rhat": 1.0042, "eta_s": 138.0});
        let tasks = [
            of_task(0, false, Some(progress), Some(&queue(0, "RUNNING"))),
            of_task(1, false, None, Some(&queue(1, "PENDING"))),
        ];
        let text = table(&tasks);
        for expected in ["1600/4000", "412", "1.004", "2 min", "(Priority)"] {
            assert!(text.contains(expected), "{text}");
        }
        assert!(text.ends_with("2 tasks: 1 running, 1 waiting\n"), "{text}");
    }

    #[test]
    fn tasks_to_run_again_are_listed_as_slurm_reads_them() {
        assert_eq!(array_list(&[3, 7, 8, 9]), "3,7-9");
        assert_eq!(array_list(&[0]), "0");
        assert_eq!(array_list(&[]), "");
    }
}
