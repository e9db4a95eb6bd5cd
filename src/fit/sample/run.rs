//! The whole run: start, warm up, draw, collect.

use super::chain::{Chain, PhaseSettings};
use super::pool::{Progress, run_all};
use super::statistics::{Draws, Statistics};
use super::{MetricKind, Observer, Phase, Posterior, Settings, Stream, Target, start, warmup};
use crate::Result;
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
    /// Warm-up draws of every chain, if they were to be kept. Positions are in the final
    /// coordinates; `lp` and `energy` are those of the coordinates at the time.
    pub warmup: Option<Vec<Draws>>,
    /// Step size of every chain after warm-up.
    pub step_sizes: Vec<f64>,
    /// Family of the metric of every chain: never [`MetricKind::Auto`].
    pub metrics: Vec<MetricKind>,
    /// Diagonal of the inverse mass matrix of every chain.
    pub variances: Vec<Vec<f64>>,
    /// Gradients of all chains, warm-up included.
    pub gradients: u64,
    /// Gradients of all chains in start and warm-up.
    pub warmup_gradients: u64,
    /// Chains that were restarted in warm-up.
    pub restarts: Vec<Restart>,
    /// The run was stopped early; all chains are cut to the same number of draws, perhaps 0.
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
}

/// Transitions a chain makes before another may have its thread.
const SLICE: usize = 16;

impl Session<'_> {
    /// Advances all chains to `iteration`, or until stopped.
    pub(crate) fn run_until<T: Target + Send>(
        &self,
        chains: &mut [Chain<T>],
        iteration: usize,
        phase: &PhaseSettings,
    ) {
        run_all(chains, self.settings.threads, |chain| {
            for _ in 0..SLICE {
                if chain.iteration as usize >= iteration || self.stop.load(Ordering::Relaxed) {
                    return Progress::Done;
                }
                chain.advance(phase, self.observer);
            }
            Progress::More
        });
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
    settings.check(posterior.dim())?;
    let session = Session {
        settings,
        observer,
        stop,
    };
    let mut chains = start_chains(posterior, &session)?;
    let restarts = warmup::warm_up(posterior, &mut chains, &session);
    let dim = posterior.dim();
    if !stop.load(Ordering::Relaxed) {
        for chain in &mut chains {
            chain.draws = Draws::with_capacity(settings.draws, dim);
        }
        let phase = PhaseSettings {
            phase: Phase::Sampling,
            start: settings.tune,
            total: settings.draws,
            max_depth: settings.max_treedepth,
            target_accept: settings.target_accept,
        };
        session.run_until(&mut chains, settings.tune + settings.draws, &phase);
    }
    Ok(collect(chains, dim, restarts, settings))
}

/// Makes the chains and puts each at its starting point.
fn start_chains<P: Posterior>(
    posterior: &P,
    session: &Session<'_>,
) -> Result<Vec<Chain<P::Target>>> {
    let settings = session.settings;
    let (dim, centre) = (posterior.dim(), posterior.centre());
    assert_eq!(
        centre.len(),
        dim,
        "a posterior's centre has one number per coordinate"
    );
    let mut chains: Vec<_> = (0..settings.chains)
        .map(|index| {
            let stream = Stream {
                seed: settings.seed,
                stream: settings.stream,
                chain: settings.first_chain.wrapping_add(index as u32),
            };
            let mut chain = Chain::new(index, stream, posterior.target(), settings.max_treedepth);
            if settings.keep_warmup {
                chain.warmup = Some(Draws::with_capacity(settings.tune, dim));
            }
            (chain, Ok(0))
        })
        .collect();
    run_all(&mut chains, settings.threads, |(chain, outcome)| {
        let point = &mut chain.space.candidate;
        let target = &mut chain.target;
        *outcome = start::start(point, target, &centre, settings, chain.stream, chain.index);
        Progress::Done
    });
    let started = chains.into_iter().map(|(mut chain, outcome)| {
        chain.gradients += u64::from(outcome?);
        Ok(chain)
    });
    started.collect()
}

/// Puts the result together; after an interruption all chains are cut to the same length.
fn collect<T>(
    mut chains: Vec<Chain<T>>,
    dim: usize,
    restarts: Vec<Restart>,
    settings: &Settings,
) -> Run {
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
    let warmup_gradients = chains.iter().map(|c| c.warmup_gradients).sum();
    Run {
        dim,
        warmup: settings.keep_warmup.then(|| {
            let kept = chains.iter_mut().map(|c| c.warmup.take());
            kept.map(Option::unwrap_or_default).collect()
        }),
        step_sizes: chains.iter().map(|c| c.step_size).collect(),
        metrics: chains.iter().map(|c| c.metric.kind()).collect(),
        variances: chains.iter().map(|c| c.metric.variances(dim)).collect(),
        gradients: chains.iter().map(|c| c.gradients).sum(),
        warmup_gradients,
        restarts,
        interrupted: n_draws < settings.draws,
        chains: chains.into_iter().map(|c| c.draws).collect(),
    }
}
