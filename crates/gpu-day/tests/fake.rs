//! `gpu-day` on a GPU that is none: steps run, their results are judged, one JSON is written.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

#[path = "../../device/tests/fake/mod.rs"]
mod libraries;

use fitzroy_device::gpu::host::LAUNCHER;
use fitzroy_device::gpu::host_work::launchers;
use fitzroy_device::gpu::text::HOST_HEADER;
use fitzroy_weather::train::kernel_names;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// From the folder of a test to the sources of the libraries.
const SOURCES: &str = "../device/tests/fake";

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A folder of this name with a driver and a compiler; none without g++.
fn fake(name: &str) -> Option<Folder> {
    if !libraries::has_compiler() {
        return None;
    }
    let name = format!("fitzroy-gpu-day-test-{name}-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&path).unwrap();
    let folder = Folder(path);
    let at = |name: &str| folder.0.join(name);
    std::fs::write(at("header.c"), HOST_HEADER).unwrap();
    std::fs::write(at("launcher.c"), LAUNCHER).unwrap();
    std::fs::write(at("lists.c"), launchers(&kernel_names())).unwrap();
    for (source, library) in [
        ("driver.cpp", "libcuda.so.1"),
        ("compiler.cpp", "libnvrtc.so.12"),
    ] {
        let defines = ["TEAM_NOW=1", "PROCESSORS=4"];
        libraries::build(source, &at(library), "-O2", &defines);
    }
    // The same file under another name is the library of products.
    std::fs::hard_link(at("libcuda.so.1"), at("libcublasLt.so.12")).unwrap();
    Some(folder)
}

/// Limits of time are for GPUs; this processor is slower, and busy with other tests.
const PATIENT: [&str; 2] = ["--patience", "20"];

fn gpu_day(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gpu-day"))
        .current_dir(folder)
        .args(arguments)
        .env("LD_LIBRARY_PATH", folder)
        .env_remove("CUDA_VISIBLE_DEVICES")
        .output()
        .unwrap()
}

#[test]
fn steps_that_pass_fail_and_are_skipped_are_written_down() {
    let Some(folder) = fake("some") else {
        return;
    };
    let nvrtc = folder.0.display().to_string();
    // All steps pass in the rehearsal.
    let only = "equal-schools,m1-4,too-many,peers";
    let mut arguments = vec!["--nvrtc", &nvrtc, "--only", only, "--out", "day.json"];
    arguments.extend(PATIENT);
    let said = gpu_day(&folder.0, &arguments);
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    // This processor is no GPU: the goal of `m1-4` is out of its reach.
    assert_eq!(said.status.code(), Some(1), "{text}");
    let written = std::fs::read_to_string(folder.0.join("day.json")).unwrap();
    let document: Value = serde_json::from_str(&written).unwrap();
    let steps = document["steps"].as_array().unwrap();
    let status = |name: &str| {
        let step = steps.iter().find(|s| s["name"] == name).unwrap();
        step["status"].as_str().unwrap().to_string()
    };
    assert_eq!(steps.len(), 4);
    for name in ["equal-schools", "too-many"] {
        assert_eq!(status(name), "pass", "{written}");
    }
    assert_eq!(status("peers"), "skip");
    assert_eq!(status("m1-4"), "fail");
    assert!(
        written.contains("leapfrogs_per_s_per_chain is"),
        "{written}"
    );
    let goals = |name: &str| {
        let step = steps.iter().find(|s| s["name"] == name).unwrap();
        step["goals"].clone()
    };
    let goal = &goals("m1-4")[0];
    assert_eq!(goal["field"], "leapfrogs_per_s_per_chain");
    assert_eq!(goal["goal"], 1e6);
    assert_eq!(goal["reached"], false);
    assert!(goal["got"].as_f64().unwrap() > 0.0);
    // What was not tried reaches nothing.
    assert_eq!(goals("peers")[0]["reached"], false);
    assert_eq!([&document["passed"], &document["failed"]], [2, 1]);
    assert!(
        text.contains("1 of 4 steps failed, 1 were skipped"),
        "{text}"
    );
}

/// What a GPU meets first is no error of ours: every step runs, on problems that are not too much for
/// this processor. Those of other programs are skipped.
#[test]
fn all_steps_run_in_a_rehearsal() {
    let Some(folder) = fake("all") else { return };
    let nvrtc = folder.0.display().to_string();
    let mut all = vec!["--nvrtc", &nvrtc, "--rehearse", "--out", "day.json"];
    all.extend(PATIENT);
    let said = gpu_day(&folder.0, &all);
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(said.status.code(), Some(0), "{text}");
    let written = std::fs::read_to_string(folder.0.join("day.json")).unwrap();
    let document: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(document["rehearsal"], true);
    for step in document["steps"].as_array().unwrap() {
        let name = step["name"].as_str().unwrap();
        let of_others = ["peers", "peers-1024", "sanitizer"].contains(&name);
        let expected = if of_others { "skip" } else { "pass" };
        assert_eq!(step["status"], expected, "{step:#}");
        // A goal is written down with what was got.
        for goal in step["goals"].as_array().unwrap() {
            assert_eq!(goal["got"].is_number(), !of_others, "{step:#}");
        }
    }
}

#[test]
fn a_step_that_is_not_there_and_a_wrong_number_are_refused() {
    let here = std::env::temp_dir();
    for (arguments, part) in [
        (&["--only", "nothing"][..], "there is no step `nothing`"),
        (&["--seconds", "many"], "`many` is no whole number"),
        (&["--patience", "much"], "`much` is no whole number"),
        (&["--out"], "needs a value"),
    ] {
        let said = gpu_day(&here, arguments);
        let text = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(2), "{text}");
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn no_time_is_no_failure() {
    let folder = std::env::temp_dir();
    let name = format!("fitzroy-gpu-day-none-{}.json", std::process::id());
    let said = gpu_day(
        &folder,
        &["--seconds", "0", "--only", "verify", "--out", &name],
    );
    let path = folder.join(name);
    let written = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(said.status.code(), Some(0), "{written}");
    assert!(written.contains("no time was left"), "{written}");
}
