//! From formula, columns and options to a plan: roles, free parameters, bounds, programs.

use super::constrain::{Bound, Constrained};
use super::options::Options;
use crate::formula::{CONSTANTS, Formula, Programs, Roles, Setting};
use crate::method::Bounds;
use fitzroy::{Error, Result};
use std::sync::{Arc, OnceLock};

/// Everything about a fit that does not depend on the numbers in the data.
#[derive(Clone)]
pub struct Plan {
    /// The formula.
    pub formula: Formula,
    /// Predictors and parameters.
    pub roles: Roles,
    /// What each parameter is.
    pub settings: Vec<Setting>,
    /// Which parameters are free, by position among all.
    pub free: Vec<usize>,
    /// Bounds of the free parameters.
    pub bounds: Bounds,
    /// What the constraints came to.
    pub constrained: Constrained,
    /// True when rows have a σ.
    pub weighted: bool,
    /// The compiled derivatives.
    pub programs: Arc<Programs>,
    /// What the formula says of where each free parameter may be looked for, once that was asked.
    pub(super) hints: OnceLock<Vec<Hint>>,
}

/// What a formula says of where a parameter may be looked for.
#[derive(Clone, Copy)]
pub(super) struct Hint {
    /// The power of the predictors' unit that it is measured in, if it has one.
    pub(super) power: Option<f64>,
    /// How it meets a predictor: (true, column) where it is added to it, (false, column) where it multiplies it.
    pub(super) place: Option<(bool, usize)>,
}

impl Plan {
    /// Checks names and values of `options` against `roles`, and compiles.
    ///
    /// # Errors
    /// Unknown names, bounds in the wrong order, ties that use columns or each other.
    pub fn new(formula: &Formula, roles: Roles, weighted: bool, options: &Options) -> Result<Plan> {
        let mut roles = roles;
        let mut bounds = asked(formula, options);
        let constrained = Constrained::new(&roles, options, &bounds)?;
        constrained.extend(&mut roles)?;
        let slacks = constrained.slacks.iter();
        bounds.extend(slacks.map(|s| (s.name.clone(), 0.0, f64::INFINITY)));
        let names: Vec<String> = roles.parameters.iter().map(|p| p.name.clone()).collect();
        let settings = settings(&roles, &names, options, &constrained)?;
        let is_free = |k: &usize| matches!(settings[*k], Setting::Free);
        let free: Vec<usize> = (0..names.len()).filter(is_free).collect();
        for (name, _) in &options.p0 {
            place("⟨p0⟩", name, &names)?;
        }
        let bounds = bounds_of(&bounds, &names, &free, &constrained)?;
        let (loss, engine) = (options.loss, options.engine);
        let programs = Programs::new(formula, &roles, &settings, weighted, loss, engine)?;
        Ok(Plan {
            formula: formula.clone(),
            roles,
            settings,
            free,
            bounds,
            constrained,
            weighted,
            programs: Arc::new(programs),
            hints: OnceLock::new(),
        })
    }

    /// Name of free parameter `k`.
    pub fn name(&self, k: usize) -> &str {
        &self.roles.parameters[self.free[k]].name
    }

    /// What the formula says of each free parameter.
    pub(super) fn hints(&self) -> &[Hint] {
        self.hints.get_or_init(|| {
            let powers = self.formula.powers(&self.roles);
            let hint = |k: usize| Hint {
                power: powers[self.free[k]],
                place: self.formula.place_of(self.name(k), &self.roles),
            };
            (0..self.free.len()).map(hint).collect()
        })
    }

    /// Names of the free parameters.
    pub fn names(&self) -> Vec<String> {
        (0..self.free.len())
            .map(|k| self.name(k).to_string())
            .collect()
    }
}

/// Bounds: those of a built-in curve where its parameters are free, then those of the options.
fn asked(formula: &Formula, options: &Options) -> Vec<Bound> {
    let entry = formula.builtin().and_then(|b| b.entry);
    let held = |name: &str| {
        let tied = options.tied.iter().map(|(n, _)| n);
        let mut held = options.fixed.iter().map(|(n, _)| n).chain(tied);
        held.any(|n| n == name) || options.bounds.iter().any(|(n, ..)| n == name)
    };
    let own = entry.map_or(&[][..], |e| e.bounds).iter();
    let own = own.filter(|(name, ..)| !held(name));
    let own = own.map(|&(name, low, high)| (name.to_string(), low, high));
    own.chain(options.bounds.iter().cloned()).collect()
}

/// The place of the parameter `name`.
fn place(what: &str, name: &str, names: &[String]) -> Result<usize> {
    let place = names.iter().position(|n| n == name);
    place.ok_or_else(|| unknown(what, name, names))
}

/// What each parameter is.
fn settings(
    roles: &Roles,
    names: &[String],
    options: &Options,
    constrained: &Constrained,
) -> Result<Vec<Setting>> {
    let mut settings = vec![Setting::Free; names.len()];
    for (name, value) in &options.fixed {
        if !value.is_finite() {
            return Err(Error::usage(format!(
                "⟨fix {name}⟩: needs a finite number, not {value}"
            )));
        }
        settings[place("⟨fix⟩", name, names)?] = Setting::Fixed(*value);
    }
    let tied: Vec<(String, String)> = options
        .tied
        .iter()
        .chain(&constrained.ties)
        .cloned()
        .collect();
    for (name, text) in &tied {
        let k = place("⟨tie⟩", name, names)?;
        let tie = Formula::parse(text).map_err(|e| e.context(format!("⟨tie {name}⟩")))?;
        check_tie(&tie, name, roles, &tied)?;
        settings[k] = Setting::Tied(Box::new(tie));
    }
    Ok(settings)
}

/// Bounds of the free parameters.
fn bounds_of(
    asked: &[Bound],
    names: &[String],
    free: &[usize],
    constrained: &Constrained,
) -> Result<Bounds> {
    let mut bounds = Bounds::none(free.len());
    for (name, low, high) in asked {
        let k = place("⟨bound⟩", name, names)?;
        if low >= high || low.is_nan() || high.is_nan() {
            return Err(Error::usage(format!(
                "⟨bound {name}={low}:{high}⟩: the lower bound must be below the upper; hold \
                 a parameter with ⟨fix {name}={low}⟩"
            )));
        }
        match free.iter().position(|&f| f == k) {
            Some(at) => (bounds.lower[at], bounds.upper[at]) = (*low, *high),
            // The bounds of the others imply these.
            None if constrained.ties.iter().any(|(n, _)| n == name) => {}
            None => {
                return Err(Error::usage(format!(
                    "⟨bound {name}⟩: this parameter is fixed or tied and has no bounds"
                )));
            }
        }
    }
    Ok(bounds)
}

/// The error about a name that is no parameter.
fn unknown(what: &str, name: &str, names: &[String]) -> Error {
    let all = names.join(", ");
    Error::usage(match CONSTANTS.iter().find(|(known, _)| *known == name) {
        Some((_, value)) => format!(
            "{what}: `{name}` is the number {value} in a formula and no parameter; give the parameter \
             another name (the parameters are {all})"
        ),
        None => format!("{what}: the model has no parameter `{name}`; its parameters are {all}"),
    })
}

/// A tie is a formula of free parameters.
fn check_tie(tie: &Formula, name: &str, roles: &Roles, ties: &[(String, String)]) -> Result<()> {
    let columns: Vec<&str> = roles.predictors.iter().map(String::as_str).collect();
    let used = tie
        .names(&columns, &[])
        .map_err(|e| e.context(format!("⟨tie {name}⟩")))?;
    if let Some(column) = used.predictors.first() {
        return Err(Error::usage(format!(
            "⟨tie {name}⟩: a tie is a formula of parameters, and `{column}` is a column"
        )));
    }
    for p in &used.parameters {
        if roles.parameters.iter().all(|q| q.name != p.name) {
            return Err(Error::usage(format!(
                "⟨tie {name}⟩: the model has no parameter `{}`",
                p.name
            )));
        }
        if p.name == name || ties.iter().any(|(other, _)| *other == p.name) {
            return Err(Error::usage(format!(
                "⟨tie {name}⟩: `{}` is tied itself; write the tie in free parameters",
                p.name
            )));
        }
    }
    Ok(())
}
