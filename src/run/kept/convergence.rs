//! How far the chains agree so far: cheap enough to say while they run.

use crate::diagnose::{Chains, Ess, ess, rhat};
use crate::draws::{Column, Group};

/// Numbers looked at, at most: about a tenth of a second of work.
const NUMBERS: usize = 1_500_000;

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

/// Looks at the first group (the posterior or the prior) of all parts together; none below ten
/// draws.
pub(super) fn convergence(parts: &[&[Group]]) -> Option<Convergence> {
    let firsts: Vec<&Group> = parts.iter().filter_map(|groups| groups.first()).collect();
    let model = firsts.last()?;
    let variable = model.variables.first()?;
    let n_chains = variable.shape[0];
    let n_draws: usize = firsts.iter().map(|g| g.variables[0].shape[1]).sum();
    let elements = model
        .variables
        .iter()
        .flat_map(|v| (0..v.elements()).map(|e| (v, e)));
    let elements: Vec<_> = elements.collect();
    if n_draws < 10 || elements.is_empty() {
        return None;
    }
    let wanted = (NUMBERS / (n_chains * n_draws)).clamp(1, elements.len());
    let (mut min_ess_bulk, mut max_rhat) = (f64::NAN, f64::NAN);
    for k in 0..wanted {
        let (variable, element) = elements[k * elements.len() / wanted];
        let mut draws = Vec::with_capacity(n_chains * n_draws);
        for chain in 0..n_chains {
            for group in &firsts {
                let part = group.variable(&variable.name)?;
                let Column::Real(values) = &part.values else {
                    continue;
                };
                let (n, stride) = (part.shape[1], part.elements());
                let rows = (chain * n..(chain + 1) * n).map(|row| values[row * stride + element]);
                draws.extend(rows);
            }
        }
        if draws.len() != n_chains * n_draws {
            continue;
        }
        let x = Chains::new(&draws, n_chains, n_draws);
        if draws.iter().all(|&v| v == draws[0]) {
            continue;
        }
        // NaN gives way to the first number and stays out after it.
        min_ess_bulk = ess(x, Ess::Bulk).min(min_ess_bulk);
        max_rhat = rhat(x).max(max_rhat);
    }
    Some(Convergence {
        n_draws,
        n_elements: wanted,
        min_ess_bulk,
        max_rhat,
    })
}
