//! Do two runs describe the same distribution? Two seeds, two devices, two programs.

use super::chains::{Chains, mean, sd};
use super::mcse::{Mcse, mcse};
use super::ranks::quantile;
use super::rhat::rhat;
use super::summary::{Row, gather, group_of_draws, shape_of_draws};
use super::threads::on_threads;
use super::{RHAT_LIMIT, count, say};
use crate::draws::{Trace, Variable};
use crate::{Error, ErrorKind, Result};
use fitzroy_graph::special::ndtri;

/// Probabilities whose quantiles are compared.
const QUANTILES: [f64; 3] = [0.05, 0.5, 0.95];
/// Distance in Monte Carlo standard errors that is allowed in any case.
const LIMIT: f64 = 4.0;
/// Probability that a fair pair of runs is called different because much was compared.
const FALSE_ALARM: f64 = 0.001;
/// Draws of both runs, at least.
const FEWEST_DRAWS: usize = 4;

/// One element in both runs. Distances are in Monte Carlo standard errors of the difference,
/// √(MCSE₁² + MCSE₂²): about normal numbers where the runs agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreeing {
    /// The element as people write it.
    pub name: String,
    /// Means in both runs.
    pub means: [f64; 2],
    /// Standard deviations in both runs.
    pub sds: [f64; 2],
    /// Distance of the means.
    pub mean: f64,
    /// Distance of the standard deviations.
    pub sd: f64,
    /// Distances of the .05, .5 and .95 quantiles.
    pub quantiles: [f64; 3],
    /// R-hat over the chains of both runs.
    pub r_hat: f64,
    /// Difference of the means in percent of the mean, or of the standard deviation where that is
    /// larger.
    pub mean_percent: f64,
    /// Difference of the standard deviations in percent.
    pub sd_percent: f64,
}

/// Two runs compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Every element that both runs have.
    pub elements: Vec<Agreeing>,
    /// Distance up to which elements agree: 4, or more where so many were compared that chance
    /// alone would exceed 4 in one pair of runs of a thousand.
    pub limit: f64,
    /// Whether all distances are within the limit and R-hat over both runs below 1.01.
    pub agree: bool,
    /// What differs, in words; empty where the runs agree.
    pub differences: Vec<String>,
    /// Variables that only one run has, or that have other sizes.
    pub left_out: Vec<String>,
}

impl Agreeing {
    /// The largest distance.
    pub fn largest(&self) -> f64 {
        let all = [&[self.mean, self.sd], self.quantiles.as_slice()].concat();
        all.iter().map(|z| z.abs()).fold(0.0, f64::max)
    }

    fn differs(&self, limit: f64) -> bool {
        self.largest() > limit || self.r_hat >= RHAT_LIMIT || !self.mean.is_finite()
    }
}

/// Compares the `posterior` of two traces: `variables`, or all that both have.
///
/// # Errors
/// Nothing to compare; a variable that a trace has not; fewer than four draws.
pub fn agreement(
    first: &Trace,
    second: &Trace,
    variables: &[String],
    threads: usize,
) -> Result<Agreement> {
    let groups = [first, second].map(|t| group_of_draws(t, "posterior"));
    let [a, b] = groups;
    let (a, b) = (a?, b?);
    let (shape_a, shape_b) = (shape_of_draws(a)?, shape_of_draws(b)?);
    if shape_a.1.min(shape_b.1) < FEWEST_DRAWS {
        let message = format!("a comparison needs {FEWEST_DRAWS} draws of each chain or more");
        return Err(Error::new(ErrorKind::Data, message));
    }
    for name in variables {
        if a.variable(name).is_none() || b.variable(name).is_none() {
            let message = format!("`{name}` is not in both traces");
            return Err(Error::new(ErrorKind::Usage, message));
        }
    }
    let (mut pairs, mut left_out) = (Vec::new(), Vec::new());
    for v in &a.variables {
        match b.variable(&v.name) {
            _ if !variables.is_empty() && !variables.contains(&v.name) => {}
            Some(w) if w.shape[2..] == v.shape[2..] => {
                pairs.extend((0..v.elements()).map(|i| (v, w, i)));
            }
            _ => left_out.push(v.name.clone()),
        }
    }
    let only_second = b.variables.iter().filter(|w| a.variable(&w.name).is_none());
    left_out.extend(only_second.map(|w| w.name.clone()));
    if pairs.is_empty() {
        let message = "the traces have no variable of the same name and size in common";
        return Err(Error::new(ErrorKind::Data, message));
    }
    let one = |_: &mut (), job: usize| {
        let (v, w, i): (&Variable, &Variable, usize) = pairs[job];
        element(Row::label_of(first, v, i), v, w, i)
    };
    let elements = on_threads(pairs.len(), threads, || (), one);
    let n_compared = (elements.len() * (2 + QUANTILES.len())) as f64;
    let limit = LIMIT.max(-ndtri(FALSE_ALARM / (2.0 * n_compared)));
    let differences = differences(&elements, limit);
    Ok(Agreement {
        agree: differences.is_empty(),
        elements,
        limit,
        differences,
        left_out,
    })
}

/// Worst first, a few in words.
fn differences(elements: &[Agreeing], limit: f64) -> Vec<String> {
    const NAMED: usize = 8;
    let mut bad: Vec<&Agreeing> = elements.iter().filter(|e| e.differs(limit)).collect();
    bad.sort_by(|a, b| b.largest().total_cmp(&a.largest()));
    let sentence = |e: &&Agreeing| {
        format!(
            "{}: means {} and {}, {} standard errors apart at most, R-hat {} over both",
            e.name,
            say(e.means[0]),
            say(e.means[1]),
            say(e.largest()),
            say(e.r_hat)
        )
    };
    let mut out: Vec<String> = bad.iter().take(NAMED).map(sentence).collect();
    if bad.len() > NAMED {
        out.push(format!("and {} more elements", count(bad.len() - NAMED)));
    }
    out
}

fn element(name: String, first: &Variable, second: &Variable, i: usize) -> Agreeing {
    let draws = [first, second].map(|v| gather(v, i, i + 1).pop().unwrap_or_default());
    let chains = |k: usize| {
        let v = [first, second][k];
        Chains::new(&draws[k], v.shape[0], v.shape[1])
    };
    let (a, b) = (chains(0), chains(1));
    let distance = |of: &dyn Fn(&[f64]) -> f64, error: Mcse| {
        let gap = of(&draws[0]) - of(&draws[1]);
        let errors = [a, b].map(|x| mcse(x, error));
        // Constants have no error.
        match gap {
            0.0 => 0.0,
            _ => gap / errors[0].hypot(errors[1]),
        }
    };
    let (means, sds) = (
        [mean(&draws[0]), mean(&draws[1])],
        [sd(&draws[0]), sd(&draws[1])],
    );
    let percent = |gap: f64, of: f64| {
        if gap == 0.0 {
            0.0
        } else {
            100.0 * gap.abs() / of
        }
    };
    let scale = means[0].abs().max(sds[0]);
    Agreeing {
        name,
        mean: distance(&mean, Mcse::Mean),
        sd: distance(&sd, Mcse::Sd),
        quantiles: QUANTILES.map(|p| distance(&|x| quantile(x, p), Mcse::Quantile(p))),
        r_hat: r_hat_of_both(&a, &b),
        mean_percent: percent(means[0] - means[1], scale),
        sd_percent: percent(sds[0] - sds[1], sds[0]),
        means,
        sds,
    }
}

/// R-hat over all chains, cut to the shorter run. 1 for a constant both share.
fn r_hat_of_both(a: &Chains, b: &Chains) -> f64 {
    let n = a.n_draws().min(b.n_draws());
    let rows = a.rows().into_iter().chain(b.rows());
    let all: Vec<f64> = rows.flat_map(|row| &row[..n]).copied().collect();
    if all.iter().all(|&v| v == all[0]) {
        return 1.0;
    }
    rhat(Chains::new(&all, a.n_chains() + b.n_chains(), n))
}
