//! How well a curve describes its data: R², information criteria, tests of the residuals.

use super::estimate::Estimate;
use super::plan::Plan;
use super::problem::Problem;
use crate::pass::Table;
use fitzroy::Result;
use fitzroy_graph::special::{gamma_q, ndtr};
use std::f64::consts::PI;

/// Measures that need the residuals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// 1 − χ²/Σ((y−ȳ)/σ)², ȳ weighted by 1/σ².
    pub r2: f64,
    /// 1 − (1−R²)(n−1)/(n−p).
    pub adjusted_r2: f64,
    /// −2 ln L + 2k; L Gaussian, k = p + 1, or p where σ is absolute; for counts Poisson, k = p.
    pub aic: f64,
    /// −2 ln L + k ln n.
    pub bic: f64,
    /// √(Σ(f−y)²/n).
    pub rmse: f64,
    /// Σ|f−y|/n.
    pub mae: f64,
    /// Two-sided probability of so few or many runs of one sign, in the order of rows.
    pub runs_p: f64,
    /// Σ(r_i − r_{i−1})²/Σr²: 2 without serial correlation, in the order of rows.
    pub durbin_watson: f64,
    /// Probability of such skewness and kurtosis from normal residuals (Jarque and Bera 1980).
    pub normality_p: f64,
    /// Probability of such a χ² or larger; only where σ is absolute or for counts, else NaN.
    pub chi2_p: f64,
}

/// Reads all residuals once.
///
/// # Errors
/// The data cannot be read.
pub fn quality(plan: &Plan, table: &dyn Table, estimate: &Estimate) -> Result<Quality> {
    let problem = Problem::new(&plan.programs, table, 1, estimate.f_scale);
    let params = problem.params(&estimate.popt);
    let mut s = Sums::default();
    let counts = estimate.loss == "poisson";
    let value = plan.programs.value();
    problem.reader.rows(&value, &params, &mut |first, out| {
        let weights = out.get(2).map(Vec::as_slice);
        if first == 0 {
            s.centre = centre(&out[1], weights);
        }
        s.add(&out[0], &out[1], weights);
        if counts {
            s.add_counts(&out[0], &out[1]);
        }
        Ok(())
    })?;
    Ok(s.finish(estimate))
}

/// The weighted mean of the first rows, about which squares are summed: with m of n rows, at most
/// log₁₀(n/m) digits of those about the mean of all are lost, and no read is needed for the latter.
fn centre(y: &[f64], weights: Option<&[f64]>) -> f64 {
    let (mut sw, mut swy) = (0.0, 0.0);
    for (i, y) in y.iter().enumerate() {
        let w = weights.map_or(1.0, |w| w[i]);
        sw += w * w;
        swy += w * w * y;
    }
    swy / sw
}

/// Adds Σ term(a, b) to `sums`, in four partial sums each: a processor adds several at a time.
fn fold<const K: usize>(
    a: &[f64],
    b: &[f64],
    sums: &mut [f64; K],
    term: impl Fn(f64, f64) -> [f64; K],
) {
    let mut lanes = [[0.0; 4]; K];
    let ((fours, rest), (others, last)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (a, b) in fours.iter().zip(others) {
        for i in 0..4 {
            let terms = term(a[i], b[i]);
            for (lanes, term) in lanes.iter_mut().zip(terms) {
                lanes[i] += term;
            }
        }
    }
    for (a, b) in rest.iter().zip(last) {
        for (lanes, term) in lanes.iter_mut().zip(term(*a, *b)) {
            lanes[0] += term;
        }
    }
    for (sum, l) in sums.iter_mut().zip(lanes) {
        *sum += (l[0] + l[1]) + (l[2] + l[3]);
    }
}

/// 1 or 0.
fn count(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

#[derive(Default)]
struct Sums {
    n: f64,
    /// Near the mean of y.
    centre: f64,
    /// Σw², Σw²(y − centre) and Σw²(y − centre)².
    total: [f64; 3],
    /// Σ(f − y)² and Σ|f − y|.
    sizes: [f64; 2],
    /// Powers of r.
    r: [f64; 4],
    /// Rows above the curve.
    above: [f64; 1],
    /// Squared differences of neighbours, and changes of sign.
    differences: [f64; 2],
    log_w: f64,
    log_counts: f64,
    /// The residuals of a tile, after the last of the tile before.
    tile: Vec<f64>,
}

impl Sums {
    /// Adds a tile.
    fn add(&mut self, f: &[f64], y: &[f64], weights: Option<&[f64]>) {
        let last = self.tile.last().copied();
        self.n += f.len() as f64;
        self.tile.clear();
        self.tile.push(last.unwrap_or(f64::NAN));
        self.tile.extend(f.iter().zip(y).map(|(f, y)| f - y));
        let centre = self.centre;
        let size = |d: f64, _: f64| [d * d, d.abs()];
        fold(&self.tile[1..], y, &mut self.sizes, size);
        match weights {
            None => fold(y, y, &mut self.total, |y, _| {
                let shift = y - centre;
                [1.0, shift, shift * shift]
            }),
            Some(weights) => {
                let own = self.tile[1..].iter_mut().zip(weights);
                own.for_each(|(r, w)| *r *= w);
                fold(y, weights, &mut self.total, |y, w| {
                    let shift = (y - centre) * w;
                    [w * w, shift * w, shift * shift]
                });
                let logs = weights.iter().filter(|w| **w != 1.0).map(|w| w.ln());
                self.log_w += logs.sum::<f64>();
            }
        }
        let r = &self.tile[1..];
        fold(r, r, &mut self.r, |r, _| {
            let square = r * r;
            [r, square, square * r, square * square]
        });
        fold(r, r, &mut self.above, |r, _| [count(r > 0.0)]);
        // The first residual of all follows none.
        let tile = &self.tile[usize::from(last.is_none())..];
        let (before, after) = (&tile[..tile.len() - 1], &tile[1..]);
        fold(before, after, &mut self.differences, |a, b| {
            [(b - a) * (b - a), count((a > 0.0) != (b > 0.0))]
        });
    }

    /// Poisson's log likelihood of counts `y` at means `f`.
    fn add_counts(&mut self, f: &[f64], y: &[f64]) {
        for (f, y) in f.iter().zip(y) {
            self.log_counts += match *y > 0.0 {
                true => y * f.ln() - f - libm::lgamma(y + 1.0),
                false => -f,
            };
        }
    }

    fn finish(&self, e: &Estimate) -> Quality {
        let (n, p) = (self.n, e.popt.len() as f64);
        let counts = e.loss == "poisson";
        let chi2 = self.r[1];
        let [weights, shift, about_centre] = self.total;
        let total = about_centre - shift * shift / weights;
        let (r2, log_w) = (1.0 - chi2 / total, self.log_w);
        let (log_l, k) = if counts {
            (self.log_counts, p)
        } else if e.absolute_sigma {
            (-0.5 * (chi2 + n * (2.0 * PI).ln()) + log_w, p)
        } else {
            (
                -0.5 * n * ((2.0 * PI * chi2 / n).ln() + 1.0) + log_w,
                p + 1.0,
            )
        };
        let [m1, m2, m3, m4] = self.r.map(|x| x / n);
        let variance = m2 - m1 * m1;
        let third = m3 - 3.0 * m1 * m2 + 2.0 * m1.powi(3);
        let fourth = m4 - 4.0 * m1 * m3 + 6.0 * m1 * m1 * m2 - 3.0 * m1.powi(4);
        let (skew, excess) = (
            third / variance.powf(1.5),
            fourth / (variance * variance) - 3.0,
        );
        let jarque_bera = n / 6.0 * (skew * skew + excess * excess / 4.0);
        let (up, down) = (self.above[0], n - self.above[0]);
        let [differences, runs] = self.differences;
        let expected = 1.0 + 2.0 * up * down / n;
        let spread = ((expected - 1.0) * (expected - 2.0) / (n - 1.0)).sqrt();
        let z = (runs + 1.0 - expected) / spread;
        let chi2_p = if (e.absolute_sigma || counts) && e.dof > 0 {
            gamma_q(e.dof as f64 / 2.0, e.chi2 / 2.0)
        } else {
            f64::NAN
        };
        Quality {
            r2,
            adjusted_r2: 1.0 - (1.0 - r2) * (n - 1.0) / (n - p),
            aic: -2.0 * log_l + 2.0 * k,
            bic: -2.0 * log_l + k * n.ln(),
            rmse: (self.sizes[0] / n).sqrt(),
            mae: self.sizes[1] / n,
            runs_p: 2.0 * ndtr(-z.abs()),
            durbin_watson: differences / chi2,
            normality_p: (-jarque_bera / 2.0).exp(),
            chi2_p,
        }
    }
}
