//! What `fitzroy slurm` does where there is no cluster: job files, shares of tasks, and what is wrong.
#![cfg(unix)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod program;

use fitzroy::draws::{Attribute, read_trace, write_netcdf};
use program::{Said, Scratch, program, run};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The program where no program of Slurm is on the path and nobody has profiles.
fn fitzroy(scratch: &Scratch, args: &[&str]) -> Said {
    run(alone(scratch).args(args))
}

fn alone(scratch: &Scratch) -> Command {
    let mut command = program(&scratch.0);
    command.env("PATH", "/nowhere").env("HOME", &scratch.0);
    command.env_remove("XDG_CONFIG_HOME");
    command
}

/// Two normal numbers, sampled in a moment.
const MODEL: &str = "x ~ Normal(0, 1)\ny ~ Normal(x, 1)\n";

fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(&format!("slurm-files-{name}"));
    scratch.file("m.fz", MODEL);
    scratch
}

fn render(scratch: &Scratch, how: &[&str], command: &[&str]) -> Said {
    fitzroy(
        scratch,
        &[&["slurm", "render"], how, &["--"], command].concat(),
    )
}

/// Runs a job file as one task of an array, without Slurm.
fn task(scratch: &Scratch, out: &str, number: &str, more: &[(&str, &str)]) -> Said {
    let mut bash = Command::new("bash");
    bash.arg(scratch.0.join(out).join("slurm/job.sbatch"))
        .current_dir(&scratch.0);
    bash.envs([
        ("SLURM_ARRAY_JOB_ID", "7"),
        ("SLURM_ARRAY_TASK_ID", number),
        ("SLURM_CPUS_PER_TASK", "1"),
    ]);
    run(bash.envs(more.iter().copied()))
}

#[test]
fn a_site_edits_its_profiles_and_the_job_file_says_so() {
    let scratch = scratch("site");
    fs::create_dir_all(scratch.0.join(".config/fitzroy")).expect("writable");
    let site = "[cpu]\npartition = \"epyc\"\naccount = \"lab\"\nsetup = [\"ulimit -c 0\"]\n\n[big]\ncpus = 96\n";
    scratch.file(".config/fitzroy/slurm.toml", site);
    let said = render(
        &scratch,
        &["--out", "my run", "--split", "chains:4"],
        &["sample", "m.fz"],
    );
    let said = said.ends_with(0);
    assert!(
        said.out
            .contains("4 tasks on cpu: 2G of memory, 00:10:00 each"),
        "{}",
        said.out
    );
    let job = fs::read_to_string(scratch.0.join("my run/slurm/job.sbatch")).expect("written");
    let model = scratch.0.join("m.fz").display().to_string();
    for part in [
        "--partition=epyc",
        "--account=lab",
        "\nulimit -c 0\n",
        "--array=0-3",
        &model,
    ] {
        assert!(job.contains(part), "no {part} in {job}");
    }
    assert!(scratch.0.join("my run/logs").is_dir());
    // The same again gives the same bytes; a profile of one's own is known by its heading.
    render(
        &scratch,
        &["--out", "my run", "--split", "chains:4"],
        &["sample", "m.fz"],
    )
    .ends_with(0);
    let again = fs::read_to_string(scratch.0.join("my run/slurm/job.sbatch"));
    assert_eq!(again.expect("written"), job);
    render(
        &scratch,
        &["--profile", "big", "--out", "b"],
        &["sample", "m.fz"],
    )
    .ends_with(0);
    let printed = fitzroy(&scratch, &["slurm", "profiles"]).ends_with(0);
    let file = scratch
        .file("mine.toml", &printed.out)
        .display()
        .to_string();
    let how = ["--slurm-config", &file, "--profile", "v100", "--out", "v"];
    render(&scratch, &how, &["sample", "m.fz"]).ends_with(0);
}

/// Catches: a GPU asked for as long as the profile allows, by a run that takes seconds.
#[test]
fn time_and_memory_are_asked_for_by_what_the_command_needs() {
    let scratch = scratch("estimates");
    let rows: String = (0..40_000).map(|i| format!("{i},{}\n", i % 7)).collect();
    scratch.file("d.csv", &format!("t,y\n{rows}"));
    let asked = |how: &[&str], command: &[&str], parts: &[&str]| {
        render(&scratch, &[&["--out", "r"], how].concat(), command).ends_with(0);
        let job = fs::read_to_string(scratch.0.join("r/slurm/job.sbatch")).expect("written");
        for part in parts {
            assert!(job.contains(part), "no {part} in {job}");
        }
        fs::remove_dir_all(scratch.0.join("r")).expect("ours");
    };
    let sample = ["sample", "m.fz"];
    let a100 = ["--profile", "a100"];
    asked(
        &a100,
        &sample,
        &["--time=00:15:00", "4 times", "a card `a100`"],
    );
    let mixed = [&sample[..], &["--device", "cuda:0", "--precision", "mixed"]].concat();
    asked(&a100, &mixed, &["--time=00:15:00", "a card `a100`"]);
    let on_cpu = [&sample[..], &["--device", "cpu"]].concat();
    asked(&a100, &on_cpu, &["--time=00:10:00", "pace of a second"]);
    let set = [&a100[..], &["--set", "time=20", "--set", "mem=7G"]].concat();
    let parts = ["--time=00:20:00", "--mem=7G", "# --time: as the profile"];
    asked(&set, &sample, &parts);
    let unknown = [&a100[..], &["--set", "gpus=a100_1g.5gb:1"]].concat();
    asked(&unknown, &sample, &["--time=03:00:00", "nothing is known"]);
    let fit = ["curve-fit", "--model", "a+b*t", "--y", "y", "d.csv"];
    asked(
        &[],
        &fit,
        &["--time=00:15:00", "the size of its data", "--mem=2G"],
    );
    // The first of several files is fitted here, so a wrong column is found before anything waits.
    scratch.file("e.csv", "t,y\n0,1\n1,2\n2,3.5\n");
    let files = [&fit[..], &["e.csv", "--batch-by", "file"]].concat();
    asked(&["--split", "parts:2"], &files, &["the size of its data"]);
    let wrong = [
        "curve-fit",
        "--model",
        "a+b*t",
        "--y",
        "z",
        "d.csv",
        "e.csv",
        "--batch-by",
        "file",
    ];
    let said = render(&scratch, &["--out", "r", "--split", "parts:2"], &wrong);
    said.ends_with(2).complains(&["z"]);
    let large = [&fit[..], &["--memory-limit", "4GiB"]].concat();
    asked(&[], &large, &["--time=1-00:00:00", "--mem=6G"]);
}

/// Catches: a task whose GPU was not there, which leaves no folder, taken for one that never ran; the
/// log of the collecting job taken for that of a task.
#[test]
fn a_task_that_left_nothing_but_a_log_has_failed() {
    let scratch = scratch("log");
    let command = ["sample", "m.fz", "--chains", "2"];
    render(&scratch, &["--out", "r", "--split", "chains:2"], &command).ends_with(0);
    scratch.file("r/logs/fz-r-collect_1.log", "collected nothing\n");
    scratch.file(
        "r/logs/fz-r_7_0.log",
        "task 0 of 2\nerror: no CUDA driver\n",
    );
    let said = fitzroy(&scratch, &["slurm", "collect", "r"]).ends_with(1);
    said.complains(&[
        "task 0: ended without a result",
        "ends with: error: no CUDA driver",
        "task 1: never started\n",
        "--array=0-1 ",
    ]);
}

#[test]
fn tasks_of_another_version_model_or_seed_are_not_joined() {
    let scratch = scratch("mixed");
    let command = [
        "sample",
        "m.fz",
        "--chains",
        "2",
        "--draws",
        "20",
        "--no-report",
    ];
    render(&scratch, &["--out", "r", "--split", "chains:2"], &command).ends_with(0);
    for number in ["0", "1"] {
        task(&scratch, "r", number, &[]).ends_with(0);
    }
    let status = fitzroy(&scratch, &["slurm", "status", "r", "--json"]).ends_with(0);
    let progress = &status.json()["tasks"][1]["progress"];
    assert!(progress["min_ess_bulk"].as_f64() > Some(1.0), "{progress}");
    let file = scratch.0.join("r/task-1/trace.nc");
    let whole = read_trace(&file).expect("there");
    for (key, what) in [
        ("fitzroy_version", "version of fitzroy"),
        ("fitzroy_hash", "model or data"),
        ("fitzroy_seed", "seed"),
    ] {
        let mut other = whole.clone();
        let found = other.attributes.iter_mut().find(|(name, _)| name == key);
        match &mut found.expect("it is noted").1 {
            Attribute::Text(text) => text.push('x'),
            Attribute::Integer(n) => *n += 1,
            other => panic!("{other:?}"),
        }
        write_netcdf(&file, &other).expect("writable");
        let said = fitzroy(&scratch, &["slurm", "collect", "r"]).ends_with(2);
        said.complains(&["task 0 and task 1 are not parts of one run", what]);
        assert!(!scratch.0.join("r/trace.nc").exists());
    }
    write_netcdf(&file, &whole).expect("writable");
    fitzroy(&scratch, &["slurm", "collect", "r"]).ends_with(0);
}

#[test]
fn what_is_wrong_with_a_job_is_said_with_what_there_is() {
    let scratch = scratch("wrong");
    scratch.file("bad.toml", "[cpu]\npartitions = \"x\"\n");
    fs::create_dir(scratch.0.join("mine")).expect("writable");
    scratch.file("mine/notes.txt", "mine");
    let refused = |how: &[&str], command: &[&str], parts: &[&str]| {
        render(&scratch, how, command).ends_with(2).complains(parts);
    };
    let sample = ["sample", "m.fz"];
    let out = ["--out", "r"];
    let with = |more: &[&'static str]| [&out[..], more].concat();
    refused(
        &with(&["--profile", "h200"]),
        &sample,
        &["no profile `h200`", "a100, cpu, h100, v100"],
    );
    refused(
        &with(&["--slurm-config", "bad.toml"]),
        &sample,
        &["bad.toml", "`partitions`"],
    );
    refused(
        &with(&["--slurm-config", "none.toml"]),
        &sample,
        &["none.toml"],
    );
    refused(
        &with(&["--set", "time=soon"]),
        &sample,
        &["--set", "HH:MM:SS"],
    );
    refused(&with(&["--set", "cpus"]), &sample, &["KEY=VALUE"]);
    refused(&with(&["--split", "chains:9"]), &sample, &["has 4 chains"]);
    refused(
        &with(&["--split", "parts:2"]),
        &sample,
        &["--split chains:2"],
    );
    refused(
        &with(&["--concurrent", "0"]),
        &sample,
        &["--concurrent is 0"],
    );
    refused(
        &out,
        &["sample", "none.fz"],
        &["none.fz: there is no such file"],
    );
    refused(&out, &["sample", "m.fz", "--draws", "0"], &["--draws is 0"]);
    refused(
        &out,
        &["sample", "m.fz", "--resume"],
        &["--resume is set by the job"],
    );
    refused(
        &out,
        &["diagnose", "t.nc"],
        &["does not run as a job", "curve-fit"],
    );
    refused(&["--out", "mine"], &sample, &["holds something else"]);
    refused(&["--out", "m.fz"], &sample, &["m.fz"]);
    assert_eq!(
        scratch.names(),
        ["bad.toml", "m.fz", "mine"],
        "nothing is left behind"
    );
    // What was rendered and never started is replaced; what has started is not.
    render(&scratch, &out, &["sample", "m.fz", "--seed", "7"]).ends_with(0);
    render(&scratch, &["--out", "s"], &sample).ends_with(0);
    fs::create_dir(scratch.0.join("s/task-0")).expect("writable");
    let other = ["sample", "m.fz", "--seed", "7"];
    refused(&["--out", "s"], &other, &["holds another run"]);
    let nothing = |args: &[&str], part: &str| {
        fitzroy(&scratch, args).ends_with(2).complains(&[part]);
    };
    for verb in ["status", "collect", "rerun", "cancel"] {
        nothing(&["slurm", verb, "mine"], "no slurm/plan.json");
    }
    nothing(&["slurm", "cancel", "r"], "nothing was submitted");
    nothing(&["slurm", "rerun", "r"], "there is no `sbatch`");
    let submit = [
        "slurm",
        "submit",
        "--out",
        "t",
        "--set",
        "partition=",
        "--",
        "sample",
        "m.fz",
    ];
    nothing(&submit, "there is no `sbatch`");
    let said = fitzroy(&scratch, &["slurm", "collect", "r"]).ends_with(1);
    said.complains(&["task 0: never started", "--array=0 ", "no task is finished"]);
    let said = fitzroy(&scratch, &["slurm", "status", "r"]).ends_with(0);
    assert!(said.out.contains("1 tasks: 1 not started"), "{}", said.out);
}

#[test]
fn what_may_go_wrong_is_warned_of() {
    let scratch = scratch("warned");
    let long = [
        "sample",
        "m.fz",
        "--draws",
        "2000000000",
        "--adapt",
        "per-chain",
    ];
    let said = render(&scratch, &["--out", "r", "--set", "time=1"], &long).ends_with(0);
    said.complains(&[
        "asks for 00:01:00",
        "go back into the queue",
        "which the nodes may not see",
    ]);
    let simulate = ["stop-signal", "simulate", "--subjects", "2", "--out", "sim"];
    fitzroy(&scratch, &simulate).ends_with(0);
    let fit = ["stop-signal", "fit", "sim/data.csv"];
    let said = render(&scratch, &["--out", "b", "--split", "parts:2"], &fit).ends_with(0);
    said.complains(&["a population of its own", "--pooling none"]);
}

/// Catches: what a fit leaves besides its draws, lost between the tasks and the whole.
#[test]
fn collected_chains_of_a_stop_signal_fit_leave_what_a_fit_leaves() {
    let scratch = scratch("fit");
    let simulate = ["stop-signal", "simulate", "--subjects", "2", "--out", "sim"];
    fitzroy(&scratch, &simulate).ends_with(0);
    let mut fit = vec!["stop-signal", "fit", "sim/data.csv", "--chains", "2"];
    fit.extend(["--tune", "20", "--draws", "20", "--threads", "1"]);
    render(&scratch, &["--out", "r", "--split", "chains:2"], &fit).ends_with(0);
    for number in ["0", "1"] {
        task(&scratch, "r", number, &[]).ends_with(0);
    }
    fitzroy(&scratch, &["slurm", "collect", "r"]).ends_with(0);
    fit.extend(["--adapt", "per-chain", "--out", "whole"]);
    fitzroy(&scratch, &fit).ends_with(0);
    let read =
        |path: &str| fs::read(scratch.0.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    for file in [
        "subjects.csv",
        "summary.csv",
        "summary.json",
        "summary.txt",
        "model.fz",
        "data_report.json",
        "behaviour.png",
        "forest.png",
    ] {
        let (collected, whole) = (read(&format!("r/{file}")), read(&format!("whole/{file}")));
        assert!(collected == whole && !whole.is_empty(), "{file}");
    }
    let page = String::from_utf8(read("r/report.html")).expect("text");
    assert!(page.contains("Stop-signal model"));
}

/// Calls `check` with a disk at `disk`; skipped where the test may not mount one.
fn on_disk(scratch: &Scratch, options: &str, check: impl FnOnce() + std::panic::UnwindSafe) {
    let disk = scratch.0.join("disk");
    fs::create_dir(&disk).expect("writable");
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(&disk);
    if !mount
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
    {
        eprintln!("skipped: no disk can be mounted here");
        return;
    }
    let checked = std::panic::catch_unwind(check);
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.is_ok_and(|s| s.success()) && checked.is_ok());
}

#[test]
fn a_folder_that_cannot_be_written_to_is_named() {
    let scratch = scratch("readonly");
    on_disk(
        &scratch,
        "ro,size=64k",
        std::panic::AssertUnwindSafe(|| {
            let said = render(&scratch, &["--out", "disk/r"], &["sample", "m.fz"]);
            said.ends_with(2).complains(&["disk/r/slurm", "Read-only"]);
        }),
    );
}

/// Catches: half a result that is taken for a whole one.
#[test]
fn a_task_whose_disk_is_full_is_listed() {
    let scratch = scratch("full");
    on_disk(
        &scratch,
        "size=300k",
        std::panic::AssertUnwindSafe(|| {
            let command = ["sample", "m.fz", "--draws", "40000"];
            render(&scratch, &["--out", "disk/r"], &command).ends_with(0);
            let said = task(&scratch, "disk/r", "0", &[]);
            assert!(said.code != 0 && said.err.contains("full"), "{}", said.err);
            let said = fitzroy(&scratch, &["slurm", "collect", "disk/r"]).ends_with(1);
            said.complains(&["task 0: ended without a result", "--array=0 "]);
        }),
    );
}

/// Catches: a lock that is not asked for, a program that is another, a task that is made twice, a
/// node without a temporary folder.
#[test]
fn a_task_looks_before_it_starts() {
    let scratch = scratch("script");
    // With `cksum` on the path, unlike everywhere else here.
    let mut render = program(&scratch.0);
    render.args([
        "slurm", "render", "--out", "r", "--split", "chains:2", "--", "sample", "m.fz",
    ]);
    run(render
        .args(["--chains", "2", "--draws", "50"])
        .env("HOME", &scratch.0))
    .ends_with(0);
    let no_room = [("TMPDIR", "/nowhere/at all")];
    let said = task(&scratch, "r", "0", &no_room).ends_with(0);
    assert!(said.out.contains("task 0 of 2 on "), "{}", said.out);
    assert!(scratch.0.join("r/tmp").is_dir() && scratch.0.join("r/task-0/trace.nc").is_file());
    let said = task(&scratch, "r", "0", &[]).ends_with(0);
    assert!(said.out.contains("task 0 is complete"), "{}", said.out);
    let said = task(&scratch, "r", "1", &[("SLURM_RESTART_COUNT", "21")]).ends_with(1);
    assert!(said.out.contains("more than 20 times"), "{}", said.out);
    let lock = scratch.0.join("r/slurm/lock-1");
    let mut other = Command::new("flock");
    other
        .arg("--no-fork")
        .arg(&lock)
        .args(["sleep", "60"])
        .stdout(Stdio::null());
    let mut other = other.spawn().expect("flock is there");
    while !lock.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::thread::sleep(std::time::Duration::from_millis(200));
    let said = task(&scratch, "r", "1", &[]).ends_with(1);
    other.kill().expect("ours");
    other.wait().expect("ours");
    assert!(said.out.contains("is running already"), "{}", said.out);
    let job = scratch.0.join("r/slurm/job.sbatch");
    let text = fs::read_to_string(&job).expect("written");
    let line = text
        .lines()
        .find(|l| l.contains("cksum <"))
        .expect("there is a sum");
    let changed = text.replace(line, &line.replace("!= \"", "!= \"1"));
    fs::write(&job, changed).expect("ours");
    let said = task(&scratch, "r", "1", &[]).ends_with(1);
    assert!(
        said.out.contains("not the one that this run began with"),
        "{}",
        said.out
    );
    let mut bash = Command::new("bash");
    let said = run(bash.arg(&job).current_dir(&scratch.0));
    assert!(
        said.code != 0 && said.err.contains("hand this file to sbatch"),
        "{}",
        said.err
    );
}

#[test]
fn a_task_of_sample_draws_the_chains_it_has_in_the_whole_run() {
    let scratch = scratch("share");
    let sample = |more: &[&str]| {
        let usual = [
            "sample",
            "m.fz",
            "--chains",
            "5",
            "--draws",
            "40",
            "--adapt",
            "per-chain",
        ];
        fitzroy(&scratch, &[&usual, more].concat())
    };
    sample(&["--out", "whole", "--quiet"]).ends_with(0);
    let whole = read_trace(scratch.0.join("whole")).expect("there");
    let draws = |trace: &fitzroy::draws::Trace| {
        trace
            .group("posterior")
            .expect("there")
            .variable("y")
            .expect("there")
            .element(0)
    };
    let mut all = Vec::new();
    for task in ["0/3", "1/3", "2/3"] {
        let out = format!("part-{}", &task[..1]);
        sample(&["--task", task, "--out", &out, "--quiet"]).ends_with(0);
        all.extend(draws(&read_trace(scratch.0.join(out)).expect("there")));
    }
    assert_eq!(all, draws(&whole));
    sample(&["--task", "5/6"])
        .ends_with(2)
        .complains(&["there are 5 chains"]);
    sample(&["--task", "3/3"]).ends_with(2).complains(&["I/N"]);
}

#[test]
fn a_dry_run_says_what_a_run_needs_and_writes_nothing() {
    let scratch = scratch("dry");
    let need = |more: &[&str]| {
        let usual = ["sample", "m.fz", "--dry-run", "--json", "--threads", "1"];
        let said = fitzroy(&scratch, &[&usual, more].concat()).ends_with(0);
        said.json()
    };
    let (four, one) = (need(&[]), need(&["--task", "3/4"]));
    assert_eq!((&four["chains"], &one["chains"]), (&4.into(), &1.into()));
    assert_eq!(one["first_chain"], 3);
    let number =
        |document: &serde_json::Value, key: &str| document[key].as_f64().expect("a number");
    for key in ["memory_bytes", "draws_bytes"] {
        assert!(
            (number(&four, key) / number(&one, key) - 4.0).abs() < 1e-9,
            "{key}"
        );
    }
    assert!(number(&four, "time_s") > 0.0);
    // A card is taken into use in a second; newer ones are not slower.
    let card = |name: &str| number(&four["gpu_time_s"], name);
    assert!(card("v100") > 1.0 && card("v100") > card("h100"), "{four}");
    // 4 chains of 1000 draws of 2 parameters, which are drawn and recorded.
    assert_eq!(number(&four, "draws_bytes"), 4.0 * 1000.0 * 4.0 * 8.0);
    let large = need(&["--draws", "1000000000"]);
    assert!(
        number(&large, "memory_bytes") < 1e9,
        "draws stay on the disk"
    );
    assert_eq!(scratch.names(), ["m.fz"]);
}

#[test]
fn curves_of_many_files_are_fitted_apart_and_shared_out() {
    let scratch = scratch("curves");
    let row = |k: usize, i: usize| {
        format!(
            "{i},{}\n",
            3.0 + k as f64 + 2.0 * i as f64 + 0.1 * ((i * i) % 3) as f64
        )
    };
    for k in 0..3 {
        let rows: String = (0..9).map(|i| row(k, i)).collect();
        scratch.file(&format!("{k}.csv"), &format!("t,y\n{rows}"));
    }
    let fit = |more: &[&str]| {
        let usual = [
            "curve-fit",
            "--model",
            "a+b*t",
            "--y",
            "y",
            "--p0",
            "a=1,b=1",
            "--batch-by",
        ];
        fitzroy(&scratch, &[&usual, more].concat())
    };
    let read = |out: &str| {
        let text = fs::read_to_string(scratch.0.join(out).join("fits.csv")).expect("written");
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let files = ["file", "0.csv", "1.csv", "2.csv"];
    fit(&[&files[..], &["--out", "whole"]].concat()).ends_with(0);
    assert!(read("whole").len() == 3 && read("whole")[2].starts_with("2.csv,9,"));
    let mut all = Vec::new();
    for (task, out) in [("0/2", "first"), ("1/2", "second")] {
        fit(&[&files[..], &["--task", task, "--out", out]].concat()).ends_with(0);
        all.extend(read(out));
    }
    assert_eq!(all, read("whole"));
    let named = [
        "set",
        "--data-set",
        "p=0.csv",
        "--data-set",
        "q=2.csv",
        "--task",
        "1/2",
    ];
    fit(&[&named[..], &["--out", "set"]].concat()).ends_with(0);
    assert!(read("set").len() == 1 && read("set")[0].starts_with("q,9,"));
    // Groups of one file.
    let one = scratch.file(
        "one.csv",
        "id,t,y\n1,0,1\n1,1,2\n1,2,3.1\n2,0,4\n2,1,6\n2,2,8.1\n",
    );
    let one = one.display().to_string();
    fit(&["id", &one, "--task", "1/2", "--out", "id"]).ends_with(0);
    assert!(read("id").len() == 1 && read("id")[0].starts_with("2,3,"));
    fit(&[&files[..], &["--task", "0/4"]].concat())
        .ends_with(2)
        .complains(&["3 data sets"]);
    let alone = ["curve-fit", "--model", "a+b*t", "0.csv", "--task", "0/1"];
    fitzroy(&scratch, &alone)
        .ends_with(2)
        .complains(&["--batch-by"]);
}

/// A run that was killed before it marked its folder has left nothing.
#[test]
fn a_folder_with_half_a_marker_is_empty() {
    let scratch = scratch("marker");
    fs::create_dir(scratch.0.join("r")).expect("writable");
    scratch.file("r/run.tmp", "{\"prog");
    let sample = [
        "sample", "m.fz", "--draws", "20", "--out", "r", "--resume", "--quiet",
    ];
    fitzroy(&scratch, &sample).ends_with(0);
    assert!(Path::new(&scratch.0.join("r/trace.nc")).is_file());
}
