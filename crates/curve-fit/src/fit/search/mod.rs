//! Starts of curves that are sums of terms: each term is put where it explains most of what the others leave,
//! linear parameters being solved for, and what is there is fitted before the next.
//!
//! Peaks, steps and the like are tried at places along the predictor and in many widths; waves have their
//! frequencies from a periodogram. The terms of one kind share one dictionary of columns: matching pursuit
//! (Mallat and Zhang 1993) by variable projection (Golub and Pereyra 1973).

mod basis;
mod dictionary;
mod jumps;
mod periodogram;
mod polish;
mod rows;
mod trials;
mod waves;

use super::options::Options;
use super::plan::Plan;
use crate::formula::{Programs, Structure};
use crate::method::Limits;
use crate::pass::Table;
use basis::Basis;
use dictionary::{Atom, Kind};
use fitzroy::Result;
pub(super) use rows::{MOST_ROWS, means};
use rows::{Rows, Thinned};
use trials::{Trials, Values};
use waves::put;

/// Times the variance of the noise up to which a row's share of the cost shows that nothing is missing.
const NEAR_NOISE: f64 = 1.25;
/// The same, up to which no other order or place is tried: an overlap that is wrong may cost a tenth more.
const DONE: f64 = 1.05;
/// The same, beyond which something is missing.
const FAR_FROM_NOISE: f64 = 2.0;
/// Rows that waves, and curves that jump, are fitted to.
const MOST_FOR_WAVES: usize = 2048;
const MOST_FOR_JUMPS: usize = 1000;
/// Times that each term is put anew beside the others.
const SWEEPS: usize = 2;
/// Pairs of terms that are put anew together, and the best atoms of which each two are tried.
const MOST_PAIRS: usize = 21;
const PAIRED: usize = 150;
/// What the best of thousands of candidates explains of noise, in variances of a row.
pub(super) const BY_CHANCE: f64 = 25.0;
/// Candidates of terms with many parameters that are followed.
const OTHERS: usize = 5;
/// A change of the cost that counts.
const CHANGE: f64 = 1e-6;

/// What a search found.
pub(super) struct Found {
    /// All free parameters.
    pub(super) theta: Vec<f64>,
    /// True where what is left looks like the noise between neighbours.
    pub(super) explains_all: bool,
    /// Terms that explain no more of the rows than chance does.
    pub(super) unseen: Vec<Unseen>,
}

/// A term of which a search saw nothing in the rows, by its free parameters.
#[derive(Clone, Debug)]
pub(crate) struct Unseen {
    /// Its factors, which are linear.
    pub(crate) factors: Vec<usize>,
    /// Its place, width or frequency.
    pub(crate) shape: Vec<usize>,
}

/// A search for the start of one fit.
pub(super) struct Search<'a> {
    plan: &'a Plan,
    /// Least squares of the curve.
    plain: &'a Programs,
    structure: &'a Structure,
    rows: Rows,
    /// All rows, where places are to be found among them.
    fine: Option<Rows>,
    ranges: &'a [(f64, f64)],
    /// Parameters with values that are not to change.
    given: Vec<bool>,
    limits: Limits,
    kinds: Vec<Kind>,
}

/// Where terms are.
#[derive(Clone)]
struct State {
    theta: Vec<f64>,
    placed: Vec<bool>,
    cost: f64,
    order: Order,
}

/// Which terms come first, and what they may be.
#[derive(Clone, Copy, PartialEq)]
struct Order {
    /// What changes slowly comes before what has places: a broad peak may else stand for the background.
    slow_first: bool,
    /// Terms of one kind have factors of one sign: else two of them may become a slope together.
    one_sign: bool,
}

/// Whether `cost` of the curve on `table` is more than the noise between neighbours explains, of a curve whose
/// start can be searched for.
pub(crate) fn falls_short(plan: &Plan, table: &dyn Table, cost: f64) -> Result<bool> {
    if plan.programs.structure().is_none_or(|s| !s.is_searched()) {
        return Ok(false);
    }
    let n_x = plan.roles.predictors.len();
    let p = plan.free.len();
    let rows = Rows::new(table, n_x, 2 * p + 1, Thinned::Not, 0)?;
    Ok(rows
        .noise()
        .is_some_and(|noise| 2.0 * cost > FAR_FROM_NOISE * noise))
}

/// The start of the curve on `table`; none where the curve has no terms with places or waves.
/// `theta` has the values that are `given`.
pub(super) fn search(
    (plan, plain): (&Plan, &Programs),
    table: &dyn Table,
    options: &Options,
    ranges: &[(f64, f64)],
    (theta, given): (&[f64], &[bool]),
) -> Result<Option<Found>> {
    let Some(structure) = plain.structure() else {
        return Ok(None);
    };
    let terms = &structure.terms;
    if terms
        .iter()
        .all(|t| t.waves.is_none() && t.places.is_empty())
        || table.n_rows() < 4
    {
        return Ok(None);
    }
    let jumps = terms.iter().any(|t| t.places.iter().any(|p| p.jumps));
    let thinned = match (jumps, terms.iter().any(|t| t.waves.is_some())) {
        (true, _) => Thinned::ByChance(MOST_FOR_JUMPS),
        (_, true) => Thinned::ByChance(MOST_FOR_WAVES),
        _ => Thinned::Means,
    };
    let n_x = plan.roles.predictors.len();
    let n_params = 2 * plan.free.len() + 1;
    let rows = Rows::new(table, n_x, n_params, thinned, options.seed)?;
    let fine = match jumps && table.n_rows() > rows.n() {
        true => Some(Rows::new(table, n_x, n_params, Thinned::Not, options.seed)?),
        false => None,
    };
    // Where nothing is known yet a value must do that has a column.
    let middle = |k: usize| super::ranges::spread(ranges[k], 0.5);
    let theta: Vec<f64> = (0..theta.len())
        .map(|k| if given[k] { theta[k] } else { middle(k) })
        .collect();
    let mut search = Search {
        plan,
        plain,
        structure,
        ranges,
        given: given.to_vec(),
        limits: Limits {
            // Steps are not measured by parameters: a place may lie far from 0 beside its width.
            ftol: 1e-7,
            max_evaluations: 30,
            ..options.limits
        },
        rows,
        fine,
        kinds: Vec::new(),
    };
    search.kinds = search.kinds(&theta)?;
    search.run(&theta)
}

impl Search<'_> {
    fn run(&self, theta: &[f64]) -> Result<Option<Found>> {
        // Without it all orders are tried.
        let noise = self.rows.noise().unwrap_or(0.0);
        let enough = |state: &State| state.cost <= DONE * noise;
        let mixed = |has: bool| self.kinds.iter().any(|k| k.has_places == has);
        let slow = mixed(true) && mixed(false);
        let several = self
            .kinds
            .iter()
            .any(|k| !k.atoms.is_empty() && k.terms.len() > 1);
        let orders = [
            (false, several),
            (true, several),
            (false, false),
            (true, false),
        ];
        let mut tried: Vec<Order> = Vec::new();
        let mut best: Option<State> = None;
        for (slow_first, one_sign) in orders {
            let order = Order {
                slow_first: slow_first && slow,
                one_sign,
            };
            if tried.contains(&order) || best.as_ref().is_some_and(enough) {
                continue;
            }
            let mut state = self.greedy(theta, order)?;
            self.sweep(&mut state, &enough)?;
            self.split(&mut state, &enough)?;
            if best.as_ref().is_none_or(|b| state.cost < b.cost) {
                best = Some(state);
            }
            tried.push(order);
        }
        let mut best = best.expect("there is an order");
        self.jump(&mut best)?;
        let unseen = self.unseen(&best)?;
        Ok(best.cost.is_finite().then_some(Found {
            explains_all: best.cost <= NEAR_NOISE * noise,
            unseen,
            theta: best.theta,
        }))
    }

    /// Puts one term after the other where it explains most.
    fn greedy(&self, theta: &[f64], order: Order) -> Result<State> {
        let n = self.structure.terms.len();
        let mut state = State {
            theta: theta.to_vec(),
            placed: vec![false; n],
            cost: f64::INFINITY,
            order,
        };
        for _ in 0..n {
            let basis = self.basis(&state, &[])?;
            let mut best: Option<(usize, Vec<(f64, Values)>)> = None;
            let waiting = |kind: &&Kind| kind.terms.iter().any(|&t| !state.placed[t]);
            let slow = self.kinds.iter().filter(waiting).any(|k| !k.has_places);
            for kind in self.kinds.iter().filter(waiting) {
                if order.slow_first && slow && kind.has_places {
                    continue;
                }
                let next = kind.terms.iter().find(|&&t| !state.placed[t]);
                let &term = next.expect("one waits");
                let found = self.candidate(kind, term, &basis, &state)?;
                let fall = |found: &[(f64, Values)]| found.first().map_or(0.0, |f| f.0);
                if fall(&found) > best.as_ref().map_or(0.0, |b| fall(&b.1)) {
                    best = Some((term, found));
                }
            }
            let Some((term, values)) = best else {
                break;
            };
            state = self.place(&state, term, &values)?;
        }
        state.placed.fill(true);
        self.polish(&mut state)?;
        Ok(state)
    }

    /// Puts each term anew beside the others, while that helps and something is left to explain.
    fn sweep(&self, state: &mut State, enough: &dyn Fn(&State) -> bool) -> Result<()> {
        for _ in 0..SWEEPS {
            let before = state.cost;
            for kind in &self.kinds {
                for &term in &kind.terms {
                    if enough(state) || self.structure.terms.len() < 2 {
                        return Ok(());
                    }
                    let basis = self.basis(state, &[term])?;
                    let found = self.candidate(kind, term, &basis, state)?;
                    let other = self.place(state, term, &found)?;
                    if other.cost < (1.0 - CHANGE) * state.cost {
                        *state = other;
                    }
                }
            }
            if state.cost > (1.0 - CHANGE) * before {
                break;
            }
        }
        Ok(())
    }

    /// Puts two terms of a kind anew at once, the best two places together: what is put first may stand for
    /// two, and stay between them.
    fn split(&self, state: &mut State, enough: &dyn Fn(&State) -> bool) -> Result<()> {
        for kind in self.kinds.iter().filter(|k| k.has_places) {
            let single = |a: &Atom| a.columns.len() == 1;
            if !kind.atoms.iter().all(single) || kind.atoms.is_empty() {
                continue;
            }
            let n = kind.terms.len();
            let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| [i, j]));
            // Those put last explain least.
            for [i, j] in pairs.collect::<Vec<_>>().into_iter().rev().take(MOST_PAIRS) {
                if enough(state) {
                    return Ok(());
                }
                let pair = [kind.terms[i], kind.terms[j]];
                let basis = self.basis(state, &pair)?;
                let mut atoms: Vec<(f64, &Atom)> = kind
                    .atoms
                    .iter()
                    .map(|atom| (basis.fall(&atom.columns[0]).0, atom))
                    .collect();
                atoms.sort_by(|a, b| b.0.total_cmp(&a.0));
                atoms.truncate(PAIRED);
                let mut without = state.clone();
                pair.iter().for_each(|&t| without.placed[t] = false);
                let (low, high) = self.factors(pair[0], &without);
                let allowed = |x: f64| x >= 0.0 || low < 0.0;
                let allowed = |x: f64| allowed(x) && (x <= 0.0 || high > 0.0);
                let columns: Vec<&[f64]> =
                    atoms.iter().map(|a| a.1.columns[0].as_slice()).collect();
                let Some((_, both)) = basis.best_pair(&columns, &allowed) else {
                    continue;
                };
                let mut other = state.clone();
                for (&t, at) in pair.iter().zip(both) {
                    let own = &self.structure.terms[t].nonlinear;
                    own.iter()
                        .zip(&atoms[at].1.beta)
                        .for_each(|(&k, x)| other.theta[k] = *x);
                }
                self.polish(&mut other)?;
                if other.cost < (1.0 - CHANGE) * state.cost {
                    *state = other;
                }
            }
        }
        Ok(())
    }

    /// The basis of what is placed, but for some terms.
    fn basis(&self, state: &State, but: &[usize]) -> Result<Basis> {
        let (columns, response) = self.rows.columns(self.structure, &state.theta)?;
        let mut basis = Basis::new(&response);
        for k in self.columns(&state.placed, but) {
            basis.push(&columns[k]);
        }
        Ok(basis)
    }

    /// The columns of no term, and those of the terms that are placed.
    fn columns(&self, placed: &[bool], but: &[usize]) -> Vec<usize> {
        let absent = |k: &usize| {
            let of = self
                .structure
                .terms
                .iter()
                .position(|t| t.columns.contains(k));
            of.is_some_and(|t| !placed[t] || but.contains(&t))
        };
        (0..self.structure.linear.len())
            .filter(|k| !absent(k))
            .collect()
    }

    /// What explains most of what `basis` leaves, for `term`, which is of `kind`.
    fn candidate(
        &self,
        kind: &Kind,
        term: usize,
        basis: &Basis,
        state: &State,
    ) -> Result<Vec<(f64, Values)>> {
        let of = &self.structure.terms[term];
        if let Some(waves) = &of.waves {
            let inner = waves.inner.map(|i| [Some(i.frequency), i.phase]);
            let known = |k: usize| {
                k == waves.frequency
                    || waves.columns.iter().any(|c| c.1 == Some(k))
                    || inner.is_some_and(|own| own.contains(&Some(k)))
            };
            let search = waves::Search {
                waves,
                rows: &self.rows,
                bounds: &self.plan.bounds,
                trials: Trials::new(of, &self.rows, self.ranges, |k| !self.given[k] && !known(k)),
                given: &self.given,
            };
            return Ok(search.best(basis, &state.theta)?.into_iter().collect());
        }
        let factors = self.factors(term, state);
        let fall = |atom: &Atom| match &atom.columns[..] {
            [one] => {
                let (fall, sign) = basis.fall(one);
                let (low, high) = factors;
                let inside = !(low >= 0.0 && sign < 0.0 || high <= 0.0 && sign > 0.0);
                if inside { fall } else { 0.0 }
            }
            all => {
                let all: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
                basis.gain(&all).fall
            }
        };
        let mut all: Vec<(f64, &Atom)> = kind.atoms.iter().map(|a| (fall(a), a)).collect();
        all.retain(|a| a.0 > 0.0);
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Of many parameters the best of a coarse net need not lead to the minimum.
        let most = if of.nonlinear.len() > 2 { OTHERS } else { 1 };
        let mut apart: Vec<(f64, &Atom)> = Vec::new();
        for (fall, atom) in all {
            if apart.len() == most {
                break;
            }
            if apart.iter().all(|(_, other)| !atom.resembles(other)) {
                apart.push((fall, atom));
            }
        }
        let values = |atom: &Atom| {
            let own = of.nonlinear.iter().copied();
            own.zip(atom.beta.iter().copied()).collect()
        };
        Ok(apart
            .iter()
            .map(|(fall, atom)| (*fall, values(atom)))
            .collect())
    }

    /// Puts `term` at the best of `values`, each with what is placed already fitted for some steps.
    fn place(&self, state: &State, term: usize, values: &[(f64, Values)]) -> Result<State> {
        let mut best: Option<State> = None;
        for (_, values) in values {
            let mut next = state.clone();
            next.placed[term] = true;
            put(&mut next.theta, values);
            self.polish(&mut next)?;
            if best.as_ref().is_none_or(|b| next.cost < b.cost) {
                best = Some(next);
            }
        }
        Ok(best.unwrap_or_else(|| state.clone()))
    }

    /// Bounds of the first factor of `term`: those of its parameter, and the side where the others of its
    /// kind are.
    fn factors(&self, term: usize, state: &State) -> (f64, f64) {
        let first = |t: usize| self.structure.linear[self.structure.terms[t].columns[0]];
        let k = first(term);
        let (low, high) = (self.plan.bounds.lower[k], self.plan.bounds.upper[k]);
        let kind = self.kinds.iter().find(|kind| kind.terms.contains(&term));
        let alike = kind.filter(|kind| state.order.one_sign && !kind.atoms.is_empty());
        let alike = alike.map_or(&[][..], |kind| &kind.terms);
        let own = |t: &&usize| **t != term && state.placed[**t] && state.theta[first(**t)] != 0.0;
        let largest = alike.iter().filter(own).map(|&t| state.theta[first(t)]);
        let largest = largest.max_by(|a, b| a.abs().total_cmp(&b.abs()));
        match (largest, self.structure.terms[term].columns.len()) {
            (Some(x), 1) if x > 0.0 => (low.max(0.0), high.max(0.0)),
            (Some(x), 1) if x < 0.0 => (low.min(0.0), high.min(0.0)),
            _ => (low, high),
        }
    }

    /// Each term with a place or a wave that explains no more than the best of as many candidates does of noise.
    fn unseen(&self, state: &State) -> Result<Vec<Unseen>> {
        let mut out = Vec::new();
        let whole = self.basis(state, &[])?.cost();
        let dof = self.rows.n().saturating_sub(state.theta.len()).max(1);
        for (t, term) in self.structure.terms.iter().enumerate() {
            let fixed = term.nonlinear.iter().all(|&k| self.given[k]);
            let without = self.basis(state, &[t])?.cost();
            let chance = BY_CHANCE * whole / dof as f64;
            let found = !term.places.is_empty() || term.waves.is_some();
            if found && !fixed && without - whole < chance {
                let factors = term.columns.iter().map(|&c| self.structure.linear[c]);
                out.push(Unseen {
                    factors: factors.collect(),
                    shape: term.nonlinear.clone(),
                });
            }
        }
        Ok(out)
    }

    fn trials(&self, term: &crate::formula::Term) -> Trials {
        Trials::new(term, &self.rows, self.ranges, |k| !self.given[k])
    }
}
