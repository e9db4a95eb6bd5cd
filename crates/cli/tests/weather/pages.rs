//! Pages, pictures and profiles.

use super::program::{SMALL_NETWORK, Scratch};
use super::{evaluate, synthetic, train};
use std::fs;

/// What a finished run shows to people; a folder of training makes its page anew at any time.
#[test]
fn training_and_scores_leave_pages_pictures_and_a_profile() {
    let scratch = Scratch::new("weather-pages");
    synthetic(&scratch, "a.nc", &[]);
    let said = scratch.fitzroy(&train(&[
        "--graph",
        "flat",
        "--max-steps",
        "8",
        "--log-every",
        "2",
        "--recompute",
        "layer",
        "--profile",
        "--out",
        "run",
    ]));
    let said = said.ends_with(0);
    assert!(
        said.out.contains("ms a step") && said.out.contains("peak memory"),
        "{}",
        said.out
    );
    let read = |name: &str| std::fs::read_to_string(scratch.0.join(name)).expect("it is there");
    let page = read("run/report.html");
    for part in [
        "Training finished",
        "best validation loss",
        "--recompute layer",
        "<svg",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let trace: serde_json::Value = serde_json::from_str(&read("run/profile.json")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    for name in [
        "wait for data",
        "layer0.edges.grid",
        "decode",
        "clip, AdamW, average",
    ] {
        assert!(events.iter().any(|e| e["name"] == name), "{name}");
    }
    assert!(read("run/profile.txt").contains("layer0.nodes.grid backward"));
    std::fs::remove_file(scratch.0.join("run/report.html")).expect("it was there");
    scratch.fitzroy(&["report", "run"]).ends_with(0);
    assert_eq!(read("run/report.html"), page);
    scratch
        .fitzroy(&evaluate(
            "a.nc",
            "run/best.safetensors",
            &[
                "--leads",
                "5",
                "--out",
                "scores",
                "--visualizations",
                "--strict",
            ],
        ))
        // Eight steps do not beat a regression.
        .ends_with(1);
    let page = read("scores/report.html");
    for part in [
        "not ahead of a baseline",
        "Error by lead time",
        "CSI 1 mm",
        "forecast − truth",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for name in [
        "lead_times.png",
        "lead_times.svg",
        "maps.png",
        "maps.svg",
        "scores.csv",
    ] {
        let bytes = std::fs::read(scratch.0.join("scores").join(name)).expect("it is there");
        assert!(bytes.len() > 1000, "{name}");
    }
}

/// What only measures ends by itself: a profile after its steps, a search with a rate and a figure.
#[test]
fn a_profile_and_a_search_for_a_learning_rate_end_by_themselves() {
    let scratch = Scratch::new("weather-measure");
    synthetic(&scratch, "a.nc", &[]);
    let said = scratch.fitzroy(&train(&["--profile", "--out", "run", "--json"]));
    let profiled = said.ends_with(0).json();
    assert_eq!(profiled["ended"], "profiled");
    assert_eq!(profiled["steps"], 21);
    let page = fs::read_to_string(scratch.0.join("run/report.html")).expect("a page");
    assert!(page.contains("looked at for a profile") && page.contains("Validation by variable"));
    let search = [
        "weather",
        "train",
        "--data",
        "a.nc",
        "--find-lr",
        "--batch-size",
        "2",
    ];
    let said = scratch.fitzroy(&[&search[..], &SMALL_NETWORK[..8], &["--out", "rate"]].concat());
    let said = said
        .ends_with(0)
        .says(&["suggested: --learning-rate ", "wrote rate"]);
    let found = fs::read_to_string(scratch.0.join("rate/learning-rate.json")).expect("written");
    let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    let rate = found["suggested_learning_rate"].as_f64().expect("a rate");
    assert!(
        said.out.contains(&format!("--learning-rate {rate:e}")),
        "{}",
        said.out
    );
    assert!((1e-5..0.1).contains(&rate), "{rate}");
    for name in ["report.html", "learning-rate.png", "learning-rate.svg"] {
        assert!(scratch.0.join("rate").join(name).is_file(), "{name}");
    }
    assert!(!scratch.0.join("rate/best.safetensors").exists());
}
