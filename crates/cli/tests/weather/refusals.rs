//! What is refused before anything is computed, and in which words.

use super::program::{SMALL_NETWORK, Scratch, fitzroy, program, run};
use super::{evaluate, predict, synthetic, train};

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
        for asked in [
            evaluate("a.nc", "none", &flags),
            predict(
                "a.nc",
                "none",
                "2000-01-10",
                &[&flags[..], &["--output", "f.nc"]].concat(),
            ),
        ] {
            let hidden = run(program(&scratch.0)
                .args(&asked)
                .env("CUDA_VISIBLE_DEVICES", ""));
            hidden.ends_with(2).complains(&["--device cuda: "]);
        }
    }
    for (flags, words) in [
        (["--device", "cuda:all"], "networks forecast on one GPU"),
        (["--precision", "tf32"], "need a GPU"),
        (["--precision", "f64"], "in f32 and below"),
    ] {
        let said = scratch.fitzroy(&evaluate("a.nc", "none", &flags));
        said.ends_with(2).complains(&[words]);
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
        &["fields are read from NetCDF or Zarr"],
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
    let said = scratch.fitzroy(&predict(
        "a.nc",
        "run",
        "2000-01-12T18",
        &["--num-steps", "4", "--output", "f.nc"],
    ));
    said.ends_with(2)
        .complains(&["no record of 2000-01-13", "--boundary"]);
    let said = scratch.fitzroy(&evaluate(
        "a.nc",
        "run",
        &["--test-start-time", "2020-01-01"],
    ));
    said.ends_with(2).complains(&["no forecast", "test split"]);
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
