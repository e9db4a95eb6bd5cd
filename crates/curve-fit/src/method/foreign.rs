//! Least squares for residuals that are a function of somebody else's: values by a callback, the
//! Jacobian by another or by differences.

use super::dense::Triangle;
use super::differences::Steps;
use super::statistics::{Rank, rank, triangle_columns, triangle_inverse};
use super::{Bounds, Limits, Minimise, Minimum, Moments, Objective, Observer};
use fitzroy::Result;

/// Rows that a triangle takes at once.
const BLOCK: usize = 1024;

/// Fills an array, its second argument, from θ.
pub type Fill<'f> = dyn FnMut(&[f64], &mut [f64]) -> Result<()> + 'f;

/// Residuals from outside.
pub struct Foreign<'f> {
    /// Number of residuals.
    pub n: usize,
    /// r(θ), n numbers; NaN or infinite where the function has no value.
    pub residuals: &'f mut Fill<'f>,
    /// ∂r_i/∂θ_k at i·p + k. Central differences without it.
    pub jacobian: Option<&'f mut Fill<'f>>,
    /// From r, 2n numbers: what each residual adds to 2F in the place of r², and then the weight of
    /// r in the gradient Jᵀ(w·r) of F. Least squares without it.
    pub loss: Option<&'f mut Fill<'f>>,
}

/// What a fit of residuals from outside gives.
#[derive(Clone, Debug)]
pub struct Solved {
    /// The minimum.
    pub minimum: Minimum,
    /// r there.
    pub residuals: Vec<f64>,
    /// ∂r_i/∂θ_k at i·p + k there.
    pub jacobian: Vec<f64>,
    /// (JᵀJ)⁻¹ of all parameters, those at a bound included; none for a short rank.
    pub covariance: Option<Vec<f64>>,
    /// Rank and condition of the Jacobian; none where that is not finite.
    pub rank: Option<Rank>,
    /// Calls of the residuals, those for differences included.
    pub evaluations: usize,
}

/// Minimises ½ Σ r², or what a loss makes of it, from `start`, which lies within `bounds`.
///
/// ```
/// use fitzroy_curve_fit::method::foreign::{Foreign, least_squares};
/// use fitzroy_curve_fit::method::{Bounds, Limits, Next, Progress, lm};
/// let mut residuals = |theta: &[f64], out: &mut [f64]| {
///     out.copy_from_slice(&[10.0 * (theta[1] - theta[0] * theta[0]), 1.0 - theta[0]]);
///     Ok(())
/// };
/// let rosenbrock = Foreign { n: 2, residuals: &mut residuals, jacobian: None, loss: None };
/// let (bounds, limits) = (Bounds::none(2), Limits::default());
/// let watch = &mut |_: &Progress<'_>| Next::Continue;
/// let solved = least_squares(rosenbrock, &[-1.2, 1.0], &bounds, &limits, lm::minimise, watch)?;
/// assert!((solved.minimum.theta[1] - 1.0).abs() < 1e-8);
/// # Ok::<(), fitzroy::Error>(())
/// ```
///
/// # Errors
/// Those of the callbacks.
pub fn least_squares(
    foreign: Foreign<'_>,
    start: &[f64],
    bounds: &Bounds,
    limits: &Limits,
    method: Minimise,
    observer: &mut Observer<'_>,
) -> Result<Solved> {
    let (n, p) = (foreign.n, start.len());
    let mut problem = Problem {
        foreign,
        bounds,
        residuals: vec![f64::NAN; n],
        jacobian: vec![f64::NAN; n * p],
        weighed: vec![0.0; 2 * n],
        steps: Steps::new(n, p),
        evaluations: 0,
    };
    let minimum = method(&mut problem, start, bounds, limits, observer)?;
    let finite = problem.at(&minimum.theta)?.is_finite();
    let (mut found, mut covariance) = (None, None);
    if finite && problem.jacobian.iter().all(|x| x.is_finite()) {
        let triangle = triangle(&problem.jacobian, p);
        let ranked = rank(triangle_columns(&triangle, p), n);
        covariance = (ranked.rank == p && n >= p).then(|| triangle_inverse(&triangle, p));
        found = Some(ranked);
    }
    Ok(Solved {
        minimum,
        residuals: problem.residuals,
        jacobian: problem.jacobian,
        covariance,
        rank: found,
        evaluations: problem.evaluations,
    })
}

/// (JᵀJ)⁻¹ of the parameters `inside`, with the others held; none for a short rank. ∂r_i/∂θ_k stands at i·p + k.
pub fn covariance(jacobian: &[f64], p: usize, inside: &[usize]) -> Option<Vec<f64>> {
    let n = jacobian.len() / p.max(1);
    if inside.is_empty() || jacobian.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let own: Vec<f64> = jacobian
        .chunks(p)
        .flat_map(|row| inside.iter().map(|&k| row[k]))
        .collect();
    let triangle = triangle(&own, inside.len());
    let ranked = rank(triangle_columns(&triangle, inside.len()), n);
    let whole = ranked.rank == inside.len() && n >= inside.len();
    whole.then(|| triangle_inverse(&triangle, inside.len()))
}

/// R with RᵀR = JᵀJ.
fn triangle(jacobian: &[f64], p: usize) -> Triangle {
    let mut triangle = Triangle::new(p, BLOCK);
    for rows in jacobian.chunks(BLOCK * p) {
        let column = |k: usize| rows.iter().skip(k).step_by(p).copied().collect();
        let columns: Vec<Vec<f64>> = (0..p).map(column).collect();
        triangle.add(&columns);
    }
    triangle
}

/// Residuals from outside as an objective.
struct Problem<'f, 'b> {
    foreign: Foreign<'f>,
    bounds: &'b Bounds,
    residuals: Vec<f64>,
    jacobian: Vec<f64>,
    /// What a loss makes of the residuals.
    weighed: Vec<f64>,
    steps: Steps,
    evaluations: usize,
}

impl Problem<'_, '_> {
    /// Residuals and Jacobian at `theta`; gives the cost, and leaves the Jacobian alone where that
    /// is not finite.
    fn at(&mut self, theta: &[f64]) -> Result<f64> {
        (self.foreign.residuals)(theta, &mut self.residuals)?;
        self.evaluations += 1;
        let cost = self.cost()?;
        if !cost.is_finite() {
            return Ok(f64::INFINITY);
        }
        match &mut self.foreign.jacobian {
            Some(jacobian) => jacobian(theta, &mut self.jacobian)?,
            None => self.differences(theta)?,
        }
        Ok(cost)
    }

    /// ½ Σ r², or what the loss makes of it.
    fn cost(&mut self) -> Result<f64> {
        let Some(loss) = &mut self.foreign.loss else {
            return Ok(0.5 * self.residuals.iter().map(|r| r * r).sum::<f64>());
        };
        loss(&self.residuals, &mut self.weighed)?;
        Ok(0.5 * self.weighed[..self.foreign.n].iter().sum::<f64>())
    }

    /// The Jacobian by differences.
    fn differences(&mut self, theta: &[f64]) -> Result<()> {
        let calls = &mut self.evaluations;
        let mut counted = |theta: &[f64], out: &mut [f64]| {
            *calls += 1;
            (self.foreign.residuals)(theta, out)
        };
        self.steps.jacobian(
            &mut counted,
            theta,
            self.bounds,
            &self.residuals,
            &mut self.jacobian,
        )
    }
}

impl Objective for Problem<'_, '_> {
    fn moments(&mut self, theta: &[f64], out: &mut Moments) -> Result<()> {
        let p = theta.len();
        out.cost = self.at(theta)?;
        if !out.cost.is_finite() {
            return Ok(());
        }
        out.gradient.fill(0.0);
        out.normal.fill(0.0);
        let weights = self
            .foreign
            .loss
            .as_ref()
            .map(|_| &self.weighed[self.foreign.n..]);
        for (i, (row, r)) in self.jacobian.chunks(p).zip(&self.residuals).enumerate() {
            let w = weights.map_or(1.0, |weights| weights[i]);
            for a in 0..p {
                let slope = w * row[a];
                out.gradient[a] += slope * r;
                for b in 0..=a {
                    out.normal[a * p + b] += slope * row[b];
                }
            }
        }
        for a in 0..p {
            for b in 0..a {
                out.normal[b * p + a] = out.normal[a * p + b];
            }
        }
        Ok(())
    }

    fn bend(&mut self, _: &[f64], _: &[f64], _: &mut [f64]) -> Result<bool> {
        Ok(false)
    }

    fn solve_linear(&mut self, _: &mut [f64], _: &mut Moments) {}
}
