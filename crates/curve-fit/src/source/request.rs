//! What is asked of the columns of files.

use crate::formula::Formula;

/// What to do with rows in which something is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// An error that names the first.
    #[default]
    Error,
    /// Leave them out.
    Drop,
}

/// Where sigma come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SigmaOf {
    /// Not known.
    #[default]
    Unknown,
    /// A column whose name says that it holds them, if there is one; see [`error_column`](super::error_column).
    ByName,
    /// A column.
    Column(String),
    /// A number for all rows.
    Number(f64),
}

/// What is asked of the columns.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// New name and column: `t=time`.
    pub rename: Vec<(String, String)>,
    /// A column or a formula of columns; `None` is `y`, else the only column that is not used.
    pub y: Option<String>,
    /// Sigma.
    pub sigma: SigmaOf,
    /// Columns that the fit needs though its formula does not name them, each after what asks for it.
    pub beside: Vec<(String, String)>,
    /// Other formulas for the same rows, whose columns are kept, too.
    pub others: Vec<Formula>,
    /// Column, least and largest value kept.
    pub range: Vec<(String, f64, f64)>,
    /// Rows in which something is missing.
    pub missing: Missing,
    /// Leaves gaps to the fits, each of which fails alone.
    pub unchecked: bool,
}
