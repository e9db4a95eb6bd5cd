//! `fitzroy stop-signal` as a user runs it: simulate, fit, check, loglik, and every bad input.
#![allow(clippy::unwrap_used)]

mod program;

use program::{Said, Scratch};
use std::fs;

fn simulate(here: &Scratch, subjects: &str, out: &str) {
    let args = [
        "stop-signal",
        "simulate",
        "--subjects",
        subjects,
        "--seed",
        "3",
        "--out",
        out,
    ];
    here.fitzroy(&args).ends_with(0);
}

#[test]
fn simulated_files_are_the_same_again_and_subjects_do_not_depend_on_their_number() {
    let here = Scratch::new("ss-simulate");
    for (subjects, out) in [("2", "a"), ("2", "b"), ("3", "c")] {
        simulate(&here, subjects, out);
    }
    let text = |path: &str| fs::read_to_string(here.0.join(path)).unwrap();
    assert_eq!(text("a/data.csv"), text("b/data.csv"));
    assert!(text("c/data.csv").starts_with(&text("a/data.csv")));
    assert_eq!(text("a/data.csv").lines().count(), 1 + 2 * 360);
    assert!(text("a/config.toml").contains("[population]"));
    let truth: serde_json::Value = serde_json::from_str(&text("c/true_params.json")).unwrap();
    assert_eq!(truth["params"]["ssrt"].as_array().unwrap().len(), 3);
    assert_eq!(truth["population"]["mu_B"], 1.25);
    // Another seed, other data; a folder that is there stays.
    let args = [
        "stop-signal",
        "simulate",
        "--subjects",
        "2",
        "--seed",
        "4",
        "--out",
        "a",
    ];
    here.fitzroy(&args).ends_with(2).complains(&["not empty"]);
}

/// A short fit of `sim/data.csv`.
fn fit(here: &Scratch, out: &str, more: &[&str]) -> Said {
    let args = "stop-signal fit sim/data.csv --tune 60 --chains 2 --max-treedepth 5 --no-progress";
    let args: Vec<&str> = args.split(' ').chain(["--out", out]).collect();
    here.fitzroy(&[&args, more].concat()).ends_with(0)
}

#[test]
fn a_fit_that_goes_on_has_the_draws_of_one_that_never_stopped() {
    let here = Scratch::new("ss-resume");
    simulate(&here, "2", "sim");
    fit(&here, "whole", &["--draws", "40", "--no-report"]);
    fit(&here, "parts", &["--draws", "25", "--no-report"]);
    let more = ["--draws", "40", "--no-report", "--resume"];
    let said = fit(&here, "parts", &more);
    assert!(said.err.contains("going on from draw 25"), "{}", said.err);
    let text = |path: &str| fs::read_to_string(here.0.join(path)).unwrap();
    for file in ["summary.csv", "subjects.csv"] {
        assert_eq!(
            text(&format!("whole/{file}")),
            text(&format!("parts/{file}"))
        );
    }
    assert!(here.0.join("parts/progress.json").exists());
    // Other priors are another model.
    here.file("priors.toml", "[B]\nm = 1.5\ns = 0.5\nh = 0.5\n");
    let args = "stop-signal fit sim/data.csv --tune 60 --chains 2 --max-treedepth 5 --draws 40 \
                --priors priors.toml --out parts --resume";
    here.fitzroy(&args.split_whitespace().collect::<Vec<_>>())
        .ends_with(2)
        .complains(&["another model"]);
}

#[test]
fn coverage_is_counted_over_studies_and_needs_some() {
    let here = Scratch::new("ss-coverage");
    let args =
        "stop-signal coverage --subjects 1 --repeats 2 --chains 2 --tune 20 --draws 20 --out c";
    // So few draws have not converged.
    let said = here.fitzroy(&args.split(' ').collect::<Vec<_>>());
    let said = said.ends_with(1);
    assert!(
        said.out.contains("subject values in 90 % intervals"),
        "{}",
        said.out
    );
    assert!(here.0.join("c/coverage.json").exists());
    let args = ["stop-signal", "coverage", "--repeats", "0"];
    here.fitzroy(&args)
        .ends_with(2)
        .complains(&["must be above 0"]);
}

/// Two subjects and few draws: files, summary and figures are there; convergence is not asked for.
#[test]
fn a_fit_leaves_its_files_and_check_reads_them() {
    let here = Scratch::new("ss-fit");
    simulate(&here, "2", "sim");
    let said = fit(&here, "fit", &["--draws", "60", "--json"]).json();
    assert!(
        said["summary"]
            .as_array()
            .unwrap()
            .iter()
            .any(|r| r["name"] == "ssrt")
    );
    for file in [
        "trace.nc",
        "subjects.csv",
        "data_report.json",
        "model.fz",
        "report.html",
        "summary.csv",
        "behaviour.png",
        "forest.png",
        "run.json",
    ] {
        assert!(here.0.join("fit").join(file).exists(), "{file}");
    }
    let table = fs::read_to_string(here.0.join("fit/subjects.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 2 * 13);
    assert!(table.contains("s002,ssrt,"));
    let args = [
        "stop-signal",
        "check",
        "fit",
        "--data",
        "sim/data.csv",
        "--truth",
        "sim/true_params.json",
        "--replicates",
        "20",
        "--out",
        "checked",
    ];
    // So few draws have no effective sample size of 400: the check fails and says so.
    let said = here.fitzroy(&args).ends_with(1);
    for part in [
        "FAIL  bulk ESS",
        "mu_B",
        "P(respond) at SSD",
        "SKIP  CPU against GPU",
    ] {
        assert!(said.out.contains(part), "no {part} in {}", said.out);
    }
    assert!(here.0.join("checked/ppc.csv").exists());
    let args =
        "stop-signal check fit --data sim/data.csv --against fit --replicates 20 --out again";
    let said = here.fitzroy(&args.split(' ').collect::<Vec<_>>());
    let said = said.ends_with(1);
    assert!(
        said.out.contains("PASS  this fit against the other"),
        "{}",
        said.out
    );
    let args = "stop-signal check fit --data sim/data.csv --against sim --out third";
    here.fitzroy(&args.split(' ').collect::<Vec<_>>())
        .ends_with(2);
    let args = ["stop-signal", "check", "fit", "--data", "other.csv"];
    here.file("other.csv", &csv(&good(40)));
    here.fitzroy(&args)
        .ends_with(2)
        .complains(&["knows no subject `a`"]);
}

#[test]
fn the_wald_baseline_is_fitted_by_both_densities() {
    let here = Scratch::new("ss-wald");
    simulate(&here, "2", "sim");
    for density in ["race", "single"] {
        let args = [
            "stop-signal",
            "fit",
            "sim/data.csv",
            "--model",
            "wald",
            "--wald-density",
            density,
            "--tune",
            "60",
            "--draws",
            "60",
            "--chains",
            "2",
            "--max-treedepth",
            "5",
            "--out",
            density,
            "--json",
            "--no-progress",
        ];
        let said = here.fitzroy(&args).ends_with(0).json();
        assert!(
            said["summary"]
                .as_array()
                .unwrap()
                .iter()
                .any(|r| r["name"] == "mu_v_true")
        );
    }
}

const PARAMS: &str = r#"{"B":1.25,"t0":0.15,"v_plus":3.2,"v_minus":0.6,"v0":2.6,"g":2.8,
    "stop_mu":0.24,"stop_sigma":0.045,"stop_tau":0.025,"pgf":0.03,"ptf":0.06}"#;

/// Values of the golden table of the library, by mpmath.
#[test]
fn loglik_prints_every_trial_in_its_order_with_slopes() {
    let here = Scratch::new("ss-loglik");
    here.file("p.json", PARAMS);
    here.file(
        "d.csv",
        "stimulus,subject,response,rt,ssd\n0,a,1,0.52,\n1,a,0,,\n1,a,2,0.42,0.2\n0,a,0,,0.15\n0,a,1,0.1,\n",
    );
    let args = [
        "stop-signal",
        "loglik",
        "--params",
        "p.json",
        "--data",
        "d.csv",
        "--grad",
    ];
    let said = here.fitzroy(&args).ends_with(0).json();
    let outcomes = [
        "go_match",
        "go_omission",
        "sr_match",
        "stop_success",
        "go_match",
    ];
    assert_eq!(said["outcome"], serde_json::json!(outcomes));
    assert_eq!(said["loglik"][4], "-Infinity");
    assert!((said["loglik"][1].as_f64().unwrap() - 0.03f64.ln()).abs() < 1e-14);
    assert!((said["grad"]["pgf"][1].as_f64().unwrap() - 1.0 / 0.03).abs() < 1e-10);
    assert_eq!(
        (&said["nodes"], &said["n"]),
        (&serde_json::json!(48), &serde_json::json!(5))
    );

    // One stop trial is enough here.
    here.file("s.csv", "subject,stimulus,response,rt,ssd\na,0,0,,0.2\n");
    let args = [
        "stop-signal",
        "loglik",
        "--params",
        "p.json",
        "--data",
        "s.csv",
    ];
    here.fitzroy(&args).ends_with(0);

    here.file(
        "less.json",
        &PARAMS.replace("\"ptf\":0.06", "\"stop_lb\":null"),
    );
    let args = [
        "stop-signal",
        "loglik",
        "--params",
        "less.json",
        "--data",
        "d.csv",
    ];
    here.fitzroy(&args)
        .ends_with(2)
        .complains(&["ptf is missing"]);
    here.file("more.json", &PARAMS.replace("\"g\"", "\"k\":1,\"g\""));
    let args = [
        "stop-signal",
        "loglik",
        "--params",
        "more.json",
        "--data",
        "d.csv",
    ];
    here.fitzroy(&args)
        .ends_with(2)
        .complains(&["`k` is no parameter"]);
}

/// Catches: responses after the deadline that stay in the data while the likelihood has their mass among
/// the omissions. Each is worth what no response is worth.
#[test]
fn responses_after_the_deadline_count_as_none_in_the_data_too() {
    let here = Scratch::new("ss-deadline");
    here.file("p.json", PARAMS);
    let header = "subject,stimulus,response,rt,ssd\n";
    here.file(
        "late.csv",
        &format!("{header}a,0,1,0.52,\na,0,1,1.2,\na,1,2,1.3,0.2\na,0,2,1.0,\n"),
    );
    here.file(
        "none.csv",
        &format!("{header}a,0,1,0.52,\na,0,0,,\na,1,NA,NA,0.2\na,0,2,1.0,\n"),
    );
    let loglik = |data: &str, deadline: &str| {
        let args = [
            "stop-signal",
            "loglik",
            "--params",
            "p.json",
            "--data",
            data,
        ];
        let args = [&args[..], &["--deadline", deadline]].concat();
        here.fitzroy(&args).ends_with(0).json()
    };
    let (late, none) = (loglik("late.csv", "1"), loglik("none.csv", "1"));
    assert_eq!(late["loglik"], none["loglik"]);
    assert_eq!(late["outcome"], none["outcome"]);
    assert_ne!(loglik("late.csv", "none")["loglik"], none["loglik"]);

    let mut rows = good(80);
    rows.push("a,0,1,1.2,".into());
    here.file("d.csv", &csv(&rows));
    let fit = [
        "stop-signal",
        "fit",
        "d.csv",
        "--deadline",
        "1",
        "--chains",
        "1",
    ];
    let few = ["--tune", "5", "--draws", "5", "--no-report"];
    here.fitzroy(&[&fit[..], &few].concat())
        .complains(&["1 responses later than the deadline of 1 s count as none (first: row 81)"]);
    let wald = [
        "stop-signal",
        "fit",
        "d.csv",
        "--model",
        "wald",
        "--deadline",
        "1",
    ];
    here.fitzroy(&wald)
        .ends_with(2)
        .complains(&["--deadline has no meaning for --model wald", "--rt-range"]);
}

/// Rows of one subject that are fine.
fn good(n: usize) -> Vec<String> {
    (0..n)
        .map(|k| match k % 4 {
            0 => "a,0,0,,0.2".to_string(),
            1 => "a,1,2,0.45,0.15".to_string(),
            _ => format!("a,{},{},0.{},", k % 2, 1 + k % 2, 40 + k % 30),
        })
        .collect()
}

fn csv(rows: &[String]) -> String {
    format!("subject,stimulus,response,rt,ssd\n{}\n", rows.join("\n"))
}

/// Every finding names its row; the file is refused before anything is written.
#[test]
fn bad_rows_are_named() {
    let here = Scratch::new("ss-bad");
    let fit = |text: &str, parts: &[&str]| {
        here.file("bad.csv", text);
        let args = ["stop-signal", "fit", "bad.csv", "--out", "never"];
        here.fitzroy(&args).ends_with(2).complains(parts);
        assert!(!here.0.join("never").exists());
    };
    let with = |row: &str, parts: &[&str]| {
        let mut rows = good(80);
        rows.insert(7, row.into());
        fit(&csv(&rows), parts);
    };
    with("a,0,1,,", &["bad.csv, row 8", "a response without rt"]);
    with("a,0,1,-0.3,", &["row 8", "rt is -0.3"]);
    with("a,0,1,0.5,-0.1", &["row 8", "ssd is -0.1"]);
    with("a,0,3,0.5,", &["row 8", "response is `3`"]);
    with("a,2,1,0.5,", &["row 8", "stimulus is `2`"]);
    with("a,0,1,soon,", &["row 8", "rt is `soon`"]);
    with(",0,1,0.5,", &["row 8", "`subject` is empty"]);
    with("b,0,1,0.5,", &["row 9", "subject `a` comes back"]);
    let ms: Vec<String> = good(80).iter().map(|r| r.replace("0.", "")).collect();
    fit(&csv(&ms), &["milliseconds", "--unit ms", "row"]);
    fit("", &["the file is empty"]);
    fit("subject,stimulus,response,rt,ssd\n", &["no trial"]);
    fit(
        "subject,response,rt\n1,1,0.5\n",
        &["column stimulus, ssd is missing"],
    );
    let go: Vec<String> = good(80).into_iter().filter(|r| r.ends_with(',')).collect();
    fit(&csv(&go), &["subject `a` has no stop trial"]);
    let stop: Vec<String> = good(80).into_iter().filter(|r| !r.ends_with(',')).collect();
    fit(&csv(&stop), &["go trials must have an empty ssd"]);
    let silent: Vec<String> = stop.iter().cloned().chain(["a,0,0,,".into()]).collect();
    fit(&csv(&silent), &["never responds on go trials"]);
    fit(
        "subject,stimulus,response,rt,ssd,trial_type\na,0,1,0.5,,go\na,0,0,,,stop\n",
        &["row 2", "a stop trial without ssd"],
    );
}

/// Times below the range, where no t0 could lie before them, are left out and counted.
#[test]
fn fast_responses_are_left_out_and_said() {
    let here = Scratch::new("ss-fast");
    let mut rows = good(80);
    rows.insert(5, "a,0,1,0.05,".into());
    here.file("fast.csv", &csv(&rows));
    let args = [
        "stop-signal",
        "fit",
        "fast.csv",
        "--tune",
        "20",
        "--draws",
        "20",
        "--chains",
        "1",
        "--max-treedepth",
        "3",
        "--out",
        "fit",
        "--no-report",
    ];
    here.fitzroy(&args)
        .ends_with(0)
        .complains(&["left out: a 1 (first: row 6)"]);
}

#[test]
fn wrong_flags_are_explained() {
    let here = Scratch::new("ss-flags");
    here.file("d.csv", &csv(&good(80)));
    let fit = |more: &[&str], parts: &[&str]| {
        let args = [&["stop-signal", "fit", "d.csv"], more].concat();
        here.fitzroy(&args).ends_with(2).complains(parts);
    };
    fit(&["--centred", "b"], &["`b` is no parameter"]);
    fit(
        &["--centred", "B", "--noncentred", "B"],
        &["both centred and non-centred"],
    );
    fit(&["--rt-range", "2:1"], &["--rt-range is `2:1`"]);
    fit(&["--deadline", "soon"], &["--deadline is `soon`"]);
    fit(&["--block", "3/2"], &["--block is `3/2`"]);
    fit(&["--only", "zoe"], &["no subject `zoe`"]);
    here.file("priors.toml", "[B]\nmean = 1\n");
    fit(
        &["--priors", "priors.toml"],
        &["priors.toml", "has no `mean`"],
    );
    here.file("population.toml", "[population]\nB = 1\n");
    let args = ["stop-signal", "simulate", "--config", "population.toml"];
    here.fitzroy(&args)
        .ends_with(2)
        .complains(&["population.toml", "t0 is missing"]);
}

/// The same trials in another laboratory's export have the same fit, and what was left out is written.
#[test]
fn an_export_with_a_layout_has_the_fit_of_the_plain_file() {
    let here = Scratch::new("ss-layout");
    simulate(&here, "3", "sim");
    let plain = fs::read_to_string(here.0.join("sim/data.csv")).unwrap();
    let mut lines = plain.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let mut export = String::from("Merged 5.1.2024\n\nID;Pic;Key;RT;Delay\n");
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let pic = if matches!(cells[at("stimulus")], "0" | "left") {
            "A"
        } else {
            "B"
        };
        let key = match cells[at("response")] {
            "1" | "left" => "f",
            "2" | "right" => "j",
            _ => "",
        };
        let times = [cells[at("rt")], cells[at("ssd")]].map(|t| t.replace('.', ","));
        export += &format!("{};{pic};{key};{}\n", cells[at("subject")], times.join(";"));
    }
    here.file("export.txt", &export);
    here.file(
        "layout.yaml",
        "columns: {subject: ID, stimulus: Pic, response: Key, rt: RT, ssd: Delay}\ncodes:\n  stimulus: {left: A, right: B}\n  \
         response: {none: '', left: f, right: j}\n",
    );
    fit(&here, "plain", &["--draws", "20", "--no-report"]);
    let args = "stop-signal fit export.txt --columns layout.yaml --tune 60 --chains 2 --max-treedepth 5 --no-progress \
                --draws 20 --no-report --out other";
    let said = here
        .fitzroy(&args.split_whitespace().collect::<Vec<_>>())
        .ends_with(0);
    let text = |path: &str| fs::read_to_string(here.0.join(path)).unwrap();
    assert_eq!(text("plain/subjects.csv"), text("other/subjects.csv"));
    assert!(
        said.err.contains("data: cells are separated by `;`"),
        "{}",
        said.err
    );
    let first = said
        .out
        .lines()
        .skip_while(|l| !l.starts_with("mu_ssrt"))
        .take(4);
    let first: Vec<&str> = first
        .map(|l| l.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(
        first,
        ["mu_ssrt", "mu_stop_mu", "mu_stop_sigma", "mu_stop_tau"],
        "{}",
        said.out
    );
    let more = ["--min-accuracy", "0.99999", "--dry-run"];
    let all: Vec<&str> = args.split_whitespace().chain(more).collect();
    here.fitzroy(&all)
        .ends_with(2)
        .complains(&["no subject is left", "go accuracy below 0.99999"]);
    let wrong = "stop-signal fit export.txt --profile abcd --out third";
    here.fitzroy(&wrong.split(' ').collect::<Vec<_>>())
        .ends_with(2)
        .complains(&["column subject, sst_stim", "--columns subject=COLUMN"]);
    let wrong = "stop-signal fit export.txt --min-accuracy 60 --out third";
    here.fitzroy(&wrong.split(' ').collect::<Vec<_>>())
        .ends_with(2)
        .complains(&["--min-accuracy is 60", "a share from 0 to 1"]);
}

/// Four subjects in two blocks and few draws: files are there and subjects are all; whether such a
/// combination can be trusted is not asked for.
#[test]
fn blocks_are_combined_and_what_are_no_blocks_is_refused() {
    let here = Scratch::new("ss-combine");
    simulate(&here, "4", "sim");
    let short = ["--draws", "40", "--no-report"];
    for (block, out) in [("1/2", "a"), ("2/2", "b")] {
        fit(&here, out, &[&short[..], &["--block", block]].concat());
    }
    let combine = |words: &str| {
        let all = ["stop-signal", "combine"]
            .into_iter()
            .chain(words.split(' '));
        here.fitzroy(&all.collect::<Vec<_>>())
    };
    let said = combine("a b --out both --draws 30 --tune 40 --no-progress --json");
    assert!([0, 1].contains(&said.code), "{}", said.err);
    let document = said.json();
    assert_eq!(
        (
            document["subjects"].as_u64(),
            document["child_draws"].as_u64()
        ),
        (Some(4), Some(80))
    );
    assert_eq!(document["trusted"].as_bool(), Some(said.code == 0));
    for file in [
        "trace.nc",
        "summary.csv",
        "subjects.csv",
        "combine.json",
        "model.fz",
        "report.html",
    ] {
        assert!(here.0.join("both").join(file).exists(), "{file}");
    }
    let table = fs::read_to_string(here.0.join("both/subjects.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 4 * 13);
    let summary = fs::read_to_string(here.0.join("both/summary.csv")).unwrap();
    assert!(
        summary.lines().nth(1).unwrap().starts_with("mu_ssrt,"),
        "{summary}"
    );
    // What cannot be put together.
    combine("a a")
        .ends_with(2)
        .complains(&["subject `s001` is in a and in a"]);
    combine("a sim")
        .ends_with(2)
        .complains(&["sim: this is not the folder of a finished"]);
    combine("a b --child-draws 3")
        .ends_with(2)
        .complains(&["--child-draws must be 20 or more"]);
    here.file("priors.toml", "[B]\nm = 1.5\n");
    fit(
        &here,
        "c",
        &[&short[..], &["--block", "2/2", "--priors", "priors.toml"]].concat(),
    );
    combine("a c")
        .ends_with(2)
        .complains(&["different models or priors"]);
    fit(
        &here,
        "d",
        &[&short[..], &["--block", "2/2", "--pooling", "none"]].concat(),
    );
    combine("d").ends_with(2).complains(&["--pooling partial"]);
    // Children apart are sampled one by one: their draws are the same in any block.
    fit(
        &here,
        "alone",
        &[&short[..], &["--pooling", "none"]].concat(),
    );
    let rows = |folder: &str| {
        let table = fs::read_to_string(here.0.join(folder).join("subjects.csv")).unwrap();
        let theirs = table
            .lines()
            .filter(|l| l.starts_with("s003") || l.starts_with("s004"));
        theirs.map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(rows("d").len(), 2 * 13);
    assert_eq!(rows("d"), rows("alone"));
    // The others apart, under the population of the first two; then all, under that of the combination.
    let under = |folder: &'static str| [&short[..], &["--interim", folder]].concat();
    fit(
        &here,
        "rest",
        &[&under("a")[..], &["--block", "2/2"]].concat(),
    );
    let said = combine("a rest --out half --draws 30 --tune 40 --no-progress --json --no-report");
    assert_eq!(said.json()["subjects"].as_u64(), Some(4), "{}", said.err);
    fit(&here, "apart", &under("half"));
    let said = combine("apart --out all --draws 30 --tune 40 --no-progress --json --no-report");
    assert_eq!(said.json()["subjects"].as_u64(), Some(4), "{}", said.err);
    let refused = |folder: &str, message: &str| {
        let words = format!("stop-signal fit sim/data.csv --interim {folder} --out no");
        here.fitzroy(&words.split(' ').collect::<Vec<_>>())
            .ends_with(2)
            .complains(&[message]);
    };
    refused("c", "c: its model or its priors differ");
    refused("sim", "cannot be read");
}

/// A group of children in two blocks: its slope is drawn, named and combined. What it is about is said.
#[test]
fn populations_depend_on_columns_of_a_table_of_children() {
    let here = Scratch::new("ss-slopes");
    simulate(&here, "4", "sim");
    here.file(
        "children.csv",
        "subject,age,group\ns001,9,a\ns002,10,b\ns003,11,a\ns004,10.5,b\n",
    );
    let slopes = [
        "--subjects",
        "children.csv",
        "--slope",
        "stop_mu=age,ptf=group",
    ];
    let short = ["--draws", "30", "--no-report"];
    for (block, out) in [("1/2", "a"), ("2/2", "b")] {
        fit(
            &here,
            out,
            &[&short[..], &slopes, &["--block", block]].concat(),
        );
    }
    let text = |path: &str| fs::read_to_string(here.0.join(path)).unwrap();
    let summary = text("a/summary.csv");
    let names: Vec<&str> = summary
        .lines()
        .map(|l| l.split(',').next().unwrap())
        .collect();
    assert_eq!(names[1], "mu_ssrt");
    assert_eq!(
        names[13..15],
        ["slope_stop_mu_x_age", "slope_ptf_x_group_b"]
    );
    let report: serde_json::Value = serde_json::from_str(&text("a/data_report.json")).unwrap();
    let said = report["covariates"][1]["meaning"].as_str().unwrap();
    assert_eq!(said, "group: 1 for b, 0 for a and others");
    let all = "stop-signal combine a b --out both --draws 30 --tune 40 --no-progress --no-report";
    let said = here.fitzroy(&all.split(' ').collect::<Vec<_>>());
    assert!([0, 1].contains(&said.code), "{}", said.err);
    assert!(text("both/summary.csv").contains("\nslope_stop_mu_x_age,"));
    // The second half apart under the first.
    let interim = ["--block", "2/2", "--interim", "a"];
    fit(&here, "c", &[&short[..], &slopes, &interim].concat());
    let all = "stop-signal combine a c --out some --draws 30 --tune 40 --no-progress --no-report";
    let said = here.fitzroy(&all.split(' ').collect::<Vec<_>>());
    assert!([0, 1].contains(&said.code), "{}", said.err);
    assert!(text("some/summary.csv").contains("\nslope_ptf_x_group_b,"));
    let refused = |more: &str, what: &str| {
        let args = format!("stop-signal fit sim/data.csv --out x {more}");
        here.fitzroy(&args.split(' ').collect::<Vec<_>>())
            .ends_with(2)
            .complains(&[what]);
    };
    refused("--slope g=age", "--subjects");
    refused(
        "--subjects children.csv --slope g=iq",
        "column iq is missing",
    );
    refused(
        "--subjects children.csv --slope g",
        "--slope g: give PARAMETER=COLUMN",
    );
    let none = "--subjects children.csv --slope g=age --pooling none";
    refused(none, "slopes are on the parameters of a population");
}

/// The whole chain on two subjects; so few draws do not converge, and it says so.
#[test]
fn a_validation_is_one_command_with_a_checklist() {
    let here = Scratch::new("ss-validate");
    let args = "stop-signal validate --subjects 2 --chains 2 --tune 60 --draws 40 --replicates 20 \
                --device cpu --no-progress --out valid";
    let said = here
        .fitzroy(&args.split_whitespace().collect::<Vec<_>>())
        .ends_with(1);
    for part in [
        "FAIL  bulk ESS",
        "mu_B",
        "P(respond) at SSD",
        "SKIP  CPU against GPU",
        " failed, ",
    ] {
        assert!(said.out.contains(part), "no {part} in {}", said.out);
    }
    for file in [
        "data.csv",
        "true_params.json",
        "validation.json",
        "behaviour.png",
        "report.html",
    ] {
        assert!(here.0.join("valid").join(file).exists(), "{file}");
    }
    let none = ["stop-signal", "validate", "--subjects", "0"];
    here.fitzroy(&none)
        .ends_with(2)
        .complains(&["must be above 0"]);
}

/// Catches: a model that its simulator, its fit, its checks or its log likelihood does not know.
#[test]
fn the_ex_gaussian_race_goes_the_whole_way() {
    let here = Scratch::new("ss-ex-gaussian");
    let run = |text: &str| here.fitzroy(&text.split_whitespace().collect::<Vec<_>>());
    run("stop-signal simulate --model ex-gaussian --subjects 2 --seed 3 --out sim").ends_with(0);
    let model = "--model ex-gaussian --correlated --log-likelihood";
    let said = fit(
        &here,
        "fit",
        &[
            &["--draws", "40", "--no-report"],
            &model.split(' ').collect::<Vec<_>>()[..],
        ]
        .concat(),
    );
    assert!(said.out.contains("mu_ssrt"), "{}", said.out);
    assert!(
        said.out
            .contains("of 55 pairs have a 90 % interval without 0"),
        "{}",
        said.out
    );
    let text = |path: &str| fs::read_to_string(here.0.join(path)).unwrap();
    assert_eq!(text("fit/correlations.csv").lines().count(), 1 + 55);
    assert_eq!(text("fit/subjects.csv").lines().count(), 1 + 2 * 13);
    // So few draws have not converged; the truth and the model are known all the same.
    let said = run(
        "stop-signal check fit --data sim/data.csv --model ex-gaussian --truth \
                    sim/true_params.json --replicates 20 --out checked",
    )
    .ends_with(1);
    assert!(said.out.contains("mu_error_mu"), "{}", said.out);
    run("stop-signal combine fit fit --out both")
        .ends_with(2)
        .complains(&["subjects' effects are correlated"]);
    for (flags, why) in [
        ("--model wald --correlated", "--pooling partial"),
        ("--correlated=-1", "must be above 0"),
        (
            "--go-lb 0.1",
            "--go-lb has no meaning for --model rdex-abcd",
        ),
        ("--model ex-gaussian --go-lb=-1", "give seconds, 0 or more"),
        ("--model beests", "ex-gaussian-single"),
    ] {
        run(&format!("stop-signal fit sim/data.csv {flags}"))
            .ends_with(2)
            .complains(&[why]);
    }
    here.file(
        "p.json",
        "{\"go_mu\": 0.4, \"go_sigma\": 0.05, \"go_tau\": 0.1, \"stop_mu\": 0.2, \"stop_sigma\": 0.04, \
         \"stop_tau\": 0.03, \"pgf\": 0.02, \"ptf\": 0.05, \"go_lb\": 0.1}",
    );
    here.file(
        "one.csv",
        "subject,stimulus,response,rt,ssd\na,0,1,0.5,\na,0,2,0.5,\na,0,0,,0.2\n",
    );
    let said =
        run("stop-signal loglik --params p.json --data one.csv --model ex-gaussian-single --grad")
            .json();
    assert_eq!(said["loglik"][0], said["loglik"][1]);
    assert_eq!(said["grad"]["go_tau"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&said["model"], &said["go_lb"]),
        (&"ex-gaussian-single".into(), &0.1.into())
    );
}
