//! What runs say of themselves.

use super::facts::seconds;
use super::{Contender, Kind, RunFacts, performance_figure};
use fitzroy::Named;
use serde_json::json;

#[test]
fn facts_are_read_from_the_document_of_a_run() {
    let document = json!({
        "model": "peas", "device": {"name": "a processor"},
        "timing_s": {"compile": 0.01, "warm_up": 0.2, "total": 0.5},
        "checks": [{"name": "r-hat", "verdict": "PASS", "detail": "fine"}],
    });
    let facts = RunFacts::from_document(&document, "x");
    assert_eq!(
        (facts.name.as_str(), facts.device.as_str()),
        ("peas", "a processor")
    );
    assert_eq!(facts.total_s, Some(0.5));
    assert_eq!(
        facts.timing,
        [("compile".into(), 0.01), ("warm up".into(), 0.2)]
    );
    assert_eq!(facts.checks[0], ["r-hat", "PASS", "fine"].map(String::from));
    assert_eq!(RunFacts::from_document(&json!(null), "x").name, "x");
}

#[test]
fn seconds_are_said_in_a_fitting_unit() {
    for (s, words) in [
        (0.0123, "12.3 ms"),
        (1.5, "1.5 s"),
        (150.0, "2 min 30 s"),
        (7500.0, "2 h 5 min"),
    ] {
        assert_eq!(seconds(s), words);
    }
}

#[test]
fn every_kind_has_its_name() {
    let names: Vec<&str> = Kind::names().collect();
    for name in [
        "trace",
        "rank",
        "posterior",
        "forest",
        "pair",
        "energy",
        "autocorr",
        "ess",
        "ppc",
        "loo-pit",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    for &(name, kind) in Kind::NAMES {
        assert_eq!(kind.setting(), name);
    }
}

#[test]
fn two_contenders_are_compared_in_the_title() {
    let contender = |name: &str, s: f64| Contender {
        name: name.into(),
        stages: vec![("sampling".into(), s)],
        ess_per_s: 100.0,
        memory_bytes: None,
    };
    let scene = performance_figure(&[contender("CPU", 3.0), contender("GPU", 1.5)]);
    assert!(
        scene
            .texts()
            .any(|t| t.text == "CPU takes 2 times as long as GPU")
    );
}
