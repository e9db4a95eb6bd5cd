//! How far the chains agree so far: cheap enough to say while they run.

use crate::diagnose::{Chains, Ess, ess, rhat};
use crate::draws::{Column, Group};

/// Numbers looked at, at most: some hundredths of a second of work.
const NUMBERS: usize = 400_000;
/// Draws per chain of an element above which every second one goes.
const MOST_DRAWS: usize = 20_000;
/// Elements looked at, at least.
const FEWEST: usize = 4;

/// The chains at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convergence {
    /// Draws per chain.
    pub n_draws: usize,
    /// Elements looked at, spread evenly where there are many.
    pub n_elements: usize,
    /// Smallest bulk ESS among them.
    pub min_ess_bulk: f64,
    /// Largest R-hat among them.
    pub max_rhat: f64,
}

/// Is told how far the chains agree.
pub trait Live: Sync {
    /// Called after every publication, from the thread that writes.
    fn show(&self, convergence: &Convergence);
}

/// Draws of some elements of the first group (the posterior or the prior), evenly chosen where
/// there are many, and thinned where there are many draws.
pub(super) struct Watched {
    /// Draws per chain that are expected.
    expected: usize,
    /// Draws per chain so far, and of how many one is kept.
    n_draws: usize,
    every: usize,
    elements: Vec<Element>,
}

/// One element: its variable, its position there, its draws by chain.
struct Element {
    variable: String,
    at: usize,
    chains: Vec<Vec<f64>>,
}

impl Watched {
    /// Of a run of `expected` draws per chain.
    pub(super) fn new(expected: usize) -> Self {
        Watched {
            expected,
            n_draws: 0,
            every: 1,
            elements: Vec::new(),
        }
    }

    /// Takes in the next draws.
    pub(super) fn take(&mut self, groups: &[Group]) {
        let Some(group) = groups.first() else { return };
        let Some(n) = group.variables.first().map(|v| v.shape[1]) else {
            return;
        };
        if self.elements.is_empty() {
            self.choose(group);
        }
        for element in &mut self.elements {
            let variable = group.variable(&element.variable);
            let Some((variable, Column::Real(values))) = variable.map(|v| (v, &v.values)) else {
                continue;
            };
            let stride = variable.elements();
            for (chain, draws) in element.chains.iter_mut().enumerate() {
                let mine = (0..n).filter(|draw| (self.n_draws + draw).is_multiple_of(self.every));
                draws.extend(mine.map(|draw| values[(chain * n + draw) * stride + element.at]));
            }
        }
        self.n_draws += n;
        while self.n_draws / self.every > MOST_DRAWS {
            self.every *= 2;
            for draws in self.elements.iter_mut().flat_map(|e| &mut e.chains) {
                let kept = draws.iter().copied().step_by(2).collect();
                *draws = kept;
            }
        }
    }

    fn choose(&mut self, group: &Group) {
        let n_chains = group.variables[0].shape[0];
        let all = group
            .variables
            .iter()
            .flat_map(|v| (0..v.elements()).map(move |e| (v, e)));
        let all: Vec<_> = all.collect();
        let draws = self.expected.clamp(1, MOST_DRAWS);
        let wanted = (NUMBERS / (n_chains * draws).max(1)).max(FEWEST);
        let wanted = wanted.min(all.len());
        let chosen = (0..wanted).map(|k| all[k * all.len() / wanted]);
        let element = |(variable, at): (&crate::draws::Variable, usize)| Element {
            variable: variable.name.clone(),
            at,
            chains: vec![Vec::new(); n_chains],
        };
        self.elements = chosen.map(element).collect();
    }

    /// How the chains stand; none below ten draws.
    pub(super) fn convergence(&self) -> Option<Convergence> {
        if self.n_draws < 10 {
            return None;
        }
        let (mut min_ess_bulk, mut max_rhat) = (f64::NAN, f64::NAN);
        for element in &self.elements {
            let draws = element.chains.concat();
            if draws.iter().all(|&v| v == draws[0]) {
                continue;
            }
            let n_chains = element.chains.len();
            let x = Chains::new(&draws, n_chains, draws.len() / n_chains);
            // NaN gives way to the first number and stays out after it.
            min_ess_bulk = ess(x, Ess::Bulk).min(min_ess_bulk);
            max_rhat = rhat(x).max(max_rhat);
        }
        Some(Convergence {
            n_draws: self.n_draws,
            n_elements: self.elements.len(),
            min_ess_bulk,
            max_rhat,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::Variable;

    /// Draws `from..to` of two chains: an element that alternates, and one that does not change.
    fn block(from: usize, to: usize) -> Group {
        let value = |chain: usize, draw: usize| {
            let mixed = ((chain * 1_000_003 + draw) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed >> 11) as f64
        };
        let rows = (0..2).flat_map(|c| (from..to).flat_map(move |d| [value(c, d), 1.0]));
        Group {
            name: "posterior".into(),
            variables: vec![Variable {
                name: "x".into(),
                dims: ["chain", "draw", "k"].map(String::from).to_vec(),
                shape: vec![2, to - from, 2],
                values: Column::Real(rows.collect()),
            }],
            attributes: Vec::new(),
        }
    }

    #[test]
    fn what_is_watched_is_what_the_diagnostics_say_however_it_came() {
        let (mut once, mut often) = (Watched::new(500), Watched::new(500));
        once.take(&[block(0, 500)]);
        assert_eq!(often.convergence(), None);
        for from in (0..500).step_by(50) {
            often.take(&[block(from, from + 50)]);
        }
        let found = once.convergence();
        assert_eq!(found, often.convergence());
        let found = found.expect("five hundred draws");
        let all = block(0, 500);
        let Column::Real(values) = &all.variables[0].values else {
            panic!("reals");
        };
        let x: Vec<f64> = values.iter().copied().step_by(2).collect();
        let x = Chains::new(&x, 2, 500);
        assert_eq!(found.min_ess_bulk, ess(x, Ess::Bulk));
        assert_eq!(found.max_rhat, rhat(x));
    }

    #[test]
    fn very_many_draws_are_thinned() {
        let mut watched = Watched::new(usize::MAX);
        for from in (0..100_000).step_by(10_000) {
            watched.take(&[block(from, from + 10_000)]);
        }
        let kept = watched.elements[0].chains[1].len();
        assert!((10_000..=20_000).contains(&kept), "{kept}");
        let found = watched.convergence().expect("many draws");
        assert_eq!((found.n_draws, found.n_elements), (100_000, 2));
        assert!(
            found.min_ess_bulk > 5_000.0 && found.max_rhat < 1.01,
            "{found:?}"
        );
    }
}
