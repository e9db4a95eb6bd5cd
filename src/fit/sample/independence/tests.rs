//! Proposals against their formula, transitions that are exact with a poor proposal, whole runs on
//! known targets, and the guard.

use super::super::targets::Known;
use super::super::tests::{check_moments, seeds};
use super::super::{Adapt, Integrator, Posterior, Sampler, Settings, Silent, sample};
use super::*;
use crate::rng::Purpose;
use std::sync::atomic::AtomicBool;

fn rng(seed: u64) -> Rng {
    Rng::new(seed, 0, 0, 0, Purpose::Test)
}

fn settings() -> Settings {
    Settings {
        tune: 300,
        draws: 500,
        sampler: Sampler::Independence,
        ..Settings::default()
    }
}

/// A proposal for a normal of condition 100 in 3 coordinates, its mean off by `shift` standard
/// deviations in each and its scale by the factor `stretch`.
fn proposal(shift: f64, stretch: f64) -> (Known, Proposal) {
    let target = Known::normal(3, 100.0, true);
    let mut rng = rng(1);
    let mut rows = Vec::new();
    for _ in 0..4000 {
        let z: Vec<f64> = (0..3).map(|_| shift + stretch * rng.normal()).collect();
        rows.extend(target.colour(&z));
    }
    let proposal = Proposal::fit(&rows, 3).expect("there are enough rows");
    (target, proposal)
}

/// Means of functions of draws, by weights that must come out as 1. Bound: 5 standard errors.
/// Catches: a normaliser of either part, the share of the heavy one, ν in place of ν/2.
#[test]
fn the_density_of_a_proposal_is_that_of_its_draws() {
    let (target, q) = proposal(0.3, 1.2);
    // E_q[p/q] = 1 for the normalised density p of the target.
    let log_volume = 1.5 * libm::log(std::f64::consts::TAU) + libm::log(10.0) * 1.5;
    let mut weights = Vec::new();
    for seed in 0..20 {
        let logs = q.log_weights(&mut target.clone(), &mut rng(10 + seed));
        weights.extend(logs.iter().map(|w| libm::exp(w - log_volume)));
    }
    let n = weights.len() as f64;
    let mean = weights.iter().sum::<f64>() / n;
    let square = weights.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / n;
    let z = (mean - 1.0) / (square / n).sqrt();
    assert!(z.abs() < 5.0, "mean weight {mean}, z {z}");
    // Far out the heavy part alone is left: SciPy 1.17, multivariate_t.logpdf of 3 coordinates at
    // 30 along the first, plus ln 0.1.
    let unit = Proposal::new(vec![0.0; 3], identity(3));
    let (mut x, mut scratch) = (vector::zeros(3), vector::zeros(3));
    x[0][0] = 30.0;
    let far = unit.log_density(&x, &mut scratch);
    assert!((far - FAR).abs() < 1e-12, "{far}");
}

/// ln 0.1 + multivariate_t(shape=numpy.eye(3), df=4).logpdf([30, 0, 0]).
const FAR: f64 = -23.870_020_358_553_912;

fn identity(dim: usize) -> Lower {
    let mut matrix = Matrix::zeros(dim);
    (0..dim).for_each(|i| *matrix.at_mut(i, i) = 1.0);
    matrix.cholesky().expect("positive definite")
}

#[test]
fn a_proposal_comes_back_from_its_numbers() {
    let (_, q) = proposal(0.0, 1.0);
    let numbers = q.numbers();
    let back = Proposal::from_numbers(&numbers, 3).expect("as many as there should be");
    assert_eq!(back.numbers(), numbers);
    assert!(Proposal::from_numbers(&numbers[..8], 3).is_none());
    assert!(Proposal::from_numbers(&numbers[..2], 3).is_none());
}

/// Moments of 40,000 transitions with a proposal that is off by half a standard deviation and 30 %.
/// Bound: 5 standard errors, 6 transitions counted as one. Passes on the 3 seeds it runs. Catches: a
/// ratio without the density of the proposal (means off by 90 standard errors), either of the two
/// left out, all proposals accepted, a rejected transition that is not counted.
#[test]
fn a_poor_proposal_still_gives_the_target() {
    let (target, q) = proposal(0.5, 1.3);
    for seed in seeds(3) {
        let mut at = Point::new(3);
        assert!(at.evaluate(&mut target.clone()));
        let mut scratch = Scratch::new(3);
        let n = 40_000;
        let mut sums = [[0.0; 2]; 3];
        for i in 0..n {
            let mut rng = Rng::new(seed, 0, 0, i, Purpose::Test);
            step(&mut target.clone(), &q, &mut at, &mut scratch, &mut rng);
            for (sums, z) in sums
                .iter_mut()
                .zip(target.standardise(&at.position[0][..3]))
            {
                sums[0] += z;
                sums[1] += z * z - 1.0;
            }
        }
        let error = (6.0 * f64::from(n)).sqrt();
        for [z, square] in sums {
            let worst = (z / error).abs().max((square / error / 2f64.sqrt()).abs());
            assert!(worst < 5.0, "seed {seed}: {worst}");
        }
    }
}

/// π(x) q(y) min(1, w(y)/w(x)) is the same with x and y exchanged, to rounding, for pairs of
/// points. Catches: a ratio upside down.
#[test]
fn proposals_are_accepted_in_detailed_balance() {
    let (mut target, q) = proposal(0.5, 1.3);
    let (mut a, mut b) = (Point::new(3), Point::new(3));
    let (mut scratch, mut z) = (Scratch::new(3), vector::zeros(3));
    assert!(a.evaluate(&mut target));
    for i in 0..200 {
        let mut own = Rng::new(3, 0, 0, i, Purpose::Test);
        q.draw(&mut own.clone(), &mut z, &mut b.position);
        assert!(b.evaluate(&mut target));
        // The step from a proposes b; the one from b is worked out.
        let from = a.clone();
        let moved = step(&mut target, &q, &mut a, &mut scratch, &mut own);
        let mut flow = |x: &Point, y: &Point, probability: f64| {
            x.log_density + q.log_density(&y.position, &mut z) + libm::log(probability)
        };
        let there = flow(&from, &b, moved.probability);
        let back = flow(&b, &from, libm::exp(moved.error.min(0.0)));
        assert!((there - back).abs() < 1e-10, "{there} {back}");
        assert_eq!(a.position[0] == b.position[0], moved.accepted);
    }
}

/// Bound: 5 standard errors, 3 draws counted as one. Passes on the 3 seeds it runs.
#[test]
fn runs_of_independence_proposals_have_the_moments_of_their_targets() {
    for target in [
        Known::normal(5, 100.0, true),
        Known::normal(1, 1.0, false),
        Known::StudentT { dim: 3 },
        Known::Funnel { dim: 3 },
    ] {
        let run = sample(
            &mut target.clone(),
            &settings(),
            &Silent,
            &AtomicBool::new(false),
        );
        let found = run
            .expect("it starts")
            .independence
            .expect("they were tried");
        assert!(found.used, "{target:?}: {found:?}");
        check_moments(&target, &settings(), 3.0, 5.0);
    }
}

/// One gradient a draw but for every sixteenth. Bound: 2 a draw, where NUTS takes about 3 leapfrogs.
#[test]
fn a_proposal_costs_one_gradient() {
    let run = |sampler| {
        let settings = Settings {
            sampler,
            integrator: Integrator::Leapfrog,
            ..settings()
        };
        let stop = AtomicBool::new(false);
        let run = sample(&mut Known::normal(3, 1.0, false), &settings, &Silent, &stop);
        run.expect("it starts")
    };
    let (own, nuts) = (run(Sampler::Independence), run(Sampler::Nuts));
    assert!(own.mean_steps() < 2.0 && nuts.mean_steps() > 2.5);
    assert_eq!((nuts.independence, own.n_divergences()), (None, 0));
}

/// Exact. Catches: random numbers of one chain for all, a density of the proposal that depends on
/// where a run was stopped.
#[test]
fn threads_and_other_chains_do_not_change_proposals() {
    let run = |threads, chains, first_chain, adapt| {
        let settings = Settings {
            threads,
            chains,
            first_chain,
            adapt,
            ..settings()
        };
        let stop = AtomicBool::new(false);
        let mut target = Known::normal(4, 100.0, true);
        sample(&mut target, &settings, &Silent, &stop)
            .expect("it starts")
            .chains
    };
    assert!(run(1, 4, 0, Adapt::Pooled) == run(3, 4, 0, Adapt::Pooled));
    assert!(run(1, 4, 0, Adapt::PerChain)[2..] == run(1, 2, 2, Adapt::PerChain)[..]);
}

/// Tails far heavier than those of the proposal, a second mode it does not know, a target that is
/// nowhere near it, and too few draws. Catches: a guard on a sign turned round.
#[test]
fn proposals_that_do_not_cover_the_target_are_refused() {
    /// ln p(x) = −0.6 Σ ln(1 + xᵢ²): tails heavier than those of any proposal.
    struct Heavy;
    impl Target for Heavy {
        fn dim(&self) -> usize {
            2
        }
        fn value_and_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
            gradient.fill(0.0);
            -0.6 * x.iter().map(|x| (x * x).ln_1p()).sum::<f64>()
        }
    }
    let unit = |stretch: f64| {
        let mut rng = rng(4);
        let rows: Vec<f64> = (0..2000).map(|_| stretch * rng.normal()).collect();
        Proposal::fit(&rows, 2).expect("there are enough rows")
    };
    let found = judge(&unit(1.0).log_weights(&mut Heavy, &mut rng(5)));
    assert!(!found.used && found.pareto_k > LARGEST_K, "{found:?}");
    // Ten times too narrow, and ten times too wide.
    let mut normal = Known::normal(2, 1.0, false);
    let narrow = judge(&unit(0.1).log_weights(&mut normal, &mut rng(6)));
    assert!(!narrow.used && narrow.pareto_k > LARGEST_K, "{narrow:?}");
    let wide = judge(&unit(10.0).log_weights(&mut normal, &mut rng(7)));
    assert!(!wide.used && wide.acceptance < LEAST_ACCEPTED, "{wide:?}");
    assert!(!judge(&vec![f64::NEG_INFINITY; TRIALS]).used);
    assert!(Proposal::fit(&[0.0; 20], 2).is_none());
    // All rows equal: no covariance.
    assert!(Proposal::fit(&[1.0; 200], 2).is_none());
    let short = Settings {
        tune: 10,
        ..settings()
    };
    let stop = AtomicBool::new(false);
    let run = sample(&mut Known::normal(20, 1.0, false), &short, &Silent, &stop);
    let found = run
        .expect("it starts")
        .independence
        .expect("they were tried");
    assert!(!found.used && found.pareto_k.is_nan());
    assert_eq!(Posterior::dim(&normal), 2);
}
