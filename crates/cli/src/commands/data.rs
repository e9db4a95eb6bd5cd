//! `fitzroy data FILE...`

use crate::exit::Outcome;
use crate::tables::TableFlags;
use crate::terminal;
use clap::Args;
use fitzroy::Result;
use fitzroy::data::{Array, DataFile, Values};
use std::path::PathBuf;

/// Flags of `fitzroy data`.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    fitzroy data messung.txt\n  \
    fitzroy data export.csv --decimal comma --header 4\n  \
    fitzroy data runs.xlsx --sheet 'Run 2'\n\n\
    Shows the arrays that other commands read from a file, and how a table was understood.")]
pub(crate) struct DataArgs {
    /// Data files of any kind that is read
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    tables: TableFlags,
}

/// Elements that are shown of an array.
const SHOWN: usize = 5;

/// Reads and shows.
pub(crate) fn run(args: &DataArgs) -> Result<Outcome> {
    for path in &args.files {
        let file = DataFile::read(path, &args.tables.options())?;
        let name = path.display();
        terminal::out(format_args!("{name}"));
        let prefix = format!("{name}: ");
        for remark in &file.remarks {
            let remark = remark.strip_prefix(&prefix).unwrap_or(remark);
            terminal::out(format_args!("  {remark}"));
        }
        let wide = file.arrays.iter().map(|a| a.name.chars().count()).max();
        let wide = wide.unwrap_or(0);
        for array in &file.arrays {
            let cells = format!("{:wide$}  {}", array.name, described(array));
            terminal::out(format_args!("  {}", cells.trim_end()));
        }
    }
    Ok(Outcome::Done)
}

/// Kind, size, gaps and first elements of an array.
fn described(array: &Array) -> String {
    let sizes: Vec<String> = array.shape.iter().map(ToString::to_string).collect();
    let size = match sizes.is_empty() {
        true => "one".into(),
        false => sizes.join(" x "),
    };
    let (kind, mut shown): (&str, Vec<String>) = match &array.values {
        Values::Real(x) => (
            "numbers",
            x.iter().take(SHOWN).map(ToString::to_string).collect(),
        ),
        Values::Text(x) => ("labels", x.iter().take(SHOWN).cloned().collect()),
    };
    if array.values.len() > SHOWN {
        shown.push("...".into());
    }
    let missing = match array.missing.len() {
        0 => String::new(),
        n => format!(", {n} missing"),
    };
    let note = array
        .note
        .as_ref()
        .map_or_else(String::new, |n| format!("  ({n})"));
    format!("{size} {kind}{missing}: {}{note}", shown.join(", "))
}
