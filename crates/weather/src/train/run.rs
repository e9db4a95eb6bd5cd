//! The training loop.

use super::batch::{Batch, order};
use super::beside::{BesideStart, Losses, beside_start, trials};
use super::caller::{Caller, Ended, Event, Outcome};
use super::checkpoint::Checkpoint;
use super::engine::{Engine, Fill, Target};
use super::events::Recorder;
use super::files::Files;
use super::plan::Settings;
use super::problem::Problem;
use super::profile::{LEARN, Profiler};
use super::resume::{NO_CLIMATOLOGY, Ready, first, ready, resumed, untouched};
use super::schedule::{Rollouts, Schedule};
use crate::data::Split;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::nn::Pool;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

/// Updates with a gradient that is not finite, one after the other, that end a run.
const BAD_UPDATES_MAX: u64 = 3;
/// Validation forecasts of many steps, at most.
const VALIDATIONS_MAX: usize = 32;
/// Floating-point operations for the comparison with the start at the end: seconds.
const FLOPS_BESIDE: f64 = 1e12;

/// Losses of validation forecasts one step ahead and many steps ahead, and where the latter start.
struct Trials {
    near: Vec<u32>,
    far: Vec<u32>,
    steps: usize,
}

/// The state of a run.
struct Run<'a> {
    problem: &'a Problem,
    settings: &'a Settings,
    caller: &'a Caller<'a>,
    files: Files<'a>,
    engine: Engine,
    checkpoint: Checkpoint,
    schedule: Schedule,
    rollouts: Rollouts,
    planned: u64,
    flops: u64,
    trials: Trials,
    last_loss: f64,
    last_norm: f64,
    /// Steps and time when a GPU was last waited for.
    synced: (u64, f64),
    /// Since the last line: losses, steps, start, waiting.
    since: (f64, u64, f64, f64),
    /// What could not be written where it belongs, at the end.
    unwritten: Vec<String>,
    /// Since the start: start, waiting.
    spent: (f64, f64),
    durations: Vec<f64>,
    profiler: Option<Profiler>,
}

/// Trains a problem in a folder, from a checkpoint where one is given.
///
/// # Errors
/// As [`super::plan()`]; the checkpoint is of another problem or other settings; no log can be begun. A disk that is full
/// later is no error: see [`Outcome::unwritten`].
pub fn train(
    problem: &Problem,
    settings: &Settings,
    from: Option<Checkpoint>,
    folder: &Path,
    caller: &Caller<'_>,
) -> Result<Outcome> {
    train_on(Target::Cpu, problem, settings, from, folder, caller)
}

/// [`train`], on this processor or a machine that `settings.device` speaks of.
///
/// # Errors
/// Those of [`train`], and those of the machine.
pub fn train_on(
    target: Target,
    problem: &Problem,
    settings: &Settings,
    from: Option<Checkpoint>,
    folder: &Path,
    caller: &Caller<'_>,
) -> Result<Outcome> {
    let Ready {
        plan,
        rollouts,
        schedule,
        network,
        own,
    } = ready(problem, settings, from.as_ref())?;
    let s = settings;
    if let Some(checkpoint) = &from
        && let Some(ended) = resumed(problem, settings, checkpoint)?
    {
        return Ok(untouched(ended, checkpoint, folder));
    }
    let begins = from.is_none();
    let checkpoint = from.unwrap_or_else(|| first(problem, &network, s, own));
    if begins && checkpoint.climatology.is_none() {
        (caller.observer)(&Event::Note(NO_CLIMATOLOGY.into()));
    }
    let engine = Engine::new(target, problem, s, rollouts.longest(), &checkpoint)?;
    if let Engine::Device(device) = &engine {
        let notes = device.notes.iter().cloned();
        notes.for_each(|note| (caller.observer)(&Event::Note(note)));
    }
    let now = (caller.now)();
    let longest = engine.longest(s.validation_leads, rollouts.longest());
    let (far, steps) = trials(problem, longest, VALIDATIONS_MAX);
    let trials = Trials {
        near: problem.windows(Split::Validation, 1).0,
        far,
        steps,
    };
    let done = checkpoint.progress.step;
    let recorder = Recorder::open(folder, done, (caller.wall_time)(), s.tensorboard)?;
    let profiler = caller.profile.clone();
    let mut run = Run {
        problem,
        settings,
        caller,
        files: Files::new((folder, caller.spare), recorder, s.keep),
        engine,
        checkpoint,
        schedule,
        rollouts,
        planned: plan.steps.1,
        flops: plan.flops_per_step,
        trials,
        last_loss: f64::NAN,
        last_norm: f64::NAN,
        synced: (0, now),
        since: (0.0, 0, now, 0.0),
        unwritten: Vec::new(),
        spent: (now, 0.0),
        durations: Vec::new(),
        profiler: profiler.map(|clock| Profiler::new(clock, &network, s.batch_size)),
    };
    let ended = run.whole()?;
    run.outcome(ended)
}

/// Threads that make batches ahead, in turn: batch k comes from reader k modulo their number.
fn readers<'scope, 'env>(
    problem: &'env Problem,
    s: &Settings,
    scope: &'scope std::thread::Scope<'scope, 'env>,
    groups: &'env [&'env [u32]],
    (steps, fill): (usize, Fill),
) -> Vec<mpsc::Receiver<Batch>> {
    let n = if s.prefetch > 0 { s.readers } else { 0 };
    let reader = |number: usize| {
        let (give, take) = mpsc::sync_channel::<Batch>(s.prefetch.div_ceil(n));
        scope.spawn(move || {
            for starts in groups.iter().skip(number).step_by(n) {
                let mut batch = Batch::default();
                fill(&mut batch, problem, starts, steps);
                // Nobody listens any more: the run has ended.
                if give.send(batch).is_err() {
                    return;
                }
            }
        });
        take
    };
    (0..n).map(reader).collect()
}

impl Run<'_> {
    fn whole(&mut self) -> Result<Ended> {
        if self.checkpoint.progress.start_losses.is_none() && self.checkpoint.progress.step == 0 {
            let losses = self.losses()?;
            let progress = &mut self.checkpoint.progress;
            progress.start_losses = Some((losses.near, losses.far));
            progress.start_rmse = losses.rmse.clone();
            let mut lines = losses.lines(self.problem, self.trials.steps, 1.0);
            // Weights of another run are the best until training has made better ones; those of a
            // fresh network are no checkpoint.
            if self.problem.provenance.parameters.is_some() {
                self.keep_best(losses.near, 1.0);
            } else {
                lines.drain(..3);
            }
            self.record_lines(0, &lines);
        }
        self.epochs()
    }

    /// The best checkpoint beside the start, where the run has come to its end.
    fn beside_start(&mut self, ended: Ended) -> Result<Vec<BesideStart>> {
        if !matches!(ended, Ended::Finished | Ended::Early) || !self.problem.is_forecast() {
            return Ok(Vec::new());
        }
        let Some(best) = self.files.load_best()? else {
            return Ok(Vec::new());
        };
        let s = self.settings;
        let windows = (3 * s.batch_size * s.accumulate) as f64;
        let flops = (self.flops as f64 / windows, FLOPS_BESIDE);
        let mut pool = Pool::new(s.threads);
        let leads = s.validation_leads;
        beside_start(
            self.problem,
            best.best_parameters(),
            &mut pool,
            leads,
            flops,
        )
    }

    /// What is left of a run that has ended.
    fn outcome(mut self, ended: Ended) -> Result<Outcome> {
        let beside_start = self.beside_start(ended)?;
        let total = (self.caller.now)() - self.spent.0;
        let first = self.durations.first().copied().unwrap_or(f64::NAN);
        let mut later = self.durations.split_off(1.min(self.durations.len()));
        later.sort_by(f64::total_cmp);
        let median = later.get(later.len() / 2).copied().unwrap_or(f64::NAN);
        Ok(Outcome {
            ended,
            progress: self.checkpoint.progress,
            last_loss: self.last_loss,
            best: self.files.best,
            unwritten: self.unwritten,
            beside_start,
            data_wait: if total > 0.0 {
                self.spent.1 / total
            } else {
                0.0
            },
            step_s: (first, median),
            profile: self.profiler.map(Profiler::finish),
        })
    }

    fn epochs(&mut self) -> Result<Ended> {
        while self.checkpoint.progress.epoch < self.settings.n_epochs {
            if let Some(ended) = self.epoch()? {
                return Ok(ended);
            }
            self.checkpoint.progress.epoch += 1;
            self.checkpoint.progress.position = 0;
        }
        self.finish(Ended::Finished)
    }

    fn finish(&mut self, ended: Ended) -> Result<Ended> {
        if matches!(ended, Ended::Finished | Ended::Early) {
            self.validate()?;
        }
        let saved = match ended {
            Ended::Diverged => true,
            _ => self.save()?,
        };
        let last = (!saved).then_some(&self.checkpoint);
        self.unwritten = self.files.finish(last);
        let learnt = self.last_loss.is_finite() && self.last_loss != 0.0;
        Ok(match ended {
            Ended::Finished | Ended::Early if !learnt => Ended::Degenerate,
            _ => ended,
        })
    }

    /// What is left of an epoch; why the run ends, if it does.
    fn epoch(&mut self) -> Result<Option<Ended>> {
        let (problem, s) = (self.problem, self.settings);
        let epoch = self.checkpoint.progress.epoch;
        let steps = self.rollouts.steps(epoch);
        let order = order(&problem.windows(Split::Train, steps).0, s.seed, epoch);
        let left = order
            .get(self.checkpoint.progress.position..)
            .unwrap_or(&[]);
        let groups: Vec<&[u32]> = left.chunks_exact(s.batch_size).collect();
        let n_updates = groups.len() / s.accumulate;
        let groups = &groups[..n_updates * s.accumulate];
        std::thread::scope(|scope| {
            let fill = self.engine.filler();
            let takers = readers(problem, s, scope, groups, (steps, fill));
            let mut next = takers.iter().cycle();
            let mut own = Batch::default();
            for update in groups.chunks(s.accumulate) {
                let start = (self.caller.now)();
                self.profile_step();
                let mut loss = 0.0;
                for (number, starts) in update.iter().enumerate() {
                    let before = (self.caller.now)();
                    let mark = self.mark();
                    if s.prefetch > 0 {
                        let take = next.next().expect("there is a reader");
                        own = take.recv().map_err(|_| {
                            Error::new(ErrorKind::Data, "the thread that reads data has stopped")
                        })?;
                    } else {
                        fill(&mut own, problem, starts, steps);
                    }
                    let waited = (self.caller.now)() - before;
                    self.since.3 += waited;
                    self.spent.1 += waited;
                    self.timed("wait for data", mark);
                    let mark = self.mark();
                    let rate = self.schedule.rate(self.checkpoint.progress.step);
                    let ends = (number == 0, number + 1 == update.len());
                    loss += (self.engine).learn(problem, &self.checkpoint, &own, rate, ends)?;
                    self.timed(LEARN, mark);
                }
                let mark = self.mark();
                self.update(loss / s.accumulate as f64);
                self.timed("clip, AdamW, average", mark);
                if let (Some(_), Some(profiler)) = (mark, &mut self.profiler) {
                    profiler.end_step(&self.engine.spans());
                }
                if !self.engine.is_device() {
                    self.durations.push((self.caller.now)() - start);
                }
                self.checkpoint.progress.position += s.batch_size * s.accumulate;
                if let Some(ended) = self.after_update()? {
                    return Ok(Some(ended));
                }
            }
            Ok(None)
        })
    }

    /// Begins or ends looking at where the time goes.
    fn profile_step(&mut self) {
        if let Some(profiler) = &self.profiler {
            let step = self.durations.len() as u64;
            self.engine.observe(profiler.clock(step));
        }
    }

    /// Now, while a profile is made.
    fn mark(&self) -> Option<f64> {
        let profiler = self.profiler.as_ref();
        let profiler = profiler.filter(|p| p.wants(self.durations.len() as u64))?;
        Some(profiler.now())
    }

    fn timed(&mut self, name: &str, since: Option<f64>) {
        if let (Some(start), Some(profiler)) = (since, &mut self.profiler) {
            profiler.add(name, start);
        }
    }

    /// Waits for a GPU and takes over what it knows; nothing to do on the CPU.
    fn sync(&mut self) -> Result<()> {
        let Engine::Device(device) = &mut self.engine else {
            return Ok(());
        };
        let found = device.status()?;
        let progress = &mut self.checkpoint.progress;
        let skipped = found.skipped as u64;
        if skipped > progress.n_skipped {
            let note = format!(
                "up to step {}: {} updates skipped, for their gradients were not finite",
                progress.step,
                skipped - progress.n_skipped
            );
            (self.caller.observer)(&Event::Note(note));
        }
        progress.n_skipped = skipped;
        progress.in_a_row = found.in_a_row as u64;
        (self.last_loss, self.last_norm) = found.last;
        self.since.0 += found.losses.0;
        self.since.1 += found.losses.1 as u64;
        let now = (self.caller.now)();
        let steps = progress.step - self.synced.0;
        if steps > 0 {
            self.durations.push((now - self.synced.1) / steps as f64);
        }
        self.synced = (progress.step, now);
        Ok(())
    }

    /// A step of the optimiser.
    fn update(&mut self, loss: f64) {
        let rate = self.schedule.rate(self.checkpoint.progress.step);
        let norm = (self.engine).update(&mut self.checkpoint, self.settings, rate);
        if self.engine.is_device() {
            return;
        }
        (self.last_loss, self.last_norm) = (loss, norm);
        if norm.is_finite() {
            self.since.0 += loss;
            self.since.1 += 1;
            return;
        }
        let note = format!(
            "step {}: the gradient is not finite, update skipped",
            self.checkpoint.progress.step
        );
        (self.caller.observer)(&Event::Note(note));
    }

    fn after_update(&mut self) -> Result<Option<Ended>> {
        let s = self.settings;
        let step = self.checkpoint.progress.step;
        let stopped = self.caller.stop.load(Ordering::Relaxed);
        let due = [s.log_every, s.validation_frequency, s.checkpoint_frequency];
        if stopped || step == 1 || due.iter().any(|every| step.is_multiple_of(*every)) {
            self.sync()?;
        }
        if self.checkpoint.progress.in_a_row >= BAD_UPDATES_MAX {
            return self.finish(Ended::Diverged).map(Some);
        }
        if step.is_multiple_of(s.log_every) || step == 1 {
            self.log()?;
        }
        if stopped {
            return self.finish(Ended::Interrupted).map(Some);
        }
        if step >= self.planned && s.max_steps.is_some_and(|most| step >= most) {
            return self.finish(Ended::Finished).map(Some);
        }
        if self.profiler.as_ref().is_some_and(Profiler::is_done) {
            return self.finish(Ended::Profiled).map(Some);
        }
        if step.is_multiple_of(s.validation_frequency) {
            self.validate()?;
            if self.checkpoint.progress.patience >= s.patience {
                return self.finish(Ended::Early).map(Some);
            }
        }
        if step.is_multiple_of(s.checkpoint_frequency) {
            self.save()?;
        }
        Ok(None)
    }

    fn log(&mut self) -> Result<()> {
        let now = (self.caller.now)();
        let (losses, steps, start, waited) = std::mem::replace(&mut self.since, (0.0, 0, now, 0.0));
        let seconds = (now - start).max(1e-9);
        let progress = &self.checkpoint.progress;
        let per_step = seconds / steps.max(1) as f64;
        let samples = (self.settings.batch_size * self.settings.accumulate) as f64;
        let rate = self.schedule.rate(progress.step - 1);
        let loss = losses / steps as f64;
        let remaining = self.planned.saturating_sub(progress.step) as f64;
        (self.caller.observer)(&Event::Step {
            step: progress.step,
            planned: self.planned,
            epoch: progress.epoch,
            loss,
            rate,
            norm: self.last_norm,
            samples_per_s: samples / per_step,
            gflops: self.flops as f64 / per_step / 1e9,
            data_wait: waited / seconds,
            eta_s: remaining * per_step,
            device_bytes: self.engine.device_bytes(),
        });
        let mut values = vec![
            ("train/loss", loss),
            ("train/learning_rate", rate),
            ("train/gradient_norm", self.last_norm),
            ("train/samples_per_s", samples / per_step),
            ("train/data_wait", waited / seconds),
        ];
        if let Some(bytes) = self.engine.device_bytes() {
            values.push(("train/gpu_memory_bytes", bytes as f64));
        }
        let step = progress.step;
        self.record(step, &values);
        Ok(())
    }

    fn record_lines(&mut self, step: u64, lines: &[(String, f64)]) {
        let values: Vec<(&str, f64)> = lines.iter().map(|(name, x)| (&name[..], *x)).collect();
        self.record(step, &values);
    }

    /// Adds numbers of a step to the logs.
    fn record(&mut self, step: u64, values: &[(&str, f64)]) {
        let time = (self.caller.wall_time)();
        if let Some(told) = self.files.add(time, step, values) {
            (self.caller.observer)(&Event::Note(told));
        }
    }

    /// Validation losses one step and many steps ahead, and errors at the last of these.
    fn losses(&mut self) -> Result<Losses> {
        let Trials { near, far, steps } = &self.trials;
        let mut loss = |windows: &[u32], steps| {
            self.engine
                .validate(self.problem, &self.checkpoint, windows, steps)
        };
        let (one, squares) = loss(near, 1)?;
        let (many, squares) = if *steps > 1 {
            loss(far, *steps)?
        } else {
            (one, squares)
        };
        Ok(Losses {
            near: one,
            far: many,
            rmse: squares.iter().map(|s| s.sqrt()).collect(),
        })
    }

    /// Losses of validation forecasts; keeps the best checkpoint: the one whose losses one step and
    /// many steps ahead, or whose errors at the last of these, are the smallest beside those of the
    /// start.
    fn validate(&mut self) -> Result<()> {
        self.sync()?;
        let losses = self.losses()?;
        let progress = &mut self.checkpoint.progress;
        let ratio = losses.beside(progress, self.settings.monitor);
        let best = ratio.is_finite() && progress.best_ratio.is_none_or(|least| ratio < least);
        if best {
            self.engine.pull(&mut self.checkpoint)?;
            self.checkpoint.progress.patience = 0;
            self.keep_best(losses.near, ratio);
        } else {
            progress.patience += 1;
        }
        let step = self.checkpoint.progress.step;
        let loss = losses.near;
        (self.caller.observer)(&Event::Validation {
            step,
            loss,
            ratio,
            best,
        });
        let lines = losses.lines(self.problem, self.trials.steps, ratio);
        self.record_lines(step, &lines);
        Ok(())
    }

    /// Keeps the checkpoint as the best so far, with its losses.
    fn keep_best(&mut self, loss: f64, ratio: f64) {
        let progress = &mut self.checkpoint.progress;
        (progress.best_loss, progress.best_ratio) = (Some(loss), Some(ratio));
        if let Some(told) = self.files.keep_best(&self.checkpoint) {
            (self.caller.observer)(&Event::Note(told));
        }
    }

    /// Writes a checkpoint and removes the oldest; false if the disk does not take it.
    fn save(&mut self) -> Result<bool> {
        self.sync()?;
        self.engine.pull(&mut self.checkpoint)?;
        match self.files.save(&self.checkpoint) {
            Ok(path) => {
                (self.caller.observer)(&Event::Saved(&path));
                Ok(true)
            }
            Err(told) => {
                (self.caller.observer)(&Event::Note(told));
                Ok(false)
            }
        }
    }
}
