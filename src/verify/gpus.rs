//! GPUs: whether each can be used, whether its arithmetic is that of the CPU, how fast it is, and
//! what follows for a run.

use super::{Check, Depth, Verdict, gib};
use crate::Error;
use fitzroy_device::gpu::{self, Compiler, Description, Driver, Places, Rates, Sensors, Trouble};

/// What was found of GPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gpus {
    /// The driver's library and the newest CUDA it serves, as major and minor version.
    pub driver: Option<(String, (u32, u32))>,
    /// The compiler's library and version, as the first usable GPU found it, or one elsewhere would.
    pub compiler: Option<(String, (u32, u32))>,
    /// Every GPU.
    pub found: Vec<Gpu>,
    /// What is wrong, if anything is: names that programs may rely on.
    pub troubles: Vec<&'static str>,
    /// One line for each thing that was looked at.
    pub checks: Vec<Check>,
}

/// One GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// What the driver says of it.
    pub description: Description,
    /// Whether everything that was tried went well.
    pub passed: bool,
    /// Seconds to compile, or to find, the kernel of the check and load it.
    pub compile_s: Option<f64>,
    /// Values that had the bits of the CPU.
    pub compared: usize,
    /// Measured speeds.
    pub rates: Option<Rates>,
    /// What its sensors said right after that.
    pub sensors: Option<Sensors>,
    /// `--chains` that keep it busy with small models.
    pub chains: usize,
    /// Bytes that a run should stay below.
    pub memory_budget_bytes: u64,
}

/// Teams that the check is run with: a warp, and blocks.
const TEAMS: [usize; 4] = [32, 64, 128, 256];
/// The driver and the GPU of a machine that is not this one: any will do.
const NEWEST: (u32, u32) = (99, 0);
const ANY_ARCH: u32 = 90;
/// What is wrong with a GPU that computes something else.
const WRONG: &str = "wrong-arithmetic";
/// Chains to a multiprocessor when there are many: four warps.
const CHAINS_PER_MULTIPROCESSOR: usize = 4;

/// Looks at every GPU.
pub(super) fn look(places: &Places, now: &dyn Fn() -> f64, depth: Depth) -> Gpus {
    let mut gpus = Gpus::default();
    let driver = match Driver::open(places) {
        Ok(driver) => driver,
        Err(trouble) => {
            // Nothing there is no failure; something there that does not work is one.
            let absent = matches!(
                trouble,
                Trouble::NoDriver | Trouble::NoDevice | Trouble::Hidden { .. }
            ) || places.driver.is_some() && !exists(places);
            gpus.note("gpu", &trouble, absent);
            gpus.look_for_compiler(places);
            return gpus;
        }
    };
    let (major, minor) = driver.version;
    gpus.driver = Some((driver.path.display().to_string(), driver.version));
    let path = driver.path.display();
    gpus.passed("driver", format!("CUDA {major}.{minor}, {path}"));
    for index in 0..driver.n_devices() {
        match examine(places, &driver, index, now, depth, &mut gpus) {
            Ok(gpu) => gpus.found.push(gpu),
            Err(trouble) => gpus.note("gpu", &trouble, false),
        }
    }
    gpus
}

fn exists(places: &Places) -> bool {
    places.driver.as_ref().is_some_and(|path| path.exists())
}

impl Gpus {
    /// Where there is no GPU, as where jobs are submitted: whether one would find its compiler.
    fn look_for_compiler(&mut self, places: &Places) {
        let (verdict, detail) = match Compiler::find(places, NEWEST, ANY_ARCH) {
            Ok(compiler) => {
                let found = format!(
                    "{}, for GPUs of other machines",
                    self.compiler_found(&compiler)
                );
                (Verdict::Pass, found)
            }
            // Nobody asked for one.
            Err(_) if places.compiler.is_none() => return,
            Err(trouble) => (Verdict::Skip, trouble.to_string()),
        };
        self.checks.push(Check {
            name: "nvrtc",
            verdict,
            detail,
        });
    }

    /// Notes the compiler; its version and place.
    fn compiler_found(&mut self, compiler: &Compiler) -> String {
        let (major, minor) = compiler.version;
        let path = compiler.path.display().to_string();
        let text = format!("{major}.{minor}, {path}");
        self.compiler = Some((path, compiler.version));
        text
    }

    fn passed(&mut self, name: &'static str, detail: String) {
        self.checks.push(Check {
            name,
            verdict: Verdict::Pass,
            detail,
        });
    }

    /// Notes that a GPU did not do what it was given.
    fn failed(&mut self, name: &'static str, gpu: &gpu::Gpu, error: &Error) {
        self.troubles.push(gpu.trouble.unwrap_or(WRONG));
        self.checks.push(Check {
            name,
            verdict: Verdict::Fail,
            detail: format!("{error}"),
        });
    }

    fn note(&mut self, name: &'static str, trouble: &Trouble, absent: bool) {
        self.troubles.push(trouble.name());
        self.checks.push(Check {
            name,
            verdict: match absent {
                true => Verdict::Skip,
                false => Verdict::Fail,
            },
            detail: format!("{trouble}; {}", trouble.remedy()),
        });
    }
}

/// Takes one GPU into use, checks and measures it.
fn examine(
    places: &Places,
    driver: &Driver,
    index: usize,
    now: &dyn Fn() -> f64,
    depth: Depth,
    gpus: &mut Gpus,
) -> Result<Gpu, Trouble> {
    let description = driver.describe(index)?;
    let mut found = Gpu {
        chains: description.multiprocessors as usize * CHAINS_PER_MULTIPROCESSOR,
        memory_budget_bytes: description.memory_bytes / 10 * 9,
        description,
        passed: false,
        compile_s: None,
        compared: 0,
        rates: None,
        sensors: None,
    };
    let mut gpu = match gpu::Gpu::open(places, index) {
        Ok(gpu) => gpu,
        Err(trouble) => {
            gpus.checks
                .push(describe(&found.description, Verdict::Fail));
            gpus.note("gpu", &trouble, false);
            return Ok(found);
        }
    };
    if gpus.compiler.is_none() {
        let detail = gpus.compiler_found(gpu.compiler());
        gpus.passed("nvrtc", detail);
    }
    found.description = gpu.description.clone();
    if let Some(free) = found.description.free_bytes {
        found.memory_budget_bytes = free / 10 * 9;
    }
    gpus.checks
        .push(describe(&found.description, Verdict::Pass));
    let mut teams = TEAMS.to_vec();
    match depth {
        Depth::Usual => teams.truncate(1),
        // Blocks that meet, on as many multiprocessors as there are.
        Depth::Conformance if gpu.meeting() >= 2 => teams.push(gpu.meeting() * gpu::MOST_MEMBERS),
        Depth::Conformance => {}
    }
    if !found.compare(&mut gpu, &teams, now, gpus) {
        return Ok(found);
    }
    let multiprocessors = found.description.multiprocessors as usize;
    match gpu::rates(&mut gpu, multiprocessors) {
        Ok(rates) => found.rates = Some(rates),
        Err(error) => gpus.failed("rates", &gpu, &error),
    }
    let (sensors, check) = sense(places, &found.description);
    found.sensors = sensors;
    gpus.checks.push(check);
    found.passed = found.rates.is_some();
    Ok(found)
}

impl Gpu {
    /// Compares its arithmetic with that of the CPU, and in f32 how near it comes; false where it is
    /// another.
    fn compare(
        &mut self,
        gpu: &mut gpu::Gpu,
        teams: &[usize],
        now: &dyn Fn() -> f64,
        gpus: &mut Gpus,
    ) -> bool {
        let start = now();
        for &team in teams {
            match gpu::conformance(gpu, team) {
                Ok(n) => self.compared += n,
                Err(error) => {
                    gpus.failed("arithmetic", gpu, &error);
                    return false;
                }
            }
        }
        let conformance_s = now() - start;
        self.compile_s = Some(conformance_s);
        let made = if gpu.loaded.compiled {
            "compiled"
        } else {
            "kept from before"
        };
        let mut detail = format!(
            "{} values have the bits of the CPU ({made}, loaded and run in {:.2} s)",
            self.compared, conformance_s
        );
        if let Some(note) = &gpu.cache_note {
            detail += &format!("; compiled kernels are not kept: {note}");
        }
        gpus.passed("arithmetic", detail);
        match gpu::closeness(gpu, TEAMS[0]) {
            Ok(error) => {
                let close = format!("within {error:.1e} of them, relative to 1 + size");
                gpus.passed("f32", format!("in f32 they are {close}"));
                true
            }
            Err(error) => {
                gpus.failed("f32", gpu, &error);
                false
            }
        }
    }
}

/// A GPU as hot as this slows its clocks down, or is about to.
const HOT_C: u32 = 85;

/// What the sensors say, and its line. Without them nothing is lost but their words.
fn sense(places: &Places, gpu: &Description) -> (Option<Sensors>, Check) {
    let (found, verdict, detail) = match gpu::sensors(places, &gpu.bus_id) {
        Ok(found) => {
            let hot = found.temperature_c.is_some_and(|t| t >= HOT_C);
            let said = [
                found.temperature_c.map(|t| format!("{t} °C")),
                found.clock_mhz.map(|c| format!("{c} MHz")),
                found.power_w.map(|w| format!("{w:.0} W")),
            ];
            let said: Vec<String> = said.into_iter().flatten().collect();
            let mut detail = match said.is_empty() {
                true => "this GPU has none that may be read".into(),
                false => format!("{} after the measurements", said.join(", ")),
            };
            if hot {
                detail += "; that is hot: clocks go down, look at the cooling";
            }
            (Some(found), Verdict::Pass, detail)
        }
        Err(trouble) => {
            let detail = format!("temperature and clocks cannot be read: {trouble}");
            (None, Verdict::Skip, detail)
        }
    };
    let check = Check {
        name: "sensors",
        verdict,
        detail,
    };
    (found, check)
}

/// The line of a GPU.
fn describe(gpu: &Description, verdict: Verdict) -> Check {
    let memory = match gpu.free_bytes {
        Some(free) => format!("{:.1} of {:.1} GiB free", gib(free), gib(gpu.memory_bytes)),
        None => format!("{:.1} GiB", gib(gpu.memory_bytes)),
    };
    let mut detail = format!(
        "{}: {}, {}.{}, {} multiprocessors, {memory}, ECC {}, {} MHz, memory {} MHz, {}",
        gpu.index,
        gpu.name,
        gpu.capability.0,
        gpu.capability.1,
        gpu.multiprocessors,
        if gpu.ecc { "on" } else { "off" },
        gpu.clock_mhz,
        gpu.memory_clock_mhz,
        gpu.bus_id
    );
    if gpu.is_slice() {
        detail += "; a MIG slice, whose multiprocessors and memory these are";
    }
    if gpu.watchdog {
        detail += "; it serves a display, whose watchdog ends long kernels";
    }
    Check {
        name: "gpu",
        verdict,
        detail,
    }
}
