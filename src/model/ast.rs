//! What a model says: statements and expressions, with the places they were written at.

pub use super::source::Span;
use crate::data::Labels;

/// A name and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The name itself.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Name {
            text: text.into(),
            span: Span::default(),
        }
    }
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `or`: 1 when either is not 0.
    Or,
    /// `and`: 1 when neither is 0.
    And,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `@`, the matrix product.
    MatMul,
    /// `^` or `**`
    Pow,
}

/// An operator in front of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-x`
    Neg,
    /// `not x`: 1 when x is 0, otherwise 0.
    Not,
}

/// An expression and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it says.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// What an expression says.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A number, never negative (a minus is an operator) and never infinite.
    Number(f64),
    /// A variable, a dim used as its size, or one of the constants `pi`, `e`, `inf`.
    Name(String),
    /// `[a, b, c]`: a vector whose length must fit the dim it is used over.
    List(Vec<Expr>),
    /// An operator in front.
    Unary(UnaryOp, Box<Expr>),
    /// An operator between.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `base[subscripts]`
    Index(Box<Expr>, Vec<Subscript>),
    /// A function, or a distribution where one is an argument of another.
    Call(Call),
}

/// One place between the brackets of `x[..]`.
#[derive(Clone, Debug, PartialEq)]
pub enum Subscript {
    /// A position (0-based, negative from the end), an index variable, or a dim (the whole axis).
    At(Expr),
    /// `start:stop`, either side may be missing.
    Slice {
        /// First position; the beginning when missing.
        start: Option<Expr>,
        /// One past the last position; the end when missing.
        stop: Option<Expr>,
        /// Where it stands.
        span: Span,
    },
}

impl Subscript {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Subscript::At(e) => e.span,
            Subscript::Slice { span, .. } => *span,
        }
    }
}

/// `name(arguments)`: a function or a distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function or distribution.
    pub name: Name,
    /// Its arguments, by position first, then by name.
    pub arguments: Vec<Argument>,
    /// Where the whole call stands.
    pub span: Span,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Its name in `name=value`; `None` for one given by position.
    pub name: Option<Name>,
    /// Its value.
    pub value: Expr,
}

/// `data NAME[dims] in DIM from BASE : int`
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Name in the model and in the data.
    pub name: Name,
    /// Its dims, outermost first; empty for a scalar.
    pub dims: Vec<Name>,
    /// The dim that its elements are positions or labels of.
    pub indexes: Option<Name>,
    /// The integer that stands for the first position; `None` leaves 0-based positions or labels
    /// to be told from the data.
    pub from: Option<i64>,
    /// True when elements must be whole numbers (`: int`).
    pub whole: bool,
}

/// `dim NAME = SIZE` or `dim NAME = [labels]`
#[derive(Clone, Debug, PartialEq)]
pub struct Dim {
    /// Its name.
    pub name: Name,
    /// Its length.
    pub extent: Extent,
}

/// How a dim gets its length.
#[derive(Clone, Debug, PartialEq)]
pub enum Extent {
    /// An expression of numbers, scalar data, other dims and `size(x, axis)`.
    Size(Expr),
    /// One element per label.
    Labels(Labels),
}

/// Limits on a distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// What the limits mean for the density.
    pub kind: LimitKind,
    /// Lower limit; may be `-inf`.
    pub lower: Expr,
    /// Upper limit; may be `inf`.
    pub upper: Expr,
}

/// What limits mean for the density.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// `truncated(lower, upper)`: the density is divided by the probability between the limits.
    Truncated,
    /// `bounded(lower, upper)`: only the support is restricted, no normalising term.
    Bounded,
}

/// The coordinates in which a parameter is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Centring {
    /// Chosen from the data during warm-up.
    #[default]
    Auto,
    /// The parameter itself.
    Centred,
    /// The parameter less its location, divided by its scale.
    NonCentred,
}

/// `NAME[dims] ~ DIST(args) limits ordered @ centring`, with or without `predict`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// A parameter, data (a likelihood term), or a predicted quantity.
    pub name: Name,
    /// Dims, or for data also slices and positions; empty when no brackets were written.
    pub subscripts: Vec<Subscript>,
    /// The distribution.
    pub distribution: Call,
    /// `truncated` or `bounded`.
    pub limits: Option<Limits>,
    /// `ordered`: elements increase along the last dim.
    pub ordered: bool,
    /// `@ centred | noncentred | auto`
    pub centring: Centring,
    /// True after `predict`: drawn after sampling.
    pub predicted: bool,
}

/// What happens to a computed quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// `NAME = expr`: recorded in the trace.
    Recorded,
    /// `let NAME = expr`: a name for an expression, not recorded.
    Local,
    /// `predict NAME = expr`: computed after sampling.
    Predicted,
}

/// `NAME[dims] = expr`
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// Its name.
    pub name: Name,
    /// Its dims; those of the expression when none were written.
    pub dims: Vec<Name>,
    /// Its value.
    pub value: Expr,
    /// Whether it is recorded, and when it is computed.
    pub keep: Keep,
}

/// `let NAME(arguments) = expr`: a function of the model, written out wherever it is called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Formula {
    /// Its name.
    pub(crate) name: Name,
    /// The names of its arguments.
    pub(crate) parameters: Vec<Name>,
    /// Its value.
    pub(crate) value: Expr,
}

/// One statement of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// An observed or fixed array.
    Data(Data),
    /// A dimension.
    Dim(Dim),
    /// A random variable: parameter, likelihood term or prediction.
    Sampled(Sampled),
    /// A deterministic quantity.
    Computed(Computed),
    /// `target += expr`
    Target(Expr),
}

impl Statement {
    /// The name the statement is about; none for `target`.
    pub fn name(&self) -> Option<&Name> {
        match self {
            Statement::Data(s) => Some(&s.name),
            Statement::Dim(s) => Some(&s.name),
            Statement::Sampled(s) => Some(&s.name),
            Statement::Computed(s) => Some(&s.name),
            Statement::Target(_) => None,
        }
    }
}
