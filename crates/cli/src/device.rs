//! The device of a run: what was asked for, what there is, and which it will be.

use crate::args::Common;
use fitzroy::run::Device;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::choice::Choice;
use fitzroy_device::gpu::{Driver, Gpu, Places};
use fitzroy_device::probe;
use std::path::PathBuf;

/// What a run will compute on.
pub(crate) struct Chosen {
    /// For the settings of the run.
    pub(crate) device: Device,
    /// `cpu` or `cuda:N`.
    pub(crate) label: String,
    /// Its name.
    pub(crate) name: String,
    /// Why this one.
    pub(crate) reason: String,
    /// Whether the choice is worth a line: not where there is only a CPU, or it was asked for.
    pub(crate) is_news: bool,
    /// Bytes of a GPU's memory that are free.
    pub(crate) free_bytes: Option<u64>,
}

/// An environment variable that is set and not empty, as a path.
fn path_of(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|v| !v.is_empty())
        .map(PathBuf::from)
}

/// The folder for what may be kept between runs.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let home = || Some(path_of("HOME")?.join(".cache"));
    path_of("FITZROY_CACHE_DIR").or_else(|| {
        let all = path_of("XDG_CACHE_HOME").or_else(home)?;
        Some(all.join("fitzroy"))
    })
}

/// Where the libraries of a GPU may lie, from the flag and the environment.
pub(crate) fn places(compiler: Option<PathBuf>) -> Places {
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

/// Takes GPU `number` into use.
pub(crate) fn open(places: &Places, number: usize) -> Result<Gpu> {
    let opened = Gpu::open(places, number).map_err(Error::from);
    opened.map_err(|e| e.context(format!("--device cuda:{number}")))
}

impl Common {
    /// What a run will compute on, and why.
    ///
    /// # Errors
    /// A GPU was asked for and cannot be used: it is never replaced by the CPU.
    pub(crate) fn choose(&self) -> Result<Chosen> {
        let places = self.places();
        let cpu = |reason: String, is_news: bool| Chosen {
            is_news,
            device: Device::threads(),
            label: "cpu".into(),
            name: probe::cpu().model,
            reason,
            free_bytes: None,
        };
        self.check_precision()?;
        match self.device()? {
            Choice::Cpu => Ok(cpu("asked for".into(), false)),
            Choice::Auto => Ok(match Driver::open(&places) {
                Err(trouble) => cpu(format!("auto: {trouble}"), self.verbose > 0),
                Ok(driver) => cpu(
                    format!(
                        "auto: there is a GPU ({} in all), but no run on one has been timed yet; \
                         force with --device cuda",
                        driver.n_devices()
                    ),
                    true,
                ),
            }),
            Choice::Gpu(number) => {
                let number = number.unwrap_or(0);
                let gpu = open(&places, number)?;
                Ok(Chosen {
                    is_news: true,
                    label: format!("cuda:{number}"),
                    name: gpu.description.name.clone(),
                    reason: "asked for".into(),
                    free_bytes: gpu.description.free_bytes,
                    device: Device::machine(gpu),
                })
            }
        }
    }
}

/// Refuses a run that a GPU has no room for, and says how many chains it has room for.
///
/// # Errors
/// Too little memory: what is needed and what is free.
pub(crate) fn check_memory(
    chosen: &Chosen,
    needed: impl Fn(usize) -> Result<u64>,
    chains: usize,
) -> Result<()> {
    let Some(free) = chosen.free_bytes else {
        return Ok(());
    };
    let budget = free / 10 * 9;
    let wanted = needed(chains)?;
    if wanted <= budget {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    let mut fits = chains;
    while fits > 0 && needed(fits)? > budget {
        fits /= 2;
    }
    let advice = match fits {
        0 => "use --device cpu".to_string(),
        n => format!("run fewer chains (--chains {n} fit) or use --device cpu"),
    };
    let message = format!(
        "{}: {chains} chains need {} MiB, and 9/10 of the {} MiB that are free may be used; {advice}",
        chosen.label,
        mib(wanted),
        mib(free)
    );
    Err(Error::new(ErrorKind::Device, message))
}
