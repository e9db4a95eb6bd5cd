//! Tables of text as people have them: the dialect is found, and every column becomes an array.

mod columns;
mod decimal;
mod dialect;
mod encoding;
mod head;
mod marks;
mod rows;
mod text;
mod units;

pub use decimal::DecimalMark;
pub use rows::Separator;
pub use text::{Cells, TableText};

pub(crate) use columns::MISSING;

use super::Array;
use crate::Result;
use std::str::FromStr;
use text::Text;

/// What is said of a table, in place of what would be found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableOptions {
    /// The decimal mark.
    pub decimal: Option<DecimalMark>,
    /// What separates cells.
    pub separator: Option<Separator>,
    /// Where the names of the columns stand.
    pub header: Option<HeaderAt>,
    /// The sheet of a workbook, by its name or its number from 1.
    pub sheet: Option<String>,
}

/// Where the names of the columns stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderAt {
    /// Nowhere: the first row is data.
    None,
    /// In this line, from 1; what stands above is no part of the table.
    Line(u64),
}

impl FromStr for HeaderAt {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match (text, text.parse()) {
            ("none" | "0", _) => Ok(HeaderAt::None),
            (_, Ok(line)) => Ok(HeaderAt::Line(line)),
            _ => Err("give the line of the names, from 1, or none".into()),
        }
    }
}

impl FromStr for Separator {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        Separator::named(text).ok_or_else(|| "give one sign, or tab or space".into())
    }
}

/// One 1-D array per named column, and what is to be told of how they were read.
pub(super) fn read(
    bytes: &[u8],
    usual: Option<Separator>,
    options: &TableOptions,
    source: &str,
) -> Result<(Vec<Array>, Vec<String>)> {
    let text = Text::of(bytes, usual, options)?;
    match columns::arrays(&text, options, source) {
        // A letter beyond the head that is no UTF-8.
        Err(_) if text.is_not_utf8() => {
            let text = Text::of_windows(bytes, usual, options)?;
            columns::arrays(&text, options, source)
        }
        arrays => arrays,
    }
}
