//! What columns explain of a response, beside others: least squares by an orthonormal basis.

use crate::method::dense::dot_product;

/// Orthonormal columns, and what they leave of a response.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    columns: Vec<Vec<f64>>,
    /// The response less its projection.
    pub(super) rest: Vec<f64>,
}

/// What more columns explain.
#[derive(Clone, Debug)]
pub(super) struct Gain {
    /// By how much Σ rest² falls.
    pub(super) fall: f64,
    /// Best factors of the columns; 0 for those that depend on others.
    pub(super) factors: Vec<f64>,
}

/// A column of which less than this part of its square is left depends on the others.
const DEPENDENT: f64 = 1e-10;
/// 1 − cos² of the angle between two columns that are tried together, at least.
const ALIKE: f64 = 0.02;

impl Basis {
    /// The basis without columns.
    pub(super) fn new(response: &[f64]) -> Basis {
        Basis {
            columns: Vec::new(),
            rest: response.to_vec(),
        }
    }

    /// Σ rest².
    pub(super) fn cost(&self) -> f64 {
        dot_product(&self.rest, &self.rest)
    }

    /// Adds `column`, unless it depends on those before.
    pub(super) fn push(&mut self, column: &[f64]) {
        let mut own = column.to_vec();
        let before = dot_product(&own, &own);
        // Twice is enough.
        for _ in 0..2 {
            for q in &self.columns {
                let along = dot_product(q, &own);
                subtract(&mut own, along, q);
            }
        }
        let size = dot_product(&own, &own);
        if !(size > DEPENDENT * before && size.is_finite()) {
            return;
        }
        let scale = 1.0 / size.sqrt();
        own.iter_mut().for_each(|x| *x *= scale);
        let along = dot_product(&own, &self.rest);
        subtract(&mut self.rest, along, &own);
        self.columns.push(own);
    }

    /// How much a single `column` explains, and the sign of its factor.
    pub(super) fn fall(&self, column: &[f64]) -> (f64, f64) {
        let along = dot_product(column, &self.rest);
        let before = dot_product(column, column);
        let within = |q: &Vec<f64>| dot_product(q, column).powi(2);
        let size = before - self.columns.iter().map(within).sum::<f64>();
        match size > 1e-6 * before {
            true => (along * along / size, along.signum()),
            false => (0.0, 1.0),
        }
    }

    /// What is left of `column`, scaled to length 1; none where it depends on the basis.
    fn beside(&self, column: &[f64]) -> Option<Vec<f64>> {
        let mut left = column.to_vec();
        for q in &self.columns {
            let along = dot_product(q, &left);
            subtract(&mut left, along, q);
        }
        let (size, before) = (dot_product(&left, &left), dot_product(column, column));
        let scale = 1.0 / size.sqrt();
        left.iter_mut().for_each(|x| *x *= scale);
        (size > 1e-6 * before && size.is_finite()).then_some(left)
    }

    /// The two of `columns` that explain most together, with factors that both are `allowed`.
    pub(super) fn best_pair(
        &self,
        columns: &[&[f64]],
        allowed: &dyn Fn(f64) -> bool,
    ) -> Option<(f64, [usize; 2])> {
        let left: Vec<Option<Vec<f64>>> = columns.iter().map(|c| self.beside(c)).collect();
        let along: Vec<f64> = left
            .iter()
            .map(|c| c.as_ref().map_or(0.0, |c| dot_product(c, &self.rest)))
            .collect();
        let mut best: Option<(f64, [usize; 2])> = None;
        for (j, one) in left.iter().enumerate() {
            for (k, other) in left.iter().enumerate().skip(j + 1) {
                let (Some(one), Some(other)) = (one, other) else {
                    continue;
                };
                let alike = dot_product(one, other);
                let apart = 1.0 - alike * alike;
                let (a, b) = (along[j] - alike * along[k], along[k] - alike * along[j]);
                if apart < ALIKE || !allowed(a) || !allowed(b) {
                    continue;
                }
                let fall = (along[j] * a + along[k] * b) / apart;
                if best.is_none_or(|best| fall > best.0) {
                    best = Some((fall, [j, k]));
                }
            }
        }
        best
    }

    /// What `columns` explain together.
    pub(super) fn gain(&self, columns: &[&[f64]]) -> Gain {
        let m = columns.len();
        let mut own: Vec<Vec<f64>> = Vec::with_capacity(m);
        let mut r = vec![0.0; m * m];
        let mut along = vec![0.0; m];
        let mut fall = 0.0;
        for (j, column) in columns.iter().enumerate() {
            let mut left = column.to_vec();
            let before = dot_product(&left, &left);
            for q in &self.columns {
                let along = dot_product(q, &left);
                subtract(&mut left, along, q);
            }
            for (i, e) in own.iter().enumerate() {
                r[i * m + j] = dot_product(e, &left);
                subtract(&mut left, r[i * m + j], e);
            }
            let size = dot_product(&left, &left);
            if size > DEPENDENT * before && size.is_finite() {
                let length = size.sqrt();
                left.iter_mut().for_each(|x| *x /= length);
                r[j * m + j] = length;
                along[j] = dot_product(&left, &self.rest);
                fall += along[j] * along[j];
            } else {
                left.fill(0.0);
            }
            own.push(left);
        }
        let mut factors = vec![0.0; m];
        for i in (0..m).rev().filter(|&i| r[i * m + i] > 0.0) {
            let known: f64 = (i + 1..m).map(|k| r[i * m + k] * factors[k]).sum();
            factors[i] = (along[i] - known) / r[i * m + i];
        }
        Gain { fall, factors }
    }
}

/// a − fb.
fn subtract(a: &mut [f64], f: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a -= f * b);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Falls and factors are those of least squares, one column after the other or all together.
    #[test]
    fn gains_are_those_of_least_squares() {
        let n = 40;
        let column = |f: fn(f64) -> f64| (0..n).map(|i| f(f64::from(i) / 10.0)).collect();
        let all: [Vec<f64>; 3] = [column(|_| 1.0), column(|x| x), column(|x| x.sin())];
        let sum = |i: usize| 2.0 * all[0][i] - 0.5 * all[1][i] + 3.0 * all[2][i];
        let y: Vec<f64> = (0..n as usize).map(sum).collect();
        let mut basis = Basis::new(&y);
        basis.push(&all[0]);
        let gain = basis.gain(&[&all[1], &all[2]]);
        assert!((gain.factors[0] + 0.5).abs() < 1e-10 && (gain.factors[1] - 3.0).abs() < 1e-10);
        assert!((gain.fall - basis.cost()).abs() < 1e-10 * gain.fall);
        let (fall, sign) = basis.fall(&all[1]);
        let (before, mut after) = (basis.cost(), basis.clone());
        after.push(&all[1]);
        assert!((before - after.cost() - fall).abs() < 1e-10 * before && sign == -1.0);
        after.push(&all[2]);
        assert!(after.cost() < 1e-20 * before);
    }
}
