//! Training of graph networks: against the CPU, and how long a step takes.

use crate::steps::{Setup, failure};
use crate::watched::Watched;
use fitzroy::Result;
use fitzroy_device::gpu::work::Math;
use fitzroy_device::gpu::{Gpu, GpuWork, Places};
use fitzroy_device::nn::Recompute;
use fitzroy_weather::data::{Archive, Channel, SplitBy, Splits};
use fitzroy_weather::graph::Boxes;
use fitzroy_weather::time::Time;
use fitzroy_weather::train::{
    Architecture, Baseline, Caller, Checkpoint, GraphKind, Outcome, Problem, Settings, Target,
    Task, Weighting, newest, train, train_on,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Waves that move east: as many variables, levels and records as asked for, on a grid from 25 N,
/// 70 E on.
fn archive(lat: &[f64], lon: &[f64], levels: &[f64], n_times: usize) -> Archive {
    let mut channels = Vec::new();
    for variable in ["DPT", "TEM", "GPH", "U", "V"] {
        channels.extend(levels.iter().map(|&level| Channel {
            variable: variable.into(),
            level: Some(level),
            units: String::new(),
        }));
    }
    channels.push(Channel {
        variable: "precipitation".into(),
        level: None,
        units: "mm".into(),
    });
    let mut values = Vec::new();
    for t in 0..n_times {
        for y in 0..lat.len() {
            for x in 0..lon.len() {
                let phase = 0.23 * x as f64 - 0.3 * t as f64 + 0.17 * y as f64;
                let last = channels.len() - 1;
                for c in 0..last {
                    let wave = (phase * (1.0 + 0.03 * c as f64) + c as f64).sin();
                    values.push((250.0 + 10.0 * wave) as f32);
                }
                values.push((2.0 + 30.0 * phase.sin().powi(9)).max(0.0) as f32);
            }
        }
    }
    Archive {
        times: (0..n_times as i64).map(|k| Time(43_200 * k)).collect(),
        step_s: 43_200,
        lat: lat.to_vec(),
        lon: lon.to_vec(),
        channels,
        absent: Vec::new(),
        mask: None,
        curved: None,
        statics: Vec::new(),
        values: values.into(),
    }
}

fn problem(archive: Archive, task: Task, architecture: Architecture) -> Result<Problem> {
    let by = SplitBy::Ratios {
        train: 0.7,
        validation: 0.15,
    };
    let splits = Splits::new(&archive, &by)?;
    Problem::new(
        archive,
        splits,
        task,
        architecture,
        Weighting::default(),
        None,
    )
}

/// A folder for one run, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Folder> {
        let name = format!("fitzroy-gpu-day-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).map_err(|e| failure(format!("{}: {e}", path.display())))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed lies in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(target: Target, problem: &Problem, settings: &Settings, folder: &Path) -> Result<Outcome> {
    let start = Instant::now();
    let never = AtomicBool::new(false);
    let caller = Caller {
        now: &|| start.elapsed().as_secs_f64(),
        wall_time: &|| 0.0,
        stop: &never,
        observer: &|_| {},
        spare: None,
        profile: None,
    };
    match target {
        Target::Cpu => train(problem, settings, None, folder, &caller),
        target => train_on(target, problem, settings, None, folder, &caller),
    }
}

/// The first GPU, and what of its libraries a reader should know.
fn on_gpu(places: &Places, math: Math) -> Result<Target> {
    let gpu = Gpu::open(places, 0)?;
    Ok(Target::Device(Box::new(GpuWork::new(gpu, places)?), math))
}

fn away(a: &[f32], b: &[f32]) -> f64 {
    let pairs = a.iter().zip(b);
    let sum: f64 = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum();
    sum.sqrt()
}

/// Twelve steps with rollouts in every precision against the CPU in f32: losses and parameters.
pub(crate) fn equal(places: &Places, setup: &Setup<'_>) -> Result<Value> {
    let [n_lat, n_lon, width] = match setup.small {
        true => [8, 9, 16],
        false => [14, 16, 64],
    };
    let lat: Vec<f64> = (0..n_lat).map(|k| 30.0 + k as f64).collect();
    let lon: Vec<f64> = (0..n_lon).map(|k| 80.0 + k as f64).collect();
    let architecture = Architecture {
        graph: GraphKind::Mesh,
        baseline: Baseline::Linear,
        latent: width,
        n_layers: 3,
        hidden: width,
        n_hidden: 1,
    };
    let task = Task::Forecast { boundary_width: 2 };
    let problem = problem(archive(&lat, &lon, &[250.0, 850.0], 60), task, architecture)?;
    let settings = Settings {
        max_steps: Some(12),
        learning_rate: 1e-3,
        warmup_steps: Some(2),
        rollout_steps: "2".into(),
        average: Some(0.9),
        recompute: Recompute::None,
        validation_frequency: 6,
        ..Settings::default()
    };
    let folder = Folder::new("cpu")?;
    let cpu = run(Target::Cpu, &problem, &settings, &folder.0)?;
    let checkpoint = |folder: &Path| Checkpoint::load(&newest(folder)[0]);
    let expected = checkpoint(&folder.0)?;
    let mut found = serde_json::Map::new();
    for (math, most) in [(Math::F32, 1e-3), (Math::Tf32, 1e-2), (Math::Bf16, 3e-2)] {
        let folder = Folder::new(math.name())?;
        let settings = Settings {
            device: Some(math),
            ..settings.clone()
        };
        let outcome = run(on_gpu(places, math)?, &problem, &settings, &folder.0)?;
        let made = checkpoint(&folder.0)?;
        let loss = (outcome.last_loss / cpu.last_loss - 1.0).abs();
        let length = away(&expected.m, &vec![0.0; expected.m.len()]);
        let moments = away(&made.m, &expected.m) / length;
        found.insert(format!("{}_loss_apart", math.name()), json!(loss));
        found.insert(format!("{}_moments_apart", math.name()), json!(moments));
        if !(loss < most) {
            let name = math.name();
            return Err(failure(format!(
                "in {name} the loss is {loss:.1e} from that of the CPU: {found:?}"
            )));
        }
    }
    Ok(Value::Object(found))
}

/// Milliseconds a step of the network of the original pipeline: 256 wide, 12 layers, batches of 8.
pub(crate) fn speed(places: &Places, setup: &Setup<'_>) -> Result<Value> {
    // Every quarter of a degree of a region of 25 by 55; small, every 2.5 degrees in a smaller network.
    let (by, width, n_layers) = match setup.small {
        true => (2.5, 16, 2),
        false => (0.25, 256, 12),
    };
    let degrees = |from: f64, wide: f64| -> Vec<f64> {
        let n = (wide / by) as usize + 1;
        (0..n).map(|k| from + by * k as f64).collect()
    };
    let (lat, lon) = (degrees(25.0, 25.0), degrees(70.0, 55.0));
    let levels = [
        100.0, 150.0, 200.0, 250.0, 300.0, 400.0, 500.0, 700.0, 850.0, 925.0, 1000.0,
    ];
    let architecture = Architecture {
        graph: GraphKind::Flat,
        baseline: Baseline::Momentum,
        latent: width,
        n_layers,
        hidden: width,
        n_hidden: 2,
    };
    let task = Task::Precip(Boxes::default());
    let problem = problem(archive(&lat, &lon, &levels, 40), task, architecture)?;
    let settings = Settings {
        batch_size: 8,
        max_steps: Some(setup.few(24) as u64),
        log_every: if setup.small { 2 } else { 8 },
        validation_frequency: 1000,
        ..Settings::default()
    };
    let mut found = serde_json::Map::new();
    for math in [Math::Bf16, Math::Tf32, Math::F32] {
        let folder = Folder::new(math.name())?;
        let settings = Settings {
            device: Some(math),
            ..settings.clone()
        };
        let start = Instant::now();
        let watched = Watched::new(Box::new(GpuWork::new(Gpu::open(places, 0)?, places)?));
        let target = Target::Device(Box::new(watched.clone()), math);
        let outcome = run(target, &problem, &settings, &folder.0)?;
        let name = math.name();
        found.insert(format!("{name}_ms"), json!(1e3 * outcome.step_s.1));
        found.insert(format!("{name}_first_step_s"), json!(outcome.step_s.0));
        found.insert(format!("{name}_last_loss"), json!(outcome.last_loss));
        found.insert(format!("{name}_data_wait"), json!(outcome.data_wait));
        let whole = start.elapsed().as_secs_f64();
        found.insert(format!("{name}_run_s"), json!(whole));
        for (what, value) in watched.found(if setup.small { 1 } else { 2 })? {
            found.insert(format!("{name}_{what}"), value);
        }
    }
    Ok(Value::Object(found))
}
