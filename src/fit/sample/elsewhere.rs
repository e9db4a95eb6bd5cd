//! Further starts, after the draws: whether they lead to places that no chain visited.
//!
//! Chains agree if all of them started near the same one of several modes, which for four chains
//! and two equal modes happens in one run of eight. So some more starts are made, from the same
//! intervals as those of the chains, and go on with the metric of the draws. A start that comes to
//! the draws ends there, mostly within ten transitions. One that stays apart, at a log density like
//! that of the draws, has found a mode that they miss.
//!
//! "At the draws" is within the range of every coordinate and of the log density of all draws,
//! widened by a tenth on either side. A start has stayed apart if none of its last [`LAST`] places
//! is there, and if the median of their log densities is at most [`GAP`] nats below that of the
//! draws: a mode of the same shape then has a quarter of a percent of their mass, or more.

use super::chain::{Chain, PhaseSettings};
use super::pool::Threads;
use super::run::{Session, State};
use super::statistics::Draws;
use super::step_size::median;
use super::{Init, Phase, Posterior, Scatter, Silent, Stream, start};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

/// Starts of chains and further ones, together.
const STARTS: usize = 12;
/// Draws of all chains that it takes to know where they are.
const ENOUGH: usize = 400;
/// Transitions of a start, at most.
const MOST: usize = 60;
/// Transitions between two looks.
const STEP: usize = 5;
/// First transitions, whose step size is that found at the start if it is smaller than that of the
/// draws.
const SEARCHED: usize = 15;
/// Last transitions, which show where a start stayed.
const LAST: usize = 30;
/// Nats below the draws that leave too little mass to speak of.
const GAP: f64 = 6.0;
/// Share of the range of the draws by which it is widened.
const MARGIN: f64 = 0.1;
/// Depth of the trees, at most.
const DEPTH: u32 = 6;
/// Gradients that a start may take for its way to a mode, and for each transition, as often as
/// those of the draws took on average. One that needs more comes from far, and tells nothing.
const WAY: f64 = 500.0;
const DEAR: f64 = 1.5;

/// The last places of each start that stayed apart from the draws.
pub(super) fn elsewhere<P: Posterior>(
    posterior: &P,
    state: &State<P::Target>,
    session: &Session<'_>,
) -> Vec<Draws> {
    let settings = session.settings;
    let n_draws: usize = state.chains.iter().map(|c| c.draws.len()).sum();
    let further = STARTS.saturating_sub(settings.chains);
    let stopped = session.stop.load(Ordering::Relaxed);
    let given = matches!(settings.init, Init::Points(_));
    // Another number of chains would be another kernel, which takes longer to compile than to run.
    let given = given || posterior.remote().is_some();
    if n_draws < ENOUGH || further == 0 || given || stopped {
        return Vec::new();
    }
    let visited = Visited::by(&state.chains, posterior.dim());
    let session = &Session {
        settings,
        observer: &Silent,
        stop: session.stop,
        threads: Threads::new(settings.threads.min(further)),
        failed: OnceLock::new(),
    };
    let mut phase = PhaseSettings {
        start: 0,
        ..PhaseSettings::of(Phase::Sampling, settings, settings.tune, false)
    };
    phase.reach.max_depth = phase.reach.max_depth.min(DEPTH);
    let of_draws = |c: &Chain<P::Target>| c.gradients - c.warmup_gradients;
    let gradients: u64 = state.chains.iter().map(of_draws).sum();
    let transitions = (state.iteration() - settings.tune) * state.chains.len();
    let each = gradients as f64 / transitions as f64;
    let most = (WAY + DEAR * MOST as f64 * each) as u64;
    let scatter = posterior.scatter();
    let one = |k: usize| {
        begun(
            posterior,
            &state.chains[k % state.chains.len()],
            session,
            &scatter,
            k,
        )
    };
    let mut apart: Vec<Chain<P::Target>> = (0..further).filter_map(one).collect();
    for next in (STEP..=MOST).step_by(STEP) {
        if next > SEARCHED {
            // The steps of the draws suit a place of the same shape.
            let like = |chain: &Chain<P::Target>| &state.chains[chain.index % state.chains.len()];
            apart
                .iter_mut()
                .for_each(|chain| chain.step_size = like(chain).step_size);
        }
        session.run_until(&mut apart, next, &phase);
        if session.stop.load(Ordering::Relaxed) {
            return Vec::new();
        }
        apart.retain(|chain| chain.gradients <= most && !visited.has(&chain.draws, STEP));
    }
    let last = apart
        .iter()
        .map(|chain| chain.draws.range(MOST - LAST..MOST));
    last.filter(|last| visited.is_like(last)).collect()
}

/// A further start, with metric and step of one of the chains; none if it has no density.
fn begun<P: Posterior>(
    posterior: &P,
    like: &Chain<P::Target>,
    session: &Session<'_>,
    scatter: &[Scatter],
    k: usize,
) -> Option<Chain<P::Target>> {
    let settings = session.settings;
    // No chain ever has these numbers.
    let chain = u32::MAX - k as u32;
    let stream = Stream {
        chain,
        ..like.stream
    };
    let mut chain = Chain::new(k, stream, posterior.target(), settings);
    chain.draws = Draws::with_capacity(MOST, posterior.dim());
    chain.metric.clone_from(&like.metric);
    let (point, target) = (&mut chain.space.candidate, &mut chain.target);
    start::start(point, target, scatter, settings, stream, k).ok()?;
    chain.search_step_size(like.step_size);
    chain.step_size = chain.step.current().min(like.step_size);
    Some(chain)
}

/// Where the draws are.
struct Visited {
    /// The range of each coordinate, widened.
    ranges: Vec<(f64, f64)>,
    /// That of the log density.
    density: (f64, f64),
    median: f64,
}

impl Visited {
    fn by<T>(chains: &[Chain<T>], dim: usize) -> Visited {
        let none = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut ranges, mut all) = (vec![none; dim], Vec::new());
        for draws in chains.iter().map(|c| &c.draws) {
            for position in draws.positions.chunks_exact(dim) {
                for (range, &x) in ranges.iter_mut().zip(position) {
                    *range = (range.0.min(x), range.1.max(x));
                }
            }
            all.extend_from_slice(&draws.statistics.lp);
        }
        let density = all.iter().fold(none, |r, &x| (r.0.min(x), r.1.max(x)));
        let widened = |(low, high): (f64, f64)| {
            let by = MARGIN * (high - low);
            (low - by, high + by)
        };
        Visited {
            ranges: ranges.into_iter().map(widened).collect(),
            density: widened(density),
            median: median(all),
        }
    }

    /// Whether one of the last `n` places of a start is among the draws.
    fn has(&self, places: &Draws, n: usize) -> bool {
        let rows = places.positions.chunks_exact(self.ranges.len());
        let within = |x: f64, range: &(f64, f64)| x >= range.0 && x <= range.1;
        let inside = |(position, lp): (&[f64], &f64)| {
            let mut pairs = position.iter().zip(&self.ranges);
            within(*lp, &self.density) && pairs.all(|(x, range)| within(*x, range))
        };
        rows.zip(&places.statistics.lp).rev().take(n).any(inside)
    }

    /// Whether the log density at these places is like that of the draws.
    fn is_like(&self, places: &Draws) -> bool {
        median(places.statistics.lp.clone()) >= self.median - GAP
    }
}
