//! The result of a fit.

use super::start::StartRule;
use crate::formula::Loss;
use crate::method::Status;

/// What became of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Fitted.
    Free,
    /// Held at a number.
    Fixed,
    /// A formula of others.
    Tied,
}

/// One parameter of a finished fit.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its standard error; NaN where `covariance_status` says why there is none.
    pub se: f64,
    /// Lower end of its interval.
    pub ci_lower: f64,
    /// Upper end of its interval.
    pub ci_upper: f64,
    /// Starting value, if it was fitted.
    pub start: Option<f64>,
    /// Where that came from.
    pub start_rule: StartRule,
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
    /// True when it ended at a bound.
    pub at_bound: bool,
    /// What became of it.
    pub kind: Kind,
}

/// Why error bars are missing, if they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CovarianceStatus {
    /// They are there.
    Ok,
    /// A parameter at a bound has none; the others have those of the free subspace.
    AtBound,
    /// No row changes with a parameter, as with the place of a step between two rows: it has none; the others
    /// have those with it held.
    Flat,
    /// The data do not determine some combination of parameters.
    RankDeficient,
    /// As many parameters as points.
    ZeroDof,
    /// The fit did not converge.
    NotConverged,
}

impl CovarianceStatus {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            CovarianceStatus::Ok => "ok",
            CovarianceStatus::AtBound => "at_bound",
            CovarianceStatus::Flat => "flat",
            CovarianceStatus::RankDeficient => "rank_deficient",
            CovarianceStatus::ZeroDof => "zero_dof",
            CovarianceStatus::NotConverged => "not_converged",
        }
    }
}

/// What several starts found.
#[derive(Clone, Debug)]
pub struct Minima {
    /// Starts tried.
    pub n_starts: usize,
    /// Starts that ended at the best minimum.
    pub n_best: usize,
    /// Costs of the distinct minima, lowest first.
    pub costs: Vec<f64>,
}

/// A finished fit.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The formula.
    pub model: String,
    /// Predictors, in the order of the formula.
    pub predictors: Vec<String>,
    /// All parameters, in the order of the formula.
    pub parameters: Vec<Fitted>,
    /// Names of the fitted parameters.
    pub free: Vec<String>,
    /// Which of the fitted enter linearly.
    pub linear: Vec<bool>,
    /// Their values.
    pub popt: Vec<f64>,
    /// Their covariance, row by row; NaN where there is none.
    pub pcov: Vec<f64>,
    /// Which covariance that is: classic, sandwich, hc0, hc3, fisher.
    pub covariance_kind: &'static str,
    /// Why error bars are missing, if they are.
    pub covariance_status: CovarianceStatus,
    /// How the fit ended.
    pub status: Status,
    /// Loss or likelihood, by name.
    pub loss: Loss,
    /// Scale of the loss.
    pub f_scale: f64,
    /// True when σ are standard deviations.
    pub absolute_sigma: bool,
    /// True when rows had a σ.
    pub weighted: bool,
    /// Number of rows.
    pub n: usize,
    /// Rows left out because something was missing in them.
    pub n_dropped: usize,
    /// n − number of fitted parameters.
    pub dof: usize,
    /// F.
    pub cost: f64,
    /// Σ r², or the deviance for counts.
    pub chi2: f64,
    /// Probability inside the intervals.
    pub confidence: f64,
    /// Ratio of extreme singular values of the Jacobian with columns of length 1.
    pub condition: f64,
    /// Rank of the Jacobian.
    pub rank: usize,
    /// Evaluations of the residuals, on all rows or some.
    pub evaluations: usize,
    /// Reads of all rows.
    pub full_reads: usize,
    /// Rows of the subsample that gave the start, 0 without.
    pub subsample_rows: usize,
    /// `fast` or `exact`.
    pub finish: &'static str,
    /// The algorithms that led here.
    pub method: String,
    /// What several starts found.
    pub minima: Option<Minima>,
    /// What is remarkable, in words.
    pub findings: Vec<String>,
    /// Flags: at_bound, rank_deficient, multiple_minima, low_degrees_of_freedom, out_of_range; and where
    /// residuals were weighed, patterned_residuals, poor_r2, beyond_sigma.
    pub flags: Vec<&'static str>,
}

impl Estimate {
    /// Standard errors of the fitted parameters.
    pub fn se(&self) -> Vec<f64> {
        let p = self.popt.len();
        (0..p).map(|k| self.pcov[k * p + k].sqrt()).collect()
    }

    /// Values and covariance, as `scipy.optimize.curve_fit` returns them.
    pub fn into_parts(self) -> (Vec<f64>, Vec<f64>) {
        (self.popt, self.pcov)
    }

    /// χ²/dof; NaN without degrees of freedom.
    pub fn reduced_chi2(&self) -> f64 {
        if self.dof == 0 {
            f64::NAN
        } else {
            self.chi2 / self.dof as f64
        }
    }

    /// Correlations of the fitted parameters, row by row.
    pub fn correlation(&self) -> Vec<f64> {
        let p = self.popt.len();
        let se = self.se();
        let entry = |i: usize| self.pcov[i] / (se[i / p] * se[i % p]);
        (0..p * p).map(entry).collect()
    }

    /// True when the answer can be trusted to be a minimum.
    pub fn converged(&self) -> bool {
        self.status.converged()
    }

    /// A fitted, fixed or tied parameter by name.
    pub fn parameter(&self, name: &str) -> Option<&Fitted> {
        self.parameters.iter().find(|p| p.name == name)
    }
}
