//! Subjects that have nothing in common, sampled one by one.
//!
//! A chain of all of them has to follow the narrowest subject with every step and to turn with the widest; chains of one
//! subject have a step size and a metric of their own. 125 subjects take a third of the processor time.

use super::{StudyFit, starts};
use crate::chains::Ended;
use crate::clock::{Clock, timestamp};
use crate::face::Note;
use crate::progress::{Board, PROGRESS, Progress, State};
use crate::session::Session;
use fitzroy::fit::sample::{Event, Observer, Phase, Run};
use fitzroy::model::Model;
use fitzroy::model::joint::Rewrites;
use fitzroy::run::{self, Caller, CoordinateChoice, Settings, Timing, beside};
use fitzroy::{Error, Result};
use fitzroy_device::Fnv;
use fitzroy_stop_signal::data::Study;
use fitzroy_stop_signal::model::{Pooling, Spec};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

/// Whether the subjects of a session are sampled one by one: on the processor, from the beginning, as many draws as are
/// asked for. Else chains of all of them are, with the same posterior.
pub(super) fn is_possible(fit: &StudyFit<'_>, session: &Session) -> bool {
    let (settings, sampler) = (&session.settings, &session.settings.sampler);
    fit.spec.pooling == Pooling::None
        && fit.study.subjects.len() > 1
        && session.from.is_none()
        && !settings.device.is_machine()
        && !settings.prior_only
        && settings.initvals.is_empty()
        && sampler.until.is_none()
        && !sampler.keep_warmup
}

/// Samples the subjects, on as many threads as there are; what is left when `stop` turns true are those that were done.
pub(super) fn draw(fit: &StudyFit<'_>, session: &mut Session, stop: &AtomicBool) -> Result<Ended> {
    let settings = Settings {
        coordinates: CoordinateChoice::AsWritten,
        rewrites: Rewrites::NONE,
        ..session.settings.clone()
    };
    let n = fit.study.subjects.len();
    session.face.tell(Note::Remark(&format!(
        "{n} subjects have nothing in common: each is sampled by chains of its own"
    )));
    if let Some(folder) = &mut session.folder {
        folder.begin_again()?;
    }
    let sampler = &settings.sampler;
    // Every chain stands for those of all subjects.
    let board = Arc::new(Board::new(
        sampler.chains,
        0,
        n * (sampler.tune + sampler.draws),
    ));
    let display = session.face.display(&board.snapshot());
    let file = session.folder.as_mut().map(|f| f.replaced(PROGRESS));
    let mut progress = Progress::with_file(Arc::clone(&board), display, file);
    let began = session.clock.seconds();
    let subjects = Subjects {
        fit,
        model: Model::parse(&fit.spec.text())?,
        settings: &settings,
        tally: Tally::new(&board, sampler.chains),
        clock: &session.clock,
        stop,
    };
    let ran = subjects.sample(n);
    board.set_state(match &ran {
        Err(_) => State::Failed,
        Ok(runs) if runs.len() < n => State::Interrupted,
        Ok(_) => State::Finished,
    });
    progress.end_display();
    let (done, runs): (Vec<usize>, Vec<Run>) = ran?.into_iter().unzip();
    if runs.is_empty() {
        let message = "stopped before the first subject was done: nothing was saved";
        session.face.tell(Note::Notice(message));
        return Ok(Ended::Early);
    }
    let is_cut = runs.len() < n;
    if is_cut {
        session.face.tell(Note::Notice(&format!(
            "stopped after {} of {n} subjects, whose draws are kept",
            runs.len()
        )));
        let study = fit.study.some(|k| done.contains(&k));
        session.subject = run::bind(&subjects.model, &fit.spec.data(&study), &settings)?;
    }
    let timing = timing(&runs, session.clock.seconds() - began);
    let now = || session.clock.seconds();
    let caller = Caller {
        now: &now,
        created_at: &timestamp(),
        ..Caller::silent()
    };
    let mut outcome = beside(&session.subject, runs, &settings, &caller, timing)?;
    outcome.run.interrupted = is_cut;
    session.settings = settings;
    session.stages.end("chains", &session.clock);
    Ok(Ended::Drawn(Box::new(outcome), progress))
}

/// The seconds of all subjects, shared by gradients between warm-up and draws.
fn timing(runs: &[Run], seconds: f64) -> Timing {
    let total: u64 = runs.iter().map(|r| r.gradients).sum();
    let warmup: u64 = runs.iter().map(|r| r.warmup_gradients).sum();
    let warmup = seconds * warmup as f64 / total.max(1) as f64;
    Timing {
        warmup,
        sampling: seconds - warmup,
        total: seconds,
        ..Timing::default()
    }
}

/// The subjects of a study, to be sampled.
struct Subjects<'a> {
    fit: &'a StudyFit<'a>,
    model: Model,
    settings: &'a Settings,
    tally: Tally<'a>,
    clock: &'a Clock,
    stop: &'a AtomicBool,
}

impl Subjects<'_> {
    /// Runs of the first `n`, as far as they came to their end, in their order.
    fn sample(&self, n: usize) -> Result<Vec<(usize, Run)>> {
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let done: Mutex<Vec<(usize, Result<Run>)>> = Mutex::new(Vec::new());
        let work = || {
            while !self.stop.load(Relaxed) && !failed.load(Relaxed) {
                let k = next.fetch_add(1, Relaxed);
                if k >= n {
                    return;
                }
                let ran = self.one(k).transpose();
                let Some(ran) = ran else { return };
                failed.fetch_or(ran.is_err(), Relaxed);
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((k, ran));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.settings.sampler.threads.min(n) {
                scope.spawn(work);
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(k, _)| *k);
        done.into_iter().map(|(k, ran)| Ok((k, ran?))).collect()
    }

    /// The run of subject `k`; none if it was stopped. Its draws depend on its name, whatever other subjects there are.
    fn one(&self, k: usize) -> Result<Option<Run>> {
        let StudyFit {
            spec,
            study,
            n_chains,
            ..
        } = *self.fit;
        let name = &study.subjects[k];
        let study = study.some(|i| i == k);
        let mut settings = self.settings.clone();
        (settings.predictive, settings.log_likelihood) = (false, false);
        settings.sampler.threads = 1;
        settings.sampler.seed ^= Fnv::of(name.as_bytes());
        let ran = self.run(spec, &study, n_chains, settings);
        let outcome = ran.map_err(|e: Error| e.context(format!("subject {name}")))?;
        let run = outcome.into_run();
        Ok((!run.interrupted).then_some(run))
    }

    fn run(
        &self,
        spec: &Spec,
        study: &Study,
        n_chains: usize,
        mut settings: Settings,
    ) -> Result<run::Outcome> {
        let joint = run::bind(&self.model, &spec.data(study), &settings)?;
        settings.sampler.init = starts(spec, study, &joint, n_chains, &settings);
        let now = || self.clock.seconds();
        let part = Part::of(&self.tally);
        let caller = Caller {
            observer: &part,
            stop: self.stop,
            now: &now,
            created_at: "",
        };
        let ran = run::run(&joint, &settings, &caller);
        if let Ok(outcome) = &ran {
            part.ends(settings.sampler.tune - outcome.run.warmup_transitions);
        }
        ran
    }
}

/// What the chains of all subjects have done, by their number.
struct Tally<'a> {
    board: &'a Board,
    chains: Vec<Counts>,
}

/// Transitions, divergences and steps.
#[derive(Default)]
struct Counts {
    transitions: AtomicUsize,
    divergences: AtomicUsize,
    leapfrogs: AtomicU64,
}

impl<'a> Tally<'a> {
    fn new(board: &'a Board, n_chains: usize) -> Self {
        let chains = (0..n_chains).map(|_| Counts::default()).collect();
        Tally { board, chains }
    }
}

/// One subject's share of a [`Tally`]: what was counted of it so far.
struct Part<'a> {
    tally: &'a Tally<'a>,
    counted: Vec<Counts>,
}

impl<'a> Part<'a> {
    fn of(tally: &'a Tally<'a>) -> Self {
        let counted = tally.chains.iter().map(|_| Counts::default()).collect();
        Part { tally, counted }
    }

    /// The subject is done; it did not need `spared` transitions of its warm-up.
    fn ends(&self, spared: usize) {
        for chain in &self.tally.chains {
            chain.transitions.fetch_add(spared, Relaxed);
        }
    }
}

impl Observer for Part<'_> {
    fn event(&self, event: &Event<'_>) {
        let (mine, all) = (&self.counted[event.chain], &self.tally.chains[event.chain]);
        let divergences = match event.phase {
            Phase::Warmup => 0,
            Phase::Sampling => event.divergences,
        };
        let more = divergences - mine.divergences.swap(divergences, Relaxed).min(divergences);
        let divergences = all.divergences.fetch_add(more, Relaxed) + more;
        let more = event.leapfrogs
            - mine
                .leapfrogs
                .swap(event.leapfrogs, Relaxed)
                .min(event.leapfrogs);
        let leapfrogs = all.leapfrogs.fetch_add(more, Relaxed) + more;
        let done = all.transitions.fetch_add(1, Relaxed) + 1;
        let board = self.tally.board;
        board.update(
            event.chain,
            false,
            done,
            divergences,
            event.step_size,
            leapfrogs,
        );
    }
}
