//! What the subcommands share: the machine, the data, and how they are named.

use crate::args::{count, environment};
use crate::named::named;
use clap::{Args, ValueEnum};
use fitzroy::Result;
use fitzroy_device::choice::{Choice, MemoryCap};
use fitzroy_session::weather::device::{Precision, Taken, Work, gpu, require_cpu};
use fitzroy_weather::data::{Accumulation, Asked, Missing, Names};
use fitzroy_weather::files::Region;
use std::path::PathBuf;

/// Device, threads, seed and how results are told.
#[derive(Args)]
pub(super) struct Machine {
    /// Where to compute: auto, cpu, cuda or cuda:N [env: FITZROY_DEVICE] [default: auto]
    #[arg(long, value_name = "DEVICE", conflicts_with = "platform")]
    device: Option<String>,
    /// Where to compute, in the words of JAX
    #[arg(long, alias = "jax-platform", value_enum, value_name = "PLATFORM")]
    platform: Option<Platform>,
    /// Accepted for old job files, without effect
    #[arg(long, value_name = "FLAGS", hide = true)]
    xla_flags: Option<String>,
    /// Precision of products: f32 on the CPU; on a GPU f32, tf32 or bf16. auto is f32 for forecasts and
    /// scores; for training on a GPU it is bf16 from compute capability 8.0 on
    #[arg(long, value_name = "PRECISION", default_value = "auto", value_parser = named::<Precision>())]
    precision: Precision,
    /// The most of the GPU's memory to plan with: a share of all that it has, as 0.75, or a size, as 40GB
    #[arg(long, value_name = "SHARE|SIZE")]
    device_memory: Option<MemoryCap>,
    /// NVIDIA's compiler of kernels, or its folder [env: FITZROY_NVRTC]
    #[arg(long = "nvrtc", value_name = "PATH")]
    compiler: Option<PathBuf>,
    /// Threads to use [env: FITZROY_THREADS] [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<String>,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub(super) seed: u64,
    /// One JSON document on stdout, and nothing else there
    #[arg(long)]
    pub(super) json: bool,
    /// Errors and the verdict only
    #[arg(long)]
    pub(super) quiet: bool,
    /// No progress lines
    #[arg(long)]
    pub(super) no_progress: bool,
    /// Say more
    #[arg(short, long)]
    pub(super) verbose: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Platform {
    Auto,
    Cpu,
    Gpu,
}

impl Machine {
    fn choice(&self) -> Result<Choice> {
        match (&self.device, self.platform, environment("FITZROY_DEVICE")) {
            (Some(text), ..) => text.parse(),
            (None, Some(Platform::Gpu), _) => Ok(Choice::Gpu(None)),
            (None, Some(Platform::Cpu), _) => Ok(Choice::Cpu),
            (None, _, Some(text)) => text.parse(),
            _ => Ok(Choice::Auto),
        }
    }

    /// The GPU that was asked for, taken into use; none if the CPU trains.
    ///
    /// # Errors
    /// It cannot be used, or not in this precision.
    pub(super) fn gpu(&self) -> Result<Option<Taken>> {
        self.gpu_for(Work::Training)
    }

    /// The same for forecasts.
    ///
    /// # Errors
    /// It cannot be used, or the CPU is asked for what it does not compute in.
    pub(super) fn gpu_of_forecasts(&self) -> Result<Option<Taken>> {
        let found = self.gpu_for(Work::Forecasts)?;
        if found.is_none() {
            require_cpu(self.choice()?, self.precision)?;
        }
        Ok(found)
    }

    fn gpu_for(&self, work: Work) -> Result<Option<Taken>> {
        let compiler = self.compiler.clone();
        let asked = (self.choice()?, work);
        gpu(asked, self.precision, compiler, self.device_memory)
    }

    /// Threads of a training on the CPU, once everything asked for is known to be here.
    pub(super) fn threads(&self) -> Result<usize> {
        require_cpu(self.choice()?, self.precision)?;
        self.host_threads()
    }

    /// Threads of this processor, wherever the work is done.
    pub(super) fn host_threads(&self) -> Result<usize> {
        match (&self.threads, environment("FITZROY_THREADS")) {
            (Some(text), _) => count("--threads", text),
            (None, Some(text)) => count("FITZROY_THREADS", &text),
            (None, None) => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        }
    }

    /// True when progress is to be told.
    pub(super) fn talks(&self) -> bool {
        !self.quiet && !self.no_progress
    }

    /// Tells what was asked for and has no effect here.
    pub(super) fn warn(&self) {
        if self.xla_flags.is_some() {
            crate::terminal::note("--xla-flags has no effect: nothing here is compiled by XLA");
        }
    }
}

/// Where the data are.
#[derive(Args)]
pub(super) struct Data {
    /// CF NetCDF files or Zarr stores of one region, merged across variables, levels and times
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(super) data: Vec<PathBuf>,
    /// A table of further names of variables and axes, and of units, as docs/weather.md has it
    #[arg(long, value_name = "FILE.toml")]
    names: Option<PathBuf>,
    /// What is done about missing values: refuse; mask: leave them out of losses and scores;
    /// leave-out: times that have any; fill, between the times around [default: refuse, or as in
    /// the training of the checkpoint]
    #[arg(long, value_name = "POLICY", value_parser = named::<Missing>())]
    missing: Option<Missing>,
    /// A part of the grid alone: south, north, west and east, degrees; 350 to 20 lies on both sides
    /// of Greenwich
    #[arg(long, value_name = "S,N,W,E", value_parser = region, allow_hyphen_values = true)]
    region: Option<Region>,
    /// What the numbers of precipitation are: step: of each step; total: added up since the start,
    /// or since they last fell; auto: a total if they never fall [default: auto, or as in the
    /// training of the checkpoint]
    #[arg(long, value_name = "KIND", value_parser = named::<Accumulation>())]
    accumulation: Option<Accumulation>,
}

/// Where data lie that do not fit into memory.
#[derive(Args)]
pub(super) struct Scratch {
    /// Folder for data that do not fit into memory: they are then read from a file there, which is
    /// gone when the command ends; best on a fast disk of this machine [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(super) scratch: Option<PathBuf>,
}

/// A region as people write it.
pub(super) fn region(text: &str) -> std::result::Result<Region, String> {
    let numbers: Vec<f64> = text.split(',').flat_map(|x| x.trim().parse()).collect();
    match numbers[..] {
        [south, north, west, east] if south < north && text.split(',').count() == 4 => Ok(Region {
            south,
            north,
            west,
            east,
        }),
        _ => Err("needs south, north, west and east in degrees, as 35,60,-10,30".into()),
    }
}

impl Data {
    /// How the files are to be read.
    ///
    /// # Errors
    /// The table of names cannot be read.
    pub(super) fn reading(&self) -> Result<Asked> {
        let names = self.names.as_ref();
        Ok(Asked {
            names: names.map(|path| Names::with_file(path)).transpose()?,
            missing: self.missing,
            region: self.region,
            accumulation: self.accumulation,
        })
    }
}
