//! Levenberg and Marquardt's method in scaled variables, with bounds and geodesic acceleration.
//!
//! D = diag(d), d_a the running maximum of √A_aa; Â = D⁻¹AD⁻¹, ĝ = D⁻¹g. A step solves
//! (Â + λI) v = −ĝ among the parameters that no bound holds, and is clipped to the box. λ follows
//! Nielsen's rule with 1/10 in place of 1/3. References: Marquardt 1963; Moré 1978; Nielsen 1999;
//! Transtrum and Sethna, arXiv:1201.5885; Dennis, Gay and Welsch 1981.

use super::dense::{cholesky, cholesky_solve};
use super::pace::Pace;
use super::secant::Secant;
use super::{Bounds, Limits, Minimum, Moments, Objective, Observer, Progress, Status, change};
use fitzroy::Result;

/// First damping.
const LAMBDA: f64 = 1e-3;
/// Damping beyond which no step helps.
const LAMBDA_MAX: f64 = 1e12;
/// Least and largest factors of the damping.
const LAMBDA_MIN: f64 = 1e-20;
const LAMBDA_RESTART: f64 = 1e-14;
/// Damping beyond which steps are short of their own.
const LAMBDA_SHORT: f64 = 1.0;
/// A step that reduces the cost by less than this part of what was expected is refused.
const ACCEPT: f64 = 1e-4;
/// Geodesic acceleration must be shorter than this part of the step, halved.
const GEODESIC: f64 = 0.75;
/// Least part of a step to be taken because the whole bends too much.
const LEAST_PART: f64 = 0.2;
/// A step whose reduction differs from the expected one by less than this part was straight.
const STRAIGHT: f64 = 0.1;
/// A step that is to change parameters by less than this part may be taken blindly.
const LAST: f64 = 1e-8;
/// And is to lower the cost by no more than this part.
const FAINT: f64 = 1e-6;
/// Rejected steps in a row after which a clipped problem is given up.
const MOST_REJECTED: usize = 60;

/// A minimisation by damped steps, and its memory.
struct Descent<'a> {
    objective: &'a mut dyn Objective,
    bounds: &'a Bounds,
    limits: &'a Limits,
    p: usize,
    theta: Vec<f64>,
    here: Moments,
    there: Moments,
    scale: Vec<f64>,
    lambda: f64,
    nu: f64,
    evaluations: usize,
    held: Vec<bool>,
    factor: Vec<f64>,
    free: Vec<usize>,
    solved: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    bend: Vec<f64>,
    last_fall: f64,
    /// False where second derivatives are not worth their pass.
    geodesic: bool,
    /// The last step gave what was expected of it.
    straight: bool,
    /// What is known of Σ r ∂²r, by how the gradient changed along short steps.
    secant: Secant,
}

/// A trial step.
struct Trial {
    /// Expected reduction of the cost.
    predicted: f64,
    /// Largest change of a parameter, relative to its size.
    change: f64,
    /// True when the acceleration was too long to be trusted.
    refused: bool,
}

/// What the steps of a descent have been.
#[derive(Default)]
struct Course {
    iteration: usize,
    /// Steps in a row that changed little, and what of them was little.
    small: usize,
    last: Option<Status>,
    /// Steps in a row that were not accepted.
    rejected: usize,
    pace: Pace,
}

/// What a step is solved for.
enum Side {
    Gradient,
    Bend,
}

/// Minimises from `start`, which lies within `bounds`.
///
/// # Errors
/// The data cannot be read.
pub fn minimise(
    objective: &mut dyn Objective,
    start: &[f64],
    bounds: &Bounds,
    limits: &Limits,
    observer: &mut Observer<'_>,
) -> Result<Minimum> {
    let p = start.len();
    let mut descent = Descent {
        objective,
        bounds,
        limits,
        p,
        theta: start.to_vec(),
        here: Moments::new(p),
        there: Moments::new(p),
        scale: vec![0.0; p],
        lambda: LAMBDA,
        nu: 2.0,
        evaluations: 0,
        held: vec![false; p],
        factor: vec![0.0; p * p],
        free: Vec::with_capacity(p),
        solved: vec![0.0; p],
        step: vec![0.0; p],
        trial: vec![0.0; p],
        bend: vec![0.0; p],
        last_fall: 1.0,
        geodesic: true,
        straight: false,
        secant: Secant::new(p),
    };
    let status = descent.run(observer)?;
    Ok(Minimum {
        theta: descent.theta,
        moments: descent.here,
        status,
        evaluations: descent.evaluations,
        last_fall: descent.last_fall,
    })
}

/// What damping is multiplied by after a step that gave `ratio` times what was expected of it, or that
/// was at the `level` of rounding (Nielsen 1999).
pub(super) fn relaxed(ratio: f64, level: bool) -> f64 {
    let q = ratio.min(1.0);
    if level {
        0.1
    } else {
        (1.0 - (2.0 * q - 1.0).powi(3)).max(0.1)
    }
}

impl Descent<'_> {
    fn run(&mut self, observer: &mut Observer<'_>) -> Result<Status> {
        self.objective.moments(&self.theta, &mut self.here)?;
        self.evaluations = 1;
        if !self.here.is_finite() {
            return Ok(Status::NonFinite);
        }
        self.solve_linear();
        let mut course = Course::default();
        loop {
            if self.here.cost == 0.0 {
                return Ok(Status::ExactFit);
            }
            self.rescale();
            self.hold();
            if self.free.is_empty() || self.gradient_is_small() {
                course.small += 1;
                course.last = Some(Status::SmallGradient);
                if course.small >= 2 || self.free.is_empty() {
                    return Ok(Status::SmallGradient);
                }
            }
            let report = Progress {
                iteration: course.iteration,
                cost: self.here.cost,
                theta: &self.theta,
                lambda: self.lambda,
            };
            if let Some(status) = report.tell(observer) {
                return Ok(status);
            }
            if self.evaluations >= self.limits.max_evaluations {
                return Ok(Status::EvaluationLimit);
            }
            course.iteration += 1;
            let trial = self.propose()?;
            let ended = match !trial.refused && self.try_step(&trial)? {
                true => self.after_success(&trial, &mut course),
                false => self.after_failure(&trial, &mut course),
            };
            if let Some(status) = ended {
                return Ok(status);
            }
        }
    }

    /// How the descent ends after a step that was accepted, if it does.
    fn after_success(&mut self, trial: &Trial, course: &mut Course) -> Option<Status> {
        course.rejected = 0;
        // A step that damping keeps short says nothing about how far the minimum is.
        let step_small = trial.change <= self.limits.xtol && self.lambda <= LAMBDA_SHORT;
        let gain_small = trial.predicted <= self.limits.ftol * self.here.cost;
        if step_small || gain_small {
            course.small += 1;
            course.last = Some(if step_small {
                Status::SmallStep
            } else {
                Status::SmallReduction
            });
        } else if course.last != Some(Status::SmallGradient) || !self.gradient_is_small() {
            course.small = 0;
        }
        if course.small >= 2 && course.last.is_some() {
            return course.last;
        }
        let next = match self.lambda <= LAMBDA_SHORT {
            true => course.pace.next(trial.change),
            false => f64::INFINITY,
        };
        // Where the secant part is known, ratios shrink as well.
        let gain = if self.secant.known { Pace::STEADY } else { 1.0 };
        let after_next = gain * next * (next / trial.change);
        let last = next <= LAST && after_next <= self.limits.xtol && self.straight;
        let done = next <= self.limits.xtol || last && self.step_last();
        done.then_some(Status::SmallStep)
    }

    /// How the descent ends after a step that was not accepted, if it does.
    fn after_failure(&self, trial: &Trial, course: &mut Course) -> Option<Status> {
        course.rejected += 1;
        course.pace = Pace::default();
        if self.is_exact() {
            return Some(Status::ExactFit);
        }
        if trial.change < 1e-14 && !trial.refused {
            let hidden = trial.predicted <= 1e-12 * self.here.cost;
            return Some(if hidden {
                Status::Rounding
            } else {
                Status::NoProgress
            });
        }
        let over = self.lambda > LAMBDA_MAX || course.rejected > MOST_REJECTED;
        over.then_some(Status::DampingLimit)
    }

    /// True when the residuals are the rounding of the curve itself.
    fn is_exact(&self) -> bool {
        let size: f64 = self
            .scale
            .iter()
            .zip(&self.theta)
            .map(|(d, x)| (d * x).powi(2))
            .sum();
        2.0 * self.here.cost <= 1e-29 * size
    }

    /// d_a = running maximum of √A_aa, 1 where it is still 0.
    fn rescale(&mut self) {
        for k in 0..self.p {
            let size = self.here.normal[k * self.p + k].sqrt();
            let before = if self.scale[k] == 1.0 {
                0.0
            } else {
                self.scale[k]
            };
            let d = size.max(before);
            self.scale[k] = if d > 0.0 { d } else { 1.0 };
        }
    }

    /// Which parameters a bound holds, and which are free.
    fn hold(&mut self) {
        let (bounds, theta, gradient) = (self.bounds, &self.theta, &self.here.gradient);
        self.free.clear();
        for k in 0..self.p {
            self.held[k] = bounds.holds(k, theta[k], gradient[k]);
            if !self.held[k] {
                self.free.push(k);
            }
        }
    }

    fn gradient_is_small(&self) -> bool {
        let root = (2.0 * self.here.cost).sqrt();
        let small =
            |&k: &usize| (self.here.gradient[k] / self.scale[k]).abs() <= self.limits.gtol * root;
        self.free.iter().all(small)
    }

    /// Factors Â + λI of the free parameters; raises λ until it is positive definite.
    fn factorise(&mut self) {
        let m = self.free.len();
        loop {
            for (i, &a) in self.free.iter().enumerate() {
                for (j, &b) in self.free[..=i].iter().enumerate() {
                    let at = a * self.p + b;
                    let x = self.here.normal[at] + self.secant.part[at];
                    self.factor[i * m + j] = x / (self.scale[a] * self.scale[b]);
                }
                self.factor[i * m + i] += self.lambda;
            }
            if cholesky(&mut self.factor[..m * m], m) || self.lambda > LAMBDA_MAX {
                return;
            }
            if self.secant.known {
                self.secant.forget();
                continue;
            }
            self.lambda = (10.0 * self.lambda).max(LAMBDA_RESTART);
        }
    }

    /// −(Â + λI)⁻¹ of a scaled side, among the free parameters.
    fn solve(&mut self, side: Side) -> &[f64] {
        let m = self.free.len();
        let from = match side {
            Side::Bend => &self.bend,
            Side::Gradient => &self.here.gradient,
        };
        for (to, &k) in self.solved.iter_mut().zip(&self.free) {
            *to = -from[k] / self.scale[k];
        }
        cholesky_solve(&self.factor[..m * m], m, &mut self.solved[..m]);
        &self.solved[..m]
    }

    /// Takes a last step without looking at where it leads: what it leaves is below what was asked for,
    /// and sums change by less than anybody sees; the gradient is what the step should leave of it. False where a bound is in the way, or the cost still falls.
    fn step_last(&mut self) -> bool {
        self.rescale();
        self.hold();
        self.factorise();
        self.step.fill(0.0);
        let vv: f64 = self.solve(Side::Gradient).iter().map(|x| x * x).sum();
        for (i, &k) in self.free.iter().enumerate() {
            self.step[k] = self.solved[i] / self.scale[k];
        }
        let steps = self.here.gradient.iter().zip(&self.step);
        let along: f64 = steps.map(|(g, s)| g * s).sum();
        let fall = 0.5 * (self.lambda * vv - along);
        // Where much of the cost is still to fall, as in exact data, rounding would be all that is left.
        let faint = fall.is_finite() && fall <= FAINT * self.here.cost;
        let free = faint && self.free.len() == self.p && !self.clip();
        if free {
            self.here.cost -= fall;
            for k in 0..self.p {
                let row = k * self.p..(k + 1) * self.p;
                let curved = self.here.normal[row.clone()].iter();
                let curved = curved.zip(&self.secant.part[row]).zip(&self.step);
                self.here.gradient[k] += curved.map(|((a, b), s)| (a + b) * s).sum::<f64>();
            }
            std::mem::swap(&mut self.theta, &mut self.trial);
        }
        free
    }

    /// The next step, into `self.step` and `self.trial`.
    fn propose(&mut self) -> Result<Trial> {
        self.factorise();
        let p = self.p;
        self.step.fill(0.0);
        let vv: f64 = self.solve(Side::Gradient).iter().map(|x| x * x).sum();
        for (i, &k) in self.free.iter().enumerate() {
            self.step[k] = self.solved[i] / self.scale[k];
        }
        let gv: f64 = (0..p).map(|k| self.here.gradient[k] * self.step[k]).sum();
        let mut predicted = 0.5 * (self.lambda * vv - gv);
        let mut refused = false;
        // Where steps give what is expected of them, their bend would change little.
        if self.geodesic && !self.straight {
            // `step` is the direction; `bend` becomes Jᵀk, then the acceleration.
            let asked = self
                .objective
                .bend(&self.theta, &self.step, &mut self.bend)?;
            self.geodesic = asked;
            if asked {
                let aa: f64 = self.solve(Side::Bend).iter().map(|x| 0.25 * x * x).sum();
                // A part t of the step bends by t² of its bend.
                let part = GEODESIC * vv.sqrt() / (2.0 * aa.sqrt());
                if part < LEAST_PART {
                    refused = true;
                } else if part < 1.0 {
                    let curved = -gv - self.lambda * vv;
                    predicted = -part * gv - 0.5 * part * part * curved;
                    self.turn(part);
                } else if aa.is_finite() {
                    self.turn(1.0);
                }
            }
        }
        if refused {
            self.reject();
        }
        let clipped = self.clip();
        if clipped {
            self.pin();
            predicted = self.decrease();
            if predicted <= 0.0 {
                self.cut();
                predicted = self.decrease();
            }
        }
        // What is held does not move.
        let change = change(&self.theta, &self.trial, &self.scale);
        Ok(Trial {
            predicted,
            change,
            refused,
        })
    }

    /// A part of the step, and of its bend.
    fn turn(&mut self, part: f64) {
        self.step.iter_mut().for_each(|s| *s *= part);
        for (i, &k) in self.free.iter().enumerate() {
            self.step[k] += 0.5 * part * part * self.solved[i] / self.scale[k];
        }
    }

    /// The trial point; true when a bound cut the step.
    fn clip(&mut self) -> bool {
        let mut cut = false;
        for k in 0..self.p {
            let x = self.theta[k] + self.step[k];
            self.trial[k] = self.bounds.reach(k, x);
            if self.trial[k] != x {
                cut = true;
                self.step[k] = self.trial[k] - self.theta[k];
            }
        }
        cut
    }

    /// Solves once more for the parameters that no bound cut, given what the others do: a step that is only
    /// clipped keeps what was to make up for the part that is lost.
    fn pin(&mut self) {
        let (p, bounds) = (self.p, self.bounds);
        let mut own: Vec<usize> = self.free.clone();
        loop {
            let before = own.len();
            own.retain(|&k| !bounds.touches(k, self.trial[k]));
            let m = own.len();
            if m == before || m == 0 {
                return;
            }
            for (i, &a) in own.iter().enumerate() {
                let mut side = self.here.gradient[a];
                for k in (0..p).filter(|k| !own.contains(k)) {
                    side += self.here.normal[a * p + k] * self.step[k];
                }
                self.solved[i] = -side / self.scale[a];
                for (j, &b) in own[..=i].iter().enumerate() {
                    let x = self.here.normal[a * p + b];
                    self.factor[i * m + j] = x / (self.scale[a] * self.scale[b]);
                }
                self.factor[i * m + i] += self.lambda;
            }
            if !cholesky(&mut self.factor[..m * m], m) {
                return;
            }
            cholesky_solve(&self.factor[..m * m], m, &mut self.solved[..m]);
            for (i, &k) in own.iter().enumerate() {
                self.step[k] = self.solved[i] / self.scale[k];
            }
            self.clip();
        }
    }

    /// −gᵀs − ½ sᵀAs.
    fn decrease(&self) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.p {
            let row = &self.here.normal[i * self.p..(i + 1) * self.p];
            let curved: f64 = row.iter().zip(&self.step).map(|(a, s)| a * s).sum();
            sum -= self.step[i] * (self.here.gradient[i] + 0.5 * curved);
        }
        sum
    }

    /// A step along the scaled gradient up to the first bound: the clipped step went uphill.
    fn cut(&mut self) {
        let mut far = f64::INFINITY;
        for k in 0..self.p {
            let s = if self.held[k] {
                0.0
            } else {
                -self.here.gradient[k] / (self.scale[k] * self.scale[k])
            };
            self.step[k] = s;
            let room = if s > 0.0 {
                (self.bounds.upper[k] - self.theta[k]) / s
            } else if s < 0.0 {
                (self.bounds.lower[k] - self.theta[k]) / s
            } else {
                f64::INFINITY
            };
            far = far.min(room);
        }
        let down: f64 = -self
            .step
            .iter()
            .zip(&self.here.gradient)
            .map(|(s, g)| s * g)
            .sum::<f64>();
        let mut curved = 0.0;
        for i in 0..self.p {
            for j in 0..self.p {
                curved += self.step[i] * self.here.normal[i * self.p + j] * self.step[j];
            }
        }
        let best = if curved > 0.0 { down / curved } else { far };
        // Damping does not stop short of a bound: what lies just beside one is free, and no step is small
        // because the way to it is.
        let t = (best / (1.0 + self.lambda)).min(far);
        self.step.iter_mut().for_each(|s| *s *= t);
        self.clip();
    }

    /// Evaluates the trial point; true when it is the new best.
    fn try_step(&mut self, trial: &Trial) -> Result<bool> {
        self.objective.moments(&self.trial, &mut self.there)?;
        self.evaluations += 1;
        let (before, after) = (self.here.cost, self.there.cost);
        let ratio = (before - after) / trial.predicted;
        let level = trial.predicted <= 1e-14 * before && after <= before * (1.0 + 1e-13);
        let better = self.there.is_finite() && (ratio > ACCEPT && trial.predicted > 0.0 || level);
        if !better {
            self.reject();
            return Ok(false);
        }
        self.last_fall = (before - after) / before;
        std::mem::swap(&mut self.here, &mut self.there);
        std::mem::swap(&mut self.theta, &mut self.trial);
        self.lambda = (self.lambda * relaxed(ratio, level)).max(LAMBDA_MIN);
        self.nu = 2.0;
        self.straight = level || (ratio - 1.0).abs() < STRAIGHT;
        // After the swaps `trial` and `there` are where the step began.
        let moved = self.theta.iter().zip(&self.trial);
        (self.secant.step.iter_mut().zip(moved)).for_each(|(s, (new, old))| *s = new - old);
        let step = std::mem::take(&mut self.secant.step);
        let change = if self.straight {
            trial.change
        } else {
            f64::INFINITY
        };
        let (before, after) = (&self.there, &self.here);
        self.secant.learn(change, &step, before, after, &self.scale);
        self.secant.step = step;
        self.solve_linear();
        Ok(true)
    }

    /// Takes what parameters that enter linearly give for nothing.
    fn solve_linear(&mut self) {
        if !self.bounds.any() {
            self.objective.solve_linear(&mut self.theta, &mut self.here);
        }
    }

    fn reject(&mut self) {
        self.lambda = (self.lambda * self.nu).max(LAMBDA_RESTART);
        self.nu = (2.0 * self.nu).min(64.0);
        self.straight = false;
        self.secant.forget();
    }
}
