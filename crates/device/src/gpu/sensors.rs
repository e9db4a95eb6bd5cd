//! What a GPU's sensors say now, by the driver's management library (NVML), where it is installed.

use super::driver::FOLDERS;
use super::library::{functions, open};
use super::{Places, Trouble};
use std::ffi::{CString, c_char, c_uint, c_void};
use std::path::Path;

/// The library; it comes with the driver, but containers may leave it out.
const NAME: &str = "libnvidia-ml.so.1";

functions! {
    /// What is used of NVML.
    Functions:
    init = "nvmlInit_v2"();
    shutdown = "nvmlShutdown"();
    by_bus_id = "nvmlDeviceGetHandleByPciBusId_v2"(*const c_char, *mut *mut c_void);
    temperature = "nvmlDeviceGetTemperature"(*mut c_void, c_uint, *mut c_uint);
    clock = "nvmlDeviceGetClockInfo"(*mut c_void, c_uint, *mut c_uint);
    power = "nvmlDeviceGetPowerUsage"(*mut c_void, *mut c_uint);
    memory = "nvmlDeviceGetMemoryInfo"(*mut c_void, *mut c_void);
}

/// `nvmlMemory_t`, in bytes.
#[derive(Default)]
#[repr(C)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// `NVML_TEMPERATURE_GPU`.
const TEMPERATURE_OF_GPU: c_uint = 0;
/// `NVML_CLOCK_SM`.
const CLOCK_OF_PROCESSORS: c_uint = 1;

/// What the sensors of a GPU say; none where it has no such sensor, as slices of one have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensors {
    /// Degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Clock of the processors now, in MHz.
    pub clock_mhz: Option<u32>,
    /// Watts drawn now.
    pub power_w: Option<f64>,
}

/// NVML, begun; it ends when this goes.
struct Management(Functions);

impl Management {
    fn begin(places: &Places) -> Result<Self, Trouble> {
        let (library, path) = match places.driver.as_deref().and_then(Path::parent) {
            Some(folder) => (open(&folder.join(NAME))?, folder.join(NAME)),
            None => match open(Path::new(NAME)) {
                Ok(library) => (library, NAME.into()),
                Err(trouble) => {
                    let found = FOLDERS.iter().map(|f| Path::new(f).join(NAME));
                    let path = found.into_iter().find(|p| p.exists()).ok_or(trouble)?;
                    (open(&path)?, path)
                }
            },
        };
        let functions = Functions::of(library, &path)?;
        // SAFETY: any process may begin, any number of times; each beginning has its end in `drop`.
        check("nvmlInit", unsafe { (functions.init)() })?;
        Ok(Management(functions))
    }

    fn gpu(&self, bus_id: &str) -> Result<*mut c_void, Trouble> {
        let name = CString::new(bus_id).unwrap_or_default();
        let mut gpu = std::ptr::null_mut();
        // SAFETY: a text that ends with 0, and a pointer of this function.
        let status = unsafe { (self.0.by_bus_id)(name.as_ptr(), &mut gpu) };
        check("nvmlDeviceGetHandleByPciBusId", status)?;
        Ok(gpu)
    }
}

impl Drop for Management {
    fn drop(&mut self) {
        // SAFETY: the end of what began in `begin`.
        unsafe { (self.0.shutdown)() };
    }
}

fn check(call: &'static str, status: i32) -> Result<(), Trouble> {
    match status {
        0 => Ok(()),
        // Its codes are not those of the driver.
        code => Err(Trouble::Driver {
            call,
            code,
            name: "an error of NVML".into(),
        }),
    }
}

/// Reads the sensors of the GPU at `bus_id`, such as `0000:41:00.0`.
///
/// # Errors
/// The library is not there, or does not know the GPU. Nothing else depends on it.
pub fn sensors(places: &Places, bus_id: &str) -> Result<Sensors, Trouble> {
    let management = Management::begin(places)?;
    let (f, gpu) = (&management.0, management.gpu(bus_id)?);
    let mut value = 0;
    // SAFETY: the handle is NVML's own, and `value` is a number of this function; so below.
    let status = unsafe { (f.temperature)(gpu, TEMPERATURE_OF_GPU, &mut value) };
    let temperature_c = (status == 0).then_some(value);
    // SAFETY: as above.
    let status = unsafe { (f.clock)(gpu, CLOCK_OF_PROCESSORS, &mut value) };
    let clock_mhz = (status == 0).then_some(value);
    // SAFETY: as above.
    let status = unsafe { (f.power)(gpu, &mut value) };
    Ok(Sensors {
        temperature_c,
        clock_mhz,
        power_w: (status == 0).then_some(f64::from(value) / 1000.0),
    })
}

/// Bytes of memory that are free on each of these GPUs, without a context on any of them; none for a
/// GPU of which NVML does not say so, as of slices, and none at all without NVML.
pub fn free_bytes(places: &Places, bus_ids: &[&str]) -> Vec<Option<u64>> {
    let Ok(management) = Management::begin(places) else {
        return vec![None; bus_ids.len()];
    };
    let free = |bus_id: &&str| {
        let gpu = management.gpu(bus_id).ok()?;
        let mut memory = Memory::default();
        // SAFETY: the handle is NVML's own, and the numbers are those of this function.
        let status = unsafe { (management.0.memory)(gpu, (&raw mut memory).cast()) };
        (status == 0).then_some(memory.free)
    };
    bus_ids.iter().map(free).collect()
}
