//! What a fit is asked for.

use crate::formula::Loss;
use crate::method::starts::Design;
use crate::method::{Limits, Minimise, lm, trf};
use fitzroy::Named;
use fitzroy_device::cpu::Engine;

/// How the scale C of a robust loss is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// This number, in units of r.
    Fixed(f64),
    /// k·1.4826·MAD of the residuals of a robust fit; k = 1.345, 2.385 or 4.685 for huber (and
    /// soft_l1), cauchy (and arctan) and tukey: 95 % efficient for normal errors.
    Auto,
}

/// Which algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Levenberg and Marquardt's, and variable projection where that did not go smoothly.
    #[default]
    Auto,
    /// Levenberg and Marquardt's alone.
    Lm,
    /// Variable projection alone.
    Varpro,
    /// The trust region reflective method of Branch, Coleman and Li alone.
    Trf,
}

impl Named for Method {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Method::Auto),
        ("lm", Method::Lm),
        ("varpro", Method::Varpro),
        ("trf", Method::Trf),
    ];
}

impl Method {
    /// What makes its steps where it does not project.
    pub(crate) fn steps(self) -> Minimise {
        match self {
            Method::Trf => trf::minimise,
            _ => lm::minimise,
        }
    }
}

/// Which covariance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CovarianceKind {
    /// Classic for linear loss, the sandwich for a robust one, Fisher's for counts.
    #[default]
    Auto,
    /// s² (JᵀJ)⁻¹, or (JᵀJ)⁻¹ for absolute sigma.
    Classic,
    /// n/(n−p) H⁻¹BH⁻¹ (Huber 1967).
    Sandwich,
    /// (JᵀJ)⁻¹ (Σ r²jjᵀ) (JᵀJ)⁻¹ (White 1980).
    Hc0,
    /// As HC0 with r²/(1−h)² (MacKinnon and White 1985).
    Hc3,
    /// As classic, of all parameters, as if there were no bounds: what SciPy's `curve_fit` gives for
    /// a fit that ended at one.
    Boundless,
}

impl Named for CovarianceKind {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", CovarianceKind::Auto),
        ("classic", CovarianceKind::Classic),
        ("sandwich", CovarianceKind::Sandwich),
        ("hc0", CovarianceKind::Hc0),
        ("hc3", CovarianceKind::Hc3),
        ("boundless", CovarianceKind::Boundless),
    ];
}

/// Whether a fit of many rows starts on a few of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progressive {
    /// Above 50,000 rows.
    #[default]
    Auto,
    /// Whenever there are enough rows for a subsample.
    On,
    /// Never.
    Off,
}

impl Named for Progressive {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Progressive::Auto),
        ("on", Progressive::On),
        ("off", Progressive::Off),
    ];
}

/// Whether the rows are read once more at the final parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finish {
    /// No: the last step is below 1e-5 and errors are of the point before it, right to 1e-5.
    #[default]
    Fast,
    /// Yes.
    Exact,
}

impl Named for Finish {
    const NAMES: &'static [(&'static str, Self)] =
        &[("fast", Finish::Fast), ("exact", Finish::Exact)];
}

/// When a fit that does not describe its rows is searched for once more, with other starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restarts {
    /// Where no starting values were given, and where those that were led to no minimum.
    #[default]
    Unstarted,
    /// Wherever a curve does not describe its rows.
    Always,
    /// Never.
    Never,
}

/// Everything a fit may be asked for; the default suits least squares.
#[derive(Clone, Debug)]
pub struct Options {
    /// Starting values by name; the others are found.
    pub p0: Vec<(String, f64)>,
    /// Parameters held at a number.
    pub fixed: Vec<(String, f64)>,
    /// Parameters given by a formula of others.
    pub tied: Vec<(String, String)>,
    /// Equations and inequalities between parameters: `a + b = 1`, `a*b < 2`.
    pub constraints: Vec<String>,
    /// Name, lower and upper bound.
    pub bounds: Vec<(String, f64, f64)>,
    /// What is minimised.
    pub loss: Loss,
    /// Scale of a robust loss.
    pub f_scale: Scale,
    /// Sigma are standard deviations, not weights: errors are not scaled by χ²/dof.
    pub absolute_sigma: bool,
    /// Which algorithm.
    pub method: Method,
    /// Which covariance.
    pub covariance: CovarianceKind,
    /// Probability inside the intervals.
    pub confidence: f64,
    /// When to stop.
    pub limits: Limits,
    /// Whether to start on a subsample.
    pub progressive: Progressive,
    /// Whether to read once more at the end.
    pub finish: Finish,
    /// Number of starts; 1 is none but the given or automatic one.
    pub multistart: usize,
    /// Whether the field within bounds, or automatic ranges, is searched by differential evolution for
    /// further starts.
    pub global: bool,
    /// When other starts are looked for after a fit that does not describe its rows.
    pub restarts: Restarts,
    /// How starts fill the bounds.
    pub starts: Design,
    /// Seed of starts and of the subsample.
    pub seed: u64,
    /// Threads of a pass.
    pub threads: usize,
    /// What runs the formula over rows; all give the same numbers.
    pub engine: Engine,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            p0: Vec::new(),
            fixed: Vec::new(),
            tied: Vec::new(),
            constraints: Vec::new(),
            bounds: Vec::new(),
            loss: Loss::Linear,
            f_scale: Scale::Fixed(1.0),
            absolute_sigma: false,
            method: Method::Auto,
            covariance: CovarianceKind::Auto,
            confidence: 0.95,
            limits: Limits::default(),
            progressive: Progressive::Auto,
            finish: Finish::Fast,
            multistart: 1,
            global: false,
            restarts: Restarts::Unstarted,
            starts: Design::Sobol,
            seed: 42,
            threads: 1,
            engine: Engine::Auto,
        }
    }
}

/// Pairs of names and values, for `p0` and `fixed`.
pub fn values<const N: usize>(pairs: [(&str, f64); N]) -> Vec<(String, f64)> {
    pairs
        .iter()
        .map(|(name, x)| ((*name).to_string(), *x))
        .collect()
}
