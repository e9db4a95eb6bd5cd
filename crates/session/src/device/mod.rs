//! The device of a run: what was asked for, what there is, and which it will be.

mod gpus;
mod taken;

pub use gpus::{
    ASKED_FOR, best, described, follow, is_unexpected, label, label_of, name_of, open,
    open_several, precision_of, without_gpu,
};

use fitzroy::fit::sample::Sampler;
use fitzroy::fit::sample::kernel::check_sampler;
use fitzroy::model::joint::Joint;
use fitzroy::run::{Device, Inventory, Settings, Team, gradient_costs, plan};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::choice::{Choice, MemoryCap};
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Description, Gpu, Places};
use fitzroy_device::probe;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Instant;
pub use taken::Room;
use taken::Taken;

/// What a run will compute on.
pub struct Chosen {
    /// `cpu`, `cuda:N` or `cuda:N,M`.
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
    cap: Option<MemoryCap>,
    /// The GPUs that were taken; none on the CPU.
    gpus: Vec<Taken>,
    /// GPUs that the run may go to, once it is known what the run costs.
    candidates: Option<(Places, Vec<Description>)>,
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

/// What is asked of the device of a run.
pub struct Request {
    /// The device.
    pub choice: Choice,
    /// The precision on a GPU; none where it is left to the device.
    pub precision: Option<Precision>,
    /// Threads to a chain on a GPU.
    pub team: Team,
    /// The most of a GPU's memory to plan with; none where nine tenths of what is free may be taken.
    pub memory: Option<MemoryCap>,
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
            memory: None,
            places: places(None),
            verbose: false,
        }
    }
}

/// Refuses any precision but f64, for the reason `why`.
///
/// # Errors
/// A lower one is asked for.
pub fn require_f64(precision: Option<Precision>, why: &str) -> Result<()> {
    match precision.filter(|p| *p != Precision::F64) {
        None => Ok(()),
        Some(lower) => Err(Error::device(format!(
            "⟨precision {}⟩: {why}; use auto or f64",
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
            label: "cpu".into(),
            name: probe::model(),
            reason: ASKED_FOR.into(),
            is_news: false,
            precision: self.precision,
            team: self.team,
            cap: self.memory,
            gpus: Vec::new(),
            candidates: None,
        };
        match self.asked()? {
            Choice::Cpu => {}
            Choice::Gpu(number) => {
                let (gpu, reason) = open(&self.places, number, chosen.precision)?;
                chosen.take(vec![gpu], reason);
            }
            Choice::Gpus(several) => {
                let (gpus, reason) = open_several(&self.places, several)?;
                chosen.take(gpus, reason);
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
    /// The run goes to `gpus`.
    fn take(&mut self, gpus: Vec<Gpu>, reason: String) {
        let precision = self.precision.unwrap_or_else(|| precision_of(&gpus));
        self.precision = Some(precision);
        self.label = label_of(&gpus);
        self.name = name_of(&gpus);
        self.reason = reason;
        self.is_news = true;
        let taken = |gpu| Taken::new(gpu, precision, self.cap);
        self.gpus = gpus.into_iter().map(taken).collect();
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
        settings.device = Device::threads();
        if !self.gpus.is_empty() {
            check_sampler(settings.sampler.sampler)?;
            settings.precision = self.precision.unwrap_or_default();
            taken::share(&mut self.gpus, self.team, joint, settings)?;
            let each = self.gpus.iter().map(Taken::device);
            settings.device = Device::several(each).with_team(self.team);
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
        let (asked, team, cap) = (self.precision, self.team, self.cap);
        let precision = |gpu: &Description| asked.unwrap_or(gpu.precision());
        let costs = gradient_costs(joint, settings, &|| start.elapsed().as_secs_f64())?;
        let planned = |gpu: Description| {
            let inventory = Inventory::of(&gpu, precision(&gpu));
            (plan(&costs, &inventory), gpu)
        };
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
            let room = Room::new(free, description.memory_bytes, cap);
            taken::fitting("the GPU", room, joint, &there).map(drop)
        });
        match gpu {
            Some(gpu) => self.take(vec![gpu], reason),
            None => self.reason = reason,
        }
        Ok(())
    }

    /// The precision on a GPU; none if it is left to the device.
    pub fn asked_precision(&self) -> Option<Precision> {
        self.precision
    }

    /// Who makes how many chains, for people; none unless several GPUs share them.
    pub fn shares_text(&self) -> Option<String> {
        (self.gpus.len() > 1).then(|| taken::shares_text(&self.gpus))
    }

    /// What is expected of the memory of GPUs, for people; none on the CPU.
    pub fn memory_text(&self) -> Option<String> {
        (!self.gpus.is_empty()).then(|| taken::memory_text(&self.gpus))
    }

    /// What a run took of the memory of GPUs, for people; none on the CPU.
    pub fn used_text(&self) -> Option<String> {
        (!self.gpus.is_empty()).then(|| taken::used_text(&self.gpus))
    }

    /// What several GPUs have done, for people; none unless they shared a run.
    pub fn made_text(&self) -> Option<String> {
        (self.gpus.len() > 1).then(|| taken::made_text(&self.gpus))
    }

    /// What was expected of the memory of all GPUs and what became of it, for programs; null on the CPU.
    pub fn memory_document(&self) -> Value {
        match self.gpus.is_empty() {
            true => Value::Null,
            false => taken::memory_document(&self.gpus),
        }
    }

    /// What each GPU was to do and has done, for programs; null on the CPU.
    pub fn gpus_document(&self) -> Value {
        match self.gpus.is_empty() {
            true => Value::Null,
            false => self.gpus.iter().map(Taken::document).collect(),
        }
    }
}
