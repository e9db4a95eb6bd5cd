//! Places at which a curve jumps, or bends: no slope tells where these are, so that all are tried.

use super::basis::Basis;
use super::rows::Rows;
use super::trials::{Anchor, Trials, Values};
use super::waves::put;
use super::{Search, State};
use fitzroy::Result;

/// Places among all rows that are tried at once, and the part of those found before that they span.
const AT_ONCE: usize = 100;
const AROUND: f64 = 0.02;
/// Neighbouring places on each side from which a bend is fitted.
const NEIGHBOURS: usize = 6;
/// Times that every place is tried beside the others.
const ROUNDS: usize = 3;

impl Search<'_> {
    /// Puts places between the two neighbours where the cost is least.
    pub(super) fn jump(&self, state: &mut State) -> Result<()> {
        let all: Vec<Trials> = self
            .structure
            .terms
            .iter()
            .map(|t| self.trials(t))
            .collect();
        let anchors = all.iter().flat_map(|t| &t.anchors).filter(|a| a.jumps());
        let anchors: Vec<&Anchor> = anchors.collect();
        // One alone was tried everywhere.
        let rounds = if self.structure.terms.len() > 1 || anchors.len() > 1 {
            ROUNDS
        } else {
            0
        };
        for _ in 0..rounds {
            let mut moved = false;
            for anchor in &anchors {
                let middles = anchor.middles(&self.rows, usize::MAX);
                moved |= self.best_of(&self.rows, anchor, &middles, state)?;
            }
            if !moved {
                break;
            }
            self.polish(state)?;
        }
        for anchor in &anchors {
            self.bend(anchor, state)?;
        }
        let Some(fine) = &self.fine else {
            return Ok(());
        };
        state.cost = f64::INFINITY;
        for anchor in &anchors {
            let all = anchor.middles(fine, usize::MAX);
            let mut reach = (AROUND * all.len() as f64) as usize;
            loop {
                let here = anchor.position(&state.theta);
                let at = all.partition_point(|x| *x < here);
                let near = &all[at.saturating_sub(reach + 1)..(at + reach + 1).min(all.len())];
                let step = near.len().div_ceil(AT_ONCE).max(1);
                let some: Vec<f64> = near.iter().step_by(step).copied().collect();
                self.best_of(fine, anchor, &some, state)?;
                if step == 1 {
                    break;
                }
                reach = 4 * step;
            }
        }
        state.cost *= self.rows.n() as f64 / fine.n() as f64;
        Ok(())
    }

    /// Where a curve only bends, the cost is smooth between two rows and may have a minimum between any:
    /// those near the one found are tried.
    fn bend(&self, anchor: &Anchor, state: &mut State) -> Result<()> {
        let all = anchor.middles(&self.rows, usize::MAX);
        let here = anchor.position(&state.theta);
        let at = all.partition_point(|x| *x < here);
        // Steps have no slope, and leave a place where it was put.
        let moved = |x: &f64| (x - here).abs() > 1e-9 * (all[all.len() - 1] - all[0]);
        if !all.iter().all(moved) {
            return Ok(());
        }
        let near = &all[at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS).min(all.len())];
        let known: Values = state.theta.iter().copied().enumerate().collect();
        for values in anchor.at(near, &known) {
            let mut other = state.clone();
            put(&mut other.theta, &values);
            self.polish(&mut other)?;
            if other.cost < state.cost {
                *state = other;
            }
        }
        Ok(())
    }

    /// Puts the place of `anchor` at the best of `middles`, if that is better than where it is.
    fn best_of(
        &self,
        rows: &Rows,
        anchor: &Anchor,
        middles: &[f64],
        state: &mut State,
    ) -> Result<bool> {
        let known: Values = state.theta.iter().copied().enumerate().collect();
        let mut moved = false;
        for values in anchor.at(middles, &known) {
            let mut theta = state.theta.clone();
            put(&mut theta, &values);
            let (columns, response) = rows.columns(self.structure, &theta)?;
            let mut basis = Basis::new(&response);
            columns.iter().for_each(|c| basis.push(c));
            if basis.cost() < (1.0 - 1e-12) * state.cost {
                (state.cost, state.theta, moved) = (basis.cost(), theta, true);
            }
        }
        Ok(moved)
    }
}
