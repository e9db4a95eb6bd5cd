//! Steps that are cut into halves where a whole one would miss the energy (WALNUTS).
//!
//! From one state of the trajectory to the next the time is always the same. It is covered by the
//! fewest leapfrog steps, 1, 2, 4, ..., along which the energy stays within a tolerance. The same
//! rule must choose the same number on the way back, or the next state would not lead here again:
//! then the trajectory ends before it, whichever side it grows from. The finer path back is the
//! path that led here, so it is enough to see that no coarser one is within the tolerance there.
//!
//! Reference: Bou-Rabee, Carpenter, Kleppe, Liu, arXiv:2506.18746.

use super::super::tree::Growth;
use super::*;

/// How far the energy may vary between one state and the next, in units of log density.
const TOLERANCE: f64 = 1.0;

/// A step is halved at most so often.
pub(crate) const MOST_HALVINGS: u32 = 10;

/// Memory of a chain.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    saved: End,
    gradient: Vector,
}

impl Scratch {
    /// Memory for `dim` parameters.
    pub(crate) fn new(dim: usize) -> Self {
        Scratch {
            saved: End::new(dim),
            gradient: vector::zeros(dim),
        }
    }
}

/// A Hamiltonian trajectory with steps of adapted size.
pub(crate) struct Walnuts<'a, T> {
    path: Hamiltonian<'a, T>,
    scratch: &'a mut Scratch,
    /// H at both ends.
    energies: [f64; 2],
    gradients: u32,
    /// How many states were looked for, and Σ min(1, exp(−ΔH)) of one whole step towards them.
    looked_for: u32,
    acceptance: f64,
    /// H − H₀ where no step was short enough.
    missed: Option<f64>,
}

/// Where a path of several steps ended, or what its energy was when it left the tolerance.
type Followed = Result<(f64, f64), f64>;

/// `n` steps of 2·`half` from `end`, as long as the energy stays within the tolerance.
#[inline]
fn follow(
    (target, metric): (&mut impl Target, &Metric),
    (end, gradient): (&mut End, &mut Vector),
    (half, n): (f64, u32),
    energy: f64,
    gradients: &mut u32,
) -> Followed {
    let (mut low, mut high) = (energy, energy);
    let mut reached = (f64::NAN, energy);
    for _ in 0..n {
        reached = leapfrog(target, metric, end, gradient, half);
        *gradients += 1;
        low = low.min(reached.1);
        high = high.max(reached.1);
        // NaN is neither lower nor higher.
        if !reached.1.is_finite() || high - low > TOLERANCE {
            return Err(reached.1);
        }
    }
    Ok(reached)
}

impl<'a, T: Target> Walnuts<'a, T> {
    /// Grows from where `path` starts.
    pub(crate) fn new(path: Hamiltonian<'a, T>, scratch: &'a mut Scratch) -> Self {
        Walnuts {
            energies: [path.energy_start(); 2],
            path,
            scratch,
            gradients: 0,
            looked_for: 0,
            acceptance: 0.0,
            missed: None,
        }
    }

    /// What happened, counted in gradients. The acceptance is that of whole steps, to which their
    /// size is tuned: that of the draws says nothing about it.
    pub(crate) fn account(self, growth: Growth) -> Growth {
        let mean = self.acceptance / f64::from(self.looked_for);
        let missed = self.missed.unwrap_or(0.0);
        Growth {
            n_steps: self.gradients,
            acceptance_sum: mean * f64::from(self.gradients),
            nonfinite: growth.nonfinite || !missed.is_finite(),
            max_energy_error: match missed.is_finite() {
                true if missed.abs() <= growth.max_energy_error.abs() => growth.max_energy_error,
                true => missed,
                false => f64::INFINITY,
            },
            ..growth
        }
    }

    /// Whether fewer than `n` steps back from the growing end, which were not enough on the way
    /// there, would do.
    fn returns_by_fewer(&mut self, n: u32, half: f64, energy: f64) -> bool {
        let Hamiltonian {
            target,
            metric,
            space,
            side,
            ..
        } = &mut self.path;
        let Scratch { saved, gradient } = &mut *self.scratch;
        let mut fewer = n;
        while fewer > 1 {
            fewer /= 2;
            saved.copy_from(&space.ends[*side]);
            let step = (-half * f64::from(n / fewer), fewer);
            let (density, end) = ((&mut **target, *metric), (&mut *saved, &mut *gradient));
            if follow(density, end, step, energy, &mut self.gradients).is_ok() {
                return true;
            }
        }
        false
    }
}

impl<T: Target> Trajectory for Walnuts<'_, T> {
    fn begin(&mut self, direction: Direction) {
        self.path.begin(direction);
    }

    fn step(&mut self) -> Result<f64, Stop> {
        let Hamiltonian {
            target,
            metric,
            space,
            step_size,
            energy_start,
            energy,
            log_density,
            side,
            ..
        } = &mut self.path;
        let sign = if *side == 1 { 1 } else { -1 };
        let here = self.energies[*side];
        let (end, gradient) = (&mut space.ends[*side], &mut space.gradient);
        let saved = &mut self.scratch.saved;
        saved.copy_from(end);
        self.looked_for += 1;
        let mut last = here;
        for halvings in 0..=MOST_HALVINGS {
            let n = 1u32 << halvings;
            let half = 0.5 * sign as f64 * *step_size / f64::from(n);
            if halvings > 0 {
                end.copy_from(saved);
                end.path.fill([0.0; 8]);
            }
            let (density, from) = ((&mut **target, *metric), (&mut *end, &mut *gradient));
            let followed = follow(density, from, (half, n), here, &mut self.gradients);
            let reached = followed.map_or_else(|energy| energy, |(_, energy)| energy);
            if halvings == 0 && reached.is_finite() {
                self.acceptance += libm::exp((here - reached).min(0.0));
            }
            let Ok(found) = followed else {
                last = reached;
                continue;
            };
            if halvings > 0 {
                // The path is a sum of momenta over time.
                vector::axpy(1.0 / f64::from(n), &end.path, &mut saved.path);
                end.path.copy_from_slice(&saved.path);
            }
            end.offset += sign;
            (*log_density, *energy) = found;
            let weight = *energy_start - found.1;
            self.energies[*side] = found.1;
            return match self.returns_by_fewer(n, half, found.1) {
                true => Err(Stop::Irreversible),
                false => Ok(weight),
            };
        }
        self.missed = Some(last - *energy_start);
        Err(Stop::Diverged)
    }

    fn propose(&mut self) {
        self.path.propose();
    }

    fn mark(&mut self, place: Place) {
        self.path.mark(place);
    }

    fn turns(&self, span: Span) -> bool {
        self.path.turns(span)
    }

    fn join(&mut self) {
        self.path.join();
    }
}

#[cfg(test)]
mod tests;
