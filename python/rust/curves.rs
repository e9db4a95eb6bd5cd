//! Curves as formulas: one fit, and many.

use crate::arrays::matrix;
use crate::attend::{Looks, attended};
use crate::devices::{Fitting, OF_DEVICE};
use crate::errors::{named, raised, spelled};
use fitzroy_curve_fit::batch::{
    Batch, Doubted, Groups, ON_PROCESSOR, doubts as of_many, fit_many_on, suit_machines,
};
use fitzroy_curve_fit::fit::{
    Doubt, Misfit, Plan, Predicted, combined, criteria, doubts as of_called, fit_and_measure,
    leave_one_out, of_normal_errors, pointwise, quality, weights,
};
use fitzroy_curve_fit::method::statistics::t_quantile as quantile;
use fitzroy_curve_fit::method::{Next, Progress};
use fitzroy_curve_fit::pass::Table;
use fitzroy_curve_fit::{CurveFit, Data, Estimate, Finish, Loss, Options, Restarts, Scale, Sigma};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Rows up to which the residuals of a fit are looked at: of more, that would take a part of the fit's own time.
const MOST_WEIGHED: usize = 65_536;

/// A column and its name.
type Named<'py> = (String, PyReadonlyArray1<'py, f64>);

/// The quantile of Student's distribution, of the normal one for infinite `dof`.
#[pyfunction]
pub(crate) fn t_quantile(probability: f64, dof: f64) -> f64 {
    quantile(probability, dof)
}

/// What speaks against a fit that converged of a function that was called, as names, and as words if anything does:
/// `fitted` are its values, `columns` the predictors (none where errors are correlated), `sizes` the numbers of parameters and of
/// degrees of freedom, and χ².
#[pyfunction]
pub(crate) fn doubts(
    fitted: PyReadonlyArray1<'_, f64>,
    y: PyReadonlyArray1<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    columns: Option<Vec<PyReadonlyArray1<'_, f64>>>,
    sizes: (usize, usize, f64),
    linear: bool,
    absolute_sigma: bool,
) -> PyResult<(Vec<&'static str>, Option<String>)> {
    let (n_parameters, dof, chi2) = sizes;
    let misfit = Misfit {
        n_parameters,
        dof,
        chi2,
        // Which of the robust ones it is does not matter.
        loss: if linear { Loss::Linear } else { Loss::Huber },
        absolute_sigma,
    };
    let (fitted, y) = (fitted.as_slice()?, y.as_slice()?);
    let weights = weights.as_ref().map(|w| w.as_slice()).transpose()?;
    let given = columns.is_some();
    let columns = columns.iter().flatten().map(|c| c.as_slice());
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    if fitted.len() != y.len() || columns.iter().any(|c| c.len() != y.len()) {
        return Err(PyValueError::new_err(
            "values, response and predictors differ in length",
        ));
    }
    let found = of_called((fitted, y), weights, given.then_some(&columns[..]), &misfit);
    Ok((found.each().map(Doubt::name).collect(), found.words()))
}

/// A formula, ready to be fitted any number of times.
#[pyclass(frozen, module = "fitzroy._fitzroy")]
pub(crate) struct Curve {
    fitter: CurveFit,
    text: String,
    labels: Labels,
}

/// Columns whose values are places among labels, with these.
type Labels = Vec<(String, Vec<String>)>;

#[pymethods]
impl Curve {
    #[new]
    #[pyo3(signature = (text, labels=Vec::new()))]
    fn new(text: &str, labels: Labels) -> PyResult<Self> {
        Ok(Curve {
            fitter: CurveFit::compile(text).map_err(raised)?,
            text: text.into(),
            labels,
        })
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> (Py<PyAny>, (String, Labels)) {
        let (class, own) = (slf.get_type().into_any().unbind(), slf.get());
        (class, (own.text.clone(), own.labels.clone()))
    }

    /// The formula as text.
    #[getter]
    fn formula(&self) -> &str {
        self.fitter.formula().text()
    }

    /// Names of the parameters beside `columns`, in the order of the formula.
    fn parameters(&self, columns: Vec<String>) -> PyResult<Vec<String>> {
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let labels = self.labels.iter();
        let labels: Vec<(&str, &[String])> = labels.map(|(k, l)| (&**k, &**l)).collect();
        let roles = self.fitter.formula().roles(&columns, &labels);
        let roles = roles.map_err(raised)?;
        Ok(roles.parameters.into_iter().map(|p| p.name).collect())
    }

    /// Fits one data set; of a fit that is to be `brief`, what most callers want.
    #[pyo3(signature = (columns, y, sigma, options, brief=false))]
    fn fit<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Named<'py>>,
        y: PyReadonlyArray1<'py, f64>,
        sigma: Option<PyReadonlyArray1<'py, f64>>,
        options: &Bound<'py, PyDict>,
        brief: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut on = Fitting::asked(options)?;
        let options = options_of(options)?;
        let mut data = self.labelled(data_of(&columns, &y)?);
        if let Some(sigma) = &sigma {
            data = data.with_sigma(Sigma::Each(Cow::Borrowed(sigma.as_slice()?)));
        }
        let mut looks = Looks::new();
        let fitted = py.detach(|| {
            let watch = &mut |_: &Progress<'_>| match looks.go_on() {
                true => Next::Continue,
                false => Next::Interrupt,
            };
            let (plan, table) = self.fitter.prepare(&data, &options)?;
            on.settle(&plan, &table, &options, None)?;
            let remote = on.table(&table);
            let passes: &dyn Table = remote.as_ref().map_or(&table, |remote| remote);
            let found = on.ended(fit_and_measure(&plan, passes, &options, watch));
            let (mut fitted, measured) = found?;
            match measured {
                Some(measured) => fitted.weigh(&measured),
                None if data.n_rows() <= MOST_WEIGHED => {
                    fitted.weigh(&quality(&plan, &table, &fitted)?);
                }
                None => {}
            }
            Ok(fitted)
        });
        if let Some(error) = looks.raised {
            return Err(error);
        }
        let out = dict(py, fitted.map_err(raised)?, brief)?;
        on.describe(&out)?;
        Ok(out)
    }

    /// Fits data sets that follow each other in the columns, in y and in sigma: `sizes` holds the
    /// numbers of their points.
    #[pyo3(signature = (columns, y, sigma, sizes, options))]
    fn fit_many<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Named<'py>>,
        y: PyReadonlyArray1<'py, f64>,
        sigma: Option<PyReadonlyArray1<'py, f64>>,
        sizes: PyReadonlyArray1<'py, usize>,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut on = Fitting::asked(options)?;
        let options = options_of(options)?;
        let sizes = sizes.as_slice()?;
        let mut data = self.labelled(data_of(&columns, &y)?);
        if let Some(sigma) = &sigma {
            data = data.with_sigma(Sigma::Each(Cow::Borrowed(sigma.as_slice()?)));
        }
        let n: usize = sizes.iter().sum();
        if n != data.n_rows() || n > u32::MAX as usize {
            let message = "y needs the points of all fits, at most 4,294,967,295 in all";
            return Err(PyValueError::new_err(message));
        }
        let stop = AtomicBool::new(false);
        let (fitted, trouble) = attended(
            py,
            &stop,
            |_| Ok(()),
            || -> fitzroy::Result<(Batch, Doubted)> {
                let plan = self.fitter.plan(&data, &options)?;
                let groups = Groups::sized(sizes);
                let table = data.table(&plan.roles.predictors)?;
                let declines = (!suit_machines(&plan, &options)).then_some(ON_PROCESSOR);
                on.settle(&plan, &table, &options, declines)?;
                let found = on.ended(fit_many_on(
                    on.machines(),
                    &plan,
                    &table,
                    &groups,
                    &options,
                    &stop,
                ));
                let batch = found?;
                let doubts = of_many(&batch, &plan, &table, &groups, &options);
                Ok((batch, doubts))
            },
        );
        if let Some(error) = trouble {
            return Err(error);
        }
        let out = dict_of_many(py, fitted.map_err(raised)?)?;
        on.describe(&out)?;
        Ok(out)
    }

    /// The curve and its partial derivatives at every row of `columns`.
    fn pointwise<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Named<'py>>,
        theta: Vec<f64>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let nothing = [];
        let mut data = Data::new(&nothing[..]);
        for (name, values) in &columns {
            data = data.with(name, values.as_slice()?);
        }
        let data = self.labelled(data);
        let plan: Arc<Plan> = self
            .fitter
            .plan(&data, &Options::default())
            .map_err(raised)?;
        let predictors = plan.roles.predictors.iter();
        let predictors: Vec<&[f64]> = predictors.filter_map(|name| data.column(name)).collect();
        let found = py.detach(|| pointwise(&plan, &theta, &predictors));
        let (values, partials) = found.map_err(raised)?;
        let values = PyArray1::from_vec(py, values).into_any();
        Ok((values, matrix(py, partials, theta.len())?.into_any()))
    }
}

impl Curve {
    fn labelled<'d>(&self, data: Data<'d>) -> Data<'d> {
        let labels = self.labels.iter();
        labels.fold(data, |data, (name, labels)| {
            data.with_places_among(name, labels)
        })
    }
}

/// Columns and response, borrowed.
fn data_of<'d>(columns: &'d [Named<'_>], y: &'d PyReadonlyArray1<'_, f64>) -> PyResult<Data<'d>> {
    let mut data = Data::new(y.as_slice()?).with_response_called("ydata");
    for (name, values) in columns {
        data = data.with(name, values.as_slice()?);
    }
    Ok(data)
}

/// What a fit found, by name: all of it, or values, covariance and how it ended.
fn dict(py: Python<'_>, estimate: Estimate, brief: bool) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    let p = estimate.popt.len();
    if !brief {
        describe(py, &out, &estimate)?;
    }
    // Small fits feel it when names are made anew.
    out.set_item(intern!(py, "status"), estimate.status.name())?;
    if let Some(doubts) = estimate.doubts() {
        out.set_item(intern!(py, "doubts"), doubts)?;
    }
    if let Some(guess) = estimate.guess() {
        out.set_item(intern!(py, "guess"), spelled(guess))?;
    }
    out.set_item(intern!(py, "evaluations"), estimate.evaluations)?;
    out.set_item(intern!(py, "names"), estimate.free)?;
    out.set_item(intern!(py, "popt"), PyArray1::from_vec(py, estimate.popt))?;
    out.set_item(intern!(py, "pcov"), matrix(py, estimate.pcov, p)?)?;
    Ok(out)
}

/// Errors, intervals and findings.
fn describe(py: Python<'_>, out: &Bound<'_, PyDict>, estimate: &Estimate) -> PyResult<()> {
    let free = |name: &String| estimate.parameters.iter().find(|f| f.name == *name);
    let fitted: Vec<_> = estimate.free.iter().filter_map(free).collect();
    let ends: Vec<f64> = fitted
        .iter()
        .flat_map(|f| [f.ci_lower, f.ci_upper])
        .collect();
    let start: Vec<f64> = fitted.iter().map(|f| f.start.unwrap_or(f64::NAN)).collect();
    out.set_item("ci", matrix(py, ends, 2)?)?;
    out.set_item("start", PyArray1::from_vec(py, start))?;
    out.set_item("se", PyArray1::from_vec(py, estimate.se()))?;
    out.set_item("reduced_chi2", estimate.reduced_chi2())?;
    out.set_item("converged", estimate.converged())?;
    out.set_item("covariance_status", estimate.covariance_status.name())?;
    out.set_item("covariance_kind", estimate.covariance_kind)?;
    out.set_item("n", estimate.n)?;
    out.set_item("dof", estimate.dof)?;
    out.set_item("cost", estimate.cost)?;
    out.set_item("chi2", estimate.chi2)?;
    out.set_item("confidence", estimate.confidence)?;
    out.set_item("condition", estimate.condition)?;
    out.set_item("rank", estimate.rank)?;
    out.set_item("method", &estimate.method)?;
    let findings = estimate.findings.iter().map(|finding| spelled(finding));
    out.set_item("findings", findings.collect::<Vec<_>>())?;
    out.set_item("flags", &estimate.flags)
}

/// What many fits found and what speaks against them, by name.
fn dict_of_many(py: Python<'_>, (batch, doubts): (Batch, Doubted)) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    let p = batch.names.len();
    let converged: Vec<bool> = batch.status.iter().map(|s| s.converged()).collect();
    let status = words(py, &batch.status, |status| status.name().into());
    let each = words(py, &doubts.each, |doubts| {
        doubts.words().unwrap_or_default()
    });
    out.set_item("doubts", each)?;
    out.set_item("doubted", doubts.words())?;
    out.set_item("beyond_chance", doubts.is_beyond_chance())?;
    out.set_item("converged", PyArray1::from_vec(py, converged))?;
    out.set_item("status", status)?;
    out.set_item("names", batch.names)?;
    out.set_item("popt", matrix(py, batch.theta, p)?)?;
    out.set_item("se", matrix(py, batch.se, p)?)?;
    out.set_item("chi2", PyArray1::from_vec(py, batch.chi2))?;
    out.set_item("evaluations", PyArray1::from_vec(py, batch.evaluations))?;
    out.set_item("n_alone", batch.n_alone)?;
    Ok(out)
}

/// What is said of each of many fits: there may be millions of them, and there are few ways to say it.
fn words<'py, T: PartialEq + Copy>(
    py: Python<'py>,
    each: &[T],
    say: impl Fn(T) -> String,
) -> Vec<Bound<'py, PyString>> {
    let mut known: Vec<(T, Bound<'_, PyString>)> = Vec::new();
    let of = |one: &T| {
        let said = known.iter().find(|(other, _)| other == one);
        let said = said.map(|(_, word)| word.clone());
        said.unwrap_or_else(|| {
            let word = PyString::new(py, &say(*one));
            known.push((*one, word.clone()));
            word
        })
    };
    each.iter().map(of).collect()
}

/// The weights of curves by a criterion of each.
#[pyfunction]
pub(crate) fn curve_weights(criteria: Vec<f64>) -> Vec<f64> {
    weights(&criteria)
}

/// AIC, AICc, BIC and LOO of a fit with normal errors: of its weighted residuals, the slopes with the same weights, a
/// row for each residual, and the weights. Without slopes there is no LOO.
#[pyfunction]
pub(crate) fn curve_criteria(
    residuals: PyReadonlyArray1<'_, f64>,
    slopes: Option<PyReadonlyArray1<'_, f64>>,
    weights: PyReadonlyArray1<'_, f64>,
    n_parameters: usize,
    chi2: f64,
    absolute_sigma: bool,
) -> PyResult<[f64; 4]> {
    let (residuals, weights) = (residuals.as_slice()?, weights.as_slice()?);
    if weights.len() != residuals.len() {
        return Err(PyValueError::new_err(
            "a weight is needed for each residual",
        ));
    }
    let log_weights = weights.iter().map(|w| w.ln()).sum();
    let (n, p) = (residuals.len() as f64, n_parameters as f64);
    let (log_l, k) = of_normal_errors(chi2, n, p, log_weights, absolute_sigma);
    let found = criteria(log_l, k, n);
    let loo = match &slopes {
        Some(slopes) => {
            let weight = |i: usize| weights[i];
            leave_one_out(residuals, slopes.as_slice()?, weight, chi2, absolute_sigma)
        }
        None => f64::NAN,
    };
    Ok([found.aic, found.aicc, found.bic, loo])
}

/// A curve at some points: values, their standard errors, and the quantile behind its intervals.
type OfCurve<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, f64);

/// The average of curves by their weights: values, errors, the part of these that is between curves, and the ends
/// of intervals.
#[pyfunction]
pub(crate) fn averaged<'py>(
    py: Python<'py>,
    weights: Vec<f64>,
    curves: Vec<OfCurve<'py>>,
    confidence: f64,
) -> PyResult<[Bound<'py, PyArray1<f64>>; 5]> {
    let curves = curves.iter().map(|(value, se, quantile)| {
        Ok(Predicted {
            value: value.as_slice()?.to_vec(),
            se: se.as_slice()?.to_vec(),
            quantile: *quantile,
        })
    });
    let found = combined(&weights, curves.collect::<PyResult<_>>()?, confidence);
    let all = [
        found.value,
        found.se,
        found.between,
        found.lower,
        found.upper,
    ];
    Ok(all.map(|numbers| PyArray1::from_vec(py, numbers)))
}

/// Options of a fit from their names.
fn options_of(given: &Bound<'_, PyDict>) -> PyResult<Options> {
    let mut options = Options::default();
    for (name, value) in given.iter() {
        let name = name.cast::<PyString>()?;
        match name.to_str()? {
            "p0" => options.p0 = value.extract()?,
            "fixed" => options.fixed = value.extract()?,
            "bounds" => options.bounds = value.extract()?,
            "absolute_sigma" => options.absolute_sigma = value.extract()?,
            "f_scale" => {
                options.f_scale = match value.extract::<f64>() {
                    Ok(scale) => Scale::Fixed(scale),
                    Err(_) => Scale::Auto,
                }
            }
            "loss" => options.loss = named("loss", value.extract()?)?,
            "method" => options.method = named("method", value.extract()?)?,
            "covariance" => options.covariance = named("covariance", value.extract()?)?,
            "exact" => {
                options.finish = match value.extract()? {
                    true => Finish::Exact,
                    false => Finish::Fast,
                }
            }
            "confidence" => options.confidence = value.extract()?,
            "threads" => options.threads = value.extract()?,
            "multistart" => options.multistart = value.extract()?,
            "global" => options.global = value.extract()?,
            "restart" => {
                options.restarts = match value.extract()? {
                    true => Restarts::Always,
                    false => Restarts::Unstarted,
                }
            }
            "seed" => options.seed = value.extract()?,
            "max_evaluations" => options.limits.max_evaluations = value.extract()?,
            "xtol" => options.limits.xtol = value.extract()?,
            "ftol" => options.limits.ftol = value.extract()?,
            "gtol" => options.limits.gtol = value.extract()?,
            name if OF_DEVICE.contains(&name) => {}
            _ => {
                let message = format!("a fit has no option `{name}`");
                return Err(PyValueError::new_err(message));
            }
        }
    }
    Ok(options)
}
