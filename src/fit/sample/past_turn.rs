//! Whether trajectories go on after they have turned.
//!
//! A trajectory turns when most coordinates have gone all the way. Where a few are slower, because
//! no metric straightens them or because they have a long tail, they have hardly moved by then:
//! their draws hang together, and it is they that say how many draws are needed. Doubled once more,
//! trajectories cost twice the gradients and bring such coordinates two to four times as far;
//! coordinates that had gone all the way gain nothing.

use super::chain::Chain;
use super::rotation::{LONGEST, is_far};
use super::{Adapt, Sampler, Settings, Target};
use crate::Named;

/// Whether a trajectory of the draws is doubled once more after it has turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastTurn {
    /// Where the slowest coordinate of the warm-up's last draws asks for it, or a step of rotations that
    /// the acceptance keeps short, see [`Run::past_turn`](super::Run::past_turn).
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Named for PastTurn {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", PastTurn::Auto),
        ("on", PastTurn::On),
        ("off", PastTurn::Off),
    ];
}

impl PastTurn {
    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        self.setting()
    }
}

/// A correlation of neighbouring draws above which every second draw is worth nothing:
/// (1 − ρ)/(1 + ρ) = ½, as of an autoregression.
const SLOW: f64 = 1.0 / 3.0;

/// A step of rotations that the acceptance keeps below this part of the longest is too short to be a
/// trajectory by itself.
const UNHINDERED: f64 = 0.98;

/// Whether trajectories of the draws go past the turn, seen from the end of the warm-up, of steps of
/// `step_size`.
///
/// Chains that adapt alone never ask: what one of them draws must not depend on the others, and all
/// make the same transitions.
pub(crate) fn chosen<T: Target>(chains: &[Chain<T>], step_size: f64, settings: &Settings) -> bool {
    let turns = matches!(settings.sampler, Sampler::Nuts | Sampler::Walnuts);
    match settings.past_turn {
        PastTurn::On => turns,
        PastTurn::Off => false,
        PastTurn::Auto => {
            turns
                && settings.adapt == Adapt::Pooled
                && (is_hindered(chains, step_size) || is_slow(chains))
        }
    }
}

/// Whether a trajectory would be one step of rotations that is shorter than it might be. Where the
/// normal distribution fits, nothing but the limit stops steps; where it does not, some direction is
/// slower than it says, and what a single step brings it is little. The warm-up's draws do not show
/// that: there steps vary, and the shorter ones are doubled.
fn is_hindered<T: Target>(chains: &[Chain<T>], step_size: f64) -> bool {
    chains[0].metric.rotates() && step_size < UNHINDERED * LONGEST && is_far(2, step_size)
}

/// Whether neighbouring draws of the last two windows correlate by more than [`SLOW`] in some
/// coordinate, and by more than can be chance. Where steps are rotations, of the last one: before,
/// trajectories may have been of leapfrogs, which are longer. Distances are those from the mean of all chains, so
/// that chains which stay apart are slow as well.
fn is_slow<T: Target>(chains: &[Chain<T>]) -> bool {
    let dim = chains[0].target.dim();
    let used = if chains[0].metric.rotates() { 1 } else { 2 };
    let windows = || chains.iter().flat_map(|chain| &chain.windows[..used]);
    let rows = || windows().flat_map(|window| window.positions.chunks_exact(dim));
    let n = rows().count() as f64;
    let mut mean = vec![0.0; dim];
    for row in rows() {
        mean.iter_mut().zip(row).for_each(|(m, x)| *m += x / n);
    }
    let (mut squares, mut products) = (vec![0.0; dim], vec![0.0; dim]);
    for window in windows() {
        let mut before: Option<&[f64]> = None;
        for row in window.positions.chunks_exact(dim) {
            for i in 0..dim {
                let x = row[i] - mean[i];
                squares[i] += x * x;
                products[i] += before.map_or(0.0, |row| (row[i] - mean[i]) * x);
            }
            before = Some(row);
        }
    }
    let least = SLOW + 1.0 / n.sqrt();
    let mut both = products.iter().zip(&squares);
    both.any(|(product, square)| *product > least * square)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::sample::Stream;
    use crate::fit::sample::metric::Metric;
    use crate::fit::sample::targets::Known;
    use crate::rng::{Purpose, Rng};
    use std::sync::Arc;

    /// Chains whose windows hold autoregressions: x₀ of the first coordinate's correlation, x₁ of
    /// none.
    fn chains(correlation: f64, n: usize, settings: &Settings) -> Vec<Chain<Known>> {
        let innovation = (1.0 - correlation * correlation).sqrt();
        let make = |k: usize| {
            let stream = Stream {
                seed: 0,
                stream: 0,
                chain: k as u32,
            };
            let mut chain = Chain::new(k, stream, Known::normal(2, 1.0, false), settings);
            let mut rng = Rng::new(7, 0, k as u32, 0, Purpose::Test);
            for window in &mut chain.windows {
                let mut slow = rng.normal();
                for _ in 0..n {
                    slow = correlation * slow + innovation * rng.normal();
                    window.positions.extend([slow, rng.normal()]);
                }
            }
            chain
        };
        (0..4).map(make).collect()
    }

    /// The threshold lies at 1/3 and more where draws are few. Catches: a fast coordinate that hides
    /// the slow one, draws of two windows or chains taken for neighbours, too few draws believed.
    #[test]
    fn the_slowest_coordinate_decides() {
        let settings = Settings::default();
        let ask = |correlation, n| chosen(&chains(correlation, n, &settings), 1.5, &settings);
        assert!(ask(0.45, 400));
        assert!(!ask(0.25, 400));
        assert!(!ask(-0.5, 400));
        assert!(!ask(0.45, 2));
        assert!(!ask(0.0, 0));
    }

    /// Of rotations only, and only of steps that are a trajectory and shorter than the longest.
    #[test]
    fn a_trajectory_of_one_step_is_of_the_longest() {
        let settings = Settings::default();
        let mut chains = chains(0.0, 400, &settings);
        assert!(!chosen(&chains, 1.5, &settings));
        let metric = Metric::diagonal(&[1.0; 2]).about(&[0.0; 2], &[0.0; 2]);
        chains[0].metric = Arc::new(metric.expect("it has rotations"));
        let ask = |step_size| chosen(&chains, step_size, &settings);
        assert_eq!(
            [1.2, 1.3, 1.9, 1.97, 2.0].map(ask),
            [false, true, true, false, false]
        );
    }

    /// Chains that adapt alone, and samplers whose trajectories never turn, do not ask.
    #[test]
    fn what_is_asked_for_goes_first() {
        let mut settings = Settings::default();
        let slow = chains(0.9, 400, &settings);
        let mut ask = |past_turn, adapt, sampler| {
            (settings.past_turn, settings.adapt, settings.sampler) = (past_turn, adapt, sampler);
            chosen(&slow, 1.5, &settings)
        };
        assert!(ask(PastTurn::Auto, Adapt::Pooled, Sampler::Nuts));
        assert!(ask(PastTurn::Auto, Adapt::Pooled, Sampler::Walnuts));
        assert!(!ask(PastTurn::Auto, Adapt::Pooled, Sampler::Mams));
        assert!(!ask(PastTurn::Auto, Adapt::PerChain, Sampler::Nuts));
        assert!(ask(PastTurn::On, Adapt::PerChain, Sampler::Nuts));
        assert!(!ask(PastTurn::On, Adapt::Pooled, Sampler::Mams));
        assert!(!ask(PastTurn::Off, Adapt::Pooled, Sampler::Nuts));
    }
}
