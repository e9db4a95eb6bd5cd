//! Global search: differential evolution (Storn and Price 1997) over the parameters that do not enter linearly; the
//! others are solved for at every point. Half of the trials go towards the best, as in JADE (Zhang and Sanderson
//! 2009), so that narrow valleys are found, and half do not, so that wide fields are searched.

use super::options::Options;
use super::plan::Plan;
use super::problem::Problem;
use super::ranges::{Reach, ranges};
use super::start::{least_squares, sample};
use crate::formula::Loss;
use crate::method::dense::{cholesky, cholesky_solve};
use crate::method::starts::{Design, points};
use crate::method::{Moments, Objective};
use fitzroy::Result;
use fitzroy::rng::{Purpose, Rng};

/// Members for each parameter, and their least and greatest number.
const FOR_EACH: usize = 15;
const MEMBERS: (usize, usize) = (40, 150);
/// Generations, at most, and for each parameter.
const GENERATIONS: usize = 120;
const MORE: usize = 60;
/// The generation whose distinct members are kept as starts of their own: later ones are all alike.
const SPREAD_OUT: usize = 25;
/// How far apart two starts are, in parts of the ranges, and how many there are at most.
const APART: f64 = 0.08;
const STARTS: usize = 8;
/// Relative spread of the costs at which all members are in one valley.
const ALIKE: f64 = 1e-5;
/// The part of the members that count as the best.
const BEST: f64 = 0.12;
/// Weights of the differences, and of a coordinate being taken from the mutant.
const WEIGHTS: (f64, f64) = (0.35, 0.95);
const CROSSED: [f64; 3] = [0.3, 0.7, 0.95];
/// What a column of the linear parameters has of its own, at least, as a part of its square.
const RIDGE: f64 = 1e-13;

/// A point of the unit cube with its cost, infinite where the curve has no value.
#[derive(Clone)]
struct Member {
    at: Vec<f64>,
    cost: f64,
}

/// A search of one curve over a box.
struct Field<'f, 'a> {
    plan: &'f Plan,
    problem: &'f mut Problem<'a>,
    reaches: &'f [Reach],
    /// Values of what is not searched for, and where linear parameters are solved from.
    theta: Vec<f64>,
    /// Searched for.
    open: Vec<usize>,
    /// Solved for.
    solved: Vec<usize>,
    moments: Moments,
}

/// Starts of a search of the whole field: the best of it, and those of other valleys; `first` is one that is known.
///
/// # Errors
/// The data cannot be read.
pub(super) fn global(
    plan: &Plan,
    options: &Options,
    problem: &mut Problem<'_>,
    first: &[f64],
) -> Result<Vec<Vec<f64>>> {
    let sample = sample(problem.reader.table, plan.roles.predictors.len())?;
    let ranges = ranges(plan, &sample);
    let plain = least_squares(plan)?;
    let mut own = Problem::new(&plain, problem.reader.table, problem.reader.threads, 1.0);
    let reaches: Vec<Reach> = ranges.into_iter().map(Reach::of).collect();
    let found = evolve(plan, &mut own, &reaches, first, options.seed);
    problem.reads += own.reads;
    found
}

/// Points at which descents should begin, the best first; `start` is one that is known.
///
/// `problem` is of least squares; nothing is found where all parameters enter linearly.
///
/// # Errors
/// The data cannot be read.
pub(super) fn evolve(
    plan: &Plan,
    problem: &mut Problem<'_>,
    reaches: &[Reach],
    start: &[f64],
    seed: u64,
) -> Result<Vec<Vec<f64>>> {
    let p = start.len();
    let linear = problem.programs.linear().to_vec();
    let least_squares = problem.programs.loss() == Loss::Linear;
    let is_solved = |k: &usize| least_squares && linear[*k] && !plan.bounds.binds(*k);
    let (solved, open): (Vec<usize>, Vec<usize>) = (0..p).partition(is_solved);
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let mut field = Field {
        plan,
        problem,
        reaches,
        theta: start.to_vec(),
        open,
        solved,
        moments: Moments::new(p),
    };
    let d = field.open.len();
    let n = (FOR_EACH * d).clamp(MEMBERS.0, MEMBERS.1);
    let mut rng = Rng::new(seed, 1, 0, 0, Purpose::Init);
    let mut all = Vec::with_capacity(n);
    for at in points(Design::LatinHypercube, n, d, seed) {
        all.push(field.member(at)?);
    }
    let mut early = Vec::new();
    for generation in 0..GENERATIONS + MORE * d {
        if generation == SPREAD_OUT {
            early = apart(&all);
        }
        if alike(&all) {
            break;
        }
        field.generation(&mut all, &mut rng)?;
    }
    let mut found = apart(&all);
    for member in early {
        if found.len() < STARTS && found.iter().all(|f| distance(f, &member) > APART) {
            found.push(member);
        }
    }
    found.retain(|m| m.cost.is_finite());
    found.iter().map(|m| field.point(m)).collect()
}

fn distance(a: &Member, b: &Member) -> f64 {
    let off = a.at.iter().zip(&b.at).map(|(a, b)| (a - b).abs());
    off.fold(0.0, f64::max)
}

/// The best members that are apart from one another, the best first.
fn apart(all: &[Member]) -> Vec<Member> {
    let mut sorted: Vec<&Member> = all.iter().collect();
    sorted.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    let mut out: Vec<Member> = Vec::new();
    for member in sorted {
        if out.len() < STARTS && out.iter().all(|f| distance(f, member) > APART) {
            out.push(member.clone());
        }
    }
    out
}

/// Whether all members cost the same but for little.
fn alike(all: &[Member]) -> bool {
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for m in all {
        (low, high) = (low.min(m.cost), high.max(m.cost));
    }
    high.is_finite() && high - low <= ALIKE * low
}

impl Field<'_, '_> {
    /// All parameters at a point of the cube; the linear ones are still where they are solved from.
    fn place(&mut self, at: &[f64]) {
        for (&k, u) in self.open.iter().zip(at) {
            self.theta[k] = self.plan.bounds.clip(k, self.reaches[k].at(*u));
        }
    }

    /// Changes of the linear parameters that lead to the least cost, and how far it falls; none where the curve has
    /// no value.
    fn solve(&mut self) -> Result<Option<(Vec<f64>, f64)>> {
        self.problem.moments(&self.theta, &mut self.moments)?;
        if !self.moments.is_finite() {
            return Ok(None);
        }
        let (p, m) = (self.theta.len(), self.solved.len());
        let normal = |a: usize, b: usize| self.moments.normal[a * p + b];
        let size = |a: usize| match normal(a, a).sqrt() {
            0.0 => 1.0,
            size => size,
        };
        let mut matrix = vec![0.0; m * m];
        let mut step = vec![0.0; m];
        for (i, &a) in self.solved.iter().enumerate() {
            for (j, &b) in self.solved.iter().enumerate() {
                matrix[i * m + j] = normal(a, b) / (size(a) * size(b));
            }
            matrix[i * m + i] += RIDGE;
            step[i] = -self.moments.gradient[a] / size(a);
        }
        let slope = step.clone();
        if m > 0 && !cholesky(&mut matrix, m) {
            return Ok(None);
        }
        cholesky_solve(&matrix, m, &mut step);
        let fall = 0.5 * step.iter().zip(&slope).map(|(a, b)| a * b).sum::<f64>();
        for (x, &a) in step.iter_mut().zip(&self.solved) {
            *x /= size(a);
        }
        Ok(Some((step, fall)))
    }

    fn member(&mut self, at: Vec<f64>) -> Result<Member> {
        self.place(&at);
        let cost = match self.solve()? {
            Some((_, fall)) => (self.moments.cost - fall).max(0.0),
            None => f64::INFINITY,
        };
        Ok(Member { at, cost })
    }

    /// All parameters of a member.
    fn point(&mut self, member: &Member) -> Result<Vec<f64>> {
        self.place(&member.at);
        let mut theta = self.theta.clone();
        if let Some((step, _)) = self.solve()? {
            for (x, &k) in step.iter().zip(&self.solved) {
                theta[k] += x;
            }
        }
        Ok(theta)
    }

    /// Each member meets a trial, and the better one stays.
    fn generation(&mut self, all: &mut [Member], rng: &mut Rng) -> Result<()> {
        let n = all.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| all[a].cost.total_cmp(&all[b].cost));
        let best = ((BEST * n as f64) as usize).max(2);
        for k in 0..n {
            let mut any = |n: usize| ((rng.uniform() * n as f64) as usize).min(n - 1);
            let (a, b, c) = (any(n), any(n), any(n));
            let (leader, towards) = (order[any(best)], any(2) == 0);
            let (crossed, sure) = (CROSSED[any(CROSSED.len())], any(self.open.len()));
            let weight = WEIGHTS.0 + (WEIGHTS.1 - WEIGHTS.0) * rng.uniform();
            let mut at = all[k].at.clone();
            for (i, x) in at.iter_mut().enumerate() {
                if i != sure && rng.uniform() > crossed {
                    continue;
                }
                let off = weight * (all[a].at[i] - all[b].at[i]);
                let mutant = match towards {
                    true => *x + weight * (all[leader].at[i] - *x) + off,
                    false => all[c].at[i] + off,
                };
                // What leaves the box is put between its edge and where it came from.
                *x = match mutant {
                    m if m < 0.0 => *x * rng.uniform(),
                    m if m > 1.0 => 1.0 - (1.0 - *x) * rng.uniform(),
                    m => m,
                };
            }
            let trial = self.member(at)?;
            if trial.cost <= all[k].cost {
                all[k] = trial;
            }
        }
        Ok(())
    }
}
