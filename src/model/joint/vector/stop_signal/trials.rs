//! Trials, the arguments they look up, and groups of trials that share a formula.

use super::super::super::build::Build;
use super::super::super::observed::Observed;
use super::super::site::{Site, lit};
use crate::Result;
use crate::dist::Real;
use crate::model::Content;
use fitzroy_graph::{DimId, Expr as Value};
use std::collections::HashMap;

/// Delays that agree to this, in seconds, are the same.
const SAME_DELAY: f64 = 1e-6;

/// An argument of the model: one number, one for each element of another dim, or one a trial.
enum Source<'g> {
    One(Value<'g>),
    By(Value<'g>, DimId, String),
    Each(Value<'g>),
}

/// The trials and the arguments that are parameters.
pub(super) struct Trials<'g> {
    tag: String,
    dim: DimId,
    pub(super) rt: Vec<f64>,
    pub(super) ssd: Vec<f64>,
    sources: Vec<Source<'g>>,
    /// What two trials must share to share all parameters.
    key: Vec<u32>,
    positions: HashMap<String, Vec<u32>>,
}

/// Some trials, or cells of trials that are alike.
pub(super) struct Group {
    pub(super) tag: String,
    pub(super) dim: DimId,
    /// A trial of each.
    pub(super) first: Vec<usize>,
    /// How many trials each stands for.
    counts: Vec<f64>,
    /// The element of each trial that has one here.
    of_trial: Vec<(usize, u32)>,
}

/// What has been added up: the sum, and each group's densities.
pub(super) struct Done<'g> {
    pub(super) sum: Value<'g>,
    groups: Vec<(Group, Value<'g>)>,
}

impl Default for Done<'_> {
    fn default() -> Self {
        Done {
            sum: lit(0.0),
            groups: Vec::new(),
        }
    }
}

/// ln p of the elements of a group as parts whose sums are taken one by one.
pub(super) type Parts<'g> = Vec<Value<'g>>;

impl<'g> Done<'g> {
    pub(super) fn add(
        &mut self,
        b: &Build<'_, 'g>,
        group: Option<Group>,
        density: impl FnOnce(&Build<'_, 'g>, &Group) -> Parts<'g>,
    ) {
        let Some(group) = group else { return };
        let dims = [group.dim];
        let parts = density(b, &group);
        let parts = parts.into_iter().map(|p| p.broadcast(b.scope, &dims));
        let parts: Vec<Value<'g>> = parts.collect();
        let each = parts.iter().copied().reduce(|x, y| x + y);
        let each = each.expect("a density has a part");
        let alone = group.counts.iter().all(|&n| n == 1.0);
        let sums = match alone {
            true => parts,
            false => vec![
                each * b
                    .scope
                    .bound_data(&format!("{}: n", group.tag), &dims, &group.counts),
            ],
        };
        for part in sums {
            self.sum = self.sum + part.sum_all();
        }
        self.groups.push((group, each));
    }

    /// The densities in the order of the trials.
    pub(super) fn rows(&self, b: &Build<'_, 'g>, site: &Site<'_>, trials: DimId) -> Value<'g> {
        let n = b.scope.with(|g| g.size(trials));
        let mut rows = lit(0.0).broadcast(b.scope, &[trials]);
        for (group, each) in &self.groups {
            let (mut at, mut here) = (vec![0; n], vec![0.0; n]);
            for &(trial, element) in &group.of_trial {
                (at[trial], here[trial]) = (element, 1.0);
            }
            let index = format!("{}: rows", group.tag);
            let index = b.scope.bound_index(&index, trials, group.dim, &at);
            let here = b
                .scope
                .bound_data(&format!("{}: here", group.tag), &[trials], &here);
            rows = here.select(each.gather(index), rows);
        }
        debug_assert!(!self.groups.is_empty(), "{} has trials", site.s.name);
        rows
    }
}

impl<'g> Trials<'g> {
    pub(super) fn new(
        b: &mut Build<'_, 'g>,
        site: &Site<'_>,
        observed: Observed<'_>,
        arguments: std::ops::Range<usize>,
    ) -> Result<Self> {
        let &[dim] = observed.dims else {
            let message = format!("`{}` needs one dim, of trials", site.s.distribution.name);
            return Err(b.model.error(site.s.name.span, message));
        };
        let rt = known(b, site, 0, observed.dims)?;
        let alone = arguments.start == 1;
        let ssd = match alone {
            true => vec![f64::INFINITY; rt.len()],
            false => known(b, site, 1, observed.dims)?,
        };
        let mut trials = Trials {
            tag: site.tag("trials"),
            dim,
            key: Vec::new(),
            positions: HashMap::new(),
            sources: Vec::new(),
            rt,
            ssd,
        };
        trials.check(b, observed, alone)?;
        for k in arguments {
            let value = b.given(site, k, observed.dims, observed.dims)?;
            let source = trials.source(b, value);
            trials.sources.push(source);
        }
        trials.find_key();
        Ok(trials)
    }

    fn check(&self, b: &Build<'_, '_>, observed: Observed<'_>, always: bool) -> Result<()> {
        for (i, &y) in observed.values.iter().enumerate() {
            let why = if ![0.0, 1.0, 2.0].contains(&y) || (always && y == 0.0) {
                let none = if always { "" } else { "0 (no response), " };
                format!("{y} is no outcome: use {none}1 (the right response) or 2 (the wrong one)")
            } else if y != 0.0 && !(self.rt[i] > 0.0 && self.rt[i].is_finite()) {
                format!(
                    "a response needs a time in seconds above 0; rt is {}",
                    self.rt[i]
                )
            } else if !(always || self.ssd[i] >= 0.0) {
                format!(
                    "ssd is {}; it must be 0 or more, and inf on go trials",
                    self.ssd[i]
                )
            } else {
                continue;
            };
            return Err(b.wrong_value(observed, i, &why));
        }
        Ok(())
    }

    /// Refuses responses after the deadline: their probability is that of no response.
    pub(super) fn check_deadline(
        &self,
        b: &Build<'_, '_>,
        observed: Observed<'_>,
        deadline: f64,
    ) -> Result<()> {
        // As far as rounding of units goes, a response may lie beyond.
        let end = deadline * (1.0 + 1e-12);
        let late = |i: &usize| observed.values[*i] != 0.0 && self.rt[*i] > end;
        match (0..observed.values.len()).find(late) {
            None => Ok(()),
            Some(i) => {
                let why = format!(
                    "a response after {} s, later than the deadline of {deadline} s: give outcome 0 \
                     (no response)",
                    self.rt[i]
                );
                Err(b.wrong_value(observed, i, &why))
            }
        }
    }

    /// Refuses wrong responses where nothing is there to give them.
    pub(super) fn check_single(&self, b: &Build<'_, '_>, observed: Observed<'_>) -> Result<()> {
        match observed.values.iter().position(|&y| y == 2.0) {
            None => Ok(()),
            Some(i) => {
                let why = "2 (the wrong response) needs a runner: give `error_mu`, `error_sigma` and \
                           `error_tau`, or 1 for every response";
                Err(b.wrong_value(observed, i, why))
            }
        }
    }

    fn source(&mut self, b: &Build<'_, 'g>, value: Value<'g>) -> Source<'g> {
        if value.dims().is_empty() {
            return Source::One(value);
        }
        let value = b.scope.expr(b.scope.node(value));
        let Some((core, column)) = b.split_lookup(value, &[self.dim]) else {
            return Source::Each(value);
        };
        let array = b.binding.array(&column).expect("split found the column");
        let Content::Positions { at, .. } = &array.content else {
            return Source::Each(value);
        };
        self.positions
            .entry(column.clone())
            .or_insert_with(|| at.clone());
        let target = core.dims()[0];
        Source::By(core, target, column)
    }

    /// All lookups by one column: its positions; none: one key; otherwise each trial its own.
    fn find_key(&mut self) {
        let n = self.rt.len();
        let own = self.sources.iter().any(|s| matches!(s, Source::Each(_)));
        self.key = match (own, self.positions.len()) {
            (false, 0) => vec![0; n],
            (false, 1) => self
                .positions
                .values()
                .next()
                .expect("there is one")
                .clone(),
            _ => (0..n as u32).collect(),
        };
    }

    /// Parameter `k` over a group.
    pub(super) fn arg(&self, b: &Build<'_, 'g>, group: &Group, k: usize) -> Value<'g> {
        let pick = |index: &str, value: Value<'g>, from: DimId, at: Vec<u32>| {
            let name = format!("{}: {index}", group.tag);
            let index = b.scope.bound_index(&name, group.dim, from, &at);
            value.gather(index)
        };
        match &self.sources[k] {
            Source::One(value) => value.broadcast(b.scope, &[group.dim]),
            Source::By(core, from, column) => {
                let at = &self.positions[column];
                let at = group.first.iter().map(|&i| at[i]).collect();
                pick(column, *core, *from, at)
            }
            Source::Each(value) => {
                let value = value.broadcast(b.scope, &[self.dim]);
                let at = group.first.iter().map(|&i| i as u32).collect();
                pick("trial", value, self.dim, at)
            }
        }
    }

    /// Numbers of the data over a group.
    pub(super) fn data(
        &self,
        b: &Build<'_, 'g>,
        group: &Group,
        what: &str,
        f: impl Fn(usize) -> f64,
    ) -> Value<'g> {
        let values: Vec<f64> = group.first.iter().map(|&i| f(i)).collect();
        b.scope
            .bound_data(&format!("{}: {what}", group.tag), &[group.dim], &values)
    }

    /// Response times over a group.
    pub(super) fn time(&self, b: &Build<'_, 'g>, group: &Group) -> Value<'g> {
        self.data(b, group, "rt", |i| self.rt[i])
    }

    /// Delays of the stop signal over a group.
    pub(super) fn delay(&self, b: &Build<'_, 'g>, group: &Group) -> Value<'g> {
        self.data(b, group, "ssd", |i| self.ssd[i])
    }

    /// A group of single trials, by key.
    pub(super) fn rows(&self, b: &Build<'_, 'g>, trials: &[usize], what: &str) -> Option<Group> {
        let mut first = trials.to_vec();
        first.sort_by_key(|&i| self.key[i]);
        let of_trial = first.iter().enumerate().map(|(k, &i)| (i, k as u32));
        let of_trial = of_trial.collect();
        let counts = vec![1.0; first.len()];
        self.group(b, what, first, counts, of_trial)
    }

    /// A group of cells: trials of one key and delay.
    pub(super) fn cells(&self, b: &Build<'_, 'g>, trials: &[usize], what: &str) -> Option<Group> {
        // Infinite delays become the largest number.
        let cell = |i: usize| (self.key[i], (self.ssd[i] / SAME_DELAY).round() as u64);
        let mut order = trials.to_vec();
        order.sort_by_key(|&i| cell(i));
        let (mut first, mut counts, mut of_trial) = (Vec::new(), Vec::new(), Vec::new());
        for i in order {
            match first.last() {
                Some(&last) if cell(last) == cell(i) => {
                    *counts.last_mut().expect("as many counts as cells") += 1.0;
                }
                _ => {
                    first.push(i);
                    counts.push(1.0);
                }
            }
            of_trial.push((i, first.len() as u32 - 1));
        }
        self.group(b, what, first, counts, of_trial)
    }

    fn group(
        &self,
        b: &Build<'_, 'g>,
        what: &str,
        first: Vec<usize>,
        counts: Vec<f64>,
        of_trial: Vec<(usize, u32)>,
    ) -> Option<Group> {
        let tag = format!("{}: {what}", self.tag);
        let dim = b.scope.dim(&tag, first.len());
        (!first.is_empty()).then_some(Group {
            tag,
            dim,
            first,
            counts,
            of_trial,
        })
    }
}

/// An argument that is data, over all trials.
fn known(b: &mut Build<'_, '_>, site: &Site<'_>, k: usize, dims: &[DimId]) -> Result<Vec<f64>> {
    let value = b.given(site, k, dims, dims)?;
    b.scope
        .known(value.broadcast(b.scope, dims))
        .ok_or_else(|| {
            let e = site.given(k).expect("what has no default is given");
            let message = format!("`{e}` must be data, not a parameter");
            b.model.error(e.span, message)
        })
}
