//! Drawing variables anew, given the values of their arguments.

use super::Drawn;
use super::weighted::{chain, weighted};
use crate::dist::{
    Scalar, draw_autoregressive, draw_categorical, draw_dirichlet, draw_dirichlet_multinomial,
    draw_lkj_cholesky, draw_multinomial, draw_mv_normal_cholesky, draw_mv_student_cholesky,
    draw_ordered_logistic, draw_ordered_probit, draw_stick_breaking_weights, draw_zero_sum_normal,
};
use crate::rng::Rng;

/// How one draw is made from its arguments, which follow in the order told.
///
/// Where a distribution stands in brackets its own arguments follow those named.
#[derive(Clone, Debug, PartialEq)]
pub enum Draw {
    /// A number: the arguments of the scalar distribution.
    Scalar(Scalar),
    /// A number between two bounds: lower, upper (distribution).
    Truncated(Box<Draw>),
    /// A number, moved to the nearer of two bounds where it lies outside: lower, upper
    /// (distribution).
    Censored(Box<Draw>),
    /// A number from one of several: the weight of each (each).
    Mixture(Vec<Draw>),
    /// A category 0, 1, ...: the weights.
    Categorical,
    /// Whole numbers, all at once: log weights of every combination, in one array or in several. The
    /// last number changes fastest.
    Weighted {
        /// The least number.
        low: f64,
        /// How many numbers there are.
        count: usize,
        /// How many arrays the weights stand in.
        arguments: usize,
    },
    /// Whole numbers along steps, each given the next, from the last one on: log weights by step and
    /// number, then of moves by step, number before and number.
    Chain {
        /// The least number.
        low: f64,
        /// How many numbers there are.
        count: usize,
    },
    /// A category 0, 1, ...: eta, cutpoints.
    OrderedLogistic,
    /// A category 0, 1, ...: eta, cutpoints, sigma.
    OrderedProbit,
    /// Shares: concentrations.
    Dirichlet,
    /// Shares: alpha.
    StickBreakingWeights,
    /// Counts: n, probabilities.
    Multinomial,
    /// Counts: n, concentrations.
    DirichletMultinomial,
    /// A vector: mean, Cholesky factor of the covariance.
    MvNormal,
    /// A vector: degrees of freedom, location, Cholesky factor of the scale.
    MvStudentT,
    /// A vector from one of several: the weight of each (each).
    MixtureOfVectors(Vec<Draw>),
    /// A vector of sum 0: sigma.
    ZeroSumNormal,
    /// A series: drift and sigma of each step (first element).
    RandomWalk(Box<Draw>),
    /// A series: coefficients, sigma (each element before the first step).
    Autoregressive(Box<Draw>),
    /// A correlation matrix: eta.
    LkjCorr,
    /// The Cholesky factor of a covariance matrix: eta (standard deviation, its arguments
    /// repeated for each row).
    LkjCholeskyCov(Box<Draw>),
}

/// Tries before a draw between bounds is given up, where it cannot be inverted.
const TRIES: usize = 100_000;

impl Draw {
    /// Number of arguments.
    pub fn n_arguments(&self) -> usize {
        match self {
            Draw::Scalar(scalar) => scalar.args().len(),
            Draw::Truncated(part) | Draw::Censored(part) => 2 + part.n_arguments(),
            Draw::Mixture(parts) | Draw::MixtureOfVectors(parts) => {
                parts.iter().map(|p| 1 + p.n_arguments()).sum()
            }
            Draw::Categorical
            | Draw::Dirichlet
            | Draw::StickBreakingWeights
            | Draw::ZeroSumNormal
            | Draw::LkjCorr => 1,
            Draw::Weighted { arguments, .. } => *arguments,
            Draw::Chain { .. }
            | Draw::OrderedLogistic
            | Draw::Multinomial
            | Draw::DirichletMultinomial
            | Draw::MvNormal => 2,
            Draw::OrderedProbit | Draw::MvStudentT => 3,
            Draw::RandomWalk(part) | Draw::Autoregressive(part) => 2 + part.n_arguments(),
            Draw::LkjCholeskyCov(part) => 1 + part.n_arguments(),
        }
    }

    /// One draw into `out`. NaN where an argument is invalid.
    ///
    /// # Panics
    /// When there are not as many arguments as [`Draw::n_arguments`].
    #[track_caller]
    pub fn draw(&self, rng: &mut Rng, arguments: &[&[f64]], out: &mut [f64]) {
        assert_eq!(arguments.len(), self.n_arguments(), "arguments of {self:?}");
        let vector = match self {
            Draw::Scalar(_) | Draw::Truncated(_) | Draw::Censored(_) | Draw::Mixture(_) => {
                out[0] = self.number(rng, arguments, 0);
                return;
            }
            Draw::Categorical => {
                let drawn = draw_categorical(rng, arguments[0]);
                out[0] = drawn.map_or(f64::NAN, |k| k as f64);
                return;
            }
            Draw::Weighted { low, count, .. } => {
                return weighted(rng, arguments, *low, *count, out);
            }
            Draw::Chain { low, count } => {
                let weights = (arguments[0], arguments[1]);
                return chain(rng, weights, (*low, *count), out);
            }
            Draw::OrderedLogistic => {
                out[0] = draw_ordered_logistic(rng, arguments[0][0], arguments[1]) as f64;
                return;
            }
            Draw::OrderedProbit => {
                let (eta, sigma) = (arguments[0][0], arguments[2][0]);
                out[0] = draw_ordered_probit(rng, eta, arguments[1], sigma) as f64;
                return;
            }
            Draw::MixtureOfVectors(parts) => {
                let weights: Vec<f64> = arguments[..parts.len()].iter().map(|w| w[0]).collect();
                match draw_categorical(rng, &weights) {
                    Some(k) => parts[k].draw(rng, own_arguments(parts, k, arguments), out),
                    None => out.fill(f64::NAN),
                }
                return;
            }
            Draw::Dirichlet => draw_dirichlet(rng, arguments[0]),
            Draw::StickBreakingWeights => {
                draw_stick_breaking_weights(rng, out.len(), arguments[0][0])
            }
            Draw::DirichletMultinomial => {
                draw_dirichlet_multinomial(rng, arguments[0][0], arguments[1])
            }
            Draw::MvStudentT => {
                draw_mv_student_cholesky(rng, arguments[0][0], arguments[1], arguments[2])
            }
            Draw::Multinomial => draw_multinomial(rng, arguments[0][0], arguments[1]),
            Draw::MvNormal => draw_mv_normal_cholesky(rng, arguments[0], arguments[1]),
            Draw::ZeroSumNormal => draw_zero_sum_normal(rng, out.len(), arguments[0][0]),
            Draw::RandomWalk(first) => random_walk(rng, first, arguments, out.len()),
            Draw::Autoregressive(first) => autoregressive(rng, first, arguments, out.len()),
            Draw::LkjCorr => correlation(rng, out.len(), arguments[0][0]),
            Draw::LkjCholeskyCov(sd) => covariance_factor(rng, sd, arguments, out.len()),
        };
        out.copy_from_slice(&vector);
    }

    /// A draw of one number; of arguments with several elements, element `i` counts.
    fn number(&self, rng: &mut Rng, arguments: &[&[f64]], i: usize) -> f64 {
        match self {
            Draw::Scalar(scalar) => {
                let values: Vec<f64> = arguments.iter().map(|a| at(a, i)).collect();
                scalar.sample(rng, &values)
            }
            Draw::Truncated(part) => {
                let (lower, upper) = (at(arguments[0], i), at(arguments[1], i));
                if let Draw::Scalar(scalar) = **part {
                    let values: Vec<f64> = arguments[2..].iter().map(|a| at(a, i)).collect();
                    return scalar.sample_truncated(rng, &values, lower, upper);
                }
                let tries = (0..TRIES).map(|_| part.number(rng, &arguments[2..], i));
                let mut inside = tries.filter(|x| lower <= *x && *x <= upper);
                inside.next().unwrap_or(f64::NAN)
            }
            Draw::Censored(part) => {
                let x = part.number(rng, &arguments[2..], i);
                // A NaN stays one.
                if x < at(arguments[0], i) {
                    at(arguments[0], i)
                } else if x > at(arguments[1], i) {
                    at(arguments[1], i)
                } else {
                    x
                }
            }
            Draw::Mixture(parts) => {
                let weights: Vec<f64> = arguments[..parts.len()].iter().map(|w| at(w, i)).collect();
                let Some(k) = draw_categorical(rng, &weights) else {
                    return f64::NAN;
                };
                parts[k].number(rng, own_arguments(parts, k, arguments), i)
            }
            other => panic!("{other:?} does not give single real numbers"),
        }
    }
}

/// The arguments of part `k`, which follow all weights and those of the parts before.
fn own_arguments<'a, 'b>(parts: &[Draw], k: usize, arguments: &'a [&'b [f64]]) -> &'a [&'b [f64]] {
    let before: usize = parts[..k].iter().map(Draw::n_arguments).sum();
    let start = parts.len() + before;
    &arguments[start..start + parts[k].n_arguments()]
}

/// Element `i` of an argument that has one for each, or one for all.
fn at(argument: &[f64], i: usize) -> f64 {
    argument[if argument.len() == 1 { 0 } else { i }]
}

/// The first value, then steps: drift and sigma, either one for all or one for each.
fn random_walk(rng: &mut Rng, first: &Draw, arguments: &[&[f64]], n: usize) -> Vec<f64> {
    let (drift, sigma) = (arguments[0], arguments[1]);
    let mut out = vec![first.number(rng, &arguments[2..], 0); n];
    for t in 1..n {
        out[t] = out[t - 1] + at(drift, t - 1) + at(sigma, t - 1) * rng.normal();
    }
    out
}

/// As many first values as there are coefficients, then what follows from them.
fn autoregressive(rng: &mut Rng, first: &Draw, arguments: &[&[f64]], n: usize) -> Vec<f64> {
    let (rho, sigma) = (arguments[0], arguments[1][0]);
    let starts = 0..rho.len().min(n);
    let start: Vec<f64> = starts
        .map(|i| first.number(rng, &arguments[2..], i))
        .collect();
    draw_autoregressive(rng, &start, n, 0.0, rho, sigma)
}

/// A Cholesky factor of a covariance: that of a correlation, each row times a standard deviation.
fn covariance_factor(rng: &mut Rng, sd: &Draw, arguments: &[&[f64]], len: usize) -> Vec<f64> {
    let k = len.isqrt();
    let mut factor = draw_lkj_cholesky(rng, k, arguments[0][0]);
    for (i, row) in factor.chunks_mut(k).enumerate() {
        let scale = sd.number(rng, &arguments[1..], i);
        row.iter_mut().for_each(|x| *x *= scale);
    }
    factor
}

fn correlation(rng: &mut Rng, len: usize, eta: f64) -> Vec<f64> {
    let k = len.isqrt();
    let factor = draw_lkj_cholesky(rng, k, eta);
    let row = |i: usize| &factor[i * k..(i + 1) * k];
    let dot = |i: usize, j: usize| row(i).iter().zip(row(j)).map(|(a, b)| a * b).sum();
    let cells = (0..len).map(|c| {
        if c / k == c % k {
            1.0
        } else {
            dot(c / k, c % k)
        }
    });
    cells.collect()
}

impl Drawn {
    /// Number of elements of one draw: those of a vector or matrix, 1 for numbers.
    pub fn event_len(&self) -> usize {
        let outer = self.shape.len() - self.event_dims;
        self.shape[outer..].iter().product()
    }

    /// Draws the whole variable into `out`, given the values of [`Drawn::arguments`].
    ///
    /// # Panics
    /// When lengths do not fit.
    #[track_caller]
    pub fn draw(&self, rng: &mut Rng, arguments: &[&[f64]], out: &mut [f64]) {
        let mut given: Vec<&[f64]> = arguments.to_vec();
        for (i, event) in out.chunks_mut(self.event_len()).enumerate() {
            for ((given, all), &width) in given.iter_mut().zip(arguments).zip(&self.widths) {
                if all.len() != width {
                    *given = &all[i * width..(i + 1) * width];
                }
            }
            self.law.draw(rng, &given, event);
        }
    }
}
