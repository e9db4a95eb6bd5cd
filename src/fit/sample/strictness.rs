//! How strictly steps are tuned: to a higher acceptance if trajectories diverge.
//!
//! Steps that fit the bulk of a posterior are too long for its neck, and trajectories diverge there. The
//! draws that a metric and a step size were made from do not tell: they come from the bulk. The
//! trajectories of the next window do. If they diverge, steps of the windows after it are tuned to an
//! acceptance of 0.99, and if they still do, to 0.995. (0.95 in place of 0.99 left nine times as many
//! divergences beside a neck, see tests/metric.rs, and rarely came to the second step.)
//!
//! While a step size is being found it is too long again and again, and trajectories diverge that would
//! not among the draws: on a ridge beside a funnel 2.5 % diverged of a whole window, and 0.03 % of the
//! draws. So steps are held at their average for the rest of a window in which trajectories diverge, and
//! count if some diverge then, too.
//!
//! Scales alone in place of a metric that knows correlations make steps shorter as well, but in every
//! direction alike: two splines, one for the mean and one for the noise, take 1,018 gradients a draw with
//! scales alone and 75 with all correlations and an acceptance of 0.99.

use super::chain::{Chain, Window};
use super::run::State;
use super::warmup::window_of;
use super::{Adapt, MetricKind, Phase, Settings};
use std::cmp::Ordering;

/// Windows that end from this fraction of the warm-up on are judged: they are long, and coordinates
/// no longer change.
const FIRST: f64 = 0.60;
/// Transitions at the start of a window that are not counted: the step size is searched anew.
pub(crate) const SEARCHING: usize = 20;
/// The share of divergent transitions above which steps are too long, and how many there are at least.
const LIMIT: f64 = 0.0015;
const FEWEST: usize = 3;

/// The part of a judged window, at its end, in which steps may be held.
const HELD: f64 = 0.7;
/// The acceptance that steps are tuned to after no, one and two windows whose transitions diverged.
const STRICTER: [f64; 3] = [0.0, 0.99, 0.995];

/// How often a warm-up has found steps to be too long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Strictness(usize);

impl Strictness {
    /// As a number, for [`Strictness::from_number`].
    pub(crate) fn number(self) -> f64 {
        self.0 as f64
    }

    /// What [`Strictness::number`] was of.
    pub(crate) fn from_number(number: f64) -> Self {
        Strictness((number as usize).min(STRICTER.len() - 1))
    }

    /// The acceptance to tune to, if `asked` is what was asked for.
    pub(crate) fn target(self, asked: f64) -> f64 {
        asked.max(STRICTER[self.0])
    }

    /// What is known after `seen`.
    fn after(self, seen: Seen) -> Self {
        let share = |[counted, diverged]: [usize; 2]| diverged as f64 / counted.max(1) as f64;
        let suspect = seen.all[1] >= FEWEST && share(seen.all) > LIMIT && seen.held[1] > 0;
        Strictness((self.0 + usize::from(suspect)).min(STRICTER.len() - 1))
    }
}

/// Transitions of windows and the divergent ones of them.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// All but those of the search of a step.
    all: [usize; 2],
    /// Those with a step that was held.
    held: [usize; 2],
}

impl Seen {
    fn and(self, window: &Window) -> Self {
        let counted = window.log_densities.len().saturating_sub(SEARCHING);
        let add = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
        Seen {
            all: add(self.all, [counted, window.divergences]),
            held: add(self.held, window.held),
        }
    }
}

/// Chains that adapt alone make the draws that each of them would make without the others, and one of
/// them has too few transitions in a window to judge by.
fn is_judged(settings: &Settings) -> bool {
    settings.metric == MetricKind::Auto && settings.adapt == Adapt::Pooled
}

/// The window of the warm-up that chains are in, if it is judged: its first transition and its end.
fn judged_window<T>(state: &State<T>, settings: &Settings) -> Option<(usize, usize)> {
    if !is_judged(settings) || state.phase != Phase::Warmup {
        return None;
    }
    let (begin, end, fraction) = window_of(settings.tune, state.iteration())?;
    (fraction >= FIRST && end < state.warmup_end).then_some((begin, end))
}

/// The transition of the present window from which on steps may be held; none if it is not judged.
pub(crate) fn turn<T>(state: &State<T>, settings: &Settings) -> Option<usize> {
    judged_window(state, settings).map(|(begin, end)| end - (HELD * (end - begin) as f64) as usize)
}

/// Whether steps are held from this transition on: that is settled at the turn of a window.
pub(crate) fn holds<T>(state: &State<T>, settings: &Settings) -> bool {
    let Some(turn) = turn(state, settings) else {
        return false;
    };
    let tried = |chain: &Chain<T>| chain.windows[0].divergences > 0;
    let holding = |chain: &Chain<T>| chain.windows[0].held[0] > 0;
    match state.iteration().cmp(&turn) {
        Ordering::Less => false,
        Ordering::Equal => state.chains.iter().any(tried),
        Ordering::Greater => state.chains.iter().any(holding),
    }
}

/// Judges the steps of a window that ends at this fraction of the warm-up, of chains that adapt
/// together.
pub(crate) fn judge<T>(chains: &mut [Chain<T>], settings: &Settings, fraction: f64) {
    if !is_judged(settings) || fraction < FIRST {
        return;
    }
    let moving = chains.iter().filter(|chain| chain.stuck == 0);
    let seen = moving.fold(Seen::default(), |seen, chain| seen.and(&chain.windows[0]));
    let strictness = chains[0].strictness.after(seen);
    chains
        .iter_mut()
        .for_each(|chain| chain.strictness = strictness);
}

/// The acceptance that steps are tuned to; chains that adapt together share it.
pub(crate) fn target<T>(state: &State<T>, settings: &Settings) -> f64 {
    state.chains[0].strictness.target(settings.target_accept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_tuned_more_strictly_while_transitions_diverge_that_are_held() {
        let after = |before, all, held| Strictness(before).after(Seen { all, held }).0;
        assert_eq!(after(0, [2000, 3], [900, 3]), 0);
        assert_eq!(after(0, [100, 2], [50, 2]), 0);
        assert_eq!(after(0, [0, 0], [0, 0]), 0);
        // Only while the step was being found.
        assert_eq!(after(0, [1000, 40], [500, 0]), 0);
        assert_eq!(after(0, [1000, 40], [500, 1]), 1);
        assert_eq!(after(1, [1000, 1], [500, 1]), 1);
        assert_eq!(after(1, [1000, 40], [500, 1]), 2);
        assert_eq!(after(2, [1000, 40], [500, 1]), 2);
        for strictness in (0..STRICTER.len()).map(Strictness) {
            assert_eq!(Strictness::from_number(strictness.number()), strictness);
        }
        assert_eq!(Strictness(1).target(0.8), 0.99);
        assert_eq!(Strictness(1).target(0.997), 0.997);
    }
}
