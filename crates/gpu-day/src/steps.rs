//! The steps: each finds out one thing and returns its numbers.

use crate::models::{Example, M1, M2, SCHOOLS};
use fitzroy::diagnose::SummaryOptions;
use fitzroy::draws::Column;
use fitzroy::run::{Caller, Device, Outcome, Settings, kernel_source, run, team};
use fitzroy::verify::{Depth, verify};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::gpu::{Gpu, Machine, Places};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// A step.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// Seconds after which it is ended.
    pub(crate) limit_s: u64,
    /// What it does.
    pub(crate) run: fn(&Places) -> Result<Value>,
    /// Fields that must reach a number, or with `<` stay below it.
    pub(crate) floors: &'static [(&'static str, char, f64)],
}

/// All steps, the most telling first. The limits add up to less than eight minutes.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "verify",
        limit_s: 60,
        run: verified,
        floors: &[],
    },
    Step {
        name: "compile",
        limit_s: 30,
        run: compile,
        floors: &[("cold_s", '<', 1.0), ("cached_s", '<', 0.005)],
    },
    Step {
        name: "equal-schools",
        limit_s: 30,
        run: |p| equal(p, &SCHOOLS, 200),
        floors: &[],
    },
    Step {
        name: "equal-m1",
        limit_s: 30,
        run: |p| equal(p, &M1, 150),
        floors: &[],
    },
    Step {
        name: "equal-m2",
        limit_s: 45,
        run: |p| equal(p, &M2, 100),
        floors: &[],
    },
    Step {
        name: "m1-4",
        limit_s: 30,
        run: |p| speed(p, &M1, 4, 500),
        floors: &[("leapfrogs_per_s_per_chain", '>', 1e6)],
    },
    Step {
        name: "m1-64",
        limit_s: 30,
        run: |p| speed(p, &M1, 64, 300),
        floors: &[],
    },
    Step {
        name: "m1-1024",
        limit_s: 45,
        run: |p| speed(p, &M1, 1024, 200),
        floors: &[("leapfrogs_per_s", '>', 3e8)],
    },
    Step {
        name: "m2-4",
        limit_s: 30,
        run: |p| speed(p, &M2, 4, 300),
        floors: &[("leapfrogs_per_s_per_chain", '>', 5e5)],
    },
    Step {
        name: "m2-1024",
        limit_s: 60,
        run: |p| speed(p, &M2, 1024, 100),
        floors: &[("leapfrogs_per_s", '>', 1e8)],
    },
    Step {
        name: "repeat-m1",
        limit_s: 45,
        run: repeat,
        floors: &[("spread", '<', 0.1)],
    },
    Step {
        name: "too-many",
        limit_s: 20,
        run: too_many,
        floors: &[],
    },
];

/// What of a step's values does not reach its floor, in words.
pub(crate) fn below(step: &Step, values: &Value) -> Vec<String> {
    let missed = |(field, kind, floor): &(&str, char, f64)| {
        let got = values[*field].as_f64().unwrap_or(f64::NAN);
        let reached = match kind {
            '<' => got <= *floor,
            _ => got >= *floor,
        };
        (!reached).then(|| format!("{field} is {got:.4e}, the goal is {kind} {floor:.1e}"))
    };
    step.floors.iter().filter_map(missed).collect()
}

/// Where the libraries may lie.
pub(crate) fn places(compiler: Option<PathBuf>) -> Places {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
    Places {
        compiler,
        python: ["VIRTUAL_ENV", "CONDA_PREFIX"]
            .into_iter()
            .filter_map(named)
            .collect(),
        visible: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
        ..Places::default()
    }
}

fn failure(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Device, text)
}

fn verified(places: &Places) -> Result<Value> {
    let start = Instant::now();
    let now = || start.elapsed().as_secs_f64();
    let found = verify(&now, Some((places, Depth::Conformance)));
    let failed = found.checks.iter().find(|c| c.verdict.word() == "FAIL");
    if let Some(check) = failed {
        return Err(failure(format!("{}: {}", check.name, check.detail)));
    }
    let Some(gpu) = found.gpus.found.iter().find(|g| g.passed) else {
        return Err(failure("no GPU passed"));
    };
    let rates = gpu.rates.ok_or_else(|| failure("it was not measured"))?;
    Ok(json!({
        "gpu": gpu.description.name,
        "capability": format!("{}.{}", gpu.description.capability.0, gpu.description.capability.1),
        "multiprocessors": gpu.description.multiprocessors,
        "memory_bytes": gpu.description.memory_bytes,
        "ecc": gpu.description.ecc,
        "values_compared": gpu.compared,
        "copy_gb_per_s": rates.copy_gb_per_s,
        "f64_tflop_per_s": rates.f64_tflop_per_s,
        "f32_tflop_per_s": rates.f32_tflop_per_s,
    }))
}

/// Seconds to make the kernel of M1 ready: compiled, and found among those kept.
fn compile(places: &Places) -> Result<Value> {
    let joint = M1.joint()?;
    let settings = Settings::default();
    let source = kernel_source(&joint, &settings)?;
    let depth = settings.sampler.max_treedepth;
    let program = fitzroy::fit::sample::kernel::program(&source, team(source.dim, 4), depth);
    let folder = std::env::temp_dir().join(format!("fitzroy-gpu-day-{}", std::process::id()));
    let mut places = places.clone();
    places.cache = Some(folder.clone());
    let mut times = Vec::new();
    let mut usage = (0, 0);
    for _ in 0..2 {
        let mut gpu = Gpu::open(&places, 0)?;
        let start = Instant::now();
        gpu.load(&program)?;
        times.push(start.elapsed().as_secs_f64());
        usage = (gpu.loaded.registers, gpu.loaded.local_bytes);
    }
    // What cannot be removed lies in the folder for temporary files.
    let _ = std::fs::remove_dir_all(folder);
    Ok(json!({
        "cold_s": times[0],
        "cached_s": times[1],
        "registers": usage.0,
        "local_bytes": usage.1,
    }))
}

/// A run and its seconds, on `device`.
fn sampled(
    example: &Example,
    device: Device,
    chains: usize,
    tune: usize,
    draws: usize,
) -> Result<(Outcome, f64)> {
    let joint = example.joint()?;
    let mut settings = Settings {
        device,
        ..Settings::default()
    };
    settings.sampler.chains = chains;
    settings.sampler.tune = tune;
    settings.sampler.draws = draws;
    settings.sampler.seed = 1;
    settings.sampler.threads = std::thread::available_parallelism().map_or(1, usize::from);
    let start = Instant::now();
    let now = || start.elapsed().as_secs_f64();
    let never = AtomicBool::new(false);
    let caller = Caller {
        now: &now,
        stop: &never,
        ..Caller::silent()
    };
    let outcome = run(&joint, &settings, &caller)?;
    let seconds = now();
    Ok((outcome, seconds))
}

fn on_gpu(places: &Places) -> Result<Device> {
    Ok(Device::machine(Gpu::open(places, 0)?))
}

/// All draws of the parameters, as bits.
fn bits(outcome: &Outcome) -> Vec<u64> {
    let group = outcome.trace.group("posterior");
    let variables = group.map_or(&[][..], |g| &g.variables[..]);
    let numbers = variables.iter().flat_map(|v| match &v.values {
        Column::Real(x) => x.iter().map(|x| x.to_bits()).collect(),
        _ => Vec::new(),
    });
    numbers.collect()
}

/// The same seed on CPU and GPU: the same bits.
fn equal(places: &Places, example: &Example, n: usize) -> Result<Value> {
    let (cpu, cpu_s) = sampled(example, Device::threads(), 4, n, n)?;
    let (gpu, gpu_s) = sampled(example, on_gpu(places)?, 4, n, n)?;
    let (a, b) = (bits(&cpu), bits(&gpu));
    let first = a.iter().zip(&b).position(|(x, y)| x != y);
    if a.len() != b.len() || first.is_some() {
        return Err(failure(format!(
            "of {} numbers the first that differs is number {}",
            a.len(),
            first.unwrap_or(a.len().min(b.len()))
        )));
    }
    Ok(json!({"numbers_compared": a.len(), "cpu_s": cpu_s, "gpu_s": gpu_s}))
}

/// How fast chains advance, and whether they converge.
fn speed(places: &Places, example: &Example, chains: usize, n: usize) -> Result<Value> {
    let (outcome, seconds) = sampled(example, on_gpu(places)?, chains, n, n)?;
    let diagnosis = outcome.diagnose(&SummaryOptions::default())?;
    let run = &outcome.run;
    let leapfrogs = (run.gradients - run.warmup_gradients) as f64;
    let per_s = leapfrogs / outcome.timing.sampling;
    Ok(json!({
        "chains": chains,
        "seconds": seconds,
        "compile_s": outcome.timing.compile,
        "warmup_s": outcome.timing.warmup,
        "sampling_s": outcome.timing.sampling,
        "leapfrogs": leapfrogs,
        "leapfrogs_per_s": per_s,
        "leapfrogs_per_s_per_chain": per_s / chains as f64,
        "max_rhat": diagnosis.max_r_hat,
        "min_ess_bulk": diagnosis.min_ess_bulk,
        "converged": diagnosis.converged,
    }))
}

/// Five runs of M1 with 64 chains: the spread of their times, and of their draws, which is none.
fn repeat(places: &Places) -> Result<Value> {
    let mut times = Vec::new();
    let mut first = Vec::new();
    for k in 0..5 {
        let (outcome, _) = sampled(&M1, on_gpu(places)?, 64, 200, 500)?;
        times.push(outcome.timing.sampling);
        let bits = bits(&outcome);
        if k > 0 && bits != first {
            return Err(failure("the same seed gave other draws"));
        }
        first = bits;
    }
    times.sort_by(f64::total_cmp);
    Ok(json!({"sampling_s": times, "spread": (times[4] - times[0]) / times[2]}))
}

/// Far more memory than any card has: an error that says so.
fn too_many(places: &Places) -> Result<Value> {
    let mut gpu = Gpu::open(places, 0)?;
    match gpu.reserve(0, 1 << 40) {
        Ok(_) => Err(failure("8 TiB were given out")),
        Err(error) if error.to_string().contains("too little memory") => {
            let n = fitzroy_device::gpu::conformance(&mut gpu, 32)?;
            Ok(json!({"said": error.to_string(), "values_compared_after_it": n}))
        }
        Err(error) => Err(error),
    }
}
