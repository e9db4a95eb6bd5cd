//! Covariance, intervals and quantiles.

use super::dense::{Triangle, inverse, singular};
use fitzroy_graph::special::{beta_inc, ndtri};
use std::f64::consts::PI;

/// What is known about the rank of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// Singular values above max(n, p)·2⁻⁵² of the largest, of the Jacobian with columns of
    /// length 1.
    pub rank: usize,
    /// Ratio of the largest to the smallest singular value; ∞ when the rank is short.
    pub condition: f64,
    /// For a short rank: the combination of parameters that the data do not determine, in units
    /// of the columns' lengths, largest part 1.
    pub undetermined: Option<Vec<f64>>,
}

/// Rank and condition from the columns of a triangle R with RᵀR = JᵀJ.
pub fn rank(mut columns: Vec<Vec<f64>>, n_rows: usize) -> Rank {
    let p = columns.len();
    for column in &mut columns {
        let length = column.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 0.0 {
            column.iter_mut().for_each(|x| *x /= length);
        }
    }
    let (values, vectors) = singular(&mut columns);
    let (largest, smallest) = (values[0], values[p - 1]);
    let limit = n_rows.max(p) as f64 * f64::EPSILON * largest;
    let rank = values.iter().filter(|&&s| s > limit).count();
    let undetermined = (rank < p).then(|| {
        let last = &vectors[p - 1];
        let peak = last
            .iter()
            .fold(0.0, |m: f64, x| if x.abs() > m.abs() { *x } else { m });
        last.iter().map(|x| x / peak).collect()
    });
    Rank {
        rank,
        condition: if rank < p {
            f64::INFINITY
        } else {
            largest / smallest
        },
        undetermined,
    }
}

/// Columns of the first `p` columns of a triangle.
pub fn triangle_columns(r: &Triangle, p: usize) -> Vec<Vec<f64>> {
    (0..p)
        .map(|k| (0..p).map(|i| r.at(i, k)).collect())
        .collect()
}

/// (RᵀR)⁻¹ of the first `p` columns of a triangle: R⁻¹R⁻ᵀ.
pub fn triangle_inverse(r: &Triangle, p: usize) -> Vec<f64> {
    let mut inv = vec![0.0; p * p];
    for k in 0..p {
        for i in (0..=k).rev() {
            let known: f64 = (i + 1..=k).map(|j| r.at(i, j) * inv[j * p + k]).sum();
            let unit = f64::from(u8::from(i == k));
            inv[i * p + k] = (unit - known) / r.at(i, i);
        }
    }
    let mut out = vec![0.0; p * p];
    for i in 0..p {
        for j in 0..p {
            out[i * p + j] = (i.max(j)..p).map(|k| inv[i * p + k] * inv[j * p + k]).sum();
        }
    }
    out
}

/// Rank and condition from a normal matrix: those of its Cholesky factor. Honest up to a
/// condition of about 10⁷.
pub fn rank_of_normal(a: &[f64], p: usize, n_rows: usize) -> Rank {
    let d: Vec<f64> = (0..p).map(|k| a[k * p + k].sqrt()).collect();
    let size = |k: usize| if d[k] > 0.0 { d[k] } else { 1.0 };
    let scaled: Vec<f64> = (0..p * p)
        .map(|i| a[i] / size(i / p) / size(i % p))
        .collect();
    let mut l = scaled.clone();
    if super::dense::cholesky(&mut l, p) {
        let columns = (0..p).map(|i| {
            (0..p)
                .map(|k| if k <= i { l[i * p + k] } else { 0.0 })
                .collect()
        });
        return rank(columns.collect(), n_rows);
    }
    // Not positive definite in rounding: the eigenvectors of the matrix itself.
    let mut columns: Vec<Vec<f64>> = scaled.chunks(p).map(<[f64]>::to_vec).collect();
    let (values, vectors) = singular(&mut columns);
    let short = values
        .iter()
        .filter(|&&s| s > 1e-14 * values[0])
        .count()
        .min(p - 1);
    Rank {
        rank: short,
        condition: f64::INFINITY,
        undetermined: Some(vectors[p - 1].clone()),
    }
}

/// H⁻¹ B H⁻¹ for symmetric H and B.
pub fn sandwich(h: &[f64], b: &[f64], p: usize) -> Option<Vec<f64>> {
    let bread = inverse(h, p)?;
    let product = |x: &[f64], y: &[f64]| -> Vec<f64> {
        let entry = |i: usize| (0..p).map(|k| x[i / p * p + k] * y[k * p + i % p]).sum();
        (0..p * p).map(entry).collect()
    };
    Some(product(&product(&bread, b), &bread))
}

/// P(T > t) of Student's t with `dof` degrees of freedom, t ≥ 0.
fn t_tail(t: f64, dof: f64) -> f64 {
    let (x, y) = (dof / (dof + t * t), t * t / (dof + t * t));
    0.5 * beta_inc(0.5 * dof, 0.5, x, y)
}

/// Relative sizes of the last two terms of an expansion below which it is exact to 10⁻¹² and better.
const ENOUGH: [f64; 2] = [1e-7, 1e-11];

/// The quantile of Student's t, for `probability` in (½, 1); of the normal distribution for
/// infinite `dof`.
///
/// Fisher and Cornish's expansion (Abramowitz and Stegun 26.7.5), which is enough for hundreds of degrees
/// of freedom; else from there Newton's steps on the tail, kept inside a bracket: two or three tails where
/// a bisection takes fifty, which a small fit would feel.
pub fn t_quantile(probability: f64, dof: f64) -> f64 {
    let z = ndtri(probability);
    if dof.is_infinite() || dof > 1e7 {
        return z;
    }
    let (z2, n) = (z * z, dof);
    let terms = [
        (z2 + 1.0) * z / 4.0,
        ((5.0 * z2 + 16.0) * z2 + 3.0) * z / 96.0,
        (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) * z / 384.0,
    ];
    let fourth = ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) * z / 92160.0;
    let mut t = z + (terms[0] + (terms[1] + (terms[2] + fourth / n) / n) / n) / n;
    // Either of the last terms may vanish where the other does not.
    let last = [terms[2] / n.powi(3), fourth / n.powi(4)];
    if last
        .iter()
        .zip(ENOUGH)
        .all(|(term, enough)| term.abs() < enough * t)
    {
        return t;
    }
    let wanted = 1.0 - probability;
    let height = libm::lgamma(0.5 * (n + 1.0)) - libm::lgamma(0.5 * n) - 0.5 * (n * PI).ln();
    // t grows as the normal quantile and has heavier tails.
    let (mut low, mut high) = (z, f64::INFINITY);
    for _ in 0..200 {
        let tail = t_tail(t, n);
        if tail > wanted {
            low = t;
        } else {
            high = t;
        }
        let density = (height - 0.5 * (n + 1.0) * (t * t / n).ln_1p()).exp();
        let mut next = t + (tail - wanted) / density;
        if !(next >= low && next <= high) {
            next = if high < 1e150 {
                0.5 * (low + high)
            } else {
                2.0 * t
            };
        }
        let done = (next - t).abs() <= 1e-9 * t;
        t = next;
        // Newton's error is squared: the step just taken was the last that counts.
        if done || t > 1e150 {
            break;
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From scipy.stats.t.ppf.
    #[test]
    fn quantiles_of_t_are_those_of_scipy() {
        for (p, dof, want) in [
            (0.975, 1.0, 12.706_204_736_174_694),
            (0.975, 5.0, 2.570_581_835_636_314),
            (0.995, 12.0, 3.054_539_589_392_901),
            (0.975, 1000.0, 1.962_339_080_826_408),
            // About the ends of where the expansion alone is enough, and where its last terms vanish.
            (0.84, 60.0, 1.002_767_744_421_443_5),
            (0.8556, 30.0, 1.079_882_756_334_659_2),
            (0.975, 260.0, 1.969_130_003_360_174),
            (0.9, 300.0, 1.284_379_867_579_013),
            (0.999_999_5, 4000.0, 4.899_270_043_467_62),
            (0.9995, 2.0, 31.599_054_576_445_365),
            (0.6, 3.0, 0.276_670_662_332_689_8),
            (0.975, f64::INFINITY, 1.959_963_984_540_054),
        ] {
            let got = t_quantile(p, dof);
            assert!((got - want).abs() < 1e-9 * want, "{got} {want}");
        }
    }

    #[test]
    fn a_short_rank_names_the_combination() {
        // Columns a, b, a + b.
        let (a, b) = (vec![1.0, 2.0, 3.0], vec![1.0, 0.0, -1.0]);
        let c = a.iter().zip(&b).map(|(x, y)| x + y).collect();
        let found = rank(vec![a, b, c], 3);
        assert_eq!(found.rank, 2);
        let v = found.undetermined.expect("short");
        assert!(v.iter().all(|x| x.abs() > 0.1), "{v:?}");
    }
}
