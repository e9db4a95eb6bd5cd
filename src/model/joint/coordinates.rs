//! Parameters, and the unconstrained coordinates that may be chosen for them.

/// A free variable and its place among the unconstrained coordinates.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name in the model.
    pub name: String,
    /// Its dims, each an index into [`Binding::dims`](crate::model::Binding::dims).
    pub dims: Vec<usize>,
    /// First of its coordinates.
    pub offset: usize,
    /// How many coordinates it has.
    pub len: usize,
    /// The range of its elements, where its coordinates are those of its elements one by one and
    /// the range is known before sampling.
    pub range: Option<Range>,
}

/// The ends between which the elements of a parameter lie, infinite where there is none: one number
/// for each element, or one for all.
///
/// Its coordinates are u = x, ln(x − lower), ln(upper − x) or ln((x − lower)/(upper − x)), by which
/// of the ends are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// Lower ends.
    pub lower: Vec<f64>,
    /// Upper ends.
    pub upper: Vec<f64>,
}

impl Range {
    /// The ends of element `i`.
    pub fn at(&self, i: usize) -> [f64; 2] {
        let one = |ends: &[f64]| ends[if ends.len() == 1 { 0 } else { i }];
        [one(&self.lower), one(&self.upper)]
    }
}

/// A parameter with a location and a scale that depend on other parameters: its coordinates can
/// be chosen element by element.
///
/// With c in \[0, 1\] for each element the coordinate is w = c·location + scale^(c−1)·(x −
/// location): c = 1 is the parameter itself (centred), c = 0 its standardised form (non-centred).
#[derive(Clone, Debug)]
pub struct Plate {
    /// Index into [`Joint::parameters`](super::Joint::parameters).
    pub parameter: usize,
    /// The coordinates the user asked for.
    pub asked: crate::model::ast::Centring,
    /// True where the model itself writes standard normal numbers, as `mu + sigma * z`: the
    /// parameter is z, and c = 0 is the model as written.
    pub standardised: bool,
    /// Positive parameters that its scale is a product of (indices into [`Joint::parameters`](super::Joint::parameters)).
    pub scales: Vec<usize>,
}

/// The coordinates of one plate.
#[derive(Clone, Debug, PartialEq)]
pub enum Coordinates {
    /// c = 1 for every element.
    Centred,
    /// c = 0 for every element.
    NonCentred,
    /// One c for each element.
    Partial(Vec<f64>),
}

/// The coordinates of a joint density.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chosen {
    /// One choice for each plate.
    pub plates: Vec<Coordinates>,
    /// Which of [`Joint::scales`](super::Joint::scales) have a sign, in order. The coordinate of such a scale τ is a
    /// number s with τ = |s|, and the non-centred coordinates of its plates are sign(s)·(x −
    /// location)/scale, with one sign for each of its scales that has one.
    pub signed: Vec<usize>,
}

impl From<&[Coordinates]> for Chosen {
    /// No scale has a sign.
    fn from(plates: &[Coordinates]) -> Chosen {
        Chosen {
            plates: plates.to_vec(),
            signed: Vec::new(),
        }
    }
}
