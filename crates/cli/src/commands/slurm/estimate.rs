//! What a task will need: asked of the program that will run, or read off the size of its files.

use super::prepare::io;
use crate::commands::curve_fit::large;
use crate::commands::weather::trials;
use fitzroy::{Error, Result};
use fitzroy_slurm::command::{Command, Share};
use fitzroy_slurm::plan::{Basis, Estimate, Time, cpus};
use fitzroy_slurm::profile::Profile;
use fitzroy_slurm::split::Tasks;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process;

/// Operations a second of a processor in training, a sixth of what AVX-512 reaches (`benches/weather.py`).
const FLOPS: f64 = 5e9;
/// Processors that training keeps busy, at most: a batch has few windows.
const BUSY: u32 = 8;
/// Seconds of a fit for a byte of text: ten times what hard curves of 1,000 rows take.
const PER_BYTE_S: f64 = 1e-5;
/// Bytes of memory for a byte of text, which holds its numbers as text and as columns.
const PER_BYTE: u64 = 4;

/// What one task needs, for commands that can say it without running. Bad input is found here, by the
/// program that will run.
pub(super) fn of_task(
    program: &Path,
    command: &Command,
    profile: &Profile,
    tasks: Tasks,
) -> Result<Option<Estimate>> {
    match command.kind.name {
        "sample" | "stop-signal fit" => chains(program, command, profile, tasks).map(Some),
        "weather train" => training(program, command, profile).map(Some),
        "weather tune" => tuning(program, command, profile, tasks).map(Some),
        "curve-fit" => {
            let estimate = curves(command, tasks)?;
            try_first(program, command)?;
            Ok(Some(estimate))
        }
        _ => Ok(None),
    }
}

/// What the program says of a run of chains: on a card of the profile, or on processors.
fn chains(program: &Path, command: &Command, profile: &Profile, tasks: Tasks) -> Result<Estimate> {
    let count = tasks.count;
    let mut more = Vec::new();
    // The last of unequal tasks has the most to do.
    match tasks.share {
        Share::Chains if count > 1 => {
            more.extend(["--task".to_owned(), format!("{}/{count}", count - 1)]);
        }
        Share::Blocks => more.extend(["--block".to_owned(), format!("{count}/{count}")]),
        _ => {}
    }
    if command.value("--threads").is_none() {
        let cpus = cpus(command, profile, tasks);
        more.extend(["--threads".to_owned(), cpus.to_string()]);
    }
    let device = command.value("--device");
    // What only the nodes have cannot be asked here, and the CPU computes in f64.
    let mut here = command.clone();
    if device.is_some_and(|d| d.starts_with("cuda")) {
        here = here.without_value("--device");
    }
    if matches!(command.value("--precision"), Some("mixed" | "f32")) {
        here = here.without_value("--precision");
    }
    if here.value("--device").is_none() {
        more.extend(["--device".to_owned(), "cpu".to_owned()]);
    }
    let document = dry_run(program, &here, &more)?;
    let time = match &profile.gpus {
        Some(gpus) if device != Some("cpu") => card_time(gpus, &document),
        _ => document["time_s"].as_f64().map(|seconds| Time {
            seconds,
            basis: Basis::Pilot,
        }),
    };
    Ok(Estimate {
        memory_bytes: bytes(&document, "memory_bytes"),
        draws_bytes: bytes(&document, "draws_bytes"),
        time,
    })
}

/// The time on the card that `gpus` names, as in `nvidia_a100_80gb:2`; none for other cards, and for
/// a slice of one, such as `a100_1g.5gb`.
fn card_time(gpus: &str, document: &Value) -> Option<Time> {
    let gpus = gpus.to_lowercase();
    let words = || gpus.split(|c: char| !c.is_ascii_alphanumeric());
    let is_slice = |w: &str| {
        w.strip_suffix('g')
            .is_some_and(|n| n.parse::<u32>().is_ok())
    };
    if words().any(is_slice) {
        return None;
    }
    let on_cards = document["gpu_time_s"].as_object()?;
    words().find_map(|word| {
        Some(Time {
            seconds: on_cards.get(word)?.as_f64()?,
            basis: Basis::Card(word.to_owned()),
        })
    })
}

/// A training with the settings that all trials share, for each trial of a task.
fn tuning(program: &Path, command: &Command, profile: &Profile, tasks: Tasks) -> Result<Estimate> {
    let (n, shared) = trials(&command.arguments)?;
    if tasks.count > n {
        let count = tasks.count;
        return Err(Error::usage(format!(
            "--split parts:{count}: the sweep has {n} trials; take at most parts:{n}"
        )));
    }
    let words = ["weather".to_owned(), "train".to_owned()];
    let one = Command::parse(&[&words[..], &shared].concat())?;
    let mut estimate = training(program, &one, profile)?;
    if let Some(time) = &mut estimate.time {
        time.seconds *= n.div_ceil(tasks.count) as f64;
    }
    Ok(estimate)
}

fn training(program: &Path, command: &Command, profile: &Profile) -> Result<Estimate> {
    let document = dry_run(program, command, &[])?;
    let number = |key: &str| document[key].as_f64();
    let processors = f64::from(profile.cpus.clamp(1, BUSY));
    let seconds = number("flops_per_step")
        .zip(number("planned_steps"))
        .map(|(flops, steps)| flops * steps / (FLOPS * processors));
    // Data that lie in a file here, for want of memory, may lie in the job's.
    let data = bytes(&document, "data_in_file_bytes");
    Ok(Estimate {
        memory_bytes: bytes(&document, "total_bytes") + data,
        draws_bytes: 0,
        time: seconds.map(|seconds| Time {
            seconds,
            basis: Basis::Arithmetic,
        }),
    })
}

/// Fits take seconds and their sizes are those of their files. Draws of parameters take as long as they
/// take, and rows that stay on the disk have a limit of their own.
fn curves(command: &Command, tasks: Tasks) -> Result<Estimate> {
    let files = command.arguments.iter().filter_map(|argument| {
        let path = argument
            .split_once('=')
            .map_or(&argument[..], |(_, file)| file);
        let found = fs::metadata(path).ok()?;
        found.is_file().then_some(found.len())
    });
    let all: u64 = files.sum();
    // Tasks of several files read their own; groups of one file are read by every task.
    let read = match command.value("--batch-by") {
        Some("file" | "set") => all.div_ceil(tasks.count.max(1) as u64),
        _ => all,
    };
    let limit = command.value("--memory-limit");
    let is_plain = limit.is_none() && !command.has("--posterior");
    Ok(Estimate {
        memory_bytes: match limit {
            Some(text) => large::bytes(text)? as u64,
            None => read.saturating_mul(PER_BYTE),
        },
        draws_bytes: 0,
        time: is_plain.then_some(Time {
            seconds: PER_BYTE_S * read as f64,
            basis: Basis::Data,
        }),
    })
}

/// Fits the first of the files here, which takes a moment and finds what is wrong with the
/// command. Tables that are cut into groups are too large for that.
fn try_first(program: &Path, command: &Command) -> Result<()> {
    let is_file = |argument: &&String| Path::new(argument.as_str()).is_file();
    let n_sets = match command.value("--batch-by") {
        Some("file") => command.arguments.iter().filter(is_file).count(),
        Some("set") => {
            let named = |a: &&String| a.starts_with("--data-set");
            command.arguments.iter().filter(named).count()
        }
        _ => 0,
    };
    if n_sets == 0 || command.has("--posterior") {
        return Ok(());
    }
    let mut ask = process::Command::new(program);
    ask.args(command.without("--strict").words());
    let aside = std::env::temp_dir().join(format!("fitzroy-first-{}", process::id()));
    ask.args(["--task", &format!("0/{n_sets}"), "--json", "--out"])
        .arg(&aside);
    let output = ask.output().map_err(|e| io("the program", &e));
    let _ = fs::remove_dir_all(&aside);
    let output = output?;
    // A fit that does not converge is a result, and the other files may do better.
    match output.status.code() {
        Some(2) => Err(complaint(&output.stderr)),
        _ => Ok(()),
    }
}

/// What the program said of a command that it refused.
fn complaint(said: &[u8]) -> Error {
    let said = String::from_utf8_lossy(said);
    Error::usage(said.trim().trim_start_matches("error: ").to_owned())
}

/// What the command's own `--dry-run` says.
fn dry_run(program: &Path, command: &Command, more: &[String]) -> Result<Value> {
    let mut ask = process::Command::new(program);
    ask.args(command.without("--strict").words());
    ask.args(["--dry-run", "--json"]).args(more);
    let output = ask.output().map_err(|e| io("the program", &e))?;
    if !output.status.success() {
        return Err(complaint(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout).unwrap_or_default())
}

fn bytes(document: &Value, key: &str) -> u64 {
    document[key].as_f64().unwrap_or(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_card_is_known_by_its_name_among_others_and_a_slice_is_none() {
        let document = json!({"gpu_time_s": {"a100": 5.0, "l40s": 9.0}});
        let time = |gpus: &str| card_time(gpus, &document).map(|t| t.seconds);
        assert_eq!(time("a100:1"), Some(5.0));
        assert_eq!(time("nvidia_a100-sxm4-80gb:2"), Some(5.0));
        assert_eq!(time("L40S:1"), Some(9.0));
        for unknown in ["a100_3g.20gb:1", "1", "mi300:1"] {
            assert_eq!(time(unknown), None, "{unknown}");
        }
    }
}
