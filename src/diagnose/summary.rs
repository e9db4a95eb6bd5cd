//! A table of every element of every variable of a trace.

use super::chains::Chains;
use super::element::{ElementStatistics, StatisticsOptions, element_statistics};
use super::places::{Label, Places, written};
use super::ranks::Scores;
use super::threads::on_threads;
use crate::draws::{Column, Group, Trace, Variable};
use crate::{Error, ErrorKind, Result};

/// What to summarise, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryOptions {
    /// Interval and tails.
    pub statistics: StatisticsOptions,
    /// Names of the variables to show; all when empty.
    pub variables: Vec<String>,
    /// The group whose variables are summarised; `posterior` by default.
    pub group: String,
    /// Threads to work on; the numbers do not depend on it.
    pub threads: usize,
}

impl Default for SummaryOptions {
    fn default() -> Self {
        SummaryOptions {
            statistics: StatisticsOptions::default(),
            variables: Vec::new(),
            group: "posterior".into(),
            threads: 1,
        }
    }
}

/// One element of one variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the variable.
    pub name: String,
    /// Position along every dimension, counted from 0; empty for a scalar.
    pub index: Vec<usize>,
    /// Label along every dimension; empty when no dimension has labels beyond its positions.
    pub labels: Vec<Label>,
    /// The numbers.
    pub statistics: ElementStatistics,
}

impl Row {
    /// The element as people write it: `mu`, `theta[3]`, `theta[Choate]`, `omega[2, 0]`.
    pub fn label(&self) -> String {
        written(&self.name, &self.index, &self.labels)
    }

    /// The same of an element of a variable that has no row; of many of them, see [`Places`].
    pub fn label_of(trace: &Trace, variable: &Variable, element: usize) -> String {
        Places::new(trace, variable).label(element)
    }
}

/// A summary and what it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// One row per element, in the order of the model, last dimension fastest.
    pub rows: Vec<Row>,
    /// Interval and tails that were asked.
    pub statistics: StatisticsOptions,
    /// Chains.
    pub n_chains: usize,
    /// Draws of each chain.
    pub n_draws: usize,
}

/// Summarises every element of the variables of a trace.
///
/// An error when the group or a variable is missing (naming what there is), when a variable is
/// not laid out as chains by draws, or when the probability is not between 0 and 1.
pub fn summary(trace: &Trace, options: &SummaryOptions) -> Result<Summary> {
    check_probability(options.statistics)?;
    let group = group_of_draws(trace, &options.group)?;
    let variables = chosen(group, &options.variables)?;
    let (n_chains, n_draws) = shape_of_draws(group)?;
    let rows = all_rows(trace, &variables, n_chains, n_draws, options);
    Ok(Summary {
        rows,
        statistics: options.statistics,
        n_chains,
        n_draws,
    })
}

/// Refuses an interval that holds nothing or everything.
pub(crate) fn check_probability(statistics: StatisticsOptions) -> Result<()> {
    let probability = statistics.ci_prob;
    match probability > 0.0 && probability < 1.0 {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::Usage,
            format!("the interval's probability is {probability}; it must lie between 0 and 1"),
        )),
    }
}

/// The group called `name`, or an error that lists the groups.
pub(crate) fn group_of_draws<'a>(trace: &'a Trace, name: &str) -> Result<&'a Group> {
    trace.group(name).ok_or_else(|| {
        let names: Vec<&str> = trace.groups.iter().map(|g| g.name.as_str()).collect();
        let there = if names.is_empty() {
            "no groups".into()
        } else {
            names.join(", ")
        };
        Error::new(
            ErrorKind::Data,
            format!("the trace has no group `{name}`; it has {there}"),
        )
    })
}

/// The variables of `group` that `names` choose; all when there are no names.
fn chosen<'a>(group: &'a Group, names: &[String]) -> Result<Vec<&'a Variable>> {
    if names.is_empty() {
        return Ok(group.variables.iter().collect());
    }
    if let Some(unknown) = names.iter().find(|name| group.variable(name).is_none()) {
        return Err(unknown_variable(group, unknown));
    }
    let wanted = |v: &&Variable| names.contains(&v.name);
    Ok(group.variables.iter().filter(wanted).collect())
}

/// An error that offers the names closest to `unknown`.
pub fn unknown_variable(group: &Group, unknown: &str) -> Error {
    let mut names: Vec<&str> = group.variables.iter().map(|v| v.name.as_str()).collect();
    names.sort_by_key(|name| edit_distance(name, unknown));
    let nearest = names[..names.len().min(3)].join(", ");
    let text = format!(
        "`{}` has no variable `{unknown}`; the nearest of its {} are: {nearest}",
        group.name,
        names.len()
    );
    Error::new(ErrorKind::Usage, text)
}

/// Levenshtein's distance between two names.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut costs: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = costs[0];
        costs[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = costs[j + 1];
            costs[j + 1] = replaced.min(diagonal + 1).min(costs[j] + 1);
        }
    }
    costs[b.len()]
}

/// Chains and draws of a group, once every variable is known to agree with them.
pub(crate) fn shape_of_draws(group: &Group) -> Result<(usize, usize)> {
    let mut first: Option<(&str, usize, usize)> = None;
    for v in &group.variables {
        if v.shape.len() < 2 || v.dims.len() != v.shape.len() || v.dims[..2] != ["chain", "draw"] {
            return Err(Error::new(
                ErrorKind::Data,
                format!(
                    "variable `{}` of `{}` has dimensions ({}) of sizes {:?}; draws need chain and \
                     draw first",
                    v.name,
                    group.name,
                    v.dims.join(", "),
                    v.shape
                ),
            ));
        }
        let (name, n_chains, n_draws) = *first.get_or_insert((&v.name, v.shape[0], v.shape[1]));
        let length = match &v.values {
            Column::Real(x) => x.len(),
            Column::Integer(x) => x.len(),
            Column::Flag(x) => x.len(),
        };
        if (v.shape[0], v.shape[1]) != (n_chains, n_draws) {
            return Err(Error::new(
                ErrorKind::Data,
                format!(
                    "`{}` has {} chains of {} draws and `{name}` has {n_chains} of {n_draws}; all \
                     variables of `{}` must agree",
                    v.name, v.shape[0], v.shape[1], group.name
                ),
            ));
        }
        let needed = n_chains * n_draws * v.elements();
        if length != needed {
            let (name, shape) = (&v.name, &v.shape);
            return Err(Error::new(
                ErrorKind::Data,
                format!("`{name}` holds {length} numbers, but its shape {shape:?} needs {needed}"),
            ));
        }
    }
    let empty = || {
        Error::new(
            ErrorKind::Data,
            format!("group `{}` has no variables", group.name),
        )
    };
    first
        .map(|(_, n_chains, n_draws)| (n_chains, n_draws))
        .ok_or_else(empty)
}

/// Elements gathered at once: as many as share a cache line of draws.
const BLOCK: usize = 8;

/// All rows, worked out on as many threads as asked, a block of elements at a time.
fn all_rows(
    trace: &Trace,
    variables: &[&Variable],
    n_chains: usize,
    n_draws: usize,
    options: &SummaryOptions,
) -> Vec<Row> {
    let blocks_of = |v: usize| {
        let starts = (0..variables[v].elements()).step_by(BLOCK);
        starts.map(move |start| (v, start))
    };
    let blocks: Vec<(usize, usize)> = (0..variables.len()).flat_map(blocks_of).collect();
    let scores = Scores::new(2 * n_chains * (n_draws / 2));
    let places = variables.iter().map(|v| Places::new(trace, v));
    let places: Vec<Places<'_>> = places.collect();
    let rows = |_: &mut (), job: usize| {
        let (v, start) = blocks[job];
        block_rows(&places[v], start, &scores, options.statistics)
    };
    on_threads(blocks.len(), options.threads, || (), rows).concat()
}

/// The rows of up to [`BLOCK`] elements from `start` on.
fn block_rows(
    places: &Places<'_>,
    start: usize,
    scores: &Scores,
    options: StatisticsOptions,
) -> Vec<Row> {
    let variable = places.variable();
    let (n_chains, n_draws) = (variable.shape[0], variable.shape[1]);
    let end = (start + BLOCK).min(variable.elements());
    let columns = gather(variable, start, end);
    let row = |(element, draws): (usize, Vec<f64>)| {
        let x = Chains::new(&draws, n_chains, n_draws);
        places.row(element, element_statistics(x, scores, options))
    };
    (start..end).zip(columns).map(row).collect()
}

/// The draws of elements `start..end`, each chain after chain.
pub(crate) fn gather(variable: &Variable, start: usize, end: usize) -> Vec<Vec<f64>> {
    let stride = variable.elements();
    match &variable.values {
        Column::Real(v) => columns(v, stride, start..end, |x| x),
        Column::Integer(v) => columns(v, stride, start..end, |x| x as f64),
        Column::Flag(v) => columns(v, stride, start..end, |x| f64::from(u8::from(x))),
    }
}

/// The columns `wanted` of rows of `stride` values.
fn columns<T: Copy>(
    values: &[T],
    stride: usize,
    wanted: std::ops::Range<usize>,
    real: impl Fn(T) -> f64,
) -> Vec<Vec<f64>> {
    if stride == 1 && wanted.len() == 1 {
        return vec![values.iter().map(|&v| real(v)).collect()];
    }
    let n = values.len() / stride.max(1);
    let mut columns: Vec<Vec<f64>> = wanted.clone().map(|_| vec![0.0; n]).collect();
    for (draw, row) in values.chunks_exact(stride.max(1)).enumerate() {
        for (column, &v) in columns.iter_mut().zip(&row[wanted.clone()]) {
            column[draw] = real(v);
        }
    }
    columns
}
