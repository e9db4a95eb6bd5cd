//! A planned run: the command, where it goes, what it asks for. Written to `plan.json`.

use crate::Result;
use crate::command::{Command, Share};
use crate::profile::{Profile, notation};
use crate::split::Tasks;
use serde_json::{Value, json};
use std::path::PathBuf;

/// What Fitzroy says of one task before it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of the draws alone, which is what a collected trace holds of the task.
    pub draws_bytes: u64,
    /// Seconds on what is asked for; none where nothing is known.
    pub time: Option<Time>,
}

/// How long a task takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Seconds.
    pub seconds: f64,
    /// Where they are from.
    pub basis: Basis,
}

/// What an estimate of time rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A second of the run's warm-up, on the machine where the job was written.
    Pilot,
    /// The clock of a card of this name, and the instructions of a gradient.
    Card(String),
    /// The arithmetic of all steps.
    Arithmetic,
    /// The size of the data.
    Data,
}

impl Basis {
    /// How many times the estimate is asked for: a card that was never measured gets more.
    #[must_use]
    pub fn factor(&self) -> f64 {
        match self {
            Basis::Card(_) => 4.0,
            Basis::Pilot | Basis::Arithmetic | Basis::Data => 2.0,
        }
    }

    /// For the job file, after "an estimate from".
    fn words(&self) -> String {
        match self {
            Basis::Pilot => "the pace of a second of its warm-up where this was written".into(),
            Basis::Card(name) => {
                format!(
                    "the clock of a card `{name}` and the instructions of a gradient, not measured"
                )
            }
            Basis::Arithmetic => "the arithmetic of its steps, at 5 GFLOP/s a processor".into(),
            Basis::Data => "the size of its data".into(),
        }
    }
}

/// Everything that the job files are made from.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program, as an absolute path that all nodes see.
    pub program: PathBuf,
    /// What `cksum` says of the program; none where it cannot be asked, as in a container.
    pub checksum: Option<String>,
    /// The folder of the run, absolute.
    pub folder: PathBuf,
    /// What is run.
    pub command: Command,
    /// How it is spread.
    pub tasks: Tasks,
    /// What is asked for.
    pub profile: Profile,
    /// What one task needs, where it was estimated.
    pub estimate: Option<Estimate>,
    /// How many tasks may run at once; none: as many as the cluster lets.
    pub concurrent: Option<usize>,
}

/// Least host memory to ask for, in MiB: program, libraries and the page cache of its files.
const LEAST_MIB: u64 = 2048;

/// Seconds before the time limit at which a task is told to save and stop, where time is not short.
const WARNING_S: u64 = 120;

/// Processors of a task: those of the profile, but without a GPU no more than it has chains, of which each
/// runs on one.
#[must_use]
pub fn cpus(command: &Command, profile: &Profile, tasks: Tasks) -> u32 {
    let samples = matches!(command.kind.share, Share::Chains | Share::Blocks);
    let chains = match command.chains() {
        Ok(chains) if samples && !profile.has_gpu() => chains,
        _ => return profile.cpus,
    };
    let of_task = match tasks.share {
        Share::Chains => chains.div_ceil(tasks.count),
        _ => chains,
    };
    profile.cpus.min(u32::try_from(of_task).unwrap_or(u32::MAX))
}

impl Plan {
    /// Processors of a task.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        cpus(&self.command, &self.profile, self.tasks)
    }

    /// A name for the queue: `fz-` and the folder's name.
    #[must_use]
    pub fn job_name(&self) -> String {
        let name = self.folder.file_name().unwrap_or_default();
        let plain = |c: char| match c.is_ascii_alphanumeric() || "-_.".contains(c) {
            true => c,
            false => '-',
        };
        let name: String = name.to_string_lossy().chars().map(plain).collect();
        format!("fz-{name}")
    }

    /// Host memory in Slurm's notation: the profile's, or half as much again as the estimate.
    #[must_use]
    pub fn memory(&self) -> String {
        match self.profile.mem.as_str() {
            "auto" => {
                let estimate = self.estimate.as_ref();
                gibibytes(estimate.map_or(0, |e| e.memory_bytes / 2 * 3))
            }
            given => given.to_owned(),
        }
    }

    /// The same of the job that collects: the draws of all tasks, read, joined and examined.
    #[must_use]
    pub fn collect_memory(&self) -> String {
        let of_task = self.estimate.as_ref().map_or(0, |e| e.draws_bytes);
        gibibytes(of_task.saturating_mul(4 * self.tasks.count as u64))
    }

    /// How long a task takes, where that was estimated.
    #[must_use]
    pub fn estimated(&self) -> Option<&Time> {
        self.estimate.as_ref()?.time.as_ref()
    }

    /// The time to ask for, in seconds.
    ///
    /// # Errors
    /// That of the profile is not in Slurm's notation.
    pub fn time_s(&self) -> Result<u64> {
        let wanted = self.estimated().map(|t| t.basis.factor() * t.seconds);
        self.profile.time_s(wanted)
    }

    /// What memory and time of the job rest on, as comments of its file.
    #[must_use]
    pub fn rests_on(&self) -> String {
        let p = &self.profile;
        let mem = match (p.mem.as_str(), &self.estimate) {
            ("auto", Some(_)) => {
                "half as much again as an estimate from the sizes of the run, 2G at least"
            }
            ("auto", None) => "the least, for nothing is known of what this needs",
            _ => "as the profile or --set says",
        };
        let time = match (p.time.as_str(), self.estimated()) {
            ("auto", Some(time)) => format!(
                "ten minutes and {} times an estimate from\n# {}; at most {}",
                time.basis.factor(),
                time.basis.words(),
                p.max_time
            ),
            ("auto", None) => {
                "the most of the profile, for nothing is known of how long this takes".into()
            }
            _ => "as the profile or --set says".into(),
        };
        format!(
            "# --mem: {mem}.\n# --time: {time}.\n# Others: --set mem=, --set time=, or edit here.\n"
        )
    }

    /// Seconds before the time limit at which a task is told to save and stop: two minutes, or a
    /// fifth of a short time.
    ///
    /// # Errors
    /// As [`Plan::time_s`].
    pub fn warning_s(&self) -> Result<u64> {
        Ok(WARNING_S.min(self.time_s()? / 5).max(1))
    }

    /// The plan as JSON, for people, `status` and `collect`.
    ///
    /// # Errors
    /// As [`Plan::time_s`].
    pub fn to_json(&self) -> Result<Value> {
        Ok(json!({
            "program": self.program.display().to_string(),
            "checksum": self.checksum,
            "version": env!("CARGO_PKG_VERSION"),
            "folder": self.folder.display().to_string(),
            "command": self.command.words(),
            "tasks": self.tasks.count,
            "share": match self.tasks.share {
                Share::Whole => "whole",
                Share::Chains => "chains",
                Share::Sets => "sets",
                Share::Blocks => "blocks",
                Share::Trials => "trials",
            },
            "profile": self.profile.name,
            "partition": self.profile.partition,
            "gpus": self.profile.gpus,
            "cpus": self.cpus(),
            "memory": self.memory(),
            "time": notation(self.time_s()?),
            "concurrent": self.concurrent,
            "estimate": self.estimate.as_ref().map(|e| json!({
                "memory_bytes": e.memory_bytes,
                "draws_bytes": e.draws_bytes,
                "time_s": e.time.as_ref().map(|t| t.seconds),
                "time_from": e.time.as_ref().map(|t| t.basis.words()),
            })),
        }))
    }
}

/// Bytes in Slurm's notation, never too few for the program itself.
fn gibibytes(bytes: u64) -> String {
    let mib = bytes.div_ceil(1 << 20).max(LEAST_MIB);
    format!("{}G", mib.div_ceil(1024))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{profile, split::Split};

    fn plan() -> Plan {
        let command = Command::parse(&["sample", "m.fz", "--chains", "8"]).unwrap();
        Plan {
            program: "/f".into(),
            checksum: None,
            folder: "/data/my run".into(),
            tasks: Split::Chains(8).tasks(&command).unwrap(),
            command,
            profile: profile::find(&profile::built_in(), "cpu").unwrap().clone(),
            estimate: Some(Estimate {
                memory_bytes: 3 << 30,
                draws_bytes: 1 << 30,
                time: Some(Time {
                    seconds: 3600.0,
                    basis: Basis::Pilot,
                }),
            }),
            concurrent: None,
        }
    }

    #[test]
    fn memory_follows_the_estimate_unless_the_profile_says_it() {
        let mut plan = plan();
        assert_eq!(plan.memory(), "5G");
        assert_eq!(plan.collect_memory(), "32G");
        plan.profile.mem = "40G".to_owned();
        assert_eq!(plan.memory(), "40G");
        plan.profile.mem = "auto".to_owned();
        plan.estimate = None;
        assert_eq!(
            (plan.memory(), plan.collect_memory()),
            ("2G".into(), "2G".into())
        );
    }

    #[test]
    fn time_follows_the_estimate_and_says_what_that_rests_on() {
        let mut plan = plan();
        assert_eq!(plan.time_s().unwrap(), 2 * 3600 + 600);
        assert_eq!(plan.warning_s().unwrap(), 120);
        assert!(
            plan.rests_on().contains("2 times an estimate from"),
            "{}",
            plan.rests_on()
        );
        plan.profile = profile::find(&profile::built_in(), "v100").unwrap().clone();
        let card = |seconds| Estimate {
            time: Some(Time {
                seconds,
                basis: Basis::Card("v100".into()),
            }),
            ..Estimate::default()
        };
        plan.estimate = Some(card(600.0));
        assert_eq!(plan.time_s().unwrap(), 4 * 600 + 600);
        assert!(
            plan.rests_on().contains("a card `v100`"),
            "{}",
            plan.rests_on()
        );
        plan.estimate = Some(card(1e6));
        assert_eq!(plan.time_s().unwrap(), 6 * 3600, "the most of the profile");
        plan.estimate = None;
        assert_eq!(plan.time_s().unwrap(), 6 * 3600);
        assert!(
            plan.rests_on().contains("nothing is known"),
            "{}",
            plan.rests_on()
        );
        plan.profile.time = "1".to_owned();
        assert_eq!(plan.warning_s().unwrap(), 12);
        assert!(
            plan.rests_on().contains("--time: as the profile"),
            "{}",
            plan.rests_on()
        );
    }

    #[test]
    fn the_queue_gets_a_plain_name() {
        assert_eq!(plan().job_name(), "fz-my-run");
    }
}
