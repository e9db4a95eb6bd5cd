//! Trials on few rows: at each point the linear parameters are solved for, and the cost there is told, without a
//! pass over all rows.

use super::plan::Plan;
use super::search::{MOST_ROWS, dot, means};
use crate::formula::{Loss, Programs, Structure};
use crate::method::dense::{cholesky, cholesky_solve};
use crate::pass::{Columns, Table, spread_rows};
use fitzroy::Result;
use fitzroy_device::cpu::RowWorkspace;
use std::borrow::Cow;

/// Rows that trials are compared on, and how many for each linear parameter at least.
const FEW: usize = 64;
const FOR_EACH: usize = 8;
/// Most linear parameters: their normal matrix is made at every point.
const MOST_LINEAR: usize = 12;
/// What is left of the square of a column beside others, at least, as a part of it.
const DEPENDENT: f64 = 1e-10;
/// The golden ratio less 1: its multiples fill an interval evenly, whatever the period of rows.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// A curve on few rows of its data.
pub(super) struct Scan<'s> {
    plan: &'s Plan,
    structure: &'s Structure,
    rows: Columns<'static>,
    workspace: RowWorkspace,
    params: Vec<f64>,
    /// Columns of the linear parameters, and r at c = 0.
    columns: Vec<Vec<f64>>,
    /// Lengths of those columns, their products, and the best factors.
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
        table: &dyn Table,
    ) -> Result<Option<Scan<'s>>> {
        let Some(structure) = plain.structure().filter(|s| !s.is_searched()) else {
            return Ok(None);
        };
        let m = structure.linear.len();
        let apart = plan.roles.parameters.iter().any(|p| p.indexed.is_some());
        if apart || plan.programs.loss() != Loss::Linear || m > MOST_LINEAR {
            return Ok(None);
        }
        let rows = few(table, plan.roles.predictors.len(), FEW.max(FOR_EACH * m))?;
        Ok(Some(Scan {
            plan,
            structure,
            workspace: structure.columns.workspace(),
            params: vec![0.0; 2 * plan.free.len() + 1],
            columns: vec![vec![0.0; rows.n_rows()]; m + 1],
            lengths: vec![0.0; m],
            normal: vec![0.0; m * m],
            factors: vec![0.0; m],
            rows,
        }))
    }

    /// Σ r² of the few rows at `theta`, whose linear parameters are put at their best inside the bounds; infinite
    /// where columns depend on one another or have no value.
    pub(super) fn cost(&mut self, theta: &mut [f64]) -> f64 {
        let bounds = &self.plan.bounds;
        for (k, x) in theta.iter_mut().enumerate() {
            *x = bounds.clip(k, *x);
        }
        self.params[..theta.len()].copy_from_slice(theta);
        let program = &self.structure.columns;
        program.set_parameters(&mut self.workspace, &self.params);
        let rows = self.rows.all();
        program.evaluate(&mut self.workspace, &rows, &mut self.columns);
        let Some(mut cost) = self.solve() else {
            return f64::INFINITY;
        };
        let mut moved = false;
        for (&k, factor) in self.structure.linear.iter().zip(&self.factors) {
            theta[k] = bounds.clip(k, *factor);
            moved |= theta[k] != *factor;
        }
        if moved {
            cost = self.cost_of(theta);
        }
        if cost.is_finite() {
            cost
        } else {
            f64::INFINITY
        }
    }

    /// The best factors, and Σ r² there.
    fn solve(&mut self) -> Option<f64> {
        let (m, columns) = (self.factors.len(), &self.columns);
        let product = |j: usize, k: usize| dot(&columns[j], &columns[k]);
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
        let m = self.factors.len();
        let residual = |i: usize| {
            let terms = self.structure.linear.iter().zip(&self.columns);
            let terms = terms.map(|(&k, column)| theta[k] * column[i]);
            self.columns[m][i] + terms.sum::<f64>()
        };
        (0..self.rows.n_rows()).map(|i| residual(i).powi(2)).sum()
    }
}

/// Few rows of `table`: means of neighbours along one predictor, if rows stand in its order; others evenly over
/// all, as a sequence of no period has them.
fn few(table: &dyn Table, n_x: usize, most: usize) -> Result<Columns<'static>> {
    let mut all = spread_rows(table, MOST_ROWS)?;
    let n = all.first().map_or(0, Vec::len);
    if n > most {
        if n_x == 1 && all[0].is_sorted() {
            let order: Vec<usize> = (0..n).collect();
            all = means(&all, &order, most);
        } else {
            let one = |k: usize| {
                let (first, end) = (k * n / most, (k + 1) * n / most);
                first + ((k as f64 * GOLDEN).fract() * (end - first) as f64) as usize
            };
            let some: Vec<usize> = (0..most).map(one).collect();
            let pick = |c: &Vec<f64>| some.iter().map(|&i| c[i]).collect();
            all = all.iter().map(pick).collect();
        }
    }
    Ok(Columns::new(all.into_iter().map(Cow::Owned).collect()))
}
