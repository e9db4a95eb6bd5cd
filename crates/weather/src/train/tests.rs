//! Training against itself: stopped and resumed, cut into parts, recomputed.

use super::*;
use crate::data::{Archive, Channel, Room, SplitBy, Splits, Values};
use crate::time::Time;
use fitzroy_device::gpu::host::HostLibrary;
use fitzroy_device::nn::Recompute;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub(crate) mod masked;

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
fn a_run_that_was_stopped_goes_on_bit_for_bit_with_any_threads() {
    let problem = problem();
    let whole = Folder::new("whole");
    run(&problem, &settings(), None, &whole.0);
    let expected = last(&whole.0);
    for (threads, prefetch, readers, stop_at) in [(1, 4, 1, 11), (2, 0, 1, 4), (1, 3, 2, 7)] {
        let parts = Folder::new(&format!("parts{threads}{readers}"));
        let settings = Settings {
            threads,
            prefetch,
            readers,
            ..settings()
        };
        let first = Settings {
            max_steps: Some(stop_at),
            ..settings.clone()
        };
        run(&problem, &first, None, &parts.0);
        let checkpoint = last(&parts.0);
        assert_eq!(checkpoint.progress.step, stop_at);
        run(&problem, &settings, Some(checkpoint), &parts.0);
        let found = last(&parts.0);
        assert_eq!(found.progress.step, expected.progress.step);
        assert!(
            found.parameters == expected.parameters,
            "{threads} threads, prefetch {prefetch}"
        );
        assert!(found.m == expected.m && found.v == expected.v);
        assert!(found.average == expected.average);
    }
}

/// Data in a file beside the same data in memory. Catches: a pass over the records that misses some
/// of a block, a batch of other windows.
#[test]
fn data_in_a_file_train_the_same_network() {
    let trained = |data: Archive, name: &str| {
        let problem = problem_from(
            data,
            Task::Forecast { boundary_width: 1 },
            GraphKind::Mesh,
            Baseline::Linear,
        );
        let folder = Folder::new(name);
        run(&problem, &settings(), None, &folder.0);
        (problem.checksum, last(&folder.0).parameters)
    };
    let (held, mut mapped) = (archive(60), archive(60));
    let few = Room {
        memory_bytes: Some(10_000),
        folder: Some(std::env::temp_dir()),
    };
    mapped.values = Values::missing(held.values.len(), &few).unwrap();
    assert!(mapped.values.in_file() && mapped.values.iter().all(|x| x.is_nan()));
    mapped.values.copy_from_slice(&held.values);
    assert!(trained(held, "held") == trained(mapped, "mapped"));
}

#[test]
fn summed_halves_and_recomputed_layers_are_the_same_step() {
    let problem = problem();
    let losses = |settings: Settings| {
        let folder = Folder::new(&format!(
            "same{}{}",
            settings.batch_size, settings.accumulate
        ));
        let settings = Settings {
            max_steps: Some(4),
            average: None,
            ..settings
        };
        run(&problem, &settings, None, &folder.0);
        last(&folder.0).parameters
    };
    let eight = losses(Settings {
        batch_size: 8,
        ..settings()
    });
    let halves = losses(Settings {
        batch_size: 4,
        accumulate: 2,
        ..settings()
    });
    let worst = eight
        .iter()
        .zip(&halves)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max);
    // Four steps of at most 3e-3 each; sums in another order change the last bits.
    assert!(worst < 1e-4, "{worst}");
    let recomputed = losses(Settings {
        batch_size: 8,
        recompute: Recompute::Mlp,
        ..settings()
    });
    assert!(eight == recomputed);
}

/// Gradient of a forecast of three steps against central differences of its loss, in f32: the
/// bound is its rounding. Catches: a slope that is lost between steps.
#[test]
fn gradients_run_through_all_steps_of_a_forecast() {
    let problem = problem();
    let mut pool = fitzroy_device::nn::Pool::new(1);
    let mut learner = Learner::new(&problem, &pool, 2, 3, Recompute::None).unwrap();
    let mut theta = initial(&problem, &learner.predictor.network, 1);
    let mut batch = Batch::default();
    batch.fill(&problem, &[5, 9], 3);
    let mut gradient = vec![0.0; theta.len()];
    learner.predictor.embed(&mut pool, &theta);
    let loss = learner.learn(&problem, &mut pool, &theta, &batch, &mut gradient);
    let mut value = |theta: &[f32]| {
        learner.predictor.embed(&mut pool, theta);
        learner.forecast(&problem, &mut pool, theta, &batch, 2, false)
    };
    assert!((value(&theta) - loss).abs() < 1e-6 * loss);
    // Along the gradient the loss must change by its length.
    let length = gradient
        .iter()
        .map(|g| f64::from(g * g))
        .sum::<f64>()
        .sqrt();
    let h = 1e-3 * loss / length;
    let start = theta.clone();
    let mut moved = |sign: f64| {
        for ((x, x0), g) in theta.iter_mut().zip(&start).zip(&gradient) {
            *x = x0 + (sign * h / length) as f32 * g;
        }
        value(&theta)
    };
    let slope = (moved(1.0) - moved(-1.0)) / (2.0 * h);
    assert!((slope / length - 1.0).abs() < 5e-3, "{slope} and {length}");
}

#[test]
fn four_samples_can_be_learnt_by_heart() {
    let problem = problem_of(
        archive(40),
        Task::Forecast { boundary_width: 1 },
        GraphKind::Mesh,
    );
    let mut pool = fitzroy_device::nn::Pool::new(2);
    let mut learner = Learner::new(&problem, &pool, 4, 1, Recompute::None).unwrap();
    let mut theta = initial(&problem, &learner.predictor.network, 1);
    let mut batch = Batch::default();
    batch.fill(&problem, &[1, 2, 3, 4], 1);
    let n = theta.len();
    let (mut m, mut v) = (vec![0.0; n], vec![0.0; n]);
    let mut loss = f64::INFINITY;
    for step in 1..=1000 {
        let mut gradient = vec![0.0; n];
        learner.predictor.embed(&mut pool, &theta);
        loss = learner.learn(&problem, &mut pool, &theta, &batch, &mut gradient);
        let rate = 5e-3 * (1.0 - step as f64 / 1020.0);
        let adamw = fitzroy_device::nn::AdamW {
            weight_decay: 0.0,
            ..Default::default()
        };
        adamw.step(
            &mut pool, step, rate, 1.0, &mut theta, &gradient, &mut m, &mut v,
        );
    }
    assert!(loss < 1e-3, "{loss}");
}

#[test]
fn rain_is_learnt_downstream_of_pruned_boxes() {
    let problem = problem_of(archive(60), rain(), GraphKind::Flat);
    assert!(problem.n_pruned > 0);
    let folder = Folder::new("rain");
    let outcome = run(
        &problem,
        &Settings {
            max_steps: Some(20),
            ..settings()
        },
        None,
        &folder.0,
    );
    assert!(outcome.last_loss.is_finite());
    let refused = plan(
        &problem,
        &Settings {
            rollout_steps: "2".into(),
            ..settings()
        },
    );
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("cannot be carried on")
    );
}

#[test]
fn a_damaged_checkpoint_gives_way_to_the_one_before() {
    let problem = problem();
    let folder = Folder::new("damaged");
    run(
        &problem,
        &Settings {
            max_steps: Some(10),
            ..settings()
        },
        None,
        &folder.0,
    );
    let files = newest(&folder.0);
    assert!(files.len() >= 2);
    let mut bytes = std::fs::read(&files[0]).unwrap();
    let middle = bytes.len() - 100;
    bytes[middle] ^= 1;
    std::fs::write(&files[0], &bytes).unwrap();
    for place in [folder.0.clone(), files[0].clone()] {
        let found = find(&place).unwrap();
        assert_eq!(found.path, files[1]);
        assert!(found.notes[0].contains("damaged"), "{:?}", found.notes);
    }
    bytes.truncate(100);
    std::fs::write(&files[1], &bytes).unwrap();
    assert!(find(&folder.0).unwrap_err().to_string().contains("damaged"));
}

#[test]
fn a_checkpoint_of_another_model_names_what_differs() {
    let problem = problem();
    let folder = Folder::new("other");
    run(
        &problem,
        &Settings {
            max_steps: Some(3),
            ..settings()
        },
        None,
        &folder.0,
    );
    let checkpoint = last(&folder.0);
    let other = problem_of(
        archive(60),
        Task::Forecast { boundary_width: 2 },
        GraphKind::Mesh,
    );
    let error = checkpoint
        .agree(&other.identity(), checkpoint.parameters.len())
        .unwrap_err();
    assert!(error.to_string().contains("task: "), "{error}");
    let mut changed = archive(60);
    changed.channels[1].variable = "V".into();
    let other = problem_of(
        changed,
        Task::Forecast { boundary_width: 1 },
        GraphKind::Mesh,
    );
    let error = checkpoint
        .agree(&other.identity(), checkpoint.parameters.len())
        .unwrap_err();
    assert!(error.to_string().contains("channels: "), "{error}");
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

/// Along the gradient of a rolled-out forecast with a linear model beneath. Catches: its slope by
/// either state that is lost, or goes to the wrong neighbour.
#[test]
fn gradients_run_through_the_linear_model_too() {
    let problem = problem_from(
        archive(60),
        Task::Forecast { boundary_width: 1 },
        GraphKind::Flat,
        Baseline::Linear,
    );
    let mut pool = fitzroy_device::nn::Pool::new(1);
    let mut learner = Learner::new(&problem, &pool, 2, 3, Recompute::None).unwrap();
    let mut theta = initial(&problem, &learner.predictor.network, 1);
    let last = learner.predictor.network.parameters().iter();
    let last = last.rev().find(|p| p.shape.len() == 2).unwrap().clone();
    assert!(
        theta[last.offset..last.offset + last.n()]
            .iter()
            .all(|&x| x == 0.0)
    );
    // A network that says nothing has no slopes but those of its last layer.
    for (k, x) in theta[last.offset..last.offset + last.n()]
        .iter_mut()
        .enumerate()
    {
        *x = 0.3 * ((k * 7 % 11) as f32 - 5.0) / 5.0;
    }
    let mut batch = Batch::default();
    batch.fill(&problem, &[5, 9], 3);
    let mut gradient = vec![0.0; theta.len()];
    learner.predictor.embed(&mut pool, &theta);
    let loss = learner.learn(&problem, &mut pool, &theta, &batch, &mut gradient);
    let mut value = |theta: &[f32]| {
        learner.predictor.embed(&mut pool, theta);
        learner.forecast(&problem, &mut pool, theta, &batch, 2, false)
    };
    let length = gradient
        .iter()
        .map(|g| f64::from(g * g))
        .sum::<f64>()
        .sqrt();
    let h = 1e-3 * loss / length;
    let start = theta.clone();
    let mut moved = |sign: f64| {
        for ((x, x0), g) in theta.iter_mut().zip(&start).zip(&gradient) {
            *x = x0 + (sign * h / length) as f32 * g;
        }
        value(&theta)
    };
    let slope = (moved(1.0) - moved(-1.0)) / (2.0 * h);
    assert!((slope / length - 1.0).abs() < 5e-3, "{slope} and {length}");
}

fn written(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut all: Vec<(String, Vec<u8>)> = entries
        .map(|e| {
            let name = e.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(e.path()).unwrap())
        })
        .collect();
    all.sort();
    all
}

/// By its steps or by its epochs: what has ended stays as it is, byte for byte.
#[test]
fn a_finished_run_that_is_resumed_touches_nothing() {
    let problem = problem();
    for max_steps in [Some(9), None] {
        let folder = Folder::new("finished");
        let settings = Settings {
            max_steps,
            ..settings()
        };
        run(&problem, &settings, None, &folder.0);
        let before = written(&folder.0);
        for _ in 0..2 {
            let again = run(&problem, &settings, Some(last(&folder.0)), &folder.0);
            assert_eq!(again.ended, Ended::Finished);
            assert!(written(&folder.0) == before);
        }
        let more = Settings {
            n_epochs: 4,
            max_steps: max_steps.map(|n| n + 2),
            ..settings
        };
        let longer = run(&problem, &more, Some(last(&folder.0)), &folder.0);
        assert!(longer.progress.step > last_step(&before));
    }
}

fn last_step(files: &[(String, Vec<u8>)]) -> u64 {
    let steps = files.iter().filter_map(|(name, _)| {
        let step = name.strip_prefix("checkpoint-")?;
        step.strip_suffix(".safetensors")?.parse().ok()
    });
    steps.max().unwrap()
}

/// The same times with other numbers, and another loss: refused with what differs.
#[test]
fn other_data_and_another_loss_are_not_gone_on_with() {
    let problem = problem();
    let folder = Folder::new("other-data");
    let short = Settings {
        max_steps: Some(3),
        ..settings()
    };
    run(&problem, &short, None, &folder.0);
    let mut data = archive(60);
    data.values[5000] += 0.01;
    let mut other = problem_of(data, Task::Forecast { boundary_width: 1 }, GraphKind::Mesh);
    let error = resumed(&other, &short, &last(&folder.0)).unwrap_err();
    assert!(
        error.to_string().contains("records are other ones"),
        "{error}"
    );
    // What is only tested may change.
    let mut data = archive(60);
    let n = data.values.len();
    data.values[n - 1] += 0.01;
    other = problem_of(data, Task::Forecast { boundary_width: 1 }, GraphKind::Mesh);
    assert!(resumed(&other, &short, &last(&folder.0)).is_ok());
    other.weighting.loss = LossKind::Huber;
    let error = resumed(&other, &short, &last(&folder.0)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("loss: \"mse\" saved, \"huber\" here"),
        "{error}"
    );
}

/// A map without noise that no linear model knows: x(t+1) = 1 − 1.4 x(t)² + 0.3 x(t−1) at every
/// point for itself (Hénon 1976). A trained network is ahead of everything by more than chance at
/// both leads, on validation forecasts and in the evaluation; before training it is not, and its
/// forecasts are those of its start.
#[test]
fn a_network_that_has_learnt_passes_and_one_that_has_not_fails() {
    let mut data = archive(240);
    data.channels.truncate(1);
    let (n, n_times) = (data.n_nodes(), data.times.len());
    let mut values = vec![0.0_f32; n * n_times];
    for k in 0..n {
        let (mut before, mut now) = (0.1 + 0.002 * k as f64, 0.3 - 0.003 * k as f64);
        for t in 0..n_times + 50 {
            (before, now) = (now, 1.0 - 1.4 * now * now + 0.3 * before);
            if t >= 50 {
                values[(t - 50) * n + k] = now as f32;
            }
        }
    }
    data.values = values.into();
    let task = Task::Forecast { boundary_width: 1 };
    let problem = problem_from(data, task, GraphKind::Flat, Baseline::Linear);
    let options = crate::evaluate::Options {
        leads: 2,
        from: None,
        until: None,
        starts_max: 0,
        baselines: true,
        forecasts: crate::data::Forecasts::default(),
        areas: Vec::new(),
    };
    let scored = |parameters: &[f32]| {
        let mut forecaster = on_processor(&problem, parameters, options.leads);
        let found =
            crate::evaluate::evaluate(&problem, &mut forecaster, &options, &mut |_, _| true);
        found.unwrap().unwrap()
    };
    let learner = Learner::new(
        &problem,
        &fitzroy_device::nn::Pool::new(1),
        1,
        1,
        Recompute::None,
    );
    let untrained = scored(&initial(&problem, &learner.unwrap().predictor.network, 1));
    assert!(!untrained.passed());
    let start = untrained.beside("start");
    assert!(
        start
            .iter()
            .all(|c| (c.ratio - 1.0).abs() < 1e-6 && !c.beyond_chance())
    );
    let folder = Folder::new("henon");
    let settings = Settings {
        n_epochs: 12,
        learning_rate: 1e-2,
        decay_steps: None,
        validation_frequency: 50,
        validation_leads: 2,
        average: None,
        ..settings()
    };
    let outcome = run(&problem, &settings, None, &folder.0);
    assert_eq!(outcome.beside_start.len(), 2);
    assert!(
        outcome.beside_start.iter().all(|b| b.ratio < 0.7),
        "{:?}",
        outcome.beside_start
    );
    let best = Checkpoint::load(&outcome.best.unwrap()).unwrap();
    let trained = scored(best.best_parameters());
    assert!(trained.passed(), "{:?}", trained.failures());
}

/// A channel that never changes has no scale, and a loss of exactly 0 is no success.
#[test]
fn what_cannot_be_learnt_is_refused_or_no_success() {
    let mut data = archive(60);
    for x in data.values.iter_mut().skip(1).step_by(3) {
        *x = 4.0;
    }
    let by = SplitBy::Ratios {
        train: 0.6,
        validation: 0.2,
    };
    let splits = Splits::new(&data, &by).unwrap();
    let architecture = problem().architecture;
    let task = Task::Forecast { boundary_width: 1 };
    let weighting = Weighting::default();
    let refused = Problem::new(data, splits, task, architecture, weighting, None);
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("U 850 hPa never changes"), "{error}");
    let mut problem = problem();
    problem.channel_weights.fill(0.0);
    let folder = Folder::new("nothing");
    let short = Settings {
        max_steps: Some(3),
        ..settings()
    };
    let outcome = run(&problem, &short, None, &folder.0);
    assert_eq!((outcome.ended, outcome.last_loss), (Ended::Degenerate, 0.0));
}

/// The errors of validations that are logged are those of plain loops over forecasts, in the units of the channels, and
/// they choose the best checkpoint and end a run where it is asked for. Catches: squares of another lead, means over
/// samples that were filled up, areas forgotten.
#[test]
fn errors_of_validations_are_those_of_plain_loops_and_end_a_run() {
    let task = Task::Forecast { boundary_width: 2 };
    let problem = problem_from(archive(60), task, GraphKind::Flat, Baseline::Linear);
    let folder = Folder::new("monitor");
    let settings = Settings {
        batch_size: 3,
        monitor: Monitor::Rmse,
        validation_frequency: 5,
        validation_leads: 3,
        max_steps: Some(5),
        ..settings()
    };
    run(&problem, &settings, None, &folder.0);
    let text = std::fs::read_to_string(folder.0.join("metrics.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &serde_json::Value| line.get("validation/lead_hours").is_some())
        .collect();
    let raw = archive(60);
    let windows = problem.windows(crate::data::Split::Validation, 3).0;
    assert!(!windows.len().is_multiple_of(settings.batch_size));
    let errors = |parameters: &[f32]| -> Vec<f64> {
        let mut sums = [(0.0, 0.0); 3];
        let mut forecaster = on_processor(&problem, parameters, 3);
        for &t in &windows {
            let made = crate::evaluate::forecast(&problem, &mut forecaster, t as usize);
            let made = made.unwrap().remove(0).remove(2);
            let truth = raw.record(t as usize + 3);
            for k in 0..made.len() {
                let (node, channel) = (k / 3, k % 3);
                let (y, x) = (node / 10, node % 10);
                if (2..7).contains(&y) && (2..8).contains(&x) {
                    let w = raw.lat[y].to_radians().cos();
                    sums[channel].0 += w * (made[k] - f64::from(truth[k])).powi(2);
                    sums[channel].1 += w;
                }
            }
        }
        sums.iter().map(|(s, w)| (s / w).sqrt()).collect()
    };
    let checkpoint = last(&folder.0);
    let network = fitzroy_device::nn::Network::new(&problem.spec, Recompute::None).unwrap();
    let first = errors(&initial(&problem, &network, settings.seed));
    let after = errors(checkpoint.best_parameters());
    for (line, plain) in [(&lines[0], &first), (&lines[1], &after)] {
        assert_eq!(line["validation/lead_hours"], 18.0);
        // Rain is not held above 0 in a validation, as in the loss.
        for (label, plain) in ["TEM 850 hPa", "U 850 hPa"].iter().zip(plain) {
            let own = line[format!("validation/rmse/{label}")].as_f64().unwrap();
            assert!((own / plain - 1.0).abs() < 1e-4, "{label}: {own} {plain}");
        }
    }
    let ratio = |k: usize| {
        let label = ["TEM 850 hPa", "U 850 hPa", "precipitation"][k];
        let of =
            |line: &serde_json::Value| line[format!("validation/rmse/{label}")].as_f64().unwrap();
        of(&lines[1]) / of(&lines[0])
    };
    let mean = (0..3).map(|k| ratio(k).ln()).sum::<f64>() / 3.0;
    let told = lines[1]["validation/ratio"].as_f64().unwrap();
    assert!(
        (told / mean.exp() - 1.0).abs() < 1e-9,
        "{told} {}",
        mean.exp()
    );
    // A rate that spoils everything: no validation is better than the first.
    let spoiled = Folder::new("spoiled");
    let settings = Settings {
        learning_rate: 1.0,
        warmup_steps: Some(1),
        validation_frequency: 2,
        patience: 2,
        max_steps: None,
        ..settings
    };
    let outcome = run(&problem, &settings, None, &spoiled.0);
    assert_eq!(outcome.ended, Ended::Early);
    assert!(outcome.progress.step <= 10, "{}", outcome.progress.step);
}
