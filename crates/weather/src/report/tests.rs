//! Logs read back, and pages that say what happened.

use super::*;
use serde_json::{Value, json};

/// Lines of a run that went back to a checkpoint once, and was killed while it wrote.
fn log() -> String {
    let step = |step: u64, loss: f64, norm: Value| {
        json!({
            "step": step, "time": 1.0, "train/loss": loss, "train/learning_rate": 0.1,
            "train/gradient_norm": norm, "train/samples_per_s": 25.0, "train/data_wait": 0.01,
        })
    };
    let validation = |step: u64, loss: f64| json!({"step": step, "validation/loss": loss});
    let lines = [
        step(1, 1.5, json!(2.0)),
        step(4, 9.0, json!("NaN")),
        validation(4, 0.5),
        step(4, 0.75, json!(1.0)),
        step(40, 0.25, json!(0.5)),
        validation(20, 0.6),
        validation(40, 0.7),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    format!(
        "{}\n{{\"step\":41,\"time\":6.0,\"train/lo",
        lines.join("\n")
    )
}

#[test]
fn logs_are_read_back_and_later_lines_count() {
    let history = History::parse(&log());
    let steps: Vec<(u64, f64)> = history.steps.iter().map(|s| (s.step, s.loss)).collect();
    assert_eq!(steps, [(1, 1.5), (4, 0.75), (40, 0.25)]);
    assert_eq!(history.validations, [(4, 0.5), (20, 0.6), (40, 0.7)]);
    assert_eq!(history.best(), Some((4, 0.5)));
    assert_eq!(History::parse(""), History::default());
}

#[test]
fn the_page_of_a_run_says_how_it_ended_and_what_to_do() {
    let history = History::parse(&log());
    let document = json!({
        "ended": "finished", "data_wait": 0.3, "skipped_updates": 2, "total_s": 12.5, "seed": 42,
        "settings": {"batch_size": 4}, "command": "fitzroy weather train --data <a>.nc",
    });
    let html = training_page(&history, &document).html();
    for part in [
        "Training finished",
        "30 % of the time was spent waiting",
        "2 updates were skipped",
        "best validation was at step 4 of 40",
        "--data &lt;a&gt;.nc",
        "batch size",
    ] {
        assert!(html.contains(part), "{part}");
    }
    let running = training_page(&History::default(), &json!({})).html();
    assert!(running.contains("goes on") && running.contains("No step has been logged"));
    let bad = training_page(&history, &json!({"ended": "diverged"})).html();
    assert!(bad.contains("Training diverged") && bad.contains("lower ⟨learning_rate⟩"));
}

#[test]
fn maps_are_of_the_channels_that_are_named() {
    let channel = |variable: &str, level| crate::data::Channel {
        variable: variable.into(),
        level,
        units: String::new(),
    };
    let mut all: Vec<crate::data::Channel> = Vec::new();
    for variable in ["TEM", "U", "V"] {
        all.extend([250.0, 500.0, 850.0].map(|level| channel(variable, Some(level))));
    }
    all.push(channel("precipitation", None));
    let all: Vec<&crate::data::Channel> = all.iter().collect();
    let of = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        super::mapped(&all, &names).map_err(|error| error.to_string())
    };
    assert_eq!(of(&[]).unwrap(), [0, 1, 2, 3, 4, 9]);
    assert_eq!(of(&["all"]).unwrap().len(), 10);
    assert_eq!(of(&["precipitation", "U 500"]).unwrap(), [4, 9]);
    assert_eq!(of(&["TEM", "TEM 850 hPa"]).unwrap(), [0, 1, 2]);
    let error = of(&["Q"]).unwrap_err();
    assert!(
        error.contains("⟨channels Q⟩") && error.contains("TEM 250 hPa, "),
        "{error}"
    );
}

/// Verdict, cards and marks say the same: behind climatology at the later lead is no green page.
#[test]
fn verdict_and_table_of_scores_agree() {
    use crate::evaluate::tests::named;
    let errors = |squares: [f64; 2]| squares.map(|x| vec![x; 40]).to_vec();
    let page = |rival, theirs| {
        let found = named(24.0, ["model", rival], [errors([1.0, 2.0]), errors(theirs)]);
        super::evaluation_page(&found, &[], "run", "command", "0").html()
    };
    let good = page("start", [1.5, 3.0]);
    assert!(good.contains("ahead of everything") && good.contains("2 of 2"));
    let usual = page("climatology", [1.5, 1.5]);
    assert!(usual.contains("behind climatology in 1 of 2 places") && usual.contains("1 of 2"));
    assert!(!usual.contains("ahead of everything"));
    let behind = page("linear", [1.5, 1.5]);
    assert!(behind.contains("not ahead of a baseline"));
}

/// A line that explodes is cut where it leaves the chart, and the others keep their height.
#[test]
fn a_line_that_explodes_does_not_flatten_the_others() {
    use super::evaluation::cut;
    let (x, y) = cut(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 1e9, 2.0], 5.0);
    assert_eq!(x.len(), 6);
    assert!(x[2] > 2.0 && x[2] < 2.01 && y[2] == 5.0 && y[3].is_nan() && y[4] == 5.0);
    assert!(y.iter().all(|y| y.is_nan() || *y <= 5.0));
    let (_, y) = cut(&[1.0, 2.0], &[1.0, f64::NAN], 5.0);
    assert!(y[0] == 1.0 && y[1].is_nan());
}
