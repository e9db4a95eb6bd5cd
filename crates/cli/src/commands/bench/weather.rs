//! `fitzroy bench weather`.

use super::write;
use crate::args::Common;
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::{Args, ValueEnum};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::probe;
use fitzroy_session::clock::Clock;
use fitzroy_weather::bench::{Size, Trial, apart_from_jax};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Flags of `fitzroy bench weather`.
#[derive(Args)]
#[command(after_help = "Examples:\n  fitzroy bench weather --latent-size 64\n  \
    fitzroy bench weather --latent-size 128 --batch-size 1 --preset standard --json\n\n\
    Training steps of a limited-area graph network (1,600 grid and 400 mesh nodes, 16,000\n\
    edges, 4 layers, f32). benches/peers/weather.py does the same steps in JAX and PyTorch, from\n\
    the same parameters; the losses must agree. A hundred steps of a small task are compared with\n\
    JAX's losses first: where they differ by more than 1e-4, the exit code is 1.")]
pub(crate) struct WeatherBench {
    /// Width of states and hidden layers
    #[arg(long, value_name = "N", default_value_t = 64)]
    latent_size: usize,
    /// Samples of a batch
    #[arg(long, value_name = "N", default_value_t = 4)]
    batch_size: usize,
    /// How long: 2, 10 or 30 seconds
    #[arg(long, value_enum, value_name = "PRESET", default_value = "quick")]
    preset: Preset,
    /// Also write the JSON here
    #[arg(long, value_name = "FILE")]
    json_file: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, ValueEnum)]
enum Preset {
    Quick,
    Standard,
    Publication,
}

/// How far losses may lie from those of JAX, relatively.
const APART_MAX: f64 = 1e-4;

/// Times steps, after the answer has been found to be right.
pub(crate) fn run(args: &WeatherBench) -> Result<Outcome> {
    let machine = args.common.machine()?;
    if args.latent_size == 0 || args.batch_size == 0 {
        let message = "--latent-size and --batch-size must be at least 1";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    let apart = apart_from_jax(machine.threads)?;
    if !(apart < APART_MAX) {
        terminal::note(format_args!(
            "the losses of a hundred steps differ from those of JAX by {apart:.1e}, more than \
             {APART_MAX:.0e}: nothing was timed; please report this with `fitzroy verify --json`"
        ));
        return Ok(Outcome::NotPassed);
    }
    let clock = Clock::start();
    let mut trial = Trial::new(
        Size::published(args.latent_size, args.batch_size),
        machine.threads,
    )?;
    let mut losses = vec![trial.step()];
    // Building the network counts: this is what a user waits for.
    let first_s = clock.seconds();
    let budget_s = match args.preset {
        Preset::Quick => 2.0,
        Preset::Standard => 10.0,
        Preset::Publication => 30.0,
    };
    let mut times = Vec::new();
    let begin = clock.seconds();
    while times.len() < 11 || clock.seconds() - begin < budget_s {
        let start = clock.seconds();
        losses.push(trial.step());
        times.push(clock.seconds() - start);
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let gflops = trial.flops() as f64 / median / 1e9;
    losses.truncate(12);
    let cpu = probe::cpu();
    let document = json!({
        "problem": "weather", "latent_size": args.latent_size, "batch_size": args.batch_size,
        "threads": machine.threads, "cpu": cpu.model, "simd": probe::level_name(cpu.simd),
        "parameters": trial.n_parameters(), "flops_per_step": trial.flops(),
        "first_step_s": first_s, "median_step_s": median, "min_step_s": times[0],
        "tenth_s": times[times.len() / 10], "nine_tenths_s": times[times.len() * 9 / 10],
        "steps": times.len(), "gflops": gflops, "apart_from_jax": apart,
        "losses": losses.iter().map(|&x| json::number(x)).collect::<Vec<Value>>(),
    });
    if let Some(path) = &args.json_file {
        write(path, &format!("{document:#}\n"))?;
    }
    if args.common.json {
        json::print(&document);
    } else {
        terminal::out(format_args!(
            "latent {}, batch {}, {} threads: {:.1} ms a step (10 % {:.1}, 90 % {:.1}; {} steps), \
             {gflops:.0} GFLOP/s, first step {:.0} ms",
            args.latent_size,
            args.batch_size,
            machine.threads,
            1e3 * median,
            1e3 * times[times.len() / 10],
            1e3 * times[times.len() * 9 / 10],
            times.len(),
            1e3 * first_s,
        ));
    }
    Ok(Outcome::Done)
}
