//! The device of a run: what was asked for, what there is, and which it will be.

use fitzroy::fit::sample::Sampler;
use fitzroy::model::joint::Joint;
use fitzroy::run::{Device, Inventory, KernelMemory, Plan, Settings, Team, gradient_costs, plan};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::choice::Choice;
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Description, Driver, Gpu, Places, Trouble, free_bytes};
use fitzroy_device::probe;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};
use std::time::Instant;

/// What a run will compute on.
pub struct Chosen {
    device: Device,
    /// `cpu` or `cuda:N`.
    pub label: String,
    /// Its name.
    pub name: String,
    /// Why this one.
    pub reason: String,
    /// Whether the choice is worth a line: not where there is only a CPU, or it was asked for.
    pub is_news: bool,
    /// What kernels compute in, and threads to a chain.
    precision: Option<Precision>,
    team: Team,
    /// What a GPU that was taken says of its memory.
    memory: Option<Memory>,
    /// GPUs that the run may go to, once it is known what the run costs.
    candidates: Option<(Places, Vec<Description>)>,
}

/// Memory of a GPU, in bytes.
struct Memory {
    free: u64,
    /// What the run is expected to take; 0 until that is known.
    expected: u64,
    /// The most it had taken.
    used: Arc<AtomicU64>,
}

/// Share of the free memory that a run may take: nine tenths.
fn budget(free: u64) -> u64 {
    free / 10 * 9
}

/// An environment variable that is set and not empty, as a path.
fn path_of(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|v| !v.is_empty())
        .map(PathBuf::from)
}

/// The folder for what may be kept between runs.
pub fn cache_folder() -> Option<PathBuf> {
    let home = || Some(path_of("HOME")?.join(".cache"));
    path_of("FITZROY_CACHE_DIR").or_else(|| {
        let all = path_of("XDG_CACHE_HOME").or_else(home)?;
        Some(all.join("fitzroy"))
    })
}

/// Where the libraries of a GPU may lie, from the flag and the environment.
pub fn places(compiler: Option<PathBuf>) -> Places {
    let mut folders = Vec::new();
    if let Ok(program) = std::env::current_exe() {
        folders.extend(program.parent().map(PathBuf::from));
    }
    for home in ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(path_of) {
        folders.push(home.join("lib64"));
        folders.push(home.join("targets/x86_64-linux/lib"));
    }
    Places {
        driver: None,
        compiler: compiler.or_else(|| path_of("FITZROY_NVRTC")),
        folders,
        python: ["VIRTUAL_ENV", "CONDA_PREFIX"]
            .into_iter()
            .filter_map(path_of)
            .collect(),
        cache: cache_folder(),
        visible: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
    }
}

/// What is said of a GPU that was asked for by its number, or is the only one.
pub const ASKED_FOR: &str = "asked for";

/// Takes GPU `number` into use, or where none was named the one that [`best`] finds; and says why it
/// is that one.
///
/// # Errors
/// It cannot be used, or none can.
pub fn open(
    places: &Places,
    number: Option<usize>,
    precision: Option<Precision>,
) -> Result<(Gpu, String)> {
    let (opened, flag) = match number {
        None => (best(places, precision), "⟨device cuda⟩".into()),
        Some(number) => (
            Gpu::open(places, number).map(|gpu| (gpu, ASKED_FOR.into())),
            format!("⟨device cuda:{number}⟩"),
        ),
    };
    opened.map_err(|trouble| Error::from(trouble).context(flag))
}

/// Takes the fastest GPU that can be used, in `precision` or the one that suits it; of equal ones that
/// with the most memory free.
///
/// # Errors
/// None can be used: why the first cannot.
pub fn best(
    places: &Places,
    precision: Option<Precision>,
) -> std::result::Result<(Gpu, String), Trouble> {
    let mut descriptions = described(places)?;
    let n = descriptions.len();
    let key = |found: &Description| {
        let inventory = inventory(found, precision.unwrap_or(found.precision()));
        (inventory.seconds(1.0), found.free_bytes.unwrap_or(0))
    };
    descriptions.sort_by(|a, b| order(key(a), key(b)));
    let (mut wrong, mut first) = (Vec::new(), None);
    // A context takes time, memory, and a GPU that others have asked for: one is opened, not all.
    for description in descriptions {
        match Gpu::open(places, description.index) {
            Ok(gpu) => {
                let mut reason = ASKED_FOR.to_string();
                if n > 1 {
                    reason +=
                        &format!("; of {n} GPUs it is the first by speed, then by free memory");
                }
                if !wrong.is_empty() {
                    reason = format!("{reason}; not {}", wrong.join("; "));
                }
                return Ok((gpu, reason));
            }
            Err(trouble) => {
                wrong.push(format!("cuda:{}: {trouble}", description.index));
                first = first.or(Some(trouble));
            }
        }
    }
    Err(first.unwrap_or(Trouble::NoDevice))
}

/// Whether someone who asked for no device should hear of it: a driver is there, and yet no GPU can
/// be used. A machine without one is nothing to speak of, and who hides GPUs knows it.
pub fn is_unexpected(trouble: &Trouble) -> bool {
    !matches!(trouble, Trouble::NoDriver | Trouble::Hidden { .. })
}

/// Why `auto` went to the CPU without a look at the run.
pub fn without_gpu(trouble: &Trouble) -> String {
    match is_unexpected(trouble) {
        true => format!("auto: {trouble}; {}", trouble.remedy()),
        false => format!("auto: {trouble}"),
    }
}

/// What a plan asks of a GPU.
pub fn inventory(description: &Description, precision: Precision) -> Inventory {
    Inventory {
        label: format!("cuda:{}", description.index),
        multiprocessors: description.multiprocessors,
        memory_bytes: description.memory_bytes,
        clock_mhz: description.clock_mhz,
        f64_per_clock: description.f64_per_clock(),
        precision,
    }
}

/// What the driver says of every GPU that it shows, and NVML of their free memory if there are several:
/// none of them is taken for that.
///
/// # Errors
/// There is no driver, or it sees no GPU, or fails for all of them.
pub fn described(places: &Places) -> std::result::Result<Vec<Description>, Trouble> {
    let driver = Driver::open(places)?;
    let (mut found, mut first) = (Vec::new(), None);
    for index in 0..driver.n_devices() {
        match driver.describe(index) {
            Ok(description) => found.push(description),
            Err(trouble) => first = first.or(Some(trouble)),
        }
    }
    if found.len() > 1 {
        let bus_ids: Vec<&str> = found.iter().map(|d| d.bus_id.as_str()).collect();
        let free = free_bytes(places, &bus_ids);
        for (description, free) in found.iter_mut().zip(free) {
            description.free_bytes = free;
        }
    }
    match first {
        Some(trouble) if found.is_empty() => Err(trouble),
        _ => Ok(found),
    }
}

/// The order in which GPUs are taken: the one that is predicted to be fastest first, of equal ones
/// that with the most bytes free.
fn order(one: (f64, u64), other: (f64, u64)) -> Ordering {
    one.0.total_cmp(&other.0).then(other.1.cmp(&one.1))
}

/// The best GPU for which its plan speaks, which can be opened, and of which what is asked holds, if
/// any; and why it is that device. There is a plan for every GPU.
pub fn follow(
    mut plans: Vec<(Plan, Description)>,
    places: &Places,
    holds: &dyn Fn(&Gpu) -> Result<()>,
) -> (Option<Gpu>, String) {
    let key = |(plan, gpu): &(Plan, Description)| (plan.gpu_s, gpu.free_bytes.unwrap_or(0));
    plans.sort_by(|a, b| order(key(a), key(b)));
    let n = plans.len();
    let reason = plans
        .first()
        .map_or_else(String::new, |p| p.0.reason.clone());
    let which = |index: usize| match n {
        1 => String::new(),
        _ => format!("cuda:{index}: "),
    };
    let mut wrong = Vec::new();
    for (plan, description) in plans.into_iter().filter(|p| p.0.on_gpu) {
        let gpu = match Gpu::open(places, description.index) {
            Ok(gpu) => gpu,
            Err(trouble) => {
                let who = which(description.index);
                wrong.push(format!("{who}{trouble}; {}", trouble.remedy()));
                continue;
            }
        };
        match holds(&gpu) {
            Ok(()) => {
                let mut reason = plan.reason;
                if n > 1 {
                    let better = "first by predicted time, then by free memory";
                    reason = format!("{reason}. Of {n} GPUs it is the {better}");
                }
                if !wrong.is_empty() {
                    reason = format!("{reason}; not {}", wrong.join("; "));
                }
                return (Some(gpu), reason);
            }
            Err(error) => wrong.push(format!("{}{error}", which(gpu.description.index))),
        }
    }
    match wrong.is_empty() {
        true => (None, reason),
        false => (None, format!("{reason}; but {}", wrong.join("; "))),
    }
}

/// What is asked of the device of a run.
pub struct Request {
    /// The device.
    pub choice: Choice,
    /// The precision on a GPU; none where it is left to the device.
    pub precision: Option<Precision>,
    /// Threads to a chain on a GPU.
    pub team: Team,
    /// Where the libraries of a GPU may lie.
    pub places: Places,
    /// Whether a GPU that nobody asked for and that is not there is worth a word.
    pub verbose: bool,
}

impl Default for Request {
    fn default() -> Self {
        Request {
            choice: Choice::Auto,
            precision: None,
            team: Team::Auto,
            places: places(None),
            verbose: false,
        }
    }
}

/// Refuses a precision that work on this processor does not have.
///
/// # Errors
/// A lower one than f64 is asked for.
pub fn require_f64(precision: Option<Precision>) -> Result<()> {
    match precision.filter(|p| *p != Precision::F64) {
        None => Ok(()),
        Some(lower) => Err(Error::device(format!(
            "⟨precision {}⟩: the CPU computes in f64; use auto or f64",
            lower.name()
        ))),
    }
}

impl Request {
    /// The device that is asked for: a GPU, too, by a precision that only GPUs have.
    ///
    /// # Errors
    /// The CPU is asked for in such a precision.
    pub fn asked(&self) -> Result<Choice> {
        match (self.choice, self.precision) {
            (Choice::Cpu, Some(lower)) if lower != Precision::F64 => {
                let message = format!(
                    "⟨precision {}⟩: the CPU computes in f64; use ⟨precision f64⟩ or ⟨device cuda⟩",
                    lower.name()
                );
                Err(Error::new(ErrorKind::Device, message))
            }
            // Only a GPU has it.
            (Choice::Auto, Some(lower)) if lower != Precision::F64 => Ok(Choice::Gpu(None)),
            (asked, _) => Ok(asked),
        }
    }

    /// What a run will compute on, and why. `auto` may still go to a GPU in [`Chosen::settle`].
    ///
    /// # Errors
    /// A GPU is asked for and cannot be used: it is never replaced by the CPU.
    pub fn choose(&self) -> Result<Chosen> {
        let mut chosen = Chosen {
            device: Device::threads(),
            label: "cpu".into(),
            name: probe::model(),
            reason: ASKED_FOR.into(),
            is_news: false,
            precision: self.precision,
            team: self.team,
            memory: None,
            candidates: None,
        };
        match self.asked()? {
            Choice::Cpu => {}
            Choice::Gpu(number) => {
                let (gpu, reason) = open(&self.places, number, chosen.precision)?;
                chosen.take(gpu, reason);
            }
            Choice::Auto => match described(&self.places) {
                Ok(descriptions) => chosen.candidates = Some((self.places.clone(), descriptions)),
                Err(trouble) => {
                    chosen.is_news = self.verbose || is_unexpected(&trouble);
                    chosen.reason = without_gpu(&trouble);
                }
            },
        }
        Ok(chosen)
    }
}

impl Chosen {
    /// The run goes to `gpu`.
    fn take(&mut self, gpu: Gpu, reason: String) {
        let description = &gpu.description;
        self.precision = self.precision.or(Some(description.precision()));
        self.label = format!("cuda:{}", description.index);
        self.name.clone_from(&description.name);
        self.memory = Some(Memory {
            free: description.free_bytes.unwrap_or(description.memory_bytes),
            expected: 0,
            used: gpu.used(),
        });
        self.reason = reason;
        self.is_news = true;
        self.device = Device::gpu(gpu).with_team(self.team);
    }

    /// Decides, now that the run is known, and has `settings` say where and in which precision.
    ///
    /// # Errors
    /// A GPU that was asked for has too little memory: what fits.
    pub fn settle(&mut self, joint: &Joint, settings: &mut Settings) -> Result<()> {
        if let Some((places, descriptions)) = self.candidates.take() {
            match settings.sampler.sampler {
                Sampler::Nuts => self.decide(joint, settings, &places, descriptions)?,
                other => {
                    let name = other.name();
                    self.reason = format!("auto: a GPU does not make the transitions of {name}");
                }
            }
        }
        settings.device = self.device.clone();
        if let Some(memory) = &mut self.memory {
            settings.precision = self.precision.unwrap_or_default();
            memory.expected = fitting(&self.label, memory.free, joint, settings)?;
        }
        Ok(())
    }

    /// Goes to the best GPU if the run is expected to be faster there, and if it can be used.
    fn decide(
        &mut self,
        joint: &Joint,
        settings: &Settings,
        places: &Places,
        descriptions: Vec<Description>,
    ) -> Result<()> {
        let start = Instant::now();
        let (asked, team) = (self.precision, self.team);
        let precision = |gpu: &Description| asked.unwrap_or(gpu.precision());
        let costs = gradient_costs(joint, settings, &|| start.elapsed().as_secs_f64())?;
        let planned = |gpu: Description| (plan(&costs, &inventory(&gpu, precision(&gpu))), gpu);
        let plans = descriptions.into_iter().map(planned).collect();
        self.is_news = true;
        let (gpu, reason) = follow(plans, places, &|gpu| {
            let description = &gpu.description;
            let there = Settings {
                precision: precision(description),
                device: Device::threads()
                    .with_multiprocessors(description.multiprocessors as usize)
                    .with_memory_bytes(description.memory_bytes)
                    .with_team(team),
                ..settings.clone()
            };
            let free = gpu.free_bytes().unwrap_or(description.memory_bytes);
            fitting("the GPU", free, joint, &there).map(drop)
        });
        match gpu {
            Some(gpu) => self.take(gpu, reason),
            None => self.reason = reason,
        }
        Ok(())
    }

    /// The precision on a GPU; none if it is left to the device.
    pub fn asked_precision(&self) -> Option<Precision> {
        self.precision
    }

    /// What is expected of a GPU's memory, for people; none on the CPU.
    pub fn memory_text(&self) -> Option<String> {
        let memory = self.memory.as_ref()?;
        let (expected, free) = (mib(memory.expected), mib(memory.free));
        Some(format!(
            "memory: about {expected} MiB of the {free} MiB that are free on {}",
            self.label
        ))
    }

    /// What a run took of a GPU's memory, for people; none on the CPU.
    pub fn used_text(&self) -> Option<String> {
        let used = mib(self.memory.as_ref()?.used.load(atomic::Ordering::Relaxed));
        Some(format!("memory: {used} MiB were taken on {}", self.label))
    }

    /// What was expected of a GPU's memory and what became of it, for programs; null on the CPU.
    pub fn memory_document(&self) -> Value {
        self.memory.as_ref().map_or(Value::Null, |memory| {
            json!({
                "free_bytes": memory.free,
                "expected_bytes": memory.expected,
                "used_bytes": memory.used.load(atomic::Ordering::Relaxed),
            })
        })
    }
}

/// Whole MiB, rounded up.
fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

/// Bytes that a run takes of a GPU with `free` bytes.
///
/// # Errors
/// More than nine tenths of them: how many chains fit, and what a lower precision would take.
fn fitting(label: &str, free: u64, joint: &Joint, settings: &Settings) -> Result<u64> {
    let chains = settings.sampler.chains;
    let memory = KernelMemory::new(joint, settings)?;
    let wanted = memory.bytes(chains);
    if wanted <= budget(free) {
        return Ok(wanted);
    }
    let mut advice = Vec::new();
    let fits = memory.chains_within(budget(free), chains);
    if fits > 0 {
        advice.push(format!(
            "run fewer chains (⟨chains {fits}⟩ needs {} MiB)",
            mib(memory.bytes(fits))
        ));
    }
    if settings.precision != Precision::F32 {
        let lower = Settings {
            precision: Precision::F32,
            ..settings.clone()
        };
        let bytes = KernelMemory::new(joint, &lower)?.bytes(chains);
        let enough = match bytes <= budget(free) {
            true => "which fits",
            false => "still too much",
        };
        advice.push(format!(
            "try ⟨precision f32⟩ ({} MiB, {enough})",
            mib(bytes)
        ));
    }
    advice.push("use ⟨device cpu⟩".into());
    let message = format!(
        "{label}: {chains} chains need {} MiB, and 9/10 of the {} MiB that are free may be used; {}",
        mib(wanted),
        mib(free),
        advice.join(", or ")
    );
    Err(Error::new(ErrorKind::Device, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_gpu_comes_first_and_of_equal_ones_the_emptiest() {
        let mut gpus = [(2.0, 80, 0), (1.0, 20, 1), (1.0, 40, 2), (3.0, 90, 3)];
        gpus.sort_by(|a, b| order((a.0, a.1), (b.0, b.1)));
        assert_eq!(gpus.map(|g| g.2), [2, 1, 0, 3]);
    }
}
