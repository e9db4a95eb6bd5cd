//! Profiles: what one kind of node offers, and how this site asks for it.

use crate::{Error, Result};
use toml::{Table, Value};

/// The profiles that come along, as an editable file.
pub const BUILT_IN: &str = include_str!("profiles.toml");

/// What to ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Its heading in the file.
    pub name: String,
    /// `--partition`.
    pub partition: Option<String>,
    /// `--gpus-per-node`, as TYPE:COUNT, all of which a task gets; none for a run on CPUs.
    pub gpus: Option<String>,
    /// `--cpus-per-task`.
    pub cpus: u32,
    /// `--mem`, in Slurm's notation; `auto` takes it from the estimate of the run.
    pub mem: String,
    /// `--time`, in Slurm's notation; `auto` takes it from the estimate of the run.
    pub time: String,
    /// The most that `auto` asks for.
    pub max_time: String,
    /// Loaded by `module load`, in this order.
    pub modules: Vec<String>,
    /// Where the program lies on the nodes; none: where the one that writes the job lies.
    pub program: Option<String>,
    /// A command that the program is started with, such as `apptainer exec --nv image.sif`.
    pub container: Option<String>,
    /// `--account`.
    pub account: Option<String>,
    /// `--qos`.
    pub qos: Option<String>,
    /// `--constraint`.
    pub constraint: Option<String>,
    /// The partition of the job that collects, where it is another.
    pub collect_partition: Option<String>,
    /// How often a task may go back into the queue when its time is up.
    pub restarts: u32,
    /// Lines of shell before the run.
    pub setup: Vec<String>,
    /// Variables exported before the run.
    pub env: Vec<(String, String)>,
    /// Further options of `sbatch`, as they stand behind `#SBATCH`.
    pub extra: Vec<String>,
}

const KEYS: [&str; 17] = [
    "partition",
    "gpus",
    "cpus",
    "mem",
    "time",
    "max_time",
    "modules",
    "program",
    "container",
    "account",
    "qos",
    "constraint",
    "collect_partition",
    "restarts",
    "setup",
    "env",
    "extra",
];

/// Added to every time, for reading, the report and a slow start.
const MARGIN_S: u64 = 600;

impl Profile {
    /// True when jobs of this profile get a GPU.
    #[must_use]
    pub fn has_gpu(&self) -> bool {
        self.gpus.is_some()
    }

    /// GPUs of a task.
    #[must_use]
    pub fn n_gpus(&self) -> u64 {
        self.gpus.as_deref().map_or(0, count)
    }

    /// The time to ask for, in seconds, for a task that may take `wanted_s`: with `auto` that and ten
    /// minutes, rounded up to five minutes, at most `max_time`; `max_time` where nothing is known.
    ///
    /// # Errors
    /// It is not in Slurm's notation.
    pub fn time_s(&self, wanted_s: Option<f64>) -> Result<u64> {
        let most = self.notation("max_time", &self.max_time)?;
        match (self.time.as_str(), wanted_s) {
            ("auto", None) => Ok(most),
            // A cast of what is too large gives the largest number, and of NaN 0.
            ("auto", Some(wanted)) => {
                let wanted = (wanted as u64).saturating_add(MARGIN_S);
                Ok(wanted.div_ceil(300).saturating_mul(300).min(most))
            }
            (time, _) => self.notation("time", time),
        }
    }

    fn notation(&self, key: &str, time: &str) -> Result<u64> {
        seconds(time).filter(|&s| s > 0).ok_or_else(|| {
            Error::usage(format!(
                "profile `{}`: {key} `{time}` is none of MINUTES, MM:SS, HH:MM:SS, D-HH, D-HH:MM, \
                 D-HH:MM:SS",
                self.name
            ))
        })
    }

    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            partition: None,
            gpus: None,
            cpus: 1,
            mem: "auto".to_owned(),
            time: "auto".to_owned(),
            max_time: "01:00:00".to_owned(),
            modules: Vec::new(),
            program: None,
            container: None,
            account: None,
            qos: None,
            constraint: None,
            collect_partition: None,
            restarts: 20,
            setup: Vec::new(),
            env: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// Sets one key, as read from a file or given by a flag.
    fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        refuse_line_ends(key, value)?;
        let text = || string(key, value);
        let word = || one_word(key, text()?);
        match key {
            "partition" => self.partition = filled(word()?),
            "gpus" => self.gpus = filled(some_gpus(word()?)?),
            "mem" => self.mem = word()?,
            "time" => {
                self.time = text()?;
                self.time_s(None)?;
            }
            "max_time" => {
                self.max_time = text()?;
                self.time_s(None)?;
            }
            "program" => self.program = filled(text()?),
            "container" => self.container = filled(text()?),
            "account" => self.account = filled(word()?),
            "qos" => self.qos = filled(word()?),
            "constraint" => self.constraint = filled(word()?),
            "collect_partition" => self.collect_partition = filled(word()?),
            "restarts" => self.restarts = whole(key, value)?,
            "modules" => self.modules = strings(key, value)?,
            "setup" => self.setup = strings(key, value)?,
            "extra" => self.extra = strings(key, value)?,
            "env" => self.env = pairs(value)?,
            "cpus" => {
                self.cpus = whole(key, value)?;
                if self.cpus == 0 {
                    return Err(Error::usage("`cpus` needs a whole number above 0"));
                }
            }
            _ => {
                let keys = KEYS.join(", ");
                return Err(Error::usage(format!(
                    "there is no key `{key}`; the keys are {keys}"
                )));
            }
        }
        Ok(())
    }
}

/// The profiles that come along.
#[must_use]
pub fn built_in() -> Vec<Profile> {
    let mut profiles = Vec::new();
    extend(&mut profiles, BUILT_IN, "profiles").expect("a test reads the built-in profiles");
    profiles
}

/// Reads `text` over `profiles`: a known heading changes the keys it names, a new one adds a profile.
///
/// # Errors
/// The text is not TOML, or a key or value is wrong; `origin` says where.
pub fn extend(profiles: &mut Vec<Profile>, text: &str, origin: &str) -> Result<()> {
    let table: Table = text
        .parse()
        .map_err(|e| Error::usage(format!("{origin}: {}", one_line(&e))))?;
    for (name, keys) in &table {
        let Some(keys) = keys.as_table() else {
            let message = format!("{origin}: `{name}` stands under no heading such as [h100]");
            return Err(Error::usage(message));
        };
        let at = match profiles.iter().position(|p| &p.name == name) {
            Some(at) => at,
            None => {
                profiles.push(Profile::new(name));
                profiles.len() - 1
            }
        };
        for (key, value) in keys {
            let set = profiles[at].set(key, value);
            set.map_err(|e| e.context(format!("{origin}: [{name}]")))?;
        }
    }
    Ok(())
}

/// The profile called `name`.
///
/// # Errors
/// There is none; the message lists what there is.
pub fn find<'a>(profiles: &'a [Profile], name: &str) -> Result<&'a Profile> {
    profiles.iter().find(|p| p.name == name).ok_or_else(|| {
        let names: Vec<&str> = profiles.iter().map(|p| p.name.as_str()).collect();
        Error::usage(format!(
            "there is no profile `{name}`; there are {}. Add one to your slurm.toml",
            names.join(", ")
        ))
    })
}

/// Sets a key of one profile by a flag, written as in the file: `time=04:00:00`.
///
/// # Errors
/// No such key, or a value it cannot take.
pub fn override_by(profile: &mut Profile, assignment: &str) -> Result<()> {
    let Some((key, text)) = assignment.split_once('=') else {
        return Err(Error::usage(format!("`{assignment}`: write KEY=VALUE")));
    };
    let value = match (key, text.parse::<i64>()) {
        ("cpus" | "restarts", Ok(n)) => Value::Integer(n),
        ("modules" | "setup" | "extra" | "env", _) if text.trim_start().starts_with(['[', '{']) => {
            written_as_in_the_file(key, text)?
        }
        ("modules" | "setup" | "extra", _) => {
            let items = text.split(',').filter(|item| !item.is_empty());
            Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
        }
        ("env", _) => {
            let Some((name, value)) = text.split_once('=') else {
                return Err(Error::usage(format!(
                    "`env={text}`: write env=NAME=VALUE, or env={{ NAME = \"value\", ... }}"
                )));
            };
            Value::Table(Table::from_iter([(
                name.to_owned(),
                Value::String(value.to_owned()),
            )]))
        }
        _ => Value::String(text.to_owned()),
    };
    profile.set(key, &value)
}

/// A list or a table behind `KEY=`.
fn written_as_in_the_file(key: &str, text: &str) -> Result<Value> {
    let table: std::result::Result<Table, _> = format!("{key} = {text}").parse();
    match table.map(|mut table| (table.len(), table.remove(key))) {
        Ok((1, Some(value))) => Ok(value),
        Ok(_) => Err(Error::usage(format!("`{key}={text}`: write one value"))),
        Err(error) => Err(Error::usage(format!(
            "`{key}={text}`: {}",
            one_line(&error)
        ))),
    }
}

/// Refuses texts of several lines: the second one could be anything, `#SBATCH` too.
fn refuse_line_ends(key: &str, value: &Value) -> Result<()> {
    let bad = |text: &str| text.chars().any(char::is_control);
    let found = match value {
        Value::String(text) => bad(text),
        Value::Array(items) => return items.iter().try_for_each(|v| refuse_line_ends(key, v)),
        Value::Table(pairs) => {
            return pairs.values().try_for_each(|v| refuse_line_ends(key, v));
        }
        _ => false,
    };
    match found {
        true => Err(Error::usage(format!(
            "`{key}` holds the end of a line or another control character: write one line, and in \
             lists an item for each"
        ))),
        false => Ok(()),
    }
}

/// A text that stands in an `#SBATCH` line, which a space would end.
fn one_word(key: &str, text: String) -> Result<String> {
    match text.contains(char::is_whitespace) || text.starts_with('-') {
        true => Err(Error::usage(format!(
            "`{key}` needs one word, not `{text}`"
        ))),
        false => Ok(text),
    }
}

/// Refuses no GPU at all by a number: leaving the key out says so.
fn some_gpus(text: String) -> Result<String> {
    match count(&text) {
        0 => {
            let kind = text.strip_suffix('0').unwrap_or_default();
            Err(Error::usage(format!(
                "`gpus` is `{text}`; write {kind}1, or leave it empty for a run on processors"
            )))
        }
        _ => Ok(text),
    }
}

/// How many GPUs `h100:4` or `4` are; one where no number stands.
fn count(gpus: &str) -> u64 {
    let last = gpus.rsplit(':').next().unwrap_or_default();
    last.parse().unwrap_or(1)
}

/// Seconds of a time in Slurm's notation; none for anything else.
#[must_use]
pub fn seconds(time: &str) -> Option<u64> {
    let (days, clock) = match time.split_once('-') {
        Some((days, clock)) => (Some(days.parse::<u64>().ok()?), clock),
        None => (None, time),
    };
    let parts: Option<Vec<u64>> = clock.split(':').map(|part| part.parse().ok()).collect();
    let clock_s = match (days.is_some(), parts?.as_slice()) {
        (false, [m]) => m * 60,
        (false, [m, s]) => m * 60 + s,
        (true, [h]) => h * 3600,
        (true, [h, m]) => h * 3600 + m * 60,
        (_, [h, m, s]) => h * 3600 + m * 60 + s,
        _ => return None,
    };
    Some(days.unwrap_or(0) * 86_400 + clock_s)
}

/// Seconds in Slurm's notation: HH:MM:SS, or D-HH:MM:SS.
#[must_use]
pub fn notation(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let clock = format!(
        "{:02}:{:02}:{:02}",
        rest / 3600,
        rest % 3600 / 60,
        rest % 60
    );
    match days {
        0 => clock,
        days => format!("{days}-{clock}"),
    }
}

/// A value as it is named in a message.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        Value::Integer(n) => n.to_string(),
        other => format!("a {}", other.type_str()),
    }
}

fn filled(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn string(key: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(n) => Ok(n.to_string()),
        _ => Err(Error::usage(format!(
            "`{key}` needs a text, not {}",
            shown(value)
        ))),
    }
}

fn whole(key: &str, value: &Value) -> Result<u32> {
    let n = value.as_integer().and_then(|n| u32::try_from(n).ok());
    n.ok_or_else(|| {
        Error::usage(format!(
            "`{key}` needs a whole number, not {}",
            shown(value)
        ))
    })
}

fn strings(key: &str, value: &Value) -> Result<Vec<String>> {
    let bad = || {
        Error::usage(format!(
            "`{key}` needs a list of texts, not {}",
            shown(value)
        ))
    };
    let items = value.as_array().ok_or_else(bad)?;
    let text = |item: &Value| item.as_str().map(str::to_owned).ok_or_else(bad);
    items.iter().map(text).collect()
}

fn pairs(value: &Value) -> Result<Vec<(String, String)>> {
    let bad = || {
        Error::usage(format!(
            "`env` needs {{ NAME = \"value\" }}, not {}",
            shown(value)
        ))
    };
    let table = value.as_table().ok_or_else(bad)?;
    let pair = |(name, value): (&String, &Value)| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
            true => Ok((name.clone(), string("env", value)?)),
            false => Err(Error::usage(format!(
                "`env`: `{name}` is no name of a variable"
            ))),
        }
    };
    table.iter().map(pair).collect()
}

fn one_line(error: &toml::de::Error) -> String {
    error
        .to_string()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profiles_that_come_along_can_be_read() {
        let names: Vec<String> = built_in().into_iter().map(|p| p.name).collect();
        assert_eq!(names, ["a100", "cpu", "h100", "v100"]);
        for profile in built_in() {
            assert!(profile.time_s(None).unwrap() >= 3600, "{}", profile.name);
            assert_eq!(profile.has_gpu(), profile.name != "cpu");
        }
    }

    #[test]
    fn a_site_changes_the_keys_it_names_and_adds_profiles() {
        let mut profiles = built_in();
        let site = "[h100]\npartition = \"hopper\"\nenv = { A = \"b c\" }\n\n[big]\ncpus = 128\n";
        extend(&mut profiles, site, "slurm.toml").unwrap();
        let h100 = find(&profiles, "h100").unwrap();
        assert_eq!(h100.partition.as_deref(), Some("hopper"));
        assert_eq!(h100.gpus.as_deref(), Some("h100:1"));
        assert_eq!(h100.n_gpus(), 1);
        let mut four = h100.clone();
        override_by(&mut four, "gpus=h100:4").unwrap();
        assert_eq!(four.n_gpus(), 4);
        assert_eq!(h100.env, [("A".to_owned(), "b c".to_owned())]);
        assert_eq!(find(&profiles, "big").unwrap().cpus, 128);
    }

    #[test]
    fn what_is_wrong_in_a_profile_is_named() {
        for (text, expected) in [
            ("[h100]\npartitions = \"x\"", "there is no key `partitions`"),
            ("[h100]\ncpus = 0", "above 0"),
            ("[h100]\ntime = \"1 hour\"", "HH:MM:SS"),
            ("[h100]\nmodules = \"cuda\"", "list of texts"),
            ("cpus = 3", "under no heading"),
            ("[h100", "slurm.toml"),
        ] {
            let error = extend(&mut built_in(), text, "slurm.toml").unwrap_err();
            let message = error.to_string();
            assert!(message.contains(expected), "{message}");
            assert!(message.starts_with("slurm.toml"), "{message}");
        }
        let message = find(&built_in(), "h200").unwrap_err().to_string();
        assert!(message.contains("a100, cpu, h100, v100"), "{message}");
    }

    #[test]
    fn flags_set_keys_as_the_file_does() {
        let mut profile = find(&built_in(), "cpu").unwrap().clone();
        for assignment in ["cpus=4", "time=30", "modules=a/1,b/2", "account=lab"] {
            override_by(&mut profile, assignment).unwrap();
        }
        assert_eq!((profile.cpus, profile.time_s(None).unwrap()), (4, 1800));
        assert_eq!(profile.modules, ["a/1", "b/2"]);
        assert!(override_by(&mut profile, "cpus").is_err());
    }

    /// Catches: brackets and quotes that end up in the job file.
    #[test]
    fn flags_take_lists_and_tables_as_the_file_does() {
        let mut profile = find(&built_in(), "cpu").unwrap().clone();
        for assignment in [
            "extra=[\"--exclude=a,b\", \"--nice\"]",
            "modules=[\"cuda/12, patched\"]",
            "env={ A = \"b c\", N = 3 }",
            "setup=[]",
        ] {
            override_by(&mut profile, assignment).unwrap();
        }
        assert_eq!(profile.extra, ["--exclude=a,b", "--nice"]);
        assert_eq!(profile.modules, ["cuda/12, patched"]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(profile.env, [pair("A", "b c"), pair("N", "3")]);
        override_by(&mut profile, "env=PATH_OF=/a=b").unwrap();
        assert_eq!(profile.env, [pair("PATH_OF", "/a=b")]);
    }

    /// Catches: values from which a second line of the job file could be made, and GPUs that nobody uses.
    #[test]
    fn flags_that_would_make_lines_of_their_own_are_refused() {
        let mut profile = find(&built_in(), "h100").unwrap().clone();
        let before = profile.clone();
        for (assignment, expected) in [
            ("partition=gpu\n#SBATCH --exclusive", "one line"),
            ("account=a\r", "one line"),
            ("extra=--nice\n#SBATCH --mem=0", "one line"),
            ("extra=[\"--nice\\n#SBATCH --mem=0\"]", "one line"),
            ("env={ A = \"b\\nc\" }", "one line"),
            ("program=/a\n/b", "one line"),
            ("qos=a b", "one word"),
            ("mem=--exclusive", "one word"),
            ("extra=[\"a\"]\nb = 1", "one value"),
            ("extra=[\"a\"", "extra="),
            ("env={ \"A B\" = \"c\" }", "no name of a variable"),
            ("env=A", "env=NAME=VALUE"),
            ("gpus=h100:0", "write h100:1"),
            ("gpus=0", "write 1"),
        ] {
            let message = override_by(&mut profile, assignment)
                .unwrap_err()
                .to_string();
            assert!(message.contains(expected), "{assignment:?}: {message}");
            assert_eq!(profile, before, "{assignment:?}");
        }
    }

    #[test]
    fn the_time_asked_for_follows_the_estimate_and_stays_below_the_most() {
        let cpu = find(&built_in(), "cpu").unwrap().clone();
        for (estimate, expected) in [
            (None, 86_400),
            (Some(0.1), 600),
            (Some(2000.0), 2700),
            (Some(1e9), 86_400),
            (Some(f64::INFINITY), 86_400),
            (Some(f64::NAN), 600),
        ] {
            assert_eq!(cpu.time_s(estimate).unwrap(), expected, "{estimate:?}");
        }
        let mut fixed = cpu;
        override_by(&mut fixed, "time=00:07:00").unwrap();
        assert_eq!(fixed.time_s(Some(1e9)).unwrap(), 420);
        assert!(override_by(&mut fixed, "time=0").is_err());
        for (seconds, text) in [
            (420, "00:07:00"),
            (86_400, "1-00:00:00"),
            (90_061, "1-01:01:01"),
        ] {
            assert_eq!(notation(seconds), text);
        }
    }

    #[test]
    fn times_are_read_as_slurm_reads_them() {
        for (text, expected) in [
            ("90", Some(5400)),
            ("01:30", Some(90)),
            ("02:00:00", Some(7200)),
            ("1-12", Some(129_600)),
            ("1-00:30", Some(88_200)),
            ("2-01:00:05", Some(176_405)),
            ("soon", None),
            ("1:2:3:4", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
