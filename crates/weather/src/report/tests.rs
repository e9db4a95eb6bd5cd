//! Logs read back, and pages that say what happened.

use super::*;
use serde_json::json;

const LOG: &str = r#"{"step":1,"time":1.0,"train/loss":1.5,"train/learning_rate":0.0,"train/gradient_norm":2.0,"train/samples_per_s":30.0,"train/data_wait":0.01}
{"step":4,"time":2.0,"train/loss":9.0,"train/learning_rate":0.1,"train/gradient_norm":"NaN","train/samples_per_s":30.0,"train/data_wait":0.01}
{"step":4,"time":3.0,"validation/loss":0.5}
{"step":4,"time":4.0,"train/loss":0.75,"train/learning_rate":0.1,"train/gradient_norm":1.0,"train/samples_per_s":20.0,"train/data_wait":0.02}
{"step":40,"time":5.0,"train/loss":0.25,"train/learning_rate":0.05,"train/gradient_norm":0.5,"train/samples_per_s":25.0,"train/data_wait":0.02}
{"step":20,"time":5.0,"validation/loss":0.6}
{"step":40,"time":5.0,"validation/loss":0.7}
{"step":41,"time":6.0,"train/lo"#;

#[test]
fn logs_are_read_back_and_later_lines_count() {
    let history = History::parse(LOG);
    let steps: Vec<(u64, f64)> = history.steps.iter().map(|s| (s.step, s.loss)).collect();
    assert_eq!(steps, [(1, 1.5), (4, 0.75), (40, 0.25)]);
    assert_eq!(history.validations, [(4, 0.5), (20, 0.6), (40, 0.7)]);
    assert_eq!(history.best(), Some((4, 0.5)));
    assert_eq!(History::parse(""), History::default());
}

#[test]
fn the_page_of_a_run_says_how_it_ended_and_what_to_do() {
    let history = History::parse(LOG);
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
    assert!(bad.contains("Training diverged") && bad.contains("lower --learning-rate"));
}
