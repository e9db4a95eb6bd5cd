//! The example models and the reference of distributions, as texts that come along with whatever shows them.

/// A model that comes along.
pub struct Example {
    /// Its name: that of its file without the ending.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
}

macro_rules! examples {
    ($($name:literal),+ $(,)?) => {
        &[$(Example {
            name: $name,
            text: include_str!(concat!("../models/", $name, ".fz")),
        }),+]
    };
}

/// In the order of models/README.md: the simple ones first.
pub const EXAMPLES: &[Example] = examples![
    "linear",
    "logistic",
    "poisson",
    "negative-binomial",
    "hierarchical",
    "hierarchical-noncentred",
    "eight-schools",
    "eight-schools-noncentred",
    "radon",
    "artists",
    "conversion-funnel",
    "energy",
    "mixture",
    "random-walk",
    "pumps",
    "seeds",
    "rats",
    "ratings",
    "slopes",
    "trips",
    "autoregression",
];

/// The reference of distributions, which is made from the formulas in the code.
pub const DISTRIBUTIONS: &str = include_str!("../docs/distributions.md");

/// The example of this name.
///
/// ```
/// let schools = fitzroy::examples::find("eight-schools").unwrap();
/// assert!(schools.text.contains("theta[schools]"));
/// assert!(fitzroy::examples::find("nine-schools").is_none());
/// ```
pub fn find(name: &str) -> Option<&'static Example> {
    EXAMPLES.iter().find(|example| example.name == name)
}
