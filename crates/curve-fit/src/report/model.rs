//! The same curve as a model for the sampler.

use crate::fit::Plan;
use crate::formula::{Loss, Setting};
use fitzroy::{Error, ErrorKind, Result};
use std::fmt::Write as _;

/// What the model text needs to know of the data.
#[derive(Clone, Copy, Debug)]
pub struct Names<'n> {
    /// The column of the response, or a name for it where it was computed.
    pub y: &'n str,
    /// The column of standard deviations, or a number, if there is one.
    pub sigma: Option<&'n str>,
    /// Sigma are known.
    pub absolute_sigma: bool,
    /// Priors in place of flat ones: name and distribution.
    pub priors: &'n [(String, String)],
}

/// The model whose posterior belongs to the fit: flat priors, bounded where the fit is, and noise
/// with density 1/s, so that the posterior of a straight line is exactly the t of its interval.
///
/// # Errors
/// A robust loss has no likelihood.
pub fn model_text(plan: &Plan, names: &Names<'_>) -> Result<String> {
    let loss = plan.programs.loss();
    if loss.is_robust() {
        let message = format!(
            "⟨to_model⟩: the loss {} is no likelihood; fit with linear loss, and write StudentT \
             in place of Normal in the model",
            loss.name()
        );
        return Err(Error::new(ErrorKind::Usage, message));
    }
    if plan.formula.is_code() {
        let message = "a curve that is Rust code has no text; write it as a formula";
        return Err(Error::new(ErrorKind::Usage, message));
    }
    if let Some(constraint) = plan.constrained.curved.first() {
        let message = format!(
            "⟨constraint {}⟩: a posterior with a constraint that is not linear has no model text; write the curve in \
             parameters that know no constraint",
            constraint.text
        );
        return Err(Error::new(ErrorKind::Usage, message));
    }
    check_names(plan)?;
    check_priors(plan, names.priors)?;
    let mut out = format!("# {}\n", plan.formula.text().replace('\n', "; "));
    let indexed: Vec<(&str, &str)> = plan
        .roles
        .parameters
        .iter()
        .filter_map(|p| p.indexed.as_ref())
        .map(|(name, column, _)| (name.as_str(), column.as_str()))
        .collect();
    for name in &plan.roles.predictors {
        let index = indexed.iter().any(|(_, column)| column == name);
        let inside = if index {
            format!(" in {name}_labels")
        } else {
            String::new()
        };
        let _ = writeln!(out, "data {name}[obs]{inside}");
    }
    if let Some(sigma) = names.sigma
        && sigma.parse::<f64>().is_err()
        && !plan.roles.predictors.iter().any(|p| p == sigma)
    {
        let _ = writeln!(out, "data {sigma}[obs]");
    }
    let y = names.y;
    let _ = writeln!(out, "data {y}[obs]\n");
    parameters(&mut out, plan, names.priors);
    for (name, value) in plan.formula.statements() {
        let _ = writeln!(out, "let {name} = {value}");
    }
    let value = plan.formula.value();
    let scale = match (names.sigma, names.absolute_sigma) {
        _ if loss == Loss::Poisson => {
            let _ = writeln!(out, "{y}[obs] ~ Poisson({value})");
            return Ok(out);
        }
        (Some(sigma), true) => sigma.to_string(),
        (Some(sigma), false) => format!("{} * {sigma}", noise(plan)),
        (None, _) => noise(plan),
    };
    if !(names.sigma.is_some() && names.absolute_sigma) {
        let s = noise(plan);
        let _ = writeln!(out, "{s} ~ HalfFlat()\ntarget += -log({s})");
    }
    let _ = writeln!(out, "{y}[obs] ~ Normal({value}, {scale})");
    Ok(out)
}

/// Names that a curve may have and the model language gives a value.
fn check_names(plan: &Plan) -> Result<()> {
    let columns = plan.roles.predictors.iter();
    let mut all = columns.chain(plan.roles.parameters.iter().map(|p| &p.name));
    match all.find(|name| fitzroy::model::constant(name).is_some()) {
        Some(name) => {
            let message = format!(
                "`{name}` is a number in the language of models; give it another name in the curve"
            );
            Err(Error::new(ErrorKind::Usage, message))
        }
        None => Ok(()),
    }
}

/// Refuses priors of what is not fitted.
fn check_priors(plan: &Plan, priors: &[(String, String)]) -> Result<()> {
    let base = |k: &usize| -> String {
        let p = &plan.roles.parameters[*k];
        p.indexed.as_ref().map_or(p.name.clone(), |i| i.0.clone())
    };
    let mut free: Vec<String> = plan.free.iter().map(base).collect();
    free.dedup();
    match priors.iter().find(|(name, _)| !free.contains(name)) {
        None => Ok(()),
        Some((name, _)) => {
            let all = free.join(", ");
            let message = format!("⟨prior {name}⟩: no such parameter is fitted; those are {all}");
            Err(Error::new(ErrorKind::Usage, message))
        }
    }
}

/// A name for the noise that no parameter has.
fn noise(plan: &Plan) -> String {
    let taken = |name: &str| plan.roles.parameters.iter().any(|p| p.name == name);
    let mut name = "noise".to_string();
    while taken(&name) || plan.roles.predictors.contains(&name) {
        name.push('_');
    }
    name
}

fn parameters(out: &mut String, plan: &Plan, priors: &[(String, String)]) {
    let mut done: Vec<&str> = Vec::new();
    for (k, p) in plan.roles.parameters.iter().enumerate() {
        let (name, dims) = match &p.indexed {
            Some((name, column, _)) => (name.as_str(), format!("[{column}_labels]")),
            None => (p.name.as_str(), String::new()),
        };
        if done.contains(&name) {
            continue;
        }
        done.push(name);
        let _ = match &plan.settings[k] {
            Setting::Fixed(x) => writeln!(out, "let {name} = {x}"),
            Setting::Tied(tie) => writeln!(out, "let {name} = {}", tie.value()),
            Setting::Free => {
                let free = plan.free.iter().position(|&f| f == k);
                let side = |b: f64| {
                    if b == f64::INFINITY {
                        "inf".into()
                    } else if b == f64::NEG_INFINITY {
                        "-inf".into()
                    } else {
                        b.to_string()
                    }
                };
                let limits = match free.filter(|&at| plan.bounds.binds(at)) {
                    Some(at) => format!(
                        " bounded({}, {})",
                        side(plan.bounds.lower[at]),
                        side(plan.bounds.upper[at])
                    ),
                    None => String::new(),
                };
                let prior = priors.iter().rev().find(|(n, _)| n == name);
                match prior {
                    Some((_, prior)) => writeln!(out, "{name}{dims} ~ {prior}"),
                    None => writeln!(out, "{name}{dims} ~ Flat(){limits}"),
                }
            }
        };
    }
}
