//! Plain functions of numbers as curves: a closure over `f64`, with derivatives by differences or by another closure.

use crate::fit::{Doubts, Misfit, doubts};
use crate::formula::Loss;
use crate::method::foreign::{Foreign, least_squares};
use crate::method::{Bounds, Limits, Next, Status, lm, trf};
use fitzroy::{Error, Result};

/// Fills ∂f/∂p of one row, its last argument.
type Slopes<'f> = Box<dyn Fn(&[f64], &[f64], &mut [f64]) + 'f>;

/// A curve that is a closure of the predictors of a row and of the parameters, to be fitted to rows.
///
/// ```
/// use fitzroy_curve_fit::ClosureFit;
/// let x: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
/// let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3).collect();
/// let fit = ClosureFit::new(|x, p| p[0] * (-p[1] * x[0]).exp() + p[2], &[&x], &y).run(&[1.0, 1.0, 0.0])?;
/// assert!(fit.converged && (fit.popt[1] - 0.5).abs() < 1e-7);
/// # Ok::<(), fitzroy::Error>(())
/// ```
///
/// [`CurveFit::from_fn`](crate::CurveFit::from_fn) records code instead of calling it, which is faster, has exact
/// derivatives and finds starts; this one takes any function.
#[must_use = "nothing is fitted before `run`"]
pub struct ClosureFit<'f> {
    value: Box<dyn Fn(&[f64], &[f64]) -> f64 + 'f>,
    slopes: Option<Slopes<'f>>,
    columns: &'f [&'f [f64]],
    y: &'f [f64],
    sigma: Option<&'f [f64]>,
    absolute_sigma: bool,
    bounds: Option<Bounds>,
    limits: Limits,
}

/// What such a fit gives.
#[derive(Clone, Debug)]
pub struct ClosureEstimate {
    /// Parameters.
    pub popt: Vec<f64>,
    /// Their covariance, row by row; NaN for those at a bound, and all of it where the rows do not determine them.
    pub pcov: Vec<f64>,
    /// Standard errors.
    pub se: Vec<f64>,
    /// Σ ((f − y)/σ)².
    pub chi2: f64,
    /// Rows less parameters.
    pub dof: usize,
    /// How it ended.
    pub status: Status,
    /// Whether that is a minimum.
    pub converged: bool,
    /// What the residuals say against a fit that converged.
    pub doubts: Doubts,
    /// Calls of the function for all rows.
    pub evaluations: usize,
}

impl<'f> ClosureFit<'f> {
    /// A fit of `value` to the response `y` over `columns` of predictors, all of one length.
    pub fn new(
        value: impl Fn(&[f64], &[f64]) -> f64 + 'f,
        columns: &'f [&'f [f64]],
        y: &'f [f64],
    ) -> Self {
        ClosureFit {
            value: Box::new(value),
            slopes: None,
            columns,
            y,
            sigma: None,
            absolute_sigma: false,
            bounds: None,
            limits: Limits::default(),
        }
    }

    /// Derivatives by the parameters, in place of central differences.
    pub fn derivatives(mut self, slopes: impl Fn(&[f64], &[f64], &mut [f64]) + 'f) -> Self {
        self.slopes = Some(Box::new(slopes));
        self
    }

    /// Standard deviations of the response; known ones if `absolute`, else up to a factor.
    pub fn sigma(mut self, sigma: &'f [f64], absolute: bool) -> Self {
        (self.sigma, self.absolute_sigma) = (Some(sigma), absolute);
        self
    }

    /// Lower and upper bounds of all parameters, infinite where there are none.
    pub fn bounds(mut self, lower: &[f64], upper: &[f64]) -> Self {
        self.bounds = Some(Bounds {
            lower: lower.to_vec(),
            upper: upper.to_vec(),
        });
        self
    }

    /// When to stop.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Fits from `p0`; within bounds by the trust region as well where damped steps do not converge.
    ///
    /// # Errors
    /// Columns of other lengths, σ that are not positive, a start outside the bounds or where the function has no value.
    pub fn run(&self, p0: &[f64]) -> Result<ClosureEstimate> {
        let p = p0.len();
        let weights = self.check(p0)?;
        let bounds = self.bounds.clone().unwrap_or_else(|| Bounds::none(p));
        let mut best = self.solve(p0, &weights, &bounds, lm::minimise)?;
        if bounds.any() && !best.converged {
            let other = self.solve(p0, &weights, &bounds, trf::minimise)?;
            if (other.converged, -other.chi2) > (best.converged, -best.chi2) {
                best = other;
            }
        }
        Ok(best)
    }

    /// 1/σ of every row, if all is well.
    fn check(&self, p0: &[f64]) -> Result<Vec<f64>> {
        let n = self.y.len();
        let refuse = |message: String| Err(Error::usage(message));
        if let Some(k) = self.columns.iter().position(|c| c.len() != n) {
            let length = self.columns[k].len();
            return refuse(format!("column {k} has {length} rows, y has {n}"));
        }
        if p0.is_empty() || n == 0 {
            return refuse("a fit needs rows, and a start for at least one parameter".into());
        }
        if let Some(b) = &self.bounds {
            let alike = b.lower.len() == p0.len() && b.upper.len() == p0.len();
            if !alike || (0..p0.len()).any(|k| !(b.lower[k] <= p0[k] && p0[k] <= b.upper[k])) {
                return refuse(format!(
                    "the start {p0:?} lies outside its bounds {:?} to {:?}; needs one lower and one upper bound for each parameter",
                    b.lower, b.upper
                ));
            }
        }
        let fitted = self.values(p0);
        if let Some(i) = (0..n).find(|&i| !(fitted[i] - self.y[i]).is_finite()) {
            return refuse(format!(
                "row {}: the curve or the response is not finite at the start {p0:?}; choose another one, or leave the row out",
                i + 1
            ));
        }
        let Some(sigma) = self.sigma else {
            return Ok(vec![1.0; n]);
        };
        if sigma.len() != n {
            return refuse(format!("sigma has {} rows, y has {n}", sigma.len()));
        }
        if let Some(i) = sigma.iter().position(|s| !(*s > 0.0 && s.is_finite())) {
            let s = sigma[i];
            return refuse(format!(
                "row {}, sigma: {s} is no standard deviation",
                i + 1
            ));
        }
        Ok(sigma.iter().map(|s| 1.0 / s).collect())
    }

    fn solve(
        &self,
        p0: &[f64],
        weights: &[f64],
        bounds: &Bounds,
        method: crate::method::Minimise,
    ) -> Result<ClosureEstimate> {
        let (n, p) = (self.y.len(), p0.len());
        let fill = |i: usize, row: &mut [f64]| {
            let both = row.iter_mut().zip(self.columns);
            both.for_each(|(to, column)| *to = column[i]);
        };
        let mut row = vec![0.0; self.columns.len()];
        let mut residuals = |theta: &[f64], out: &mut [f64]| {
            for i in 0..n {
                fill(i, &mut row);
                out[i] = ((self.value)(&row, theta) - self.y[i]) * weights[i];
            }
            Ok(())
        };
        let mut beside = vec![0.0; self.columns.len()];
        let mut jacobian = |theta: &[f64], out: &mut [f64]| {
            if let Some(slopes) = &self.slopes {
                for (i, own) in out.chunks_mut(p).enumerate() {
                    fill(i, &mut beside);
                    slopes(&beside, theta, own);
                    own.iter_mut().for_each(|s| *s *= weights[i]);
                }
            }
            Ok(())
        };
        let foreign = Foreign {
            n,
            residuals: &mut residuals,
            jacobian: match self.slopes {
                Some(_) => Some(&mut jacobian),
                None => None,
            },
            loss: None,
        };
        let silent = &mut |_: &crate::method::Progress<'_>| Next::Continue;
        let solved = least_squares(foreign, p0, bounds, &self.limits, method, silent)?;
        let theta = solved.minimum.theta;
        let inside: Vec<usize> = (0..p).filter(|&k| !bounds.touches(k, theta[k])).collect();
        let (chi2, dof) = (2.0 * solved.minimum.moments.cost, n.saturating_sub(p));
        let s2 = match (self.absolute_sigma, dof) {
            (true, _) => 1.0,
            (false, 0) => f64::NAN,
            (false, dof) => chi2 / dof as f64,
        };
        let pcov = covariance(&solved.jacobian, p, &inside, s2);
        let status = solved.minimum.status;
        let doubts = match status.converged() {
            true => self.doubts(&theta, weights, chi2),
            false => Doubts::default(),
        };
        Ok(ClosureEstimate {
            se: (0..p).map(|k| pcov[k * p + k].sqrt()).collect(),
            popt: theta,
            pcov,
            chi2,
            dof,
            status,
            converged: status.converged(),
            doubts,
            evaluations: solved.evaluations,
        })
    }

    /// The function at every row.
    fn values(&self, theta: &[f64]) -> Vec<f64> {
        let row = |i: usize| -> Vec<f64> { self.columns.iter().map(|c| c[i]).collect() };
        let rows = 0..self.y.len();
        rows.map(|i| (self.value)(&row(i), theta)).collect()
    }

    fn doubts(&self, theta: &[f64], weights: &[f64], chi2: f64) -> Doubts {
        let fitted = self.values(theta);
        let misfit = Misfit {
            n_parameters: theta.len(),
            dof: self.y.len().saturating_sub(theta.len()),
            chi2,
            loss: Loss::Linear,
            absolute_sigma: self.absolute_sigma,
        };
        let weights = self.sigma.map(|_| weights);
        doubts((&fitted, self.y), weights, Some(self.columns), &misfit)
    }
}

/// The covariance of p parameters whose errors have the variance `s2`; NaN for those that are not `inside`, and all
/// of it where the rows do not determine these.
fn covariance(jacobian: &[f64], p: usize, inside: &[usize], s2: f64) -> Vec<f64> {
    let mut out = vec![f64::NAN; p * p];
    if let Some(v) = crate::method::foreign::covariance(jacobian, p, inside) {
        for (i, &a) in inside.iter().enumerate() {
            for (j, &b) in inside.iter().enumerate() {
                out[a * p + b] = s2 * v[i * inside.len() + j];
            }
        }
    }
    out
}
