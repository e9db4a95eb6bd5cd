//! Paths on targets whose shape is known.

use super::super::targets::Known;
use super::super::tests::seeds;
use super::super::{Init, Posterior, Settings, Silent, sample};
use super::*;
use std::sync::atomic::AtomicBool;

/// The draws of one path from a point around (3, 3, ...).
fn found(target: &Known, seed: u64) -> (Found, u64) {
    let dim = Target::dim(target);
    let stream = Stream {
        seed,
        stream: 0,
        chain: 0,
    };
    let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Test);
    let mut start = Point::new(dim);
    let from: Vec<f64> = (0..dim).map(|_| 3.0 + rng.normal()).collect();
    vector::load(&mut start.position, &from);
    assert!(start.evaluate(&mut target.clone()));
    let mut gradients = 0;
    let found = path(&mut target.clone(), start, stream, &mut gradients);
    (found, gradients)
}

/// Mean of the squares of the standardised draws: 1 for draws of the target itself.
fn mean_square(target: &Known, found: &Found) -> f64 {
    let dim = Target::dim(target);
    let rows = found.draws.chunks_exact(dim);
    let squares = rows.flat_map(|q| target.standardise(q)).map(|z| z * z);
    squares.sum::<f64>() / found.draws.len() as f64
}

/// A normal of condition 100, rotated, in few coordinates. Bounds: the mean square of the 250
/// standardised numbers from 0.4 to 2.5, where the start has about 9; log weights, which are all
/// equal for the target itself, within 6 of their mean. Passes on 200 of 200 seeds. Catches: a γ
/// of wrong sign, R transposed, a determinant left out of ln q, the largest of many noisy ELBOs.
#[test]
fn the_approximation_of_a_normal_is_nearly_the_normal() {
    for seed in seeds(20) {
        let target = Known::normal(5, 100.0, true);
        let (found, _) = found(&target, seed);
        assert_eq!(found.log_weights.len(), DRAWS);
        let square = mean_square(&target, &found);
        assert!(square > 0.4 && square < 2.5, "seed {seed}: {square}");
        let spread = found.log_weights.iter().map(|w| (w - found.elbo).abs());
        let spread = spread.fold(0.0, f64::max);
        assert!(spread < 6.0, "seed {seed}: {spread}");
    }
}

/// A normal of condition 10,000 in 50 coordinates, rotated, needs more history than there is; the
/// draws still lie where the target is. Bound: mean square from 0.3 to 3, where the start has about
/// 4000, within 3000 gradients. Passes on 60 of 60 seeds. Catches: a mode in place of draws
/// (mean square 0), an ascent that stops half way.
#[test]
fn hard_normals_and_heavy_tails_are_reached() {
    for target in [
        Known::normal(50, 1e4, true),
        Known::StudentT { dim: 10 },
        Known::normal(200, 1.0, false),
    ] {
        for seed in seeds(3) {
            let (found, gradients) = found(&target, seed);
            let square = mean_square(&target, &found);
            assert!(square > 0.3 && square < 3.0, "seed {seed}: {square}");
            assert!(gradients < 3000, "seed {seed}: {gradients} gradients");
        }
    }
}

/// The density of a funnel has no bound in its neck, but its ELBO has. Bound: the scale's logarithm
/// (standard normal) within ±3 and finite draws. Passes on 60 of 60 seeds. Catches: the last
/// step taken in place of the best.
#[test]
fn a_funnel_is_not_followed_into_its_neck() {
    for seed in seeds(5) {
        let (found, _) = found(&Known::Funnel { dim: 10 }, seed);
        assert!(found.log_weights.len() > DRAWS / 2);
        let neck = found.draws.chunks_exact(10).map(|q| q[0]);
        let mean = neck.sum::<f64>() / found.log_weights.len() as f64;
        assert!(mean.abs() < 3.0, "seed {seed}: {mean}");
    }
}

#[test]
fn starts_are_different_draws_in_proportion_to_their_weights() {
    let found = Found {
        draws: vec![1.0, 2.0, 3.0],
        log_weights: vec![0.0, 0.0, f64::NEG_INFINITY],
        elbo: 0.0,
    };
    let mut first = [0; 4];
    for seed in 0..400 {
        let stream = Stream {
            seed,
            stream: 0,
            chain: 0,
        };
        let starts = resample(std::slice::from_ref(&found), 3, stream);
        let value = |k: usize| starts[k].as_ref().map_or(0, |x| x[0] as usize);
        assert_eq!(value(0) + value(1), 3);
        assert_eq!(value(2), 0);
        first[value(0)] += 1;
    }
    // Five standard errors of 400 fair coins.
    assert!((first[1] - 200_i32).abs() < 50, "{first:?}");
    let stream = Stream {
        seed: 1,
        stream: 0,
        chain: 0,
    };
    assert_eq!(resample(&[Found::default()], 2, stream), [None, None]);
}

/// Exact. Catches: random numbers shared by chains or by threads.
#[test]
fn a_run_from_pathfinder_starts_the_same_for_any_number_of_threads() {
    for adapt in [Adapt::Pooled, Adapt::PerChain] {
        let run = |threads| {
            let settings = Settings {
                tune: 60,
                draws: 20,
                init: Init::Pathfinder,
                adapt,
                threads,
                ..Settings::default()
            };
            let mut target = Known::normal(6, 100.0, true);
            assert_eq!(Posterior::dim(&target), 6);
            let stop = AtomicBool::new(false);
            let run = sample(&mut target, &settings, &Silent, &stop).expect("it starts");
            (run.chains, run.gradients)
        };
        assert!(run(1) == run(3));
    }
}
