//! The CUDA driver: its library, opened while the program runs, and what it says of its GPUs.
//!
//! Only entry points of CUDA 11 and older are used, so old drivers work.

use super::compiler::Places;
use super::library::{IS_STATIC, functions, open};
use super::text::Precision;
use super::trouble::Trouble;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;

functions! {
    /// What is used of the driver.
    Functions:
    init = "cuInit"(c_uint);
    version = "cuDriverGetVersion"(*mut c_int);
    error_name = "cuGetErrorName"(c_int, *mut *const c_char);
    device_count = "cuDeviceGetCount"(*mut c_int);
    device_get = "cuDeviceGet"(*mut c_int, c_int);
    device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
    attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
    total_memory = "cuDeviceTotalMem_v2"(*mut usize, c_int);
    bus_id = "cuDeviceGetPCIBusId"(*mut c_char, c_int, c_int);
    context_flags = "cuDevicePrimaryCtxSetFlags_v2"(c_int, c_uint);
    context_retain = "cuDevicePrimaryCtxRetain"(*mut *mut c_void, c_int);
    context_release = "cuDevicePrimaryCtxRelease_v2"(c_int);
    context_current = "cuCtxSetCurrent"(*mut c_void);
    context_wait = "cuCtxSynchronize"();
    free_memory = "cuMemGetInfo_v2"(*mut usize, *mut usize);
    allocate = "cuMemAlloc_v2"(*mut u64, usize);
    free = "cuMemFree_v2"(u64);
    pinned_allocate = "cuMemHostAlloc"(*mut *mut c_void, usize, c_uint);
    pinned_free = "cuMemFreeHost"(*mut c_void);
    write = "cuMemcpyHtoDAsync_v2"(u64, *const c_void, usize, *mut c_void);
    read = "cuMemcpyDtoHAsync_v2"(*mut c_void, u64, usize, *mut c_void);
    module_load = "cuModuleLoadData"(*mut *mut c_void, *const c_void);
    module_unload = "cuModuleUnload"(*mut c_void);
    function = "cuModuleGetFunction"(*mut *mut c_void, *mut c_void, *const c_char);
    function_attribute = "cuFuncGetAttribute"(*mut c_int, c_int, *mut c_void);
    launch = "cuLaunchKernel"(
        *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void,
        *mut *mut c_void, *mut *mut c_void
    );
    launch_together = "cuLaunchCooperativeKernel"(
        *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void,
        *mut *mut c_void
    );
    stream_create = "cuStreamCreate"(*mut *mut c_void, c_uint);
    stream_destroy = "cuStreamDestroy_v2"(*mut c_void);
    stream_wait = "cuStreamSynchronize"(*mut c_void);
    stream_wait_event = "cuStreamWaitEvent"(*mut c_void, *mut c_void, c_uint);
    event_create = "cuEventCreate"(*mut *mut c_void, c_uint);
    event_record = "cuEventRecord"(*mut c_void, *mut c_void);
    event_wait = "cuEventSynchronize"(*mut c_void);
    event_between = "cuEventElapsedTime"(*mut f32, *mut c_void, *mut c_void);
    event_destroy = "cuEventDestroy_v2"(*mut c_void);
}

/// An opened driver.
#[derive(Clone)]
pub struct Driver {
    pub(super) functions: Arc<Functions>,
    /// Its library, as it was opened.
    pub path: PathBuf,
    /// The newest CUDA it serves: major and minor version.
    pub version: (u32, u32),
    n_devices: usize,
}

/// What the driver says of one GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Its number.
    pub index: usize,
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors; those of the slice for a MIG device.
    pub multiprocessors: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of memory free now; none where another process has the GPU to itself.
    pub free_bytes: Option<u64>,
    /// Whether its memory corrects errors.
    pub ecc: bool,
    /// Highest clock of the processors, in MHz.
    pub clock_mhz: u32,
    /// Highest clock of the memory, in MHz.
    pub memory_clock_mhz: u32,
    /// Whether a watchdog ends long kernels: it serves a display, or belongs to Windows.
    pub watchdog: bool,
    /// Where it sits, such as `0000:41:00.0`.
    pub bus_id: String,
}

impl Description {
    /// Its architecture, such as 90 for `sm_90`.
    pub fn arch(&self) -> u32 {
        self.capability.0 * 10 + self.capability.1
    }

    /// Operations in f64 that a multiprocessor starts per clock (CUDA programming guide, arithmetic
    /// throughput by compute capability). Cards for computing have 16 to 64, all others 1 or 2.
    pub fn f64_per_clock(&self) -> f64 {
        match self.capability {
            (6, 0) | (7, 0) | (8, 0) => 32.0,
            (9, 0) | (10, 0) => 64.0,
            _ => 2.0,
        }
    }

    /// Nanoseconds after which a launch should begin nothing more, if a watchdog ends long kernels: that of
    /// Windows after two seconds.
    pub fn launch_budget_ns(&self) -> Option<u64> {
        self.watchdog.then_some(250_000_000)
    }

    /// Whether it is a part of a GPU that looks like a whole one.
    pub fn is_slice(&self) -> bool {
        self.name.contains(" MIG ")
    }

    /// The precision that suits it: f64 where that is fast, for then nothing is given up.
    pub fn precision(&self) -> Precision {
        match self.f64_per_clock() < 16.0 {
            true => Precision::Mixed,
            false => Precision::F64,
        }
    }

    /// The name in job templates: V100, A100, H100, H200, A6000, or its name without the maker's.
    pub fn short_name(&self) -> String {
        let known = [
            "V100", "A100", "H100", "H200", "GH200", "B200", "GB200", "A6000", "A40", "L40S", "L4",
            "T4",
        ];
        let words: Vec<&str> = self.name.split([' ', '-']).collect();
        if let Some(name) = known.iter().find(|k| words.contains(*k)) {
            return (*name).into();
        }
        let makers = ["NVIDIA", "GeForce", "Tesla", "Quadro"];
        let own: Vec<&str> = words.into_iter().filter(|w| !makers.contains(w)).collect();
        own.join(" ")
    }
}

/// Places of the driver's libraries besides those of the system's loader.
pub(super) const FOLDERS: [&str; 4] = [
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/lib64/nvidia",
    "/run/opengl-driver/lib",
];

/// The oldest CUDA that a driver must serve: there is no NVRTC for older ones that takes our texts.
const OLDEST: (u32, u32) = (11, 0);

/// The driver's library.
const NAME: &str = "libcuda.so.1";

/// Opens whatever library of the driver there is.
fn library(places: &Places) -> Result<(libloading::Library, PathBuf), Trouble> {
    if let Some(path) = &places.driver {
        return Ok((open(path)?, path.clone()));
    }
    let bare = match open(Path::new(NAME)) {
        Ok(library) => return Ok((library, NAME.into())),
        Err(trouble) => trouble,
    };
    for folder in FOLDERS {
        let path = Path::new(folder).join(NAME);
        if path.exists() {
            return Ok((open(&path)?, path));
        }
    }
    match bare {
        Trouble::Unreadable { reason, .. } if IS_STATIC || reason.contains("No such file") => {
            Err(Trouble::NoDriver)
        }
        other => Err(other),
    }
}

/// A file of the driver that is there and may not be opened; `folder` is `/dev`.
pub(super) fn forbidden_file(folder: &Path) -> Option<PathBuf> {
    let files = ["nvidiactl", "nvidia0", "nvidia-uvm"].map(|name| folder.join(name));
    files.into_iter().find(|file| {
        let opened = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(file);
        opened.is_err_and(|e| e.kind() == std::io::ErrorKind::PermissionDenied)
    })
}

impl Driver {
    /// Opens the driver and counts its GPUs.
    ///
    /// # Errors
    /// There is no driver, or it does not work, or it sees no GPU.
    pub fn open(places: &Places) -> Result<Driver, Trouble> {
        Self::open_with(places, Path::new("/dev"))
    }

    /// [`Driver::open`] with the folder of device files, for tests.
    ///
    /// # Errors
    /// See there.
    pub fn open_with(places: &Places, device_files: &Path) -> Result<Driver, Trouble> {
        let (library, path) = library(places)?;
        let functions = Arc::new(Functions::of(library, &path)?);
        let mut driver = Driver {
            functions,
            path,
            version: (0, 0),
            n_devices: 0,
        };
        // SAFETY: any process may initialise the driver, any number of times.
        let begun = driver.check("cuInit", unsafe { (driver.functions.init)(0) });
        if let Err(trouble) = begun {
            let no_device = trouble == Trouble::NoDevice;
            let hidden = places.visible.clone().filter(|v| no_device && hides_all(v));
            if let Some(visible) = hidden {
                return Err(Trouble::Hidden { visible });
            }
            let forbidden = forbidden_file(device_files);
            return Err(forbidden.map_or(trouble, |file| Trouble::NotPermitted { file }));
        }
        let (mut version, mut count) = (0, 0);
        // SAFETY: the pointers are to numbers of this function.
        let status = unsafe { (driver.functions.version)(&mut version) };
        driver.check("cuDriverGetVersion", status)?;
        // SAFETY: as above.
        let status = unsafe { (driver.functions.device_count)(&mut count) };
        driver.check("cuDeviceGetCount", status)?;
        driver.version = (version as u32 / 1000, version as u32 % 1000 / 10);
        if driver.version < OLDEST {
            return Err(Trouble::OldDriver {
                version: driver.version,
            });
        }
        driver.n_devices = count.max(0) as usize;
        match (driver.n_devices, &places.visible) {
            (0, Some(visible)) => Err(Trouble::Hidden {
                visible: visible.clone(),
            }),
            (0, None) => Err(Trouble::NoDevice),
            _ => Ok(driver),
        }
    }

    /// How many GPUs it sees.
    pub fn n_devices(&self) -> usize {
        self.n_devices
    }

    /// Whether `call` went well.
    pub(super) fn check(&self, call: &'static str, code: i32) -> Result<(), Trouble> {
        if code == 0 {
            return Ok(());
        }
        let mut name = std::ptr::null();
        // SAFETY: the driver gives a text that stays, or nothing.
        let name = unsafe {
            (self.functions.error_name)(code, &mut name);
            match name.is_null() {
                true => "an unknown error".into(),
                false => CStr::from_ptr(name).to_string_lossy().into_owned(),
            }
        };
        Err(Trouble::of(call, code, name))
    }

    /// The driver's handle of GPU `index`.
    pub(super) fn handle(&self, index: usize) -> Result<c_int, Trouble> {
        if index >= self.n_devices {
            return Err(Trouble::NoSuchDevice {
                asked: index,
                count: self.n_devices,
            });
        }
        let mut handle = 0;
        // SAFETY: the pointer is to a number of this function.
        let status = unsafe { (self.functions.device_get)(&mut handle, index as c_int) };
        self.check("cuDeviceGet", status)?;
        Ok(handle)
    }

    fn attribute(&self, handle: c_int, which: c_int) -> Result<u32, Trouble> {
        let mut value = 0;
        // SAFETY: the pointer is to a number of this function.
        let status = unsafe { (self.functions.attribute)(&mut value, which, handle) };
        self.check("cuDeviceGetAttribute", status)?;
        Ok(value.max(0) as u32)
    }

    /// What it says of GPU `index`, without taking it.
    ///
    /// # Errors
    /// There is no such GPU, or the driver fails.
    pub fn describe(&self, index: usize) -> Result<Description, Trouble> {
        let handle = self.handle(index)?;
        let f = &self.functions;
        let mut text = [[0 as c_char; 128]; 2];
        let mut memory = 0;
        // SAFETY: the pointers are to memory of this function, with their sizes.
        let status = unsafe { (f.device_name)(text[0].as_mut_ptr(), 128, handle) };
        self.check("cuDeviceGetName", status)?;
        // SAFETY: as above.
        let status = unsafe { (f.bus_id)(text[1].as_mut_ptr(), 128, handle) };
        self.check("cuDeviceGetPCIBusId", status)?;
        // SAFETY: as above.
        let status = unsafe { (f.total_memory)(&mut memory, handle) };
        self.check("cuDeviceTotalMem", status)?;
        let [name, bus_id] = text.map(|t| {
            let bytes: Vec<u8> = t
                .iter()
                .take_while(|&&c| c != 0)
                .map(|&c| c as u8)
                .collect();
            String::from_utf8_lossy(&bytes).into_owned()
        });
        // Numbers of CUdevice_attribute.
        let ask = |which| self.attribute(handle, which);
        Ok(Description {
            index,
            name,
            bus_id,
            capability: (ask(75)?, ask(76)?),
            multiprocessors: ask(16)?,
            memory_bytes: memory as u64,
            free_bytes: None,
            ecc: ask(32)? != 0,
            clock_mhz: ask(13)? / 1000,
            memory_clock_mhz: ask(36)? / 1000,
            // Under WSL the watchdog of Windows ends kernels, whether a display is there or not.
            watchdog: ask(17)? != 0 || Path::new("/dev/dxg").exists(),
        })
    }
}

/// Whether a value of `CUDA_VISIBLE_DEVICES` leaves no GPU.
fn hides_all(visible: &str) -> bool {
    let first = visible.split(',').next().unwrap_or_default().trim();
    first.is_empty() || first == "-1" || first == "NoDevFiles"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_have_the_names_of_job_templates() {
        let named = |name: &str| Description {
            index: 0,
            name: name.into(),
            capability: (9, 0),
            multiprocessors: 1,
            memory_bytes: 1,
            free_bytes: None,
            ecc: false,
            clock_mhz: 1,
            memory_clock_mhz: 1,
            watchdog: false,
            bus_id: String::new(),
        };
        for (name, short) in [
            ("Tesla V100-SXM2-16GB", "V100"),
            ("NVIDIA A100-SXM4-80GB", "A100"),
            ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "H100"),
            ("NVIDIA H100 80GB HBM3", "H100"),
            ("NVIDIA H200", "H200"),
            ("NVIDIA RTX A6000", "A6000"),
            ("NVIDIA GH200 480GB", "GH200"),
            ("NVIDIA GeForce RTX 4090", "RTX 4090"),
            ("NVIDIA GeForce RTX 5070 Ti", "RTX 5070 Ti"),
            ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada Generation"),
        ] {
            assert_eq!(named(name).short_name(), short);
            assert_eq!(named(name).is_slice(), name.ends_with("1g.10gb"));
        }
        let at = |capability| Description {
            capability,
            ..named("a card")
        };
        for (capability, precision) in [
            ((7, 0), Precision::F64),
            ((8, 0), Precision::F64),
            ((8, 6), Precision::Mixed),
            ((8, 9), Precision::Mixed),
            ((9, 0), Precision::F64),
            ((12, 0), Precision::Mixed),
        ] {
            assert_eq!(at(capability).precision(), precision);
        }
    }

    #[test]
    fn an_empty_list_of_visible_gpus_hides_all() {
        assert!(hides_all("") && hides_all("-1") && hides_all(" "));
        assert!(!hides_all("0") && !hides_all("GPU-1234,1"));
    }
}
