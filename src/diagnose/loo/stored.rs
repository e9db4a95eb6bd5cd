//! The same cross-validation of draws that stay on the disk, some observations at a time.

use super::super::summary::{gather, group_of_draws};
use super::super::threads::on_threads;
use super::psis::Psis;
use super::{
    Loo, Pointwise, calibrated, conclude, effective_size, enough_draws, likelihood_of, loo,
    loo_pit, mean_efficiency, pit, pointwise, reals,
};
use crate::draws::{Opened, Stored, Trace, Variable};
use crate::{Error, ErrorKind, Result};

/// [`loo`] of a trace that may stay on the disk: the same numbers. Memory does not hold more than
/// the draws of some elements.
///
/// # Errors
/// Those of [`loo`], and of reading.
pub fn loo_opened(opened: &Opened, variable: Option<&str>, threads: usize) -> Result<Loo> {
    let stored = match opened {
        Opened::Whole(trace) => return loo(trace, variable, threads),
        Opened::Stored(stored) => stored,
    };
    let outline = stored.outline()?;
    let (group, likelihood) = likelihood_of(&outline, variable)?;
    let size = likelihood.shape[0] * stored.n_draws_of(group)?;
    enough_draws(size)?;
    let r_eff = efficiency(stored, &outline, threads)?;
    let unknown = Pointwise {
        elpd: f64::NAN,
        p: f64::NAN,
        k: f64::NAN,
    };
    let mut found = vec![unknown; likelihood.elements()];
    stored.columns(&group.name, &likelihood.name, &mut |elements, part| {
        let one = |psis: &mut Psis, k: usize| pointwise(psis, &column(&part, k), r_eff);
        let own = on_threads(elements.len(), threads, Psis::default, one);
        for (&element, own) in elements.iter().zip(own) {
            found[element] = own;
        }
    })?;
    Ok(conclude(&outline, likelihood, found, size, r_eff))
}

/// [`loo_pit`] of a trace that may stay on the disk, as [`loo_opened`].
///
/// # Errors
/// Those of [`loo_pit`], and of reading.
pub fn loo_pit_opened(opened: &Opened, variable: Option<&str>, threads: usize) -> Result<Vec<f64>> {
    let stored = match opened {
        Opened::Whole(trace) => return loo_pit(trace, variable, threads),
        Opened::Stored(stored) => stored,
    };
    let outline = stored.outline()?;
    let (likelihood, _, observed) = calibrated(&outline, variable)?;
    let name = likelihood.name.as_str();
    let r_eff = efficiency(stored, &outline, threads)?;
    let values = reals(&observed.values);
    let mut found = vec![f64::NAN; values.len()];
    for block in stored.blocks("log_likelihood", name)? {
        let read = |group: &str| -> Result<Variable> {
            stored.block(group, name, &block)?.ok_or_else(|| {
                let message = format!("`{name}` of `{group}` does not hold numbers");
                Error::new(ErrorKind::Data, message)
            })
        };
        let (likelihoods, replicates) = (read("log_likelihood")?, read("posterior_predictive")?);
        let one = |psis: &mut Psis, k: usize| {
            let (l, r) = (column(&likelihoods, k), column(&replicates, k));
            pit(psis, r_eff, &l, &r, values[block.elements[k]])
        };
        let own = on_threads(block.elements.len(), threads, Psis::default, one);
        for (&element, own) in block.elements.iter().zip(own) {
            found[element] = own;
        }
    }
    Ok(found)
}

/// All draws of the `k`-th element of a part, chain after chain.
fn column(part: &Variable, k: usize) -> Vec<f64> {
    gather(part, k, k + 1).pop().unwrap_or_default()
}

/// As `relative_efficiency` of a trace in memory, in the same order.
fn efficiency(stored: &Stored, outline: &Trace, threads: usize) -> Result<f64> {
    let group = group_of_draws(outline, "posterior")?;
    let n_chains = group.variables.first().map_or(0, |v| v.shape[0]);
    let n_draws = stored.n_draws_of(group)?;
    if n_chains < 2 {
        return Ok(1.0);
    }
    let mut sizes = Vec::new();
    for v in &group.variables {
        let mut own = vec![f64::NAN; v.elements()];
        stored.columns(&group.name, &v.name, &mut |elements, part| {
            let one = |(): &mut (), k: usize| effective_size(&column(&part, k), n_chains, n_draws);
            let found = on_threads(elements.len(), threads, || (), one);
            for (&element, size) in elements.iter().zip(found) {
                own[element] = size;
            }
        })?;
        sizes.extend(own);
    }
    Ok(mean_efficiency(sizes, n_chains * n_draws))
}
