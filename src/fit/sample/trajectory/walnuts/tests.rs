//! Steps that lead back, Neal's funnel, and targets with known moments.

use super::super::super::dense::Matrix;
use super::super::super::targets::Known;
use super::super::super::tests::{check_moments, seeds};
use super::super::super::{Posterior, Sampler, Settings, Silent, sample};
use super::*;
use crate::diagnose::{Chains, Mcse, mcse, mean, quantile, sd};
use crate::rng::Rng;
use std::sync::atomic::AtomicBool;

/// Neal's funnel: v ~ N(0, 3), the others N(0, exp(v/2)), of which the neck at v = −9 is 8000 times
/// narrower than the mouth at v = 9.
#[derive(Clone)]
struct Neal {
    dim: usize,
}

impl Target for Neal {
    fn dim(&self) -> usize {
        self.dim
    }
    fn value_and_gradient(&mut self, q: &[f64], g: &mut [f64]) -> f64 {
        let (v, n) = (q[0], (self.dim - 1) as f64);
        let precision = (-v).exp();
        let sum: f64 = q[1..].iter().map(|x| x * x).sum();
        g[0] = -v / 9.0 - 0.5 * n + 0.5 * precision * sum;
        for (g, x) in g[1..].iter_mut().zip(&q[1..]) {
            *g = -precision * x;
        }
        -0.5 * (v * v / 9.0 + n * v + precision * sum)
    }
}

impl Posterior for Neal {
    type Target = Neal;
    fn dim(&self) -> usize {
        self.dim
    }
    fn target(&self) -> Neal {
        self.clone()
    }
}

/// One step from `q` with momentum `p`: where it leads, with which momentum, and whether back
/// again.
fn stepped(
    target: &mut Neal,
    metric: &Metric,
    (q, p): (&[f64], &[f64]),
    direction: Direction,
) -> (Result<f64, Stop>, [Vec<f64>; 2], u32) {
    let dim = q.len();
    let (mut space, mut scratch) = (Workspace::new(dim, 3), Scratch::new(dim));
    vector::load(&mut space.candidate.position, q);
    assert!(space.candidate.evaluate(target));
    vector::load(&mut space.ends[0].momentum, p);
    let path = Hamiltonian::start_with_momentum(target, metric, &mut space, 0.8);
    let mut path = Walnuts::new(path, &mut scratch);
    path.begin(direction);
    let found = path.step();
    let gradients = path.gradients;
    let end = &space.ends[usize::from(direction == Direction::Forward)];
    let numbers = |v: &[Block]| v.as_flattened()[..dim].to_vec();
    (
        found,
        [numbers(&end.position), numbers(&end.momentum)],
        gradients,
    )
}

/// From points of the funnel: a step changes the energy by no more than the tolerance, and the step
/// back from where it led leads here, to 1e-7, and changes the energy by as much. Catches: a way
/// back that is not looked at (of 400 steps about 20 do not lead back), or from the wrong momentum.
#[test]
fn a_step_of_any_size_leads_back_to_where_it_started() {
    let mut target = Neal { dim: 5 };
    let mut inverse_mass = Matrix::zeros(5);
    (0..5).for_each(|i| *inverse_mass.at_mut(i, i) = 0.5 + i as f64);
    *inverse_mass.at_mut(1, 0) = 0.3;
    *inverse_mass.at_mut(0, 1) = 0.3;
    let factor = inverse_mass.cholesky().expect("positive definite");
    let metric = Metric::from(super::super::super::metric::Factor::Dense(factor));
    let (mut led, mut halved, mut refused) = (0, 0, 0);
    for number in 0..400 {
        let mut rng = Rng::new(2, 0, 0, number, Purpose::Test);
        let v = -2.0 + 3.0 * rng.normal();
        let mut q = vec![v];
        q.extend((1..5).map(|_| (0.5 * v).exp() * rng.normal()));
        let p: Vec<f64> = (0..5).map(|_| rng.normal()).collect();
        let (found, end, gradients) = stepped(&mut target, &metric, (&q, &p), Direction::Forward);
        let Ok(weight) = found else {
            refused += usize::from(found == Err(Stop::Irreversible));
            continue;
        };
        led += 1;
        halved += usize::from(gradients > 1);
        assert!(weight.abs() <= TOLERANCE);
        let [there, momentum] = &end;
        let (back, start, _) =
            stepped(&mut target, &metric, (there, momentum), Direction::Backward);
        let back = back.expect("it leads back");
        assert!((weight + back).abs() < 1e-7, "{number}: {weight} {back}");
        for (a, b) in start.concat().iter().zip(q.iter().chain(&p)) {
            assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "{number}: {a} {b}");
        }
    }
    assert!(
        led > 300 && halved > 100 && refused > 5,
        "{led} {halved} {refused}"
    );
}

/// v of Neal's funnel in ten coordinates, which NUTS misses. Bounds: 5 Monte Carlo standard errors
/// of mean and standard deviation, 6 of the quantiles at 0.05 and 0.95. Catches: steps that are not
/// cut (NUTS gives 1.05 ± 0.09 and 2.26).
#[test]
fn the_funnel_has_its_neck() {
    for seed in seeds(1) {
        let settings = Settings {
            draws: 20_000,
            sampler: Sampler::Walnuts,
            seed,
            ..Settings::default()
        };
        let stop = AtomicBool::new(false);
        let run = sample(&mut Neal { dim: 10 }, &settings, &Silent, &stop).expect("it starts");
        let v: Vec<f64> = run
            .chains
            .iter()
            .flat_map(|c| c.positions.iter().step_by(10).copied())
            .collect();
        let chains = || Chains::new(&v, 4, 20_000);
        let far = 3.0 * 1.644_853_626_951_472_7;
        for (what, own, wanted, kind, bound) in [
            ("mean", mean(&v), 0.0, Mcse::Mean, 5.0),
            ("sd", sd(&v), 3.0, Mcse::Sd, 5.0),
            ("q05", quantile(&v, 0.05), -far, Mcse::Quantile(0.05), 6.0),
            ("q95", quantile(&v, 0.95), far, Mcse::Quantile(0.95), 6.0),
        ] {
            let error = mcse(chains(), kind);
            let z = (own - wanted) / error;
            assert!(
                z.abs() < bound && error < 0.3,
                "seed {seed}, {what}: {own} +- {error}"
            );
        }
        assert!(run.n_divergences() < 200, "{}", run.n_divergences());
    }
}

/// Bound: 5 standard errors, 2 draws counted as one, 3 in the mild funnel. Catches: an energy that
/// misses the momentum at one end, a halved step that counts as a whole one in the turning rule.
#[test]
fn known_targets_keep_their_moments() {
    let settings = Settings {
        tune: 300,
        draws: 500,
        sampler: Sampler::Walnuts,
        ..Settings::default()
    };
    for condition in [1.0, 100.0, 1e4] {
        check_moments(&Known::normal(5, condition, true), &settings, 2.0, 5.0);
    }
    check_moments(&Known::StudentT { dim: 4 }, &settings, 2.0, 5.0);
    check_moments(&Known::normal(1, 1.0, false), &settings, 3.0, 5.0);
    let coarse = Settings {
        target_accept: 0.5,
        ..settings.clone()
    };
    check_moments(&Known::normal(5, 10.0, false), &coarse, 2.5, 5.0);
    check_moments(&Known::Funnel { dim: 4 }, &settings, 3.0, 5.0);
}
