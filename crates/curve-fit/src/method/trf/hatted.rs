//! The problem of a step in hatted variables, and its answer within a radius.

use super::super::Moments;
use super::super::dense::{cholesky, singular};

/// A step of a radius is exact to this part of it, in at most so many rounds.
const RADIUS_TOLERANCE: f64 = 0.01;
const RADIUS_ROUNDS: usize = 10;

/// The problem at a point in hatted variables.
pub(super) struct Hatted {
    /// θ = dθ̂.
    pub(super) d: Vec<f64>,
    pub(super) gradient: Vec<f64>,
    /// B̂, row by row.
    curved: Vec<f64>,
    /// Singular values of a root of B̂, its right singular vectors, and ĝ in those.
    values: Vec<f64>,
    vectors: Vec<Vec<f64>>,
    along: Vec<f64>,
}

/// How many times `step` leads from `from` to the sphere around the origin.
pub(super) fn to_radius(from: &[f64], step: &[f64], radius: f64) -> f64 {
    let (a, b) = (dot(step, step), dot(from, step));
    let c = dot(from, from) - radius * radius;
    let root = (b * b - a * c).max(0.0).sqrt();
    if a > 0.0 { (root - b) / a } else { 0.0 }
}

impl Hatted {
    /// The problem scaled by `d`, with `own` beside the curvature.
    pub(super) fn new(d: Vec<f64>, own: &[f64], here: &Moments) -> Hatted {
        let p = d.len();
        let mut curved: Vec<f64> = (0..p * p)
            .map(|i| d[i / p] * here.normal[i] * d[i % p])
            .collect();
        for k in 0..p {
            curved[k * p + k] += own[k];
        }
        let gradient: Vec<f64> = d.iter().zip(&here.gradient).map(|(d, g)| d * g).collect();
        let mut l = curved.clone();
        let definite = cholesky(&mut l, p);
        let above = |j: usize| {
            (0..p)
                .map(|i| if i <= j { l[j * p + i] } else { 0.0 })
                .collect()
        };
        let mut columns: Vec<Vec<f64>> = match definite {
            // Of a root, small values keep their digits.
            true => (0..p).map(above).collect(),
            false => curved.chunks(p.max(1)).map(<[f64]>::to_vec).collect(),
        };
        let (mut values, vectors) = singular(&mut columns);
        if !definite {
            values.iter_mut().for_each(|s| *s = s.sqrt());
        }
        let along = vectors.iter().map(|v| dot(v, &gradient)).collect();
        Hatted {
            d,
            gradient,
            curved,
            values,
            vectors,
            along,
        }
    }

    /// ĝᵀp + ½ pᵀB̂p.
    pub(super) fn value(&self, step: &[f64]) -> f64 {
        dot(&self.gradient, step) + 0.5 * self.bilinear(step, step)
    }

    fn bilinear(&self, a: &[f64], b: &[f64]) -> f64 {
        let rows = self.curved.chunks(a.len().max(1));
        a.iter().zip(rows).map(|(x, row)| x * dot(row, b)).sum()
    }

    /// The t within [low, high] at which from + t step has the least value.
    pub(super) fn best_along(&self, from: &[f64], step: &[f64], low: f64, high: f64) -> f64 {
        let slope = dot(&self.gradient, step) + self.bilinear(from, step);
        let curved = self.bilinear(step, step);
        let value = |t: f64| t * (slope + 0.5 * curved * t);
        let bottom = if curved > 0.0 { -slope / curved } else { low };
        let better = |a: f64, b: f64| if value(b) < value(a) { b } else { a };
        better(better(low, high), bottom.clamp(low, high))
    }

    /// −V (Vᵀĝ / (s² + α)).
    fn damped(&self, alpha: f64) -> Vec<f64> {
        let mut out = vec![0.0; self.along.len()];
        for ((s, v), g) in self.values.iter().zip(&self.vectors).zip(&self.along) {
            let t = -g / (s * s + alpha);
            out.iter_mut().zip(v).for_each(|(x, v)| *x += t * v);
        }
        out
    }

    /// The least value within `radius`, and its damping; `alpha` is the damping of the step before.
    pub(super) fn within(&self, radius: f64, alpha: f64) -> (Vec<f64>, f64) {
        let least = self.values.last().copied().unwrap_or(1.0);
        let largest = self.values.first().copied().unwrap_or(1.0);
        // Roots of what rounding leaves of a matrix, not of residuals.
        let whole = least > 1e-8 * largest;
        if whole {
            let step = self.damped(0.0);
            if norm(&step) <= radius {
                return (step, 0.0);
            }
        }
        // |p(α)| − Δ and its slope.
        let excess = |alpha: f64| {
            let (mut length, mut slope) = (0.0, 0.0);
            for (s, g) in self.values.iter().zip(&self.along) {
                let part = g / (s * s + alpha);
                length += part * part;
                slope -= part * part / (s * s + alpha);
            }
            let length = length.sqrt();
            (length - radius, slope / length)
        };
        let mut high = norm(&self.along) / radius;
        let mut low = match whole {
            true => {
                let (over, slope) = excess(0.0);
                -over / slope
            }
            false => 0.0,
        };
        let between = |low: f64, high: f64| (1e-3 * high).max((low * high).sqrt());
        let mut alpha = match alpha > 0.0 {
            true => alpha,
            false => between(low, high),
        };
        for _ in 0..RADIUS_ROUNDS {
            if alpha < low || alpha > high {
                alpha = between(low, high);
            }
            let (over, slope) = excess(alpha);
            if over < 0.0 {
                high = alpha;
            }
            let ratio = over / slope;
            low = low.max(alpha - ratio);
            alpha -= (over + radius) * ratio / radius;
            if over.abs() < RADIUS_TOLERANCE * radius {
                break;
            }
        }
        let mut step = self.damped(alpha);
        let length = norm(&step);
        if length > 0.0 {
            step.iter_mut().for_each(|x| *x *= radius / length);
        }
        (step, alpha)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub(super) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
