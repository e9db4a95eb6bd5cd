//! The program `gpu-day`: everything that can only be found out on a machine with a GPU, step by
//! step, in one JSON file. Each step is a process of its own with a time limit, and the file is
//! written anew after each, so that a machine that is lost loses one step.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a program prints

mod models;
mod steps;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const USAGE: &str = "gpu-day [--out FILE] [--nvrtc PATH] [--only STEP]
Runs every check and measurement that needs a GPU, in under 8 minutes, and writes FILE
(gpu-day.json). Exit 0 if every step passed, 1 if one failed, 2 for bad usage.
Example: gpu-day --out h200.json --nvrtc /opt/nvrtc/lib";

/// What the command line says.
struct Arguments {
    out: PathBuf,
    compiler: Option<PathBuf>,
    only: Option<String>,
    /// This process is a step.
    step: Option<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        out: "gpu-day.json".into(),
        compiler: std::env::var_os("FITZROY_NVRTC").map(PathBuf::from),
        only: None,
        step: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value\n{USAGE}"));
        match word.as_str() {
            "--out" => found.out = value()?.into(),
            "--nvrtc" => found.compiler = Some(value()?.into()),
            "--only" => found.only = Some(value()?),
            "--step" => found.step = Some(value()?),
            _ => return Err(USAGE.into()),
        }
    }
    if let Some(only) = &found.only
        && !steps::STEPS.iter().any(|s| s.name == only)
    {
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
        Some(name) => one(name, arguments.compiler.clone()),
        None => all(&arguments),
    }
}

/// Runs one step in this process and prints what it gives.
fn one(name: &str, compiler: Option<PathBuf>) -> ExitCode {
    let Some(step) = steps::STEPS.iter().find(|s| s.name == name) else {
        eprintln!("there is no step `{name}`");
        return ExitCode::from(2);
    };
    let result = (step.run)(&steps::places(compiler));
    let document = match result {
        Ok(values) => json!({"values": values}),
        Err(error) => json!({"error": error.to_string()}),
    };
    println!("{document}");
    ExitCode::SUCCESS
}

/// Runs all steps, each in a process of its own.
fn all(arguments: &Arguments) -> ExitCode {
    let mut done = Vec::new();
    let start = Instant::now();
    for step in steps::STEPS {
        if arguments
            .only
            .as_ref()
            .is_some_and(|only| only != step.name)
        {
            continue;
        }
        let result = child(step, arguments.compiler.as_deref());
        println!(
            "{:5} {:16} {}",
            result["status"].as_str().unwrap_or("?"),
            step.name,
            result["why"]
        );
        done.push(result);
        if let Err(error) = write(&arguments.out, &done, start.elapsed().as_secs_f64()) {
            eprintln!("{}: {error}", arguments.out.display());
            return ExitCode::from(2);
        }
    }
    let failed = done.iter().filter(|s| s["status"] != "pass").count();
    println!(
        "{failed} of {} steps failed; {}",
        done.len(),
        arguments.out.display()
    );
    ExitCode::from(u8::from(failed > 0))
}

/// One step as a child with a time limit.
fn child(step: &steps::Step, compiler: Option<&Path>) -> Value {
    let start = Instant::now();
    let failed = |why: String, seconds: f64| json!({"name": step.name, "status": "fail", "why": why, "seconds": seconds, "values": {}});
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return failed(format!("this program is not found: {error}"), 0.0),
    };
    let mut command = Command::new(program);
    command.args(["--step", step.name]).stdout(Stdio::piped());
    if let Some(path) = compiler {
        command.arg("--nvrtc").arg(path);
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return failed(format!("it does not start: {error}"), 0.0),
    };
    let limit = Duration::from_secs(step.limit_s);
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if start.elapsed() < limit => std::thread::sleep(Duration::from_millis(20)),
            _ => {
                // It may have ended by itself just now.
                let _ = child.kill();
                let _ = child.wait();
                let why = format!("it took longer than {} s", step.limit_s);
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
            let floors = steps::below(step, &document["values"]);
            json!({
                "name": step.name,
                "status": if floors.is_empty() { "pass" } else { "fail" },
                "why": floors.join("; "),
                "seconds": seconds,
                "values": document["values"],
            })
        }
        Ok(document) => failed(document["error"].as_str().unwrap_or("?").into(), seconds),
        Err(_) => failed(
            format!("it ended with {} and said nothing", output.status),
            seconds,
        ),
    }
}

/// Writes the file, complete or not at all.
fn write(path: &Path, steps: &[Value], seconds: f64) -> std::io::Result<()> {
    let document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": option_env!("FITZROY_COMMIT"),
        "seconds": seconds,
        "steps": steps,
    });
    let partial = path.with_extension("partial");
    std::fs::write(&partial, format!("{document:#}\n"))?;
    std::fs::rename(partial, path)
}
