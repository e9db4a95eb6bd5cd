//! Flags of `fitzroy curve-fit`, and what they come to.

use super::compare;
use super::inputs::columns_of_x_sigma;
use super::pairs::{bounds, columns, numbers, ranges, texts, values};
use crate::args::Common;
use crate::commands::chains::ChainFlags;
use crate::named::named;
use crate::tables::TableFlags;
use crate::{face, terminal};
use clap::{Args, ValueEnum};
use fitzroy::{Error, Named, Result};
use fitzroy_curve_fit::fit::{Criterion, Resampling};
use fitzroy_curve_fit::formula::Roles;
use fitzroy_curve_fit::method::Limits;
use fitzroy_curve_fit::method::starts::Design;
use fitzroy_curve_fit::report::{Axes, View};
use fitzroy_curve_fit::source::{Missing, Request, SigmaOf};
use fitzroy_curve_fit::{
    CovarianceKind, Finish, Loss, Method, Options, Progressive, Restarts, Scale,
};
use fitzroy_session::clock::Clock;
use fitzroy_session::curves::posterior::Sampling;
use fitzroy_session::face::Face;
use fitzroy_session::folder::Folder;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flags of `fitzroy curve-fit`.
#[derive(Args, Clone)]
#[command(after_help = "Examples:\n  \
    fitzroy curve-fit --model 'a*exp(-b*t)+c' decay.csv --y counts\n  \
    fitzroy curve-fit --model 'lambda x, a, b: a*np.exp(-b*x)' decay.csv --p0 2,0.1\n  \
    fitzroy curve-fit --model 'a*exp(-b*x)+c' messung.txt --decimal comma\n  \
    fitzroy curve-fit --model gaussian runs.xlsx --sheet 'Run 2' --x x=energy --y counts\n  \
    fitzroy curve-fit --model gaussian peak.csv --x x=energy --y counts --likelihood poisson\n  \
    fitzroy curve-fit --model 'a*exp(-b*t)+c[set]' --data-set left=l.csv --data-set right=r.csv\n  \
    fitzroy curve-fit --model 'a*exp(-b*t)+c' big.parquet --y counts --memory-limit 2GB --out big\n  \
    fitzroy curve-fit --model 'a*t+b' line.csv --y y --posterior --prior 'a ~ Normal(2, 1)'\n  \
    fitzroy curve-fit --model 'a*sin(w*x+k*x^2+p)' chirp.csv --global --bound w=0:12\n  \
    fitzroy curve-fit --model 'a*exp(-b*t)' decay.csv --x 't=time (s)' --axes log-y --plot decay.png\n  \
    fitzroy curve-fit --model 'a*t+b' line.csv --sigma-matrix covariance.npy --constraint 'a^2+b^2=1'\n  \
    fitzroy curve-fit --workflow fit.yaml --json\n\n\
    Names in the model that are columns are predictors; all others are parameters.")]
pub(crate) struct CurveFitArgs {
    /// Files with the columns: tables of text (.csv, .tsv, .txt, .dat, also .gz and .zst), .xlsx, NPY, NPZ,
    /// JSON, Parquet, NetCDF
    pub(super) data: Vec<PathBuf>,
    /// A formula, or the name of a built-in curve such as gaussian or polynomial(3)
    #[arg(
        long,
        value_name = "EXPR|NAME",
        required_unless_present = "workflow",
        allow_hyphen_values = true
    )]
    pub(super) model: Option<String>,
    /// A fit described in NLSQ's layout, in place of the flags that it sets
    #[arg(long, value_name = "FILE.yaml", conflicts_with_all = ["data", "model", "data_set", "x", "y",
          "sigma", "absolute_sigma", "p0", "bound", "loss", "method", "xtol", "ftol", "gtol",
          "max_evals", "batch_by", "memory_limit"])]
    pub(super) workflow: Option<PathBuf>,
    /// A file of one of several data sets; a column `set` tells them apart
    #[arg(long, value_name = "NAME=FILE")]
    pub(super) data_set: Vec<String>,
    /// Renames a column
    #[arg(long, value_name = "NAME=COLUMN")]
    pub(super) x: Vec<String>,
    /// The response: a column, or a formula of columns such as log(y)
    #[arg(long, value_name = "COLUMN|EXPR")]
    pub(super) y: Option<String>,
    /// Standard deviations of the response: a column, a number, or none [default: a column that is
    /// called so, as y_err or sigma_y]
    #[arg(long, value_name = "COLUMN|NUMBER|none", allow_negative_numbers = true)]
    pub(super) sigma: Option<String>,
    /// A file with the covariance matrix of the errors of the response, where these are correlated: NPY, or a table of
    /// as many columns as rows
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sigma", "x_sigma", "batch_by", "memory_limit", "posterior",
          "to_model", "profile", "compare", "bootstrap", "jackknife", "workflow", "loss", "likelihood"])]
    pub(super) sigma_matrix: Option<PathBuf>,
    /// Sigma are known, not only up to a factor
    #[arg(long)]
    pub(super) absolute_sigma: bool,
    /// Standard deviations of a predictor, for a fit by orthogonal distances; may repeat
    #[arg(long, value_name = "NAME=COLUMN|NUMBER", conflicts_with_all = ["batch_by", "memory_limit", "posterior",
          "to_model", "profile", "compare", "bootstrap", "jackknife"])]
    pub(super) x_sigma: Vec<String>,
    /// Uses rows with LO <= COLUMN <= HI only
    #[arg(long, value_name = "COLUMN=LO:HI")]
    pub(super) range: Vec<String>,
    /// Rows with missing or infinite values
    #[arg(
        long,
        alias = "nan-policy",
        value_enum,
        default_value = "error",
        value_name = "POLICY"
    )]
    missing: MissingRows,
    /// Starting values: a=1,b=2 of some parameters, or 1,2 of all in their order
    #[arg(long, value_name = "NAME=X,...|X,...", allow_hyphen_values = true)]
    pub(super) p0: Vec<String>,
    /// Holds parameters: a=3
    #[arg(long, value_name = "NAME=X,...", allow_hyphen_values = true)]
    pub(super) fix: Vec<String>,
    /// Bounds; either side may be empty: b=0:
    #[arg(long, value_name = "NAME=LO:HI", allow_hyphen_values = true)]
    pub(super) bound: Vec<String>,
    /// Ties a parameter to others: 'c = 2*a'
    #[arg(long, value_name = "NAME=EXPR")]
    pub(super) tie: Vec<String>,
    /// An equation or inequality of parameters: 'a + b = 1', 'a < b', 'a*b < 2'; may repeat
    #[arg(long, value_name = "CONSTRAINT", conflicts_with_all = ["batch_by", "memory_limit"])]
    pub(super) constraint: Vec<String>,
    /// Another curve for the same rows, compared by AIC, AICc, BIC and F tests; may repeat. It takes the flags of
    /// its parameters
    #[arg(long, value_name = "EXPR|NAME", conflicts_with_all = ["batch_by", "memory_limit"])]
    pub(super) compare: Vec<String>,
    /// Weights by which the curves of --compare are averaged [default: aicc]
    #[arg(long, value_name = "CRITERION", requires = "compare", value_parser = named::<Criterion>())]
    pub(super) average: Option<Criterion>,
    /// Loss of a residual
    #[arg(long, value_name = "LOSS", default_value = "linear", value_parser = named::<Loss>())]
    pub(super) loss: Loss,
    /// Residual beyond which a robust loss bends: a number in units of sigma, or auto
    #[arg(long, value_name = "N|auto", default_value = "1")]
    pub(super) f_scale: String,
    /// Distribution of the response
    #[arg(long, value_enum, value_name = "NAME", default_value = "gaussian")]
    likelihood: Likelihood,
    /// Algorithm: auto, lm (damped steps), varpro (projection) or trf (a trust region inside bounds)
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = method)]
    pub(super) method: Method,
    /// Covariance of the parameters
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = named::<CovarianceKind>())]
    pub(super) covariance: CovarianceKind,
    /// Probability inside the intervals
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub(super) ci: f64,
    /// Profile-likelihood intervals, of these parameters or of all
    #[arg(long, value_name = "NAMES", num_args = 0..=1, default_missing_value = "")]
    pub(super) profile: Option<String>,
    /// Errors and intervals from so many fits of rows drawn with replacement
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000",
          conflicts_with_all = ["batch_by", "memory_limit", "jackknife"])]
    pub(super) bootstrap: Option<usize>,
    /// Errors from fits without each row in turn
    #[arg(long, conflicts_with_all = ["batch_by", "memory_limit"])]
    pub(super) jackknife: bool,
    /// Stops at this relative change of every parameter
    #[arg(long, value_name = "X", default_value_t = 1e-11)]
    pub(super) xtol: f64,
    /// Stops at this expected relative fall of the cost
    #[arg(long, value_name = "X", default_value_t = 1e-18)]
    pub(super) ftol: f64,
    /// Stops at this scaled gradient
    #[arg(long, value_name = "X", default_value_t = 1e-12)]
    pub(super) gtol: f64,
    /// Most evaluations of the residuals
    #[arg(long, value_name = "N", default_value_t = 5000)]
    pub(super) max_evals: usize,
    /// Most seconds
    #[arg(long, value_name = "SECONDS")]
    pub(super) time_limit: Option<f64>,
    /// Starts on a subsample of many rows
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = named::<Progressive>())]
    progressive: Progressive,
    /// Reads all rows once more at the end
    #[arg(long, value_name = "MODE", default_value = "fast", value_parser = named::<Finish>())]
    finish: Finish,
    /// Number of starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) multistart: usize,
    /// Searches the whole field, within bounds or ranges that follow from the data, by differential evolution
    #[arg(long)]
    pub(super) global: bool,
    /// How starts fill the bounds
    #[arg(long, value_name = "DESIGN", default_value = "sobol", value_parser = named::<Design>())]
    starts: Design,
    /// A fit for every group of rows that share a value of this column; with several files, `file`
    /// fits each of them
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["predict", "residuals", "profile"])]
    pub(super) batch_by: Option<String>,
    /// Leaves the columns in their files and reads them in pieces within this much memory
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["batch_by", "predict", "residuals",
          "profile", "to_model", "data_set", "range", "posterior"])]
    pub(super) memory_limit: Option<String>,
    /// Rows of a piece; any number gives the same answer [default: what the limit allows]
    #[arg(long, value_name = "N", requires = "memory_limit")]
    pub(super) chunk_rows: Option<usize>,
    /// Keeps decoded columns of text, Parquet and NetCDF for later runs, in this folder or among other
    /// things that are kept (FITZROY_CACHE_DIR)
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true,
          default_missing_value = "", requires = "memory_limit")]
    pub(super) cache: Option<PathBuf>,
    /// Seconds between checkpoints in --out, from which --resume goes on
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30.0,
        requires = "memory_limit"
    )]
    pub(super) checkpoint_every: f64,
    /// Writes the curve with its bands at the rows of this file to OUT/prediction.csv
    #[arg(long, value_name = "FILE", requires = "out")]
    pub(super) predict: Option<PathBuf>,
    /// Writes predictors, response, curve and residuals
    #[arg(long, value_name = "FILE")]
    pub(super) residuals: Option<PathBuf>,
    /// Writes the same curve as a model for `fitzroy sample`
    #[arg(long, value_name = "FILE.fz")]
    pub(super) to_model: Option<PathBuf>,
    /// Draws the data with the curve, its bands and the residuals, or many fits as small panels; may repeat
    #[arg(long, value_name = "FILE.svg|.png|.pdf")]
    pub(super) plot: Vec<PathBuf>,
    /// Axes of figures: auto goes by the data
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = named::<Axes>())]
    axes: Axes,
    /// Stands above figures
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    title: String,
    /// Samples the posterior of the same curve, from the fit on
    #[arg(long, conflicts_with = "batch_by")]
    pub(super) posterior: bool,
    /// A prior in place of a flat one: 'b ~ Normal(0.5, 0.2)'
    #[arg(long, value_name = "NAME ~ PRIOR")]
    pub(super) prior: Vec<String>,
    #[command(flatten)]
    pub(super) tables: TableFlags,
    #[command(flatten)]
    pub(super) chains: ChainFlags,
    #[command(flatten)]
    pub(super) output: crate::args::Output,
    #[command(flatten)]
    pub(super) common: Common,
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

/// Algorithms of other programs, and what is here in their place.
const ELSEWHERE: [(&str, &str); 7] = [
    ("dogbox", "use trf or lm, which know bounds, too"),
    ("leastsq", "use lm"),
    ("least_squares", "use trf"),
    ("multi-start", "use --multistart 20"),
    ("cmaes", "use --global with --bound"),
    ("differential_evolution", "use --global with --bound"),
    ("hybrid_streaming", "use --memory-limit 2GB"),
];

/// Reads `--method`.
pub(super) fn method(text: &str) -> std::result::Result<Method, String> {
    if let Some(method) = Method::named(text) {
        return Ok(method);
    }
    let advice = ELSEWHERE.iter().find(|(name, _)| *name == text);
    Err(advice
        .map_or("use auto, lm, varpro or trf", |(_, advice)| advice)
        .to_string())
}

impl CurveFitArgs {
    /// Who is told of the fit: standard output belongs to JSON, and remarks do not go with it.
    pub(super) fn face(&self) -> Arc<dyn Face> {
        let quiet = self.common.quiet || self.common.json;
        face::terminal(quiet, self.chains.style(&self.common))
    }

    /// The folder of results: that of an earlier fit which goes on, the one that was asked for, or a
    /// fresh one.
    pub(super) fn folder(&self) -> Result<Folder> {
        let face = self.face();
        match self.output.out.as_deref().filter(|_| self.chains.resume) {
            Some(out) => Folder::resume(Path::new(""), out, &face),
            None => self.output.open("curve-fit", &face),
        }
    }

    /// How figures show the fit.
    pub(super) fn view(&self) -> Result<View> {
        Ok(View {
            columns: columns(&self.x)?,
            axes: self.axes,
            title: self.title.clone(),
            ..View::default()
        })
    }

    /// Parameters whose profiles are asked for; no names stand for all.
    pub(super) fn profiled(&self) -> Option<Vec<String>> {
        let names = self.profile.as_ref()?.split(',').map(str::trim);
        Some(names.filter(|n| !n.is_empty()).map(String::from).collect())
    }

    /// Fits of parts of the rows that are asked for.
    pub(super) fn resampling(&self) -> Option<Resampling> {
        let bootstrap = self.bootstrap.map(Resampling::Bootstrap);
        bootstrap.or(self.jackknife.then_some(Resampling::Jackknife))
    }

    /// How a posterior is sampled.
    pub(super) fn sampling<'a>(
        &self,
        clock: &Clock,
        face: &'a Arc<dyn Face>,
    ) -> Result<Sampling<'a>> {
        let machine = self.common.threads()?;
        Ok(Sampling {
            settings: self.chains.settings(&self.common, machine)?,
            n_chains: self.chains.chains,
            chosen: self.common.request()?.choose()?,
            resume: self.chains.resume,
            report: !self.chains.no_report,
            publish_every_s: self.chains.publish_every,
            threads: machine.threads,
            face,
            clock: *clock,
        })
    }

    /// Refuses flags that need another one.
    pub(super) fn check(&self) -> Result<()> {
        let lacks = |given: bool, flag: &str, need: &str| match given {
            true => Err(Error::usage(format!("{flag} needs {need}"))),
            false => Ok(()),
        };
        let chains = &self.chains;
        let (sampled, large) = (self.posterior, self.memory_limit.is_some());
        let batch = self.batch_by.is_some();
        lacks(
            self.absolute_sigma
                && self.sigma.is_none()
                && self.sigma_matrix.is_none()
                && self.workflow.is_none(),
            "--absolute-sigma",
            "--sigma or --sigma-matrix: it says how these are meant",
        )?;
        lacks(
            chains.resume && !sampled && !large,
            "--resume",
            "--memory-limit or --posterior: other fits are done again sooner than gone on with",
        )?;
        lacks(
            chains.task.is_some() && !sampled && !batch,
            "--task",
            "--batch-by, whose fits are shared out, or --posterior, whose chains are",
        )?;
        lacks(
            chains.dry_run && !sampled,
            "--dry-run",
            "--posterior: it says what chains need",
        )
    }

    pub(super) fn options(&self, threads: usize) -> Result<Options> {
        let loss = if self.likelihood == Likelihood::Poisson {
            if self.loss != Loss::Linear {
                return Err(Error::usage(
                    "--likelihood poisson has its own loss; leave out --loss",
                ));
            }
            Loss::Poisson
        } else {
            self.loss
        };
        let f_scale = match self.f_scale.as_str() {
            "auto" => Scale::Auto,
            text => Scale::Fixed(text.parse().map_err(|_| {
                Error::usage(format!("--f-scale {text}: needs a positive number or auto"))
            })?),
        };
        Ok(Options {
            p0: match numbers("--p0", &self.p0)? {
                // They have names once the parameters are known.
                Some(_) => Vec::new(),
                None => values("--p0", &self.p0)?,
            },
            fixed: values("--fix", &self.fix)?,
            tied: texts("--tie", &self.tie)?,
            constraints: self.constraint.clone(),
            bounds: bounds("--bound", &self.bound)?,
            loss,
            f_scale,
            absolute_sigma: self.absolute_sigma,
            method: self.method,
            covariance: self.covariance,
            confidence: self.ci,
            limits: Limits {
                xtol: self.xtol,
                ftol: self.ftol,
                gtol: self.gtol,
                max_evaluations: self.max_evals,
            },
            progressive: self.progressive,
            finish: self.finish,
            multistart: self.multistart,
            global: self.global,
            restarts: Restarts::Always,
            starts: self.starts,
            seed: self.common.seed,
            threads,
            engine: self.chains.engine,
        })
    }

    /// `options` with the starting values that were given without names, in the order of `roles`.
    pub(super) fn in_order(&self, options: Options, roles: &Roles) -> Result<Options> {
        let Some(numbers) = numbers("--p0", &self.p0)? else {
            return Ok(options);
        };
        let names = roles.parameters.iter().map(|p| p.name.clone());
        let names: Vec<String> = names.collect();
        if names.len() != numbers.len() {
            return Err(Error::usage(format!(
                "--p0: {} numbers for {} parameters, which are in this order: {}",
                numbers.len(),
                names.len(),
                names.join(", ")
            )));
        }
        let p0: Vec<(String, f64)> = names.into_iter().zip(numbers).collect();
        if !(self.common.quiet || self.common.json) {
            let all: Vec<String> = p0.iter().map(|(name, x)| format!("{name}={x}")).collect();
            terminal::note(format_args!("--p0 in order: {}", all.join(", ")));
        }
        Ok(Options { p0, ..options })
    }

    pub(super) fn leaves_rows_out(&self) -> bool {
        matches!(self.missing, MissingRows::Drop)
    }

    pub(super) fn request(&self) -> Result<Request> {
        let sigma = match &self.sigma {
            None if self.likelihood == Likelihood::Poisson => SigmaOf::Unknown,
            None if self.sigma_matrix.is_some() => SigmaOf::Unknown,
            None => SigmaOf::ByName,
            Some(text) if text == "none" => SigmaOf::Unknown,
            Some(text) => match text.parse() {
                Ok(number) => SigmaOf::Number(number),
                Err(_) => SigmaOf::Column(text.clone()),
            },
        };
        Ok(Request {
            rename: columns(&self.x)?,
            y: self.y.clone(),
            sigma,
            beside: columns_of_x_sigma(self)?,
            others: compare::formulas(self)?,
            range: ranges("--range", &self.range)?,
            missing: match self.missing {
                MissingRows::Error => Missing::Error,
                MissingRows::Drop => Missing::Drop,
            },
            unchecked: false,
        })
    }

    /// Priors by name.
    pub(super) fn priors(&self) -> Result<Vec<(String, String)>> {
        let split = |text: &String| match text.split_once('~') {
            Some((name, prior)) if !name.trim().is_empty() && !prior.trim().is_empty() => {
                Ok((name.trim().to_string(), prior.trim().to_string()))
            }
            _ => Err(Error::usage(format!(
                "--prior {text}: is written --prior 'NAME ~ DISTRIBUTION(...)'"
            ))),
        };
        let priors: Vec<_> = self.prior.iter().map(split).collect::<Result<_>>()?;
        if !(priors.is_empty() || self.posterior || self.to_model.is_some()) {
            let message = "--prior needs --posterior or --to-model: least squares knows no priors";
            return Err(Error::usage(message));
        }
        Ok(priors)
    }
}
