//! How well a curve describes its data: R², information criteria, tests of the residuals.

use super::criteria::{criteria, of_normal_errors};
use super::estimate::Estimate;
use super::pattern::{self, MOST_SORTED, Neighbours, Pattern};
use super::plan::Plan;
use super::problem::Problem;
use super::residuals::{self, Tile};
use super::verdict::{Doubts, Misfit};
use crate::formula::Loss;
use crate::pass::Table;
use fitzroy::Result;
use fitzroy_device::cpu::RowWorkspace;
use fitzroy_device::lanes::Level;
use fitzroy_graph::special::{gamma_q, ndtr};

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
    /// How alike neighbouring residuals are; none where there are too few.
    pub pattern: Option<Pattern>,
    /// √(Σy²/n), beside which residuals may be rounding.
    pub size: f64,
}

/// Reads all residuals once.
///
/// # Errors
/// The data cannot be read.
pub fn quality(plan: &Plan, table: &dyn Table, estimate: &Estimate) -> Result<Quality> {
    quality_at(plan, table, &estimate.popt, &estimate.misfit())
}

/// As [`quality`], of a fit that ended at `theta`.
pub(crate) fn quality_at(
    plan: &Plan,
    table: &dyn Table,
    theta: &[f64],
    misfit: &Misfit,
) -> Result<Quality> {
    // Residuals have no scale of the loss.
    let mut problem = Problem::new(&plan.programs, table, 1, 1.0);
    let params = problem.params(theta);
    let mut s = Sums::default();
    let counts = misfit.loss == Loss::Poisson;
    let value = plan.programs.value();
    let n = table.n_rows();
    let stride = n.div_ceil(MOST_SORTED).max(1);
    // A stretch of every so many rows, whose neighbours are neighbours.
    let mut kept = Vec::new();
    problem
        .reader
        .rows_again(value, &params, &mut |first, out| {
            let weights = out.get(2).map(Vec::as_slice);
            if first == 0 {
                s.centre = centre(&out[1], weights);
            }
            s.add(&out[0], &out[1], weights);
            if counts {
                s.add_counts(&out[0], &out[1]);
            }
            let own = &s.tile[1..];
            let all = own.len() == n;
            if !all && (first / own.len().max(1)).is_multiple_of(stride) {
                kept.extend_from_slice(own);
            }
            Ok(())
        })?;
    let mut found = s.finish(misfit);
    let residuals = match s.tile.len() == n + 1 {
        true => &s.tile[1..],
        false => &kept[..],
    };
    found.pattern = pattern::strongest(plan, table, residuals, stride)?;
    Ok(found)
}

/// Judges many fits of one plan to small tables, one after the other.
pub(crate) struct Judge<'p> {
    plan: &'p Plan,
    neighbours: Neighbours,
    workspace: RowWorkspace,
    params: Vec<f64>,
    out: Vec<Vec<f64>>,
    sums: Sums,
}

impl<'p> Judge<'p> {
    /// A judge of fits of `plan`.
    pub(crate) fn new(plan: &'p Plan) -> Judge<'p> {
        let value = plan.programs.value();
        Judge {
            plan,
            neighbours: Neighbours::new(plan),
            workspace: value.workspace(),
            params: vec![0.0; 2 * plan.free.len() + 1],
            out: vec![Vec::new(); value.n_outputs()],
            sums: Sums::default(),
        }
    }

    /// Doubts in a fit to `rows`, a tile of them at most, that converged at `theta`.
    pub(crate) fn doubts(&mut self, rows: &[&[f64]], theta: &[f64], misfit: &Misfit) -> Doubts {
        let n = rows.first().map_or(0, |c| c.len());
        self.params[..theta.len()].copy_from_slice(theta);
        let value = self.plan.programs.value();
        value.set_parameters(&mut self.workspace, &self.params);
        self.out.iter_mut().for_each(|o| o.resize(n, 0.0));
        value.evaluate(&mut self.workspace, rows, &mut self.out);
        let weights = self.out.get(2).map(Vec::as_slice);
        let both = (&self.out[0][..], &self.out[1][..]);
        let along = Some((&self.neighbours, rows));
        self.sums.doubts(both, weights, along, misfit)
    }
}

/// Doubts in a fit that converged to the values `fitted` of a curve that no formula is known of: a function that was
/// called. `y` is the response, `weights` are 1/σ. Neighbouring residuals are looked at along each of `columns`, the
/// predictors, in the order of rows if there are none, and not at all without columns: errors that are correlated
/// have neighbours that are alike.
pub fn doubts(
    (fitted, y): (&[f64], &[f64]),
    weights: Option<&[f64]>,
    columns: Option<&[&[f64]]>,
    misfit: &Misfit,
) -> Doubts {
    if y.is_empty() {
        return Doubts::default();
    }
    let neighbours = Neighbours::along_all(columns.map_or(0, <[_]>::len), misfit.n_parameters);
    let along = columns.map(|columns| (&neighbours, columns));
    Sums::default().doubts((fitted, y), weights, along, misfit)
}

/// The weighted mean of the first rows, about which squares are summed: with m of n rows, at most
/// log₁₀(n/m) digits of those about the mean of all are lost, and no read is needed for the latter.
fn centre(y: &[f64], weights: Option<&[f64]>) -> f64 {
    let (mut sw, mut swy) = (0.0, 0.0);
    let Some(weights) = weights else {
        // Eight partial sums, so that one addition does not wait for the last.
        let (eights, rest) = y.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for eight in eights {
            sums.iter_mut().zip(eight).for_each(|(sum, y)| *sum += y);
        }
        let all = sums.iter().chain(rest).sum::<f64>();
        return all / y.len() as f64;
    };
    for (w, y) in weights.iter().zip(y) {
        sw += w * w;
        swy += w * w * y;
    }
    swy / sw
}

#[derive(Default)]
struct Sums {
    n: f64,
    /// Near the mean of y.
    centre: f64,
    sums: residuals::Sums,
    log_w: f64,
    log_counts: f64,
    /// The residuals of a tile, after the last of the tile before.
    tile: Vec<f64>,
}

impl Sums {
    /// Back to no rows; what was allocated stays.
    fn clear(&mut self) {
        let tile = std::mem::take(&mut self.tile);
        *self = Sums {
            tile,
            ..Sums::default()
        };
        self.tile.clear();
    }

    /// Doubts in a fit to these rows alone, with neighbours along the columns of predictors if they say anything.
    fn doubts(
        &mut self,
        (f, y): (&[f64], &[f64]),
        weights: Option<&[f64]>,
        along: Option<(&Neighbours, &[&[f64]])>,
        misfit: &Misfit,
    ) -> Doubts {
        self.clear();
        self.centre = centre(y, weights);
        self.add(f, y, weights);
        let mut quality = self.finish(misfit);
        quality.pattern =
            along.and_then(|(neighbours, columns)| neighbours.strongest(columns, &self.tile[1..]));
        misfit.doubts(&quality)
    }

    /// Adds a tile.
    fn add(&mut self, f: &[f64], y: &[f64], weights: Option<&[f64]>) {
        // The first residual of all follows none: a neighbour equal to it changes no sum.
        let weigh = |i: usize| weights.map_or(1.0, |w| w[i]);
        let last = self.tile.last().copied();
        let last = last.unwrap_or_else(|| (f[0] - y[0]) * weigh(0));
        self.n += f.len() as f64;
        self.tile.resize(f.len() + 1, 0.0);
        self.tile[0] = last;
        Level::detect().run(Tile {
            f,
            y,
            weights,
            centre: self.centre,
            residuals: &mut self.tile,
            sums: &mut self.sums,
        });
        if let Some(weights) = weights {
            let logs = weights.iter().filter(|w| **w != 1.0).map(|w| w.ln());
            self.log_w += logs.sum::<f64>();
        }
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

    fn finish(&self, e: &Misfit) -> Quality {
        let (n, p) = (self.n, e.n_parameters as f64);
        let counts = e.loss == Loss::Poisson;
        let [
            sizes,
            absolute,
            weights,
            shift,
            about_centre,
            m1,
            m2,
            m3,
            m4,
            up,
            differences,
            runs,
        ] = self.sums.joined();
        let chi2 = m2;
        let total = about_centre - shift * shift / weights;
        let (r2, log_w) = (1.0 - chi2 / total, self.log_w);
        let (log_l, k) = if counts {
            (self.log_counts, p)
        } else {
            of_normal_errors(chi2, n, p, log_w, e.absolute_sigma)
        };
        let by_likelihood = criteria(log_l, k, n);
        let [m1, m2, m3, m4] = [m1, m2, m3, m4].map(|x| x / n);
        let variance = m2 - m1 * m1;
        let third = m3 - 3.0 * m1 * m2 + 2.0 * m1.powi(3);
        let fourth = m4 - 4.0 * m1 * m3 + 6.0 * m1 * m1 * m2 - 3.0 * m1.powi(4);
        let (skew, excess) = (
            third / variance.powf(1.5),
            fourth / (variance * variance) - 3.0,
        );
        let jarque_bera = n / 6.0 * (skew * skew + excess * excess / 4.0);
        let down = n - up;
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
            aic: by_likelihood.aic,
            bic: by_likelihood.bic,
            rmse: (sizes / n).sqrt(),
            mae: absolute / n,
            runs_p: 2.0 * ndtr(-z.abs()),
            durbin_watson: differences / chi2,
            normality_p: (-jarque_bera / 2.0).exp(),
            chi2_p,
            pattern: None,
            // Σy² about the centre, and what the centre adds.
            size: ((about_centre / weights) + self.centre * self.centre).sqrt(),
        }
    }
}
