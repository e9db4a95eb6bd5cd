//! Whether trajectories speak against the metric that was chosen for them.
//!
//! A metric that knows correlations lets steps grow until they fit the bulk of a posterior. Where
//! the posterior has a neck as well, they are too long for it, and trajectories diverge there; with
//! scales alone the bulk itself keeps steps short. The draws that a metric was made from do not
//! tell: by any measure of the bulk the fuller metric is the better one. The trajectories of the
//! next window do. If they diverge, the window after it is made with scales alone, and these are kept if
//! they diverge less.
//!
//! While a step size is being found it is too long again and again, and trajectories diverge that would
//! not among the draws. With scales alone it lies just below the step at which trajectories of the bulk
//! become unstable: on a ridge beside a funnel 2.5 % diverged of a whole window, and 0.03 % of the draws.
//! So steps are held at their average for the rest of a window in which trajectories diverge, or in which
//! scales alone are tried. A metric is in question if some diverge then, too, and scales alone are judged
//! by what diverges then.

use super::chain::{Chain, Window};
use super::estimate::Wish;
use super::run::State;
use super::warmup::window_of;
use super::{MetricKind, Phase, Settings};
use std::cmp::Ordering;

/// Windows that end from this fraction of the warm-up on are judged: they are long, and coordinates
/// no longer change.
const FIRST: f64 = 0.60;
/// Transitions at the start of a window that are not counted: the step size is searched anew.
pub(crate) const SEARCHING: usize = 20;
/// The share of divergent transitions above which a metric is in question, and how many there are at
/// least.
const LIMIT: f64 = 0.0015;
const FEWEST: usize = 3;

/// The part of a judged window, at its end, in which steps may be held.
const HELD: f64 = 0.7;
/// Scales alone are kept if they diverge this many times less.
const LESS: f64 = 2.0;

/// What is known of the metric that [`MetricKind::Auto`] chose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Trial {
    /// Nothing speaks against it.
    #[default]
    Unquestioned,
    /// This share of its transitions diverged, so scales alone are tried.
    Scales(f64),
    /// Scales alone were no better.
    Acquitted,
}

impl Trial {
    /// As a number, for [`Trial::from_number`].
    pub(crate) fn number(self) -> f64 {
        match self {
            Trial::Unquestioned => 0.0,
            Trial::Scales(share) => share,
            Trial::Acquitted => f64::INFINITY,
        }
    }

    /// What [`Trial::number`] was of.
    pub(crate) fn from_number(number: f64) -> Self {
        match number {
            0.0 => Trial::Unquestioned,
            f64::INFINITY => Trial::Acquitted,
            share => Trial::Scales(share),
        }
    }

    /// What is known after `seen`, made with a metric of the family `made_with`.
    fn after(self, made_with: MetricKind, seen: Seen) -> Self {
        let share = |[counted, diverged]: [usize; 2]| diverged as f64 / counted.max(1) as f64;
        let (all, held) = (share(seen.all), share(seen.held));
        let suspect = seen.all[1] >= FEWEST && all > LIMIT && seen.held[1] > 0;
        match self {
            Trial::Unquestioned if made_with != MetricKind::Diagonal && suspect => {
                Trial::Scales(all)
            }
            Trial::Scales(before) if LESS * held >= before => Trial::Acquitted,
            other => other,
        }
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

/// The window of the warm-up that chains are in, if it is judged: its first transition and its end.
fn judged_window<T>(state: &State<T>, settings: &Settings) -> Option<(usize, usize)> {
    if settings.metric != MetricKind::Auto || state.phase != Phase::Warmup {
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
    let tried = |chain: &Chain<T>| match chain.trial {
        Trial::Scales(_) => true,
        Trial::Acquitted => false,
        Trial::Unquestioned => {
            chain.metric.kind() != MetricKind::Diagonal && chain.windows[0].divergences > 0
        }
    };
    let holding = |chain: &Chain<T>| chain.windows[0].held[0] > 0;
    match state.iteration().cmp(&turn) {
        Ordering::Less => false,
        Ordering::Equal => state.chains.iter().any(tried),
        Ordering::Greater => state.chains.iter().any(holding),
    }
}

/// The wish at the end of a window, at this fraction of the warm-up, of chains that adapt together.
pub(crate) fn judged<'a, T>(chains: &mut [Chain<T>], wish: Wish<'a>, fraction: f64) -> Wish<'a> {
    if wish.kind != MetricKind::Auto || fraction < FIRST {
        return wish;
    }
    let made_with = chains[0].metric.kind();
    let moving = chains.iter().filter(|chain| chain.stuck == 0);
    let seen = moving.fold(Seen::default(), |seen, chain| seen.and(&chain.windows[0]));
    // Scales alone that no window is left to try are not taken: their steps would be too long.
    let trial = match (chains[0].trial, fraction > FIRST) {
        (Trial::Unquestioned, true) => Trial::Unquestioned,
        (before, _) => before.after(made_with, seen),
    };
    chains.iter_mut().for_each(|chain| chain.trial = trial);
    let kind = match trial {
        Trial::Scales(_) => MetricKind::Diagonal,
        Trial::Unquestioned | Trial::Acquitted => wish.kind,
    };
    Wish { kind, ..wish }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_questioned_that_diverges_and_acquitted_if_scales_do_no_better() {
        use Trial::{Acquitted, Scales, Unquestioned};
        let (dense, diagonal) = (MetricKind::Dense, MetricKind::Diagonal);
        let after = |trial: Trial, kind, all, held| trial.after(kind, Seen { all, held });
        assert_eq!(
            after(Unquestioned, dense, [2000, 3], [900, 3]),
            Unquestioned
        );
        assert_eq!(after(Unquestioned, dense, [100, 2], [50, 2]), Unquestioned);
        assert_eq!(after(Unquestioned, dense, [0, 0], [0, 0]), Unquestioned);
        assert_eq!(
            after(Unquestioned, diagonal, [1000, 500], [500, 250]),
            Unquestioned
        );
        // Only while the step was being found.
        assert_eq!(
            after(Unquestioned, dense, [1000, 40], [500, 0]),
            Unquestioned
        );
        assert_eq!(
            after(Unquestioned, dense, [1000, 40], [500, 1]),
            Scales(0.04)
        );
        assert_eq!(
            after(Scales(0.04), diagonal, [1000, 90], [500, 9]),
            Scales(0.04)
        );
        assert_eq!(
            after(Scales(0.04), diagonal, [1000, 90], [500, 10]),
            Acquitted
        );
        assert_eq!(after(Acquitted, dense, [1000, 500], [500, 250]), Acquitted);
        for trial in [Unquestioned, Scales(0.04), Acquitted] {
            assert_eq!(Trial::from_number(trial.number()), trial);
        }
    }
}
