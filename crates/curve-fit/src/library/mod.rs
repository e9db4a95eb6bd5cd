//! Built-in curves: each a formula, a rule for starting values, default bounds and a source.

mod start;
mod table;

pub use start::Sample;
pub use table::ENTRIES;

/// A built-in curve.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Names of its predictors in the formula.
    pub predictors: &'static [&'static str],
    /// Names of its parameters, in the order of a call.
    pub parameters: &'static [&'static str],
    /// The formula.
    pub formula: &'static str,
    /// Starting values from data, one per parameter.
    pub start: fn(&Sample) -> Vec<f64>,
    /// Bounds that the curve needs to make sense: parameter, lower, upper.
    pub bounds: &'static [(&'static str, f64, f64)],
    /// What it is for, and where it comes from.
    pub about: &'static str,
}

/// A formula that is a built-in curve and nothing else.
#[derive(Clone)]
pub struct Use {
    name: String,
    text: String,
    /// The row of the table, unless it is a polynomial.
    pub entry: Option<&'static Entry>,
}

impl std::fmt::Debug for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Use")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Use {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The formula written out.
    pub fn text(&self) -> String {
        self.text.clone()
    }

    /// Names of its predictors.
    pub fn predictors(&self) -> &'static [&'static str] {
        self.entry.map_or(&["x"], |e| e.predictors)
    }
}

impl Entry {
    /// How it is called inside a formula: predictors, then parameters.
    pub fn usage(&self) -> String {
        let names = self.predictors.iter().chain(self.parameters);
        let names: Vec<&str> = names.copied().collect();
        format!("{}({})", self.name, names.join(", "))
    }

    /// Its formula with single spaces.
    pub fn formula_in_one_line(&self) -> String {
        self.formula
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// The curve called `name`.
pub fn entry(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|e| e.name == name)
}

/// Names of the built-in curves, but for `polynomial(n)`.
pub fn names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|e| e.name)
}

/// Highest degree of `polynomial(n)`.
const HIGHEST_DEGREE: usize = 20;

/// `text` as a built-in curve: a name alone, or `polynomial(n)`.
pub fn whole(text: &str) -> Option<Use> {
    let text = text.trim();
    if let Some(entry) = entry(text) {
        return Some(Use {
            name: text.into(),
            text: entry.formula.into(),
            entry: Some(entry),
        });
    }
    let degree = text.strip_prefix("polynomial(")?.strip_suffix(')')?;
    let degree: usize = degree.trim().parse().ok()?;
    if !(1..=HIGHEST_DEGREE).contains(&degree) {
        return None;
    }
    // Horner's form keeps high powers small where |x| < 1 and needs no pow.
    let mut formula = format!("c{degree}");
    for k in (0..degree).rev() {
        formula = if k + 1 == degree {
            format!("c{k} + x*{formula}")
        } else {
            format!("c{k} + x*({formula})")
        };
    }
    Some(Use {
        name: format!("polynomial({degree})"),
        text: formula,
        entry: None,
    })
}
