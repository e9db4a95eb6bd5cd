//! Trials on few rows: at each point the linear parameters are solved for, and the cost there is told, without a
//! pass over all rows.

use super::plan::Plan;
use super::search::{MOST_ROWS, means};
use crate::formula::{Loss, Programs, Structure};
use crate::method::dense::{cholesky, cholesky_solve};
use crate::pass::{Reader, Table, spread_rows, whole};
use fitzroy::Result;

/// Rows that trials are compared on, and how many for each linear parameter at least.
const FEW: usize = 64;
const FOR_EACH: usize = 8;
/// Most linear parameters: their normal matrix is made at every point.
const MOST_LINEAR: usize = 12;
/// Columns of data, at most.
const FEW_COLUMNS: usize = 16;
/// What is left of the square of a column beside others, at least, as a part of it.
const DEPENDENT: f64 = 1e-10;
/// The golden ratio less 1: its multiples fill an interval evenly, whatever the period of rows.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// A curve on few rows of its data.
pub(super) struct Scan<'s> {
    plan: &'s Plan,
    structure: &'s Structure,
    reader: Reader<'s>,
    /// Columns of the few rows, each number eight times: a lane of each for a trial.
    rows: Vec<Vec<f64>>,
    n_rows: usize,
    /// Parameters of eight trials, and their sums of products of [columns of the linear parameters, r at 0].
    params: Vec<[f64; 8]>,
    sums: Vec<[f64; 8]>,
    /// Of one trial: all products, lengths of columns, their normal matrix, and the best factors.
    products: Vec<f64>,
    lengths: Vec<f64>,
    normal: Vec<f64>,
    factors: Vec<f64>,
}

impl<'s> Scan<'s> {
    /// A scan of the least squares `plain` of a curve that is a sum of columns without places and waves, of one
    /// kind of rows; none for others, and where rows have no cost of least squares.
    pub(super) fn new(
        plan: &'s Plan,
        plain: &'s Programs,
        table: &'s dyn Table,
    ) -> Result<Option<Scan<'s>>> {
        let Some(structure) = plain.structure().filter(|s| !s.is_searched()) else {
            return Ok(None);
        };
        let m = structure.linear.len();
        let apart = plan.roles.parameters.iter().any(|p| p.indexed.is_some());
        let many = m > MOST_LINEAR || plan.roles.predictors.len() + 2 > FEW_COLUMNS;
        if apart || plan.programs.loss() != Loss::Linear || many {
            return Ok(None);
        }
        let few = few(table, plan.roles.predictors.len(), FEW.max(FOR_EACH * m))?;
        let eight = |column: &Vec<f64>| {
            let mut all = Vec::with_capacity(8 * column.len());
            column.iter().for_each(|&x| all.extend_from_slice(&[x; 8]));
            all
        };
        Ok(Some(Scan {
            plan,
            structure,
            reader: Reader::with(table, 1, &plain.slots),
            n_rows: few.first().map_or(0, Vec::len),
            rows: few.iter().map(eight).collect(),
            params: vec![[0.0; 8]; 2 * plan.free.len() + 1],
            sums: vec![[0.0; 8]; structure.columns.n_sums()],
            products: vec![0.0; (m + 1) * (m + 1)],
            lengths: vec![0.0; m],
            normal: vec![0.0; m * m],
            factors: vec![0.0; m],
        }))
    }

    /// The `trial` of the points with the least Σ r² of the few rows, its linear parameters put at their best inside
    /// the bounds; none where all have columns that depend on one another or have no value.
    pub(super) fn best(
        &mut self,
        points: &[Vec<f64>],
        trial: impl Fn(&[f64], &mut [f64]),
    ) -> Option<Vec<f64>> {
        let p = self.plan.free.len();
        let (mut least, mut best) = (f64::INFINITY, None);
        let mut trials: [Vec<f64>; 8] = std::array::from_fn(|_| vec![0.0; p]);
        for points in points.chunks(8) {
            let own = &mut trials[..points.len()];
            let both = own.iter_mut().zip(points);
            both.for_each(|(theta, point)| trial(point, theta));
            self.pass(own);
            for (lane, theta) in own.iter_mut().enumerate() {
                let cost = self.cost(lane, theta);
                if cost < least {
                    (least, best) = (cost, Some(theta.clone()));
                }
            }
        }
        best
    }

    /// Sums of eight trials at most, which are put inside their bounds.
    fn pass(&mut self, trials: &mut [Vec<f64>]) {
        for lane in 0..8 {
            // Lanes without a trial repeat the last.
            let theta = &mut trials[lane.min(trials.len() - 1)];
            for (k, x) in theta.iter_mut().enumerate() {
                *x = self.plan.bounds.clip(k, *x);
                self.params[k][lane] = *x;
            }
        }
        let mut views = [&[][..]; FEW_COLUMNS];
        let columns = self.rows.iter().map(Vec::as_slice);
        views.iter_mut().zip(columns).for_each(|(to, c)| *to = c);
        let program = &self.structure.columns;
        let views = &views[..self.rows.len()];
        self.reader
            .eight(program, &self.params, views, self.n_rows, &mut self.sums);
    }

    /// Σ r² of the trial in `lane`, of which `theta` gets its best linear parameters.
    fn cost(&mut self, lane: usize, theta: &mut [f64]) -> f64 {
        let n = self.factors.len() + 1;
        let mut sums = self.sums.iter().map(|sum| sum[lane]);
        for a in 0..n {
            for b in a..n {
                let product = sums.next().expect("a sum for each pair");
                (self.products[a * n + b], self.products[b * n + a]) = (product, product);
            }
        }
        let Some(mut cost) = self.solve() else {
            return f64::INFINITY;
        };
        let mut moved = false;
        for (&k, factor) in self.structure.linear.iter().zip(&self.factors) {
            theta[k] = self.plan.bounds.clip(k, *factor);
            moved |= theta[k] != *factor;
        }
        if moved {
            cost = self.cost_of(theta);
        }
        match cost.is_finite() {
            true => cost,
            false => f64::INFINITY,
        }
    }

    /// The best factors, and Σ r² there.
    fn solve(&mut self) -> Option<f64> {
        let m = self.factors.len();
        let product = |j: usize, k: usize| self.products[j * (m + 1) + k];
        // Of columns of length 1, so that their units do not enter.
        for (k, length) in self.lengths.iter_mut().enumerate() {
            *length = product(k, k).sqrt();
        }
        for j in 0..m {
            for k in 0..=j {
                self.normal[j * m + k] = product(j, k) / (self.lengths[j] * self.lengths[k]);
            }
            self.factors[j] = -product(m, j) / self.lengths[j];
        }
        let mut fall = [0.0; MOST_LINEAR];
        fall[..m].copy_from_slice(&self.factors);
        let independent = cholesky(&mut self.normal, m)
            && (0..m).all(|k| self.normal[k * m + k].powi(2) > DEPENDENT);
        if !independent {
            return None;
        }
        cholesky_solve(&self.normal, m, &mut self.factors);
        let explained: f64 = fall.iter().zip(&self.factors).map(|(a, b)| a * b).sum();
        for (factor, length) in self.factors.iter_mut().zip(&self.lengths) {
            *factor /= length;
        }
        Some((product(m, m) - explained).max(0.0))
    }

    /// Σ r² at the linear parameters of `theta`.
    fn cost_of(&self, theta: &[f64]) -> f64 {
        let n = self.factors.len() + 1;
        // r is that at 0 and each column as often as its parameter says.
        let times = |k: usize| self.structure.linear.get(k).map_or(1.0, |&own| theta[own]);
        let row = |a: usize| {
            let products = &self.products[a * n..(a + 1) * n];
            let terms = products.iter().enumerate();
            times(a) * terms.map(|(b, product)| times(b) * product).sum::<f64>()
        };
        (0..n).map(row).sum::<f64>().max(0.0)
    }
}

/// Few rows of `table`: means of neighbours along one predictor, if rows stand in its order; others evenly over
/// all, as a sequence of no period has them.
fn few(table: &dyn Table, n_x: usize, most: usize) -> Result<Vec<Vec<f64>>> {
    if table.n_rows() <= MOST_ROWS {
        return whole(table, |all| some_of(all, n_x, most));
    }
    let all = spread_rows(table, MOST_ROWS)?;
    let all: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
    Ok(some_of(&all, n_x, most))
}

fn some_of(all: &[&[f64]], n_x: usize, most: usize) -> Vec<Vec<f64>> {
    let n = all.first().map_or(0, |c| c.len());
    if n <= most {
        all.iter().map(|c| c.to_vec()).collect()
    } else if n_x == 1 && all[0].is_sorted() {
        means(all, None, most)
    } else {
        let one = |k: usize| {
            let (first, end) = (k * n / most, (k + 1) * n / most);
            first + ((k as f64 * GOLDEN).fract() * (end - first) as f64) as usize
        };
        let rows: Vec<usize> = (0..most).map(one).collect();
        let pick = |c: &&[f64]| rows.iter().map(|&i| c[i]).collect();
        all.iter().map(pick).collect()
    }
}
