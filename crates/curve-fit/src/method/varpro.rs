//! Variable projection: linear parameters are solved for, the others descend.
//!
//! f = φ₀(x; β) + Σ c_k φ_k(x; β). One pass at β collects the columns φ_k, their partials, those
//! of φ₀, and r at c = 0, and reduces them to a triangle by QR, tile by tile. Everything else
//! happens in the triangle: c by back substitution, the partials ∂r/∂β at that c, and a step of
//! the full linearised problem with damping on β alone. Reducing by the Gram matrix instead loses
//! Lanczos 1 to 3, MGH10 and MGH17. References: Golub and Pereyra 1973; Kaufman 1975; Demmel et
//! al., arXiv:0808.2664 (TSQR).

use super::dense::Triangle;
use super::lm::relaxed;
use super::{Limits, Observer, Progress, Status};
use crate::formula::Projection;
use fitzroy::Result;

/// How a projected minimisation ended.
pub(crate) struct Projected {
    /// All free parameters, the linear ones at their best.
    pub(crate) theta: Vec<f64>,
    /// How it ended.
    pub(crate) status: Status,
    /// Passes.
    pub(crate) evaluations: usize,
}

/// The projected problem at one β.
#[derive(Clone, Default)]
struct Point {
    beta: Vec<f64>,
    /// Best linear parameters.
    c: Vec<f64>,
    cost: f64,
    /// ∂r/∂β at c, below the rows of the linear parameters: one column per β.
    slopes: Vec<Vec<f64>>,
    /// r at c, in those rows.
    rest: Vec<f64>,
}

/// Makes the triangle of the projection's columns at given free parameters.
pub(crate) type Reduce<'r> = dyn FnMut(&[f64], &mut Triangle) -> Result<()> + 'r;

/// Solves for the linear parameters at `start`, whose other parameters count.
///
/// `None` when the columns are not finite or not independent.
pub(crate) fn solve_linear(
    projection: &Projection,
    start: &[f64],
    reduce: &mut Reduce<'_>,
) -> Result<Option<Vec<f64>>> {
    let mut triangle = Triangle::new(projection.program.n_outputs(), TILE);
    let beta = projection.nonlinear.iter().map(|&k| start[k]).collect();
    let found = point(projection, beta, reduce, &mut triangle)?;
    Ok(found.map(|point| merge(projection, &point)))
}

const TILE: usize = fitzroy_device::cpu::TILE_ROWS;

/// Minimises over β from `start`.
///
/// # Errors
/// The data cannot be read.
pub(crate) fn minimise(
    projection: &Projection,
    start: &[f64],
    limits: &Limits,
    reduce: &mut Reduce<'_>,
    observer: &mut Observer<'_>,
) -> Result<Option<Projected>> {
    let mut triangle = Triangle::new(projection.program.n_outputs(), TILE);
    let beta: Vec<f64> = projection.nonlinear.iter().map(|&k| start[k]).collect();
    let Some(here) = point(projection, beta, reduce, &mut triangle)? else {
        return Ok(None);
    };
    let mut descent = Descent {
        projection,
        limits,
        scale: vec![0.0; here.beta.len()],
        here,
        damping: Damping {
            lambda: 1e-3,
            nu: 2.0,
        },
        evaluations: 1,
        small: 0,
        triangle,
    };
    let status = descent.run(reduce, observer)?;
    Ok(Some(Projected {
        theta: merge(projection, &descent.here),
        status,
        evaluations: descent.evaluations,
    }))
}

/// The state of a minimisation.
struct Descent<'a> {
    projection: &'a Projection,
    limits: &'a Limits,
    /// The best point.
    here: Point,
    /// Largest sizes of the slopes so far.
    scale: Vec<f64>,
    damping: Damping,
    evaluations: usize,
    /// Steps in a row that changed little.
    small: usize,
    triangle: Triangle,
}

impl Descent<'_> {
    fn run(&mut self, reduce: &mut Reduce<'_>, observer: &mut Observer<'_>) -> Result<Status> {
        loop {
            if self.here.cost == 0.0 {
                return Ok(Status::ExactFit);
            }
            if self.here.beta.is_empty() {
                return Ok(Status::SmallStep);
            }
            for (d, slope) in self.scale.iter_mut().zip(&self.here.slopes) {
                let size = slope.iter().map(|x| x * x).sum::<f64>().sqrt();
                *d = f64::max(*d, size);
            }
            let report = Progress {
                iteration: self.evaluations,
                cost: self.here.cost,
                theta: &merge(self.projection, &self.here),
                lambda: self.damping.lambda,
            };
            if let Some(status) = report.tell(observer) {
                return Ok(status);
            }
            if self.evaluations >= self.limits.max_evaluations {
                return Ok(Status::EvaluationLimit);
            }
            let damping = &mut self.damping;
            let Some((step, predicted)) = damped(&self.here, &self.scale, damping.lambda) else {
                damping.lambda = (10.0 * damping.lambda).max(1e-14);
                if damping.is_at_its_limit() {
                    return Ok(Status::DampingLimit);
                }
                continue;
            };
            if let Some(status) = self.try_step(&step, predicted, reduce)? {
                return Ok(status);
            }
        }
    }

    /// Evaluates the end of a step, and goes there if it is lower; how the descent ends, if it does.
    fn try_step(
        &mut self,
        step: &[f64],
        predicted: f64,
        reduce: &mut Reduce<'_>,
    ) -> Result<Option<Status>> {
        let (here, limits) = (&self.here, self.limits);
        let beta: Vec<f64> = here.beta.iter().zip(step).map(|(b, s)| b + s).collect();
        let moved = beta
            .iter()
            .zip(&here.beta)
            .map(|(a, b)| (a - b).abs() / b.abs().max(1e-300));
        let change = moved.fold(0.0, f64::max);
        self.evaluations += 1;
        let next = point(self.projection, beta, reduce, &mut self.triangle)?;
        let after = next.as_ref().map_or(f64::NAN, |p| p.cost);
        let ratio = (here.cost - after) / predicted;
        let level = predicted <= 1e-14 * here.cost && after <= here.cost * (1.0 + 1e-13);
        if let Some(next) = next.filter(|_| ratio > 1e-4 || level) {
            let gain_small = predicted <= limits.ftol * here.cost;
            self.here = next;
            self.damping.relax(ratio, level);
            self.small = if change <= limits.xtol || gain_small {
                self.small + 1
            } else {
                0
            };
            return Ok((self.small >= 2).then_some(Status::SmallStep));
        }
        self.damping.tighten();
        if change < 1e-14 {
            let hidden = predicted <= 1e-12 * self.here.cost;
            return Ok(Some(if hidden {
                Status::Rounding
            } else {
                Status::NoProgress
            }));
        }
        let over = self.damping.is_at_its_limit();
        Ok(over.then_some(Status::DampingLimit))
    }
}

/// How far steps are kept short.
struct Damping {
    lambda: f64,
    /// By how much it grows at the next failure.
    nu: f64,
}

impl Damping {
    /// After a step that was accepted, as [`relaxed`] says.
    fn relax(&mut self, ratio: f64, level: bool) {
        self.lambda = (self.lambda * relaxed(ratio, level)).max(1e-20);
        self.nu = 2.0;
    }

    /// After one that was not.
    fn tighten(&mut self) {
        self.lambda = (self.lambda * self.nu).max(1e-14);
        self.nu = (2.0 * self.nu).min(64.0);
    }

    fn is_at_its_limit(&self) -> bool {
        self.lambda > 1e12
    }
}

/// All free parameters of a point.
fn merge(projection: &Projection, point: &Point) -> Vec<f64> {
    let mut theta = vec![0.0; point.beta.len() + point.c.len()];
    for (&k, &b) in projection.nonlinear.iter().zip(&point.beta) {
        theta[k] = b;
    }
    for (&k, &c) in projection.linear.iter().zip(&point.c) {
        theta[k] = c;
    }
    theta
}

/// Reduces the columns at β and solves for c.
fn point(
    projection: &Projection,
    beta: Vec<f64>,
    reduce: &mut Reduce<'_>,
    r: &mut Triangle,
) -> Result<Option<Point>> {
    let m = projection.linear.len();
    let mut theta = vec![0.0; m + beta.len()];
    for (&k, &b) in projection.nonlinear.iter().zip(&beta) {
        theta[k] = b;
    }
    r.clear();
    reduce(&theta, r)?;
    let n = r.n();
    let last = n - 1;
    let largest = (0..m).map(|k| r.at(k, k).abs()).fold(0.0, f64::max);
    for k in 0..m {
        let norm = (0..=k).map(|i| r.at(i, k).powi(2)).sum::<f64>().sqrt();
        let independent = r.at(k, k).abs() > 1e-14 * norm && largest.is_finite();
        if !independent {
            return Ok(None);
        }
    }
    let mut c = vec![0.0; m];
    for i in (0..m).rev() {
        let known: f64 = (i + 1..m).map(|k| r.at(i, k) * c[k]).sum();
        c[i] = -(r.at(i, last) + known) / r.at(i, i);
    }
    let rest: Vec<f64> = (m..n).map(|i| r.at(i, last)).collect();
    let mut slopes = vec![vec![0.0; n - m]; beta.len()];
    for (at, &(k, j)) in projection.cross.iter().enumerate() {
        for i in m..n {
            slopes[j][i - m] += c[k] * r.at(i, m + at);
        }
    }
    for (at, &j) in projection.base.iter().enumerate() {
        for i in m..n {
            slopes[j][i - m] += r.at(i, m + projection.cross.len() + at);
        }
    }
    let cost = 0.5 * rest.iter().map(|x| x * x).sum::<f64>();
    let finite = cost.is_finite()
        && c.iter().all(|x| x.is_finite())
        && slopes.iter().flatten().all(|x| x.is_finite());
    Ok(finite.then_some(Point {
        beta,
        c,
        cost,
        slopes,
        rest,
    }))
}

/// The step that minimises |rest + J s|² + λ|D s|² by QR, and the expected fall of the cost.
fn damped(here: &Point, scale: &[f64], lambda: f64) -> Option<(Vec<f64>, f64)> {
    let q = here.beta.len();
    let rows = here.rest.len() + q;
    let mut triangle = Triangle::new(q + 1, rows);
    let mut columns: Vec<Vec<f64>> = here.slopes.clone();
    columns.push(here.rest.clone());
    for (k, column) in columns.iter_mut().enumerate() {
        column.resize(rows, 0.0);
        if k < q {
            let d = if scale[k] > 0.0 { scale[k] } else { 1.0 };
            column[here.rest.len() + k] = lambda.sqrt() * d;
        }
    }
    triangle.add(&columns);
    let mut step = vec![0.0; q];
    for i in (0..q).rev() {
        let known: f64 = (i + 1..q).map(|k| triangle.at(i, k) * step[k]).sum();
        step[i] = -(triangle.at(i, q) + known) / triangle.at(i, i);
    }
    if step.iter().any(|s| !s.is_finite()) {
        return None;
    }
    let gradient = |k: usize| -> f64 {
        here.slopes[k]
            .iter()
            .zip(&here.rest)
            .map(|(a, b)| a * b)
            .sum()
    };
    let mut predicted = 0.0;
    for (k, s) in step.iter().enumerate() {
        predicted += 0.5 * (lambda * (scale[k] * s).powi(2) - gradient(k) * s);
    }
    Some((step, predicted))
}
