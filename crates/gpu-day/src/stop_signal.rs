//! Stop-signal tasks on the GPU: the draws of the CPU, and how fast a heavy density is, with a chain on
//! one multiprocessor and spread over many.

use crate::runs::{leapfrogs_per_s, on_gpu, ready, run_of, same_draws};
use crate::steps::Setup;
use fitzroy::Result;
use fitzroy::fit::sample::Init;
use fitzroy::fit::sample::kernel::program;
use fitzroy::model::Model;
use fitzroy::model::joint::{Joint, Rewrites};
use fitzroy::run::{Device, Outcome, Settings, Team, bind, kernel_source};
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Driver, Places};
use fitzroy_stop_signal::config::{Config, DEFAULT};
use fitzroy_stop_signal::data::{Options, Study, parse};
use fitzroy_stop_signal::model::Spec;
use fitzroy_stop_signal::simulate::simulate;
use fitzroy_stop_signal::start::{points, suit};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// How deep trees may grow where bits are compared, and where steps are timed.
const SHALLOW: u32 = 5;
const DEEP: u32 = 8;

/// A simulated study and its joint density.
struct Task {
    spec: Spec,
    study: Study,
    joint: Joint,
}

impl Task {
    fn new(subjects: usize) -> Result<Task> {
        let csv = simulate(&Config::parse(DEFAULT)?, subjects, 4).csv();
        let study = parse(csv.as_bytes(), "simulated", &Options::default())?;
        let spec = Spec::default();
        let settings = Settings {
            rewrites: Rewrites::NONE,
            ..Settings::default()
        };
        let joint = bind(&Model::parse(&spec.text())?, &spec.data(&study), &settings)?;
        Ok(Task { spec, study, joint })
    }

    /// `counts` are chains, warm-up and draws; trees grow to `depth` at most.
    fn sampled(
        &self,
        device: Device,
        precision: Precision,
        counts: [usize; 3],
        depth: u32,
    ) -> Result<(Outcome, f64)> {
        let never = AtomicBool::new(false);
        let Task { spec, study, joint } = self;
        run_of(joint, device, precision, counts, &never, &|settings, n| {
            settings.rewrites = Rewrites::NONE;
            let sampler = &mut settings.sampler;
            suit(spec, sampler);
            sampler.max_treedepth = depth;
            let starts = points(spec, study, joint, &study.subjects, n, sampler.seed);
            sampler.init = Init::Points(starts);
        })
    }
}

/// The same fit on CPU and GPU, with a chain to a block and spread over multiprocessors: the same bits.
pub(crate) fn equal(places: &Places, subjects: usize, n: usize) -> Result<Value> {
    let task = Task::new(subjects)?;
    let counts = [2, n, n / 2];
    let on = |device| task.sampled(device, Precision::F64, counts, SHALLOW);
    let (cpu, cpu_s) = on(Device::threads())?;
    let (block, block_s) = on(on_gpu(places)?.with_team(Team::Threads(128)))?;
    let (sharded, sharded_s) = on(on_gpu(places)?.with_team(Team::Sharded))?;
    same_draws("a block to a chain", &cpu, &block)?;
    let compared = same_draws("sharded chains", &cpu, &sharded)?;
    Ok(json!({
        "subjects": subjects,
        "numbers_compared": compared,
        "cpu_s": cpu_s,
        "block_s": block_s,
        "sharded_s": sharded_s,
    }))
}

/// Seconds to make the kernel of a block to a chain ready: compiled, and found among those kept.
fn cold_start(places: &Places, task: &Task, precision: Precision) -> Result<[f64; 2]> {
    let mut settings = Settings {
        rewrites: Rewrites::NONE,
        precision,
        ..Settings::default()
    };
    suit(&task.spec, &mut settings.sampler);
    let source = kernel_source(&task.joint, &settings)?;
    Ok(ready(places, &program(&source, 128, &settings.sampler))?.seconds)
}

/// Steps a second of four chains in the precision that suits the GPU, as is chosen without a word,
/// sharded, and with a block to each; and the seconds in which the first of the kernels was compiled.
pub(crate) fn speed(places: &Places, setup: &Setup<'_>) -> Result<Value> {
    let (subjects, n) = (setup.few(100), setup.few(60));
    let depth = if setup.small { SHALLOW } else { DEEP };
    let task = Task::new(subjects)?;
    let precision = Driver::open(places)?.describe(0)?.precision();
    let cold = cold_start(places, &task, precision)?;
    let per_chain = |team, n| -> Result<f64> {
        let device = on_gpu(places)?.with_team(team);
        let (outcome, _) = task.sampled(device, precision, [4, n, n], depth)?;
        Ok(leapfrogs_per_s(&outcome) / 4.0)
    };
    let (chosen, sharded) = (per_chain(Team::Auto, n)?, per_chain(Team::Sharded, n)?);
    // The slow one.
    let block = per_chain(Team::Threads(128), n / 4)?;
    Ok(json!({
        "subjects": subjects,
        "precision": precision.name(),
        "cold_s": cold[0],
        "cached_s": cold[1],
        "block_leapfrogs_per_s_per_chain": block,
        "sharded_leapfrogs_per_s_per_chain": sharded,
        "sharded_over_block": sharded / block,
        "chosen_leapfrogs_per_s_per_chain": chosen,
    }))
}
