//! The distributions a model may name, as the language sees them: their arguments and the kind of
//! values they give.

use super::ast::{Call, Expr, ExprKind};
use super::functions;
use super::names::did_you_mean;
use super::source::error_at;
use crate::Result;

/// What values a distribution gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Real numbers.
    Real,
    /// 0 or 1.
    Binary,
    /// 0, 1, 2, ...
    Counts,
    /// Any whole numbers.
    Whole,
    /// The values of the distributions it is made of.
    OfParts,
}

impl Values {
    /// True for whole numbers of any sort.
    pub fn discrete(self) -> bool {
        matches!(self, Values::Binary | Values::Counts | Values::Whole)
    }
}

/// A distribution.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// The ways its arguments may be given, the first being that of positions. A name that ends in
    /// `?` may be left out; one that ends in `*` is a distribution, in `**` one or more of them.
    pub forms: &'static [&'static [&'static str]],
    /// The values it gives.
    pub values: Values,
    /// True when x = location + scale · z with a z free of both.
    pub location_scale: bool,
}

const fn real(name: &'static str, forms: &'static [&'static [&'static str]]) -> Family {
    Family {
        name,
        forms,
        values: Values::Real,
        location_scale: false,
    }
}

const fn scaled(name: &'static str, forms: &'static [&'static [&'static str]]) -> Family {
    Family {
        name,
        forms,
        values: Values::Real,
        location_scale: true,
    }
}

const fn whole(
    name: &'static str,
    values: Values,
    forms: &'static [&'static [&'static str]],
) -> Family {
    Family {
        name,
        forms,
        values,
        location_scale: false,
    }
}

/// All distributions, in the order of the reference.
pub const FAMILIES: [Family; 46] = [
    scaled("Normal", &[&["mu", "sigma"]]),
    real("HalfNormal", &[&["sigma"]]),
    scaled("StudentT", &[&["nu", "mu", "sigma"]]),
    real("HalfStudentT", &[&["nu", "sigma"]]),
    scaled("Cauchy", &[&["alpha", "beta"]]),
    real("HalfCauchy", &[&["beta"]]),
    scaled("Laplace", &[&["mu", "b"]]),
    scaled("Logistic", &[&["mu", "s"]]),
    real("LogNormal", &[&["mu", "sigma"]]),
    real("Exponential", &[&["lam"], &["scale"]]),
    real("Gamma", &[&["alpha", "beta"], &["mu", "sigma"]]),
    real("InverseGamma", &[&["alpha", "beta"]]),
    real("Weibull", &[&["alpha", "beta"]]),
    scaled("Gumbel", &[&["mu", "beta"]]),
    real("Pareto", &[&["alpha", "m"]]),
    real("Beta", &[&["alpha", "beta"], &["mu", "kappa"]]),
    real("Kumaraswamy", &[&["a", "b"]]),
    real("Uniform", &[&["lower", "upper"]]),
    real("Triangular", &[&["lower", "upper", "c"]]),
    real("VonMises", &[&["mu", "kappa"]]),
    real("SkewNormal", &[&["mu", "sigma", "alpha"]]),
    real("ExGaussian", &[&["mu", "sigma", "nu"]]),
    real("Wald", &[&["mu", "lam", "alpha?"]]),
    real("Flat", &[&[]]),
    real("HalfFlat", &[&[]]),
    real("TruncatedNormal", &[&["mu", "sigma", "lower?", "upper?"]]),
    whole("Bernoulli", Values::Binary, &[&["p"], &["logit_p"]]),
    whole(
        "Binomial",
        Values::Counts,
        &[&["n", "p"], &["n", "logit_p"]],
    ),
    whole("BetaBinomial", Values::Counts, &[&["n", "alpha", "beta"]]),
    whole("Poisson", Values::Counts, &[&["mu"]]),
    whole("NegativeBinomial", Values::Counts, &[&["mu", "alpha"]]),
    whole("Geometric", Values::Counts, &[&["p"]]),
    whole("ZeroInflatedPoisson", Values::Counts, &[&["psi", "mu"]]),
    whole("Categorical", Values::Counts, &[&["p"], &["logit_p"]]),
    whole("OrderedLogistic", Values::Counts, &[&["eta", "cutpoints"]]),
    whole("DiscreteUniform", Values::Whole, &[&["lower", "upper"]]),
    real("Dirichlet", &[&["a"]]),
    whole("Multinomial", Values::Counts, &[&["n", "p"]]),
    real("MvNormal", &[&["mu", "cov"], &["mu", "chol"]]),
    real("LKJCholeskyCov", &[&["eta", "sd_dist*"]]),
    real("LKJCorr", &[&["eta"]]),
    real("ZeroSumNormal", &[&["sigma"]]),
    real("GaussianRandomWalk", &[&["sigma", "mu?", "init?"]]),
    real("AR", &[&["rho", "sigma"]]),
    Family {
        name: "Mixture",
        forms: &[&["w", "components**"]],
        values: Values::OfParts,
        location_scale: false,
    },
    Family {
        name: "Censored",
        forms: &[&["dist*", "lower?", "upper?"]],
        values: Values::OfParts,
        location_scale: false,
    },
];

/// The distribution called `name`.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|f| f.name == name)
}

impl Family {
    /// How to call it: `Gamma(alpha, beta)` or `Gamma(mu=, sigma=)`.
    pub fn usage(&self) -> String {
        let form = |i: usize| {
            let parts: Vec<String> = self.forms[i]
                .iter()
                .map(|p| {
                    let by_name = if i > 0 { "=" } else { "" };
                    match p.strip_suffix('?') {
                        Some(p) => format!("{p}=..."),
                        None if p.ends_with("**") => "Dist(...), ...".into(),
                        None if p.ends_with('*') => "Dist(...)".into(),
                        None => format!("{p}{by_name}"),
                    }
                })
                .collect();
            format!("`{}({})`", self.name, parts.join(", "))
        };
        (0..self.forms.len())
            .map(form)
            .collect::<Vec<_>>()
            .join(" or ")
    }
}

/// A call of a distribution with its arguments put in place.
#[derive(Clone, Debug)]
pub struct Resolved<'a> {
    /// The distribution.
    pub family: &'static Family,
    /// Which of its forms was used.
    pub form: usize,
    /// One value per parameter of the form; `None` where it was left out.
    pub values: Vec<Option<&'a Expr>>,
    /// Further distributions, for a parameter that takes several.
    pub more: Vec<&'a Expr>,
}

/// Puts the arguments of `call` in place, or says what is wrong with them.
pub fn resolve<'a>(text: &str, call: &'a Call) -> Result<Resolved<'a>> {
    let Some(family) = family(&call.name.text) else {
        return Err(error_at(text, call.name.span, unknown(&call.name.text)));
    };
    let named = |form: &[&str], name: &str| form.iter().position(|p| plain(p) == name);
    let names = || call.arguments.iter().filter_map(|a| a.name.as_ref());
    for name in names() {
        if family
            .forms
            .iter()
            .all(|form| named(form, &name.text).is_none())
        {
            let all = family.forms.iter().flat_map(|f| f.iter().map(|p| plain(p)));
            let advice = match did_you_mean(&name.text, all) {
                near if near.is_empty() => "; it".into(),
                near => format!("{near} It"),
            };
            let message = format!(
                "`{}` has no argument `{}`{advice} is called as {}",
                family.name,
                name.text,
                family.usage()
            );
            return Err(error_at(text, name.span, message));
        }
    }
    let form = (0..family.forms.len())
        .find(|&i| names().all(|n| named(family.forms[i], &n.text).is_some()));
    let Some(form) = form else {
        let message = format!("these arguments do not go together; use {}", family.usage());
        return Err(error_at(text, call.span, message));
    };
    fill(text, family, form, call)
}

fn fill<'a>(
    text: &str,
    family: &'static Family,
    form: usize,
    call: &'a Call,
) -> Result<Resolved<'a>> {
    let parameters = family.forms[form];
    let several = parameters.last().is_some_and(|p| p.ends_with("**"));
    let mut values: Vec<Option<&Expr>> = vec![None; parameters.len()];
    let mut more = Vec::new();
    for (position, argument) in call.arguments.iter().enumerate() {
        let slot = match &argument.name {
            Some(name) => parameters.iter().position(|p| plain(p) == name.text),
            None if position < values.len() => Some(position),
            None if several => {
                more.push(&argument.value);
                continue;
            }
            None => None,
        };
        let Some(slot) = slot else {
            return Err(error_at(text, call.span, count_message(family, call)));
        };
        if values[slot].replace(&argument.value).is_some() {
            let message = format!("argument `{}` is given twice", plain(parameters[slot]));
            return Err(error_at(text, argument.value.span, message));
        }
    }
    let missing = (0..values.len()).find(|&i| values[i].is_none() && !parameters[i].ends_with('?'));
    if missing.is_some() {
        return Err(error_at(text, call.span, count_message(family, call)));
    }
    for (value, parameter) in values.iter().zip(parameters) {
        if let Some(value) = value {
            check_kind(text, family, value, parameter.ends_with('*'))?;
        }
    }
    for value in &more {
        check_kind(text, family, value, true)?;
    }
    Ok(Resolved {
        family,
        form,
        values,
        more,
    })
}

/// A parameter's name without its marks.
pub(crate) fn plain(parameter: &str) -> &str {
    parameter.trim_end_matches(['?', '*'])
}

fn count_message(family: &Family, call: &Call) -> String {
    let n = call.arguments.len();
    let s = if n == 1 { "" } else { "s" };
    format!(
        "`{}` got {n} argument{s}; it is called as {}",
        family.name,
        family.usage()
    )
}

/// True when `e` is written as a call of a distribution.
pub(crate) fn as_distribution(e: &Expr) -> Option<&Call> {
    match &e.kind {
        ExprKind::Call(call) if looks_like_distribution(&call.name.text) => Some(call),
        _ => None,
    }
}

/// Distributions begin with a capital letter; functions do not.
pub(crate) fn looks_like_distribution(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

fn check_kind(text: &str, family: &Family, value: &Expr, distribution: bool) -> Result<()> {
    match (as_distribution(value), distribution) {
        (Some(_), true) | (None, false) => Ok(()),
        (None, true) => {
            let message = format!("expected a distribution here; use {}", family.usage());
            Err(error_at(text, value.span, message))
        }
        (Some(call), false) => {
            let message = format!(
                "`{}` is a distribution, but `{}` takes numbers here; declare `NAME ~ {call}` and write `NAME`",
                call.name, family.name
            );
            Err(error_at(text, value.span, message))
        }
    }
}

/// The values that `call` gives.
pub fn values_of(call: &Call) -> Values {
    match family(&call.name.text).map(|f| f.values) {
        Some(Values::OfParts) => call
            .arguments
            .iter()
            .filter_map(|a| as_distribution(&a.value))
            .map(values_of)
            .next()
            .unwrap_or(Values::Real),
        Some(values) => values,
        None => Values::Real,
    }
}

/// What to say about a distribution that does not exist.
pub(crate) fn unknown(name: &str) -> String {
    if functions::function(name).is_some() {
        return format!(
            "`{name}` is a function, not a distribution; a quantity computed from others is written `NAME = ...`"
        );
    }
    let advice = did_you_mean(name, FAMILIES.iter().map(|f| f.name));
    format!("unknown distribution `{name}`{advice}")
}
