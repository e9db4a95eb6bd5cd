//! Independence proposals: a normal distribution with a heavy-tailed part, fitted to the warm-up,
//! proposes draws far apart, and Metropolis and Hastings correct them.
//!
//! Where a few parameters are left and the posterior is nearly normal, such a proposal is accepted
//! most of the time, and costs one evaluation. It is only used when importance weights of its own
//! draws say that it covers the posterior: the shape k of their tail (Vehtari, Simpson, Gelman,
//! Yao, Gabry, JMLR 25, 2024) and how often it would be accepted. Every sixteenth transition remains
//! one of NUTS, which moves where proposals seldom go; each of the two leaves the posterior as it
//! is, and so do both in turn.
//!
//! References: Tierney, Annals of Statistics 22, 1994 (independence chains); Hesterberg,
//! Technometrics 37, 1995 (defensive mixtures).

use super::Target;
use super::dense::{Lower, Matrix};
use super::estimate;
use super::trajectory::Point;
use super::vector::{self, Vector};
use crate::diagnose::tail_shape;
use crate::rng::Rng;

/// Every so many transitions NUTS makes one.
pub(crate) const NUTS_EVERY: u32 = 16;
/// Draws of the proposal that its weights are judged by.
pub(crate) const TRIALS: usize = 1000;
/// The largest shape of the tail of the weights; above one half their variance is infinite.
const LARGEST_K: f64 = 0.5;
/// The smallest share of accepted proposals: below it NUTS is no dearer.
const LEAST_ACCEPTED: f64 = 0.25;
/// Warm-up draws for each coordinate: fewer give no covariance.
const ROWS_PER_COORDINATE: usize = 5;
/// The share of the heavy-tailed part, and its degrees of freedom.
const HEAVY: f64 = 0.1;
const FREEDOM: f64 = 4.0;

/// What was found about independence proposals at the end of the warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Independence {
    /// Shape k of the tail of the importance weights of proposals; at most 0.5 to be used. NaN
    /// when there were too few draws to make a proposal.
    pub pareto_k: f64,
    /// The share of proposals that should be accepted; at least 0.25 to be used.
    pub acceptance: f64,
    /// Whether they were used; otherwise all transitions are those of NUTS.
    pub used: bool,
}

impl Independence {
    /// Too few draws, or no covariance.
    pub(crate) const NONE: Independence = Independence {
        pareto_k: f64::NAN,
        acceptance: 0.0,
        used: false,
    };
}

/// q = (1 − h) N(m, LLᵀ) + h t₄(m, LLᵀ): the normal part serves, the other bounds the weights.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    mean: Vec<f64>,
    factor: Lower,
    /// ln of the normalisers of both parts, shares included.
    constants: [f64; 2],
}

impl Proposal {
    /// From draws, row-major; none when they are too few or their covariance has no factor.
    pub(crate) fn fit(rows: &[f64], dim: usize) -> Option<Self> {
        let n = rows.len() / dim;
        if n < ROWS_PER_COORDINATE * dim + 10 {
            return None;
        }
        let mean = estimate::mean(rows, dim);
        let mut covariance = Matrix::zeros(dim);
        let mut centred = vector::zeros(dim);
        for row in rows.chunks_exact(dim) {
            let to = centred.as_flattened_mut().iter_mut();
            to.zip(row.iter().zip(&mean))
                .for_each(|(c, (x, m))| *c = x - m);
            for i in 0..dim {
                let share = centred[i / 8][i % 8] / (n - 1) as f64;
                vector::axpy(share, &centred, covariance.row_mut(i));
            }
        }
        Some(Self::new(mean, covariance.cholesky()?))
    }

    fn new(mean: Vec<f64>, factor: Lower) -> Self {
        let d = mean.len() as f64;
        let half = 0.5 * factor.log_det();
        let normal = libm::log(1.0 - HEAVY) - half - 0.5 * d * libm::log(std::f64::consts::TAU);
        let heavy = libm::log(HEAVY) - half + libm::lgamma(0.5 * (FREEDOM + d))
            - libm::lgamma(0.5 * FREEDOM)
            - 0.5 * d * libm::log(FREEDOM * std::f64::consts::PI);
        Proposal {
            mean,
            factor,
            constants: [normal, heavy],
        }
    }

    /// Its numbers: the mean, then the factor.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        [&self.mean[..], &self.factor.numbers()].concat()
    }

    /// From its numbers; none when they are not so many.
    pub(crate) fn from_numbers(numbers: &[f64], dim: usize) -> Option<Self> {
        let (mean, factor) = numbers.split_at_checked(dim)?;
        Some(Self::new(mean.to_vec(), Lower::from_numbers(dim, factor)?))
    }

    /// A draw into `x`; `z` is memory of the same length.
    pub(crate) fn draw(&self, rng: &mut Rng, z: &mut Vector, x: &mut Vector) {
        let dim = self.mean.len();
        let heavy = rng.uniform() < HEAVY;
        let numbers = &mut z.as_flattened_mut()[..dim];
        numbers.iter_mut().for_each(|z| *z = rng.normal());
        let stretch = match heavy {
            // χ² of 4 degrees of freedom is twice the sum of two exponential numbers.
            true => (FREEDOM / (2.0 * (rng.exponential() + rng.exponential()))).sqrt(),
            false => 1.0,
        };
        vector::load(x, &self.mean);
        self.factor.add_times(stretch, z, x);
    }

    /// ln q(x); `z` is memory of the same length.
    pub(crate) fn log_density(&self, x: &Vector, z: &mut Vector) -> f64 {
        let dim = self.mean.len();
        // L z = x − m, from the first row on.
        let mut square = 0.0;
        z.fill([0.0; 8]);
        for i in 0..dim {
            let row = &self.factor.row(i)[..=i / 8];
            // Not yet known elements of z are 0.
            let known = vector::dot(row, &z[..=i / 8]);
            let value = (x[i / 8][i % 8] - self.mean[i] - known) / row[i / 8][i % 8];
            z[i / 8][i % 8] = value;
            square += value * value;
        }
        let d = dim as f64;
        let normal = self.constants[0] - 0.5 * square;
        let heavy = self.constants[1] - 0.5 * (FREEDOM + d) * libm::log1p(square / FREEDOM);
        let (low, high) = if normal < heavy {
            (normal, heavy)
        } else {
            (heavy, normal)
        };
        high + libm::log1p(libm::exp(low - high))
    }

    /// ln p − ln q of [`TRIALS`] draws; −∞ outside of the support.
    pub(crate) fn log_weights(&self, target: &mut impl Target, rng: &mut Rng) -> Vec<f64> {
        let dim = self.mean.len();
        let (mut point, mut z) = (Point::new(dim), vector::zeros(dim));
        let one = |_| {
            self.draw(rng, &mut z, &mut point.position);
            match point.evaluate(target) {
                true => point.log_density - self.log_density(&point.position, &mut z),
                false => f64::NEG_INFINITY,
            }
        };
        (0..TRIALS).map(one).collect()
    }
}

/// What importance weights say of the proposal they are of.
pub(crate) fn judge(log_weights: &[f64]) -> Independence {
    let inside: Vec<f64> = log_weights
        .iter()
        .copied()
        .filter(|w| w.is_finite())
        .collect();
    if inside.len() < TRIALS / 10 {
        return Independence::NONE;
    }
    let largest = inside.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Σ min(wᵢ, wⱼ) / Σ wᵢ over pairs: the chance that a chain at i, which is there in proportion
    // to wᵢ, accepts j.
    let weights: Vec<f64> = log_weights.iter().map(|w| libm::exp(w - largest)).collect();
    let pairs = weights.iter().zip(weights.iter().cycle().skip(1));
    let accepted: f64 = pairs.map(|(a, b)| a.min(*b)).sum();
    let acceptance = accepted / weights.iter().sum::<f64>();
    let pareto_k = tail_shape(&inside);
    Independence {
        pareto_k,
        acceptance,
        // Not for NaN.
        used: pareto_k <= LARGEST_K && acceptance >= LEAST_ACCEPTED,
    }
}

/// Memory of a transition.
#[derive(Clone, Debug)]
pub(crate) struct Scratch {
    point: Point,
    z: Vector,
}

impl Scratch {
    pub(crate) fn new(dim: usize) -> Self {
        Scratch {
            point: Point::new(dim),
            z: vector::zeros(dim),
        }
    }
}

/// What a transition was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    /// The chance with which the proposal was to be accepted.
    pub(crate) probability: f64,
    /// ln of the weight where the chain was less that of the proposal.
    pub(crate) error: f64,
    /// Whether it was.
    pub(crate) accepted: bool,
}

/// One transition from `at`: propose y, accept it with the chance min(1, w(y)/w(x)), w = p/q.
pub(crate) fn step(
    target: &mut impl Target,
    proposal: &Proposal,
    at: &mut Point,
    scratch: &mut Scratch,
    rng: &mut Rng,
) -> Moved {
    let Scratch { point, z } = scratch;
    let here = at.log_density - proposal.log_density(&at.position, z);
    proposal.draw(rng, z, &mut point.position);
    let there = match point.evaluate(target) {
        true => point.log_density - proposal.log_density(&point.position, z),
        false => f64::NEG_INFINITY,
    };
    let probability = libm::exp((there - here).min(0.0));
    let accepted = rng.uniform() < probability;
    if accepted {
        std::mem::swap(at, point);
    }
    Moved {
        probability,
        error: here - there,
        accepted,
    }
}

#[cfg(test)]
mod tests;
