//! Steps that are exact in a normal distribution.
//!
//! A leapfrog moves along straight lines and kicks with the whole force, so it must be short whatever
//! the target is. But the warm-up knows a normal distribution near to the target: of mean m and of the
//! metric's covariance M⁻¹ = S Sᵀ. With x = S⁻¹(q − m) and whitened momentum π, motion in that one is
//! a rotation of (x, π), which costs nothing and is exact for every angle. A step of the angle ε is
//! a kick π ← π + h (f + x), f = Sᵀ∇ℓ, then the rotation x ← x cos ε + π sin ε,
//! π ← π cos ε − x sin ε with q = m + S x, then the other kick. The kick is what the target
//! differs from the normal distribution; where that is little, steps may be as long as one likes.
//! Like the leapfrog, such a step can be reversed and keeps volume, whatever h is, so that the tree of
//! NUTS is as exact on it.
//!
//! What a step misses of a small cubic term has waves of k = 1 and 3 to a turn, as high as
//! sin(kε/2)/k − h cos(kε/2), and on the mean over a normal distribution the square of the latter counts
//! three times. h = sin ε cos² ε / (1 − 2 cos ε + 3 cos³ ε) makes their sum least. Two rotations by ε/2
//! with kicks ⅓ tan(ε/2) at both ends and 4⁄3 sin(ε/2) between miss neither wave, for two gradients.
//!
//! References: Shahbaba, Lan, Johnson, Neal, "Split Hamiltonian Monte Carlo", Statistics and Computing
//! 24, 2014, with the warm-up's normal distribution instead of one around the mode; Laskar, Robutel, "High
//! order symplectic integrators for perturbed Hamiltonian systems", Celestial Mechanics 80, 2001, of
//! whose SBAB2 the latter are the form for long steps.

use super::estimate::mean;
use super::metric::Metric;
use super::normals::sine_and_cosine;
use super::vector;
use super::{Sampler, Settings};
use crate::Named;

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

impl Named for Integrator {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Integrator::Auto),
        ("leapfrog", Integrator::Leapfrog),
        ("rotation", Integrator::Rotation),
    ];
}

impl Integrator {
    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        self.setting()
    }
}

/// Rotations of a step, at most.
pub(crate) const MOST_PARTS: usize = 2;

/// The longest step, in radians: cos 2 is −0.42, so that neighbouring draws lie on opposite sides of the
/// centre, and means of them are worth twice as many independent ones; their squares correlate by 0.17.
pub(crate) const LONGEST: f64 = 2.0;

/// A trajectory of steps ε is long enough when a draw has gone about so far from the start, in radians.
pub(crate) const FAR: f64 = 1.25;

/// What part of the force the normal distribution may leave in its worst coordinate, in squares.
/// Models left below 0.15 gained up to fivefold, one at 0.28 threefold, those at 0.34 and more little or
/// nothing: where a normal distribution does not fit, its long steps leave the tails unstable.
const LEFT_MOST: f64 = 0.3;

/// What the normal distribution may leave of the whole force, in squares, for steps of one rotation.
const LEFT_OF_ONE: f64 = 0.08;

/// Draws that are asked, at most.
const MOST_ROWS: usize = 500;

/// What a step of one or two rotations is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// How many rotations.
    pub(crate) parts: usize,
    /// Cosine and sine of each.
    pub(crate) cos: f64,
    pub(crate) sin: f64,
    /// What forces are multiplied by at both ends of the step.
    pub(crate) outer: f64,
    /// Likewise between its rotations.
    pub(crate) inner: f64,
}

impl Turn {
    /// A step of this angle; `None` of no rotations. `kernel/transition.c` has the same arithmetic.
    pub(crate) fn of(parts: usize, step_size: f64) -> Option<Self> {
        let (sin, cos) = match parts {
            0 => return None,
            _ => sine_and_cosine(step_size / parts as f64),
        };
        let square = cos * cos;
        Some(Turn {
            parts,
            cos,
            sin,
            outer: match parts {
                1 => sin * square / (1.0 - 2.0 * cos + 3.0 * (square * cos)),
                _ => sin / (3.0 * cos),
            },
            inner: 4.0 * sin / 3.0,
        })
    }
}

/// The longest step under `metric`.
pub(crate) fn longest_step(metric: &Metric) -> f64 {
    match metric.rotates() {
        true => LONGEST,
        false => f64::INFINITY,
    }
}

/// Whether a trajectory of so many states ends, though it may not have turned: its draw lies about half
/// of them away.
pub(crate) fn is_far(states: i64, step_size: f64) -> bool {
    (states / 2) as f64 * step_size >= FAR
}

/// A metric with rotations.
pub(crate) struct Suited {
    /// The metric.
    pub(crate) metric: Metric,
    /// What its normal distribution leaves of the whole force, E Σᵢ (fᵢ + xᵢ)².
    pub(crate) left: f64,
}

/// `metric` with rotations, if these draws (positions and gradients, row-major, of so many
/// coordinates) say that they suit the target, or `settings` do.
pub(crate) fn suited(
    metric: &Metric,
    draws: (&[f64], &[f64], usize),
    settings: &Settings,
) -> Option<Suited> {
    if settings.sampler != Sampler::Nuts || settings.integrator == Integrator::Leapfrog {
        return None;
    }
    let (positions, gradients, dim) = draws;
    let metric = metric.about(&mean(positions, dim), &mean(gradients, dim))?;
    let (shares, left) = left(&metric, draws);
    let suits = settings.integrator == Integrator::Rotation
        || shares.iter().all(|share| *share < LEFT_MOST);
    let parts = if left < LEFT_OF_ONE { 1 } else { 2 };
    let metric = metric.in_parts(parts);
    suits.then_some(Suited { metric, left })
}

/// What is left of the force of every whitened coordinate over some of the draws, Σ (fᵢ + xᵢ)² / Σ fᵢ²,
/// and of all together on the mean, E Σᵢ (fᵢ + xᵢ)².
fn left(metric: &Metric, (positions, gradients, dim): (&[f64], &[f64], usize)) -> (Vec<f64>, f64) {
    let zeros = || vector::zeros(dim);
    let (mut position, mut gradient, mut scratch) = (zeros(), zeros(), zeros());
    let (mut place, mut force) = (zeros(), zeros());
    let mut sums = vec![[0.0; 2]; dim];
    let stride = (positions.len() / dim).div_ceil(MOST_ROWS).max(1);
    let rows = positions.chunks_exact(dim).zip(gradients.chunks_exact(dim));
    let mut n = 0.0;
    for (q, g) in rows.step_by(stride) {
        n += 1.0;
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
    let all: f64 = sums.iter().map(|[left, _]| left / n).sum();
    (sums.iter().map(|[left, all]| left / all).collect(), all)
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
        suited(metric, (&positions, &gradients, DIM), settings).is_some()
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
        let (shares, left) = left(&metric, (&positions, &gradients, DIM));
        // f = −s z and x = z/s with s² = 0.8 leave (1/s − s)²/s² = (1/s² − 1)².
        assert!(
            shares[0] < 1e-20 && (shares[1] - 0.0625).abs() < 1e-9,
            "{shares:?}"
        );
        // E f² is 0.8 there; bound: a thousand draws.
        assert!((left - 0.05).abs() < 0.01, "{left}");
    }

    /// Three coordinates that leave 0.05 each are too much for steps of one rotation together. Catches: the
    /// worst one that decides this, too.
    #[test]
    fn what_is_left_of_all_decides_on_the_rotations_of_a_step() {
        let mut normal = Known::normal(DIM, 1.0, false);
        let (positions, gradients) = draws(&mut normal, 2000);
        let parts = |variances: [f64; 3]| {
            let metric = Metric::diagonal(&variances);
            let draws = (&positions[..], &gradients[..], DIM);
            let suited = suited(&metric, draws, &Settings::default());
            suited.expect("it rotates").metric.parts()
        };
        assert_eq!(parts([1.0, 0.8, 1.0]), 1);
        assert_eq!(parts([0.8, 0.8, 0.8]), 2);
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
