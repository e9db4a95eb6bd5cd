//! The cluster as it is talked to: three programs of Slurm, called with plain text.

use crate::{Error, ErrorKind, Result};
use std::collections::BTreeMap;

/// What a program answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its exit code was 0.
    pub passed: bool,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// Where `sbatch`, `squeue`, `sinfo` and `scontrol` are.
pub trait Cluster {
    /// Runs a program with arguments; none when there is no such program.
    fn call(&self, program: &str, arguments: &[&str]) -> Option<Answer>;
}

/// Hands a job file to `sbatch` and returns the number of the job. `option` goes before the file; a
/// dependency that can no longer hold ends the job.
///
/// # Errors
/// There is no `sbatch` here, or it refused; the message is Slurm's own.
pub fn submit(cluster: &dyn Cluster, file: &str, option: Option<&str>) -> Result<u64> {
    let mut arguments = vec!["--parsable"];
    arguments.extend(option);
    if option.is_some_and(|o| o.starts_with("--dependency")) {
        arguments.push("--kill-on-invalid-dep=yes");
    }
    arguments.push(file);
    let answer = cluster
        .call("sbatch", &arguments)
        .ok_or_else(|| missing("sbatch"))?;
    let number = answer.stdout.trim().split(';').next().unwrap_or("").parse();
    match (answer.passed, number) {
        (true, Ok(job)) => Ok(job),
        _ => Err(refused("sbatch", &answer)),
    }
}

/// Cancels a job with all its tasks.
///
/// # Errors
/// There is no `scancel` here, or it refused.
pub fn cancel(cluster: &dyn Cluster, job: u64) -> Result<()> {
    let number = job.to_string();
    let answer = cluster
        .call("scancel", &[&number])
        .ok_or_else(|| missing("scancel"))?;
    if answer.passed {
        Ok(())
    } else {
        Err(refused("scancel", &answer))
    }
}

/// What the queue says of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Slurm's word: PENDING, RUNNING, ...
    pub state: String,
    /// Why it waits, or where it runs.
    pub reason: String,
}

/// The tasks of an array job that are still in the queue, by their number. Empty when Slurm no longer
/// knows the job, none where nobody can be asked.
#[must_use]
pub fn queue(cluster: &dyn Cluster, job: u64) -> Option<BTreeMap<usize, Queued>> {
    let number = job.to_string();
    let arguments = [
        "--noheader",
        "--array",
        "--jobs",
        &number,
        "--format",
        "%K|%T|%R",
    ];
    let answer = cluster.call("squeue", &arguments)?;
    if !answer.passed {
        // Old jobs are forgotten; a cluster that does not answer knows nothing.
        return answer.stderr.contains("Invalid job id").then(BTreeMap::new);
    }
    let task = |line: &str| {
        let mut fields = line.splitn(3, '|').map(str::trim);
        let task = fields.next()?.parse().ok()?;
        let state = fields.next()?.to_owned();
        let reason = fields.next().unwrap_or("").to_owned();
        Some((task, Queued { state, reason }))
    };
    Some(answer.stdout.lines().filter_map(task).collect())
}

/// Whether a job, an array or not, is still in the queue.
#[must_use]
pub fn is_queued(cluster: &dyn Cluster, job: u64) -> bool {
    let arguments = ["--noheader", "--jobs", &job.to_string(), "--format", "%A"];
    let answer = cluster.call("squeue", &arguments);
    answer.is_some_and(|answer| answer.passed && !answer.stdout.trim().is_empty())
}

/// One program of Slurm is not here.
#[must_use]
pub fn missing(program: &str) -> Error {
    let message = format!(
        "there is no `{program}` on this machine: run this on a login node of the cluster, or take \
         the files of `fitzroy slurm render` there"
    );
    Error::new(ErrorKind::Device, message)
}

pub(crate) fn refused(program: &str, answer: &Answer) -> Error {
    let said = format!("{} {}", answer.stderr.trim(), answer.stdout.trim());
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    Error::new(ErrorKind::Device, format!("{program} refused: {said}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::RefCell;

    /// A cluster of prepared answers, which remembers what it was asked.
    #[derive(Default)]
    pub(crate) struct Fake {
        pub(crate) answers: BTreeMap<&'static str, Answer>,
        pub(crate) calls: RefCell<Vec<String>>,
    }

    impl Fake {
        pub(crate) fn with(mut self, program: &'static str, passed: bool, text: &str) -> Self {
            let (stdout, stderr) = match passed {
                true => (text.to_owned(), String::new()),
                false => (String::new(), text.to_owned()),
            };
            self.answers.insert(
                program,
                Answer {
                    passed,
                    stdout,
                    stderr,
                },
            );
            self
        }
    }

    impl Cluster for Fake {
        fn call(&self, program: &str, arguments: &[&str]) -> Option<Answer> {
            let call = format!("{program} {}", arguments.join(" "));
            self.calls.borrow_mut().push(call);
            self.answers.get(program).cloned()
        }
    }

    #[test]
    fn a_job_is_its_number_and_may_wait_for_another() {
        let fake = Fake::default().with("sbatch", true, "4711;cluster\n");
        assert_eq!(
            submit(&fake, "job.sbatch", None).expect("it is taken"),
            4711
        );
        submit(&fake, "collect.sbatch", Some("--dependency=afterok:4711")).expect("it is taken");
        let expected = "sbatch --parsable --dependency=afterok:4711 --kill-on-invalid-dep=yes \
                        collect.sbatch";
        assert_eq!(fake.calls.borrow()[1], expected);
    }

    #[test]
    fn slurm_is_quoted_when_it_refuses_and_missed_when_it_is_not_there() {
        let fake = Fake::default().with("sbatch", false, "sbatch: error: invalid partition\n");
        let message = submit(&fake, "job.sbatch", None).unwrap_err().to_string();
        assert!(message.contains("invalid partition"), "{message}");
        let message = submit(&Fake::default(), "x", None).unwrap_err().to_string();
        assert!(message.contains("login node"), "{message}");
        assert!(cancel(&Fake::default(), 1).is_err());
    }

    #[test]
    fn a_job_that_is_no_array_is_queued_as_long_as_the_queue_has_a_line_of_it() {
        let of = |passed, text| is_queued(&Fake::default().with("squeue", passed, text), 4712);
        assert!(of(true, "4712\n"));
        assert!(!of(true, "") && !of(false, "Invalid job id specified"));
        assert!(!is_queued(&Fake::default(), 4712));
    }

    #[test]
    fn the_queue_is_read_task_by_task() {
        let text = "0|RUNNING|node1\n3|PENDING|(Resources)\nN/A|RUNNING|x\n";
        let fake = Fake::default().with("squeue", true, text);
        let found = queue(&fake, 7).expect("it answers");
        assert_eq!(found.len(), 2);
        assert_eq!(found[&3].reason, "(Resources)");
        let forgotten = Fake::default().with("squeue", false, "Invalid job id specified");
        assert_eq!(queue(&forgotten, 7), Some(BTreeMap::new()));
        let deaf = Fake::default().with("squeue", false, "Unable to contact slurm controller");
        assert_eq!(queue(&deaf, 7), None);
        assert_eq!(queue(&Fake::default(), 7), None);
    }
}
