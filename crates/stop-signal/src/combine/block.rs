//! The fit of one block: what of its draws and of its model is needed.

use super::Blocks;
use super::interim::interim;
use crate::correlations::is_recorded;
use crate::params::{Kind, Parameter};
use crate::predictive::subjects_of;
use fitzroy::diagnose::{Chains, mean, rhat, sd};
use fitzroy::draws::{Group, Trace, Variable};
use fitzroy::{Error, ErrorKind, Result};
use std::collections::BTreeMap;

/// How a parameter of subjects hangs on the population: normal, as a logarithm or a probit.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The parameter.
    pub name: &'static str,
    /// Whether it is a probability.
    pub probability: bool,
    /// What of a subject is normal: `log_B`.
    pub subject: String,
    /// Its mean in the population: `log_mu_B`.
    pub centre: String,
    /// Its standard deviation: `sigma_B`.
    pub spread: String,
    /// Its mean for a subject, which may depend on covariates.
    pub expected: String,
    /// Covariates and the slopes on them.
    pub slopes: Vec<(String, String)>,
}

/// The levels of a model, in the order of its parameters, with the slopes that its text has.
pub fn levels(kind: Kind, model: &str) -> Vec<Level> {
    let slopes = slopes_of(kind, model);
    let one = |p: &Parameter| {
        let own = format!("slope_{}_", p.name);
        let mine = slopes.iter().filter(|(s, c)| *s == format!("{own}{c}"));
        let mine: Vec<_> = mine.cloned().collect();
        Level {
            name: p.name,
            probability: p.probability,
            subject: p.scaled_name(),
            expected: match mine.is_empty() {
                true => p.centre_name(),
                false => format!("_expected_{}", p.name),
            },
            centre: p.centre_name(),
            spread: p.spread_name(),
            slopes: mine,
        }
    };
    kind.parameters().iter().map(one).collect()
}

/// The model of stopping of whose subjects a trace has all parameters, the one with the most.
fn kind_of(name: &str, trace: &Trace, posterior: &Group) -> Result<Kind> {
    let has = |kind: &Kind| {
        let mut all = kind.parameters().iter();
        all.all(|p| posterior.variable(&p.scaled_name()).is_some())
    };
    let found = Kind::OF_STOPPING.into_iter().filter(has);
    let Some(kind) = found.max_by_key(|kind| kind.parameters().len()) else {
        return refused(format!(
            "{name}: the fit does not record what its subjects' parameters are on the scale on which \
             they are normal; blocks are fits of a stop-signal model with ⟨pooling partial⟩, and no \
             Wald baselines"
        ));
    };
    match is_recorded(kind, trace) {
        false => Ok(kind),
        true => refused(format!(
            "{name}: its subjects' effects are correlated (⟨correlated⟩); blocks are combined where \
             they are independent"
        )),
    }
}

fn find<'a>(name: &str, posterior: &'a Group, wanted: &str) -> Result<&'a Variable> {
    posterior.variable(wanted).ok_or_else(|| {
        let message = format!(
            "{name}: the fit has no `{wanted}`; blocks are fits of the stop-signal model \
             with ⟨pooling partial⟩, and no Wald baselines"
        );
        Error::new(ErrorKind::Data, message)
    })
}

/// Numbers of the population.
fn scalars(posterior: &Group) -> Vec<&Variable> {
    let all = posterior.variables.iter();
    all.filter(|v| v.elements() == 1 && v.shape.len() == 2)
        .collect()
}

/// What draws of subjects had for a prior when they were made.
#[derive(Clone, Debug)]
pub enum Proposal {
    /// The population of their block. By level, mean and spread at each draw.
    Population(Vec<[Vec<f64>; 2]>),
    /// An interim population, the same for all. By level, mean and spread.
    Interim(Vec<[f64; 2]>),
}

/// A block of subjects as its fit left it.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its folder.
    pub name: String,
    /// Which model.
    pub kind: Kind,
    /// The text of the model with a population.
    pub model: String,
    /// Names of its subjects.
    pub subjects: Vec<String>,
    /// By level, draws of every subject: `[subject][point]`.
    pub values: Vec<Vec<f64>>,
    /// Where they come from.
    pub proposal: Proposal,
    /// Slopes at those draws.
    pub slopes: BTreeMap<String, Vec<f64>>,
    /// Names of covariates.
    pub covariates: Vec<String>,
    given: BTreeMap<String, Vec<f64>>,
    /// Mean and standard deviation of what is recorded of the population, over all draws.
    moments: BTreeMap<String, (f64, f64)>,
    /// Largest R-hat of the population, or of subjects that are apart.
    pub worst_r_hat: f64,
    /// Draws of every subject that are kept.
    pub n_points: usize,
}

fn refused<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Data, message))
}

impl Block {
    /// From the trace of the fit of `model`, at most `n_points` draws of every subject, evenly over
    /// all chains and in their order. `population` is the model of all subjects, if those of the fit were
    /// apart under an interim population.
    ///
    /// # Errors
    /// The trace is not that of a stop-signal model whose subjects have a population.
    pub fn new(
        name: &str,
        model: &str,
        population: Option<&str>,
        trace: &Trace,
        n_points: usize,
    ) -> Result<Block> {
        let Some(posterior) = trace.group("posterior") else {
            return refused(format!("{name}: the trace has no posterior"));
        };
        let kind = kind_of(name, trace, posterior)?;
        let levels = levels(kind, population.unwrap_or(model));
        let drawn = levels.iter().map(|l| find(name, posterior, &l.subject));
        let drawn: Vec<&Variable> = drawn.collect::<Result<_>>()?;
        let points = points(drawn[0].shape[0] * drawn[0].shape[1], n_points);
        let values = drawn.iter().map(|v| subject_major(v, &points)).collect();
        let apart = population.and_then(|_| interim(&levels, model));
        let (proposal, moments, worst_r_hat) = match apart {
            Some(interim) => {
                let n = drawn[0].elements() as f64;
                let moments = expected_moments(&levels, &interim, n);
                (Proposal::Interim(interim), moments, worst_of(&drawn))
            }
            None => {
                let of = |wanted: &str| -> Result<Vec<f64>> {
                    Ok(pick(
                        &find(name, posterior, wanted)?.element(0).concat(),
                        &points,
                    ))
                };
                let pairs = levels.iter().map(|l| Ok([of(&l.centre)?, of(&l.spread)?]));
                let pairs = pairs.collect::<Result<_>>()?;
                let scalars = scalars(posterior);
                let moments = moments_of(&scalars);
                (Proposal::Population(pairs), moments, worst_of(&scalars))
            }
        };
        let mut block = Block {
            name: name.into(),
            kind,
            model: population.unwrap_or(model).into(),
            subjects: subjects_of(trace),
            values,
            proposal,
            slopes: BTreeMap::new(),
            covariates: Vec::new(),
            given: BTreeMap::new(),
            moments,
            worst_r_hat,
            n_points: points.len(),
        };
        block.read_covariates(trace, &points)?;
        Ok(block)
    }

    fn read_covariates(&mut self, trace: &Trace, points: &[usize]) -> Result<()> {
        let posterior = trace.group("posterior");
        for (slope, covariate) in slopes_of(self.kind, &self.model) {
            let lacks = |what: &str| {
                let message = format!(
                    "{}: its trace lacks `{what}`, which its model has",
                    self.name
                );
                Error::new(ErrorKind::Data, message)
            };
            let given = trace
                .group("constant_data")
                .and_then(|g| g.variable(&covariate));
            let given = given.ok_or_else(|| lacks(&covariate))?;
            let values = match &given.values {
                fitzroy::draws::Column::Real(v) => v.clone(),
                fitzroy::draws::Column::Integer(v) => v.iter().map(|x| *x as f64).collect(),
                fitzroy::draws::Column::Flag(v) => {
                    v.iter().map(|x| f64::from(u8::from(*x))).collect()
                }
            };
            if let Proposal::Population(_) = self.proposal {
                let drawn = posterior.and_then(|g| g.variable(&slope));
                let drawn = drawn.ok_or_else(|| lacks(&slope))?;
                let drawn = pick(&drawn.element(0).concat(), points);
                self.slopes.insert(slope, drawn);
            }
            if !self.covariates.contains(&covariate) {
                self.covariates.push(covariate.clone());
            }
            self.given.insert(covariate, values);
        }
        Ok(())
    }

    /// Mean and standard deviation of a number of the population.
    pub fn moments(&self, name: &str) -> Option<(f64, f64)> {
        self.moments.get(name).copied()
    }

    /// A covariate of every subject.
    pub fn covariate(&self, name: &str) -> &[f64] {
        self.given.get(name).map_or(&[], Vec::as_slice)
    }

    /// Keeps `n` of the draws.
    pub(super) fn thin(&mut self, n: usize) {
        let kept = points(self.n_points, n);
        let stride = self.n_points;
        for values in &mut self.values {
            let rows = values.chunks(stride).map(|row| pick(row, &kept));
            *values = rows.collect::<Vec<_>>().concat();
        }
        let population = match &mut self.proposal {
            Proposal::Population(pairs) => &mut pairs[..],
            Proposal::Interim(_) => &mut [],
        };
        for draws in population
            .iter_mut()
            .flatten()
            .chain(self.slopes.values_mut())
        {
            *draws = pick(draws, &kept);
        }
        self.n_points = kept.len();
    }
}

/// Slopes of a model's text and the covariates that they stand at: `slope_X_COVARIATE`.
fn slopes_of(kind: Kind, model: &str) -> Vec<(String, String)> {
    let names_of = kind.parameter_names();
    let lines = model.lines().filter_map(|line| line.split_once(" ~ "));
    let names = lines
        .map(|(name, _)| name)
        .filter(|n| n.starts_with("slope_"));
    let of = |slope: &str| {
        let mut at = names_of
            .iter()
            .filter_map(|x| slope.strip_prefix(&format!("slope_{x}_")));
        let covariate = at.find(|c| c.starts_with("x_"))?;
        Some((slope.to_owned(), covariate.to_owned()))
    };
    names.filter_map(of).collect()
}

/// Positions of `n` of `of` draws, evenly spread.
pub(super) fn points(of: usize, n: usize) -> Vec<usize> {
    let n = n.min(of);
    (0..n).map(|j| (2 * j + 1) * of / (2 * n)).collect()
}

fn pick(draws: &[f64], at: &[usize]) -> Vec<f64> {
    at.iter().map(|&p| draws[p]).collect()
}

fn subject_major(variable: &Variable, points: &[usize]) -> Vec<f64> {
    let each = (0..variable.elements()).map(|i| pick(&variable.element(i).concat(), points));
    each.collect::<Vec<_>>().concat()
}

/// Mean and standard deviation of numbers of the population.
fn moments_of(scalars: &[&Variable]) -> BTreeMap<String, (f64, f64)> {
    let one = |v: &&Variable| {
        let draws = v.element(0).concat();
        (v.name.clone(), (mean(&draws), sd(&draws)))
    };
    scalars.iter().map(one).collect()
}

/// What `n` subjects of an interim population would say of the population: where it is, and how well
/// that is known.
fn expected_moments(
    levels: &[Level],
    interim: &[[f64; 2]],
    n: f64,
) -> BTreeMap<String, (f64, f64)> {
    let mut out = BTreeMap::new();
    for (level, [mean, spread]) in levels.iter().zip(interim) {
        out.insert(level.centre.clone(), (*mean, spread / n.sqrt()));
        out.insert(level.spread.clone(), (*spread, spread / (2.0 * n).sqrt()));
        for (slope, _) in &level.slopes {
            out.insert(slope.clone(), (0.0, spread / n.sqrt()));
        }
    }
    out
}

/// The largest R-hat of all elements; 1 if none is above.
fn worst_of(variables: &[&Variable]) -> f64 {
    let each = variables
        .iter()
        .flat_map(|v| (0..v.elements()).map(move |i| (v, v.element(i).concat())));
    let r_hat = each.map(|(v, draws)| rhat(Chains::new(&draws, v.shape[0], v.shape[1])));
    r_hat.filter(|r| !r.is_nan()).fold(1.0, f64::max)
}

/// Statements of a model that are about the population: those whose left side has no dim, and what
/// subjects expect.
fn population(model: &str) -> String {
    let mut out = String::new();
    for line in model.lines() {
        let left = line.split(['~', '=']).next().unwrap_or_default();
        let plain = !left.contains('[') && line.contains(['~', '=']);
        if plain && !line.starts_with(['#', ' ']) || left.starts_with("_expected_") {
            out += line;
            out.push('\n');
        }
        if line.starts_with("data ") && line.ends_with("[subject]") {
            out.insert_str(0, &format!("{line}\n"));
        }
    }
    out
}

/// Puts blocks together.
///
/// # Errors
/// There is one block only, models differ, or a subject is in two of them.
pub fn join(blocks: Vec<Block>) -> Result<Blocks> {
    let [first, others @ ..] = &blocks[..] else {
        return refused("there are no blocks".into());
    };
    if let Some(other) = others.iter().find(|b| b.model != first.model) {
        return refused(format!(
            "{} and {} were fitted with different models or priors: their model.fz differ",
            first.name, other.name
        ));
    }
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for block in &blocks {
        for subject in &block.subjects {
            if let Some(other) = seen.insert(subject, &block.name) {
                return refused(format!(
                    "subject `{subject}` is in {other} and in {}; blocks must have no subject in \
                     common",
                    block.name
                ));
            }
        }
    }
    let n_points = blocks.iter().map(|b| b.n_points).min().unwrap_or(0);
    let levels = levels(first.kind, &first.model);
    let mut joined = Blocks {
        population: population(&first.model),
        blocks,
        levels,
        n_points,
    };
    joined.thin(n_points);
    Ok(joined)
}
