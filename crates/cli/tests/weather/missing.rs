//! Archives with missing values that are left out of losses and scores.

use super::program::{SMALL_NETWORK, Scratch};
use super::{evaluate, parameters, predict, python};

/// Scores of an archive with land and gaps are those that xarray computes without what is missing;
/// whatever stands in the place of a missing value, weights and scores are the same; forecasts have
/// no values on land.
#[test]
fn scores_of_an_archive_with_gaps_are_those_of_xarray() {
    let scratch = Scratch::new("weather-missing");
    let folder = scratch.0.display().to_string();
    if !python("tests/python/check_missing.py", &["make", &folder]) {
        return;
    }
    let train = |data: &str, out: &str| {
        let mut args = vec![
            "weather",
            "train",
            "--data",
            data,
            "--out",
            out,
            "--missing",
            "mask",
        ];
        args.extend_from_slice(&SMALL_NETWORK);
        args.extend_from_slice(&["--max-steps", "5"]);
        scratch.fitzroy(&args).ends_with(0)
    };
    train("sst.nc", "run").complains(&["15 of 90 places have no values", "left out of losses"]);
    train("garbage.nc", "other").complains(&["1e30 is taken for a missing value"]);
    let asked = ["weather", "inspect", "--data", "garbage.nc"];
    let said = scratch.fitzroy(&asked).ends_with(1);
    said.says(&[
        "sst is 1e30 in",
        "does not declare",
        "values of sst are missing",
    ]);
    let best = |run: &str| parameters(&scratch.0.join(run).join("best.safetensors"));
    assert!(best("run") == best("other"));
    let scored = |data: &str, run: &str, out: &str| {
        let more = [
            "--leads",
            "3",
            "--subregion",
            "land=40,43,7,8",
            "--out",
            out,
        ];
        scratch.fitzroy(&evaluate(data, run, &more)).ends_with(0);
        std::fs::read_to_string(scratch.0.join(out).join("scores.json")).expect("scores")
    };
    let scores = scored("sst.nc", "run", "scores");
    assert!(scores == scored("garbage.nc", "other", "others"));
    let scores: serde_json::Value = serde_json::from_str(&scores).expect("JSON");
    let notes = scores["notes"].to_string();
    assert!(notes.contains("sst: ") && !notes.contains("t2m"), "{notes}");
    let more = ["--num-steps", "3", "--output", "forecast.nc"];
    let from = "2001-06-18T12:00";
    scratch
        .fitzroy(&predict("sst.nc", "run", from, &more))
        .ends_with(0);
    assert!(python("tests/python/check_missing.py", &["check", &folder]));
}
