//! Whole runs against posteriors from independent sources (tests/golden/posteriors/README.md).

use fitzroy::data::{Dataset, read_file};
use fitzroy::diagnose::{Diagnosis, SummaryOptions};
use fitzroy::model::Model;
use fitzroy::run::{Caller, Outcome, Settings, bind, run};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: &str) -> String {
    std::fs::read_to_string(repository(path)).expect("part of the repository")
}

/// Samples `models/MODEL.fz` with `models/DATA`.
fn sampled(model: &str, data: &str, settings: &Settings) -> (Outcome, Diagnosis) {
    let model = Model::parse(&text(&format!("models/{model}.fz"))).expect("it parses");
    let mut dataset = Dataset::new();
    let arrays = read_file(repository(&format!("models/{data}"))).expect("it reads");
    arrays.into_iter().for_each(|a| dataset.insert(a));
    let joint = bind(&model, &dataset, settings).expect("it binds");
    let mut outcome = run(&joint, settings, &Caller::silent()).expect("it runs");
    let diagnosis = outcome
        .diagnose(&SummaryOptions::default())
        .expect("it summarises");
    (outcome, diagnosis)
}

/// Every mean and sd within `bound` combined Monte Carlo standard errors of the reference.
///
/// With 5 standard errors and up to 250 comparisons chance alone fails one run in 7000; seeds are
/// fixed, so it either always passes or never.
fn agrees(diagnosis: &Diagnosis, reference: &str) {
    let text = text(&format!("tests/golden/posteriors/{reference}.json"));
    let golden: Value = serde_json::from_str(&text).expect("valid JSON");
    let number = |q: &Value, key: &str| q[key].as_f64().expect("a number");
    let quantities = golden["quantities"].as_array().expect("a list");
    for q in quantities {
        let index: Vec<usize> = q["index"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|i| i.as_u64().expect("a position") as usize)
            .collect();
        let rows = &diagnosis.summary.rows;
        let row = rows
            .iter()
            .find(|r| q["name"] == r.name.as_str() && r.index == index);
        let s = &row
            .unwrap_or_else(|| panic!("no {} {index:?}", q["name"]))
            .statistics;
        for (own, own_error, key) in [(s.mean, s.mcse_mean, "mean"), (s.sd, s.mcse_sd, "sd")] {
            let error = own_error.hypot(number(q, &format!("mcse_{key}")));
            let z = (own - number(q, key)) / error;
            assert!(
                z.abs() < 5.0,
                "{key} of {} {index:?}: {own}, reference {}, z {z}",
                q["name"],
                q[key]
            );
        }
    }
}

fn settings(draws: usize, target_accept: f64) -> Settings {
    let mut settings = Settings::default();
    settings.sampler.seed = 42;
    settings.sampler.draws = draws;
    settings.sampler.target_accept = target_accept;
    settings.sampler.threads = 2;
    settings
}

#[test]
fn eight_schools_gives_the_exact_posterior_in_both_spellings() {
    for model in ["eight-schools", "eight-schools-noncentred"] {
        let (_, diagnosis) = sampled(model, "eight-schools.csv", &settings(2000, 0.95));
        agrees(&diagnosis, "eight-schools");
        assert!(diagnosis.converged, "{model}: {:?}", diagnosis.findings);
    }
}

#[test]
fn three_levels_give_the_exact_posterior_in_centred_coordinates() {
    let (outcome, diagnosis) = sampled("hierarchical", "hierarchical.csv", &settings(2000, 0.8));
    eprintln!(
        "{:?} {:?} {:?}",
        outcome.centring, outcome.run.metrics, outcome.findings
    );
    eprintln!(
        "{}",
        fitzroy::report::diagnosis_text(&diagnosis, &Default::default())
    );
    agrees(&diagnosis, "hierarchical");
    assert!(diagnosis.converged);
    assert_eq!(outcome.centring, [("mu_group".to_string(), 1.0)]);
}
