//! Transitions made by a kernel: all chains at once, on a GPU or whatever stands in for one.
//!
//! The kernel makes transitions and nothing else. Starting points, step size searches, metrics and
//! coordinates are made by the same code as on the CPU, from the rows that the kernel hands back,
//! and every chain's books are kept here. In `f64` the rows have the bits that the CPU's own
//! transitions would have had. A lower precision is compared with `f64` in between, and given up
//! where it is not good enough.

mod agreement;
mod kinds;
mod memory;

use super::chain::{Chain, PhaseSettings};
use super::metric::LOW_RANK_MOST;
use super::pool::Progress;
use super::rotation::FAR;
use super::run::Session;
use super::tree::{Growth, Stop};
use super::{Loading, Phase, Settings, Target};
use crate::Result;
use crate::rng::Purpose;
pub use agreement::{Agreement, Disagreement};
use fitzroy_device::gpu::text::{Source, for_device};
use fitzroy_device::gpu::{Machine, Meanwhile, Program, idle};
use kinds::Kinds;
pub use memory::{Needs, memory_words};
use memory::{chain_words, most};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

/// The transition, as text over `value_and_gradient`.
const TRANSITION: &str = include_str!("transition.c");

/// Where and with what chains are advanced instead of on threads of this process.
#[derive(Clone)]
pub struct Remote<'a> {
    /// The log density in its present coordinates, in f64.
    pub source: Arc<Source>,
    /// The same in a lower precision, which is used as long as it agrees.
    pub lower: Option<Lower<'a>>,
    /// What runs it.
    pub machine: &'a Mutex<dyn Machine + 'a>,
    /// Threads to a chain, as [`Program::team`] has them.
    pub team: usize,
    /// Nanoseconds after which a launch begins no further transition, on a machine that ends long
    /// kernels.
    pub budget_ns: Option<u64>,
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

    /// What the kernel of these chains has code for.
    fn kinds<T>(&self, settings: &Settings, chains: &[Chain<T>]) -> Kinds {
        Kinds {
            has_deadline: self.budget_ns.is_some(),
            ..Kinds::of_chains(settings, self.source.dim, chains)
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
            self.machine.read(job.progress, &mut progress)?;
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
/// Those of the machine.
pub(crate) fn advance<T: Target + Send>(
    remote: &Remote<'_>,
    chains: &mut [Chain<T>],
    iteration: usize,
    phase: &PhaseSettings,
    session: &Session<'_>,
) -> Result<()> {
    let mut stretch = Stretch {
        machine: remote
            .machine
            .lock()
            .unwrap_or_else(PoisonError::into_inner),
        n_chains: chains.len(),
        dim: remote.source.dim,
    };
    agreement::examine(remote, &mut stretch, chains, phase, session)?;
    let source = remote.in_use();
    let kinds = remote.kinds(session.settings, chains);
    let program = program_for(source, remote.team, session.settings, kinds);
    stretch.load(&program, session)?;
    let mut job = prepare(&mut stretch, (source, remote.team), chains, phase, session)?;
    // What the CPU evaluated, or another precision, is not what this kernel gives.
    job.fresh = u64::from(remote.lower.is_some());
    let row = ROW_HEAD + 2 * stretch.dim;
    let (n_chains, most) = (stretch.n_chains, most(row, stretch.n_chains));
    job.budget_ns = remote.budget_ns.unwrap_or(0);
    // How long a transition takes is not known before the first.
    let mut n = 1;
    let mut made = chains[0].iteration as usize;
    let mut slots = [Slot::Rows, Slot::OtherRows];
    let mut rows = Vec::new();
    // Of a launch that has ended: where its rows are, and of how many transitions.
    let mut ended: Option<(u64, usize)> = None;
    let mut take_in = |machine: &mut dyn Machine, ended: Option<(u64, usize)>| -> Result<()> {
        let Some((at, n)) = ended else {
            return Ok(());
        };
        rows.resize(n_chains * n * row, 0u64);
        machine.read(at, &mut rows)?;
        keep_books(chains, &rows, row, (phase, session));
        Ok(())
    };
    while made < iteration && !session.stop.load(Ordering::Relaxed) {
        n = n.clamp(1, most).min(iteration - made);
        let at = stretch
            .machine
            .reserve(slots[0] as usize, n_chains * n * row)?;
        (job.rows, job.n_transitions) = (at, n as u64);
        // While these transitions are made, the books are kept of those before.
        let before = ended.replace((at, n));
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
    take_in(&mut *stretch.machine, ended)
}

/// What `struct Job` holds, in its order.
#[derive(Clone, Copy, Default)]
struct Job {
    fixed: u64,
    table: u64,
    states: u64,
    memory: u64,
    metric: u64,
    forgetting: u64,
    rows: u64,
    metric_stride: u64,
    n_chains: u64,
    n_transitions: u64,
    is_warmup: u64,
    max_depth: u64,
    past_turn: u64,
    seed: u64,
    stream: u64,
    fresh: u64,
    target_accept: u64,
    budget_ns: u64,
    progress: u64,
}

impl Job {
    fn words(&self) -> [u64; 19] {
        [
            self.fixed,
            self.table,
            self.states,
            self.memory,
            self.metric,
            self.forgetting,
            self.rows,
            self.metric_stride,
            self.n_chains,
            self.n_transitions,
            self.is_warmup,
            self.max_depth,
            self.past_turn,
            self.seed,
            self.stream,
            self.fresh,
            self.target_accept,
            self.budget_ns,
            self.progress,
        ]
    }
}

/// Brings data, metric and the state of the chains to the machine.
fn prepare<T: Target>(
    stretch: &mut Stretch<'_>,
    (source, team): (&Source, usize),
    chains: &[Chain<T>],
    phase: &PhaseSettings,
    session: &Session<'_>,
) -> Result<Job> {
    let settings = session.settings;
    let states: Vec<f64> = chains
        .iter()
        .flat_map(|c| state_of(c, stretch.dim, phase))
        .collect();
    let (metric, metric_stride) = metric_of(chains, stretch.dim);
    let forgetting: Vec<f64> = (0..=settings.tune)
        .map(|count| super::step_size::forgetting(count as f64))
        .collect();
    let memory = chain_words(source, settings.max_treedepth, team) * stretch.n_chains;
    Ok(Job {
        fixed: stretch.send_numbers(Slot::Fixed, &source.fixed)?,
        table: stretch.send_table(&source.table)?,
        states: stretch.send_numbers(Slot::States, &states)?,
        memory: stretch.machine.reserve(Slot::Memory as usize, memory)?,
        metric: stretch.send_numbers(Slot::Metric, &metric)?,
        forgetting: stretch.send_numbers(Slot::Forgetting, &forgetting)?,
        rows: 0,
        metric_stride: metric_stride as u64,
        n_chains: stretch.n_chains as u64,
        n_transitions: 0,
        is_warmup: u64::from(phase.phase == Phase::Warmup && !phase.held),
        max_depth: u64::from(phase.reach.max_depth),
        past_turn: u64::from(phase.reach.past_turn),
        seed: settings.seed,
        stream: u64::from(settings.stream),
        fresh: 0,
        target_accept: phase.target_accept.to_bits(),
        ..Job::default()
    })
}

/// A chain's state, in the order of `transition.c`. The step that is held, or that of the draws.
fn state_of<T>(chain: &Chain<T>, dim: usize, phase: &PhaseSettings) -> Vec<f64> {
    let point = &chain.space.candidate;
    let mut state = point.position.as_flattened()[..dim].to_vec();
    state.extend_from_slice(&point.gradient.as_flattened()[..dim]);
    let [mu, error, log_step, log_average, count, log_most] = chain.step.numbers();
    state.extend([
        point.log_density,
        f64::from(chain.iteration),
        f64::from(chain.stream.chain),
        mu,
        error,
        log_step,
        log_average,
        count,
        log_most,
        if phase.held {
            chain.step.average()
        } else {
            chain.step_size
        },
    ]);
    state
}

/// The factors S of all chains, once if they share one, in the order of `transition.c`; the step
/// from one to the next.
fn metric_of<T>(chains: &[Chain<T>], dim: usize) -> (Vec<f64>, usize) {
    let first = &chains[0].metric;
    if chains.iter().all(|c| Arc::ptr_eq(&c.metric, first)) {
        return (first.words(dim), 0);
    }
    let each: Vec<Vec<f64>> = chains.iter().map(|c| c.metric.words(dim)).collect();
    // Chains that adapt alone may differ in kind.
    let stride = each.iter().map(Vec::len).max().unwrap_or(0);
    let mut numbers = Vec::with_capacity(stride * each.len());
    for one in each {
        numbers.extend_from_slice(&one);
        numbers.resize(numbers.len() + stride - one.len(), 0.0);
    }
    (numbers, stride)
}

/// Chains whose rows a thread takes in before it looks for others.
const CHAINS_AT_ONCE: usize = 8;

/// Takes `rows` of `row` words, chain after chain, into the books of the chains: many chains make more of
/// them than one thread can take in, so that all threads of the run share them.
fn keep_books<T: Target + Send>(
    chains: &mut [Chain<T>],
    rows: &[u64],
    row: usize,
    (phase, session): (&PhaseSettings, &Session<'_>),
) {
    let of_chain = rows.len() / chains.len();
    let shares = chains.chunks_mut(CHAINS_AT_ONCE);
    let mut shares: Vec<_> = shares.zip(rows.chunks(CHAINS_AT_ONCE * of_chain)).collect();
    session.threads.run_all(&mut shares, |(chains, rows)| {
        for (chain, rows) in chains.iter_mut().zip(rows.chunks(of_chain)) {
            for row in rows.chunks_exact(row) {
                absorb(chain, phase, row, session);
            }
        }
        Progress::Done
    });
}

/// Takes one transition into the books of its chain.
fn absorb<T: Target>(
    chain: &mut Chain<T>,
    phase: &PhaseSettings,
    row: &[u64],
    session: &Session<'_>,
) {
    let x = |i: usize| f64::from_bits(row[i]);
    let growth = Growth {
        stop: match x(0) as u32 {
            0 => Stop::Turned,
            1 => Stop::Diverged,
            _ => Stop::Depth,
        },
        depth: x(1) as u32,
        n_steps: x(2) as u32,
        max_energy_error: x(5),
        acceptance_sum: x(6),
        nonfinite: x(10) != 0.0,
    };
    let point = &mut chain.space.candidate;
    let dim = (row.len() - ROW_HEAD) / 2;
    let (position, gradient) = row[ROW_HEAD..].split_at(dim);
    let load = |to: &mut [f64], from: &[u64]| {
        to.iter_mut()
            .zip(from)
            .for_each(|(t, f)| *t = f64::from_bits(*f));
    };
    load(point.position.as_flattened_mut(), position);
    load(point.gradient.as_flattened_mut(), gradient);
    point.energy = x(3);
    point.log_density = x(8);
    point.offset = x(9) as i64;
    chain.conclude(phase, x(7), x(4), &growth, session.observer);
}
