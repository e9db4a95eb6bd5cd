//! Runs of the independent parts of one posterior, as one run of the whole.

use super::{Draws, Run, Statistics};
use crate::diagnose::{Chains, bfmi};

impl Run {
    /// The run of a posterior whose parts are independent, from runs of its parts with as many chains and draws each; none
    /// if there are no parts, or they differ in that.
    ///
    /// `lengths` are those of the parameters of a part, the same for all. A parameter of the whole holds those of the parts
    /// one after the other.
    ///
    /// Statistics are those of a transition that moves all parts: log densities and energy errors add up, a divergence of
    /// one part is one of the whole, and `tree_depth` is the largest. `energy` alone is that of the part whose energies are
    /// explored worst by the chain (the lowest BFMI): in a sum it would be hidden by the others.
    pub fn beside(parts: Vec<Run>, lengths: &[usize]) -> Option<Run> {
        let first = parts.first()?;
        let (n_chains, n_draws) = (first.chains.len(), first.n_draws());
        let dim: usize = lengths.iter().sum();
        let alike = |p: &Run| p.dim == dim && p.chains.len() == n_chains && p.n_draws() == n_draws;
        if !parts.iter().all(alike) {
            return None;
        }
        let n = parts.len();
        let position = |c: usize, d: usize| {
            interleaved(n, lengths, |p| {
                &parts[p].chains[c].positions[d * dim..(d + 1) * dim]
            })
        };
        let chain = |c: usize| Draws {
            positions: (0..n_draws).flat_map(|d| position(c, d)).collect(),
            statistics: together(&parts, c),
        };
        let mean =
            |of: &dyn Fn(&Run) -> f64| parts.iter().map(of).sum::<f64>() / parts.len() as f64;
        Some(Run {
            dim: dim * parts.len(),
            chains: (0..n_chains).map(chain).collect(),
            first_draw: 0,
            warmup: None,
            step_sizes: (0..n_chains).map(|c| mean(&|p| p.step_sizes[c])).collect(),
            stricter: parts.iter().filter_map(|p| p.stricter).reduce(f64::max),
            metrics: first.metrics.clone(),
            rotations: first.rotations.clone(),
            variances: (0..n_chains)
                .map(|c| interleaved(n, lengths, |p| &parts[p].variances[c]))
                .collect(),
            warmup_transitions: parts.iter().map(|p| p.warmup_transitions).max()?,
            gradients: parts.iter().map(|p| p.gradients).sum(),
            warmup_gradients: parts.iter().map(|p| p.warmup_gradients).sum(),
            past_turn: parts.iter().any(|p| p.past_turn),
            independence: None,
            restarts: parts.iter().flat_map(|p| p.restarts.clone()).collect(),
            elsewhere: Vec::new(),
            until_reached: None,
            interrupted: parts.iter().any(|p| p.interrupted),
        })
    }
}

/// Coordinates of the whole from those of `n` parts.
fn interleaved<'a>(n: usize, lengths: &[usize], row: impl Fn(usize) -> &'a [f64]) -> Vec<f64> {
    let mut out = Vec::with_capacity(n * lengths.iter().sum::<usize>());
    let mut at = 0;
    for len in lengths {
        (0..n).for_each(|p| out.extend_from_slice(&row(p)[at..at + len]));
        at += len;
    }
    out
}

/// The statistics of chain `c` of the whole.
fn together(parts: &[Run], c: usize) -> Statistics {
    let of: Vec<&Statistics> = parts.iter().map(|p| &p.chains[c].statistics).collect();
    let n_draws = of[0].lp.len();
    let slowness = |s: &&&Statistics| {
        let found = bfmi(Chains::new(&s.energy, 1, n_draws));
        // A chain of one draw has none.
        found
            .first()
            .copied()
            .filter(|b| !b.is_nan())
            .unwrap_or(f64::INFINITY)
    };
    let slowest = of.iter().min_by(|a, b| slowness(a).total_cmp(&slowness(b)));
    fn all<T>(n: usize, of: impl Fn(usize) -> T) -> Vec<T> {
        (0..n).map(of).collect()
    }
    let sum =
        |x: fn(&Statistics) -> &[f64]| all(n_draws, |d| of.iter().map(|s| x(s)[d]).sum::<f64>());
    let mean = |x: fn(&Statistics) -> &[f64]| {
        let n = of.len() as f64;
        sum(x).into_iter().map(|v| v / n).collect::<Vec<f64>>()
    };
    let any = |x: fn(&Statistics) -> &[bool]| all(n_draws, |d| of.iter().any(|s| x(s)[d]));
    Statistics {
        diverging: any(|s| &s.diverging),
        reached_max_treedepth: any(|s| &s.reached_max_treedepth),
        tree_depth: all(n_draws, |d| {
            of.iter().map(|s| s.tree_depth[d]).max().unwrap_or(0)
        }),
        n_steps: all(n_draws, |d| of.iter().map(|s| s.n_steps[d]).sum()),
        energy: slowest.map(|s| s.energy.clone()).unwrap_or_default(),
        energy_error: sum(|s| &s.energy_error),
        max_energy_error: all(n_draws, |d| {
            let errors = of.iter().map(|s| s.max_energy_error[d]);
            errors.fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a })
        }),
        acceptance_rate: mean(|s| &s.acceptance_rate),
        step_size: mean(|s| &s.step_size),
        step_size_bar: mean(|s| &s.step_size_bar),
        lp: sum(|s| &s.lp),
        index_in_trajectory: all(n_draws, |d| {
            let steps = of.iter().map(|s| s.index_in_trajectory[d]);
            steps.fold(0, |a: i64, b| if b.abs() > a.abs() { b } else { a })
        }),
        nonfinite: any(|s| &s.nonfinite),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Init, Settings, sample, targets};
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// Catches: coordinates of two parts, or statistics of two draws, that change places.
    #[test]
    fn coordinates_and_statistics_are_those_of_the_parts() {
        let part = |seed: u64| {
            let settings = Settings {
                chains: 2,
                tune: 50,
                draws: 20,
                seed,
                init: Init::Jitter,
                ..Settings::default()
            };
            let stop = AtomicBool::new(false);
            let mut posterior = targets::Known::normal(3, 4.0, false);
            sample(&mut posterior, &settings, &super::super::Silent, &stop).unwrap()
        };
        let parts = [part(1), part(2)];
        let whole = Run::beside(parts.to_vec(), &[1, 2]).unwrap();
        assert_eq!((whole.dim, whole.n_draws()), (6, 20));
        let (a, b) = (&parts[0].chains[1], &parts[1].chains[1]);
        let both = &whole.chains[1];
        for d in 0..20 {
            let (a, b) = (&a.positions[3 * d..][..3], &b.positions[3 * d..][..3]);
            let expected = [a[0], b[0], a[1], a[2], b[1], b[2]];
            assert_eq!(both.positions[6 * d..][..6], expected);
        }
        let (a, b, both) = (&a.statistics, &b.statistics, &both.statistics);
        for d in 0..20 {
            assert_eq!(both.lp[d], a.lp[d] + b.lp[d]);
            assert_eq!(both.n_steps[d], a.n_steps[d] + b.n_steps[d]);
            assert_eq!(both.tree_depth[d], a.tree_depth[d].max(b.tree_depth[d]));
        }
        let slow = |s: &Statistics| bfmi(Chains::new(&s.energy, 1, 20))[0];
        assert_eq!(slow(both), slow(a).min(slow(b)));
        // Parts that differ in their draws are not put together.
        let mut short = parts.to_vec();
        short[1].chains.pop();
        assert!(Run::beside(short, &[1, 2]).is_none());
        assert!(Run::beside(Vec::new(), &[1]).is_none());
    }
}
