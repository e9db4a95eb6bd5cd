//! Runs that are stopped, killed and resumed make the draws of a run that never was.
#![cfg(unix)]

mod program;

use fitzroy::draws::{Column, Trace, read_trace};
use program::{Said, Scratch, program, repository, run};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const DRAWS: &str = "12000";

/// A run on eight schools that publishes as often as it can.
fn sample(scratch: &Scratch, out: &str, draws: &str, more: &[&str]) -> Command {
    let path = |file| repository(file).display().to_string();
    let mut command = program(&scratch.0);
    command.args(["sample", &path("models/eight-schools.fz"), "--data"]);
    command.args([
        &path("models/eight-schools.csv"),
        "--out",
        out,
        "--draws",
        draws,
    ]);
    command.args([
        "--tune",
        "400",
        "--publish-every",
        "0.02",
        "--no-progress",
        "--predictive",
    ]);
    command.args(more);
    command
}

fn finished(scratch: &Scratch, out: &str, draws: &str, more: &[&str]) -> Said {
    run(&mut sample(scratch, out, draws, more)).ends_with(0)
}

/// A moment between 0 and `most` milliseconds, the same at every call with `k`.
fn moment(k: u64, most: u64) -> Duration {
    let mixed = (k + 1)
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    Duration::from_millis((mixed >> 33) % most)
}

/// Starts a run and kills it with SIGKILL after a while. True if it had ended by itself.
fn killed(mut command: Command, after: Duration) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    std::thread::sleep(after);
    let ended = child.try_wait().expect("ours").is_some();
    let _ = child.kill();
    child.wait().expect("ours");
    ended
}

/// Every draw of `part` is that of `whole`, and all variables have the same number of draws.
/// Gives that number.
#[track_caller]
fn is_prefix(part: &Trace, whole: &Trace) -> usize {
    let n = part.n_draws("posterior");
    for group in &part.groups {
        let other = whole.group(&group.name).expect("the same groups");
        assert_eq!(
            group.variables.len(),
            other.variables.len(),
            "{}",
            group.name
        );
        for v in &group.variables {
            let w = other.variable(&v.name).expect("the same variables");
            if v.dims.first().is_none_or(|d| d != "chain") {
                assert_eq!(v, w);
                continue;
            }
            assert_eq!(
                (v.shape[0], v.shape[1]),
                (4, n),
                "{} {}",
                group.name,
                v.name
            );
            let (k, total) = (v.elements(), w.shape[1]);
            for chain in 0..4 {
                let (a, b) = (chain * n * k..(chain + 1) * n * k, chain * total * k);
                let b = b..b + n * k;
                let same = match (&v.values, &w.values) {
                    (Column::Real(x), Column::Real(y)) => {
                        let pairs = x[a].iter().zip(&y[b]);
                        pairs
                            .into_iter()
                            .all(|(x, y)| x.to_bits() == y.to_bits() && !x.is_nan())
                    }
                    (Column::Integer(x), Column::Integer(y)) => x[a] == y[b],
                    (Column::Flag(x), Column::Flag(y)) => x[a] == y[b],
                    _ => false,
                };
                assert!(same, "{} {} chain {chain} of {n} draws", group.name, v.name);
            }
        }
    }
    n
}

fn read(path: &Path) -> Trace {
    read_trace(path).expect("readable at any moment")
}

/// `FITZROY_KILLS` says how often; 5 by default. Catches: a chunk or a state that is not whole, a
/// publication that names what is not there, draws lost or made twice, replicates keyed by the
/// session instead of the run.
#[test]
fn a_run_killed_at_random_moments_is_readable_and_ends_as_if_nothing_had_happened() {
    let kills: u64 = std::env::var("FITZROY_KILLS").map_or(5, |n| n.parse().expect("a number"));
    let scratch = Scratch::new("kill");
    finished(&scratch, "whole", DRAWS, &[]);
    let whole = read(&scratch.0.join("whole/trace.nc"));
    let (mut published, mut out, mut runs, mut seen) = (0, String::new(), 0, 0);
    for kill in 0..kills {
        if runs == 0 {
            out = format!("part-{kill}");
        }
        let resume: &[&str] = if runs == 0 { &[] } else { &["--resume"] };
        // Short at first, so that every part of a run is hit.
        let ended = killed(sample(&scratch, &out, DRAWS, resume), moment(kill, 900));
        runs += 1;
        let store = scratch.0.join(&out).join("run.zarr");
        if store.join("zarr.json").is_file() {
            let n = is_prefix(&read(&store), &whole);
            assert!(n >= published, "draws were lost: {n} of {published}");
            published = n;
            seen += usize::from(n > 0 && n < 12000);
        }
        if ended || runs == 4 {
            finished(&scratch, &out, DRAWS, &["--resume"]);
            let end = read(&scratch.0.join(&out).join("trace.nc"));
            assert_eq!(is_prefix(&end, &whole), 12000);
            assert_eq!(is_prefix(&read(&store), &whole), 12000);
            fs::remove_dir_all(scratch.0.join(&out)).expect("ours");
            (published, runs) = (0, 0);
        }
    }
    eprintln!("{kills} kills, {seen} of them between two publications of draws");
}

#[test]
fn a_finished_run_goes_on_when_more_draws_are_asked_for() {
    let scratch = Scratch::new("more");
    finished(&scratch, "whole", "900", &[]);
    let whole = read(&scratch.0.join("whole"));
    finished(&scratch, "part", "250", &["--resume"]); // Without a run it starts one.
    let said = finished(&scratch, "part", "250", &["--resume"]);
    said.complains(&["250 draws", "--draws"]);
    let said = finished(&scratch, "part", "900", &["--resume", "--json"]);
    assert_eq!(said.json()["draws"], 900);
    said.complains(&["going on from draw 250"]);
    assert_eq!(
        is_prefix(&read(&scratch.0.join("part/trace.nc")), &whole),
        900
    );
    assert_eq!(
        is_prefix(&read(&scratch.0.join("part/run.zarr")), &whole),
        900
    );
}

#[test]
fn another_model_data_or_setting_is_refused_by_name() {
    let scratch = Scratch::new("refused");
    finished(&scratch, "r", "100", &[]);
    let before = read(&scratch.0.join("r/run.zarr"));
    let refused = |more: &[&str], part: &str| {
        let said = run(&mut sample(
            &scratch,
            "r",
            "200",
            &[&["--resume"], more].concat(),
        ));
        said.ends_with(2).complains(&["--resume", part]);
    };
    refused(&["--seed", "7"], "seed 42, not 7");
    refused(&["--target-accept", "0.9"], "target_accept 0.8, not 0.9");
    refused(&["--chains", "2"], "chains 4, not 2");
    refused(&["--set", "y=[1,2,3,4,5,6,7,8]"], "other data");
    let other = scratch
        .file("other.fz", "x ~ Normal(0, 1)\n")
        .display()
        .to_string();
    let args = ["sample", &other, "--out", "r", "--resume"];
    scratch
        .fitzroy(&args)
        .ends_with(2)
        .complains(&["another model"]);
    fs::create_dir(scratch.0.join("mine")).expect("writable");
    fs::write(scratch.0.join("mine/notes.txt"), "mine").expect("writable");
    let args = ["sample", &other, "--out", "mine", "--resume"];
    scratch
        .fitzroy(&args)
        .ends_with(2)
        .complains(&["notes.txt"]);
    let state = fs::read_dir(scratch.0.join("r/run.state"))
        .expect("there")
        .next();
    let state = state.expect("one").expect("readable").path();
    fs::write(&state, b"not a state").expect("writable");
    let said = run(&mut sample(&scratch, "r", "200", &["--resume"]));
    said.ends_with(2).complains(&["run.state"]);
    fs::remove_dir_all(scratch.0.join("r/run.state")).expect("there");
    let said = run(&mut sample(&scratch, "r", "200", &["--resume"]));
    said.ends_with(2)
        .complains(&["run.state", "start anew with --overwrite"]);
    assert_eq!(
        is_prefix(&read(&scratch.0.join("r/run.zarr")), &before),
        100
    );
}

/// Draws of a prior have no state: each is a function of its number.
#[test]
fn draws_of_a_prior_go_on_without_a_state_and_only_with_their_own_model() {
    let scratch = Scratch::new("prior");
    let prior = |out: &str, draws: &str, more: &[&str]| {
        let chains: &[&str] = match more.contains(&"--chains") {
            true => &[],
            false => &["--chains", "2"],
        };
        let more = [&["--prior-only"], chains, more].concat();
        run(&mut sample(&scratch, out, draws, &more))
    };
    prior("whole", "300", &[]).ends_with(0);
    prior("part", "100", &["--resume"]).ends_with(0);
    let said = prior("part", "100", &["--resume"]).ends_with(0);
    said.complains(&["100 draws", "--draws"]);
    prior("part", "300", &["--resume"]).ends_with(0);
    let drawn = |out: &str| {
        let trace = read(&scratch.0.join(out).join("trace.nc"));
        let groups = trace
            .groups
            .into_iter()
            .filter(|g| g.name.contains("prior"));
        groups.map(|g| g.variables).collect::<Vec<_>>()
    };
    assert_eq!(drawn("part"), drawn("whole"));
    let refused = |more: &[&str], part: &str| {
        prior("part", "400", &[&["--resume"], more].concat())
            .ends_with(2)
            .complains(&["--resume", part]);
    };
    refused(&["--seed", "7"], "another seed");
    refused(&["--set", "y=[1,2,3,4,5,6,7,8]"], "another model or data");
    refused(&["--chains", "3"], "chains 2, not 3");
    let posterior = sample(&scratch, "part", "400", &["--resume", "--chains", "2"]).status();
    assert_eq!(posterior.expect("starts").code(), Some(2));
    // The verdict is that of the prior.
    let said = scratch
        .fitzroy(&["diagnose", "part", "--json"])
        .ends_with(0);
    assert_eq!(said.json()["summary"][0]["name"], "mu");
}

/// SIGTERM and SIGUSR1, as schedulers send them before they kill.
#[test]
fn a_signal_of_a_scheduler_leaves_a_run_that_can_go_on() {
    let scratch = Scratch::new("signals");
    finished(&scratch, "whole", DRAWS, &[]);
    let whole = read(&scratch.0.join("whole"));
    for signal in ["TERM", "USR1"] {
        let mut command = sample(&scratch, signal, "4000000", &[]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        std::thread::sleep(Duration::from_millis(700));
        let sent = Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status();
        assert!(sent.expect("kill is there").success());
        assert_eq!(child.wait().expect("ours").code(), Some(130), "{signal}");
        let store = read(&scratch.0.join(signal).join("run.zarr"));
        let n = store.n_draws("posterior");
        finished(&scratch, signal, &(n + 50).to_string(), &["--resume"]);
        let end = read(&scratch.0.join(signal));
        assert_eq!(end.n_draws("posterior"), n + 50);
        if n + 50 <= 12000 {
            assert_eq!(is_prefix(&end, &whole), n + 50);
        }
        fs::remove_dir_all(scratch.0.join(signal)).expect("ours");
    }
}

#[test]
fn overwriting_a_run_that_had_not_finished_moves_its_draws_aside() {
    let scratch = Scratch::new("aside");
    finished(&scratch, "r", "100", &[]);
    for result in ["trace.nc", "summary.json"] {
        fs::remove_file(scratch.0.join("r").join(result)).expect("there"); // As if it was killed.
    }
    let said = finished(&scratch, "r", "50", &["--overwrite"]);
    said.complains(&["unfinished-1"]);
    let aside = read(&scratch.0.join("r/unfinished-1/run.zarr"));
    assert_eq!(aside.n_draws("posterior"), 100);
    finished(&scratch, "r", "60", &["--overwrite"]);
    let names = fs::read_dir(scratch.0.join("r")).expect("there");
    let names = names.map(|e| {
        e.expect("readable")
            .file_name()
            .to_string_lossy()
            .into_owned()
    });
    let odd: Vec<String> = names
        .filter(|n| n.ends_with(".old") || n.contains("-2"))
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert_eq!(read(&scratch.0.join("r/run.zarr")).n_draws("posterior"), 60);
}

/// Checks what is left after a run that could not write, and that it goes on once it can.
#[track_caller]
fn stopped_and_goes_on(scratch: &Scratch, said: Said, out: &str) {
    said.complains(&["are safe in", "--resume"]);
    finished(scratch, "whole", "20000", &[]);
    let whole = read(&scratch.0.join("whole"));
    let store = read(&scratch.0.join(out).join("run.zarr"));
    let n = is_prefix(&store, &whole);
    assert!(n < 20000);
    let aside = scratch.0.join("moved");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(scratch.0.join(out))
        .arg(&aside)
        .status();
    assert!(copied.is_ok_and(|s| s.success()));
    finished(scratch, "moved", "20000", &["--resume"]);
    assert_eq!(is_prefix(&read(&aside.join("trace.nc")), &whole), 20000);
}

/// A disk of 7 MiB. Skipped where the test may not mount one; the next test stands in for it.
#[test]
fn a_full_disk_stops_the_run_with_what_is_safe() {
    let scratch = Scratch::new("full");
    let disk = scratch.0.join("disk");
    fs::create_dir(&disk).expect("writable");
    let mount = |args: &[&str]| {
        let mut command = Command::new("mount");
        command.args(args).arg(&disk).stderr(Stdio::null());
        command.status().is_ok_and(|s| s.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=7m", "tmpfs"]) {
        eprintln!("skipped: no small disk can be mounted here");
        return;
    }
    let said = run(&mut sample(&scratch, "disk/r", "20000", &[]));
    let checked = std::panic::catch_unwind(|| {
        let said = said.ends_with(1).complains(&["disk is full"]);
        stopped_and_goes_on(&scratch, said, "disk/r");
    });
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.is_ok_and(|s| s.success()));
    assert!(checked.is_ok());
}

/// 200 KiB are less than one chunk of the draws.
#[test]
fn a_limit_on_the_size_of_files_stops_the_run_with_what_is_safe() {
    let scratch = Scratch::new("limit");
    let command = sample(&scratch, "r", "20000", &[]);
    let mut limited = Command::new("bash");
    limited.args(["-c", "ulimit -f 200; exec \"$0\" \"$@\""]);
    limited.arg(command.get_program()).args(command.get_args());
    limited.current_dir(&scratch.0);
    let said = run(&mut limited)
        .ends_with(1)
        .complains(&["limit for files"]);
    stopped_and_goes_on(&scratch, said, "r");
}

/// The largest memory that a run takes, in bytes.
#[cfg(target_os = "linux")]
fn peak(mut command: Command) -> u64 {
    let mut child = command.spawn().expect("the program starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("ours").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let number = line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok());
        peak = peak.max(number.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(child.wait().expect("ours").success());
    peak
}

/// 200 variables, 4 chains, --in-memory 64 MiB: 16,000 draws take 98 MiB, 48,000 take 293 MiB.
/// Growth must stay below a quarter of the difference: blocks on their way to the disk, a tenth of
/// the limit each, and the variables under examination took 10 to 12 MiB more in three runs.
/// Their summary is that of a run in memory. Catches: draws that are kept after they are written,
/// chains that run ahead of the disk, a summary that reads all draws.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_the_draws() {
    let scratch = Scratch::new("memory");
    let model = scratch.file("wide.fz", "data s[k]\nx[k] ~ Normal(0, s)\n");
    let data = format!("{{\"s\": {:?}}}", vec![1.0; 200]);
    let data = scratch.file("wide.json", &data);
    let sample = |out: &str, draws: &str, more: &[&str]| {
        let mut command = program(&scratch.0);
        command.arg("sample").arg(&model).arg("--data").arg(&data);
        command.args([
            "--out",
            out,
            "--draws",
            draws,
            "--tune",
            "200",
            "--quiet",
            "--no-report",
        ]);
        command
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let some = peak(sample("some", "16000", &["--in-memory", "64"]));
    let many = peak(sample("many", "48000", &["--in-memory", "64"]));
    eprintln!(
        "{} MiB for 16,000 draws, {} MiB for 48,000",
        some >> 20,
        many >> 20
    );
    assert!(many < some + (48 << 20), "{some} {many}");
    assert!(!scratch.0.join("some/trace.nc").exists());
    assert!(
        sample("whole", "16000", &[])
            .status()
            .expect("starts")
            .success()
    );
    let summary = |out: &str| fs::read_to_string(scratch.0.join(out).join("summary.csv"));
    let whole = summary("whole").expect("written");
    assert_eq!(summary("some").expect("written"), whole);
    let said = scratch
        .fitzroy(&["diagnose", "some", "--json"])
        .ends_with(0);
    assert_eq!(said.json()["summary"].as_array().map(Vec::len), Some(200));
}
