//! Kernel texts on this processor: compiled as C++, one thread or many fibers in shuffled order.
//!
//! It serves tests of the texts, where there is no GPU: the same words, the same order of
//! operations, and barriers that are missed when one is forgotten. It is no device to work on.

use super::machine::{Machine, Meanwhile, Program, Take, Words};
use super::text::{COMMON, HOST_HEADER, Source};
use fitzroy_graph::{Error, ErrorKind, Result};
use libloading::Library;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What makes the entry callable from outside.
pub const LAUNCHER: &str = "
static void host_work(void *job)
{
    advance((const Job *)job);
}

extern \"C\" int host_launch(int n_threads, unsigned seed, const void *job, int n_teams)
{
    for (int team = 0; team < n_teams; ++team) {
        team_now = team;
        if (fibers_run(n_threads, seed + team, host_work, (void *)job))
            return 1;
    }
    return 0;
}
";

/// What a density is called with.
#[repr(C)]
struct Call {
    q: *const f64,
    g: *mut f64,
    w: *mut f64,
    fixed: *const f64,
    table: *const u32,
    values: *mut f64,
}

/// The same in C.
const CALL: &str = "
struct Call { const double *q; double *g, *w; const double *fixed; const unsigned *table; double *values; };
";

/// One thread's part of a call.
const WORK: &str = "
static void work(void *argument)
{
    const Call *c = (const Call *)argument;
    c->values[THREAD] = value_and_gradient(c->q, c->g, c->w, c->fixed, c->table);
}
";

/// A density seen from outside.
const ENTRY: &str = "
extern \"C\" int runNUMBER(int n_threads, unsigned seed, void *call, int)
{
    return fibers_run(n_threads, seed, nNUMBER::work, call);
}
";

/// A kernel text as a library of this process.
pub struct HostLibrary {
    library: Library,
    folder: PathBuf,
    /// Lines with a barrier.
    barriers: Vec<usize>,
}

impl Drop for HostLibrary {
    fn drop(&mut self) {
        // What cannot be removed stays in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What barriers look like in a text: of all threads of a team, and of those of one block.
const BARRIERS: [&str; 2] = ["SYNC();", "MEET();"];

/// Whether a line of a text is a barrier.
pub fn is_barrier(line: &str) -> bool {
    BARRIERS.iter().any(|b| line.contains(b))
}

/// Counts the folders of this process.
static FOLDERS: AtomicUsize = AtomicUsize::new(0);

fn failure(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Device, text)
}

/// What was compiled in this process, by text. Each library is a file of its own: one that is loaded twice is
/// one library with one memory.
static COMPILED: Mutex<BTreeMap<String, Arc<Vec<u8>>>> = Mutex::new(BTreeMap::new());

/// Compiles `kernel.cpp` in a folder to `kernel.so`. In two steps and by names without a folder: a cache of g++'s
/// answers keeps what is compiled and not linked, and knows it again by the text and the name.
fn compile_in(folder: &Path) -> Result<()> {
    let compile = "-std=c++17 -O1 -ffp-contract=off -fPIC -w -c kernel.cpp -o kernel.o";
    let link = "-shared kernel.o -o kernel.so";
    for step in [compile, link] {
        let output = Command::new("g++")
            .args(step.split(' '))
            .current_dir(folder)
            .output()
            .map_err(|e| failure(format!("g++ could not be started: {e}; install it")))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said: Vec<&str> = said.lines().take(20).collect();
            return Err(failure(format!("g++: {}", said.join("\n"))));
        }
    }
    Ok(())
}

impl HostLibrary {
    /// Whether `g++` runs here.
    pub fn has_compiler() -> bool {
        let found = Command::new("g++").arg("--version").output();
        found.is_ok_and(|o| o.status.success())
    }

    /// Compiles `text`, which follows the host's header and the shared functions.
    ///
    /// # Errors
    /// There is no `g++`, or it does not take the text: what it says.
    pub fn compile(text: &str) -> Result<HostLibrary> {
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("fitzroy-host-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let io = |e: std::io::Error| failure(format!("{}: {e}", folder.display()));
        std::fs::create_dir_all(&folder).map_err(io)?;
        let (source, library) = (folder.join("kernel.cpp"), folder.join("kernel.so"));
        let whole = format!("{HOST_HEADER}\n{COMMON}\n{text}");
        std::fs::write(&source, &whole).map_err(io)?;
        let kept = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept().get(&whole).cloned();
        if let Some(bytes) = found {
            std::fs::write(&library, &*bytes).map_err(io)?;
        } else {
            compile_in(&folder)?;
            let bytes = std::fs::read(&library).map_err(io)?;
            kept().insert(whole.clone(), Arc::new(bytes));
        }
        let lines = whole.lines().zip(1..);
        let barriers = lines.filter(|(l, _)| is_barrier(l)).map(|l| l.1);
        let barriers = barriers.collect();
        Self::open(&library, folder, barriers)
    }

    fn open(path: &Path, folder: PathBuf, barriers: Vec<usize>) -> Result<HostLibrary> {
        // SAFETY: the library was just compiled from a text of ours; it has no initialisers that
        // do anything but set its own memory.
        let library = unsafe { Library::new(path) };
        let library = library.map_err(|e| failure(format!("{}: {e}", path.display())))?;
        Ok(HostLibrary {
            library,
            folder,
            barriers,
        })
    }

    /// Has the threads pass by barrier number `barrier` of the text; none restores all.
    fn leave_out(&mut self, barrier: Option<usize>) -> Result<()> {
        let line = barrier.map_or(0, |b| self.barriers[b]);
        self.set("barrier_left_out", line as i32)
    }

    /// Sets a number of the header, which declares it as an `int`.
    fn set(&mut self, name: &str, value: i32) -> Result<()> {
        // SAFETY: the two names that are asked for are those of an `int`.
        let place = unsafe { self.library.get::<*mut i32>(name.as_bytes()) };
        let place = place.map_err(|e| failure(format!("{name}: {e}")))?;
        // SAFETY: nothing of the library runs now.
        unsafe { **place = value };
        Ok(())
    }

    /// Compiles several densities at once, for [`HostLibrary::value_and_gradient`].
    ///
    /// # Errors
    /// Those of [`HostLibrary::compile`].
    pub fn densities(sources: &[&Source]) -> Result<HostLibrary> {
        let mut text = String::from(CALL);
        for (k, source) in sources.iter().enumerate() {
            text += &format!("namespace n{k} {{\n{}{WORK}}}\n", source.text);
            text += &ENTRY.replace("NUMBER", &k.to_string());
        }
        Self::compile(&text)
    }

    /// Density number `k`, which is `source`, at `q` with a team of `n_threads`: the values that
    /// its threads return, and the gradient.
    ///
    /// # Errors
    /// The threads stopped at different barriers.
    ///
    /// # Panics
    /// When `q` has not as many numbers as the density.
    pub fn value_and_gradient(
        &mut self,
        k: usize,
        source: &Source,
        q: &[f64],
        n_threads: usize,
        seed: u32,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        assert_eq!(q.len(), source.dim, "as many numbers as the density has");
        let mut values = vec![f64::NAN; n_threads];
        let mut gradient = vec![f64::NAN; source.dim];
        let mut work = vec![f64::NAN; source.n_work];
        let mut call = Call {
            q: q.as_ptr(),
            g: gradient.as_mut_ptr(),
            w: work.as_mut_ptr(),
            fixed: source.fixed.as_ptr(),
            table: source.table.as_ptr(),
            values: values.as_mut_ptr(),
        };
        let argument = (&raw mut call).cast();
        // SAFETY: the memory has the sizes that the text was written for.
        unsafe { self.call(&format!("run{k}"), n_threads, seed, argument, 1)? };
        Ok((values, gradient))
    }

    /// Calls `extern "C" int NAME(int n_threads, unsigned seed, void *argument, int count)`.
    ///
    /// # Errors
    /// No such function, or its threads stopped at different barriers.
    ///
    /// # Safety
    /// The function must read and write only what `argument` leads to.
    pub(super) unsafe fn call(
        &mut self,
        name: &str,
        n_threads: usize,
        seed: u32,
        argument: *mut c_void,
        count: usize,
    ) -> Result<()> {
        type Entry = unsafe extern "C" fn(i32, u32, *mut c_void, i32) -> i32;
        // SAFETY: every entry of a host text has this type.
        let entry = unsafe { self.library.get::<Entry>(name.as_bytes()) };
        let entry = entry.map_err(|e| failure(format!("{name}: {e}")))?;
        // SAFETY: promised by the caller.
        match unsafe { entry(n_threads as i32, seed, argument, count as i32) } {
            0 => Ok(()),
            _ => Err(failure(
                "the threads of a team stopped at different barriers",
            )),
        }
    }
}

/// Fibers of a team at most, as the header has it.
const MOST_FIBERS: usize = 1024;

/// This processor as a [`Machine`].
pub struct HostMachine {
    n_threads: usize,
    seed: u32,
    left_out: Option<usize>,
    loaded: Option<(Program, HostLibrary)>,
    slots: Vec<Vec<u64>>,
}

impl HostMachine {
    /// A machine whose blocks have `n_threads` threads, at most 256, in an order drawn with `seed`;
    /// a team has as many blocks as on a GPU.
    pub fn new(n_threads: usize, seed: u32) -> Self {
        assert!((1..=256).contains(&n_threads), "1 to 256 threads");
        HostMachine {
            n_threads,
            seed,
            left_out: None,
            loaded: None,
            slots: Vec::new(),
        }
    }

    /// Has threads pass by barrier number `barrier` of the text from now on: a fault to be found.
    pub fn leave_out(&mut self, barrier: Option<usize>) {
        self.left_out = barrier;
    }

    /// The words of memory that start at address `at`.
    fn words(&mut self, at: u64, len: usize) -> Result<&mut [u64]> {
        let inside = |slot: &&mut Vec<u64>| {
            let start = slot.as_ptr() as u64;
            at >= start && at + 8 * len as u64 <= start + 8 * slot.len() as u64
        };
        let slot = self.slots.iter_mut().find(inside);
        let slot = slot.ok_or_else(|| failure("an address outside every memory"))?;
        let first = ((at - slot.as_ptr() as u64) / 8) as usize;
        Ok(&mut slot[first..first + len])
    }
}

impl Machine for HostMachine {
    fn load(&mut self, program: &Program) -> Result<()> {
        if self.loaded.as_ref().is_none_or(|(p, _)| p != program) {
            let library = HostLibrary::compile(&format!("{}{LAUNCHER}", program.text))?;
            self.loaded = Some((program.clone(), library));
        }
        Ok(())
    }

    fn reserve(&mut self, slot: usize, words: usize) -> Result<u64> {
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, Vec::new());
        }
        if self.slots[slot].len() < words {
            // What a kernel reads before it writes shows as NaN.
            self.slots[slot] = vec![f64::NAN.to_bits(); words];
        }
        Ok(self.slots[slot].as_ptr() as u64)
    }

    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        self.words(at, words.len())?.copy_from_slice(words);
        Ok(())
    }

    fn read(&mut self, words: Words, take: Take<'_>) -> Result<()> {
        // In two steps, as a GPU may.
        let (come, n) = (self.words(words.at, words.len)?, words.len / words.part);
        let (first, second) = come.split_at(n / 2 * words.part);
        let both = [first, second].into_iter();
        both.filter(|some| !some.is_empty()).for_each(take);
        Ok(())
    }

    fn launch(&mut self, job: u64, n_teams: usize, meanwhile: Meanwhile<'_>) -> Result<f64> {
        let (threads, seed) = (self.n_threads, self.seed);
        self.seed = seed.wrapping_add(n_teams as u32);
        let (program, library) = self.loaded.as_mut().expect("a program was loaded");
        let blocks = program.blocks();
        if threads * blocks > MOST_FIBERS {
            return Err(failure(format!(
                "{blocks} blocks of {threads} threads are more than {MOST_FIBERS} fibers"
            )));
        }
        library.leave_out(self.left_out)?;
        library.set("blocks_of_team", blocks as i32)?;
        // SAFETY: the job leads to memory of this machine, whose sizes the caller took from the
        // same text.
        unsafe { library.call("host_launch", threads, seed, job as *mut c_void, n_teams)? };
        // Whoever looks only now finds what the launch should have left alone.
        meanwhile(self)?;
        Ok(f64::NAN)
    }
}
