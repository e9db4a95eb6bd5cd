//! The command of a run: which may run as jobs, how each is spread, and how each goes on.

use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// What a task of a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// The whole: the command runs as one task.
    Whole,
    /// Some of the chains, by `--task I/N` from 0.
    Chains,
    /// Some of the data sets, by `--task I/N` from 0, where the command fits each apart.
    Sets,
    /// A block of subjects, by `--block K/N` from 1.
    Blocks,
    /// Some of the trainings, by `--task I/N` from 0, of which each has other settings.
    Trials,
}

/// How a command that was stopped goes on when it is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// `--resume`: from its last publication, exactly.
    Flag,
    /// `--resume-from FOLDER`: from its newest checkpoint, exactly.
    Checkpoint,
    /// The same command: from what it finds in its folder, exactly.
    Same,
    /// From the start, into the same folder.
    Again,
    /// From the start; its JSON document on stdout is its result.
    Document,
}

/// A command that may run as a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// As it is typed.
    pub name: &'static str,
    /// What tasks get.
    pub share: Share,
    /// How it goes on.
    pub resume: Resume,
    /// Tables that it leaves in its folder, which `collect` puts under one another.
    pub tables: &'static [&'static str],
    /// The column by which the rows of these are sorted when they stand under one another, smallest first.
    pub sorted_by: Option<&'static str>,
    /// Whether several GPUs of a node share its work.
    pub shares_gpus: bool,
}

const fn kind(
    name: &'static str,
    share: Share,
    resume: Resume,
    tables: &'static [&'static str],
) -> Kind {
    Kind {
        name,
        share,
        resume,
        tables,
        sorted_by: None,
        shares_gpus: false,
    }
}

/// The same for a command whose work several GPUs share.
const fn on_gpus(kind: Kind) -> Kind {
    Kind {
        shares_gpus: true,
        ..kind
    }
}

/// Every command that may run as a job.
pub const KINDS: [Kind; 10] = [
    on_gpus(kind("sample", Share::Chains, Resume::Flag, &[])),
    on_gpus(kind("curve-fit", Share::Sets, Resume::Again, &["fits.csv"])),
    on_gpus(kind(
        "stop-signal fit",
        Share::Blocks,
        Resume::Flag,
        &["subjects.csv"],
    )),
    kind("weather train", Share::Whole, Resume::Checkpoint, &[]),
    Kind {
        sorted_by: Some("beside_start"),
        ..kind("weather tune", Share::Trials, Resume::Same, &["tune.csv"])
    },
    on_gpus(kind("bench sample", Share::Whole, Resume::Document, &[])),
    kind("bench hierarchical", Share::Whole, Resume::Document, &[]),
    kind("bench curve-fit", Share::Whole, Resume::Document, &[]),
    kind("bench stop-signal", Share::Whole, Resume::Document, &[]),
    kind("bench weather", Share::Whole, Resume::Document, &[]),
];

/// The command of a run, as it would be typed behind `fitzroy`.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Which command.
    pub kind: Kind,
    /// What follows its name.
    pub arguments: Vec<String>,
}

/// Flags that the job sets itself.
const OURS: [&str; 10] = [
    "--out",
    "--output-dir",
    "--task",
    "--trial",
    "--block",
    "--resume",
    "--resume-from",
    "--overwrite",
    "--json",
    "--dry-run",
];

/// Endings of files that commands read.
const DATA: [&str; 12] = [
    "fz",
    "csv",
    "tsv",
    "json",
    "gz",
    "npy",
    "npz",
    "nc",
    "toml",
    "parquet",
    "zarr",
    "safetensors",
];

/// Flags that name files to be written.
const WRITTEN: [&str; 5] = [
    "--csv",
    "--json-file",
    "--data-file",
    "--residuals",
    "--to-model",
];

impl Command {
    /// Reads a command line, without the program's name.
    ///
    /// # Errors
    /// It is empty, cannot run as a job, or holds a flag that the job sets itself.
    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Self> {
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        if words.is_empty() {
            return Err(Error::usage(
                "nothing to run: write the command behind --, as in -- sample m.fz",
            ));
        }
        let named = |kind: &&Kind| {
            let mut name = kind.name.split(' ').zip(&words);
            words.len() >= kind.name.split(' ').count() && name.all(|(a, b)| a == *b)
        };
        let Some(kind) = KINDS.iter().find(named).copied() else {
            let names: Vec<&str> = KINDS.iter().map(|k| k.name).collect();
            let asked = words[..words.len().min(2)].join(" ");
            return Err(Error::usage(format!(
                "`{asked}` does not run as a job; these do: {}",
                names.join(", ")
            )));
        };
        let arguments = &words[kind.name.split(' ').count()..];
        let is_ours = |argument: &&&str| {
            let flag = argument.split('=').next().unwrap_or("");
            OURS.contains(&flag)
        };
        if let Some(flag) = arguments.iter().find(is_ours) {
            return Err(Error::usage(format!(
                "{flag} is set by the job: give --out before --, and leave the rest"
            )));
        }
        Ok(Self {
            kind,
            arguments: arguments.iter().map(|w| (*w).to_owned()).collect(),
        })
    }

    /// What its tasks may get: as the kind says, where its flags leave room for it.
    #[must_use]
    pub fn share(&self) -> Share {
        match self.kind.share {
            Share::Sets if self.value("--batch-by").is_none() => Share::Whole,
            share => share,
        }
    }

    /// How it goes on: as the kind says, but for curves through more rows than memory holds.
    #[must_use]
    pub fn resume(&self) -> Resume {
        match self.value("--memory-limit") {
            Some(_) => Resume::Flag,
            None => self.kind.resume,
        }
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
        n.ok_or_else(|| Error::usage(format!("--chains {text}: needs a whole number above 0")))
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

    /// The words before `--`, and those behind it: none in a command without.
    #[must_use]
    pub fn parts(&self) -> (&[String], Option<&[String]>) {
        match self.arguments.iter().position(|a| a == "--") {
            Some(at) => (&self.arguments[..at], Some(&self.arguments[at + 1..])),
            None => (&self.arguments, None),
        }
    }

    /// Whether a flag without a value is given.
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.arguments.iter().any(|a| a == flag)
    }

    /// The same command without a flag that has no value.
    #[must_use]
    pub fn without(&self, flag: &str) -> Self {
        let kept = self.arguments.iter().filter(|a| *a != flag);
        Self {
            kind: self.kind,
            arguments: kept.cloned().collect(),
        }
    }

    /// The same command without a flag and its value.
    #[must_use]
    pub fn without_value(&self, flag: &str) -> Self {
        let mut arguments = Vec::with_capacity(self.arguments.len());
        let mut rest = self.arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.strip_prefix(flag) {
                Some("") => drop(rest.next()),
                Some(value) if value.starts_with('=') => {}
                _ => arguments.push(argument.clone()),
            }
        }
        Self {
            kind: self.kind,
            arguments,
        }
    }

    /// The same command with every argument that names a file, alone or behind `NAME=`, made absolute:
    /// a job starts in another folder. `here` is the folder the user stands in.
    ///
    /// # Errors
    /// An argument that looks like a data file and is none.
    pub fn with_absolute_files(&self, here: &Path, exists: &dyn Fn(&Path) -> bool) -> Result<Self> {
        let mut arguments = Vec::with_capacity(self.arguments.len());
        let mut before = "";
        for argument in &self.arguments {
            let is_written = WRITTEN.contains(&before);
            arguments.push(match is_written {
                true => here.join(argument).display().to_string(),
                false => absolute(argument, here, exists)?,
            });
            before = argument;
        }
        Ok(Self {
            kind: self.kind,
            arguments,
        })
    }

    /// The words of the command line, without the program.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let name = self.kind.name.split(' ').map(str::to_owned);
        name.chain(self.arguments.iter().cloned()).collect()
    }
}

/// One argument, its file made absolute.
fn absolute(argument: &str, here: &Path, exists: &dyn Fn(&Path) -> bool) -> Result<String> {
    let (name, file) = match argument.split_once('=') {
        Some((name, _)) if WRITTEN.contains(&name) => return Ok(argument.to_owned()),
        Some((name, file)) => (Some(name), file),
        None => (None, argument),
    };
    if file.is_empty() || file.starts_with('-') {
        return Ok(argument.to_owned());
    }
    let path: PathBuf = here.join(file);
    if exists(&path) {
        return Ok(match name {
            None => path.display().to_string(),
            Some(name) => format!("{name}={}", path.display()),
        });
    }
    let ending = path.extension().map(|e| e.to_string_lossy().into_owned());
    // A formula may hold a dot, but no file name of data has an operator or a space.
    let plain = file
        .chars()
        .all(|c| c.is_alphanumeric() || "._-/~".contains(c));
    if plain && ending.is_some_and(|e| DATA.contains(&e.as_str())) {
        return Err(Error::usage(format!("{file}: there is no such file")));
    }
    Ok(argument.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_its_name_and_its_arguments() {
        let command = Command::parse(&["weather", "train", "--data", "a.nc"]).unwrap();
        assert_eq!(command.kind.name, "weather train");
        assert_eq!(command.arguments, ["--data", "a.nc"]);
        assert_eq!(command.words(), ["weather", "train", "--data", "a.nc"]);
        assert_eq!(command.share(), Share::Whole);
        let one = Command::parse(&["curve-fit", "--model", "a*x", "d.csv"]).unwrap();
        assert_eq!(one.share(), Share::Whole);
        let many = Command::parse(&["curve-fit", "d.csv", "--batch-by=id"]).unwrap();
        assert_eq!(many.share(), Share::Sets);
        assert_eq!(many.resume(), Resume::Again);
        let large = ["curve-fit", "d.csv", "--memory-limit", "2G"];
        assert_eq!(Command::parse(&large).unwrap().resume(), Resume::Flag);
    }

    #[test]
    fn what_the_job_sets_itself_is_refused() {
        for flag in OURS {
            for flag in [flag.to_owned(), format!("{flag}=x")] {
                let error = Command::parse(&["sample", "m.fz", &flag]);
                let error = error.unwrap_err().to_string();
                assert!(error.contains("set by the job"), "{error}");
            }
        }
        assert!(Command::parse::<&str>(&[]).is_err());
        for words in [
            &["diagnose", "t.nc"][..],
            &["weather"],
            &["stop-signal", "simulate"],
        ] {
            let error = Command::parse(words).unwrap_err().to_string();
            assert!(error.contains("does not run as a job"), "{error}");
        }
    }

    #[test]
    fn flags_are_found_in_both_spellings() {
        let command = Command::parse(&["sample", "m.fz", "--chains", "8", "--seed=3"]).unwrap();
        assert_eq!(command.chains().unwrap(), 8);
        assert_eq!(command.value("--seed"), Some("3"));
        assert_eq!(command.value("--see"), None);
        let left = command.without_value("--seed").without_value("--chains");
        assert_eq!(left.arguments, ["m.fz"]);
        let chains = |words: &[&str]| Command::parse(words).unwrap().chains();
        assert_eq!(chains(&["sample", "m"]).unwrap(), 4);
        assert!(chains(&["sample", "--chains=x"]).is_err());
    }

    #[test]
    fn files_become_absolute_and_other_words_stay() {
        let words = [
            "sample", "m.fz", "--data", "d.csv", "y=y.npy", "--seed", "3",
        ];
        let command = Command::parse(&words).unwrap();
        let exists = |path: &Path| path.extension().is_some();
        let command = command.with_absolute_files(Path::new("/home/a b"), &exists);
        let command = command.unwrap();
        let expected = [
            "/home/a b/m.fz",
            "--data",
            "/home/a b/d.csv",
            "y=/home/a b/y.npy",
        ];
        assert_eq!(command.arguments[..4], expected);
        assert_eq!(command.arguments[4..], ["--seed", "3"]);
    }

    #[test]
    fn a_file_that_is_not_there_is_named_and_a_formula_is_no_file() {
        let nothing = |_: &Path| false;
        let here = Path::new("/here");
        let made = |words: &[&str]| Command::parse(words)?.with_absolute_files(here, &nothing);
        let message = made(&["sample", "m.fz"]).unwrap_err().to_string();
        assert!(message.contains("m.fz: there is no such file"), "{message}");
        assert!(made(&["curve-fit", "--data-set", "a=a.csv"]).is_err());
        let curve = [
            "curve-fit",
            "--model",
            "a*exp(-0.5*t) + b.csv",
            "--y",
            "log(y)",
        ];
        assert_eq!(made(&curve).unwrap().arguments, curve[1..]);
        let bench = ["bench", "sample", "--csv", "times.csv"];
        assert_eq!(made(&bench).unwrap().arguments[1], "/here/times.csv");
    }
}
