//! A GPU as an [`Accelerator`]: lists become CUDA graphs, and copies run beside them.

use super::blas::{Blas, WORKSPACE};
use super::compiler::Places;
use super::device::{Gpu, NO_TIMING, NON_BLOCKING};
use super::library::{functions, open};
use super::machine::Program;
use super::pinned::Pinned;
use super::trouble::Trouble;
use super::work::{Accelerator, Command, Launch, List, Math, Product};
use fitzroy_graph::Result;
use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_int, c_uint, c_void};

functions! {
    /// What is used of the driver besides: CUDA 11.4 and newer.
    Functions:
    begin_capture = "cuStreamBeginCapture_v2"(*mut c_void, c_int);
    end_capture = "cuStreamEndCapture"(*mut c_void, *mut *mut c_void);
    instantiate = "cuGraphInstantiateWithFlags"(*mut *mut c_void, *mut c_void, u64);
    graph_launch = "cuGraphLaunch"(*mut c_void, *mut c_void);
    graph_destroy = "cuGraphDestroy"(*mut c_void);
    exec_destroy = "cuGraphExecDestroy"(*mut c_void);
    set = "cuMemsetD8_v2"(u64, u8, usize);
}

/// Threads of a block, and of a team.
const BLOCK: u64 = 128;
const TEAM: usize = 32;
/// CU_STREAM_CAPTURE_MODE_RELAXED.
const RELAXED: c_int = 2;

type Pointer = *mut c_void;

/// A GPU that runs lists.
pub struct GpuWork {
    gpu: Gpu,
    places: Places,
    functions: Functions,
    module: Pointer,
    kernels: HashMap<&'static str, Pointer>,
    blas: Option<Blas>,
    workspace: u64,
    memory: Vec<u64>,
    bytes: u64,
    /// For work, and for copies.
    streams: [Pointer; 2],
    /// When the last two copies, and the last two lists, have ended.
    copied: [Pointer; 2],
    done: [Pointer; 2],
    /// Memory that the GPU can read, for copies on their way.
    pinned: [Pinned; 2],
    n_copies: usize,
    n_runs: usize,
    /// Lists that have run once, and those that were noted.
    seen: HashSet<u64>,
    graphs: HashMap<u64, Pointer>,
}

// SAFETY: as for `Gpu`: every method makes the context its thread's own first.
unsafe impl Send for GpuWork {}

impl GpuWork {
    /// Takes a GPU into use for lists.
    ///
    /// # Errors
    /// The driver is older than CUDA 11.4, or does not do what it is asked for.
    pub fn new(gpu: Gpu, places: &Places) -> std::result::Result<Self, Trouble> {
        let path = gpu.driver.path.clone();
        let functions = Functions::of(open(&path)?, &path)?;
        let null = std::ptr::null_mut();
        let mut work = GpuWork {
            gpu,
            places: places.clone(),
            functions,
            module: null,
            kernels: HashMap::new(),
            blas: None,
            workspace: 0,
            memory: Vec::new(),
            bytes: 0,
            streams: [null; 2],
            copied: [null; 2],
            done: [null; 2],
            pinned: [Pinned::NONE; 2],
            n_copies: 0,
            n_runs: 0,
            seen: HashSet::new(),
            graphs: HashMap::new(),
        };
        work.gpu.enter()?;
        for k in 0..2 {
            let create = work.gpu.driver.functions.stream_create;
            // SAFETY: the pointers are to memory of this record.
            let status = unsafe { create(&mut work.streams[k], NON_BLOCKING) };
            work.check("cuStreamCreate", status)?;
            for events in [&mut work.copied, &mut work.done] {
                let create = work.gpu.driver.functions.event_create;
                // SAFETY: as above.
                let status = unsafe { create(&mut events[k], NO_TIMING) };
                work.gpu.driver.check("cuEventCreate", status)?;
            }
        }
        Ok(work)
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Bytes taken of its memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The library of products, if one was found.
    pub fn library(&self) -> Option<&std::path::Path> {
        self.blas.as_ref().map(|blas| blas.path.as_path())
    }

    fn check(&self, call: &'static str, status: i32) -> std::result::Result<(), Trouble> {
        self.gpu.driver.check(call, status)
    }

    fn load_text(
        &mut self,
        text: &str,
        kernels: &[&'static str],
        math: Math,
    ) -> std::result::Result<Vec<String>, Trouble> {
        let mut notes = Vec::new();
        let program = Program {
            text: text.into(),
            team: TEAM,
        };
        let cubin = self.gpu.cubin(&program)?;
        notes.extend(self.gpu.cache_note.take());
        self.gpu.enter()?;
        self.unload();
        let f = &self.gpu.driver.functions;
        // SAFETY: the bytes are a whole cubin; the driver copies them.
        let status = unsafe { (f.module_load)(&mut self.module, cubin.as_ptr().cast()) };
        self.gpu.driver.check("cuModuleLoadData", status)?;
        for &name in kernels {
            let text = CString::new(name).expect("names have no zero bytes");
            let mut function = std::ptr::null_mut();
            // SAFETY: the module was loaded and the name ends with a zero byte.
            let status = unsafe { (f.function)(&mut function, self.module, text.as_ptr()) };
            self.gpu.driver.check("cuModuleGetFunction", status)?;
            self.kernels.insert(name, function);
        }
        match Blas::find(&self.places, self.gpu.driver.version.0, math) {
            Ok(blas) => {
                self.blas = Some(blas);
                self.workspace = self.take(WORKSPACE as u64)?;
            }
            Err(note) => notes.push(note),
        }
        Ok(notes)
    }

    fn unload(&mut self) {
        if !self.module.is_null() {
            // SAFETY: the module was loaded here; its kernels are waited for.
            unsafe {
                (self.gpu.driver.functions.context_wait)();
                (self.gpu.driver.functions.module_unload)(self.module);
            }
            self.module = std::ptr::null_mut();
        }
    }

    fn take(&mut self, bytes: u64) -> std::result::Result<u64, Trouble> {
        self.gpu.enter()?;
        let mut at = 0;
        let f = &self.gpu.driver.functions;
        // SAFETY: the pointer is to a number of this function.
        let status = unsafe { (f.allocate)(&mut at, bytes.max(1) as usize) };
        match self.check("cuMemAlloc", status) {
            Err(Trouble::OutOfMemory { .. }) => Err(Trouble::OutOfMemory {
                needed: bytes,
                free: self.gpu.free_bytes(),
            }),
            Err(other) => Err(other),
            Ok(()) => {
                self.memory.push(at);
                self.bytes += bytes;
                // SAFETY: the memory was allocated just now.
                let status = unsafe { (self.functions.set)(at, 0, bytes as usize) };
                self.check("cuMemsetD8", status)?;
                // SAFETY: nothing is asked for but to wait.
                let status = unsafe { (self.gpu.driver.functions.context_wait)() };
                self.check("cuCtxSynchronize", status)?;
                Ok(at)
            }
        }
    }

    fn send(&mut self, at: u64, parts: &[&[u8]]) -> std::result::Result<(), Trouble> {
        let len = parts.iter().map(|part| part.len()).sum();
        self.gpu.enter()?;
        let k = self.n_copies % 2;
        let driver = &self.gpu.driver;
        // The copy before the last one has left its memory.
        // SAFETY: the event was made here.
        let status = unsafe { (driver.functions.event_wait)(self.copied[k]) };
        driver.check("cuEventSynchronize", status)?;
        let pinned = self.pinned[k].reserve(driver, len)?;
        let mut to = pinned.cast::<u8>();
        for part in parts {
            // SAFETY: there is room for all parts, one after the other.
            unsafe {
                std::ptr::copy_nonoverlapping(part.as_ptr(), to, part.len());
                to = to.add(part.len());
            }
        }
        // SAFETY: the address lies in memory reserved here; the list before the last one is waited for
        // on the GPU.
        let status = unsafe {
            (driver.functions.stream_wait_event)(self.streams[1], self.done[self.n_runs % 2], 0)
                | (driver.functions.write)(at, pinned, len, self.streams[1])
                | (driver.functions.event_record)(self.copied[k], self.streams[1])
        };
        self.n_copies += 1;
        self.check("cuMemcpyHtoDAsync", status)
    }

    fn kernel(&self, launch: &Launch) -> std::result::Result<(), Trouble> {
        let function = self.kernels[launch.kernel];
        let mut words = launch.words;
        let grid = (words[0] * TEAM as u64).div_ceil(BLOCK);
        let mut arguments: [Pointer; 1] = [words.as_mut_ptr().cast()];
        // SAFETY: the kernel takes the words by value; the addresses in them are of memory that
        // was reserved here.
        let status = unsafe {
            (self.gpu.driver.functions.launch)(
                function,
                grid as c_uint,
                1,
                1,
                BLOCK as c_uint,
                1,
                1,
                0,
                self.streams[0],
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.check("cuLaunchKernel", status)
    }

    fn product(&mut self, p: &Product) -> std::result::Result<(), Trouble> {
        let (workspace, stream) = (self.workspace, self.streams[0]);
        let made = match &mut self.blas {
            Some(blas) => blas.product(p, workspace, stream)?,
            None => false,
        };
        match made {
            true => Ok(()),
            false => self.kernel(&p.kernel()),
        }
    }

    fn ask(&mut self, commands: &[Command]) -> std::result::Result<(), Trouble> {
        for command in commands {
            match command {
                Command::Launch(launch) => self.kernel(launch)?,
                Command::Product(p) => self.product(p)?,
            }
        }
        Ok(())
    }

    /// Notes a list as a graph of the GPU, without running it.
    fn note(&mut self, list: &List) -> std::result::Result<Pointer, Trouble> {
        let stream = self.streams[0];
        // SAFETY: the stream was made here.
        let status = unsafe { (self.functions.begin_capture)(stream, RELAXED) };
        self.check("cuStreamBeginCapture", status)?;
        let asked = self.ask(&list.commands);
        let (mut graph, mut exec) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the capture was begun above, and must end whatever came of it.
        let status = unsafe { (self.functions.end_capture)(stream, &mut graph) };
        asked?;
        self.check("cuStreamEndCapture", status)?;
        // SAFETY: the graph was captured just now.
        let status = unsafe { (self.functions.instantiate)(&mut exec, graph, 0) };
        // SAFETY: what was instantiated does not need it any more.
        unsafe { (self.functions.graph_destroy)(graph) };
        self.check("cuGraphInstantiate", status)?;
        self.graphs.insert(list.number, exec);
        Ok(exec)
    }

    fn run_list(&mut self, list: &List) -> std::result::Result<(), Trouble> {
        self.gpu.enter()?;
        let stream = self.streams[0];
        if self.n_copies > 0 {
            let last = self.copied[(self.n_copies - 1) % 2];
            // SAFETY: both were made here.
            let status = unsafe { (self.gpu.driver.functions.stream_wait_event)(stream, last, 0) };
            self.check("cuStreamWaitEvent", status)?;
        }
        // The first time libraries load what they need, which must not happen in a capture.
        if self.seen.insert(list.number) {
            self.ask(&list.commands)?;
        } else {
            let exec = match self.graphs.get(&list.number) {
                Some(exec) => *exec,
                None => self.note(list)?,
            };
            // SAFETY: the graph was instantiated here.
            let status = unsafe { (self.functions.graph_launch)(exec, stream) };
            self.check("cuGraphLaunch", status)?;
        }
        let event = self.done[self.n_runs % 2];
        self.n_runs += 1;
        // SAFETY: both were made here.
        let status = unsafe { (self.gpu.driver.functions.event_record)(event, stream) };
        self.check("cuEventRecord", status)
    }

    fn wait(&self) -> std::result::Result<(), Trouble> {
        self.gpu.enter()?;
        for stream in self.streams {
            // SAFETY: it was made here.
            let status = unsafe { (self.gpu.driver.functions.stream_wait)(stream) };
            self.check("cuStreamSynchronize", status)?;
        }
        Ok(())
    }
}

impl Accelerator for GpuWork {
    fn load(&mut self, text: &str, kernels: &[&'static str], math: Math) -> Result<Vec<String>> {
        Ok(self.load_text(text, kernels, math)?)
    }

    fn reserve(&mut self, bytes: u64) -> Result<u64> {
        Ok(self.take(bytes)?)
    }

    fn write(&mut self, at: u64, parts: &[&[u8]]) -> Result<()> {
        Ok(self.send(at, parts)?)
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<()> {
        self.wait()?;
        let (f, stream) = (&self.gpu.driver.functions, self.streams[1]);
        // SAFETY: the address is inside memory reserved here, and the bytes may be written until the
        // stream is waited for.
        let status = unsafe { (f.read)(bytes.as_mut_ptr().cast(), at, bytes.len(), stream) };
        self.check("cuMemcpyDtoHAsync", status)?;
        Ok(self.wait()?)
    }

    fn run(&mut self, list: &List) -> Result<()> {
        Ok(self.run_list(list)?)
    }
}

impl Drop for GpuWork {
    fn drop(&mut self) {
        if self.gpu.enter().is_err() {
            return;
        }
        self.unload();
        self.blas = None;
        let (f, driver) = (&self.functions, &self.gpu.driver.functions);
        // SAFETY: all of it was made here, and nothing that runs uses it.
        unsafe {
            (driver.context_wait)();
            self.graphs.values().for_each(|exec| {
                (f.exec_destroy)(*exec);
            });
            self.memory.iter().for_each(|at| {
                (driver.free)(*at);
            });
            for event in self
                .copied
                .iter()
                .chain(&self.done)
                .filter(|e| !e.is_null())
            {
                (driver.event_destroy)(*event);
            }
            for stream in self.streams.iter().filter(|s| !s.is_null()) {
                (driver.stream_destroy)(*stream);
            }
        }
        for pinned in &mut self.pinned {
            pinned.release(&self.gpu.driver);
        }
    }
}
