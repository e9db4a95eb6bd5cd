//! Constraints between parameters: linear equations solved for one parameter each, linear inequalities with a slack
//! that is bounded by 0; others are left to `curved`.
//!
//! `a < b` makes b = a + s with a parameter s ≥ 0, so that active sets, first-order conditions, errors and names of
//! what is active are those of bounds.

use super::curved::Curved;
use super::estimate::Estimate;
use super::options::Options;
use super::plan::Plan;
use crate::formula::{Formula, Parameter, Roles, Setting, tie_value};
use crate::method::Observer;
use crate::pass::Table;
use fitzroy::{Error, Result};

/// Σ coefficient θ + constant, which is 0, or at most 0.
#[derive(Clone, Debug)]
struct Row {
    coefficients: Vec<f64>,
    constant: f64,
}

/// The slack of an inequality.
#[derive(Clone, Debug)]
pub struct Slack {
    /// Its name as a parameter.
    pub name: String,
    /// The constraint as it was written.
    pub text: String,
    row: Row,
}

/// What constraints come to.
#[derive(Clone, Debug, Default)]
pub struct Constrained {
    /// Parameters that others determine: name, formula.
    pub ties: Vec<(String, String)>,
    /// Of each inequality.
    pub slacks: Vec<Slack>,
    /// The ties without the inequalities.
    pub equations: Vec<(String, String)>,
    /// Those that are not linear.
    pub curved: Vec<Curved>,
}

/// What a text comes to.
enum Read {
    /// A row, and whether it is an equation.
    Linear(Row, bool),
    Curved(Box<Curved>),
}

/// A parameter with its lower and upper bound.
pub type Bound = (String, f64, f64);

/// Signs that divide a constraint; those of two letters first.
const SIGNS: [&str; 6] = ["<=", ">=", "==", "<", ">", "="];
/// A coefficient below this part of the greatest is rounding.
const ROUNDING: f64 = 1e-12;

impl Constrained {
    /// Reads `options.constraints` over the parameters of `roles`, which have these bounds.
    ///
    /// # Errors
    /// Texts that are no constraint, and linear ones that contradict each other, or leave no parameter that they could
    /// be solved for.
    pub fn new(roles: &Roles, options: &Options, bounds: &[Bound]) -> Result<Constrained> {
        if options.constraints.is_empty() {
            return Ok(Constrained::default());
        }
        let names: Vec<&str> = roles.parameters.iter().map(|p| p.name.as_str()).collect();
        let mut rows = Vec::new();
        let (mut slacks, mut curved) = (Vec::new(), Vec::new());
        for text in &options.constraints {
            let (row, equation) = match read(text, roles)? {
                Read::Linear(row, equation) => (row, equation),
                Read::Curved(constraint) => {
                    curved.push(*constraint);
                    continue;
                }
            };
            if equation {
                rows.push((text.as_str(), row));
            } else {
                let name = format!("slack{}", slacks.len() + 1);
                slacks.push(Slack {
                    name,
                    text: text.clone(),
                    row,
                });
            }
        }
        let given = |name: &str| {
            let tied = options.tied.iter().map(|(n, _)| n);
            let mut held = options.fixed.iter().map(|(n, _)| n).chain(tied);
            held.any(|n| n == name)
        };
        let bounded = |name: &str| bounds.iter().any(|(n, ..)| n == name);
        // Unbounded ones first: a parameter that is solved for has no bounds of its own.
        let mut order: Vec<usize> = (0..names.len()).filter(|&k| !given(names[k])).collect();
        order.sort_by_key(|&k| (bounded(names[k]), std::cmp::Reverse(k)));
        let equations = solved(&rows, &names, &order, bounds, 0)?;
        let taken = slacks.len();
        for (k, slack) in slacks.iter().enumerate() {
            let mut row = slack.row.clone();
            row.coefficients
                .extend((0..taken).map(|j| f64::from(j == k)));
            rows.push((slack.text.as_str(), row));
        }
        let all: Vec<&str> = names
            .iter()
            .copied()
            .chain(slacks.iter().map(|s| s.name.as_str()))
            .collect();
        let ties = solved(&rows, &all, &order, bounds, taken)?;
        Ok(Constrained {
            ties,
            slacks,
            equations,
            curved,
        })
    }

    /// How far each inequality is from holding with equality, at the values of all parameters; below 0 it is broken.
    pub fn gaps(&self, values: &[f64]) -> Vec<f64> {
        let gap = |slack: &Slack| -slack.row.value(values);
        self.slacks.iter().map(gap).collect()
    }

    /// Adds the slacks to `roles`.
    pub fn extend(&self, roles: &mut Roles) -> Result<()> {
        for slack in &self.slacks {
            if roles.parameters.iter().any(|p| p.name == slack.name) {
                return Err(Error::usage(format!(
                    "⟨constraint {}⟩: its slack is called `{}`, and so is a parameter; give that another name",
                    slack.text, slack.name
                )));
            }
            roles.parameters.push(Parameter {
                name: slack.name.clone(),
                indexed: None,
            });
        }
        Ok(())
    }
}

impl Row {
    fn value(&self, at: &[f64]) -> f64 {
        let products = self.coefficients.iter().zip(at).map(|(c, x)| c * x);
        products.sum::<f64>() + self.constant
    }
}

/// A constraint as a row if it is linear.
fn read(text: &str, roles: &Roles) -> Result<Read> {
    let wrong = |why: &str| Error::usage(format!("⟨constraint {text}⟩: {why}"));
    let found = SIGNS
        .iter()
        .find_map(|sign| text.split_once(sign).map(|(a, b)| (*sign, a, b)));
    let Some((sign, left, right)) = found else {
        return Err(wrong(
            "needs =, < or > between two formulas of parameters, as in 'a < b' or 'a + b = 1'",
        ));
    };
    if right.contains(['<', '>', '=']) {
        return Err(wrong("has more than one sign; write a constraint for each"));
    }
    let (left, right) = match sign {
        ">" | ">=" => (right, left),
        _ => (left, right),
    };
    let formula = Formula::parse(&format!("({left}) - ({right})"))
        .map_err(|e| e.context(format!("⟨constraint {text}⟩")))?;
    let columns: Vec<&str> = roles.predictors.iter().map(String::as_str).collect();
    let used = formula.names(&columns, &[])?;
    if let Some(column) = used.predictors.first() {
        return Err(wrong(&format!(
            "is of parameters, and `{column}` is a column"
        )));
    }
    let known = |p: &Parameter| roles.parameters.iter().any(|q| q.name == p.name);
    if let Some(p) = used.parameters.iter().find(|p| !known(p)) {
        let all: Vec<&str> = roles.parameters.iter().map(|p| p.name.as_str()).collect();
        return Err(wrong(&format!(
            "the model has no parameter `{}`; its parameters are {}",
            p.name,
            all.join(", ")
        )));
    }
    let n = roles.parameters.len();
    let settings = vec![Setting::Free; n];
    let at = |scale: f64| -> Result<(f64, Vec<f64>)> {
        let point: Vec<f64> = (0..n).map(|k| scale * (1.0 + 0.37 * k as f64)).collect();
        tie_value(&formula, roles, &settings, &point)
    };
    let ((constant, coefficients), (_, other), (_, third)) = (at(0.0)?, at(1.0)?, at(-2.3)?);
    let size = coefficients.iter().fold(0.0f64, |m, c| m.max(c.abs()));
    let same = |others: &[f64]| {
        coefficients
            .iter()
            .zip(others)
            .all(|(a, b)| (a - b).abs() <= ROUNDING * size)
    };
    let equation = matches!(sign, "=" | "==");
    if !(same(&other) && same(&third) && constant.is_finite()) {
        return Ok(Read::Curved(Box::new(Curved {
            text: text.into(),
            equation,
            formula,
        })));
    }
    if size == 0.0 {
        return Err(wrong("depends on no parameter"));
    }
    let row = Row {
        coefficients,
        constant,
    };
    Ok(Read::Linear(row, equation))
}

/// The rows solved for one parameter each, by elimination: ties in the others. The last `n_slacks` names are of
/// slacks, which are never solved for.
fn solved(
    rows: &[(&str, Row)],
    names: &[&str],
    order: &[usize],
    bounds: &[Bound],
    n_slacks: usize,
) -> Result<Vec<(String, String)>> {
    let mut rows: Vec<(&str, Row)> = rows.to_vec();
    for (_, row) in &mut rows {
        row.coefficients.resize(names.len(), 0.0);
    }
    let mut pivots: Vec<usize> = Vec::new();
    for at in 0..rows.len() {
        let row = &rows[at].1;
        let size = row.coefficients.iter().fold(0.0f64, |m, c| m.max(c.abs()));
        let usable =
            |k: &&usize| row.coefficients[**k].abs() > ROUNDING * size && !pivots.contains(k);
        let Some(&pivot) = order.iter().find(usable) else {
            return Err(Error::usage(format!(
                "⟨constraint {}⟩: follows from the others, contradicts them, or leaves no free parameter that it could be solved \
                 for; at most as many constraints hold as there are free parameters in them",
                rows[at].0
            )));
        };
        pivots.push(pivot);
        let c = rows[at].1.coefficients[pivot];
        let scaled = Row {
            coefficients: rows[at].1.coefficients.iter().map(|v| v / c).collect(),
            constant: rows[at].1.constant / c,
        };
        for (other, (_, row)) in rows.iter_mut().enumerate() {
            let factor = row.coefficients[pivot];
            if other == at {
                *row = scaled.clone();
            } else if factor != 0.0 {
                let pairs = row.coefficients.iter_mut().zip(&scaled.coefficients);
                pairs.for_each(|(a, b)| *a -= factor * b);
                row.coefficients[pivot] = 0.0;
                row.constant -= factor * scaled.constant;
            }
        }
    }
    let tied = |(&pivot, (text, row)): (&usize, &(&str, Row))| {
        within_bounds(text, row, names, pivot, bounds, n_slacks)?;
        Ok((names[pivot].to_string(), written(row, names, pivot)))
    };
    pivots.iter().zip(&rows).map(tied).collect()
}

/// −constant − Σ other coefficients, as a formula.
fn written(row: &Row, names: &[&str], pivot: usize) -> String {
    let mut out = format!("({:?})", -row.constant + 0.0);
    for (k, &c) in row.coefficients.iter().enumerate() {
        if k != pivot && c != 0.0 {
            out += &format!(" + ({:?})*{}", -c, names[k]);
        }
    }
    out
}

/// A parameter that is solved for may have bounds if those of the others imply them.
fn within_bounds(
    text: &str,
    row: &Row,
    names: &[&str],
    pivot: usize,
    bounds: &[Bound],
    n_slacks: usize,
) -> Result<()> {
    let of = |name: &str| bounds.iter().find(|(n, ..)| n == name);
    let Some((name, low, high)) = of(names[pivot]) else {
        return Ok(());
    };
    let (mut least, mut most) = (-row.constant, -row.constant);
    for (k, &c) in row
        .coefficients
        .iter()
        .enumerate()
        .filter(|(k, c)| *k != pivot && **c != 0.0)
    {
        let slack = k >= names.len() - n_slacks;
        let range = if slack {
            Some((0.0, f64::INFINITY))
        } else {
            of(names[k]).map(|(_, a, b)| (*a, *b))
        };
        let (a, b) = range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let (a, b) = (-c * a, -c * b);
        least += a.min(b);
        most += a.max(b);
    }
    let spare = ROUNDING * (1.0 + low.abs().min(high.abs()));
    if least >= low - spare && most <= high + spare {
        return Ok(());
    }
    Err(Error::usage(format!(
        "⟨constraint {text}⟩: it is solved for `{name}`, which has bounds that do not follow from those of the others; write them as \
         constraints, such as '{name} > {low}'"
    )))
}

/// Where a fit with inequalities may start, best first: at the fit without them, moved to where they hold; and, if
/// that broke one, where the fit would start by itself, since that minimum may be another one's mirror image.
pub(super) fn starts(
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    observer: &mut Observer<'_>,
) -> Result<Vec<Options>> {
    let slacks = &plan.constrained.slacks;
    if slacks.is_empty() {
        return Ok(vec![options.clone()]);
    }
    let mut roles = plan.roles.clone();
    roles
        .parameters
        .truncate(roles.parameters.len() - slacks.len());
    let mut free = options.clone();
    free.tied.extend(plan.constrained.equations.iter().cloned());
    free.constraints.clear();
    let plain = Plan::new(&plan.formula, roles, plan.weighted, &free)?;
    let found = super::fit_table(&plain, table, &free, observer)?;
    let value = |name: &str| found.parameter(name).map_or(f64::NAN, |p| p.value);
    let names = plain.roles.parameters.iter().map(|p| p.name.as_str());
    let values: Vec<f64> = names.map(value).collect();
    let gaps = plan.constrained.gaps(&values);
    if gaps.iter().chain(&values).any(|v| !v.is_finite()) {
        return Ok(vec![options.clone()]);
    }
    let start = |name: &str| match slacks.iter().position(|s| s.name == name) {
        Some(k) => gaps[k].max(0.0),
        None => value(name),
    };
    let names = plan.names();
    let p0 = names
        .iter()
        .map(|name| (name.clone(), start(name)))
        .collect();
    let mut all = vec![Options {
        p0,
        multistart: 1,
        global: false,
        ..options.clone()
    }];
    if gaps.iter().any(|gap| *gap < 0.0) {
        all.push(options.clone());
    }
    Ok(all)
}

/// Says which constraints hold with equality.
pub(super) fn tell(plan: &Plan, estimate: &mut Estimate) {
    for slack in &plan.constrained.slacks {
        if estimate.parameter(&slack.name).is_some_and(|p| p.at_bound) {
            let (text, name) = (&slack.text, &slack.name);
            let finding = format!(
                "the constraint `{text}` holds with equality: `{name}`, what is left of it, is 0"
            );
            estimate.findings.push(finding);
        }
    }
}
