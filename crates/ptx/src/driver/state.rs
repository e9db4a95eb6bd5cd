//! The GPUs and all that was made on them.

use super::deed::{Deed, Launch};
use super::host;
use super::settings::Settings;
use super::streams::{Event, Streams};
use crate::run::dice::Dice;
use crate::run::{Loaded, Memory, Shape, launch};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// What the driver answers with when it goes wrong.
pub(super) mod status {
    pub(crate) const INVALID: i32 = 1;
    pub(crate) const OUT_OF_MEMORY: i32 = 2;
    pub(crate) const NO_CONTEXT: i32 = 201;
    pub(crate) const NO_CODE: i32 = 209;
    pub(crate) const BAD_PTX: i32 = 218;
    pub(crate) const NOT_FOUND: i32 = 500;
    pub(crate) const FAILED: i32 = 719;
    pub(crate) const TOO_MANY_BLOCKS: i32 = 720;
    pub(crate) const CAPTURING: i32 = 900;
}

/// A GPU.
pub(super) struct Gpu {
    pub(super) memory: Memory,
    /// What went wrong in a kernel; nothing works any more.
    pub(super) failed: i32,
    pub(super) null_stream: usize,
    pub(super) launches: u64,
}

/// A kernel of a module.
#[derive(Clone)]
pub(super) struct Function {
    pub(super) module: usize,
    pub(super) name: String,
}

/// Everything.
pub(super) struct State {
    pub(super) settings: Settings,
    pub(super) gpus: Vec<Gpu>,
    pub(super) streams: Streams,
    pub(super) events: Vec<Event>,
    pub(super) modules: HashMap<usize, (usize, Loaded)>,
    pub(super) functions: Vec<Function>,
    pub(super) graphs: HashMap<usize, Arc<Vec<Deed>>>,
    /// Memory of the host that GPUs may read when they like, and how much.
    pub(super) pinned: HashMap<usize, Vec<u64>>,
    pub(super) next: usize,
    dice: Dice,
    begun: Instant,
    said: HashSet<String>,
}

static STATE: OnceLock<Mutex<State>> = OnceLock::new();

/// The state of this process.
pub(super) fn state() -> MutexGuard<'static, State> {
    let made = || {
        let settings = Settings::of(|name| std::env::var(name).ok());
        // There is no caller who could be told: whoever sets these variables reads what is printed.
        let settings = settings.unwrap_or_else(|why| panic!("the GPUs of PTX: {why}"));
        Mutex::new(State::new(settings))
    };
    let state = STATE.get_or_init(made);
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    pub(super) fn new(settings: Settings) -> State {
        let mut streams = Streams::default();
        let gpu = |(k, g): (usize, &super::settings::Gpu)| Gpu {
            memory: Memory::new(k as u32, g.memory.saturating_sub(g.taken)),
            failed: 0,
            null_stream: streams.create(k),
            launches: 0,
        };
        State {
            gpus: settings.gpus.iter().enumerate().map(gpu).collect(),
            dice: Dice::new(settings.seed),
            settings,
            streams,
            events: Vec::new(),
            modules: HashMap::new(),
            functions: Vec::new(),
            graphs: HashMap::new(),
            pinned: HashMap::new(),
            next: 1,
            begun: Instant::now(),
            said: HashSet::new(),
        }
    }

    /// A number that nothing has yet.
    pub(super) fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Writes a line to the log.
    pub(super) fn note(&self, text: &str) {
        let Some(path) = &self.settings.log else {
            return;
        };
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        // A log that cannot be written is missed by whoever looks for it.
        let _ = file.and_then(|mut f| writeln!(f, "{text}"));
    }

    /// Says once what a kernel did, for a status is only a number.
    #[allow(clippy::print_stderr)] // the program that runs shows nothing else of it
    pub(super) fn say(&mut self, text: &str) {
        self.note(text);
        if self.said.insert(text.to_string()) {
            eprintln!("PTX: {text}");
        }
    }

    /// Lets chance do some of what streams were asked for.
    pub(super) fn drift(&mut self) {
        if self.settings.late {
            return;
        }
        for _ in 0..self.dice.below(3) {
            if let Some(stream) = self.streams.any(&mut self.dice) {
                self.step(stream);
            }
        }
    }

    /// Does what a stream has to do next; whether there was anything that need not wait.
    fn step(&mut self, stream: usize) -> bool {
        let Some((device, deed)) = self.streams.next_of(stream) else {
            return false;
        };
        self.act(device, &deed);
        if let Some(stream) = self.streams.get(stream) {
            stream.done += 1;
        }
        true
    }

    /// Has a stream come so far, and whatever it waits for.
    pub(super) fn until(&mut self, stream: usize, position: u64) {
        while !self.streams.has_come(stream, position) {
            if self.step(stream) {
                self.drift();
                continue;
            }
            match self.streams.waits_for(stream) {
                Some((other, until)) => self.until(other, until),
                None => return,
            }
        }
    }

    /// Everything that was asked of a GPU.
    pub(super) fn finish(&mut self, device: usize) {
        for (stream, asked) in self.streams.of_device(device) {
            self.until(stream, asked);
        }
    }

    /// Does something.
    fn act(&mut self, device: usize, deed: &Deed) {
        if let Deed::All(deeds) = deed {
            deeds.iter().for_each(|d| self.act(device, d));
            return;
        }
        if let Deed::Record { event, time } = deed {
            let now = self.begun.elapsed().as_nanos() as u64;
            let event = &mut self.events[*event];
            if event.times == *time {
                event.happened = now;
            }
            return;
        }
        if self.gpus[device].failed != 0 {
            return;
        }
        let memory = &mut self.gpus[device].memory;
        let done = match deed {
            Deed::Arrive { to, bytes } => {
                let place = memory.bytes_mut(*to, bytes.len(), 0);
                place.map(|p| p.copy_from_slice(bytes))
            }
            Deed::Fetch { to, from, n } => {
                let place = memory.bytes_mut(*to, *n, 0);
                place.map(|p| p.copy_from_slice(&host::read(*from, *n)))
            }
            Deed::Bring { to, from, n } => memory.bytes(*from, *n, 0).map(|b| host::write(*to, b)),
            Deed::Fill { at, value, n } => memory.bytes_mut(*at, *n, 0).map(|p| p.fill(*value)),
            Deed::Launch(launch) => self.kernel(device, launch),
            Deed::Record { .. } | Deed::Wait { .. } | Deed::All(_) => Ok(()),
        };
        if let Err(fault) = done {
            self.gpus[device].failed = status::FAILED;
            self.say(&format!("GPU {device}: {fault}"));
        }
    }

    fn kernel(&mut self, device: usize, what: &Launch) -> crate::Result<()> {
        let gpu = &mut self.gpus[device];
        gpu.launches += 1;
        if gpu.launches == self.settings.gpus[device].fails_at {
            let text = format!("launch {} goes wrong, as it was told to", gpu.launches);
            return Err(crate::Fault::new(0, text));
        }
        let Some((owner, loaded)) = self.modules.get(&what.module) else {
            return Err(crate::Fault::new(
                0,
                "a kernel of a module that was unloaded",
            ));
        };
        if *owner != device {
            return Err(crate::Fault::new(0, "a kernel of another GPU's module"));
        }
        let shape = Shape {
            blocks: what.blocks,
            threads: what.threads,
            together: what.together,
            resident: self.settings.gpus[device].multiprocessors.max(1) as usize,
            order: self.settings.order,
            seed: self.dice.bits(),
            races: self.settings.races,
            ..Shape::default()
        };
        let took = launch(
            loaded,
            &mut gpu.memory,
            &what.kernel,
            &what.arguments,
            &shape,
        )?;
        let line = format!(
            "launch gpu={device} kernel={} blocks={} threads={} together={} instructions={} accesses={}",
            what.kernel, what.blocks, what.threads, what.together, took.instructions, took.accesses
        );
        self.note(&line);
        Ok(())
    }
}
