//! Warm-up: windows at whose ends all chains meet, and metric, step size and coordinates change.

use super::blocks::Pacer;
use super::chain::Chain;
use super::estimate::{self, Wish};
use super::flights::{self, FIRST_FLIGHT};
use super::independence::{self, Independence, Proposal, Scratch};
use super::metric::Metric;
use super::mirrors;
use super::past_turn;
use super::pool::Progress;
use super::rotation;
use super::run::{Restart, Session, State};
use super::settled;
use super::step_size::{median, medians_of_others};
use super::strictness;
use super::trajectory::Point;
use super::vector::{self, Vector};
use super::windows::{Pooled, pool_windows, recoordinate};
use super::{Adapt, MetricKind, Phase, Posterior, Sampler, Stream, Target, normals};
use crate::rng::{Purpose, Rng};
use std::sync::Arc;

/// Ends of the windows, as fractions of the warm-up. The rest tunes the step size alone.
///
/// While chains travel towards the posterior, the metric of where they were is worse than none: with
/// long windows they would go on in it for hundreds of long trajectories. Hence many short ones first.
const ENDS: [f64; 15] = [
    0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.10, 0.12, 0.16, 0.22, 0.32, 0.60, 0.85,
];
/// Coordinates may change at window ends up to this fraction.
const LAST_RECOORDINATION: f64 = 0.32;
/// Chains are compared at window ends from this fraction on; earlier all of them still travel.
const FIRST_COMPARISON: f64 = 0.12;
/// Steps may be rotations from this fraction on: before, draws are few and far from the posterior.
const FIRST_ROTATION: f64 = 0.05;
/// A dense metric is taken for the sake of rotations where it leaves less than this part of what another
/// one does.
const LESS: f64 = 0.5;
/// A window shorter than this is joined to the next.
const MIN_WINDOW: usize = 5;

/// Trajectories are kept short up to this fraction.
const EARLY: f64 = 0.08;

/// The transition up to which trajectories are kept short: the end of a window.
pub(crate) fn early_end(tune: usize) -> usize {
    let ends = window_ends(tune);
    let early = ends.iter().rfind(|(_, fraction)| *fraction <= EARLY);
    early.map_or(0, |(end, _)| *end)
}

/// The first transition, the end and the nominal fraction of the window that transition `iteration` of a
/// warm-up is in; none after the last.
pub(crate) fn window_of(tune: usize, iteration: usize) -> Option<(usize, usize, f64)> {
    let ends = window_ends(tune);
    let at = ends.iter().position(|(end, _)| iteration < *end)?;
    let begin = at.checked_sub(1).map_or(0, |before| ends[before].0);
    Some((begin, ends[at].0, ends[at].1))
}

/// The first transition and the end of the window that transition `iteration` of a warm-up is in, or of
/// what comes after the last one.
pub(crate) fn stretch_of(tune: usize, iteration: usize) -> (usize, usize) {
    let last = || window_ends(tune).last().map_or(0, |(end, _)| *end);
    window_of(tune, iteration).map_or_else(|| (last(), tune), |(begin, end, _)| (begin, end))
}

/// The window ends of a warm-up of `tune` transitions, with their nominal fractions.
fn window_ends(tune: usize) -> Vec<(usize, f64)> {
    let mut ends = Vec::new();
    let mut last = 0;
    for fraction in ENDS {
        let end = (fraction * tune as f64).ceil() as usize;
        if end >= last + MIN_WINDOW && end < tune {
            ends.push((end, fraction));
            last = end;
        }
    }
    ends
}

/// Gives every chain its first metric and step size.
pub(crate) fn begin<T: Target + Send>(chains: &mut [Chain<T>], session: &Session<'_>) {
    first_metric(chains, session);
    search_all(chains, session, 1.0);
}

/// Runs what is left of the warm-up of all chains; leaves every chain with its final metric and
/// step size. False when the run is over before.
pub(crate) fn warm_up<P: Posterior>(
    posterior: &mut P,
    state: &mut State<P::Target>,
    session: &Session<'_>,
    pacer: &mut Pacer<'_>,
) -> bool {
    let settings = session.settings;
    let ends = window_ends(settings.tune);
    let last_change = ends
        .iter()
        .rfind(|e| e.1 <= LAST_RECOORDINATION)
        .map(|e| e.0);
    // A checkpoint at the end of a window was made after its estimates.
    let begun = state.iteration();
    let plates = posterior.plates();
    for &(end, fraction) in ends.iter().filter(|e| e.0 > begun) {
        if end >= state.warmup_end {
            break;
        }
        if !reach(posterior, state, session, pacer, end) {
            return false;
        }
        let chains = &mut state.chains;
        let compared = fraction >= FIRST_COMPARISON;
        if compared {
            state.restarts.extend(restart_stuck(chains, end));
        }
        let mut moved = false;
        let mut pooled = None;
        if settings.adapt == Adapt::Pooled && last_change.is_some_and(|last| end <= last) {
            let windows = pool_windows(chains);
            let last = last_change == Some(end);
            moved = recoordinate(posterior, chains, session, &windows, last);
            pooled = Some(windows);
        }
        let folded = mirrors::bring_together(posterior, chains, settings.adapt);
        pooled = pooled.filter(|_| !moved && !folded);
        let may_end = settings.end_warmup_early && compared && !moved;
        let agreed = may_end && settled::agree(chains, settings, end);
        let before = Arc::clone(&chains[0].metric);
        if fraction >= FIRST_FLIGHT {
            flights::begin(chains, settings.sampler);
        }
        let wish = Wish {
            kind: settings.metric,
            gradient_cost: posterior.gradient_cost(),
            plates: &plates,
        };
        match settings.adapt {
            Adapt::Pooled => {
                let pooled = pooled.unwrap_or_else(|| pool_windows(chains));
                adapt_pooled(chains, session, &pooled, (wish, fraction));
            }
            Adapt::PerChain => adapt_alone(chains, session, (wish, fraction)),
        }
        flights::centre(chains, settings.adapt);
        if agreed && settled::is_kept(&before, &chains[0].metric, posterior.dim()) {
            state.warmup_end = settled::end(end).min(settings.tune);
        }
        if !session.show(posterior, state, pacer) {
            return false;
        }
    }
    let end = state.warmup_end;
    if !flights::advance(session, posterior, state, pacer, end) {
        return false;
    }
    finish(state, session);
    session.show(posterior, state, pacer)
}

/// Brings all chains to the end of a window; false when the run is over before.
fn reach<P: Posterior>(
    posterior: &mut P,
    state: &mut State<P::Target>,
    session: &Session<'_>,
    pacer: &mut Pacer<'_>,
    end: usize,
) -> bool {
    let turn = strictness::turn(state, session.settings).filter(|at| *at > state.iteration());
    let mut stops = turn.into_iter().chain([end]);
    stops.all(|until| flights::advance(session, posterior, state, pacer, until))
}

/// Freezes metric, step size and the reach of trajectories, and makes proposals where they are asked
/// for.
fn finish<T: Target + Send>(state: &mut State<T>, session: &Session<'_>) {
    if session.settings.sampler == Sampler::Independence {
        make_proposals(&mut state.chains, session);
    }
    flights::begin(&mut state.chains, session.settings.sampler);
    let pooled = pooled_step_size(&state.chains);
    state.past_turn = past_turn::chosen(&state.chains, pooled, session.settings);
    for chain in &mut state.chains {
        chain
            .flights
            .iter_mut()
            .for_each(|flights| flights.freeze());
        chain.step_size = match session.settings.adapt {
            Adapt::Pooled => pooled,
            Adapt::PerChain => chain.step.average(),
        };
        chain.windows = Default::default();
        chain.warmup_gradients = chain.gradients;
        chain.divergences = 0;
        chain.iteration = session.settings.tune as u32;
    }
    state.phase = Phase::Sampling;
}

/// Independence proposals from the last windows, judged by weights of draws of their own.
fn make_proposals<T: Target + Send>(chains: &mut [Chain<T>], session: &Session<'_>) {
    let judged = |chain: &mut Chain<T>, rows: &[f64]| {
        let dim = chain.target.dim();
        let Some(proposal) = Proposal::fit(rows, dim) else {
            return (Independence::NONE, None);
        };
        let Stream {
            seed,
            stream,
            chain: own,
        } = chain.stream;
        // No transition ever reaches this counter.
        let mut rng = Rng::new(seed, stream, own, u32::MAX, Purpose::Propose);
        let weights = proposal.log_weights(&mut chain.target, &mut rng);
        chain.gradients += weights.len() as u64;
        let found = independence::judge(&weights);
        (found, found.used.then(|| Arc::new(proposal)))
    };
    let set = |chain: &mut Chain<T>, (found, proposal): (Independence, Option<Arc<Proposal>>)| {
        let dim = chain.target.dim();
        chain.independence = Some(found);
        chain.proposal = proposal.map(|p| (p, Box::new(Scratch::new(dim))));
    };
    match session.settings.adapt {
        Adapt::Pooled => {
            let (rows, _) = pool_windows(chains);
            let found = judged(&mut chains[0], &rows);
            chains
                .iter_mut()
                .for_each(|chain| set(chain, found.clone()));
        }
        Adapt::PerChain => session.threads.run_all(chains, |chain| {
            let (rows, _) = pool_windows(std::slice::from_ref(chain));
            let found = judged(chain, &rows);
            set(chain, found);
            Progress::Done
        }),
    }
}

/// Sets the first metric from the slopes at the starting points.
fn first_metric<T: Target>(chains: &mut [Chain<T>], session: &Session<'_>) {
    let slopes = |chain: &Chain<T>| -> Vec<f64> {
        let gradient = chain.space.candidate.gradient.as_flattened();
        gradient[..chain.target.dim()]
            .iter()
            .map(|g| g.abs())
            .collect()
    };
    if session.settings.adapt == Adapt::PerChain {
        for chain in chains {
            chain.metric = Arc::new(estimate::first(&slopes(chain)));
        }
        return;
    }
    let n = chains.len() as f64;
    let mut mean = vec![0.0; chains[0].target.dim()];
    for chain in chains.iter() {
        for (m, g) in mean.iter_mut().zip(slopes(chain)) {
            *m += g / n;
        }
    }
    let metric = Arc::new(estimate::first(&mean));
    for chain in chains {
        chain.metric = Arc::clone(&metric);
    }
}

/// Searches the step size of every chain from `guess`.
fn search_all<T: Target + Send>(chains: &mut [Chain<T>], session: &Session<'_>, guess: f64) {
    session.threads.run_all(chains, |chain| {
        chain.search_step_size(guess);
        Progress::Done
    });
}

/// The median of the chains' averaged step sizes, those of stuck chains left out.
fn pooled_step_size<T: Target>(chains: &[Chain<T>]) -> f64 {
    let logs = |all: bool| -> Vec<f64> {
        let used = chains.iter().filter(|c| all || c.stuck == 0);
        used.map(|c| libm::log(c.step.average())).collect()
    };
    let moving = logs(false);
    libm::exp(median(if moving.is_empty() {
        logs(true)
    } else {
        moving
    }))
}

/// Metric and step size from the `pooled` windows of all chains.
fn adapt_pooled<T: Target + Send>(
    chains: &mut [Chain<T>],
    session: &Session<'_>,
    (positions, gradients): &Pooled,
    at: (Wish<'_>, f64),
) {
    strictness::judge(chains, session.settings, at.1);
    let dim = chains[0].target.dim();
    let step_size = pooled_step_size(chains);
    let before = &chains[0].metric;
    let metric = learnt((positions, gradients, dim), before, session, at).map(Arc::new);
    for chain in chains.iter_mut() {
        if let Some(metric) = &metric {
            chain.metric = Arc::clone(metric);
        }
        next_window(chain);
    }
    search_all(chains, session, step_size);
}

/// Metric and step size of every chain from its own windows.
fn adapt_alone<T: Target + Send>(
    chains: &mut [Chain<T>],
    session: &Session<'_>,
    at: (Wish<'_>, f64),
) {
    session.threads.run_all(chains, |chain| {
        let (positions, gradients) = pool_windows(std::slice::from_ref(chain));
        let dim = chain.target.dim();
        let before = &chain.metric;
        if let Some(metric) = learnt((&positions, &gradients, dim), before, session, at) {
            chain.metric = Arc::new(metric);
        }
        next_window(chain);
        chain.search_step_size(chain.step.average());
        Progress::Done
    });
}

/// The metric of these draws, with rotations where they suit it; `None` of too few draws.
fn learnt(
    draws: (&[f64], &[f64], usize),
    before: &Metric,
    session: &Session<'_>,
    (wish, fraction): (Wish<'_>, f64),
) -> Option<Metric> {
    let (positions, gradients, dim) = draws;
    let metric = estimate::estimate(positions, gradients, dim, wish, before)?;
    if fraction < FIRST_ROTATION {
        return Some(metric);
    }
    let suited = |metric: &Metric| rotation::suited(metric, draws, session.settings);
    let found = suited(&metric);
    // What this metric leaves of the force, a dense one may not.
    let ask = found.as_ref().is_none_or(|found| found.metric.parts() > 1);
    let dense = wish.dense(dim, positions.len() / dim);
    let dense = dense.filter(|_| ask && metric.kind() != MetricKind::Dense);
    let other = dense.and_then(|wish| {
        let metric = estimate::estimate(positions, gradients, dim, wish, before)?;
        suited(&metric)
    });
    let best = match (found, other) {
        (Some(found), Some(other)) if other.left > LESS * found.left => Some(found),
        (found, other) => other.or(found),
    };
    Some(best.map_or(metric, |best| best.metric))
}

/// The present window becomes the previous one.
fn next_window<T>(chain: &mut Chain<T>) {
    chain.windows.swap(0, 1);
    chain.windows[0].clear();
}

/// Leaves out chains that lie far below the others, and restarts those that did so twice.
///
/// Far below: the median log density of the window is more than 10 √(dim/2) under the median of
/// the other chains' medians; √(dim/2) is the standard deviation of a normal log density.
fn restart_stuck<T: Target>(chains: &mut [Chain<T>], iteration: usize) -> Vec<Restart> {
    let dim = chains[0].target.dim();
    let allowed = 10.0 * (dim as f64 / 2.0).sqrt();
    let medians: Vec<f64> = chains
        .iter()
        .map(|c| median(c.windows[0].log_densities.clone()))
        .collect();
    let others = medians_of_others(&medians);
    let gaps: Vec<f64> = others.iter().zip(&medians).map(|(o, m)| o - m).collect();
    // Not for NaN, when there is no other chain.
    let far_below = |i: usize| gaps[i] > allowed;
    let mut restarts = Vec::new();
    for i in 0..chains.len() {
        if !far_below(i) {
            chains[i].stuck = 0;
            continue;
        }
        chains[i].stuck += 1;
        if chains[i].stuck >= 2 && !chains[i].restarted {
            let Some(donor) = (0..chains.len()).find(|&j| !far_below(j)) else {
                continue;
            };
            let from = chains[donor].space.candidate.clone();
            move_near(&mut chains[i], &from);
            restarts.push(Restart {
                chain: i,
                iteration,
                gap: gaps[i],
                from_chain: donor,
            });
        }
    }
    restarts
}

/// Puts a chain near `from`: half a standard deviation of the metric away, less if that is not
/// finite. It stays out of the pool until its old windows are gone.
fn move_near<T: Target>(chain: &mut Chain<T>, from: &Point) {
    let dim = chain.target.dim();
    let mut noise = vector::zeros(dim);
    let key = Stream { ..chain.stream };
    // No step size search ever reaches this counter.
    normals::fill(&mut noise, dim, key, u32::MAX, Purpose::Adapt);
    let mut shift: Vector = vector::zeros(dim);
    chain.metric.spread(&noise, &mut shift);
    chain.restarted = true;
    chain.windows = Default::default();
    for size in [0.5, 0.05, 0.0] {
        let point = &mut chain.space.candidate;
        point.position.copy_from_slice(&from.position);
        vector::axpy(size, &shift, &mut point.position);
        chain.gradients += 1;
        if point.evaluate(&mut chain.target) {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_and_leave_a_tail_for_the_step_size() {
        let ends = |tune| window_ends(tune).iter().map(|e| e.0).collect::<Vec<_>>();
        let long = [
            10, 20, 30, 40, 50, 60, 70, 80, 100, 120, 160, 220, 320, 600, 850,
        ];
        assert_eq!(ends(1000), long);
        assert_eq!(ends(100), [5, 10, 16, 22, 32, 60, 85]);
        assert_eq!(ends(20), [5, 12, 17]);
        assert!(ends(0).is_empty() && ends(1).is_empty() && ends(5).is_empty());
    }
}
