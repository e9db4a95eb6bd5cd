//! Runs of a model in this process.

use crate::models::Example;
use fitzroy::Result;
use fitzroy::draws::Column;
use fitzroy::run::{Caller, Device, Outcome, Settings, run};
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Gpu, Places};
use std::sync::atomic::AtomicBool;
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
    let joint = example.joint()?;
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
    let start = Instant::now();
    let now = || start.elapsed().as_secs_f64();
    let caller = Caller {
        now: &now,
        stop,
        ..Caller::silent()
    };
    let outcome = run(&joint, &settings, &caller)?;
    let seconds = now();
    Ok((outcome, seconds))
}

/// The first GPU, taken into use.
pub(crate) fn on_gpu(places: &Places) -> Result<Device> {
    Ok(Device::machine(Gpu::open(places, 0)?))
}

/// All draws of the parameters, as bits.
pub(crate) fn bits(outcome: &Outcome) -> Vec<u64> {
    let group = outcome.trace.group("posterior");
    let variables = group.map_or(&[][..], |g| &g.variables[..]);
    let numbers = variables.iter().flat_map(|v| match &v.values {
        Column::Real(x) => x.iter().map(|x| x.to_bits()).collect(),
        _ => Vec::new(),
    });
    numbers.collect()
}
