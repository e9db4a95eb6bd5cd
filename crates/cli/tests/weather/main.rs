//! `fitzroy weather` as a user meets it: from synthetic data to a forecast, and what goes wrong.

mod archives;
mod carried;
mod exported;
mod limited;
mod missing;
mod pages;
#[path = "../program/mod.rs"]
mod program;
mod refusals;
mod scores;
mod stopped;
mod tuned;

use program::{SMALL_NETWORK, SMALL_WEATHER, Scratch, program, repository};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Twelve days of weather on 9 x 9 points, made in a moment.
fn synthetic(scratch: &Scratch, name: &str, more: &[&str]) -> String {
    let mut args = vec!["weather", "synth", "--out", name];
    let usual = SMALL_WEATHER.chunks(2);
    args.extend(usual.filter(|flag| !more.contains(&flag[0])).flatten());
    args.extend_from_slice(more);
    scratch.fitzroy(&args).ends_with(0);
    name.to_string()
}

fn train(more: &[&'static str]) -> Vec<&'static str> {
    let mut args = vec!["weather", "train", "--data", "a.nc"];
    args.extend_from_slice(&SMALL_NETWORK);
    args.extend_from_slice(more);
    args
}

/// Runs a script of the repository with the first Python that is named and has what it needs; false, with a word, if
/// none has.
fn python(script: &str, args: &[&str]) -> bool {
    python_with("xarray", "FITZROY_REQUIRE_ARVIZ", script, args)
}

/// The same for a script that needs `packages`, which are there where the variable `required` is 1.
#[allow(clippy::print_stderr)]
fn python_with(packages: &str, required: &str, script: &str, args: &[&str]) -> bool {
    let pythons = std::env::var("FITZROY_PYTHON").unwrap_or_else(|_| "python3".into());
    for python in pythons.split(':') {
        let said = std::process::Command::new(python)
            .arg(repository(script))
            .args(args)
            .output();
        // Code 3 says that a package is missing.
        if said.as_ref().is_ok_and(|o| o.status.code() != Some(3)) {
            let fine = said.as_ref().is_ok_and(|o| o.status.success());
            assert!(fine, "{said:?}");
            return true;
        }
    }
    let required_here = std::env::var(required).is_ok_and(|v| v == "1");
    assert!(
        !required_here,
        "{pythons}: no {packages}, and {required} is set"
    );
    eprintln!("skipped: {pythons} has no {packages}");
    false
}

/// Scores a checkpoint, or several: `more` may begin with others.
fn evaluate<'a>(data: &'a str, checkpoint: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let asked = [
        "weather",
        "evaluate",
        "--data",
        data,
        "--checkpoint",
        checkpoint,
    ];
    [&asked[..], more].concat()
}

/// Forecasts from a time by a checkpoint, or several: `more` may begin with others.
fn predict<'a>(
    data: &'a str,
    checkpoint: &'a str,
    from: &'a str,
    more: &[&'a str],
) -> Vec<&'a str> {
    let asked = ["weather", "predict", "--data", data, "--initial-time", from];
    [&asked[..], &["--checkpoint", checkpoint], more].concat()
}

/// Starts a run in the background.
fn start(scratch: &Scratch, more: &[&'static str]) -> std::process::Child {
    let mut command = program(&scratch.0);
    command
        .args(train(more))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

fn newest(scratch: &Scratch, out: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(scratch.0.join(out)).ok()?;
    let paths = entries.filter_map(|e| Some(e.ok()?.path()));
    paths
        .filter(|p| {
            let name = p
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            name.starts_with("checkpoint-") && name.ends_with(".safetensors")
        })
        .max()
}

/// The numbers of a checkpoint, without what says how it came about.
fn parameters(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("a checkpoint");
    let header = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    bytes[8 + header..].to_vec()
}

#[test]
fn synthetic_data_become_a_scored_forecast() {
    let scratch = Scratch::new("weather-chain");
    synthetic(&scratch, "a.nc", &[]);
    let said = scratch.fitzroy(&train(&["--max-steps", "6", "--out", "run", "--json"]));
    let trained = said.ends_with(0).json();
    assert_eq!(trained["steps"], 6);
    assert!(trained["best_validation_loss"].as_f64().unwrap() > 0.0);
    for name in [
        "best.safetensors",
        "checkpoint-00000006.safetensors",
        "metrics.jsonl",
    ] {
        assert!(scratch.0.join("run").join(name).exists(), "{name}");
    }
    let scored = scratch.fitzroy(&evaluate(
        "a.nc",
        "run/best.safetensors",
        &["--leads", "2", "--out", "scores", "--json"],
    ));
    let scored = scored.ends_with(0).json();
    let scores = scored["scores"].as_array().unwrap();
    // Five methods, two leads, five variables on two levels and rain.
    assert_eq!(scores.len(), 5 * 2 * 11);
    // Two days of initial times tell nothing from chance.
    assert_eq!(scored["passed"], false);
    assert!(scored["comparisons"][0]["chance"].is_null());
    assert_eq!(scored["linear_penalties"].as_array().unwrap().len(), 2);
    assert!(
        scores
            .iter()
            .all(|s| s["rmse"].as_f64().unwrap().is_finite())
    );
    scratch
        .fitzroy(&predict(
            "a.nc",
            "run",
            "2000-01-10",
            &["--num-steps", "3", "--output", "forecast.nc"],
        ))
        .ends_with(0);
    let maps = ["--visualizations", "--channels", "U,precipitation"];
    let drawn = [&maps[..], &["--num-steps", "8", "--output", "maps.nc"]].concat();
    let said = scratch.fitzroy(&predict("a.nc", "run", "2000-01-09", &drawn));
    said.ends_with(0).says(&[
        "wrote maps.nc",
        "wrote maps-maps.png",
        "wrote maps-maps.svg",
    ]);
    let picture = fs::read_to_string(scratch.0.join("maps-maps.svg")).expect("a figure");
    for label in [
        "U 850 hPa: start",
        "U 850 hPa: 12 h",
        "30 h",
        "precipitation: 48 h",
    ] {
        assert!(picture.contains(label), "{label}");
    }
    assert!(!picture.contains("TEM") && !scratch.0.join("forecast-maps.png").exists());
    fs::remove_file(scratch.0.join("maps.nc")).expect("it is there");
    let said = scratch.fitzroy(&predict("a.nc", "run", "2000-01-09", &drawn));
    said.ends_with(2).complains(&["maps-maps.png exists"]);
    // What was written can be read as data again, and holds three times: too few to train on.
    let said = scratch.fitzroy(&["weather", "train", "--data", "forecast.nc", "--dry-run"]);
    said.ends_with(2).complains(&["3 records are too few"]);
}

#[test]
fn a_dry_run_says_what_would_be_trained() {
    let scratch = Scratch::new("weather-dry");
    synthetic(&scratch, "a.nc", &[]);
    let plan = scratch
        .fitzroy(&train(&["--dry-run", "--json"]))
        .ends_with(0)
        .json();
    assert_eq!(plan["sets"]["nodes grid"], 81);
    assert!(plan["parameters"].as_u64().unwrap() > 1000 && plan["fits"] == true);
    assert_eq!(scratch.names(), ["a.nc"]);
    let auto = scratch.fitzroy(&train(&["--dry-run", "--json", "--batch-size", "auto"]));
    assert!(auto.ends_with(0).json()["batch_size"].as_u64().unwrap() >= 16);
}
