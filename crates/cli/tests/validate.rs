//! `fitzroy validate`.

mod program;

use program::Scratch;
use std::fs;

#[test]
fn the_main_job_passes_and_leaves_its_evidence() {
    let scratch = Scratch::new("validate");
    let said = scratch
        .fitzroy(&["validate", "--quick", "--out", "v"])
        .ends_with(0);
    for part in [
        "PASS  cpu",
        "PASS  numerics",
        "PASS  r-hat",
        "PASS  ess",
        "PASS  mu_pop",
        "PASS  sigma_pop",
        "PASS  sigma_obs",
        "PASS  predicted mean",
        "PASS  predicted sd",
        "PASS  predicted groups",
        "SKIP  gpu",
        "sampling  ",
        "total  ",
    ] {
        assert!(said.out.contains(part), "no `{part}` in:\n{}", said.out);
    }
    assert!(said.out.ends_with("result: PASS\n"), "{}", said.out);
    let folder = scratch.0.join("v");
    for file in [
        "trace.nc",
        "summary.txt",
        "report.html",
        "trace_plot.png",
        "posterior_plot.png",
        "forest_plot.png",
        "performance_comparison.png",
        "summary.csv",
        "summary.json",
        "benchmark_report.txt",
        "validation.json",
        "run.json",
        "data.csv",
        "model.fz",
    ] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    let report = fs::read_to_string(folder.join("benchmark_report.txt")).expect("written above");
    assert!(
        report.contains("PASS  ess") && report.ends_with("result: PASS\n"),
        "{report}"
    );
    let again = scratch.fitzroy(&[
        "sample",
        "v/model.fz",
        "--data",
        "v/data.csv",
        "--json",
        "--no-progress",
        "--out",
        "w",
    ]);
    let mean = |rows: &serde_json::Value| rows[0]["mean"].as_f64().expect("a number");
    let whole: serde_json::Value = serde_json::from_str(
        &fs::read_to_string(folder.join("validation.json")).expect("written above"),
    )
    .expect("JSON");
    let (a, b) = (
        mean(&again.ends_with(0).json()["summary"]),
        mean(&whole["summary"]),
    );
    assert!(
        (a - b).abs() < 0.2,
        "the saved data are those that were sampled: {a} {b}"
    );
}

/// These data were chosen: the truth of sigma_obs lies well outside its interval.
#[test]
fn a_check_that_fails_ends_with_one() {
    let scratch = Scratch::new("validate-fails");
    let args = [
        "validate",
        "--quick",
        "--json",
        "--data-seed",
        "2",
        "--groups",
        "20",
        "--out",
        "v",
    ];
    let said = scratch.fitzroy(&args).ends_with(1);
    assert_eq!(said.json()["passed"], false);
    let report =
        fs::read_to_string(scratch.0.join("v/benchmark_report.txt")).expect("written above");
    assert!(
        report.contains("FAIL  ") && report.ends_with("result: FAIL\n"),
        "{report}"
    );
}

#[test]
fn too_small_a_data_set_is_refused() {
    let scratch = Scratch::new("validate-small");
    let said = scratch
        .fitzroy(&["validate", "--groups", "1", "--quiet"])
        .ends_with(2);
    assert_eq!(
        said.err,
        "error: 1 groups of 10 observations; validation needs at least 2 of 2\n"
    );
    assert!(scratch.names().is_empty());
}
