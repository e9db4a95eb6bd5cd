//! How well does a model predict data it has not seen? Leave-one-out cross-validation by Pareto
//! smoothed importance sampling, calibration of the predictions, and comparison of models.
//!
//! Every number follows ArviZ 1.x. ArviZ 0.x differs: its tail has ⌈.⌉ draws and those above the
//! cutoff, its standard error divides by N, its `elpd_diff` is positive.
//!
//! Reference: Vehtari, Gelman, Gabry, "Practical Bayesian model evaluation using leave-one-out
//! cross-validation and WAIC", Statistics and Computing 27 (2017).

mod compare;
mod psis;
mod stacking;
mod stored;

pub use compare::{Compared, Comparison, compare};
pub(super) use psis::fit as fit_pareto;
pub use stored::{loo_opened, loo_pit_opened};

use super::chains::{Chains, variance};
use super::ess::ess_mean;
use super::places::Places;
use super::summary::{gather, group_of_draws, shape_of_draws};
use super::threads::on_threads;
use crate::draws::{Column, Group, Trace, Variable};
use crate::{Error, ErrorKind, Result};
use psis::{Psis, log_sum_exp};

/// Observations worked on at once.
const BLOCK: usize = 8;

/// Leave-one-out cross-validation of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Loo {
    /// The observed variable.
    pub variable: String,
    /// Σ elpd_i: expected log predictive density of new data like these, in nats.
    pub elpd: f64,
    /// Its standard error, √(N var(elpd_i)), divisor N − 1.
    pub se: f64,
    /// Effective number of parameters: the log density of the data less `elpd`.
    pub p: f64,
    /// Draws of all chains.
    pub n_draws: usize,
    /// Mean relative efficiency of the draws, which sets the length of the tails.
    pub r_eff: f64,
    /// k above which an elpd_i cannot be trusted: min(1 − 1/log10 S, 0.7).
    pub k_limit: f64,
    /// Every observation, row-major.
    pub pointwise: Vec<Pointwise>,
    /// The observed values, where the trace holds them.
    pub observed: Option<Vec<f64>>,
    /// Names of the observations: `y[3]`.
    pub names: Vec<String>,
}

/// One observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pointwise {
    /// ln p(y_i | all others), in nats.
    pub elpd: f64,
    /// ln p(y_i | all) less `elpd`.
    pub p: f64,
    /// Shape of the tail of its importance weights: how much depends on a few draws. See
    /// [`Loo::k_limit`].
    pub k: f64,
}

impl Loo {
    /// Observations whose k is above the limit or cannot be had, worst first.
    pub fn unreliable(&self) -> Vec<usize> {
        let bad = |k: f64| k.is_nan() || k > self.k_limit;
        let mut worst: Vec<usize> = (0..self.pointwise.len())
            .filter(|&i| bad(self.pointwise[i].k))
            .collect();
        worst.sort_by(|&a, &b| self.pointwise[b].k.total_cmp(&self.pointwise[a].k));
        worst
    }
}

/// Cross-validates the model behind `trace`, from its `log_likelihood` group.
///
/// `variable` names the observed variable; it may be left out where there is one.
///
/// # Errors
/// No log likelihood, several variables without a name, or draws that are not chains by draws.
pub fn loo(trace: &Trace, variable: Option<&str>, threads: usize) -> Result<Loo> {
    let (group, likelihood) = likelihood_of(trace, variable)?;
    let (n_chains, n_draws) = shape_of_draws(group)?;
    enough_draws(n_chains * n_draws)?;
    let r_eff = relative_efficiency(trace, threads)?;
    let n = likelihood.elements();
    let block = |psis: &mut Psis, job: usize| {
        let start = job * BLOCK;
        let columns = gather(likelihood, start, (start + BLOCK).min(n));
        let one = |column: &Vec<f64>| pointwise(psis, column, r_eff);
        columns.iter().map(one).collect::<Vec<_>>()
    };
    let pointwise = on_threads(n.div_ceil(BLOCK), threads, Psis::default, block).concat();
    let size = n_chains * n_draws;
    Ok(conclude(trace, likelihood, pointwise, size, r_eff))
}

fn enough_draws(size: usize) -> Result<()> {
    if size < 5 {
        let message = format!("{size} draws are too few for cross-validation; take some hundred");
        return Err(Error::new(ErrorKind::Data, message));
    }
    Ok(())
}

/// Sums over observations; `trace` needs to hold no draws.
fn conclude(
    trace: &Trace,
    likelihood: &Variable,
    pointwise: Vec<Pointwise>,
    size: usize,
    r_eff: f64,
) -> Loo {
    let n = pointwise.len();
    let elpd_i: Vec<f64> = pointwise.iter().map(|x| x.elpd).collect();
    let observed = trace.group("observed_data");
    let observed = observed.and_then(|g| g.variable(&likelihood.name));
    let places = Places::new(trace, likelihood);
    let k_limit = (1.0 - 1.0 / (size as f64).log10()).min(0.7);
    Loo {
        variable: likelihood.name.clone(),
        elpd: elpd_i.iter().sum(),
        se: (n as f64 * variance(&elpd_i, 1)).sqrt(),
        p: pointwise.iter().map(|x| x.p).sum(),
        n_draws: size,
        r_eff,
        k_limit,
        pointwise,
        observed: observed.map(|v| reals(&v.values)),
        names: (0..n).map(|i| places.label(i)).collect(),
    }
}

fn pointwise(psis: &mut Psis, log_likelihood: &[f64], r_eff: f64) -> Pointwise {
    if log_likelihood.iter().any(|l| !l.is_finite()) {
        let nan = f64::NAN;
        return Pointwise {
            elpd: nan,
            p: nan,
            k: nan,
        };
    }
    let k = psis.smooth(log_likelihood, r_eff);
    let weighted = psis.log_weights.iter().zip(log_likelihood);
    let elpd = log_sum_exp(weighted.map(|(w, l)| w + l));
    let size = log_likelihood.len() as f64;
    let all = log_sum_exp(log_likelihood.iter().copied()) - libm::log(size);
    Pointwise {
        elpd,
        p: all - elpd,
        k,
    }
}

/// For every observation the probability that a new one would lie below it, had it not been seen:
/// uniform where the model is calibrated. Ties count half.
///
/// Needs the groups `log_likelihood`, `posterior_predictive` and `observed_data`.
///
/// # Errors
/// Those of [`loo`]; a group is missing or has another shape.
pub fn loo_pit(trace: &Trace, variable: Option<&str>, threads: usize) -> Result<Vec<f64>> {
    let (likelihood, replicated, observed) = calibrated(trace, variable)?;
    let r_eff = relative_efficiency(trace, threads)?;
    let values = reals(&observed.values);
    let block = |psis: &mut Psis, job: usize| {
        let range = job * BLOCK..((job + 1) * BLOCK).min(values.len());
        let likelihoods = gather(likelihood, range.start, range.end);
        let replicates = gather(replicated, range.start, range.end);
        let one = |((l, r), y): ((&Vec<f64>, &Vec<f64>), &f64)| pit(psis, r_eff, l, r, *y);
        let pairs = likelihoods.iter().zip(&replicates);
        pairs.zip(&values[range]).map(one).collect::<Vec<_>>()
    };
    Ok(on_threads(values.len().div_ceil(BLOCK), threads, Psis::default, block).concat())
}

/// The probability of one observation, from its log likelihoods and replicates.
fn pit(psis: &mut Psis, r_eff: f64, likelihoods: &[f64], replicates: &[f64], y: f64) -> f64 {
    if likelihoods.iter().any(|l| !l.is_finite()) {
        return f64::NAN;
    }
    psis.smooth(likelihoods, r_eff);
    share_below(&psis.log_weights, replicates, y)
}

/// Log likelihood, replicates and observed values of the chosen variable, in shapes that agree.
fn calibrated<'a>(
    trace: &'a Trace,
    variable: Option<&str>,
) -> Result<(&'a Variable, &'a Variable, &'a Variable)> {
    let (_, likelihood) = likelihood_of(trace, variable)?;
    let name = likelihood.name.as_str();
    let find = |group: &str, flag: &str| {
        let found = trace.group(group).and_then(|g| g.variable(name));
        found.ok_or_else(|| {
            let message = format!("LOO-PIT needs `{name}` in the group `{group}`; {flag}");
            Error::new(ErrorKind::Data, message)
        })
    };
    let replicated = find("posterior_predictive", "sample with ⟨predictive⟩")?;
    let observed = find("observed_data", "save it with the trace")?;
    if replicated.shape != likelihood.shape || observed.shape != likelihood.shape[2..] {
        let message = format!(
            "`{name}` has shape {:?} in `log_likelihood`, {:?} in `posterior_predictive` and {:?} \
             in `observed_data`; they must agree",
            likelihood.shape, replicated.shape, observed.shape
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    Ok((likelihood, replicated, observed))
}

/// Σ w I(ỹ < y) + ½ Σ w I(ỹ = y).
fn share_below(log_weights: &[f64], replicates: &[f64], y: f64) -> f64 {
    let count = |&r: &f64| match r {
        r if r < y => 1.0,
        r if r == y => 0.5,
        _ => 0.0,
    };
    let counted = log_weights.iter().zip(replicates);
    counted.map(|(&w, r)| libm::exp(w) * count(r)).sum()
}

/// The log likelihood of the chosen variable, and its group.
fn likelihood_of<'a>(
    trace: &'a Trace,
    variable: Option<&str>,
) -> Result<(&'a Group, &'a Variable)> {
    let Some(group) = trace.group("log_likelihood") else {
        let message = "the trace has no group `log_likelihood`; sample with ⟨log_likelihood⟩ (in \
                       PyMC: pm.compute_log_likelihood)";
        return Err(Error::new(ErrorKind::Data, message));
    };
    if group.variables.is_empty() {
        let message = "the group `log_likelihood` is empty: the model reads its data by `target +=` \
                       alone, which does not say what one observation is; give the data a \
                       distribution";
        return Err(Error::new(ErrorKind::Data, message));
    }
    let names: Vec<&str> = group.variables.iter().map(|v| v.name.as_str()).collect();
    let found = match (variable, group.variables.as_slice()) {
        (Some(name), _) => group.variable(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.map(|v| (group, v)).ok_or_else(|| {
        let message = match variable {
            Some(name) => format!(
                "`log_likelihood` has no variable `{name}`; it has {}",
                names.join(", ")
            ),
            None => format!(
                "the trace has several log likelihoods ({}); name one with ⟨var⟩",
                names.join(", ")
            ),
        };
        Error::new(ErrorKind::Usage, message)
    })
}

/// Mean over all scalars of the posterior of ESS of the mean over draws; 1 for one chain, and
/// where none has an ESS. Scalars without one are left out.
fn relative_efficiency(trace: &Trace, threads: usize) -> Result<f64> {
    let group = group_of_draws(trace, "posterior")?;
    let (n_chains, n_draws) = shape_of_draws(group)?;
    if n_chains < 2 {
        return Ok(1.0);
    }
    let blocks = group.variables.iter().flat_map(|v| {
        let starts = (0..v.elements()).step_by(BLOCK);
        starts.map(move |start| (v, start))
    });
    let blocks: Vec<(&Variable, usize)> = blocks.collect();
    let sizes = |_: &mut (), job: usize| {
        let (v, start) = blocks[job];
        let columns = gather(v, start, (start + BLOCK).min(v.elements()));
        let one = |draws: &Vec<f64>| effective_size(draws, n_chains, n_draws);
        columns.iter().map(one).collect::<Vec<_>>()
    };
    let sizes = on_threads(blocks.len(), threads, || (), sizes).concat();
    Ok(mean_efficiency(sizes, n_chains * n_draws))
}

/// ESS of the mean; NaN where there is none.
fn effective_size(draws: &[f64], n_chains: usize, n_draws: usize) -> f64 {
    let x = Chains::new(draws, n_chains, n_draws);
    match x.usable() {
        true => ess_mean(x.values(), &x),
        false => f64::NAN,
    }
}

/// The mean of the effective sizes that are known, as a share of `size` draws.
fn mean_efficiency(sizes: Vec<f64>, size: usize) -> f64 {
    let known: Vec<f64> = sizes.into_iter().filter(|e| e.is_finite()).collect();
    match known.len() {
        0 => 1.0,
        n => known.iter().sum::<f64>() / n as f64 / size as f64,
    }
}

fn reals(values: &Column) -> Vec<f64> {
    match values {
        Column::Real(v) => v.clone(),
        Column::Integer(v) => v.iter().map(|&x| x as f64).collect(),
        Column::Flag(v) => v.iter().map(|&x| f64::from(u8::from(x))).collect(),
    }
}

/// Shape k of the upper tail of importance weights, from their logs, which must be finite: −∞ where
/// all are equal, ∞ or NaN where no tail can be fitted (Vehtari and others, JMLR 25, 2024).
pub fn tail_shape(log_weights: &[f64]) -> f64 {
    let negative: Vec<f64> = log_weights.iter().map(|w| -w).collect();
    Psis::default().smooth(&negative, 1.0)
}
