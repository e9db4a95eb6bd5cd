//! Methods: least squares for anything that gives cost, gradient and normal matrix.

pub mod dense;
mod differences;
pub mod foreign;
mod linear;
pub mod lm;
pub(crate) mod optimality;
mod pace;
mod secant;
pub mod starts;
pub mod statistics;
pub mod trf;
pub mod varpro;

pub(crate) use linear::relax;

use fitzroy::Result;

/// Cost, gradient and normal matrix at one point: all that one pass gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    /// F = ½ C² Σ ρ((r/C)²); NaN or infinite where the formula has no value.
    pub cost: f64,
    /// g_a = Σ w r ∂r/∂θ_a.
    pub gradient: Vec<f64>,
    /// A_ab = Σ w ∂r/∂θ_a ∂r/∂θ_b, row by row.
    pub normal: Vec<f64>,
}

impl Moments {
    /// Room for `p` parameters.
    pub fn new(p: usize) -> Self {
        Moments {
            cost: f64::NAN,
            gradient: vec![0.0; p],
            normal: vec![0.0; p * p],
        }
    }

    /// True when every number is finite.
    pub fn is_finite(&self) -> bool {
        self.cost.is_finite()
            && self.gradient.iter().all(|x| x.is_finite())
            && self.normal.iter().all(|x| x.is_finite())
    }
}

/// What is minimised.
pub trait Objective {
    /// Cost, gradient and normal matrix at `theta`.
    ///
    /// # Errors
    /// The data cannot be read. Overflow is no error: the cost is then not finite.
    fn moments(&mut self, theta: &[f64], out: &mut Moments) -> Result<()>;

    /// Jᵀk, k the second derivative of the residuals along `direction`; false where that is not
    /// worth its pass.
    ///
    /// # Errors
    /// The data cannot be read.
    fn bend(&mut self, theta: &[f64], direction: &[f64], out: &mut [f64]) -> Result<bool>;

    /// Puts parameters that enter linearly where the cost is least, given the others, if the sums at
    /// `theta` tell those there.
    fn solve_linear(&mut self, theta: &mut [f64], here: &mut Moments);
}

/// How a fit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The steps became small: converged.
    SmallStep,
    /// The expected reduction became small: converged.
    SmallReduction,
    /// The gradient became small: converged.
    SmallGradient,
    /// The curve goes through all points: converged.
    ExactFit,
    /// Rounding hides any further reduction: converged.
    Rounding,
    /// The curve has a kink at the minimum, where slopes jump: converged.
    Kink,
    /// The limit of evaluations was reached.
    EvaluationLimit,
    /// The time limit was reached.
    TimeLimit,
    /// No step of any length reduced the cost.
    DampingLimit,
    /// Steps became tiny while the cost should still fall.
    NoProgress,
    /// The formula had no finite value.
    NonFinite,
    /// Stopped from outside.
    Interrupted,
    /// A fit of a batch with fewer rows than parameters.
    TooFewRows,
}

impl Status {
    const NAMES: [(Status, &'static str); 13] = [
        (Status::SmallStep, "small_step"),
        (Status::SmallReduction, "small_reduction"),
        (Status::SmallGradient, "small_gradient"),
        (Status::ExactFit, "exact_fit"),
        (Status::Rounding, "rounding"),
        (Status::Kink, "kink"),
        (Status::EvaluationLimit, "evaluation_limit"),
        (Status::TimeLimit, "time_limit"),
        (Status::DampingLimit, "damping_limit"),
        (Status::NoProgress, "no_progress"),
        (Status::NonFinite, "non_finite"),
        (Status::Interrupted, "interrupted"),
        (Status::TooFewRows, "too_few_rows"),
    ];

    /// True when the answer can be trusted to be a minimum; a limit never is.
    pub fn converged(self) -> bool {
        matches!(
            self,
            Status::SmallStep
                | Status::SmallReduction
                | Status::SmallGradient
                | Status::ExactFit
                | Status::Rounding
                | Status::Kink
        )
    }

    /// Its name in files.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(s, _)| *s == self);
        found.expect("every status has a name").1
    }
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Relative change of every parameter.
    pub xtol: f64,
    /// Expected reduction, relative to the cost.
    pub ftol: f64,
    /// Scaled gradient, relative to √(2F).
    pub gtol: f64,
    /// Most evaluations of the residuals.
    pub max_evaluations: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            xtol: 1e-11,
            ftol: 1e-18,
            gtol: 1e-12,
            max_evaluations: 5000,
        }
    }
}

/// What an observer sees after each step.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'p> {
    /// Steps tried.
    pub iteration: usize,
    /// Cost at the best point.
    pub cost: f64,
    /// The best point.
    pub theta: &'p [f64],
    /// Damping.
    pub lambda: f64,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Go on.
    Continue,
    /// The time is over.
    OutOfTime,
    /// Stop: somebody asked.
    Interrupt,
}

impl Progress<'_> {
    /// Tells `observer`; how the fit ends if that is to stop it.
    pub(crate) fn tell(&self, observer: &mut Observer<'_>) -> Option<Status> {
        match observer(self) {
            Next::Continue => None,
            Next::OutOfTime => Some(Status::TimeLimit),
            Next::Interrupt => Some(Status::Interrupted),
        }
    }
}

/// Watches a fit, and may stop it.
pub type Observer<'o> = dyn FnMut(&Progress<'_>) -> Next + 'o;

/// A box of lower and upper bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// Lower bounds; −∞ where there is none.
    pub lower: Vec<f64>,
    /// Upper bounds; ∞ where there is none.
    pub upper: Vec<f64>,
}

impl Bounds {
    /// No bounds on `p` parameters.
    pub fn none(p: usize) -> Self {
        Bounds {
            lower: vec![f64::NEG_INFINITY; p],
            upper: vec![f64::INFINITY; p],
        }
    }

    /// True when parameter `k` has a bound.
    pub fn binds(&self, k: usize) -> bool {
        self.lower[k] > f64::NEG_INFINITY || self.upper[k] < f64::INFINITY
    }

    /// True when any parameter has a bound.
    pub fn any(&self) -> bool {
        (0..self.lower.len()).any(|k| self.binds(k))
    }

    /// True when `x` is at or beyond a bound of parameter `k`.
    pub fn touches(&self, k: usize, x: f64) -> bool {
        x <= self.lower[k] || x >= self.upper[k]
    }

    /// True when parameter `k` is at a bound, and the gradient pushes outward.
    pub(crate) fn holds(&self, k: usize, theta: f64, gradient: f64) -> bool {
        theta <= self.lower[k] && gradient > 0.0 || theta >= self.upper[k] && gradient < 0.0
    }

    /// The nearest point inside.
    pub fn clip(&self, k: usize, x: f64) -> f64 {
        x.max(self.lower[k]).min(self.upper[k])
    }

    /// The nearest point inside; a bound itself within rounding of it.
    fn reach(&self, k: usize, x: f64) -> f64 {
        let beside = |b: f64| b.is_finite() && (x - b).abs() <= 4.0 * f64::EPSILON * b.abs();
        match [self.lower[k], self.upper[k]]
            .into_iter()
            .find(|&b| beside(b))
        {
            Some(bound) => bound,
            None => self.clip(k, x),
        }
    }
}

/// A method: minimises from a start within bounds.
pub type Minimise =
    fn(&mut dyn Objective, &[f64], &Bounds, &Limits, &mut Observer<'_>) -> Result<Minimum>;

/// A finished minimisation.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// The best point.
    pub theta: Vec<f64>,
    /// Cost, gradient and normal matrix there.
    pub moments: Moments,
    /// How it ended.
    pub status: Status,
    /// Evaluations of the residuals.
    pub evaluations: usize,
    /// Relative fall of the cost in the last step, for advice when a limit was hit.
    pub last_fall: f64,
}

impl Minimum {
    /// A minimum that was reached without steps whose falls say anything.
    pub(crate) fn reached(
        theta: Vec<f64>,
        moments: Moments,
        status: Status,
        evaluations: usize,
    ) -> Self {
        Minimum {
            theta,
            moments,
            status,
            evaluations,
            last_fall: 0.0,
        }
    }
}

/// The largest change from `theta` to `trial` of a parameter relative to its size; near 0, relative
/// to that of all, in the units of `scale`.
fn change(theta: &[f64], trial: &[f64], scale: &[f64]) -> f64 {
    let sizes = theta.iter().zip(scale).map(|(x, d)| (d * x).powi(2));
    let length = sizes.sum::<f64>().sqrt();
    let mut largest: f64 = 0.0;
    for ((x, y), d) in theta.iter().zip(trial).zip(scale) {
        let delta = (y - x).abs();
        let own = x.abs();
        // Near 0 a parameter has no size of its own.
        let near_zero = own * d <= 1e-8 * length;
        let relative = if near_zero {
            delta * d / length
        } else {
            delta / own
        };
        largest = largest.max(if delta == 0.0 { 0.0 } else { relative });
    }
    largest
}
