//! First-order conditions of a minimum within bounds (Karush 1939; Kuhn and Tucker 1951).
//!
//! A parameter on a bound from which the cost falls outward is held there; the gradient by all others must
//! vanish. It is measured without units: by the fall of the cost that an undamped step of the free
//! parameters promises, as a part of the cost. Its root is Bates and Watts's relative offset but for the
//! degrees of freedom (Technometrics 23, 1981).

use super::dense::{cholesky, cholesky_solve};
use super::{Bounds, Limits, Moments, change};

/// The part of the cost that a step may still promise at a minimum.
pub(crate) const PROMISED: f64 = 1e-10;
/// Roundings of the longest terms of the curve that a scaled gradient may hold.
const ROUNDED: f64 = 64.0 * f64::EPSILON;
/// A parameter is without effect where a change by its whole size promises no more than this part of
/// the cost.
const WITHOUT_EFFECT: f64 = 1e-12;
/// What is added to a scaled normal matrix, whose diagonal is 1, for parameters that depend on each other.
const RIDGE: f64 = 1e-12;
/// A multiplier, as the cosine between residuals and partial, that is not rounding.
const PUSHED: f64 = 1e-6;
/// The part of the cost that the way to its bound may promise of a parameter that lies beside it.
const BESIDE: f64 = 1e-8;
/// The distance from a bound, relative to it, that is rounding.
const NEXT: f64 = 1e-11;

/// The free parameter along which the cost falls most, where the conditions do not hold at `theta`.
pub(crate) fn descent(
    theta: &[f64],
    here: &Moments,
    bounds: &Bounds,
    limits: &Limits,
) -> Option<usize> {
    let p = theta.len();
    let size = |k: usize| here.normal[k * p + k].sqrt();
    let effect = |k: usize| theta[k] == 0.0 || pull(theta, here, k) > WITHOUT_EFFECT * here.cost;
    let free: Vec<usize> = (0..p)
        .filter(|&k| !bounds.holds(k, theta[k], here.gradient[k]))
        .filter(|&k| size(k) > 0.0 && effect(k))
        .collect();
    let scaled: Vec<f64> = free.iter().map(|&k| here.gradient[k] / size(k)).collect();
    let least = limits.gtol * (2.0 * here.cost).sqrt() + rounding(theta, here);
    if scaled.iter().all(|g| g.abs() <= least) {
        return None;
    }
    let m = free.len();
    let step = undamped(here, &free, &scaled);
    let promised: f64 = -0.5 * step.iter().zip(&scaled).map(|(s, g)| s * g).sum::<f64>();
    if promised <= PROMISED.max(limits.ftol) * here.cost {
        return None;
    }
    let scale: Vec<f64> = (0..p).map(size).collect();
    let mut trial = theta.to_vec();
    for (s, &k) in step.iter().zip(&free) {
        trial[k] = bounds.clip(k, theta[k] + s / scale[k]);
    }
    if change(theta, &trial, &scale) <= 10.0 * limits.xtol {
        return None;
    }
    let steepest = (0..m).max_by(|&a, &b| {
        let gain = |i: usize| (step[i] * scaled[i]).abs();
        gain(a).total_cmp(&gain(b))
    });
    steepest.map(|i| free[i])
}

/// Whether the scaled gradient is nowhere above `cosine` of the residuals, for parameters without bounds; less
/// than [`descent`] asks, and quick. `sums` are products of `[J…, r]`, `moved` is a step that was taken since.
#[inline]
pub(crate) fn is_flat(
    p: usize,
    sums: impl Fn(usize, usize) -> f64,
    theta: impl Fn(usize) -> f64,
    moved: impl Fn(usize) -> f64,
    cosine: f64,
) -> bool {
    let squares = sums(p, p);
    let least = cosine * cosine * squares;
    // Mostly it is before any step.
    let at_once = |k: usize| {
        let slope = sums(k, p);
        slope * slope <= sums(k, k) * least
    };
    if (0..p).all(at_once) {
        return true;
    }
    let terms: f64 = (0..p).map(|k| sums(k, k) * theta(k) * theta(k)).sum();
    let least = least + ROUNDED * ROUNDED * terms;
    (0..p).all(|k| {
        let by = (0..p).map(|a| sums(a.min(k), a.max(k)) * moved(a));
        let slope = sums(k, p) + by.sum::<f64>();
        let without_effect =
            theta(k) != 0.0 && (slope * theta(k)).abs() <= WITHOUT_EFFECT * squares;
        slope * slope <= sums(k, k) * least || without_effect
    })
}

/// What a change of parameter `k` by its size promises.
fn pull(theta: &[f64], here: &Moments, k: usize) -> f64 {
    (here.gradient[k] * theta[k]).abs()
}

/// What rounding leaves of a scaled gradient: terms of the curve are about as long as √Σ A_kk θ_k².
fn rounding(theta: &[f64], here: &Moments) -> f64 {
    let p = theta.len();
    let terms = (0..p).map(|k| here.normal[k * p + k] * theta[k] * theta[k]);
    ROUNDED * terms.sum::<f64>().sqrt()
}

/// −Â⁻¹ĝ of the `free` parameters, in scaled variables.
fn undamped(here: &Moments, free: &[usize], scaled: &[f64]) -> Vec<f64> {
    let (p, m) = (here.gradient.len(), free.len());
    let entry = |a: usize, b: usize| here.normal[a * p + b];
    let mut ridge = RIDGE;
    loop {
        let mut factor = vec![0.0; m * m];
        for (i, &a) in free.iter().enumerate() {
            for (j, &b) in free.iter().enumerate() {
                factor[i * m + j] = entry(a, b) / (entry(a, a) * entry(b, b)).sqrt();
            }
            factor[i * m + i] += ridge;
        }
        if cholesky(&mut factor, m) || ridge > 1.0 {
            let mut step: Vec<f64> = scaled.iter().map(|g| -g).collect();
            cholesky_solve(&factor, m, &mut step);
            return step;
        }
        ridge *= 10.0;
    }
}

/// `theta` with parameters beside their bounds put on them: those within rounding, and those that descent
/// leads there, where the way promises next to nothing; none where there are no such parameters.
pub(crate) fn on_bounds(theta: &[f64], here: &Moments, bounds: &Bounds) -> Option<Vec<f64>> {
    let p = theta.len();
    let root = (2.0 * here.cost).sqrt();
    let mut out = theta.to_vec();
    for k in 0..p {
        let (g, size) = (here.gradient[k], here.normal[k * p + k].sqrt());
        for (bound, outward) in [(bounds.lower[k], g > 0.0), (bounds.upper[k], g < 0.0)] {
            let room = (bound - theta[k]).abs();
            let pushed = outward && g.abs() > PUSHED * size * root;
            if room <= NEXT * bound.abs() && bound.is_finite()
                || pushed && g.abs() * room <= BESIDE * here.cost
            {
                out[k] = bound;
            }
        }
    }
    (out != theta).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F = ½ Σ (θ_k − target_k)² c_k, of which 1 is left.
    fn bowl(theta: &[f64], target: &[f64], c: &[f64]) -> Moments {
        let p = theta.len();
        let mut here = Moments::new(p);
        here.cost = 1.0;
        here.normal = vec![0.0; p * p];
        for k in 0..p {
            here.gradient[k] = c[k] * (theta[k] - target[k]);
            here.normal[k * p + k] = c[k];
            here.cost += 0.5 * c[k] * (theta[k] - target[k]).powi(2);
        }
        here
    }

    #[test]
    fn conditions_hold_at_a_bound_only_where_descent_leads_outward() {
        let (limits, mut bounds) = (Limits::default(), Bounds::none(2));
        (bounds.lower[0], bounds.upper[0]) = (1.0, 1.5);
        let out = bowl(&[1.5, 3.0], &[2.0, 3.0], &[1.0, 4.0]);
        assert_eq!(descent(&[1.5, 3.0], &out, &bounds, &limits), None);
        let inward = bowl(&[1.5, 3.0], &[1.2, 3.0], &[1.0, 4.0]);
        assert_eq!(descent(&[1.5, 3.0], &inward, &bounds, &limits), Some(0));
        let other = bowl(&[1.5, 3.1], &[2.0, 3.0], &[1.0, 4.0]);
        assert_eq!(descent(&[1.5, 3.1], &other, &bounds, &limits), Some(1));
    }

    #[test]
    fn units_do_not_matter() {
        let (limits, bounds) = (Limits::default(), Bounds::none(1));
        for unit in [1e-12, 1.0, 1e12] {
            let theta = [3.0 * unit];
            let near = bowl(&theta, &[unit * (3.0 + 1e-6)], &[1.0 / (unit * unit)]);
            assert_eq!(descent(&theta, &near, &bounds, &limits), None);
            let far = bowl(&theta, &[unit * (3.0 + 1e-4)], &[1.0 / (unit * unit)]);
            assert_eq!(descent(&theta, &far, &bounds, &limits), Some(0));
        }
    }

    #[test]
    fn what_stops_short_of_its_bound_is_put_on_it() {
        let mut bounds = Bounds::none(1);
        bounds.upper[0] = 1.5;
        let theta = [1.5 - 1e-13];
        let here = bowl(&theta, &[2.0], &[1.0]);
        assert_eq!(on_bounds(&theta, &here, &bounds), Some(vec![1.5]));
        let inside = bowl(&[1.2], &[1.2], &[1.0]);
        assert_eq!(on_bounds(&[1.2], &inside, &bounds), None);
    }
}
