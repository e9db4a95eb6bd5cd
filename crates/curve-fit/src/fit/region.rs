//! Confidence regions by likelihood: how χ² grows along each parameter, and where it has grown so much for each two,
//! with all other parameters fitted again.

use super::estimate::{Estimate, Kind};
use super::plan::Plan;
use super::predict::quantile;
use super::problem::Problem;
use crate::formula::Loss;
use crate::method::{Bounds, Limits, Moments, Next, Objective, lm};
use crate::pass::Table;
use fitzroy::Result;

/// Steps of a profile to each side, and how far they go in standard errors, times the quantile.
const STEPS: usize = 10;
const REACH: f64 = 1.35;
/// Directions in which a contour is looked for.
const DIRECTIONS: usize = 48;
/// Parameters whose pairs have contours, at most: there are ten pairs of five.
const MOST: usize = 5;
/// Rows that all fits of contours may read.
const MOST_READS: f64 = 2e9;
/// Fits towards one point of a contour, and how near it must be.
const TRIES: usize = 14;
const NEAR: f64 = 1e-4;
/// How much farther than the ellipse a contour may lie.
const FAR: f64 = 30.0;

/// χ² along one parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The parameter.
    pub name: String,
    /// Its values, ascending.
    pub x: Vec<f64>,
    /// (χ² − χ²_min)/s² there; NaN where no fit ended well.
    pub rise: Vec<f64>,
    /// The fitted value, and its standard error: the parabola that the covariance stands for.
    pub centre: [f64; 2],
}

/// Where χ² has risen by so much that the two parameters lie inside with this probability.
#[derive(Clone, Debug, PartialEq)]
pub struct Contour {
    /// The two parameters.
    pub names: [String; 2],
    /// The probability.
    pub level: f64,
    /// A closed line; NaN where χ² never rises so much.
    pub x: Vec<f64>,
    /// Upwards.
    pub y: Vec<f64>,
    /// The ellipse of the covariance in the same directions.
    pub ellipse: [Vec<f64>; 2],
}

/// Profiles of parameters, and contours of pairs of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Regions {
    /// Of each parameter.
    pub profiles: Vec<Profile>,
    /// Of each pair and level, the levels of a pair together.
    pub contours: Vec<Contour>,
}

/// Regions of the parameters `names`. Pairs have contours at `levels` unless that takes too many reads of the rows.
/// Parameters without a standard error have none.
///
/// # Errors
/// The data cannot be read.
pub fn regions(
    plan: &Plan,
    table: &dyn Table,
    estimate: &Estimate,
    names: &[String],
    levels: &[f64],
) -> Result<Regions> {
    let p = estimate.popt.len();
    let se = estimate.se();
    let usable = |k: &usize| {
        let name = &estimate.free[*k];
        names.contains(name)
            && se[*k].is_finite()
            && se[*k] > 0.0
            && estimate
                .parameter(name)
                .is_some_and(|f| f.kind == Kind::Free)
    };
    let mut out = Regions::default();
    // Fits here know bounds and ties alone.
    let curved = !plan.constrained.curved.is_empty();
    if !estimate.converged() || p == 0 || curved {
        return Ok(out);
    }
    let own: Vec<usize> = (0..p).filter(usable).collect();
    let mut held = Held::new(plan, table, estimate);
    for &k in &own {
        out.profiles.push(held.profile(k)?);
    }
    let few = &own[..own.len().min(MOST)];
    let pairs = few.len() * few.len().saturating_sub(1) / 2;
    let reads = (pairs * levels.len() * DIRECTIONS * 30) as f64;
    if reads * table.n_rows() as f64 <= MOST_READS {
        for (i, &a) in few.iter().enumerate() {
            for &b in &few[i + 1..] {
                for &level in levels {
                    out.contours.extend(held.contour([a, b], level)?);
                }
            }
        }
    }
    Ok(out)
}

/// The curve with some parameters held.
struct Held<'a> {
    problem: Problem<'a>,
    plan: &'a Plan,
    estimate: &'a Estimate,
    /// All parameters.
    theta: Vec<f64>,
    /// Those that are fitted.
    free: Vec<usize>,
    whole: Moments,
    /// s², and F at the minimum.
    unit: f64,
    least: f64,
}

impl<'a> Held<'a> {
    fn new(plan: &'a Plan, table: &'a dyn Table, estimate: &'a Estimate) -> Held<'a> {
        let known = estimate.absolute_sigma || estimate.loss == Loss::Poisson;
        let unit = if known { 1.0 } else { estimate.reduced_chi2() };
        Held {
            problem: Problem::new(&plan.programs, table, 1, estimate.f_scale),
            plan,
            estimate,
            theta: estimate.popt.clone(),
            free: Vec::new(),
            whole: Moments::new(estimate.popt.len()),
            unit,
            least: estimate.cost,
        }
    }

    /// √((χ² − χ²_min)/s²) with the parameters `at` held at `values` and the others fitted, from where they are;
    /// infinite where there is no such fit.
    fn rise(&mut self, at: &[usize], values: &[f64]) -> Result<f64> {
        for (&k, &value) in at.iter().zip(values) {
            self.theta[k] = value;
        }
        self.free = (0..self.theta.len()).filter(|k| !at.contains(k)).collect();
        let cost = if self.free.is_empty() {
            let theta = self.theta.clone();
            let mut whole = Moments::new(theta.len());
            self.problem.moments(&theta, &mut whole)?;
            whole.cost
        } else {
            let start: Vec<f64> = self.free.iter().map(|&k| self.theta[k]).collect();
            let of = |all: &[f64]| self.free.iter().map(|&k| all[k]).collect();
            let bounds = Bounds {
                lower: of(&self.plan.bounds.lower),
                upper: of(&self.plan.bounds.upper),
            };
            let limits = Limits {
                xtol: 1e-7,
                ftol: 1e-10,
                max_evaluations: 200,
                ..Limits::default()
            };
            let found = lm::minimise(self, &start, &bounds, &limits, &mut |_| Next::Continue)?;
            for (k, value) in self.free.clone().into_iter().zip(&found.theta) {
                self.theta[k] = *value;
            }
            found.moments.cost
        };
        let rise = 2.0 * (cost - self.least) / self.unit;
        Ok(if rise.is_finite() {
            rise.max(0.0).sqrt()
        } else {
            f64::INFINITY
        })
    }

    fn again(&mut self) {
        self.theta.clone_from(&self.estimate.popt);
    }

    fn profile(&mut self, k: usize) -> Result<Profile> {
        let se = self.estimate.se()[k];
        let (centre, step) = (
            self.estimate.popt[k],
            quantile(self.estimate) * REACH * se / STEPS as f64,
        );
        let mut sides = [Vec::new(), Vec::new()];
        for (side, sign) in sides.iter_mut().zip([-1.0, 1.0]) {
            self.again();
            for i in 1..=STEPS {
                let x = centre + sign * step * i as f64;
                if self.plan.bounds.clip(k, x) != x {
                    break;
                }
                side.push((x, self.rise(&[k], &[x])?.powi(2)));
            }
        }
        let [left, right] = sides;
        let all = left.into_iter().rev().chain([(centre, 0.0)]).chain(right);
        let finite = |rise: f64| if rise.is_finite() { rise } else { f64::NAN };
        let (x, rise) = all.map(|(x, rise)| (x, finite(rise))).unzip();
        Ok(Profile {
            name: self.estimate.free[k].clone(),
            x,
            rise,
            centre: [centre, se],
        })
    }

    /// The contour of two parameters; none where their covariance is no ellipse.
    fn contour(&mut self, pair: [usize; 2], level: f64) -> Result<Option<Contour>> {
        let p = self.estimate.popt.len();
        let v = |i: usize, j: usize| self.estimate.pcov[pair[i] * p + pair[j]];
        let first = v(0, 0).sqrt();
        let slope = v(0, 1) / first;
        let second = (v(1, 1) - slope * slope).sqrt();
        if !(first > 0.0 && second > 0.0 && second.is_finite()) {
            return Ok(None);
        }
        let radius = self.radius(level);
        let centre = pair.map(|k| self.estimate.popt[k]);
        let (mut line, mut ellipse) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        self.again();
        let mut guess = 1.0;
        for d in 0..=DIRECTIONS {
            let angle = 2.0 * std::f64::consts::PI * (d % DIRECTIONS) as f64 / DIRECTIONS as f64;
            let (c, s) = (angle.cos(), angle.sin());
            let along = [first * c, slope * c + second * s].map(|x| radius * x);
            let at = |share: f64| [0, 1].map(|i| centre[i] + share * along[i]);
            if d < DIRECTIONS {
                let share = self.crossing(pair, radius, &at, guess)?;
                if share.is_finite() {
                    guess = share;
                } else {
                    self.again();
                }
                let point = at(share);
                (0..2).for_each(|i| line[i].push(point[i]));
            } else {
                (0..2).for_each(|i| {
                    let begin = line[i][0];
                    line[i].push(begin);
                });
            }
            (0..2).for_each(|i| ellipse[i].push(at(1.0)[i]));
        }
        let [x, y] = line;
        Ok(Some(Contour {
            names: pair.map(|k| self.estimate.free[k].clone()),
            level,
            x,
            y,
            ellipse,
        }))
    }

    /// √(2 F) of two parameters: χ² rises by its square at the edge of the region.
    fn radius(&self, level: f64) -> f64 {
        let outside = 1.0 - level;
        let known = self.estimate.absolute_sigma || self.estimate.loss == Loss::Poisson;
        let dof = self.estimate.dof as f64;
        // The distribution functions of χ² and F with two degrees of freedom have inverses.
        let twice = match known {
            true => -2.0 * outside.ln(),
            false => dof * (outside.powf(-2.0 / dof) - 1.0),
        };
        twice.sqrt()
    }

    /// How far along `at` χ² has risen by radius²; the share at a bound if that comes first, NaN if it never does.
    fn crossing(
        &mut self,
        pair: [usize; 2],
        radius: f64,
        at: &dyn Fn(f64) -> [f64; 2],
        guess: f64,
    ) -> Result<f64> {
        let most = self.within(pair, at);
        let (mut inside, mut low) = (0.0, 0.0);
        let (mut outside, mut high) = (f64::NAN, f64::NAN);
        let mut share = guess.min(most);
        for _ in 0..TRIES {
            let rise = self.rise(&pair, &at(share))?;
            if (rise - radius).abs() <= NEAR * radius {
                return Ok(share);
            }
            if rise < radius {
                if share >= most {
                    return Ok(if most < FAR { most } else { f64::NAN });
                }
                (inside, low) = (share, rise);
            } else {
                (outside, high) = (share, rise);
            }
            share = match (outside.is_finite(), high.is_finite()) {
                (false, _) => (share * (radius / rise).clamp(1.05, 3.0)).min(most),
                (true, true) => {
                    let part = ((radius - low) / (high - low)).clamp(0.05, 0.95);
                    inside + part * (outside - inside)
                }
                (true, false) => 0.5 * (inside + outside),
            };
        }
        Ok(match outside.is_finite() {
            true => 0.5 * (inside + outside),
            false => f64::NAN,
        })
    }

    /// How far along `at` both parameters are within their bounds.
    fn within(&self, pair: [usize; 2], at: &dyn Fn(f64) -> [f64; 2]) -> f64 {
        let mut most = FAR;
        let (from, to) = (at(0.0), at(1.0));
        for (i, &k) in pair.iter().enumerate() {
            let step = to[i] - from[i];
            for bound in [self.plan.bounds.lower[k], self.plan.bounds.upper[k]] {
                let share = (bound - from[i]) / step;
                if share.is_finite() && share > 0.0 {
                    most = most.min(share);
                }
            }
        }
        most
    }
}

impl Objective for Held<'_> {
    fn moments(&mut self, free: &[f64], out: &mut Moments) -> Result<()> {
        for (&k, &value) in self.free.iter().zip(free) {
            self.theta[k] = value;
        }
        self.problem.moments(&self.theta, &mut self.whole)?;
        let p = self.theta.len();
        out.cost = self.whole.cost;
        for (i, &a) in self.free.iter().enumerate() {
            out.gradient[i] = self.whole.gradient[a];
            for (j, &b) in self.free.iter().enumerate() {
                out.normal[i * self.free.len() + j] = self.whole.normal[a * p + b];
            }
        }
        Ok(())
    }

    fn bend(&mut self, _: &[f64], _: &[f64], _: &mut [f64]) -> Result<bool> {
        Ok(false)
    }

    fn solve_linear(&mut self, _: &mut [f64], _: &mut Moments) {}
}
