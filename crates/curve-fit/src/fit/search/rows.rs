//! The rows that a search looks at, and the columns of a curve on them.

use crate::formula::{Structure, Waves};
use crate::pass::{Columns, Reader, Slots, Table, spread_rows};
use fitzroy::Result;
use fitzroy::rng::{Purpose, Rng};
use fitzroy_device::cpu::RowProgram;
use std::borrow::Cow;

/// Rows that are kept: of more, every so many.
pub(in crate::fit) const MOST_ROWS: usize = 1 << 16;
/// Means of neighbours that curves of one predictor are fitted to.
const MOST_MEANS: usize = 512;

/// Which of many rows are looked at.
#[derive(Clone, Copy)]
pub(super) enum Thinned {
    /// Means of neighbours along one predictor; by chance where there are more.
    Means,
    /// So many by chance: every so many would alias, and means would blur.
    ByChance(usize),
    /// All.
    Not,
}

/// Rows, sorted by the first predictor.
pub(super) struct Rows {
    /// Predictors, response, and 1/σ where rows have one.
    pub(super) table: Columns<'static>,
    /// Usual distance of neighbours of all rows along each predictor.
    pub(super) gaps: Vec<f64>,
    n_params: usize,
    /// True where rows have a column 1/σ.
    weighted: bool,
    /// Workspaces of the programs that are run again and again.
    slots: Slots,
}

impl Rows {
    /// The rows of `table` that have `n_x` predictors.
    pub(super) fn new(
        table: &dyn Table,
        n_x: usize,
        n_params: usize,
        thinned: Thinned,
        seed: u64,
    ) -> Result<Rows> {
        let all = spread_rows(table, MOST_ROWS)?;
        let n = all.first().map_or(0, Vec::len);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| all[0][a].total_cmp(&all[0][b]));
        let gaps = all[..n_x].iter().map(|x| gap(x)).collect();
        let most = match thinned {
            Thinned::Means if n_x == 1 && n > MOST_MEANS => 0,
            Thinned::Means => 4 * MOST_MEANS,
            Thinned::ByChance(most) => most,
            Thinned::Not => n,
        };
        let columns: Vec<Vec<f64>> = if most == 0 {
            let all: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
            means(&all, Some(&order), MOST_MEANS)
        } else {
            if n > most {
                let mut rng = Rng::new(seed, 0, 0, 1, Purpose::Data);
                // Each is taken with the same chance.
                let (mut left, mut wanted) = (n, most);
                order.retain(|_| {
                    let taken = rng.uniform() * (left as f64) < wanted as f64;
                    left -= 1;
                    wanted -= usize::from(taken);
                    taken
                });
            }
            let pick = |c: &Vec<f64>| order.iter().map(|&i| c[i]).collect();
            all.iter().map(pick).collect()
        };
        Ok(Rows {
            table: Columns::new(columns.into_iter().map(Cow::Owned).collect()),
            weighted: all.len() > n_x + 1,
            gaps,
            n_params,
            slots: Slots::default(),
        })
    }

    /// Number of rows.
    pub(super) fn n(&self) -> usize {
        self.table.n_rows()
    }

    /// Predictor `k`.
    pub(super) fn x(&self, k: usize) -> &[f64] {
        self.table.column(k)
    }

    /// The outputs of `program` at free parameters `theta`.
    pub(super) fn outputs(&self, program: &RowProgram, theta: &[f64]) -> Result<Vec<Vec<f64>>> {
        let mut params = vec![0.0; self.n_params];
        params[..theta.len()].copy_from_slice(theta);
        let mut out = vec![Vec::with_capacity(self.n()); program.n_outputs()];
        let mut reader = Reader::with(&self.table, 1, &self.slots);
        reader.rows_again(program, &params, &mut |_, columns| {
            out.iter_mut()
                .zip(columns)
                .for_each(|(to, c)| to.extend_from_slice(c));
            Ok(())
        })?;
        Ok(out)
    }

    /// The columns of the linear parameters at `theta`, and the response, both divided by σ.
    pub(super) fn columns(
        &self,
        structure: &Structure,
        theta: &[f64],
    ) -> Result<(Vec<Vec<f64>>, Vec<f64>)> {
        let mut out = self.outputs(&structure.columns, theta)?;
        let base = out.pop().unwrap_or_default();
        Ok((out, base.iter().map(|r| -r).collect()))
    }

    /// Of each column of `waves` at `theta`: arguments, their slope in the first row, and factors.
    pub(super) fn waves(&self, waves: &Waves, theta: &[f64]) -> Result<Vec<[Vec<f64>; 3]>> {
        let mut out = self.outputs(&waves.program, theta)?.into_iter();
        let mut all = Vec::with_capacity(waves.columns.len());
        while let (Some(argument), Some(rate), Some(factor)) = (out.next(), out.next(), out.next())
        {
            all.push([argument, rate, factor]);
        }
        Ok(all)
    }

    /// Σ (r/σ)² of the noise, as neighbours tell it: nearly right where the response changes slowly from row
    /// to row, and more elsewhere. None where rows have no order.
    pub(super) fn noise(&self) -> Option<f64> {
        if self.gaps.len() != 1 {
            return None;
        }
        let (x, y) = (self.x(0), self.table.column(1));
        let variance = |i: usize| match self.weighted {
            true => self.table.column(2)[i].powi(-2),
            false => 1.0,
        };
        let off = |i: usize| {
            let part = match x[i + 1] > x[i - 1] {
                true => (x[i] - x[i - 1]) / (x[i + 1] - x[i - 1]),
                false => 0.5,
            };
            let between = y[i - 1] + part * (y[i + 1] - y[i - 1]);
            let others = (1.0 - part).powi(2) * variance(i - 1) + part * part * variance(i + 1);
            (y[i] - between).powi(2) / (variance(i) + others)
        };
        let mut all: Vec<f64> = (1..self.n().saturating_sub(1)).map(off).collect();
        all.sort_by(f64::total_cmp);
        // The median of χ² of one degree of freedom is 0.455.
        let middle = all.get(all.len() / 2)?;
        Some(middle / 0.455 * self.n() as f64)
    }
}

/// The median distance between values that differ.
fn gap(x: &[f64]) -> f64 {
    let mut sorted = x.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut gaps: Vec<f64> = sorted.windows(2).map(|w| w[1] - w[0]).collect();
    gaps.retain(|g| *g > 0.0);
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied().unwrap_or(0.0)
}

/// `most` means of neighbours in `order`, or as they stand: columns are x, y, and perhaps 1/σ.
pub(in crate::fit) fn means(all: &[&[f64]], order: Option<&[usize]>, most: usize) -> Vec<Vec<f64>> {
    let n = order.map_or(all[0].len(), <[usize]>::len);
    let mut out = vec![Vec::with_capacity(most); all.len()];
    for k in 0..most {
        let part = k * n / most..(k + 1) * n / most;
        let [total, x, y] = match (order, all) {
            (None, [x, y]) => weighed(
                x[part.clone()]
                    .iter()
                    .zip(&y[part])
                    .map(|(x, y)| [1.0, *x, *y]),
            ),
            _ => weighed(part.map(|i| {
                let i = order.map_or(i, |order| order[i]);
                let weight = all.get(2).map_or(1.0, |w| w[i] * w[i]);
                [weight, all[0][i], all[1][i]]
            })),
        };
        out[0].push(x / total);
        out[1].push(y / total);
        if all.len() > 2 {
            out[2].push(total.sqrt());
        }
    }
    out
}

/// Sums of weights, and of x and y times these: side by side, so that one does not wait for another.
#[inline]
fn weighed(rows: impl Iterator<Item = [f64; 3]>) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for [weight, x, y] in rows {
        sums[0] += weight;
        sums[1] += weight * x;
        sums[2] += weight * y;
    }
    sums
}
