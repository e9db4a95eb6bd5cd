//! Starts of curves that are sums of terms: each term is put where it explains most of what the others leave,
//! linear parameters being solved for, and what is there is fitted before the next.
//!
//! Peaks, steps and the like are tried at places along the predictor and in many widths; waves have their
//! frequencies from a periodogram. The terms of one kind share one dictionary of columns: matching pursuit
//! (Mallat and Zhang 1993) by variable projection (Golub and Pereyra 1973).

mod basis;
mod periodogram;
mod rows;
mod trials;
mod waves;

use super::options::Options;
use super::plan::Plan;
use super::problem::Problem;
use crate::formula::{Programs, Structure};
use crate::method::{Bounds, Limits, Moments, Next, Objective, Progress, lm};
use crate::pass::Table;
use basis::Basis;
use fitzroy::Result;
use rows::Rows;
use trials::{Trials, Values};
use waves::put;

/// Times the variance of the noise up to which a row's share of the cost shows that nothing is missing.
const NEAR_NOISE: f64 = 1.25;
/// Times that each term is put anew beside the others.
const SWEEPS: usize = 2;
/// Pairs of terms that are put anew together, and the best atoms of which each two are tried.
const MOST_PAIRS: usize = 10;
const PAIRED: usize = 100;
/// A change of the cost that counts.
const CHANGE: f64 = 1e-6;

/// What a search found.
pub(super) struct Found {
    /// All free parameters.
    pub(super) theta: Vec<f64>,
    /// True where what is left looks like the noise between neighbours.
    pub(super) explains_all: bool,
}

/// Terms of one kind, with what was tried for them.
struct Kind {
    terms: Vec<usize>,
    atoms: Vec<Atom>,
    has_places: bool,
}

/// Values of the parameters of a term that are not linear, in its order, and the columns there.
struct Atom {
    beta: Vec<f64>,
    columns: Vec<Vec<f64>>,
}

/// A search for the start of one fit.
pub(super) struct Search<'a> {
    plan: &'a Plan,
    /// Least squares of the curve.
    plain: &'a Programs,
    structure: &'a Structure,
    rows: Rows,
    ranges: &'a [(f64, f64)],
    /// Parameters with values that are not to change.
    given: Vec<bool>,
    response: Vec<f64>,
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

/// Starts of the curve on `table`, best first; none where the curve has no terms with places or waves.
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
    let whole = terms.iter().any(|t| t.waves.is_some()) || jumps;
    let n_x = plan.roles.predictors.len();
    let rows = Rows::new(table, n_x, 2 * plan.free.len() + 1, whole, options.seed)?;
    // Where nothing is known yet a value must do that has a column.
    let middle = |k: usize| super::start::spread(ranges[k], 0.5);
    let theta: Vec<f64> = (0..theta.len())
        .map(|k| if given[k] { theta[k] } else { middle(k) })
        .collect();
    let (_, response) = rows.columns(structure, &theta)?;
    let mut search = Search {
        plan,
        plain,
        structure,
        ranges,
        given: given.to_vec(),
        response,
        limits: Limits {
            xtol: 1e-4,
            ftol: 1e-7,
            max_evaluations: 30,
            ..options.limits
        },
        rows,
        kinds: Vec::new(),
    };
    search.kinds = search.kinds(&theta)?;
    search.run(&theta)
}

impl Search<'_> {
    fn run(&self, theta: &[f64]) -> Result<Option<Found>> {
        let noise = self.rows.noise(&self.response) * self.rows.n() as f64;
        let enough = |state: &State| state.cost <= NEAR_NOISE * noise;
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
        Ok(best.cost.is_finite().then(|| Found {
            explains_all: enough(&best),
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
            let mut best: Option<(f64, usize, Values)> = None;
            let waiting = |kind: &&Kind| kind.terms.iter().any(|&t| !state.placed[t]);
            let slow = self.kinds.iter().filter(waiting).any(|k| !k.has_places);
            for kind in self.kinds.iter().filter(waiting) {
                if order.slow_first && slow && kind.has_places {
                    continue;
                }
                let next = kind.terms.iter().find(|&&t| !state.placed[t]);
                let &term = next.expect("one waits");
                if let Some((fall, values)) = self.candidate(kind, term, &basis, &state)?
                    && best.as_ref().is_none_or(|b| fall > b.0)
                {
                    best = Some((fall, term, values));
                }
            }
            let Some((_, term, values)) = best else {
                break;
            };
            state.placed[term] = true;
            put(&mut state.theta, &values);
            self.polish(&mut state)?;
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
                    let Some((_, values)) = found else {
                        continue;
                    };
                    let mut other = state.clone();
                    put(&mut other.theta, &values);
                    self.polish(&mut other)?;
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
    ) -> Result<Option<(f64, Values)>> {
        let of = &self.structure.terms[term];
        if let Some(waves) = &of.waves {
            let known =
                |k: usize| k == waves.frequency || waves.columns.iter().any(|c| c.1 == Some(k));
            let search = waves::Search {
                waves,
                rows: &self.rows,
                bounds: &self.plan.bounds,
                trials: Trials::new(of, &self.rows, self.ranges, |k| !self.given[k] && !known(k)),
                given: &self.given,
            };
            return search.best(basis, &state.theta);
        }
        let factors = self.factors(term, state);
        let mut best = (0.0, None);
        for atom in &kind.atoms {
            let fall = match &atom.columns[..] {
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
            if fall > best.0 {
                best = (fall, Some(atom));
            }
        }
        let values = |atom: &Atom| {
            of.nonlinear
                .iter()
                .copied()
                .zip(atom.beta.iter().copied())
                .collect()
        };
        Ok(best.1.map(|atom| (best.0, values(atom))))
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

    /// Fits what is placed, for a few steps.
    fn polish(&self, state: &mut State) -> Result<()> {
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

    /// Puts places at which the curve jumps between the two neighbours where the cost is least.
    fn jump(&self, state: &mut State) -> Result<()> {
        let all: Vec<Trials> = self
            .structure
            .terms
            .iter()
            .map(|t| self.trials(t))
            .collect();
        let anchors: Vec<_> = all
            .iter()
            .flat_map(|t| &t.anchors)
            .filter(|a| a.jumps())
            .collect();
        for _ in 0..3 {
            let mut moved = false;
            for anchor in &anchors {
                let known: Values = state.theta.iter().copied().enumerate().collect();
                let mut best = (state.cost, None);
                for values in anchor.at(&anchor.middles(&self.rows, usize::MAX), &known) {
                    let mut other = state.clone();
                    put(&mut other.theta, &values);
                    let cost = self.basis(&other, &[])?.cost();
                    if cost < (1.0 - 1e-12) * best.0 {
                        best = (cost, Some(other.theta));
                    }
                }
                if let (cost, Some(theta)) = best {
                    (state.cost, state.theta, moved) = (cost, theta, true);
                }
            }
            if !moved {
                break;
            }
            self.polish(state)?;
        }
        Ok(())
    }

    fn trials(&self, term: &crate::formula::Term) -> Trials {
        Trials::new(term, &self.rows, self.ranges, |k| !self.given[k])
    }

    /// Terms by kind, with dictionaries.
    fn kinds(&self, theta: &[f64]) -> Result<Vec<Kind>> {
        let mut kinds: Vec<Kind> = Vec::new();
        for (t, term) in self.structure.terms.iter().enumerate() {
            let mut same = None;
            for (at, kind) in kinds.iter().enumerate() {
                if self.alike(kind.terms[0], t, theta)? {
                    same = Some(at);
                    break;
                }
            }
            match same {
                Some(at) => kinds[at].terms.push(t),
                None => kinds.push(Kind {
                    terms: vec![t],
                    atoms: Vec::new(),
                    has_places: !term.places.is_empty() || term.waves.is_some(),
                }),
            }
        }
        for kind in &mut kinds {
            if self.structure.terms[kind.terms[0]].waves.is_none() {
                kind.atoms = self.atoms(&kind.terms, theta)?;
            }
        }
        Ok(kinds)
    }

    /// Whether two terms have the same columns at the same values, of the same range.
    fn alike(&self, a: usize, b: usize, theta: &[f64]) -> Result<bool> {
        let (one, other) = (&self.structure.terms[a], &self.structure.terms[b]);
        let both = || one.nonlinear.iter().zip(&other.nonlinear);
        let bounds = &self.plan.bounds;
        let shape = one.columns.len() == other.columns.len()
            && one.nonlinear.len() == other.nonlinear.len()
            && both().all(|(&j, &k)| !self.given[j] && !self.given[k])
            && both().all(|(&j, &k)| {
                bounds.lower[j] == bounds.lower[k] && bounds.upper[j] == bounds.upper[k]
            })
            && one.waves.is_some() == other.waves.is_some();
        if !shape {
            return Ok(false);
        }
        for u in [0.37, 0.61] {
            let mut at = theta.to_vec();
            for (&j, &k) in both() {
                let x = super::start::spread(self.ranges[j], u);
                (at[j], at[k]) = (x, x);
            }
            let (columns, _) = self.rows.columns(self.structure, &at)?;
            let pairs = one.columns.iter().zip(&other.columns);
            if pairs.into_iter().any(|(&j, &k)| columns[j] != columns[k]) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The dictionary of `terms`, which are of one kind: as many values at once as there are terms.
    fn atoms(&self, terms: &[usize], theta: &[f64]) -> Result<Vec<Atom>> {
        let first = &self.structure.terms[terms[0]];
        let trials = self.trials(first);
        let mut failed = Ok(());
        let mut width = |values: &Values| {
            let mut at = theta.to_vec();
            put(&mut at, values);
            match self.rows.columns(self.structure, &at) {
                Ok((columns, _)) => covered(&columns[first.columns[0]]),
                Err(e) => {
                    failed = Err(e);
                    1.0
                }
            }
        };
        let all = trials.all(&self.rows, &mut width);
        failed?;
        let mut atoms = Vec::with_capacity(all.len());
        for some in all.chunks(terms.len()) {
            let mut at = theta.to_vec();
            for (&t, values) in terms.iter().zip(some) {
                let own = &self.structure.terms[t].nonlinear;
                for (k, x) in values {
                    let place = first.nonlinear.iter().position(|f| f == k);
                    let k = own[place.expect("a parameter of the term")];
                    at[k] = self.plan.bounds.clip(k, *x);
                }
            }
            let (columns, _) = self.rows.columns(self.structure, &at)?;
            for (&t, _) in terms.iter().zip(some) {
                let term = &self.structure.terms[t];
                let own: Vec<Vec<f64>> = term.columns.iter().map(|&k| columns[k].clone()).collect();
                if own.iter().flatten().all(|x| x.is_finite()) {
                    atoms.push(Atom {
                        beta: term.nonlinear.iter().map(|&k| at[k]).collect(),
                        columns: own,
                    });
                }
            }
        }
        Ok(atoms)
    }
}

/// Which part of the rows a column covers: (Σφ²)²/(n Σφ⁴).
fn covered(column: &[f64]) -> f64 {
    let squares: f64 = column.iter().map(|x| x * x).sum();
    let fourths: f64 = column.iter().map(|x| x.powi(4)).sum();
    let part = squares * squares / (column.len() as f64 * fourths);
    if part.is_finite() {
        part
    } else {
        1.0 / column.len() as f64
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
