//! Kept runs against runs in memory.

use super::super::tests::{schools, short};
use super::super::*;
use crate::draws::{Flush, Stored, Trace, read_zarr};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fitzroy-kept-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Notes what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<Convergence>>);

impl Live for Notes {
    fn show(&self, convergence: &Convergence) {
        self.0.lock().unwrap().push(*convergence);
    }
}

fn kept(settings: &Settings, folder: &Folder, notes: &Notes) -> Outcome {
    let joint = schools(settings);
    let keeping = Keeping {
        folder: &folder.0,
        from: open(&folder.0, &joint, settings).unwrap(),
        first_s: 0.0,
        every_s: 0.0,
        live: notes,
    };
    // A clock by which every meeting of the chains is due, and the next one soon.
    let ticks = AtomicU64::new(0);
    let caller = Caller {
        now: &|| ticks.fetch_add(1, Ordering::Relaxed) as f64 * 0.1,
        ..Caller::silent()
    };
    let mut outcome = run_kept(&joint, settings, &caller, &keeping).unwrap();
    let mut kept = outcome.kept.take().unwrap();
    assert_eq!(kept.on_disk(), settings.in_memory_bytes == Some(0));
    kept.finish(&outcome.trace, outcome.first_draw, Flush::Later)
        .unwrap();
    outcome
}

/// The same draws, group by group.
#[track_caller]
fn same(store: &Trace, whole: &Trace) {
    for group in whole
        .groups
        .iter()
        .filter(|g| !g.name.starts_with("warmup_"))
    {
        for v in &group.variables {
            let other = store.group(&group.name).unwrap().variable(&v.name).unwrap();
            assert_eq!(format!("{v:?}"), format!("{other:?}"), "{}", group.name);
        }
    }
}

/// Exact, in one go and resumed, with the draws in memory and on the disk. Catches: draws that are
/// forgotten before they are written, written twice, or numbered by the session.
#[test]
fn a_kept_run_has_the_draws_of_any_other_wherever_they_are() {
    let mut settings = Settings {
        predictive: true,
        log_likelihood: true,
        ..short()
    };
    settings.sampler.draws = 3000;
    let whole = run(&schools(&settings), &settings, &Caller::silent()).unwrap();
    let options = SummaryOptions::default();
    let wanted = whole.diagnose(&options).unwrap();
    for in_memory in [None, Some(0)] {
        let folder = Folder::new(&format!("{}", in_memory.is_none()));
        let notes = Notes::default();
        settings.in_memory_bytes = in_memory;
        for draws in [1100, 3000] {
            settings.sampler.draws = draws;
            let outcome = kept(&settings, &folder, &notes);
            assert_eq!(outcome.n_draws(), draws);
            let store = read_zarr(folder.0.join(STREAM)).unwrap();
            assert_eq!(store.n_draws("posterior"), draws);
            if draws < 3000 {
                continue;
            }
            same(&store, &whole.trace);
            let stored = Stored::open(folder.0.join(STREAM)).unwrap();
            let found = outcome.diagnose_stored(&stored, &options).unwrap();
            let rows = |d: &Diagnosis| format!("{:?}", d.summary.rows);
            if in_memory.is_none() {
                same(&outcome.trace, &whole.trace);
                assert_eq!(rows(&outcome.diagnose(&options).unwrap()), rows(&wanted));
            }
            assert_eq!(rows(&found), rows(&wanted));
            assert_eq!(found.bfmi, wanted.bfmi);
            assert_eq!(found.divergences, wanted.divergences);
            assert_eq!(found.converged(), wanted.converged());
        }
        let notes = notes.0.into_inner().unwrap();
        assert!(
            notes
                .iter()
                .any(|c| c.min_ess_bulk > 50.0 && c.max_rhat < 1.2),
            "{notes:?}"
        );
    }
}

/// The names of chunks are part of the format of a store: draws that are added under other names
/// would never be read.
#[test]
fn a_store_whose_chunks_have_other_names_is_not_gone_on_with() {
    let mut settings = short();
    settings.sampler.draws = 100;
    let folder = Folder::new("keys");
    kept(&settings, &folder, &Notes::default());
    let root = folder.0.join(STREAM);
    let path = root.join("zarr.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let other = text.replace(r#""separator":".""#, r#""separator":"/""#);
    assert_ne!(text, other);
    std::fs::write(&path, other).unwrap();
    settings.sampler.draws = 200;
    let refused = open(&folder.0, &schools(&settings), &settings);
    let message = refused.err().unwrap().to_string();
    for part in ["run.zarr", r#""separator":"/""#, "⟨overwrite⟩"] {
        assert!(message.contains(part), "{message}");
    }
    std::fs::write(&path, text).unwrap();
    assert!(
        open(&folder.0, &schools(&settings), &settings)
            .unwrap()
            .is_some()
    );
}

/// Catches: effective draws of all sessions over the seconds of the last one.
#[test]
fn a_run_that_went_on_has_the_seconds_of_all_its_sessions() {
    let mut settings = short();
    settings.sampler.draws = 100;
    let folder = Folder::new("seconds");
    let first = kept(&settings, &folder, &Notes::default()).timing;
    assert!(first.earlier == 0.0 && first.warmup > 0.0 && first.total > first.warmup);
    settings.sampler.draws = 200;
    let second = kept(&settings, &folder, &Notes::default()).timing;
    assert!((second.earlier - first.total).abs() < 1e-9, "{second:?}");
    assert!(
        second.total > first.total && second.sampling > first.sampling,
        "{first:?} {second:?}"
    );
    assert!(second.warmup >= first.warmup && second.warmup < 2.0 * first.warmup);
}
