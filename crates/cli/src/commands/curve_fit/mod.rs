//! `fitzroy curve-fit --model EXPR|NAME DATA...`

mod batch;
mod large;
mod pairs;
mod sets;
mod show;

use crate::args::Common;
use crate::clock::Clock;
use crate::exit::Outcome;
use crate::interrupt;
use crate::task::Task;
use clap::{Args, ValueEnum};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::fit::{self, Estimate, Plan, fit_table};
use fitzroy_curve_fit::method::starts::Design;
use fitzroy_curve_fit::method::{Limits, Next, Status};
use fitzroy_curve_fit::report::Timing;
use fitzroy_curve_fit::source::{Assembled, Missing, Request, SigmaOf, assemble};
use fitzroy_curve_fit::{
    CovarianceKind, Finish, Formula, Loss, Method, Options, Progressive, Scale,
};
use pairs::{bounds, ranges, texts, values};
use sets::Sets;
use show::Results;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// Flags of `fitzroy curve-fit`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy curve-fit --model 'a*exp(-b*t)+c' decay.csv --y counts\n  \
    fitzroy curve-fit --model gaussian peak.csv --x x=energy --y counts --likelihood poisson\n  \
    fitzroy curve-fit --model 'a*exp(-b*t)+c[set]' --data-set left=l.csv --data-set right=r.csv\n\n\
    Names in the model that are columns are predictors; all others are parameters.")]
pub(crate) struct CurveFitArgs {
    /// Files with the columns: CSV, TSV, NPY, NPZ, JSON
    data: Vec<PathBuf>,
    /// A formula, or the name of a built-in curve such as gaussian or polynomial(3)
    #[arg(long, value_name = "EXPR|NAME")]
    model: String,
    /// A file of one of several data sets; a column `set` tells them apart
    #[arg(long, value_name = "NAME=FILE")]
    data_set: Vec<String>,
    /// Renames a column
    #[arg(long, value_name = "NAME=COLUMN")]
    x: Vec<String>,
    /// The response: a column, or a formula of columns such as log(y)
    #[arg(long, value_name = "COLUMN|EXPR")]
    y: Option<String>,
    /// Standard deviations of the response: a column or a number
    #[arg(long, value_name = "COLUMN|NUMBER")]
    sigma: Option<String>,
    /// Sigma are known, not only up to a factor
    #[arg(long, requires = "sigma")]
    absolute_sigma: bool,
    /// Uses rows with LO <= COLUMN <= HI only
    #[arg(long, value_name = "COLUMN=LO:HI")]
    range: Vec<String>,
    /// Rows with missing or infinite values
    #[arg(
        long,
        alias = "nan-policy",
        value_enum,
        default_value = "error",
        value_name = "POLICY"
    )]
    missing: MissingRows,
    /// Starting values: a=1,b=2
    #[arg(long, value_name = "NAME=X,...", allow_hyphen_values = true)]
    p0: Vec<String>,
    /// Holds parameters: a=3
    #[arg(long, value_name = "NAME=X,...", allow_hyphen_values = true)]
    fix: Vec<String>,
    /// Bounds; either side may be empty: b=0:
    #[arg(long, value_name = "NAME=LO:HI", allow_hyphen_values = true)]
    bound: Vec<String>,
    /// Ties a parameter to others: 'c = 2*a'
    #[arg(long, value_name = "NAME=EXPR")]
    tie: Vec<String>,
    /// Loss of a residual
    #[arg(long, value_name = "LOSS", default_value = "linear",
          value_parser = ["linear", "soft_l1", "huber", "cauchy", "arctan", "tukey"])]
    loss: String,
    /// Residual beyond which a robust loss bends: a number in units of sigma, or auto
    #[arg(long, value_name = "N|auto", default_value = "1")]
    f_scale: String,
    /// Distribution of the response
    #[arg(long, value_enum, value_name = "NAME", default_value = "gaussian")]
    likelihood: Likelihood,
    /// Algorithm
    #[arg(long, value_enum, value_name = "NAME", default_value = "auto")]
    method: MethodName,
    /// Covariance of the parameters
    #[arg(long, value_name = "KIND", default_value = "auto",
          value_parser = ["auto", "classic", "sandwich", "hc0", "hc3"])]
    covariance: String,
    /// Probability inside the intervals
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    ci: f64,
    /// Profile-likelihood intervals, of these parameters or of all
    #[arg(long, value_name = "NAMES", num_args = 0..=1, default_missing_value = "")]
    profile: Option<String>,
    /// Stops at this relative change of every parameter
    #[arg(long, value_name = "X", default_value_t = 1e-11)]
    xtol: f64,
    /// Stops at this expected relative fall of the cost
    #[arg(long, value_name = "X", default_value_t = 1e-18)]
    ftol: f64,
    /// Stops at this scaled gradient
    #[arg(long, value_name = "X", default_value_t = 1e-12)]
    gtol: f64,
    /// Most evaluations of the residuals
    #[arg(long, value_name = "N", default_value_t = 5000)]
    max_evals: usize,
    /// Most seconds
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<f64>,
    /// Starts on a subsample of many rows
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    progressive: When,
    /// Reads all rows once more at the end
    #[arg(long, value_enum, value_name = "HOW", default_value = "fast")]
    finish: FinishName,
    /// Number of starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    multistart: usize,
    /// How starts fill the bounds
    #[arg(long, value_enum, value_name = "DESIGN", default_value = "sobol")]
    starts: Starts,
    /// A fit for every group of rows that share a value of this column; with several files, `file`
    /// fits each of them
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["predict", "residuals", "profile"])]
    batch_by: Option<String>,
    /// The data sets of task I of N of --batch-by, I from 0
    #[arg(long, value_name = "I/N", requires = "batch_by")]
    task: Option<Task>,
    /// Leaves the columns in their files and reads them in pieces within this much memory
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["batch_by", "predict", "residuals",
          "profile", "to_model", "data_set", "range", "out"])]
    memory_limit: Option<String>,
    /// Writes the curve with its bands at the rows of this file to OUT/prediction.csv
    #[arg(long, value_name = "FILE", requires = "out")]
    predict: Option<PathBuf>,
    /// Writes predictors, response, curve and residuals
    #[arg(long, value_name = "FILE")]
    residuals: Option<PathBuf>,
    /// Writes the same curve as a model for `fitzroy sample`
    #[arg(long, value_name = "FILE.fz")]
    to_model: Option<PathBuf>,
    /// Exit code 1 when the fit did not converge
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    output: crate::args::Output,
    #[command(flatten)]
    common: Common,
}

/// What to do with rows in which something is missing.
#[derive(Clone, Copy, ValueEnum)]
enum MissingRows {
    Error,
    #[value(alias = "omit")]
    Drop,
}

/// Likelihoods.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Likelihood {
    Gaussian,
    Poisson,
}

/// Algorithms.
#[derive(Clone, Copy, ValueEnum)]
enum MethodName {
    Auto,
    Lm,
    Varpro,
}

/// Yes, no, or as it pays.
#[derive(Clone, Copy, ValueEnum)]
enum When {
    Auto,
    On,
    Off,
}

/// Ends of a fit.
#[derive(Clone, Copy, ValueEnum)]
enum FinishName {
    Fast,
    Exact,
}

/// Designs of starts.
#[derive(Clone, Copy, ValueEnum)]
enum Starts {
    Sobol,
    Lhs,
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}

impl CurveFitArgs {
    fn options(&self, threads: usize) -> Result<Options> {
        let loss = if self.likelihood == Likelihood::Poisson {
            if self.loss != "linear" {
                return Err(usage(
                    "--likelihood poisson has its own loss; leave out --loss".into(),
                ));
            }
            Loss::Poisson
        } else {
            let named = Loss::NAMES.iter().find(|(name, _)| *name == self.loss);
            named.map_or(Loss::Linear, |(_, loss)| *loss)
        };
        let f_scale = match self.f_scale.as_str() {
            "auto" => Scale::Auto,
            text => Scale::Fixed(text.parse().map_err(|_| {
                usage(format!("--f-scale {text}: needs a positive number or auto"))
            })?),
        };
        let kind = CovarianceKind::NAMES
            .iter()
            .find(|(name, _)| *name == self.covariance);
        Ok(Options {
            p0: values("--p0", &self.p0)?,
            fixed: values("--fix", &self.fix)?,
            tied: texts("--tie", &self.tie)?,
            bounds: bounds("--bound", &self.bound)?,
            loss,
            f_scale,
            absolute_sigma: self.absolute_sigma,
            method: match self.method {
                MethodName::Auto => Method::Auto,
                MethodName::Lm => Method::Lm,
                MethodName::Varpro => Method::Varpro,
            },
            covariance: kind.map_or(CovarianceKind::Auto, |(_, kind)| *kind),
            confidence: self.ci,
            limits: Limits {
                xtol: self.xtol,
                ftol: self.ftol,
                gtol: self.gtol,
                max_evaluations: self.max_evals,
            },
            progressive: match self.progressive {
                When::Auto => Progressive::Auto,
                When::On => Progressive::On,
                When::Off => Progressive::Off,
            },
            finish: match self.finish {
                FinishName::Fast => Finish::Fast,
                FinishName::Exact => Finish::Exact,
            },
            multistart: self.multistart,
            starts: match self.starts {
                Starts::Sobol => Design::Sobol,
                Starts::Lhs => Design::LatinHypercube,
            },
            seed: self.common.seed,
            threads,
        })
    }

    fn request(&self) -> Result<Request> {
        let sigma = match &self.sigma {
            None => SigmaOf::Unknown,
            Some(text) => match text.parse() {
                Ok(number) => SigmaOf::Number(number),
                Err(_) => SigmaOf::Column(text.clone()),
            },
        };
        Ok(Request {
            rename: texts("--x", &self.x)?,
            y: self.y.clone(),
            sigma,
            range: ranges("--range", &self.range)?,
            missing: match self.missing {
                MissingRows::Error => Missing::Error,
                MissingRows::Drop => Missing::Drop,
            },
            unchecked: false,
        })
    }
}

/// Reads, fits, prints.
pub(crate) fn run(args: &CurveFitArgs) -> Result<Outcome> {
    let clock = Clock::start();
    let machine = args.common.machine()?;
    let options = args.options(machine.threads)?;
    let formula = Formula::parse(&args.model).map_err(|e| e.context("--model"))?;
    if let Some(limit) = &args.memory_limit {
        return large::run(args, limit, &formula, &options, &clock);
    }
    let request = args.request()?;
    let arrays = arrays(args)?;
    if let Some(column) = &args.batch_by {
        return batch::run(args, column, arrays, &formula, &request, &options, &clock);
    }
    let Assembled {
        data, y, n_dropped, ..
    } = assemble(arrays, &formula, &request)?;
    let mut timing = Timing {
        read: clock.seconds(),
        ..Timing::default()
    };
    let roles = formula.roles(&data.names(), &data.label_columns())?;
    let plan = Plan::new(&formula, roles, data.has_sigma(), &options)?;
    fit::check_rows(&plan, &data)?;
    let table = data.table(&plan.roles.predictors)?;
    timing.compile = clock.seconds() - timing.read;
    let stop = interrupt::catch_with("stopping: the fit ends with the best point so far")?;
    let before = clock.seconds();
    let mut estimate = fit_table(&plan, &table, &options, &mut |_| {
        let late = args
            .time_limit
            .is_some_and(|limit| clock.seconds() - before > limit);
        if stop.load(Ordering::Relaxed) {
            Next::Interrupt
        } else if late {
            Next::OutOfTime
        } else {
            Next::Continue
        }
    })?;
    timing.fit = clock.seconds() - before;
    timing.total = clock.seconds();
    estimate.n_dropped = n_dropped;
    // The measures of the residuals take another read, which many rows would feel.
    let quality = fit::quality(&plan, &table, &estimate)?;
    let profiles = profiles(args, &plan, &table, &options, &estimate)?;
    let result = Results {
        args,
        plan: &plan,
        data: &data,
        y: &y,
        estimate: &estimate,
        quality: &quality,
        timing: &timing,
        profiles,
    };
    result.write()?;
    result.show(machine.threads);
    Ok(match estimate.status {
        Status::Interrupted => Outcome::Interrupted,
        _ if args.strict && !estimate.converged() => Outcome::NotPassed,
        _ => Outcome::Done,
    })
}

/// All arrays of all files; data sets under one another, with a column `set`.
fn arrays(args: &CurveFitArgs) -> Result<Vec<fitzroy::data::Array>> {
    use fitzroy::data::{Array, Values};
    let mut out: Vec<Array> = Vec::new();
    let Sets { column, sets } = sets::of(args)?;
    if column != sets::FILE {
        for path in &args.data {
            out.extend(fitzroy::data::read_file(path)?);
        }
    }
    if sets.is_empty() && out.is_empty() {
        return Err(usage(
            "no data: name a file (CSV, TSV, NPY, NPZ, JSON)".into(),
        ));
    }
    let mut labels = Vec::new();
    for (name, file) in &sets {
        let arrays = fitzroy::data::read_file(file)?;
        let rows = arrays.first().map_or(0, |a| a.values.len());
        labels.extend(std::iter::repeat_n(name.clone(), rows));
        for array in arrays {
            match out.iter_mut().find(|a| a.name == array.name) {
                None if labels.len() == rows => out.push(array),
                Some(before) => match (&mut before.values, array.values) {
                    (Values::Real(to), Values::Real(from)) => to.extend(from),
                    (Values::Text(to), Values::Text(from)) => to.extend(from),
                    _ => {
                        let message = format!(
                            "--data-set {name}={file}: column `{}` is numeric in one file and text \
                             in another",
                            array.name
                        );
                        return Err(Error::new(ErrorKind::Data, message));
                    }
                },
                None => {
                    let message = format!(
                        "--data-set {name}={file}: column `{}` is in this file only; all sets need \
                         the same columns",
                        array.name
                    );
                    return Err(Error::new(ErrorKind::Data, message));
                }
            }
        }
    }
    if !sets.is_empty() {
        let n = labels.len();
        for array in &mut out {
            if array.values.len() != n {
                let message = format!("column `{}` is not in every --data-set", array.name);
                return Err(Error::new(ErrorKind::Data, message));
            }
            array.shape = vec![n];
        }
        out.push(Array::text(column, &[n], labels, "--data-set"));
    }
    Ok(out)
}

/// Name, lower and upper end of each profile asked for.
fn profiles(
    args: &CurveFitArgs,
    plan: &Plan,
    table: &dyn fitzroy_curve_fit::pass::Table,
    options: &Options,
    estimate: &Estimate,
) -> Result<Vec<(String, f64, f64)>> {
    let Some(names) = &args.profile else {
        return Ok(Vec::new());
    };
    let wanted: Vec<String> = if names.is_empty() {
        estimate.free.clone()
    } else {
        names.split(',').map(|n| n.trim().to_string()).collect()
    };
    let mut out = Vec::new();
    for name in wanted {
        if estimate.parameter(&name).is_none() {
            let message = format!(
                "--profile: the model has no parameter `{name}`; its parameters are {}",
                estimate.free.join(", ")
            );
            return Err(usage(message));
        }
        if let Some((low, high)) = fit::profile(plan, table, options, estimate, &name)? {
            out.push((name, low, high));
        }
    }
    Ok(out)
}
