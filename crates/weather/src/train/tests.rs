//! Training against itself: stopped and resumed, cut into parts, recomputed.

use super::*;
use crate::data::{Archive, Channel, SplitBy, Splits};
use crate::time::Time;
use fitzroy_device::gpu::host::HostLibrary;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

mod gradients;
mod learnt;
pub(crate) mod masked;
mod resumed;

/// Two waves that move east over a small grid; learnable, and different at every point.
pub(crate) fn archive(n_times: usize) -> Archive {
    let lat: Vec<f64> = (0..9).map(|k| 40.0 + k as f64).collect();
    let lon: Vec<f64> = (0..10).map(|k| k as f64).collect();
    let mut values = Vec::new();
    for t in 0..n_times {
        for y in 0..9 {
            for x in 0..10 {
                let phase = 0.6 * x as f64 - 0.3 * t as f64;
                values.push((280.0 + 5.0 * (phase + 0.2 * y as f64).sin()) as f32);
                values.push((3.0 * (phase * 1.3 - 0.4 * y as f64).cos()) as f32);
                values.push((2.0 + 30.0 * phase.sin().powi(9)).max(0.0) as f32);
            }
        }
    }
    let channel = |variable: &str, level| Channel {
        variable: variable.into(),
        level,
        units: "".into(),
    };
    Archive {
        times: (0..n_times).map(|k| Time(21_600 * k as i64)).collect(),
        step_s: 21_600,
        lat,
        lon,
        channels: vec![
            channel("TEM", Some(850.0)),
            channel("U", Some(850.0)),
            channel("precipitation", None),
        ],
        absent: Vec::new(),
        mask: None,
        curved: None,
        statics: Vec::new(),
        values: values.into(),
    }
}

/// Rain in a box of that grid, from a box upstream.
pub(crate) fn rain() -> Task {
    Task::Precip(crate::graph::Boxes {
        downstream: [41.0, 46.0, 5.0, 9.0],
        upstream: [40.0, 48.0, 0.0, 5.0],
        intra_k: 4,
        inter_k: 6,
        boundary_lon: 6.0,
    })
}

/// Whether there is a compiler for the kernels' text; one that is required is there.
pub(crate) fn has_compiler() -> bool {
    let found = HostLibrary::has_compiler();
    let required = std::env::var_os("FITZROY_REQUIRE_GXX").is_some();
    assert!(found || !required, "there is no g++");
    found
}

fn problem_of(archive: Archive, task: Task, graph: GraphKind) -> Problem {
    problem_from(archive, task, graph, Baseline::Momentum)
}

pub(crate) fn problem_from(
    archive: Archive,
    task: Task,
    graph: GraphKind,
    baseline: Baseline,
) -> Problem {
    let by = SplitBy::Ratios {
        train: 0.6,
        validation: 0.2,
    };
    let splits = Splits::new(&archive, &by).unwrap();
    let architecture = Architecture {
        graph,
        baseline,
        latent: 16,
        n_layers: 2,
        hidden: 16,
        n_hidden: 1,
    };
    Problem::new(
        archive,
        splits,
        task,
        architecture,
        Weighting::default(),
        None,
    )
    .unwrap()
}

fn problem() -> Problem {
    problem_of(
        archive(60),
        Task::Forecast { boundary_width: 1 },
        GraphKind::Mesh,
    )
}

/// Forecasts of `steps` steps by this processor.
pub(crate) fn on_processor<'m>(
    problem: &Problem,
    parameters: &'m [f32],
    steps: usize,
) -> Forecaster<'m> {
    let extent = Extent {
        steps,
        starts: 1,
        threads: 1,
        memory_bytes: None,
    };
    Forecaster::new(Target::Cpu, problem, &[parameters], extent).unwrap()
}

pub(crate) fn settings() -> Settings {
    Settings {
        batch_size: 4,
        n_epochs: 3,
        learning_rate: 3e-3,
        warmup_steps: Some(2),
        decay_steps: Some(40),
        validation_frequency: 7,
        checkpoint_frequency: 5,
        average: Some(0.9),
        log_every: 3,
        ..Settings::default()
    }
}

pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("fitzroy-train-{name}-{}", std::process::id()));
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

/// A caller that watches nothing.
pub(crate) fn quiet(stop: &AtomicBool) -> Caller<'_> {
    Caller {
        now: &|| 0.0,
        wall_time: &|| 1e9,
        stop,
        observer: &|_| {},
        spare: None,
        profile: None,
    }
}

pub(crate) fn run(
    problem: &Problem,
    settings: &Settings,
    from: Option<Checkpoint>,
    folder: &Path,
) -> Outcome {
    let stop = AtomicBool::new(false);
    train(problem, settings, from, folder, &quiet(&stop)).unwrap()
}

pub(crate) fn last(folder: &Path) -> Checkpoint {
    Checkpoint::load(&newest(folder)[0]).unwrap()
}

#[test]
fn what_cannot_be_trained_is_refused_before_the_first_step() {
    let problem = problem();
    let refused = |change: fn(&mut Settings)| {
        let mut settings = settings();
        change(&mut settings);
        plan(&problem, &settings).unwrap_err().to_string()
    };
    assert!(refused(|s| s.batch_size = 0).contains("⟨batch_size "));
    assert!(refused(|s| s.batch_size = 1000).contains("smaller batch"));
    assert!(refused(|s| s.average = Some(1.5)).contains("⟨ema "));
    assert!(refused(|s| s.readers = 0).contains("⟨readers 0⟩"));
    assert!(refused(|s| s.clip_norm = -1.0).contains("⟨gradient_clip_norm "));
    assert!(refused(|s| s.memory_bytes = Some(100_000)).contains("is free; use"));
    let size = plan(&problem, &settings()).unwrap().total_bytes();
    assert!(size > 100_000);
}

#[test]
fn gaps_and_borders_cost_windows() {
    let mut data = archive(30);
    for time in &mut data.times[15..] {
        time.0 += 3600;
    }
    let by = SplitBy::Ratios {
        train: 0.7,
        validation: 0.15,
    };
    let splits = Splits::new(&data, &by).unwrap();
    let (windows, dropped) = crate::data::windows(&data, &splits.train, 1);
    assert_eq!(splits.train, 0..21);
    // Records 0 and 20 lack a neighbour; 14 and 15 have the gap beside them.
    assert_eq!((windows.len(), dropped), (17, 4));
    assert!(!windows.contains(&14) && !windows.contains(&15) && !windows.contains(&0));
    let early = SplitBy::TestFrom {
        start: Time(0),
        train: 0.7,
        validation: 0.3,
    };
    let error = Splits::new(&data, &early).unwrap_err().to_string();
    assert!(error.contains("training split is empty"), "{error}");
    let shares = SplitBy::Ratios {
        train: 0.9,
        validation: 0.2,
    };
    assert!(Splits::new(&data, &shares).is_err());
}
