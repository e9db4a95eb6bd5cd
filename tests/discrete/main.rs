//! Models with discrete parameters against sums over every combination of their values, written as
//! loops by hand, over random sizes, data and points: the density, its slopes, the log likelihoods of
//! rows, and draws of the discrete parameters.
#![allow(clippy::unwrap_used)]

mod cases;
mod draws;
mod laws;
#[path = "../support/mod.rs"]
mod support;

use cases::*;
use fitzroy::data::Dataset;
use fitzroy::diagnose::{Finding, FindingKind, SummaryOptions};
use fitzroy::draws::{Column, Trace};
use fitzroy::model::Model;
use fitzroy::model::joint::{Coordinates, Graphs, TermKind};
use fitzroy::rng::{Purpose, Rng};
use fitzroy::run::{Caller, Outcome, Settings, bind, run};
use laws::*;
use std::f64::consts::PI;
use support::kernels::{Case as Kernel, assert_same_bits};
use support::{Density, everywhere, joint};

/// Every combination of values of the elements.
fn combinations(values: &[(i64, usize)]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for &(low, count) in values {
        let longer = |z: &Vec<i64>| {
            let z = z.clone();
            (0..count as i64).map(move |v| [&z[..], &[low + v]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn log_sum_exp(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let peak = x.clone().fold(f64::NEG_INFINITY, f64::max);
    if peak == f64::NEG_INFINITY {
        return peak;
    }
    peak + x.map(|x| (x - peak).exp()).sum::<f64>().ln()
}

/// Draws with which frequencies are compared.
const DRAWS: usize = 4000;

/// Standard errors that a frequency may be away: of some 4,000 comparisons chance alone fails one seed in
/// about 300.
const FAR: f64 = 5.0;

/// What the test knows of one case at one point: all by hand.
struct ByHand<'a> {
    case: &'a Case,
    trial: &'a Trial,
    all: Vec<Vec<i64>>,
}

impl<'a> ByHand<'a> {
    fn new(case: &'a Case, trial: &'a Trial) -> Self {
        ByHand {
            case,
            trial,
            all: combinations(&(case.values)(trial)),
        }
    }

    fn priors(&self, p: &[f64]) -> f64 {
        p[..6].iter().map(|x| normal(*x, 0.0, 1.0)).sum()
    }

    /// ln p of everything at every combination; without row `left_out`, if any.
    fn joint(&self, p: &[f64], left_out: Option<usize>) -> Vec<f64> {
        let one = |z: &Vec<i64>| {
            let rows = (self.case.rows)(self.trial, p, z);
            let kept = rows
                .iter()
                .enumerate()
                .filter(|(i, _)| Some(*i) != left_out);
            (self.case.prior)(self.trial, p, z) + kept.map(|(_, x)| x).sum::<f64>()
        };
        self.all.iter().map(one).collect()
    }

    fn density(&self, p: &[f64]) -> f64 {
        self.priors(p) + log_sum_exp(self.joint(p, None).iter().copied())
    }
}

/// A random point, with room for what is computed from it.
fn somewhere(density: &Density, rng: &mut Rng) -> Vec<f64> {
    let mut position = vec![0.0; density.graphs.n_extended];
    position[..density.dim]
        .iter_mut()
        .for_each(|x| *x = 0.7 * rng.normal());
    position
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() < tolerance * (1.0 + a.abs().min(b.abs()))
}

fn check_slopes(what: &str, point: &[f64], gradient: &[f64], by_hand: &dyn Fn(&[f64]) -> f64) {
    for (k, slope) in gradient.iter().enumerate() {
        let h = 1e-5;
        let [low, high] = [-h, h].map(|h| {
            let mut moved = point.to_vec();
            moved[k] += h;
            by_hand(&moved)
        });
        let numeric = (high - low) / (2.0 * h);
        assert!(
            near(*slope, numeric, 1e-6),
            "{what}: slope {k} is {slope}, by differences {numeric}"
        );
    }
}

/// Catches: a prior left out or counted twice, a row with another's element, values from another
/// least one, an order of elements, a branch that is impossible and leaves NaN in a slope.
#[test]
fn densities_are_those_of_sums_over_all_combinations() {
    let mut rng = Rng::new(31, 0, 0, 1, Purpose::Test);
    for case in CASES {
        for _ in 0..8 {
            let trial = Trial::new(&mut rng);
            let joint = joint(&model_of(case), &trial.data);
            let mut density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
            let by_hand = ByHand::new(case, &trial);
            let point: Vec<f64> = (0..density.dim).map(|_| 0.7 * rng.normal()).collect();
            let what = format!(
                "{}, {} rows in {} groups",
                case.name,
                trial.n(),
                trial.n_groups
            );
            let (value, gradient) = density.run(&point);
            let want = by_hand.density(&point);
            assert!(near(value, want, 1e-10), "{what}: {value} {want}");
            if !want.is_finite() {
                continue;
            }
            let mut position = point.clone();
            position.resize(density.graphs.n_extended, 0.0);
            let reference = density.reference(&position);
            assert!(near(value, reference.0, 1e-12), "{what}");
            for (k, slope) in gradient.iter().enumerate() {
                assert!(near(*slope, reference.1[k], 1e-9), "{what}: slope {k}");
            }
            check_slopes(&what, &point, &gradient, &|u| by_hand.density(u));
        }
    }
}

#[test]
fn kernels_of_models_with_discrete_parameters_have_the_bits_of_the_cpu() {
    let mut rng = Rng::new(31, 0, 0, 2, Purpose::Test);
    let kernel = |case: &Case| {
        let joint = joint(&model_of(case), &Trial::new(&mut rng).data);
        Kernel::centred(case.name.into(), &joint)
    };
    assert_same_bits(&CASES.iter().map(kernel).collect::<Vec<_>>(), false);
}

/// Catches: rows that are those of another element, the prior left in, sums with −∞ taken apart.
#[test]
fn log_likelihoods_are_those_of_rows_given_all_others() {
    let mut rng = Rng::new(33, 0, 0, 1, Purpose::Test);
    for case in CASES {
        for _ in 0..4 {
            let trial = Trial::new(&mut rng);
            let joint = joint(&model_of(case), &trial.data);
            let density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
            let graphs = &density.graphs;
            let by_hand = ByHand::new(case, &trial);
            let position = somewhere(&density, &mut rng);
            let all = log_sum_exp(by_hand.joint(&position, None).into_iter());
            let terms = graphs
                .terms
                .iter()
                .filter(|t| t.kind == TermKind::Likelihood);
            let nodes: Vec<_> = terms.map(|t| t.node).collect();
            if !all.is_finite() || graphs.reads_drawn(&nodes) {
                continue;
            }
            let rows = density.by_reference(&position, &nodes).concat();
            for (i, row) in rows.iter().enumerate() {
                let others = log_sum_exp(by_hand.joint(&position, Some(i)).into_iter());
                let want = all - others;
                assert!(
                    near(*row, want, 1e-9),
                    "{}: row {i}: {row} {want}",
                    case.name
                );
            }
        }
    }
}
