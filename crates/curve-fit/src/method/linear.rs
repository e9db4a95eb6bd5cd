//! Parameters that enter linearly, solved for without another pass.

use super::Moments;
use super::dense::{cholesky, cholesky_solve};

/// The cost may fall by all but this part: of what is left, differences would say little.
const LEFT: f64 = 1e-6;
/// Factors that a partial may be multiplied by.
const LEAST_FACTOR: f64 = 0.05;

/// Moves linear parameters to where the cost is least, given the others, and the sums with them: r is
/// linear in these, and the partials of the others are multiples of one of them or do not know them.
/// A pass there would give the same but for rounding. Nothing is moved where that fails.
///
/// `multiples` says for each parameter which linear one its partial is a multiple of.
pub(crate) fn relax(
    linear: &[bool],
    multiples: &[Option<usize>],
    theta: &mut [f64],
    here: &mut Moments,
) {
    let p = theta.len();
    let own: Vec<usize> = (0..p).filter(|&k| linear[k]).collect();
    let m = own.len();
    let size = |k: usize| here.normal[k * p + k].sqrt();
    let scaled = |i: usize| {
        let (a, b) = (own[i / m], own[i % m]);
        here.normal[a * p + b] / (size(a) * size(b))
    };
    let mut factor: Vec<f64> = (0..m * m).map(scaled).collect();
    if !here.cost.is_finite() || !cholesky(&mut factor, m) {
        return;
    }
    let side = own.iter().map(|&k| -here.gradient[k] / size(k));
    let mut step: Vec<f64> = side.collect();
    cholesky_solve(&factor, m, &mut step);
    let mut by = vec![0.0; p];
    own.iter()
        .zip(&step)
        .for_each(|(&k, s)| by[k] = s / size(k));
    let slopes = here.gradient.iter().zip(&by);
    let fall = -0.5 * slopes.map(|(g, s)| g * s).sum::<f64>();
    let times: Vec<f64> = multiples
        .iter()
        .map(|of| of.map_or(1.0, |l| (theta[l] + by[l]) / theta[l]))
        .collect();
    let usual = |f: &f64| (LEAST_FACTOR..1.0 / LEAST_FACTOR).contains(f);
    // Also false for NaN.
    if !(fall > 0.0 && fall < (1.0 - LEFT) * here.cost && times.iter().all(usual)) {
        return;
    }
    here.cost -= fall;
    for k in 0..p {
        let row = &here.normal[k * p..][..p];
        let change: f64 = row.iter().zip(&by).map(|(a, s)| a * s).sum();
        here.gradient[k] = times[k] * (here.gradient[k] + change);
    }
    for (i, a) in here.normal.iter_mut().enumerate() {
        *a *= times[i / p] * times[i % p];
    }
    theta.iter_mut().zip(by).for_each(|(x, s)| *x += s);
}
