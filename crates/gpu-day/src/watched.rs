//! A machine that runs lists, watched: what it is asked for, how long that takes, and what its longest list
//! takes by kernel.

use fitzroy::Result;
use fitzroy_device::gpu::work::{Accelerator, Command, List, Math};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A handle of a machine; clones are handles of the same.
#[derive(Clone)]
pub(crate) struct Watched(Arc<Mutex<Inner>>);

struct Inner {
    machine: Box<dyn Accelerator>,
    /// The list with most commands, and how often it was run.
    longest: List,
    /// Seconds that this processor spent on sending a batch, and on asking for the longest list.
    sent_s: Vec<f64>,
    asked_s: Vec<f64>,
    /// An address that can be read.
    memory: u64,
}

/// Bytes from which on what is sent is a batch.
const BATCH: usize = 4096;

impl Watched {
    pub(crate) fn new(machine: Box<dyn Accelerator>) -> Self {
        Watched(Arc::new(Mutex::new(Inner {
            machine,
            longest: List::default(),
            sent_s: Vec::new(),
            asked_s: Vec::new(),
            memory: 0,
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found, with the longest list run again: as a whole, and its kernels by name.
    pub(crate) fn found(&self, repeats: usize) -> Result<Map<String, Value>> {
        let inner = &mut *self.inner();
        let list = inner.longest.clone();
        let products = |c: &&Command| matches!(c, Command::Product(_));
        let n_products = list.commands.iter().filter(products).count();
        let mut found = Map::new();
        found.insert("products".into(), json!(n_products));
        let n_kernels = list.commands.len() - n_products;
        found.insert("kernels".into(), json!(n_kernels));
        for (name, times) in [("send", &inner.sent_s), ("ask", &inner.asked_s)] {
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            found.insert(format!("{name}_ms"), json!(1e3 * least));
        }
        found.insert("gpu_ms".into(), json!(inner.time(&list, repeats)?));
        let mut by_name: BTreeMap<String, Vec<Command>> = BTreeMap::new();
        for command in list.commands {
            by_name.entry(name(&command)).or_default().push(command);
        }
        let mut parts = Map::new();
        for (k, (name, commands)) in by_name.into_iter().enumerate() {
            let number = 1_000_000 + k as u64;
            let ms = inner.time(&List { number, commands }, repeats)?;
            parts.insert(name, json!((1e3 * ms).round() / 1e3));
        }
        found.insert("gpu_ms_by_kernel".into(), Value::Object(parts));
        Ok(found)
    }
}

/// What a command is; products by what they are for.
fn name(command: &Command) -> String {
    match command {
        Command::Launch(launch) => launch.kernel.into(),
        Command::Product(product) => match product.turned {
            [false, false] => "products, forward".into(),
            [true, _] => "products, slopes of weights".into(),
            [false, true] => "products, slopes".into(),
        },
    }
}

impl Inner {
    /// Milliseconds that a list takes, one after the other.
    fn time(&mut self, list: &List, repeats: usize) -> Result<f64> {
        let mut word = [0; 8];
        // The first time it is asked for, the second time noted.
        for _ in 0..2 {
            self.machine.run(list)?;
        }
        self.machine.read(self.memory, &mut word)?;
        let start = Instant::now();
        for _ in 0..repeats {
            self.machine.run(list)?;
        }
        self.machine.read(self.memory, &mut word)?;
        Ok(1e3 * start.elapsed().as_secs_f64() / repeats as f64)
    }
}

impl Accelerator for Watched {
    fn load(&mut self, text: &str, kernels: &[&'static str], math: Math) -> Result<Vec<String>> {
        self.inner().machine.load(text, kernels, math)
    }

    fn reserve(&mut self, bytes: u64) -> Result<u64> {
        let inner = &mut *self.inner();
        inner.memory = inner.machine.reserve(bytes)?;
        Ok(inner.memory)
    }

    fn write(&mut self, at: u64, parts: &[&[u8]]) -> Result<()> {
        let inner = &mut *self.inner();
        let start = Instant::now();
        inner.machine.write(at, parts)?;
        // Batches are sent once lists are run.
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if len >= BATCH && !inner.longest.commands.is_empty() {
            inner.sent_s.push(start.elapsed().as_secs_f64());
        }
        Ok(())
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) -> Result<()> {
        self.inner().machine.read(at, bytes)
    }

    fn run(&mut self, list: &List) -> Result<()> {
        let inner = &mut *self.inner();
        let start = Instant::now();
        inner.machine.run(list)?;
        if list.commands.len() > inner.longest.commands.len() {
            inner.longest = list.clone();
            inner.asked_s.clear();
        } else if list.number == inner.longest.number {
            inner.asked_s.push(start.elapsed().as_secs_f64());
        }
        Ok(())
    }
}
