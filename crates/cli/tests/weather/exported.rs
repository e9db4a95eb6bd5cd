//! A step of a forecast as a model of ONNX.

use super::program::Scratch;
use super::{predict, python_with};

/// A training of a few long steps, so that what the network adds is large.
fn train(scratch: &Scratch, out: &str, more: &[&str]) {
    let usual = [
        "weather train --data a.nc --latent-size 16 --mlp-num-hidden-layers 2 --boundary-width 1",
        "--variables TEM,sst,precipitation --missing mask --learning-rate 0.4 --warmup-steps 1 --max-steps 8 --quiet",
        "--validation-frequency 100 --val-ratio 0.2 --rollout-steps 1",
    ];
    let usual = usual.join(" ");
    let mut args: Vec<&str> = usual.split(' ').collect();
    args.extend_from_slice(&["--out", out]);
    args.extend_from_slice(more);
    scratch.fitzroy(&args).ends_with(0);
}

/// Flat and mesh, linear model and momentum, averaged weights, a channel that has no values on land or is read alone, rain below 0,
/// and rain alone: whatever numbers a model is given, onnxruntime makes the forecast of `predict`.
#[test]
fn an_exported_step_is_that_of_predict() {
    let scratch = Scratch::new("weather-onnx");
    let folder = scratch.0.display().to_string();
    let check = |args: &[&str]| {
        let (packages, required) = ("onnx, onnxruntime and xarray", "FITZROY_REQUIRE_ONNX");
        python_with(packages, required, "tests/python/check_onnx.py", args)
    };
    if !check(&["make", &folder]) {
        return;
    }
    let boxes = "--downstream-lat-min 40 --downstream-lat-max 48 --downstream-lon-min 6 \
                 --downstream-lon-max 10 --upstream-lat-min 40 --upstream-lat-max 48 \
                 --upstream-lon-min 0 --upstream-lon-max 5.5 --boundary-lon 7 --intra-k 4 --inter-k 4";
    let boxes: Vec<&str> = boxes.split_whitespace().collect();
    let rain = [&["--task", "precip", "--num-gnn-layers", "2"], &boxes[..]].concat();
    let mesh = "--graph mesh --num-gnn-layers 1 --baseline momentum --forcing sst";
    let mesh: Vec<&str> = mesh.split(' ').collect();
    let flat: Vec<&str> = "--graph flat --num-gnn-layers 2 --ema 0.5"
        .split(' ')
        .collect();
    let kinds = [
        ("flat", "3", &flat),
        ("mesh", "2", &mesh),
        ("rain", "1", &rain),
    ];
    for (name, steps, more) in kinds {
        train(&scratch, name, more);
        let model = format!("{name}.onnx");
        let mut export = vec!["weather", "export", "--data", "a.nc", "--checkpoint", name];
        export.extend_from_slice(&["--output", &model]);
        let said = scratch.fitzroy(&export).ends_with(0);
        said.says(&["wrote", "99 points of 4 channels"]);
        let file = format!("{name}.nc");
        let more = ["--num-steps", steps, "--output", &file];
        let forecast = predict("rough.nc", name, "2001-06-09T06:00", &more);
        scratch.fitzroy(&forecast).ends_with(0);
        assert!(check(&["check", &folder, name, steps]));
        let again = scratch.fitzroy(&export).ends_with(2);
        again.complains(&["--output", "exists"]);
    }
}
