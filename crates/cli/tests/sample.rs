//! `fitzroy sample` and `fitzroy diagnose`, from files to files.

mod program;

use fitzroy::Spelling;
use fitzroy::diagnose::{Circumstances, Remedy};
use program::{Scratch, program, repository, run};
use std::fs;
use std::path::Path;

const RUN: &[&str] = &[
    "progress.json",
    "report.html",
    "run.json",
    "run.state",
    "run.zarr",
    "summary.csv",
    "summary.json",
    "summary.txt",
    "trace.nc",
];

/// The arguments for a run on eight schools.
fn schools(more: &[&str]) -> Vec<String> {
    let path = |file| repository(file).display().to_string();
    let mut args = vec!["sample".into(), path("models/eight-schools.fz")];
    args.extend(["--data".into(), path("models/eight-schools.csv")]);
    args.extend(more.iter().map(ToString::to_string));
    args
}

fn sample(scratch: &Scratch, more: &[&str]) -> program::Said {
    run(program(&scratch.0).args(schools(more)))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let name = |e: std::io::Result<fs::DirEntry>| e.expect("readable").file_name();
    let mut names: Vec<String> = entries
        .map(|e| name(e).to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_run_prints_its_verdict_and_leaves_its_files_in_a_fresh_folder() {
    let scratch = Scratch::new("fresh");
    for n in 1..=2 {
        let said = sample(&scratch, &["--target-accept", "0.95"]).ends_with(0);
        for part in ["CONVERGED  R-hat 1.0", "89 % HDI", "theta[7]", "trace.nc"] {
            assert!(said.out.contains(part), "no `{part}` in:\n{}", said.out);
        }
        said.complains(&[
            "eight-schools.fz",
            "10 parameters, 8 observations",
            "seed 42",
            "rewritten   collapse: theta integrated out of 8 rows of y",
            "coordinates  as written",
        ]);
        assert_eq!(names(&scratch.0.join(format!("eight-schools-{n}"))), RUN);
    }
    let text = |file| fs::read_to_string(scratch.0.join(file)).expect("written above");
    assert_eq!(
        text("eight-schools-1/summary.csv"),
        text("eight-schools-2/summary.csv")
    );
}

#[test]
fn json_is_one_document_with_every_field() {
    let scratch = Scratch::new("json");
    let found = sample(&scratch, &["--json", "--out", "r", "--draws", "200"])
        .ends_with(0)
        .json();
    let keys = [
        "model",
        "device",
        "precision",
        "seed",
        "chains",
        "tune",
        "draws",
        "sampler",
        "metric",
        "centring",
        "rewrites",
        "timing_s",
        "divergences",
        "max_treedepth_hits",
        "gradients",
        "max_rhat",
        "min_ess_bulk",
        "min_ess_tail",
        "min_ess_per_second",
        "converged",
        "verdict",
        "findings",
        "summary",
    ];
    for key in keys {
        assert!(!found[key].is_null(), "{key}");
    }
    assert_eq!(
        (&found["model"], &found["seed"], &found["draws"]),
        (&"eight-schools".into(), &42.into(), &200.into())
    );
    for key in ["compile", "warmup", "sampling", "total"] {
        assert!(
            found["timing_s"][key].as_f64().is_some_and(|s| s >= 0.0),
            "{key}"
        );
    }
    let rows = found["summary"].as_array().expect("a list");
    assert_eq!(rows.len(), 10);
    assert_eq!(
        (&rows[0]["name"], &rows[0]["index"]),
        (&"mu".into(), &serde_json::json!([]))
    );
    assert_eq!(rows[9]["index"], serde_json::json!([7]));
    for key in [
        "mean",
        "sd",
        "mcse_mean",
        "mcse_sd",
        "ess_bulk",
        "ess_tail",
        "r_hat",
        "hdi_lower",
        "hdi_upper",
        "median",
    ] {
        assert!(rows[3][key].is_number(), "{key}");
    }
}

#[test]
fn strict_turns_a_run_that_did_not_converge_into_exit_one() {
    let scratch = Scratch::new("strict");
    let short = ["--tune", "20", "--draws", "20", "--quiet"];
    let said = sample(&scratch, &short).ends_with(0);
    assert!(said.out.starts_with("NOT CONVERGED  "), "{}", said.out);
    assert_eq!(said.err, "");
    sample(&scratch, &[&short[..], &["--strict"]].concat()).ends_with(1);
    sample(
        &scratch,
        &["--strict", "--quiet", "--target-accept", "0.95"],
    )
    .ends_with(0);
}

#[test]
fn overwrite_replaces_a_run_of_ours() {
    let scratch = Scratch::new("overwrite");
    let short = ["--draws", "50", "--quiet", "--out", "r"];
    sample(&scratch, &[&short[..], &["--seed", "1"]].concat()).ends_with(0);
    let before = fs::read(scratch.0.join("r/trace.nc")).expect("written above");
    sample(&scratch, &short)
        .ends_with(2)
        .complains(&["--out r", "not empty"]);
    sample(&scratch, &[&short[..], &["--overwrite"]].concat()).ends_with(0);
    let after = fs::read(scratch.0.join("r/trace.nc")).expect("written above");
    assert_ne!(before, after);
    assert_eq!(names(&scratch.0.join("r")), RUN);
}

#[test]
fn a_refused_folder_keeps_every_file() {
    let scratch = Scratch::new("refused");
    std::fs::create_dir(scratch.0.join("r")).expect("a fresh folder");
    scratch.file("r/run.json", "somebody else's");
    sample(&scratch, &["--out", "r", "--quiet"]).ends_with(2);
    sample(&scratch, &["--out", "r", "--quiet", "--overwrite"]).ends_with(2);
    let kept = fs::read_to_string(scratch.0.join("r/run.json")).expect("it is still there");
    assert_eq!(kept, "somebody else's");
}

#[test]
fn a_trace_is_diagnosed_as_the_run_was() {
    let scratch = Scratch::new("diagnose");
    let ran = sample(&scratch, &["--json", "--out", "r", "--draws", "300"])
        .ends_with(0)
        .json();
    let found = scratch
        .fitzroy(&["diagnose", "r/trace.nc", "--json"])
        .ends_with(0)
        .json();
    assert_eq!(found["summary"], ran["summary"]);
    assert_eq!(
        (&found["seed"], &found["precision"]),
        (&42.into(), &"f64".into())
    );
    let said = scratch
        .fitzroy(&["diagnose", "r", "--var", "mu,tau"])
        .ends_with(0);
    // Findings may name any variable; rows are those that were asked for.
    let row = |name: &str| said.out.lines().any(|line| line.starts_with(name));
    assert!(row("tau") && !row("theta"), "{}", said.out);
    let eti = [
        "diagnose",
        "r",
        "--ci-kind",
        "eti",
        "--ci-prob",
        "0.5",
        "--ess-tail",
        "arviz1",
    ];
    let said = scratch.fitzroy(&eti).ends_with(0);
    assert!(
        said.out.contains("50 % ETI") && said.out.contains(".11"),
        "{}",
        said.out
    );
    scratch
        .fitzroy(&["diagnose", "r", "--var", "tua"])
        .ends_with(2)
        .complains(&["tua", "tau"]);
    scratch
        .fitzroy(&["diagnose", "r", "--ci-prob", "2"])
        .ends_with(2)
        .complains(&["between 0 and 1"]);
    scratch.file("notes.nc", "no trace");
    scratch
        .fitzroy(&["diagnose", "notes.nc"])
        .ends_with(2)
        .complains(&["notes.nc", "not a NetCDF-4 file"]);
}

#[test]
fn arrays_and_numbers_may_be_given_one_by_one() {
    let scratch = Scratch::new("bindings");
    scratch.file(
        "m.fz",
        "data y[obs], scale\nmu ~ Normal(0, 10)\ny[obs] ~ Normal(mu, scale)\n",
    );
    scratch.file("weights.json", "[1.5, 2.5, 3.5]");
    let args = [
        "sample",
        "m.fz",
        "y=weights.json",
        "--set",
        "scale=2",
        "--json",
        "--no-progress",
    ];
    let found = scratch.fitzroy(&args).ends_with(0).json();
    // Normal prior and likelihood: precision 3/4 + 1/100.
    let mean = found["summary"][0]["mean"].as_f64().expect("a number");
    let mcse = found["summary"][0]["mcse_mean"].as_f64().expect("a number");
    assert!((mean - 2.5 * 0.75 / 0.76).abs() < 5.0 * mcse, "{mean}");
}

#[test]
fn a_log_gets_lines_and_no_control_characters() {
    let scratch = Scratch::new("log");
    let said = sample(&scratch, &["--out", "r"]).ends_with(0);
    said.complains(&["] warm-up ", "] sampling ", "(100 %)"]);
    let said = sample(&scratch, &["--out", "s"]);
    assert!(
        said.err.chars().all(|c| c == '\n' || !c.is_control()),
        "{:?}",
        said.err
    );
    let said = sample(&scratch, &["--out", "t", "--no-progress"]);
    assert!(!said.err.contains("warm-up 0/"), "{}", said.err);
}

/// Sends SIGINT once `ready` stands on the program's stderr.
#[cfg(unix)]
fn interrupted(scratch: &Scratch, args: &[&str], ready: &str) -> i32 {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let mut child = program(&scratch.0)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    lines
        .by_ref()
        .map_while(Result::ok)
        .find(|line| line.contains(ready))
        .expect("it says so before it ends");
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill is there").success());
    // The pipe must not fill up.
    lines.for_each(drop);
    child.wait().expect("it ends").code().expect("by itself")
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_drawing_saves_the_draws_so_far() {
    let scratch = Scratch::new("interrupt");
    scratch.file("m.fz", "x ~ Normal(0, 1)\n");
    let args = [
        "sample", "m.fz", "--tune", "50", "--draws", "3000000", "--out", "r",
    ];
    assert_eq!(interrupted(&scratch, &args, "] sampling "), 130);
    let found = scratch
        .fitzroy(&["diagnose", "r", "--json"])
        .ends_with(0)
        .json();
    let draws = found["draws"].as_u64().expect("a number");
    assert!((1..3_000_000).contains(&draws), "{draws}");
    assert_eq!(names(&scratch.0.join("r")), RUN);
}

#[cfg(unix)]
#[test]
fn ctrl_c_in_the_warm_up_leaves_a_run_that_can_go_on() {
    let scratch = Scratch::new("interrupt-warm-up");
    scratch.file("m.fz", "x ~ Normal(0, 1)\n");
    let args = ["sample", "m.fz", "--tune", "3000000", "--out", "r"];
    assert_eq!(interrupted(&scratch, &args, "] warm-up "), 130);
    let left = names(&scratch.0.join("r"));
    assert_eq!(left, ["progress.json", "run.json", "run.state", "run.zarr"]);
    let said = scratch.fitzroy(&["diagnose", "r"]).ends_with(0);
    assert!(said.out.contains("NOT CONVERGED"), "{}", said.out);
}

#[test]
fn independence_proposals_can_be_asked_for_and_say_when_they_are_refused() {
    let scratch = Scratch::new("independence");
    let found = sample(&scratch, &["--sampler", "independence", "--json"])
        .ends_with(0)
        .json();
    assert_eq!(found["sampler"], "independence");
    assert_eq!(found["independence"]["used"], true);
    let few = [
        "--sampler",
        "independence",
        "--json",
        "--tune",
        "0",
        "--draws",
        "50",
    ];
    let found = sample(&scratch, &few).ends_with(0).json();
    assert_eq!(found["independence"]["used"], false);
    assert!(found["findings"].to_string().contains("too few"));
    sample(&scratch, &["--sampler", "gibbs"])
        .ends_with(2)
        .complains(&["independence"]);
}

#[test]
fn every_sampler_can_be_asked_for_and_says_what_it_made() {
    let scratch = Scratch::new("samplers");
    for name in ["walnuts", "mams", "chees"] {
        let found = sample(&scratch, &["--sampler", name, "--json"])
            .ends_with(0)
            .json();
        assert_eq!(found["sampler"], name);
        assert_eq!(found["converged"], true, "{name}: {}", found["findings"]);
        assert!(found["gradients"].as_u64().unwrap() > 8000, "{name}");
    }
}

#[test]
fn a_warm_up_that_ends_early_is_told_of_and_goes_on_after_a_stop() {
    let scratch = Scratch::new("early");
    let early = |more: &[&str]| {
        let always = ["--end-warmup-early", "--keep-warmup", "--out", "early"];
        sample(&scratch, &[&always[..], more].concat())
    };
    let said = early(&["--draws", "200"]).ends_with(0);
    said.complains(&["warm-up ended after", "of 1000 transitions"]);
    let found = early(&["--draws", "400", "--resume", "--json"]).ends_with(0);
    let found = found.json();
    let n = found["warmup_transitions"].as_u64().unwrap();
    assert!((150..800).contains(&n), "{n}");
    assert!(found["tune"] == 1000 && found["draws"] == 400);
    let other = [
        "--draws",
        "500",
        "--resume",
        "--out",
        "early",
        "--keep-warmup",
    ];
    let other = sample(&scratch, &other).ends_with(2);
    other.complains(&["end_warmup_early true, not false"]);
    for (bad, part) in [
        (["--adapt", "per-chain"], "adapt together"),
        (["--sampler", "mams"], "use nuts"),
    ] {
        let bad = [&["--end-warmup-early"][..], &bad].concat();
        sample(&scratch, &bad).ends_with(2).complains(&[part]);
    }
}

#[test]
fn a_run_ends_when_the_draws_are_good_enough_and_says_when_they_are_not() {
    let scratch = Scratch::new("until");
    let more = [
        "--until-ess",
        "300",
        "--until-rhat",
        "1.02",
        "--init",
        "pathfinder",
    ];
    let found = sample(&scratch, &[&more[..], &["--json"]].concat())
        .ends_with(0)
        .json();
    assert_eq!(found["until_reached"], true);
    assert!(
        found["draws"]
            .as_u64()
            .is_some_and(|n| (100..2000).contains(&n))
    );
    assert!(
        found["min_ess_tail"]
            .as_f64()
            .is_some_and(|ess| ess > 200.0)
    );
    let more = [
        "--until-ess",
        "1e6",
        "--max-draws",
        "150",
        "--metric",
        "low-rank",
    ];
    let said = sample(&scratch, &[&more[..], &["--adapt", "per-chain"]].concat()).ends_with(0);
    said.complains(&[
        "not as good as asked after 150 draws per chain",
        "--max-draws",
    ]);
    for (bad, part) in [
        (&["--max-draws", "10"][..], "--until-ess or --until-rhat"),
        (&["--until-ess", "0"], "must be above 0"),
        (
            &["--until-ess", "100", "--max-draws", "0"],
            "--max-draws is 0",
        ),
        (&["--until-rhat", "1"], "must be above 1"),
        (
            &["--until-rhat", "1.01", "--chains", "1"],
            "at least 2 chains",
        ),
        (&["--until-ess", "100", "--draws", "10"], "--draws"),
    ] {
        sample(&scratch, bad).ends_with(2).complains(&[part]);
    }
}

/// The settings of a remedy as the program takes them.
fn flags(remedy: Remedy) -> Vec<String> {
    let spelled = |(name, value): &(&str, &str)| {
        let flag = format!("⟨{name}⟩");
        [
            Spelling::Flags.spell(&flag).into_owned(),
            (*value).to_string(),
        ]
    };
    remedy.settings().iter().flat_map(spelled).collect()
}

/// Catches: advice to give a flag that the command refuses.
#[test]
fn every_remedy_that_a_finding_names_is_accepted() {
    let here = Scratch::new("remedies");
    let model = repository("models/eight-schools.fz").display().to_string();
    let data = repository("models/eight-schools.csv").display().to_string();
    for remedy in Remedy::ALL {
        let words = ["sample", &model, "--data", &data, "--dry-run"];
        let flags = flags(remedy);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        here.fitzroy(&[&words[..], &flags].concat()).ends_with(0);
    }
    let few = Circumstances {
        has_one_sampler: true,
        ..Circumstances::default()
    };
    let simulate = ["stop-signal", "simulate", "--subjects", "2", "--out", "sim"];
    here.fitzroy(&simulate).ends_with(0);
    for remedy in Remedy::ALL.into_iter().filter(|r| r.words(&few).is_some()) {
        let fit = ["stop-signal", "fit", "sim/data.csv", "--dry-run"];
        let flags = flags(remedy);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        here.fitzroy(&[&fit[..], &flags].concat()).ends_with(0);
    }
}
