//! Runs of a model in this process.

use crate::models::Example;
use crate::steps::failure;
use fitzroy::Result;
use fitzroy::draws::Column;
use fitzroy::model::joint::Joint;
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
    run_of(
        &example.joint()?,
        device,
        precision,
        counts,
        stop,
        &|_, _| {},
    )
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
    suit(&mut settings, chains);
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

/// The first GPU, taken into use.
pub(crate) fn on_gpu(places: &Places) -> Result<Device> {
    let gpu = Gpu::open(places, 0)?;
    let multiprocessors = gpu.meeting();
    Ok(Device::machine(gpu).with_multiprocessors(multiprocessors))
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

/// That two runs have the same bits; how many numbers were compared.
pub(crate) fn same_bits(one: &Outcome, other: &Outcome) -> Result<usize> {
    let (a, b) = (bits(one), bits(other));
    let first = a.iter().zip(&b).position(|(x, y)| x != y);
    match a.len() == b.len() && first.is_none() {
        true => Ok(a.len()),
        false => Err(failure(format!(
            "of {} numbers the first that differs is number {}",
            a.len(),
            first.unwrap_or(a.len().min(b.len()))
        ))),
    }
}
