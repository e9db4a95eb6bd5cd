//! A training that starts from the weights of another.

use super::program::Scratch;
use super::{evaluate, parameters, predict, synthetic, train};
use std::fs;

/// A run starts from the weights of another with a variable more, and is told so; names, region and
/// missing values of its training are those of the checkpoint, to the end.
#[test]
fn a_run_starts_from_the_weights_of_another_and_remembers_how_it_read() {
    let scratch = Scratch::new("weather-init");
    synthetic(&scratch, "a.nc", &[]);
    fs::write(
        scratch.0.join("names.toml"),
        "[upper]\nnames = [\"TEM\"]\nunits = \"K\"\n",
    )
    .expect("written");
    let first = [
        "--variables",
        "U,V",
        "--region",
        "36,54,-9,9",
        "--missing",
        "fill",
        "--names",
        "names.toml",
        "--max-steps",
        "6",
        "--out",
        "run",
        "--json",
    ];
    let first = scratch.fitzroy(&train(&first)).ends_with(0).json();
    assert!(first["init_from"].is_null());
    fs::remove_file(scratch.0.join("names.toml")).expect("removed");
    // Neither sizes nor region nor names are said again.
    let tune = [
        "weather",
        "train",
        "--data",
        "a.nc",
        "--init-from",
        "run",
        "--decay-steps",
        "30",
    ];
    let more = [
        "--variables",
        "U,V,GPH",
        "--levels",
        "250,850",
        "--learning-rate",
        "1e-4",
    ];
    let run = [
        "--loss",
        "mae",
        "--max-steps",
        "3",
        "--validation-frequency",
        "2",
        "--out",
        "tuned",
    ];
    let said = scratch
        .fitzroy(&[&tune[..], &more, &run].concat())
        .ends_with(0);
    said.complains(&[
        "starts from the weights of run/best.safetensors, step",
        "channels taken over with their scales: U 250 hPa, U 850 hPa, V 250 hPa, V 850 hPa; new: GPH 250 hPa, GPH 850 hPa",
    ]);
    let text = fs::read_to_string(scratch.0.join("tuned/run.json")).expect("it is there");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["init_from"]["new_channels"][1], "GPH 850 hPa");
    assert_eq!(document["reading"]["missing"], "fill");
    assert_eq!(document["reading"]["region"][1], 54.0);
    assert!(
        document["reading"]["names"]
            .as_str()
            .is_some_and(|t| t.contains("[upper]"))
    );
    let page = fs::read_to_string(scratch.0.join("tuned/report.html")).expect("a page");
    assert!(page.contains("started from"));
    // It goes on with the scales that it took over, as if it had not stopped.
    let on = ["--max-steps", "5", "--out", "whole"];
    let whole = [
        &tune[..],
        &more,
        &["--loss", "mae", "--validation-frequency", "2"],
        &on,
    ]
    .concat();
    scratch.fitzroy(&whole).ends_with(0);
    let mut rest = [&tune[..], &more, &run[..6]].concat();
    let steps = rest.len() - 3;
    rest[steps] = "5";
    rest.extend_from_slice(&["--resume-from", "tuned"]);
    scratch.fitzroy(&rest).ends_with(0);
    let end = |run: &str| parameters(&scratch.0.join(run).join("checkpoint-00000005.safetensors"));
    assert!(end("tuned") == end("whole"));
    let more = ["--leads", "1", "--out", "scores", "--json"];
    let scores = scratch
        .fitzroy(&evaluate("a.nc", "tuned", &more))
        .ends_with(0)
        .json();
    assert_eq!(scores["scores"].as_array().map(Vec::len), Some(5 * 6));
    let asked = predict("a.nc", "tuned", "2000-01-10", &["--output", "f.nc"]);
    scratch.fitzroy(&asked).ends_with(0);
    let said = scratch.fitzroy(&[&tune[..], &["--latent-size", "24"]].concat());
    said.ends_with(2)
        .complains(&["--latent-size is 16 there, 24 here"]);
    let said = scratch.fitzroy(&[&tune[..], &["--variables", "U"]].concat());
    said.ends_with(2)
        .complains(&["V 250 hPa, V 850 hPa", "not lose them"]);
}

/// A variable that is read alone is not forecast and not scored; a training that starts
/// from its weights reads it alone, too.
#[test]
fn a_variable_that_is_read_alone_is_not_forecast() {
    let scratch = Scratch::new("weather-forcing");
    synthetic(&scratch, "a.nc", &[]);
    let with = |more: &[&'static str]| {
        let all = [&["--variables", "U,V,GPH"], more].concat();
        scratch.fitzroy(&train(&all))
    };
    let said = with(&["--forcing", "U,rain", "--out", "no"]).ends_with(2);
    said.complains(&["--forcing rain", "none of the variables"]);
    let said = with(&["--forcing", "U,V,GPH", "--out", "no"]).ends_with(2);
    said.complains(&["--forcing leaves no variable"]);
    let short = ["--max-steps", "4", "--out"];
    with(&[&["--forcing", "U"], &short[..], &["run"]].concat()).ends_with(0);
    let scores = ["--leads", "2", "--json", "--out", "scores"];
    let scored = scratch.fitzroy(&evaluate("a.nc", "run", &scores));
    let scored = scored.ends_with(0).json();
    let names = scored["scores"].as_array().expect("scores").iter();
    let names: Vec<&str> = names.filter_map(|s| s["variable"].as_str()).collect();
    assert!(names.contains(&"V") && !names.contains(&"U"));
    let asked = ["--num-steps", "3", "--output", "f.nc"];
    let said = scratch.fitzroy(&predict("a.nc", "run", "2000-01-09", &asked));
    said.ends_with(0);
    let from = ["--init-from", "run"];
    let said = with(&[&from[..], &["--forcing", "V"], &short, &["other"]].concat());
    said.ends_with(2)
        .complains(&["--forcing V", "reads alone U"]);
    with(&[&from[..], &short, &["tuned"]].concat()).ends_with(0);
    let said = with(&["--resume-from", "run", "--max-steps", "6"]).ends_with(2);
    said.complains(&["forcing"]);
}
