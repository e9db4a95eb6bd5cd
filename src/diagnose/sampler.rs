//! What the sampler's own statistics say: divergences, depth, energy, step size.

use super::chains::Chains;
use super::disagreement::list;
use super::divergent::Divergent;
use super::energy::bfmi;
use super::findings::{Finding, FindingKind, count, say};
use super::ranks::quantile;
use super::remedy::Circumstances;
use super::summary::{Row, gather};
use super::verdict::Draws;
use super::weight::Weight;
use super::{BFMI_LIMIT, DIVERGENT_LIMIT, Summary};
use crate::draws::{Trace, Variable};

/// The statistics of a trace that checks look at, where it has them.
pub(crate) struct SamplerStatistics {
    /// Whether each transition diverged.
    diverging: Option<Vec<f64>>,
    /// Whether each trajectory was cut at the depth limit.
    depth_hits: Option<Vec<f64>>,
    /// The energy of each transition.
    energy: Option<Vec<f64>>,
    /// The log density of each draw.
    lp: Option<Vec<f64>>,
    /// The step size of each transition.
    step_size: Option<Vec<f64>>,
    n_chains: usize,
    n_draws: usize,
}

impl SamplerStatistics {
    /// Picks those that belong to the draws of `group`, under the names of ArviZ, PyMC and
    /// nuts-rs.
    pub(crate) fn of(trace: &Trace, group: &str, n_chains: usize, n_draws: usize) -> Self {
        let group = trace.group(match group {
            "prior" => "sample_stats_prior",
            "warmup_posterior" => "warmup_sample_stats",
            _ => "sample_stats",
        });
        let find = |names: &[&str]| {
            let usable = |v: &&Variable| v.shape == [n_chains, n_draws];
            let variable = |name: &&str| group?.variable(name).filter(usable);
            let found = names.iter().find_map(variable)?;
            gather(found, 0, 1).pop()
        };
        SamplerStatistics {
            diverging: find(&["diverging"]),
            depth_hits: find(&["reached_max_treedepth", "maxdepth_reached"]),
            energy: find(&["energy"]),
            lp: find(&["lp"]),
            step_size: find(&["step_size_bar", "step_size"]),
            n_chains,
            n_draws,
        }
    }

    /// Number of divergent transitions.
    pub(crate) fn divergences(&self) -> Option<usize> {
        self.diverging.as_deref().map(ones)
    }

    /// Number of trajectories cut at the depth limit.
    pub(crate) fn max_treedepth_hits(&self) -> Option<usize> {
        self.depth_hits.as_deref().map(ones)
    }

    /// BFMI by chain; empty without energies.
    pub(crate) fn bfmi(&self) -> Vec<f64> {
        let energies = self.energy.as_deref();
        energies.map_or_else(Vec::new, |e| {
            bfmi(Chains::new(e, self.n_chains, self.n_draws))
        })
    }

    /// Findings of all checks, `names` being the chains' numbers.
    pub(super) fn findings(
        &self,
        outline: &Trace,
        group: &str,
        names: &[String],
        draws: &Draws<'_>,
    ) -> Vec<Finding> {
        let divergences = self.divergence_finding(outline, names, draws);
        let depth = self.depth_finding();
        let energy = bfmi_finding(&self.bfmi(), names);
        let steps = self.step_size_finding(names);
        // Independent draws of a prior have no sampler.
        let skipped = match group {
            "prior" => None,
            _ => self.skipped(),
        };
        [divergences, depth, energy, steps, skipped]
            .into_iter()
            .flatten()
            .collect()
    }

    fn divergence_finding(
        &self,
        outline: &Trace,
        names: &[String],
        draws: &Draws<'_>,
    ) -> Option<Finding> {
        let flags = self.diverging.as_deref()?;
        let n = ones(flags);
        if n == 0 {
            return None;
        }
        let total = flags.len();
        let mut fact = format!(
            "{} of {} transitions diverged ({})",
            count(n),
            count(total),
            percent(n, total)
        );
        let mut place = String::from("all chains");
        let by_chain = |c: usize| ones(&flags[c * self.n_draws..][..self.n_draws]);
        let most = (0..self.n_chains).max_by_key(|&c| by_chain(c))?;
        if self.n_chains > 1 && n >= 5 && by_chain(most) * 5 >= n * 4 {
            place = list(&[most], names);
            fact += &match by_chain(most) {
                all if all == n => format!(", all in {place}"),
                some => format!(", {} of them in {place}", count(some)),
            };
        }
        let mut found = Divergent::new(flags, self.n_draws);
        // Not the energy: where a step is too long for it, a trajectory diverges, whatever the place.
        let lp = self.lp.iter();
        lp.for_each(|own| found.look(&|| "lp".into(), true, own));
        (draws.each)(&mut |variable, element, own| {
            let label = || Row::label_of(outline, variable, element);
            found.look(&label, variable.elements() == 1, own);
            found.searching()
        });
        let mut weight = Weight::Remark;
        if let Some(gathering) = found.gathering() {
            fact += &format!("; they gather at {gathering}");
            weight = Weight::Question;
        }
        if n as f64 >= DIVERGENT_LIMIT * total as f64 {
            weight = Weight::Refusal;
        }
        let finding = Finding::new(FindingKind::Divergences, n as f64, place, fact);
        let finding = finding.weighing(weight);
        Some(match Circumstances::of(outline).sampler.as_deref() {
            Some("walnuts") => finding.advising(
                "steps 1,024 times shorter missed the energy, too: look for a place where the \
                 density jumps or has no bound, and give it a prior",
            ),
            _ => finding,
        })
    }

    fn depth_finding(&self) -> Option<Finding> {
        let flags = self.depth_hits.as_deref()?;
        let (n, total) = (ones(flags), flags.len());
        (n > 0).then(|| {
            let fact = format!(
                "{} of {} trajectories ({}) were cut at the largest tree depth",
                count(n),
                count(total),
                percent(n, total)
            );
            Finding::new(FindingKind::DepthHits, n as f64, "all chains", fact)
        })
    }

    /// The last step size of one chain against the median of all.
    fn step_size_finding(&self, names: &[String]) -> Option<Finding> {
        let steps = self.step_size.as_deref()?;
        if self.n_chains < 3 || self.n_draws == 0 {
            return None;
        }
        let last: Vec<f64> = steps
            .chunks_exact(self.n_draws)
            .map(|s| s[s.len() - 1])
            .collect();
        let usual = quantile(&last, 0.5);
        let oddness = |c: usize| (last[c] / usual).ln().abs();
        let odd = (0..last.len()).max_by(|&a, &b| oddness(a).total_cmp(&oddness(b)))?;
        (oddness(odd) > 3f64.ln()).then(|| {
            let place = list(&[odd], names);
            let fact = format!(
                "{place} ended with step size {} where {} is usual",
                say(last[odd]),
                say(usual)
            );
            Finding::new(FindingKind::OddStepSize, last[odd], place, fact)
        })
    }

    /// Names the checks that could not be made.
    fn skipped(&self) -> Option<Finding> {
        let checks = [
            ("divergences", self.diverging.is_none()),
            ("tree depth", self.depth_hits.is_none()),
            ("energy (BFMI)", self.energy.is_none()),
        ];
        let missing: Vec<&str> = checks.iter().filter(|c| c.1).map(|c| c.0).collect();
        (!missing.is_empty()).then(|| {
            let fact = format!(
                "not checked, because the trace holds no such sampler statistics: {}",
                missing.join(", ")
            );
            let n = missing.len() as f64;
            Finding::new(FindingKind::ChecksSkipped, n, "sample_stats", fact)
        })
    }
}

/// One finding for all chains whose BFMI is low.
fn bfmi_finding(by_chain: &[f64], names: &[String]) -> Option<Finding> {
    let low: Vec<usize> = (0..by_chain.len())
        .filter(|&c| by_chain[c] < BFMI_LIMIT)
        .collect();
    let worst = *low
        .iter()
        .min_by(|&&a, &&b| by_chain[a].total_cmp(&by_chain[b]))?;
    let place = list(&[worst], names);
    let mut fact = format!(
        "BFMI {} in {place} (limit {BFMI_LIMIT})",
        say(by_chain[worst])
    );
    let others: Vec<usize> = low.into_iter().filter(|&c| c != worst).collect();
    if !others.is_empty() {
        fact += &format!(", and too low in {} as well", list(&others, names));
    }
    Some(Finding::new(
        FindingKind::LowBfmi,
        by_chain[worst],
        place,
        fact,
    ))
}

fn ones(flags: &[f64]) -> usize {
    flags.iter().filter(|&&f| f != 0.0).count()
}

/// A share in percent, with at least one digit that is not 0.
pub(crate) fn percent(n: usize, total: usize) -> String {
    let share = 100.0 * n as f64 / total as f64;
    let decimals = if share < 0.1 {
        2
    } else {
        usize::from(share < 10.0)
    };
    format!("{share:.decimals$} %")
}

/// The chains' numbers as people know them: their labels, else 0, 1, ..
pub(crate) fn chain_names(trace: &Trace, summary: &Summary) -> Vec<String> {
    let labels = trace
        .coords
        .get("chain")
        .filter(|l| l.len() == summary.n_chains);
    let name = |c: usize| labels.map_or_else(|| c.to_string(), |l| l.text(c));
    (0..summary.n_chains).map(name).collect()
}
