//! The folder of a run: one run at a time, and nothing that was sampled is lost on a full disk.
#![cfg(unix)]

mod program;

use fitzroy::draws::read_trace;
use program::{Said, Scratch, SmallDisk, program, repository, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A run on eight schools.
fn sample(scratch: &Scratch, out: &str, draws: &str, more: &[&str]) -> Command {
    let path = |file| repository(file).display().to_string();
    let mut command = program(&scratch.0);
    command.args(["sample", &path("models/eight-schools.fz"), "--data"]);
    command.args([&path("models/eight-schools.csv"), "--no-progress"]);
    command.args(["--out", out, "--draws", draws, "--tune", "400"]);
    command.args(more);
    command
}

/// Waits until `path` exists.
#[track_caller]
fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{}",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Catches: two runs whose files mix, a lock that outlives a killed run, one that a resumed run does
/// not take.
#[test]
fn a_folder_takes_one_run_at_a_time_and_outlives_a_kill() {
    let scratch = Scratch::new("lock");
    let long = ["--publish-every", "0.05", "--log-likelihood"];
    let mut first = sample(&scratch, "r", "2000000", &long)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    wait_for(&scratch.0.join("r/run.zarr/zarr.json"));
    let holder = format!("process {} on ", first.id());
    for more in [&[][..], &["--overwrite"], &["--resume"]] {
        let said = run(&mut sample(&scratch, "r", "2000000", more));
        said.ends_with(2)
            .complains(&[&holder, "choose another folder with --out"]);
    }
    assert!(
        scratch.0.join("r/run.zarr/zarr.json").exists(),
        "it was left alone"
    );
    first.kill().expect("it runs");
    first.wait().expect("it ended");
    assert!(
        scratch.0.join("r/run.lock").exists(),
        "nobody could remove it"
    );
    let mut again = sample(&scratch, "r", "2000000", &["--resume", "--log-likelihood"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    std::thread::sleep(Duration::from_millis(500));
    assert!(again.try_wait().expect("a child").is_none(), "it goes on");
    again.kill().expect("it runs");
    again.wait().expect("it ended");
    run(&mut sample(&scratch, "r", "50", &["--overwrite"])).ends_with(0);
    assert!(!scratch.0.join("r/run.lock").exists());
}

/// Draws of every chain in the traces and stores that `places` may hold, the most of them.
fn saved(places: &[PathBuf]) -> usize {
    let read = |path: &PathBuf| read_trace(path).map_or(0, |t| t.n_draws("posterior"));
    places.iter().map(read).max().unwrap_or(0)
}

/// Runs on disks of many sizes, so that each write is at some time the one that fails. Skipped where
/// the test may not mount one. Catches: a write whose failure keeps others from being tried, draws
/// that are nowhere.
#[test]
fn a_disk_that_fills_at_any_write_loses_no_draws() {
    let scratch = Scratch::new("writes");
    let (disk, spare) = (scratch.0.join("disk"), scratch.0.join("spare"));
    fs::create_dir(&disk).expect("writable");
    fs::create_dir(&spare).expect("writable");
    let mut failed = 0;
    for kib in [32, 128, 512, 768, 1024, 1280, 1536, 1792, 2048, 2560, 3072] {
        let Some(mounted) = SmallDisk::mount(&disk, kib) else {
            return;
        };
        let mut command = sample(&scratch, "disk/r", "1000", &["--predictive"]);
        let said = run(command.env("TMPDIR", &spare));
        let mut places = vec![disk.join("r/trace.nc"), disk.join("r/run.zarr")];
        let others = fs::read_dir(&spare).expect("there");
        places.extend(others.map(|entry| entry.expect("readable").path()));
        let (n, code) = (saved(&places), said.code);
        drop(mounted);
        assert_eq!(n, 1000, "{kib} KiB, exit {code}: {}", said.err);
        check(&said, kib, &mut failed);
        for entry in fs::read_dir(&spare).expect("there") {
            fs::remove_file(entry.expect("readable").path()).expect("removable");
        }
    }
    assert!(failed >= 3, "the disks were too large to fail");
}

/// A run that could not write all says so, what it knows all the same, and ends with 1.
#[track_caller]
fn check(said: &Said, kib: u32, failed: &mut usize) {
    if said.code == 0 {
        return;
    }
    *failed += 1;
    assert_eq!(said.code, 1, "{kib}: {}", said.err);
    assert!(said.err.contains("error: "), "{kib}: {}", said.err);
    assert!(
        said.out.contains("theta"),
        "{kib}: the table is shown all the same"
    );
}

/// Catches: draws in the store of variables that were not asked for, a run that goes on with others.
#[test]
fn a_run_keeps_the_variables_that_it_is_asked_for() {
    let scratch = Scratch::new("keep");
    let kept = ["--in-memory", "0", "--no-report", "--keep", "tau,mu"];
    run(&mut sample(&scratch, "r", "200", &kept)).ends_with(0);
    let csv = fs::read_to_string(scratch.0.join("r/summary.csv")).expect("it was written");
    let names: Vec<&str> = csv
        .lines()
        .skip(1)
        .filter_map(|l| l.split(',').next())
        .collect();
    assert_eq!(names, ["mu", "tau"]);
    assert!(!scratch.0.join("r/run.zarr/posterior/theta").exists());
    let all = ["--in-memory", "0", "--no-report", "--resume"];
    let said = run(&mut sample(&scratch, "r", "300", &all));
    said.ends_with(2)
        .complains(&[r#"has other settings: keep ["tau","mu"], not null"#]);
    let more = [&kept[..], &["--resume"]].concat();
    run(&mut sample(&scratch, "r", "300", &more)).ends_with(0);
    let said = run(&mut sample(&scratch, "s", "200", &["--keep", "mu,thata"]));
    said.ends_with(2)
        .complains(&["--keep names `thata`", "it records mu, tau, theta"]);
}
