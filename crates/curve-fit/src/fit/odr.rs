//! Errors in the predictors as well as in the response: orthogonal distance regression.
//!
//! Minimised is Σ ((f(x + δ; θ) − y)/σ_y)² + Σ (δ/σ_x)² over θ and all δ. At given θ every row has its own δ, which is
//! solved for; there r = (f − y)/σ_y · √(1 + Σ (σ_x ∂f/∂x)²/σ_y²) has the row's sum as its square, and
//! ∂f/∂θ / √(σ_y² + Σ (σ_x ∂f/∂x)²) as its exact slope, so that what is left is least squares in θ alone.
//! Source: Boggs, Byrd and Schnabel 1987, whose covariance this is, too.

use super::data::{Data, Sigma};
use super::estimate::Estimate;
use super::finished::finished;
use super::options::Options;
use super::plan::Plan;
use crate::formula::Loss;
use crate::method::Observer;
use crate::method::foreign::{Foreign, least_squares};
use fitzroy::{Error, Result};
use fitzroy_device::cpu::{RowProgram, RowWorkspace};

/// Most steps towards the point of the curve that is nearest to a row.
const MOST_STEPS: usize = 100;
/// Of σ_x: a step below which the point has been found.
const NEAR: f64 = 1e-13;
/// Halvings of a step that leads away.
const HALVINGS: usize = 30;

/// A fit by orthogonal distances.
#[derive(Clone, Debug)]
pub struct Orthogonal {
    /// The fit; `chi2` is the sum over both kinds of errors.
    pub estimate: Estimate,
    /// δ of each predictor, in the order of the plan; empty for those without errors.
    pub shifts: Vec<Vec<f64>>,
}

/// Fits with errors in predictors, from where `estimate`, the fit without these, ended.
///
/// # Errors
/// A name that is no predictor, σ that are not positive, a response without σ, robust losses and counts.
pub fn orthogonal(
    plan: &Plan,
    data: &Data<'_>,
    x_sigma: &[(String, Sigma<'_>)],
    options: &Options,
    estimate: &Estimate,
    observer: &mut Observer<'_>,
) -> Result<Orthogonal> {
    let mut rows = Rows::new(plan, data, x_sigma)?;
    let (n, p) = (data.n_rows(), plan.free.len());
    if n == 0 || p == 0 || !estimate.popt.iter().all(|v| v.is_finite()) {
        let message = "⟨x_sigma⟩: needs rows, a free parameter, and a fit without errors of the predictors to start from";
        return Err(Error::usage(message));
    }
    let known = std::cell::RefCell::new(&mut rows);
    let solved = {
        let mut residuals = |theta: &[f64], out: &mut [f64]| {
            known.borrow_mut().residuals(theta, out);
            Ok(())
        };
        let mut jacobian = |theta: &[f64], out: &mut [f64]| {
            known.borrow_mut().slopes(theta, out);
            Ok(())
        };
        let foreign = Foreign {
            n,
            residuals: &mut residuals,
            jacobian: Some(&mut jacobian),
            loss: None,
        };
        let steps = options.method.steps();
        least_squares(
            foreign,
            &estimate.popt,
            &plan.bounds,
            &options.limits,
            steps,
            observer,
        )?
    };
    let mut residuals = vec![0.0; n];
    rows.residuals(&solved.minimum.theta, &mut residuals);
    let estimate = finished(plan, estimate, &solved, "orthogonal distances")?;
    Ok(Orthogonal {
        estimate,
        shifts: rows.shifts,
    })
}

/// The rows with their errors, and the points of the curve that belong to them.
struct Rows<'d> {
    program: RowProgram,
    workspace: RowWorkspace,
    n_free: usize,
    /// Predictors, response, weights.
    columns: Vec<Vec<f64>>,
    y: &'d [f64],
    y_sigma: Vec<f64>,
    /// Of each predictor; empty for those without errors.
    x_sigma: Vec<Vec<f64>>,
    shifts: Vec<Vec<f64>>,
    out: Vec<Vec<f64>>,
}

impl<'d> Rows<'d> {
    fn new(plan: &Plan, data: &'d Data<'_>, x_sigma: &[(String, Sigma<'_>)]) -> Result<Rows<'d>> {
        if plan.programs.loss() != Loss::Linear {
            return Err(Error::usage(
                "⟨x_sigma⟩: errors of predictors go with least squares; leave out ⟨loss⟩ and ⟨likelihood⟩",
            ));
        }
        let n = data.n_rows();
        let Some(y_sigma) = spread(&data.sigma, n) else {
            return Err(Error::usage(
                "⟨x_sigma⟩: says how large errors of a predictor are beside those of the response; give these, too (⟨sigma⟩)",
            ));
        };
        let names = &plan.roles.predictors;
        let mut of_x = vec![Vec::new(); names.len()];
        for (name, sigma) in x_sigma {
            let Some(k) = names.iter().position(|n| n == name) else {
                return Err(Error::usage(format!(
                    "⟨x_sigma {name}⟩: is no predictor of the model; they are {}",
                    names.join(", ")
                )));
            };
            let own = spread(sigma, n).unwrap_or_default();
            if own.len() != n {
                return Err(Error::usage(format!(
                    "⟨x_sigma {name}⟩: has {} values for {n} rows",
                    own.len()
                )));
            }
            of_x[k] = own;
        }
        for (what, sigma) in of_x
            .iter()
            .map(|s| ("x_sigma", s))
            .chain([("sigma", &y_sigma)])
        {
            if let Some(row) = sigma.iter().position(|s| !(*s > 0.0 && s.is_finite())) {
                return Err(Error::usage(format!(
                    "⟨{what}⟩: row {}: {} is no standard deviation; it needs a positive number",
                    row + 1,
                    sigma[row]
                )));
            }
        }
        let of = |name: &String| {
            data.column(name)
                .map_or_else(|| vec![0.0; n], <[f64]>::to_vec)
        };
        let mut columns: Vec<Vec<f64>> = names.iter().map(of).collect();
        columns.push(data.response().to_vec());
        if plan.weighted {
            columns.push(vec![1.0; n]);
        }
        let program = plan.programs.along();
        Ok(Rows {
            workspace: program.workspace(),
            out: vec![vec![0.0; n]; program.n_outputs()],
            program,
            n_free: plan.free.len(),
            columns,
            y: data.response(),
            y_sigma,
            shifts: of_x.iter().map(|s| vec![0.0; s.len()]).collect(),
            x_sigma: of_x,
        })
    }

    /// The curve and its slopes at `theta` and at x + δ.
    fn evaluate(&mut self, theta: &[f64], shifts: &[Vec<f64>]) {
        let mut params = vec![0.0; 2 * self.n_free + 1];
        params[..theta.len()].copy_from_slice(theta);
        self.program.set_parameters(&mut self.workspace, &params);
        let moved: Vec<Vec<f64>> = shifts
            .iter()
            .zip(&self.columns)
            .map(|(d, x)| d.iter().zip(x).map(|(d, x)| x + d).collect())
            .collect();
        let at = |k: usize| {
            moved
                .get(k)
                .filter(|m| !m.is_empty())
                .unwrap_or(&self.columns[k])
                .as_slice()
        };
        let columns: Vec<&[f64]> = (0..self.columns.len()).map(at).collect();
        self.program
            .evaluate(&mut self.workspace, &columns, &mut self.out);
    }

    /// The sum of squares of row `i` at these shifts, as the last evaluation has it.
    fn square(&self, i: usize, shifts: &[Vec<f64>]) -> f64 {
        let value = &self.out[self.out.len() - 1];
        let own = ((value[i] - self.y[i]) / self.y_sigma[i]).powi(2);
        let parts = shifts
            .iter()
            .zip(&self.x_sigma)
            .filter(|(d, _)| !d.is_empty());
        own + parts.map(|(d, s)| (d[i] / s[i]).powi(2)).sum::<f64>()
    }

    /// The shifts to which a curve that is straight here would lead, and the greatest move in σ_x.
    fn towards(&self, i: usize, shifts: &[Vec<f64>]) -> (Vec<f64>, f64) {
        let value = &self.out[self.out.len() - 1];
        let (mut off, mut size) = (value[i] - self.y[i], self.y_sigma[i].powi(2));
        let slope = |k: usize| self.out[self.n_free + k][i];
        let live: Vec<usize> = (0..shifts.len())
            .filter(|&k| !shifts[k].is_empty())
            .collect();
        for &k in &live {
            off -= slope(k) * shifts[k][i];
            size += (slope(k) * self.x_sigma[k][i]).powi(2);
        }
        let (mut to, mut most) = (vec![0.0; shifts.len()], 0.0f64);
        for &k in &live {
            to[k] = -self.x_sigma[k][i].powi(2) * slope(k) * off / size;
            most = most.max((to[k] - shifts[k][i]).abs() / self.x_sigma[k][i]);
        }
        (to, most)
    }

    /// Solves for δ of every row at `theta`, from 0, so that it is a function of `theta` alone.
    fn nearest(&mut self, theta: &[f64]) {
        let n = self.y.len();
        let mut shifts: Vec<Vec<f64>> = self.x_sigma.iter().map(|s| vec![0.0; s.len()]).collect();
        self.evaluate(theta, &shifts);
        let mut squares: Vec<f64> = (0..n).map(|i| self.square(i, &shifts)).collect();
        let mut open: Vec<usize> = (0..n).collect();
        for _ in 0..MOST_STEPS {
            let mut trial = shifts.clone();
            let mut moving = Vec::new();
            for &i in &open {
                let (to, most) = self.towards(i, &shifts);
                if most > NEAR && most.is_finite() {
                    moving.push(i);
                    trial
                        .iter_mut()
                        .zip(&to)
                        .filter(|(d, _)| !d.is_empty())
                        .for_each(|(d, to)| d[i] = *to);
                }
            }
            open = moving;
            if open.is_empty() {
                break;
            }
            let mut away = open.clone();
            for _ in 0..HALVINGS {
                self.evaluate(theta, &trial);
                away.retain(|&i| !(self.square(i, &trial) <= squares[i] * (1.0 + 1e-15)));
                if away.is_empty() {
                    break;
                }
                for &i in &away {
                    let parts = trial.iter_mut().zip(&shifts).filter(|(d, _)| !d.is_empty());
                    parts.for_each(|(d, before)| d[i] = 0.5 * (d[i] + before[i]));
                }
            }
            for &i in &away {
                let parts = trial.iter_mut().zip(&shifts).filter(|(d, _)| !d.is_empty());
                parts.for_each(|(d, before)| d[i] = before[i]);
            }
            open.retain(|i| !away.contains(i));
            shifts = trial;
            self.evaluate(theta, &shifts);
            for &i in &open {
                squares[i] = self.square(i, &shifts);
            }
        }
        self.shifts = shifts;
    }

    fn residuals(&mut self, theta: &[f64], out: &mut [f64]) {
        self.nearest(theta);
        let value = &self.out[self.out.len() - 1];
        for i in 0..out.len() {
            let sign = if value[i] < self.y[i] { -1.0 } else { 1.0 };
            out[i] = sign * self.square(i, &self.shifts).sqrt();
        }
    }

    fn slopes(&mut self, theta: &[f64], out: &mut [f64]) {
        self.nearest(theta);
        let p = self.n_free;
        for i in 0..self.y.len() {
            let mut size = self.y_sigma[i].powi(2);
            for (k, sigma) in self
                .x_sigma
                .iter()
                .enumerate()
                .filter(|(_, s)| !s.is_empty())
            {
                size += (self.out[p + k][i] * sigma[i]).powi(2);
            }
            for a in 0..p {
                out[i * p + a] = self.out[a][i] / size.sqrt();
            }
        }
    }
}

/// σ of every row; none where they are not known.
fn spread(sigma: &Sigma<'_>, n: usize) -> Option<Vec<f64>> {
    match sigma {
        Sigma::Unknown => None,
        Sigma::Same(s) => Some(vec![*s; n]),
        Sigma::Each(values) => Some(values.to_vec()),
    }
}
