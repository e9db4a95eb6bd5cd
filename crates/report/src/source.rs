//! From a trace to the plain data of figures: which numbers to show, and their draws.

use crate::figure::{Draws, ForestColumn, ForestRow, Predictive, Series};
use fitzroy::diagnose::{
    ESS_LIMIT, Places, RHAT_LIMIT, Row, Summary, SummaryOptions, hdi, summary, unknown_variable,
};
use fitzroy::draws::{Column, Group, Labels, Trace, Variable};
use fitzroy::{Error, ErrorKind, Result};

/// Which draws of a trace are meant: the posterior, or the prior where there is nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    trace: &'a Trace,
    /// The group of draws.
    pub group: &'a Group,
}

/// One number of a trace.
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// Its variable.
    pub variable: &'a Variable,
    /// Its place, row-major.
    pub element: usize,
}

impl<'a> Source<'a> {
    /// The draws of `trace`.
    ///
    /// # Errors
    /// The trace has neither `posterior` nor `prior`, or draws that are not chains by draws.
    pub fn new(trace: &'a Trace) -> Result<Self> {
        let found = trace.group("posterior").or_else(|| trace.group("prior"));
        let Some(group) = found else {
            let names: Vec<&str> = trace.groups.iter().map(|g| g.name.as_str()).collect();
            let message = format!(
                "the trace has no group `posterior` or `prior`; it has: {}",
                names.join(", ")
            );
            return Err(Error::new(ErrorKind::Data, message));
        };
        for v in &group.variables {
            if v.shape.len() < 2 || v.dims.first().is_none_or(|d| d != "chain") {
                let dims = v.dims.join(", ");
                let message = format!(
                    "variable `{}` of `{}` has dimensions ({dims}); draws need chain and draw \
                     first",
                    v.name, group.name
                );
                return Err(Error::new(ErrorKind::Data, message));
            }
        }
        Ok(Source { trace, group })
    }

    /// The trace behind it.
    pub fn trace(&self) -> &'a Trace {
        self.trace
    }

    /// Whether the draws are of the prior.
    pub fn is_prior(&self) -> bool {
        self.group.name == "prior"
    }

    /// The statistics of the sampler, where the trace has them.
    pub fn statistics(&self) -> Option<&'a Group> {
        let name = match self.is_prior() {
            true => "sample_stats_prior",
            false => "sample_stats",
        };
        self.trace.group(name)
    }

    /// Every number of the named variables; of all without names. `theta[3]` and `theta[Choate]`
    /// name a single one.
    ///
    /// # Errors
    /// There is no such variable, with the nearest names, or no such element.
    pub fn elements(&self, names: &[String]) -> Result<Vec<Element<'a>>> {
        let all = |variable: &'a Variable| {
            (0..variable.elements()).map(move |element| Element { variable, element })
        };
        if names.is_empty() {
            return Ok(self.group.variables.iter().flat_map(all).collect());
        }
        let mut out = Vec::new();
        for name in names {
            if let Some(variable) = self.group.variable(name) {
                out.extend(all(variable));
                continue;
            }
            let base = name.split('[').next().unwrap_or(name);
            let Some(variable) = self.group.variable(base) else {
                return Err(unknown_variable(self.group, base));
            };
            let places = Places::new(self.trace, variable);
            let same = |e: &Element| {
                squeezed(&places.label(e.element)) == squeezed(name) || plain(e) == squeezed(name)
            };
            match all(variable).find(same) {
                Some(element) => out.push(element),
                None => {
                    let first = all(variable).next().map(|e| self.label(&e));
                    let message = format!(
                        "`{base}` has no element `{name}`; it has {} elements, the first is {}",
                        variable.elements(),
                        first.unwrap_or_default()
                    );
                    return Err(Error::new(ErrorKind::Usage, message));
                }
            }
        }
        Ok(out)
    }

    /// The name of a number, `theta[Choate]`.
    pub fn label(&self, element: &Element<'_>) -> String {
        Row::label_of(self.trace, element.variable, element.element)
    }

    /// The draws of the chosen numbers.
    pub fn draws(&self, chosen: &[Element<'_>], left_out: usize) -> Draws {
        Draws {
            series: chosen.iter().map(|e| self.series(e)).collect(),
            chain_names: self.chain_names(),
            divergent: self.divergent(),
            left_out,
        }
    }

    /// The draws of one number.
    pub fn series(&self, element: &Element<'_>) -> Series {
        Series {
            label: self.label(element),
            chains: element.variable.element(element.element),
        }
    }

    fn chain_names(&self) -> Vec<String> {
        let n = self.group.variables.first().map_or(0, |v| v.shape[0]);
        let name = |c: usize| match self.trace.coords.get("chain") {
            Some(Labels::Integers(v)) if v.len() == n => format!("chain {}", v[c]),
            Some(Labels::Text(v)) if v.len() == n => format!("chain {}", v[c]),
            _ => format!("chain {c}"),
        };
        (0..n).map(name).collect()
    }

    /// Divergent draws by chain; nothing where the trace does not tell.
    fn divergent(&self) -> Vec<Vec<usize>> {
        let flags = self.statistics().and_then(|g| g.variable("diverging"));
        let Some(flags) = flags.filter(|v| v.shape.len() == 2) else {
            return Vec::new();
        };
        let chains = flags.element(0);
        let places = |chain: &Vec<f64>| {
            let hits = chain.iter().enumerate().filter(|(_, v)| **v != 0.0);
            hits.map(|(d, _)| d).collect()
        };
        chains.iter().map(places).collect()
    }

    /// The energies of the sampler.
    pub fn energy(&self) -> Option<Series> {
        let energy = self.statistics()?.variable("energy")?;
        (energy.shape.len() == 2).then(|| Series {
            label: "energy".into(),
            chains: energy.element(0),
        })
    }

    /// The numbers to show when not all can be: `most` of them, scalars first, then the ones whose
    /// R-hat and ESS are worst. Also how many are left out.
    ///
    /// # Errors
    /// Those of [`Source::elements`] and of the summary.
    pub fn chosen(
        &self,
        names: &[String],
        most: usize,
        threads: usize,
    ) -> Result<(Vec<Element<'a>>, usize)> {
        let all = self.elements(names)?;
        if all.len() <= most {
            return Ok((all, 0));
        }
        let rows = self.summary(threads)?.rows;
        Ok(self.worst_first(&all, &rows, most))
    }

    /// [`Source::chosen`] with the rows of a summary at hand.
    pub fn worst_first(
        &self,
        all: &[Element<'a>],
        rows: &[Row],
        most: usize,
    ) -> (Vec<Element<'a>>, usize) {
        if all.len() <= most {
            return (all.to_vec(), 0);
        }
        let starts = starts(self.group);
        let row = |e: &Element| {
            let start = starts.iter().find(|(name, _)| *name == e.variable.name);
            start.and_then(|(_, at)| rows.get(at + e.element))
        };
        // A quarter is kept for the worst, whatever they are.
        let scalars = most - most / 4;
        let scalar = |e: &&Element| e.variable.shape.len() == 2;
        let mut chosen: Vec<usize> = (0..all.len())
            .filter(|&i| scalar(&&all[i]))
            .take(scalars)
            .collect();
        let mut rest: Vec<(f64, usize)> = (0..all.len())
            .filter(|i| !chosen.contains(i))
            .map(|i| (row(&all[i]).map_or(0.0, badness), i))
            .collect();
        rest.sort_by(|a, b| b.0.total_cmp(&a.0));
        chosen.extend(rest.iter().take(most - chosen.len()).map(|(_, i)| *i));
        let left_out = all.len() - chosen.len();
        (chosen.into_iter().map(|i| all[i]).collect(), left_out)
    }

    /// The summary of every number.
    ///
    /// # Errors
    /// Draws whose shapes do not agree.
    pub fn summary(&self, threads: usize) -> Result<Summary> {
        let options = SummaryOptions {
            group: self.group.name.clone(),
            threads,
            ..SummaryOptions::default()
        };
        summary(self.trace, &options)
    }

    /// What a forest shows of each number, rows taken from a summary of the whole group.
    pub fn forest(&self, chosen: &[Element<'_>], rows: &[Row]) -> Vec<(String, ForestColumn)> {
        let starts = starts(self.group);
        let one = |e: &Element| {
            let start = starts.iter().find(|(name, _)| *name == e.variable.name)?;
            let s = rows.get(start.1 + e.element)?.statistics;
            let draws: Vec<f64> = e.variable.element(e.element).concat();
            let (low, high) = hdi(&draws, 0.5);
            let column = ForestColumn {
                mean: s.mean,
                inner: [low, high],
                outer: [s.lower, s.upper],
                r_hat: s.r_hat,
                ess: s.ess_bulk,
            };
            Some((self.label(e), column))
        };
        chosen.iter().filter_map(one).collect()
    }

    /// Replicated data beside the observed: one for each observed variable.
    pub fn predictive(&self, prior: bool) -> Vec<Predictive> {
        let name = if prior {
            "prior_predictive"
        } else {
            "posterior_predictive"
        };
        let Some(group) = self.trace.group(name) else {
            return Vec::new();
        };
        let observed = self.trace.group("observed_data");
        let one = |v: &Variable| {
            let n = v.elements();
            let draws = v.shape.iter().take(2).product::<usize>();
            let values = reals(v);
            let step = draws.div_ceil(REPLICATES).max(1);
            let replicates = (0..draws).step_by(step);
            let observed = observed.and_then(|g| g.variable(&v.name)).map(reals);
            Predictive {
                name: v.name.clone(),
                observed: observed.filter(|o| o.len() == n).unwrap_or_default(),
                replicates: replicates
                    .map(|d| values[d * n..(d + 1) * n].to_vec())
                    .collect(),
                prior,
            }
        };
        let draws = group.variables.iter().filter(|v| v.shape.len() >= 2);
        draws.map(one).collect()
    }
}

/// Replicates read from a trace, at most.
const REPLICATES: usize = 400;

/// Where the rows of each variable begin in a summary of the group.
fn starts(group: &Group) -> Vec<(&str, usize)> {
    let mut at = 0;
    let start = |v: &'_ Variable| {
        let here = at;
        at += v.elements();
        here
    };
    let places: Vec<usize> = group.variables.iter().map(start).collect();
    let names = group.variables.iter().map(|v| v.name.as_str());
    names.zip(places).collect()
}

/// Larger is worse: draws that are not finite, then how far R-hat and ESS fall short. Constants
/// come last.
pub(crate) fn badness(row: &Row) -> f64 {
    let s = &row.statistics;
    if !s.mean.is_finite() {
        return f64::INFINITY;
    }
    if s.sd == 0.0 {
        return f64::NEG_INFINITY;
    }
    let disagreement = (s.r_hat - 1.0) / (RHAT_LIMIT - 1.0);
    disagreement.max(ESS_LIMIT / s.ess_bulk.min(s.ess_tail))
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// `theta[0,2]`: the element by its positions.
fn plain(e: &Element<'_>) -> String {
    let (mut flat, mut index) = (e.element, Vec::new());
    for &size in e.variable.shape[2..].iter().rev() {
        index.push((flat % size).to_string());
        flat /= size;
    }
    index.reverse();
    format!("{}[{}]", e.variable.name, index.join(","))
}

/// All elements as real numbers.
pub(crate) fn reals(v: &Variable) -> Vec<f64> {
    match &v.values {
        Column::Real(x) => x.clone(),
        Column::Integer(x) => x.iter().map(|&i| i as f64).collect(),
        Column::Flag(x) => x.iter().map(|&b| f64::from(u8::from(b))).collect(),
    }
}

/// Rows of a forest of several traces: those of the first, then what only later ones have.
pub fn forest_rows(traces: &[Vec<(String, ForestColumn)>]) -> Vec<ForestRow> {
    let mut rows: Vec<ForestRow> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for (t, columns) in traces.iter().enumerate() {
        for (label, column) in columns {
            let at = *places.entry(label.clone()).or_insert_with(|| {
                let variable = label.split('[').next().unwrap_or(label);
                rows.push(ForestRow {
                    variable: variable.into(),
                    label: label.clone(),
                    traces: vec![None; traces.len()],
                });
                rows.len() - 1
            });
            rows[at].traces[t] = Some(*column);
        }
    }
    rows
}
