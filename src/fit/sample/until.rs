//! Sampling until the draws are good enough.

use super::Draws;
use super::chain::Earlier;
use super::pool::{Progress, Threads};
use crate::diagnose::{Chains, Ess, TailEss, ess, rhat};

/// What the draws must reach: a run then ends before all `draws` of its settings are made.
///
/// Every sampled coordinate and the log density count, over all chains. Looked at after 100 draws
/// a chain and then as seldom as the numbers allow, for the end depends on the draws: the looks
/// are few, but a run that ends when its ESS is first seen above a bound overstates that ESS a
/// little, and one that ends at the first small R-hat more so. The estimates themselves remain
/// consistent. Ask for more than is needed rather than for a bare bound.
///
/// A run that goes on from a checkpoint counts the draws before it as well: its checkpoints hold
/// them, 8 bytes for each coordinate of each draw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Until {
    /// Bulk and tail ESS at least this, in draws.
    pub ess: Option<f64>,
    /// Rank-normalised split R-hat at most this; needs two chains.
    pub rhat: Option<f64>,
}

/// Draws of each chain before the first look.
pub(crate) const FIRST_LOOK: usize = 100;

/// What a look at the draws found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Look {
    /// They are good enough.
    Reached,
    /// Look again when there are so many of each chain.
    Again(usize),
}

/// The worst of all quantities.
#[derive(Clone, Copy, Debug)]
struct Worst {
    ess: f64,
    rhat: f64,
}

/// Looks at the draws of all chains, those of an earlier run and those since, which are equally
/// many.
pub(crate) fn look(
    chains: &[(&Earlier, &Draws)],
    dim: usize,
    until: Until,
    threads: &Threads,
) -> Look {
    let n = chains[0].0.log_densities.len() + chains[0].1.len();
    if n == 0 {
        return Look::Again(FIRST_LOOK);
    }
    // The last quantity is the log density.
    let mut quantities: Vec<(usize, Option<Worst>)> = (0..=dim).map(|i| (i, None)).collect();
    threads.run_all(&mut quantities, |(i, found)| {
        let mut values = Vec::with_capacity(chains.len() * n);
        for (earlier, draws) in chains {
            if *i == dim {
                values.extend_from_slice(&earlier.log_densities);
                values.extend_from_slice(&draws.statistics.lp);
            } else {
                for positions in [&earlier.positions, &draws.positions] {
                    values.extend(positions.iter().skip(*i).step_by(dim));
                }
            }
        }
        *found = Some(worst(Chains::new(&values, chains.len(), n), until));
        Progress::Done
    });
    let all = quantities.iter().filter_map(|(_, found)| *found);
    let worst = all.fold(None, |before: Option<Worst>, now| {
        Some(before.map_or(now, |b| Worst {
            ess: least(b.ess, now.ess),
            rhat: -least(-b.rhat, -now.rhat),
        }))
    });
    worst.map_or(Look::Again(2 * n), |worst| decide(worst, n, until))
}

/// The smaller of two, NaN if one is.
fn least(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

fn worst(x: Chains<'_>, until: Until) -> Worst {
    let (mut ess_found, mut rhat_found) = (f64::INFINITY, 1.0);
    if until.ess.is_some() {
        ess_found = least(ess(x, Ess::Bulk), ess(x, Ess::Tail(TailEss::Classic)));
    }
    if until.rhat.is_some() {
        rhat_found = rhat(x);
    }
    Worst {
        ess: ess_found,
        rhat: rhat_found,
    }
}

/// Whether that is enough, or when to look again: when the ESS, which grows with the draws, should
/// have got there, but after 1.2 to 2 times the draws.
fn decide(worst: Worst, n: usize, until: Until) -> Look {
    let enough_ess = until.ess.is_none_or(|want| worst.ess >= want);
    let enough_rhat = until.rhat.is_none_or(|want| worst.rhat <= want);
    if enough_ess && enough_rhat {
        return Look::Reached;
    }
    let missing = match until.ess {
        Some(want) if !enough_ess => 1.05 * want / worst.ess,
        _ => 1.5,
    };
    // NaN, when nothing can be said yet, doubles.
    let factor = if (1.2..2.0).contains(&missing) {
        missing
    } else if missing < 1.2 {
        1.2
    } else {
        2.0
    };
    Look::Again((factor * n as f64).ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::super::targets::Known;
    use super::super::{Run, Settings, Silent, sample};
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn run(until: Until, draws: usize) -> Run {
        let settings = Settings {
            tune: 300,
            draws,
            until: Some(until),
            threads: 2,
            ..Settings::default()
        };
        let mut target = Known::normal(5, 100.0, true);
        let run = sample(&mut target, &settings, &Silent, &AtomicBool::new(false));
        run.expect("it starts")
    }

    fn ess_of(run: &Run) -> f64 {
        let n = run.n_draws();
        let of = |i: usize| {
            let rows = run.chains.iter().flat_map(|c| c.positions.chunks_exact(5));
            let values: Vec<f64> = rows.map(|q| q[i]).collect();
            let x = Chains::new(&values, run.chains.len(), n);
            ess(x, Ess::Bulk).min(ess(x, Ess::Tail(TailEss::Classic)))
        };
        (0..5).map(of).fold(f64::INFINITY, f64::min)
    }

    /// Catches: a single chain looked at, the best coordinate in place of the worst.
    #[test]
    fn a_run_ends_once_the_worst_coordinate_has_the_ess() {
        let until = Until {
            ess: Some(1000.0),
            rhat: Some(1.01),
        };
        let run = run(until, 10_000);
        assert!(run.until_reached == Some(true) && !run.interrupted);
        assert!(run.n_draws() >= FIRST_LOOK && run.n_draws() < 3000);
        assert!(ess_of(&run) >= 1000.0, "{}", ess_of(&run));
    }

    #[test]
    fn a_run_that_never_gets_there_ends_at_its_last_draw() {
        let until = Until {
            ess: Some(1e9),
            rhat: None,
        };
        let run = run(until, 250);
        assert_eq!((run.n_draws(), run.until_reached), (250, Some(false)));
        assert!(!run.interrupted);
    }

    #[test]
    fn the_next_look_comes_when_it_may_be_enough() {
        let until = Until {
            ess: Some(400.0),
            rhat: Some(1.01),
        };
        let at = |ess, rhat| decide(Worst { ess, rhat }, 100, until);
        assert_eq!(at(400.0, 1.01), Look::Reached);
        assert_eq!(at(399.0, 1.0), Look::Again(120));
        assert_eq!(at(300.0, 1.0), Look::Again(140));
        assert_eq!(at(10.0, 1.0), Look::Again(200));
        assert_eq!(at(500.0, 1.02), Look::Again(150));
        assert_eq!(at(f64::NAN, f64::NAN), Look::Again(200));
    }
}
