//! `fitzroy weather` as a user meets it: from synthetic data to a forecast, and what goes wrong.

mod program;

use program::{
    SMALL_NETWORK, SMALL_WEATHER, Scratch, SmallDisk, fitzroy, program, repository, run,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Twelve days of weather on 9 x 9 points, made in a moment.
fn synthetic(scratch: &Scratch, name: &str, more: &[&str]) -> String {
    let mut args = vec!["weather", "synth", "--out", name];
    let usual = SMALL_WEATHER.chunks(2);
    args.extend(usual.filter(|flag| !more.contains(&flag[0])).flatten());
    args.extend_from_slice(more);
    scratch.fitzroy(&args).ends_with(0);
    name.to_string()
}

fn train(more: &[&'static str]) -> Vec<&'static str> {
    let mut args = vec!["weather", "train", "--data", "a.nc"];
    args.extend_from_slice(&SMALL_NETWORK);
    args.extend_from_slice(more);
    args
}

#[test]
fn synthetic_data_become_a_scored_forecast() {
    let scratch = Scratch::new("weather-chain");
    synthetic(&scratch, "a.nc", &[]);
    let said = scratch.fitzroy(&train(&["--max-steps", "6", "--out", "run", "--json"]));
    let trained = said.ends_with(0).json();
    assert_eq!(trained["steps"], 6);
    assert!(trained["best_validation_loss"].as_f64().unwrap() > 0.0);
    for name in [
        "best.safetensors",
        "checkpoint-00000006.safetensors",
        "metrics.jsonl",
    ] {
        assert!(scratch.0.join("run").join(name).exists(), "{name}");
    }
    let scored = scratch.fitzroy(&[
        "weather",
        "evaluate",
        "--data",
        "a.nc",
        "--checkpoint",
        "run/best.safetensors",
        "--leads",
        "2",
        "--out",
        "scores",
        "--json",
    ]);
    let scored = scored.ends_with(0).json();
    let scores = scored["scores"].as_array().unwrap();
    // Five methods, two leads, five variables on two levels and rain.
    assert_eq!(scores.len(), 5 * 2 * 11);
    // Two days of initial times tell nothing from chance.
    assert_eq!(scored["passed"], false);
    assert!(scored["comparisons"][0]["chance"].is_null());
    assert_eq!(scored["linear_penalties"].as_array().unwrap().len(), 2);
    assert!(
        scores
            .iter()
            .all(|s| s["rmse"].as_f64().unwrap().is_finite())
    );
    scratch
        .fitzroy(&[
            "weather",
            "predict",
            "--data",
            "a.nc",
            "--checkpoint",
            "run",
            "--initial-time",
            "2000-01-10",
            "--num-steps",
            "3",
            "--output",
            "forecast.nc",
        ])
        .ends_with(0);
    // What was written can be read as data again, and holds three times: too few to train on.
    let said = scratch.fitzroy(&["weather", "train", "--data", "forecast.nc", "--dry-run"]);
    said.ends_with(2).complains(&["3 records are too few"]);
}

#[test]
fn a_dry_run_says_what_would_be_trained() {
    let scratch = Scratch::new("weather-dry");
    synthetic(&scratch, "a.nc", &[]);
    let plan = scratch
        .fitzroy(&train(&["--dry-run", "--json"]))
        .ends_with(0)
        .json();
    assert_eq!(plan["sets"]["nodes grid"], 81);
    assert!(plan["parameters"].as_u64().unwrap() > 1000 && plan["fits"] == true);
    assert_eq!(scratch.names(), ["a.nc"]);
    let auto = scratch.fitzroy(&train(&["--dry-run", "--json", "--batch-size", "auto"]));
    assert!(auto.ends_with(0).json()["batch_size"].as_u64().unwrap() >= 16);
}

#[test]
fn a_gpu_that_is_not_there_is_an_error() {
    let scratch = Scratch::new("weather-gpu");
    synthetic(&scratch, "a.nc", &[]);
    for flags in [
        ["--device", "cuda"],
        ["--platform", "gpu"],
        ["--jax-platform", "gpu"],
    ] {
        let mut args = train(&["--max-steps", "1"]);
        args.extend_from_slice(&flags);
        // Where there is a GPU, it is hidden.
        let hidden = run(program(&scratch.0)
            .args(&args)
            .env("CUDA_VISIBLE_DEVICES", ""));
        hidden.ends_with(2).complains(&["--device cuda: "]);
        let said = scratch.fitzroy(
            &[
                &[
                    "weather",
                    "evaluate",
                    "--data",
                    "a.nc",
                    "--checkpoint",
                    "none",
                ][..],
                &flags,
            ]
            .concat(),
        );
        said.ends_with(2)
            .complains(&["cuda", "computes on the CPU alone"]);
    }
    let said = scratch.fitzroy(&train(&["--precision", "bf16"]));
    said.ends_with(2).complains(&["--precision", "need a GPU"]);
    let said = scratch.fitzroy(&train(&["--precision", "f64"]));
    said.ends_with(2).complains(&["trained in f32"]);
    scratch
        .fitzroy(&train(&["--platform", "tpu"]))
        .ends_with(2)
        .complains(&["tpu"]);
    assert_eq!(scratch.names(), ["a.nc"]);
}

#[test]
fn data_that_do_not_fit_are_refused_with_what_is_there() {
    let scratch = Scratch::new("weather-data");
    synthetic(&scratch, "a.nc", &[]);
    synthetic(&scratch, "other.nc", &["--lat-max", "52.5"]);
    let refused = |args: &[&'static str], parts: &[&str]| {
        scratch.fitzroy(args).ends_with(2).complains(parts);
    };
    refused(
        &train(&["--variables", "TEM,humidity"]),
        &["`humidity` is missing", "GPH"],
    );
    refused(&train(&["--levels", "500"]), &["no level 500", "250, 850"]);
    refused(
        &["weather", "train", "--data", "a.nc", "other.nc"],
        &["latitude", "one grid"],
    );
    refused(
        &["weather", "train", "--data", "a.nc", "a.nc"],
        &["time repeats", "a.nc and in a.nc", "keep it in one"],
    );
    refused(
        &["weather", "train", "--data", "missing.nc"],
        &["missing.nc"],
    );
    refused(
        &train(&["--test-start-date", "1990-01-01"]),
        &["training split is empty"],
    );
    refused(
        &train(&["--test-start-date", "yesterday"]),
        &["--test-start-date", "2020-06-01"],
    );
    refused(
        &train(&["--train-end-year", "2000", "--val-end-year", "2001"]),
        &["split is empty"],
    );
    refused(
        &train(&["--batch-size", "500"]),
        &["--batch-size 500", "windows"],
    );
    refused(&train(&["--batch-size", "many"]), &["--batch-size many"]);
    refused(
        &train(&["--task", "precip"]),
        &["downstream box", "does not lie on the grid"],
    );
    refused(
        &train(&["--task", "precip", "--graph", "mesh"]),
        &["--graph mesh", "--graph flat"],
    );
    refused(&train(&["--rollout-steps", "0"]), &["--rollout-steps 0"]);
    refused(&train(&["--warmup-steps", "99"]), &["--warmup-steps 99"]);
    refused(
        &train(&["--loss-weights", "XYZ=1"]),
        &["--loss-weights XYZ"],
    );
    scratch.file("text.nc", "no data");
    refused(
        &["weather", "train", "--data", "text.nc"],
        &["neither a NetCDF file nor a Zarr store"],
    );
    assert_eq!(scratch.names(), ["a.nc", "other.nc", "text.nc"]);
}

#[test]
fn checkpoints_of_other_models_and_damaged_ones_are_named() {
    let scratch = Scratch::new("weather-checkpoint");
    synthetic(&scratch, "a.nc", &[]);
    scratch
        .fitzroy(&train(&[
            "--max-steps",
            "4",
            "--checkpoint-frequency",
            "2",
            "--out",
            "run",
            "--quiet",
        ]))
        .ends_with(0);
    let mut other = vec!["weather", "train", "--data", "a.nc", "--latent-size", "24"];
    other.extend_from_slice(&SMALL_NETWORK[2..]);
    other.extend_from_slice(&["--resume-from", "run"]);
    scratch
        .fitzroy(&other)
        .ends_with(2)
        .complains(&["another model", "latent_size: 16 saved, 24 here"]);
    let said = scratch.fitzroy(&train(&["--seed", "7", "--resume-from", "run"]));
    said.ends_with(2).complains(&["seed: 42 saved, 7 here"]);
    // The newest is cut short: the one before it is used, and that is said.
    let newest = scratch.0.join("run/checkpoint-00000004.safetensors");
    let bytes = std::fs::read(&newest).unwrap();
    std::fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();
    let said = scratch.fitzroy(&train(&["--max-steps", "4", "--resume-from", "run"]));
    said.ends_with(0)
        .complains(&["damaged", "the one before it", "step 2"]);
    assert_eq!(std::fs::read(&newest).unwrap(), bytes);
    let said = scratch.fitzroy(&[
        "weather",
        "predict",
        "--data",
        "a.nc",
        "--checkpoint",
        "run",
        "--initial-time",
        "2000-01-12T18",
        "--num-steps",
        "4",
        "--output",
        "f.nc",
    ]);
    said.ends_with(2)
        .complains(&["no record of 2000-01-13", "--boundary"]);
    let said = scratch.fitzroy(&[
        "weather",
        "evaluate",
        "--data",
        "a.nc",
        "--checkpoint",
        "run",
        "--test-start-time",
        "2020-01-01",
    ]);
    said.ends_with(2).complains(&["no forecast", "test split"]);
}

/// Starts a run in the background.
fn start(scratch: &Scratch, more: &[&'static str]) -> std::process::Child {
    let mut command = program(&scratch.0);
    command
        .args(train(more))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

fn newest(scratch: &Scratch, out: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(scratch.0.join(out)).ok()?;
    let paths = entries.filter_map(|e| Some(e.ok()?.path()));
    paths
        .filter(|p| {
            let name = p
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            name.starts_with("checkpoint-") && name.ends_with(".safetensors")
        })
        .max()
}

/// xarray opens what was synthesised, and saves it as Zarr of both versions with every codec that is
/// read; training on any of them is training on the file.
#[test]
fn xarray_opens_synthetic_weather_and_its_zarr_stores_train_alike() {
    let scratch = Scratch::new("weather-zarr");
    synthetic(&scratch, "a.nc", &[]);
    let script = repository("tests/python/check_weather.py");
    let pythons = std::env::var("FITZROY_PYTHON").unwrap_or_else(|_| "python3".into());
    let python = pythons.split(':').next().unwrap_or("python3");
    let said = std::process::Command::new(python)
        .arg(script)
        .args([scratch.0.join("a.nc"), scratch.0.clone()])
        .output();
    let fine = said.as_ref().is_ok_and(|output| output.status.success());
    let missing = said.as_ref().map_or(true, |o| o.status.code() == Some(3));
    if missing {
        let required = std::env::var("FITZROY_REQUIRE_ARVIZ").is_ok_and(|v| v == "1");
        assert!(
            !required,
            "{python} has no xarray, and FITZROY_REQUIRE_ARVIZ is set"
        );
        eprintln!("skipped: {python} has no xarray with zarr");
        return;
    }
    assert!(fine, "{said:?}");
    let loss = |data: &str, out: &str| {
        let mut args = vec!["weather", "train", "--data", data, "--out", out, "--json"];
        args.extend_from_slice(&SMALL_NETWORK);
        args.extend_from_slice(&["--max-steps", "2", "--threads", "1"]);
        let found = scratch.fitzroy(&args).ends_with(0).json();
        found["last_loss"].as_f64().expect("a loss")
    };
    let whole = loss("a.nc", "of-a");
    let mut stores: Vec<String> = scratch.names();
    stores.retain(|name| {
        name.ends_with(".zarr") && !["packed.zarr", "holes.zarr"].contains(&&**name)
    });
    assert!(stores.len() >= 8, "{stores:?}");
    for store in &stores {
        assert_eq!(loss(store, &format!("of-{store}")), whole, "{store}");
    }
    // Whole numbers of 1e-5, latitudes turned over: the same to their rounding.
    let packed = loss("packed.zarr", "of-packed");
    assert!((packed / whole - 1.0).abs() < 1e-3, "{packed} {whole}");
    let said = scratch.fitzroy(&["weather", "train", "--data", "holes.zarr", "--dry-run"]);
    said.ends_with(2)
        .complains(&["holes.zarr", "TEM 850 hPa", "1 of 81", "2000-01-01T18"]);
    let chunk = scratch.0.join("blosc.zarr/TEM/0.0.0.0");
    std::fs::write(chunk, [2, 1, 33]).expect("the store is there");
    let said = scratch.fitzroy(&["weather", "train", "--data", "blosc.zarr", "--dry-run"]);
    said.ends_with(2)
        .complains(&["blosc.zarr", "damaged or cut short"]);
    std::fs::create_dir(scratch.0.join("empty")).expect("a folder");
    let said = scratch.fitzroy(&["weather", "train", "--data", "empty", "--dry-run"]);
    said.ends_with(2).complains(&["not a Zarr store"]);
}

/// ERA5 temperature over the United Kingdom, where `FITZROY_ERA5_SAMPLE` names the file: real data
/// are read, split, trained on and scored. One variable for three weeks makes no skilful model, and
/// none is asked for.
#[test]
fn a_real_sample_is_read_trained_on_and_scored() {
    let Ok(sample) = std::env::var("FITZROY_ERA5_SAMPLE") else {
        eprintln!("skipped: FITZROY_ERA5_SAMPLE names no file of ERA5");
        return;
    };
    let scratch = Scratch::new("weather-era5");
    let mut args = vec![
        "weather", "train", "--data", &sample, "--out", "run", "--json",
    ];
    args.extend_from_slice(&SMALL_NETWORK);
    args.extend_from_slice(&["--graph", "flat", "--max-steps", "30"]);
    let trained = scratch.fitzroy(&args).ends_with(0).json();
    // Thirty steps are a little better than none, at each hour.
    let beside = trained["beside_start"].as_array().expect("a list");
    assert!(!beside.is_empty());
    assert!(
        beside
            .iter()
            .all(|b| b["rmse_ratio"].as_f64().is_some_and(|r| r < 1.0))
    );
    let scored = scratch.fitzroy(&[
        "weather",
        "evaluate",
        "--data",
        &sample,
        "--checkpoint",
        "run",
        "--leads",
        "2",
        "--max-starts",
        "6",
        "--out",
        "scores",
        "--json",
    ]);
    let scored = scored.ends_with(0).json();
    let persistence = scored["scores"].as_array().expect("scores").iter();
    let rmse: Vec<f64> = persistence
        .filter(|s| s["method"] == "persistence")
        .filter_map(|s| s["rmse"].as_f64())
        .collect();
    // Kelvin within an hour or two: tenths, and more at the later.
    assert!(
        rmse[0] > 0.05 && rmse[0] < 2.0 && rmse[1] > rmse[0],
        "{rmse:?}"
    );
}

/// What a finished run shows to people; a folder of training makes its page anew at any time.
#[test]
fn training_and_scores_leave_pages_pictures_and_a_profile() {
    let scratch = Scratch::new("weather-pages");
    synthetic(&scratch, "a.nc", &[]);
    let said = scratch.fitzroy(&train(&[
        "--graph",
        "flat",
        "--max-steps",
        "8",
        "--log-every",
        "2",
        "--recompute",
        "layer",
        "--profile",
        "--out",
        "run",
    ]));
    let said = said.ends_with(0);
    assert!(
        said.out.contains("ms a step") && said.out.contains("peak memory"),
        "{}",
        said.out
    );
    let read = |name: &str| std::fs::read_to_string(scratch.0.join(name)).expect("it is there");
    let page = read("run/report.html");
    for part in [
        "Training finished",
        "best validation loss",
        "--recompute layer",
        "<svg",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let trace: serde_json::Value = serde_json::from_str(&read("run/profile.json")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    for name in [
        "wait for data",
        "layer0.edges.grid",
        "decode",
        "clip, AdamW, average",
    ] {
        assert!(events.iter().any(|e| e["name"] == name), "{name}");
    }
    assert!(read("run/profile.txt").contains("layer0.nodes.grid backward"));
    std::fs::remove_file(scratch.0.join("run/report.html")).expect("it was there");
    scratch.fitzroy(&["report", "run"]).ends_with(0);
    assert_eq!(read("run/report.html"), page);
    scratch
        .fitzroy(&[
            "weather",
            "evaluate",
            "--data",
            "a.nc",
            "--checkpoint",
            "run/best.safetensors",
            "--leads",
            "5",
            "--out",
            "scores",
            "--visualizations",
            "--strict",
        ])
        // Eight steps do not beat a regression.
        .ends_with(1);
    let page = read("scores/report.html");
    for part in [
        "not ahead of a baseline",
        "Error by lead time",
        "CSI 1 mm",
        "forecast − truth",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for name in [
        "lead_times.png",
        "lead_times.svg",
        "maps.png",
        "maps.svg",
        "scores.csv",
    ] {
        let bytes = std::fs::read(scratch.0.join("scores").join(name)).expect("it is there");
        assert!(bytes.len() > 1000, "{name}");
    }
}

/// What only measures ends by itself: a profile after its steps, a search with a rate and a figure.
#[test]
fn a_profile_and_a_search_for_a_learning_rate_end_by_themselves() {
    let scratch = Scratch::new("weather-measure");
    synthetic(&scratch, "a.nc", &[]);
    let said = scratch.fitzroy(&train(&["--profile", "--out", "run", "--json"]));
    let profiled = said.ends_with(0).json();
    assert_eq!(profiled["ended"], "profiled");
    assert_eq!(profiled["steps"], 21);
    let page = fs::read_to_string(scratch.0.join("run/report.html")).expect("a page");
    assert!(page.contains("looked at for a profile") && page.contains("Validation by variable"));
    let search = [
        "weather",
        "train",
        "--data",
        "a.nc",
        "--find-lr",
        "--batch-size",
        "2",
    ];
    let said = scratch.fitzroy(&[&search[..], &SMALL_NETWORK[..8], &["--out", "rate"]].concat());
    let said = said
        .ends_with(0)
        .says(&["suggested: --learning-rate ", "wrote rate"]);
    let found = fs::read_to_string(scratch.0.join("rate/learning-rate.json")).expect("written");
    let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    let rate = found["suggested_learning_rate"].as_f64().expect("a rate");
    assert!(
        said.out.contains(&format!("--learning-rate {rate:e}")),
        "{}",
        said.out
    );
    assert!((1e-5..0.1).contains(&rate), "{rate}");
    for name in ["report.html", "learning-rate.png", "learning-rate.svg"] {
        assert!(scratch.0.join("rate").join(name).is_file(), "{name}");
    }
    assert!(!scratch.0.join("rate/best.safetensors").exists());
}

/// Killed at whatever step it was, then resumed: the same last checkpoint, byte by byte.
#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let scratch = Scratch::new("weather-kill");
    synthetic(&scratch, "a.nc", &[]);
    let often = ["--num-epochs", "3", "--checkpoint-frequency", "1"];
    let into = |out: &'static str| [&often[..], &["--out", out]].concat();
    start(&scratch, &into("whole"))
        .wait()
        .expect("the run ends");
    let mut killed = start(&scratch, &into("killed"));
    while newest(&scratch, "killed").is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
    killed.kill().expect("the run can be killed");
    killed.wait().expect("the run ends");
    let resume = ["--resume-from", "killed", "--threads", "1", "--no-prefetch"];
    scratch
        .fitzroy(&train(&[&often[..], &resume].concat()))
        .ends_with(0);
    let (a, b) = (
        newest(&scratch, "whole").unwrap(),
        newest(&scratch, "killed").unwrap(),
    );
    assert_eq!(a.file_name(), b.file_name());
    assert!(std::fs::read(a).unwrap() == std::fs::read(b).unwrap());
}

#[cfg(unix)]
#[test]
fn ctrl_c_writes_a_checkpoint_and_ends_with_130() {
    let scratch = Scratch::new("weather-interrupt");
    synthetic(&scratch, "a.nc", &[]);
    let mut child = start(&scratch, &["--num-epochs", "100000", "--out", "run"]);
    // The first validation has passed: the loop is running.
    while !scratch.0.join("run/best.safetensors").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(sent.expect("kill is there").success());
    assert_eq!(child.wait().expect("the run ends").code(), Some(130));
    assert!(newest(&scratch, "run").is_some());
}

#[test]
fn synthetic_settings_out_of_range_are_refused() {
    for (flags, part) in [
        (["--grid", "50"], "power of two"),
        (["--levels", "12"], "2 to 11"),
        (["--days", "0"], "--days"),
    ] {
        let mut args = vec!["weather", "synth", "--out", "never.nc"];
        args.extend_from_slice(&flags);
        fitzroy(&args).ends_with(2).complains(&[part]);
    }
}

/// What has ended is not touched, and what is left to do is said.
#[test]
fn resuming_a_finished_run_does_nothing_and_other_data_are_refused() {
    let scratch = Scratch::new("weather-finished");
    synthetic(&scratch, "a.nc", &[]);
    synthetic(&scratch, "b.nc", &["--seed", "7"]);
    let steps = ["--max-steps", "5", "--out", "run"];
    scratch.fitzroy(&train(&steps)).ends_with(0);
    let files = || -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(scratch.0.join("run")).expect("a folder");
        let mut all: Vec<(String, Vec<u8>)> = entries
            .flatten()
            .map(|e| {
                let bytes = std::fs::read(e.path()).expect("a file");
                (e.file_name().to_string_lossy().into_owned(), bytes)
            })
            .collect();
        all.sort();
        all
    };
    let before = files();
    let resume = ["--max-steps", "5", "--resume-from", "run"];
    let said = scratch.fitzroy(&train(&resume));
    said.ends_with(0)
        .complains(&["nothing is left to do at step 5", "--max-steps"]);
    let mut other = train(&resume);
    other[3] = "b.nc";
    scratch
        .fitzroy(&other)
        .ends_with(2)
        .complains(&["records are other ones"]);
    let said = scratch.fitzroy(&train(&[&resume[..], &["--loss", "mae"]].concat()));
    said.ends_with(2).complains(&["loss", "mse", "mae"]);
    assert!(files() == before);
}

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
    let evaluate = [
        "weather",
        "evaluate",
        "--data",
        "a.nc",
        "--checkpoint",
        "tuned",
        "--leads",
        "1",
    ];
    let scores = [&evaluate[..], &["--out", "scores", "--json"]].concat();
    let scores = scratch.fitzroy(&scores).ends_with(0).json();
    assert_eq!(scores["scores"].as_array().map(Vec::len), Some(5 * 6));
    let predict = [
        "weather",
        "predict",
        "--data",
        "a.nc",
        "--checkpoint",
        "tuned",
        "--output",
        "f.nc",
    ];
    let at = ["--initial-time", "2000-01-10"];
    scratch.fitzroy(&[&predict[..], &at].concat()).ends_with(0);
    let said = scratch.fitzroy(&[&tune[..], &["--latent-size", "24"]].concat());
    said.ends_with(2)
        .complains(&["--latent-size is 16 there, 24 here"]);
    let said = scratch.fitzroy(&[&tune[..], &["--variables", "U"]].concat());
    said.ends_with(2)
        .complains(&["V 250 hPa, V 850 hPa", "not lose them"]);
}

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
    let evaluate = ["weather", "evaluate", "--data", "a.nc", "--checkpoint"];
    let more = [
        "--leads",
        "3",
        "--out",
        "scores",
        "--visualizations",
        "--json",
    ];
    let said = scratch.fitzroy(&[&evaluate[..], &["all"], &more].concat());
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
    let predict = [
        "weather",
        "predict",
        "--data",
        "a.nc",
        "--initial-time",
        "2000-01-10",
        "--output",
        "f.nc",
    ];
    let members = [
        "--checkpoint",
        "all/member-01",
        "all/member-03/best.safetensors",
        "--json",
    ];
    let made = scratch
        .fitzroy(&[&predict[..], &members].concat())
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
    let said = scratch.fitzroy(&[&evaluate[..], &["all", "other"]].concat());
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
    let predict = [
        "weather",
        "predict",
        "--data",
        "a.nc",
        "--checkpoint",
        "run",
        "--num-steps",
        "3",
    ];
    for (time, file) in [("2000-01-11T12", "f1.nc"), ("2000-01-11T18", "f2.nc")] {
        let more = ["--initial-time", time, "--output", file];
        scratch
            .fitzroy(&[&predict[..], &more].concat())
            .ends_with(0);
    }
    let evaluate = [
        "weather",
        "evaluate",
        "--data",
        "a.nc",
        "--checkpoint",
        "run",
        "--leads",
        "2",
    ];
    let more = ["--forecast", "f2.nc", "f1.nc", "--out", "scores", "--json"];
    let parts = ["--subregion", "north=46,90,-180,180", "west=-90,90,-20,0"];
    let scores = scratch
        .fitzroy(&[&evaluate[..], &parts, &more].concat())
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
    let far = ["--subregion", "far=-50,-40,0,10"];
    let said = scratch.fitzroy(&[&evaluate[..], &far].concat());
    said.ends_with(2)
        .complains(&["--subregion far", "no point"]);
    let said = scratch.fitzroy(&[&evaluate[..], &["--forecast", "a.nc"]].concat());
    said.ends_with(2)
        .complains(&["--forecast a.nc", "when the forecast was made"]);
    let said = scratch.fitzroy(&[&evaluate[..], &["--forecast", "f1.nc", "f1.nc"]].concat());
    said.ends_with(2)
        .complains(&["two files are of 2000-01-11T12:00"]);
    let late = ["--test-start-time", "2000-01-12", "--forecast", "f1.nc"];
    let said = scratch.fitzroy(&[&evaluate[..], &late].concat());
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
    let mut evaluate = vec![
        "weather",
        "evaluate",
        "--data",
        "a.nc",
        "--checkpoint",
        "run",
    ];
    evaluate.extend_from_slice(&["--leads", "8", "--out", "scores", "--strict"]);
    let said = scratch.fitzroy(&evaluate).ends_with(1);
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
    let said = scratch.fitzroy(&[&evaluate[..6], &["--no-baselines", "--strict"]].concat());
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
    let forecast = [
        "weather",
        "predict",
        "--data",
        "a.nc",
        "--checkpoint",
        "run",
        "--initial-time",
        "2000-01-08",
        "--num-steps",
        "12",
        "--output",
        "later.nc",
    ];
    scratch.fitzroy(&forecast).ends_with(0);
    let evaluate = [
        "weather",
        "evaluate",
        "--data",
        "later.nc",
        "--checkpoint",
        "run",
        "--leads",
        "2",
        "--out",
        "scores",
    ];
    let said = scratch
        .fitzroy(&[&evaluate[..], &["--json"]].concat())
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
    let said = scratch.fitzroy(&[&evaluate[..8], &["--strict"]].concat());
    said.ends_with(2)
        .complains(&["--strict", "training records"]);
}

/// Part of what a file holds is used: the rest is named, with how to use it, and kept with the run.
#[test]
fn what_a_file_holds_and_what_is_used_is_said_and_kept() {
    let scratch = Scratch::new("weather-contents");
    synthetic(&scratch, "a.nc", &[]);
    let flags = ["--variables", "U,TEM", "--max-steps", "2", "--out", "run"];
    let said = scratch.fitzroy(&train(&flags)).ends_with(0);
    said.complains(&[
        "uses U 250 hPa [m s-1]",
        "not used: DPT, GPH, V, precipitation",
        "--variables U,TEM,DPT,GPH,V,precipitation",
    ]);
    let run = std::fs::read_to_string(scratch.0.join("run/run.json")).expect("it is there");
    let run: serde_json::Value = serde_json::from_str(&run).expect("JSON");
    assert_eq!(run["contents"]["unused"][0], "DPT");
    assert_eq!(run["contents"]["used"].as_array().expect("a list").len(), 4);
    assert_eq!(run["beside_start"].as_array().expect("a list").len(), 5);
}

/// Trains on disks of many sizes, so that each write is at some time the one that fails: the checkpoint of the last step
/// and the best one are then somewhere, whole, and the training says where. Skipped where the test may not mount one.
/// Catches: a log or a page that takes the training with it, a best checkpoint that is forgotten.
#[test]
#[cfg(unix)]
fn a_disk_that_fills_at_any_write_loses_no_training() {
    let scratch = Scratch::new("weather-writes");
    let (disk, spare) = (scratch.0.join("disk"), scratch.0.join("spare"));
    fs::create_dir(&disk).expect("writable");
    fs::create_dir(&spare).expect("writable");
    synthetic(&scratch, "a.nc", &[]);
    let args = train(&[
        "--max-steps",
        "6",
        "--checkpoint-frequency",
        "2",
        "--out",
        "whole",
    ]);
    scratch.fitzroy(&args).ends_with(0);
    let names = ["checkpoint-00000006.safetensors", "best.safetensors"];
    let whole = names.map(|name| parameters(&scratch.0.join("whole").join(name)));
    let (mut failed, mut went_on) = (0, 0);
    for kib in [
        8, 16, 24, 32, 64, 128, 192, 256, 320, 384, 512, 640, 768, 1024,
    ] {
        let Some(mounted) = SmallDisk::mount(&disk, kib) else {
            return;
        };
        let mut command = program(&scratch.0);
        command.args(train(&["--max-steps", "6", "--checkpoint-frequency", "2"]));
        let said = run(command.args(["--out", "disk/r"]).env("TMPDIR", &spare));
        let elsewhere: Vec<PathBuf> = fs::read_dir(&spare)
            .expect("there")
            .map(|entry| entry.expect("readable").path())
            .collect();
        // A disk that takes no log refuses before the first step.
        let begun = said.err.contains("step 6") || said.out.contains("6 steps");
        let found = names.map(|name| {
            let own = disk.join("r").join(name);
            let other = elsewhere
                .iter()
                .find(|path| path.to_string_lossy().ends_with(name));
            match (own.exists(), other) {
                (_, Some(other)) => Some(parameters(other)),
                (true, None) => Some(parameters(&own)),
                (false, None) => None,
            }
        });
        drop(mounted);
        elsewhere
            .iter()
            .for_each(|path| fs::remove_file(path).expect("removable"));
        assert!(said.code < 2 || !begun, "{kib}: {}", said.err);
        if !begun {
            continue;
        }
        for (found, whole) in found.iter().zip(&whole) {
            assert_eq!(found.as_ref(), Some(whole), "{kib}: {}", said.err);
        }
        let told = said.err.contains("error: ");
        assert_eq!(
            (said.code == 1, told),
            (told, said.code == 1),
            "{kib}: {}",
            said.err
        );
        failed += u32::from(said.code == 1);
        went_on += u32::from(said.err.contains("the training goes on"));
    }
    assert!(failed >= 3 && went_on >= 3, "{failed} {went_on}");
}

/// The numbers of a checkpoint, without what says how it came about.
fn parameters(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("a checkpoint");
    let header = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    bytes[8 + header..].to_vec()
}

/// The same archive with the places of its points one by one, as a curvilinear grid has them.
fn curved(scratch: &Scratch, from: &str, to: &str) {
    use fitzroy_weather::data::{Archive, Chosen};
    use fitzroy_weather::files::{GridFile, GridHeader, GridVariable};
    let read =
        Archive::read(&[scratch.0.join(from)], &Chosen::default(), None).expect("it is read");
    let (n, n_channels) = (read.n_nodes(), read.channels.len());
    let mut names: Vec<&str> = read.channels.iter().map(|c| c.variable.as_str()).collect();
    names.dedup();
    let channels = &read.channels;
    let of = |name: &str| {
        let own = (0..n_channels).filter(|c| channels[*c].variable == name);
        own.collect::<Vec<usize>>()
    };
    let variable = |name: &&str| GridVariable {
        name: name.to_string(),
        units: read.channels[of(name)[0]].units.clone(),
        long_name: name.to_string(),
        has_levels: read.channels[of(name)[0]].level.is_some(),
    };
    let fixed = |(name, values): &(String, Vec<f32>)| {
        let variable = GridVariable {
            name: name.clone(),
            units: "1".into(),
            long_name: name.clone(),
            has_levels: false,
        };
        (variable, values.clone())
    };
    let header = GridHeader {
        title: "test".into(),
        attributes: Vec::new(),
        times: read.times.clone(),
        levels: read.channels.iter().take(2).flat_map(|c| c.level).collect(),
        lat: (0..n).map(|k| read.place(k).0).collect(),
        lon: (0..n).map(|k| read.place(k).1).collect(),
        curved: Some(read.shape()),
        variables: names.iter().map(variable).collect(),
        statics: read.statics.iter().map(fixed).collect(),
        compression: 1,
    };
    let mut file = GridFile::create(&scratch.0.join(to), header).expect("it is written");
    for t in 0..read.times.len() {
        for (number, name) in names.iter().enumerate() {
            let fields = of(name).into_iter().flat_map(|c| {
                let record = read.record(t);
                (0..n).map(move |node| record[node * n_channels + c])
            });
            file.write(t, number, &fields.collect::<Vec<f32>>())
                .expect("it is written");
        }
    }
    file.finish().expect("it is written");
}

/// A grid of latitudes and longitudes that is said point by point trains, scores and forecasts as
/// it does otherwise, but for the rounding of areas.
#[test]
fn a_curvilinear_grid_trains_as_the_same_grid_said_by_its_axes() {
    let scratch = Scratch::new("weather-curved");
    synthetic(&scratch, "a.nc", &[]);
    curved(&scratch, "a.nc", "curved.nc");
    let outcome = |data: &str, out: &str| {
        let mut args = train(&["--max-steps", "4", "--json", "--out"]);
        args[3] = if data == "a.nc" { "a.nc" } else { "curved.nc" };
        let args: Vec<&str> = args.iter().copied().chain([out]).collect();
        scratch.fitzroy(&args).ends_with(0).json()
    };
    let (plain, turned) = (outcome("a.nc", "plain"), outcome("curved.nc", "turned"));
    for field in ["last_loss", "best_validation_loss"] {
        let (a, b) = (
            plain[field].as_f64().unwrap(),
            turned[field].as_f64().unwrap(),
        );
        assert!((a / b - 1.0).abs() < 1e-4, "{field}: {a} and {b}");
    }
    let scores = |data: &str, run: &str| {
        let checkpoint = format!("{run}/best.safetensors");
        let out = format!("{run}-scores");
        let args = [
            "weather",
            "evaluate",
            "--data",
            data,
            "--checkpoint",
            &checkpoint,
            "--leads",
            "2",
        ];
        let args: Vec<&str> = args.into_iter().chain(["--json", "--out", &out]).collect();
        let found = scratch.fitzroy(&args).ends_with(0).json();
        let all = found["scores"].as_array().unwrap().iter();
        all.map(|s| s["rmse"].as_f64().unwrap())
            .collect::<Vec<f64>>()
    };
    let (a, b) = (scores("a.nc", "plain"), scores("curved.nc", "turned"));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert!((a / b - 1.0).abs() < 1e-3, "{a} and {b}");
    }
    let start = [
        "--initial-time",
        "2000-01-10",
        "--num-steps",
        "2",
        "--output",
        "forecast.nc",
    ];
    let args = [
        "weather",
        "predict",
        "--data",
        "curved.nc",
        "--checkpoint",
        "turned",
    ];
    scratch.fitzroy(&[&args[..], &start].concat()).ends_with(0);
    let said = scratch.fitzroy(&["weather", "inspect", "--data", "forecast.nc"]);
    said.says(&["curvilinear", "9 latitudes from", "TEM"]);
    scratch
        .fitzroy(&[
            "weather",
            "inspect",
            "--data",
            "curved.nc",
            "--region",
            "0,10,0,10",
        ])
        .ends_with(2)
        .complains(&["--region", "curvilinear"]);
}

/// What an archive holds is told before anything is trained, and what is wrong with a table of names
/// or a region.
#[test]
fn an_archive_is_told_of_before_anything_is_trained() {
    let scratch = Scratch::new("weather-inspect");
    synthetic(&scratch, "a.nc", &[]);
    let args = ["weather", "inspect", "--data", "a.nc", "--json"];
    let found = scratch.fitzroy(&args).ends_with(0).json();
    assert_eq!(found["channels_used"].as_array().unwrap().len(), 11);
    assert_eq!(found["gaps"].as_array().unwrap().len(), 0);
    let rain = found["variables"].as_array().unwrap().iter();
    let rain = rain
        .clone()
        .find(|v| v["variable"] == "precipitation")
        .unwrap();
    assert_eq!((&rain["used"], &rain["missing"]), (&true.into(), &0.into()));
    scratch.file("bad.toml", "[TEM]\nname = [\"t\"]\n");
    let args = [
        "weather", "inspect", "--data", "a.nc", "--names", "bad.toml",
    ];
    scratch.fitzroy(&args).ends_with(2).complains(&[
        "bad.toml",
        "[TEM]",
        "`name` is not known",
        "standard_names",
    ]);
    let args = [
        "weather",
        "inspect",
        "--data",
        "a.nc",
        "--region",
        "100,110,0,10",
    ];
    scratch
        .fitzroy(&args)
        .ends_with(2)
        .complains(&["--region", "latitudes of the file go from"]);
    let args = ["weather", "inspect", "--data", "a.nc", "--variables", "sst"];
    scratch
        .fitzroy(&args)
        .ends_with(1)
        .says(&["would be refused", "`sst` is missing"]);
}
