//! The device that a network is trained on, and forecasts.

use crate::device::{self, places};
use crate::face::{Face, Note};
use fitzroy::{Error, Named, Result};
use fitzroy_device::choice::{Choice, MemoryCap};
use fitzroy_device::gpu::GpuWork;
use fitzroy_device::gpu::text::Precision as Kernels;
use fitzroy_device::gpu::work::Math;
use fitzroy_weather::train::{Forecaster, Target};
use std::path::PathBuf;

/// What products of matrices are computed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// f32 on a processor and for forecasts; to train on a GPU bf16 from compute capability 8.0 on, else f32.
    #[default]
    Auto,
    /// f32.
    F32,
    /// tf32, on a GPU of compute capability 8.0 and above.
    Tf32,
    /// bf16, on a GPU of compute capability 8.0 and above.
    Bf16,
    /// f64, which networks are not trained in.
    F64,
}

impl Named for Precision {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Precision::Auto),
        ("f32", Precision::F32),
        ("tf32", Precision::Tf32),
        ("bf16", Precision::Bf16),
        ("mixed", Precision::Bf16),
        ("f64", Precision::F64),
    ];
}

/// What a network is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Learn.
    Training,
    /// Forecast, for others or for scores.
    Forecasts,
}

/// A GPU that was taken into use.
pub struct Taken {
    /// Runs the lists of kernels.
    pub work: GpuWork,
    /// What its products are computed in.
    pub math: Math,
    /// Bytes of its memory that were free, as far as they may be taken.
    pub free_bytes: u64,
    /// `cuda:0 (NVIDIA H200)`.
    pub label: String,
}

fn fail<T>(message: String) -> Result<T> {
    Err(Error::device(message))
}

/// The GPU that was asked for, taken into use, of whose memory no more than `cap` is planned with; none for the
/// processor, which `auto` is until somebody has measured otherwise.
///
/// # Errors
/// It cannot be used, or not in this precision: it is never replaced by the processor.
pub fn gpu(
    (choice, work): (Choice, Work),
    precision: Precision,
    compiler: Option<PathBuf>,
    cap: Option<MemoryCap>,
) -> Result<Option<Taken>> {
    let what = match work {
        Work::Training => "networks are trained",
        Work::Forecasts => "networks forecast",
    };
    let Choice::Gpu(number) = choice.require_one(what)? else {
        return Ok(None);
    };
    let places = places(compiler);
    // Networks are trained in f32 and below.
    let (gpu, _) = device::open(&places, number, Some(Kernels::F32))?;
    let found = &gpu.description;
    let recent = found.capability >= (8, 0);
    let math = match precision {
        Precision::Auto if recent && work == Work::Training => Math::Bf16,
        Precision::Auto | Precision::F32 => Math::F32,
        Precision::Tf32 if recent => Math::Tf32,
        Precision::Bf16 if recent => Math::Bf16,
        Precision::F64 => return fail(F64.into()),
        Precision::Tf32 | Precision::Bf16 => {
            return fail(format!(
                "⟨precision⟩: tf32 and bf16 need compute capability 8.0, {} has {}.{}; use f32",
                found.name, found.capability.0, found.capability.1
            ));
        }
    };
    let free_bytes = found.free_bytes.unwrap_or(found.memory_bytes);
    let cap = cap.map(|cap| cap.bytes(found.memory_bytes));
    let free_bytes = free_bytes.min(cap.unwrap_or(u64::MAX));
    let label = format!("cuda:{} ({})", found.index, found.name);
    let work = GpuWork::new(gpu, &places).map_err(Error::from)?;
    Ok(Some(Taken {
        work,
        math,
        free_bytes,
        label,
    }))
}

/// Why there is no f64.
const F64: &str = "⟨precision f64⟩: networks are trained in f32 and below; use auto or f32";

impl Taken {
    /// Bytes of its memory that forecasts may take.
    pub fn budget_bytes(&self) -> u64 {
        self.free_bytes / 10 * 9
    }

    /// `cuda:0 (NVIDIA H200), f32`.
    pub fn described(&self) -> String {
        format!("{}, {}", self.label, self.math.name())
    }
}

/// Refuses what this processor does not compute in.
///
/// # Errors
/// A GPU, or a precision of one, was asked for.
pub fn require_cpu(choice: Choice, precision: Precision) -> Result<()> {
    choice.require_cpu()?;
    match precision {
        Precision::Auto | Precision::F32 => Ok(()),
        Precision::Tf32 | Precision::Bf16 => {
            fail("⟨precision⟩: tf32 and bf16 need a GPU; use auto or f32 on the CPU".into())
        }
        Precision::F64 => fail(F64.into()),
    }
}

/// Where forecasts are made, and what that is called; a GPU is told.
pub(super) fn target(gpu: Option<Taken>, face: &dyn Face) -> (Target, String) {
    match gpu {
        None => (Target::Cpu, "cpu".into()),
        Some(gpu) => {
            let device = gpu.described();
            face.tell(Note::Remark(&format!("device: {device}")));
            (Target::Device(Box::new(gpu.work), gpu.math), device)
        }
    }
}

/// Tells what a user should know of the machine.
pub(super) fn tell_notes(forecaster: &Forecaster<'_>, face: &dyn Face) {
    let notes = forecaster.notes().iter();
    notes.for_each(|note| face.tell(Note::Notice(note)));
}
