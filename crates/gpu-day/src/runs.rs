//! Runs of a model in this process.

use crate::bits::{bits, same_bits};
use crate::models::Example;
use fitzroy::Result;
use fitzroy::draws::Column;
use fitzroy::model::joint::Joint;
use fitzroy::run::{Caller, Device, Outcome, Settings, run};
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Gpu, Machine, Places, Program};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant;

/// A run and its seconds, on `device`.
pub(crate) fn sampled(
    example: &Example,
    device: Device,
    chains: usize,
    tune: usize,
    draws: usize,
) -> Result<(Outcome, f64)> {
    let never = AtomicBool::new(false);
    sampled_in(
        example,
        device,
        Precision::F64,
        [chains, tune, draws],
        &never,
    )
}

/// The same in any precision, until `stop`. `counts` are chains, warm-up and draws.
pub(crate) fn sampled_in(
    example: &Example,
    device: Device,
    precision: Precision,
    counts: [usize; 3],
    stop: &AtomicBool,
) -> Result<(Outcome, f64)> {
    let rewrites = example.rewrites;
    let suit = |settings: &mut Settings, _| settings.rewrites = rewrites;
    run_of(&example.joint()?, device, precision, counts, stop, &suit)
}

/// Gradients a second while draws were made.
pub(crate) fn leapfrogs_per_s(outcome: &Outcome) -> f64 {
    let run = &outcome.run;
    (run.gradients - run.warmup_gradients) as f64 / outcome.timing.sampling
}

/// The same for any joint density, with settings of its own: `suit` is given the number of chains.
pub(crate) fn run_of(
    joint: &Joint,
    device: Device,
    precision: Precision,
    counts: [usize; 3],
    stop: &AtomicBool,
    suit: &dyn Fn(&mut Settings, usize),
) -> Result<(Outcome, f64)> {
    let mut settings = settings(device, precision, counts);
    suit(&mut settings, counts[0]);
    let start = Instant::now();
    let now = || start.elapsed().as_secs_f64();
    let caller = Caller {
        now: &now,
        stop,
        ..Caller::silent()
    };
    let outcome = run(joint, &settings, &caller)?;
    let seconds = now();
    Ok((outcome, seconds))
}

/// Settings of such a run.
pub(crate) fn settings(device: Device, precision: Precision, counts: [usize; 3]) -> Settings {
    let mut settings = Settings {
        device,
        precision,
        ..Settings::default()
    };
    let [chains, tune, draws] = counts;
    settings.sampler.chains = chains;
    settings.sampler.tune = tune;
    settings.sampler.draws = draws;
    settings.sampler.seed = 1;
    settings.sampler.threads = std::thread::available_parallelism().map_or(1, usize::from);
    settings
}

/// The first GPU, taken into use.
pub(crate) fn on_gpu(places: &Places) -> Result<Device> {
    on_gpu_with_clock(places).map(|found| found.0)
}

/// The same, and the nanoseconds that its kernels will have run.
pub(crate) fn on_gpu_with_clock(places: &Places) -> Result<(Device, Arc<AtomicU64>)> {
    let gpu = Gpu::open(places, 0)?;
    let busy = gpu.busy();
    Ok((Device::gpu(gpu, Precision::F64), busy))
}

/// What it took to make a kernel ready.
pub(crate) struct Ready {
    /// Seconds: compiled, and found among those kept.
    pub(crate) seconds: [f64; 2],
    pub(crate) registers: u32,
    /// Bytes of a thread in its local memory.
    pub(crate) local_bytes: u32,
}

/// Makes `program` ready on the first GPU twice, with an empty cache and with the one left by that.
pub(crate) fn ready(places: &Places, program: &Program) -> Result<Ready> {
    let folder = std::env::temp_dir().join(format!("fitzroy-gpu-day-{}", std::process::id()));
    let places = Places {
        cache: Some(folder.clone()),
        ..places.clone()
    };
    let mut made = Ready {
        seconds: [0.0; 2],
        registers: 0,
        local_bytes: 0,
    };
    for seconds in &mut made.seconds {
        let mut gpu = Gpu::open(&places, 0)?;
        let start = Instant::now();
        gpu.load(program)?;
        *seconds = start.elapsed().as_secs_f64();
        made.registers = gpu.loaded.registers;
        made.local_bytes = gpu.loaded.local_bytes;
    }
    // What cannot be removed lies in the folder for temporary files.
    let _ = std::fs::remove_dir_all(folder);
    Ok(made)
}

/// All draws of the parameters, as bits.
pub(crate) fn draws(outcome: &Outcome) -> Vec<u64> {
    let group = outcome.trace.group("posterior");
    let variables = group.map_or(&[][..], |g| &g.variables[..]);
    let numbers = variables.iter().flat_map(|v| match &v.values {
        Column::Real(x) => bits(x),
        _ => Vec::new(),
    });
    numbers.collect()
}

/// That two runs have the same draws; how many numbers were compared.
pub(crate) fn same_draws(what: &str, one: &Outcome, other: &Outcome) -> Result<usize> {
    same_bits(what, &draws(one), &draws(other))
}
