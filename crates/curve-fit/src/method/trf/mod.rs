//! The trust region reflective method, another way to the same minima, for `--method trf`.
//!
//! In variables θ̂ = θ/d, d_k = √v_k/s_k, v the scaled distance to the bound that descent leads to (1
//! where there is none) and s_k = √A_kk at its largest so far, a step minimises ĝᵀp + ½ pᵀB̂p within
//! |p| ≤ Δ, where ĝ = Dg and B̂ = DAD + diag(g ∂v/s). Where it would leave the box, the best of
//! three is taken: shortened, turned back at the first bound, or along the gradient. Iterates stay
//! strictly inside; parameters that end beside a bound are put on it, and the others go on. References:
//! Branch, Coleman and Li 1999; Moré 1978 for the radius. SciPy's `trf` is the same method with the
//! residuals in place of normal equations.

mod hatted;

use super::{Bounds, Limits, Minimum, Moments, Objective, Observer, Progress, Status, change};
use fitzroy::Result;
use hatted::{Hatted, norm, to_radius};

/// Steps shorter than this part of the way to a bound are strictly inside.
const INSIDE: f64 = 0.995;
/// A start on a bound moves this far inside, relative to its size.
const NUDGE: f64 = 1e-10;
/// Distance from a bound, relative to its size, from where a parameter is put on it.
const BESIDE: f64 = 1e-5;
/// Rejected steps in a row after which a problem is given up.
const MOST_REJECTED: usize = 60;

struct Descent<'a> {
    objective: &'a mut dyn Objective,
    bounds: &'a Bounds,
    limits: &'a Limits,
    theta: Vec<f64>,
    here: Moments,
    there: Moments,
    /// s_k.
    scale: Vec<f64>,
    /// Parameters that were put on a bound, and those that left it again.
    held: Vec<bool>,
    released: Vec<bool>,
    radius: f64,
    alpha: f64,
    evaluations: usize,
    last_fall: f64,
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
        theta: (0..p).map(|k| nudged(bounds, k, start[k])).collect(),
        here: Moments::new(p),
        there: Moments::new(p),
        scale: vec![0.0; p],
        held: vec![false; p],
        released: vec![false; p],
        radius: 0.0,
        alpha: 0.0,
        evaluations: 0,
        last_fall: 1.0,
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

/// `x` strictly inside the bounds of parameter `k`.
fn nudged(bounds: &Bounds, k: usize, x: f64) -> f64 {
    let (low, high) = (bounds.lower[k], bounds.upper[k]);
    let inside = if x <= low {
        low + NUDGE * low.abs().max(1.0)
    } else if x >= high {
        high - NUDGE * high.abs().max(1.0)
    } else {
        x
    };
    match inside > low && inside < high {
        true => inside,
        false => 0.5 * (low + high),
    }
}

impl Descent<'_> {
    fn run(&mut self, observer: &mut Observer<'_>) -> Result<Status> {
        self.objective.moments(&self.theta, &mut self.here)?;
        self.evaluations = 1;
        if !self.here.is_finite() {
            return Ok(Status::NonFinite);
        }
        let mut iteration = 0;
        loop {
            let status = self.descend(&mut iteration, observer)?;
            if !status.converged() || !(self.release() || self.settle()?) {
                return Ok(status);
            }
        }
    }

    /// Steps until one of the criteria holds.
    fn descend(&mut self, iteration: &mut usize, observer: &mut Observer<'_>) -> Result<Status> {
        let (mut small, mut rejected) = (0, 0);
        self.radius = 0.0;
        loop {
            if self.here.cost == 0.0 {
                return Ok(Status::ExactFit);
            }
            let hatted = self.hatted();
            if self.gradient_is_small() {
                return Ok(Status::SmallGradient);
            }
            let report = Progress {
                iteration: *iteration,
                cost: self.here.cost,
                theta: &self.theta,
                lambda: self.alpha,
            };
            if let Some(status) = report.tell(observer) {
                return Ok(status);
            }
            if self.evaluations >= self.limits.max_evaluations {
                return Ok(Status::EvaluationLimit);
            }
            *iteration += 1;
            if self.radius == 0.0 {
                let size: Vec<f64> = self.theta.iter().zip(&hatted.d).map(hat).collect();
                let size = norm(&size);
                self.radius = if size > 0.0 { size } else { 1.0 };
            }
            let (step, predicted) = self.step(&hatted);
            let trial: Vec<f64> = (0..step.len())
                .map(|k| self.inside(k, self.theta[k] + hatted.d[k] * step[k]))
                .collect();
            let moved = change(&self.theta, &trial, &self.scale);
            self.objective.moments(&trial, &mut self.there)?;
            self.evaluations += 1;
            let (before, after) = (self.here.cost, self.there.cost);
            let level = predicted <= 1e-14 * before && after <= before * (1.0 + 1e-13);
            self.resize(&step, predicted);
            if self.there.is_finite() && (after < before || level) {
                rejected = 0;
                self.last_fall = (before - after) / before;
                std::mem::swap(&mut self.here, &mut self.there);
                self.theta = trial;
                let gain_small = predicted <= self.limits.ftol * before;
                small = match moved <= self.limits.xtol || gain_small {
                    true => small + 1,
                    false => 0,
                };
                if small >= 2 {
                    return Ok(match gain_small {
                        true => Status::SmallReduction,
                        false => Status::SmallStep,
                    });
                }
                continue;
            }
            rejected += 1;
            if moved < 1e-14 {
                return Ok(match predicted <= 1e-12 * before {
                    true => Status::Rounding,
                    false => Status::NoProgress,
                });
            }
            if rejected > MOST_REJECTED {
                return Ok(Status::DampingLimit);
            }
        }
    }

    /// The next radius, from what became of `step`.
    fn resize(&mut self, step: &[f64], predicted: f64) {
        let (length, before) = (norm(step), self.radius);
        let ratio = (self.here.cost - self.there.cost) / predicted;
        if !self.there.is_finite() || ratio.is_nan() || ratio < 0.25 {
            self.radius = 0.25 * length;
        } else if ratio > 0.75 && length > 0.95 * before {
            self.radius *= 2.0;
        }
        self.alpha *= before / self.radius;
    }

    /// `x` strictly inside the bounds of parameter `k`, unless it is held on one.
    fn inside(&self, k: usize, x: f64) -> f64 {
        if self.held[k] {
            return self.theta[k];
        }
        x.max(self.bounds.lower[k].next_up())
            .min(self.bounds.upper[k].next_down())
    }

    /// Distance to the bound that descent leads to, and its slope; none where there is no bound.
    fn room(&self, k: usize) -> Option<(f64, f64)> {
        let (x, g) = (self.theta[k], self.here.gradient[k]);
        if g < 0.0 && self.bounds.upper[k].is_finite() {
            Some((self.bounds.upper[k] - x, -1.0))
        } else if g > 0.0 && self.bounds.lower[k].is_finite() {
            Some((x - self.bounds.lower[k], 1.0))
        } else {
            None
        }
    }

    fn gradient_is_small(&self) -> bool {
        let (root, two) = ((2.0 * self.here.cost).sqrt(), 2.0 * self.here.cost);
        (0..self.theta.len()).all(|k| {
            let g = self.here.gradient[k].abs();
            // Walking all the way to its bound gains next to nothing.
            let hemmed = self
                .room(k)
                .is_some_and(|(v, _)| g * v <= self.limits.gtol * two);
            self.held[k] || hemmed || g / self.scale[k] <= self.limits.gtol * root
        })
    }

    /// Scales, hatted gradient and curvature at the best point.
    fn hatted(&mut self) -> Hatted {
        let p = self.theta.len();
        for k in 0..p {
            let size = self.here.normal[k * p + k].sqrt();
            let before = if self.scale[k] == 1.0 {
                0.0
            } else {
                self.scale[k]
            };
            self.scale[k] = size.max(before);
            if self.scale[k] == 0.0 {
                self.scale[k] = 1.0;
            }
        }
        let (mut d, mut own) = (vec![0.0; p], vec![0.0; p]);
        for k in (0..p).filter(|&k| !self.held[k]) {
            let (v, slope) = match self.room(k) {
                Some((v, slope)) => (v * self.scale[k], slope),
                None => (1.0, 0.0),
            };
            d[k] = v.sqrt() / self.scale[k];
            own[k] = self.here.gradient[k] * slope / self.scale[k];
        }
        // What is held does not move: its gradient is 0, any curvature will do.
        for k in (0..p).filter(|&k| self.held[k]) {
            own[k] = 1.0;
        }
        Hatted::new(d, &own, &self.here)
    }

    /// A step in hatted variables, and the fall of the cost that is expected of it.
    fn step(&mut self, at: &Hatted) -> (Vec<f64>, f64) {
        let (free, alpha) = at.within(self.radius, self.alpha);
        self.alpha = alpha;
        let to_bound = |from: &[f64], step: &[f64]| self.to_bound(at, from, step);
        let origin = vec![0.0; free.len()];
        let (stride, first) = to_bound(&origin, &free);
        if stride >= 1.0 {
            let fall = -at.value(&free);
            return (free, fall);
        }
        let scaled = |v: &[f64], t: f64| v.iter().map(|x| t * x).collect::<Vec<f64>>();
        let mut best = scaled(&free, INSIDE * stride);
        let mut least = at.value(&best);
        let mut offer = |step: Vec<f64>| {
            let value = at.value(&step);
            if value < least {
                (best, least) = (step, value);
            }
        };
        // Turned back at the first bound.
        let on_bound = scaled(&free, stride);
        let mut back = free.clone();
        for k in first {
            back[k] = -back[k];
        }
        let to_radius = to_radius(&on_bound, &back, self.radius);
        let (to_next, _) = to_bound(&on_bound, &back);
        let (low, high) = match to_next.min(to_radius) {
            t if t > 0.0 && t == to_next => ((1.0 - INSIDE) * stride / t, INSIDE * to_next),
            t if t > 0.0 => ((1.0 - INSIDE) * stride / t, to_radius),
            _ => (0.0, -1.0),
        };
        if low <= high {
            let t = at.best_along(&on_bound, &back, low, high);
            offer(on_bound.iter().zip(&back).map(|(a, b)| a + t * b).collect());
        }
        // Along the gradient.
        let down = scaled(&at.gradient, -1.0);
        let to_radius = self.radius / norm(&down).max(f64::MIN_POSITIVE);
        let (to_next, _) = to_bound(&origin, &down);
        let far = if to_next < to_radius {
            INSIDE * to_next
        } else {
            to_radius
        };
        let t = at.best_along(&origin, &down, 0.0, far);
        offer(scaled(&down, t));
        (best, -least)
    }

    /// How many times `step` leads from `from` to the first bound, and which parameters meet it there.
    fn to_bound(&self, at: &Hatted, from: &[f64], step: &[f64]) -> (f64, Vec<usize>) {
        let mut least = f64::INFINITY;
        let mut which = Vec::new();
        for k in 0..step.len() {
            let s = at.d[k] * step[k];
            let x = self.theta[k] + at.d[k] * from[k];
            let t = if s > 0.0 {
                (self.bounds.upper[k] - x) / s
            } else if s < 0.0 {
                (self.bounds.lower[k] - x) / s
            } else {
                continue;
            };
            if t < least {
                least = t;
                which.clear();
            }
            if t == least {
                which.push(k);
            }
        }
        (least.max(0.0), which)
    }

    /// Lets go of what is held on a bound from which descent leads away; true where there was any.
    fn release(&mut self) -> bool {
        let mut any = false;
        for k in 0..self.theta.len() {
            if self.held[k] && !self.bounds.holds(k, self.theta[k], self.here.gradient[k]) {
                self.held[k] = false;
                self.released[k] = true;
                self.theta[k] = nudged(self.bounds, k, self.theta[k]);
                any = true;
            }
        }
        any
    }

    /// Puts on their bounds what came to lie beside them, where that does not raise the cost; true
    /// where there was any.
    fn settle(&mut self) -> Result<bool> {
        let mut trial = self.theta.clone();
        let mut found = Vec::new();
        for k in (0..trial.len()).filter(|&k| !self.held[k] && !self.released[k]) {
            let Some((v, slope)) = self.room(k) else {
                continue;
            };
            let bound = match slope > 0.0 {
                true => self.bounds.lower[k],
                false => self.bounds.upper[k],
            };
            if v <= BESIDE * bound.abs().max(1.0) {
                trial[k] = bound;
                found.push(k);
            }
        }
        if found.is_empty() {
            return Ok(false);
        }
        self.objective.moments(&trial, &mut self.there)?;
        self.evaluations += 1;
        let level = self.there.cost <= self.here.cost * (1.0 + 1e-12);
        for &k in &found {
            self.held[k] = level;
            self.released[k] = !level;
        }
        if level && self.there.is_finite() {
            std::mem::swap(&mut self.here, &mut self.there);
            self.theta = trial;
        }
        Ok(level)
    }
}

/// θ̂ = θ/d; 0 for what does not move.
fn hat((x, d): (&f64, &f64)) -> f64 {
    if *d > 0.0 { x / d } else { 0.0 }
}
