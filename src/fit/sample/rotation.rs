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
    /// coordinate more than three tenths of the square of the force is left for the kicks, and in no
    /// tail 18 % of it are missing. Each window of the warm-up decides anew.
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

/// Where tails begin, in standard deviations.
const TAIL: f64 = 1.5;

/// What the force may lack in a tail. Where it lacks more, a long step out there is seldom accepted, and
/// chains stay at one place: in up to one of ten runs of a logistic or a beta distribution long enough
/// to spoil the tails (lacks of 0.22 to 0.33). Leapfrogs, which follow the force, never did.
const LACK_MOST: f64 = 0.18;

/// What the normal distribution may leave of the whole force, in squares, for steps of one rotation.
const LEFT_OF_ONE: f64 = 0.08;

/// Draws that are asked, at most, or as many more as have so few numbers.
const MOST_ROWS: usize = 500;
const FEW_NUMBERS: usize = 8000;

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
    let Left { shares, tails, all } = left(&metric, draws);
    let below = |shares: &[f64], most: f64| shares.iter().all(|share| *share < most);
    let suits = settings.integrator == Integrator::Rotation
        || (below(&shares, LEFT_MOST) && below(&tails, LACK_MOST));
    let parts = if all < LEFT_OF_ONE { 1 } else { 2 };
    let metric = metric.in_parts(parts);
    suits.then_some(Suited { metric, left: all })
}

/// What a normal distribution leaves of the force.
struct Left {
    /// Of every whitened coordinate, Σ (fᵢ + xᵢ)² / Σ fᵢ².
    shares: Vec<f64>,
    /// Of every tail, a side of a coordinate beyond [`TAIL`], what the force lacks of that of the normal
    /// distribution, Σ (fᵢ + xᵢ) xᵢ / Σ xᵢ², less two standard errors.
    tails: Vec<f64>,
    /// Of all together on the mean, E Σᵢ (fᵢ + xᵢ)².
    all: f64,
}

/// Sums over the draws of a tail, of a = (f + x) x and b = x²: of a, b, a², ab and b².
#[derive(Clone, Copy, Default)]
struct Tail([f64; 5]);

impl Tail {
    fn add(&mut self, a: f64, b: f64) {
        let numbers = [a, b, a * a, a * b, b * b];
        self.0.iter_mut().zip(numbers).for_each(|(to, x)| *to += x);
    }

    /// Σa/Σb less two standard errors; 0 of no draws.
    fn lack(&self) -> f64 {
        let [a, b, aa, ab, bb] = self.0;
        if b == 0.0 {
            return 0.0;
        }
        let lack = a / b;
        let square = aa - 2.0 * lack * ab + lack * lack * bb;
        lack - 2.0 * square.max(0.0).sqrt() / b
    }
}

/// What is left of the force over some of the draws.
fn left(metric: &Metric, (positions, gradients, dim): (&[f64], &[f64], usize)) -> Left {
    let zeros = || vector::zeros(dim);
    let (mut position, mut gradient, mut scratch) = (zeros(), zeros(), zeros());
    let (mut place, mut force) = (zeros(), zeros());
    let mut sums = vec![[0.0; 2]; dim];
    let mut of_tails = vec![Tail::default(); 2 * dim];
    let most = MOST_ROWS.max(FEW_NUMBERS / dim);
    let stride = (positions.len() / dim).div_ceil(most).max(1);
    let rows = positions.chunks_exact(dim).zip(gradients.chunks_exact(dim));
    let mut n = 0.0;
    for (q, g) in rows.step_by(stride) {
        n += 1.0;
        vector::load(&mut position, q);
        vector::load(&mut gradient, g);
        metric.locate(&position, &mut place, &mut scratch);
        metric.pull(&gradient, &mut force);
        let numbers = force.as_flattened().iter().zip(place.as_flattened());
        for (i, (sums, (f, x))) in sums.iter_mut().zip(numbers).enumerate() {
            sums[0] += (f + x) * (f + x);
            sums[1] += f * f;
            if x.abs() > TAIL {
                of_tails[2 * i + usize::from(*x > 0.0)].add((f + x) * x, x * x);
            }
        }
    }
    Left {
        all: sums.iter().map(|[left, _]| left / n).sum(),
        shares: sums.iter().map(|[left, all]| left / all).collect(),
        tails: of_tails.iter().map(Tail::lack).collect(),
    }
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

    /// Of its own normal distribution nothing is left; where the metric says 0.83 of a variance of 1, a
    /// twenty-fourth of the square of that force; where it says 1 of 25, most. Catches: a mean over coordinates that
    /// hides the worst, forces that are not whitened.
    #[test]
    fn the_worst_coordinate_decides() {
        let settings = Settings::default();
        let mut normal = Known::normal(DIM, 1.0, false);
        assert!(ask(&mut normal, &Metric::diagonal(&[1.0; 3]), &settings));
        assert!(ask(
            &mut normal,
            &Metric::diagonal(&[1.0, 0.83, 1.0]),
            &settings
        ));
        assert!(!ask(
            &mut normal,
            &Metric::diagonal(&[1.0, 0.2, 1.0]),
            &settings
        ));
        let mut other = Known::normal(DIM, 25.0, false);
        assert!(!ask(&mut other, &Metric::diagonal(&[1.0; 3]), &settings));
        let metric = Metric::diagonal(&[1.0, 0.83, 1.0]);
        let metric = metric
            .about(&[0.0; 3], &[0.0; 3])
            .expect("it has rotations");
        let (positions, gradients) = draws(&mut normal, 2000);
        let Left { shares, all, .. } = left(&metric, (&positions, &gradients, DIM));
        // f = −s z and x = z/s with s² = 0.83 leave (1/s − s)²/s² = (1/s² − 1)².
        assert!(
            shares[0] < 1e-20 && (shares[1] - (0.17f64 / 0.83).powi(2)).abs() < 1e-9,
            "{shares:?}"
        );
        // E f² is 0.83 there; bound: a thousand draws.
        assert!((all - 0.035).abs() < 0.007, "{all}");
    }

    /// The force tanh(x/2) of a logistic distribution lacks a quarter in both tails, that of a standard
    /// normal one nothing. Catches: tails that cancel, a middle that hides them.
    #[test]
    fn weak_tails_are_seen() {
        let mut rng = Rng::new(4, 0, 0, 0, Purpose::Test);
        let logistic = |u: f64| libm::log(u / (1.0 - u));
        let positions: Vec<f64> = (0..2000).map(|_| logistic(rng.uniform())).collect();
        let gradients: Vec<f64> = positions.iter().map(|x| -libm::tanh(0.5 * x)).collect();
        let metric = Metric::diagonal(&[std::f64::consts::PI]);
        let draws = (&positions[..], &gradients[..], 1);
        let there = metric.about(&[0.0], &[0.0]).expect("it has rotations");
        let Left { shares, tails, .. } = left(&there, draws);
        assert!(shares[0] < LEFT_MOST, "{shares:?}");
        // E[x² − π x tanh(x/2); x > 2.66] / E[x²; x > 2.66] by quadrature is 0.254, and its standard error
        // from 130 draws 0.02, of which two are taken off. Bound: three and a half more.
        assert!(tails.iter().all(|t| (t - 0.214).abs() < 0.07), "{tails:?}");
        assert!(suited(&metric, draws, &Settings::default()).is_none());
        let mirrored: Vec<f64> = positions.iter().map(|x| -x.abs()).collect();
        let gradients: Vec<f64> = mirrored.iter().map(|x| -x).collect();
        let unit = Metric::diagonal(&[1.0]).about(&[0.0], &[0.0]);
        let draws = (&mirrored[..], &gradients[..], 1);
        let Left { tails, .. } = left(&unit.expect("it has rotations"), draws);
        assert_eq!(tails, [0.0, 0.0]);
    }

    /// Three coordinates that leave 0.035 each are too much for steps of one rotation together. Catches: the
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
        assert_eq!(parts([1.0, 0.83, 1.0]), 1);
        assert_eq!(parts([0.83, 0.83, 0.83]), 2);
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
