//! A training whose data are five times larger than the memory it may use.

use super::{SMALL_NETWORK, Scratch};
use fitzroy_weather::files::{GridFile, GridHeader, GridVariable};
use fitzroy_weather::time::Time;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIMIT_BYTES: usize = 64 << 20;
const SIDE: usize = 40;
const VARIABLES: [(&str, &str); 3] = [("TEM", "K"), ("U", "m s-1"), ("V", "m s-1")];

/// A control group with a limit of memory, taken away when dropped.
struct Limited(PathBuf);

impl Limited {
    /// None where this process may not make one.
    fn new() -> Option<Self> {
        let name = format!("fitzroy-{}", std::process::id());
        let (first, second) = ("/sys/fs/cgroup/memory", "/sys/fs/cgroup");
        let kinds = [(first, "memory.limit_in_bytes"), (second, "memory.max")];
        kinds.into_iter().find_map(|(mount, limit)| {
            let group = Limited(Path::new(mount).join(&name));
            fs::create_dir(&group.0).ok()?;
            // A file that is made and not found there would be one of an ordinary folder.
            let limit = group.0.join(limit);
            let set = limit.is_file() && fs::write(limit, LIMIT_BYTES.to_string()).is_ok();
            set.then_some(group)
        })
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Waves over a square of points, five times as many bytes as the limit has.
fn written(path: &Path) {
    let n_records = 5 * LIMIT_BYTES / (4 * VARIABLES.len() * SIDE * SIDE);
    let degrees = |from: f64| (0..SIDE).map(|k| from + k as f64).collect::<Vec<f64>>();
    let variable = |(name, units): &(&str, &str)| GridVariable {
        name: name.to_string(),
        units: units.to_string(),
        long_name: name.to_string(),
        has_levels: false,
    };
    let header = GridHeader {
        title: "test".into(),
        attributes: Vec::new(),
        times: (0..n_records).map(|k| Time(21_600 * k as i64)).collect(),
        levels: Vec::new(),
        lat: degrees(20.0),
        lon: degrees(0.0),
        curved: None,
        variables: VARIABLES.iter().map(variable).collect(),
        statics: Vec::new(),
        compression: 0,
    };
    let mut file = GridFile::create(path, header).expect("it is written");
    for t in 0..n_records {
        for (number, mean) in [280.0, 5.0, 0.0].into_iter().enumerate() {
            let wave = |k: usize| {
                let (y, x) = (k / SIDE, k % SIDE);
                let phase = 7 * x + 3 * y + (11 + number) * t + (y * t) % 5;
                mean + ((phase % 64) as f32 / 10.0 - 3.2).abs()
            };
            let field: Vec<f32> = (0..SIDE * SIDE).map(wave).collect();
            file.write(t, number, &field).expect("it is written");
        }
    }
    file.finish().expect("it is written");
}

/// Catches: a pass that holds all records, or changes so much of the file at once that the system
/// ends the process; a limit of a job that is not seen; other numbers than in memory.
#[test]
fn data_five_times_larger_than_memory_train_the_same_network() {
    let Some(group) = Limited::new() else {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: this process may not limit the memory of others");
        }
        return;
    };
    let scratch = Scratch::new("weather-limited");
    written(&scratch.0.join("a.nc"));
    let mut args = vec!["weather", "train", "--data", "a.nc", "--max-steps", "3"];
    args.extend(["--train-ratio", "0.98", "--val-ratio", "0.005"]);
    args.extend_from_slice(&SMALL_NETWORK);
    let whole = scratch.fitzroy(&[&args[..], &["--out", "whole"]].concat());
    whole.ends_with(0);
    let enter = format!(
        "echo $$ > {}/cgroup.procs && exec \"$@\"",
        group.0.display()
    );
    let limited = Command::new("sh")
        .args(["-c", &enter, "sh", env!("CARGO_BIN_EXE_fitzroy")])
        .args(args)
        .args(["--out", "limited"])
        .current_dir(&scratch.0)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&limited.stderr);
    assert!(limited.status.success(), "{said}");
    assert!(said.contains("do not fit into memory"), "{said}");
    let best = |run: &str| fs::read(scratch.0.join(run).join("best.safetensors"));
    assert!(best("whole").expect("it is there") == best("limited").expect("it is there"));
}
