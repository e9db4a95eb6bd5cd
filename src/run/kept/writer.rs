//! The thread that writes blocks while chains go on.

use super::super::attempt::Form;
use super::super::records::{Shared, Told};
use super::super::watch::Spent;
use super::super::{Settings, Timing};
use super::convergence::Watched;
use super::saved::{AS_WRITTEN, DRAWS, STREAM, identity, remove_states_before, write_state};
use super::{Keeping, Kept};
use crate::Result;
use crate::draws::{Attribute, Flush, Group, ZarrStream, draws_from};
use crate::fit::sample::{Block, Checkpoint, Draws, Run};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

/// A block to publish.
pub(super) struct Job {
    draws: Vec<Draws>,
    first_draw: usize,
    /// The state at the block; none where nothing is to be published yet.
    state: Option<Checkpoint>,
}

impl Job {
    /// The draws in `range` of those that `block` has, to be published or only written.
    pub(super) fn of(block: &Block<'_>, range: Range<usize>, publish: bool) -> Self {
        let n = block.draws.first().map_or(0, |d| d.len());
        Job {
            draws: block.draws.iter().map(|d| d.range(range.clone())).collect(),
            first_draw: (block.done + range.start).saturating_sub(n),
            state: publish.then(|| block.checkpoint()),
        }
    }
}

/// Collects, appends and publishes.
pub(super) struct Writer<'a> {
    shared: Shared<'a>,
    keeping: &'a Keeping<'a>,
    /// Those of the run, but for the threads.
    settings: Settings,
    watched: Watched,
    kept: Kept,
}

impl<'a> Writer<'a> {
    pub(super) fn new(shared: &Shared<'a>, keeping: &'a Keeping<'a>, on_disk: bool) -> Self {
        let mut identity = identity(shared.subject, shared.settings);
        if shared.form == Form::AsWritten {
            identity.push((AS_WRITTEN.into(), Attribute::Integer(1)));
        }
        // Chains have the processors; this thread works alone.
        let mut settings = shared.settings.clone();
        settings.sampler.threads = 1;
        let from = keeping.from.as_ref();
        Writer {
            shared: *shared,
            keeping,
            watched: Watched::new(settings.sampler.draws),
            kept: Kept {
                folder: keeping.folder.to_path_buf(),
                total: settings.sampler.draws,
                in_memory_bytes: settings.in_memory_bytes.unwrap_or(u64::MAX),
                stream: None,
                next_state: from.map_or(0, |saved| saved.next_state),
                state: None,
                identity,
                on_disk,
                parts: Vec::new(),
                some: Vec::new(),
                collected: 0,
                earlier: from.map_or(Spent::default(), |saved| saved.spent),
                begun_s: (shared.caller.now)(),
                failure: None,
            },
            settings,
        }
    }

    /// Works off `inbox` until it closes. After a failure nothing more is written: it is an error where
    /// the draws that were handed over are nowhere else, and else noted in [`Kept::failure`].
    pub(super) fn serve(mut self, inbox: &Receiver<Job>, failed: &AtomicBool) -> Result<Kept> {
        if self.keeping.from.is_some() {
            // Draws go on behind those that are there.
            let started = self.start();
            failed.store(started.is_err(), Ordering::Relaxed);
            started?;
        }
        for job in inbox {
            let written = self.publish(job);
            if let Err(error) = written {
                failed.store(true, Ordering::Relaxed);
                let draws = self.kept.published();
                let safe = format!(
                    "the run stopped; {draws} draws per chain are safe in {}, and ⟨resume⟩ goes \
                     on from there",
                    self.kept.folder.join(STREAM).display()
                );
                let error = error.context(safe);
                if self.kept.on_disk {
                    return Err(error);
                }
                self.kept.failure = Some(error);
                return Ok(self.kept);
            }
        }
        Ok(self.kept)
    }

    fn told(&self) -> Told<'_> {
        let sampler = &self.settings.sampler;
        Told {
            settings: &self.settings,
            caller: self.shared.caller,
            timing: Timing::default(),
            // The store stands before the warm-up has ended.
            warmup_transitions: (!sampler.end_warmup_early).then_some(sampler.tune),
            precision: self.settings.precision,
        }
    }

    /// Opens the stream: a new one, or the one that the run goes on with.
    fn start(&mut self) -> Result<()> {
        let root = self.kept.folder.join(STREAM);
        let chains = self.settings.sampler.chains;
        let template = self.shared.records.template(&self.told(), chains)?;
        self.kept.stream = Some(match &self.keeping.from {
            None => {
                let (total, most) = (self.kept.total, self.kept.in_memory_bytes);
                let mut stream = ZarrStream::create(&root, &template, total, most)?;
                // Whatever happens to the first block, there is a store that can be read.
                let mut attributes = self.kept.identity.clone();
                attributes.push((DRAWS.into(), Attribute::Integer(0)));
                stream.publish(&attributes, Flush::Later)?;
                stream
            }
            Some(saved) => {
                let full = saved.n_draws - saved.n_draws % saved.chunks.draws;
                let tail = draws_from(&saved.trace, full - saved.first_draw..usize::MAX).groups;
                self.watched.take(&saved.trace.groups);
                ZarrStream::resume(&root, &template, saved.chunks, saved.n_draws, &tail)?
            }
        });
        Ok(())
    }

    fn publish(&mut self, job: Job) -> Result<()> {
        if self.kept.stream.is_none() {
            self.start()?;
        }
        let n = job.draws.first().map_or(0, Draws::len);
        if n > 0 {
            let groups = self.groups(block_run(job.draws, job.first_draw))?;
            let stream = self.kept.stream.as_mut().expect("started above");
            stream.append(&groups, Flush::Disk)?;
            self.watched.take(&groups);
            self.kept.collected += n;
            if !self.kept.on_disk {
                self.kept.parts.push(groups);
            }
        }
        match job.state {
            Some(state) => self.show(&state),
            None => Ok(()),
        }
    }

    /// What a trace says of some draws.
    fn groups(&mut self, mut run: Run) -> Result<Vec<Group>> {
        if self.kept.on_disk {
            let (have, sampler) = (self.kept.some.len(), &self.settings.sampler);
            let more = self.shared.records.some(sampler, &run, have);
            self.kept.some.extend(more);
        }
        self.shared.records.groups(&self.told(), &mut run)
    }

    /// Seconds of all sessions until now.
    fn spent(&self) -> Spent {
        let (now, earlier) = ((self.shared.caller.now)(), self.kept.earlier);
        let first = self.shared.watch.first_draw().unwrap_or(now);
        Spent {
            warmup: earlier.warmup + first - self.kept.begun_s,
            sampling: earlier.sampling + now - first,
            total: earlier.total + now - self.kept.begun_s,
        }
    }

    /// Publishes what was written, and the state.
    fn show(&mut self, state: &Checkpoint) -> Result<()> {
        let mut attributes = self.kept.identity.clone();
        attributes.extend(self.spent().attributes());
        let stream = self.kept.stream.as_mut().expect("it is started before");
        let (number, state) = (self.kept.next_state, state.to_bytes());
        let n = stream.n_draws();
        let folder = &self.kept.folder;
        write_state(folder, number, &state, &mut attributes, n, Flush::Disk)?;
        stream.publish(&attributes, Flush::Disk)?;
        self.kept.next_state += 1;
        remove_states_before(folder, number);
        if let Some(found) = self.watched.convergence() {
            self.keeping.live.show(&found);
        }
        Ok(())
    }
}

/// A run that is nothing but some draws.
pub(in crate::run) fn block_run(chains: Vec<Draws>, first_draw: usize) -> Run {
    Run {
        dim: 0,
        chains,
        first_draw,
        warmup: None,
        step_sizes: Vec::new(),
        stricter: None,
        metrics: Vec::new(),
        rotations: Vec::new(),
        variances: Vec::new(),
        warmup_transitions: 0,
        gradients: 0,
        warmup_gradients: 0,
        past_turn: false,
        restarts: Vec::new(),
        independence: None,
        elsewhere: Vec::new(),
        until_reached: None,
        interrupted: false,
    }
}
