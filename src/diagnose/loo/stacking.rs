//! Weights of models that predict best together.
//!
//! Reference: Yao, Vehtari, Simpson, Gelman, "Using stacking to average Bayesian predictive
//! distributions", Bayesian Analysis 13 (2018).

/// Excess of the largest slope over 1 at which the weights are final.
const TOLERANCE: f64 = 1e-10;
/// Steps at most; a handful is usual.
const STEPS: usize = 10_000;

/// Weights on the simplex that maximise Σ_i ln Σ_k w_k exp(`elpd`\[k]\[i]).
///
/// With p_ik = exp(elpd_ik − max_k elpd_ik) and g_k = mean_i p_ik/Σ_j w_j p_ij they are optimal
/// where all g_k ≤ 1. Newton steps on the models in play, kept inside the simplex; where none
/// helps, w_k ← w_k g_k, or a step towards the model with the largest g.
pub(super) fn weights(elpd: &[&[f64]]) -> Vec<f64> {
    let (n_models, n) = (elpd.len(), elpd[0].len());
    let row = |i: usize| {
        let most = elpd.iter().map(|m| m[i]).fold(f64::NEG_INFINITY, f64::max);
        elpd.iter().map(move |m| libm::exp(m[i] - most))
    };
    let densities: Vec<f64> = (0..n).flat_map(row).collect();
    let mut problem = Problem {
        densities,
        n_models,
        slopes: vec![0.0; n_models],
        curvature: vec![0.0; n_models * n_models],
    };
    let mut w = vec![1.0 / n_models as f64; n_models];
    let mut value = problem.look(&w);
    for _ in 0..STEPS {
        let excess = problem.excess();
        if excess <= TOLERANCE || value.is_nan() {
            break;
        }
        let better = problem.candidates(&w).into_iter().find_map(|next| {
            let gained = problem.look(&next);
            // Near the top the value is flat to rounding, and the slopes are not.
            let closer = gained > value - 1e-12 && problem.excess() < 0.5 * excess;
            (gained > value || closer).then_some((next, gained))
        });
        match better {
            Some((next, gained)) => (w, value) = (next, gained),
            None => break, // Rounding is all that is left.
        }
        problem.look(&w);
    }
    let total: f64 = w.iter().sum();
    w.iter().map(|w| w / total).collect()
}

struct Problem {
    /// p, row by observation.
    densities: Vec<f64>,
    n_models: usize,
    /// g at the last point.
    slopes: Vec<f64>,
    /// mean_i p_ik p_il / (Σ_j w_j p_ij)² at the last point.
    curvature: Vec<f64>,
}

impl Problem {
    /// The mean log density at `w`; notes slopes and curvature.
    fn look(&mut self, w: &[f64]) -> f64 {
        let n = self.densities.len() / self.n_models;
        self.slopes.fill(0.0);
        self.curvature.fill(0.0);
        let mut value = 0.0;
        for p in self.densities.chunks_exact(self.n_models) {
            let mixed: f64 = w.iter().zip(p).map(|(w, p)| w * p).sum();
            value += libm::log(mixed) / n as f64;
            for (k, pk) in p.iter().enumerate() {
                let share = pk / mixed / n as f64;
                self.slopes[k] += share;
                let row = &mut self.curvature[k * self.n_models..][..self.n_models];
                row.iter_mut()
                    .zip(p)
                    .for_each(|(c, pl)| *c += share * pl / mixed);
            }
        }
        value
    }

    /// How far the largest slope is above 1.
    fn excess(&self) -> f64 {
        let most = self
            .slopes
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max);
        most - 1.0
    }

    /// Points to try after `w`, the most promising first.
    fn candidates(&self, w: &[f64]) -> Vec<Vec<f64>> {
        let mut out = Vec::new();
        if let Some(d) = self.newton(w) {
            let room = |(w, d): (&f64, &f64)| if *d < 0.0 { w / -d } else { f64::INFINITY };
            let most = w.iter().zip(&d).map(room).fold(1.0, f64::min);
            for part in [1.0, 0.25, 0.05, 0.005] {
                let moved = |(w, d): (&f64, &f64)| w + part * most * d;
                let next = w.iter().zip(&d).map(moved);
                out.push(next.map(|x| if x < 1e-14 { 0.0 } else { x }).collect());
            }
        }
        out.push(w.iter().zip(&self.slopes).map(|(w, g)| w * g).collect());
        let by_slope = |&a: &usize, &b: &usize| self.slopes[a].total_cmp(&self.slopes[b]);
        let best = (0..w.len()).max_by(by_slope).unwrap_or(0);
        for power in (2..40).step_by(3) {
            let part = 0.5_f64.powi(power);
            let mut next: Vec<f64> = w.iter().map(|w| w * (1.0 - part)).collect();
            next[best] += part;
            out.push(next);
        }
        out
    }

    /// Newton's direction among the models that have weight or deserve some: none of those
    /// without weight loses any. None where it leads nowhere.
    fn newton(&self, w: &[f64]) -> Option<Vec<f64>> {
        let mut free: Vec<usize> = (0..w.len())
            .filter(|&k| w[k] > 0.0 || self.slopes[k] > 1.0)
            .collect();
        loop {
            // Stationary: curvature · d + λ = slope, Σ d = 0, with a little ridge against twins.
            let m = free.len() + 1;
            let mut a = vec![0.0; m * (m + 1)];
            for (r, &k) in free.iter().enumerate() {
                for (c, &l) in free.iter().enumerate() {
                    a[r * (m + 1) + c] = self.curvature[k * self.n_models + l];
                }
                a[r * (m + 1) + r] *= 1.0 + 1e-12;
                a[r * (m + 1) + m - 1] = 1.0;
                a[(m - 1) * (m + 1) + r] = 1.0;
                a[r * (m + 1) + m] = self.slopes[k];
            }
            let solved = solve(a, m)?;
            let stays = |i: usize| w[free[i]] > 0.0 || solved[i] > 0.0;
            if (0..free.len()).all(stays) {
                let mut d = vec![0.0; w.len()];
                free.iter().zip(&solved).for_each(|(&k, x)| d[k] = *x);
                return Some(d);
            }
            free = (0..free.len())
                .filter(|&i| stays(i))
                .map(|i| free[i])
                .collect();
        }
    }
}

/// Solves m equations given row by row with their right side; none where they are singular.
fn solve(mut a: Vec<f64>, m: usize) -> Option<Vec<f64>> {
    let width = m + 1;
    for column in 0..m {
        let size = |r: usize| a[r * width + column].abs();
        let pivot = (column..m).max_by(|&x, &y| size(x).total_cmp(&size(y)))?;
        if size(pivot) < 1e-300 {
            return None;
        }
        for c in 0..width {
            a.swap(column * width + c, pivot * width + c);
        }
        for r in 0..m {
            let factor = a[r * width + column] / a[column * width + column];
            if r != column && factor != 0.0 {
                for c in column..width {
                    a[r * width + c] -= factor * a[column * width + c];
                }
            }
        }
    }
    Some(
        (0..m)
            .map(|r| a[r * width + m] / a[r * width + r])
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two models that are each right about some observations: with densities (1, e) and (e, 1) on
    /// shares a and 1 − a of the data the best weight solves a linear equation.
    #[test]
    fn complementary_models_share_the_weight_as_the_formula_says() {
        let e = std::f64::consts::E;
        let (first, second) = ([1.0, 1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 1.0]);
        let w = weights(&[&first, &second]);
        // 0.6 (e − 1)/(1 + w(e − 1)) = 0.4 (e − 1)/(e − w(e − 1))
        let want = (0.6 * e - 0.4) / (e - 1.0);
        assert!((w[0] - want).abs() < 1e-9, "{w:?} {want}");
    }

    #[test]
    fn a_model_that_is_always_worse_gets_nothing_and_twins_do_no_harm() {
        let good = [-1.0, -2.0, -1.5];
        let bad = [-2.0, -2.5, -3.0];
        let w = weights(&[&good, &bad]);
        assert!((w[0] - 1.0).abs() < 1e-9, "{w:?}");
        let w = weights(&[&bad, &good, &good]);
        assert!(w[0] < 1e-9 && (w[1] + w[2] - 1.0).abs() < 1e-9, "{w:?}");
        assert_eq!(weights(&[&good]), [1.0]);
    }
}
