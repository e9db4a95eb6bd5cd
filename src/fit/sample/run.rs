//! The whole run: start, warm up, draw, collect.

use super::blocks::{Blocks, Next, Pacer};
use super::chain::{Chain, PhaseSettings};
use super::checkpoint::Checkpoint;
use super::pool::{Progress, Threads};
use super::statistics::{Draws, Statistics};
use super::until::{FIRST_LOOK, Look};
use super::windows::n_learning;
use super::{
    Adapt, Independence, Init, Integrator, MetricKind, Observer, Phase, Posterior, Settings,
    Stream, Target,
};
use super::{elsewhere, kernel, pathfinder, start, strictness, until, warmup};
use crate::diagnose::superchains;
use crate::{Error, Result};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A chain that was stuck in warm-up and was moved next to another one.
///
/// It may have been a second mode: a run that restarted a chain should say so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restart {
    /// The chain.
    pub chain: usize,
    /// Warm-up transition at which it was moved.
    pub iteration: usize,
    /// How far its median log density lay below that of the others.
    pub gap: f64,
    /// The chain next to which it was put.
    pub from_chain: usize,
}

/// What a run gives.
#[derive(Clone, Debug)]
pub struct Run {
    /// Number of unconstrained coordinates.
    pub dim: usize,
    /// Draws of every chain, all of the same length.
    pub chains: Vec<Draws>,
    /// Number of the first of these draws: 0, or how many were made before, by the run that this
    /// one continues or by this one, which has forgotten them.
    pub first_draw: usize,
    /// Warm-up draws of every chain, if they were to be kept. Positions are in the final
    /// coordinates; `lp` and `energy` are those of the coordinates at the time.
    pub warmup: Option<Vec<Draws>>,
    /// Step size of every chain after warm-up.
    pub step_sizes: Vec<f64>,
    /// The acceptance that steps were tuned to, if it is more than [`Settings::target_accept`] because
    /// trajectories of the warm-up diverged.
    pub stricter: Option<f64>,
    /// Family of the metric of every chain: never [`MetricKind::Auto`].
    pub metrics: Vec<MetricKind>,
    /// How many rotations made a step of every chain's draws, 0 for leapfrogs, see
    /// [`super::Integrator`].
    pub rotations: Vec<usize>,
    /// Diagonal of the inverse mass matrix of every chain.
    pub variances: Vec<Vec<f64>>,
    /// Transitions of every chain's warm-up. Under [`Settings::end_warmup_early`] it ends at the
    /// first of the later windows, from 12 % of [`Settings::tune`] on, over which the pieces of all
    /// chains have the same means, coordinates stay what they were and the metric changes little,
    /// and a stretch for the step size after it.
    pub warmup_transitions: usize,
    /// Gradients of all chains, warm-up included.
    pub gradients: u64,
    /// Gradients of all chains in start and warm-up.
    pub warmup_gradients: u64,
    /// Whether trajectories of the draws were doubled once more after they had turned. Under
    /// [`PastTurn::Auto`](super::PastTurn::Auto) they are where neighbouring draws of the last two
    /// windows of the warm-up (of the last, where steps are rotations) correlate by more than ⅓ in some
    /// coordinate, and where a step of rotations would be a trajectory by itself though the acceptance
    /// keeps it shorter than the longest.
    pub past_turn: bool,
    /// What was found about independence proposals, of the chain for which they fit worst; none
    /// under [`super::Sampler::Nuts`].
    pub independence: Option<Independence>,
    /// Chains that were restarted in warm-up.
    pub restarts: Vec<Restart>,
    /// The last places of further starts that stayed apart from all draws, at a log density like
    /// theirs, as draws of chains of their own. None unless chains started at random points.
    pub elsewhere: Vec<Draws>,
    /// Whether the draws are as good as [`Settings::until`] asks; `None` when it asks nothing.
    pub until_reached: Option<bool>,
    /// The run was stopped from outside before it was done; all chains are cut to the same number
    /// of draws, perhaps 0.
    pub interrupted: bool,
}

impl Run {
    /// Draws per chain.
    pub fn n_draws(&self) -> usize {
        self.chains.first().map_or(0, Draws::len)
    }

    fn count(&self, flag: impl Fn(&Statistics) -> &[bool]) -> usize {
        let flags = self.chains.iter().flat_map(|c| flag(&c.statistics));
        flags.filter(|&&f| f).count()
    }

    /// Divergences after warm-up, all chains.
    pub fn n_divergences(&self) -> usize {
        self.count(|s| &s.diverging)
    }

    /// Trajectories after warm-up cut at the largest depth, all chains.
    pub fn n_max_treedepth(&self) -> usize {
        self.count(|s| &s.reached_max_treedepth)
    }

    /// Trajectories after warm-up that ended where the energy was not finite, all chains.
    pub fn n_nonfinite(&self) -> usize {
        self.count(|s| &s.nonfinite)
    }

    /// Mean acceptance after warm-up over all chains; NaN without draws.
    pub fn mean_acceptance(&self) -> f64 {
        let rates = self
            .chains
            .iter()
            .flat_map(|c| &c.statistics.acceptance_rate);
        rates.sum::<f64>() / (self.chains.len() * self.n_draws()) as f64
    }

    /// What the steps of the draws were: `leapfrog`, `rotation`, or `both` where chains that adapted
    /// alone differ.
    pub fn integrator(&self) -> &'static str {
        let n = self.rotations.iter().filter(|&&n| n > 0).count();
        match n {
            0 => Integrator::Leapfrog.name(),
            n if n == self.rotations.len() => Integrator::Rotation.name(),
            _ => "both",
        }
    }

    /// Mean leapfrog steps per draw after warm-up over all chains; NaN without draws.
    pub fn mean_steps(&self) -> f64 {
        let steps = self.chains.iter().flat_map(|c| &c.statistics.n_steps);
        steps.sum::<i64>() as f64 / (self.chains.len() * self.n_draws()) as f64
    }
}

/// What all parts of a run share.
pub(crate) struct Session<'a> {
    /// The settings.
    pub(crate) settings: &'a Settings,
    /// Who is told.
    pub(crate) observer: &'a dyn Observer,
    /// Whether to stop.
    pub(crate) stop: &'a AtomicBool,
    /// Who makes transitions here.
    pub(crate) threads: Threads,
    /// What went wrong where transitions are made.
    pub(crate) failed: OnceLock<Error>,
}

/// What changes while a run goes on.
pub(crate) struct State<T> {
    /// The chains.
    pub(crate) chains: Vec<Chain<T>>,
    /// Chains that were restarted so far.
    pub(crate) restarts: Vec<Restart>,
    /// The phase that goes on.
    pub(crate) phase: Phase,
    /// The transition that ends the warm-up, or ended it. Draws are counted from `tune` on all the
    /// same: where a chain stands says which random numbers it takes.
    pub(crate) warmup_end: usize,
    /// Draws of each chain at which it is next seen whether they are good enough.
    pub(crate) next_look: usize,
    /// Whether trajectories of the draws go on after they have turned; known after the warm-up.
    pub(crate) past_turn: bool,
}

impl<T> State<T> {
    /// The transition at which all chains stand.
    pub(crate) fn iteration(&self) -> usize {
        self.chains[0].iteration as usize
    }
}

/// Transitions a chain makes before another may have its thread.
const SLICE: usize = 16;

impl Session<'_> {
    /// Chains at the origin, not yet started.
    pub(crate) fn new_chains<P: Posterior>(&self, posterior: &P) -> Vec<Chain<P::Target>> {
        let settings = self.settings;
        let chain = |index: usize| {
            let stream = Stream {
                seed: settings.seed,
                stream: settings.stream,
                chain: settings.first_chain.wrapping_add(index as u32),
            };
            let mut chain = Chain::new(index, stream, posterior.target(), settings);
            if settings.keep_warmup {
                chain.warmup = Some(Draws::with_capacity(settings.tune, posterior.dim()));
            }
            chain
        };
        // Thousands of them take as long to make as dozens of their draws.
        let mut made: Vec<_> = (0..settings.chains).map(|index| (index, None)).collect();
        self.threads.run_all(&mut made, |(index, made)| {
            *made = Some(chain(*index));
            Progress::Done
        });
        made.into_iter().filter_map(|(_, made)| made).collect()
    }

    /// Advances all chains to `iteration`, showing the blocks on the way; the last one is left to
    /// the caller. False when the run is over before.
    pub(crate) fn advance<P: Posterior>(
        &self,
        posterior: &P,
        state: &mut State<P::Target>,
        pacer: &mut Pacer<'_>,
        iteration: usize,
    ) -> bool {
        let phase = PhaseSettings {
            held: strictness::holds(state, self.settings),
            n_learning: n_learning(self.settings, posterior.dim(), state.iteration()),
            target_accept: strictness::target(state, self.settings),
            ..PhaseSettings::of(
                state.phase,
                self.settings,
                state.iteration(),
                state.past_turn,
            )
        };
        loop {
            let now = state.iteration();
            let next = now.saturating_add(pacer.left).min(iteration);
            if state.phase == Phase::Sampling {
                for chain in &mut state.chains {
                    chain.draws.reserve(next - now, posterior.dim());
                }
            }
            match posterior.remote() {
                None => self.run_until(&mut state.chains, next, &phase),
                Some(remote) => {
                    let made = kernel::advance(&remote, &mut state.chains, next, &phase, self);
                    if let Err(error) = made {
                        // The run is over; the first failure is the one to report.
                        let _ = self.failed.set(error);
                        return false;
                    }
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            pacer.left -= next - now;
            if next >= iteration {
                return true;
            }
            self.show(posterior, state, pacer);
            if pacer.stopped {
                return false;
            }
        }
    }

    /// Advances all chains to `iteration`, or until stopped.
    pub(super) fn run_until<T: Target + Send>(
        &self,
        chains: &mut [Chain<T>],
        iteration: usize,
        phase: &PhaseSettings,
    ) {
        self.threads.run_all(chains, |chain| {
            for _ in 0..SLICE {
                if chain.iteration as usize >= iteration || self.stop.load(Ordering::Relaxed) {
                    return Progress::Done;
                }
                chain.advance(phase, self.observer);
            }
            Progress::More
        });
    }

    /// Shows a block where all chains stand. True when the run goes on.
    pub(crate) fn show<P: Posterior>(
        &self,
        posterior: &P,
        state: &mut State<P::Target>,
        pacer: &mut Pacer<'_>,
    ) -> bool {
        let (done, draws) = match state.phase {
            Phase::Warmup => (state.iteration(), Vec::new()),
            Phase::Sampling => (
                state.iteration() - self.settings.tune,
                state.chains.iter().map(|c| &c.draws).collect(),
            ),
        };
        let save = || Checkpoint::of(posterior, state, self.settings);
        if pacer.show(state.phase, done, draws, &save) {
            let dim = posterior.dim();
            for chain in &mut state.chains {
                // Later looks are at all draws.
                if self.settings.until.is_some() {
                    chain.earlier = chain.all_draws();
                }
                chain.draws.truncate(0, dim);
            }
        }
        !pacer.stopped
    }
}

/// Samples from `posterior`.
///
/// Multinomial NUTS with a windowed warm-up; see [`Settings`] for what can be chosen. The result
/// is the same, bit for bit, for any number of threads. `stop` is looked at before every
/// transition: once true, the run ends with what there is.
///
/// # Errors
///
/// [`crate::ErrorKind::Usage`] for a setting out of range, [`crate::ErrorKind::Numerics`] when no
/// start with a finite log density and slope was found.
pub fn sample<P: Posterior>(
    posterior: &mut P,
    settings: &Settings,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Run> {
    let mut never = |_: &super::Block<'_>| Next::After(usize::MAX);
    sample_in_blocks(posterior, settings, observer, stop, None, &mut never)
}

/// [`sample`], shown in blocks, perhaps going on from a checkpoint.
///
/// `blocks` is called before the first transition, at the ends of the warm-up's windows, at the
/// end of the warm-up and of the run, and in between as often as it asks for ([`Next::After`]).
/// All chains wait for it. Neither blocks nor checkpoints change a draw: with `from` given, the
/// run makes the draws that the first one would have made after it, bit for bit, and may be asked
/// for more or fewer `draws` (counted from the start of the first run) than that one.
///
/// # Errors
///
/// Those of [`sample`]; [`crate::ErrorKind::Usage`] for a checkpoint of other settings,
/// [`crate::ErrorKind::Data`] for one of another posterior.
pub fn sample_in_blocks<P: Posterior>(
    posterior: &mut P,
    settings: &Settings,
    observer: &dyn Observer,
    stop: &AtomicBool,
    from: Option<&Checkpoint>,
    blocks: Blocks<'_>,
) -> Result<Run> {
    settings.check(posterior.dim())?;
    // Looks at the draws have more to share than chains.
    let threads = match settings.until {
        Some(_) => settings.threads,
        None => settings.threads.min(settings.chains),
    };
    let session = Session {
        settings,
        observer,
        stop,
        threads: Threads::new(threads),
        failed: OnceLock::new(),
    };
    if posterior.remote().is_some() {
        kernel::check_sampler(settings.sampler)?;
    }
    let mut state = match from {
        Some(checkpoint) => checkpoint.restore(posterior, &session)?,
        None => begin(posterior, &session)?,
    };
    let first_draw = match state.phase {
        Phase::Warmup => 0,
        Phase::Sampling => state.iteration() - settings.tune,
    };
    let mut pacer = Pacer::new(blocks);
    let go_on = session.show(posterior, &mut state, &mut pacer)
        && (state.phase == Phase::Sampling
            || warmup::warm_up(posterior, &mut state, &session, &mut pacer));
    let mut reached = settings.until.map(|_| false);
    if go_on && (reached.is_some() || state.iteration() < settings.tune + settings.draws) {
        draw(posterior, &mut state, &session, &mut pacer, &mut reached);
    }
    if let Some(error) = session.failed.get() {
        return Err(error.clone());
    }
    let elsewhere = match state.phase {
        Phase::Sampling if !pacer.stopped => elsewhere::elsewhere(posterior, &state, &session),
        _ => Vec::new(),
    };
    let ended = pacer.stopped || reached == Some(true);
    let first_draw = first_draw + pacer.forgotten;
    let mut run = collect(state, posterior.dim(), settings, first_draw, ended);
    run.until_reached = reached;
    run.elsewhere = elsewhere;
    Ok(run)
}

/// Makes the draws: all of them, or until they are good enough.
fn draw<P: Posterior>(
    posterior: &P,
    state: &mut State<P::Target>,
    session: &Session<'_>,
    pacer: &mut Pacer<'_>,
    reached: &mut Option<bool>,
) {
    let settings = session.settings;
    let end = settings.tune + settings.draws;
    loop {
        let next = match settings.until {
            Some(_) => (settings.tune + state.next_look).min(end),
            None => end,
        };
        // A run that goes on from the place of a look begins with it.
        let begun = state.iteration();
        if begun < next && !session.advance(posterior, state, pacer, next) {
            return;
        }
        if let Some(until) = settings.until {
            let chains: Vec<_> = state
                .chains
                .iter()
                .map(|c| (&c.earlier, &c.draws))
                .collect();
            match until::look(&chains, posterior.dim(), until, &session.threads) {
                Look::Reached => *reached = Some(true),
                // A look at the end of a run does not move those of a run that goes on from it.
                Look::Again(n) if state.iteration() == settings.tune + state.next_look => {
                    state.next_look = n;
                }
                Look::Again(_) => {}
            }
        }
        if *reached == Some(true) || state.iteration() >= end {
            if state.iteration() > begun {
                session.show(posterior, state, pacer);
            }
            return;
        }
    }
}

/// Puts every chain at its starting point, with a first metric and step size.
fn begin<P: Posterior>(posterior: &P, session: &Session<'_>) -> Result<State<P::Target>> {
    let (dim, scatter) = (posterior.dim(), posterior.scatter());
    assert_eq!(
        scatter.len(),
        dim,
        "a posterior has one interval of starts per coordinate"
    );
    let settings = session.settings;
    let chains = session.new_chains(posterior);
    let mut chains: Vec<_> = chains.into_iter().map(|chain| (chain, Ok(0))).collect();
    // Many chains start together in superchains, see `diagnose::superchains`.
    let shared = match (settings.adapt, &settings.init) {
        (Adapt::Pooled, Init::Jitter) => superchains(settings.chains),
        _ => None,
    };
    let own = shared.unwrap_or(settings.chains);
    session
        .threads
        .run_all(&mut chains[..own], |(chain, outcome)| {
            let point = &mut chain.space.candidate;
            let target = &mut chain.target;
            *outcome = start::start(point, target, &scatter, settings, chain.stream, chain.index);
            Progress::Done
        });
    let (firsts, others) = chains.split_at_mut(own);
    for (k, (chain, _)) in others.iter_mut().enumerate() {
        let first = &firsts[k % own].0;
        chain.space.candidate.clone_from(&first.space.candidate);
    }
    let started = chains.into_iter().map(|(mut chain, outcome)| {
        chain.gradients += u64::from(outcome?);
        Ok(chain)
    });
    let mut chains: Vec<_> = started.collect::<Result<_>>()?;
    if settings.init == Init::Pathfinder {
        pathfinder::move_chains(&mut chains, session);
    }
    warmup::begin(&mut chains, session);
    Ok(State {
        chains,
        restarts: Vec::new(),
        phase: Phase::Warmup,
        warmup_end: settings.tune,
        next_look: FIRST_LOOK,
        past_turn: false,
    })
}

/// Puts the result together; after an interruption all chains are cut to the same length.
fn collect<T>(
    state: State<T>,
    dim: usize,
    settings: &Settings,
    first_draw: usize,
    ended: bool,
) -> Run {
    let warmup_transitions = match state.phase {
        Phase::Warmup => state.iteration(),
        Phase::Sampling => state.warmup_end,
    };
    let tuned_to = strictness::target(&state, settings);
    let State {
        mut chains,
        restarts,
        past_turn,
        ..
    } = state;
    let cut = |all: Vec<&mut Draws>| {
        let shortest = all.iter().map(|d| d.len()).min().unwrap_or(0);
        all.into_iter().for_each(|d| d.truncate(shortest, dim));
        shortest
    };
    let n_draws = cut(chains.iter_mut().map(|c| &mut c.draws).collect());
    cut(chains
        .iter_mut()
        .filter_map(|c| c.warmup.as_mut())
        .collect());
    let found = chains.iter().filter_map(|c| c.independence);
    let worst = found.max_by(|a, b| {
        let unused = |i: &Independence| !i.used;
        (unused(a).cmp(&unused(b))).then(a.pareto_k.total_cmp(&b.pareto_k))
    });
    let warmup_gradients = chains.iter().map(|c| c.warmup_gradients).sum();
    Run {
        dim,
        warmup: settings.keep_warmup.then(|| {
            let kept = chains.iter_mut().map(|c| c.warmup.take());
            kept.map(Option::unwrap_or_default).collect()
        }),
        step_sizes: chains.iter().map(|c| c.step_size).collect(),
        stricter: (tuned_to > settings.target_accept).then_some(tuned_to),
        metrics: chains.iter().map(|c| c.metric.kind()).collect(),
        rotations: chains.iter().map(|c| c.metric.parts()).collect(),
        variances: chains.iter().map(|c| c.metric.variances(dim)).collect(),
        warmup_transitions,
        gradients: chains.iter().map(|c| c.gradients).sum(),
        warmup_gradients,
        past_turn,
        independence: worst,
        restarts,
        first_draw,
        elsewhere: Vec::new(),
        until_reached: None,
        interrupted: !ended && first_draw + n_draws < settings.draws,
        chains: chains.into_iter().map(|c| c.draws).collect(),
    }
}
