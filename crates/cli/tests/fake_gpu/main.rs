//! The whole program on a GPU that is none: a driver and a compiler made for the purpose, which run
//! kernels on this processor. What is printed, written and exited with is what a GPU would give.
#![allow(clippy::unwrap_used)]

mod bench;
mod checks;
mod choice;
mod draws;
#[path = "../../../device/tests/fake/mod.rs"]
mod libraries;
mod networks;
#[path = "../program/mod.rs"]
mod program;

use fitzroy_device::gpu::host::LAUNCHER;
use fitzroy_device::gpu::host_work::launchers;
use fitzroy_device::gpu::text::HOST_HEADER;
use program::{SMALL_NETWORK, SMALL_WEATHER, Said, Scratch, program, repository, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// From the folder of a test to the sources of the libraries.
const SOURCES: &str = "../device/tests/fake";

/// A folder with a driver and a compiler; none without g++, which is said.
struct Fake(Scratch);

impl Fake {
    /// `defines` say what the driver answers.
    fn new(name: &str, defines: &[&str]) -> Option<Fake> {
        Fake::with(name, defines, LAUNCHER)
    }

    /// `launcher` makes the kernels callable.
    fn with(name: &str, defines: &[&str], launcher: &str) -> Option<Fake> {
        if !libraries::has_compiler() {
            return None;
        }
        let scratch = Scratch::new(name);
        let folder = &scratch.0;
        std::fs::write(folder.join("header.c"), HOST_HEADER).unwrap();
        std::fs::write(folder.join("launcher.c"), launcher).unwrap();
        let mut defines = defines.to_vec();
        if !defines.iter().any(|d| d.starts_with("ARCHS=")) {
            defines.push("ARCHS=80,86,90");
        }
        for (source, library) in [
            ("driver.cpp", "libcuda.so.1"),
            ("compiler.cpp", "libnvrtc.so.12"),
            ("sensors.cpp", "libnvidia-ml.so.1"),
        ] {
            libraries::build(source, &folder.join(library), "-O0", &defines);
        }
        Some(Fake(scratch))
    }

    /// Runs the program where it finds the two libraries; the driver notes what happens.
    fn fitzroy(&self, arguments: &[&str]) -> Said {
        let folder = &self.0.0;
        run(program(folder)
            .args(arguments)
            .arg("--nvrtc")
            .arg(folder)
            .env("LD_LIBRARY_PATH", folder)
            .env("FITZROY_CACHE_DIR", folder.join("cache"))
            .env("FAKE_TIMELINE", self.timeline())
            .env_remove("CUDA_VISIBLE_DEVICES"))
    }

    /// What the driver noted.
    fn timeline(&self) -> PathBuf {
        self.0.0.join("timeline")
    }

    fn sample(&self, name: &str, arguments: &[&str]) -> Said {
        let model = repository(&format!("models/{name}.fz"))
            .display()
            .to_string();
        let data = repository(&format!("models/{name}.csv"))
            .display()
            .to_string();
        let mut all = vec![
            "sample",
            &model,
            "--data",
            &data,
            "--no-report",
            "--no-progress",
        ];
        all.extend(arguments);
        self.fitzroy(&all)
    }
}

/// What the fake driver noted: what happened, and a number.
fn timeline(path: &Path) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let (what, number) = line.split_once(' ').unwrap();
        (what.to_string(), number.parse().unwrap())
    };
    text.lines().map(line).collect()
}
