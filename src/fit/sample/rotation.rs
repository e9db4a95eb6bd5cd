//! Steps that are exact in a normal distribution.
//!
//! A leapfrog moves along straight lines and kicks with the whole force, so it must be short whatever
//! the target is. But the warm-up knows a normal distribution near to the target: of mean m and of the
//! metric's covariance M⁻¹ = S Sᵀ. With x = S⁻¹(q − m) and whitened momentum π, motion in that one is
//! a rotation of (x, π), which costs nothing and is exact for every angle. A step of the angle ε is
//! half a kick π ← π + ½ε (f + x), f = Sᵀ∇ℓ, then the rotation x ← x cos ε + π sin ε,
//! π ← π cos ε − x sin ε with q = m + S x, then the other half kick. The kick is what the target
//! differs from the normal distribution; where that is little, steps may be as long as one likes.
//! Like the leapfrog, such a step can be reversed, keeps volume, and is of second order, so that the
//! tree of NUTS is as exact on it.
//!
//! Reference: Shahbaba, Lan, Johnson, Neal, "Split Hamiltonian Monte Carlo", Statistics and Computing
//! 24, 2014, with the warm-up's normal distribution instead of one around the mode.

use super::estimate::mean;
use super::metric::Metric;
use super::vector;
use super::{Sampler, Settings};

/// What a step of NUTS is between its two kicks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrator {
    /// A rotation where the target is near enough to a normal distribution: where in no whitened
    /// coordinate more than three tenths of the square of the force is left for the kicks. Each window
    /// of the warm-up decides anew.
    Auto,
    /// A straight line.
    Leapfrog,
    /// A rotation, unless the metric is one of blocks.
    Rotation,
}

impl Integrator {
    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Integrator::Auto => "auto",
            Integrator::Leapfrog => "leapfrog",
            Integrator::Rotation => "rotation",
        }
    }
}

/// The longest rotation, in radians. Where the target is normal a trajectory of equal angles ends after
/// three of them if they lie between 60 and 90 degrees, and needs seven of shorter ones. Of 1.15, 1.25,
/// 1.35 and 1.5 this one gave the most effective draws.
const LONGEST: f64 = 1.25;

/// What part of the force the normal distribution may leave in its worst coordinate, in squares.
/// Models left below 0.15 gained up to fivefold, one at 0.28 threefold, those at 0.34 and more little or
/// nothing: where a normal distribution does not fit, its long steps leave the tails unstable.
const LEFT_MOST: f64 = 0.3;

/// Draws that are asked, at most.
const MOST_ROWS: usize = 500;

/// The longest step under `metric`.
pub(crate) fn longest_step(metric: &Metric) -> f64 {
    match metric.rotates() {
        true => LONGEST,
        false => f64::INFINITY,
    }
}

/// `metric` with rotations, if these draws (positions and gradients, row-major, of so many
/// coordinates) say that they suit the target, or `settings` do.
pub(crate) fn chosen(
    metric: &Metric,
    draws: (&[f64], &[f64], usize),
    settings: &Settings,
) -> Option<Metric> {
    if settings.sampler != Sampler::Nuts || settings.integrator == Integrator::Leapfrog {
        return None;
    }
    let (positions, gradients, dim) = draws;
    let metric = metric.about(&mean(positions, dim), &mean(gradients, dim))?;
    let suits = settings.integrator == Integrator::Rotation
        || left(&metric, draws).iter().all(|part| *part < LEFT_MOST);
    suits.then_some(metric)
}

/// Σ (fᵢ + xᵢ)² / Σ fᵢ² over some of the draws, for each whitened coordinate.
fn left(metric: &Metric, (positions, gradients, dim): (&[f64], &[f64], usize)) -> Vec<f64> {
    let zeros = || vector::zeros(dim);
    let (mut position, mut gradient, mut scratch) = (zeros(), zeros(), zeros());
    let (mut place, mut force) = (zeros(), zeros());
    let mut sums = vec![[0.0; 2]; dim];
    let stride = (positions.len() / dim).div_ceil(MOST_ROWS).max(1);
    let rows = positions.chunks_exact(dim).zip(gradients.chunks_exact(dim));
    for (q, g) in rows.step_by(stride) {
        vector::load(&mut position, q);
        vector::load(&mut gradient, g);
        metric.locate(&position, &mut place, &mut scratch);
        metric.pull(&gradient, &mut force);
        let numbers = force.as_flattened().iter().zip(place.as_flattened());
        for (sums, (f, x)) in sums.iter_mut().zip(numbers) {
            sums[0] += (f + x) * (f + x);
            sums[1] += f * f;
        }
    }
    sums.iter().map(|[left, all]| left / all).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::super::targets::Known;
    use super::*;
    use crate::rng::{Purpose, Rng};

    const DIM: usize = 3;

    /// Standard normal numbers and the slopes of `target` there.
    fn draws(target: &mut Known, n: usize) -> (Vec<f64>, Vec<f64>) {
        let mut rng = Rng::new(3, 0, 0, 0, Purpose::Test);
        let positions: Vec<f64> = (0..n * DIM).map(|_| rng.normal()).collect();
        let mut gradients = vec![0.0; n * DIM];
        let rows = positions
            .chunks_exact(DIM)
            .zip(gradients.chunks_exact_mut(DIM));
        rows.for_each(|(q, g)| {
            target.value_and_gradient(q, g);
        });
        (positions, gradients)
    }

    fn ask(target: &mut Known, metric: &Metric, settings: &Settings) -> bool {
        let (positions, gradients) = draws(target, 2000);
        let chosen = chosen(metric, (&positions, &gradients, DIM), settings);
        chosen.is_some_and(|metric| metric.rotates())
    }

    /// Of its own normal distribution nothing is left; where the metric says 0.8 of a variance of 1, a
    /// sixteenth of the square of that force; where it says 1 of 25, most. Catches: a mean over coordinates that
    /// hides the worst, forces that are not whitened.
    #[test]
    fn the_worst_coordinate_decides() {
        let settings = Settings::default();
        let mut normal = Known::normal(DIM, 1.0, false);
        assert!(ask(&mut normal, &Metric::diagonal(&[1.0; 3]), &settings));
        assert!(ask(
            &mut normal,
            &Metric::diagonal(&[1.0, 0.8, 1.0]),
            &settings
        ));
        assert!(!ask(
            &mut normal,
            &Metric::diagonal(&[1.0, 0.2, 1.0]),
            &settings
        ));
        let mut other = Known::normal(DIM, 25.0, false);
        assert!(!ask(&mut other, &Metric::diagonal(&[1.0; 3]), &settings));
        let metric = Metric::diagonal(&[1.0, 0.8, 1.0]);
        let metric = metric
            .about(&[0.0; 3], &[0.0; 3])
            .expect("it has rotations");
        let (positions, gradients) = draws(&mut normal, 2000);
        let left = left(&metric, (&positions, &gradients, DIM));
        // f = −s z and x = z/s with s² = 0.8 leave (1/s − s)²/s² = (1/s² − 1)².
        assert!(
            left[0] < 1e-20 && (left[1] - 0.0625).abs() < 1e-9,
            "{left:?}"
        );
    }

    /// What is asked for goes first, of NUTS.
    #[test]
    fn settings_go_first() {
        let metric = Metric::diagonal(&[1.0; 3]);
        let answers = |integrator, sampler| {
            let settings = Settings {
                integrator,
                sampler,
                ..Settings::default()
            };
            [1.0, 25.0].map(|condition| {
                ask(
                    &mut Known::normal(DIM, condition, false),
                    &metric,
                    &settings,
                )
            })
        };
        assert_eq!(answers(Integrator::Auto, Sampler::Nuts), [true, false]);
        assert_eq!(answers(Integrator::Rotation, Sampler::Nuts), [true, true]);
        assert_eq!(answers(Integrator::Leapfrog, Sampler::Nuts), [false, false]);
        assert_eq!(
            answers(Integrator::Rotation, Sampler::Walnuts),
            [false, false]
        );
        assert_eq!(answers(Integrator::Rotation, Sampler::Mams), [false, false]);
    }
}
