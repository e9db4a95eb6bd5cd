//! Transitions made by a kernel: all chains at once, on a GPU or whatever stands in for one.
//!
//! The kernel makes transitions and nothing else. Starting points, step size searches, metrics and
//! coordinates are made by the same code as on the CPU, from the rows that the kernel hands back,
//! and every chain's books are kept here. In `f64` the rows have the bits that the CPU's own
//! transitions would have had. A lower precision is compared with `f64` in between, and given up
//! where it is not good enough.

mod agreement;
mod books;
mod job;
mod kinds;
mod memory;
mod workers;

use super::chain::{Chain, PhaseSettings};
use super::metric::LOW_RANK_MOST;
use super::rotation::FAR;
use super::run::Session;
use super::{Loading, Phase, Sampler, Settings, Target};
use crate::rng::Purpose;
use crate::{Error, ErrorKind, Result};
pub use agreement::{Agreement, Disagreement};
use books::{keep_books, keep_gradients};
use fitzroy_device::gpu::text::{Source, for_device};
use fitzroy_device::gpu::{Machine, Meanwhile, Program, Words, idle, read_into};
use job::{Job, prepare};
use kinds::Kinds;
pub use memory::{Needs, memory_words};
use memory::{chain_words, most};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
pub use workers::{Record, Worker, shares};

/// The transition, as text over `value_and_gradient`.
const TRANSITION: &str = include_str!("transition.c");

/// Where and with what chains are advanced instead of on threads of this process.
pub struct Remote<'a> {
    /// The log density in its present coordinates, in f64.
    pub source: Arc<Source>,
    /// The same in a lower precision, which is used as long as it agrees.
    pub lower: Option<Lower<'a>>,
    /// What runs it: one machine, or several that share the chains.
    pub workers: Vec<Worker<'a>>,
}

/// A log density in a lower precision, and what is known of its agreement with f64.
#[derive(Clone)]
pub struct Lower<'a> {
    /// The density.
    pub source: Arc<Source>,
    /// Whether it is still used.
    pub agreement: &'a Agreement,
}

/// The whole kernel for one density and a run of these settings: what a machine compiles after its header.
pub fn program(source: &Source, team: usize, settings: &Settings) -> Program {
    program_for(source, team, settings, Kinds::of(settings, source.dim))
}

/// The same with code for these kinds.
fn program_for(source: &Source, team: usize, settings: &Settings, kinds: Kinds) -> Program {
    let is_long = u8::from(source.text.len() > MOST_SHORT);
    let Kinds {
        metrics,
        rotates,
        has_deadline,
    } = kinds;
    let text = format!(
        "#define LONG_DENSITY {is_long}\n#define DIM {}\n#define N_WORK {}\n#define MAX_DEPTH {}\n\
         #define METRICS {metrics}\n#define ROTATES {}\n#define DEADLINE {}\n\
         #define PURPOSE_MOMENTUM {}u\n#define PURPOSE_TREE {}u\n#define FAR {FAR:?}\n\
         typedef {} vector_t;\n\n\
         {}\n{TRANSITION}",
        source.dim,
        source.n_work,
        settings.max_treedepth,
        u8::from(rotates),
        u8::from(has_deadline),
        Purpose::Momentum as u32,
        Purpose::Tree as u32,
        source.precision.vector(),
        source.text
    );
    Program { text, team }
}

/// Whether there is a kernel for the transitions of `sampler`.
///
/// # Errors
/// There is none.
pub fn check_sampler(sampler: Sampler) -> Result<()> {
    if sampler == Sampler::Nuts {
        return Ok(());
    }
    let message = "a GPU makes the transitions of NUTS only; use ⟨device cpu⟩ or ⟨sampler nuts⟩";
    Err(Error::new(ErrorKind::Usage, message))
}

/// What a whole text of a kernel for a GPU looks like, for people to read.
pub fn readable(source: &Source, team: usize, settings: &Settings) -> String {
    for_device(&program(source, team, settings))
}

/// Characters of a density whose kernel keeps the chain in registers, at most.
const MOST_SHORT: usize = 16_000;

// The layout of `transition.c`, which a test compares.
const STATE_EXTRA: usize = 10;
const ROW_HEAD: usize = 11;
const N_VECTORS: usize = 19;
const N_SUMS: usize = 16 + 8 * LOW_RANK_MOST + 18;
/// Vectors and sums for each level of the trajectory.
const LEVEL_VECTORS: usize = 4;
const LEVEL_SUMS: usize = 48;

/// Memories of the machine.
#[derive(Clone, Copy)]
enum Slot {
    Job,
    Fixed,
    Table,
    States,
    Memory,
    Metric,
    Forgetting,
    Rows,
    OtherRows,
    Progress,
}

/// Rows of one launch take at most this many bytes: those of a second one are taken in meanwhile.
const ROWS_BYTES: usize = 32 << 20;
/// Transitions of a launch where nobody measures how long one takes.
const UNMEASURED_LAUNCH: usize = 8;
/// How long a launch should last, in seconds: Ctrl-C waits for two of them at most.
const LAUNCH_S: f64 = 0.1;

impl Remote<'_> {
    /// The density that is in use now.
    fn in_use(&self) -> &Source {
        let lower = self.lower.as_ref().filter(|l| l.agreement.holds());
        lower.map_or(&self.source, |l| &l.source)
    }

    /// What the kernel of these chains has code for, on a machine that ends no kernel.
    fn kinds<T>(&self, settings: &Settings, chains: &[Chain<T>]) -> Kinds {
        Kinds::of_chains(settings, self.source.dim, chains)
    }
}

impl<'a> Worker<'a> {
    /// The same on this machine.
    fn kinds(&self, kinds: Kinds) -> Kinds {
        Kinds {
            has_deadline: self.budget_ns.is_some(),
            ..kinds
        }
    }

    /// The machine, for `n_chains` chains of `dim` coordinates.
    fn stretch(&self, n_chains: usize, dim: usize) -> Stretch<'a> {
        let locked = self.machine.lock();
        Stretch {
            machine: locked.unwrap_or_else(PoisonError::into_inner),
            n_chains,
            dim,
        }
    }
}

/// A stretch of transitions on a machine.
struct Stretch<'m> {
    machine: std::sync::MutexGuard<'m, dyn Machine + 'm>,
    n_chains: usize,
    dim: usize,
}

impl Stretch<'_> {
    /// Has the machine compile `program`, unless it has it, and tells the observer when.
    fn load(&mut self, program: &Program, session: &Session<'_>) -> Result<()> {
        session.observer.loading(Loading::Begins);
        let loaded = self.machine.load(program);
        session.observer.loading(Loading::Ended);
        loaded
    }

    fn send(&mut self, slot: Slot, words: &[u64]) -> Result<u64> {
        let at = self.machine.reserve(slot as usize, words.len().max(1))?;
        if !words.is_empty() {
            self.machine.write(at, words)?;
        }
        Ok(at)
    }

    fn send_numbers(&mut self, slot: Slot, numbers: &[f64]) -> Result<u64> {
        let words: Vec<u64> = numbers.iter().map(|x| x.to_bits()).collect();
        self.send(slot, &words)
    }

    /// Positions, two to a word.
    fn send_table(&mut self, table: &[u32]) -> Result<u64> {
        let pair =
            |pair: &[u32]| u64::from(pair[0]) | u64::from(pair.get(1).copied().unwrap_or(0)) << 32;
        let words: Vec<u64> = table.chunks(2).map(pair).collect();
        self.send(Slot::Table, &words)
    }
}

impl Stretch<'_> {
    /// Makes the transitions of `job` in as many launches as its budget of time asks for; their seconds.
    /// Each launch makes a transition at least, and every chain goes on from where it stopped.
    fn in_parts(&mut self, job: &mut Job, meanwhile: Meanwhile<'_>) -> Result<f64> {
        // When the first team began, and transitions of each chain.
        let mut progress = vec![0u64; 1 + self.n_chains];
        let mut seconds = 0.0;
        // Once, beside the first launch.
        let mut meanwhile = Some(meanwhile);
        loop {
            progress[0] = 0;
            job.progress = self.send(Slot::Progress, &progress)?;
            let at = self.send(Slot::Job, &job.words())?;
            seconds += match meanwhile.take() {
                Some(meanwhile) => self.machine.launch(at, self.n_chains, meanwhile)?,
                None => self.machine.launch(at, self.n_chains, &mut idle)?,
            };
            read_into(&mut *self.machine, job.progress, &mut progress)?;
            progress.iter_mut().for_each(|made| *made &= !LATE);
            if progress[1..].iter().all(|&made| made == job.n_transitions) {
                return Ok(seconds);
            }
            job.fresh = 0;
        }
    }
}

/// The bit of a chain that has stopped at the deadline, in `transition.c`.
const LATE: u64 = 1 << 63;

/// Advances all chains to `iteration`, or until stopped.
///
/// # Errors
/// Those of the machine; of several, all have failed.
pub(crate) fn advance<T: Target + Send>(
    remote: &Remote<'_>,
    chains: &mut [Chain<T>],
    iteration: usize,
    phase: &PhaseSettings,
    session: &Session<'_>,
) -> Result<()> {
    agreement::examine(remote, chains, phase, session)?;
    let leg = Leg {
        source: remote.in_use(),
        // What the CPU evaluated, or another precision, is not what this kernel gives.
        fresh: u64::from(remote.lower.is_some()),
        kinds: remote.kinds(session.settings, chains),
        iteration,
        phase,
        session,
        turn: Mutex::new(()),
    };
    let work = |worker: &Worker<'_>, chains: &mut [Chain<T>]| leg.advance(worker, chains);
    workers::share_out(&remote.workers, chains, iteration, session, &work)
}

/// What all machines do from one meeting of the chains to the next.
struct Leg<'a> {
    source: &'a Source,
    fresh: u64,
    kinds: Kinds,
    iteration: usize,
    phase: &'a PhaseSettings,
    session: &'a Session<'a>,
    /// Machines compile one after the other: of equal ones the second finds the first one's kernel kept.
    turn: Mutex<()>,
}

/// A launch that has ended.
#[derive(Clone, Copy)]
struct Launch {
    /// Where its rows are.
    at: u64,
    /// Transitions of each chain.
    n: usize,
    /// Words of a row.
    row: usize,
}

impl Launch {
    /// Keeps the books of its transitions.
    fn take_in<T: Target + Send>(
        self,
        machine: &mut dyn Machine,
        chains: &mut [Chain<T>],
        worker: &Worker<'_>,
        about: (&PhaseSettings, &Session<'_>),
    ) -> Result<()> {
        let (n_chains, part) = (chains.len(), self.n * self.row);
        let rows = Words {
            at: self.at,
            len: n_chains * part,
            part,
        };
        let mut left = chains;
        machine.read(rows, &mut |come| {
            let (some, others) = std::mem::take(&mut left).split_at_mut(come.len() / part);
            keep_books(some, come, self.row, about);
            left = others;
        })?;
        worker.record.made((n_chains * self.n) as u64);
        Ok(())
    }
}

impl Leg<'_> {
    /// Brings `chains` to the end on one machine, or until stopped.
    fn advance<T: Target + Send>(
        &self,
        worker: &Worker<'_>,
        chains: &mut [Chain<T>],
    ) -> Result<()> {
        let (source, phase, session) = (self.source, self.phase, self.session);
        let (n_chains, team) = (chains.len(), (worker.team)(chains.len()));
        let kinds = worker.kinds(self.kinds);
        let mut stretch = worker.stretch(n_chains, source.dim);
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let program = program_for(source, team, session.settings, kinds);
        stretch.load(&program, session)?;
        drop(turn);
        let mut job = prepare(&mut stretch, (source, team), chains, phase, session)?;
        job.fresh = self.fresh;
        let dim = stretch.dim;
        let most = most(ROW_HEAD + 2 * dim, n_chains);
        // Nothing is learned from draws, so that their gradients need not come back.
        let has_gradients = phase.phase == Phase::Warmup;
        let row = ROW_HEAD + dim * (1 + usize::from(has_gradients));
        job.n_row = row as u64;
        job.budget_ns = worker.budget_ns.unwrap_or(0);
        // How long a transition takes is not known before the first.
        let mut n = 1;
        let mut made = chains[0].iteration as usize;
        let mut slots = [Slot::Rows, Slot::OtherRows];
        let mut ended: Option<Launch> = None;
        let mut take_in = |machine: &mut dyn Machine, ended: Option<Launch>| match ended {
            Some(launch) => launch.take_in(machine, chains, worker, (phase, session)),
            None => Ok(()),
        };
        while made < self.iteration && !session.stop.load(Ordering::Relaxed) {
            n = n.clamp(1, most).min(self.iteration - made);
            let at = stretch
                .machine
                .reserve(slots[0] as usize, n_chains * n * row)?;
            (job.rows, job.n_transitions) = (at, n as u64);
            // While these transitions are made, the books are kept of those before.
            let before = ended.replace(Launch { at, n, row });
            let mut meanwhile = |machine: &mut dyn Machine| take_in(machine, before);
            let seconds = match kinds.has_deadline {
                false => {
                    let job_at = stretch.send(Slot::Job, &job.words())?;
                    stretch.machine.launch(job_at, n_chains, &mut meanwhile)?
                }
                true => stretch.in_parts(&mut job, &mut meanwhile)?,
            };
            slots.reverse();
            made += n;
            n = match seconds > 0.0 {
                true => (n as f64 * (LAUNCH_S / seconds).clamp(0.25, 8.0)) as usize,
                false => UNMEASURED_LAUNCH,
            };
            // The kernel has kept its own state for the next launch.
            job.fresh = 0;
        }
        take_in(&mut *stretch.machine, ended)?;
        if !has_gradients && ended.is_some() {
            let mut states = vec![0u64; n_chains * (2 * dim + STATE_EXTRA)];
            read_into(&mut *stretch.machine, job.states, &mut states)?;
            keep_gradients(chains, &states);
        }
        Ok(())
    }
}
