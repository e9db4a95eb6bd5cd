//! Whether trajectories speak against the metric that was chosen for them.
//!
//! A metric that knows correlations lets steps grow until they fit the bulk of a posterior. Where
//! the posterior has a neck as well, they are too long for it, and trajectories diverge there; with
//! scales alone the bulk itself keeps steps short. The draws that a metric was made from do not
//! tell: by any measure of the bulk the fuller metric is the better one. The trajectories of the
//! next window do. If they diverge, the window after it is made with scales alone, and whichever
//! metric diverged less is kept.

use super::MetricKind;
use super::chain::Chain;
use super::estimate::Wish;

/// Windows that end from this fraction of the warm-up on are judged: they are long, and coordinates
/// no longer change.
const FIRST: f64 = 0.60;
/// Transitions at the start of a window that are not counted: the step size is searched anew.
pub(crate) const SEARCHING: usize = 20;
/// The share of divergent transitions above which a metric is in question, and how many there are at
/// least.
const LIMIT: f64 = 0.0015;
const FEWEST: usize = 3;
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

    /// What is known after a window of `counted` transitions, made with a metric of the family
    /// `made_with`, `diverged` of which diverged.
    fn after(self, made_with: MetricKind, diverged: usize, counted: usize) -> Self {
        let share = diverged as f64 / counted.max(1) as f64;
        match self {
            Trial::Unquestioned
                if made_with != MetricKind::Diagonal && diverged >= FEWEST && share > LIMIT =>
            {
                Trial::Scales(share)
            }
            Trial::Scales(before) if share >= before => Trial::Acquitted,
            other => other,
        }
    }
}

/// The wish at the end of a window, at this fraction of the warm-up, of chains that adapt together.
pub(crate) fn judged<'a, T>(chains: &mut [Chain<T>], wish: Wish<'a>, fraction: f64) -> Wish<'a> {
    if wish.kind != MetricKind::Auto || fraction < FIRST {
        return wish;
    }
    let made_with = chains[0].metric.kind();
    // A metric that is on trial has made no window but the last.
    let since = match (chains[0].trial, fraction > FIRST) {
        (Trial::Unquestioned, true) => 2,
        _ => 1,
    };
    let moving = chains.iter().filter(|chain| chain.stuck == 0);
    let windows = moving.flat_map(|chain| &chain.windows[..since]);
    let (diverged, counted) = windows.fold((0, 0), |(diverged, counted), window| {
        let n = window.log_densities.len().saturating_sub(SEARCHING);
        (diverged + window.divergences, counted + n)
    });
    let trial = chains[0].trial.after(made_with, diverged, counted);
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
        assert_eq!(Unquestioned.after(dense, 3, 2000), Unquestioned);
        assert_eq!(Unquestioned.after(dense, 2, 100), Unquestioned);
        assert_eq!(Unquestioned.after(dense, 0, 0), Unquestioned);
        assert_eq!(Unquestioned.after(diagonal, 500, 1000), Unquestioned);
        assert_eq!(Unquestioned.after(dense, 40, 1000), Scales(0.04));
        assert_eq!(Scales(0.04).after(diagonal, 39, 1000), Scales(0.04));
        assert_eq!(Scales(0.04).after(diagonal, 40, 1000), Acquitted);
        assert_eq!(Acquitted.after(dense, 500, 1000), Acquitted);
        for trial in [Unquestioned, Scales(0.04), Acquitted] {
            assert_eq!(Trial::from_number(trial.number()), trial);
        }
    }
}
