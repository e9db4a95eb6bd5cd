//! What the subcommands share: the machine, the data, and how they are named.

use crate::args::{count, environment};
use clap::{Args, ValueEnum};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::choice::Choice;
use fitzroy_device::gpu::GpuWork;
use fitzroy_device::gpu::text::Precision as Kernels;
use fitzroy_device::gpu::work::Math;
use fitzroy_device::probe::Memory;
use fitzroy_weather::data::{Archive, Chosen, Contents, SplitBy};
use fitzroy_weather::time::Time;
use fitzroy_weather::train::Checkpoint;
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
    /// Precision of products: auto and f32 on the CPU; on a GPU auto is bf16 from compute
    /// capability 8.0 on, else f32
    #[arg(long, value_enum, value_name = "PRECISION", default_value = "auto")]
    precision: Precision,
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

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Precision {
    Auto,
    F32,
    Tf32,
    Bf16,
    Mixed,
    F64,
}

/// A GPU that will train.
pub(super) struct Taken {
    pub(super) work: GpuWork,
    /// What its products are computed in.
    pub(super) math: Math,
    /// Bytes of its memory that were free.
    pub(super) free_bytes: u64,
    /// `cuda:0 (NVIDIA H200)`.
    pub(super) label: String,
}

/// Why there is no f64.
const F64: &str = "--precision f64: networks are trained in f32 and below; use auto or f32";

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

    /// The GPU that was asked for, taken into use; none where the CPU trains, as `auto` has it
    /// until somebody has measured otherwise.
    ///
    /// # Errors
    /// It cannot be used, or not in this precision: it is never replaced by the CPU.
    pub(super) fn gpu(&self) -> Result<Option<Taken>> {
        let Choice::Gpu(number) = self.choice()? else {
            return Ok(None);
        };
        let places = fitzroy_session::device::places(self.compiler.clone());
        // Networks are trained in f32 and below.
        let (gpu, _) = fitzroy_session::device::open(&places, number, Some(Kernels::F32))?;
        let found = &gpu.description;
        let recent = found.capability >= (8, 0);
        let fail = |message: String| Err(Error::new(ErrorKind::Device, message));
        let math = match self.precision {
            Precision::Auto if recent => Math::Bf16,
            Precision::Auto | Precision::F32 => Math::F32,
            Precision::Tf32 if recent => Math::Tf32,
            Precision::Bf16 | Precision::Mixed if recent => Math::Bf16,
            Precision::F64 => return fail(F64.into()),
            Precision::Tf32 | Precision::Bf16 | Precision::Mixed => {
                return fail(format!(
                    "--precision: tf32 and bf16 need compute capability 8.0, {} has {}.{}; use f32",
                    found.name, found.capability.0, found.capability.1
                ));
            }
        };
        let free_bytes = found.free_bytes.unwrap_or(found.memory_bytes);
        let label = format!("cuda:{} ({})", found.index, found.name);
        let work = GpuWork::new(gpu, &places).map_err(Error::from)?;
        Ok(Some(Taken {
            work,
            math,
            free_bytes,
            label,
        }))
    }

    /// Threads of a command that computes on the CPU alone, once everything asked for is known to
    /// be here.
    pub(super) fn threads(&self) -> Result<usize> {
        self.choice()?.require_cpu()?;
        let fail = |message: &str| Err(Error::new(ErrorKind::Device, message));
        match self.precision {
            Precision::Auto | Precision::F32 => {}
            Precision::Tf32 | Precision::Bf16 | Precision::Mixed => {
                return fail("--precision: tf32 and bf16 need a GPU; use auto or f32 on the CPU");
            }
            Precision::F64 => return fail(F64),
        }
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
    /// CF NetCDF-4 files or Zarr stores of one region; several are one series
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    pub(super) data: Vec<PathBuf>,
}

impl Data {
    /// Reads the files, and says what they hold.
    pub(super) fn read(&self, chosen: &Chosen) -> Result<(Archive, Contents)> {
        Archive::read_with_contents(&self.data, chosen, free_bytes())
    }

    /// Reads the files with the channels of a checkpoint, and others beside them.
    pub(super) fn read_for(&self, checkpoint: &Checkpoint, others: &[PathBuf]) -> Result<Archive> {
        let (mut variables, mut levels) = (Vec::<String>::new(), Vec::<f64>::new());
        for channel in checkpoint.identity["channels"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let name = channel["variable"].as_str().unwrap_or_default().to_string();
            if !variables.contains(&name) {
                variables.push(name);
            }
            if let Some(level) = channel["level"].as_f64().filter(|p| !levels.contains(p)) {
                levels.push(level);
            }
        }
        let mut paths = self.data.clone();
        paths.extend_from_slice(others);
        Archive::read(&paths, &Chosen { variables, levels }, free_bytes())
    }
}

/// The split that a checkpoint was trained with.
pub(super) fn saved_split(checkpoint: &Checkpoint) -> Result<SplitBy> {
    let time = |field: &str| {
        let text = checkpoint.settings[field].as_str().unwrap_or_default();
        Time::parse(text).map_err(|e| e.context(format!("the checkpoint's {field}")))
    };
    Ok(SplitBy::Borders {
        validation: time("validation_start")?,
        test: time("test_start")?,
    })
}

/// Memory that is free, where the system tells it.
pub(super) fn free_bytes() -> Option<u64> {
    Memory::probe().map(|memory| memory.free_bytes)
}
