//! The program `gpu-day`: everything that can only be found out on a machine with a GPU, step by
//! step, in one JSON file. Each step is a process of its own with a time limit, and the file is
//! written anew after each, so that a machine that is lost loses one step.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a program prints

mod bits;
mod curves;
mod meetings;
mod models;
mod others;
mod resume;
mod runs;
mod sampler;
mod steps;
mod stop_signal;
mod watched;
mod weather;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const USAGE: &str = "gpu-day [--out FILE] [--nvrtc PATH] [--only STEP,STEP] [--seconds N]
                 [--patience N] [--peers PYTHON] [--rehearse] [--list]
Runs every check and measurement that needs a GPU, in under 8 minutes (or --seconds), and writes
FILE (gpu-day.json). Steps for which no time is left are skipped. --patience N multiplies the time
after which a step is ended and all of them are, for machines that are slow or busy. --peers names
a Python with jax and numpyro, on whose GPU the same problem is timed. --rehearse runs every step on
small problems and judges no goal, for machines whose GPU is none. Exit 0 if no step failed, 1 if
one did, 2 for bad usage.
Example: gpu-day --out h200.json --nvrtc /opt/nvrtc/lib --peers .venv/bin/python";

/// Seconds for all steps together: below eight minutes.
const ALL_S: u64 = 460;

/// What the command line says.
struct Arguments {
    out: PathBuf,
    compiler: Option<PathBuf>,
    /// Steps to run; empty for all.
    only: Vec<String>,
    /// Seconds for all steps together.
    seconds: u64,
    /// What time limits are multiplied by.
    patience: u64,
    /// A Python for the peers.
    peers: Option<PathBuf>,
    /// Whether problems are small and goals are not judged.
    rehearse: bool,
    /// Whether to print the names of the steps and nothing else.
    list: bool,
    /// This process is a step.
    step: Option<String>,
    /// Where its kernels are kept for the next one.
    cache: Option<PathBuf>,
    /// This process makes so many draws into a folder, and is killed.
    keep: Option<PathBuf>,
    draws: usize,
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        out: "gpu-day.json".into(),
        compiler: std::env::var_os("FITZROY_NVRTC").map(PathBuf::from),
        only: Vec::new(),
        seconds: ALL_S,
        patience: 1,
        peers: None,
        rehearse: false,
        list: false,
        step: None,
        cache: None,
        keep: None,
        draws: 0,
    };
    let whole = |flag: &str, text: String| {
        let wrong = |_| format!("{flag}: `{text}` is no whole number\n{USAGE}");
        text.parse::<u64>().map_err(wrong)
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value\n{USAGE}"));
        match word.as_str() {
            "--out" => found.out = value()?.into(),
            "--nvrtc" => found.compiler = Some(value()?.into()),
            "--only" => found.only = value()?.split(',').map(String::from).collect(),
            "--peers" => found.peers = Some(value()?.into()),
            "--rehearse" => found.rehearse = true,
            "--list" => found.list = true,
            "--seconds" => found.seconds = whole(&word, value()?)?,
            "--patience" => found.patience = whole(&word, value()?)?,
            "--step" => found.step = Some(value()?),
            "--cache" => found.cache = Some(value()?.into()),
            "--keep" => found.keep = Some(value()?.into()),
            "--draws" => found.draws = value()?.parse().map_err(|_| USAGE)?,
            _ => return Err(USAGE.into()),
        }
    }
    let unknown = |only: &&String| steps::STEPS.iter().all(|s| s.name != **only);
    if let Some(only) = found.only.iter().find(unknown) {
        let names: Vec<&str> = steps::STEPS.iter().map(|s| s.name).collect();
        return Err(format!(
            "there is no step `{only}`; there are {}",
            names.join(", ")
        ));
    }
    Ok(found)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::from(2);
        }
    };
    match &arguments.step {
        Some(name) => one(name, &arguments),
        None if arguments.list => {
            steps::STEPS.iter().for_each(|s| println!("{}", s.name));
            ExitCode::SUCCESS
        }
        None => {
            let name = format!("fitzroy-gpu-day-cache-{}", std::process::id());
            let cache = std::env::temp_dir().join(name);
            let code = all(&arguments, &cache);
            // What cannot be removed lies in the folder for temporary files.
            let _ = std::fs::remove_dir_all(cache);
            code
        }
    }
}

/// Runs one step in this process and prints what it gives.
fn one(name: &str, arguments: &Arguments) -> ExitCode {
    let places = steps::places(arguments.compiler.clone(), arguments.cache.clone());
    let step = steps::STEPS.iter().find(|s| s.name == name);
    let result = match (step, &arguments.keep) {
        (_, Some(folder)) => resume::keep(&places, folder, arguments.draws),
        (Some(step), None) => {
            let setup = steps::Setup {
                peers: arguments.peers.as_deref(),
                small: arguments.rehearse,
            };
            (step.run)(&places, &setup)
        }
        (None, None) => {
            eprintln!("there is no step `{name}`");
            return ExitCode::from(2);
        }
    };
    let document = match result {
        Ok(values) if values["skipped"].is_string() => json!({"skip": values["skipped"]}),
        Ok(values) => json!({"values": values}),
        Err(error) => json!({"error": error.to_string()}),
    };
    println!("{document}");
    ExitCode::SUCCESS
}

/// Runs all steps, each in a process of its own; what one has compiled the next finds in `cache`.
fn all(arguments: &Arguments, cache: &Path) -> ExitCode {
    let mut done = Vec::new();
    let start = Instant::now();
    for step in steps::STEPS {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|o| o == step.name) {
            continue;
        }
        let seconds = arguments.seconds * arguments.patience;
        let left = seconds.saturating_sub(start.elapsed().as_secs());
        let limit_s = step.limit_s * arguments.patience;
        let result = match left {
            0 => ended(step, "skip", "no time was left".into(), 0.0),
            left => child(step, left.min(limit_s), arguments, cache),
        };
        println!(
            "{:5} {:16} {}",
            result["status"].as_str().unwrap_or("?"),
            step.name,
            result["why"]
        );
        done.push(result);
        if let Err(error) = write(arguments, &done, start.elapsed().as_secs_f64()) {
            eprintln!("{}: {error}", arguments.out.display());
            return ExitCode::from(2);
        }
    }
    let (failed, skipped) = (count(&done, "fail"), count(&done, "skip"));
    println!(
        "{failed} of {} steps failed, {skipped} were skipped; {}",
        done.len(),
        arguments.out.display()
    );
    ExitCode::from(u8::from(failed > 0))
}

/// How many steps ended so.
fn count(steps: &[Value], status: &str) -> usize {
    steps.iter().filter(|s| s["status"] == status).count()
}

/// A step without values, which reaches none of its goals.
fn ended(step: &steps::Step, status: &str, why: String, seconds: f64) -> Value {
    let goals = steps::goals(step, &Value::Null);
    json!({
        "name": step.name,
        "status": status,
        "why": why,
        "seconds": seconds,
        "goals": goals,
        "values": {},
    })
}

/// This program, asked for one step.
fn command(program: &Path, step: &steps::Step, arguments: &Arguments, cache: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--step", step.name]).stdout(Stdio::piped());
    command.arg("--cache").arg(cache);
    if let Some(path) = &arguments.compiler {
        command.arg("--nvrtc").arg(path);
    }
    if let Some(path) = &arguments.peers {
        command.arg("--peers").arg(path);
    }
    if arguments.rehearse {
        command.arg("--rehearse");
    }
    command
}

/// One step as a child with a time limit.
fn child(step: &steps::Step, limit_s: u64, arguments: &Arguments, cache: &Path) -> Value {
    let start = Instant::now();
    let failed = |why: String, seconds: f64| ended(step, "fail", why, seconds);
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return failed(format!("this program is not found: {error}"), 0.0),
    };
    let mut child = match command(&program, step, arguments, cache).spawn() {
        Ok(child) => child,
        Err(error) => return failed(format!("it does not start: {error}"), 0.0),
    };
    let limit = Duration::from_secs(limit_s);
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if start.elapsed() < limit => std::thread::sleep(Duration::from_millis(20)),
            _ => {
                // It may have ended by itself just now.
                let _ = child.kill();
                let _ = child.wait();
                let why = format!("it took longer than {limit_s} s");
                return failed(why, start.elapsed().as_secs_f64());
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let output = match child.wait_with_output() {
        Ok(output) => output,
        Err(error) => return failed(format!("its output is lost: {error}"), seconds),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    match serde_json::from_str::<Value>(last) {
        Ok(document) if document["values"].is_object() => {
            let goals = steps::goals(step, &document["values"]);
            let missed = steps::missed(&goals);
            let passes = missed.is_empty() || arguments.rehearse;
            json!({
                "name": step.name,
                "status": if passes { "pass" } else { "fail" },
                "why": missed,
                "seconds": seconds,
                "goals": goals,
                "values": document["values"],
            })
        }
        Ok(document) if document["skip"].is_string() => ended(
            step,
            "skip",
            document["skip"].as_str().unwrap_or("?").into(),
            seconds,
        ),
        Ok(document) => failed(document["error"].as_str().unwrap_or("?").into(), seconds),
        Err(_) => failed(
            format!("it ended with {} and said nothing", output.status),
            seconds,
        ),
    }
}

/// Writes the file, complete or not at all.
fn write(arguments: &Arguments, steps: &[Value], seconds: f64) -> std::io::Result<()> {
    let path = &arguments.out;
    let document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": option_env!("FITZROY_COMMIT"),
        "rehearsal": arguments.rehearse,
        "seconds": seconds,
        "passed": count(steps, "pass"),
        "failed": count(steps, "fail"),
        "skipped": count(steps, "skip"),
        "steps": steps,
    });
    let partial = path.with_extension("partial");
    std::fs::write(&partial, format!("{document:#}\n"))?;
    std::fs::rename(partial, path)
}
