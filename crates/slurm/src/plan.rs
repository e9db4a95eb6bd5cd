//! A planned run: the command, where it goes, what it asks for. Written to `plan.json`.

use crate::profile::Profile;
use crate::split::Tasks;
use crate::{Result, usage};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The command of a run, as it would be typed behind `fitzroy`.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Its name: `sample`, `curve-fit`, `stop-signal fit`, `weather train`, ...
    pub name: String,
    /// What follows the name.
    pub arguments: Vec<String>,
}

/// Commands of two words, by their first.
const GROUPS: [&str; 3] = ["stop-signal", "weather", "bench"];

/// Commands that may run as jobs.
const RUN: [&str; 7] = [
    "sample",
    "validate",
    "curve-fit",
    "stop-signal fit",
    "stop-signal check",
    "weather train",
    "bench",
];

/// Flags that the job sets itself.
const OURS: [&str; 5] = ["--out", "--output-dir", "--task", "--resume", "--overwrite"];

impl Command {
    /// Reads a command line, without the program's name.
    ///
    /// # Errors
    /// It is empty, cannot run as a job, or holds a flag that the job sets itself.
    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Self> {
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let Some(&first) = words.first() else {
            return Err(usage(
                "nothing to run: write the command behind --, as in -- sample m.fz",
            ));
        };
        let n_words = if GROUPS.contains(&first) {
            words.len().min(2)
        } else {
            1
        };
        let name = words[..n_words].join(" ");
        let runs = RUN.contains(&name.as_str()) || first == "bench";
        if !runs {
            let message = format!(
                "`{name}` does not run as a job; these do: {}",
                RUN.join(", ")
            );
            return Err(usage(message));
        }
        let arguments: Vec<String> = words[n_words..].iter().map(|w| (*w).to_owned()).collect();
        let is_ours = |argument: &&String| {
            let flag = argument.split('=').next().unwrap_or("");
            OURS.contains(&flag)
        };
        if let Some(flag) = arguments.iter().find(is_ours) {
            let message =
                format!("{flag} is set by the job: give --out before --, and leave the rest");
            return Err(usage(message));
        }
        Ok(Self { name, arguments })
    }

    /// True when the command samples chains.
    #[must_use]
    pub fn has_chains(&self) -> bool {
        self.name == "sample" || (self.name == "stop-signal fit" && !self.fits_apart())
    }

    /// True when the command fits parts of its data apart from each other.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        (self.name == "curve-fit" && self.value("--batch-by").is_some()) || self.fits_apart()
    }

    fn fits_apart(&self) -> bool {
        self.name == "stop-signal fit" && self.value("--pooling") == Some("none")
    }

    /// The number of chains of the whole run: 4 unless the command says otherwise.
    ///
    /// # Errors
    /// `--chains` holds no number.
    pub fn chains(&self) -> Result<usize> {
        let Some(text) = self.value("--chains") else {
            return Ok(4);
        };
        let n = text.parse().ok().filter(|&n| n > 0);
        n.ok_or_else(|| usage(format!("--chains {text}: needs a whole number above 0")))
    }

    /// The value of a flag, written as `--flag value` or `--flag=value`; the last one counts.
    #[must_use]
    pub fn value(&self, flag: &str) -> Option<&str> {
        let mut found = None;
        for (i, argument) in self.arguments.iter().enumerate() {
            match argument.strip_prefix(flag) {
                Some("") => found = self.arguments.get(i + 1).map(String::as_str),
                Some(rest) => found = rest.strip_prefix('=').or(found),
                None => {}
            }
        }
        found
    }

    /// The same command with every argument that names a file, alone or behind `NAME=`, made absolute:
    /// a job starts in another folder. `here` is the folder the user stands in.
    #[must_use]
    pub fn with_absolute_files(&self, here: &Path, exists: &dyn Fn(&Path) -> bool) -> Self {
        let absolute = |argument: &String| -> String {
            let (name, file) = match argument.split_once('=') {
                Some((name, file)) => (Some(name), file),
                None => (None, argument.as_str()),
            };
            let path = here.join(file);
            let is_file = !file.is_empty() && !file.starts_with('-') && exists(&path);
            match (is_file, name) {
                (false, _) => argument.clone(),
                (true, None) => path.display().to_string(),
                (true, Some(name)) => format!("{name}={}", path.display()),
            }
        };
        let arguments = self.arguments.iter().map(absolute).collect();
        Self {
            name: self.name.clone(),
            arguments,
        }
    }

    /// The words of the command line, without the program.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let name = self.name.split(' ').map(str::to_owned);
        name.chain(self.arguments.iter().cloned()).collect()
    }
}

/// Everything that the job files are made from.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program, as an absolute path that all nodes see.
    pub program: PathBuf,
    /// The folder of the run, absolute.
    pub folder: PathBuf,
    /// What is run.
    pub command: Command,
    /// How it is spread.
    pub tasks: Tasks,
    /// What is asked for.
    pub profile: Profile,
    /// Memory one task needs, in bytes, where it was estimated.
    pub memory_bytes: Option<u64>,
    /// How many tasks may run at once; none: as many as the cluster lets.
    pub concurrent: Option<usize>,
}

/// Least host memory to ask for, in MiB: program, libraries and the page cache of its files.
const LEAST_MIB: u64 = 2048;

impl Plan {
    /// A name for the queue: `fz-` and the folder's name.
    #[must_use]
    pub fn job_name(&self) -> String {
        let name = self
            .folder
            .file_name()
            .map(|n| n.to_string_lossy().into_owned());
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        };
        format!(
            "fz-{}",
            name.unwrap_or_default()
                .chars()
                .map(plain)
                .collect::<String>()
        )
    }

    /// Host memory in Slurm's notation: the profile's, or half as much again as the estimate.
    #[must_use]
    pub fn memory(&self) -> String {
        if self.profile.mem != "auto" {
            return self.profile.mem.clone();
        }
        let mib = self.memory_bytes.unwrap_or(0).div_ceil(1 << 20) * 3 / 2;
        let gib = mib.max(LEAST_MIB).div_ceil(1024);
        format!("{gib}G")
    }

    /// The folder of task `i`.
    #[must_use]
    pub fn task_folder(&self, i: usize) -> PathBuf {
        self.folder.join(format!("task-{i}"))
    }

    /// The plan as JSON, for people, `status` and `collect`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "program": self.program.display().to_string(),
            "version": env!("CARGO_PKG_VERSION"),
            "folder": self.folder.display().to_string(),
            "command": self.command.words(),
            "tasks": self.tasks.count,
            "of_chains": self.tasks.of_chains,
            "profile": self.profile.name,
            "partition": self.profile.partition,
            "gpus": self.profile.gpus,
            "cpus": self.profile.cpus,
            "memory": self.memory(),
            "time": self.profile.time,
            "concurrent": self.concurrent,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_its_name_and_its_arguments() {
        let command = Command::parse(&["weather", "train", "--data", "a.nc"]).unwrap();
        assert_eq!(command.name, "weather train");
        assert_eq!(command.arguments, ["--data", "a.nc"]);
        assert_eq!(command.words(), ["weather", "train", "--data", "a.nc"]);
        assert!(!command.has_chains());
    }

    #[test]
    fn what_the_job_sets_itself_is_refused() {
        for flag in [
            "--out",
            "--task=0/2",
            "--resume",
            "--overwrite",
            "--output-dir=x",
        ] {
            let error = Command::parse(&["sample", "m.fz", flag])
                .unwrap_err()
                .to_string();
            assert!(error.contains("set by the job"), "{error}");
        }
        assert!(Command::parse::<&str>(&[]).is_err());
        let error = Command::parse(&["diagnose", "t.nc"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("does not run as a job"), "{error}");
    }

    #[test]
    fn flags_are_found_in_both_spellings() {
        let command = Command::parse(&["sample", "m.fz", "--chains", "8", "--seed=3"]).unwrap();
        assert_eq!(command.chains().unwrap(), 8);
        assert_eq!(command.value("--seed"), Some("3"));
        assert_eq!(command.value("--see"), None);
        assert_eq!(
            Command::parse(&["sample", "m"]).unwrap().chains().unwrap(),
            4
        );
        assert!(
            Command::parse(&["sample", "--chains=x"])
                .unwrap()
                .chains()
                .is_err()
        );
    }

    #[test]
    fn files_become_absolute_and_other_words_stay() {
        let words = [
            "sample", "m.fz", "--data", "d.csv", "y=y.npy", "--seed", "3",
        ];
        let command = Command::parse(&words).unwrap();
        let exists = |path: &Path| path.extension().is_some();
        let command = command.with_absolute_files(Path::new("/home/a b"), &exists);
        let expected = [
            "/home/a b/m.fz",
            "--data",
            "/home/a b/d.csv",
            "y=/home/a b/y.npy",
        ];
        assert_eq!(command.arguments[..4], expected);
        assert_eq!(command.arguments[4..], ["--seed", "3"]);
    }
}
