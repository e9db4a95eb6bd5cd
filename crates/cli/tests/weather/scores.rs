//! Ensembles, forecasts of others, and verdicts.

use super::program::Scratch;
use super::{evaluate, parameters, predict, synthetic, train};
use std::fs;

/// Members are trained one after the other, go on where they were, and are scored and forecast with as one.
#[test]
fn an_ensemble_is_trained_scored_and_forecast_with() {
    let scratch = Scratch::new("weather-ensemble");
    synthetic(&scratch, "a.nc", &["--days", "50"]);
    let said = scratch.fitzroy(&train(&[
        "--variables",
        "U",
        "--members",
        "2",
        "--max-steps",
        "4",
        "--out",
        "all",
        "--json",
    ]));
    let done = said.ends_with(0).json();
    let members = done["members"].as_array().expect("members");
    assert_eq!(
        (members.len(), &members[1]["seed"]),
        (2, &serde_json::json!(43))
    );
    // A member is what a training of its seed is.
    scratch
        .fitzroy(&train(&[
            "--variables",
            "U",
            "--seed",
            "43",
            "--max-steps",
            "4",
            "--out",
            "one",
        ]))
        .ends_with(0);
    let end = |run: &str| parameters(&scratch.0.join(run).join("checkpoint-00000004.safetensors"));
    assert!(end("all/member-02") == end("one") && end("all/member-01") != end("one"));
    let more = ["--members", "3", "--variables", "U", "--max-steps", "4"];
    let more = [&more[..], &["--resume-from", "all"]].concat();
    let said = scratch.fitzroy(&train(&more)).ends_with(0);
    said.says(&[
        "member-01: finished",
        "member-03: finished, 4 steps",
        "wrote all",
    ]);
    let more = [
        "--leads",
        "3",
        "--out",
        "scores",
        "--visualizations",
        "--json",
    ];
    let said = scratch.fitzroy(&evaluate("a.nc", "all", &more));
    let scores = said.ends_with(0).json();
    assert_eq!(scores["members"], 3);
    let first = &scores["scores"][0];
    assert!(first["spread"].as_f64().is_some_and(|s| s > 0.0));
    assert!(first["crps"].as_f64() < first["mae"].as_f64());
    let [low, high] = [0, 1].map(|k| first["rmse_interval"][k].as_f64().expect("an interval"));
    assert!((low..high).contains(&first["rmse"].as_f64().expect("a score")));
    assert_eq!(
        scores["by_variable"].as_array().map(Vec::len),
        Some(5 * 3 * 2)
    );
    let page = fs::read_to_string(scratch.0.join("scores/report.html")).expect("a page");
    for part in [
        "Spread and error of 3 members",
        "By variable and lead",
        "Beside persistence: ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(scratch.0.join("scores/spread_skill.png").is_file());
    let table = fs::read_to_string(scratch.0.join("scores/scores.csv")).expect("a table");
    let columns: Vec<usize> = table.lines().map(|line| line.split(',').count()).collect();
    assert!(
        columns[0] == 32 && columns.iter().all(|n| *n == 32),
        "{columns:?}"
    );
    let more = [
        "all/member-03/best.safetensors",
        "--output",
        "f.nc",
        "--json",
    ];
    let made = scratch
        .fitzroy(&predict("a.nc", "all/member-01", "2000-01-10", &more))
        .ends_with(0)
        .json();
    assert_eq!(made["checkpoints"].as_array().map(Vec::len), Some(2));
    let other = train(&[
        "--max-steps",
        "2",
        "--boundary-width",
        "2",
        "--out",
        "other",
    ]);
    let usual = other
        .iter()
        .position(|a| *a == "--boundary-width")
        .expect("a width");
    let other = [&other[..usual], &other[usual + 2..]].concat();
    scratch.fitzroy(&other).ends_with(0);
    let said = scratch.fitzroy(&evaluate("a.nc", "all", &["other"]));
    said.ends_with(2)
        .complains(&["cannot be members of one ensemble", "task"]);
}

/// The model's own forecasts, given as those of others, have its scores; files that do not say when they were made, or
/// are of other times, are refused.
#[test]
fn forecasts_of_others_are_one_more_column() {
    let scratch = Scratch::new("weather-theirs");
    synthetic(&scratch, "a.nc", &[]);
    let flags = ["--variables", "U,TEM", "--max-steps", "4", "--out", "run"];
    scratch.fitzroy(&train(&flags)).ends_with(0);
    for (time, file) in [("2000-01-11T12", "f1.nc"), ("2000-01-11T18", "f2.nc")] {
        let more = ["--num-steps", "3", "--output", file];
        scratch
            .fitzroy(&predict("a.nc", "run", time, &more))
            .ends_with(0);
    }
    let more = [
        "--leads",
        "2",
        "--forecast",
        "f2.nc",
        "f1.nc",
        "--out",
        "scores",
        "--json",
    ];
    let parts = ["--subregion", "north=46,90,-180,180", "west=-90,90,-20,0"];
    let scores = scratch
        .fitzroy(&evaluate("a.nc", "run", &[&parts[..], &more].concat()))
        .ends_with(0)
        .json();
    assert_eq!(scores["forecasts"], 2);
    assert_eq!(scores["first_start"], "2000-01-11T12:00");
    let of = |method: &str| -> Vec<f64> {
        let all = scores["scores"].as_array().expect("scores").iter();
        let own = all.filter(|s| s["method"] == method);
        own.map(|s| s["rmse"].as_f64().expect("a score")).collect()
    };
    let (own, theirs) = (of("model"), of("forecast"));
    assert_eq!(own.len(), 8);
    for (a, b) in own.iter().zip(&theirs) {
        assert!((a / b - 1.0).abs() < 1e-3, "{own:?} {theirs:?}");
    }
    let page = fs::read_to_string(scratch.0.join("scores/report.html")).expect("a page");
    assert!(page.contains("Beside forecast: ") && page.contains("Parts of the region"));
    let parts = scores["by_subregion"].as_array().expect("parts");
    assert_eq!(
        (parts.len(), &parts[0]["subregion"]),
        (2 * 6 * 8, &serde_json::json!("north"))
    );
    let two =
        |more: &[&'static str]| evaluate("a.nc", "run", &[&["--leads", "2"][..], more].concat());
    let far = ["--subregion", "far=-50,-40,0,10"];
    let said = scratch.fitzroy(&two(&far));
    said.ends_with(2)
        .complains(&["--subregion far", "no point"]);
    let said = scratch.fitzroy(&two(&["--forecast", "a.nc"]));
    said.ends_with(2)
        .complains(&["--forecast a.nc", "when the forecast was made"]);
    let said = scratch.fitzroy(&two(&["--forecast", "f1.nc", "f1.nc"]));
    said.ends_with(2)
        .complains(&["two files are of 2000-01-11T12:00"]);
    let late = ["--test-start-time", "2000-01-12", "--forecast", "f1.nc"];
    let said = scratch.fitzroy(&two(&late));
    said.ends_with(2)
        .complains(&["for which --forecast has all times"]);
}

/// A network that has not learnt is called ahead of nothing; the end of its training says so, too.
#[test]
fn an_untrained_network_does_not_pass() {
    let scratch = Scratch::new("weather-untrained");
    synthetic(&scratch, "a.nc", &["--days", "80"]);
    let flags = [
        "--learning-rate",
        "1e-12",
        "--max-steps",
        "2",
        "--out",
        "run",
    ];
    let mut args = train(&flags);
    let usual = args.iter().position(|a| *a == "1e-3").expect("a rate");
    args.drain(usual - 1..=usual);
    let said = scratch.fitzroy(&args);
    let said = said.ends_with(0);
    assert!(
        said.out.contains("beside the untrained start"),
        "{}",
        said.out
    );
    let more = ["--leads", "8", "--out", "scores", "--strict"];
    let said = scratch
        .fitzroy(&evaluate("a.nc", "run", &more))
        .ends_with(1);
    assert!(said.out.contains("not ahead: "), "{}", said.out);
    let scores = std::fs::read_to_string(scratch.0.join("scores/scores.json")).expect("scores");
    assert!(scores.contains("no advantage over start beyond chance (RMSE ratio 1.000"));
    let page = std::fs::read_to_string(scratch.0.join("scores/report.html")).expect("a page");
    assert!(page.contains("not ahead of a baseline"));
    let found = scratch.fitzroy(&["report", "scores"]).ends_with(0);
    assert!(found.out.contains("report.html"), "{}", found.out);
    scratch
        .fitzroy(&["report", "scores", "--out", "copy.html"])
        .ends_with(0);
    let copy = std::fs::read_to_string(scratch.0.join("copy.html")).expect("a copy");
    assert_eq!(copy, page);
    let said = scratch.fitzroy(&evaluate("a.nc", "run", &["--no-baselines", "--strict"]));
    said.ends_with(2).complains(&["--strict"]);
}

/// Data of the test time alone: scored beside persistence and the start, with a word for what is
/// left out; a verdict is refused.
#[test]
fn scores_need_no_training_records() {
    let scratch = Scratch::new("weather-later");
    synthetic(&scratch, "a.nc", &[]);
    scratch
        .fitzroy(&train(&[
            "--max-steps",
            "2",
            "--test-start-date",
            "2000-01-08",
            "--out",
            "run",
        ]))
        .ends_with(0);
    let more = ["--num-steps", "12", "--output", "later.nc"];
    scratch
        .fitzroy(&predict("a.nc", "run", "2000-01-08", &more))
        .ends_with(0);
    let more = ["--leads", "2", "--out", "scores", "--json"];
    let said = scratch
        .fitzroy(&evaluate("later.nc", "run", &more))
        .ends_with(0);
    let said = said.complains(&["none of the training records", "linear model is left out"]);
    let scores = said.json();
    let methods: std::collections::BTreeSet<&str> = scores["scores"]
        .as_array()
        .expect("scores")
        .iter()
        .filter_map(|s| s["method"].as_str())
        .collect();
    assert_eq!(
        methods.into_iter().collect::<Vec<_>>(),
        ["climatology", "model", "persistence", "start"]
    );
    // The file is the model's own forecast, but for rain, which is not negative in it.
    let own = scores["scores"].as_array().expect("scores").iter();
    let own = own.filter(|s| s["method"] == "model" && s["variable"] == "TEM");
    assert!(
        own.filter_map(|s| s["rmse"].as_f64())
            .all(|rmse| rmse < 0.02)
    );
    let said = scratch.fitzroy(&evaluate("later.nc", "run", &["--leads", "2", "--strict"]));
    said.ends_with(2)
        .complains(&["--strict", "training records"]);
}
