//! Flags that say how a table is written, where it cannot be seen.

use crate::terminal;
use clap::Args;
use fitzroy::data::{DataFile, DecimalMark, HeaderAt, Separator, TableOptions};

/// How tables of text and sheets are written.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Tables")]
pub(crate) struct TableFlags {
    /// Decimal mark of the numbers, where a table does not show it: 1,234 may be a fraction or a thousand
    #[arg(long, value_name = "point|comma")]
    decimal: Option<DecimalMark>,
    /// What separates cells: one sign, tab or space [default: found]
    #[arg(long, value_name = "SIGN")]
    delimiter: Option<Separator>,
    /// Line with the names of the columns, or none [default: found]
    #[arg(long, value_name = "LINE|none")]
    header: Option<HeaderAt>,
    /// Sheet of a workbook, by name or number
    #[arg(long, value_name = "SHEET")]
    sheet: Option<String>,
}

impl TableFlags {
    pub(crate) fn options(&self) -> TableOptions {
        TableOptions {
            decimal: self.decimal,
            separator: self.delimiter,
            header: self.header,
            sheet: self.sheet.clone(),
        }
    }
}

/// Says how a file was read, unless nobody wants to know.
pub(crate) fn tell(file: &DataFile, quiet: bool) {
    for remark in file.remarks.iter().filter(|_| !quiet) {
        terminal::note(format_args!("data: {remark}"));
    }
}
