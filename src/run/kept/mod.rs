//! A run that is kept while it goes on: its draws in a Zarr store that can be read at any moment,
//! the sampler's state beside them, so that a killed run continues as if nothing had happened.

mod convergence;
mod saved;
mod writer;

pub use convergence::{Convergence, Live};
pub use saved::{STATE, STREAM, Saved, open};

use super::records::Shared;
use super::subject::Subject;
use super::watch::Spent;
use super::{Settings, memory};
use crate::draws::{Attribute, Chunks, Flush, Group, Trace, ZarrStream, draws_from};
use crate::fit::sample::{self, Block, Checkpoint, Next, Phase, Posterior, Run};
use crate::{Error, ErrorKind, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
pub(super) use writer::block_run;
use writer::{Job, Writer};

/// The store while a first publication that failed is tried again.
pub const AGAIN: &str = "run.zarr.again";

/// Where and how a run is kept.
pub struct Keeping<'a> {
    /// The folder of [`STREAM`] and [`STATE`].
    pub folder: &'a Path,
    /// What to go on from; none for a run from the start.
    pub from: Option<Saved>,
    /// Seconds of work after which the first draws are published. A run that takes less is written
    /// once, at its end.
    pub first_s: f64,
    /// Seconds between publications, at least.
    pub every_s: f64,
    /// Is told how far the chains agree, after every publication.
    pub live: &'a dyn Live,
}

/// What is known of a kept run when sampling has ended.
pub struct Kept {
    folder: PathBuf,
    /// Draws per chain that were asked for.
    total: usize,
    in_memory_bytes: u64,
    stream: Option<ZarrStream>,
    /// Number of the next state file.
    next_state: usize,
    /// The sampler's state where chains met last, and its number of draws.
    state: Option<(Checkpoint, usize)>,
    /// What every publication says of the run.
    pub(super) identity: Vec<(String, Attribute)>,
    /// Whether the draws stay on the disk, see [`Settings::in_memory_bytes`].
    pub(super) on_disk: bool,
    /// Draw groups collected before, in order; none where they stay on the disk.
    pub(super) parts: Vec<Vec<Group>>,
    /// Some of the draws that are not in memory, to compare densities at.
    pub(super) some: Vec<f64>,
    /// Draws in `parts`, this session's alone.
    pub(super) collected: usize,
    /// Seconds of earlier sessions.
    pub(super) earlier: Spent,
    /// When this session began.
    begun_s: f64,
    /// Why nothing was written any more; the draws are in memory all the same.
    failure: Option<Error>,
}

impl Kept {
    /// The draws of `run` that are not in `parts`, and all else that it says; none where nothing
    /// was collected.
    pub(super) fn rest(&self, run: &mut Run) -> Option<Run> {
        if self.collected == 0 || self.on_disk {
            return None;
        }
        let n = run.n_draws();
        let rest = run.chains.iter().map(|c| c.range(self.collected..n));
        Some(Run {
            chains: rest.collect(),
            first_draw: run.first_draw + self.collected,
            warmup: run.warmup.take(),
            step_sizes: run.step_sizes.clone(),
            metrics: run.metrics.clone(),
            rotations: run.rotations.clone(),
            variances: run.variances.clone(),
            restarts: run.restarts.clone(),
            elsewhere: Vec::new(),
            ..*run
        })
    }

    /// Draws per chain that readers of the stream see.
    pub fn published(&self) -> usize {
        self.stream.as_ref().map_or(0, ZarrStream::n_published)
    }

    /// Whether the draws stay on the disk, see [`Settings::in_memory_bytes`].
    pub fn on_disk(&self) -> bool {
        self.on_disk
    }

    /// Why the run stopped writing, where it did.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Whether the run can be resumed as it stands.
    pub fn resumable(&self) -> bool {
        self.stream.is_some() || self.state.is_some()
    }

    /// Publishes the draws that are not yet in the stream. `trace` has all of the run's, or those
    /// that are still in memory, the first of them being draw number `first`.
    ///
    /// A run that was stopped between two meetings of its chains is published up to the last one:
    /// the draws since are made again, the same ones, when it is resumed.
    ///
    /// # Errors
    /// A file cannot be written; what was published before stays.
    pub fn finish(&mut self, trace: &Trace, first: usize, flush: Flush) -> Result<()> {
        let root = self.folder.join(STREAM);
        let Some(failure) = self.failure.take() else {
            return self.publish_rest(&root, trace, first, flush);
        };
        if self.published() > 0 {
            // What is safe must not be touched: more of it may have been written by half.
            return Err(failure);
        }
        // Nothing was published: all of it is tried again, beside what is there.
        self.stream = None;
        let again = self.folder.join(AGAIN);
        let written = self
            .publish_rest(&again, trace, first, flush)
            .and_then(|()| {
                let moved = fs::remove_dir_all(&root).and_then(|()| fs::rename(&again, &root));
                moved.map_err(|error| {
                    Error::new(ErrorKind::Io, format!("{}: {error}", root.display()))
                })
            });
        if written.is_err() {
            // It would only be in the way.
            let _ = fs::remove_dir_all(&again);
        }
        written
    }

    fn publish_rest(
        &mut self,
        root: &Path,
        trace: &Trace,
        first: usize,
        flush: Flush,
    ) -> Result<()> {
        let Some((state, n_draws)) = self.state.take() else {
            return Ok(());
        };
        if self.stream.is_none() {
            self.stream = Some(match n_draws >= self.total && first == 0 && !self.on_disk {
                true => ZarrStream::with_chunks(root, trace, Chunks::of_draws(n_draws))?,
                false => ZarrStream::create(root, trace, self.total, self.in_memory_bytes)?,
            });
        }
        let stream = self.stream.as_mut().expect("it was just made");
        let have = stream.n_draws();
        match have == 0 && first == 0 && n_draws >= self.total {
            true => stream.append(&trace.groups, flush)?,
            false => {
                let missing = have.saturating_sub(first)..n_draws.saturating_sub(first);
                stream.append(&draws_from(trace, missing).groups, flush)?;
            }
        }
        let mut attributes = trace.attributes.clone();
        let known = |name: &str| self.identity.iter().any(|(n, _)| n == name);
        attributes.retain(|(name, _)| !known(name));
        attributes.extend(self.identity.iter().cloned());
        let number = self.next_state;
        self.next_state += 1;
        let state = state.to_bytes();
        saved::write_state(
            &self.folder,
            number,
            &state,
            &mut attributes,
            n_draws,
            flush,
        )?;
        stream.publish(&attributes, flush)?;
        saved::remove_states_before(&self.folder, number);
        Ok(())
    }
}

/// Forgets what a run has published whose density was refused.
///
/// # Errors
/// It cannot be removed.
pub(super) fn discard(keeping: &Keeping<'_>) -> Result<()> {
    for name in [STREAM, STATE] {
        let path = keeping.folder.join(name);
        if path.is_dir() {
            std::fs::remove_dir_all(&path).map_err(|error| {
                Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
            })?;
        }
    }
    Ok(())
}

/// Decides when chains meet, and which meetings are published.
struct Pace {
    first_s: f64,
    every_s: f64,
    start: f64,
    published: Option<f64>,
    last: (f64, usize),
}

/// Transitions below which a meeting of the chains costs too much in waiting for the slowest.
const FEWEST_BETWEEN: f64 = 400.0;
/// Seconds between meetings where transitions are fast, and at most where they are slow.
const SECONDS_BETWEEN: (f64, f64) = (0.5, 30.0);

/// Transitions between meetings where memory is to hold fewer draws than that: to meet after each
/// takes longer than to make it.
const FEWEST_FOR_MEMORY: usize = 32;

/// The share of memory in which draws wait to be handed on; about five such shares are in use.
const SHARE: u64 = 10;

/// Draws of each chain that fill a share, and are then handed on to the disk, where they stay; none
/// where draws stay in memory.
fn draws_in_a_share(subject: Subject<'_>, settings: &Settings) -> Option<usize> {
    let need = subject.estimate(settings);
    let share = (settings.in_memory_bytes? / SHARE) as f64;
    let per_draw = need.draws_bytes / settings.sampler.draws.max(1) as f64;
    memory::stays_on_disk(&need, settings).then(|| (share / per_draw).ceil().max(1.0) as usize)
}

impl Pace {
    /// Whether a block seen at `now` is due for publication.
    fn due(&self, now: f64) -> bool {
        match self.published {
            None => now - self.start >= self.first_s,
            Some(before) => now - before >= self.every_s,
        }
    }

    /// Transitions until the next meeting; `at` have been made since the start.
    fn next(&mut self, now: f64, at: usize) -> usize {
        let (before, then) = self.last;
        self.last = (now, at);
        let rate = (at.saturating_sub(then)) as f64 / (now - before);
        if !rate.is_finite() || rate <= 0.0 {
            return 64;
        }
        let (least, most) = SECONDS_BETWEEN;
        let least = least.min(self.every_s);
        (rate * least).max(FEWEST_BETWEEN.min(rate * most)).max(1.0) as usize
    }
}

/// Draws on their way to the thread that writes them.
struct Outgoing {
    jobs: SyncSender<Job>,
    pace: Pace,
    /// Draws of each chain that memory does not hold longer; none where draws stay in memory.
    share: Option<usize>,
    /// Draws in memory that were handed on.
    sent: usize,
}

impl Outgoing {
    /// Nothing yet.
    fn new(jobs: SyncSender<Job>, shared: &Shared<'_>, keeping: &Keeping<'_>) -> Self {
        let now = (shared.caller.now)();
        Outgoing {
            jobs,
            pace: Pace {
                first_s: keeping.first_s,
                every_s: keeping.every_s,
                start: now,
                published: None,
                last: (now, 0),
            },
            share: draws_in_a_share(shared.subject, shared.settings),
            sent: 0,
        }
    }

    /// Hands on what is new in `block` where it is due, or where memory is to hold no more; `begin` sees to
    /// it that there is a thread. Whether the draws can be forgotten; none where nobody writes any more.
    fn hand_on(&mut self, block: &Block<'_>, now: f64, begin: &mut dyn FnMut()) -> Option<bool> {
        let n = block.draws.first().map_or(0, |d| d.len());
        let full = self.share.is_some_and(|share| n - self.sent >= share);
        let due = self.pace.due(now);
        if !due && !full {
            return Some(false);
        }
        begin();
        let job = Job::of(block, self.sent..n, due);
        let given = match full {
            // There is no room for more: the chains wait.
            true => (self.jobs.send(job)).map_err(|error| TrySendError::Disconnected(error.0)),
            false => self.jobs.try_send(job),
        };
        match given {
            Ok(()) => {
                let forget = self.share.is_some();
                self.sent = if forget { 0 } else { n };
                self.pace.published = if due { Some(now) } else { self.pace.published };
                Some(forget)
            }
            // The last one is still being written: the next meeting tries again.
            Err(TrySendError::Full(_)) => Some(false),
            Err(TrySendError::Disconnected(_)) => None,
        }
    }

    /// Transitions until the next meeting; `at` have been made since the start.
    fn until_next(&mut self, now: f64, at: usize) -> usize {
        let next = self.pace.next(now, at);
        // A fast chain would otherwise make far more draws than a share until the next meeting.
        self.share
            .map_or(next, |share| next.min(share.max(FEWEST_FOR_MEMORY)))
    }
}

/// Samples, handing blocks to a thread that writes them.
///
/// # Errors
/// Those of the sampler; the disk is full or cannot be written to.
pub(super) fn sample(
    posterior: &mut impl Posterior,
    shared: &Shared<'_>,
    keeping: &Keeping<'_>,
) -> Result<(Run, Kept)> {
    let (settings, caller, watch) = (shared.settings, shared.caller, shared.watch);
    let from = keeping.from.as_ref();
    let failed = AtomicBool::new(false);
    let (jobs, inbox) = sync_channel::<Job>(1);
    let mut outgoing = Outgoing::new(jobs, shared, keeping);
    let tune = settings.sampler.tune;
    let mut state = None;
    let writer = Writer::new(shared, keeping, outgoing.share.is_some());
    std::thread::scope(|scope| {
        let failed = &failed;
        // The thread starts with the first block; short runs have none.
        let mut waiting = Some((writer, inbox));
        let mut begin = || {
            let serve = waiting.take();
            serve.map(|(writer, inbox)| scope.spawn(move || writer.serve(&inbox, failed)))
        };
        let mut thread = from.and_then(|_| begin());
        let mut blocks = |block: &Block<'_>| {
            let now = (caller.now)();
            let stop = caller.stop.load(Ordering::Relaxed);
            match block.phase {
                Phase::Sampling => state = Some((block.checkpoint(), block.done)),
                Phase::Warmup if stop => state = Some((block.checkpoint(), 0)),
                Phase::Warmup => {}
            }
            if stop || failed.load(Ordering::Relaxed) {
                return Next::Stop;
            }
            let mut begin = || thread = thread.take().or_else(&mut begin);
            let Some(forget) = outgoing.hand_on(block, now, &mut begin) else {
                return Next::Stop;
            };
            let at = match block.phase {
                Phase::Warmup => block.done,
                Phase::Sampling => tune + block.done,
            };
            let next = outgoing.until_next(now, at);
            match forget {
                true => Next::Forget(next),
                false => Next::After(next),
            }
        };
        let hard = watch.hard_stop();
        let checkpoint = from.map(|saved| &saved.checkpoint);
        let sampler = &settings.sampler;
        let run =
            sample::sample_in_blocks(posterior, sampler, watch, hard, checkpoint, &mut blocks);
        drop(outgoing);
        let written = match (thread, waiting) {
            (Some(thread), _) => thread.join().expect("the writer returns its errors"),
            (None, waiting) => {
                let (writer, inbox) = waiting.expect("no thread has taken it");
                writer.serve(&inbox, failed)
            }
        };
        let mut run = run?;
        let mut kept = written?;
        let total = run.first_draw + run.n_draws();
        // A run may also end because its draws are good enough.
        let asked = caller.stop.load(Ordering::Relaxed) || kept.failure.is_some();
        run.interrupted |= asked && total < sampler.draws;
        kept.state = state.filter(|(_, n)| *n <= total);
        Ok((run, kept))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
