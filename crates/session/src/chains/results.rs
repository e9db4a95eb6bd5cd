//! The files that say what the draws are worth.

use crate::folder::Folder;
use fitzroy::diagnose::Diagnosis;
use fitzroy::report::{TextOptions, diagnosis_json, diagnosis_text, summary_csv};
use serde_json::{Value, json};

/// Writes the summaries of a run, and `run.json`.
pub fn save(folder: &mut Folder, diagnosis: &Diagnosis, document: &Value) {
    summaries(folder, "summary", diagnosis);
    mark(folder, document);
}

/// Writes `run.json`, by which a folder is known as ours: the document of a run without its summary.
pub fn mark(folder: &mut Folder, document: &Value) {
    let mut marked = json!({"program": "fitzroy"});
    if let (Value::Object(to), Value::Object(from)) = (&mut marked, document) {
        let fields = from.iter().filter(|(key, _)| *key != "summary");
        to.extend(fields.map(|(key, value)| (key.clone(), value.clone())));
    }
    folder.try_write("run.json", &format!("{marked:#}\n"));
}

/// Writes the summary as `NAME.txt`, `NAME.csv` and `NAME.json`.
pub fn summaries(folder: &mut Folder, name: &str, diagnosis: &Diagnosis) {
    let all = TextOptions {
        max_rows: usize::MAX,
        ..TextOptions::default()
    };
    folder.try_write(&format!("{name}.txt"), &diagnosis_text(diagnosis, &all));
    folder.try_write(&format!("{name}.csv"), &summary_csv(&diagnosis.summary));
    let document = Value::Object(diagnosis_json(diagnosis));
    folder.try_write(&format!("{name}.json"), &format!("{document:#}\n"));
}
