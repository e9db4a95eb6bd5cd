//! A [`Machine`] that has kernels compiled to PTX and executes that here.

use crate::run::dice::Dice;
use crate::run::{Counts, Loaded, Memory, Order, Shape, launch};
use crate::{Fault, compiled};
use fitzroy_device::gpu::text::for_device;
use fitzroy_device::gpu::{Compiler, Machine, Meanwhile, Program, Take, Target, Words};
use fitzroy_graph::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What a text is made of before it is run: for tests that leave something out.
pub type Edit = Box<dyn Fn(String) -> String + Send>;

/// Kernels on this processor, by way of their PTX.
pub struct PtxMachine {
    compiler: Arc<Compiler>,
    arch: u32,
    memory: Memory,
    program: Option<(Program, Loaded)>,
    slots: Vec<(u64, usize)>,
    shape: Shape,
    edit: Option<Edit>,
    dice: Dice,
    counts: Arc<Mutex<Counts>>,
}

fn failure(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Device, text)
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        failure(fault.to_string())
    }
}

/// Bytes of its memory.
const MEMORY: u64 = 4 << 30;

impl PtxMachine {
    /// For PTX of a virtual architecture, such as 90.
    pub fn new(compiler: Arc<Compiler>, arch: u32) -> PtxMachine {
        PtxMachine {
            compiler,
            arch,
            memory: Memory::new(0, MEMORY),
            program: None,
            slots: Vec::new(),
            shape: Shape::default(),
            edit: None,
            dice: Dice::new(1),
            counts: Arc::default(),
        }
    }

    /// In this order, drawn with a seed.
    #[must_use]
    pub fn in_order(mut self, order: Order, seed: u64) -> PtxMachine {
        self.shape.order = order;
        self.dice = Dice::new(seed);
        self
    }

    /// Races are looked for.
    #[must_use]
    pub fn with_races(mut self) -> PtxMachine {
        self.shape.races = true;
        self
    }

    /// A kernel that makes more instructions than this is taken to be without an end.
    #[must_use]
    pub fn with_most(mut self, most: u64) -> PtxMachine {
        self.shape.most = most;
        self
    }

    /// Texts are changed before they are run.
    #[must_use]
    pub fn with_edit(mut self, edit: Edit) -> PtxMachine {
        self.edit = Some(edit);
        self
    }

    /// What launches have taken so far, for whoever looks later.
    pub fn counts(&self) -> Arc<Mutex<Counts>> {
        Arc::clone(&self.counts)
    }
}

/// What was compiled in this process, by text and architecture.
static COMPILED: Mutex<BTreeMap<(u32, String), String>> = Mutex::new(BTreeMap::new());

/// The PTX of a program for a virtual architecture.
///
/// # Errors
/// The compiler refuses the text.
pub fn ptx_of(compiler: &Compiler, program: &Program, arch: u32) -> Result<String> {
    let key = (arch, for_device(program));
    let kept = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = kept().get(&key) {
        return Ok(text.clone());
    }
    let made = compiled::compile(compiler, &key.1, Target::Ptx(arch));
    let (bytes, _) = made.map_err(|trouble| failure(trouble.to_string()))?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end_matches('\0').to_string();
    kept().insert(key, text.clone());
    Ok(text)
}

/// Words that are read at a time.
const PIECE: usize = 4096;

impl Machine for PtxMachine {
    fn load(&mut self, program: &Program) -> Result<()> {
        if self.program.as_ref().is_some_and(|p| p.0 == *program) {
            return Ok(());
        }
        let text = ptx_of(&self.compiler, program, self.arch)?;
        let text = match &self.edit {
            Some(edit) => edit(text),
            None => text,
        };
        let loaded = Loaded::new(&text, &mut self.memory)?;
        if let Some((_, old)) = self.program.replace((program.clone(), loaded)) {
            old.unload(&mut self.memory);
        }
        Ok(())
    }

    fn reserve(&mut self, slot: usize, words: usize) -> Result<u64> {
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, (0, 0));
        }
        let (at, len) = self.slots[slot];
        if len >= words {
            return Ok(at);
        }
        if len > 0 {
            self.memory.free(at);
        }
        let at = self.memory.allocate(8 * words as u64);
        let at = at.ok_or_else(|| failure(format!("no {words} words of memory")))?;
        self.slots[slot] = (at, words);
        Ok(at)
    }

    fn write(&mut self, at: u64, words: &[u64]) -> Result<()> {
        let place = self.memory.bytes_mut(at, 8 * words.len(), 0)?;
        for (to, word) in place.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        Ok(())
    }

    fn read(&mut self, words: Words, take: Take<'_>) -> Result<()> {
        let place = self.memory.bytes(words.at, 8 * words.len, 0)?;
        let piece = (PIECE / words.part).max(1) * words.part;
        for part in place.chunks(8 * piece) {
            let come: Vec<u64> = part
                .chunks_exact(8)
                .map(crate::run::memory::number)
                .collect();
            take(&come);
        }
        Ok(())
    }

    fn launch(&mut self, job: u64, n_teams: usize, meanwhile: Meanwhile<'_>) -> Result<f64> {
        // What the host does meanwhile may come before the kernel or after it.
        let first = self.dice.below(2) == 0;
        if first {
            meanwhile(self)?;
        }
        let (program, loaded) = self
            .program
            .as_ref()
            .ok_or_else(|| failure("no program was loaded"))?;
        let grid = program.grid(n_teams);
        self.shape.blocks = grid.blocks as u32;
        self.shape.threads = grid.threads as u32;
        self.shape.together = grid.together;
        self.shape.seed = self.dice.bits();
        let arguments = job.to_le_bytes();
        let memory = &mut self.memory;
        let took = launch(loaded, memory, "advance", &arguments, &self.shape)?;
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.instructions += took.instructions;
        counts.accesses += took.accesses;
        drop(counts);
        if !first {
            meanwhile(self)?;
        }
        Ok(f64::NAN)
    }
}
