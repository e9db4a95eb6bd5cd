//! Where the fits of a batch begin.

use super::{Batch, Groups};
use crate::fit::{Options, Plan, falls_short, fit_table};
use crate::formula::Structure;
use crate::library::Sample;
use crate::method::Next;
use crate::pass::Columns;
use fitzroy::Result;

/// Where every fit begins.
pub(super) struct Starts {
    p: usize,
    /// Free parameters, of one fit after the other, or the same for all.
    values: Vec<f64>,
}

impl Starts {
    /// That of fit `k`.
    pub(super) fn of(&self, k: usize) -> &[f64] {
        let own = self.values.get(k * self.p..(k + 1) * self.p);
        own.unwrap_or(&self.values[..self.p])
    }
}

/// Starting values of every fit: given, by the rule of the built-in curve for each, or those of
/// the first fit that can be started, for all.
pub(super) fn starts(
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
) -> Result<Starts> {
    let (n, p) = (groups.len(), plan.free.len());
    let mut common = vec![f64::NAN; p];
    for (name, x) in &options.p0 {
        if let Some(k) = (0..p).find(|&k| plan.name(k) == name) {
            common[k] = *x;
        }
    }
    let entry = plan.formula.builtin().and_then(|b| b.entry);
    if let (Some(entry), true) = (entry, common.iter().any(|x| x.is_nan())) {
        let n_x = plan.roles.predictors.len();
        let mut values = Vec::with_capacity(n * p);
        for k in 0..n {
            let rows: Vec<usize> = groups.rows(k).iter().map(|&r| r as usize).collect();
            let own = table.take(&rows);
            let x: Vec<Vec<f64>> = (0..n_x).map(|c| own.column(c).to_vec()).collect();
            let found = (entry.start)(&Sample::new(x, own.column(n_x).to_vec()));
            for (a, given) in common.iter().enumerate() {
                let at = entry
                    .parameters
                    .iter()
                    .position(|name| *name == plan.name(a));
                let own = at.map_or(1.0, |at| found[at]);
                let own = if own.is_finite() { own } else { 1.0 };
                values.push(
                    plan.bounds
                        .clip(a, if given.is_nan() { own } else { *given }),
                );
            }
        }
        return Ok(Starts { p, values });
    }
    if common.iter().any(|x| x.is_nan()) {
        for k in 0..n {
            let rows: Vec<usize> = groups.rows(k).iter().map(|&r| r as usize).collect();
            if rows.len() <= p {
                continue;
            }
            let own = table.take(&rows);
            if let Ok(found) = fit_table(plan, &own, options, &mut |_| Next::Continue)
                && found.converged()
            {
                common.copy_from_slice(&found.popt);
                break;
            }
        }
        for x in &mut common {
            *x = if x.is_nan() { 1.0 } else { *x };
        }
    }
    let values = common.iter().enumerate();
    let values = values.map(|(k, &x)| plan.bounds.clip(k, x)).collect();
    Ok(Starts { p, values })
}

/// Which fits are to be started by a search of their own: those that began elsewhere, by the start of
/// another, and leave more than the noise between their rows.
pub(super) fn searched(
    plan: &Plan,
    table: &Columns<'_>,
    groups: &Groups,
    options: &Options,
    batch: &Batch,
) -> Result<Vec<bool>> {
    let given = |name: &String| options.p0.iter().any(|(given, _)| given == name);
    let structure = || plan.programs.structure();
    // Built-in curves have rules for each fit, but for waves.
    let ruled = plan.formula.builtin().is_some_and(|b| b.entry.is_some());
    let suits = |s: &Structure| s.is_searched() && (!ruled || s.has_waves());
    let any = !batch.names.iter().all(given) && structure().is_some_and(suits);
    let one = |k: usize| {
        if !any || groups.n_rows(k) <= batch.names.len() {
            return Ok(false);
        }
        let rows: Vec<usize> = groups.rows(k).iter().map(|&r| r as usize).collect();
        let fails = !batch.status[k].converged();
        Ok(fails || falls_short(plan, &table.take(&rows), batch.cost[k])?)
    };
    (0..groups.len()).map(one).collect()
}
