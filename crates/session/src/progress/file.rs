//! Progress for other programs: `progress.json`, replaced as a whole every two seconds.

use super::{Display, Snapshot};
use crate::clock::timestamp;
use fitzroy::report::json_number as number;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Its name in the folder of a run.
pub const PROGRESS: &str = "progress.json";
/// Seconds between two versions.
const EVERY_S: f64 = 2.0;

/// Writes the file.
pub(super) struct File {
    path: PathBuf,
    last_s: f64,
}

/// Replaces the file at `path` as a whole, adding when and by whom. A file that cannot be written is
/// no reason to stop a run; the results will say so.
pub fn replace(path: &Path, mut document: Value) {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    document["updated_at"] = json!(timestamp());
    document["pid"] = json!(std::process::id());
    document["host"] = json!(host.trim());
    let partial = path.with_extension("json.tmp");
    match fs::write(&partial, format!("{document:#}\n")) {
        Ok(()) => drop(fs::rename(&partial, path)),
        Err(_) => {
            let _ = fs::remove_file(&partial);
            if document["state"] != "running" {
                let _ = write_over(path, &document.to_string());
            }
        }
    }
}

/// Writes `text` into the room that a file has already, for the last word on a disk that is full.
fn write_over(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).open(path)?;
    let room = usize::try_from(file.metadata()?.len()).unwrap_or(0);
    match text.len() <= room {
        // Spaces at the end are no part of the document.
        true => file.write_all(format!("{text:<room$}").as_bytes()),
        false => Ok(()),
    }
}

impl File {
    /// Writes to `path`.
    pub(super) fn new(path: PathBuf) -> Self {
        File { path, last_s: 0.0 }
    }
}

impl Display for File {
    fn show(&mut self, snapshot: &Snapshot, elapsed_s: f64) {
        if elapsed_s - self.last_s >= EVERY_S {
            self.last_s = elapsed_s;
            replace(&self.path, document(snapshot, elapsed_s, "running"));
        }
    }

    fn end(&mut self, snapshot: &Snapshot, elapsed_s: f64) {
        let state = snapshot.state.name();
        replace(&self.path, document(snapshot, elapsed_s, state));
    }
}

/// Counts are transitions, warm-up included; times are in seconds; what is not known is null.
fn document(snapshot: &Snapshot, elapsed_s: f64, state: &str) -> Value {
    let chains = snapshot.chains.iter().enumerate().map(|(chain, c)| {
        json!({
            "chain": chain,
            "done": c.done,
            "step_size": number(c.step_size),
            "divergences": c.divergences,
        })
    });
    let known = |value: Option<f64>| value.map_or(Value::Null, number);
    json!({
        "state": state,
        "phase": if snapshot.warming_up() { "warm-up" } else { "sampling" },
        "done": snapshot.done(),
        "total": snapshot.total(),
        "chains": chains.collect::<Vec<_>>(),
        "divergences": snapshot.divergences(),
        "min_ess_bulk": known(snapshot.convergence.map(|c| c.0)),
        "max_rhat": known(snapshot.convergence.map(|c| c.1)),
        "elapsed_s": number(elapsed_s),
        "eta_s": known(snapshot.remaining_s(elapsed_s)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Board, State};
    use super::*;

    #[test]
    fn the_file_holds_what_other_programs_look_for_and_ends_with_the_state() {
        let path =
            std::env::temp_dir().join(format!("fitzroy-progress-{}.json", std::process::id()));
        let board = Board::new(2, 100, 100);
        board.update(0, true, 100, 3, 0.5, 700);
        let mut file = File::new(path.clone());
        file.show(&board.snapshot(), 1.0);
        assert!(!path.exists(), "a short run writes it once");
        file.show(&board.snapshot(), 2.5);
        let read = || -> Value {
            let text = fs::read_to_string(&path).expect("written");
            serde_json::from_str(&text).expect("always whole")
        };
        let found = read();
        assert_eq!(
            (&found["state"], &found["done"]),
            (&json!("running"), &json!(100))
        );
        assert_eq!(found["eta_s"], json!(7.5));
        assert_eq!(found["chains"][0]["divergences"], 3);
        assert!(found["min_ess_bulk"].is_null() && found["max_rhat"].is_null());
        board.agree(412.0, 1.004);
        board.set_state(State::Interrupted);
        file.end(&board.snapshot(), 3.0);
        let found = read();
        assert_eq!(found["state"], "interrupted");
        assert_eq!(
            (&found["min_ess_bulk"], &found["max_rhat"]),
            (&json!(412.0), &json!(1.004))
        );
        fs::remove_file(path).expect("ours");
    }

    #[test]
    fn the_last_word_fits_into_the_room_of_the_one_before() {
        let name = format!("fitzroy-progress-over-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        let board = Board::new(1, 10, 10);
        let mut file = File::new(path.clone());
        file.show(&board.snapshot(), 2.5);
        // Nothing can be written beside it.
        fs::create_dir(path.with_extension("json.tmp")).expect("writable");
        board.set_state(State::Failed);
        file.end(&board.snapshot(), 3.0);
        let text = fs::read_to_string(&path).expect("there");
        let found: Value = serde_json::from_str(&text).expect("whole");
        assert_eq!(found["state"], "failed");
        fs::remove_dir(path.with_extension("json.tmp")).expect("ours");
        fs::remove_file(path).expect("ours");
    }
}
