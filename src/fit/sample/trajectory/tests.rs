//! The leapfrog itself: order, reversibility, volume, and that the metric is a metric.

use super::super::dense::{Lower, Matrix};
use super::super::metric::{Factor, MetricKind};
use super::super::sparse::Blocks;
use super::super::targets::Known;
use super::*;

/// A metric far from the identity, with M⁻¹ = diag(d) + v vᵀ.
fn dense_metric(dim: usize) -> Metric {
    let mut inverse_mass = Matrix::zeros(dim);
    for i in 0..dim {
        for j in 0..dim {
            let v = |k: usize| 0.3 + 0.2 * k as f64;
            *inverse_mass.at_mut(i, j) = v(i) * v(j) + if i == j { 1.0 + i as f64 } else { 0.0 };
        }
    }
    Factor::Dense(inverse_mass.cholesky().expect("positive definite")).into()
}

/// Variances 25 and 0.04 along two directions at right angles.
const ALONG: [f64; 2] = [25.0, 0.04];

fn directions(dim: usize) -> [Vec<f64>; 2] {
    // A cosine and a sine of whole periods.
    let angle = |i: usize| std::f64::consts::TAU * (i as f64 + 0.3) / dim as f64;
    let size = (2.0 / dim as f64).sqrt();
    [f64::cos, f64::sin].map(|wave| (0..dim).map(|i| size * wave(angle(i))).collect())
}

fn low_rank_metric(dim: usize) -> Metric {
    let scale: Vec<f64> = (0..dim).map(|i| (0.5 + i as f64).sqrt()).collect();
    let rows = directions(dim).map(|direction| {
        let mut row = vector::zeros(dim);
        vector::load(&mut row, &direction);
        row
    });
    Metric::low_rank(&scale, &ALONG, &rows)
}

/// Covariance of coordinates i and i + dim/2, the latter first in their block.
const TOGETHER: [f64; 3] = [3.0, -0.5, 0.5];

fn block_metric(dim: usize) -> Metric {
    let half = dim / 2;
    let [a, b, c] = TOGETHER;
    let factor = [a.sqrt(), b / a.sqrt(), (c - b * b / a).sqrt()];
    let mut blocks: Vec<(Vec<u32>, Lower)> = (0..half)
        .map(|i| {
            let places = vec![(i + half) as u32, i as u32];
            (places, Lower::from_numbers(2, &factor).expect("three"))
        })
        .collect();
    for i in 2 * half..dim {
        let one = Lower::from_numbers(1, &[2.0]).expect("one");
        blocks.push((vec![i as u32], one));
    }
    let factor = Blocks::new(dim, blocks).expect("each once");
    Metric::in_blocks(dim, factor, &[], &[])
}

/// One of each family, then those that can with rotations about a place that is no origin, one and two
/// to a step.
fn metrics(dim: usize) -> Vec<Metric> {
    let variances: Vec<f64> = (0..dim).map(|i| 0.5 + i as f64).collect();
    let mut all = vec![
        Metric::diagonal(&variances),
        dense_metric(dim),
        low_rank_metric(dim),
        block_metric(dim),
    ];
    let centre: Vec<f64> = (0..dim).map(|i| 0.2 - 0.1 * i as f64).collect();
    let flat = vec![0.0; dim];
    let rotating = all.iter().filter_map(|metric| metric.about(&centre, &flat));
    let rotating: Vec<Metric> = rotating.collect();
    assert_eq!(rotating.len(), 3);
    let twice = rotating.iter().map(|metric| metric.clone().in_parts(2));
    all.extend(twice.chain(rotating.clone()));
    all
}

/// Position and whitened momentum after `steps` forward steps from (`q`, `p`), and the largest
/// energy error on the way.
fn travel(
    target: &mut impl Target,
    metric: &Metric,
    (q, p): (&[f64], &[f64]),
    step_size: f64,
    steps: usize,
) -> (Vec<f64>, Vec<f64>, f64) {
    let dim = q.len();
    let mut space = Workspace::new(dim, 3);
    vector::load(&mut space.candidate.position, q);
    assert!(space.candidate.evaluate(target));
    vector::load(&mut space.ends[0].momentum, p);
    let mut path = Hamiltonian::start_with_momentum(target, metric, &mut space, step_size);
    path.begin(Direction::Forward);
    let worst = (0..steps).map(|_| path.leap().abs()).fold(0.0, f64::max);
    let end = &space.ends[1];
    let vector = |v: &[Block]| v.as_flattened()[..dim].to_vec();
    (vector(&end.position), vector(&end.momentum), worst)
}

const Q: [f64; 4] = [0.3, -0.7, 1.1, 0.2];
const P: [f64; 4] = [0.9, 0.4, -0.6, -1.2];

/// Half the step, a quarter of the error: bound 4 ± 0.2. Catches: a drift 1.3 times too long, a
/// half kick of 0.6, a kick with the slope of the wrong end.
#[test]
fn leapfrog_is_second_order() {
    for metric in metrics(4) {
        let mut target = Known::Funnel { dim: 4 };
        let error =
            |step: f64, n: usize, target: &mut Known| travel(target, &metric, (&Q, &P), step, n).2;
        let ratio = error(0.01, 100, &mut target) / error(0.005, 200, &mut target);
        assert!((ratio - 4.0).abs() < 0.2, "{ratio}");
    }
}

/// Bound 1e-10: rounding over 200 steps. Catches: a kick that uses the momentum, a force that is
/// one step old.
#[test]
fn there_and_back_again_ends_at_the_start() {
    for metric in metrics(4) {
        let mut target = Known::Funnel { dim: 4 };
        let (q, p, _) = travel(&mut target, &metric, (&Q, &P), 0.05, 100);
        let flipped: Vec<f64> = p.iter().map(|p| -p).collect();
        let (q, p, _) = travel(&mut target, &metric, (&q, &flipped), 0.05, 100);
        for i in 0..4 {
            assert!((q[i] - Q[i]).abs() < 1e-10 && (p[i] + P[i]).abs() < 1e-10);
        }
    }
}

/// The determinant of the map of one step, by central differences: 1 ± 1e-6. Catches: a drift
/// after the second half kick, a metric that is not the transpose of itself in kick and drift.
#[test]
fn one_step_keeps_volume() {
    for metric in metrics(4) {
        let mut target = Known::Funnel { dim: 4 };
        let mut jacobian = vec![vec![0.0; 8]; 8];
        let h = 1e-5;
        for column in 0..8 {
            let mut image = |shift: f64| {
                let (mut q, mut p) = (Q, P);
                if column < 4 {
                    q[column] += shift;
                } else {
                    p[column - 4] += shift;
                }
                let (q, p, _) = travel(&mut target, &metric, (&q, &p), 0.3, 1);
                [q, p].concat()
            };
            for (row, (a, b)) in image(h).iter().zip(image(-h)).enumerate() {
                jacobian[row][column] = (a - b) / (2.0 * h);
            }
        }
        assert!((determinant(jacobian) - 1.0).abs() < 1e-6);
    }
}

/// Gaussian elimination with pivoting.
fn determinant(mut a: Vec<Vec<f64>>) -> f64 {
    let n = a.len();
    let mut product = 1.0;
    for k in 0..n {
        let size = |i: &usize| a[*i][k].abs();
        let pivot = (k..n)
            .max_by(|i, j| size(i).total_cmp(&size(j)))
            .expect("k < n");
        if pivot != k {
            a.swap(k, pivot);
            product = -product;
        }
        product *= a[k][k];
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    product
}

/// With p = S⁻ᵀπ: the velocity S π has covariance S Sᵀ = M⁻¹, and pull is the adjoint of spread,
/// so p has covariance M. Exact to 1e-12. Catches: a factor used untransposed or inverted.
#[test]
fn momenta_have_the_covariance_of_the_metric() {
    let dim = 11;
    for metric in metrics(dim) {
        let mut columns = Vec::new();
        for i in 0..dim {
            let (mut unit, mut out) = (vector::zeros(dim), vector::zeros(dim));
            unit[i / 8][i % 8] = 1.0;
            metric.spread(&unit, &mut out);
            columns.push(out);
            // Row i of Sᵀ against column i of S.
            let mut pulled = vector::zeros(dim);
            metric.pull(&unit, &mut pulled);
            for j in 0..=i {
                let a = columns[j][i / 8][i % 8];
                assert!((pulled[j / 8][j % 8] - a).abs() < 1e-12);
            }
        }
        for i in 0..dim {
            for j in 0..dim {
                let got: f64 = columns
                    .iter()
                    .map(|c| c[i / 8][i % 8] * c[j / 8][j % 8])
                    .sum();
                let v = |k: usize| 0.3 + 0.2 * k as f64;
                let low_rank = || {
                    let along = directions(dim).map(|u| u[i] * u[j]);
                    let more: f64 = (0..2).map(|k| (ALONG[k] - 1.0) * along[k]).sum();
                    let same = f64::from(u8::from(i == j));
                    ((0.5 + i as f64) * (0.5 + j as f64)).sqrt() * (same + more)
                };
                let want = match (metric.kind(), i == j) {
                    (MetricKind::LowRank, _) => low_rank(),
                    (MetricKind::Diagonal, true) => 0.5 + i as f64,
                    (MetricKind::Diagonal, false) => 0.0,
                    (MetricKind::Dense, same) => {
                        v(i) * v(j) + if same { 1.0 + i as f64 } else { 0.0 }
                    }
                    (MetricKind::Auto, _) => unreachable!("a metric is of a family"),
                    (MetricKind::Blocks, same) => {
                        let half = dim / 2;
                        match (same, i / half, i.abs_diff(j) == half && i.max(j) < 2 * half) {
                            (true, 0, _) => TOGETHER[2],
                            (true, 1, _) => TOGETHER[0],
                            (true, _, _) => 4.0,
                            (false, _, true) => TOGETHER[1],
                            (false, _, false) => 0.0,
                        }
                    }
                };
                assert!((got - want).abs() < 1e-12);
            }
        }
        let expected: Vec<f64> = (0..dim)
            .map(|i| columns.iter().map(|c| c[i / 8][i % 8].powi(2)).sum())
            .collect();
        for (a, b) in metric.variances(dim).iter().zip(&expected) {
            assert!((a - b).abs() < 1e-12);
        }
    }
}

/// The dense metric whose M⁻¹ is the covariance of a normal target.
fn metric_of(target: &Known) -> Metric {
    let Known::Normal { sd, mirror } = target else {
        unreachable!("it is a normal")
    };
    let dim = sd.len();
    let mut sigma = Matrix::zeros(dim);
    let reflect = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * mirror[i] * mirror[j];
    for i in 0..dim {
        for j in 0..dim {
            *sigma.at_mut(i, j) = (0..dim)
                .map(|k| reflect(i, k) * sd[k] * sd[k] * reflect(k, j))
                .sum();
        }
    }
    Factor::Dense(sigma.cholesky().expect("positive definite")).into()
}

/// Under the metric of its own covariance a normal target is an isotropic oscillator: after a
/// quarter period, π/2, position and momentum have swapped places. Bound: the error of a
/// second-order step of π/2/1000.
#[test]
fn the_right_metric_makes_every_normal_an_oscillator() {
    let (dim, steps) = (5, 1000);
    let mut target = Known::normal(dim, 1e4, true);
    let metric = metric_of(&target);
    let quarter = std::f64::consts::FRAC_PI_2 / steps as f64;
    let p = [1.0, -0.5, 0.25, 2.0, -1.0];
    let (q, end, _) = travel(&mut target, &metric, (&[0.0; 5], &p), quarter, steps);
    let (mut whitened, mut expected) = (vector::zeros(dim), vector::zeros(dim));
    vector::load(&mut whitened, &p);
    metric.spread(&whitened, &mut expected);
    for i in 0..dim {
        assert!((q[i] - expected[i / 8][i % 8]).abs() < 1e-5 * 100.0);
        assert!(end[i].abs() < 1e-5);
    }
}

/// A span turns or not, whichever end it was grown from; exact but for ties, of which there are
/// none here. Catches: only one end looked at, the sums of the two sides mixed up.
#[test]
fn whether_a_span_turns_does_not_depend_on_the_end_it_grew_from() {
    let mut target = Known::normal(4, 100.0, true);
    let mut turned = 0;
    for metric in metrics(4) {
        for steps in 1..40 {
            let (q, p, _) = travel(&mut target, &metric, (&Q, &P), 0.5, steps);
            let mut verdict = |(q, p): (&[f64], &[f64]), direction, split: usize| {
                let mut space = Workspace::new(4, 3);
                vector::load(&mut space.candidate.position, q);
                assert!(space.candidate.evaluate(&mut target));
                vector::load(&mut space.ends[0].momentum, p);
                let mut path =
                    Hamiltonian::start_with_momentum(&mut target, &metric, &mut space, 0.5);
                path.begin(direction);
                path.mark(Place::First(0));
                path.mark(Place::Before(1));
                for step in 0..steps {
                    path.leap();
                    if step == split {
                        path.mark(Place::First(2));
                    }
                }
                let since = path.turns(Span::Since(0));
                let far = metric.rotates() && is_far(steps as i64 + 1, 0.5);
                assert_eq!(since || far, path.turns(Span::Whole));
                assert_eq!(since, path.turns(Span::SinceBefore(1)));
                assert_eq!(path.turns(Span::Between(0, 2)), path.turns(Span::FarTo(2)));
                since
            };
            let forth = verdict((&Q, &P), Direction::Forward, steps / 2);
            let back = verdict((&q, &p), Direction::Backward, steps / 2);
            assert_eq!(forth, back, "{steps} steps");
            turned += usize::from(forth);
        }
    }
    assert!(turned > 17 && turned < 187, "{turned}");
}

/// In a normal distribution with the metric's covariance, which lies anywhere, a rotation of any angle
/// misses no energy, and a quarter of a turn exchanges place and momentum; S⁻¹ is the inverse of S.
/// Bounds: rounding. Catches: a centre that is the mean of the draws alone, an angle of another size,
/// directions that are not undone.
#[test]
fn rotations_are_exact_in_a_normal_distribution() {
    let dim = 5;
    let mut target = Known::normal(dim, 1e4, true);
    let plain = metric_of(&target);
    // Draws whose mean is not that of the target, but whose slopes say how far off they are.
    let mut away = Point::new(dim);
    vector::load(&mut away.position, &[3.0, -2.0, 1.0, 0.5, 4.0]);
    assert!(away.evaluate(&mut target));
    let mean = |v: &[Block]| v.as_flattened()[..dim].to_vec();
    let metric = plain.about(&mean(&away.position), &mean(&away.gradient));
    let metric = metric.expect("a dense one has rotations");
    let p = [1.0, -0.5, 0.25, 2.0, -1.0];
    let q = [10.0, -20.0, 5.0, 1.0, -7.0];
    let quarter = std::f64::consts::FRAC_PI_2;
    let of = |parts: usize| metric.clone().in_parts(parts);
    for metric in [of(1), of(2)] {
        for angle in [0.1, 1.25, 1.5, 2.5] {
            let (_, _, worst) = travel(&mut target, &metric, (&q, &p), angle, 40);
            assert!(worst < 1e-10, "{angle}: {worst}");
        }
    }
    let [(to, momentum, _), (also, _, _)] =
        [1, 2].map(|parts| travel(&mut target, &of(parts), (&q, &p), quarter, 1));
    assert!(to.iter().zip(&also).all(|(a, b)| (a - b).abs() < 1e-10));
    let (mut whitened, mut expected) = (vector::zeros(dim), vector::zeros(dim));
    vector::load(&mut whitened, &p);
    metric.spread(&whitened, &mut expected);
    let (mut place, mut scratch) = (vector::zeros(dim), vector::zeros(dim));
    vector::load(&mut whitened, &q);
    metric.locate(&whitened, &mut place, &mut scratch);
    for i in 0..dim {
        assert!((to[i] - expected[i / 8][i % 8]).abs() < 1e-10);
        assert!((momentum[i] + place[i / 8][i % 8]).abs() < 1e-10);
    }
}

/// ℓ = −½ q² − ε q³/3.
struct Cubic(f64);

impl Target for Cubic {
    fn dim(&self) -> usize {
        1
    }

    fn value_and_gradient(&mut self, q: &[f64], gradient: &mut [f64]) -> f64 {
        gradient[0] = -q[0] - self.0 * q[0] * q[0];
        -0.5 * q[0] * q[0] - self.0 * q[0].powi(3) / 3.0
    }
}

/// Of a cubic term ε a step of two rotations misses no energy in first order: a tenth of ε, a
/// hundredth of the error, at any angle and wherever it starts. What that of one misses is the two waves
/// that its docs name, and any other kick misses more of them on the mean over places and momenta. Bounds: the next order. Catches: kicks of a leapfrog, weights of other angles.
#[test]
fn kicks_are_those_that_miss_least_of_a_cubic() {
    let plain = Metric::diagonal(&[1.0]).about(&[0.0], &[0.0]);
    let plain = plain.expect("a diagonal one has rotations");
    let two = plain.clone().in_parts(2);
    for angle in [0.5, 1.25, 2.0] {
        for start in 0..8 {
            let (p, q) = (0.8 * f64::from(start)).sin_cos();
            let error = |e: f64| travel(&mut Cubic(e), &two, (&[q], &[p]), angle, 1).2;
            assert!(error(1e-4) < 0.02 * error(1e-3), "{angle}, {start}");
        }
        // The energy missed in the waves of k to a turn, of which the square of that of three counts
        // three times that of one.
        let missed =
            |kick: f64, k: f64| (k * angle / 2.0).sin() / k - kick * (k * angle / 2.0).cos();
        let all = |kick: f64| 3.0 * missed(kick, 3.0).powi(2) + missed(kick, 1.0).powi(2);
        let kick = Turn::of(1, angle).expect("one rotation").outer;
        assert!(all(kick) < all(kick + 1e-3) && all(kick) < all(kick - 1e-3));
        // In one coordinate both waves of ε p q² have the same height, ε A³/4 each.
        let energy = 1e-3 / 4.0;
        for start in 0..8 {
            let phase = 0.8 * f64::from(start);
            let middle = phase + angle / 2.0;
            let wave = |k: f64| -2.0 * (k * middle).sin() * missed(kick, k) * energy;
            let (q, p) = (phase.cos(), -phase.sin());
            let error = travel(&mut Cubic(1e-3), &plain, (&[q], &[p]), angle, 1).2;
            let expected = (wave(1.0) + wave(3.0)).abs();
            assert!((error - expected).abs() < 3e-6, "{error} {expected}");
        }
    }
}

/// S S⁻¹ = I for every family, and numbers of a centre come back. Bound: rounding.
#[test]
fn places_are_found_and_kept() {
    for dim in [4, 11] {
        for metric in metrics(dim).into_iter().filter(Metric::rotates) {
            let mut q = vector::zeros(dim);
            for (i, q) in q.as_flattened_mut()[..dim].iter_mut().enumerate() {
                *q = (i as f64 + 1.0).sin();
            }
            let (mut place, mut scratch) = (q.clone(), q.clone());
            let mut back = vector::zeros(dim);
            metric.locate(&q, &mut place, &mut scratch);
            metric.spread(&place, &mut back);
            for i in 0..dim {
                let wanted = q[i / 8][i % 8] - (0.2 - 0.1 * i as f64);
                assert!((back[i / 8][i % 8] - wanted).abs() < 1e-12, "{metric:?}");
            }
            let (kind, numbers) = metric.numbers(dim);
            let again = Metric::from_numbers(kind, dim, &numbers).expect("its own");
            assert_eq!(again.words(dim), metric.words(dim));
            assert!(Metric::from_numbers(kind, dim, &numbers[1..]).is_none());
            assert!(!metric.straight().rotates());
        }
    }
}
