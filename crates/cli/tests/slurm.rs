//! `fitzroy slurm` with a real Slurm of one node. Where that is not installed, or is not to be started
//! because the test is not root, each test says that it was skipped; `FITZROY_REQUIRE_SLURM=1` makes it
//! fail instead.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr)] // a skipped test says so

mod cluster;
mod program;

use cluster::{Cluster, signal, until};
use fitzroy::draws::Trace;
use program::{SMALL_WEATHER, repository, small_shape};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Eight schools with so many draws.
fn schools(draws: &str) -> Vec<String> {
    let file = |name: &str| {
        repository(&format!("models/eight-schools.{name}"))
            .display()
            .to_string()
    };
    let words = [
        "sample",
        &file("fz"),
        "--data",
        &file("csv"),
        "--draws",
        draws,
    ];
    words.map(str::to_owned).to_vec()
}

/// Eight schools in small steps: a second of work for each chain, of which a task that is held has
/// done a third.
fn slow_schools() -> Vec<String> {
    let slow = ["--rewrites", "off", "--target-accept", "0.999"];
    [schools("150000"), slow.map(str::to_owned).to_vec()].concat()
}

fn words(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

/// The same command in one process, as its tasks adapt.
#[track_caller]
fn locally(cluster: &Cluster, command: &[&str], more: &[&str]) -> Trace {
    let own = [
        "--adapt",
        "per-chain",
        "--out",
        "local",
        "--overwrite",
        "--quiet",
        "--no-report",
    ];
    cluster
        .fitzroy(&[command, &own, more].concat())
        .ends_with(0);
    cluster.trace("local")
}

/// Every group, every label, every bit.
#[track_caller]
fn are_the_same(a: &Trace, b: &Trace) {
    assert_eq!(a.coords, b.coords);
    let names = |t: &Trace| t.groups.iter().map(|g| g.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(a), names(b));
    for (x, y) in a.groups.iter().zip(&b.groups) {
        for (v, w) in x.variables.iter().zip(&y.variables) {
            assert!(v == w, "{} of {}", v.name, x.name);
        }
        assert_eq!(x.variables.len(), y.variables.len());
    }
}

/// Catches: chains with other streams or starts, coordinates or metrics that look at other chains,
/// draws of the warm-up cut to the length of the others, chains in another order, a collecting job that
/// does not wait.
#[test]
fn four_tasks_give_the_draws_of_one_run_bit_for_bit() {
    let Some(cluster) = Cluster::start("same") else {
        return;
    };
    let command = schools("500");
    let all = [
        "--predictive",
        "--log-likelihood",
        "--keep-warmup",
        "--tune",
        "300",
    ];
    for (out, more) in [
        ("plain", &[][..]),
        ("all", &[&all[..], &["--rewrites", "off"]].concat()),
    ] {
        let command = [&words(&command), more].concat();
        let said = cluster
            .submit(out, &["--split", "chains:4"], &command)
            .ends_with(0);
        assert!(said.out.contains("4 tasks; job "), "{}", said.out);
        cluster.wait();
        are_the_same(&cluster.trace(out), &locally(&cluster, &command, &[]));
        let document = fs::read_to_string(cluster.path(out).join("run.json")).expect("collected");
        let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
        assert_eq!(
            (&document["chains"], &document["draws"]),
            (&4.into(), &500.into())
        );
        assert!(
            document["tasks"]["nested_rhat"]
                .as_f64()
                .is_some_and(|r| r < 1.1)
        );
        for file in ["report.html", "summary.csv", "summary.txt", "summary.json"] {
            assert!(cluster.path(out).join(file).is_file(), "{file}");
        }
    }
    let status = cluster
        .slurm("status", &["plain", "--json"])
        .ends_with(0)
        .json();
    let tasks = status["tasks"].as_array().expect("tasks");
    assert!(tasks.len() == 4 && tasks.iter().all(|t| t["state"] == "finished"));
    let said = cluster.slurm("rerun", &["plain"]).ends_with(0);
    assert!(said.out.contains("every task is finished"), "{}", said.out);
    // Parts of two runs are not one run.
    fs::rename(cluster.path("all/task-1"), cluster.path("all/aside")).expect("there");
    fs::rename(cluster.path("plain/task-1"), cluster.path("all/task-1")).expect("there");
    let said = cluster.slurm("collect", &["all"]).ends_with(2);
    said.complains(&["task 0 and task 1 are not parts of one run", "setting"]);
}

#[test]
fn what_the_cluster_refuses_is_said_and_nothing_is_submitted() {
    let Some(cluster) = Cluster::start("refused") else {
        return;
    };
    let command = schools("100");
    let command = words(&command);
    let refused = |more: &[&str], parts: &[&str]| {
        let usual = ["--out", "r", "--set", "modules="];
        let args = [&usual, more, &["--"], &command].concat();
        cluster.slurm("submit", &args).ends_with(2).complains(parts);
    };
    refused(
        &["--set", "partition=fast"],
        &["no partition `fast`", "cpu, gpu, short"],
    );
    let gpu = ["--profile", "v100", "--set", "time=10"];
    refused(&gpu, &["no GPU of type `v100`", "a100, h100"]);
    let gpu = [
        "--profile",
        "h100",
        "--set",
        "time=10",
        "--set",
        "gpus=h100:3",
    ];
    refused(&gpu, &["no node", "3 GPUs of type `h100`", "gpus=h100:2"]);
    let short = ["--set", "partition=short", "--set", "time=60"];
    refused(&short, &["at most 2:00", "asks for 01:00:00"]);
    let much = ["--set", "partition=cpu", "--set", "mem=9999999G"];
    refused(&much, &["sbatch --test-only refused"]);
    let many = ["--set", "partition=cpu", "--split", "chains:80"];
    let wide = [
        &["--out", "r"],
        &many[..],
        &["--"],
        &command,
        &["--chains", "80"],
    ]
    .concat();
    let said = cluster.slurm("submit", &wide).ends_with(2);
    said.complains(&["80 tasks", "at most 64"]);
    refused(
        &["--set", "program=/nowhere/fitzroy"],
        &["/nowhere/fitzroy does not run here"],
    );
    assert_eq!(cluster.ask("squeue", &["--noheader"]), "");
    let dry = [
        "--profile",
        "h100",
        "--set",
        "time=10",
        "--set",
        "modules=",
        "--dry-run",
    ];
    let args = [&["--out", "dry"], &dry[..], &["--"], &command].concat();
    let said = cluster.slurm("submit", &args).ends_with(0);
    assert!(said.out.contains("the cluster would take"), "{}", said.out);
    assert_eq!(cluster.ask("squeue", &["--noheader"]), "");
}

/// Slurm itself says that time is nearly up: it looks at its jobs every half a minute, and the signal
/// is asked for 55 seconds before the end of one minute. Catches: a signal that goes to no one, draws
/// that are not saved or are made twice, a requeue of other tasks, a merge that does not wait.
#[test]
fn a_task_whose_time_is_up_goes_back_into_the_queue_and_ends_as_if_it_had_not() {
    let Some(cluster) = Cluster::start("limit") else {
        return;
    };
    let command = slow_schools();
    let command = words(&command);
    let hold = cluster.hold(1);
    let holder = format!("container={}", cluster.holder());
    let limit = "extra=--signal=B:USR1@55";
    let how = [
        "--split", "chains:2", "--set", "time=1", "--set", limit, "--set", &holder,
    ];
    let more = ["--chains", "2", "--publish-every", "0.1"];
    cluster
        .submit("r", &how, &[&command[..], &more].concat())
        .ends_with(0);
    until("task 1 stands still", || cluster.process("r", 1).is_some());
    let log = |task: usize| {
        let entries = fs::read_dir(cluster.path("r/logs"))
            .expect("there")
            .flatten();
        let mut logs = entries.map(|e| e.path());
        let log = logs.find(|p| p.display().to_string().ends_with(&format!("_{task}.log")));
        log.map_or(String::new(), |p| fs::read_to_string(p).unwrap_or_default())
    };
    until("it is told to stop", || {
        log(1).contains("goes back into the queue")
    });
    fs::remove_file(hold).expect("there");
    cluster.wait();
    assert!(
        log(1).contains("restart 1") && log(1).contains("going on from"),
        "{}",
        log(1)
    );
    assert!(!log(0).contains("restart 1"), "{}", log(0));
    are_the_same(
        &cluster.trace("r"),
        &locally(&cluster, &command, &["--chains", "2"]),
    );
}

#[test]
fn a_task_that_is_killed_is_listed_and_the_others_are_not_lost() {
    let Some(cluster) = Cluster::start("killed") else {
        return;
    };
    let command = slow_schools();
    let command = words(&command);
    let holder = format!("container={}", cluster.holder());
    let hold = cluster.hold(1);
    let how = ["--split", "chains:3", "--set", &holder];
    let more = ["--chains", "3"];
    cluster
        .submit("r", &how, &[&command[..], &more].concat())
        .ends_with(0);
    until("the others end", || {
        [0, 2]
            .iter()
            .all(|t| cluster.path(&format!("r/done/{t}")).is_file())
    });
    let said = cluster.slurm("collect", &["r"]).ends_with(1);
    said.complains(&["task 1: still running", "2 of 3 tasks", "--partial"]);
    let again = cluster
        .submit("r", &how, &[&command[..], &more].concat())
        .ends_with(2);
    again.complains(&["still in the queue"]);
    signal(cluster.process("r", 1).expect("it stands still"), "KILL");
    cluster.wait();
    assert!(
        !cluster.path("r/trace.nc").exists(),
        "collecting waits for all"
    );
    let said = cluster.slurm("collect", &["r"]).ends_with(1);
    said.complains(&[
        "task 1: ended without a result",
        "ends with:",
        "--array=1 ",
        "slurm rerun r",
    ]);
    let whole = locally(&cluster, &command, &more);
    cluster.slurm("collect", &["r", "--partial"]).ends_with(1);
    assert_eq!(cluster.trace("r").coords["chain"].len(), 2);
    fs::remove_file(hold).expect("there");
    let said = cluster.slurm("rerun", &["r"]).ends_with(0);
    assert!(said.out.contains("1 task;"), "{}", said.out);
    cluster.wait();
    are_the_same(&cluster.trace("r"), &whole);
}

/// Catches: a task that waits for its siblings before it may run again, and a collection that does not wait
/// for those.
#[test]
fn a_task_that_failed_runs_again_while_another_is_at_work() {
    let Some(cluster) = Cluster::start("sibling") else {
        return;
    };
    let command = slow_schools();
    let command = [&words(&command)[..], &["--chains", "3"]].concat();
    let holder = format!("container={}", cluster.holder());
    let hold = cluster.hold(1);
    cluster.hold(2);
    let how = ["--split", "chains:3", "--set", &holder];
    cluster.submit("r", &how, &command).ends_with(0);
    until("tasks 1 and 2 stand still", || {
        [1, 2].iter().all(|&t| cluster.process("r", t).is_some())
    });
    let said = cluster.slurm("rerun", &["r"]).ends_with(0);
    assert!(
        said.out.contains("no task has ended without"),
        "{}",
        said.out
    );
    signal(cluster.process("r", 1).expect("it stands still"), "KILL");
    let state = |task: usize| {
        let status = cluster.slurm("status", &["r", "--json"]).json();
        status["tasks"][task]["state"].as_str().map(str::to_owned)
    };
    until("task 1 has ended", || state(1).as_deref() == Some("failed"));
    fs::remove_file(hold).expect("there");
    let said = cluster.slurm("rerun", &["r"]).ends_with(0);
    assert!(said.out.contains("1 task;"), "{}", said.out);
    until("task 1 is done", || cluster.path("r/done/1").is_file());
    assert_eq!(state(2).as_deref(), Some("running"));
    assert!(!cluster.path("r/trace.nc").exists());
    signal(cluster.process("r", 2).expect("it stands still"), "CONT");
    cluster.wait();
    are_the_same(&cluster.trace("r"), &locally(&cluster, &command, &[]));
}

#[test]
fn a_run_that_is_cancelled_keeps_what_it_has_and_goes_on_when_asked() {
    let Some(cluster) = Cluster::start("cancelled") else {
        return;
    };
    let command = slow_schools();
    let command = [&words(&command)[..], &["--chains", "2"]].concat();
    let holder = format!("container={}", cluster.holder());
    let hold = cluster.hold(1);
    let how = ["--split", "chains:2", "--set", &holder];
    let often = [&command[..], &["--publish-every", "0.05"]].concat();
    cluster.submit("r", &how, &often).ends_with(0);
    until("task 0 ends and task 1 stands still", || {
        cluster.path("r/done/0").is_file() && cluster.process("r", 1).is_some()
    });
    std::thread::sleep(Duration::from_millis(700));
    let said = cluster.slurm("cancel", &["r"]).ends_with(0);
    assert!(said.out.contains("slurm rerun r"), "{}", said.out);
    cluster.wait();
    let status = cluster
        .slurm("status", &["r", "--json"])
        .ends_with(0)
        .json();
    let state = |task: usize| status["tasks"][task]["state"].as_str().expect("a word");
    assert_eq!((state(0), state(1)), ("finished", "failed"));
    cluster.slurm("collect", &["r"]).ends_with(1);
    fs::remove_file(hold).expect("there");
    cluster.slurm("rerun", &["r"]).ends_with(0);
    cluster.wait();
    are_the_same(&cluster.trace("r"), &locally(&cluster, &command, &[]));
}

/// A moment between 0 and `most` milliseconds, the same at every call with `k`.
fn moment(k: u64, most: u64) -> Duration {
    let mixed = (k + 1)
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    Duration::from_millis((mixed >> 33) % most)
}

/// `FITZROY_SLURM_KILLS` runs, 3 by default; each is hit up to three times at random moments by
/// `kill -9`, `scancel` or the signal of a time limit, and submitted again until it has ended. Catches:
/// draws lost or made twice, tasks that cannot be started again, results of half a task taken for whole.
#[test]
fn runs_that_are_cancelled_and_killed_at_random_moments_lose_nothing() {
    let Some(cluster) = Cluster::start("random") else {
        return;
    };
    let runs: u64 =
        std::env::var("FITZROY_SLURM_KILLS").map_or(3, |n| n.parse().expect("a number"));
    let command = schools("60000");
    let command = [&words(&command)[..], &["--chains", "2"]].concat();
    let whole = locally(&cluster, &command, &[]);
    let often = [&command[..], &["--publish-every", "0.05"]].concat();
    let mut hits = [0; 3];
    for k in 0..runs {
        let out = format!("run-{k}");
        cluster
            .submit(&out, &["--split", "chains:2"], &often)
            .ends_with(0);
        let mut published = [0; 2];
        for round in 0..3 {
            let order = if k % 2 == 0 { [0, 1] } else { [1, 0] };
            let is_done = |t: &usize| cluster.path(&format!("{out}/done/{t}")).exists();
            let Some(task) = order.into_iter().find(|t| !is_done(t)) else {
                break;
            };
            let done = cluster.path(&format!("{out}/done/{task}"));
            until("it runs, or has", || {
                done.exists() || cluster.process(&out, task).is_some()
            });
            std::thread::sleep(moment(3 * k + round, 1200));
            let job = cluster.ask("squeue", &["--noheader", "--array", "--format=%i %t"]);
            let running = job
                .lines()
                .find(|l| l.contains(&format!("_{task} ")) && l.ends_with('R'));
            let element = running.and_then(|l| l.split(' ').next());
            match (round + k) % 3 {
                0 => {
                    if let Some(pid) = cluster.process(&out, task) {
                        signal(pid, "KILL");
                        hits[0] += 1;
                    }
                }
                kind => {
                    if let Some(element) = element {
                        let how: &[&str] = match kind {
                            1 => &[],
                            _ => &["--batch", "--signal=USR1"],
                        };
                        cluster.ask("scancel", &[how, &[element]].concat());
                        hits[kind as usize] += 1;
                    }
                }
            }
            cluster.wait();
            for (task, before) in published.iter_mut().enumerate() {
                let now = cluster.published(&out, task);
                assert!(
                    now >= *before,
                    "run {k}, task {task}: {now} draws of {before}"
                );
                *before = now;
            }
            cluster.slurm("rerun", &[&out]).ends_with(0);
        }
        cluster.wait();
        // A job that was cancelled when its task had just ended is not followed by its collection.
        cluster
            .slurm("collect", &[&out, "--no-report"])
            .ends_with(0);
        are_the_same(&cluster.trace(&out), &whole);
        fs::remove_dir_all(cluster.path(&out)).expect("ours");
    }
    let [killed, cancelled, told] = hits;
    eprintln!("{runs} runs: {killed} killed, {cancelled} cancelled, {told} told to stop");
}

/// Six files of a decay each.
fn curves(cluster: &Cluster) -> Vec<String> {
    let file = |k: usize| {
        let row = |i: usize| {
            let t = i as f64 / 4.0;
            let y = (2.0 + k as f64) * (-0.5 * t).exp() + 0.3 + 0.01 * ((7 * i + k) % 5) as f64;
            format!("{t},{y}\n")
        };
        let text: String = std::iter::once("t,y\n".to_owned())
            .chain((0..24).map(row))
            .collect();
        cluster
            .scratch
            .file(&format!("curve-{k}.csv"), &text)
            .display()
            .to_string()
    };
    (0..6).map(file).collect()
}

#[test]
fn data_sets_subjects_and_kinds_of_gpus_are_spread_over_tasks() {
    let Some(cluster) = Cluster::start("parts") else {
        return;
    };
    let files = curves(&cluster);
    let model = [
        "curve-fit",
        "--model",
        "a*exp(-b*t)+c",
        "--y",
        "y",
        "--batch-by",
        "file",
    ];
    let start = ["--p0", "a=1,b=1,c=0"];
    let command = [&model[..], &start, &words(&files)].concat();
    cluster
        .fitzroy(&[&command[..], &["--out", "whole"]].concat())
        .ends_with(0);
    cluster
        .submit("curves", &["--split", "parts:4"], &command)
        .ends_with(0);
    let simulate = [
        "stop-signal",
        "simulate",
        "--subjects",
        "2",
        "--seed",
        "1",
        "--out",
        "sim",
    ];
    cluster.fitzroy(&simulate).ends_with(0);
    let fit = [
        "stop-signal",
        "fit",
        "sim/data.csv",
        "--pooling",
        "none",
        "--chains",
        "1",
    ];
    let few = [&fit[..], &["--tune", "5", "--draws", "5", "--no-report"]].concat();
    cluster
        .submit("subjects", &["--split", "parts:2"], &few)
        .ends_with(0);
    let one = [&fit[..5], &["--chains", "2", "--tune", "5", "--draws", "5"]].concat();
    let whole = locally(&cluster, &one, &[]);
    let split = ["--split", "chains:2"];
    cluster.submit("population", &split, &one).ends_with(0);
    let bench = ["bench", "stop-signal", "--subjects", "1", "--gradient-only"];
    let gpus = [
        "--profile",
        "h100,a100",
        "--out",
        "types",
        "--set",
        "partition=gpu",
    ];
    let own = [
        "--set", "time=10", "--set", "modules=", "--set", "cpus=1", "--set", "mem=500M", "--",
    ];
    let cpu = ["--device", "cpu", "--threads", "1"];
    cluster
        .slurm("submit", &[&gpus[..], &own, &bench, &cpu].concat())
        .ends_with(0);
    cluster.wait();
    let read = |path: &str| fs::read_to_string(cluster.path(path)).unwrap_or_default();
    assert_eq!(read("curves/fits.csv"), read("whole/fits.csv"));
    assert_eq!(read("whole/fits.csv").lines().count(), 7);
    let subjects = read("subjects/subjects.csv");
    for name in ["subject,parameter", "\ns001,B,", "\ns002,B,"] {
        assert!(subjects.contains(name), "{subjects}");
    }
    are_the_same(&cluster.trace("population"), &whole);
    for file in ["subjects.csv", "summary.csv", "data_report.json"] {
        assert_eq!(
            read(&format!("population/{file}")),
            read(&format!("local/{file}"))
        );
    }
    cluster.slurm("collect", &["types"]).ends_with(0);
    let table = read("types/bench.csv");
    let rows: Vec<&str> = table.lines().collect();
    assert!(
        rows.len() == 3 && rows[0].starts_with("profile,n_subjects"),
        "{table}"
    );
    assert!(
        rows[1].starts_with("a100,1,") && rows[2].starts_with("h100,1,"),
        "{table}"
    );
}

/// Catches: training that starts anew, or from another state, after its time was up.
#[test]
fn training_goes_on_from_its_checkpoint_to_the_same_bytes() {
    let Some(cluster) = Cluster::start("training") else {
        return;
    };
    let synth = [&["weather", "synth", "--out", "a.nc"], &SMALL_WEATHER[..]].concat();
    cluster.fitzroy(&synth).ends_with(0);
    let how = [
        "--learning-rate",
        "1e-3",
        "--num-epochs",
        "30",
        "--checkpoint-frequency",
        "1",
        "--threads",
        "1",
    ];
    let train = ["weather", "train", "--data", "a.nc"];
    let train = [&train[..], small_shape(), &how].concat();
    cluster
        .fitzroy(&[&train[..], &["--out", "whole"]].concat())
        .ends_with(0);
    let newest = |folder: &str| -> PathBuf {
        let entries = fs::read_dir(cluster.path(folder)).expect("there").flatten();
        let is_one = |p: &PathBuf| p.extension().is_some_and(|e| e == "safetensors");
        let named = |p: &PathBuf| p.display().to_string().contains("/checkpoint-");
        entries
            .map(|e| e.path())
            .filter(|p| is_one(p) && named(p))
            .max()
            .expect("a checkpoint")
    };
    let hold = cluster.hold(0);
    let holder = format!("container={}", cluster.holder());
    cluster
        .submit("r", &["--set", &holder], &train)
        .ends_with(0);
    until("it has begun", || cluster.process("r", 0).is_some());
    std::thread::sleep(Duration::from_millis(700));
    fs::remove_file(hold).expect("there");
    let array = cluster.ask(
        "squeue",
        &["--noheader", "--array", "--format=%i", "--states=R"],
    );
    cluster.ask("scancel", &["--batch", "--signal=USR1", array.trim()]);
    cluster.wait();
    assert!(cluster.path("r/done/0").is_file());
    let (a, b) = (newest("whole"), newest("r/task-0"));
    assert_eq!(a.file_name(), b.file_name());
    let read = |path: &Path| fs::read(path).expect("readable");
    assert!(read(&a) == read(&b));
}

/// Catches: trials that a task makes and others miss, flags of the job that do not reach the training behind `--`, and tables
/// whose best row is not the first.
#[test]
fn trials_that_are_spread_over_tasks_are_those_of_one_command() {
    let Some(cluster) = Cluster::start("tuning") else {
        return;
    };
    let synth = [&["weather", "synth", "--out", "a.nc"], &SMALL_WEATHER[..]].concat();
    cluster.fitzroy(&synth).ends_with(0);
    let front = ["weather", "tune", "--sweep", "learning-rate=1e-6,1e-2,1e-4"];
    let how = ["--max-steps", "6", "--validation-frequency", "2"];
    let behind = [&["--data", "a.nc"], small_shape(), &how].concat();
    let own = [
        &front[..],
        &["--out", "whole", "--"],
        &behind,
        &["--threads", "1"],
    ]
    .concat();
    cluster.fitzroy(&own).ends_with(0);
    let command = [&front[..], &["--"], &behind].concat();
    cluster
        .submit("r", &["--split", "parts:4"], &command)
        .ends_with(2);
    cluster
        .submit("r", &["--split", "parts:2"], &command)
        .ends_with(0);
    cluster.wait();
    // Seconds and folders are those of the place.
    let rows = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(cluster.path(file)).expect("written");
        let kept = |line: &str| -> String {
            let cells: Vec<&str> = line.split(',').collect();
            [&cells[..6], &cells[7..8]].concat().join(",")
        };
        text.lines().map(kept).collect()
    };
    let (got, want) = (rows("r/tune.csv"), rows("whole/tune.csv"));
    assert_eq!(got, want);
    assert!(got.len() == 4 && got[1].contains("1e-2"), "{got:?}");
    assert!(cluster.path("r/task-1/trial-03/best.safetensors").is_file());
}
