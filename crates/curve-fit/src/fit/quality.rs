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
    let columns: Vec<&str> = plan.programs.columns().collect();
    let weight_at = columns.iter().position(|c| *c == crate::formula::WEIGHT);
    let y_at = columns
        .iter()
        .position(|c| *c == crate::formula::RESPONSE)
        .expect("the response");
    // Means first, so that sums of squares are about them.
    let (mut sw, mut swy, mut log_w) = (0.0, 0.0, 0.0);
    crate::pass::visit_all(table, &mut |_, c| {
        match weight_at {
            None => {
                sw += c[y_at].len() as f64;
                swy += c[y_at].iter().sum::<f64>();
            }
            Some(k) => {
                for (y, w) in c[y_at].iter().zip(c[k]) {
                    sw += w * w;
                    swy += w * w * y;
                    log_w += if *w == 1.0 { 0.0 } else { w.ln() };
                }
            }
        }
        Ok(())
    })?;
    let mean = swy / sw;
    let mut s = Sums::default();
    let counts = estimate.loss == "poisson";
    let value = plan.programs.value();
    problem.reader.rows(&value, &params, &mut |_, out| {
        for (i, (f, y)) in out[0].iter().zip(&out[1]).enumerate() {
            let w = out.get(2).map_or(1.0, |w| w[i]);
            s.add(*f, *y, w, mean);
        }
        if counts {
            s.add_counts(&out[0], &out[1]);
        }
        Ok(())
    })?;
    Ok(s.finish(estimate, log_w))
}

#[derive(Default)]
struct Sums {
    n: f64,
    total: f64,
    squares: f64,
    sizes: f64,
    /// Powers of r.
    r: [f64; 4],
    differences: f64,
    last: Option<f64>,
    runs: f64,
    above: f64,
    log_counts: f64,
}

impl Sums {
    fn add(&mut self, f: f64, y: f64, w: f64, mean: f64) {
        let (d, r) = (f - y, (f - y) * w);
        self.n += 1.0;
        self.total += ((y - mean) * w).powi(2);
        self.squares += d * d;
        self.sizes += d.abs();
        let square = r * r;
        for (sum, power) in self
            .r
            .iter_mut()
            .zip([r, square, square * r, square * square])
        {
            *sum += power;
        }
        if let Some(last) = self.last {
            self.differences += (r - last).powi(2);
            self.runs += f64::from(u8::from((r > 0.0) != (last > 0.0)));
        }
        self.above += f64::from(u8::from(r > 0.0));
        self.last = Some(r);
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

    fn finish(&self, e: &Estimate, log_w: f64) -> Quality {
        let (n, p) = (self.n, e.popt.len() as f64);
        let counts = e.loss == "poisson";
        let chi2 = self.r[1];
        let r2 = 1.0 - chi2 / self.total;
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
        let (up, down) = (self.above, n - self.above);
        let expected = 1.0 + 2.0 * up * down / n;
        let spread = ((expected - 1.0) * (expected - 2.0) / (n - 1.0)).sqrt();
        let z = (self.runs + 1.0 - expected) / spread;
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
            rmse: (self.squares / n).sqrt(),
            mae: self.sizes / n,
            runs_p: 2.0 * ndtr(-z.abs()),
            durbin_watson: self.differences / self.r[1],
            normality_p: (-jarque_bera / 2.0).exp(),
            chi2_p,
        }
    }
}
