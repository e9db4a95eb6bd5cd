//! `fitzroy weather tune`: trainings with every combination of some settings.

use super::train::train_with;
use crate::exit::Outcome;
use crate::requests::{Words, first_paragraph, flags};
use crate::task::Task;
use crate::{face, interrupt, json, terminal};
use clap::{Args, FromArgMatches};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_session::face::Face;
use fitzroy_session::folder::replace;
use fitzroy_weather::train::{Event, newest};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Flags of `fitzroy weather tune`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy weather tune --sweep latent-size=32,64 --sweep \
    num-gnn-layers=2,4 --sweep batch-size=2,4 --out tune -- --data synthetic.nc --max-steps 500\n  \
    fitzroy weather tune ...the same... --trial $SLURM_ARRAY_TASK_ID     in a job array of 1 to 8\n\n\
    Behind -- stand the flags of fitzroy weather train that all trials share. Each trial lies in a\n\
    folder of its own, trial-01, trial-02, ...; the same command goes on with what is not done, and\n\
    writes tune.csv and tune.json, the best trial first, when all are."
)]
pub(crate) struct TuneArgs {
    /// A flag of train and the values that are tried, as latent-size=32,64; several make every
    /// combination
    #[arg(long, value_name = "FLAG=VALUES", required = true, num_args = 1..)]
    sweep: Vec<String>,
    /// Make this trial alone, counted from 1
    #[arg(long, value_name = "K", conflicts_with = "task")]
    trial: Option<usize>,
    /// The trials of task I of N, I from 0, with a table of their own
    #[arg(long, value_name = "I/N")]
    task: Option<Task>,
    /// Folder for the trials
    #[arg(long, value_name = "DIR", default_value = "tune")]
    out: PathBuf,
    /// One JSON document on stdout, and nothing else there
    #[arg(long)]
    json: bool,
    /// Flags of train
    #[arg(last = true, value_name = "FLAGS OF TRAIN", required = true)]
    train: Vec<String>,
}

/// One combination: flags and their values.
type Trial = Vec<(String, String)>;

/// All combinations, the last flag turning fastest.
fn combinations(sweeps: &[String]) -> Result<Vec<Trial>> {
    let mut all: Vec<Trial> = vec![Vec::new()];
    for text in sweeps {
        let wrong = || {
            let message =
                format!("--sweep {text}: write a flag of train and values, as latent-size=32,64");
            Error::new(ErrorKind::Usage, message)
        };
        let (flag, values) = text.split_once('=').ok_or_else(wrong)?;
        let flag = flag.trim_start_matches("--").replace('_', "-");
        let values: Vec<&str> = values.split(',').map(str::trim).collect();
        let own = [
            "out",
            "output-dir",
            "resume-from",
            "members",
            "json",
            "dry-run",
        ];
        if values.contains(&"") || own.contains(&&*flag) {
            return Err(wrong());
        }
        let with = |trial: &Trial| -> Vec<Trial> {
            let one = |value: &&str| [&trial[..], &[(flag.clone(), value.to_string())]].concat();
            values.iter().map(one).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    Ok(all)
}

/// A trial in words.
fn shown(trial: &Trial) -> String {
    let words = trial.iter().map(|(flag, value)| format!("{flag} {value}"));
    words.collect::<Vec<_>>().join(", ")
}

/// What is known of a trial that has ended: its `run.json`.
fn ended(folder: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(folder.join("run.json")).ok()?;
    let document: Value = serde_json::from_str(&text).ok()?;
    let how = document["ended"].as_str()?;
    (how != "interrupted").then_some(document)
}

impl TuneArgs {
    fn folder(&self, number: usize) -> PathBuf {
        self.out.join(format!("trial-{number:02}"))
    }

    /// Makes a trial, or goes on with it.
    fn make(
        &self,
        number: usize,
        trial: &Trial,
        stop: &AtomicBool,
        face: &Arc<dyn Face>,
    ) -> Result<Value> {
        let folder = self.folder(number);
        let shown = folder.display().to_string();
        let mut words: Vec<String> = trial
            .iter()
            .map(|(flag, value)| format!("{flag}={value}"))
            .collect();
        words.push(match newest(&folder).is_empty() {
            true => format!("out={shown}"),
            false => format!("resume-from={shown}"),
        });
        let first: Vec<&str> = self.train.iter().map(String::as_str).collect();
        train_with(&first, &words, stop, &|_: &Event<'_>| {}, face)
    }

    /// The trials that have ended, the best first, written as `tune.csv` and `tune.json`.
    fn collect(&self, trials: &[Trial]) -> Result<Vec<Value>> {
        let mut rows = Vec::new();
        for (k, trial) in trials.iter().enumerate() {
            let folder = self.folder(k + 1);
            let Some(run) = ended(&folder) else { continue };
            let settings = trial.iter().cloned();
            let settings = settings.map(|(flag, value)| (flag, Value::from(value)));
            rows.push(json!({
                "trial": k + 1, "folder": folder.display().to_string(),
                "settings": settings.collect::<serde_json::Map<String, Value>>(),
                "ended": run["ended"], "steps": run["steps"], "parameters": run["parameters"],
                "beside_start": run["best_beside_start"],
                "best_validation_loss": run["best_validation_loss"], "total_s": run["total_s"],
            }));
        }
        let ratio = |row: &Value| row["beside_start"].as_f64().unwrap_or(f64::INFINITY);
        rows.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let flags: Vec<&str> = trials[0].iter().map(|(flag, _)| flag.as_str()).collect();
        const REST: [&str; 7] = [
            "beside_start",
            "best_validation_loss",
            "parameters",
            "steps",
            "total_s",
            "ended",
            "folder",
        ];
        let mut csv = format!("trial,{},{}\n", flags.join(","), REST.join(","));
        for row in &rows {
            let plain = |value: &Value| match value {
                Value::String(text) if text.contains([',', '"']) => {
                    format!("\"{}\"", text.replace('"', "\"\""))
                }
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            let own = flags.iter().map(|flag| plain(&row["settings"][*flag]));
            let rest = REST.iter().map(|name| plain(&row[*name]));
            let cells: Vec<String> = own.chain(rest).collect();
            csv += &format!("{},{}\n", row["trial"], cells.join(","));
        }
        replace(&self.out.join("tune.csv"), csv.as_bytes())?;
        let document = format!("{:#}\n", Value::from(rows.clone()));
        replace(&self.out.join("tune.json"), document.as_bytes())?;
        Ok(rows)
    }

    /// Makes the trials that have not ended. `told` hears of each before it begins: its number, how many there are, and
    /// what it tries.
    fn make_all(
        &self,
        stop: &AtomicBool,
        face: &Arc<dyn Face>,
        told: &dyn Fn(usize, usize, &Trial),
    ) -> Result<Trials> {
        let trials = combinations(&self.sweep)?;
        let n = trials.len();
        let wanted = match (self.trial, self.task) {
            (Some(k), _) if k == 0 || k > n => {
                let message = format!("--trial {k}: there are {n} trials, counted from 1");
                return Err(Error::new(ErrorKind::Usage, message));
            }
            (Some(k), _) => k - 1..k,
            (None, Some(task)) => task.share(n, "trials")?,
            (None, None) => 0..n,
        };
        std::fs::create_dir_all(&self.out)
            .map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", self.out.display())))?;
        let mut failed = false;
        for (number, trial) in wanted.map(|k| (k + 1, &trials[k])) {
            if ended(&self.folder(number)).is_some() {
                continue;
            }
            told(number, n, trial);
            let document = self.make(number, trial, stop, face)?;
            failed |= matches!(document["ended"].as_str(), Some("diverged" | "degenerate"));
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        // Other trials may be under way.
        let whole = self.trial.is_none() && !stop.load(Ordering::Relaxed);
        let rows = match whole {
            true => self.collect(&trials)?,
            false => Vec::new(),
        };
        Ok(Trials {
            trials,
            rows,
            failed,
        })
    }

    fn json(&self, rows: Vec<Value>) -> Value {
        json!({"out": self.out.display().to_string(), "trials": rows})
    }
}

/// How many trials a command line of `fitzroy weather tune` makes, by the words behind that, and what is asked of `train`.
///
/// # Errors
/// Those of the flags.
pub(crate) fn trials(words: &[String]) -> Result<(usize, Vec<String>)> {
    let parser = TuneArgs::augment_args(clap::Command::new("tune").no_binary_name(true));
    let found = parser.try_get_matches_from(words);
    let args = found.and_then(|mut found| TuneArgs::from_arg_matches_mut(&mut found));
    let args = args.map_err(|e| {
        let hint = match words.iter().any(|word| word == "--") {
            true => "",
            false => "; the flags of train stand behind a -- of their own",
        };
        Error::new(ErrorKind::Usage, format!("{}{hint}", first_paragraph(&e)))
    })?;
    Ok((combinations(&args.sweep)?.len(), args.train))
}

/// What became of all trials.
struct Trials {
    trials: Vec<Trial>,
    /// Those that have ended, the best first.
    rows: Vec<Value>,
    /// Whether one diverged or degenerated.
    failed: bool,
}

/// Makes trials by settings: `sweeps` as for `--sweep`, in a folder `out`, with the settings of train that all share. `told`
/// hears of each before it begins: its number, and how many there are.
pub(crate) fn tune(
    sweeps: &Words,
    out: PathBuf,
    shared: &Words,
    stop: &AtomicBool,
    told: &dyn Fn(usize, usize),
    face: &Arc<dyn Face>,
) -> Result<Value> {
    let args = TuneArgs {
        sweep: sweeps.to_vec(),
        trial: None,
        task: None,
        out,
        json: true,
        train: flags(shared).collect(),
    };
    let made = args.make_all(stop, face, &|k, n, _| told(k, n))?;
    Ok(args.json(made.rows))
}

/// Makes the trials and says which is the best.
pub(crate) fn run(args: &TuneArgs) -> Result<Outcome> {
    let face = face::notes();
    let stop = interrupt::catch_with("stopping: the same command goes on")?;
    let Trials {
        trials,
        rows,
        failed,
    } = args.make_all(&stop, &face, &|number, n, trial| {
        terminal::note(format_args!("trial {number} of {n}: {}", shown(trial)));
    })?;
    if stop.load(Ordering::Relaxed) {
        return Ok(Outcome::Interrupted);
    }
    if args.json {
        json::print(&args.json(rows));
    } else {
        for row in &rows {
            let trial = &trials[row["trial"].as_u64().map_or(0, |k| k as usize - 1)];
            let ratio = row["beside_start"].as_f64();
            let ratio = ratio.map_or("      –".into(), |x| format!("{x:7.4}"));
            terminal::out(format_args!(
                "{ratio} x the start's validation losses  trial {}: {}",
                row["trial"],
                shown(trial)
            ));
        }
        terminal::out(format_args!("wrote {}", args.out.display()));
    }
    Ok(if failed {
        Outcome::NotPassed
    } else {
        Outcome::Done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_tried_once() {
        let sweeps = [
            "latent-size=32, 64".to_string(),
            "--batch_size=1,2,4".into(),
        ];
        let all = combinations(&sweeps).unwrap();
        let words: Vec<String> = all.iter().map(shown).collect();
        assert_eq!(words.len(), 6);
        assert_eq!(words[0], "latent-size 32, batch-size 1");
        assert_eq!(words[5], "latent-size 64, batch-size 4");
        for wrong in ["latent-size", "latent-size=", "latent-size=1,,2", "out=a,b"] {
            assert!(combinations(&[wrong.to_string()]).is_err(), "{wrong}");
        }
    }
}
