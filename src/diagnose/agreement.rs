//! Do two runs describe the same distribution? Two seeds, two devices, two programs.

use super::chains::{Chains, mean, sd};
use super::mcse::{Mcse, mcse};
use super::places::Places;
use super::ranks::quantile;
use super::rhat::rhat;
use super::summary::{gather, group_of_draws, shape_of_draws};
use super::threads::on_threads;
use super::{RHAT_LIMIT, count, say};
use crate::draws::{Block, Column, Group, Opened, Trace, Variable};
use crate::{Error, ErrorKind, Result};
use fitzroy_graph::special::ndtri;
use std::borrow::Cow;

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
    enough_draws(shape_a.1.min(shape_b.1))?;
    let (pairs, left_out) = common(a, b, variables)?;
    let elements = pairs.iter();
    let places: Vec<Places<'_>> = elements
        .clone()
        .map(|(v, _)| Places::new(first, v))
        .collect();
    let elements = elements.enumerate();
    let elements = elements.flat_map(|(p, &(v, w))| (0..v.elements()).map(move |i| (p, v, w, i)));
    let elements: Vec<(usize, &Variable, &Variable, usize)> = elements.collect();
    let one = |_: &mut (), job: usize| {
        let (p, v, w, i) = elements[job];
        element(places[p].label(i), [v, w], i)
    };
    let found = on_threads(elements.len(), threads, || (), one);
    Ok(conclude(found, left_out))
}

/// [`agreement`] of traces that may stay on the disk: the same numbers. Memory does not hold more
/// than some elements of one variable, and traces that were small enough to be read.
///
/// # Errors
/// Those of [`agreement`], and of reading.
pub fn agreement_opened(
    first: &Opened,
    second: &Opened,
    variables: &[String],
    threads: usize,
) -> Result<Agreement> {
    if let (Opened::Whole(a), Opened::Whole(b)) = (first, second) {
        return agreement(a, b, variables, threads);
    }
    let sides = [first, second];
    let [outline_a, outline_b] = sides.map(outline);
    let (outline_a, outline_b) = (outline_a?, outline_b?);
    let a = group_of_draws(&outline_a, "posterior")?;
    let b = group_of_draws(&outline_b, "posterior")?;
    for (side, group) in sides.into_iter().zip([a, b]) {
        let n_draws = match side {
            Opened::Whole(_) => shape_of_draws(group)?.1,
            Opened::Stored(stored) => stored.n_draws_of(group)?,
        };
        enough_draws(n_draws)?;
    }
    let (pairs, left_out) = common(a, b, variables)?;
    let mut found = Vec::new();
    for (v, _) in pairs {
        let places = Places::new(&outline_a, v);
        let mut own = vec![None; v.elements()];
        for block in blocks(sides, &v.name)? {
            let [p, q] = sides.map(|side| part(side, &v.name, &block));
            let (p, q) = (p?, q?);
            let one = |_: &mut (), k: usize| {
                let label = places.label(block.elements[k]);
                element(label, [&p, &q], k)
            };
            let of_block = on_threads(block.elements.len(), threads, || (), one);
            for (&at, element) in block.elements.iter().zip(of_block) {
                own[at] = Some(element);
            }
        }
        found.extend(own.into_iter().flatten());
    }
    Ok(conclude(found, left_out))
}

/// Groups, names, dims and labels; draws where they are in memory.
fn outline(side: &Opened) -> Result<Cow<'_, Trace>> {
    match side {
        Opened::Whole(trace) => Ok(Cow::Borrowed(trace)),
        Opened::Stored(stored) => Ok(Cow::Owned(stored.outline()?)),
    }
}

/// The parts of a variable, as the first store has them.
fn blocks(sides: [&Opened; 2], name: &str) -> Result<Vec<Block>> {
    for side in sides {
        if let Opened::Stored(stored) = side {
            return stored.blocks("posterior", name);
        }
    }
    Ok(Vec::new())
}

/// All draws of some elements.
fn part(side: &Opened, name: &str, block: &Block) -> Result<Variable> {
    let missing = || {
        let message = format!("`{name}` of `posterior` does not hold numbers");
        Error::new(ErrorKind::Data, message)
    };
    match side {
        Opened::Stored(stored) => stored.block("posterior", name, block)?.ok_or_else(missing),
        Opened::Whole(trace) => {
            let found = trace.group("posterior").and_then(|g| g.variable(name));
            let v = found.ok_or_else(missing)?;
            let columns = block.elements.iter().map(|&i| gather(v, i, i + 1).concat());
            let columns: Vec<Vec<f64>> = columns.collect();
            let rows = v.shape[0] * v.shape[1];
            let values = (0..rows).flat_map(|row| columns.iter().map(move |c| c[row]));
            Ok(Variable {
                name: name.into(),
                dims: ["chain", "draw", "element"].map(String::from).to_vec(),
                shape: vec![v.shape[0], v.shape[1], columns.len()],
                values: Column::Real(values.collect()),
            })
        }
    }
}

fn enough_draws(n_draws: usize) -> Result<()> {
    if n_draws < FEWEST_DRAWS {
        let message = format!("a comparison needs {FEWEST_DRAWS} draws of each chain or more");
        return Err(Error::new(ErrorKind::Data, message));
    }
    Ok(())
}

/// The variables of both groups that can be compared, and the names of the others.
fn common<'a>(
    a: &'a Group,
    b: &'a Group,
    variables: &[String],
) -> Result<(Vec<(&'a Variable, &'a Variable)>, Vec<String>)> {
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
            Some(w) if w.shape[2..] == v.shape[2..] => pairs.push((v, w)),
            _ => left_out.push(v.name.clone()),
        }
    }
    let only_second = b.variables.iter().filter(|w| a.variable(&w.name).is_none());
    left_out.extend(only_second.map(|w| w.name.clone()));
    if pairs.iter().all(|(v, _)| v.elements() == 0) {
        let message = "the traces have no variable of the same name and size in common";
        return Err(Error::new(ErrorKind::Data, message));
    }
    Ok((pairs, left_out))
}

fn conclude(elements: Vec<Agreeing>, left_out: Vec<String>) -> Agreement {
    let n_compared = (elements.len() * (2 + QUANTILES.len())) as f64;
    let limit = LIMIT.max(-ndtri(FALSE_ALARM / (2.0 * n_compared)));
    let differences = differences(&elements, limit);
    Agreement {
        agree: differences.is_empty(),
        elements,
        limit,
        differences,
        left_out,
    }
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

fn element(name: String, both: [&Variable; 2], i: usize) -> Agreeing {
    let draws = both.map(|v| gather(v, i, i + 1).pop().unwrap_or_default());
    let chains = |k: usize| Chains::new(&draws[k], both[k].shape[0], both[k].shape[1]);
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
