//! The whole program on a GPU that is none: a driver and a compiler made for the purpose, which run
//! kernels on this processor. What is printed, written and exited with is what a GPU would give.
#![allow(clippy::unwrap_used)]

mod bench;
mod checks;
mod choice;
mod draws;
mod networks;
#[path = "../program/mod.rs"]
mod program;

use fitzroy_device::gpu::host::{HostLibrary, LAUNCHER};
use fitzroy_device::gpu::host_work::launchers;
use fitzroy_device::gpu::text::HOST_HEADER;
use program::{SMALL_NETWORK, SMALL_WEATHER, Said, Scratch, program, repository, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A folder with a driver and a compiler; none without g++, which is said.
struct Fake(Scratch);

impl Fake {
    /// `defines` say what the driver answers.
    fn new(name: &str, defines: &[&str]) -> Option<Fake> {
        Fake::with(name, defines, LAUNCHER)
    }

    /// `launcher` makes the kernels callable.
    fn with(name: &str, defines: &[&str], launcher: &str) -> Option<Fake> {
        if !HostLibrary::has_compiler() {
            assert!(
                std::env::var_os("FITZROY_REQUIRE_GXX").is_none(),
                "FITZROY_REQUIRE_GXX is set and there is no g++"
            );
            return None;
        }
        let scratch = Scratch::new(name);
        let folder = &scratch.0;
        std::fs::write(folder.join("header.c"), HOST_HEADER).unwrap();
        std::fs::write(folder.join("launcher.c"), launcher).unwrap();
        let text = |name: &str, path: &Path| format!("-D{name}=\"{}\"", path.display());
        let flags = [
            text("HOST_HEADER", &folder.join("header.c")),
            text("LAUNCHER", &folder.join("launcher.c")),
            text("FOLDER", folder),
        ];
        let archs = defines.iter().any(|d| d.starts_with("ARCHS="));
        let usual = (!archs).then_some("-DARCHS=80,86,90");
        for (source, library) in [
            ("driver.cpp", "libcuda.so.1"),
            ("compiler.cpp", "libnvrtc.so.12"),
            ("sensors.cpp", "libnvidia-ml.so.1"),
        ] {
            let made = Command::new("g++")
                .args(["-std=c++17", "-O0", "-fPIC", "-shared", "-w", "-o"])
                .arg(folder.join(library))
                .args(&flags)
                .args(defines.iter().map(|d| format!("-D{d}")))
                .args(usual)
                .arg(repository("crates/device/tests/fake").join(source))
                .arg("-ldl")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success(), "{said}");
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
