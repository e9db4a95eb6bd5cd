//! The verdict on a run: has it converged, and what was found.

use super::chains::Chains;
use super::disagreement::explain;
use super::element::ElementStatistics;
use super::findings::{Finding, FindingKind, count, say};
use super::missed::PlaceMissed;
use super::remedy::Circumstances;
use super::rhat::superchains;
use super::sampler::{SamplerStatistics, chain_names};
use super::summary::unknown_variable;
use super::summary::{Row, Summary, SummaryOptions, gather, group_of_draws, summary};
use super::weight::{Verdict, Weight};
use super::{ESS_LIMIT, RHAT_LIMIT, SD_ERROR_LIMIT, TAIL_LIMIT};
use crate::Result;
use crate::draws::{Attribute, Group, Trace, Variable};

/// ESS per draw below which draws are worth very little.
const EFFICIENCY_LIMIT: f64 = 0.001;
/// Variables whose R-hat gets a finding of its own.
const VARIABLES_NAMED: usize = 4;

/// A run examined.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// The rows that were asked for.
    pub summary: Summary,
    /// Largest R-hat over every recorded element that changes; NaN when none has one.
    pub max_r_hat: f64,
    /// Largest nested R-hat over the same elements, from 256 chains on, where it decides instead;
    /// NaN for fewer.
    pub max_r_hat_nested: f64,
    /// Smallest bulk ESS over the same elements, in draws.
    pub min_ess_bulk: f64,
    /// Smallest tail ESS over the same elements, in draws.
    pub min_ess_tail: f64,
    /// Divergent transitions, where the trace tells.
    pub divergences: Option<usize>,
    /// Trajectories cut at the depth limit, where the trace tells.
    pub max_treedepth_hits: Option<usize>,
    /// BFMI by chain; empty where the trace holds no energies.
    pub bfmi: Vec<f64>,
    /// What was found, the gravest first. They look at every recorded element, whichever rows were
    /// asked for.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// The verdict: that of the gravest finding. A run that has converged has, over every recorded
    /// element, R-hat < 1.01 (from 256 chains on the nested one), bulk and tail ESS > 400 over all
    /// chains and tails that let its sd be known; divergences < 1 %, nowhere gathered; and no low
    /// BFMI.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.findings.iter().map(|f| f.weight).max())
    }

    /// Has the findings advise what is of use after this run.
    pub fn advise(&mut self, run: &Circumstances) {
        self.findings.iter_mut().for_each(|found| found.advise(run));
    }

    /// Whether the verdict is [`Verdict::Converged`].
    pub fn converged(&self) -> bool {
        self.verdict() == Verdict::Converged
    }
}

/// Examines a trace: summary, verdict and findings.
///
/// The verdict and the findings are those of the whole group; `options.variables` only chooses
/// the rows of the summary. Elements that never change have no say in the verdict. Errors are
/// those of [`summary`].
pub fn diagnose(trace: &Trace, options: &SummaryOptions) -> Result<Diagnosis> {
    let group = known_group(trace, options)?;
    let everything = SummaryOptions {
        variables: Vec::new(),
        ..options.clone()
    };
    let summary = summary(trace, &everything)?;
    let sampler = SamplerStatistics::of(trace, &options.group, summary.n_chains, summary.n_draws);
    let draws_of = |name: &str, element: usize| {
        let variable = group.variable(name)?;
        gather(variable, element, element + 1).pop()
    };
    let each = |look: &mut dyn FnMut(&Variable, usize, &[f64]) -> bool| {
        for variable in &group.variables {
            for element in 0..variable.elements() {
                let draws = gather(variable, element, element + 1).pop();
                if draws.is_some_and(|draws| !look(variable, element, &draws)) {
                    return;
                }
            }
        }
    };
    let draws = Draws {
        of: &draws_of,
        each: &each,
    };
    Ok(conclude(trace, options, summary, &sampler, &draws))
}

/// The group to examine, which has the variables that were asked for.
pub(super) fn known_group<'a>(trace: &'a Trace, options: &SummaryOptions) -> Result<&'a Group> {
    let group = group_of_draws(trace, &options.group)?;
    let mut names = options.variables.iter();
    match names.find(|v| group.variable(v).is_none()) {
        Some(unknown) => Err(unknown_variable(group, unknown)),
        None => Ok(group),
    }
}

/// Where findings look for draws.
pub(super) struct Draws<'a> {
    /// The draws of one element of a variable, chain after chain.
    pub(super) of: &'a dyn Fn(&str, usize) -> Option<Vec<f64>>,
    /// Shows the draws of every element until it is told to stop.
    pub(super) each: &'a dyn Fn(&mut dyn FnMut(&Variable, usize, &[f64]) -> bool),
}

/// Verdict and findings of a summary of all variables. `outline` needs to hold no draws.
pub(super) fn conclude(
    outline: &Trace,
    options: &SummaryOptions,
    mut summary: Summary,
    sampler: &SamplerStatistics,
    draws: &Draws<'_>,
) -> Diagnosis {
    let names = chain_names(outline, &summary);
    let mut findings = value_findings(&summary);
    if let Some(group) = outline.group(&options.group) {
        findings.extend(rhat_findings(group, &summary, &names, draws));
    }
    findings.extend(PlaceMissed::of(outline).map(PlaceMissed::finding));
    findings.extend(ess_findings(&summary));
    findings.extend(sampler.findings(outline, &options.group, &names, draws));
    findings.extend(tail_finding(
        &summary,
        &by_discrete(outline, &options.group),
    ));
    findings.sort_by_key(|f| f.kind);
    let run = Circumstances::of(outline);
    findings.iter_mut().for_each(|found| found.advise(&run));

    let changing: Vec<&Row> = summary.rows.iter().filter(|row| changes(row)).collect();
    let largest = |a: f64, b: f64| if b > a || a.is_nan() { b } else { a };
    let smallest = |a: f64, b: f64| if b < a || a.is_nan() { b } else { a };
    let fold = |pick: fn(&Row) -> f64, worse: fn(f64, f64) -> f64| {
        changing.iter().map(|row| pick(row)).fold(f64::NAN, worse)
    };
    let max_r_hat = fold(|row| row.statistics.r_hat, largest);
    let max_r_hat_nested = fold(|row| row.statistics.r_hat_nested, largest);
    let min_ess_bulk = fold(|row| row.statistics.ess_bulk, smallest);
    let min_ess_tail = fold(|row| row.statistics.ess_tail, smallest);
    let divergences = sampler.divergences();
    if !options.variables.is_empty() {
        summary
            .rows
            .retain(|row| options.variables.contains(&row.name));
    }
    Diagnosis {
        summary,
        max_r_hat,
        max_r_hat_nested,
        min_ess_bulk,
        min_ess_tail,
        divergences,
        max_treedepth_hits: sampler.max_treedepth_hits(),
        bfmi: sampler.bfmi(),
        findings,
    }
}

/// Whether every draw of a row is finite, as its mean tells.
fn finite(row: &Row) -> bool {
    row.statistics.mean.is_finite()
}

fn constant(row: &Row) -> bool {
    row.statistics.sd == 0.0
}

/// Whether a row has a say in the verdict.
fn changes(row: &Row) -> bool {
    finite(row) && !constant(row)
}

/// Rows by variable, in the order of the model, those that `choose` picks.
fn by_variable(summary: &Summary, choose: impl Fn(&Row) -> bool) -> Vec<Vec<&Row>> {
    let groups = summary.rows.chunk_by(|a, b| a.name == b.name);
    let picked = groups.map(|rows| rows.iter().filter(|row| choose(row)).collect::<Vec<_>>());
    picked.filter(|rows| !rows.is_empty()).collect()
}

/// ", and 3 more elements of theta", or nothing.
fn and_more(rows: &[&Row]) -> String {
    match rows.len() - 1 {
        0 => String::new(),
        1 => format!(", and 1 more element of {}", rows[0].name),
        n => format!(", and {} more elements of {}", count(n), rows[0].name),
    }
}

/// Values that no diagnostic can use.
fn value_findings(summary: &Summary) -> Vec<Finding> {
    let mut out = Vec::new();
    for rows in by_variable(summary, |row| !finite(row)) {
        let place = rows[0].label();
        let fact = format!(
            "{place} has draws that are NaN or infinite{}",
            and_more(&rows)
        );
        out.push(Finding::new(
            FindingKind::NonFinite,
            rows.len() as f64,
            place,
            fact,
        ));
    }
    for rows in by_variable(summary, constant) {
        let place = rows[0].label();
        let value = rows[0].statistics.mean;
        let fact = format!("{place} is always {}{}", say(value), constant_more(&rows));
        out.push(Finding::new(FindingKind::Constant, value, place, fact));
    }
    if !summary.rows.iter().any(changes) {
        let fact = "no recorded number changes from draw to draw";
        let finding = Finding::new(FindingKind::Constant, 0.0, "all variables", fact);
        out.push(finding.weighing(Weight::Refusal));
    }
    if summary.n_draws < 4 {
        let fact = format!("the chains have {} draws each", summary.n_draws);
        let n = summary.n_draws as f64;
        out.push(Finding::new(FindingKind::FewDraws, n, "all chains", fact));
    } else if summary.n_chains == 1 {
        let fact = "there is one chain, so R-hat cannot be had and the run counts as not converged";
        out.push(Finding::new(FindingKind::OneChain, 1.0, "chain 0", fact));
    }
    out
}

fn constant_more(rows: &[&Row]) -> String {
    match rows.len() - 1 {
        0 => String::new(),
        n => format!(
            "; so {} {} more of {}",
            if n == 1 { "is" } else { "are" },
            count(n),
            rows[0].name
        ),
    }
}

/// One finding for each of the worst variables, and one for the rest.
fn rhat_findings(
    group: &Group,
    summary: &Summary,
    names: &[String],
    draws: &Draws<'_>,
) -> Vec<Finding> {
    if summary.n_chains < 2 || summary.n_draws < 4 {
        return Vec::new();
    }
    // Not below the limit, so that NaN is high.
    let high = |row: &Row| changes(row) && !(row.statistics.judged_r_hat() < RHAT_LIMIT);
    let mut variables = by_variable(summary, high);
    let r_hat = |row: &&Row| row.statistics.judged_r_hat();
    for rows in &mut variables {
        rows.sort_by(|a, b| r_hat(b).total_cmp(&r_hat(a)));
    }
    variables.sort_by(|a, b| r_hat(&b[0]).total_cmp(&r_hat(&a[0])));
    let (named, rest) = variables.split_at(variables.len().min(VARIABLES_NAMED));
    let mut out: Vec<Finding> = named
        .iter()
        .filter_map(|rows| rhat_finding((group, draws), summary, rows, names))
        .collect();
    if let Some(first) = rest.first() {
        let more: Vec<&str> = rest
            .iter()
            .take(8)
            .map(|rows| rows[0].name.as_str())
            .collect();
        let fact = format!(
            "R-hat is {RHAT_LIMIT} or more in {} further variables, up to {}: {}{}",
            rest.len(),
            rhat_text(r_hat(&first[0])),
            more.join(", "),
            if rest.len() > 8 { ", .." } else { "" }
        );
        let value = r_hat(&first[0]);
        let place = first[0].label();
        out.push(Finding::new(
            FindingKind::ChainsMixSlowly,
            value,
            place,
            fact,
        ));
    }
    out
}

fn rhat_finding(
    (group, draws): (&Group, &Draws<'_>),
    summary: &Summary,
    rows: &[&Row],
    names: &[String],
) -> Option<Finding> {
    let worst = rows[0];
    let variable = group.variable(&worst.name)?;
    let flat = worst
        .index
        .iter()
        .zip(&variable.shape[2..])
        .fold(0, |flat, (i, n)| flat * n + i);
    let draws = (draws.of)(&worst.name, flat)?;
    let x = Chains::new(&draws, summary.n_chains, summary.n_draws);
    let (kind, why) = explain(x, names);
    let place = worst.label();
    let value = worst.statistics.judged_r_hat();
    let fact = format!(
        "R-hat {} at {place} (limit {RHAT_LIMIT}): {why}{}",
        rhat_text(value),
        and_more(rows)
    );
    Some(Finding::new(kind, value, place, fact))
}

/// R-hat with as many decimals as tell it from the limit.
fn rhat_text(r_hat: f64) -> String {
    match r_hat {
        r if !r.is_finite() => say(r),
        r if r < 1.1 => format!("{r:.3}"),
        r => format!("{r:.2}"),
    }
}

/// The attribute of a group of draws that names, between spaces, discrete parameters and what is
/// computed from them.
pub const BY_DISCRETE: &str = "fitzroy_discrete";

/// The variables that [`BY_DISCRETE`] names.
fn by_discrete<'a>(trace: &'a Trace, group: &str) -> Vec<&'a str> {
    let group = trace.group(group);
    let attributes = group.map_or(&[][..], |g| &g.attributes);
    match attributes.iter().find(|(name, _)| name == BY_DISCRETE) {
        Some((_, Attribute::Text(names))) => names.split(' ').collect(),
        _ => Vec::new(),
    }
}

/// Whether `n` draws are 0 and 1 alone, whose squares have the mean that they have. Their standard deviation follows from it.
fn is_indicator(draws: &ElementStatistics, n: f64) -> bool {
    let square = draws.sd * draws.sd * (n - 1.0) / n + draws.mean * draws.mean;
    (square - draws.mean).abs() <= 1e-9 * draws.mean.abs()
}

/// One finding for the heaviest tail, where the standard deviation may be far off. Variables
/// `by_discrete` jump between few values or branches: what is rare there is no tail.
fn tail_finding(summary: &Summary, by_discrete: &[&str]) -> Option<Finding> {
    let error = |row: &Row| row.statistics.mcse_sd / row.statistics.sd;
    let k = |row: &Row| row.statistics.pareto_k;
    // How far beyond a limit; NaN is not beyond it.
    let excess = |row: &Row| (k(row) / TAIL_LIMIT).max(error(row) / SD_ERROR_LIMIT);
    // Where chains disagree or draws are few, that is what is said.
    let believed = |s: &ElementStatistics| {
        s.judged_r_hat() < RHAT_LIMIT && s.ess_bulk.min(s.ess_tail) > ESS_LIMIT
    };
    let n = (summary.n_chains * summary.n_draws) as f64;
    let jumps =
        |row: &Row| by_discrete.contains(&row.name.as_str()) || is_indicator(&row.statistics, n);
    let heavy =
        |row: &&Row| changes(row) && !jumps(row) && believed(&row.statistics) && excess(row) > 1.0;
    let rows: Vec<&Row> = summary.rows.iter().filter(heavy).collect();
    let worst = rows.iter().max_by(|a, b| excess(a).total_cmp(&excess(b)))?;
    let place = worst.label();
    let mut fact = format!(
        "the sd of {place} is not known well: ±{:.0} %",
        100.0 * error(worst)
    );
    if k(worst) > TAIL_LIMIT {
        fact += &format!(
            ", and its tail is heavy (Pareto k {}, limit {TAIL_LIMIT}; from 0.5 on there is no sd)",
            say(k(worst))
        );
    }
    match rows.len() - 1 {
        0 => {}
        1 => fact += "; likewise 1 more element",
        n => fact += &format!("; likewise {} more elements", count(n)),
    }
    Some(Finding::new(FindingKind::HeavyTail, k(worst), place, fact))
}

/// One finding for the smallest ESS, and one where draws are worth very little.
fn ess_findings(summary: &Summary) -> Vec<Finding> {
    let chains = superchains(summary.n_chains).unwrap_or(summary.n_chains);
    let limit = ESS_LIMIT.max(100.0 * chains as f64);
    let smaller = |row: &Row| row.statistics.ess_bulk.min(row.statistics.ess_tail);
    let low = |row: &&Row| changes(row) && smaller(row) <= limit;
    let rows: Vec<&Row> = summary.rows.iter().filter(low).collect();
    let total = (summary.n_chains * summary.n_draws) as f64;
    let mut out = Vec::new();
    let all = summary.rows.iter().filter(|row| changes(row));
    let Some(worst) = all.min_by(|a, b| smaller(a).total_cmp(&smaller(b))) else {
        return out;
    };
    let (ess, place) = (smaller(worst), worst.label());
    let which = if ess == worst.statistics.ess_bulk {
        "bulk"
    } else {
        "tail"
    };
    if !rows.is_empty() {
        let more = match rows.len() - 1 {
            0 => String::new(),
            1 => ", and too few in 1 more element".into(),
            n => format!(", and too few in {} more elements", count(n)),
        };
        let fact = format!(
            "{which} ESS {} of {} draws at {place} (wanted: above {}){more}",
            say(ess.round()),
            count(total as usize),
            say(limit)
        );
        let finding = Finding::new(FindingKind::LowEss, ess, place.clone(), fact);
        out.push(match ess > ESS_LIMIT {
            true => finding.weighing(Weight::Remark),
            false => finding,
        });
    }
    if ess < EFFICIENCY_LIMIT * total {
        let share = 100.0 * ess / total;
        let fact = format!("{place} gains {share:.2} effective draws from every hundred");
        out.push(Finding::new(
            FindingKind::LowEfficiency,
            ess / total,
            place,
            fact,
        ));
    }
    out
}
