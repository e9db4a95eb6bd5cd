//! Fits: from a formula, data and options to an estimate.

mod advice;
mod average;
mod components;
mod conclude;
mod constrain;
mod correlated;
mod criteria;
mod curved;
mod data;
mod descend;
mod doubt;
mod errors;
mod estimate;
mod evolution;
mod finish;
mod finished;
mod kink;
mod loo;
mod odr;
mod options;
mod pattern;
mod plan;
mod predict;
mod problem;
mod quality;
mod ranges;
mod region;
mod resample;
mod residuals;
mod restart;
mod robust;
mod samples;
mod scan;
mod search;
mod select;
mod settle;
mod sign;
mod solve;
mod start;
mod verdict;

pub use average::{Averaged, Criterion, Predicted, average, averaged_rows, combined, weights};
pub use components::{Component, Peak, components};
pub use conclude::{check_counts, check_rows};
pub use constrain::{Bound, Constrained, Slack};
pub use correlated::{Correlated, correlated};
pub use criteria::{Criteria, criteria, leave_one_out, of_normal_errors};
pub use curved::Curved;
pub use data::{Data, Sigma, first_not_finite};
pub use estimate::{CovarianceStatus, Estimate, Fitted, Kind, Minima};
pub use odr::{Orthogonal, orthogonal};
pub use options::{CovarianceKind, Finish, Method, Options, Progressive, Restarts, Scale, values};
pub use pattern::Pattern;
pub use plan::Plan;
pub use predict::{Prediction, mean_sigma, pointwise, predict, profile, quantile};
pub(crate) use quality::{Judge, quality_at};
pub use quality::{Quality, doubts, quality};
pub use region::{Contour, Profile, Regions, regions};
pub use resample::{Resampled, Resampling, Spread, resample};
pub(crate) use search::falls_short;
pub use select::{Candidate, Nested, Ranked, Selection, select};
pub use start::StartRule;
pub use verdict::{Doubt, Doubts, Misfit, Standing};

use crate::formula::{Closure, Curve, Formula};
use crate::method::{Next, Observer, Status};
use crate::pass::{Columns, Table};
use fitzroy::Result;
use fitzroy_graph::Expr;
use std::sync::{Arc, Mutex};

/// Rows up to which all values are looked at before a fit; above, the first pass shows what is
/// not finite.
const LOOKED_AT: usize = 65_536;

/// A curve ready to be fitted, any number of times.
///
/// ```
/// use fitzroy_curve_fit::{CurveFit, Data, Options, values};
/// let x: Vec<f64> = (0..50).map(|i| f64::from(i) * 0.1).collect();
/// let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp() + 0.3).collect();
/// let fitter = CurveFit::compile("a*exp(-b*x)+c")?;
/// let options = Options { p0: values([("b", 1.0)]), ..Options::default() };
/// let estimate = fitter.fit(&Data::new(&y).with("x", &x), &options)?;
/// assert!(estimate.converged());
/// assert!((estimate.popt[1] - 0.5).abs() < 1e-9);
/// # Ok::<(), fitzroy::Error>(())
/// ```
pub struct CurveFit {
    formula: Formula,
    /// Plans made before, by everything that goes into them.
    plans: Mutex<Vec<(Key, Arc<Plan>)>>,
}

/// What a plan depends on.
struct Key {
    columns: Vec<String>,
    labels: Vec<(String, Vec<String>)>,
    weighted: bool,
    fixed: Vec<(String, f64)>,
    tied: Vec<(String, String)>,
    constraints: Vec<String>,
    bounds: Vec<(String, f64, f64)>,
    loss: crate::formula::Loss,
    engine: fitzroy_device::cpu::Engine,
}

impl Key {
    fn new(data: &Data<'_>, options: &Options) -> Key {
        Key {
            columns: data.names().into_iter().map(str::to_string).collect(),
            labels: data.labels.clone(),
            weighted: data.has_sigma(),
            fixed: options.fixed.clone(),
            tied: options.tied.clone(),
            constraints: options.constraints.clone(),
            bounds: options.bounds.clone(),
            loss: options.loss,
            engine: options.engine,
        }
    }

    fn fits(&self, data: &Data<'_>, options: &Options) -> bool {
        let names = data.columns.iter().map(|(name, _)| name);
        self.loss == options.loss
            && self.engine == options.engine
            && self.weighted == data.has_sigma()
            && self.columns.iter().eq(names)
            && self.labels == data.labels
            && self.fixed == options.fixed
            && self.tied == options.tied
            && self.constraints == options.constraints
            && self.bounds == options.bounds
    }
}

/// Plans a fitter remembers.
const REMEMBERED: usize = 16;

impl CurveFit {
    /// Reads a formula or the name of a built-in curve.
    ///
    /// # Errors
    /// What does not parse.
    pub fn compile(text: &str) -> Result<CurveFit> {
        Ok(CurveFit {
            formula: Formula::parse(text)?,
            plans: Mutex::new(Vec::new()),
        })
    }

    /// A curve that is Rust code.
    ///
    /// # Errors
    /// Its parameters have no good names.
    pub fn new(curve: impl Curve + 'static) -> Result<CurveFit> {
        Ok(CurveFit {
            formula: Formula::from_curve(curve)?,
            plans: Mutex::new(Vec::new()),
        })
    }

    /// A closure over the columns of the data, in their order, and the parameters.
    ///
    /// ```
    /// use fitzroy_curve_fit::{CurveFit, Expr, Real};
    /// fn decay<'g>(x: &[Expr<'g>], p: &[Expr<'g>]) -> Expr<'g> {
    ///     p[0] * (-p[1] * x[0]).exp()
    /// }
    /// let fitter = CurveFit::from_fn(["a", "b"], decay)?;
    /// # Ok::<(), fitzroy::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`CurveFit::new`].
    pub fn from_fn<const N: usize>(
        parameters: [&str; N],
        value: impl for<'g> Fn(&[Expr<'g>], &[Expr<'g>]) -> Expr<'g> + Send + Sync + 'static,
    ) -> Result<CurveFit> {
        let parameters = parameters.map(String::from).into();
        Self::new(Closure { parameters, value })
    }

    /// The formula.
    pub fn formula(&self) -> &Formula {
        &self.formula
    }

    /// Divides names into roles, checks options and compiles; remembered for the next call.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn plan(&self, data: &Data<'_>, options: &Options) -> Result<Arc<Plan>> {
        let mut plans = self
            .plans
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, plan)) = plans.iter().find(|(key, _)| key.fits(data, options)) {
            return Ok(Arc::clone(plan));
        }
        let roles = self.formula.roles(&data.names(), &data.label_columns())?;
        let plan = Arc::new(Plan::new(&self.formula, roles, data.has_sigma(), options)?);
        if plans.len() >= REMEMBERED {
            plans.remove(0);
        }
        plans.push((Key::new(data, options), Arc::clone(&plan)));
        Ok(plan)
    }

    /// Fits `data`.
    ///
    /// # Errors
    /// What is wrong with data or options; a fit that does not converge is no error.
    pub fn fit(&self, data: &Data<'_>, options: &Options) -> Result<Estimate> {
        self.fit_watched(data, options, &mut |_| Next::Continue)
    }

    /// As [`CurveFit::fit`], with an observer that sees every step and may stop the fit.
    ///
    /// # Errors
    /// As there.
    pub fn fit_watched(
        &self,
        data: &Data<'_>,
        options: &Options,
        observer: &mut Observer<'_>,
    ) -> Result<Estimate> {
        let (plan, table) = self.prepare(data, options)?;
        fit_table(&plan, &table, options, observer)
    }

    /// The plan of a fit of `data`, which have been looked at, and the columns it reads: for fits that
    /// [`fit_table`] makes, on another device perhaps.
    ///
    /// # Errors
    /// What is wrong with data or options.
    pub fn prepare<'d>(
        &self,
        data: &'d Data<'_>,
        options: &Options,
    ) -> Result<(Arc<Plan>, Columns<'d>)> {
        let plan = self.plan(data, options)?;
        conclude::check_rows(&plan, data)?;
        if data.n_rows() <= LOOKED_AT || options.loss.is_robust() {
            data.check_finite(&plan.roles.predictors)?;
        }
        let table = data.table(&plan.roles.predictors)?;
        Ok((plan, table))
    }
}

/// Fits a plan to a table whose columns are the plan's predictors, the response and 1/σ.
///
/// # Errors
/// The data cannot be read, or the start is not usable.
pub fn fit_table(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    observer: &mut Observer<'_>,
) -> Result<Estimate> {
    Ok(fit_and_measure(plan, table, options, observer)?.0)
}

/// As [`fit_table`], with the measures of the residuals where the fit itself looked at them: what
/// [`quality()`] gives, without another pass.
///
/// # Errors
/// As there.
pub fn fit_and_measure(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    observer: &mut Observer<'_>,
) -> Result<(Estimate, Option<Quality>)> {
    check_options(options)?;
    let mut best: Result<Option<Estimate>> = Ok(None);
    let mut known = None;
    if options.multistart > 1 || options.global {
        // What is found without a search is never given up for something higher.
        let plain = Options {
            multistart: 1,
            global: false,
            ..options.clone()
        };
        if let Ok((plain, quality)) = fit_and_measure(plan, table, &plain, observer) {
            if plain.status == Status::Interrupted {
                return Ok((plain, quality));
            }
            known = (plain.popt.len() == plan.free.len()).then(|| plain.popt.clone());
            best = Ok(Some(plain));
        }
    }
    let known = known.as_deref();
    for options in constrain::starts(plan, table, options, observer)? {
        let found = match solve::solve(plan, table, &options, known, observer) {
            Ok(solution) => conclude::conclude(plan, table, &options, solution)?,
            Err(error) if matches!(best, Ok(None)) => {
                best = Err(error);
                continue;
            }
            Err(_) => continue,
        };
        best = Ok(Some(match best {
            // Of two that are as low, the one of the search says what starts led to.
            Ok(Some(best)) if best.is_better_than(&found) => best,
            _ => found,
        }));
    }
    let (mut best, mut quality) = restart::again(plan, table, options, best, observer)?;
    if !plan.constrained.curved.is_empty() {
        best = curved::constrained(plan, table, options, best, observer)?;
        quality = None;
    }
    constrain::tell(plan, &mut best);
    Ok((best, quality))
}

fn check_options(options: &Options) -> Result<()> {
    use fitzroy::{Error, ErrorKind};
    let refuse = |message: String| Err(Error::new(ErrorKind::Usage, message));
    let ci = options.confidence;
    if !(ci > 0.0 && ci < 1.0) {
        return refuse(format!(
            "⟨ci {ci}⟩: needs a probability between 0 and 1, such as 0.95"
        ));
    }
    if let Scale::Fixed(c) = options.f_scale
        && !(c > 0.0 && c.is_finite())
    {
        return refuse(format!(
            "⟨f_scale {c}⟩: needs a positive number, in units of the residuals"
        ));
    }
    for (name, x) in &options.p0 {
        if !x.is_finite() {
            return refuse(format!("p0 {name} = {x}: needs a finite number"));
        }
    }
    Ok(())
}

/// Fits `text` to `data`: one call, for a fit or two; in a loop make a [`CurveFit`] once.
///
/// # Errors
/// As [`CurveFit::fit`].
pub fn curve_fit(text: &str, data: &Data<'_>, options: &Options) -> Result<Estimate> {
    CurveFit::compile(text)?.fit(data, options)
}
