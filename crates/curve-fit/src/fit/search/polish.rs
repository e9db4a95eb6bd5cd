//! Steps of Levenberg and Marquardt in the terms that are placed.

use super::basis::Basis;
use super::{Search, State};
use crate::fit::problem::Problem;
use crate::method::{Bounds, Moments, Next, Objective, Progress, lm};
use fitzroy::Result;

impl Search<'_> {
    /// Fits what is placed, for a few steps.
    pub(super) fn polish(&self, state: &mut State) -> Result<()> {
        let (columns, response) = self.rows.columns(self.structure, &state.theta)?;
        let own = self.columns(&state.placed, &[]);
        for &k in &self.structure.linear {
            state.theta[k] = 0.0;
        }
        let borrowed: Vec<&[f64]> = own.iter().map(|&k| columns[k].as_slice()).collect();
        let gain = Basis::new(&response).gain(&borrowed);
        for (&k, factor) in own.iter().zip(&gain.factors) {
            state.theta[self.structure.linear[k]] = *factor;
        }
        for (k, x) in state.theta.iter_mut().enumerate() {
            *x = self.plan.bounds.clip(k, *x);
        }
        let placed = self
            .structure
            .terms
            .iter()
            .zip(&state.placed)
            .filter(|(_, placed)| **placed);
        let curved = placed
            .flat_map(|(t, _)| &t.nonlinear)
            .filter(|&&k| !self.given[k]);
        let linear = own.iter().map(|&k| &self.structure.linear[k]);
        let mut active: Vec<usize> = curved.chain(linear).copied().collect();
        active.sort_unstable();
        let mut part = Part {
            problem: Problem::new(self.plain, &self.rows.table, 1, 1.0),
            whole: state.theta.clone(),
            sums: Moments::new(state.theta.len()),
            active,
        };
        let pick = |all: &[f64]| part.active.iter().map(|&k| all[k]).collect::<Vec<f64>>();
        let start = pick(&state.theta);
        let mut all = self.plan.bounds.clone();
        if state.order.one_sign {
            for (t, term) in self.structure.terms.iter().enumerate() {
                let k = self.structure.linear[term.columns[0]];
                (all.lower[k], all.upper[k]) = self.factors(t, state);
            }
        }
        let bounds = Bounds {
            lower: pick(&all.lower),
            upper: pick(&all.upper),
        };
        let silent = &mut |_: &Progress<'_>| Next::Continue;
        let end = lm::minimise(&mut part, &start, &bounds, &self.limits, silent)?;
        state.cost = f64::INFINITY;
        if end.moments.is_finite() {
            for (&k, x) in part.active.iter().zip(&end.theta) {
                state.theta[k] = *x;
            }
            state.cost = 2.0 * end.moments.cost;
        }
        Ok(())
    }
}

/// A problem in some of its parameters.
struct Part<'p> {
    problem: Problem<'p>,
    whole: Vec<f64>,
    sums: Moments,
    active: Vec<usize>,
}

impl Part<'_> {
    fn fill(&mut self, some: &[f64]) {
        for (&k, x) in self.active.iter().zip(some) {
            self.whole[k] = *x;
        }
    }
}

impl Objective for Part<'_> {
    fn moments(&mut self, theta: &[f64], out: &mut Moments) -> Result<()> {
        self.fill(theta);
        self.problem.moments(&self.whole, &mut self.sums)?;
        let (p, m) = (self.whole.len(), self.active.len());
        out.cost = self.sums.cost;
        for (a, &j) in self.active.iter().enumerate() {
            out.gradient[a] = self.sums.gradient[j];
            for (b, &k) in self.active.iter().enumerate() {
                out.normal[a * m + b] = self.sums.normal[j * p + k];
            }
        }
        Ok(())
    }

    fn bend(&mut self, _: &[f64], _: &[f64], _: &mut [f64]) -> Result<bool> {
        Ok(false)
    }

    fn solve_linear(&mut self, _: &mut [f64], _: &mut Moments) {}
}
