//! A GPU as a [`Machine`]: its context, its memory, its program.

mod copies;

use super::cache::Cache;
use super::compiler::{Compiler, OPTIONS, Places, Target};
use super::driver::{Description, Driver};
use super::machine::{Grid, Machine, Meanwhile, Program, Take, Words};
use super::pinned::Pinned;
use super::text::for_device;
use super::trouble::Trouble;
use fitzroy_graph::Result;
use std::ffi::{c_uint, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a program came from and what it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Whether it was compiled, and not found among those kept.
    pub compiled: bool,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes that a thread spills or keeps in arrays.
    pub local_bytes: u32,
}

/// A GPU that is in use.
pub struct Gpu {
    pub(super) driver: Driver,
    compiler: Compiler,
    cache: Option<Cache>,
    handle: i32,
    context: *mut c_void,
    /// What the driver says of it.
    pub description: Description,
    program: Option<Ready>,
    slots: Vec<(u64, usize)>,
    /// The stream of programs, and that of copies, which need not wait for a program that runs.
    streams: [*mut c_void; 2],
    /// Bytes taken so far, at most; shared with whoever asks afterwards.
    used: Arc<AtomicU64>,
    /// The beginning and the end of the last program.
    events: [*mut c_void; 2],
    /// The end of the last copy before a program, which waits for it.
    copied: *mut c_void,
    /// What long copies to the host come through, in turns, and when each has come.
    pinned: [Pinned; 2],
    come: [*mut c_void; 2],
    /// Where short ones come.
    few: Vec<u64>,
    /// Of the program that was loaded last.
    pub loaded: Loaded,
    /// Why compiled kernels could not be kept.
    pub cache_note: Option<String>,
    /// What ended the last call of a [`Machine`] that failed, by its name.
    pub trouble: Option<&'static str>,
    /// Nanoseconds that programs have run; shared with whoever asks afterwards.
    busy: Arc<AtomicU64>,
}

// SAFETY: a context may be used from any thread that makes it its current one, which every method
// does first; the driver's functions may be called from any thread.
unsafe impl Send for Gpu {}

struct Ready {
    program: Program,
    module: *mut c_void,
    function: *mut c_void,
}

/// Places in [`Gpu::streams`].
const PROGRAMS: usize = 0;
const COPIES: usize = 1;
/// CU_STREAM_NON_BLOCKING.
pub(super) const NON_BLOCKING: c_uint = 1;
/// CU_CTX_SCHED_BLOCKING_SYNC: a thread that waits for the GPU sleeps instead of spinning.
const SLEEP: c_uint = 4;
/// CU_EVENT_BLOCKING_SYNC: likewise for events.
const SLEEP_FOR_EVENT: c_uint = 1;
/// CU_EVENT_DISABLE_TIMING, with that.
pub(super) const NO_TIMING: c_uint = 2 | SLEEP_FOR_EVENT;

impl Gpu {
    /// Takes GPU `index` into use and finds a compiler for it.
    ///
    /// # Errors
    /// No driver, no such GPU, no compiler, or the GPU is busy.
    pub fn open(places: &Places, index: usize) -> std::result::Result<Gpu, Trouble> {
        let driver = Driver::open(places)?;
        let description = driver.describe(index)?;
        let compiler = Compiler::find(places, driver.version, description.arch())?;
        Self::with(driver, compiler, description, places)
    }

    fn with(
        driver: Driver,
        compiler: Compiler,
        description: Description,
        places: &Places,
    ) -> std::result::Result<Gpu, Trouble> {
        let handle = driver.handle(description.index)?;
        let mut context = std::ptr::null_mut();
        // SAFETY: the handle is the driver's own. A context that is in use already keeps its flags, and
        // older drivers say so: then waiting spins, and nothing else differs.
        unsafe { (driver.functions.context_flags)(handle, SLEEP) };
        // SAFETY: the pointer is to memory of this function.
        let status = unsafe { (driver.functions.context_retain)(&mut context, handle) };
        driver.check("cuDevicePrimaryCtxRetain", status)?;
        let mut gpu = Gpu {
            driver,
            compiler,
            cache: places.cache.as_deref().map(Cache::new),
            handle,
            context,
            description,
            program: None,
            slots: Vec::new(),
            streams: [std::ptr::null_mut(); 2],
            used: Arc::default(),
            events: [std::ptr::null_mut(); 2],
            copied: std::ptr::null_mut(),
            pinned: [Pinned::NONE; 2],
            come: [std::ptr::null_mut(); 2],
            few: Vec::new(),
            loaded: Loaded::default(),
            cache_note: None,
            trouble: None,
            busy: Arc::default(),
        };
        gpu.enter()?;
        for stream in &mut gpu.streams {
            // SAFETY: the pointer is to memory of the GPU's own record.
            let status = unsafe { (gpu.driver.functions.stream_create)(stream, NON_BLOCKING) };
            gpu.driver.check("cuStreamCreate", status)?;
        }
        let [begun, ended] = &mut gpu.events;
        let [first, second] = &mut gpu.come;
        for (event, flags) in [
            (begun, SLEEP_FOR_EVENT),
            (ended, SLEEP_FOR_EVENT),
            (&mut gpu.copied, NO_TIMING),
            (first, NO_TIMING),
            (second, NO_TIMING),
        ] {
            // SAFETY: as above.
            let status = unsafe { (gpu.driver.functions.event_create)(event, flags) };
            gpu.driver.check("cuEventCreate", status)?;
        }
        gpu.description.free_bytes = gpu.free_bytes();
        Ok(gpu)
    }

    /// The driver it belongs to.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// What compiles for it.
    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Makes its context the current one of this thread.
    pub(super) fn enter(&self) -> std::result::Result<(), Trouble> {
        // SAFETY: the context was retained and is released only when this value goes.
        let status = unsafe { (self.driver.functions.context_current)(self.context) };
        self.driver.check("cuCtxSetCurrent", status)
    }

    /// The most bytes of its memory that programs have had at once, for whoever looks later.
    pub fn used(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.used)
    }

    /// Nanoseconds that programs have run on it, for whoever looks later.
    pub fn busy(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.busy)
    }

    /// Remembers what went wrong.
    fn noted<T>(&mut self, result: std::result::Result<T, Trouble>) -> Result<T> {
        if let Err(trouble) = &result {
            self.trouble = Some(trouble.name());
        }
        Ok(result?)
    }

    /// Multiprocessors whose blocks can wait for each other: all, or 1 where the driver has no launches
    /// of that kind.
    pub fn meeting(&self) -> usize {
        let mut value = 0;
        // CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH.
        // SAFETY: the pointer is to a number of this function.
        let status = unsafe { (self.driver.functions.attribute)(&mut value, 95, self.handle) };
        match status == 0 && value != 0 {
            true => self.description.multiprocessors as usize,
            false => 1,
        }
    }

    /// Bytes of its memory that are free now.
    pub fn free_bytes(&self) -> Option<u64> {
        self.enter().ok()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are to numbers of this function.
        let status = unsafe { (self.driver.functions.free_memory)(&mut free, &mut total) };
        (status == 0).then_some(free as u64)
    }

    /// What the driver loads for a program, from the cache or compiled.
    pub(super) fn cubin(&mut self, program: &Program) -> std::result::Result<Vec<u8>, Trouble> {
        let text = for_device(program);
        let arch = self.description.arch();
        let target = self.compiler.target_for(arch);
        let target = target.unwrap_or(Target::Cubin(arch));
        let (major, minor) = self.compiler.version;
        let (name, options) = (target.name(), OPTIONS.join(" "));
        let key = format!("nvrtc {major}.{minor} {name} {options}\n{text}");
        if let Some(cubin) = self.cache.as_ref().and_then(|c| c.read(&key)) {
            self.loaded.compiled = false;
            return Ok(cubin);
        }
        let (cubin, _) = self.compiler.compile_to(&text, target)?;
        self.loaded.compiled = true;
        if let Some(cache) = &self.cache {
            self.cache_note = cache.write(&key, &cubin).err();
        }
        Ok(cubin)
    }

    fn load_program(&mut self, program: &Program) -> std::result::Result<(), Trouble> {
        let cubin = self.cubin(program)?;
        self.enter()?;
        self.unload();
        let f = &self.driver.functions;
        let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the bytes are a whole cubin, or PTX that ends with a zero byte; the driver copies them.
        let status = unsafe { (f.module_load)(&mut module, cubin.as_ptr().cast()) };
        self.driver.check("cuModuleLoadData", status)?;
        // SAFETY: the module was loaded and the name ends with a zero byte.
        let status = unsafe { (f.function)(&mut function, module, c"advance".as_ptr()) };
        self.driver.check("cuModuleGetFunction", status)?;
        let attribute = |which| {
            let mut value = 0;
            // SAFETY: the function belongs to the module that was loaded.
            let status = unsafe { (f.function_attribute)(&mut value, which, function) };
            if status == 0 { value as u32 } else { 0 }
        };
        // CU_FUNC_ATTRIBUTE_NUM_REGS and _LOCAL_SIZE_BYTES.
        (self.loaded.registers, self.loaded.local_bytes) = (attribute(4), attribute(3));
        self.program = Some(Ready {
            program: program.clone(),
            module,
            function,
        });
        Ok(())
    }

    fn unload(&mut self) {
        if let Some(ready) = self.program.take() {
            // SAFETY: the module was loaded here, and nothing of it runs: every launch is waited
            // for.
            unsafe { (self.driver.functions.module_unload)(ready.module) };
        }
    }

    fn allocate(&mut self, slot: usize, words: usize) -> std::result::Result<u64, Trouble> {
        self.enter()?;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, (0, 0));
        }
        let (at, len) = self.slots[slot];
        if len >= words {
            return Ok(at);
        }
        let f = &self.driver.functions;
        if at != 0 {
            // SAFETY: it was allocated here, and nothing uses it once copies on their way are waited for.
            unsafe {
                (f.context_wait)();
                (f.free)(at);
            }
            self.slots[slot] = (0, 0);
        }
        let mut at = 0;
        // SAFETY: the pointer is to a number of this function.
        let status = unsafe { (f.allocate)(&mut at, 8 * words) };
        match self.driver.check("cuMemAlloc", status) {
            Err(Trouble::OutOfMemory { .. }) => Err(Trouble::OutOfMemory {
                needed: 8 * words as u64,
                free: self.free_bytes(),
            }),
            Err(other) => Err(other),
            Ok(()) => {
                self.slots[slot] = (at, words);
                let all: usize = self.slots.iter().map(|s| 8 * s.1).sum();
                self.used.fetch_max(all as u64, Ordering::Relaxed);
                Ok(at)
            }
        }
    }

    /// Has the program begin with `job`, after all copies so far; the events tell when it begins and
    /// ends.
    fn begin(&mut self, job: u64, n_teams: usize) -> std::result::Result<(), Trouble> {
        self.enter()?;
        let ready = self.program.as_ref().expect("a program was loaded");
        let Grid {
            blocks,
            threads,
            together,
        } = ready.program.grid(n_teams);
        let (grid, block) = (blocks as c_uint, threads as c_uint);
        let mut job = job;
        let mut arguments: [*mut c_void; 1] = [(&raw mut job).cast()];
        let (f, at, stream) = (
            &self.driver.functions,
            arguments.as_mut_ptr(),
            self.streams[PROGRAMS],
        );
        // A copy from memory that is not pinned may arrive after its call has returned.
        // SAFETY: the events and the streams were made here.
        let status = unsafe { (f.event_record)(self.copied, self.streams[COPIES]) };
        self.driver.check("cuEventRecord", status)?;
        // SAFETY: as above.
        let status = unsafe { (f.stream_wait_event)(stream, self.copied, 0) };
        self.driver.check("cuStreamWaitEvent", status)?;
        // SAFETY: as above.
        let status = unsafe { (f.event_record)(self.events[0], stream) };
        self.driver.check("cuEventRecord", status)?;
        // SAFETY: the entry takes one pointer, to a job in this GPU's memory; the sizes behind it
        // are those of the text.
        let status = unsafe {
            match together {
                false => {
                    let none = std::ptr::null_mut();
                    (f.launch)(ready.function, grid, 1, 1, block, 1, 1, 0, stream, at, none)
                }
                true => (f.launch_together)(ready.function, grid, 1, 1, block, 1, 1, 0, stream, at),
            }
        };
        self.driver.check("cuLaunchKernel", status)?;
        // SAFETY: as above.
        let status = unsafe { (f.event_record)(self.events[1], stream) };
        self.driver.check("cuEventRecord", status)
    }

    /// Waits for the program; the seconds it took.
    fn end(&mut self) -> std::result::Result<f64, Trouble> {
        self.enter()?;
        let f = &self.driver.functions;
        // SAFETY: the event was made here.
        let status = unsafe { (f.event_wait)(self.events[1]) };
        self.driver.check("cuEventSynchronize", status)?;
        let mut milliseconds = 0.0;
        // SAFETY: both events have happened.
        let status =
            unsafe { (f.event_between)(&mut milliseconds, self.events[0], self.events[1]) };
        self.driver.check("cuEventElapsedTime", status)?;
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Machine for Gpu {
    fn load(&mut self, program: &Program) -> Result<()> {
        match &self.program {
            Some(ready) if ready.program == *program => Ok(()),
            _ => {
                let loaded = self.load_program(program);
                self.noted(loaded)
            }
        }
    }

    fn reserve(&mut self, slot: usize, words: usize) -> Result<u64> {
        let at = self.allocate(slot, words);
        self.noted(at)
    }

    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        let written = self.copy_there(at, words);
        self.noted(written)
    }

    fn read(&mut self, words: Words, take: Take<'_>) -> Result<()> {
        let read = self.copy_here(words, take);
        self.noted(read)
    }

    fn launch(&mut self, job: u64, n_teams: usize, meanwhile: Meanwhile<'_>) -> Result<f64> {
        let begun = self.begin(job, n_teams);
        self.noted(begun)?;
        let done = meanwhile(self);
        // Whatever became of that, nothing may go on while the program runs.
        let ended = self.end();
        let seconds = self.noted(ended)?;
        done?;
        self.busy
            .fetch_add((1e9 * seconds) as u64, Ordering::Relaxed);
        Ok(seconds)
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        if self.enter().is_err() {
            return;
        }
        self.unload();
        let f = &self.driver.functions;
        // SAFETY: all of it was made here, and nothing that runs uses it.
        unsafe {
            (f.context_wait)();
            for (at, _) in self.slots.iter().filter(|s| s.0 != 0) {
                (f.free)(*at);
            }
            for stream in self.streams.iter().filter(|s| !s.is_null()) {
                (f.stream_destroy)(*stream);
            }
            let events = self.events.iter().chain(&self.come).chain([&self.copied]);
            for event in events.filter(|e| !e.is_null()) {
                (f.event_destroy)(*event);
            }
        }
        for pinned in &mut self.pinned {
            pinned.release(&self.driver);
        }
        // SAFETY: it was taken into use once, and nothing of it is left.
        unsafe { (self.driver.functions.context_release)(self.handle) };
    }
}
