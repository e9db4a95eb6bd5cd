//! `fitzroy compare`: models by their predictions, runs by their posteriors.

mod program;

use program::{Scratch, program, repository, run};

fn sample(scratch: &Scratch, model: &str, data: &str, more: &[&str]) {
    let path = |file| repository(file).display().to_string();
    let mut command = program(&scratch.0);
    command.args(["sample", &path(model), "--data", &path(data)]);
    run(command.args(["--quiet"]).args(more)).ends_with(0);
}

const SCHOOLS: &str = "models/eight-schools.csv";

#[test]
fn models_are_ranked_and_the_table_and_the_document_agree() {
    let scratch = Scratch::new("compare");
    let likelihood = "--log-likelihood";
    sample(
        &scratch,
        "models/eight-schools.fz",
        SCHOOLS,
        &[likelihood, "--predictive", "--out", "nested"],
    );
    let pooled =
        "data y[schools], sigma[schools]\nmu ~ Normal(0, 5)\ny[schools] ~ Normal(mu, sigma)\n";
    let model = scratch.file("pooled.fz", pooled).display().to_string();
    let data = repository(SCHOOLS).display().to_string();
    let said = scratch.fitzroy(&[
        "sample", &model, "--data", &data, likelihood, "--out", "pooled",
    ]);
    said.ends_with(0);

    let said = scratch
        .fitzroy(&["compare", "nested", "pooled/trace.nc"])
        .ends_with(0);
    for part in [
        "8 observations",
        "elpd_diff",
        "nested",
        "pooled",
        "fewer than 100",
    ] {
        assert!(said.out.contains(part), "no `{part}` in:\n{}", said.out);
    }
    let document = scratch
        .fitzroy(&["compare", "nested", "pooled", "--json"])
        .json();
    let models = document["models"].as_array().expect("a list");
    let elpd = |m: usize| models[m]["elpd"].as_f64().expect("a number");
    assert!(
        elpd(0) >= elpd(1) && elpd(0) < -29.0 && elpd(0) > -32.5,
        "{models:?}"
    );
    let weights: f64 = models
        .iter()
        .map(|m| m["weight"].as_f64().expect("a number"))
        .sum();
    assert!((weights - 1.0).abs() < 1e-12);
    // Golden values of the library stand for the numbers, see `diagnose::tests::loo`.
    let trace = fitzroy::draws::read_trace(scratch.0.join("nested")).expect("a trace");
    let pit = fitzroy::diagnose::loo_pit(&trace, None, 1).expect("it has replicates");
    assert_eq!(pit.len(), 8);
    for model in models {
        match model["name"] == "nested" {
            true => assert_eq!(model["loo_pit"], serde_json::json!(pit)),
            false => assert!(model["loo_pit"].is_null(), "no replicates were drawn"),
        }
    }
    assert_eq!(models[0]["elpd_i"].as_array().map(Vec::len), Some(8));
}

#[test]
fn two_seeds_agree_and_two_models_do_not() {
    let scratch = Scratch::new("posteriors");
    let eight = "models/eight-schools.fz";
    for (seed, out) in [("1", "a"), ("2", "b")] {
        let more = ["--seed", seed, "--target-accept", "0.95", "--out", out];
        sample(&scratch, eight, SCHOOLS, &more);
    }
    let said = scratch
        .fitzroy(&["compare", "--posteriors", "a", "b"])
        .ends_with(0);
    assert!(
        said.out.starts_with("AGREE  a and b: 10 elements"),
        "{}",
        said.out
    );
    let more = ["--prior-only", "--out", "prior"];
    sample(&scratch, eight, SCHOOLS, &more);
    let said = scratch
        .fitzroy(&["compare", "--posteriors", "a", "prior"])
        .ends_with(2);
    said.complains(&["no group `posterior`"]);
    let other =
        "data y[schools], sigma[schools]\nmu ~ Normal(20, 5)\ny[schools] ~ Normal(mu, sigma)\n";
    let model = scratch.file("other.fz", other).display().to_string();
    let data = repository(SCHOOLS).display().to_string();
    scratch
        .fitzroy(&["sample", &model, "--data", &data, "--out", "c"])
        .ends_with(0);
    let said = scratch
        .fitzroy(&["compare", "--posteriors", "a", "c", "--json"])
        .ends_with(1);
    let document = said.json();
    assert_eq!(document["agree"], false);
    assert!(
        document["left_out"]
            .as_array()
            .is_some_and(|v| !v.is_empty())
    );
}

#[test]
fn bad_comparisons_say_what_is_missing() {
    let scratch = Scratch::new("compare-bad");
    sample(
        &scratch,
        "models/eight-schools.fz",
        SCHOOLS,
        &["--out", "plain"],
    );
    scratch
        .fitzroy(&["compare", "plain"])
        .ends_with(2)
        .complains(&["two or more"]);
    let said = scratch.fitzroy(&["compare", "plain", "plain"]).ends_with(2);
    said.complains(&["plain", "log_likelihood", "--log-likelihood"]);
    let said = scratch
        .fitzroy(&["compare", "plain", "nowhere.nc"])
        .ends_with(2);
    said.complains(&["log_likelihood"]);
    let said = scratch
        .fitzroy(&["compare", "--posteriors", "plain", "nowhere.nc"])
        .ends_with(2);
    said.complains(&["nowhere.nc"]);
    let said = scratch
        .fitzroy(&["compare", "--posteriors", "plain", "plain", "plain"])
        .ends_with(2);
    said.complains(&["two runs, 3"]);
    std::fs::create_dir(scratch.0.join("empty")).expect("writable");
    let said = scratch.fitzroy(&["diagnose", "empty"]).ends_with(2);
    said.complains(&["empty", "trace.nc"]);
}
