//! The distributions a model may name, as the language sees them: their arguments and the kind of
//! values they give.

use super::ast::{Call, Expr, ExprKind};
use super::functions;
use super::names::did_you_mean;
use super::source::error_at;
use crate::Result;
use crate::dist::{self, ArgKind, Bound, Entry, Form, Support};
use std::sync::LazyLock;

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

/// A distribution, as the table of [`crate::dist`] has it.
#[derive(Clone, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// The ways its arguments may be given, the first being that of positions.
    pub forms: Vec<Form>,
    /// The values it gives.
    pub values: Values,
    /// True when a parameter can be sampled in standardised coordinates.
    pub standardises: bool,
}

/// All distributions, scalar ones first.
pub fn families() -> &'static [Family] {
    static ALL: LazyLock<Vec<Family>> = LazyLock::new(|| {
        let family = |entry: Entry| Family {
            name: entry.name,
            values: values_in(entry.forms[0].support()),
            standardises: entry.forms.iter().any(|f| f.standardises()),
            forms: entry.forms,
        };
        dist::entries().into_iter().map(family).collect()
    });
    &ALL
}

/// The distribution called `name`.
pub fn family(name: &str) -> Option<&'static Family> {
    families().iter().find(|f| f.name == name)
}

fn values_in(support: Support) -> Values {
    match support {
        Support::IntegerRange(Bound::At(_), Bound::At(_)) => Values::Binary,
        Support::IntegerRange(Bound::Arg(_), _) => Values::Whole,
        Support::OfComponents => Values::OfParts,
        discrete if discrete.is_discrete() => Values::Counts,
        _ => Values::Real,
    }
}

impl Family {
    /// How to call it: `Gamma(alpha, beta)` or `Gamma(mu=..., sigma=...)`.
    pub fn usage(&self) -> String {
        let forms = self.forms.iter().enumerate();
        let all = forms.map(|(k, form)| format!("`{}`", form.usage(k > 0)));
        all.collect::<Vec<_>>().join(" or ")
    }
}

/// A call of a distribution with its arguments put in place.
#[derive(Clone, Debug)]
pub struct Resolved<'a> {
    /// The distribution.
    pub family: &'static Family,
    /// Which of its forms was used.
    pub form: Form,
    /// One value per argument of the form; `None` where it was left out.
    pub values: Vec<Option<&'a Expr>>,
    /// Further distributions, for an argument that takes several.
    pub more: Vec<&'a Expr>,
}

/// Puts the arguments of `call` in place, or says what is wrong with them.
pub fn resolve<'a>(text: &str, call: &'a Call) -> Result<Resolved<'a>> {
    let Some(family) = family(&call.name.text) else {
        return Err(error_at(text, call.name.span, unknown(&call.name.text)));
    };
    let has = |form: &Form, name: &str| form.args().iter().any(|arg| arg.name == name);
    let names = || call.arguments.iter().filter_map(|a| a.name.as_ref());
    for name in names() {
        if !family.forms.iter().any(|form| has(form, &name.text)) {
            let all = family.forms.iter().flat_map(|f| f.args());
            let advice = match did_you_mean(&name.text, all.map(|arg| arg.name)) {
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
    let mut forms = family.forms.iter();
    let Some(form) = forms.find(|form| names().all(|n| has(form, &n.text))) else {
        let message = format!("these arguments do not go together; use {}", family.usage());
        return Err(error_at(text, call.span, message));
    };
    fill(text, family, *form, call)
}

fn fill<'a>(
    text: &str,
    family: &'static Family,
    form: Form,
    call: &'a Call,
) -> Result<Resolved<'a>> {
    let args = form.args();
    let several = args
        .last()
        .is_some_and(|a| a.kind == ArgKind::Distributions);
    let mut values: Vec<Option<&Expr>> = vec![None; args.len()];
    let mut more = Vec::new();
    for (position, argument) in call.arguments.iter().enumerate() {
        let slot = match &argument.name {
            Some(name) => args.iter().position(|arg| arg.name == name.text),
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
            let message = format!("argument `{}` is given twice", args[slot].name);
            return Err(error_at(text, argument.value.span, message));
        }
    }
    if (0..values.len()).any(|i| values[i].is_none() && args[i].default.is_none()) {
        return Err(error_at(text, call.span, count_message(family, call)));
    }
    let part = |kind: ArgKind| matches!(kind, ArgKind::Distribution | ArgKind::Distributions);
    for (value, arg) in values.iter().zip(args) {
        if let Some(value) = value {
            check_kind(text, family, value, part(arg.kind))?;
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
pub fn unknown(name: &str) -> String {
    if functions::function(name).is_some() {
        return format!(
            "`{name}` is a function, not a distribution; a quantity computed from others is written `NAME = ...`"
        );
    }
    let advice = did_you_mean(name, families().iter().map(|f| f.name));
    format!("unknown distribution `{name}`{advice}")
}
